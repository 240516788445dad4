package live

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/core/unit"
)

// Poller has a thread that drives rings sleep until something is due or comes in.
type Poller struct {
	clock  *Clock
	rings  []*RingGate
	fds    []unix.PollFd // control, rings, more
	pollAt unit.Time     // when descriptors are polled even if there is no time to sleep
}

// NewPoller returns the poller of a thread with these rings. Of the two other descriptors control is readable when the
// run is over; -1: there is none.
func NewPoller(clock *Clock, rings []*RingGate, control, more int) *Poller {
	p := &Poller{clock: clock, rings: rings, fds: make([]unix.PollFd, 0, len(rings)+2)}
	p.fds = append(p.fds, unix.PollFd{Fd: int32(control), Events: unix.POLLIN})
	for _, g := range rings {
		p.fds = append(p.fds, unix.PollFd{Fd: int32(g.FD()), Events: unix.POLLIN})
	}
	p.fds = append(p.fds, unix.PollFd{Fd: int32(more), Events: unix.POLLIN})
	return p
}

// Longest sleep, so that steps of the clock are noticed, and the period at which descriptors are polled when there is
// no time to sleep.
const (
	longestSleep = 100 * unit.Millisecond
	pollPeriod   = 10 * unit.Millisecond
	shortSleep   = 5 * unit.Millisecond // up to which other goroutines can wait for the processor
)

// Wait sleeps until due, for less if something comes in or if the time is better slept in parts, and not at all if it
// has come. It reports whether the descriptor more is readable, and whether control is. The error is a ring's.
func (p *Poller) Wait(due unit.Time) (more, closed bool, err error) {
	now := p.clock.Now()
	sleep := min(due-now, longestSleep)
	if sleep <= 0 {
		if now < p.pollAt {
			return false, false, nil
		}
		sleep = 0
	}
	p.pollAt = now + pollPeriod
	n, err := poll(p.fds, firstSleep(sleep))
	if n == 0 || err != nil {
		return false, false, os.NewSyscallError("ppoll", err)
	}
	if p.fds[0].Revents != 0 {
		return false, true, nil
	}
	for i, g := range p.rings {
		if p.fds[i+1].Revents&^unix.POLLIN == 0 {
			continue
		}
		if err := g.Err(); err != nil {
			return false, false, fmt.Errorf("host %s: %w", g.host, err)
		}
	}
	return p.fds[len(p.fds)-1].Revents != 0, false, nil
}

// Parts of a long sleep, each a sleep of its own: the shorter one was, the more punctually a core wakes up, after a
// short one at once, after a long one now and then hundreds of microseconds late. The last part is a nap, the one
// before it begins a doze before the end.
const (
	nap  = 100 * unit.Microsecond
	doze = 500 * unit.Microsecond
)

// firstSleep returns the part of a sleep that is slept at once.
func firstSleep(all unit.Time) unit.Time {
	switch {
	case all > 2*doze:
		return all - doze
	case all > 3*nap:
		return all - nap
	}
	return all
}

// poll polls for a time, and returns how many descriptors are ready; 0 after a signal.
// Short sleeps are raw: Go's monitor need not know of them, which else wakes up a thousand times
// a second, on a core that is in use, to take the processor away. In long ones it may, and other
// goroutines have it.
func poll(fds []unix.PollFd, sleep unit.Time) (n int, err error) {
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
