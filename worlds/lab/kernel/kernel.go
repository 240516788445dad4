package kernel

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir/core/unit"
)

// Kernel is what the kernel of this machine offers.
type Kernel struct {
	Release string // of Linux, as uname(2) says it
	CPUs    int    // that this process may use
	// Steal is the share of the CPUs' time since the start of the machine that the
	// hypervisor kept back (proc(5)), 0 to 1.
	Steal float64
	Tick  unit.Time // of its slow timers: 1/CONFIG_HZ
	// CongestionControls are those that a socket can have now, in the kernel's order.
	CongestionControls []string
	// Restricted are those of them that only a process with CAP_NET_ADMIN can choose.
	Restricted []string
	// Modules are further ones: they are there as modules, which the kernel loads for a
	// process with CAP_NET_ADMIN that asks for them.
	Modules []string
	// Sysctls are those of net.ipv4 about TCP with their values in a new network
	// namespace, ascending by name.
	Sysctls    []Sysctl
	DelayedACK bool // it has the socket option TCP_DELACK_MAX_US
	Features   []Feature
	// Agent says why no agent (worlds/agent) can have its TCP follow HPCC++; nil: nobody has asked.
	Agent func() error
}

// Feature is something that a lab needs.
type Feature struct {
	Name    string
	Missing error // nil: it is there
}

// Err is an error that names everything a lab needs and this kernel, or this process, does
// not have; nil if there is nothing.
func (k *Kernel) Err() error {
	var all []error
	for _, f := range k.Features {
		if f.Missing != nil {
			all = append(all, fmt.Errorf("%s: %w", f.Name, f.Missing))
		}
	}
	return errors.Join(all...)
}

// has reports whether it has a sysctl of net.ipv4.
func (k *Kernel) has(sysctl string) bool { _, ok := k.sysctl(sysctl); return ok }

// sysctl is the value that a sysctl of net.ipv4 about TCP has in a new network namespace.
func (k *Kernel) sysctl(name string) (string, bool) {
	i, ok := slices.BinarySearchFunc(k.Sysctls, name, func(x Sysctl, name string) int {
		return strings.Compare(x.Name, name)
	})
	if !ok {
		return "", false
	}
	return k.Sysctls[i].Value, true
}

// configs are the names of congestion controls in the kernel's configuration where they
// are not their own in capitals.
var configs = map[string]string{"highspeed": "HSTCP"}

// CongestionControl is an error if sockets cannot have a congestion control; it says which
// they can have, and what would bring this one.
func (k *Kernel) CongestionControl(name string) error {
	if slices.Contains(k.CongestionControls, name) || slices.Contains(k.Modules, name) {
		return nil
	}
	config, ok := configs[name]
	if !ok {
		config = strings.ToUpper(name)
	}
	offers := append(slices.Clone(k.CongestionControls), k.Modules...)
	return fmt.Errorf("the kernel has no %s: it offers %s (CONFIG_TCP_CONG_%s, module tcp_%s)", name,
		strings.Join(offers, ", "), config, name)
}
