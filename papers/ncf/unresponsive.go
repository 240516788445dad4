package ncf

import (
	"slices"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// Elephants that ignore NACKs are trimmed first (ours; BS'19 §5 asks for hosts that acknowledge the signal, and leaves
// open what happens to others). Otherwise a flow that backs off on an early notice loses its share to one that waits
// for a loss: of two cubics at 200 Mb/s with 500 kB, the one that responds has 0.2 of the other's rate
// (experiments/partial.yaml).
//
// An elephant is unresponsive if it was notified in one window, and in the next whole one still sends more than its
// part of the port, and no less than respondedShare of what it sent before. While memory lacks, and elephants exceed
// their balance of it, so many of its packets are trimmed that its part passes (mice are not trimmed for elephants);
// each becomes a NACK. It is unresponsive until it responds, or is not notified for n windows. A flow that reacts to
// losses alone therefore gets a loss when one is due, and a flow that never reacts has its part and no more.
const respondedShare = 15. / 16

// response is how an elephant responds to notices.
type response struct {
	window       uint32 // in which it was last notified, and judged
	known        bool   // window is one
	unresponsive bool
	bytes        uint64  // that it sent in the whole window before
	excess       float64 // share of its packets that is beyond its part
	debt         float64 // bytes to be trimmed; a packet is when they are as many as it has
}

// judgeResponse judges whether an elephant that gets a NACK in this window has responded to earlier ones. share is its
// part of the port in bit/s.
func (t *Top) judgeResponse(o *Origin, window uint32, share float64, duration unit.Time) {
	i, h := slices.Index(t.keys, o.Key), &o.response
	if h.known && window-h.window < 2 { // no whole window lies between
		return
	}
	before := t.counts[i*t.windows+(t.slot+t.windows-1)%t.windows]
	rate := float64(before) * 8e12 / float64(duration)
	h.unresponsive = h.known && window-h.window <= uint32(t.windows) && share > 0 && rate > share &&
		float64(before) >= respondedShare*float64(h.bytes)
	if h.excess = 0; h.unresponsive {
		h.excess = 1 - share/rate
	}
	h.known, h.window, h.bytes = true, window, before
}

// withinOffer reports whether an elephant sends no more than it is offered. Memory suffices once the others reduce, so
// it is not notified; otherwise it would pay for flows that do not respond.
func (g *Program) withinOffer(env *dataplane.Env, x *port, o *Origin) bool {
	return !g.config.TellAll && !g.config.Sketch.Packets && x.rate(env.Now(), o.Count) <= g.supply(env, x, Elephants)
}

// trimUnresponsive reports whether the packet belongs to an unresponsive elephant and is to be trimmed.
func (g *Program) trimUnresponsive(p *packet.Packet) bool {
	x := g.at(p.Meta.Out)
	if m := x.congested(); g.config.Spare || m == nil || !m.Exceeds(Elephants) || !carries(p) {
		return false
	}
	i := slices.Index(x.top.keys, g.key(p))
	if i < 0 {
		return false
	}
	h := &x.top.origins[i].response
	if !h.unresponsive || x.sketch.Window()-h.window > uint32(x.top.windows) {
		h.unresponsive, h.debt = false, 0
		return false
	}
	if h.debt += float64(h.excess * float64(p.Size)); h.debt < float64(p.Size) {
		return false
	}
	h.debt -= float64(p.Size)
	return true
}
