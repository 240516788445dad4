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
	// LastAck is the paper's fake ACK (P4TE §7.2.1), with the last sequence number that the receiver has acknowledged.
	LastAck
	// NextByte is the code's fake ACK. It acknowledges all bytes up to the packet in hand, delivered or lost (ack = seq +
	// 1), with the window of the data packet, which is the sender's own. It has no time stamps: the code counts 20 bytes
	// of TCP (and declares 32, so stacks drop it).
	NextByte
	// Enforced: the sender's leaf keeps a limit for the flow, and lowers the window of each passing acknowledgement to it.
	// Fake ACKs end there.
	Enforced
	// Marks: senders are notified by congestion marks alone. Fake ACKs end at the sender's leaf, which counts B with them.
	Marks
)

// Decision is the condition for lowering or raising a flow's rate. In all of them the flow's class exceeds its safe
// rate, except that DecideCode also raises flows of other classes.
type Decision uint8

// Decisions.
const (
	// DecideFit is DecideQueue in a fabric with Enforced, otherwise DecidePaper.
	DecideFit   Decision = iota
	DecidePaper          // P4TE §6.4.1: lower at an over-utilised egress port, otherwise raise
	DecideCode           // the P4TE code's, with meters of three colours
	// DecideQueue lowers if the egress port is over-utilised and has a queue (Program.hasQueue). An over-utilised port
	// without a queue changes no rate: a flow with a link of its own keeps its rate.
	DecideQueue
)

// RateConfig configures rate adaptation (§6.4).
type RateConfig struct {
	Mode     Mode
	Bytes    unit.Bytes // B: bytes that a flow sends before its rate may change again
	Lower    int        // a lowered window shrinks by 1/2^Lower
	Raise    int        // a raised window gains 1/2^Raise
	RoundUp  bool       // round a change below one unit of the window field up to one; otherwise down to 0
	Flows    int        // cells of a leaf's register
	Mark     bool       // mark ECN-capable packets for which the rate is lowered
	Decision Decision
	// Repeats lets fake ACKs pass the sender's leaf even for packets within B bytes of the last change. Switches make them
	// for all packets in flight until the first one is back. Without Repeats they end at the leaf, and P4TE §6.4.1's
	// promise of one per B bytes holds.
	Repeats bool
	// WithinLeaf includes flows between two hosts of one leaf. Their packets access two cells: their own flow's and, as
	// acknowledgements, the opposite flow's.
	WithinLeaf bool
	// MinSegments is the minimum of a limit with Enforced, in segments. A limit gains a segment or, with RaisesByShare,
	// 1/2^Raise.
	MinSegments   int
	RaisesByShare bool
}

// MaxBytes is the exclusive upper limit of B: a quarter of half the sequence space, so that a distance of 2B still has
// a sign.
const MaxBytes unit.Bytes = 1 << 29

// rater adapts rates in one switch.
type rater struct {
	config       RateConfig
	program      *Program
	flows        []flowCell
	mask         uint32
	limitedFlows int // flows with a limit
}

// flowCell is a leaf's state of a flow from one of its hosts, in the cell that the flow's hash selects: the last
// acknowledgement on its way to the host, and the sequence number at which the rate last changed. The cell belongs to
// the flow with the latest SYN; a flow that has lost its cell is not controlled.
//
// P4TE §6.6 counts 4 bytes per flow, the field changed alone; a fake ACK needs the other fields, too. addRegisters
// reports the size of a cell on a switch.
type flowCell struct {
	tag           uint32
	used          bool
	hasAck        bool // an acknowledgement has arrived
	stamped       bool
	scale         uint8 // of the receiver's window; 0xff: unknown
	window        uint16
	ack, seq      uint32
	tsVal, tsEcho uint32
	lastChange    uint32 // sequence number of the last change
	nextByte      uint32 // first byte that the host has not yet sent
	maxPayload    int32  // payload in bytes
	limit         int64  // limit of the window in bytes, Enforced; 0: no limit
	quietFrom     uint32 // with a limit: last byte at which a fake ACK arrived or the limit rose
}

// newRater returns the rate adaptation of a switch, at a leaf with its register of flows; nil with RateOff.
func newRater(t *Program, c RateConfig) *rater {
	if c.Mode == RateOff {
		return nil
	}
	r := &rater{config: c, program: t}
	if t.place.Tier == 1 {
		n := 1
		for n < c.Flows {
			n *= 2
		}
		r.flows, r.mask = make([]flowCell, n), uint32(n-1)
	}
	return r
}

