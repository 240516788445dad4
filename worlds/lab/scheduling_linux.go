package lab

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"weir/core/unit"
)

// niceness of threads that are Nice.
const niceness = -10

// take gives this thread, to which its goroutine is locked, what it is to have, and returns what it got: without the
// permission for FIFO it is nice, and without that for anything it has no name. The run continues in any case; its
// lateness shows what that costs.
func (d duty) take() Scheduling {
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	got := d.Kind
	if len(d.Cores) > 0 && stay(0, d.Cores) != nil {
		got = Nice
	}
	if got == FIFO {
		err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1,
			Flags: unix.SCHED_FLAG_RESET_ON_FORK}, 0)
		if err == nil {
			unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT) // a run with paging is late, not wrong
			return FIFO
		}
		got = Nice
	}
	if unix.Setpriority(unix.PRIO_PROCESS, 0, niceness) != nil {
		return ""
	}
	return got
}

// runDelay is for how long this thread could have run and did not, since others of this machine had the processor
// (proc(5), schedstat); 0 if the kernel does not say it. What a hypervisor takes is not in it.
func runDelay() unit.Time {
	b, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0
	}
	ns, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return 0
	}
	return unit.Time(ns) * unit.Nanosecond
}

// cores are the processors that this thread may have.
func cores() (all []int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, os.NewSyscallError("sched_getaffinity", err)
	}
	for i := 0; len(all) < set.Count(); i++ {
		if set.IsSet(i) {
			all = append(all, i)
		}
	}
	return all, nil
}

// stay keeps a thread, 0 for this one, on these processors.
func stay(thread int, cores []int) error {
	var set unix.CPUSet
	for _, c := range cores {
		set.Set(c)
	}
	return os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(thread, &set))
}

// stayAll keeps all threads of this process on these processors, and those that they start.
func stayAll(cores []int) error {
	const own = "/proc/self/task"
	for range 2 { // a thread may start another one meanwhile
		threads, err := os.ReadDir(own)
		if err != nil {
			return err
		}
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err != nil {
				return err
			}
			if err := stay(id, cores); err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
				return err
			}
		}
	}
	return nil
}
