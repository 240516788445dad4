package p4te

import (
	"fmt"

	"weir/dataplane"
	"weir/packet"
	"weir/unit"
)

// Mode is what is done to a flow's rate.
type Mode uint8

// Modes of rate adaptation.
const (
	RateOff Mode = iota
	// LastAck is the paper's fake ACK (§7.2.1): with the last sequence that the receiver
	// has acknowledged.
	LastAck
	// NextByte is the code's: it acknowledges everything up to the packet in hand, ack = seq + 1,
	// be it delivered or lost, with the window of the data packet, which is the sender's own.
	NextByte
	// Enforced holds the window: the sender's leaf keeps a limit for the flow and lowers
	// the window of every acknowledgement that passes. Fake ACKs end there.
	Enforced
)

// RateConfig are the parameters of rate adaptation (§6.4).
type RateConfig struct {
	Mode    Mode
	Bytes   unit.Bytes // B: a flow sends so much before its rate is changed again
	Lower   int        // the window loses 1/2^Lower of itself
	Raise   int        // or gains 1/2^Raise
	RoundUp bool       // a change below one unit of the window field is one unit; else none
	Flows   int        // cells of a leaf's register
	Mark    bool       // packets for which the rate is lowered are marked, if they are ECN-capable
}

// rater adapts rates in one switch.
type rater struct {
	config RateConfig
	t      *Program
	flows  []flowCell
	mask   uint32
}

// flowCell is what a leaf keeps of a flow of one of its hosts, in the cell that the flow's
// hash names: the last acknowledgement on its way to the host, and the sequence number
// at which its rate was changed last. The cell is that of the flow whose SYN came last; a
// flow that has lost its cell to another is left alone.
type flowCell struct {
	tag           uint32
	used          bool
	known         bool // an acknowledgement has come
	stamped       bool
	scale         uint8 // of the receiver's window; 0xff: not known
	window        uint16
	ack, seq      uint32
	tsVal, tsEcho uint32
	changed       uint32 // sequence number of the last change
	next          uint32 // behind the last byte that the host has sent
	largest       int32  // payload
	limit         int64  // bytes of window, Enforced; 0: none
}

func newRater(t *Program, c RateConfig) (*rater, error) {
	if c.Mode == RateOff {
		return nil, nil
	}
	switch {
	case c.Bytes < 0 || c.Bytes > 1<<30:
		return nil, fmt.Errorf("B of %d bytes; 0 … %d are possible", c.Bytes, 1<<30)
	case c.Lower < 1 || c.Lower > 15 || c.Raise < 1 || c.Raise > 15:
		return nil, fmt.Errorf("a window that loses 1/2^%d or gains 1/2^%d; powers of 1 … 15 are possible", c.Lower, c.Raise)
	case c.Flows < 1 || c.Flows > 1<<24:
		return nil, fmt.Errorf("a register for %d flows; 1 … %d are possible", c.Flows, 1<<24)
	}
	r := &rater{config: c, t: t}
	if t.place.Tier == 1 {
		n := 1
		for n < c.Flows {
			n *= 2
		}
		r.flows, r.mask = make([]flowCell, n), uint32(n-1)
	}
	return r, nil
}

// cell is the cell of a flow, by the hash of its data's direction; nil: it has none.
func (r *rater) cell(hash uint32) *flowCell {
	c := &r.flows[dataplane.MixHash(hash)&r.mask]
	if !c.used || c.tag != hash {
		return nil
	}
	return c
}

// fromHost writes down what a host sends to another leaf, and what the switches on the way
// need to know of it into its header.
func (r *rater) fromHost(now unit.Time, p *packet.Packet, h *Header) {
	if p.Proto != packet.ProtoTCP {
		return
	}
	if p.TCP.Flags&packet.SYN != 0 {
		r.flows[dataplane.MixHash(p.Hash)&r.mask] = flowCell{used: true, tag: p.Hash, scale: 0xff, changed: uint32(p.Seq), next: uint32(p.Seq) + 1}
		return
	}
	c := r.cell(p.Hash)
	if c == nil {
		return
	}
	if p.TCP.Flags&(packet.FIN|packet.RST) != 0 {
		c.used = false
		return
	}
	if p.Payload == 0 {
		return
	}
	end := uint32(p.Seq) + uint32(p.Payload)
	if int32(end-c.next) > 0 {
		c.next = end
	}
	c.largest = max(c.largest, p.Payload)
	if !c.known { // before the first ACK no rate is changed
		return
	}
	h.Rated, h.Ack, h.Seq, h.Window, h.Scale = true, c.ack, c.seq, c.window, c.scale
	h.Stamped, h.TSVal, h.TSEcho = c.stamped, c.tsVal, c.tsEcho
	h.Allowed = int32(uint32(p.Seq)-c.changed) >= int32(r.config.Bytes)
}

