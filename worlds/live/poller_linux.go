package live

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/core/unit"
)

// Poller makes a thread that drives rings sleep until work is due or a frame arrives.
type Poller struct {
	clock  *Clock
	rings  []*RingGate
	fds    []unix.PollFd // control, rings, more
	pollAt unit.Time     // time to poll descriptors even without time to sleep
}

// NewPoller returns a poller for these rings and two further descriptors; -1 means no descriptor. control becomes
// readable when the run is over.
func NewPoller(clock *Clock, rings []*RingGate, control, more int) *Poller {
	p := &Poller{clock: clock, rings: rings, fds: make([]unix.PollFd, 0, len(rings)+2)}
	p.fds = append(p.fds, unix.PollFd{Fd: int32(control), Events: unix.POLLIN})
	for _, g := range rings {
		p.fds = append(p.fds, unix.PollFd{Fd: int32(g.FD()), Events: unix.POLLIN})
	}
	p.fds = append(p.fds, unix.PollFd{Fd: int32(more), Events: unix.POLLIN})
	return p
}

// Limits of sleeps. The longest one is short enough to notice steps of the clock.
const (
	longestSleep = 100 * unit.Millisecond
	pollPeriod   = 10 * unit.Millisecond // between polls of descriptors without time to sleep
	shortSleep   = 5 * unit.Millisecond  // longest sleep during which other goroutines can wait for the processor
)

// Wait sleeps until event time due. It returns earlier if a frame arrives or the sleep is better split, and without
// sleep if due has passed; then it polls only every pollPeriod. It reports whether the descriptor more is readable, and
// whether control is. The error is a ring's, or ppoll's.
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
	n, err := pollDescriptors(p.fds, firstSleep(sleep))
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
		if err := g.TakeError(); err != nil {
			return false, false, fmt.Errorf("host %s: %w", g.host, err)
		}
	}
	return p.fds[len(p.fds)-1].Revents != 0, false, nil
}

// A long sleep is split, because a core wakes up more precisely after a shorter sleep: on time after a short one,
// but sometimes hundreds of microseconds late after a long one. The last part takes a nap, the last two a doze.
const (
	nap  = 100 * unit.Microsecond
	doze = 500 * unit.Microsecond
)

// firstSleep returns the first part of a sleep; short ones are not split.
func firstSleep(sleep unit.Time) unit.Time {
	switch {
	case sleep > 2*doze:
		return sleep - doze
	case sleep > 3*nap:
		return sleep - nap
	}
	return sleep
}

// pollDescriptors polls for at most sleep and returns the number of ready descriptors, 0 after a signal. Short
// sleeps are raw system calls. Go's monitor does not notice them; otherwise it would wake up a thousand times a
// second, on a busy core, to retake the processor. During long ones other goroutines run.
func pollDescriptors(fds []unix.PollFd, sleep unit.Time) (n int, err error) {
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
