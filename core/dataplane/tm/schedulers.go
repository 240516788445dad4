package tm

import (
	"fmt"
	"math/bits"

	"weir/core/unit"
)

// fifo serves queue 0, the only one.
type fifo struct{}

// NewFIFO returns the scheduler of a port with one queue: first in, first out.
func NewFIFO() Scheduler { return fifo{} }

func (fifo) Next(unit.Time, *Buffer) (QueueID, unit.Time) { return 0, unit.Never }

// strict serves the first ready queue.
type strict struct{}

// NewStrict returns strict priority: queue 0 before queue 1 and so on.
func NewStrict() Scheduler { return strict{} }

func (strict) Next(_ unit.Time, b *Buffer) (QueueID, unit.Time) {
	return QueueID(bits.TrailingZeros32(b.readyQueues())), unit.Never
}

// deficit is deficit round robin (Shreedhar, Varghese, SIGCOMM'95). At each turn a backlogged queue earns its
// quantum, and it sends while its deficit counter covers the head packet. A queue that becomes empty loses its
// deficit. A queue that is paused, or not in the served set, keeps it and is skipped. Since it earns a quantum each
// time, its deficit before that is limited to a frame or a quantum.
type deficit struct {
	quantum []int32 // bytes a turn
	counter []int64
	turn    int    // queue that has the turn
	earned  bool   // it has earned its quantum for this turn
	first   uint32 // queues in strict priority before the others
}

// NewDRR returns deficit round robin with one quantum in bytes for all queues. The quantum should be at least the
// largest frame, so that each turn sends.
func NewDRR(queues int, quantum int32) Scheduler {
	weights := make([]int32, queues)
	for i := range weights {
		weights[i] = 1
	}
	return NewDWRR(weights, quantum)
}

// NewDWRR returns deficit weighted round robin: queue i earns weights[i] × quantum bytes a turn. All weights are
// above 0.
func NewDWRR(weights []int32, quantum int32) Scheduler {
	d := &deficit{quantum: make([]int32, len(weights)), counter: make([]int64, len(weights))}
	for i, w := range weights {
		d.quantum[i] = w * quantum
	}
	return d
}

// NewPriorityDWRR returns strict priority of the first queues, this many, over NewDWRR among the rest. weights has an
// entry for every queue; those of the first ones do not count.
func NewPriorityDWRR(priority int, weights []int32, quantum int32) Scheduler {
	d := NewDWRR(weights, quantum).(*deficit)
	d.first = 1<<priority - 1
	return d
}

// Next returns the first ready queue in strict priority, or else the one in turn, and charges its head to that queue's
// deficit. At least one queue must be ready.
func (d *deficit) Next(_ unit.Time, b *Buffer) (QueueID, unit.Time) {
	ready := b.readyQueues()
	if first := ready & d.first; first != 0 {
		return QueueID(bits.TrailingZeros32(first)), unit.Never
	}
	return d.nextQueue(b, ready), unit.Never
}

// nextQueue serves round robin among the queues in set, which is not empty. It charges the head of the queue to the
// queue's deficit.
func (d *deficit) nextQueue(b *Buffer, set uint32) QueueID {
	for {
		q := d.turn
		if set&(1<<q) != 0 {
			head := int64(b.queues[q].head.Size)
			if !d.earned {
				d.counter[q] = min(d.counter[q], max(head, int64(d.quantum[q]))) + int64(d.quantum[q])
				d.earned = true
			}
			if head <= d.counter[q] {
				d.counter[q] -= head
				if b.queues[q].packets == 1 { // it becomes empty
					d.counter[q] = 0
					d.endTurn()
				}
				return QueueID(q)
			}
		}
		if b.waiting&(1<<q) == 0 {
			d.counter[q] = 0
		}
		d.endTurn()
	}
}

// QueueShare returns queue q's share of the rate that the queues in strict priority leave, while all others are busy.
// ok is false for a queue in strict priority, which has no share.
func (d *deficit) QueueShare(q QueueID) (share float64, ok bool) {
	if d.first>>q&1 == 1 {
		return 1, false
	}
	sum := 0.0
	for i, x := range d.quantum {
		if d.first>>i&1 == 0 {
			sum += float64(x)
		}
	}
	return float64(d.quantum[q]) / sum, true
}

// MinQueueShare is QueueShare if no queue has strict priority. Otherwise the first queue may take the whole rate, and
// the scheduler guarantees the others no part.
func (d *deficit) MinQueueShare(q QueueID) (part float64, ok bool) {
	if d.first == 0 {
		return d.QueueShare(q)
	}
	return 1, q == 0
}

// endTurn passes the turn to the next queue, which has not earned its quantum yet.
func (d *deficit) endTurn() {
	if d.turn++; d.turn == len(d.counter) {
		d.turn = 0
	}
	d.earned = false
}

