//go:build system

package bench

import (
	"net/netip"
	"os"
	"testing"
)

// TestEchoesOverLoopback checks that this kernel answers echo requests, and that each takes some time. Raw sockets need
// root.
func TestEchoesOverLoopback(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: it opens raw sockets")
	}
	here := func(what func() error) error { return what() }
	addr := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	h := &hosts{do: [2]func(func() error) error{here, here}, addr: [2]netip.Addr{addr, addr}, nic: "lo"}
	took, _, err := h.measureEchoes(10, 0)
	if err != nil || len(took) != 10 {
		t.Fatalf("%d echoes: %v", len(took), err)
	}
	for _, d := range took {
		if d <= 0 {
			t.Errorf("an echo took %v", d)
		}
	}
}
