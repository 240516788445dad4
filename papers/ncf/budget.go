package ncf

import (
	"weir/core/dataplane"
	"weir/core/unit"
)

// restoreSpans is the default of restore, in n·d: the time of balance that restores the whole budget. With 1, an
// attacker who floods a port for a quarter of every other n·d would have elephants throttled each time.
const restoreSpans = 10

// budget is the time for which elephants may be throttled because of mice (BS'19 §4.4: "we limit such throttling to a
// short time period"), by reclaimed memory or by notices to the N heaviest. Elephants that exceed their own balance are
// throttled without a budget. The other budget, of mice ("we know how many mice packets have been handled within the
// last n × d"), is in Program.flooded.
//
// The paper does not define when the time starts again. If it did so every n·d, a persistent attacker would throttle
// elephants for ever, in a part of each n·d, and TCP with a long round trip recovers from no reduction within n·d. The
// text ends throttling by restoring the balance ("we can again re-allocate the memory to maintain a balance between all
// flows"), so the balance also renews the budget. Windows in which mice kept to their balance while memory was scarce
// give back a part each, and the whole budget is back after restore. A fully spent budget is renewed only as a whole:
// one notice reduces an elephant as much, however small the budget.
type budget struct {
	limit   unit.Time // of throttling in total
	rolling bool      // renewed as n·d pass, instead of by balance
	windows tally     // with rolling: the time spent in each window, in ps

	spent     unit.Time
	exhausted bool      // fully spent, and not yet restored
	duration  unit.Time // of a window
	restore   int64     // windows of balance that restore the whole budget
	pressed   int64     // window in which mice last wanted more than their balance of scarce memory
	credited  int64     // last window that gave time back
}

// newBudget returns the unspent budget of a memory; c.Duration must be above 0.
func newBudget(c *MemoryConfig) budget {
	b := budget{limit: unit.Time(c.Spike * float64(c.Duration) * float64(c.Windows)), rolling: c.Rolling,
		windows: newTally(c.Windows, c.Duration), duration: c.Duration, pressed: -1, credited: -1}
	if b.restore = int64(c.Restore / c.Duration); c.Restore == 0 {
		b.restore = restoreSpans * int64(c.Windows)
	}
	b.restore = max(b.restore, 1)
	return b
}

// hasTime reports whether the budget has time left at now. It first renews what is due.
func (b *budget) hasTime(now unit.Time) bool {
	if b.rolling {
		return unit.Time(b.windows.sum(now)) < b.limit
	}
	b.renew(now)
	return !b.exhausted && b.spent < b.limit
}

// spend subtracts the time from since to now from the budget, after renewing what was due at since. It counts as
// pressure.
func (b *budget) spend(now, since unit.Time) {
	if b.rolling {
		b.windows.add(now, int64(now-since))
		return
	}
	b.renew(since)
	b.spent = min(b.spent+now-since, b.limit)
	b.exhausted = b.exhausted || b.spent >= b.limit
	b.pressed = int64(now / b.duration)
}

// recordPressure records that mice demand more than their balance while memory is scarce. That delays renewal.
func (b *budget) recordPressure(now unit.Time) {
	b.renew(now)
	b.pressed = int64(now / b.duration)
}

// renew restores time for the whole windows since mice last demanded more than their balance.
func (b *budget) renew(now unit.Time) {
	last := int64(now/b.duration) - 1
	if calm := last - max(b.pressed, b.credited); calm > 0 && b.spent > 0 {
		if calm >= b.restore {
			b.spent = 0
		} else {
			b.spent = max(b.spent-(b.limit+unit.Time(b.restore)-1)/unit.Time(b.restore)*unit.Time(calm), 0)
		}
		b.exhausted = b.exhausted && b.spent > 0
	}
	b.credited = max(b.credited, last)
}

// ExceedsBalance reports whether a class uses more than its balance.
func (m *Memory) ExceedsBalance(c Class) bool { return m.used[c] > m.balancedShares[c] }

// throttles reports whether elephants may be notified of congestion at now. If they keep to their balance, mice are the
// cause, and the time in which mice exceed theirs counts in the budget. It advances the memory's clock, and may begin a
// spike. flooded: the mice's own budget is spent.
func (m *Memory) throttles(now unit.Time, flooded bool) bool {
	if m.separate && m.ExceedsBalance(Elephants) {
		return true
	}
	m.clock(now)
	if m.ExceedsBalance(Mice) {
		m.budget.recordPressure(now)
	}
	if flooded || !m.budget.hasTime(now) {
		return false
	}
	m.spiking = m.spiking || m.ExceedsBalance(Mice)
	return true
}

// flooded reports whether the budget of mice is spent at a port: their arrivals in the last n·d exceed a share of what
// the port sends in that time. It is renewed as they leave the last n·d.
func (g *Program) flooded(env *dataplane.Env, x *port) bool {
	if int(x.out) >= env.Ports() {
		return false
	}
	whole := bytesPerPs(env.Port(x.out).Rate()) * float64(x.history())
	return float64(x.mice.sum(env.Now())) > g.config.MiceBudget*whole
}

// isFlood reports whether mice exceed their budget at port x while an overload denies them what they need.
func (g *Program) isFlood(env *dataplane.Env, x *port) bool {
	return !x.givesAsNeeded() && g.flooded(env, x)
}

// hasFreeRoom reports whether a frame of mice leaves room for other mice in all memory of the port. In a flood, flows
// that do not respond to NACKs get only that room. Otherwise a flow that starts in a flood would lose the same share of
// its packets as the flood, and would never send enough to become an elephant. The paper has no such rule.
func (x *port) hasFreeRoom(size int32) bool {
	return x.memory.hasFreeRoom(size) && (x.part == nil || x.part.hasFreeRoom(size))
}

// hasFreeRoom reports whether three quarters of the mice's reservation stay free after adding a frame of mice with size
// bytes, either in free memory or in the mice's entitlement in a flood. It is true if mice have no memory of their own.
func (m *Memory) hasFreeRoom(size int32) bool {
	n := m.cost(size) + m.floodShares[Mice]*3/4
	return !m.separate || m.used[Mice]+n <= m.floodShares[Mice] ||
		m.used[Mice]+m.used[Elephants]+n <= min(m.limit, m.size-m.used[Control])
}
