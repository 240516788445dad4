package lab

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/core/unit"
)

// rest is how a thread that drives rings sleeps until something is due or comes in.
type rest struct {
	clock *wallClock
	rings []*ringGate
	fds   []unix.PollFd // control, rings, more
	look  unit.Time     // when descriptors are looked at even if there is no time to sleep
}

// newRest makes the rest of a thread with these rings. Of the two other descriptors control is the one that says that
// the run is over; -1: there is none.
func newRest(clock *wallClock, rings []*ringGate, control, more int32) *rest {
	r := &rest{clock: clock, rings: rings, fds: make([]unix.PollFd, 0, len(rings)+2)}
	r.fds = append(r.fds, unix.PollFd{Fd: control, Events: unix.POLLIN})
	for _, g := range rings {
		r.fds = append(r.fds, unix.PollFd{Fd: int32(g.FD()), Events: unix.POLLIN})
	}
	r.fds = append(r.fds, unix.PollFd{Fd: more, Events: unix.POLLIN})
	return r
}

// Longest sleep, so that steps of the clock are noticed, and how often descriptors are looked at when there is no time
// to sleep.
const (
	longestSleep = 100 * unit.Millisecond
	lookEvery    = 10 * unit.Millisecond
	shortSleep   = 5 * unit.Millisecond // up to which other goroutines can wait for the processor
)

// until sleeps until due, for less if something comes in or if the time is better slept in parts, and not at all if it
// has come. It reports whether more has something, and whether control has. The error is a ring's.
func (r *rest) until(due unit.Time) (more, closed bool, err error) {
	now := r.clock.now()
	sleep := min(due-now, longestSleep)
	if sleep <= 0 {
		if now < r.look {
			return false, false, nil
		}
		sleep = 0
	}
	r.look = now + lookEvery
	n, err := wait(r.fds, firstSleep(sleep))
	if n == 0 || err != nil {
		return false, false, os.NewSyscallError("ppoll", err)
	}
	if r.fds[0].Revents != 0 {
		return false, true, nil
	}
	for i, g := range r.rings {
		if r.fds[i+1].Revents&^unix.POLLIN == 0 {
			continue
		}
		if err := g.Err(); err != nil {
			return false, false, fmt.Errorf("host %s: %w", g.host, err)
		}
	}
	return r.fds[len(r.fds)-1].Revents != 0, false, nil
}

// Parts of a long sleep, each a sleep of its own: the shorter one was, the more punctually a core wakes up, after a
// short one at once, after a long one now and then hundreds of microseconds late. The last part is a nap, the one
// before it begins a doze before the end.
const (
	nap  = 100 * unit.Microsecond
	doze = 500 * unit.Microsecond
)

// firstSleep is how much of a sleep is slept at once.
func firstSleep(all unit.Time) unit.Time {
	switch {
	case all > 2*doze:
		return all - doze
	case all > 3*nap:
		return all - nap
	}
	return all
}

// wait polls for so long, and returns how many descriptors have something; none after a signal.
// Short sleeps are raw: Go's monitor need not know of them, which else wakes up a thousand times
// a second, on a core that is in use, to take the processor away. In long ones it may, and other
// goroutines have it.
func wait(fds []unix.PollFd, sleep unit.Time) (n int, err error) {
	timeout := unix.NsecToTimespec(int64((sleep + unit.Nanosecond - 1) / unit.Nanosecond))
	if sleep > shortSleep {
		n, err = unix.Ppoll(fds, &timeout, nil)
	} else {
		k, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), uintptr(len(fds)),
			uintptr(unsafe.Pointer(&timeout)), 0, 0, 0)
		if n = int(k); errno != 0 {
			n, err = 0, errno
		}
	}
	if err == unix.EINTR {
		return 0, nil
	}
	return n, err
}
