package uet

import (
	"weir/core/transport"
	"weir/core/unit"
)

// Ways to choose entropy values: words of Config.Balance.
const (
	balanceMixed      = "mixed"
	balanceOblivious  = "oblivious"
	balanceBitmap     = "bitmap"
	balanceREPS       = "reps"
	balanceRecycleAll = "reps_legacy"
	balanceOnePath    = "one"
)

// balanceKinds are all words of Config.Balance.
var balanceKinds = [...]string{balanceMixed, balanceOblivious, balanceBitmap, balanceREPS, balanceRecycleAll,
	balanceOnePath}

// maxPenalty limits the penalty of an entropy value.
const maxPenalty = 15

// feedback is the outcome of a packet on its path.
type feedback uint8

const (
	good feedback = iota
	marked
	trimmed
	timeout
)

// penalties has the amount that feedback adds to the penalty of an entropy value.
var penalties = [...]uint8{good: 0, marked: 1, trimmed: 4, timeout: maxPenalty}

// balancer chooses the entropy values of a flow's packets. It is a pure state machine.
type balancer interface {
	// nextValue returns the entropy value of the next packet. psn is its number, window the number of packets that the
	// window holds. Only recycling uses window; for others it is 0.
	nextValue(now unit.Time, psn, window int64) uint16
	// handleFeedback records the outcome of a packet with an entropy value.
	handleFeedback(now unit.Time, ev uint16, f feedback)
}

// newBalancer returns the balancer of a flow with a number of paths, a power of two. upper has the bits above those of
// the entropy values. freeze, explore and memory are parameters of reps. An unknown kind gives mixed.
func newBalancer(kind string, paths int, upper uint16, freeze unit.Time, explore, memory int,
	random unit.Random) balancer {
	r := round{upper: upper, mask: uint16(paths - 1), random: random}
	r.beginRound()
	switch kind {
	case balanceOnePath:
		return one(upper | uint16(random.IntN(paths)))
	case balanceOblivious:
		return &oblivious{r}
	case balanceBitmap:
		return &bitmap{round: r, penalty: make([]uint8, paths)}
	case balanceREPS:
		return &reps{round: r, ring: make([]recycled, memory), freeze: freeze, explore: explore}
	case balanceRecycleAll:
		return &recycling{round: r}
	default:
		return &mixed{bitmap: bitmap{round: r}}
	}
}

// one uses one path for the whole flow, like ECMP.
type one uint16

// nextValue returns the flow's only entropy value.
func (o one) nextValue(unit.Time, int64, int64) uint16 { return uint16(o) }
func (one) handleFeedback(unit.Time, uint16, feedback) {}

// round counts indices up, in an order that is drawn for each round: exclusive or with a mask.
type round struct {
	upper, mask   uint16 // of the flow: bits above the index, and mask of the index
	position, xor uint16
	random        unit.Random
}

// beginRound starts a round with another order.
func (r *round) beginRound() { r.position, r.xor = 0, uint16(r.random.IntN(int(r.mask)+1)) }

// currentIndex returns the current index.
func (r *round) currentIndex() uint16 { return (r.position ^ r.xor) & r.mask }

// stepIndex moves on to the next index. After the last one a new round begins, in a new order.
func (r *round) stepIndex() {
	if r.position == r.mask {
		r.beginRound()
		return
	}
	r.position++
}

// oblivious takes each index once a round, and ignores feedback.
type oblivious struct{ round }

// nextValue returns the value of the current index, and moves on to the next.
func (o *oblivious) nextValue(unit.Time, int64, int64) uint16 {
	ev := o.upper | o.currentIndex()
	o.stepIndex()
	return ev
}

func (*oblivious) handleFeedback(unit.Time, uint16, feedback) {}

// bitmap skips indices with a penalty. The first one that it skips for a packet loses a point.
type bitmap struct {
	round
	penalty []uint8 // nil: there is no penalty so far
}

// nextValue returns the value of the next index without a penalty, or of any if all have one.
func (b *bitmap) nextValue(unit.Time, int64, int64) uint16 {
	if b.penalty == nil {
		ev := b.upper | b.currentIndex()
		b.stepIndex()
		return ev
	}
	for passed := 0; passed <= int(b.mask) && b.penalty[b.currentIndex()] > 0; passed++ {
		if passed == 0 {
			b.penalty[b.currentIndex()]--
		}
		b.stepIndex()
	}
	ev := b.upper | b.currentIndex()
	b.stepIndex()
	return ev
}

// handleFeedback adds f's penalty to the penalty of ev, up to maxPenalty. The first penalty makes the array.
func (b *bitmap) handleFeedback(_ unit.Time, ev uint16, f feedback) {
	if penalties[f] == 0 {
		return
	}
	if b.penalty == nil {
		b.penalty = make([]uint8, int(b.mask)+1)
	}
	p := &b.penalty[ev&b.mask]
	*p = min(*p+penalties[f], maxPenalty)
}

