package softswitch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit/frametest"
	"weir/internal/testkit/wiretest"
)

// crafted is a segment between hosts at the left (1) and the right (2) of a switch.
type crafted struct {
	version  uint8
	back     bool // from right to left
	port     uint16
	seq, ack uint32
	flags    uint8
	ae       bool
	tos      uint8
	stamps   *[2]uint32
	sack     [][2]uint32
	payload  int
	tags     []uint16
	pppoe    bool
	between  []byte // extension headers of IPv6, the first one a hop-by-hop header, whose first byte is set
	window   uint16
}

func (x *crafted) bytes(t testing.TB) []byte {
	t.Helper()
	src, dst := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	if x.version == 6 {
		src, dst = netip.MustParseAddr("fd::1"), netip.MustParseAddr("fd::2")
	}
	near, far, from, to := [6]byte{2, 0, 0, 0, 0, 1}, [6]byte{2, 0, 0, 0, 0, 2}, x.port, uint16(80)
	if x.back {
		src, dst, near, far, from, to = dst, src, far, near, to, from
	}
	var options []byte
	if x.stamps != nil {
		options = be.AppendUint32(be.AppendUint32([]byte{1, 1, 8, 10}, x.stamps[0]), x.stamps[1])
	}
	if len(x.sack) > 0 {
		options = append(options, 1, 1, 5, byte(2+8*len(x.sack)))
		for _, b := range x.sack {
			options = be.AppendUint32(be.AppendUint32(options, b[0]), b[1])
		}
	}
	segment, err := packet.AppendTCP(nil, packet.SegmentHeader{SrcPort: from, DstPort: to, Seq: x.seq, Ack: x.ack,
		Flags: x.flags, Window: x.window, Options: options})
	if err != nil {
		t.Fatal(err)
	}
	if x.ae {
		segment[12] |= 1
	}
	segment = append(segment, make([]byte, x.payload)...)
	packet.SealTCP(segment, src, dst)
	f := append(append([]byte(nil), far[:]...), near[:]...)
	for _, tag := range x.tags {
		f = be.AppendUint16(be.AppendUint16(f, etherVLAN), tag)
	}
	kind, proto := packet.EtherIPv4, uint16(pppIPv4)
	if x.version == 6 {
		kind, proto = packet.EtherIPv6, pppIPv6
	}
	n := len(segment) + len(x.between)
	if x.pppoe {
		size := n + packet.IPv4Header + 2
		if x.version == 6 {
			size = n + packet.IPv6Header + 2
		}
		f = be.AppendUint16(f, etherPPPoE)
		f = be.AppendUint16(append(f, 0x11, 0, 0, 7), uint16(size))
		f = be.AppendUint16(f, proto)
	} else {
		f = be.AppendUint16(f, kind)
	}
	if x.version == 6 {
		next := packet.ProtoTCP
		if x.between != nil {
			next = hopByHop
		}
		f, err = packet.AppendIPv6(f, src, dst, next, x.tos, 61, n)
	} else {
		f, err = packet.AppendIPv4(f, src, dst, packet.ProtoTCP, x.tos, 61, n)
	}
	if err != nil {
		t.Fatal(err)
	}
	return append(append(f, x.between...), segment...)
}

// without returns a frame without its tags and session, as an independent decoder reads it.
func without(f []byte) []byte {
	f = slices.Clone(f)
	for be.Uint16(f[12:]) == etherVLAN {
		f = slices.Delete(f, 12, 16)
	}
	if be.Uint16(f[12:]) == etherPPPoE {
		kind := packet.EtherIPv4
		if be.Uint16(f[20:]) == pppIPv6 {
			kind = packet.EtherIPv6
		}
		f = slices.Delete(f, 14, 22)
		be.PutUint16(f[12:], kind)
	}
	return f
}

// front returns the bytes before IP in a frame, without the length in PPPoE.
func front(f []byte) []byte {
	at := typeAt
	for be.Uint16(f[at:]) == etherVLAN {
		at += tagBytes
	}
	if be.Uint16(f[at:]) != etherPPPoE {
		return slices.Clone(f[12 : at+2])
	}
	b := slices.Clone(f[12 : at+10])
	copy(b[at+6-12:], []byte{0, 0})
	return b
}

const narrow = `
ports: {left: {interface: a, rate: 40Mbps}, right: {interface: b, rate: 10Mbps, buffer: 40 packets}}
queues: 3
scheduler: ncf
switch: [forward, {ncf: {OPTIONS}}]
users: {new: 0s}
metrics: none
`

