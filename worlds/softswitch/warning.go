package softswitch

import (
	"fmt"
	"strings"

	"weir/core/dataplane/tm"
	userset "weir/core/dataplane/users"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/document"
)

// Kinds of warnings about a switch on real interfaces.
var (
	warnExempt = scheme.WarningKind{ID: "switch-exempt",
		Condition: "frames that are no user's may fill more than 5 % of a port (users: exempt_rate)"}
	warnSlowFrame = scheme.WarningKind{ID: "switch-slow-frame",
		Condition: "a full frame takes more than a second at a port's rate"}
	warnMetricsOpen = scheme.WarningKind{ID: "switch-metrics-open",
		Condition: "metrics are at an address that other machines reach"}
	warnNoRate = scheme.WarningKind{ID: "switch-no-rate",
		Condition: "a port has no rate, so that its queue hardly fills"}
	warnReceivers = scheme.WarningKind{ID: "switch-receivers",
		Condition: "programs or the scheduler share or limit by user, and the file has no `users: {behind: PORT}`: what a " +
			"user receives counts as its sender's. Not of `abc` where all ports are inside; only of `plan` where no port " +
			"has a rate"}
	warnMTU = scheme.WarningKind{ID: "switch-mtu",
		Condition: "the interfaces of two ports have different MTUs"}
	warnAddressBypass = scheme.WarningKind{ID: "switch-address-bypass",
		Condition: "with --bypass a port's interface has an address, which no frame reaches"}
	warnAddress = scheme.WarningKind{ID: "switch-address",
		Condition: "a port's interface has an address of this machine"}
	warnDefaultRoute = scheme.WarningKind{ID: "switch-default-route",
		Condition: "a port's interface has a default route"}
	warnBridgeDown = scheme.WarningKind{ID: "switch-bridge-down",
		Condition: "the bridge that the ports belong to is down"}
	warnBridgeAddress = scheme.WarningKind{ID: "switch-bridge-address",
		Condition: "the bridge that the ports belong to has an address"}
	warnChecksumsSent = scheme.WarningKind{ID: "switch-checksums-sent",
		Condition: "the other end of a port's veth pair sends frames without checksums"}
	warnChecksumsHidden = scheme.WarningKind{ID: "switch-checksums-hidden",
		Condition: "the other end of a port's veth pair cannot be read, and may send frames without checksums"}
	warnChecksumsTUN = scheme.WarningKind{ID: "switch-checksums-tun",
		Condition: "a port is a TUN or TAP interface, whose sender may leave out checksums"}
	warnChecksums = scheme.WarningKind{ID: "switch-checksums",
		Condition: "frames without checksums were dropped at a port while the switch runs"}
	warnNoFilter = scheme.WarningKind{ID: "switch-no-seccomp",
		Condition: "the kernel refuses the filter of system calls for the data plane or its supervisor"}
	warnNeedsRoot = scheme.WarningKind{ID: "switch-needs-root",
		Condition: "--check runs without root, which a start needs"}
)

// WarningKinds returns the kinds of warnings that a switch issues in addition to its programs'.
func WarningKinds() []scheme.WarningKind {
	return []scheme.WarningKind{warnExempt, warnSlowFrame, warnMetricsOpen, warnNoRate, warnReceivers, warnMTU,
		warnAddressBypass,
		warnAddress, warnDefaultRoute, warnBridgeDown, warnBridgeAddress, warnChecksumsSent, warnChecksumsHidden,
		warnChecksumsTUN, warnChecksums, warnNoFilter, warnNeedsRoot}
}

// portWarning is a warning about a port; "" is the switch as a whole.
func portWarning(kind scheme.WarningKind, port, format string, args ...any) document.Warning {
	w := document.Warn(kind, document.Place{}, format, args...)
	w.Port = port
	return w
}

// openMetrics warns of metrics that other machines reach.
func (c *Config) openMetrics() (all []document.Warning) {
	if c.Metrics.IsValid() && !c.Metrics.Addr().Unmap().IsLoopback() {
		all = append(all, portWarning(warnMetricsOpen, "", "metrics are at %v, for whoever can reach it", c.Metrics))
	}
	return all
}

// unshapedPorts warns of ports without a rate.
func (c *Config) unshapedPorts() (all []document.Warning) {
	for _, p := range c.Ports {
		if p.Rate.Bits == 0 && p.Rate.Packets == 0 {
			all = append(all, portWarning(warnNoRate, p.Name, "port %s has no rate: its queue, on which programs work, hardly "+
				"fills", p.Name))
		}
	}
	return all
}

// receivers warns of users that the switch does not protect in what they receive, since each frame is its sender's. It
// names the ports behind which such users can be: where queues build up or, with a policer, all.
func (c *Config) receivers() (all []document.Warning) {
	if c.Users.By != ByAddress || c.Users.Behind >= 0 {
		return nil
	}
	lists, polices := c.listers()
	if len(lists) == 0 {
		return nil
	}
	ports := c.Users.ports
	if !polices {
		ports = nil
		for _, p := range c.Ports {
			if p.Rate != (unit.LinkRate{}) {
				ports = append(ports, p.Name)
			}
		}
	}
	if len(ports) == 0 {
		return nil
	}
	return append(all, document.Warn(warnReceivers, c.usersAt, "%s: a frame counts as its sender's, so that %s are not "+
		"protected, nor limited, in what they receive; %s", strings.Join(lists, ", "), c.unprotected(ports),
		c.behindLines(ports)))
}

