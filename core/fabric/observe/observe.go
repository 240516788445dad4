package observe

import (
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
)

// Tally is the composition of frames in bytes, added up over all links.
type Tally struct {
	Kinds      [packet.Kinds]uint64 // frames without extensions, by packet.Kind
	Payload    uint64               // of Data
	Extensions uint64               // of all kinds: telemetry and what else rides along
}

// Add adds what another part of the run has counted.
func (t *Tally) Add(o *Tally) {
	for k, n := range o.Kinds {
		t.Kinds[k] += n
	}
	t.Payload += o.Payload
	t.Extensions += o.Extensions
}

func (t *Tally) count(f *packet.Packet) {
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

// Add adds what another part of the run has noted.
func (n *Notices) Add(o *Notices) {
	n.Made += o.Made
	n.Dropped += o.Dropped
	n.Delivered += o.Delivered
	n.Delay.Merge(&o.Delay)
	n.DelaySum += o.DelaySum
	n.DelayMax = max(n.DelayMax, o.DelayMax)
}

// Arrived counts a notice that reached the sender of its flow, with the time since it was made.
func (n *Notices) Arrived(delay unit.Time) {
	n.Delivered++
	n.DelaySum += delay
	n.DelayMax = max(n.DelayMax, delay)
	n.Delay.Add(delay)
}

// IsNotice reports whether p is a switch's notice to a sender.
func IsNotice(p *packet.Packet) bool {
	return p.Meta.Flags&packet.Internal != 0 && (p.Kind == packet.Nack || p.Kind == packet.Notice)
}

// Links observes links (fabric.Config.Observer): it counts the composition of frames and lost notices, and
// adds to the events of a trace the queue at the sending port.
type Links struct {
	Tally *Tally         // nil: not counted
	Lost  *uint64        // notices that links lose; nil: not counted
	Trace trace.Observer // nil: none
	Port  func(i int) *tm.Port
}

// Observe handles an event; its port is the number of the link.
func (l *Links) Observe(e trace.Event, p *packet.Packet) {
	if l.Tally != nil && e.Kind == trace.Transmit {
		l.Tally.count(p)
	}
	if l.Lost != nil && e.Kind == trace.Lost && IsNotice(p) {
		*l.Lost++
	}
	if l.Trace == nil {
		return
	}
	if e.Kind != trace.Arrive { // whose node may be ahead of the port's
		port := l.Port(int(e.Port))
		e.QueuePackets, e.QueueBytes = port.Packets(), port.Bytes()
	}
	l.Trace.Observe(e, p)
}

// Reordering counts a flow's data packets that arrived in another order than they were sent in. The order
// is that of their transmissions: a retransmission is a packet of its own.
type Reordering struct {
	Arrived   int64 // data packets with payload, measured part
	Reordered int64 // of them, after one that was sent later: RFC 4737 §3.3, with the time of sending as s
	// the largest i − j of the reordered, where j is the first arrival sent later than arrival i
	// (RFC 4737 §4.2); MostExtent at most
	Extent int64
}

// MostExtent is how far back the extent of reordering is told apart.
const MostExtent = 4096

// Order is the state for detecting reordering in a flow.
type Order struct {
	Reordering
	arrivals int64
	latest   []record // ring of the last MostExtent of those that were sent later than all before them
	next     int      // of the ring, where the oldest is once it is full
}

// record is an arrival: its number, from 0, and when it was sent.
type record struct {
	number int64
	sent   unit.Time
}

// Saw records a packet's arrival, with the time at which it was sent.
func (r *Order) Saw(sent unit.Time, measured bool) {
	number := r.arrivals
	r.arrivals++
	if measured {
		r.Arrived++
	}
	n := len(r.latest)
	if n == 0 || sent >= r.latest[(r.next+n-1)%n].sent {
		if n < MostExtent {
			r.latest = append(r.latest, record{number, sent})
		} else {
			r.latest[r.next] = record{number, sent}
			r.next = (r.next + 1) % n
		}
		return
	}
	if !measured {
		return
	}
	r.Reordered++
	low, high := 0, n-1 // the first one that was sent later is in [low, high]
	for low < high {
		if k := (low + high) / 2; r.latest[(r.next+k)%n].sent > sent {
			high = k
		} else {
			low = k + 1
		}
	}
	r.Extent = max(r.Extent, min(number-r.latest[(r.next+low)%n].number, MostExtent))
}
