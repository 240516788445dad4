package uet

import "weir/core/unit"

// slowdown has a receiver ask for less than its link carries where the network is oversubscribed: where packets are
// trimmed elsewhere than before the receiver, or marked. Credit says nothing of that by itself.
type slowdown struct {
	rate, least float64 // shares of the link's credit
	every       unit.Time
	marks, step float64
	at          unit.Time // when the share changes next
	random      unit.Random

	packets, marked, trimmed float64 // since it changed
	share                    float64 // of packets that were marked, smoothed
	raised                   int     // times in a row
}

// leastShare is the smallest share, whatever the network.
const leastShare = 0.01

// newSlowdown begins with all of the link.
func newSlowdown(c *Config, random unit.Random) *slowdown {
	return &slowdown{rate: 1, least: max(leastShare, 0.9/c.Oversubscription), marks: c.SlowMarks, step: c.SlowStep,
		every: unit.Time(c.SlowEvery * float64(c.Network)), random: random}
}

// came takes a packet in: what it was, and whether the time has come to change the share.
func (x *slowdown) came(now unit.Time, marked, trimmed bool) {
	if x.at == 0 {
		x.at = now + x.period()
	}
	x.packets++
	if marked {
		x.marked++
	}
	if trimmed {
		x.trimmed++
	}
	if now < x.at {
		return
	}
	x.at = now + x.period()
	marks := x.marked / x.packets
	x.share = (x.share + marks) / 2
	switch {
	case x.trimmed > 0:
		x.rate -= x.trimmed / x.packets
		x.raised = 0
	case x.share > x.marks:
		less := float64(0.5 * (x.share - x.marks))
		x.rate = float64(x.rate * (1 - less))
		x.raised = 0
	case x.marked > 0:
		x.rate += x.step
		x.raised = 0
	default:
		more := float64(x.step * float64(int(1)<<min(x.raised, 20)))
		x.rate += more
		x.raised++
	}
	x.rate = min(max(x.rate, x.least), 1)
	x.packets, x.marked, x.trimmed = 0, 0, 0
}

// period is the time to the next change, a quarter more or less so that receivers do not change together.
func (x *slowdown) period() unit.Time {
	spread := float64(0.5 * x.random.Float64())
	return unit.Time(float64(x.every) * (0.75 + spread))
}
