package outcome

import (
	"weir/core/packet"
	"weir/core/unit"
)

// OnsetResult is the result of an Onset.
type OnsetResult struct {
	At unit.Time // when it began; unit.Never if it did not
	// Reduced is when each of its flows reduced, to the event: the first time after At at which its
	// congestion window or its pacing rate was below 1−By of its largest value since At, that at At
	// included. A rate that follows from window and round-trip time (transport.Gauge.Derived)
	// does not count. unit.Never if it did not before it ended.
	Reduced []unit.Time
}

// Change is a new window or rate of a flow's sender.
type Change struct {
	At           unit.Time
	Flow         int32
	Window, Rate int64
}

// FrameTally is the composition of frames in bytes, added up over all links.
type FrameTally struct {
	Kinds      [packet.Kinds]uint64 // frames without extensions, by packet.Kind
	Payload    uint64               // of Data
	Extensions uint64               // of all kinds: telemetry and other extension headers
}

// Add adds the counts of o to t.
func (t *FrameTally) Add(o *FrameTally) {
	for k, n := range o.Kinds {
		t.Kinds[k] += n
	}
	t.Payload += o.Payload
	t.Extensions += o.Extensions
}

// CountFrame adds a frame: its extensions, its other bytes by kind, and the payload of data, which the other bytes
// include.
func (t *FrameTally) CountFrame(f *packet.Packet) {
	extensions := min(uint64(f.ExtensionBytes()), uint64(f.Size)) // a fixed framing may have them in its own bytes
	t.Kinds[f.Kind] += uint64(f.Size) - extensions
	if f.Kind == packet.Data {
		t.Payload += uint64(f.Payload)
	}
	t.Extensions += extensions
}

// Notices are the notices that switches made (packet.Nack and packet.Notice) in the measured part, and
// their fate. Some are dropped, or arrive only after the measured part.
type Notices struct {
	Made      uint64
	Dropped   uint64         // by switches and on links
	Delivered uint64         // to the sender of their flow
	Delay     unit.Histogram // of those delivered, from the switch that made them
	DelaySum  unit.Time
	DelayMax  unit.Time
}

// Add adds the counts and delays of o to n; DelayMax becomes the larger one.
func (n *Notices) Add(o *Notices) {
	n.Made += o.Made
	n.Dropped += o.Dropped
	n.Delivered += o.Delivered
	n.Delay.Merge(&o.Delay)
	n.DelaySum += o.DelaySum
	n.DelayMax = max(n.DelayMax, o.DelayMax)
}

// CountArrival counts a notice that reached the sender of its flow, with the time since it was made.
func (n *Notices) CountArrival(delay unit.Time) {
	n.Delivered++
	n.DelaySum += delay
	n.DelayMax = max(n.DelayMax, delay)
	n.Delay.Add(delay)
}

// Reordering counts a flow's data packets that arrived in another order than they were sent. The order is the order of
// their transmissions: a retransmission is a separate packet.
type Reordering struct {
	Arrived   int64 // data packets with payload, measured part
	Reordered int64 // of them, after one that was sent later: RFC 4737 §3.3, with the time of sending as s
	// the largest i − j of the reordered, where j is the first arrival sent later than arrival i
	// (RFC 4737 §4.2); MaxExtent at most
	Extent int64
}

// MaxExtent limits the extent of reordering that is recorded.
const MaxExtent = 4096