func narrowed(t testing.TB, options string) *bench {
	t.Helper()
	c, err := Decode(papers(), "switch.yaml", []byte(strings.Replace(narrow, "OPTIONS", options, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return newBench(t, c)
}

// shapes are the encapsulations of a segment in a frame.
var shapes = map[string]func(x *crafted){
	"plain":             func(*crafted) {},
	"tagged":            func(x *crafted) { x.tags = []uint16{42} },
	"QinQ":              func(x *crafted) { x.tags = []uint16{7, 42} },
	"PPPoE":             func(x *crafted) { x.pppoe = true },
	"IPv6":              func(x *crafted) { x.version = 6 },
	"IPv6 in PPPoE":     func(x *crafted) { x.version, x.pppoe, x.tags = 6, true, []uint16{3} },
	"extension headers": func(x *crafted) { x.version, x.between = 6, []byte{6, 0, 1, 4, 0, 0, 0, 0} },
}

// TestNACKsOfBridge checks that senders of frames without room get a NACK each, with the flow's addresses swapped and
// no other change before IP, by the port where the flow enters. All other frames pass unchanged. One flow and 100.
func TestNACKsOfBridge(t *testing.T) {
	for name, shape := range shapes {
		for _, flows := range []int{1, 100} {
			for _, coalesce := range []string{"0s", "1ms"} {
				t.Run(fmt.Sprint(name, flows, coalesce), func(t *testing.T) { nacked(t, shape, flows, coalesce) })
			}
		}
	}
}

func nacked(t *testing.T, shape func(*crafted), flows int, coalesce string) {
	b := narrowed(t, "top: 0, nack_budget: 0, coalesce: "+coalesce)
	const sent = 200
	all := map[string]bool{}
	for i := range sent {
		x := crafted{version: 4, port: uint16(1000 + i%flows), seq: uint32(i * 1000), ack: 77, flags: packet.ACK,
			payload: 1000, stamps: &[2]uint32{500, 9000}, tos: packet.ECT0}
		shape(&x)
		f := x.bytes(t)
		all[string(f)] = true
		b.send(0, unit.Time(i)*50*unit.Microsecond, f)
	}
	b.stepUntil(t, 300*unit.Millisecond)
	for _, f := range b.gates[1].out {
		if !all[string(f)] {
			t.Fatalf("% x has come out, which nobody sent", f[:80])
		}
	}
	named := 0
	for _, f := range b.gates[0].out {
		x := crafted{version: 4, payload: 1000}
		shape(&x)
		like := x.bytes(t)
		d, err := wiretest.Decode(without(f), wiretest.Options{})
		if err != nil || !d.Summed || len(d.Payload) > 0 || d.TOS != 0 || d.HopLimit != 64 ||
			!bytes.Equal(f[:6], like[6:12]) || !bytes.Equal(f[6:12], like[:6]) || x.between == nil &&
			!bytes.Equal(front(f), front(like)) || d.SrcPort != 80 || d.DstPort < 1000 || d.DstPort >= 1000+uint16(flows) {
			t.Fatalf("%v: %+v\n% x", err, d, f)
		}
		// RFC 6994: 253, length, identifier 4e4b; behind it version 1, the payload that is gone, and 6 bytes a further one
		o := d.Header[20:]
		if be.Uint32(d.Header[8:])+1<<30 >= sent*1000 || be.Uint32(d.Header[4:]) != 76 || be.Uint32(o) != 0x0101080a ||
			be.Uint32(o[4:]) != 9000-1024 || be.Uint32(o[8:]) != 500 || o[12] != 253 || be.Uint16(o[14:]) != 0x4e4b ||
			be.Uint16(o[17:]) != 1000 {
			t.Fatalf("% x", d.Header)
		}
		named += 1 + (int(o[13])-11)/6
	}
	if lost := sent - len(b.gates[1].out); lost < 100 || named != lost {
		t.Errorf("%d of %d frames are lost, and NACKs name %d", lost, sent, named)
	}
	told := 0
	for _, v := range values(b) {
		var n int
		if _, err := fmt.Sscanf(v, "weir_ncf_notices_total 0 %d", &n); err == nil {
			told += n
		}
	}
	if told == 0 || coalesce == "0s" && told != sent-len(b.gates[1].out) {
		t.Errorf("%d are told, of %d lost", told, sent-len(b.gates[1].out))
	}
}

// TestNacks_SkipPacketsThatCannotBeNotified checks that no notice goes to senders that could not interpret it: hosts
// without time stamps, UDP, ICMP, fragments, damaged segments, frames that are not IP. All that fit pass unchanged, and
// share the port like other data: a frame that is not IP is no control packet, but ARP is.
func TestNacks_SkipPacketsThatCannotBeNotified(t *testing.T) {
	arp := append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 6}, make([]byte, 46)...)
	fragment := frametest.NewDatagram(t, 1, 2, 0, 1000)
	binary.BigEndian.PutUint16(fragment[20:], 0x2010)
	fragment[24], fragment[25] = 0, 0
	binary.BigEndian.PutUint16(fragment[24:], packet.Checksum(packet.Sum(0, fragment[14:34])))
	icmp := frametest.NewDatagram(t, 1, 2, 0, 1000)
	icmp[23], icmp[24], icmp[25] = 1, 0, 0
	binary.BigEndian.PutUint16(icmp[24:], packet.Checksum(packet.Sum(0, icmp[14:34])))
	odd := append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5}, make([]byte, 986)...)
	for name, f := range map[string][]byte{
		"no time stamps": (&crafted{version: 4, port: 1000, flags: packet.ACK, payload: 900}).bytes(t),
		"damaged": func() []byte {
			f := (&crafted{version: 4, port: 1000, flags: packet.ACK, payload: 900, stamps: &[2]uint32{1, 2}}).bytes(t)
			f[57] = 200 // length of an option
			return f
		}(),
		"UDP": frametest.NewDatagram(t, 1, 2, 0, 1000), "fragment": fragment, "ICMP": icmp, "not IP": odd,
	} {
		for _, form := range []string{"tcp_option", "ece"} {
			t.Run(name+" "+form, func(t *testing.T) {
				b := narrowed(t, "form: "+form)
				for i := range 200 {
					b.send(0, unit.Time(i)*50*unit.Microsecond, f)
					if i%10 == 0 {
						b.send(0, unit.Time(i)*50*unit.Microsecond, arp)
					}
				}
				b.stepUntil(t, 300*unit.Millisecond)
				arps := 0
				for _, out := range b.gates[1].out {
					if bytes.Equal(out, arp) {
						arps++
					} else if !bytes.Equal(out, f) {
						t.Fatalf("% x", out)
					}
				}
				if n := len(b.gates[1].out); len(b.gates[0].out) != 0 || arps != 20 || n < 50 || n > 120 {
					t.Errorf("%d frames went back, %d through, %d of ARP", len(b.gates[0].out), n, arps)
				}
			})
		}
	}
}

