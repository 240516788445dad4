package ncf

import (
	"weir/core/dataplane"
	"weir/core/unit"
)

// restoreSpans is how many n·d of balance give all of the time back where restore does not say. With one, an
// attacker who floods a port for a quarter of every other n·d has elephants cut each time.
const restoreSpans = 10

// budget is the time for which elephants may be throttled for what mice do (BS'19 §4.4: "we limit such
// throttling to a short time period"), be it by memory that is reclaimed from them or by notices to the N
// heaviest. Elephants that themselves exceed their balance pay for that without a budget. The other
// budget, of mice ("we know how many mice packets have been handled within the last n × d"), is in
// Program.flooded.
//
// The paper does not say when the time begins anew. If it did so every n·d, an attacker who stays would
// throttle elephants for good, a part of each n·d, and TCP at a long round trip recovers from no cut
// within n·d. The text ends the throttling by restoring the balance ("we can again re-allocate the memory
// to maintain a balance between all flows"), so the balance also renews it: windows in which, as
// far as memory was scarce, mice kept to theirs give it back, each its part, and all is there after
// restore. When all was spent, it is renewed as a whole: a little of it would cost elephants as
// much, for one notice is a cut.
type budget struct {
	most    unit.Time // of throttling
	rolling bool      // it is renewed by the passage of n·d instead
	windows tally     // with rolling: the time spent in each window, in ps

	spent    unit.Time
	over     bool      // all was spent, and has not come back
	duration unit.Time // of a window
	restore  int64     // windows of balance that give all of the time back
	pressed  int64     // window in which mice last wanted more than their balance of scarce memory
	credited int64     // last window that gave time back
}

func newBudget(c *MemoryConfig) budget {
	b := budget{most: unit.Time(c.Spike * float64(c.Duration) * float64(c.Windows)), rolling: c.Rolling,
		windows: newTally(c.Windows, c.Duration), duration: c.Duration, pressed: -1, credited: -1}
	if b.restore = int64(c.Restore / c.Duration); c.Restore == 0 {
		b.restore = restoreSpans * int64(c.Windows)
	}
	b.restore = max(b.restore, 1)
	return b
}

// left reports whether there is time left at now.
func (b *budget) left(now unit.Time) bool {
	if b.rolling {
		return unit.Time(b.windows.sum(now)) < b.most
	}
	b.renew(now)
	return !b.over && b.spent < b.most
}

// spend takes the time from since to now.
func (b *budget) spend(now, since unit.Time) {
	if b.rolling {
		b.windows.add(now, int64(now-since))
		return
	}
	b.renew(since)
	b.spent = min(b.spent+now-since, b.most)
	b.over = b.over || b.spent >= b.most
	b.pressed = int64(now / b.duration)
}

// press records that mice want more than their balance while memory is scarce.
func (b *budget) press(now unit.Time) {
	b.renew(now)
	b.pressed = int64(now / b.duration)
}

// renew gives back time for the whole windows since the last in which mice pressed.
func (b *budget) renew(now unit.Time) {
	last := int64(now/b.duration) - 1
	if calm := last - max(b.pressed, b.credited); calm > 0 && b.spent > 0 {
		if calm >= b.restore {
			b.spent = 0
		} else {
			b.spent = max(b.spent-(b.most+unit.Time(b.restore)-1)/unit.Time(b.restore)*unit.Time(calm), 0)
		}
		b.over = b.over && b.spent > 0
	}
	b.credited = max(b.credited, last)
}

// Exceeds reports whether a class has more than its balance.
func (m *Memory) Exceeds(c Class) bool { return m.used[c] > m.balanced[c] }

// throttles reports whether elephants may be told of congestion at now. If they keep to their balance,
// they pay for mice, which takes from the budget of time as long as mice exceed theirs. flooded says that
// the mice's own budget is spent.
func (m *Memory) throttles(now unit.Time, flooded bool) bool {
	if m.separate && m.Exceeds(Elephants) {
		return true
	}
	m.clock(now)
	if m.Exceeds(Mice) {
		m.budget.press(now)
	}
	if flooded || !m.budget.left(now) {
		return false
	}
	m.over = m.over || m.Exceeds(Mice)
	return true
}

// flooded reports whether the budget of mice is spent at a port: those that came for it in the last n·d
// exceed a share of what the port sends in that time. It is renewed as they leave the last n·d.
func (g *Program) flooded(env *dataplane.Env, x *port) bool {
	if int(x.out) >= env.Ports() {
		return false
	}
	whole := bytesOf(env.Port(x.out).Rate()) * float64(x.history())
	return float64(x.mice.sum(env.Now())) > g.config.MiceBudget*whole
}

// isFlood reports whether mice that are more than their budget have no claim to what they need at port x.
func (g *Program) isFlood(env *dataplane.Env, x *port) bool {
	return !x.asNeeded() && g.flooded(env, x)
}

// hasFreeRoom reports whether a frame of mice leaves room for other mice in all memory of the port. In a flood, flows
// that do not respond to NACKs have no more than that. Otherwise a flow that begins in a flood loses as large a part of
// its packets as the flood does, and never sends enough to become an elephant. The paper has no such rule.
func (x *port) hasFreeRoom(size int32) bool {
	return x.memory.hasFreeRoom(size) && (x.part == nil || x.part.hasFreeRoom(size))
}

// hasFreeRoom reports whether three quarters of the mice's reservation stay free when a frame of mice is added, by the
// free memory or by what mice are entitled to in a flood. It is true where mice have no memory of their own.
func (m *Memory) hasFreeRoom(size int32) bool {
	n := m.cost(size) + m.flooded[Mice]*3/4
	return !m.separate || m.used[Mice]+n <= m.flooded[Mice] ||
		m.used[Mice]+m.used[Elephants]+n <= min(m.limit, m.size-m.used[Control])
}
