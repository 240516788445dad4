package ncf

import (
	"slices"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// Elephants that ignore NACKs are trimmed first (ours; BS'19 §5 asks for hosts that acknowledge the signal, and says
// nothing of those that do not). Without it, who heeds a notice of which nothing is lost pays for who waits for a loss:
// of two cubics that share 200 Mb/s and 500 kB, the one that heeds has 0.2 of the other's rate
// (experiments/partial.yaml).
//
// An elephant is deaf if it was told in one window, and in the next whole one still sends more than its part of the
// port, and no less than heeded of what it sent before. While memory lacks, and elephants exceed
// their balance of it (for mice they do not pay), so many of its packets are trimmed that what
// passes is its part; each becomes a NACK. It is deaf until it heeds, or is told nothing for n
// windows. So who reacts to losses alone gets one when it is due, and who reacts to nothing has its
// part and no more.
const heeded = 15. / 16

// hearing is how an elephant takes what it is told.
type hearing struct {
	window uint32 // in which it was last told, and judged
	known  bool   // window is one
	deaf   bool
	bytes  uint64  // that it sent in the whole window before
	excess float64 // share of its packets that is beyond its part
	debt   float64 // bytes to be trimmed; a packet is when they are as many as it has
}

// told judges an elephant that gets a NACK in this window; share is its part of the port, in bit/s.
func (t *Top) told(o *Origin, window uint32, share float64, duration unit.Time) {
	i, h := slices.Index(t.keys, o.Key), &o.hearing
	if h.known && window-h.window < 2 { // no whole window lies between
		return
	}
	before := t.counts[i*t.windows+(t.slot+t.windows-1)%t.windows]
	rate := float64(before) * 8e12 / float64(duration)
	h.deaf = h.known && window-h.window <= uint32(t.windows) && share > 0 && rate > share &&
		float64(before) >= heeded*float64(h.bytes)
	if h.excess = 0; h.deaf {
		h.excess = 1 - share/rate
	}
	h.known, h.window, h.bytes = true, window, before
}

// modest reports whether an elephant sends no more than it is offered: if those above are told, and reduce, memory
// suffices. If it were told, too, it would pay for who does not listen.
func (g *Program) modest(env *dataplane.Env, x *port, o *Origin) bool {
	return !g.config.TellAll && !g.config.Sketch.Packets && x.rate(env.Now(), o.Count) <= g.supply(env, x, Elephants)
}

// ignores reports whether the packet of an elephant that ignores NACKs is one to be trimmed.
func (g *Program) ignores(p *packet.Packet) bool {
	x := g.at(p.Meta.Out)
	if m := x.congested(); g.config.Spare || m == nil || !m.Exceeds(Elephants) || !carries(p) {
		return false
	}
	i := slices.Index(x.top.keys, g.key(p))
	if i < 0 {
		return false
	}
	h := &x.top.origins[i].hearing
	if !h.deaf || x.sketch.Window()-h.window > uint32(x.top.windows) {
		h.deaf, h.debt = false, 0
		return false
	}
	if h.debt += float64(h.excess * float64(p.Size)); h.debt < float64(p.Size) {
		return false
	}
	h.debt -= float64(p.Size)
	return true
}