// listers returns the names of the programs and the scheduler that find users by sender or receiver in this switch, and
// whether one of them is a policer.
func (c *Config) listers() (names []string, polices bool) {
	for i := range c.Programs {
		config := c.Programs[i].Config
		if _, lists := config.(userset.Lister); !lists {
			continue
		}
		if edge, ok := config.(userset.EdgeLister); ok && !edge.FindsUsers(c.Users.ports) {
			continue
		}
		names, polices = append(names, c.Programs[i].Scheme.Name), polices || c.Programs[i].Traits.PolicesUsers
	}
	if c.served != nil {
		_, lists := c.served.Config.(userset.Lister)
		if _, hosts := c.served.Config.(*tm.Cake); lists || hosts {
			names = append(names, c.served.Scheme.Name)
		}
	}
	return names, polices
}

// maxListed limits how many users a warning lists.
const maxListed = 3

// unprotected names the users that the switch does not find by what they receive. A customer's VLAN is found both ways.
func (c *Config) unprotected(ports []string) string {
	hosts := "hosts at " + strings.Join(ports, " and ")
	var names []string
	for _, u := range c.Users.Customers {
		if len(u.Prefixes) > 0 {
			names = append(names, u.Name)
		}
	}
	for _, p := range c.Users.Named {
		names = append(names, userset.PrefixText(p))
	}
	if n := len(names); n > maxListed {
		names = append(names[:maxListed], fmt.Sprintf("%d other users", n-maxListed))
	} else if n == 0 {
		return hosts
	}
	return strings.Join(names, ", ") + " and all other " + hosts
}

// behindLines are the lines that a file lacks, one for each port that users can be behind.
func (c *Config) behindLines(ports []string) string {
	line := "users: {behind: %s}"
	if c.usersGiven {
		line = "behind: %s in users"
	}
	var lines []string
	for _, p := range ports {
		lines = append(lines, fmt.Sprintf("add "+line+" if they are at %s", p, p))
	}
	return strings.Join(lines, ", or ")
}

// interfaceFacts are what warnings need to know of a port's interface.
type interfaceFacts struct {
	mtu, firstMTU int      // firstMTU: of the first port's interface
	addresses     []string // at which this machine is reached there
	defaultRoute  bool
	bypass        bool // a bridge takes over when the switch ends
}

// interfaceWarnings warns of an interface on which the switch does not work as is likely meant.
func (c *Config) interfaceWarnings(port Port, f *interfaceFacts) (all []document.Warning) {
	warn := func(kind scheme.WarningKind, format string, args ...any) {
		all = append(all, portWarning(kind, port.Name, format, args...))
	}
	if f.mtu != f.firstMTU {
		warn(warnMTU, "interface %s has an MTU of %d bytes, %s one of %d: frames that are too long for one of them are "+
			"dropped there", port.Interface, f.mtu, c.Ports[0].Interface, f.firstMTU)
	}
	for _, address := range f.addresses {
		if f.bypass {
			warn(warnAddressBypass, "interface %s has the address %s: with --bypass nothing that comes in there reaches it",
				port.Interface, address)
			continue
		}
		warn(warnAddress, "interface %s has the address %s: this machine's own traffic there does not go through the "+
			"switch, and it answers beside it", port.Interface, address)
	}
	if f.defaultRoute {
		warn(warnDefaultRoute, "interface %s has a default route: is it this machine's own way out?", port.Interface)
	}
	return all
}

// bridgeWarnings warns of a bridge that does not forward, or at which this machine has an address; "": no address.
func bridgeWarnings(name string, up bool, address string) (all []document.Warning) {
	if !up {
		all = append(all, portWarning(warnBridgeDown, "", "bridge %s is down, and forwards nothing; the start sets it up",
			name))
	}
	if address != "" {
		all = append(all, portWarning(warnBridgeAddress, "", "bridge %s has the address %s, at which this machine is not "+
			"reached while the switch runs", name, address))
	}
	return all
}

// partialWarnings warns of frames that were dropped at a port because they had no checksums.
func partialWarnings(port Port, frames uint64, help string) (all []document.Warning) {
	if frames > 0 {
		all = append(all, portWarning(warnChecksums, port.Name, "port %s: %d frames came from %s without their "+
			"checksums, and "+
			"were dropped; this helps: %s", port.Name, frames, port.Interface, help))
	}
	return all
}

// unfiltered warns of a process for which the kernel has refused a filter of system calls.
func unfiltered(process string, err error) (all []document.Warning) {
	if err != nil {
		all = append(all, portWarning(warnNoFilter, "", "no filter of system calls holds the %s: %v", process, err))
	}
	return all
}

// rootWarnings warns of a check by a user who cannot start the switch, unless it runs.
func rootWarnings(runs bool, uid int) (all []document.Warning) {
	if !runs && uid != 0 {
		all = append(all, portWarning(warnNeedsRoot, "", "starting needs root"))
	}
	return all
}
