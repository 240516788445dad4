package ncf

import (
	"fmt"

	"weir/core/unit"
)

// Class selects the queue and the memory of a packet (BS'19 §4.2).
type Class uint8

// Classes of packets.
const (
	Control    Class = iota // NACKs, other feedback, acknowledgements
	Mice                    // data of other flows; with fewer than three queues all data
	Elephants               // data of elephants
	ClassCount              // number of classes
)

// String returns "control", "mice" or "elephants"; "unknown" for any other value.
func (c Class) String() string {
	if c < ClassCount {
		return [...]string{"control", "mice", "elephants"}[c]
	}
	return "unknown"
}

// MemoryConfig configures the sharing of memory (BS'19 §4.2, §4.4). Shares are of Size.
type MemoryConfig struct {
	Size    unit.Bytes // maximum of queued bytes; 0: Packets applies
	Packets int        // the same in packets
	// Reserved is the guaranteed share of each class under scarcity. Limit is the maximum of mice and elephants together.
	Reserved [ClassCount]float64
	Limit    float64
	// Tilt is the mice's share of the part of Limit beyond the two reservations.
	Tilt float64
	// Spike is the part of Windows × Duration for which elephants within their balance may be throttled for mice: limited
	// to their reservation, or notified of congestion. Rolling renews it as n·d pass. Otherwise windows in which mice keep
	// to their balance renew it, Restore of them in all (0: ten times n·d).
	Spike    float64
	Rolling  bool
	Restore  unit.Time
	Windows  int
	Duration unit.Time
	// Congested and Calm are the shares in use at which congestion begins, and below which it ends.
	Congested, Calm float64
	// MaxFrame is the largest frame in bytes, ControlFrame the largest control packet.
	MaxFrame, ControlFrame int32
	// Separate is set if mice and elephants have separate queues; otherwise they share one amount.
	Separate bool
}

// Memory is the packet memory of a port or a switch, which three classes share on demand. Any class may use free
// memory, up to the limit; reservations apply only when a packet does not fit. A class below its entitlement then takes
// memory from one above its own. Memory counts bytes, or packets if the buffer does.
type Memory struct {
	packets        bool
	size           int64
	limit          int64             // of mice and elephants together
	balancedShares [ClassCount]int64 // entitlement of each
	spikeShares    [ClassCount]int64 // entitlement during a spike of mice
	floodShares    [ClassCount]int64 // entitlement once the budget of mice is spent
	used           [ClassCount]int64

	congestionStart, congestionEnd int64 // use at which congestion begins, and below which it ends
	congested                      bool

	separate bool // mice and elephants have separate memory
	budget   budget
	last     unit.Time
	spiking  bool // a spike since last: elephants are throttled because mice exceed their balance
}

