//go:build system

package bench

import (
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"

	"weir/internal/testutil/await"
)

// Over the loopback interface a flow carries something, and echoes come back.
func TestFlowOverLoopback(t *testing.T) {
	here := func(what func() error) error { return what() }
	pid := os.Getpid() // the address is this process's own, so that no other process takes the port
	addr := netip.AddrFrom4([4]byte{127, byte(1 + pid>>16&0x7f), byte(pid >> 8), byte(1 + pid&0x7f)})
	h := &hosts{do: [2]func(func() error) error{here, here}, addr: [2]netip.Addr{addr, addr}, nic: "lo",
		port: freePort(t, addr)}
	before, err := h.received()
	if err != nil {
		t.Fatal(err)
	}
	f, err := h.send()
	if err != nil {
		t.Skipf("no flow over the loopback interface: %v", err)
	}
	await.Until(t, "a megabyte", func() bool {
		n, _ := f.bytes()
		return n > 1<<20
	})
	f.end()
	if after, err := h.received(); err != nil || after <= before {
		t.Errorf("packets: %d and then %d, %v", before, after, err)
	}
	if os.Geteuid() != 0 {
		return // raw sockets are root's
	}
	took, _, err := h.echoes(10, 0)
	if err != nil || len(took) != 10 {
		t.Fatalf("%d echoes: %v", len(took), err)
	}
	for _, d := range took {
		if d <= 0 {
			t.Errorf("an echo took %v", d)
		}
	}
}

// freePort returns a port of an address at which no process listens.
func freePort(t *testing.T, addr netip.Addr) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", netip.AddrPortFrom(addr, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

// The process's own time is part of what the cores do, within the units in which the
// kernel counts that.
func TestLook(t *testing.T) {
	a, err := look(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	var b machine
	await.Until(t, "processor time", func() bool {
		x := uint64(1)
		for range 1 << 20 {
			x *= 3
		}
		runtime.KeepAlive(x)
		b, err = look(os.Getpid())
		return err != nil || b.own > a.own
	})
	if err != nil {
		t.Fatal(err)
	}
	if b.busy < a.busy || b.own <= a.own || b.plane < a.plane || b.stolen < a.stolen {
		t.Errorf("%+v, then %+v", a, b)
	}
}
