package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Group runs the windows of a fabric's parts on separate threads, and the first part on the caller's. A window is some
// hundred microseconds of work, so the first thread to finish mostly waits for less than a wake-up takes: it spins
// before it parks. A thread that spins unnecessarily several times in a row, because another one has lost its core,
// halves its spins each time, except for one full try from time to time. Otherwise it would never detect that the core
// is back.
type Group struct {
	run     func(part int) // the window's work
	phase   counter        // windows so far
	left    counter        // threads that have not ended the window
	leader  sleeper        // waits for left
	members []*member
	over    bool
	pace    *pace // nil: always all threads
	events  func() uint64
}

// member is one of the other threads.
type member struct {
	sleeper
	failed any // value of its panic
}

// counter is a number in a cache line of its own.
type counter struct {
	atomic.Uint32
	_ [60]byte
}

// sleeper waits for a counter.
type sleeper struct {
	parked atomic.Bool
	wake   chan struct{}
	spins  int // reads of the counter before its reader parks
	vain   int // unnecessary spins in a row
	_      [32]byte
}

// maxSpins takes some 300 us. After more than maxVain unnecessary spins it is halved each time, and used in full
// again every tryAgain times.
const (
	maxSpins = 1_000_000
	maxVain  = 3
	tryAgain = 64
)

// newSleeper returns a sleeper that reads its counter spins times before it parks.
func newSleeper(spins int) sleeper {
	return sleeper{wake: make(chan struct{}, 1), spins: spins}
}

// New starts the threads for this number of parts, one for each except the first; the caller must call End. A group
// that yields runs a window with one thread for as long as that is faster. events returns the number of events that the
// run has executed; it may be nil unless yields is set.
func New(parts int, yields bool, events func() uint64) *Group {
	spins := maxSpins
	if runtime.GOMAXPROCS(0) < parts { // a thread that spins keeps others from working
		spins = 0
	}
	c := &Group{leader: newSleeper(spins), events: events}
	if yields {
		c.pace = newPace(time.Now())
	}
	for k := 1; k < parts; k++ {
		m := &member{sleeper: newSleeper(spins)}
		c.members = append(c.members, m)
		go c.runThread(m, k)
	}
	return c
}

// Window calls run for all parts, 0 to parts − 1, and returns when all calls have returned. If one of them panics,
// Window does then. It must not be called concurrently, or after End.
func (c *Group) Window(run func(part int)) {
	if c.pace == nil || c.pace.current == together {
		c.beginWindow(run)
		c.runOwnPart(run)
	} else {
		for k := range 1 + len(c.members) {
			run(k)
		}
	}
	if c.pace != nil {
		c.pace.recordEvents(c.events())
	}
}

// beginWindow starts a window in the other threads: it counts them in c.left, and wakes those that are parked. No
// window may be running.
func (c *Group) beginWindow(run func(part int)) {
	c.run = run
	c.left.Store(uint32(len(c.members)))
	c.phase.Add(1)
	for _, m := range c.members {
		m.wakeIfParked()
	}
}

// runOwnPart runs the caller's own part and waits for the others, also if it panics. It panics if one of them did.
func (c *Group) runOwnPart(run func(part int)) {
	defer func() {
		c.leader.awaitValue(&c.left, 0)
		for k, m := range c.members {
			if m.failed != nil {
				panic(fmt.Sprintf("thread %d: %v", k+1, m.failed))
			}
		}
	}()
	run(0)
}

// End ends the threads, and returns when they have ended their loops. No window may be running.
func (c *Group) End() {
	c.over = true
	c.beginWindow(nil)
	c.leader.awaitValue(&c.left, 0)
}

// runThread is the loop of thread k, from 1. After a panic the thread runs no further part.
func (c *Group) runThread(m *member, k int) {
	for window := uint32(1); ; window++ {
		m.awaitValue(&c.phase, window)
		over := c.over
		if !over && m.failed == nil {
			m.carryOut(c.run, k)
		}
		if c.left.Add(^uint32(0)) == 0 {
			c.leader.wakeIfParked()
		}
		if over {
			return
		}
	}
}

// carryOut runs part k, and records a panic with its stack in m.failed.
func (m *member) carryOut(run func(int), k int) {
	defer func() {
		if p := recover(); p != nil {
			m.failed = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	run(k)
}

// awaitValue returns when x has the given value: it spins first (spinLimit), then parks. x must keep the value until
// the sleeper has returned. It counts unnecessary spins in s.vain.
func (s *sleeper) awaitValue(x *counter, value uint32) {
	for range s.spinLimit() {
		if x.Load() == value {
			s.vain = 0
			return
		}
	}
	s.vain++
	for x.Load() != value { // again if the setter of the last value wakes this thread only now
		s.parked.Store(true)
		if x.Load() == value && s.parked.CompareAndSwap(true, false) {
			return
		}
		<-s.wake // the setter of x has seen parked
	}
}

// spinLimit returns the number of reads of the counter before its reader parks, fewer after unnecessary spins.
func (s *sleeper) spinLimit() int {
	if s.vain%tryAgain == 0 {
		return s.spins
	}
	return s.spins >> max(s.vain-maxVain, 0)
}

// wakeIfParked wakes the sleeper if it is parked, after its counter was set.
func (s *sleeper) wakeIfParked() {
	if s.parked.Load() && s.parked.CompareAndSwap(true, false) {
		s.wake <- struct{}{}
	}
}