// NewMemory returns an empty memory. The shares of c must be ones that Options allow, and c.Duration above 0. It fails
// if the memory has no size, or if a reservation or the limit is smaller than a frame.
func NewMemory(c MemoryConfig) (*Memory, error) {
	size, frame, control, what := int64(c.Size), int64(max(c.MaxFrame, 1)), int64(max(c.ControlFrame, 1)), "bytes"
	m := &Memory{}
	if c.Size == 0 && c.Packets > 0 {
		m.packets, size, frame, control, what = true, int64(c.Packets), 1, 1, "packets"
	}
	if size <= 0 {
		return nil, fmt.Errorf("memory has no size; set the link's buffer or memory")
	}
	part := func(share float64) int64 { return int64(float64(share*float64(size)) + 1e-6) }
	var reserved [ClassCount]int64
	for k := range reserved {
		reserved[k] = part(c.Reserved[k])
		least := frame
		if Class(k) == Control {
			least = control
		}
		if c.Reserved[k] > 0 && reserved[k] < least {
			return nil, fmt.Errorf("a memory of %d %s has %.4g for %v (%.4g%%), which holds no frame%s",
				size, what, c.Reserved[k]*float64(size), Class(k), 100*c.Reserved[k], m.describeFrame(least))
		}
	}
	m.size, m.limit = size, part(c.Limit)
	if m.limit < frame {
		return nil, fmt.Errorf("a memory of %d %s leaves mice and elephants %d, which holds no frame%s", size, what, m.limit,
			m.describeFrame(frame))
	}
	share := min(m.limit, size-reserved[Control]) // of mice and elephants, under scarcity
	rest := share - reserved[Mice] - reserved[Elephants]
	toMice := int64(float64(c.Tilt*float64(rest)) + 1e-6)
	m.balancedShares = [ClassCount]int64{reserved[Control], reserved[Mice] + toMice, share - reserved[Mice] - toMice}
	m.spikeShares = [ClassCount]int64{reserved[Control], share - reserved[Elephants], reserved[Elephants]}
	m.floodShares = [ClassCount]int64{reserved[Control], reserved[Mice], share - reserved[Mice]}
	if !c.Separate {
		m.balancedShares = [ClassCount]int64{reserved[Control], share, 0}
		m.spikeShares, m.floodShares = m.balancedShares, m.balancedShares
	}
	m.congestionStart, m.congestionEnd = max(part(c.Congested), 1), max(part(c.Calm), 1)
	m.separate, m.budget = c.Separate, newBudget(&c)
	return m, nil
}

// describeFrame returns " of" and the size of a frame if memory is in bytes, otherwise "".
func (m *Memory) describeFrame(frame int64) string {
	if m.packets {
		return ""
	}
	return fmt.Sprintf(" of %d", frame)
}

// cost returns the amount of memory that a frame of size bytes takes.
func (m *Memory) cost(size int32) int64 {
	if m.packets {
		return 1
	}
	return int64(size)
}

// Size returns the size of the memory, in bytes or in packets.
func (m *Memory) Size() int64 { return m.size }

// Used returns the amount that a class uses.
func (m *Memory) Used(c Class) int64 { return m.used[c] }

// total returns the amount that all classes use.
func (m *Memory) total() int64 { return m.used[Control] + m.used[Mice] + m.used[Elephants] }

// Fits reports whether a frame of a class fits into free memory (BS'19 §4.2: mice or elephants may use almost all of it
// while other classes use none).
func (m *Memory) Fits(c Class, size int32) bool {
	n := m.cost(size)
	data := m.used[Mice] + m.used[Elephants] + n
	return data+m.used[Control] <= m.size && (c == Control || data <= m.limit)
}

// SelectVictim returns the class from which a frame of class c that does not fit takes memory. It returns false if c
// already has its entitlement. The entitlements do not exceed the memory, so a class below its own always has a victim.
// It advances the memory's clock, records pressure by mice, and may begin a spike. flooded: mice have exceeded their
// budget.
func (m *Memory) SelectVictim(now unit.Time, c Class, size int32, flooded bool) (Class, bool) {
	m.clock(now)
	right, n := &m.balancedShares, m.used[c]+m.cost(size)
	if c == Mice && n > m.balancedShares[c] || m.ExceedsBalance(Mice) {
		m.budget.recordPressure(now)
	}
	switch {
	case flooded:
		right = &m.floodShares
	case m.budget.hasTime(now):
		right = &m.spikeShares
		m.spiking = m.spiking || c == Mice && n > m.balancedShares[c] && n <= right[c] ||
			c == Elephants && n <= m.balancedShares[c] &&
				n > right[c]
	}
	return m.selectVictim(right, c, size)
}

// pickVictim is SelectVictim while mice take what they need: all memory except the elephants' reservation. It changes
// no state.
func (m *Memory) pickVictim(c Class, size int32) (Class, bool) {
	right := m.spikeShares
	if c == Mice && m.ExceedsBalance(Mice) { // from elephants only
		right[Control] = m.size
	}
	return m.selectVictim(&right, c, size)
}

