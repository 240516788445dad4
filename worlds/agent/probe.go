package agent

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// errUnsupported means that the machine lacks a required feature.
var errUnsupported = errors.New("agent: unsupported machine")

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

// checkFor returns Check's error for an agent with or without its own congestion control (control), and with or
// without a cgroup.
func (m *Machine) checkFor(control, cgroup bool) error {
	lacks := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", errUnsupported, fmt.Sprintf(format, args...))
	}
	version, ok := parseRelease(m.Release)
	missing := slices.DeleteFunc(slices.Clone(m.Missing), func(s string) bool { return s == hpccType && !control })
	switch {
	case m.Release == "":
		return lacks("the operating system is not Linux; Linux %d.%d or later is required", minVersion[0], minVersion[1])
	case !ok:
		return lacks("the kernel's release %q is unknown; Linux %d.%d or later is required", m.Release, minVersion[0],
			minVersion[1])
	case version[0] < minVersion[0] || version[0] == minVersion[0] && version[1] < minVersion[1]:
		return lacks("the kernel is Linux %s; %d.%d or later is required for BPF programs at TCX",
			m.Release, minVersion[0],
			minVersion[1])
	case !m.LittleEndian:
		return lacks("the byte order is big-endian; the programs require a little-endian machine")
	case m.MissingCapability != nil:
		return lacks("the rights are missing: %v; run as root, or with CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN",
			m.MissingCapability)
	case m.BTF != nil:
		return lacks("the kernel has no description of its types: %v; enable CONFIG_DEBUG_INFO_BTF", m.BTF)
	case len(missing) > 0:
		return lacks("the kernel lacks %s; enable CONFIG_BPF_JIT, CONFIG_BPF_SYSCALL and CONFIG_NET_XGRESS",
			strings.Join(missing, ", "))
	case m.TCX != nil:
		return lacks("the kernel refuses BPF programs at interfaces: %v", m.TCX)
	case m.Cgroup == "" && cgroup:
		return lacks("there is no cgroup2 file system, to which programs of sockets are attached; ip netns exec hides " +
			"it with its own /sys, but nsenter --net=/run/netns/NAME does not")
	case !m.CUBIC && control:
		return lacks("the kernel lacks CUBIC, the fallback of connections; enable CONFIG_TCP_CONG_CUBIC or load the " +
			"module tcp_cubic")
	}
	return nil
}

// parseRelease parses the first two numbers of a kernel release such as "6.18.2-1". ok is false without two numbers.
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
