package softswitch

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/unit"
	"weir/internal/rtnl"
	"weir/internal/tcx"
)

// A bypass is a bridge of the kernel to which the ports belong while the switch runs, too. A BPF program at the ingress
// of each port keeps frames from it (tcx.Hold), for as long as the data plane, and nobody else, has that program's link
// open. So a frame that comes in goes to the data plane or to the bridge and never to both, and there is nobody who
// would have to act when the data plane ends: the kernel closes what a process has open, whatever has killed it, and
// only after none of its threads runs any more.

// bypassPrefix is what bridges that the switch makes are called, with a number.
const bypassPrefix = "weir-bypass"

// With a bypass the traffic waits for whoever is slow to end. So what waits in queues leaves for only this long, and a
// data plane that has not ended after that is killed: both together are less than a second.
const (
	bypassDrain    = 400 * unit.Millisecond
	bypassStopping = 800 * time.Millisecond
)

// bypass is the bridge of a start with its ports.
type bypass struct {
	name    string
	index   int
	made    bool  // by this start
	entered []int // indices of interfaces that have come into it by this start
}

// lookBypass finds which bridge the ports belong to, if any, and whether it can be their bypass: they must be all that
// belongs to it.
func (p *plan) lookBypass(conn *rtnl.Conn) error {
	if !p.bypass || len(p.wrong) > 0 {
		return nil
	}
	if os.Geteuid() == 0 {
		if err := tcx.Possible(); err != nil {
			p.refuse("--bypass needs BPF programs at the ingress of interfaces (Linux 6.6, CONFIG_NET_XGRESS): %v", err)
		}
	}
	master := 0
	for i, port := range p.config.Ports {
		if m := p.links[i].Master; m != 0 && master != 0 && m != master {
			p.refuse("port %s: interface %s belongs to another bridge than the ports before it", port.Name, port.Interface)
		} else if m != 0 {
			master = m
		}
	}
	if master == 0 || len(p.wrong) > 0 {
		return nil
	}
	bridge, err := conn.InterfaceAt(master)
	if err != nil {
		return err
	}
	if !bridge.IsBridge() {
		p.refuse("the ports belong to %s, which is no bridge", bridge.Name)
		return nil
	}
	p.bridge = bridge
	all, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, x := range all {
		i, err := conn.InterfaceAt(x.Index)
		if errors.Is(err, unix.ENODEV) {
			continue
		}
		if err != nil {
			return err
		}
		own := slices.ContainsFunc(p.links, func(l rtnl.Interface) bool { return l.Index == i.Index })
		if i.Master == master && !own {
			p.refuse("bridge %s has interface %s, too, which is no port: frames would pass the switch and the bridge",
				bridge.Name, i.Name)
		}
	}
	address := ""
	if addresses := addressesOf(bridge.Name); len(addresses) > 0 {
		address = addresses[0].String()
	}
	p.warnings = append(p.warnings, bridgeWarnings(bridge.Name, bridge.Up, address)...)
	return nil
}

// bypassText says which bridge takes over.
func (p *plan) bypassText() string {
	switch {
	case !p.bypass:
		return "none: what comes in is lost while the switch does not run"
	case p.bridge.Name != "":
		return "bridge " + p.bridge.Name
	}
	return "a bridge " + bypassPrefix + "N, which stays"
}

// hold keeps all that comes in at the ports from the bridge, from now on.
func (s *start) hold() error {
	for i, port := range s.config.Ports {
		fd, err := tcx.Hold(s.links[i].Index)
		if err != nil {
			return setup("port %s: --bypass: %v", port.Name, err)
		}
		s.opened = append(s.opened, os.NewFile(uintptr(fd), "bypass of "+port.Name))
		s.keep, s.state.Links = append(s.keep, fd), append(s.state.Links, fd)
	}
	return nil
}

// join puts the ports into the bridge, which it makes if there is none.
func (s *start) join() error {
	conn, err := rtnl.Open()
	if err != nil {
		return err
	}
	defer conn.Close()
	b := &s.bridged
	if *b = (bypass{name: s.bridge.Name, index: s.bridge.Index}); b.name == "" {
		if err := b.add(conn); err != nil {
			return err
		}
	}
	s.state.Bypass = b.name
	for _, l := range s.links {
		if l.Master == b.index {
			continue
		}
		if err := conn.SetMaster(l.Index, b.index); err != nil {
			return fmt.Errorf("--bypass: %w", err)
		}
		b.entered = append(b.entered, l.Index)
	}
	return conn.Up(b.index)
}

// add makes the bridge.
func (b *bypass) add(conn *rtnl.Conn) error {
	for n := 1; n <= mostSwitches; n++ {
		name := fmt.Sprintf("%s%d", bypassPrefix, n)
		err := conn.AddBridge(name)
		if errors.Is(err, unix.EEXIST) {
			continue
		}
		if errors.Is(err, unix.EOPNOTSUPP) {
			return setup("--bypass: this kernel has no bridge: %v", err)
		}
		if err != nil {
			return err
		}
		i, err := conn.Interface(name)
		if err != nil {
			return err
		}
		b.name, b.index, b.made = name, i.Index, true
		return conn.Quiet(i.Index)
	}
	return fmt.Errorf("--bypass: %d bridges %sN exist", mostSwitches, bypassPrefix)
}

// leave undoes join.
func (b *bypass) leave() (err error) {
	if !b.made && len(b.entered) == 0 {
		return nil
	}
	conn, err := rtnl.Open()
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, index := range b.entered {
		err = errors.Join(err, conn.SetMaster(index, 0))
	}
	if b.made {
		err = errors.Join(err, conn.Remove(b.index))
	}
	return err
}

// bridgeHint says how an interface of a bridge can be a port after all.
func bridgeHint(conn *rtnl.Conn, master int) string {
	if b, err := conn.InterfaceAt(master); err == nil && strings.HasPrefix(b.Name, bypassPrefix) {
		return fmt.Sprintf(": %s is the bypass of an earlier start; start with --bypass, or remove it (ip link del %s)",
			b.Name, b.Name)
	}
	return ", which would forward its frames too"
}