// selectVictim returns the class other than c that exceeds its entitlement in right most. It returns false if c would
// exceed its own with a frame of size bytes, or if no other class exceeds its own.
func (m *Memory) selectVictim(right *[ClassCount]int64, c Class, size int32) (Class, bool) {
	if m.used[c]+m.cost(size) > right[c] {
		return 0, false
	}
	victim, most := Control, int64(0)
	for k := range ClassCount {
		if over := m.used[k] - right[k]; k != c && over > most {
			victim, most = k, over
		}
	}
	return victim, most > 0
}

// RecordRefusal records that a packet found no room, and starts congestion.
func (m *Memory) RecordRefusal() { m.congested = true }

// IsCongested reports congestion. It starts when use reaches the share Congested, or a packet finds no room, and ends
// when use falls below Calm.
func (m *Memory) IsCongested() bool { return m.congested }

// Book adds a frame of size bytes to a class, whether or not it fits. It may begin congestion.
func (m *Memory) Book(now unit.Time, c Class, size int32) {
	m.clock(now)
	m.used[c] += m.cost(size)
	if m.total() >= m.congestionStart {
		m.congested = true
	}
}

// Unbook removes a frame of size bytes from a class, to which Book has added it. It may end congestion or a spike.
func (m *Memory) Unbook(now unit.Time, c Class, size int32) {
	m.clock(now)
	m.used[c] -= m.cost(size)
	if m.congested && m.total() < m.congestionEnd {
		m.congested = false
	}
	m.spiking = m.spiking && m.used[Mice] > m.balancedShares[Mice]
}

// clock spends the budget for a spike up to now. A spike begins when mice take memory beyond their balance, or keep it
// from elephants; it ends when they no longer do, or when its budget is spent.
func (m *Memory) clock(now unit.Time) {
	if m.spiking && now > m.last {
		m.budget.spend(now, m.last)
		m.spiking = m.budget.hasTime(now)
	}
	m.last = now
}

// Check returns an error, for tests, if the used amounts do not match waits, the amounts of the queued packets by
// class, or exceed a limit.
func (m *Memory) Check(waits [ClassCount]int64) error {
	switch {
	case m.used != waits:
		return fmt.Errorf("%d are booked by class, %d wait", m.used, waits)
	case m.total() > m.size:
		return fmt.Errorf("%d are in a memory of %d", m.total(), m.size)
	case m.used[Mice]+m.used[Elephants] > m.limit:
		return fmt.Errorf("mice and elephants use %d, their limit is %d", m.used[Mice]+m.used[Elephants], m.limit)
	}
	return nil
}

// tally is a sum over a rolling set of n windows, like the sketch's: the current one and the n − 1 before it.
type tally struct {
	slots    []int64
	duration unit.Time
	window   int64 // number of the current window
	total    int64
}

// newTally returns an empty tally of windows of the given duration.
func newTally(windows int, duration unit.Time) tally {
	return tally{slots: make([]int64, windows), duration: duration}
}

// roll advances to the window of now, clearing expired ones.
func (t *tally) roll(now unit.Time) {
	w := int64(now / t.duration)
	if w == t.window {
		return
	}
	n := int64(len(t.slots))
	for k := max(t.window+1, w-n+1); k <= w; k++ {
		t.total -= t.slots[k%n]
		t.slots[k%n] = 0
	}
	t.window = w
}

// add adds n to the current window.
func (t *tally) add(now unit.Time, n int64) {
	t.roll(now)
	t.slots[t.window%int64(len(t.slots))] += n
	t.total += n
}

// sum returns the sum over the windows at now.
func (t *tally) sum(now unit.Time) int64 {
	t.roll(now)
	return t.total
}

// coveredTime returns the time that a tally, or a sketch with the same windows, covers at now: the whole windows and
// the elapsed part of the current one, limited to the time since 0. It is at least 1 ps, so that one can divide by it.
func coveredTime(now unit.Time, windows int, duration unit.Time) unit.Time {
	covered := unit.Time(windows-1)*duration + now%duration
	return max(1, min(covered, now))
}
