package outcome

import (
	"weir/core/transport"
	"weir/core/unit"
)

// RankCounters are the sums of the counters of all messages of a rank of a job, with the smallest and the largest
// delay. Messages have no results of their own, as there may be hundreds of millions of them.
type RankCounters struct {
	Sent     transport.Sent     // of messages that the rank sends
	Received transport.Received // of the same messages, at their receivers
	Timeouts int64
	Got      unit.Bytes // payload of messages to the rank
}

// Add adds the counters of another rank, or of a message. The smallest delay starts at unit.Never in c; 0 in x means no
// delay. Jitter is not added.
func (c *RankCounters) Add(x *RankCounters) {
	s, r := &x.Sent, &x.Received
	c.Sent.SentPackets += s.SentPackets
	c.Sent.SentBytes += s.SentBytes
	c.Sent.Retransmitted += s.Retransmitted
	c.Sent.NacksTaken += s.NacksTaken
	c.Sent.NacksRefused += s.NacksRefused
	c.Received.ReceivedPackets += r.ReceivedPackets
	c.Received.ReceivedBytes += r.ReceivedBytes
	for i, n := range r.Spurious {
		c.Received.Spurious[i] += n
	}
	c.Received.DelaySum += r.DelaySum
	if r.DelayMin > 0 {
		c.Received.DelayMin = min(c.Received.DelayMin, r.DelayMin)
	}
	c.Received.DelayMax = max(c.Received.DelayMax, r.DelayMax)
	c.Timeouts += x.Timeouts
	c.Got += x.Got
}

// Minus returns the difference to base, an earlier copy. Jitter and the smallest and largest delay are c's.
func (c *RankCounters) Minus(base *RankCounters) RankCounters {
	return RankCounters{Sent: c.Sent.Since(&base.Sent), Received: c.Received.Since(&base.Received),
		Timeouts: c.Timeouts - base.Timeouts, Got: c.Got - base.Got}
}

// AddRepeated adds n times the difference between two copies, first and last. The smallest and the largest delay of
// last count as well.
func (c *RankCounters) AddRepeated(n int64, first, last *RankCounters) {
	d := last.Minus(first)
	s, r := &d.Sent, &d.Received
	for _, x := range []*int64{&s.SentPackets, &s.Retransmitted, &s.NacksTaken, &s.NacksRefused, &r.ReceivedPackets,
		&d.Timeouts} {
		*x *= n
	}
	for i := range r.Spurious {
		r.Spurious[i] *= n
	}
	for _, x := range []*unit.Bytes{&s.SentBytes, &r.ReceivedBytes, &d.Got} {
		*x *= unit.Bytes(n)
	}
	r.DelaySum *= unit.Time(n)
	c.Add(&d)
}

// Repetition describes which iterations of a job were taken from earlier ones.
type Repetition struct {
	Iterations int       // number that was not simulated, as each would have repeated an earlier one; 0: every one was
	First      int       // number of the first of them, from 0
	Cycle      int       // number of iterations that recur together; 1: each repeats the one before it
	Period     unit.Time // of a cycle
	Words      int       // of state that were compared
	// Why is the word of the state that differs, or another reason why each iteration was simulated; "": some were not.
	Why string
}
