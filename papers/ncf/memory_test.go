package ncf

import (
	"math/rand/v2"
	"strings"
	"testing"

	"weir/core/unit"
)

// entitled is the memory that a class is guaranteed now.
func (m *Memory) entitled(now unit.Time, c Class) int64 {
	m.clock(now)
	if m.budget.hasTime(now) {
		return m.spikeShares[c]
	}
	return m.balancedShares[c]
}

func thousand() MemoryConfig {
	return MemoryConfig{Size: 100_000, Reserved: [ClassCount]float64{Control: 0.05, Mice: 0.1, Elephants: 0.1},
		Limit: 0.95,
		Tilt:  0.5, Spike: 0.25, Restore: 4 * ms,
		Windows: 4, Duration: ms, Congested: 0.95, Calm: 0.5, MaxFrame: 1000, ControlFrame: 100, Separate: true}
}

func memory(t *testing.T, change func(c *MemoryConfig)) *Memory {
	t.Helper()
	c := thousand()
	if change != nil {
		change(&c)
	}
	m, err := NewMemory(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// take books frames of 1000 bytes while they fit, at most n, and returns their number.
func take(m *Memory, now unit.Time, c Class, n int) (taken int) {
	for taken < n && m.Fits(c, 1000) {
		m.Book(now, c, 1000)
		taken++
	}
	return taken
}

// TestMemoryOnDemand checks BS'19 §4.2: "to allow mice and/or elephant flows to use up almost all available memory (up
// to a limit, e.g., 95%)", "if there are no other packets in the switch".
func TestMemoryOnDemand(t *testing.T) {
	for _, c := range []Class{Mice, Elephants} {
		m := memory(t, nil)
		if n := take(m, 0, c, 200); n != 95 {
			t.Errorf("%v alone: %d %% of the memory", c, n)
		}
		if n := take(m, 0, Control, 200); n != 5 {
			t.Errorf("control beside %v: %d %%", c, n)
		}
	}
	m := memory(t, nil)
	if a, b := take(m, 0, Mice, 60), take(m, 0, Elephants, 200); a != 60 || b != 35 {
		t.Errorf("%d %% and %d %%", a, b)
	}
	m = memory(t, nil)
	if a, b := take(m, 0, Control, 200), m.Fits(Mice, 1000); a != 100 || b {
		t.Errorf("control alone takes %d %%", a)
	}
	if v, ok := m.SelectVictim(0, Mice, 1000, false); !ok || v != Control {
		t.Error("mice do not take back what control has beyond its reservation")
	}
}

// TestMemory_ReservationsReclaimWhenFull checks NCF §4.2: reservations act only when memory is the bottleneck, and then
// fully. A class below its entitlement takes memory from a class above it.
func TestMemory_ReservationsReclaimWhenFull(t *testing.T) {
	m := memory(t, func(c *MemoryConfig) { c.Spike = 0 }) // 10 + 37.5 of 95 each
	take(m, 0, Elephants, 200)
	for i := range 47 {
		v, ok := m.SelectVictim(0, Mice, 1000, false)
		if !ok || v != Elephants {
			t.Fatalf("mice with %d %%: from %v, %v", i, v, ok)
		}
		m.Unbook(0, v, 1000)
		m.Book(0, Mice, 1000)
	}
	if _, ok := m.SelectVictim(0, Mice, 1000, false); ok || m.entitled(0, Mice) != 47_500 || m.entitled(0,
		Elephants) != 47_500 {
		t.Errorf("mice take more than %d", m.entitled(0, Mice))
	}
	if _, ok := m.SelectVictim(0, Elephants, 1000, false); ok {
		t.Error("elephants have more than their part, and take")
	}
}

// TestMemory_TiltShiftsEntitlement checks NCF §4.4, tilting the allocation: to mice for incast, to elephants for
// throughput. The reservations stay.
func TestMemory_TiltShiftsEntitlement(t *testing.T) {
	for _, c := range []struct {
		tilt            float64
		mice, elephants int64
	}{{0, 10_000, 85_000}, {0.5, 47_500, 47_500}, {1, 85_000, 10_000}} {
		m := memory(t, func(x *MemoryConfig) { x.Tilt, x.Spike = c.tilt, 0 })
		if a, b := m.entitled(0, Mice), m.entitled(0, Elephants); a != c.mice || b != c.elephants ||
			m.entitled(0, Control) != 5000 {
			t.Errorf("tilt %g: mice %d, elephants %d", c.tilt, a, b)
		}
	}
}

// TestSpikeLimit checks NCF §4.4: a spike of mice takes memory from the elephants down to their reservation, for a
// short time: a quarter of n·d here, 1 ms of 4. Then the balance is restored, until mice have kept it for n windows.
func TestSpikeLimit(t *testing.T) {
	m := memory(t, nil)
	take(m, 0, Elephants, 200)
	now := unit.Time(0)
	swap := func(from, to Class) (n int) {
		for {
			v, ok := m.SelectVictim(now, to, 1000, false)
			if !ok || m.Fits(to, 1000) {
				return n
			}
			if v != from {
				t.Fatalf("from %v", v)
			}
			m.Unbook(now, v, 1000)
			m.Book(now, to, 1000)
			n++
		}
	}
	if n := swap(Elephants, Mice); n != 85 {
		t.Errorf("a spike takes %d %%", n)
	}
	if n := swap(Mice, Elephants); n != 0 {
		t.Errorf("elephants take back %d %% during the spike", n)
	}
	now = ms - us
	if m.entitled(now, Mice) != 85_000 {
		t.Error("the spike ends too early")
	}
	now = ms
	if m.entitled(now, Mice) != 47_500 {
		t.Error("the spike does not end after a quarter of n·d")
	}
	if n := swap(Mice, Elephants); n != 37 { // 47 of 47.5
		t.Errorf("elephants take back %d %%", n)
	}
	for now = 2 * ms; now < 9*ms; now += 100 * us { // mice press on
		if _, ok := m.SelectVictim(now, Mice, 1000, false); ok || m.entitled(now, Mice) != 47_500 {
			t.Fatalf("a second spike at %v", now)
		}
	}
	m.Unbook(now, Mice, 1000) // below the balance
	if now = 13*ms - us; m.entitled(now, Mice) != 47_500 {
		t.Error("a second spike before n windows of balance")
	}
	if now = 13 * ms; m.entitled(now, Mice) != 85_000 {
		t.Error("no spike after n windows of balance")
	}
	// mice beyond their balance are no spike while no other class lacks memory
	m = memory(t, nil)
	take(m, 0, Mice, 60)
	if m.entitled(100*ms, Mice) != 85_000 {
		t.Error("a spike although memory is free")
	}
}

// TestSpikeClock checks when a spike begins and ends. Mice that fall back to their balance, or are out of time, do not
// use the time up. A refusal to elephants because of mice above their balance begins a spike.
func TestSpikeClock(t *testing.T) {
	spike := func() *Memory {
		m := memory(t, nil)
		take(m, 0, Elephants, 200)
		for range 60 {
			v, _ := m.SelectVictim(0, Mice, 1000, false)
			m.Unbook(0, v, 1000)
			m.Book(0, Mice, 1000)
		}
		return m
	}
	m := spike()
	for range 20 {
		m.Unbook(100*us, Mice, 1000)
	}
	for range 20 { // what is free is no spike
		m.Book(200*us, Mice, 1000)
	}
	if m.entitled(3*ms, Mice) != 85_000 {
		t.Error("a spike of 100 µs uses up 1 ms")
	}
	m = spike()
	if m.entitled(ms, Mice) != 47_500 || m.entitled(6*ms-us, Mice) != 47_500 || m.entitled(6*ms, Mice) != 85_000 {
		t.Error("a spike whose time is over goes on")
	}
	m = memory(t, nil)
	take(m, 0, Mice, 85)
	take(m, 0, Elephants, 10)
	if _, ok := m.SelectVictim(0, Elephants, 1000, false); ok || m.entitled(ms, Mice) != 47_500 {
		t.Error("elephants lack memory, and it is no spike")
	}
}

// TestMemory_SelectsVictimWithMaxExcess checks that memory is taken from the class with the maximum excess over its
// claim.
func TestMemory_SelectsVictimWithMaxExcess(t *testing.T) {
	for _, c := range []struct {
		control, elephants int
		want               Class
	}{{10, 85, Elephants}, {40, 55, Control}} {
		m := memory(t, func(c *MemoryConfig) { c.Spike = 0 })
		take(m, 0, Control, c.control)
		take(m, 0, Elephants, c.elephants)
		take(m, 0, Mice, 200)
		if v, ok := m.SelectVictim(0, Mice, 1000, false); !ok || v != c.want {
			t.Errorf("control has %d %%, elephants %d %%: from %v", c.control, c.elephants, v)
		}
	}
}

// TestMemoryInFlood checks NCF §4.4: when the mice's budget is spent, elephants may use all memory except the mice's
// reservation; before, their balance of it.
func TestMemoryInFlood(t *testing.T) {
	for _, x := range []struct {
		flooded bool
		has     int // of 100 frames
	}{{false, 47}, {true, 85}} {
		m := memory(t, func(c *MemoryConfig) { c.Spike = 0 })
		take(m, 0, Mice, 200)
		for {
			v, ok := m.SelectVictim(0, Elephants, 1000, x.flooded)
			if !ok {
				break
			}
			m.Unbook(0, v, 1000)
			m.Book(0, Elephants, 1000)
		}
		if has := int(m.Used(Elephants) / 1000); has != x.has {
			t.Errorf("flooded %v: elephants have %d frames, want %d", x.flooded, has, x.has)
		}
		if _, ok := m.SelectVictim(0, Mice, 1000, x.flooded); ok {
			t.Errorf("flooded %v: mice take more than their part", x.flooded)
		}
	}
}

// TestMemory_CongestionHasHysteresis checks Weir's rule that congestion begins at 95 % or with a refusal, and ends
// below 50 %.
func TestMemory_CongestionHasHysteresis(t *testing.T) {
	m := memory(t, nil)
	take(m, 0, Elephants, 94)
	if m.IsCongested() {
		t.Error("congested at 94 %")
	}
	m.Book(0, Elephants, 1000)
	for i := range 45 {
		if !m.IsCongested() {
			t.Fatalf("calm at %d %%", 95-i)
		}
		m.Unbook(0, Elephants, 1000)
	}
	if m.Unbook(0, Elephants, 1000); m.IsCongested() {
		t.Error("congested below 50 %")
	}
	if m.RecordRefusal(); !m.IsCongested() {
		t.Error("calm when something found no room")
	}
}

// TestMemoryBooks checks that for any traffic the books balance and no limit is exceeded. A class below its entitlement
// finds room at once.
func TestMemoryBooks(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 1))
		m := memory(t, func(c *MemoryConfig) {
			c.Tilt, c.Spike, c.Limit, c.Separate = random.Float64(), random.Float64()/2, 0.5+random.Float64()/2,
				random.IntN(4) > 0
			if random.IntN(3) == 0 {
				c.Size, c.Packets = 0, 40
			}
		})
		var frames [ClassCount][]int32 // that wait
		var waits [ClassCount]int64
		now := unit.Time(0)
		for range 4000 {
			now += unit.Time(random.IntN(int(20 * us)))
			c, size := Class(random.IntN(int(ClassCount))), int32(64+random.IntN(937))
			if !m.separate && c == Elephants {
				c = Mice
			}
			if random.IntN(3) == 0 && len(frames[c]) > 0 {
				m.Unbook(now, c, frames[c][0])
				waits[c] -= m.cost(frames[c][0])
				frames[c] = frames[c][1:]
				continue
			}
			fits := m.Fits(c, size)
			for !fits {
				v, ok := m.SelectVictim(now, c, size, false)
				if !ok {
					break
				}
				last := len(frames[v]) - 1
				m.Unbook(now, v, frames[v][last])
				waits[v] -= m.cost(frames[v][last])
				frames[v] = frames[v][:last]
				fits = m.Fits(c, size)
			}
			if !fits && m.Used(c)+m.cost(size) <= m.entitled(now, c) {
				t.Fatalf("seed %d: %v has %d of %d, and %d do not fit", seed, c, m.Used(c), m.entitled(now, c), size)
			}
			if fits {
				m.Book(now, c, size)
				waits[c] += m.cost(size)
				frames[c] = append(frames[c], size)
			}
			if err := m.Check(waits); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

func TestMemoryErrors(t *testing.T) {
	for want, change := range map[string]func(c *MemoryConfig){
		"no size":                             func(c *MemoryConfig) { c.Size = 0 },
		"has 500 for mice (10%), which holds": func(c *MemoryConfig) { c.Size = 5000 },
		"has 90 for control": func(c *MemoryConfig) {
			c.Size, c.Reserved = 1800,
				[ClassCount]float64{Control: 0.05}
		},
		"8 packets has 0.8 for mice":           func(c *MemoryConfig) { c.Size, c.Packets, c.Reserved[Control] = 0, 8, 0.2 },
		"leaves mice and elephants 950, which": func(c *MemoryConfig) { c.Size, c.Reserved = 1000, [ClassCount]float64{} },
	} {
		t.Run(want, func(t *testing.T) {
			c := thousand()
			change(&c)
			if _, err := NewMemory(c); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want %q", err, want)
			}
		})
	}
}

// TestTally_SumsCurrentWindows checks that the tally has the current window and the n − 1 before it, as the sketch
// does.
func TestTally_SumsCurrentWindows(t *testing.T) {
	x := newTally(3, ms)
	x.add(0, 1)
	x.add(1*ms, 10)
	x.add(2*ms+999*us, 100)
	for _, c := range []struct {
		at   unit.Time
		want int64
	}{{2*ms + 999*us, 111}, {3 * ms, 110}, {4 * ms, 100}, {5*ms - 1, 100}, {5 * ms, 0}, {90 * ms, 0}} {
		if got := x.sum(c.at); got != c.want {
			t.Errorf("at %v: %d, want %d", c.at, got, c.want)
		}
	}
	if coveredTime(500*us, 3, ms) != 500*us || coveredTime(0, 3, ms) != 1 ||
		coveredTime(10*ms+250*us, 3, ms) != 2*ms+250*us {
		t.Error("the time that is covered")
	}
}
