package p4te

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// Mode is the way a flow's rate is adapted.
type Mode uint8

// Modes of rate adaptation.
const (
	RateOff Mode = iota
	// LastAck is the paper's fake ACK (§7.2.1), with the last sequence number that the receiver has
	// acknowledged.
	LastAck
	// NextByte is the code's fake ACK: it acknowledges everything up to the packet in hand, delivered or
	// lost (ack = seq + 1), with the window of the data packet, which is the sender's own. It has no time
	// stamps: the code counts 20 bytes of TCP (and declares 32, so that stacks drop it).
	NextByte
	// Enforced: the sender's leaf keeps a limit for the flow and lowers the window of every passing
	// acknowledgement to it. Fake ACKs end there.
	Enforced
	// Marks: senders learn by congestion marks alone. Fake ACKs end at the sender's leaf, which counts B bytes by them.
	Marks
)

// Decision is the condition for which a flow's rate is lowered or raised. In all of them the flow's class exceeds its
// safe rate, except that the code raises flows of others, too.
type Decision uint8

// Decisions.
const (
	// DecideFit is DecideQueue in a fabric whose leaves hold windows (Enforced), and DecidePaper otherwise.
	DecideFit   Decision = iota
	DecidePaper          // §6.4.1: lower where the egress port is over-utilised, otherwise raise
	DecideCode           // the P4TE code's, with meters of three colours
	// DecideQueue lowers where the egress port is over-utilised and packets wait at it (Program.queued). A port that
	// is over-utilised without a queue changes no rate: a flow that has a link to itself keeps it.
	DecideQueue
)

// RateConfig configures rate adaptation (§6.4).
type RateConfig struct {
	Mode     Mode
	Bytes    unit.Bytes // B: bytes that a flow sends before its rate may change again
	Lower    int        // the window shrinks by 1/2^Lower
	Raise    int        // or gains 1/2^Raise
	RoundUp  bool       // round a change below one unit of the window field up to one; otherwise down to 0
	Flows    int        // cells of a leaf's register
	Mark     bool       // mark ECN-capable packets for which the rate is lowered
	Decision Decision
	// Repeats lets fake ACKs pass the sender's leaf even if they are for a packet within B bytes of the
	// last change. Switches make them for everything that is on its way until the first one is back.
	// Without Repeats they end at the leaf, and §6.4.1's promise of one per B bytes holds.
	Repeats bool
	// Within includes flows between two hosts of one leaf. Their packets access two cells: their own
	// flow's and, as acknowledgements, the other direction's.
	Within bool
	// Enforced: a limit is Least segments at least, and gains a segment or, with Share, 1/2^Raise.
	Least int
	Share bool
}

// MostBytes is what B is below: a quarter of half the sequence space, so that a distance of 2B still has
// a sign.
const MostBytes unit.Bytes = 1 << 29

// rater adapts rates in one switch.
type rater struct {
	config RateConfig
	t      *Program
	flows  []flowCell
	mask   uint32
	held   int // flows with a limit
}

// flowCell is what a leaf keeps of a flow from one of its hosts, in the cell that the flow's hash selects:
// the last acknowledgement on its way to the host, and the sequence number at which the rate last changed.
// The cell belongs to the flow whose SYN came last; a flow that has lost its cell is not controlled.
//
// §6.6 counts 4 bytes per flow, which is changed alone; a fake ACK needs the rest as well. On a switch a
// cell takes what footprint reports.
type flowCell struct {
	tag           uint32
	used          bool
	known         bool // an acknowledgement has come
	stamped       bool
	scale         uint8 // of the receiver's window; 0xff: unknown
	window        uint16
	ack, seq      uint32
	tsVal, tsEcho uint32
	changed       uint32 // sequence number of the last change
	next          uint32 // the byte after the last one that the host has sent
	largest       int32  // payload
	limit         int64  // limit of the window in bytes, Enforced; 0: none
	quiet         uint32 // with a limit: since this byte was sent no fake ACK has come, and the limit has not risen
}

