package preflight

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"weir/internal/rtnl"
	"weir/internal/tcx"
)

// BypassPrefix starts the names of bridges that the switch creates for a bypass; a number follows.
const BypassPrefix = "weir-bypass"

// findBridge finds the bridge of the ports with --bypass, if they have one, and stores it in p.Bridge, with warnings.
// It is no bypass if it has further interfaces, which prevents a start. Reasons that prevent a start are added to p;
// the returned error is of the kernel.
func (p *Plan) findBridge(conn *rtnl.Conn) error {
	if !p.Bypass || len(p.errs) > 0 {
		return nil
	}
	if os.Geteuid() == 0 {
		if err := tcx.CheckSupport(); err != nil {
			p.addError("--bypass requires BPF programs at the ingress of interfaces (Linux 6.6, CONFIG_NET_XGRESS): %v", err)
		}
	}
	master := 0
	for i, port := range p.Config.Ports {
		if m := p.Links[i].Master; m != 0 && master != 0 && m != master {
			p.addError("port %s: interface %s belongs to a different bridge than the previous ports; use one bridge",
				port.Name, port.Interface)
		} else if m != 0 {
			master = m
		}
	}
	if master == 0 || len(p.errs) > 0 {
		return nil
	}
	bridge, err := conn.InterfaceByIndex(master)
	if err != nil {
		return err
	}
	if !bridge.IsBridge() {
		p.addError("the ports belong to %s, which is not a bridge", bridge.Name)
		return nil
	}
	p.Bridge = bridge
	all, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, x := range all {
		i, err := conn.InterfaceByIndex(x.Index)
		if errors.Is(err, unix.ENODEV) {
			continue
		}
		if err != nil {
			return err
		}
		isPort := slices.ContainsFunc(p.Links, func(l rtnl.Interface) bool { return l.Index == i.Index })
		if i.Master == master && !isPort {
			p.addError("bridge %s also has interface %s, which is not a port: frames would pass both the switch and the "+
				"bridge; remove the interface or make it a port",
				bridge.Name, i.Name)
		}
	}
	address := ""
	if addresses := interfaceAddresses(bridge.Name); len(addresses) > 0 {
		address = addresses[0].String()
	}
	p.Warnings = append(p.Warnings, bridgeWarnings(bridge.Name, bridge.Up, address)...)
	return nil
}

// bypassText describes the bridge that takes over.
func (p *Plan) bypassText() string {
	switch {
	case !p.Bypass:
		return "none: frames that arrive while the switch does not run are lost"
	case p.Bridge.Name != "":
		return "bridge " + p.Bridge.Name
	}
	return "a bridge " + BypassPrefix + "N, which remains"
}

// bridgeHint returns the end of a message that explains how an interface of bridge or bond master can become a port.
func bridgeHint(conn *rtnl.Conn, master int) string {
	if b, err := conn.InterfaceByIndex(master); err == nil && strings.HasPrefix(b.Name, BypassPrefix) {
		return fmt.Sprintf(": %s is the bypass of an earlier start; start with --bypass, or remove it (ip link del %s)",
			b.Name, b.Name)
	}
	return ", which would forward its frames as well; remove the interface from it (ip link set NAME nomaster)"
}
