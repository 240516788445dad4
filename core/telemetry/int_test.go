package telemetry

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestINTExamples checks the packets of the specification's examples, "Example with INT-MD over TCP" and "… in-between
// UDP header and UDP payload", as they arrive at Switch3. They have node ID and queue occupancy of two hops (10 and 100
// bytes, 11 and 110), and 6 of 8 hops remain. The test chooses what the specification leaves open (addresses, ports,
// the values).
func TestINTExamples(t *testing.T) {
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	book := packet.NewBook()
	book.Add(a, netip.Addr{})
	book.Add(b, netip.Addr{})
	header := "20000206" + "90000000" + "00000000" + "0000000b" + "0000006e" + "0000000a" + "00000064"
	for _, c := range []struct {
		name  string
		proto uint8
		tos   uint8
		port  uint16
		shim  string
	}{
		{"over TCP", packet.ProtoTCP, 0x17 << 2, 5001, "10070028"}, // Type 1, NPT 0, length 7, DSCP 10
		{"over UDP", packet.ProtoUDP, 10 << 2, packet.INTPort, "14071389"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stack, _ := hex.DecodeString(c.shim + header)
			payload := append(stack, "the payload"...)
			var segment []byte
			if c.proto == packet.ProtoTCP {
				segment, _ = packet.AppendTCP(nil, packet.SegmentHeader{SrcPort: 7, DstPort: c.port})
				segment = append(segment, payload...)
				packet.SealTCP(segment, a, b)
			} else {
				segment, _ = packet.AppendUDP(nil, a, b, 7, c.port, payload)
			}
			frame := packet.AppendEthernet(nil, [6]byte{1}, [6]byte{2}, packet.EtherIPv4)
			frame, _ = packet.AppendIPv4(frame, a, b, c.proto, c.tos, 60, len(segment))
			var p packet.Packet
			if err := p.Parse(book, append(frame, segment...)); err != nil {
				t.Fatal(err)
			}
			if p.TOS != 10<<2 || p.DstPort != 5001 || p.Payload != 11 {
				t.Errorf("DSCP %d, port %d, payload %d; want 10, 5001, 11", p.TOS>>2, p.DstPort, p.Payload)
			}
			f, r := newFormat(t, "int-md"), Records{}
			if what, _ := f.ReadRequest(&p, &r); what != Recorded || r.Len() != 2 || r.MissedHops() != 0 || r.PathID() != 10^11 {
				t.Fatalf("%d, %+v, %d missed", what, r.Hops(), r.MissedHops())
			}
			for i, want := range []Hop{{Switch: 10, Queue: 100, Flags: NoSojourn}, {Switch: 11, Queue: 110, Flags: NoSojourn}} {
				if *r.At(i) != want {
					t.Errorf("hop %d is %+v, want %+v", i+1, *r.At(i), want)
				}
			}
			// Switch3 as a transit hop: its record is the first, and the sender's instructions apply
			if !f.PushRecord(&p, &Hop{Switch: 12, Queue: 120, Rate: unit.Gbps}) {
				t.Fatal("not pushed")
			}
			want, _ := hex.DecodeString("20000205" + "90000000" + "00000000" + "0000000c" + "00000078" + "0000000b")
			if s := p.Stack(); s[1] != 9 || !bytes.HasPrefix(s[4:], want) {
				t.Errorf("% x", s)
			}
		})
	}
}

// TestINTSourceOnlyExample checks "Example with INT-MD including domain specific source-only metadata": the domain
// 0x5453 defines that the source has 8 bytes of its own behind its record. A reader that knows the domain removes them.
// A switch that does not know it pads with ones to hop ML, and this record needs no padding.
func TestINTSourceOnlyExample(t *testing.T) {
	stack, _ := hex.DecodeString("10080000" + "20000105" + "80005453" + "80004000" + "00000002" + "00000001" + "00000063" +
		"a61af6b1" + "647d0000")
	f, p := newFormat(t, "int-md"), &packet.Packet{}
	p.SetStack(packet.BehindTransport, stack)
	if !f.PushRecord(p, &Hop{Switch: 3}) {
		t.Fatal("not pushed")
	}
	b := p.Stack()
	if want := "10090000" + "20000104" + "80005453" + "80004000" + "00000003" +
		"00000002"; hex.EncodeToString(b[:24]) != want {
		t.Errorf("%x, want %s", b, want)
	}
	known := append([]byte(nil), b[:len(b)-8]...)
	known[1] -= 2
	var r Records
	if !readINT(known, &r) || r.Len() != 4 || r.At(0).Switch != 0x63 || r.At(3).Switch != 3 {
		t.Errorf("%+v", r.Hops())
	}
}

// TestINTTransit checks the rules of the specification for a transit hop, "INT-MD Metadata Header Format".
func TestINTTransit(t *testing.T) {
	h := &Hop{Switch: 0xa, Port: 2, Queue: 5, Time: 9 * ns, Sojourn: 4 * ns, TxBytes: 1, Rate: unit.Gbps}
	ones := "ffffffff"
	for _, c := range []struct{ name, before, after string }{
		{"no hops remain: E, and nothing else", "10030000" + "20000200" + "90000000" + "00000000",
			"10030000" + "24000200" + "90000000" + "00000000"},
		{"an unknown domain: ones up to hop ML", "10030000" + "20000401" + "80001111" + "80000000",
			"10070000" + "20000400" + "80001111" + "80000000" + "0000000a" + ones + ones + ones},
		{"reserved bits: ones", "10030000" + "20000301" + "80600000" + "00000000",
			"10060000" + "20000300" + "80600000" + "00000000" + "0000000a" + ones + ones},
		{"level 2 interfaces, utilisation, buffer: not known here", "10030000" + "20000401" + "03800000" + "00000000",
			"10070000" + "20000400" + "03800000" + "00000000" + ones + ones + ones + ones},
		{"checksum complement: ones, last", "10030000" + "20000201" + "80010000" + "00000000",
			"10050000" + "20000200" + "80010000" + "00000000" + "0000000a" + ones},
		{"ingress time", "10030000" + "20000201" + "08000000" + "00000000",
			"10050000" + "20000200" + "08000000" + "00000000" + "0000000000000005"},
		{"instructions for more than hop ML: nothing", "10030000" + "20000101" + "90000000" + "00000000",
			"10030000" + "20000101" + "90000000" + "00000000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &packet.Packet{}
			before, _ := hex.DecodeString(c.before)
			p.SetStack(packet.BehindTransport, before)
			newFormat(t, "int-md").PushRecord(p, h)
			if got := hex.EncodeToString(p.Stack()); got != c.after {
				t.Errorf("got  %s\nwant %s", got, c.after)
			}
		})
	}
	// no room: only M is set
	p, f := &packet.Packet{}, newFormat(t, "int-md")
	full, _ := hex.DecodeString("10f30000" + "20001f09" + "80000000" + "00000000")
	p.SetStack(packet.BehindTransport, append(full, make([]byte, packet.StackRoom-len(full))...))
	if f.PushRecord(p, h) || p.Stack()[4] != 0x22 || p.Stack()[7] != 9 {
		t.Errorf("% x", p.Stack()[:8])
	}
}
