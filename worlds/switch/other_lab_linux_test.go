//go:build lab

package softswitch_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"weir/internal/rtnl"
)

// TestWithoutChecksums checks a host that leaves checksums to hardware that does not exist, and hangs. Both --check
// and, within seconds, the log report the port and the command that helps, once. After it the host works.
func TestWithoutChecksums(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	w.in("left", func(*rtnl.Conn) error { return rtnl.SetOffload("eth0", "tx", true) })
	help := fmt.Sprintf("ip netns exec %s ethtool -K eth0 tx off", w.set.Name("left"))
	if code, said := w.ends(plain, 0, "--check"); code != 0 || !strings.Contains(said, "warning: port left: eth0, the "+
		"other end of left, leaves checksums to hardware that does not exist") || !strings.Contains(said, help) ||
		strings.Contains(said, "port right: eth0") {
		t.Errorf("--check: exit code %d, want %q\n%s", code, help, said)
	}
	if code, said := w.ends(plain, 65534, "--check"); code != 0 || !strings.Contains(said, "port left: it is unknown "+
		"whether the other end of left sends frames without checksums: it is in another network namespace, which only root") {
		t.Errorf("--check of another user: exit code %d\n%s", code, said)
	}
	p := w.open(plain)
	if !strings.Contains(p.Stderr(), help) {
		t.Errorf("the start says\n%s", p.Stderr())
	}
	to := netip.MustParseAddrPort("10.9.0.2:7")
	w.echo("right", to)
	const line = "frames from left had no checksum and were dropped; run: "
	first := w.tell("left", to, 100)
	p.awaits(line + help)
	second := w.tell("left", to, 100)
	w.in("left", func(*rtnl.Conn) error { return rtnl.SetOffload("eth0", "tx", false) })
	if _, err := w.ask("left", to, 100, 3); err != nil {
		t.Errorf("with checksums: %v", err)
	}
	if first() || second() {
		t.Error("a datagram without its checksum came through")
	}
	if n := strings.Count(p.Stderr(), line); n != 1 {
		t.Errorf("it was said %d times\n%s", n, p.Stderr())
	}
	if s := p.stop(); !strings.Contains(s, "without checksum") {
		t.Error(s)
	}
	if code, said := w.ends(plain, 0, "--check"); code != 0 || strings.Contains(said, "checksums") {
		t.Errorf("--check, with checksums: exit code %d\n%s", code, said)
	}
}
