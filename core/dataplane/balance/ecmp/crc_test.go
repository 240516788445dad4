package ecmp

import (
	"net/netip"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
)

// crcSite is a switch with four ways to host 2, and with hosts 1 to 4.
func crcSite() *dataplane.Site {
	s := site(4)
	b := packet.NewBook()
	for _, x := range []string{"2001:1:1::1:0", "2001:1:1::3:0", "2001:1:1::1:1", "2001:1:1::2:1"} {
		b.Add(netip.Addr{}, netip.MustParseAddr(x))
	}
	routes, err := dataplane.NewRoutes(b, []dataplane.Route{{Prefix: netip.MustParsePrefix("2001:1:1::/48"),
		Ports: []packet.PortID{4, 5, 6, 7}}})
	if err != nil {
		panic(err)
	}
	s.Book, s.Routes = b, routes
	return s
}

// TestCheckValue checks that CRC-16/ARC of the digits 1 to 9 is 0xbb3d.
func TestCheckValue(t *testing.T) {
	s, err := newSelector(crcSite(), []field{dst})
	if err != nil {
		t.Fatal(err)
	}
	crc := uint16(0)
	for _, b := range []byte("123456789") {
		crc = s.addByte(crc, b)
	}
	if crc != 0xbb3d {
		t.Errorf("%#x", crc)
	}
}

// TestSelector_CRC16PolarisesIncast checks that sixteen flows of iperf between the same leaves, with ports that count
// up together, use one of four ports (P4TE's incast). With mixed hashes they use all.
func TestSelector_CRC16PolarisesIncast(t *testing.T) {
	used := func(e *Program, change func(p *packet.Packet, i int)) (n int) {
		count := [8]int{}
		for i := range 16 {
			p := &packet.Packet{Src: packet.Addr(1 + i/8*2), Dst: 2, HopLimit: 5, Version: 6, Proto: packet.ProtoTCP,
				SrcPort: uint16(32001 + i%8), DstPort: uint16(42001 + i)}
			change(p, i)
			p.Hash = packet.FlowHash(p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto)
			e.Ingress(nil, p)
			count[p.Meta.Out]++
		}
		for _, c := range count {
			n += min(c, 1)
		}
		return n
	}
	plain := func(*packet.Packet, int) {}
	crc := func(fields string) *Program {
		c := config{CRC16: true, Fields: fields}
		x, err := c.parseFields()
		if err != nil {
			t.Fatal(err)
		}
		e := New(crcSite(), 1)
		if e.crc, err = newSelector(crcSite(), x); err != nil {
			t.Fatal(err)
		}
		return e
	}
	all := crc(scheme.Defaults[config]().Fields)
	if n := used(all, plain); n != 1 {
		t.Errorf("CRC-16: flows take %d ports", n)
	}
	if n := used(New(crcSite(), 1), plain); n < 3 {
		t.Errorf("mixed: flows take %d ports", n)
	}
	if n := used(all, func(p *packet.Packet, _ int) { p.DstPort = 42001 }); n < 2 {
		t.Errorf("CRC-16, with one destination port: flows take %d ports", n)
	}
	if n := used(crc("dst proto"), plain); n != 1 {
		t.Errorf("CRC-16 of what all have alike: flows take %d ports", n)
	}
	if n := used(crc("sport"), plain); n < 2 {
		t.Errorf("CRC-16 of the source's port: flows take %d ports", n)
	}
}

// TestConfig_RejectsBadFields checks that fields that cannot be hashed are errors: unknown fields, repeated fields, an
// empty list.
func TestConfig_RejectsBadFields(t *testing.T) {
	for text, want := range map[string]string{"dst, ttl": `"ttl" is no field`, "dst dst": "twice", "": "no field"} {
		t.Run(text, func(t *testing.T) {
			if err := scheme.Validate(&config{Fields: text}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
	s := crcSite()
	s.Book = nil
	if _, err := newSelector(s, []field{dst}); err == nil {
		t.Error("CRC-16 without addresses is no error")
	}
}
