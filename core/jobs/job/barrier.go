package job

import "weir/core/unit"

// Barrier lets the ranks of a job begin each iteration together: once all wait at it, at the next multiple of a
// period. Ranks begin the first iteration at the start of the job, without it.
type Barrier struct {
	Ranks int
	// Delay is the minimum time between the arrival of the last rank and the release. It is the time by which a driver
	// may run some ranks ahead of others. 0: a rank may be released when the last arrives.
	Delay unit.Time

	waiting []waiting
	last    unit.Time // latest arrival
}

// waiting is a rank at the barrier.
type waiting struct {
	rank  *Rank
	at    Ref
	since unit.Time
}

// Arrive adds a rank that waits with an operation from now on. The last rank releases all of them at the first
// multiple of period that is at least Delay after the latest arrival. Arrive then returns true, and each rank has an
// event at that time.
func (b *Barrier) Arrive(now unit.Time, r *Rank, at Ref, period unit.Time) (released bool) {
	b.waiting, b.last = append(b.waiting, waiting{r, at, now}), max(b.last, now)
	if len(b.waiting) < b.Ranks {
		return false
	}
	release := nextMultiple(b.last+b.Delay, period)
	for _, w := range b.waiting {
		w.rank.events.push(event{at: release, kind: endsNow, ref: w.at, since: w.since, turn: w.rank.nextTurn()})
	}
	b.waiting = b.waiting[:0]
	return true
}

// CountWaiting returns the number of ranks that wait.
func (b *Barrier) CountWaiting() int { return len(b.waiting) }

// nextMultiple returns the first multiple of period at or after a time.
func nextMultiple(at, period unit.Time) unit.Time { return (at + period - 1) / period * period }
