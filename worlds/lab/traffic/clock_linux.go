package traffic

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/unit"
)

// clock returns the experiment's time by CLOCK_MONOTONIC and converts the kernel's CLOCK_REALTIME stamps to it.
type clock struct {
	base   time.Time
	offset unit.Time // the experiment's time at base
}

// newClock returns a clock with time 0 at epoch, a CLOCK_MONOTONIC time in ns.
func newClock(epoch int64) (clock, error) {
	var c clock
	var t unix.Timespec
	for try := 0; ; try++ {
		c.base = time.Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
			return c, os.NewSyscallError("clock_gettime", err)
		}
		if time.Since(c.base) < 5*time.Microsecond || try == 100 { // else the thread was interrupted between the readings
			break
		}
	}
	c.offset = unit.Time(t.Nano()-epoch) * unit.Nanosecond
	return c, nil
}

// now returns the experiment's time.
func (c *clock) now() unit.Time {
	return unit.Time(time.Since(c.base))*unit.Nanosecond + c.offset
}

// realtimeAtBase returns CLOCK_REALTIME in ns at the clock's base: the median of three readings, since the thread
// may be interrupted between their two halves.
func (c *clock) realtimeAtBase() int64 {
	var r [3]int64
	for i := range r {
		t := time.Now()
		r[i] = t.UnixNano() - int64(t.Sub(c.base))
	}
	return max(min(r[0], r[1]), min(max(r[0], r[1]), r[2]))
}

// toRunTime converts a CLOCK_REALTIME stamp in ns to the experiment's time, given the result of realtimeAtBase.
func (c *clock) toRunTime(realtime, atBase int64) unit.Time {
	return unit.Time(realtime-atBase)*unit.Nanosecond + c.offset
}

// timeUntil returns the time to sleep from now until a time, at least 0 and rounded up to whole ns.
func timeUntil(until, now unit.Time) unix.Timespec {
	return unix.NsecToTimespec(int64(max(until-now+unit.Nanosecond-1, 0) / unit.Nanosecond))
}