// findCell returns a flow's cell by its hash in the direction of data; nil if the flow has no cell. Only leaves have
// cells and may call it. The cell stays in the register: the caller may change it.
func (r *rater) findCell(hash uint32) *flowCell {
	c := &r.flows[dataplane.MixHash(hash)&r.mask]
	if !c.used || c.tag != hash {
		return nil
	}
	return c
}

// openCell empties a flow's cell and assigns it to the flow, replacing another one and its limit. Only leaves may call
// it.
func (r *rater) openCell(hash uint32) *flowCell {
	c := &r.flows[dataplane.MixHash(hash)&r.mask]
	r.removeLimit(c)
	*c = flowCell{used: true, tag: hash, scale: unknownScale}
	return c
}

// removeLimit removes a flow's limit.
func (r *rater) removeLimit(c *flowCell) {
	if c.limit > 0 {
		c.limit = 0
		r.limitedFlows--
	}
}

// recordFromHost records a packet from a host in its flow's cell, and fills h for the switches on the way. A SYN opens
// the flow's cell, a FIN or RST frees it. Before the first acknowledgement h stays without a rate. A flow with a limit
// that has sent 2B bytes without a fake ACK gets a higher limit.
func (r *rater) recordFromHost(p *packet.Packet, h *Header) {
	if p.Proto != packet.ProtoTCP {
		return
	}
	seq := uint32(p.Seq)
	if p.TCP.Flags&packet.SYN != 0 {
		scale := unknownScale // a SYN-ACK opens the other direction, with the scale of the SYN
		if c := r.findCell(p.Hash); c != nil && !c.hasAck && p.TCP.Flags&packet.ACK != 0 {
			if scale = c.scale; p.TCP.Present&packet.HasScale == 0 && scale != unknownScale { // RFC 7323 §2.2: both or neither
				scale = 0
			}
		}
		c := r.openCell(p.Hash)
		c.scale, c.lastChange, c.nextByte = scale, seq, seq+1
		return
	}
	c := r.findCell(p.Hash)
	if c == nil {
		return
	}
	if p.TCP.Flags&(packet.FIN|packet.RST) != 0 {
		r.removeLimit(c)
		c.used = false
		return
	}
	if p.Payload == 0 {
		return
	}
	if end := seq + uint32(p.Payload); int32(end-c.nextByte) > 0 {
		c.nextByte = end
	}
	c.maxPayload = max(c.maxPayload, p.Payload)
	if int32(seq-c.lastChange) > 2*int32(MaxBytes)-1 { // keep the distance limited, as sequence numbers wrap
		c.lastChange = seq - 2*uint32(MaxBytes) + 1
	}
	if !c.hasAck { // no rate changes before the first ACK
		return
	}
	if c.limit > 0 && int64(int32(seq-c.quietFrom)) >= 2*int64(r.config.Bytes) {
		// No switch has lowered the rate for another B bytes. The flow may be below its class's safe rate, where no switch
		// raises it (P4TE §6.4.1).
		r.changeLimit(c, false)
		c.quietFrom = seq - uint32(r.config.Bytes)
	}
	h.Rated, h.Ack, h.Seq, h.Window, h.Scale = true, c.ack, c.seq, c.window, c.scale
	h.Stamped, h.TSVal, h.TSEcho = c.stamped, c.tsVal, c.tsEcho
	h.Allowed = int32(seq-c.lastChange) >= int32(r.config.Bytes)
}

