package softswitch

import "weir/core/scheme"

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

// WarningKinds returns the kinds of warnings that a switch issues beside its programs'.
func WarningKinds() []scheme.WarningKind {
	return []scheme.WarningKind{warnExempt, warnSlowFrame, warnMetricsOpen, warnNoRate, warnMTU, warnAddressBypass,
		warnAddress, warnDefaultRoute, warnBridgeDown, warnBridgeAddress, warnChecksumsSent, warnChecksumsHidden,
		warnChecksumsTUN, warnChecksums, warnNoFilter, warnNeedsRoot}
}
