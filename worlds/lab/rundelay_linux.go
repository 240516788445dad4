package lab

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"weir/core/unit"
)

// RunDelay measures how long a thread was runnable while other threads of this machine ran (proc(5), schedstat).
// Time taken by a hypervisor does not count.
type RunDelay struct {
	fd          int // −1: not available
	first, last unit.Time
	text        [96]byte
}

// FollowRunDelay starts to measure the calling thread, which must be locked to its goroutine. The caller must close
// the result. If the kernel reports no delay, all delays are 0.
func FollowRunDelay() *RunDelay {
	r := &RunDelay{}
	var err error
	if r.fd, err = unix.Open("/proc/thread-self/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		r.fd = -1
	}
	r.SinceLast()
	r.first = r.last
	return r
}

// SinceLast returns the delay since the last call, or since FollowRunDelay; 0 if the kernel does not report it.
func (r *RunDelay) SinceLast() unit.Time {
	n, err := unix.Pread(r.fd, r.text[:], 0)
	if err != nil {
		return 0
	}
	before := r.last
	r.last = parseRunDelay(string(r.text[:n]))
	return r.last - before
}

// Sum returns the total delay up to the last call of SinceLast.
func (r *RunDelay) Sum() unit.Time { return r.last - r.first }

// Close frees the descriptor.
func (r *RunDelay) Close() { unix.Close(r.fd) }

// runDelay returns the calling thread's total delay, 0 if the kernel does not report it.
func runDelay() unit.Time {
	b, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0
	}
	return parseRunDelay(string(b))
}

// parseRunDelay returns the second number of a schedstat line, the delay in ns; 0 if the line is malformed.
func parseRunDelay(text string) unit.Time {
	f := strings.Fields(text)
	if len(f) < 2 {
		return 0
	}
	ns, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return 0
	}
	return unit.Time(ns) * unit.Nanosecond
}