// toHost writes down the acknowledgements that go to a host, and what fake ACKs say: the
// flow's rate has been changed. Enforced, it lowers windows, and fake ACKs end here.
func (r *rater) toHost(_ unit.Time, p *packet.Packet, h *Header, carries bool) dataplane.Verdict {
	if p.Proto != packet.ProtoTCP || p.TCP.Flags&packet.ACK == 0 {
		return dataplane.Accept
	}
	c := r.cell(packet.FlowHash(p.Dst, p.Src, p.DstPort, p.SrcPort, p.Proto))
	if carries && h.Fake {
		if c != nil {
			c.changed = h.Ack // the sequence number of the packet for which it was made
		}
		if r.config.Mode == Enforced {
			if c != nil {
				r.limit(c, h.Applied)
			}
			return dataplane.Consume
		}
		return dataplane.Accept
	}
	if c == nil {
		return dataplane.Accept
	}
	t := &p.TCP
	if c.known && int32(uint32(p.Ack)-c.ack) < 0 { // an old one
		r.hold(c, t)
		return dataplane.Accept
	}
	c.ack, c.seq, c.window = uint32(p.Ack), uint32(p.Seq)+uint32(p.Payload), t.Window
	if t.Flags&(packet.SYN|packet.FIN) != 0 {
		c.seq++
	}
	if t.Flags&packet.SYN != 0 {
		if c.scale = 0; t.Has&packet.HasScale != 0 {
			c.scale = min(t.Scale, 14)
		}
	} else {
		c.known = true
	}
	c.stamped, c.tsVal, c.tsEcho = t.Has&packet.HasTimestamps != 0, t.TSVal, t.TSEcho
	r.hold(c, t)
	return dataplane.Accept
}

// hold lowers the window of an acknowledgement to the flow's limit. A SYN's is not scaled
// and stays.
func (r *rater) hold(c *flowCell, t *packet.Segment) {
	if c.limit == 0 || t.Flags&packet.SYN != 0 || c.scale > 14 {
		return
	}
	if w := c.limit >> c.scale; w < int64(t.Window) {
		t.Window = uint16(max(w, 1))
		r.t.counts.Held++
	}
}

// limit changes the limit of a flow: from what is in flight, if there was none, for the
// receiver's window is mostly far above that. A limit that reaches the receiver's window ends.
func (r *rater) limit(c *flowCell, lower bool) {
	if c.scale > 14 {
		return
	}
	own := int64(c.window) << c.scale
	if lower {
		if c.limit == 0 || c.limit > own {
			c.limit = min(own, int64(c.next-c.ack))
		}
		c.limit -= r.part(c.limit, r.config.Lower, int64(1)<<c.scale)
		c.limit = max(c.limit, int64(c.largest), int64(1)<<c.scale)
	} else if c.limit > 0 {
		if c.limit += r.part(c.limit, r.config.Raise, int64(1)<<c.scale); c.limit >= own {
			c.limit = 0
		}
	}
}

// part is what a window of x changes by: x/2^shift in whole units.
func (r *rater) part(x int64, shift int, unit int64) int64 {
	d := x >> shift
	if r.config.RoundUp && d < unit {
		return unit
	}
	return d
}

// decide changes a flow's rate (§6.4.1): its class is over the safe rate at the port where
// the packet came in, and the egress port is over-utilised: less; or it is not: more. The
// packet's header tells the switches behind.
func (r *rater) decide(env *dataplane.Env, p *packet.Packet, m *dataplane.Metadata, egress dataplane.Colour) {
	if dataplane.Colour(m.Mark) != dataplane.Yellow || p.Payload == 0 || p.Proto != packet.ProtoTCP {
		return
	}
	var h Header
	if !h.Get(p) || !h.Rated || !h.Allowed || h.Applied || h.Fake {
		return
	}
	lower := egress != dataplane.Green
	f, ok := r.fake(env, p, &h, lower)
	if ok {
		env.Inject(f)
	}
	if lower {
		r.t.counts.Lower++
		if ecn := p.TOS & packet.ECN; r.config.Mark && ecn != packet.NotECT {
			p.TOS |= packet.CE
		}
	} else {
		r.t.counts.Raise++
	}
	h.Applied = true
	h.Set(p)
}

// fake makes the fake ACK for a packet.
func (r *rater) fake(env *dataplane.Env, p *packet.Packet, h *Header, lower bool) (*packet.Packet, bool) {
	f := env.Clone(p, true)
	f.Meta.Flags &^= packet.Trimmed
	f.ClearExtensions()
	f.TurnRound()
	f.Kind = packet.Ack
	f.TOS &^= packet.ECN
	seq, ack, window := h.Seq, h.Ack, h.Window
	if r.config.Mode == NextByte { // facts E4
		seq, ack, window = uint32(p.Ack), uint32(p.Seq)+1, p.TCP.Window
	}
	if lower {
		window -= uint16(min(r.part(int64(window), r.config.Lower, 1), int64(window)))
	} else {
		window = uint16(min(int64(window)+r.part(int64(window), r.config.Raise, 1), 65535))
	}
	f.Seq, f.Ack = int64(seq), int64(ack)
	f.TCP = packet.Segment{Flags: packet.ACK, Window: window}
	if h.Stamped {
		f.TCP.Has, f.TCP.TSVal, f.TCP.TSEcho = packet.HasTimestamps, h.TSVal, h.TSEcho
	}
	// The header tells the leaf which packet it is about (Ack), and whether less is wanted.
	note := Header{Source: h.Source, Scale: h.Scale, Fake: true, Applied: lower, Rated: true, Ack: uint32(p.Seq)}
	if !note.Set(f) {
		env.Free(f)
		return nil, false
	}
	r.t.size(f, packet.TCPHeader+f.TCP.OptionBytes())
	return f, true
}