func newRater(t *Program, c RateConfig) *rater {
	if c.Mode == RateOff {
		return nil
	}
	r := &rater{config: c, t: t}
	if t.place.Tier == 1 {
		n := 1
		for n < c.Flows {
			n *= 2
		}
		r.flows, r.mask = make([]flowCell, n), uint32(n-1)
	}
	return r
}

// cell returns a flow's cell by the hash of its data's direction; nil: it has none.
func (r *rater) cell(hash uint32) *flowCell {
	c := &r.flows[dataplane.MixHash(hash)&r.mask]
	if !c.used || c.tag != hash {
		return nil
	}
	return c
}

// open assigns a cell to a flow, whoever had it before.
func (r *rater) open(hash uint32) *flowCell {
	c := &r.flows[dataplane.MixHash(hash)&r.mask]
	r.release(c)
	*c = flowCell{used: true, tag: hash, scale: unknownScale}
	return c
}

// release takes a flow's limit away.
func (r *rater) release(c *flowCell) {
	if c.limit > 0 {
		c.limit = 0
		r.held--
	}
}

// fromHost records what a host sends, and writes what the switches on the way need into its header.
func (r *rater) fromHost(p *packet.Packet, h *Header) {
	if p.Proto != packet.ProtoTCP {
		return
	}
	seq := uint32(p.Seq)
	if p.TCP.Flags&packet.SYN != 0 {
		scale := unknownScale // a SYN-ACK opens the other direction, with the scale of the SYN
		if c := r.cell(p.Hash); c != nil && !c.known && p.TCP.Flags&packet.ACK != 0 {
			if scale = c.scale; p.TCP.Has&packet.HasScale == 0 && scale != unknownScale { // RFC 7323 §2.2: both or none
				scale = 0
			}
		}
		c := r.open(p.Hash)
		c.scale, c.changed, c.next = scale, seq, seq+1
		return
	}
	c := r.cell(p.Hash)
	if c == nil {
		return
	}
	if p.TCP.Flags&(packet.FIN|packet.RST) != 0 {
		r.release(c)
		c.used = false
		return
	}
	if p.Payload == 0 {
		return
	}
	if end := seq + uint32(p.Payload); int32(end-c.next) > 0 {
		c.next = end
	}
	c.largest = max(c.largest, p.Payload)
	if int32(seq-c.changed) > 2*int32(MostBytes)-1 { // keep the distance limited, as sequence numbers wrap
		c.changed = seq - 2*uint32(MostBytes) + 1
	}
	if !c.known { // before the first ACK no rate changes
		return
	}
	if c.limit > 0 && int64(int32(seq-c.quiet)) >= 2*int64(r.config.Bytes) {
		// No switch has objected to another B bytes. The flow may be below its class's safe rate, where no
		// switch ever raises it (§6.4.1).
		r.changeLimit(c, false)
		c.quiet = seq - uint32(r.config.Bytes)
	}
	h.Rated, h.Ack, h.Seq, h.Window, h.Scale = true, c.ack, c.seq, c.window, c.scale
	h.Stamped, h.TSVal, h.TSEcho = c.stamped, c.tsVal, c.tsEcho
	h.Allowed = int32(seq-c.changed) >= int32(r.config.Bytes)
}

