package uet

import (
	"weir/core/transport"
	"weir/core/unit"
)

// How entropy values are chosen: words of Config.Balance.
const (
	Mixed       = "mixed"
	Oblivious   = "oblivious"
	Bitmap      = "bitmap"
	REPS        = "reps"
	RecycleAll  = "reps_legacy"
	OnePath     = "one"
	mostPenalty = 15
)

// feedback is what a path has done to a packet.
type feedback uint8

const (
	good feedback = iota
	marked
	trimmed
	timeout
)

// penalties are what feedback adds to that of an entropy value.
var penalties = [...]uint8{good: 0, marked: 1, trimmed: 4, timeout: mostPenalty}

// balancer chooses the entropy values of a flow's packets. It is a pure state machine.
type balancer interface {
	// next is that of the next packet; psn is its number, window how many packets the window holds (recycling alone is
	// told).
	next(now unit.Time, psn, window int64) uint16
	// handleFeedback says what has come of a packet with an entropy value.
	handleFeedback(now unit.Time, ev uint16, f feedback)
}

// newBalancer makes the balancer of a flow that has paths entropy values, a power of two; upper are the bits above.
func newBalancer(kind string, paths int, upper uint16, freeze unit.Time, explore, memory int,
	random unit.Random) balancer {
	r := round{upper: upper, mask: uint16(paths - 1), random: random}
	r.begin()
	switch kind {
	case OnePath:
		return one(upper | uint16(random.IntN(paths)))
	case Oblivious:
		return &oblivious{r}
	case Bitmap:
		return &bitmap{round: r, penalty: make([]uint8, paths)}
	case REPS:
		return &reps{round: r, ring: make([]recycled, memory), freeze: freeze, explore: explore}
	case RecycleAll:
		return &recycling{round: r}
	default:
		return &mixed{bitmap: bitmap{round: r}}
	}
}

// one is one path for the whole flow, as ECMP has it.
type one uint16

func (o one) next(unit.Time, int64, int64) uint16      { return uint16(o) }
func (one) handleFeedback(unit.Time, uint16, feedback) {}

// round counts indices up, in an order that is drawn for each round: exclusive or with a mask.
type round struct {
	upper, mask uint16 // of the flow: bits above the index, bits of it
	at, xor     uint16
	random      unit.Random
}

func (r *round) begin() { r.at, r.xor = 0, uint16(r.random.IntN(int(r.mask)+1)) }

// index is the present one.
func (r *round) index() uint16 { return (r.at ^ r.xor) & r.mask }

// step goes on to the next one.
func (r *round) step() {
	if r.at == r.mask {
		r.begin()
		return
	}
	r.at++
}

// oblivious takes each index once a round, whatever is heard.
type oblivious struct{ round }

func (o *oblivious) next(unit.Time, int64, int64) uint16 {
	ev := o.upper | o.index()
	o.step()
	return ev
}

func (*oblivious) handleFeedback(unit.Time, uint16, feedback) {}

// bitmap passes over indices that have done badly. The first one that it passes over for a packet loses a point.
type bitmap struct {
	round
	penalty []uint8 // nil: none has done badly so far
}

func (b *bitmap) next(unit.Time, int64, int64) uint16 {
	if b.penalty == nil {
		ev := b.upper | b.index()
		b.step()
		return ev
	}
	for passed := 0; passed <= int(b.mask) && b.penalty[b.index()] > 0; passed++ {
		if passed == 0 {
			b.penalty[b.index()]--
		}
		b.step()
	}
	ev := b.upper | b.index()
	b.step()
	return ev
}

func (b *bitmap) handleFeedback(_ unit.Time, ev uint16, f feedback) {
	if penalties[f] == 0 {
		return
	}
	if b.penalty == nil {
		b.penalty = make([]uint8, int(b.mask)+1)
	}
	p := &b.penalty[ev&b.mask]
	*p = min(*p+penalties[f], mostPenalty)
}

// recycling sends packets where others have done well, each as often as that, in order. The first window counts up.
type recycling struct {
	round
	waiting transport.Queue[uint16]
	counted uint16
}

func (r *recycling) next(_ unit.Time, psn, window int64) uint16 {
	if psn >= min(window, int64(r.mask)+1) {
		if ev, ok := r.recycle(); ok {
			return ev
		}
	}
	ev := r.upper | r.counted&r.mask
	r.counted++
	return ev
}

// recycle takes the oldest value that has done well.
func (r *recycling) recycle() (ev uint16, ok bool) {
	if r.waiting.Len() == 0 {
		return 0, false
	}
	ev = *r.waiting.Head()
	r.waiting.Pop()
	return ev, true
}

func (r *recycling) handleFeedback(_ unit.Time, ev uint16, f feedback) {
	if f == good {
		r.waiting.Push(ev)
	}
}

// mixed recycles what has done well, and if there is nothing, the bitmap decides.
type mixed struct {
	bitmap
	kept recycling
}

// again makes it that of another flow.
func (m *mixed) again(paths int, upper uint16, random unit.Random) {
	m.round = round{upper: upper, mask: uint16(paths - 1), random: random}
	m.begin()
	m.penalty = nil
	m.kept.waiting.Clear(0)
}

func (m *mixed) next(now unit.Time, psn, window int64) uint16 {
	if ev, ok := m.kept.recycle(); ok {
		return ev
	}
	return m.bitmap.next(now, psn, window)
}

func (m *mixed) handleFeedback(now unit.Time, ev uint16, f feedback) {
	m.bitmap.handleFeedback(now, ev, f)
	m.kept.handleFeedback(now, ev, f)
}

// recycled is an entropy value that has done well.
type recycled struct {
	ev    uint16
	fresh bool // it has not been taken since
	known bool
}

// reps keeps the latest values that have done well in a ring, takes each once, the oldest first, and else explores at
// random. After a timeout it freezes: it goes round in the ring, old or not, for a while.
type reps struct {
	round
	ring    []recycled
	at      int // where the next one goes
	fresh   int
	cycle   int // where it goes on while it is frozen
	freeze  unit.Time
	explore int // packets to be explored with after a freeze
	left    int // of these
	until   unit.Time
}

func (r *reps) anywhere() uint16 { return r.upper | uint16(r.random.IntN(int(r.mask)+1)) }

func (r *reps) next(now unit.Time, _, _ int64) uint16 {
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
		for k := range r.ring { // the oldest is where the next one goes, or behind
			if x := &r.ring[(r.at+k)%len(r.ring)]; x.fresh {
				x.fresh = false
				r.fresh--
				return x.ev
			}
		}
	}
	return r.anywhere()
}

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