// TestNACKLeavesWhereFlowEnters checks that a NACK is sent only by the port where its flow enters, even if another
// host announces its sender's address.
func TestNACKLeavesWhereFlowEnters(t *testing.T) {
	text := strings.NewReplacer("OPTIONS", "top: 4, nack_budget: 0", "ports: {", "ports: {other: {interface: c}, ")
	c, err := Decode(papers(), "switch.yaml", []byte(text.Replace(narrow)))
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, c)
	// the receiver is known; another port claims the sender's address
	claim := (&crafted{version: 4, back: true, port: 1, flags: packet.ACK, stamps: &[2]uint32{1, 2}}).bytes(t)
	b.send(2, 0, claim)
	forged := frametest.NewDatagram(t, 1, 2, 0, 100)
	b.send(0, unit.Microsecond, forged)
	for i := range 200 {
		x := crafted{version: 4, port: 1000, seq: uint32(i * 1000), flags: packet.ACK, payload: 1000,
			stamps: &[2]uint32{5, 9}}
		b.send(1, unit.Time(i+1)*50*unit.Microsecond, x.bytes(t))
	}
	b.stepUntil(t, 300*unit.Millisecond)
	if at, elsewhere := len(b.gates[1].out), len(b.gates[0].out); at < 100 || elsewhere > 1 {
		t.Errorf("%d frames left where the flow comes in, %d where its address is claimed", at, elsewhere)
	}
}

// conversation is a switch's traffic: data of each flow from the left, and acknowledgements.
type conversation struct {
	*bench
	shape func(*crafted)
	tos   uint8 // of data
	ae    bool  // of acknowledgements
	mute  bool  // there are none
	rides int   // bytes that they bring
	flows int
	acked uint32
}

// burst sends 80 segments of each flow, at 40 Mb/s. Before, it acknowledges the given bytes, with timestamps 600
// and 500.
func (x *conversation) burst(t *testing.T, at unit.Time, acked uint32) {
	for i := range 80 * x.flows {
		p := crafted{version: 4, port: uint16(1000 + i%x.flows), seq: acked + uint32(i/x.flows*1000), ack: 77,
			flags: packet.ACK, payload: 1000, stamps: &[2]uint32{500, 9000}, tos: x.tos}
		x.shape(&p)
		when := at + unit.Time(i)*50*unit.Microsecond
		x.send(0, when, p.bytes(t))
		if i < x.flows && !x.mute {
			q := crafted{version: 4, back: true, port: p.port, seq: 77, ack: acked, flags: packet.ACK, window: 333, ae: x.ae,
				stamps: &[2]uint32{600, 500}, sack: [][2]uint32{{acked - 3000, acked - 2000}}, payload: x.rides}
			x.shape(&q)
			if x.acked == 0 {
				when += 20 * unit.Microsecond // data comes first
			}
			x.send(1, max(when-10*unit.Microsecond, 0), q.bytes(t))
		}
	}
	x.acked = acked
	x.stepUntil(t, at+unit.Time(80*x.flows)*50*unit.Microsecond+400*unit.Millisecond)
}