// Share is the guarantee and the limit of a queue of NewGuarantee, as shares of the port's rate.
type Share struct {
	Guarantee float64 // priority over others while below it; 0 … 1
	Ceiling   float64 // 0 … 1; 1 is no limit
	Hard      bool    // the ceiling holds even if the port would idle
}

// guarantee first serves queues below their guaranteed share, then, work conserving, the rest except queues above
// their ceiling. Both shares are token buckets in fractions of a byte: tokens grow with share × rate up to burst.
type guarantee struct {
	share  []Share
	rate   float64 // bytes/ps
	burst  float64
	tokens []float64 // of the guarantee
	room   []float64 // of the ceiling
	last   unit.Time
	rest   *deficit
	first  *deficit
	before uint32 // queues that precede all others while below guarantee or ceiling

	mice  uint32    // of NewNCF: the queue that SetAsNeeded applies to
	needy uint32    // mice while it takes what it needs; otherwise 0
	span  float64   // then: time in ps over which the other queues have their guarantees
	ahead []float64 // then: bytes of a queue beyond its guarantee
}

// trickle is the part of its guarantee that a queue has at any time next to a needy one. Without it a sender that
// waits for an acknowledgement would time out.
const trickle = 0.1

// NewGuarantee returns a scheduler with a guaranteed share and a ceiling per queue, within Guarantee's bounds.
// quantum is the round robin's among equals. burst, in bytes, limits how far a queue may be ahead of its share.
// NewGuarantee fails without a port rate in bit/s.
func NewGuarantee(shares []Share, rate unit.Rate, quantum int32, burst unit.Bytes) (Scheduler, error) {
	g, err := newGuarantee(shares, rate, quantum, burst)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// newPriorityGuarantee is NewGuarantee with the first queues, this many, in strict priority over all others while
// they are below their ceiling.
func newPriorityGuarantee(priority int, shares []Share, rate unit.Rate, quantum int32, burst unit.Bytes) (Scheduler,
	error) {
	g, err := newGuarantee(shares, rate, quantum, burst)
	if err != nil {
		return nil, err
	}
	g.before = 1<<priority - 1
	return g, nil
}

// newGuarantee returns the scheduler of NewGuarantee with full buckets and no queue in priority. It fails without a
// rate in bit/s.
func newGuarantee(shares []Share, rate unit.Rate, quantum int32, burst unit.Bytes) (*guarantee, error) {
	if rate <= 0 {
		return nil, fmt.Errorf("guarantees and ceilings need a port whose rate is in bit/s")
	}
	n := len(shares)
	g := &guarantee{
		share: shares, rate: float64(rate) / 8e12, burst: float64(burst),
		tokens: make([]float64, n), room: make([]float64, n), ahead: make([]float64, n),
		rest: NewDRR(n, quantum).(*deficit), first: NewDRR(n, quantum).(*deficit),
	}
	for i := range shares {
		g.tokens[i], g.room[i] = g.burst, g.burst
	}
	return g, nil
}

// MinQueueShare returns queue q's part of the port's rate while all queues are busy. It is the ceiling of a queue with
// priority. For others it is the guarantee and a part of the remaining rate, which the needy queue takes alone if there
// is one. Unlike deficit's QueueShare, queues may exceed it.
func (g *guarantee) MinQueueShare(q QueueID) (part float64, ok bool) {
	if g.before&(1<<q) != 0 {
		return g.share[q].Ceiling, true
	}
	left, weights := 1.0, 0.0
	for i, s := range g.share {
		if g.before&(1<<i) != 0 {
			left -= s.Ceiling
			continue
		}
		left -= s.Guarantee
		if g.needy == 0 || g.needy == 1<<i {
			weights += float64(g.rest.quantum[i])
		}
	}
	if g.needy != 0 && g.needy != 1<<q {
		return g.share[q].Guarantee, true
	}
	return g.share[q].Guarantee + float64(max(left, 0)*float64(g.rest.quantum[q])/weights), true
}

// SetAsNeeded lets mice (NewNCF) take the rate that they need before other queues, which have their guarantees over
// the given time and trickle of them at any time. With 0, the default, all share the rate beyond the guarantees. It
// reports whether the scheduler has such queues.
func (g *guarantee) SetAsNeeded(span unit.Time) bool {
	if g.needy = 0; span > 0 {
		g.needy, g.span = g.mice, float64(span)
	}
	return g.mice != 0
}

// isBelow reports whether queue i, which must not be empty, is below its guarantee. While another queue is needy, it
// must also not be ahead of its guarantee. It counts as below in any case if its head has waited for its time at
// trickle of the guarantee.
func (g *guarantee) isBelow(now unit.Time, b *Buffer, i int) bool {
	s := &g.share[i]
	if g.needy == 0 || s.Guarantee == 0 || g.needy == 1<<i {
		return s.Guarantee > 0 && g.tokens[i] > 0
	}
	if g.tokens[i] > 0 && g.ahead[i] == 0 {
		return true
	}
	l := &b.queues[i]
	return float64(now-l.HeadSince())*g.rate*s.Guarantee*trickle >= float64(l.head.Size)
}

// SetRate changes the rate to which shares apply.
func (g *guarantee) SetRate(rate unit.LinkRate) { g.rate = float64(rate.Bits) / 8e12 }

// Next returns the queue to serve, in this order: queues with priority; queues below their guarantee; the needy queue;
// queues below their ceiling; queues above a soft ceiling. It charges the head to the queue's buckets. If only hard
// ceilings hold ready queues back, it returns noQueue and the time when the first one may send.
func (g *guarantee) Next(now unit.Time, b *Buffer) (QueueID, unit.Time) {
	earned := float64(now-g.last) * g.rate
	g.last = now
	ready := b.readyQueues()
	var below, free, soft uint32 // below its guarantee; below its ceiling; above a soft ceiling
	again := unit.Never
	for i := range g.share {
		s := &g.share[i]
		g.tokens[i] = min(g.tokens[i]+float64(s.Guarantee*earned), g.burst)
		g.room[i] = min(g.room[i]+float64(s.Ceiling*earned), g.burst)
		g.ahead[i] = max(g.ahead[i]-float64(s.Guarantee*earned), 0)
		bit := uint32(1) << i
		if ready&bit == 0 {
			continue
		}
		switch {
		case g.isBelow(now, b, i):
			below |= bit
		case s.Ceiling == 1 || g.room[i] > 0:
			free |= bit
		case !s.Hard:
			soft |= bit
		default:
			wait := unit.Time((-g.room[i])/(g.rate*s.Ceiling)) + 1
			again = min(again, now+max(wait, 1))
		}
	}
	var q QueueID
	switch before := (below | free) & g.before; {
	case before != 0:
		q = QueueID(bits.TrailingZeros32(before))
		below &= 1 << q
	case below != 0:
		q = g.first.nextQueue(b, below)
	case free&g.needy != 0:
		q = g.rest.nextQueue(b, free&g.needy)
	case free != 0:
		q = g.rest.nextQueue(b, free)
	case soft != 0:
		q = g.rest.nextQueue(b, soft)
	default:
		return noQueue, again
	}
	size := float64(b.queues[q].head.Size)
	if below != 0 { // service beyond the guarantee does not use it up
		g.tokens[q] -= size
	}
	if g.needy != 0 {
		g.ahead[q] = min(g.ahead[q]+size, float64(g.share[q].Guarantee*g.rate)*g.span)
	}
	g.room[q] -= size
	if !g.share[q].Hard {
		g.room[q] = max(g.room[q], -g.burst)
	}
	return q, unit.Never
}

// NCF configures how NCF's queues share a port (BS'19 §4.2), in shares of its rate.
type NCF struct {
	Control         float64 // ceiling of the control queue
	Hard            bool    // the ceiling holds even if the port would idle
	Mice, Elephants float64 // guarantees
}

// NewNCF returns the scheduler of a port with NCF's queues. One queue is first in, first out. Two are the control queue
// and one for the rest. More are the control queue, the mice's, and those for elephants. The control queue is first
// while it is below its ceiling. Above it, it is served only if no other packet waits, or not at all with Hard. Mice
// and elephants share the rate beyond the guarantees equally, unless Port.SetAsNeeded lets mice take what they need.
// With several queues it fails without a rate in bit/s.
func NewNCF(queues int, c NCF, rate unit.Rate, quantum int32, burst unit.Bytes) (Scheduler, error) {
	if queues == 1 {
		return NewFIFO(), nil
	}
	shares := make([]Share, queues)
	shares[0] = Share{Ceiling: c.Control, Hard: c.Hard}
	if queues == 2 {
		shares[1] = Share{Guarantee: c.Mice + c.Elephants, Ceiling: 1}
		return newPriorityGuarantee(1, shares, rate, quantum, burst)
	}
	weights := make([]int32, queues)
	weights[0], weights[1] = 1, int32(queues-2)
	shares[1] = Share{Guarantee: c.Mice, Ceiling: 1}
	for i := 2; i < queues; i++ {
		shares[i] = Share{Guarantee: c.Elephants / float64(queues-2), Ceiling: 1}
		weights[i] = 1
	}
	g, err := newGuarantee(shares, rate, quantum, burst)
	if err != nil {
		return nil, err
	}
	g.before, g.mice = 1, 1<<1
	g.rest = NewDWRR(weights, quantum).(*deficit)
	return g, nil
}