// recordToHost records an acknowledgement to a host, or the change of rate that a fake ACK announces. A SYN opens the
// cell of the opposite direction. Where the flow has a limit, it lowers the window in p. It consumes fake ACKs that the
// host must not receive, and accepts all other packets. h is the packet's header; nil: no header.
func (r *rater) recordToHost(env *dataplane.Env, p *packet.Packet, h *Header) dataplane.Verdict {
	if p.Proto != packet.ProtoTCP {
		return dataplane.Accept
	}
	t := &p.TCP
	reverse := env.OppositeHash(p)
	switch {
	case h != nil && h.Fake:
		return r.receiveFake(r.findCell(reverse), h)
	case t.Flags&(packet.SYN|packet.ACK) == packet.SYN: // the host's SYN-ACK uses this scale
		r.openCell(reverse).scale = scaleOf(t)
		return dataplane.Accept
	}
	c := r.findCell(reverse)
	if c == nil || t.Flags&packet.ACK == 0 {
		return dataplane.Accept
	}
	if t.Flags&packet.SYN != 0 {
		if !c.hasAck {
			c.scale = scaleOf(t)
		}
		return dataplane.Accept
	}
	if !c.hasAck || int32(uint32(p.Ack)-c.ack) >= 0 { // otherwise it is an old one
		c.hasAck, c.ack, c.seq, c.window = true, uint32(p.Ack), uint32(p.Seq)+uint32(p.Payload), t.Window
		if t.Flags&packet.FIN != 0 {
			c.seq++
		}
		c.stamped, c.tsVal, c.tsEcho = t.Present&packet.HasTimestamps != 0, t.TSVal, t.TSEcho
	}
	r.limitWindow(c, t)
	return dataplane.Accept
}

// unknownScale is the scale of a window if the leaf has missed the SYN.
const unknownScale uint8 = 0xff

// scaleOf returns the window scale of a SYN, at most 14 (RFC 7323 §2.3); 0 without the option.
func scaleOf(t *packet.Segment) uint8 {
	if t.Present&packet.HasScale == 0 {
		return 0
	}
	return min(t.Scale, 14)
}

