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

// A bypass is a bridge of the kernel to which the ports belong while the switch runs, too. A BPF program at the
// ingress of each port keeps frames from it (tcx.Hold), for as long as the data plane, and no other process, has that
// program's link open. So a frame that comes in goes to the data plane or to the bridge and never to both, and no
// process has to act when the data plane ends: the kernel closes what a process has open, however it ended, and only
// after its last thread has stopped.

// bypassStopping is how long the data plane may take to stop with a bypass, whose traffic waits for it: it lets queues
// drain for a part of that, and is killed after it. Both together are less than a second.
const bypassStopping = 800 * time.Millisecond

// bypass is the bridge of a start with its ports.
type bypass struct {
	name    string
	index   int
	made    bool  // by this start
	entered []int // indices of interfaces that have come into it by this start
}

// hold keeps all that comes in at the ports from the bridge, from now on.
func (s *start) hold() error {
	for i, port := range s.Config.Ports {
		fd, err := tcx.Hold(s.Links[i].Index)
		if err != nil {
			return softswitch.SetupError("port %s: --bypass: %v", port.Name, err)
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
	if *b = (bypass{name: s.Bridge.Name, index: s.Bridge.Index}); b.name == "" {
		if err := b.add(conn); err != nil {
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
		b.entered = append(b.entered, l.Index)
	}
	return conn.Up(b.index)
}

// add makes the bridge.
func (b *bypass) add(conn *rtnl.Conn) error {
	for n := 1; n <= preflight.MaxSwitches; n++ {
		name := fmt.Sprintf("%s%d", preflight.BypassPrefix, n)
		err := conn.AddBridge(name)
		if errors.Is(err, unix.EEXIST) {
			continue
		}
		if errors.Is(err, unix.EOPNOTSUPP) {
			return softswitch.SetupError("--bypass: this kernel has no bridge: %v", err)
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
	return fmt.Errorf("--bypass: %d bridges %sN exist", preflight.MaxSwitches, preflight.BypassPrefix)
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
