package live

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/unit"
)

// Clock is event time by CLOCK_MONOTONIC. It converts the kernel's CLOCK_REALTIME stamps by the difference of both
// clocks. The difference changes only when the wall clock is set, because both clocks are slewed alike.
type Clock struct {
	base  time.Time
	epoch int64     // CLOCK_MONOTONIC at base
	ahead int64     // CLOCK_REALTIME minus event time, in ns
	last  unit.Time // result of the last Read
	steps int
}

// stepFrom is the smallest jump, in ns, that counts as a step. Smaller ones may be the time between two readings.
const stepFrom = 100_000

// Start sets event time 0 to now. It must precede all other methods.
func (c *Clock) Start() error {
	var t unix.Timespec
	for try := 0; ; try++ {
		c.base = time.Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
			return os.NewSyscallError("clock_gettime", err)
		}
		if time.Since(c.base) < 5*time.Microsecond || try == 100 { // else the thread was interrupted between the readings
			break
		}
	}
	c.epoch = t.Nano()
	c.ahead = c.measureAhead()
	return nil
}

// Shift sets event time 0 to epoch, a CLOCK_MONOTONIC time in ns. Start must have been called.
func (c *Clock) Shift(epoch int64) {
	c.base = c.base.Add(time.Duration(epoch - c.epoch))
	c.epoch = epoch
	c.ahead = c.measureAhead()
}

// Epoch returns event time 0 by CLOCK_MONOTONIC, in ns.
func (c *Clock) Epoch() int64 { return c.epoch }

// StepCount returns the number of steps of the wall clock that Read found.
func (c *Clock) StepCount() int { return c.steps }

// Now returns the event time.
func (c *Clock) Now() unit.Time { return unit.Time(time.Since(c.base)) * unit.Nanosecond }

// measureAhead returns CLOCK_REALTIME minus event time, in ns.
func (c *Clock) measureAhead() int64 {
	t := time.Now()
	return t.UnixNano() - int64(t.Sub(c.base))
}

// Read returns the event time, which toEventTime compares stamps with. It counts a step if the wall clock was set since
// the last call.
func (c *Clock) Read() unit.Time {
	t := time.Now()
	mono := t.Sub(c.base)
	if jump := t.UnixNano() - int64(mono) - c.ahead; jump > stepFrom || jump < -stepFrom {
		c.countStep()
	}
	c.last = unit.Time(mono) * unit.Nanosecond
	return c.last
}

// countStep counts a step of the wall clock if two consecutive readings agree on it, and converts later stamps with
// the new difference.
func (c *Clock) countStep() {
	a := c.measureAhead()
	for range 10 {
		b := c.measureAhead()
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

// maxFuture limits how far a stamp may lie in the future. A later stamp precedes a backward step of the wall
// clock.
const maxFuture = 10 * unit.Millisecond

// toEventTime converts a stamp in ns of CLOCK_REALTIME to event time. A stamp before event time 0 becomes 0, and one
// more than maxFuture ahead becomes the last reading. The clock is read again for it, since the thread may have stalled
// after the last reading.
func (c *Clock) toEventTime(realtime int64) unit.Time {
	at := realtime - c.ahead
	if at < 0 {
		return 0
	}
	if at > int64((c.last+maxFuture)/unit.Nanosecond) && at > int64((c.Now()+maxFuture)/unit.Nanosecond) {
		return c.last
	}
	return unit.Time(at) * unit.Nanosecond
}
