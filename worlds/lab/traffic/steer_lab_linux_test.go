//go:build lab

package traffic

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOwnBuffers checks that flows of one host have their configured buffers, for any sysctls: SO_SNDBUF at the sender,
// before it connects, and SO_RCVBUF already at the listening socket, which determines a connection's first window.
// Ports of flows with different buffers alternate.
func TestOwnBuffers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: buffers above the sysctls' bounds are for CAP_NET_ADMIN")
	}
	for _, version := range []uint8{4, 6} {
		t.Run(fmt.Sprint("IPv", version), func(t *testing.T) {
			var flows []Flow
			for _, half := range []int{8192, 0, 16384, 8192, 16384, 0} {
				f := stream(version, 50_000)
				f.DstPort, f.TCP.ReceiveBuffer, f.TCP.SendBuffer = 19990, half, half
				flows = append(flows, f)
			}
			config := loopback(t, flows...)
			r, err := newRun(&config)
			defer r.close()
			if err != nil {
				t.Fatal(err)
			}
			c := r.loops[0].(*connections)
			if len(c.listeners) != 3 {
				t.Fatalf("%d sockets listen", len(c.listeners))
			}
			for i := range flows {
				if err := c.openFlow(i); err != nil {
					t.Fatal(err)
				}
				err := unix.Connect(c.conn[i].senderFD, toSockaddr(c.remoteAddr(&flows[i])))
				if err != nil && err != unix.EINPROGRESS {
					t.Fatal(err)
				}
				for l := range c.listeners { // what another socket has accepted is a stray
					if err := c.acceptAll(l); err != nil {
						t.Fatal(err)
					}
				}
				x, half := &c.conn[i], flows[i].TCP.ReceiveBuffer
				if x.receiverFD < 0 || c.strays > 0 {
					t.Fatalf("flow %d: %d strays", i, c.strays)
				}
				send, _ := unix.GetsockoptInt(x.senderFD, unix.SOL_SOCKET, unix.SO_SNDBUF)
				receive, _ := unix.GetsockoptInt(x.receiverFD, unix.SOL_SOCKET, unix.SO_RCVBUF)
				if half > 0 && (send != 2*half || receive != 2*half) || half == 0 && (send <= 32768 || receive <= 32768) {
					t.Errorf("flow %d: buffers of %d and %d bytes, want twice %d", i, send, receive, half)
				}
				var info *unix.TCPInfo
				if info, err = unix.GetsockoptTCPInfo(x.senderFD, unix.IPPROTO_TCP, unix.TCP_INFO); err != nil {
					t.Fatal(err)
				}
				// half of the memory is window
				if half > 0 && int(info.Snd_wnd) > half {
					t.Errorf("flow %d: the first window is %d bytes of %d", i, info.Snd_wnd, half)
				}
			}
		})
	}
}
