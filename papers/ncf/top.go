package ncf

import (
	"slices"

	"weir/core/packet"
	"weir/core/unit"
)

// Origin is a switch's state of an elephant, for a NACK without one of its packets at hand (BS'19 §4.4): the headers of
// the last packet.
type Origin struct {
	Key        uint64
	Count      uint64 // over the last n windows, at the table's last call
	Growth     uint64 // growth of Count at the last packet in the table, including that packet
	LastWindow uint32 // number of the window of the last packet
	NotifiedAt unit.Time
	Notified   bool // NotifiedAt is valid

	Src, Dst         packet.Addr
	Flow             packet.FlowID
	Hash             uint32
	SrcPort, DstPort uint16
	Out              packet.PortID // egress port
	Proto, Version   uint8
	TOS              uint8
	Seq, Ack         int64 // as in its header
	TSVal, TSEcho    uint32
	Flags, Has       uint8
	Headers          int32 // bytes of the packet without payload and extensions
	response         response
}

// StoreHeaders stores the headers of a packet that departs by port out. Counts and notices stay.
func (o *Origin) StoreHeaders(p *packet.Packet, out packet.PortID) {
	o.Src, o.Dst, o.Flow, o.Hash = p.Src, p.Dst, p.Flow, p.Hash
	o.SrcPort, o.DstPort, o.Out = p.SrcPort, p.DstPort, out
	o.Proto, o.Version, o.TOS = p.Proto, p.Version, p.TOS
	o.Seq, o.Ack, o.Flags = p.Seq, p.Ack, p.TCP.Flags
	o.TSVal, o.TSEcho, o.Has = p.TCP.TSVal, p.TCP.TSEcho, p.TCP.Present&packet.HasTimestamps
	o.Headers = p.Size - p.Payload
}

// HeaviestFlows keeps the N heaviest flows offered to it within the last n windows (BS'19 §4.4, N = 20), by the
// sketch's estimate at their last packet; counts expire with their window. An offer takes one pass over the N keys, one
// over N counts when a flow enters, and one over the N·n counts at the first offer of a window. Of two flows with the
// same count, the one in the table stays.
//
// With Average and exact counts, there are fewer than 1/threshold elephants at a time: 20 for 5 %. So the table need
// not be larger.
type HeaviestFlows struct {
	keys     []uint64
	origins  []Origin
	counts   []uint64 // by entry, slot
	windows  int
	window   uint32 // number of the window of the last call
	slot     int    // slot of that window
	smallest int    // entry with the smallest count; −1: unknown

	headers []header // by entry, of the last packet's frame; nil in a network
}

// NewTop returns a table for n flows, at least 1, over the given number of windows, 1 … MaxWindows.
func NewTop(n, windows int) *HeaviestFlows {
	return &HeaviestFlows{keys: make([]uint64, 0, n), origins: make([]Origin, 0, n), counts: make([]uint64, n*windows),
		windows: windows, smallest: -1}
}

// Advance expires counts older than the last n windows; window is the number of the current one, modulo 2³²
// (Sketch.Window). OfferCounts and IsFresh do so, too.
func (t *HeaviestFlows) Advance(window uint32) {
	if window == t.window {
		return
	}
	passed := min(window-t.window, uint32(t.windows))
	t.window, t.smallest = window, -1
	for range passed {
		if t.slot++; t.slot == t.windows {
			t.slot = 0
		}
		for i := range t.origins {
			x := &t.counts[i*t.windows+t.slot]
			t.origins[i].Count -= *x
			*x = 0
		}
	}
}

// OfferCounts offers a sending flow, with the estimate of a sketch that has as many windows; window is the number of
// the current one. A flow with a larger count than the smallest entry replaces it. It returns the flow's entry, old or
// new, so that the caller stores the headers; nil if the flow is not among the heaviest.
func (t *HeaviestFlows) OfferCounts(window uint32, key uint64, c *FlowEstimate) *Origin {
	windows, count := min(c.Windows, t.windows), uint64(0)
	for _, n := range c.Flow[:windows] {
		count += uint64(n)
	}
	i := t.findOrAdd(window, key, count)
	if i < 0 {
		return nil
	}
	own, slot := t.counts[i*t.windows:][:t.windows], t.slot
	for j := range own {
		own[slot] = 0
		if j < windows {
			own[slot] = uint64(c.Flow[j])
		}
		if slot--; slot < 0 {
			slot = t.windows - 1
		}
	}
	return &t.origins[i]
}

// findOrAdd returns the index of a flow's entry with its new count, making one if the count is large enough, otherwise
// −1. A new entry has no headers, and replaces the smallest one of a full table.
func (t *HeaviestFlows) findOrAdd(window uint32, key, count uint64) int {
	t.Advance(window)
	full := len(t.keys) == cap(t.keys)
	if full && t.smallest >= 0 && count < t.origins[t.smallest].Count {
		return -1 // not in the table: counts fall only when a window begins
	}
	i := slices.Index(t.keys, key)
	if i < 0 {
		if i = len(t.keys); full {
			if i = t.findSmallest(); count <= t.origins[i].Count {
				return -1
			}
		} else if count == 0 {
			return -1
		} else {
			t.keys, t.origins = t.keys[:i+1], t.origins[:i+1]
		}
		t.keys[i], t.origins[i] = key, Origin{Key: key}
		if t.headers != nil {
			t.headers[i].n = 0
		}
	}
	if i == t.smallest {
		t.smallest = -1
	}
	o := &t.origins[i]
	o.Growth, o.Count, o.LastWindow = count-min(o.Count, count), count, t.window
	return i
}

// findSmallest returns the index of the entry with the smallest count, the first of several. It keeps the index in
// t.smallest until that becomes −1. The table must not be empty.
func (t *HeaviestFlows) findSmallest() int {
	if t.smallest < 0 {
		t.smallest = 0
		for i := range t.origins {
			if t.origins[i].Count < t.origins[t.smallest].Count {
				t.smallest = i
			}
		}
	}
	return t.smallest
}

// Len returns the number of entries, including stale ones.
func (t *HeaviestFlows) Len() int { return len(t.keys) }

// At returns entry i.
func (t *HeaviestFlows) At(i int) *Origin { return &t.origins[i] }

// IsFresh reports whether a packet of entry i arrived within the last n windows; window is the number of the current
// one. It expires older counts (Advance).
func (t *HeaviestFlows) IsFresh(i int, window uint32) bool {
	t.Advance(window)
	return window-t.origins[i].LastWindow < uint32(t.windows)
}
