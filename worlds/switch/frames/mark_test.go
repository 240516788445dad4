package frames

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"weir/core/packet"
	"weir/internal/testkit/frametest"
)

// withOptions puts a hop-by-hop header with router alert (RFC 2711) into a frame of IPv6.
func withOptions(f []byte) []byte {
	out := append(bytes.Clone(f[:54]), f[20], 0, 5, 2, 0, 0, 1, 0)
	out[20] = 0
	be.PutUint16(out[18:], be.Uint16(out[18:])+8)
	return append(out, f[54:]...)
}

// TestCodec_RestoresFrameWithoutMark checks that a frame with a mark has it for the next switch, its own transport
// after it, and right lengths and checksums. Without the mark it is the original, byte for byte.
func TestCodec_RestoresFrameWithoutMark(t *testing.T) {
	under := func(f []byte, head ...byte) []byte { return append(append(bytes.Clone(f[:12]), head...), f[14:]...) }
	four, six := frametest.NewSYN(t, 4, 1460, 100), frametest.NewSYN(t, 6, 1440, 100)
	fragment := bytes.Clone(four)
	be.PutUint16(fragment[20:], 5)
	packet.IPv4(fragment[14:]).SetTTL(64)
	be.PutUint16(fragment[24:], 0)
	be.PutUint16(fragment[24:], packet.Checksum(packet.Sum(0, fragment[14:34])))
	for name, f := range map[string][]byte{
		"IPv4": four, "IPv6": six, "IPv4, tagged": under(four, 0x81, 0, 0, 5, 8, 0),
		"IPv6, PPPoE":        under(six, 0x88, 0x64, 0x11, 0, 0, 1, 0, byte(len(six)-14+2), 0, 0x57),
		"IPv6 with options":  withOptions(six),
		"fragment of IPv4":   fragment,
		"IPv4 with padding":  append(frametest.NewSYN(t, 4, 1460, 0), 0, 0),
		"IPv4, datagram":     frametest.NewDatagram(t, 1, 2, 0, 200),
		"IPv4, many options": frametest.NewSYN(t, 4, 536, 1400),
	} {
		t.Run(name, func(t *testing.T) {
			c := anyCodec()
			p := &packet.Packet{Data: bytes.Clone(f)}
			if err := c.Parse(0, 0, p); err != nil {
				t.Fatal(err)
			}
			proto, ports, payload := p.Proto, p.DstPort, p.Payload
			p.SetExtension(packet.ExtActivity, []byte{1, 2, 3, 4})
			if err := c.Deparse(p); err != nil || len(p.Data) != len(f)+markBytes {
				t.Fatalf("%v, %d bytes", err, len(p.Data))
			}
			if err := c.Parse(0, 0, p); err != nil || p.Proto != proto || p.DstPort != ports || p.Payload != payload {
				t.Fatalf("%v, protocol %d, port %d, payload %d", err, p.Proto, p.DstPort, p.Payload)
			}
			if mark, ok := p.Extension(packet.ExtActivity); !ok || !bytes.Equal(mark, []byte{1, 2, 3, 4}) {
				t.Errorf("the next switch reads %x, %v", mark, ok)
			}
			d, ok := parseLayout(p.Data)
			if !ok || d.version == 4 && !packet.IPv4(p.Data[d.ip:]).ChecksumOK() {
				t.Errorf("%x", p.Data)
			}
			p.SetExtension(packet.ExtActivity, []byte{5, 6, 7, 8})
			c.Deparse(p)
			c.Parse(0, 0, p)
			if mark, _ := p.Extension(packet.ExtActivity); !bytes.Equal(mark, []byte{5, 6, 7, 8}) {
				t.Errorf("overwritten, it is %x", mark)
			}
			p.RemoveExtension(packet.ExtActivity)
			if c.Deparse(p); !bytes.Equal(p.Data, f) {
				t.Errorf("without its mark it is\n%x, it was\n%x", p.Data, f)
			}
		})
	}
}

