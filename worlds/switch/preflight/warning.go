package preflight

import (
	"weir/core/scheme"
	"weir/internal/document"
	softswitch "weir/worlds/switch"
)

// Kinds of warnings about a switch's environment.
var (
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
	warnNeedsRoot = scheme.WarningKind{ID: "switch-needs-root",
		Condition: "--check runs without root, which a start needs"}
)

// WarningKinds returns the kinds of warnings about a switch's environment.
func WarningKinds() []scheme.WarningKind {
	return []scheme.WarningKind{warnMTU, warnAddressBypass, warnAddress, warnDefaultRoute, warnBridgeDown,
		warnBridgeAddress, warnChecksumsSent, warnChecksumsHidden, warnChecksumsTUN, warnNeedsRoot}
}

// interfaceFacts are the inputs of warnings about a port's interface.
type interfaceFacts struct {
	mtu, firstMTU int      // firstMTU is the first port's
	addresses     []string // of this machine at the interface
	defaultRoute  bool
	bypass        bool // a bridge takes over when the switch ends
}

// interfaceWarnings warns of an interface on which the switch probably does not work as intended. first is the
// first port's interface.
func interfaceWarnings(first string, port softswitch.Port, f *interfaceFacts) (all []document.Warning) {
	warn := func(kind scheme.WarningKind, format string, args ...any) {
		all = append(all, softswitch.PortWarning(kind, port.Name, format, args...))
	}
	if f.mtu != f.firstMTU {
		warn(warnMTU, "interface %s has an MTU of %d bytes, %s one of %d bytes: frames that are too long for one of "+
			"them are dropped there", port.Interface, f.mtu, first, f.firstMTU)
	}
	for _, address := range f.addresses {
		if f.bypass {
			warn(warnAddressBypass, "interface %s has the address %s: with --bypass, frames to this address do not reach it",
				port.Interface, address)
			continue
		}
		warn(warnAddress, "interface %s has the address %s: traffic of this machine at this address bypasses the switch",
			port.Interface, address)
	}
	if f.defaultRoute {
		warn(warnDefaultRoute, "interface %s has a default route: is it this machine's own uplink?", port.Interface)
	}
	return all
}

// bridgeWarnings warns of a bridge that does not forward, or that has an address; "" means no address.
func bridgeWarnings(name string, up bool, address string) (all []document.Warning) {
	if !up {
		all = append(all, softswitch.PortWarning(warnBridgeDown, "",
			"bridge %s is down and forwards no frames; the start sets it up", name))
	}
	if address != "" {
		all = append(all, softswitch.PortWarning(warnBridgeAddress, "", "bridge %s has the address %s, at which this "+
			"machine is unreachable while the switch runs", name, address))
	}
	return all
}

// rootWarnings warns if uid cannot start the switch, unless it runs.
func rootWarnings(runs bool, uid int) (all []document.Warning) {
	if !runs && uid != 0 {
		all = append(all, softswitch.PortWarning(warnNeedsRoot, "", "the start requires root"))
	}
	return all
}
