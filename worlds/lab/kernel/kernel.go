package kernel

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir/core/unit"
)

// Kernel describes the kernel of this machine.
type Kernel struct {
	Release string // release of Linux, as in uname(2)
	CPUs    int    // usable by this process
	// Steal is the share of the CPUs' time since boot that the hypervisor took (proc(5)), 0 to 1.
	Steal float64
	Tick  unit.Time // period of its timers: 1/CONFIG_HZ
	// CongestionControls lists the loaded congestion controls in the kernel's order.
	CongestionControls []string
	// Restricted lists loaded ones that require CAP_NET_ADMIN.
	Restricted []string
	// Modules lists further ones available as modules. The kernel loads them when a process with CAP_NET_ADMIN
	// selects them.
	Modules []string
	// Sysctls lists net.ipv4's TCP sysctls with their values in a new network namespace, ascending by name.
	Sysctls    []Sysctl
	DelayedACK bool // the socket option TCP_DELACK_MAX_US exists
	Features   []Feature
	// Agent reports why no agent (worlds/agent) can make its TCP follow HPCC++; nil if this was not examined.
	Agent func() error
}

// Feature is a feature that a lab requires.
type Feature struct {
	Name    string
	Missing error // why it is missing; nil: it is available
}

// Err returns an error that names all required features that the kernel or this process lacks, nil if it has all.
func (k *Kernel) Err() error {
	var all []error
	for _, f := range k.Features {
		if f.Missing != nil {
			all = append(all, fmt.Errorf("%s: %w", f.Name, f.Missing))
		}
	}
	return errors.Join(all...)
}

// hasSysctl reports whether the kernel has a TCP sysctl of net.ipv4, by its name such as "tcp_ecn".
func (k *Kernel) hasSysctl(sysctl string) bool { _, ok := k.findSysctl(sysctl); return ok }

// findSysctl returns the value of a TCP sysctl of net.ipv4 in a new network namespace, as found by Probe, and whether
// the kernel has it.
func (k *Kernel) findSysctl(name string) (string, bool) {
	i, ok := slices.BinarySearchFunc(k.Sysctls, name, func(x Sysctl, name string) int {
		return strings.Compare(x.Name, name)
	})
	if !ok {
		return "", false
	}
	return k.Sysctls[i].Value, true
}

// configNames lists congestion controls with a name in the kernel's configuration that is not their own in
// capitals.
var configNames = map[string]string{"highspeed": "HSTCP"}

// CheckCongestionControl returns an error if sockets cannot use a congestion control, loaded or as a module. The
// error lists the available ones and the kernel option or module for this one.
func (k *Kernel) CheckCongestionControl(name string) error {
	if slices.Contains(k.CongestionControls, name) || slices.Contains(k.Modules, name) {
		return nil
	}
	config, ok := configNames[name]
	if !ok {
		config = strings.ToUpper(name)
	}
	offers := append(slices.Clone(k.CongestionControls), k.Modules...)
	return fmt.Errorf("the kernel has no %s, only %s; enable CONFIG_TCP_CONG_%s or load the module tcp_%s", name,
		strings.Join(offers, ", "), config, name)
}