// TestForeignMark checks that marks that no switch has written are removed, too: a mark among other options becomes
// padding. Damaged headers are carried, and restored.
func TestForeignMark(t *testing.T) {
	f := withOptions(withOptions(frametest.NewSYN(t, 6, 1440, 20)))
	f[55] = 0
	copy(f[56:], []byte{packet.ExtActivity, 4, 9, 9, 9, 9})
	p := &packet.Packet{Data: bytes.Clone(f)}
	c := anyCodec()
	c.Parse(0, 0, p)
	if _, ok := p.Extension(packet.ExtActivity); !ok {
		t.Fatal("the mark is not seen")
	}
	p.RemoveExtension(packet.ExtActivity)
	c.Deparse(p)
	c.Parse(0, 0, p)
	if _, ok := p.Extension(packet.ExtActivity); ok {
		t.Errorf("it is still there: %x", p.Data)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 20000 {
		f := frametest.NewSYN(t, 4+2*(i%2), 1460, 40)
		if i%2 == 0 {
			f[23] = shim
		} else {
			f[20] = 0
		}
		for range 1 + i%5 {
			f[14+random.IntN(len(f)-14)] = byte(random.Uint32())
		}
		was := bytes.Clone(f)
		p := &packet.Packet{Data: bytes.Clone(f)}
		c.Parse(0, 0, p)
		if _, has := p.Extension(packet.ExtActivity); p.Version == 0 || has {
			continue
		}
		p.SetExtension(packet.ExtActivity, []byte{1, 2, 3, 4})
		c.Deparse(p)
		c.Parse(0, 0, p)
		p.RemoveExtension(packet.ExtActivity)
		if c.Deparse(p); !bytes.Equal(p.Data, was) {
			t.Fatalf("frame %d is\n%x, it was\n%x", i, p.Data, was)
		}
	}
}

// TestTooLong checks that the sender of a frame that is too long is notified of the allowed length, by ICMP of its own
// family, at a limited rate.
func TestTooLong(t *testing.T) {
	for _, version := range []int{4, 6} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			f := frametest.NewSYN(t, version, 1460, 1400)
			e := buildTooLong(f, 1492)
			if e == nil || !bytes.Equal(e[:6], f[6:12]) || !bytes.Equal(e[6:12], f[:6]) {
				t.Fatalf("%x", e)
			}
			d, ok := parseLayout(e)
			if !ok || d.end != len(e) {
				t.Fatalf("%x", e)
			}
			icmp := e[d.transport:d.end]
			if version == 4 {
				h := packet.IPv4(e[d.ip:])
				if h.Dst() != packet.IPv4(f[14:]).Src() || !h.ChecksumOK() || packet.Checksum(packet.Sum(0, icmp)) != 0 ||
					icmp[0] != 3 || icmp[1] != 4 || be.Uint16(icmp[6:]) != 1492 || !bytes.Equal(icmp[8:], f[14:14+quoted4]) {
					t.Errorf("%x", e)
				}
				return
			}
			h := packet.IPv6(e[d.ip:])
			src, dst := h.Src().As16(), h.Dst().As16()
			sum := packet.Sum(packet.Sum(uint32(len(icmp))+uint32(packet.ProtoICMPv6), src[:]), dst[:])
			if h.Dst() != packet.IPv6(f[14:]).Src() || packet.Checksum(packet.Sum(sum, icmp)) != 0 || icmp[0] != 2 ||
				be.Uint32(icmp[4:]) != 1492 || !bytes.Equal(icmp[8:], f[14:14+quoted6]) {
				t.Errorf("%x", e)
			}
		})
	}
	for version, proto := range map[int]byte{4: 0x21, 6: 0x57} { // over PPPoE, in its session
		f := frametest.NewSYN(t, version, 1452, 1400)
		ip := len(f) - 14
		f = append(append(bytes.Clone(f[:12]), 0x88, 0x64, 0x11, 0, 0, 9, byte((ip+2)>>8), byte(ip+2), 0, proto), f[14:]...)
		e := buildTooLong(f, 1484)
		if e == nil {
			t.Fatal("no answer over PPPoE")
		}
		d, ok := parseLayout(e)
		value := 6 // where ICMP has it
		if !ok || !bytes.Equal(e[:6], f[6:12]) || !bytes.Equal(e[12:18], f[12:18]) || e[21] != proto || d.end != len(e) ||
			int(be.Uint16(e[18:])) != len(e)-20 || be.Uint16(e[d.transport+value:]) != 1484 {
			t.Errorf("IPv%d over PPPoE: %x", version, e)
		}
	}
	if e := buildTooLong(frametest.NewSYN(t, 4, 1460, 0)[:20], 1492); e != nil {
		t.Errorf("a damaged frame is answered: %x", e)
	}
	again := buildTooLong(frametest.NewSYN(t, 4, 1460, 1400), 1492)
	if e := buildTooLong(again, 1492); e != nil {
		t.Errorf("an error is answered: %x", e)
	}
	many := frametest.NewSYN(t, 4, 1460, 1400)
	if many[0] |= 1; buildTooLong(many, 1492) != nil {
		t.Error("a group is answered for")
	}
}