// toHost records the acknowledgements to a host, and the changes of rate that fake ACKs announce. With
// Enforced it lowers windows, and fake ACKs end here.
func (r *rater) toHost(env *dataplane.Env, p *packet.Packet, h *Header) dataplane.Verdict {
	if p.Proto != packet.ProtoTCP {
		return dataplane.Accept
	}
	t := &p.TCP
	reverse := env.Opposite(p)
	switch {
	case h != nil && h.Fake:
		return r.receiveFake(r.cell(reverse), h)
	case t.Flags&(packet.SYN|packet.ACK) == packet.SYN: // an answer of the host uses this scale
		r.open(reverse).scale = scaleOf(t)
		return dataplane.Accept
	}
	c := r.cell(reverse)
	if c == nil || t.Flags&packet.ACK == 0 {
		return dataplane.Accept
	}
	if t.Flags&packet.SYN != 0 {
		if !c.known {
			c.scale = scaleOf(t)
		}
		return dataplane.Accept
	}
	if !c.known || int32(uint32(p.Ack)-c.ack) >= 0 { // else an old one
		c.known, c.ack, c.seq, c.window = true, uint32(p.Ack), uint32(p.Seq)+uint32(p.Payload), t.Window
		if t.Flags&packet.FIN != 0 {
			c.seq++
		}
		c.stamped, c.tsVal, c.tsEcho = t.Has&packet.HasTimestamps != 0, t.TSVal, t.TSEcho
	}
	r.enforce(c, t)
	return dataplane.Accept
}

// unknownScale is the scale of a window whose SYN the leaf has missed.
const unknownScale uint8 = 0xff

// scaleOf is the window scale of a SYN, at most 14 (RFC 7323 §2.3).
func scaleOf(t *packet.Segment) uint8 {
	if t.Has&packet.HasScale == 0 {
		return 0
	}
	return min(t.Scale, 14)
}

// receiveFake records a fake ACK for a packet at sequence number h.Ack.
func (r *rater) receiveFake(c *flowCell, h *Header) dataplane.Verdict {
	if c != nil {
		c.quiet = c.next
		if int64(int32(h.Ack-c.changed)) < int64(r.config.Bytes) {
			r.t.counts.Repeated++
			if !r.config.Repeats {
				return dataplane.Consume
			}
		}
		if int32(h.Ack-c.changed) > 0 {
			c.changed = h.Ack
		}
		if r.config.Mode == Enforced {
			r.changeLimit(c, h.Applied)
		}
	}
	if r.config.Mode == Enforced || r.config.Mode == Marks {
		return dataplane.Consume
	}
	return dataplane.Accept
}

// enforce lowers the window of an acknowledgement to the flow's limit. A SYN's is not scaled and stays.
func (r *rater) enforce(c *flowCell, t *packet.Segment) {
	if c.limit == 0 || t.Flags&packet.SYN != 0 || c.scale > 14 {
		return
	}
	if w := (c.limit-1)>>c.scale + 1; w < int64(t.Window) { // rounded up: less than whole segments would wait
		t.Window = uint16(w)
		r.t.counts.Held++
	}
}

// changeLimit changes the limit of a flow. Without one, it starts from the bytes in flight, as the
// receiver's window is usually far larger. A limit that reaches the receiver's window is removed.
func (r *rater) changeLimit(c *flowCell, lower bool) {
	if c.scale > 14 {
		return
	}
	own := int64(c.window) << c.scale
	if lower {
		if c.limit == 0 {
			r.held++
		}
		if c.limit == 0 || c.limit > own {
			c.limit = min(own, int64(c.next-c.ack))
		}
		c.limit -= r.part(c.limit, r.config.Lower, int64(1)<<c.scale)
		c.limit = max(c.limit, int64(r.config.Least)*int64(c.largest), int64(1)<<c.scale)
	} else if c.limit > 0 {
		gain := int64(c.largest)
		if r.config.Share {
			gain = r.part(c.limit, r.config.Raise, int64(1)<<c.scale)
		}
		if c.limit += gain; c.limit >= own {
			r.release(c)
		}
	}
}

// part is the change of a window of x: x/2^shift in whole units.
func (r *rater) part(x int64, shift int, unit int64) int64 {
	d := x >> shift
	if r.config.RoundUp && d < unit {
		return unit
	}
	return d
}

// changedWindow is a window field after a change (§6.4.2), computed on the field whatever its scale,
// between 1 and 65535; 0 stays 0.
func (r *rater) changedWindow(window uint16, lower bool) uint16 {
	switch w := int64(window); {
	case w == 0:
		return 0
	case lower:
		return uint16(max(w-r.part(w, r.config.Lower, 1), 1))
	default:
		return uint16(min(w+r.part(w, r.config.Raise, 1), 65535))
	}
}

