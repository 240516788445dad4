package agent

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// errCannot is what the machine lacks.
var errCannot = errors.New("agent: not on this machine")

// Machine is what an agent needs to know of one. The zero value is a machine that has nothing.
type Machine struct {
	Release string // of the kernel, as uname(2) has it; "": not Linux
	Little  bool   // its byte order, for which the programs are built
	Rights  error  // why it has no CAP_BPF and CAP_NET_ADMIN
	BTF     error  // why there are no types of the kernel
	TCX     error  // why it has no such programs
	Cgroup  string // where its unified cgroups are; "": nowhere
	CUBIC   bool
	// Missing are types of the kernel that it lacks.
	Missing []string
}

// since is the first Linux that has all that is needed: TCX came with 6.6, links of struct_ops with 6.4.
var since = [2]int{6, 6}

// needed are types by whose names the kernel's own tell what it can do.
var needed = []string{neededForHPCC, "tcx_link"}

const neededForHPCC = "bpf_struct_ops_tcp_congestion_ops"

// Check says why no agent can run there; nil if one can, whatever it follows.
func (m *Machine) Check() error { return m.check(true, true) }

// check says why no agent can run there that has its own congestion control, or that is of a cgroup.
func (m *Machine) check(control, cgroup bool) error {
	lacks := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", errCannot, fmt.Sprintf(format, args...))
	}
	version, ok := release(m.Release)
	missing := slices.DeleteFunc(slices.Clone(m.Missing), func(s string) bool { return s == neededForHPCC && !control })
	switch {
	case m.Release == "":
		return lacks("it takes Linux %d.%d or later", since[0], since[1])
	case !ok:
		return lacks("the kernel's release %q is not understood; Linux %d.%d or later is needed", m.Release, since[0],
			since[1])
	case version[0] < since[0] || version[0] == since[0] && version[1] < since[1]:
		return lacks("the kernel is Linux %s; %d.%d or later is needed, for BPF programs at TCX", m.Release, since[0],
			since[1])
	case !m.Little:
		return lacks("its byte order is big-endian, and the programs are built for little-endian machines")
	case m.Rights != nil:
		return lacks("root is needed, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN: %v", m.Rights)
	case m.BTF != nil:
		return lacks("the kernel does not describe its types (CONFIG_DEBUG_INFO_BTF): %v", m.BTF)
	case len(missing) > 0:
		return lacks("the kernel lacks %s (CONFIG_BPF_JIT, CONFIG_BPF_SYSCALL, CONFIG_NET_XGRESS)",
			strings.Join(missing, ", "))
	case m.TCX != nil:
		return lacks("BPF programs at interfaces are refused: %v", m.TCX)
	case m.Cgroup == "" && cgroup:
		return lacks("there is no cgroup2 file system, where programs of sockets are attached; ip netns exec hides it, " +
			"for it mounts a /sys of its own: nsenter --net=/run/netns/NAME does not")
	case !m.CUBIC && control:
		return lacks("the kernel has no CUBIC (CONFIG_TCP_CONG_CUBIC, module tcp_cubic), which connections fall back to")
	}
	return nil
}

// release reads the first two numbers of a kernel's release.
func release(s string) (v [2]int, ok bool) {
	major, rest, found := strings.Cut(s, ".")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(rest[:end])
	return [2]int{a, b}, found && err1 == nil && err2 == nil
}
