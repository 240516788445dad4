//go:build linux && (amd64 || arm64)

package control

import (
	"os"

	"golang.org/x/sys/unix"

	"weir/internal/seccomp"
)

// runtimeCalls returns the calls of Go's runtime, and of glibc's threads if it is linked: threads, memory without
// execution, timers, signals within this process, and waiting. Many of them are rare.
func runtimeCalls() []seccomp.Rule {
	self := uint32(os.Getpid())
	return append(seccomp.AllowCalls(
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_FUTEX, unix.SYS_EPOLL_PWAIT, unix.SYS_NANOSLEEP,
		unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_SCHED_YIELD, unix.SYS_GETPID, unix.SYS_GETTID,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
		unix.SYS_RESTART_SYSCALL, unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_BRK, unix.SYS_GETRANDOM,
		unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EVENTFD2,
		unix.SYS_PREAD64, unix.SYS_SCHED_GETAFFINITY, // reads the number of processors of the group every second
		unix.SYS_CLOSE, unix.SYS_EXIT, unix.SYS_EXIT_GROUP),
		seccomp.Rule{Call: unix.SYS_MMAP, Arg: 2, Mask: unix.PROT_EXEC},
		seccomp.Rule{Call: unix.SYS_MPROTECT, Arg: 2, Mask: unix.PROT_EXEC},
		seccomp.Rule{Call: unix.SYS_CLONE, Mask: unix.CLONE_THREAD, Want: unix.CLONE_THREAD},
		// Its flags are in memory, which a filter cannot read; glibc then uses clone.
		seccomp.Rule{Call: unix.SYS_CLONE3, Errno: unix.ENOSYS},
		seccomp.Rule{Call: unix.SYS_TGKILL, Mask: ^uint32(0), Want: self},
		seccomp.Rule{Call: unix.SYS_PRCTL, Mask: ^uint32(0), Want: unix.PR_SET_VMA}, // names of memory areas
	)
}

// dataPlaneCalls returns the calls of the data plane while it carries frames, the most frequent ones first.
func dataPlaneCalls() []seccomp.Rule {
	return append(seccomp.AllowCalls(unix.SYS_SENDMMSG, unix.SYS_PPOLL, unix.SYS_GETSOCKOPT, unix.SYS_GETRUSAGE),
		runtimeCalls()...)
}

// supervisorCalls returns the calls of the supervisor while the process dataPlane runs: it answers scrapes of
// metrics, reloads its file, ends the data plane, and enables offloads.
func supervisorCalls(dataPlane int) []seccomp.Rule {
	const all = ^uint32(0)
	rules := append(runtimeCalls(), seccomp.AllowCalls(
		unix.SYS_ACCEPT4, unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME, unix.SYS_GETSOCKOPT, unix.SYS_SETSOCKOPT,
		unix.SYS_SHUTDOWN, unix.SYS_WRITEV, unix.SYS_FCNTL, unix.SYS_FSTAT, unix.SYS_NEWFSTATAT, unix.SYS_FTRUNCATE,
		unix.SYS_WAITID, unix.SYS_WAIT4, unix.SYS_PIDFD_SEND_SIGNAL)...)
	return append(rules,
		seccomp.Rule{Call: unix.SYS_OPENAT, Arg: 2, Mask: unix.O_ACCMODE | unix.O_CREAT | unix.O_TRUNC,
			Want: unix.O_RDONLY},
		seccomp.Rule{Call: unix.SYS_SOCKET, Arg: 0, Mask: all, Want: unix.AF_INET}, // for the ioctls
		seccomp.Rule{Call: unix.SYS_IOCTL, Arg: 1, Mask: all, Want: unix.SIOCETHTOOL},
		seccomp.Rule{Call: unix.SYS_IOCTL, Arg: 1, Mask: all, Want: unix.SIOCGIFNAME},
		seccomp.Rule{Call: unix.SYS_KILL, Arg: 0, Mask: all, Want: uint32(dataPlane)})
}

// ConfineDataPlane restricts this process to the data plane's calls until it ends. It must follow all other set-up.
func ConfineDataPlane() error { return seccomp.Install(dataPlaneCalls()) }

// ConfineSupervisor restricts this process to the supervisor's calls until it ends; dataPlane is the only process
// that it may signal.
func ConfineSupervisor(dataPlane int) error { return seccomp.Install(supervisorCalls(dataPlane)) }
