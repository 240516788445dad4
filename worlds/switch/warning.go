package softswitch

import (
	"fmt"
	"strings"

	"weir/core/dataplane/tm"
	userset "weir/core/dataplane/users"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/document"
	"weir/worlds/switch/frames"
)

// Kinds of warnings about a switch's file.
var (
	warnExempt = scheme.WarningKind{ID: "switch-exempt",
		Condition: "frames that belong to no user may fill more than 5 % of a port (users: exempt_rate)"}
	warnSlowFrame = scheme.WarningKind{ID: "switch-slow-frame",
		Condition: "a full frame takes more than a second at a port's rate"}
	warnMetricsOpen = scheme.WarningKind{ID: "switch-metrics-open",
		Condition: "metrics are served at an address that other machines can reach"}
	warnNoRate = scheme.WarningKind{ID: "switch-no-rate",
		Condition: "a port has no rate, so its queue almost never fills"}
	warnReceivers = scheme.WarningKind{ID: "switch-receivers",
		Condition: "programs or the scheduler share or limit by user, and the file has no `users: {behind: PORT}`: " +
			"received traffic counts for its sender. It is not issued for `abc` where all ports are inside; where no port has " +
			"a rate, it is issued for `plan` only"}
)

// WarningKinds returns the kinds of warnings about a switch's file, in addition to its programs'.
func WarningKinds() []scheme.WarningKind {
	return []scheme.WarningKind{warnExempt, warnSlowFrame, warnMetricsOpen, warnNoRate, warnReceivers}
}

// PortWarning returns a warning about a port, or about the whole switch if port is "".
func PortWarning(kind scheme.WarningKind, port, format string, args ...any) document.Warning {
	w := document.Warn(kind, document.Position{}, format, args...)
	w.Port = port
	return w
}

// WarnOpenMetrics returns a warning if other machines can reach the metrics.
func (c *Config) WarnOpenMetrics() (all []document.Warning) {
	if c.Metrics.IsValid() && !c.Metrics.Addr().Unmap().IsLoopback() {
		all = append(all, PortWarning(warnMetricsOpen, "", "metrics are available at %v, to every machine that reaches "+
			"it", c.Metrics))
	}
	return all
}

// WarnUnshapedPorts returns a warning for each port without a rate in bit/s or packets/s.
func (c *Config) WarnUnshapedPorts() (all []document.Warning) {
	for _, p := range c.Ports {
		if p.Rate.Bits == 0 && p.Rate.Packets == 0 {
			all = append(all, PortWarning(warnNoRate, p.Name, "port %s has no rate: its queue, which programs control, "+
				"hardly fills", p.Name))
		}
	}
	return all
}

// receiverWarnings warns of users without protection for what they receive, since each frame counts for its
// sender. It names the ports with such users: those with a rate, or all if a program is a policer.
func (c *Config) receiverWarnings() (all []document.Warning) {
	if c.Users.By != frames.ByAddress || c.Users.Behind >= 0 {
		return nil
	}
	lists, polices := c.userFinders()
	if len(lists) == 0 {
		return nil
	}
	ports := c.Users.Ports
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
	return append(all, document.Warn(warnReceivers, c.usersPlace,
		"%s: a frame counts for its sender, so that %s have neither protection nor limit for received traffic; %s",
		strings.Join(lists, ", "), c.describeUnprotected(ports),
		c.behindLines(ports)))
}

// userFinders returns the names of the programs and the scheduler that find users by sender or receiver in this
// switch, and whether one of them is a policer.
func (c *Config) userFinders() (names []string, polices bool) {
	for i := range c.Programs {
		config := c.Programs[i].Config
		if _, lists := config.(userset.Lister); !lists {
			continue
		}
		if edge, ok := config.(userset.EdgeLister); ok && !edge.FindsUsers(c.Users.Ports) {
			continue
		}
		names, polices = append(names, c.Programs[i].Scheme.Name), polices || c.Programs[i].Traits.PolicesUsers
	}
	if c.schedulerChoice != nil {
		_, lists := c.schedulerChoice.Config.(userset.Lister)
		if _, hosts := c.schedulerChoice.Config.(*tm.Cake); lists || hosts {
			names = append(names, c.schedulerChoice.Scheme.Name)
		}
	}
	return names, polices
}

// maxListed limits the users listed in a warning.
const maxListed = 3

// describeUnprotected names the users that the switch does not find by received frames. A customer's VLAN is found
// in both directions.
func (c *Config) describeUnprotected(ports []string) string {
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

// behindLines returns the missing lines of the file, one for each port that users can be behind.
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