// receiveFake records a fake ACK for a packet at sequence number h.Ack: the flow's last change and, with Enforced, its
// limit. c may be nil. A repeated one, within B bytes of the last change, is counted, and without Repeats has no other
// effect. It returns Consume unless the sender is to receive the fake ACK.
func (r *rater) receiveFake(c *flowCell, h *Header) dataplane.Verdict {
	if c != nil {
		c.quietFrom = c.nextByte
		if int64(int32(h.Ack-c.lastChange)) < int64(r.config.Bytes) {
			r.program.counts.Repeated++
			if !r.config.Repeats {
				return dataplane.Consume
			}
		}
		if int32(h.Ack-c.lastChange) > 0 {
			c.lastChange = h.Ack
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

// limitWindow lowers the window of an acknowledgement t to the flow's limit, and counts that. A SYN's window is not
// scaled, and is kept. Without a limit or a known scale it has no effect.
func (r *rater) limitWindow(c *flowCell, t *packet.Segment) {
	if c.limit == 0 || t.Flags&packet.SYN != 0 || c.scale > 14 {
		return
	}
	if w := (c.limit-1)>>c.scale + 1; w < int64(t.Window) { // rounded up: less than whole segments would wait
		t.Window = uint16(w)
		r.program.counts.LoweredWindows++
	}
}

// changeLimit lowers or raises the limit of a flow. Without a limit, lowering starts from the bytes in flight, as the
// receiver's window is usually far larger, and raising has no effect. Nor has either without a known scale. A limit
// that reaches the receiver's window is removed.
func (r *rater) changeLimit(c *flowCell, lower bool) {
	if c.scale > 14 {
		return
	}
	own := int64(c.window) << c.scale
	if lower {
		if c.limit == 0 {
			r.limitedFlows++
		}
		if c.limit == 0 || c.limit > own {
			c.limit = min(own, int64(c.nextByte-c.ack))
		}
		c.limit -= r.windowChange(c.limit, r.config.Lower, int64(1)<<c.scale)
		c.limit = max(c.limit, int64(r.config.MinSegments)*int64(c.maxPayload), int64(1)<<c.scale)
	} else if c.limit > 0 {
		gain := int64(c.maxPayload)
		if r.config.RaisesByShare {
			gain = r.windowChange(c.limit, r.config.Raise, int64(1)<<c.scale)
		}
		if c.limit += gain; c.limit >= own {
			r.removeLimit(c)
		}
	}
}

// windowChange returns by what a window of x changes: x/2^shift, rounded down. With RoundUp it is at least unit, the
// value of one step of the window field.
func (r *rater) windowChange(x int64, shift int, unit int64) int64 {
	d := x >> shift
	if r.config.RoundUp && d < unit {
		return unit
	}
	return d
}

// changedWindow returns a window field after a change (P4TE §6.4.2), computed on the unscaled field, between 1 and
// 65535; 0 stays 0.
func (r *rater) changedWindow(window uint16, lower bool) uint16 {
	switch w := int64(window); {
	case w == 0:
		return 0
	case lower:
		return uint16(max(w-r.windowChange(w, r.config.Lower, 1), 1))
	default:
		return uint16(min(w+r.windowChange(w, r.config.Raise, 1), 65535))
	}
}

// adaptRate changes a flow's rate by a fake ACK, which it recirculates (P4TE §6.4.1), if its class exceeds the safe
// rate at the ingress port: down if the egress port is over-utilised, otherwise up. Other decisions: Decision. It
// counts the change, sets Applied in the packet's header for the switches that follow, and with Mark sets CE in an
// ECN-capable packet if its flow is to slow down. egress is the colour of the port.
func (r *rater) adaptRate(env *dataplane.Env, p *packet.Packet, egress dataplane.Colour) {
	if p.Payload == 0 || p.Proto != packet.ProtoTCP {
		return
	}
	queued := egress == dataplane.Green || r.config.Decision != DecideQueue || r.program.hasQueue(env, p.Meta.Out)
	lower, acts := r.decideChange(dataplane.Colour(p.Meta.Mark), egress, queued)
	if !acts {
		return
	}
	var h Header
	if !h.ReadFrom(p) || !h.Rated || !h.Allowed || h.Applied || h.Fake {
		return
	}
	if f, ok := r.makeFakeACK(env, p, &h, lower); ok {
		env.RecirculatePacket(f) // the route to the sender and the leaf's register are at the ingress
	}
	if lower {
		r.program.counts.Lower++
		if ecn := p.TOS & packet.ECN; r.config.Mark && ecn != packet.NotECT {
			p.TOS |= packet.CE
		}
	} else {
		r.program.counts.Raise++
	}
	h.Applied = true
	h.WriteTo(p)
}

// decideChange returns whether the rate is to be lowered, and whether it changes at all. It depends on the colour of
// the class at the ingress port and on the egress port's colour. Without queued, rates are not lowered; DecideCode does
// not read it. DecideCode also raises a class within its rate, and lowers only if both colours are red.
func (r *rater) decideChange(ingress, egress dataplane.Colour, queued bool) (lower, acts bool) {
	if r.config.Decision == DecideCode {
		lower = egress == dataplane.Red && ingress == dataplane.Red
		return lower, lower || egress <= dataplane.Yellow && ingress < dataplane.Red
	}
	lower = egress != dataplane.Green
	return lower, ingress == dataplane.Yellow && (queued || !lower)
}

// hasQueue reports whether a port's queue justifies a lower rate: half of Δ of the depth, which the port sends in half
// a round trip, or half of its buffer, if that is shorter. A flow that has filled both path and queue still fills the
// path with a quarter less.
func (t *Program) hasQueue(env *dataplane.Env, out packet.PortID) bool {
	port := env.Port(out)
	limit := port.Limit()
	return 2*int64(port.Packets()) >= t.config.DepthDelta[out] ||
		limit.Packets > 0 && 2*port.Packets() >= limit.Packets || limit.Bytes > 0 && 2*port.Bytes() >= limit.Bytes
}

// makeFakeACK returns the fake ACK for packet p with header h, a new packet to p's sender that the caller sends. lower:
// it lowers the rate. It returns false, and no packet, if the header has no room.
func (r *rater) makeFakeACK(env *dataplane.Env, p *packet.Packet, h *Header, lower bool) (*packet.Packet, bool) {
	f := env.ClonePacket(p, true)
	f.ClearExtensions()
	f.Meta = packet.Metadata{In: packet.NoPort, Out: packet.NoPort, Flags: packet.Internal}
	f.Sent = env.Now()
	f.SwapEnds()
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
		f.TCP.Present, f.TCP.TSVal, f.TCP.TSEcho = packet.HasTimestamps, h.TSVal, h.TSEcho
	}
	// The header holds the sequence number of the acknowledged packet (Ack), and whether the rate is lowered.
	note := Header{Source: h.Source, Scale: h.Scale, Fake: true, Applied: lower, Rated: true, Ack: uint32(p.Seq)}
	if !note.WriteTo(f) {
		env.FreePacket(f)
		return nil, false
	}
	r.program.setSize(f, packet.TCPHeader+f.TCP.OptionBytes())
	return f, true
}
