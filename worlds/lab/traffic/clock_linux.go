package traffic

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/unit"
)

// clock has the experiment's time by CLOCK_MONOTONIC, and translates into it what the
// kernel stamps by CLOCK_REALTIME.
type clock struct {
	base   time.Time
	offset unit.Time // the experiment's time at base
}

func newClock(epoch int64) (clock, error) {
	var c clock
	var t unix.Timespec
	for try := 0; ; try++ {
		c.base = time.Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
			return c, os.NewSyscallError("clock_gettime", err)
		}
		if time.Since(c.base) < 5*time.Microsecond || try == 100 { // else something came in between
			break
		}
	}
	c.offset = unit.Time(t.Nano()-epoch) * unit.Nanosecond
	return c, nil
}

func (c *clock) now() unit.Time {
	return unit.Time(time.Since(c.base))*unit.Nanosecond + c.offset
}

// ahead is what CLOCK_REALTIME shows, in ns, at the clock's base: the median of three
// readings, as something may come in between its two halves.
func (c *clock) ahead() int64 {
	var r [3]int64
	for i := range r {
		t := time.Now()
		r[i] = t.UnixNano() - int64(t.Sub(c.base))
	}
	return max(min(r[0], r[1]), min(max(r[0], r[1]), r[2]))
}

// event translates a stamp, by what ahead said.
func (c *clock) event(realtime, ahead int64) unit.Time {
	return unit.Time(realtime-ahead)*unit.Nanosecond + c.offset
}

// timeout is how long to sleep until a time.
func timeout(until, now unit.Time) unix.Timespec {
	return unix.NsecToTimespec(int64(max(until-now+unit.Nanosecond-1, 0) / unit.Nanosecond))
}
