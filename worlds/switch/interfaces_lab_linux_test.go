//go:build lab

package softswitch_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/internal/rtnl"
	"weir/internal/testkit/await"
)

// rename gives an interface another name (SIOCSIFNAME).
func rename(name, to string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r := struct {
		name, to [unix.IFNAMSIZ]byte
		_        [8]byte
	}{}
	copy(r.name[:], name)
	copy(r.to[:], to)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFNAME,
		uintptr(unsafe.Pointer(&r))); errno != 0 {
		return errno
	}
	return nil
}

// TestSwitch_RestoresRenamedInterface checks that an interface that was renamed meanwhile is restored, and not the
// one that has its old name now.
func TestSwitch_RestoresRenamedInterface(t *testing.T) {
	w := lay(t, 1500, "left", "right", "other")
	before := w.offloads("left")
	p := w.open(plain)
	w.in(middle, func(c *rtnl.Conn) error {
		for _, x := range [][2]string{{"left", "was-left"}, {"other", "left"}} {
			setUp(c, x[0], false) // older kernels rename nothing that is up
			if err := rename(x[0], x[1]); err != nil {
				return err
			}
		}
		_, err := rtnl.DisableOffloads("left")
		return err
	})
	p.stop()
	if now := w.offloads("was-left"); !slices.Equal(now, before) {
		t.Errorf("offloads of the interface with another name are %v, and were %v", now, before)
	}
	if now := w.offloads("left"); len(now) > 0 {
		t.Errorf("offloads %v of an interface that the switch never had are on", now)
	}
}

// remove removes an interface (rtnetlink(7), RTM_DELLINK).
func remove(index int) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	m := struct {
		unix.NlMsghdr
		unix.IfInfomsg
	}{unix.NlMsghdr{Type: unix.RTM_DELLINK, Flags: unix.NLM_F_REQUEST}, unix.IfInfomsg{Index: int32(index)}}
	m.Len = uint32(unsafe.Sizeof(m))
	_, err = unix.Write(fd, unsafe.Slice((*byte)(unsafe.Pointer(&m)), m.Len))
	return err
}

// TestSwitch_EndsWithVanishedInterface checks that a vanished interface ends the switch as soon as a frame is sent
// there: a service manager can wait for it. The other interface is restored.
func TestSwitch_EndsWithVanishedInterface(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	before := w.offloads("left")
	p := w.open(plain)
	w.in(middle, func(c *rtnl.Conn) error {
		x, err := c.InterfaceByName("right")
		if err != nil {
			return err
		}
		return remove(x.Index)
	})
	s := w.socket("left", 1500) // hosts send, too: it may have ended by now
	await.AwaitCondition(t, "the end", func() bool {
		s.Put(append(append(mac(1), mac(0)...), 0x88, 0xb5))
		s.Flush()
		return p.over()
	})
	if now := w.offloads("left"); p.AwaitExit() == 0 || !slices.Equal(now, before) ||
		!strings.Contains(p.Stderr(), "the interface of a port has disappeared: host right") {
		t.Errorf("exit code %d, offloads %v, before %v\n%s", p.AwaitExit(), now, before, p.Stderr())
	}
}

// TestSwitch_SurvivesInterfaceDown checks that an interface that goes down and up again does not end the switch.
func TestSwitch_SurvivesInterfaceDown(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	p := w.open(plain)
	w.echo("right", netip.MustParseAddrPort("10.9.0.2:7"))
	if _, err := w.ask("left", netip.MustParseAddrPort("10.9.0.2:7"), 8, 3); err != nil {
		t.Fatal(err)
	}
	set := func(up bool) { w.in(middle, func(c *rtnl.Conn) error { return setUp(c, "right", up) }) }
	set(false)
	p.awaits("is down")
	w.tell("left", netip.MustParseAddrPort("10.9.0.2:7"), 8)
	set(true)
	if _, err := w.ask("left", netip.MustParseAddrPort("10.9.0.2:7"), 8, 10); err != nil {
		t.Errorf("after the interface came up again: %v", err)
	}
	p.stop()
}