// copies returns the number of frames that went to the left without an arrival: copies of acknowledgements.
func (x *conversation) copies(t *testing.T, acked uint32) (n int) {
	for _, f := range x.gates[0].out {
		q := crafted{version: 4, back: true, port: 1000}
		x.shape(&q)
		like := q.bytes(t)
		d, err := wiretest.Decode(without(f), wiretest.Options{})
		if err != nil || !d.Summed {
			t.Fatalf("%v: % x", err, f)
		}
		if d.Header[13]&packet.ECE == 0 {
			continue
		}
		n++
		o := d.Header[20:]
		if len(d.Payload) > 0 || d.Header[13] != packet.ACK|packet.ECE || d.Header[12]&1 != 0 ||
			!bytes.Equal(f[:12], like[:12]) || q.between == nil && !bytes.Equal(front(f), front(like)) ||
			d.HopLimit != 61 || d.TOS != 0 || be.Uint32(d.Header[4:]) != 77+uint32(x.rides) ||
			be.Uint32(d.Header[8:]) != acked || be.Uint16(d.Header[14:]) != 333 || be.Uint32(o) != 0x0101080a ||
			be.Uint32(o[4:]) != 600 || be.Uint32(o[8:]) != 500 || slices.Contains(o[12:], 5) {
			t.Fatalf("%+v\n% x", d, f)
		}
	}
	for _, g := range x.gates {
		g.out = nil
	}
	return n
}

// TestEchoesOfBridge checks that with form: ece each sender that has negotiated ECN gets one copy of its flow's last
// acknowledgement in a window of data, exact except ECE and without SACK. Senders without ECN, with counted marks, or
// without a passed acknowledgement get none.
func TestEchoesOfBridge(t *testing.T) {
	plain := shapes["plain"]
	for name, x := range map[string]struct {
		conversation
		copies int // a flow
		why    string
	}{
		"no ECN":         {conversation{shape: plain, tos: packet.NotECT}, 0, "no_ecn"},
		"L4S":            {conversation{shape: plain, tos: packet.ECT1}, 0, "no_ecn"},
		"AccECN":         {conversation{shape: plain, tos: packet.ECT0, ae: true}, 0, "no_ecn"},
		"one-way":        {conversation{shape: plain, tos: packet.ECT0, mute: true}, 0, "no_ack"},
		"both ways data": {conversation{shape: plain, tos: packet.ECT0, rides: 500}, 1, "already_notified"},
		"plain":          {conversation{shape: plain, tos: packet.ECT0}, 1, "already_notified"},
		"tagged":         {conversation{shape: shapes["tagged"], tos: packet.ECT0}, 1, "already_notified"},
		"QinQ":           {conversation{shape: shapes["QinQ"], tos: packet.ECT0}, 1, "already_notified"},
		"PPPoE":          {conversation{shape: shapes["PPPoE"], tos: packet.ECT0}, 1, "already_notified"},
		"IPv6":           {conversation{shape: shapes["IPv6"], tos: packet.ECT0}, 1, "already_notified"},
		"IPv6 in PPPoE":  {conversation{shape: shapes["IPv6 in PPPoE"], tos: packet.ECT0, rides: 1}, 1, "told"},
		"extended":       {conversation{shape: shapes["extension headers"], tos: packet.ECT0}, 1, "already_notified"},
	} {
		for _, flows := range []int{1, 100} {
			t.Run(fmt.Sprint(name, flows), func(t *testing.T) {
				c := x.conversation
				c.bench, c.flows = narrowed(t, "form: ece, nack_budget: 0"), flows
				c.burst(t, 0, 5000)
				all := x.copies * flows
				// the second window, in which the first is acknowledged
				if n := c.copies(t, 5000); n > all || 10*n < 6*all {
					t.Errorf("%d copies, want %d: %q", n, all, values(c.bench))
				}
				c.burst(t, c.time, 5000)
				if n := c.copies(t, 5000); flows == 1 && n != 0 {
					t.Errorf("in the same window %d copies", n)
				}
				c.burst(t, c.time, 85000)
				if n := c.copies(t, 85000); n > all || 10*n < 6*all {
					t.Errorf("in the next window %d copies, want %d", n, all)
				}
			})
		}
	}
}
