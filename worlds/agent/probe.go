package agent

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// errUnsupported means that the machine lacks a required feature.
var errUnsupported = errors.New("agent: not on this machine")

// Machine lists the features of a machine that an agent requires. The zero value has no feature.
type Machine struct {
	Release           string // kernel release, as in uname(2); "": not Linux
	LittleEndian      bool   // little-endian, as the programs are built
	MissingCapability error  // the missing capability of CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN
	BTF               error  // why the kernel's types cannot be read
	TCX               error  // why TCX programs are not possible
	Cgroup            string // mount point of the unified cgroup hierarchy; "": not mounted
	CUBIC             bool
	// Missing lists required types that the kernel lacks.
	Missing []string
}

// minVersion is the first Linux with all requirements: TCX came with 6.6, struct_ops links with 6.4.
var minVersion = [2]int{6, 6}

// requiredTypes are kernel types that show the required features by their presence.
var requiredTypes = []string{hpccType, "tcx_link"}

// hpccType is the type that only HPCC++ requires.
const hpccType = "bpf_struct_ops_tcp_congestion_ops"

// Check returns an error that explains why no agent can run on the machine; nil if an agent with any configuration
// can.
func (m *Machine) Check() error { return m.checkFor(true, true) }

// checkFor is Check for an agent with or without its own congestion control, and with or without a cgroup.
func (m *Machine) checkFor(control, cgroup bool) error {
	lacks := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", errUnsupported, fmt.Sprintf(format, args...))
	}
	version, ok := parseRelease(m.Release)
	missing := slices.DeleteFunc(slices.Clone(m.Missing), func(s string) bool { return s == hpccType && !control })
	switch {
	case m.Release == "":
		return lacks("it takes Linux %d.%d or later", minVersion[0], minVersion[1])
	case !ok:
		return lacks("the kernel's release %q is not understood; Linux %d.%d or later is needed", m.Release, minVersion[0],
			minVersion[1])
	case version[0] < minVersion[0] || version[0] == minVersion[0] && version[1] < minVersion[1]:
		return lacks("the kernel is Linux %s; %d.%d or later is needed, for BPF programs at TCX", m.Release, minVersion[0],
			minVersion[1])
	case !m.LittleEndian:
		return lacks("its byte order is big-endian, and the programs are built for little-endian machines")
	case m.MissingCapability != nil:
		return lacks("root is needed, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN: %v", m.MissingCapability)
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

// parseRelease parses the first two numbers of a kernel release.
func parseRelease(s string) (v [2]int, ok bool) {
	major, rest, found := strings.Cut(s, ".")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(rest[:end])
	return [2]int{a, b}, found && err1 == nil && err2 == nil
}
