package ncf

import (
	"slices"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// Unresponsive elephants are trimmed first. This is Weir's addition: BS'19 §5 asks for hosts that acknowledge the
// signal, and leaves open how to treat others. Otherwise a flow that backs off on an early notice loses its share to
// one that waits for a loss (experiments/partial.yaml).
//
// An elephant is unresponsive if it was notified in one window, and in the next whole one still sends more than its
// part of the port, and at least respondedShare of its rate before. While memory is short, and elephants exceed their
// balance, as many of its packets are trimmed as exceed its part (mice are not trimmed for elephants); each causes a
// NACK. It stays unresponsive until it responds, or is not notified for n windows. So a flow that responds only to
// losses gets one when it is due, and a flow that never responds gets its part and no more.
const respondedShare = 15. / 16

// response is the state of an elephant's responses to notices.
type response struct {
	window       uint32 // window in which it was last notified and judged
	isSet        bool   // window is valid
	unresponsive bool
	bytes        uint64  // sent in the whole window before
	excess       float64 // share of its packets beyond its part
	debt         float64 // bytes due for trimming; a packet of that size is trimmed
}

// judgeResponse judges whether an elephant that gets a NACK in this window has responded to earlier ones, and stores
// the result in o. It has no effect without a whole window since the last judgement. share is its part of the port in
// bit/s, 0 if unknown, and duration a window's. The counts must be bytes.
func (t *HeaviestFlows) judgeResponse(o *Origin, window uint32, share float64, duration unit.Time) {
	i, h := slices.Index(t.keys, o.Key), &o.response
	if h.isSet && window-h.window < 2 { // no whole window lies between
		return
	}
	before := t.counts[i*t.windows+(t.slot+t.windows-1)%t.windows]
	rate := float64(before) * 8e12 / float64(duration)
	h.unresponsive = h.isSet && window-h.window <= uint32(t.windows) && share > 0 && rate > share &&
		float64(before) >= respondedShare*float64(h.bytes)
	if h.excess = 0; h.unresponsive {
		h.excess = 1 - share/rate
	}
	h.isSet, h.window, h.bytes = true, window, before
}

// withinOffer reports whether an elephant sends no more than its offer. Memory suffices once the others reduce, so it
// is not notified; otherwise it would lose bandwidth to flows that do not respond.
func (g *Program) withinOffer(env *dataplane.Env, x *port, o *Origin) bool {
	return !g.config.NotifiesAll && !g.config.Sketch.Packets && x.rateOf(env.Now(), o.Count) <= g.supply(env, x, Elephants)
}

// trimUnresponsive reports whether p belongs to an unresponsive elephant and is due for trimming, and updates its debt.
func (g *Program) trimUnresponsive(p *packet.Packet) bool {
	x := g.portAt(p.Meta.Out)
	if m := x.congested(); g.config.TrimsAlike || m == nil || !m.ExceedsBalance(Elephants) || !isData(p) {
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
