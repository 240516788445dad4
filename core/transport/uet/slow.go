package uet

import "weir/core/unit"

// slowdown makes a receiver ask for less than its link carries where the network is oversubscribed: where packets are
// trimmed before the last hop, or marked. Credit alone does not show that. Its share of the link changes in periods,
// also in periods without packets.
type slowdown struct {
	rate, minRate float64 // shares of the link's credit
	every         unit.Time
	marks, step   float64
	nextChange    unit.Time // when the share changes next
	random        unit.Random

	since  arrivals // packets since the share changed
	share  float64  // smoothed share of marked packets
	raised int      // increases in a row
}

// arrivals counts packets by their outcome.
type arrivals struct {
	all, marked, trimmed float64
	within               float64 // trimmed before the last hop
}

// minShare is the minimum share, in any network.
const minShare = 0.01

// lessByMarks is the fraction of the share of marks beyond the bound by which the rate falls.
const lessByMarks = 0.5

// longPause is the number of periods without a packet after which the state is reset: marks have halved away, and the
// share, which doubles its steps, is the whole link.
const longPause = 64

// newSlowdown returns the slowdown of a receiver that starts now, with the whole link.
func newSlowdown(now unit.Time, c *Config, random unit.Random) *slowdown {
	x := &slowdown{rate: 1, minRate: max(minShare, 0.9/c.Oversubscription), marks: c.SlowMarks, step: c.SlowStep,
		every: unit.Time(c.SlowEvery * float64(c.Network)), random: random}
	x.nextChange = now + x.drawPeriod()
	return x
}

// countArrival first changes the share for the periods that have passed, and then counts a packet with its outcome p.
func (x *slowdown) countArrival(now unit.Time, p arrivals) {
	x.passPeriods(now)
	x.since.all++
	x.since.marked += p.marked
	x.since.trimmed += p.trimmed
	x.since.within += p.within
}

// passPeriods changes the share once for each period that has passed, up to now. After longPause periods without a call
// it resets the state.
func (x *slowdown) passPeriods(now unit.Time) {
	if now-x.nextChange > longPause*x.every {
		x.rate, x.share, x.raised, x.since = 1, 0, longPause, arrivals{}
		x.nextChange = now + x.drawPeriod()
	}
	for now >= x.nextChange {
		x.changeShare()
		x.nextChange += x.drawPeriod()
	}
}

// changeShare reduces the share by the fraction of packets that were trimmed within the network, and by half of the
// share of marks beyond the bound among the whole packets. Otherwise it adds a step. Without marks the step is twice
// the last one.
func (x *slowdown) changeShare() {
	c, marks := x.since, 0.0
	if whole := c.all - c.trimmed; whole > 0 {
		marks = c.marked / whole
	}
	x.share = (x.share + marks) / 2
	less := c.within > 0
	if less {
		x.rate -= c.within / c.all
	}
	if over := x.share - x.marks; over > 0 {
		off := float64(lessByMarks * over)
		x.rate = float64(x.rate * (1 - off))
		less = true
	}
	switch {
	case less:
		x.raised = 0
	case c.marked > 0:
		x.rate += x.step
		x.raised++
	default:
		more := float64(x.step * float64(int(1)<<min(x.raised, 20)))
		x.rate += more
		x.raised++
	}
	x.rate = min(max(x.rate, x.minRate), 1)
	x.since = arrivals{}
}

// drawPeriod returns the time to the next change, a quarter more or less so that receivers do not change together.
func (x *slowdown) drawPeriod() unit.Time {
	spread := float64(0.5 * x.random.Float64())
	return max(unit.Time(float64(x.every)*(0.75+spread)), 1)
}
