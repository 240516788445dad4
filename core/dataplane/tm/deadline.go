package tm

import (
	"fmt"
	"math/bits"

	"weir/core/scheme"
	"weir/core/unit"
)

// deadline serves the queue with the earliest deadline of a head: its arrival time plus the queue's offset (Delay-EDD
// with one bound a class). It needs no state, because packets have their arrival times.
type deadline struct {
	offset []unit.Time
}

// NewDeadline returns the scheduler of queues that are classes of delay. A packet of queue i that arrived at t has
// the deadline t + offsets[i]. The earliest deadline is first, of equal ones the first queue's. A queue's only
// advantage over another one is its earlier deadline. A packet leaves no later than in a FIFO queue if it had arrived
// later by the difference of the offsets, so no queue starves under any traffic. With all packets in one queue, the
// port is first in, first out.
func NewDeadline(offsets []unit.Time) Scheduler { return &deadline{offsets} }

// Next returns the ready queue whose head has the earliest deadline. At least one queue must be ready.
func (d *deadline) Next(_ unit.Time, b *Buffer) (QueueID, unit.Time) {
	ready := b.readyQueues()
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
	Step    unit.Time                     // difference between the offsets of successive queues
	Offsets []scheme.Pair[int, unit.Time] // by queue, in place of the steps
}

// Params binds the options of deadline to the fields of c, which keep their values.
func (c *deadlineConfig) Params(p *scheme.Params) {
	p.Time(&c.Step, "step", "20ms", "time by which packets of a queue may wait longer than packets of the queue "+
		"before it", "Weir").Min("0s").Max("10s")
	scheme.MapOf(p, &c.Offsets, parseQueue, scheme.Times, "offsets",
		"offset of the deadline from a packet's arrival, by queue from 0: {0: 0s, 1: 5ms}; a queue that is not given "+
			"has its number times step",
		"Delay-EDD (JSAC 1990): one bound per channel").Min("0s").Max("10s")
}

// newScheduler returns the scheduler of so many queues. Later queues have offsets of Step more each, unless Offsets has
// theirs. It fails if a queue's offset is below the one of the queue before it, or a queue does not exist.
func (c *deadlineConfig) newScheduler(queues int) (Scheduler, error) {
	all := make([]unit.Time, queues)
	for i := range all {
		all[i] = unit.Time(i) * c.Step
	}
	for _, x := range c.Offsets {
		if err := checkQueue(x.Key, queues); err != nil {
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
