package tm

import (
	"fmt"
	"math/bits"

	"weir/core/scheme"
	"weir/core/unit"
)

// deadline serves the queue whose head has the earliest deadline: the time at which it came, and the
// queue's offset (Delay-EDD with one bound a class). It needs no state: packets know when they came.
type deadline struct {
	offset []unit.Time
}

// NewDeadline returns the scheduler of queues that are classes of delay. A packet of queue i, that came at t, has the
// deadline t + offsets[i]; the earliest goes, of equal ones that of the first queue. An earlier deadline is all that
// a queue has before another one: a packet leaves no later than one would, first in first out, that came by the
// difference of the offsets later, so none starves, whatever the others send; and with all packets in one queue the
// port is first in, first out.
func NewDeadline(offsets []unit.Time) Scheduler { return &deadline{offsets} }

func (d *deadline) Next(_ unit.Time, b *Buffer) (QueueID, unit.Time) {
	ready := b.ready()
	q := bits.TrailingZeros32(ready)
	earliest := b.queues[q].head.Enqueued + d.offset[q]
	for ready &= ready - 1; ready != 0; ready &= ready - 1 {
		i := bits.TrailingZeros32(ready)
		if at := b.queues[i].head.Enqueued + d.offset[i]; at < earliest {
			q, earliest = i, at
		}
	}
	return QueueID(q), unit.Never
}

// deadlineConfig configures classes of delay.
type deadlineConfig struct {
	Step    unit.Time                     // by which each queue's offset is above that of the one before
	Offsets []scheme.Pair[int, unit.Time] // by queue, in place of the steps
}

// Params binds the configuration.
func (c *deadlineConfig) Params(p *scheme.Params) {
	p.Time(&c.Step, "step", "20ms", "each queue's packets may wait so much longer than those of the one before",
		"ours").Min("0s").Max("10s")
	scheme.MapOf(p, &c.Offsets, queueOf, scheme.Times, "offsets",
		"by how much a deadline is behind a packet's arrival, by queue: its number times step where none is given",
		"Delay-EDD (JSAC 1990): one bound a channel").Min("0s").Max("10s")
}

func (c *deadlineConfig) scheduler(queues int) (Scheduler, error) {
	all := make([]unit.Time, queues)
	for i := range all {
		all[i] = unit.Time(i) * c.Step
	}
	for _, x := range c.Offsets {
		if err := is(x.Key, queues); err != nil {
			return nil, err
		}
		all[x.Key] = x.Value
	}
	for i := 1; i < queues; i++ {
		if all[i] < all[i-1] {
			return nil, fmt.Errorf("offsets: queue %d has %v, less than queue %d before it, %v; the first queue is the fastest",
				i, all[i], i-1, all[i-1])
		}
	}
	return NewDeadline(all), nil
}