// selectFlow changes a flow's rate (§6.4.1) if its class exceeds the safe rate at the ingress port: down
// if the egress port is over-utilised, otherwise up. The packet's header informs the switches that follow.
func (r *rater) selectFlow(env *dataplane.Env, p *packet.Packet, egress dataplane.Colour) {
	if p.Payload == 0 || p.Proto != packet.ProtoTCP {
		return
	}
	queued := egress == dataplane.Green || r.config.Decision != DecideQueue || r.t.queued(env, p.Meta.Out)
	lower, acts := r.adjustment(dataplane.Colour(p.Meta.Mark), egress, queued)
	if !acts {
		return
	}
	var h Header
	if !h.Get(p) || !h.Rated || !h.Allowed || h.Applied || h.Fake {
		return
	}
	if f, ok := r.fakeACK(env, p, &h, lower); ok {
		env.Recirculate(f) // the egress has decided; the route to the sender and the leaf's register are at the ingress
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

// adjustment returns the change that the colours of the class at the ingress port and of the egress port, and whether
// packets wait at the egress port, call for. The P4TE code also raises a class within its rate, and lowers only where
// both are red.
func (r *rater) adjustment(ingress, egress dataplane.Colour, queued bool) (lower, acts bool) {
	if r.config.Decision == DecideCode {
		lower = egress == dataplane.Red && ingress == dataplane.Red
		return lower, lower || egress <= dataplane.Yellow && ingress < dataplane.Red
	}
	lower = egress != dataplane.Green
	return lower, ingress == dataplane.Yellow && (queued || !lower)
}

// queued reports whether a port has a queue that is worth a change of rates: half of Δ of the depth, which the port
// sends in half a round trip, or half of its buffer where that is shorter. A flow that has filled both the way and this
// queue still fills the way with a quarter less.
func (t *Program) queued(env *dataplane.Env, out packet.PortID) bool {
	port := env.Port(out)
	limit := port.Limit()
	return 2*int64(port.Packets()) >= t.config.DepthDelta[out] ||
		limit.Packets > 0 && 2*port.Packets() >= limit.Packets || limit.Bytes > 0 && 2*port.Bytes() >= limit.Bytes
}

// fakeACK makes the fake ACK for a packet.
func (r *rater) fakeACK(env *dataplane.Env, p *packet.Packet, h *Header, lower bool) (*packet.Packet, bool) {
	f := env.Clone(p, true)
	f.ClearExtensions()
	f.Meta = packet.Metadata{In: packet.NoPort, Out: packet.NoPort, Flags: packet.Internal}
	f.Sent = env.Now()
	f.TurnRound()
	f.Kind = packet.Ack
	f.TOS &^= packet.ECN
	seq, ack, window := h.Seq, h.Ack, h.Window
	if r.config.Mode == NextByte { // P4TE code
		seq, ack, window = uint32(p.Ack), uint32(p.Seq)+1, p.TCP.Window
	}
	window = r.changedWindow(window, lower)
	f.Seq, f.Ack = int64(seq), int64(ack)
	f.TCP = packet.Segment{Flags: packet.ACK, Window: window}
	if h.Stamped && r.config.Mode != NextByte {
		f.TCP.Has, f.TCP.TSVal, f.TCP.TSEcho = packet.HasTimestamps, h.TSVal, h.TSEcho
	}
	// The header tells the leaf which packet the ACK is for (Ack), and whether the rate goes down.
	note := Header{Source: h.Source, Scale: h.Scale, Fake: true, Applied: lower, Rated: true, Ack: uint32(p.Seq)}
	if !note.Set(f) {
		env.Free(f)
		return nil, false
	}
	r.t.size(f, packet.TCPHeader+f.TCP.OptionBytes())
	return f, true
}
