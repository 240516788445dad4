package ncf

import (
	"fmt"

	"weir/core/unit"
)

// Class decides which queue and which memory a packet uses (BS'19 §4.2).
type Class uint8

// Classes of packets.
const (
	Control   Class = iota // NACKs, other feedback, acknowledgements
	Mice                   // data of flows that are no elephants; with fewer than three queues all data
	Elephants              // data of elephants
	Classes                // how many there are
)

// String returns "control", "mice" or "elephants"; "unknown" for any other value.
func (c Class) String() string {
	if c < Classes {
		return [...]string{"control", "mice", "elephants"}[c]
	}
	return "unknown"
}

// MemoryConfig says how memory is shared (§4.2, §4.4). Shares are of Size.
type MemoryConfig struct {
	Size    unit.Bytes // most that may wait; 0: Packets counts
	Packets int        // the same in packets
	// Reserved is the guaranteed share of each class under scarcity, and Limit the most that mice and
	// elephants may use together.
	Reserved [Classes]float64
	Limit    float64
	// Tilt is the mice's share of what Limit leaves beyond the two reservations.
	Tilt float64
	// Spike is the part of Windows × Duration for which elephants may be throttled for mice: pushed back to
	// their reservation, or told of congestion, although they do not exceed what Tilt leaves them. Rolling
	// renews it as n·d pass; otherwise windows do in which mice kept to their balance, Restore of them in all
	// (0: ten times n·d).
	Spike    float64
	Rolling  bool
	Restore  unit.Time
	Windows  int
	Duration unit.Time
	// Congested and Calm are the shares in use at which congestion begins, and below which it ends.
	Congested, Calm float64
	// MaxFrame is the largest frame in bytes, ControlFrame that of a control packet.
	MaxFrame, ControlFrame int32
	// Separate says that mice and elephants have queues of their own; otherwise they share one amount.
	Separate bool
}

// Memory is the packet memory of a port or a switch, which three classes share on demand. Any class may
// use what is free, up to the limit; reservations count only when a packet does not fit. A class with less
// than its entitlement then takes memory from one with more than its own. Memory counts bytes, or packets
// where the buffer does.
type Memory struct {
	packets  bool
	size     int64
	limit    int64          // of mice and elephants together
	balanced [Classes]int64 // what each is entitled to
	spiking  [Classes]int64 // and during a spike of mice
	flooded  [Classes]int64 // and once the budget of mice is spent
	used     [Classes]int64

	begins, ends int64 // use at which congestion begins, and below which it ends
	congested    bool

	separate bool // mice and elephants have memory of their own
	budget   budget
	last     unit.Time
	over     bool // a spike since last: elephants are throttled for what mice have beyond their balance
}

// NewMemory returns empty memory, of shares that Options allow. It fails when the memory has no size, or
// cannot hold a frame in each reservation.
func NewMemory(c MemoryConfig) (*Memory, error) {
	size, frame, control, what := int64(c.Size), int64(max(c.MaxFrame, 1)), int64(max(c.ControlFrame, 1)), "bytes"
	m := &Memory{}
	if c.Size == 0 && c.Packets > 0 {
		m.packets, size, frame, control, what = true, int64(c.Packets), 1, 1, "packets"
	}
	if size <= 0 {
		return nil, fmt.Errorf("memory has no size; the link's buffer, or memory, must say how much there is")
	}
	part := func(share float64) int64 { return int64(float64(share*float64(size)) + 1e-6) }
	var reserved [Classes]int64
	for k := range reserved {
		reserved[k] = part(c.Reserved[k])
		least := frame
		if Class(k) == Control {
			least = control
		}
		if c.Reserved[k] > 0 && reserved[k] < least {
			return nil, fmt.Errorf("a memory of %d %s has %.4g for %v (%.4g%%), which holds no frame%s",
				size, what, c.Reserved[k]*float64(size), Class(k), 100*c.Reserved[k], m.bytes(least))
		}
	}
	m.size, m.limit = size, part(c.Limit)
	if m.limit < frame {
		return nil, fmt.Errorf("a memory of %d %s leaves mice and elephants %d, which holds no frame%s", size, what, m.limit,
			m.bytes(frame))
	}
	share := min(m.limit, size-reserved[Control]) // of mice and elephants, under scarcity
	rest := share - reserved[Mice] - reserved[Elephants]
	toMice := int64(float64(c.Tilt*float64(rest)) + 1e-6)
	m.balanced = [Classes]int64{reserved[Control], reserved[Mice] + toMice, share - reserved[Mice] - toMice}
	m.spiking = [Classes]int64{reserved[Control], share - reserved[Elephants], reserved[Elephants]}
	m.flooded = [Classes]int64{reserved[Control], reserved[Mice], share - reserved[Mice]}
	if !c.Separate {
		m.balanced = [Classes]int64{reserved[Control], share, 0}
		m.spiking, m.flooded = m.balanced, m.balanced
	}
	m.begins, m.ends = max(part(c.Congested), 1), max(part(c.Calm), 1)
	m.separate, m.budget = c.Separate, newBudget(&c)
	return m, nil
}

