package rtnl

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"weir/core/unit"
)

// serialized returns a request in hex, without its length and the sequence number that the library draws.
func serialized(r *nl.NetlinkRequest) string {
	b := r.Serialize()
	clear(b[:4])
	clear(b[8:12])
	return hex.EncodeToString(b)
}

// TestRouteRequest checks a route with metrics against bytes written by hand, from linux/rtnetlink.h: rtmsg,
// prefix, interface, metrics.
func TestRouteRequest(t *testing.T) {
	if ne.Uint16([]byte{1, 0}) != 1 {
		t.Skip("written for little-endian machines") //weir:impure the expected bytes are little-endian
	}
	p := netip.MustParsePrefix("10.1.2.3/16")
	head := "00000000" + "1800" + "0105" + "00000000" + "00000000" + "02100000" + "fe04fd01" + "00000000" +
		"0800" + "0100" + "0a010000" + "0800" + "0400" + "07000000"
	m := routeRequest(unix.NLM_F_CREATE|unix.NLM_F_REPLACE, 7, p, Metrics{})
	if got := serialized(m); got != head {
		t.Errorf("got\n%s\nwant\n%s", got, head)
	}
	m = routeRequest(unix.NLM_F_CREATE|unix.NLM_F_REPLACE, 7, p, Metrics{InitialWindow: 32, InitialReceiveWindow: 5,
		RTOMin: 20 * unit.Millisecond, QuickACK: true})
	want := head + "2c000880" + "0800010000200000" + "08000d0014000000" + "08000b0020000000" + "08000e0005000000" +
		"08000f0001000000"
	if got := serialized(m); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var c Conn
	for _, x := range []Metrics{{InitialWindow: -1}, {InitialReceiveWindow: 1 << 30}, {RTOMin: unit.Microsecond},
		{RTOMin: -unit.Millisecond}} {
		if err := c.ReplaceRoute(7, p, x); err == nil {
			t.Errorf("%+v is taken", x)
		}
	}
	for _, n := range []int{0, -1, 65536} {
		if err := c.LimitSegments(7, n); err == nil {
			t.Errorf("%d segments are taken", n)
		}
	}
}

// FuzzParseInterface_NeverPanics checks that no message makes the parsers panic.
func FuzzParseInterface_NeverPanics(f *testing.F) {
	f.Add(about(unix.RTM_NEWLINK, 0, 7, unix.IFF_UP))
	f.Add(bytes.Repeat([]byte{0xff}, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		parseInterface(b)
		parseInterface(b[min(len(b), unix.NLMSG_HDRLEN):])
		parseLinkChanges(b, func(int, bool) {})
	})
}

// about returns a message of the kernel about an interface.
func about(kind int, family byte, index int, flags uint32) []byte {
	fixed := newIfInfo(index, flags, 0)
	fixed.Family = family
	r := newRequest(kind, 0, fixed)
	addAttribute(r, unix.IFLA_IFNAME, nl.ZeroTerminated("eth0"))
	return r.Serialize()
}

// TestParseLinkChanges_ReportsCarrier checks that an interface has a carrier when it and the layer below it are up
// (netdevice(7): IFF_UP, IFF_LOWER_UP). A removed interface has none, and a bridge's messages about its ports do
// not describe the ports' own state.
func TestParseLinkChanges_ReportsCarrier(t *testing.T) {
	b := bytes.Join([][]byte{
		about(unix.RTM_NEWLINK, 0, 7, unix.IFF_UP|unix.IFF_RUNNING|unix.IFF_LOWER_UP),
		about(unix.RTM_NEWLINK, 0, 7, unix.IFF_UP),
		about(unix.RTM_NEWLINK, 0, 8, unix.IFF_LOWER_UP),
		about(unix.RTM_NEWADDR, 0, 9, unix.IFF_UP|unix.IFF_LOWER_UP),
		about(unix.RTM_NEWLINK, unix.AF_BRIDGE, 9, unix.IFF_UP|unix.IFF_LOWER_UP),
		about(unix.RTM_DELLINK, 0, 9, unix.IFF_UP|unix.IFF_LOWER_UP),
	}, nil)
	var got []string
	add := func(index int, carrier bool) { got = append(got, fmt.Sprint(index, carrier)) }
	if err := parseLinkChanges(b, add); err != nil {
		t.Fatal(err)
	}
	if want := []string{"7 true", "7 false", "8 false", "9 false"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	ne.PutUint32(b, uint32(len(b)+1))
	if err := parseLinkChanges(b, func(int, bool) {}); err == nil {
		t.Error("a message that is longer than the datagram is taken")
	}
}

// TestLimitRequest checks a token bucket filter against bytes written by hand, from linux/rtnetlink.h and
// linux/pkt_sched.h: tcmsg, kind, struct tc_tbf_qopt, a rate above 32 bits, the burst in bytes.
func TestLimitRequest(t *testing.T) {
	if ne.Uint16([]byte{1, 0}) != 1 {
		t.Skip("written for little-endian machines") //weir:impure the expected bytes are little-endian
	}
	head := "00000000" + "2400" + "0105" + "00000000" + "00000000" + "00000000" + "07000000" + "00000000" + "ffffffff" +
		"00000000" + "0800" + "0100" + "74626600"
	m := limitRequest(7, RateLimit{BytesPerSecond: 2_500_000, Overhead: 24, MinFrame: 84, Burst: 3027})
	want := head + "34000280" + "28000100" + "00011800" + "00005400" + "a0252600" + strings.Repeat("00", 12) +
		"00000040" + "00000000" + "00000000" + "08000600" + "d30b0000"
	if got := serialized(m); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	m = limitRequest(7, RateLimit{BytesPerSecond: 12_500_000_000, ATM: true, Burst: 3027})
	want = head + "40000280" + "28000100" + "00020000" + "00000000" + "ffffffff" + strings.Repeat("00", 12) + "00000040" +
		"00000000" + "00000000" + "0c000400" + "00dd0ee902000000" + "08000600" + "d30b0000"
	if got := serialized(m); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var c Conn
	for _, x := range []RateLimit{{Burst: 1}, {BytesPerSecond: 1}} {
		if err := c.LimitRate(7, x); err == nil {
			t.Errorf("%+v is taken", x)
		}
	}
}
