package lab

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"weir/core/unit"
)

// RunDelay follows for how long a thread could have run and did not, since others of this machine had the processor
// (proc(5), schedstat). What a hypervisor takes is not in it.
type RunDelay struct {
	fd          int // −1: the kernel does not say it
	first, last unit.Time
	text        [96]byte
}

// FollowRunDelay follows that of the calling thread, to which its goroutine is locked.
func FollowRunDelay() *RunDelay {
	r := &RunDelay{}
	var err error
	if r.fd, err = unix.Open("/proc/thread-self/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		r.fd = -1
	}
	r.Since()
	r.first = r.last
	return r
}

// Since is how much there was since it was asked the last time.
func (r *RunDelay) Since() unit.Time {
	n, err := unix.Pread(r.fd, r.text[:], 0)
	if err != nil {
		return 0
	}
	before := r.last
	r.last = parseRunDelay(string(r.text[:n]))
	return r.last - before
}

// Sum is all that there was until Since was asked.
func (r *RunDelay) Sum() unit.Time { return r.last - r.first }

// Close ends it.
func (r *RunDelay) Close() { unix.Close(r.fd) }

// runDelay is all that the calling thread has had; 0 if the kernel does not say it.
func runDelay() unit.Time {
	b, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0
	}
	return parseRunDelay(string(b))
}

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
