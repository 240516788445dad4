package live

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/unit"
)

// Clock is event time by CLOCK_MONOTONIC. It translates the stamps of the kernel, which are of CLOCK_REALTIME, by how
// far that is ahead. The difference changes only when somebody sets the clock: both are slewed alike.
type Clock struct {
	base  time.Time
	epoch int64     // CLOCK_MONOTONIC at base
	ahead int64     // ns
	last  unit.Time // of Read
	steps int
}

// stepFrom is the least jump of the clock that counts as one: less may be the time
// between two readings.
const stepFrom = 100_000 // ns

// Start makes now event time 0.
func (c *Clock) Start() error {
	var t unix.Timespec
	for try := 0; ; try++ {
		c.base = time.Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
			return os.NewSyscallError("clock_gettime", err)
		}
		if time.Since(c.base) < 5*time.Microsecond || try == 100 { // else something came in between
			break
		}
	}
	c.epoch = t.Nano()
	c.ahead = c.measure()
	return nil
}

// Shift makes an epoch event time 0.
func (c *Clock) Shift(epoch int64) {
	c.base = c.base.Add(time.Duration(epoch - c.epoch))
	c.epoch = epoch
	c.ahead = c.measure()
}

// Epoch returns the CLOCK_MONOTONIC of event time 0, in ns.
func (c *Clock) Epoch() int64 { return c.epoch }

// Steps returns how many times Read found that the clock was set.
func (c *Clock) Steps() int { return c.steps }

// Now returns the event time.
func (c *Clock) Now() unit.Time { return unit.Time(time.Since(c.base)) * unit.Nanosecond }

func (c *Clock) measure() int64 {
	t := time.Now()
	return t.UnixNano() - int64(t.Sub(c.base))
}

// Read returns the event time, and counts a step if the clock was set since the last time.
func (c *Clock) Read() unit.Time {
	t := time.Now()
	mono := t.Sub(c.base)
	if jump := t.UnixNano() - int64(mono) - c.ahead; jump > stepFrom || jump < -stepFrom {
		c.countStep()
	}
	c.last = unit.Time(mono) * unit.Nanosecond
	return c.last
}

// countStep counts a step of the clock, if there was one: two readings with no frame between them must agree.
func (c *Clock) countStep() {
	a := c.measure()
	for range 10 {
		b := c.measure()
		if d := a - b; d < stepFrom && -d < stepFrom {
			if d := b - c.ahead; d > stepFrom || d < -stepFrom {
				c.ahead = b
				c.steps++
			}
			return
		}
		a = b
	}
}

// future is how much later than now a frame can have come in: one with a later stamp has it
// from before the clock was set back.
const future = 10 * unit.Millisecond

// event translates a stamp. A stamp before event time 0 is 0, and one in the future is the
// last reading; the clock is read again for it, since the thread may have stalled after the last reading.
func (c *Clock) event(realtime int64) unit.Time {
	at := realtime - c.ahead
	if at < 0 {
		return 0
	}
	if at > int64((c.last+future)/unit.Nanosecond) && at > int64((c.Now()+future)/unit.Nanosecond) {
		return c.last
	}
	return unit.Time(at) * unit.Nanosecond
}
