//go:build lab

package sockdiag

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"weir/internal/testkit/await"
)

// open opens a Conn, or skips the test on machines without sock_diag.
func open(t testing.TB) *Conn {
	t.Helper()
	c, err := Open()
	if errors.Is(err, unix.EPROTONOSUPPORT) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		t.Skipf("no sock_diag here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// getsockopt returns the TCP_INFO of a connection's own descriptor.
func getsockopt(t testing.TB, conn *net.TCPConn) (i Info) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var refused error
	err = raw.Control(func(fd uintptr) {
		refused = i.ReadSocket(int(fd))
	})
	if err = errors.Join(err, refused); err != nil {
		t.Fatal(err)
	}
	return i
}

// pair returns the two ends of a connection over a listening socket.
func pair(t testing.TB, network string, at netip.AddrPort) (dialled, accepted *net.TCPConn) {
	t.Helper()
	l, err := net.ListenTCP(network, net.TCPAddrFromAddrPort(at))
	if err != nil {
		t.Skipf("no %s on %v: %v", network, at, err)
	}
	t.Cleanup(func() { l.Close() })
	dialled, err = net.DialTCP(network, nil, l.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialled.Close() })
	if accepted, err = l.AcceptTCP(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	return dialled, accepted
}

func ends(c *net.TCPConn) (local, remote netip.AddrPort) {
	return c.LocalAddr().(*net.TCPAddr).AddrPort(), c.RemoteAddr().(*net.TCPAddr).AddrPort()
}

func find(sockets []Socket, local, remote netip.AddrPort) *Socket {
	for i := range sockets {
		if sockets[i].Local == local && sockets[i].Remote == remote {
			return &sockets[i]
		}
	}
	return nil
}

// same compares the fields that do not change while the connection is idle.
func same(t testing.TB, got, want Info) {
	t.Helper()
	for _, i := range []*Info{&got, &want} {
		i.LastDataSent, i.LastDataReceived, i.LastAckReceived, i.ATO = 0, 0, 0, 0
	}
	if got != want {
		t.Errorf("sock_diag\n%+v\ngetsockopt\n%+v", got, want)
	}
}

// converse sends b in both directions, and waits until it is acknowledged.
func converse(t testing.TB, here, there *net.TCPConn, b []byte) {
	t.Helper()
	for _, way := range [2][2]*net.TCPConn{{here, there}, {there, here}} {
		go way[0].Write(b)
		if _, err := io.ReadFull(way[1], make([]byte, len(b))); err != nil {
			t.Fatal(err)
		}
	}
	await.AwaitCondition(t, "its acknowledgement", func() bool {
		return getsockopt(t, here).Unacked == 0 && getsockopt(t, there).Unacked == 0
	})
}

// TestConn_FindsLoopbackConnection checks, without root, that a connection over the loopback interface is found by
// a dump, by its ports, by its state and by its addresses. Its values equal those of getsockopt(TCP_INFO).
func TestConn_FindsLoopbackConnection(t *testing.T) {
	for _, x := range []struct {
		network string
		at      string
		family  uint8
	}{{"tcp4", "127.0.0.1:0", unix.AF_INET}, {"tcp6", "[::1]:0", unix.AF_INET6}} {
		t.Run(x.network, func(t *testing.T) {
			c := open(t)
			here, there := pair(t, x.network, netip.MustParseAddrPort(x.at))
			sent := make([]byte, 100_000)
			converse(t, here, there, sent)
			local, remote := ends(here)

			all, err := c.dumpTCP(x.family)
			if err != nil {
				t.Fatal(err)
			}
			s := find(all, local, remote)
			if s == nil || find(all, remote, local) == nil {
				t.Fatalf("%v, %v is not among %d sockets", local, remote, len(all))
			}
			same(t, s.Info, getsockopt(t, here))
			if s.State != Established || s.Info.State != Established || s.Received != 0 || s.Unsent != 0 || s.Inode == 0 ||
				!s.Memory.Known {
				t.Errorf("%+v", s)
			}
			if i := &s.Info; i.hasField(bytesRetrans) && (i.BytesSent < 100_000 || i.BytesReceived != 100_000 ||
				i.BytesAcked != 100_001 || i.Window == 0 || i.RTT == 0) {
				t.Errorf("%+v", i)
			}
			if s.CongestionControl.String() == "" {
				t.Error("without congestion control")
			}

			some, err := c.Dump(x.family, Filter{States: []TCPState{Established}, LocalPort: local.Port(),
				RemotePort: remote.Port()})
			if err != nil || len(some) != 1 || find(some, local, remote) == nil {
				t.Errorf("by its ports: %v, %v", some, err)
			}
			some, err = c.Dump(x.family, Filter{States: []TCPState{Listen}, LocalPort: remote.Port()})
			if err != nil || len(some) != 1 || some[0].State != Listen || some[0].Remote.Port() != 0 {
				t.Errorf("the listening one: %v, %v", some, err)
			}
			one, err := c.FindSocket(remote, local)
			if err != nil || one.Local != remote || one.Remote != local {
				t.Fatalf("the other end: %v, %v", one, err)
			}
			same(t, one.Info, getsockopt(t, there))
			if _, err := c.FindSocket(remote, netip.AddrPortFrom(local.Addr(), 1)); !errors.Is(err, unix.ENOENT) {
				t.Errorf("one that is not there: %v", err)
			}

			// The end that closes first waits, and has no values.
			here.Close()
			io.Copy(io.Discard, there)
			there.Close()
			await.AwaitCondition(t, "the wait", func() bool {
				s, err = c.FindSocket(local, remote)
				return err != nil || s.State == TimeWait
			})
			if err != nil || s.State != TimeWait || s.Info != (Info{}) {
				t.Errorf("after the end: %+v, %v", s, err)
			}
		})
	}
}

// TestConn_ReadsBBRModel checks that a connection with bbr has the values of its model.
func TestConn_ReadsBBRModel(t *testing.T) {
	c := open(t)
	here, there := pair(t, "tcp4", netip.MustParseAddrPort("127.0.0.1:0"))
	raw, err := here.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var refused error
	raw.Control(func(fd uintptr) {
		refused = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "bbr")
	})
	if refused != nil {
		t.Skipf("no bbr here: %v", refused)
	}
	converse(t, here, there, make([]byte, 1_000_000))
	s, err := c.FindSocket(ends(here))
	if err != nil || !s.CongestionControl.equals("bbr") || !s.BBR.Known || s.BBR.Bandwidth <= 0 || s.BBR.MinRTT <= 0 ||
		s.BBR.PacingGain < 128 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestConn_ReadsWithoutAllocation checks that dumps and searches do not allocate after the first one.
func TestConn_ReadsWithoutAllocation(t *testing.T) {
	c := open(t)
	here, _ := pair(t, "tcp4", netip.MustParseAddrPort("127.0.0.1:0"))
	local, remote := ends(here)
	var err error
	dump := testing.AllocsPerRun(20, func() {
		if _, e := c.Dump(unix.AF_INET, Filter{LocalPort: local.Port()}); e != nil {
			err = e
		}
	})
	one := testing.AllocsPerRun(20, func() {
		if _, e := c.FindSocket(local, remote); e != nil {
			err = e
		}
	})
	if err != nil || dump != 0 || one != 0 {
		t.Errorf("%v and %v allocations, %v", dump, one, err)
	}
}

func BenchmarkTCP(b *testing.B) {
	c := open(b)
	pair(b, "tcp4", netip.MustParseAddrPort("127.0.0.1:0"))
	for b.Loop() {
		if _, err := c.dumpTCP(unix.AF_INET); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSocket(b *testing.B) {
	c := open(b)
	here, _ := pair(b, "tcp4", netip.MustParseAddrPort("127.0.0.1:0"))
	local, remote := ends(here)
	for b.Loop() {
		if _, err := c.FindSocket(local, remote); err != nil {
			b.Fatal(err)
		}
	}
}
