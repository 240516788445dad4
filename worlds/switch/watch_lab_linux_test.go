//go:build lab

package softswitch_test

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/ring"
	"weir/internal/rtnl"
	"weir/internal/testkit/await"
)

// tell sends a datagram without waiting for its echo. The returned function reports whether the echo has arrived.
func (w *wire) tell(host string, to netip.AddrPort, size int) (back func() bool) {
	w.t.Helper()
	var c *net.UDPConn
	if err := w.do(host, func() (err error) {
		c, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	if _, err := c.Write(make([]byte, size)); err != nil {
		w.t.Fatal(err)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		w.t.Fatal(err)
	}
	return func() (came bool) {
		raw.Control(func(fd uintptr) {
			n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_DONTWAIT|unix.MSG_PEEK)
			came = err == nil && n > 0
		})
		return came
	}
}

// separate fails the test if a frame that one host sends reaches another. When it looks, the frame has reached the
// switch's namespace, where a bridge of the kernel would have forwarded it at once.
func (w *wire) separate(from, to string) {
	w.t.Helper()
	in, out := w.socket(from, 1500), w.socket(to, 1500)
	var tap *ring.Socket
	if err := w.do(middle, func() (err error) {
		tap, err = ring.Open(ring.Config{Interface: from, MaxFrame: 1514, Rx: 4096, Tx: 64, Promiscuous: true})
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	defer tap.Close()
	frame := append(append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 2, 0, 0, 0, 7, 7, 0x88, 0xb5), make([]byte, 86)...)
	has := func(s *ring.Socket) bool {
		for {
			if _, ok := s.NextArrival(); !ok {
				return false
			}
			if bytes.Equal(s.Take(nil), frame) {
				return true
			}
		}
	}
	in.Put(frame)
	if err := in.Flush(); err != nil {
		w.t.Fatal(err)
	}
	await.AwaitCondition(w.t, "the frame at the switch's interface", func() bool { return has(tap) })
	if has(out) {
		w.t.Errorf("a frame of %s has come to %s", from, to)
	}
}

// setUp sets an interface of the switch's namespace up or down.
func setUp(c *rtnl.Conn, name string, up bool) error {
	i, err := c.InterfaceByName(name)
	if err != nil {
		return err
	}
	if up {
		return c.SetUp(i.Index)
	}
	return c.SetDown(i.Index)
}

// offloads returns the offloads of an interface that are on in the switch's namespace.
func (w *wire) offloads(name string) (on []string) {
	w.in(middle, func(*rtnl.Conn) (err error) { on, err = rtnl.ListOffloads(name); return err })
	return on
}

func (p *process) over() bool { return !p.IsRunning() }

const plain = `
ports:
  left: {interface: left}
  right: {interface: right}
switch: [forward]
metrics: none
`

func mac(host int) []byte { return []byte{2, 0, 0, 0, 0, byte(host + 1)} }

// silence is the time after which a datagram counts as lost, and is repeated.
const silence = 3 * time.Second

// ask sends datagrams to an echo until one returns, and returns the number of tries. It waits for the last one
// without limit.
func (w *wire) ask(host string, to netip.AddrPort, size, most int) (tries int, err error) {
	var c net.Conn
	if err := w.do(host, func() (err error) { c, err = net.Dial("udp", to.String()); return err }); err != nil {
		return 0, err
	}
	defer c.Close()
	sent, got := bytes.Repeat([]byte("weir"), size/4), make([]byte, 10000)
	for tries = 1; tries <= most; tries++ {
		if _, err = c.Write(sent); err != nil {
			return tries, err
		}
		wait := silence
		if tries == most {
			wait = await.HangLimit
		}
		c.SetReadDeadline(time.Now().Add(wait))
		n := 0
		if n, err = c.Read(got); err == nil {
			if !bytes.Equal(got[:n], sent) {
				return tries, fmt.Errorf("%d bytes came back as %d others", size, n)
			}
			return tries, nil
		}
	}
	return tries, err
}

// pass sends a frame in at one socket and returns the frame that arrives at another one with the same addresses.
func pass(t testing.TB, from, to *ring.Socket, frame []byte) []byte {
	t.Helper()
	if !from.Put(frame) {
		t.Fatal("no room in the ring")
	}
	if err := from.Flush(); err != nil {
		t.Fatal(err)
	}
	var got []byte
	await.AwaitCondition(t, "the frame", func() bool {
		for {
			if _, ok := to.NextArrival(); !ok {
				return false
			}
			if got = to.Take(nil); len(got) >= 12 && bytes.Equal(got[:12], frame[:12]) {
				return true
			}
		}
	})
	return got
}

// setMTU sets an interface's MTU (SIOCSIFMTU).
func setMTU(name string, mtu uint32) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	r.SetUint32(mtu)
	return unix.IoctlIfreq(fd, unix.SIOCSIFMTU, r)
}
