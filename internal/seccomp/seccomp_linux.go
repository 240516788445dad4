package seccomp

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rule decides about one system call. If several rules are about one call, the first that matches decides.
type Rule struct {
	Call uint32 // number of the call, unix.SYS_…
	// The rule matches if the lower 32 bits of argument Arg, masked with Mask, equal Want. With Mask 0 it always
	// matches.
	Arg        int
	Mask, Want uint32
	Errno      unix.Errno // error of the call; zero: the call is allowed
}

// AllowCalls returns rules that allow calls with any arguments.
func AllowCalls(calls ...uint32) (rules []Rule) {
	for _, n := range calls {
		rules = append(rules, Rule{Call: n})
	}
	return rules
}

// audit maps GOARCH to the kernel's number for the architecture.
var audit = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// Offsets in struct seccomp_data. Both architectures store the lower half of an argument first.
const (
	offCall = 0
	offArch = 4
	offArgs = 16
)

// assembleFilter returns the rules as a classic BPF filter. A call that no rule matches fails with EPERM. A call by the
// numbers of another architecture, such as a 32-bit one, ends the process, since it would be mistaken for a different
// call. The argument arch is the kernel's number of this one.
func assembleFilter(arch uint32, rules []Rule) []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	// equal skips that many instructions if the accumulator is not k.
	equal := func(k uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: skip, K: k}
	}
	end := func(action uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
	}
	p := []unix.SockFilter{load(offArch), {Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: arch},
		end(unix.SECCOMP_RET_KILL_PROCESS), load(offCall)}
	for _, r := range rules {
		action := uint32(unix.SECCOMP_RET_ALLOW)
		if r.Errno != 0 {
			action = unix.SECCOMP_RET_ERRNO | uint32(r.Errno)
		}
		if r.Mask == 0 {
			p = append(p, equal(r.Call, 1), end(action))
			continue
		}
		p = append(p, equal(r.Call, 5), load(offArgs+8*uint32(r.Arg)),
			unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: r.Mask},
			equal(r.Want, 1), end(action), load(offCall))
	}
	return append(p, end(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM)))
}

// Install applies rules to all threads of this process and their future threads. A call that no rule matches then fails
// with EPERM. It also keeps the process from gaining privileges by execve(2). It cannot be undone. It fails with
// errors.ErrUnsupported on other architectures.
func Install(rules []Rule) error {
	arch, ok := audit[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("system calls of %s are not known: %w", runtime.GOARCH, errors.ErrUnsupported)
	}
	filter := assembleFilter(arch, rules)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_NO_NEW_PRIVS: %w", err)
	}
	// Refused calls are logged. SPEC_ALLOW avoids the slower memory access of filtered processes in old kernels
	// (Spectre variant 4), a protection meant for processes that run foreign code.
	const more = unix.SECCOMP_FILTER_FLAG_LOG | unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW
	err := installFilter(unix.SECCOMP_FILTER_FLAG_TSYNC|more, &program)
	if errors.Is(err, unix.EINVAL) { // Linux before 4.17
		err = installFilter(unix.SECCOMP_FILTER_FLAG_TSYNC, &program)
	}
	runtime.KeepAlive(filter)
	return err
}

// installFilter calls seccomp(2). It fails if a thread has another filter.
func installFilter(flags uintptr, program *unix.SockFprog) error {
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(program)))
	switch {
	case errno != 0:
		return fmt.Errorf("seccomp: %w", errno)
	case thread != 0:
		return fmt.Errorf("seccomp: thread %d has another filter", thread)
	}
	return nil
}
