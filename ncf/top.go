package ncf

import (
	"fmt"

	"weir/packet"
	"weir/unit"
)

// Origin is what a switch keeps of an elephant so that it can send it a NACK when no packet
// of it is at hand (BS'19 §4.4): the headers of the last packet that came.
type Origin struct {
	Key      uint64
	Count    uint64 // of the last n windows, when the last packet came
	Seen     uint32 // number of the window then
	Notified unit.Time
	Told     bool // Notified is a time

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
}

// Note takes the headers of a packet that goes to port out.
func (o *Origin) Note(p *packet.Packet, out packet.PortID) {
	o.Src, o.Dst, o.Flow, o.Hash = p.Src, p.Dst, p.Flow, p.Hash
	o.SrcPort, o.DstPort, o.Out = p.SrcPort, p.DstPort, out
	o.Proto, o.Version, o.TOS = p.Proto, p.Version, p.TOS
	o.Seq, o.Ack, o.Flags = p.Seq, p.Ack, p.TCP.Flags
	o.TSVal, o.TSEcho, o.Has = p.TCP.TSVal, p.TCP.TSEcho, p.TCP.Has&packet.HasTimestamps
	o.Headers = p.Size - p.Payload
}

// Top retains the N heaviest flows among those that are offered to it within the last n
// windows (BS'19 §4.4, N = 20). The work for an offer is one pass over the N keys, and one
// over their counts when a flow comes in. With F as Average, and all flows counted as they
// are, no more than 1/threshold flows can be elephants at a time: 20 for 5 %.
type Top struct {
	keys    []uint64
	origins []Origin
	windows uint32
}

// NewTop returns a table for n flows, 1 … 1024, that forgets a flow when it was not
// offered for so many windows.
func NewTop(n, windows int) (*Top, error) {
	if n < 1 || n > 1024 || windows < 1 {
		return nil, fmt.Errorf("the top %d flows of %d windows; 1 … 1024 flows and windows from 1 on are possible", n, windows)
	}
	return &Top{keys: make([]uint64, 0, n), origins: make([]Origin, 0, n), windows: uint32(windows)}, nil
}

// stale tells whether nothing has come for all windows that count.
func (t *Top) stale(o *Origin, window uint32) bool { return window-o.Seen >= t.windows }

// Offer tells of a flow with its present count; window is the number of the current one. It
// returns the flow's entry, new or old, whose headers the caller notes; nil if the flow is
// not among the heaviest.
func (t *Top) Offer(window uint32, key, count uint64) *Origin {
	for i, k := range t.keys {
		if k == key {
			o := &t.origins[i]
			o.Count, o.Seen = count, window
			return o
		}
	}
	at := len(t.keys)
	if at < cap(t.keys) {
		t.keys, t.origins = t.keys[:at+1], t.origins[:at+1]
	} else {
		at = 0
		least := uint64(1<<64 - 1)
		for i := range t.origins {
			o := &t.origins[i]
			if t.stale(o, window) {
				at, least = i, 0
				break
			}
			if o.Count < least {
				at, least = i, o.Count
			}
		}
		if count <= least {
			return nil
		}
	}
	t.keys[at] = key
	t.origins[at] = Origin{Key: key, Count: count, Seen: window}
	return &t.origins[at]
}

// Len is how many entries there are, stale ones included; At is one of them, and Fresh
// tells whether it has been offered within the last n windows.
func (t *Top) Len() int { return len(t.keys) }

// At returns entry i.
func (t *Top) At(i int) *Origin { return &t.origins[i] }

// Fresh tells whether a packet of entry i has come within the last n windows.
func (t *Top) Fresh(i int, window uint32) bool { return !t.stale(&t.origins[i], window) }
