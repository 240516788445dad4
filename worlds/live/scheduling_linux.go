package live

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// niceness and slice, in ns, of Nice threads. A thread that wakes up preempts one with a longer slice (EEVDF,
// since Linux 6.12).
const (
	niceness = -20
	slice    = 100_000
)

// budget is the guaranteed time of a Deadline thread per period, both in ns; it may also use time that other such
// threads leave. The kernel grants them 95 % of all processors, so that two labs fit on two.
const (
	period = 1_000_000
	budget = 450_000
)

// Apply applies the scheduling to the calling thread, which must be locked to its goroutine, and returns what was
// granted. Without bandwidth for Deadline it is FIFO, without permission for that Nice, and without any permission it
// is empty. FIFO and Deadline also lock the memory of the process. The run continues in any case; its lateness shows
// the effect.
func (d Duty) Apply() Scheduling {
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	deadline := unix.SchedAttr{Policy: unix.SCHED_DEADLINE, Runtime: budget, Deadline: period, Period: period,
		Flags: unix.SCHED_FLAG_RECLAIM}
	if d.Kind == Deadline && setSchedule(&deadline) == nil {
		lockMemory()
		return Deadline
	}
	if len(d.Cores) > 0 && confineThread(0, d.Cores) != nil {
		d.Kind = Nice
	}
	if d.Kind == FIFO || d.Kind == Deadline {
		if setSchedule(&unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1}) == nil {
			lockMemory()
			return FIFO
		}
		d.Kind = Nice
	}
	if setSchedule(&unix.SchedAttr{Policy: unix.SCHED_NORMAL, Nice: niceness, Runtime: slice}) != nil &&
		unix.Setpriority(unix.PRIO_PROCESS, 0, niceness) != nil {
		return ""
	}
	return d.Kind
}

// setSchedule sets the policy of this thread; threads that it starts do not inherit it.
func setSchedule(a *unix.SchedAttr) error {
	a.Size, a.Flags = unix.SizeofSchedAttr, a.Flags|unix.SCHED_FLAG_RESET_ON_FORK
	return os.NewSyscallError("sched_setattr", unix.SchedSetAttr(0, a, 0))
}

// lockMemory keeps the process's touched pages in memory. A run with paging is late, not wrong.
func lockMemory() { unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT) }

// ListCores returns the processors that this thread may use.
func ListCores() (all []int, err error) {
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

// confineThread restricts a thread, 0 for this one, to these processors.
func confineThread(thread int, cores []int) error {
	var set unix.CPUSet
	for _, c := range cores {
		set.Set(c)
	}
	return os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(thread, &set))
}

// ConfineThreads restricts all threads of this process, and those that they start, to these processors.
func ConfineThreads(cores []int) error {
	const own = "/proc/self/task"
	for range 2 { // a thread may start another one during the first pass
		threads, err := os.ReadDir(own)
		if err != nil {
			return err
		}
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err != nil {
				return err
			}
			if err := confineThread(id, cores); err != nil && !errors.Is(err, unix.ESRCH) { // the thread has ended
				return err
			}
		}
	}
	return nil
}
