//go:build linux && (amd64 || arm64)

package control

import (
	"os"

	"golang.org/x/sys/unix"

	"weir/internal/seccomp"
)

// runtimeCalls returns what Go's runtime needs, and glibc's threads where it is linked: threads, memory that cannot be
// executed, timers, signals within this process, waiting. Many are called but now and then.
func runtimeCalls() []seccomp.Rule {
	self := uint32(os.Getpid())
	return append(seccomp.Calls(
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_FUTEX, unix.SYS_EPOLL_PWAIT, unix.SYS_NANOSLEEP,
		unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_SCHED_YIELD, unix.SYS_GETPID, unix.SYS_GETTID,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
		unix.SYS_RESTART_SYSCALL, unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_BRK, unix.SYS_GETRANDOM,
		unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EVENTFD2,
		unix.SYS_PREAD64, unix.SYS_SCHED_GETAFFINITY, // how many processors the group may use, each second
		unix.SYS_CLOSE, unix.SYS_EXIT, unix.SYS_EXIT_GROUP),
		seccomp.Rule{Call: unix.SYS_MMAP, Arg: 2, Mask: unix.PROT_EXEC},
		seccomp.Rule{Call: unix.SYS_MPROTECT, Arg: 2, Mask: unix.PROT_EXEC},
		seccomp.Rule{Call: unix.SYS_CLONE, Mask: unix.CLONE_THREAD, Want: unix.CLONE_THREAD},
		// Its flags are in memory, which a filter does not see: glibc then takes clone.
		seccomp.Rule{Call: unix.SYS_CLONE3, Errno: unix.ENOSYS},
		seccomp.Rule{Call: unix.SYS_TGKILL, Mask: ^uint32(0), Want: self},
		seccomp.Rule{Call: unix.SYS_PRCTL, Mask: ^uint32(0), Want: unix.PR_SET_VMA}, // names of memory
	)
}

// dataPlaneCalls returns all that the data plane calls while it carries frames: those first that it calls most.
func dataPlaneCalls() []seccomp.Rule {
	return append(seccomp.Calls(unix.SYS_SENDMMSG, unix.SYS_PPOLL, unix.SYS_GETSOCKOPT, unix.SYS_GETRUSAGE),
		runtimeCalls()...)
}

// supervisorCalls returns all that the supervisor calls while its data plane, that process, runs: it answers scrapes of
// metrics, reads its file again, ends the data plane, and switches offloads on again.
func supervisorCalls(dataPlane int) []seccomp.Rule {
	const all = ^uint32(0)
	rules := append(runtimeCalls(), seccomp.Calls(
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

// ConfineDataPlane leaves this process only the calls of the data plane.
func ConfineDataPlane() error { return seccomp.Install(dataPlaneCalls()) }

// ConfineSupervisor leaves this process only the calls of the supervisor of a data plane.
func ConfineSupervisor(dataPlane int) error { return seccomp.Install(supervisorCalls(dataPlane)) }