// bytes returns " of" and the size of a frame where memory is in bytes.
func (m *Memory) bytes(frame int64) string {
	if m.packets {
		return ""
	}
	return fmt.Sprintf(" of %d", frame)
}

// cost is what a frame takes.
func (m *Memory) cost(size int32) int64 {
	if m.packets {
		return 1
	}
	return int64(size)
}

// Size returns the size, in bytes or in packets.
func (m *Memory) Size() int64 { return m.size }

// Used returns what a class uses.
func (m *Memory) Used(c Class) int64 { return m.used[c] }

func (m *Memory) total() int64 { return m.used[Control] + m.used[Mice] + m.used[Elephants] }

// Fits reports whether a frame of a class fits into free memory (§4.2: mice or elephants may use almost
// all of it if nothing else is there).
func (m *Memory) Fits(c Class, size int32) bool {
	n := m.cost(size)
	data := m.used[Mice] + m.used[Elephants] + n
	return data+m.used[Control] <= m.size && (c == Control || data <= m.limit)
}

// Victim returns the class from which a frame of class c that does not fit takes memory. It returns false
// if c already has its entitlement. Since the entitlements do not exceed the memory, there is always a
// victim for a class that has less. flooded says that mice have had more than elephants pay for.
func (m *Memory) Victim(now unit.Time, c Class, size int32, flooded bool) (Class, bool) {
	m.clock(now)
	right, n := &m.balanced, m.used[c]+m.cost(size)
	if c == Mice && n > m.balanced[c] || m.Exceeds(Mice) {
		m.budget.press(now)
	}
	switch {
	case flooded:
		right = &m.flooded
	case m.budget.left(now):
		right = &m.spiking
		m.over = m.over || c == Mice && n > m.balanced[c] && n <= right[c] || c == Elephants && n <= m.balanced[c] &&
			n > right[c]
	}
	return m.victim(right, c, size)
}

// pickVictim is Victim while mice have what they need: all that elephants have not reserved.
func (m *Memory) pickVictim(c Class, size int32) (Class, bool) {
	right := m.spiking
	if c == Mice && m.Exceeds(Mice) { // from elephants only
		right[Control] = m.size
	}
	return m.victim(&right, c, size)
}

// victim is Victim for classes that are entitled to right.
func (m *Memory) victim(right *[Classes]int64, c Class, size int32) (Class, bool) {
	if m.used[c]+m.cost(size) > right[c] {
		return 0, false
	}
	victim, most := Control, int64(0)
	for k := range Classes {
		if over := m.used[k] - right[k]; k != c && over > most {
			victim, most = k, over
		}
	}
	return victim, most > 0
}

// Refused records that a packet found no room, which begins congestion.
func (m *Memory) Refused() { m.congested = true }

// Congested reports congestion: from when use reaches the first share, or a packet finds no room, until
// use falls below the second.
func (m *Memory) Congested() bool { return m.congested }

// Book adds a frame, Unbook subtracts it.
func (m *Memory) Book(now unit.Time, c Class, size int32) {
	m.clock(now)
	m.used[c] += m.cost(size)
	if m.total() >= m.begins {
		m.congested = true
	}
}

// Unbook counts a frame out.
func (m *Memory) Unbook(now unit.Time, c Class, size int32) {
	m.clock(now)
	m.used[c] -= m.cost(size)
	if m.congested && m.total() < m.ends {
		m.congested = false
	}
	m.over = m.over && m.used[Mice] > m.balanced[Mice]
}

// clock adds up the time of spikes up to now. A spike begins when mice take, or keep from elephants,
// memory beyond their balance; it ends when they no longer do, or when its time is over.
func (m *Memory) clock(now unit.Time) {
	if m.over && now > m.last {
		m.budget.spend(now, m.last)
		m.over = m.budget.left(now)
	}
	m.last = now
}

// Check returns an error, for tests, if the books do not match the packets that wait.
func (m *Memory) Check(waits [Classes]int64) error {
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

// tally is a sum over a rolling set of windows, like the sketch's: the current one and the n − 1 before
// it.
type tally struct {
	slots    []int64
	duration unit.Time
	window   int64 // number of the current one
	total    int64
}

func newTally(windows int, duration unit.Time) tally {
	return tally{slots: make([]int64, windows), duration: duration}
}

// roll goes on to the window of now.
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

func (t *tally) add(now unit.Time, n int64) {
	t.roll(now)
	t.slots[t.window%int64(len(t.slots))] += n
	t.total += n
}

func (t *tally) sum(now unit.Time) int64 {
	t.roll(now)
	return t.total
}

// span is the time that the tally, or a sketch with the same windows, covers at now: the whole windows and
// the elapsed part of the current one, but not more than the time since 0.
func span(now unit.Time, windows int, duration unit.Time) unit.Time {
	covered := unit.Time(windows-1)*duration + now%duration
	return max(1, min(covered, now))
}
