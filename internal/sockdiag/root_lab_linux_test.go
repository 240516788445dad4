//go:build lab

package sockdiag_test

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/sockdiag"
	"weir/internal/testkit/await"
	"weir/internal/testkit/labtest"
)

func TestMain(m *testing.M) { labtest.RunMain(m) }

// get returns getsockopt(TCP_INFO) of a connection.
func get(t *testing.T, c *net.TCPConn) (i sockdiag.Info) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err == nil {
		var refused error
		err = raw.Control(func(fd uintptr) { refused = i.ReadSocket(int(fd)) })
		err = errors.Join(err, refused)
	}
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestConn_SeesItsOwnHostOnly checks sock_diag in the namespaces of a lab, over a network of 20 ms. Each host finds
// its own end and no other, from any thread, with the values of getsockopt.
func TestConn_SeesItsOwnHostOnly(t *testing.T) {
	d := labtest.Dumbbell{Rate: 100 * unit.Mbps, Delay: 5 * unit.Millisecond, Packets: 200}
	l, _ := labtest.OpenDumbbell(t, d)
	book := d.Config().Wiring.Hosts
	for _, x := range []struct {
		family uint8
		to     netip.Addr
	}{{unix.AF_INET, book.V4(packet.Addr(labtest.Server + 1))},
		{unix.AF_INET6, book.V6(packet.Addr(labtest.Server + 1))}} {
		var listener *net.TCPListener
		var here *net.TCPConn
		var diag [2]*sockdiag.Conn
		to := net.TCPAddrFromAddrPort(netip.AddrPortFrom(x.to, 5001))
		err := errors.Join(
			l.Do(labtest.Server, func() (err error) {
				if diag[1], err = sockdiag.Open(); err == nil {
					listener, err = net.ListenTCP("tcp", to)
				}
				return err
			}),
			l.Do(labtest.Client, func() (err error) {
				if diag[0], err = sockdiag.Open(); err == nil {
					here, err = net.DialTCP("tcp", nil, to)
				}
				return err
			}))
		if err != nil {
			t.Fatal(err)
		}
		defer diag[0].Close()
		defer diag[1].Close()
		defer listener.Close()
		defer here.Close()
		there, err := listener.AcceptTCP()
		if err != nil {
			t.Fatal(err)
		}
		defer there.Close()
		const size = 500_000
		go here.Write(make([]byte, size))
		if _, err := io.ReadFull(there, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		await.AwaitCondition(t, "its acknowledgement", func() bool { return get(t, here).Unacked == 0 })

		for i, conn := range []*net.TCPConn{here, there} {
			local, remote := conn.LocalAddr().(*net.TCPAddr).AddrPort(), conn.RemoteAddr().(*net.TCPAddr).AddrPort()
			all, err := diag[i].Dump(x.family, sockdiag.Filter{States: []sockdiag.TCPState{sockdiag.Established}})
			if err != nil || len(all) != 1 || all[0].Local != local || all[0].Remote != remote {
				t.Fatalf("end %d: %+v, %v", i, all, err)
			}
			want := get(t, conn)
			got := all[0].Info
			for _, i := range []*sockdiag.Info{&got, &want} {
				i.LastDataSent, i.LastDataReceived, i.LastAckReceived, i.ATO = 0, 0, 0, 0
			}
			if got != want {
				t.Errorf("sock_diag\n%+v\ngetsockopt\n%+v", got, want)
			}
			one, err := diag[i].FindSocket(local, remote)
			if err != nil || one.Info.BytesSent != want.BytesSent || one.Inode != all[0].Inode {
				t.Errorf("%+v, %v", one, err)
			}
			if _, err := diag[1-i].FindSocket(local, remote); !errors.Is(err, unix.ENOENT) {
				t.Errorf("in the other host: %v", err)
			}
			if i == 0 && (want.BytesSent-want.BytesRetrans != size || want.MinRTT < 20*unit.Millisecond ||
				want.MinRTT > want.RTT || want.Window < 10 ||
				want.SendMSS < 1400 || want.InFlight() != 0 || want.State != sockdiag.Established ||
				want.DeliveryRate > 110*unit.Mbps || want.DeliveryRate <= 0) {
				t.Errorf("%+v", want)
			}
		}
	}
}
