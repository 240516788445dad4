package rtnl

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"weir/core/unit"
)

// A request by hand, from rtnetlink(7) and linux/if_link.h: header, ifinfomsg, attributes,
// each padded to 4 bytes.
func TestMessage(t *testing.T) {
	if ne.Uint16([]byte{1, 0}) != 1 {
		t.Skip("written for little-endian machines") //weir:impure the expected bytes are little-endian
	}
	m := newMessage(unix.RTM_NEWLINK, unix.NLM_F_CREATE, ifinfo(3, unix.IFF_UP, unix.IFF_UP))
	m.text(unix.IFLA_IFNAME, "gate0")
	m.nest(unix.IFLA_LINKINFO, func() { m.number(unix.IFLA_MTU, 1500) })
	want := "00000000" + "1000" + "0504" + "00000000" + "00000000" + // length and sequence come later
		"00000000" + "03000000" + "01000000" + "01000000" +
		"0a00" + "0300" + hex.EncodeToString([]byte("gate0")) + "000000" +
		"0c00" + "1280" + "0800" + "0400" + "dc050000"
	if got := hex.EncodeToString(m.b); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A route with metrics by hand, from linux/rtnetlink.h: rtmsg, prefix, interface, metrics.
func TestRouteMessage(t *testing.T) {
	if ne.Uint16([]byte{1, 0}) != 1 {
		t.Skip("written for little-endian machines") //weir:impure the expected bytes are little-endian
	}
	p := netip.MustParsePrefix("10.1.2.3/16")
	head := "00000000" + "1800" + "0505" + "00000000" + "00000000" + "02100000" + "fe04fd01" + "00000000" +
		"0800" + "0100" + "0a010000" + "0800" + "0400" + "07000000"
	m := routeMessage(unix.NLM_F_CREATE|unix.NLM_F_REPLACE, 7, p, Metrics{})
	if got := hex.EncodeToString(m.b); got != head {
		t.Errorf("got\n%s\nwant\n%s", got, head)
	}
	m = routeMessage(unix.NLM_F_CREATE|unix.NLM_F_REPLACE, 7, p, Metrics{InitialWindow: 32, InitialReceiveWindow: 5,
		RTOMin: 20 * unit.Millisecond, QuickACK: true})
	want := head + "2c000880" + "0800010000200000" + "08000d0014000000" + "08000b0020000000" + "08000e0005000000" +
		"08000f0001000000"
	if got := hex.EncodeToString(m.b); got != want {
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

// acknowledge is the kernel's acknowledgement of a request, with its words.
func acknowledge(seq uint32, code unix.Errno, words string) []byte {
	b := make([]byte, headerBytes)
	ne.PutUint16(b[4:], unix.NLMSG_ERROR)
	ne.PutUint32(b[8:], seq)
	b = ne.AppendUint32(b, uint32(-int32(code)))
	echo := make([]byte, headerBytes)
	ne.PutUint32(echo, headerBytes)
	b = append(b, echo...)
	if words != "" {
		ne.PutUint16(b[6:], 0x200)
		m := message{b}
		m.text(1, words)
		b = m.b
	}
	ne.PutUint32(b, uint32(len(b)))
	return b
}

func TestAnswer(t *testing.T) {
	data := newMessage(unix.RTM_NEWLINK, 0, []byte("body"))
	ne.PutUint32(data.b, uint32(len(data.b)))
	ne.PutUint32(data.b[8:], 7)
	stale := acknowledge(6, unix.EBUSY, "")
	body, done, err := answer(append(append(stale, data.b...), acknowledge(7, 0, "")...), 7)
	if string(body) != "body" || !done || err != nil {
		t.Errorf("%q, %v, %v", body, done, err)
	}
	if body, done, err = answer(data.b, 7); string(body) != "body" || done || err != nil {
		t.Errorf("without acknowledgement: %q, %v, %v", body, done, err)
	}
	_, done, err = answer(acknowledge(7, unix.EOPNOTSUPP, "Unknown device type"), 7)
	if !done || !errors.Is(err, unix.EOPNOTSUPP) || !strings.Contains(err.Error(), "Unknown device type") {
		t.Errorf("%v, %v", done, err)
	}
	if _, _, err = answer(acknowledge(7, unix.EEXIST, ""), 7); err != unix.EEXIST {
		t.Error(err)
	}
	if _, _, err = answer(acknowledge(7, 0, "")[:18], 7); err == nil {
		t.Error("a message that is cut is taken")
	}
}

// Nothing that comes in makes the parsers panic.
func FuzzAnswer(f *testing.F) {
	f.Add(acknowledge(7, unix.EINVAL, "words"))
	f.Add(acknowledge(7, 0, ""))
	f.Add(bytes.Repeat([]byte{0xff}, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		body, _, _ := answer(b, 7)
		parseInterface(body)
		parseInterface(b)
		changes(b, func(int, bool) {})
	})
}

// about is a message of the kernel about an interface.
func about(kind uint16, family byte, index int, flags uint32) []byte {
	m := newMessage(kind, 0, ifinfo(index, flags, 0))
	m.b[headerBytes] = family
	m.text(unix.IFLA_IFNAME, "eth0")
	m.pad()
	ne.PutUint32(m.b, uint32(len(m.b)))
	return m.b
}

// An interface carries frames when it is up and what is below it, too (netdevice(7): IFF_UP, IFF_LOWER_UP). What has
// gone carries none, and what a bridge says of its ports is not about the ports' own state.
func TestChanges(t *testing.T) {
	b := bytes.Join([][]byte{
		about(unix.RTM_NEWLINK, 0, 7, unix.IFF_UP|unix.IFF_RUNNING|unix.IFF_LOWER_UP),
		about(unix.RTM_NEWLINK, 0, 7, unix.IFF_UP),
		about(unix.RTM_NEWLINK, 0, 8, unix.IFF_LOWER_UP),
		about(unix.RTM_NEWADDR, 0, 9, unix.IFF_UP|unix.IFF_LOWER_UP),
		about(unix.RTM_NEWLINK, unix.AF_BRIDGE, 9, unix.IFF_UP|unix.IFF_LOWER_UP),
		about(unix.RTM_DELLINK, 0, 9, unix.IFF_UP|unix.IFF_LOWER_UP),
	}, nil)
	var got []string
	if err := changes(b, func(index int, carrier bool) { got = append(got, fmt.Sprint(index, carrier)) }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"7 true", "7 false", "8 false", "9 false"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	ne.PutUint32(b, uint32(len(b)+1))
	if err := changes(b, func(int, bool) {}); err == nil {
		t.Error("a message that is longer than the datagram is taken")
	}
}

// A token bucket filter by hand, from linux/rtnetlink.h and linux/pkt_sched.h: tcmsg, kind, struct tc_tbf_qopt, a rate
// above 32 bits, the burst in bytes.
func TestLimitMessage(t *testing.T) {
	if ne.Uint16([]byte{1, 0}) != 1 {
		t.Skip("written for little-endian machines") //weir:impure the expected bytes are little-endian
	}
	head := "00000000" + "2400" + "0505" + "00000000" + "00000000" + "00000000" + "07000000" + "00000000" + "ffffffff" +
		"00000000" + "0800" + "0100" + "74626600"
	m := limitMessage(7, RateLimit{BytesPerSecond: 2_500_000, Overhead: 24, MinFrame: 84, Burst: 3027})
	want := head + "34000280" + "28000100" + "00011800" + "00005400" + "a0252600" + strings.Repeat("00", 12) +
		"00000040" + "00000000" + "00000000" + "08000600" + "d30b0000"
	if got := hex.EncodeToString(m.b); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	m = limitMessage(7, RateLimit{BytesPerSecond: 12_500_000_000, ATM: true, Burst: 3027})
	want = head + "40000280" + "28000100" + "00020000" + "00000000" + "ffffffff" + strings.Repeat("00", 12) + "00000040" +
		"00000000" + "00000000" + "0c000400" + "00dd0ee902000000" + "08000600" + "d30b0000"
	if got := hex.EncodeToString(m.b); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var c Conn
	for _, x := range []RateLimit{{Burst: 1}, {BytesPerSecond: 1}} {
		if err := c.LimitRate(7, x); err == nil {
			t.Errorf("%+v is taken", x)
		}
	}
}