// recycling uses each value as often as it had good feedback, in order. In the first window it counts up.
type recycling struct {
	round
	waiting transport.Queue[uint16]
	counted uint16
}

// nextValue removes and returns the oldest value to recycle. Without one, and for the first window or all indices, it
// counts up.
func (r *recycling) nextValue(_ unit.Time, psn, window int64) uint16 {
	if psn >= min(window, int64(r.mask)+1) {
		if ev, ok := r.takeRecycled(); ok {
			return ev
		}
	}
	ev := r.upper | r.counted&r.mask
	r.counted++
	return ev
}

// takeRecycled removes and returns the oldest value with good feedback; ok is false if there is no such value.
func (r *recycling) takeRecycled() (ev uint16, ok bool) {
	if r.waiting.Len() == 0 {
		return 0, false
	}
	ev = *r.waiting.Head()
	r.waiting.Pop()
	return ev, true
}

// handleFeedback keeps ev for reuse after good feedback, once for each.
func (r *recycling) handleFeedback(_ unit.Time, ev uint16, f feedback) {
	if f == good {
		r.waiting.Push(ev)
	}
}

// mixed recycles values with good feedback. If there is no such value the bitmap decides.
type mixed struct {
	bitmap
	kept recycling
}

// resetFor makes m the balancer of another flow, as newBalancer does, with m's memory.
func (m *mixed) resetFor(paths int, upper uint16, random unit.Random) {
	m.round = round{upper: upper, mask: uint16(paths - 1), random: random}
	m.beginRound()
	m.penalty = nil
	m.kept.waiting.Clear(0)
}

// nextValue removes and returns the oldest value to recycle; without one it returns the bitmap's next.
func (m *mixed) nextValue(now unit.Time, psn, window int64) uint16 {
	if ev, ok := m.kept.takeRecycled(); ok {
		return ev
	}
	return m.bitmap.nextValue(now, psn, window)
}

// handleFeedback passes feedback to both parts.
func (m *mixed) handleFeedback(now unit.Time, ev uint16, f feedback) {
	m.bitmap.handleFeedback(now, ev, f)
	m.kept.handleFeedback(now, ev, f)
}

// recycled is an entropy value with good feedback.
type recycled struct {
	ev    uint16
	fresh bool // it was not used since
	known bool // the entry has a value
}

// reps keeps the latest values with good feedback in a ring, uses each once, the oldest first, and else explores at
// random. After a timeout it freezes: for a while it cycles through the ring, with used values as well.
type reps struct {
	round
	ring    []recycled
	at      int // place of the next value
	fresh   int // number of fresh values in the ring
	cycle   int // place of the next packet's value during a freeze
	freeze  unit.Time
	explore int // number of packets for exploration after a freeze
	left    int // of these, not sent yet
	until   unit.Time
}

// randomValue returns a random value.
func (r *reps) randomValue() uint16 { return r.upper | uint16(r.random.IntN(int(r.mask)+1)) }

// nextValue returns the next value of the ring during a freeze, else the oldest fresh one, else a random one.
func (r *reps) nextValue(now unit.Time, _, _ int64) uint16 {
	if r.until > 0 && now >= r.until { // the freeze is over
		r.until, r.left, r.fresh, r.at = 0, r.explore, 0, 0
		clear(r.ring)
	}
	switch {
	case r.until > 0:
		for range r.ring {
			x := &r.ring[r.cycle]
			if r.cycle++; r.cycle == len(r.ring) {
				r.cycle = 0
			}
			if x.known {
				if x.fresh {
					x.fresh = false
					r.fresh--
				}
				return x.ev
			}
		}
	case r.left > 0:
		r.left--
	case r.fresh > 0:
		for k := range r.ring { // the oldest is at the next place, or after it
			if x := &r.ring[(r.at+k)%len(r.ring)]; x.fresh {
				x.fresh = false
				r.fresh--
				return x.ev
			}
		}
	}
	return r.randomValue()
}

// handleFeedback keeps ev after good feedback, in place of the oldest value. After a timeout it begins a freeze, unless
// one or its exploration is in progress.
func (r *reps) handleFeedback(now unit.Time, ev uint16, f feedback) {
	switch f {
	case good:
		x := &r.ring[r.at]
		if !x.fresh {
			r.fresh++
		}
		*x = recycled{ev, true, true}
		if r.at++; r.at == len(r.ring) {
			r.at = 0
		}
	case timeout:
		if r.until == 0 && r.left == 0 {
			r.until, r.cycle = now+r.freeze, r.at
		}
	}
}
