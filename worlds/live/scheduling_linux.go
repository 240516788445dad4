package live

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// niceness of threads that are Nice, and their slice in ns: a thread that wakes up takes the processor from one whose
// slice is longer (EEVDF, since Linux 6.12).
const (
	niceness = -20
	slice    = 100_000
)

// Of each period a thread with Deadline has budget, in ns, and what other such threads leave of it. The kernel grants
// them 95 % of all processors, so that two labs fit on two. The data plane takes nine tenths of one at 500 Mb/s.
const (
	period = 1_000_000
	budget = 450_000
)

// Take gives this thread, to which its goroutine is locked, its scheduling, and returns what it got: where the
// kernel has no bandwidth left for Deadline it is FIFO, without the permission for that it is Nice, and without any
// permission it has no name. The run continues in any case; its lateness shows what that costs.
func (d Duty) Take() Scheduling {
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	deadline := unix.SchedAttr{Policy: unix.SCHED_DEADLINE, Runtime: budget, Deadline: period, Period: period,
		Flags: unix.SCHED_FLAG_RECLAIM}
	if d.Kind == Deadline && schedule(&deadline) == nil {
		lockMemory()
		return Deadline
	}
	if len(d.Cores) > 0 && confineThread(0, d.Cores) != nil {
		d.Kind = Nice
	}
	if d.Kind == FIFO || d.Kind == Deadline {
		if schedule(&unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1}) == nil {
			lockMemory()
			return FIFO
		}
		d.Kind = Nice
	}
	if schedule(&unix.SchedAttr{Policy: unix.SCHED_NORMAL, Nice: niceness, Runtime: slice}) != nil &&
		unix.Setpriority(unix.PRIO_PROCESS, 0, niceness) != nil {
		return ""
	}
	return d.Kind
}

// schedule gives this thread, but no thread that it starts, a policy.
func schedule(a *unix.SchedAttr) error {
	a.Size, a.Flags = unix.SizeofSchedAttr, a.Flags|unix.SCHED_FLAG_RESET_ON_FORK
	return os.NewSyscallError("sched_setattr", unix.SchedSetAttr(0, a, 0))
}

// lockMemory keeps what the process has touched from being taken away. A run with paging is late, not wrong.
func lockMemory() { unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT) }

// Cores returns the processors that this thread may have.
func Cores() (all []int, err error) {
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

// confineThread keeps a thread, 0 for this one, on these processors.
func confineThread(thread int, cores []int) error {
	var set unix.CPUSet
	for _, c := range cores {
		set.Set(c)
	}
	return os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(thread, &set))
}

// ConfineThreads keeps all threads of this process on these processors, and those that they start.
func ConfineThreads(cores []int) error {
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
			if err := confineThread(id, cores); err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
				return err
			}
		}
	}
	return nil
}
