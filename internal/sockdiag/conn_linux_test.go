package sockdiag

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestConn_RetriesDisturbedDumps checks that a disturbed dump is restarted, and fails after ten attempts.
func TestConn_RetriesDisturbedDumps(t *testing.T) {
	for _, x := range []struct{ disturbed, requests int }{{0, 1}, {3, 4}, {9, 10}, {10, 10}} {
		t.Run(fmt.Sprint("disturbed ", x.disturbed), func(t *testing.T) {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			c := &Conn{fd: pair[0], buf: make([]byte, bufferBytes)}
			asked := make(chan int)
			go func() { // the kernel
				n, b := 0, make([]byte, 1000)
				for ; ; n++ {
					if size, err := unix.Read(pair[1], b); err != nil || size < headerBytes {
						break
					}
					seq, flags := ne.Uint32(b[8:]), uint16(0)
					if n < x.disturbed {
						flags = flagInterrupt
					}
					unix.Write(pair[1], answer(seq, 0, name("cubic")))
					unix.Write(pair[1], answer(seq, flags, name("cubic")))
					unix.Write(pair[1], acknowledge(messageDone, seq, 0))
				}
				asked <- n
			}()
			sockets, err := c.dumpTCP(unix.AF_INET)
			c.Close()
			if n := <-asked; n != x.requests || (err == nil) != (x.disturbed < maxAttempts) || err == nil && len(sockets) != 2 ||
				err != nil && !errors.Is(err, errInterrupted) {
				t.Errorf("disturbed %d times: asked %d times, %d sockets, %v", x.disturbed, n, len(sockets), err)
			}
			unix.Close(pair[1])
		})
	}
}

// TestConn_RejectsInvalidRequests checks that an invalid request is an error that names the reason.
func TestConn_RejectsInvalidRequests(t *testing.T) {
	c := &Conn{fd: -1} // nothing is asked
	v4, v6 := netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("[::1]:1")
	_, family := c.dumpTCP(99)
	_, state := c.Dump(unix.AF_INET, Filter{States: []TCPState{77}})
	_, mixed := c.FindSocket(v4, v6)
	_, none := c.FindSocket(netip.AddrPort{}, netip.AddrPort{})
	for err, want := range map[error]string{family: "family 99", state: "state 77", mixed: "one version",
		none: "one version"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
