package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Group carries out the windows of a fabric's parts on threads of their own, and the first part on that of the caller.
// A window is some hundred microseconds of work, so who is done first mostly waits for less than a wake-up takes: it
// spins before it parks. Two threads are 1.5 to 1.7 times as fast as one with spins of up to 300 us (128 hosts), and
// 1.3 with 100 us that are halved each time they are in vain. Whoever waits in vain several times in a row, because
// somebody has lost its core, spins for half as long each time from then on, but for one try in full now and then:
// else it would never see that the core is back.
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
	failed any // what it has panicked with
}

// counter is a number in a line of its own.
type counter struct {
	atomic.Uint32
	_ [60]byte
}

// sleeper waits for a counter.
type sleeper struct {
	parked atomic.Bool
	wake   chan struct{}
	spins  int // how often the counter is read before its reader parks
	vain   int // times in a row that this was in vain
	_      [32]byte
}

// mostSpins takes some 300 us; after more than mostVain times in vain it is half as many each time, and all of them
// again every tryAgain times.
const (
	mostSpins = 1_000_000
	mostVain  = 3
	tryAgain  = 64
)

func newSleeper(spins int) sleeper {
	return sleeper{wake: make(chan struct{}, 1), spins: spins}
}

// New starts the threads for this number of parts. A group that yields does a window with one thread for as long as
// that is faster, by the events that have been carried out so far.
func New(parts int, yields bool, events func() uint64) *Group {
	spins := mostSpins
	if runtime.GOMAXPROCS(0) < parts { // who spins keeps others from working
		spins = 0
	}
	c := &Group{leader: newSleeper(spins), events: events}
	if yields {
		c.pace = newPace(time.Now())
	}
	for k := 1; k < parts; k++ {
		m := &member{sleeper: newSleeper(spins)}
		c.members = append(c.members, m)
		go c.work(m, k)
	}
	return c
}

// Window calls run for all parts and returns when all calls have returned. If one of them panics, Window does then.
func (c *Group) Window(run func(part int)) {
	if c.pace == nil || c.pace.at == together {
		c.begin(run)
		c.hold(run)
	} else {
		for k := range 1 + len(c.members) {
			run(k)
		}
	}
	if c.pace != nil {
		c.pace.passed(c.events())
	}
}

// begin lets the others begin a window.
func (c *Group) begin(run func(part int)) {
	c.run = run
	c.left.Store(uint32(len(c.members)))
	c.phase.Add(1)
	for _, m := range c.members {
		m.rouse()
	}
}

// hold carries out the caller's own part and waits for the others, also if it fails.
func (c *Group) hold(run func(part int)) {
	defer func() {
		c.leader.await(&c.left, 0)
		for k, m := range c.members {
			if m.failed != nil {
				panic(fmt.Sprintf("thread %d: %v", k+1, m.failed))
			}
		}
	}()
	run(0)
}

// End ends the threads. No window is under way.
func (c *Group) End() {
	c.over = true
	c.begin(nil)
	c.leader.await(&c.left, 0)
}

// work is what thread k does.
func (c *Group) work(m *member, k int) {
	for window := uint32(1); ; window++ {
		m.await(&c.phase, window)
		over := c.over
		if !over && m.failed == nil {
			m.carryOut(c.run, k)
		}
		if c.left.Add(^uint32(0)) == 0 {
			c.leader.rouse()
		}
		if over {
			return
		}
	}
}

// carryOut runs a part, and notes if that panics.
func (m *member) carryOut(run func(int), k int) {
	defer func() {
		if p := recover(); p != nil {
			m.failed = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	run(k)
}

// await returns when x has the value that is wanted. It will have no other one before the sleeper has returned.
func (s *sleeper) await(x *counter, want uint32) {
	for range s.patience() {
		if x.Load() == want {
			s.vain = 0
			return
		}
	}
	s.vain++
	for x.Load() != want { // again if whoever has set the last value rouses us only now
		s.parked.Store(true)
		if x.Load() == want && s.parked.CompareAndSwap(true, false) {
			return
		}
		<-s.wake // whoever has set x has seen that we are parked
	}
}

// patience is how often the counter is read before its reader parks.
func (s *sleeper) patience() int {
	if s.vain%tryAgain == 0 {
		return s.spins
	}
	return s.spins >> max(s.vain-mostVain, 0)
}

// rouse wakes who waits, after its counter was set.
func (s *sleeper) rouse() {
	if s.parked.Load() && s.parked.CompareAndSwap(true, false) {
		s.wake <- struct{}{}
	}
}
