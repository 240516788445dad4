package tm

import "weir/core/unit"

// calendar serves queues that are rounds (AFQ §3.4: rotating strict priority): the current round's queue until it is
// empty, then the next one with packets. A round that PFC holds is skipped, and served at its next turn.
type calendar struct {
	queues uint64
	round  uint64
}

// NewCalendar returns the scheduler of a port with rounds as queues. A program (afq) puts packets into the queue of
// their round, numbered modulo the number of queues.
func NewCalendar(queues int) Scheduler { return &calendar{queues: uint64(queues)} }

// Next returns the queue of the current round, or advances to the next round with a ready queue. At least one queue
// must be ready.
func (c *calendar) Next(_ unit.Time, b *Buffer) (QueueID, unit.Time) {
	ready := b.readyQueues()
	for ready&(1<<(c.round%c.queues)) == 0 {
		c.round++
	}
	return QueueID(c.round % c.queues), unit.Never
}

// CurrentRound returns the number of the current round; ok is false if the port's queues are not rounds.
func (p *Port) CurrentRound() (round uint64, ok bool) {
	if c, is := p.scheduler.(*calendar); is {
		return c.round, true
	}
	return 0, false
}
