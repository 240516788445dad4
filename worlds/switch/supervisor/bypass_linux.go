package supervisor

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/rtnl"
	"weir/internal/tcx"
	softswitch "weir/worlds/switch"
	"weir/worlds/switch/preflight"
)

// A bypass is a kernel bridge that has the ports as members even while the switch runs. A BPF program at the
// ingress of each port keeps frames from it (tcx.HoldFrames) as long as the data plane, the only process with the
// program's link, holds it open. So a received frame goes either to the data plane or to the bridge, never to
// both. No process has to act when the data plane ends: the kernel closes its descriptors, however it ended, after
// its last thread has stopped.

// bypassStopping limits the time for the data plane to stop with a bypass, since traffic waits for it. It drains
// queues for a part of that, and is killed at the end. Both take less than a second.
const bypassStopping = 800 * time.Millisecond

// bypass is the bridge of a start with its ports.
type bypass struct {
	name    string
	index   int
	created bool  // created by this start
	members []int // indices of interfaces added to it by this start
}

// holdFrames keeps frames received at the ports from the bridge from now on, by a BPF program at each port. The
// descriptors go to s.state.Links; while one is open, its port holds frames.
func (s *start) holdFrames() error {
	for i, port := range s.Config.Ports {
		fd, err := tcx.HoldFrames(s.Links[i].Index)
		if err != nil {
			return softswitch.SetupError("port %s: --bypass: %v", port.Name, err)
		}
		s.opened = append(s.opened, os.NewFile(uintptr(fd), "bypass of "+port.Name))
		s.keep, s.state.Links = append(s.keep, fd), append(s.state.Links, fd)
	}
	return nil
}

// joinBridge adds the ports to the bridge, which it creates if needed, and sets the bridge up. It stores in s.bridged
// what leaveBridge has to undo, also after an error.
func (s *start) joinBridge() error {
	conn, err := rtnl.Open()
	if err != nil {
		return err
	}
	defer conn.Close()
	b := &s.bridged
	if *b = (bypass{name: s.Bridge.Name, index: s.Bridge.Index}); b.name == "" {
		if err := b.addBridge(conn); err != nil {
			return err
		}
	}
	s.state.Bypass = b.name
	for _, l := range s.Links {
		if l.Master == b.index {
			continue
		}
		if err := conn.SetMaster(l.Index, b.index); err != nil {
			return fmt.Errorf("--bypass: %w", err)
		}
		b.members = append(b.members, l.Index)
	}
	return conn.SetUp(b.index)
}

// addBridge creates the bridge under the first free name, and stores it in b.
func (b *bypass) addBridge(conn *rtnl.Conn) error {
	for n := 1; n <= preflight.MaxSwitches; n++ {
		name := fmt.Sprintf("%s%d", preflight.BypassPrefix, n)
		err := conn.AddBridge(name)
		if errors.Is(err, unix.EEXIST) {
			continue
		}
		if errors.Is(err, unix.EOPNOTSUPP) {
			return softswitch.SetupError("--bypass: this kernel does not support bridges: %v", err)
		}
		if err != nil {
			return err
		}
		i, err := conn.InterfaceByName(name)
		if err != nil {
			return err
		}
		b.name, b.index, b.created = name, i.Index, true
		return conn.SetUpQuiet(i.Index)
	}
	return fmt.Errorf("--bypass: %d bridges %sN exist; remove unused ones (ip link del NAME)",
		preflight.MaxSwitches, preflight.BypassPrefix)
}

// leaveBridge undoes joinBridge: it removes added members and a created bridge, and continues after errors. The zero
// bypass has neither.
func (b *bypass) leaveBridge() (err error) {
	if !b.created && len(b.members) == 0 {
		return nil
	}
	conn, err := rtnl.Open()
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, index := range b.members {
		err = errors.Join(err, conn.SetMaster(index, 0))
	}
	if b.created {
		err = errors.Join(err, conn.RemoveInterface(b.index))
	}
	return err
}
