package packet

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"weir/core/unit"
)

// what a hop or an endpoint uses of a packet that crosses the wire
func essence(p *Packet) string {
	return fmt.Sprintln(p.Kind, p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto, p.Version, p.TOS, p.HopLimit, p.Seq, p.Ack,
		p.Payload, p.Message, p.Hash, p.Sent, p.ext[:p.extLen], p.Stack(), p.HasHotExtension(ExtStack),
		p.TCP.Flags, p.TCP.Window, p.TCP.MSS, p.TCP.Present, p.TCP.Scale, p.TCP.TSVal, p.TCP.TSEcho,
		p.TCP.SACK[:p.TCP.Blocks])
}

// segmentOf makes options of every kind that fit into a header out of some bits.
func segmentOf(a, b uint64) Segment {
	s := Segment{Flags: uint8(a), Window: uint16(b)}
	if a&256 != 0 {
		s.MSS = uint16(a>>8) | 1
	}
	s.Present = uint8(b>>16) & 7
	if s.Present&HasScale != 0 {
		s.Scale = uint8(b>>20) % 15
	}
	if s.Present&HasTimestamps != 0 {
		s.TSVal, s.TSEcho = uint32(a>>9), uint32(b>>9)
	}
	if s.MSS == 0 && s.Present&^HasTimestamps == 0 {
		for s.Blocks = uint8(a>>16) % 4; s.Present == 0 && s.Blocks == 3 && b&1 == 1; {
			s.Blocks++
		}
	}
	for i := range s.Blocks {
		s.SACK[i] = SACKBlock{uint32(a) + uint32(i), uint32(b) * uint32(i+1)}
	}
	return s
}

// FuzzPacket_ParseInvertsEmit checks that parse(emit(p)) is p, for packets of every kind.
func FuzzPacket_ParseInvertsEmit(f *testing.F) {
	seedWire(f)
	b := book()
	f.Fuzz(func(t *testing.T, kind, proto, six, tos, hops uint8, seq, ack int64, payload uint16, class uint8, ext []byte,
		stack uint8) {
		p := Packet{Kind: Kind(kind % 7), Src: 1, Dst: 2, SrcPort: 1000, DstPort: 2000, Proto: proto, Version: 4, TOS: tos,
			HopLimit: hops,
			Seq:      seq & (1<<40 - 1), Ack: ack & (1<<40 - 1), Payload: int32(payload % 60000),
			Meta: Metadata{Class: class % 8}}
		if six&1 == 1 {
			p.Version = 6
		}
		if len(ext) > 0 {
			p.SetExtension(0x9e, ext)
			p.SetExtension(ExtActivity, []byte{1, 2, 3, 4})
		}
		if Kind(kind%7) != Pause && Kind(kind%7) != Resume {
			someStack(&p, stack)
		}
		if !carried(&p, seq, ack) {
			return
		}
		wire, err := p.Emit(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := EthernetHeader + IPv4Header + TCPHeader + p.TCP.OptionBytes() + p.ExtensionBytes() + p.Payload +
			20*int32(six&1); p.Proto == ProtoTCP && len(wire) != int(n) {
			t.Fatalf("%d bytes on the wire, %d of them options", len(wire), p.TCP.OptionBytes())
		}
		q := Packet{Seq: -1, Ack: -1} // of a packet before
		if proto == ProtoUDP {
			q.Sent = -1
		}
		if p.Kind == Pause || p.Kind == Resume {
			q = Packet{}
		}
		if err := q.Parse(b, wire); err != nil {
			t.Fatalf("%v\n% x", err, wire)
		}
		checksums(t, wire)
		if essence(&p) != essence(&q) || p.Meta.Class != q.Meta.Class {
			t.Fatalf("sent %sgot  %s", essence(&p), essence(&q))
		}
		if p.Kind != Pause && p.Kind != Resume {
			q.Data = wire
			crossSwitch(t, b, q, payload&1 == 1, payload&6 == 6)
		}
	})
}

// seedWire adds a packet of every kind and protocol.
func seedWire(f *testing.F) {
	for kind := range uint8(7) {
		for _, proto := range []uint8{ProtoOwn, ProtoRDMA} {
			for payload := uint16(98); payload < 102; payload++ { // padding
				for flags := range int64(4) { // of the message's packets
					f.Add(kind, proto, uint8(kind&1), uint8(3), uint8(64), flags<<40+77, 77+flags, payload, uint8(5), []byte("ext"),
						uint8(0))
				}
			}
		}
	}
	for stack := range uint8(8) { // behind every transport, alone and beside extensions
		for i, proto := range []uint8{ProtoUDP, ProtoTCP, ProtoOwn, ProtoRDMA} {
			f.Add(uint8(0), proto, uint8(i)+stack, stack, uint8(64), int64(77), int64(88), uint16(100+i), uint8(5),
				make([]byte, i), stack)
		}
	}
	f.Add(uint8(0), ProtoUDP, uint8(0), uint8(0), uint8(1), int64(1<<40), int64(0), uint16(1448), uint8(0),
		[]byte{}, uint8(0))
	for six := range uint8(2) { // odd payloads are cut
		f.Add(uint8(0), ProtoUDP, six, uint8(0), uint8(1), int64(9), int64(1), uint16(1449), uint8(0), []byte{}, uint8(0))
		f.Add(uint8(0), ProtoTCP, six, uint8(0), uint8(1), int64(9), int64(1), uint16(1449), uint8(0), []byte{1}, uint8(0))
		f.Add(uint8(2), ProtoOwn, six, uint8(0), uint8(1), int64(9), int64(1), uint16(1449), uint8(0), []byte{1}, uint8(0))
	}
	f.Add(uint8(0), ProtoUDP, uint8(1), uint8(0), uint8(1), int64(9), int64(0), uint16(3), uint8(0), []byte{}, uint8(0))
	f.Add(uint8(1), ProtoTCP, uint8(1), uint8(2), uint8(9), int64(9), int64(10), uint16(0), uint8(0),
		[]byte{1, 2, 3, 4}, uint8(0))
	for i := range int64(40) { // options
		f.Add(uint8(1), ProtoTCP, uint8(i&1), uint8(2), uint8(9), i*0x2b5b7, i*0x61c889, uint16(i), uint8(0),
			[]byte{1, 2, 3, 4}, uint8(0))
	}
}

// carried reduces p to what a frame of its kind and protocol carries. It returns false if there is no such frame.
func carried(p *Packet, seq, ack int64) bool {
	switch {
	case p.Kind == Pause || p.Kind == Resume:
		*p = Packet{Kind: p.Kind, Meta: Metadata{Class: p.Meta.Class}}
		if p.Kind == Pause {
			p.Seq = int64(uint16(seq)) % 0xffff // quanta
		}
		return true
	case p.Proto == protoShim && p.Version == 4 || p.Proto == protoHopByHop && p.Version == 6:
		return false // those are the extensions' own numbers
	case p.Proto == ProtoRDMA:
		carriedRDMA(p, seq)
	case p.Proto == ProtoICMP || p.Proto == ProtoICMPv6:
		return false // not made: TestPacket_CarriesICMPUnchanged
	case p.Proto == ProtoIFA:
		return false // its own number
	case p.Proto == ProtoUDP:
		p.Kind, p.Ack, p.Seq = Data, 0, seq
		if p.Payload < 8 {
			p.Seq = 0
		}
		if p.Payload >= 16 {
			p.Sent = unit.Time(ack)
		}
	case p.Proto == ProtoTCP:
		p.Seq, p.Ack = int64(uint32(seq)), int64(uint32(ack))
		if p.Kind = Ack; p.Payload > 0 {
			p.Kind = Data
		}
		p.TCP = segmentOf(uint64(seq), uint64(ack))
	default:
		p.TCP.Flags = uint8(seq >> 40)
	}
	p.Meta = Metadata{}
	p.Hash = FlowHash(p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto)
	return true
}

// carriedRDMA reduces p to what RoCEv2 carries.
func carriedRDMA(p *Packet, seq int64) {
	p.Seq, p.Ack = p.Seq&PSNMask, p.Ack&PSNMask
	switch p.Kind {
	case Data:
		p.Ack &= TransmissionMask
		if p.TCP.Flags = uint8(seq>>40) & (FirstOfMessage | LastOfMessage); p.TCP.Flags&FirstOfMessage != 0 {
			p.Message = uint32(seq >> 8)
		}
		return
	case Notice:
		p.Ack = 0
	case Ack, Nack:
		p.TCP.Flags, p.Message = uint8(seq>>40)&ECE, uint32(seq>>8)&PSNMask
	}
	p.Payload = 0
}

// crossSwitch changes what a switch may change of p, and checks that the frame stays valid and has the changes.
func crossSwitch(t *testing.T, b *Book, p Packet, cut, turned bool) {
	payload := p.Payload
	p.TOS, p.HopLimit = ^p.TOS, p.HopLimit-1
	p.RemoveExtension(0x9e)
	switch b := p.Stack(); { // a switch pushes a record, or removes all of them
	case p.StackPlace() == BehindTransport && p.HasHotExtension(ExtStack):
		b = p.GrowStack(minINTBytes, 8)
		b[1] += 2
	case p.StackPlace() == HopByHop:
		b[9]++
	case cut:
		p.RemoveExtension(ExtStack)
		p.RemoveExtension(AnswerStack)
	}
	if p.Proto == ProtoTCP {
		p.Seq, p.Ack, p.TCP.Flags, p.TCP.Window = int64(^uint32(p.Seq)), int64(^uint32(p.Ack)), ^p.TCP.Flags, ^p.TCP.Window
	}
	if cut && p.Payload > 16 {
		p.Payload = 16
	}
	if turned {
		p.Src, p.Dst = p.Dst, p.Src
		p.Hash = FlowHash(p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto)
	}
	if plain, quick := deparseQuickly(t, &p, b); quick != (plain && p.Payload == payload && !turned) {
		t.Fatalf("in place: %v; extensions %v, payload %d of %d", quick, !plain, p.Payload, payload)
	}
	if err := p.Deparse(b); err != nil {
		t.Fatal(err)
	}
	var r Packet
	if err := r.Parse(b, p.Data); err != nil {
		t.Fatalf("after Deparse: %v\n% x", err, p.Data)
	}
	checksums(t, p.Data)
	if essence(&p) != essence(&r) {
		t.Fatalf("deparsed %sgot      %s", essence(&p), essence(&r))
	}
}

// FuzzPacket_ParseNeverPanics checks that no frame makes the parser panic, and accepted frames can be written again.
func FuzzPacket_ParseNeverPanics(f *testing.F) {
	b := book()
	for _, p := range []Packet{
		{Kind: Data, Src: 1, Dst: 2, Version: 4, Proto: ProtoUDP, Payload: 20, HopLimit: 3},
		{Kind: Data, Src: 1, Dst: 2, Version: 6, Proto: ProtoTCP, Payload: 5, HopLimit: 3},
		{Kind: Nack, Src: 1, Dst: 2, Version: 6, Proto: ProtoOwn, HopLimit: 3},
		{Kind: Nack, Src: 1, Dst: 2, Version: 6, Proto: ProtoRDMA, HopLimit: 3},
		{Kind: Data, Src: 1, Dst: 2, Version: 4, Proto: ProtoRDMA, HopLimit: 3, Payload: 9,
			TCP: Segment{Flags: FirstOfMessage}},
		{Kind: Pause, Meta: Metadata{Class: 3}},
	} {
		p.SetExtension(ExtActivity, []byte{1, 2, 3, 4})
		wire, err := p.Emit(b, nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	for which := range uint8(8) {
		for _, proto := range []uint8{ProtoUDP, ProtoTCP, ProtoOwn, ProtoRDMA} {
			p := Packet{Kind: Data, Src: 1, Dst: 2, Version: 4 + 2*(which>>2), Proto: proto, Payload: 20, HopLimit: 3}
			someStack(&p, which)
			wire, err := p.Emit(b, nil)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(wire)
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var p Packet
		if p.Parse(b, frame) != nil || p.Kind == Pause || p.Kind == Resume {
			return
		}
		p.Data = append([]byte(nil), frame...)
		changed := p
		changed.TOS, changed.HopLimit, changed.Seq, changed.TCP.Flags = ^p.TOS, p.HopLimit-1, p.Seq+1, ^p.TCP.Flags
		deparseQuickly(t, &changed, b)
		if err := p.Deparse(b); err != nil {
			t.Fatal(err)
		}
		var q Packet
		if err := q.Parse(b, p.Data); err != nil || essence(&p) != essence(&q) {
			t.Fatalf("%v: %s%s", err, essence(&p), essence(&q))
		}
		if !bytes.Equal(p.Data, frame) {
			t.Fatalf("nothing was changed, and % x became % x", frame, p.Data)
		}
		// another extension is added, and the frame has it
		if !p.SetExtension(0x7e, []byte{1, 2, 3}) {
			return
		}
		if err := p.Deparse(b); err != nil {
			return // too long now
		}
		if err := q.Parse(b, p.Data); err != nil || essence(&p) != essence(&q) {
			t.Fatalf("with an extension: %v: %s%s", err, essence(&p), essence(&q))
		}
	})
}

// TestParseRefuses checks that unknown addresses are 0. Other Ethernet types, fragments and damaged headers are errors.
func TestParseRefuses(t *testing.T) {
	b := book()
	p := Packet{Kind: Data, Src: 1, Dst: 2, Version: 4, Proto: ProtoUDP, Payload: 20, HopLimit: 3}
	good, err := p.Emit(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	other := NewBook()
	if err := new(Packet).Parse(other, good); err != nil {
		t.Errorf("unknown addresses: %v", err)
	}
	for want, change := range map[string]func([]byte){
		"neither IPv4": func(f []byte) { f[12] = 0x88; f[13] = 0xcc },
		"checksum":     func(f []byte) { f[22]-- },
		"opcode":       func(f []byte) { f[12], f[13] = 0x88, 0x08 },
		"not supported": func(f []byte) {
			f[20] = 0x20
			be.PutUint16(f[24:], 0)
			be.PutUint16(f[24:], Checksum(Sum(0, f[14:34])))
		},
		"UDP header": func(f []byte) { f[39] = 3 },
		"transport head": func(f []byte) {
			f[23] = 99
			f[17] = 30
			be.PutUint16(f[24:], 0)
			be.PutUint16(f[24:], Checksum(Sum(0, f[14:34])))
		},
	} {
		t.Run(want, func(t *testing.T) {
			frame := append([]byte(nil), good...)
			change(frame)
			if err := new(Packet).Parse(b, frame); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %q", err, want)
			}
		})
	}
	if _, err := (&Packet{Src: 9, Dst: 1, Version: 4}).Emit(b, nil); err == nil {
		t.Error("an address that the book does not have is sent")
	}
}

// checksums fails if the transport checksum of a frame that Emit or Deparse made is
// wrong.
func checksums(t *testing.T, frame []byte) {
	t.Helper()
	var src, dst netip.Addr
	var next uint8
	var rest []byte
	switch be.Uint16(frame[12:]) {
	case EtherIPv4:
		h, err := ParseIPv4(frame[EthernetHeader:])
		if err != nil || !h.ChecksumOK() {
			t.Fatalf("%v: % x", err, frame)
		}
		src, dst, next, rest = h.Src(), h.Dst(), h.Protocol(), h.Payload()
	case EtherIPv6:
		h, err := ParseIPv6(frame[EthernetHeader:])
		if err != nil {
			t.Fatal(err)
		}
		src, dst, next, rest = h.Src(), h.Dst(), h.NextHeader(), h.Payload()
	default:
		return
	}
	if next == protoShim && src.Is4() || next == protoHopByHop && src.Is6() {
		next, rest = rest[0], rest[8*(int(rest[1])+1):]
	}
	switch next {
	case ProtoUDP:
		if u, err := ParseUDP(rest); err != nil || len(u) != len(rest) || !u.ChecksumOK(src, dst) {
			t.Fatalf("UDP checksum or length: %v: % x", err, frame)
		}
	case ProtoTCP:
		if s, err := ParseTCP(rest); err != nil || !s.ChecksumOK(src, dst) {
			t.Fatalf("TCP checksum: %v: % x", err, frame)
		}
	}
}

// FuzzPacket_ExtensionsRoundTrip checks extensions in wire form, an IPv6 hop-by-hop options header (RFC 8200 §4.3) or a
// shim of the same layout, with arbitrary bytes: parse(emit(x)) is x.
func FuzzPacket_ExtensionsRoundTrip(f *testing.F) {
	f.Add([]byte{17, 0, ExtActivity, 4, 1, 2, 3, 4})
	f.Add([]byte{17, 0, 0, padN, 3, 0, 0, 0})
	f.Add([]byte{17, 0, 0x9e, 4, 1, 2, 3, 4, 5})
	f.Add([]byte{17, 1, 0x9e, 2, 1, 2, 0x9e, 6, 1, 2, 3, 4, 5, 6, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var p, q Packet
		next, rest, err := p.parseExtensions(b)
		if err != nil {
			return
		}
		if p.ExtensionBytes() == 0 {
			return
		}
		wire := p.appendExtensions(nil, next)
		if len(wire) != int(p.ExtensionBytes()) || len(wire)%8 != 0 || len(wire)+len(rest) > len(b) {
			t.Fatalf("% x takes %d bytes, ExtensionBytes says %d", b, len(wire), p.ExtensionBytes())
		}
		n, rest, err := q.parseExtensions(wire)
		if err != nil || n != next || len(rest) != 0 || !bytes.Equal(p.ext[:p.extLen], q.ext[:q.extLen]) {
			t.Fatalf("% x: %v, % x", wire, err, q.ext[:q.extLen])
		}
	})
}

// TestPFCByHand checks IEEE 802.1Qbb: destination 01-80-C2-00-00-01, type 8808, opcode 0101, class vector, eight times;
// 60 bytes without FCS.
func TestPFCByHand(t *testing.T) {
	for kind, want := range map[Kind]string{
		Pause:  "0180c2000001025700000001880801010008000000000000ffff",
		Resume: "0180c20000010257000000018808010100080000000000000000",
	} {
		t.Run(fmt.Sprint("kind ", kind), func(t *testing.T) {
			p := Packet{Kind: kind, Src: 1, Meta: Metadata{Class: 3}}
			got, err := p.Emit(book(), nil)
			if err != nil || hex.EncodeToString(got) != want+strings.Repeat("00", 60-len(want)/2) {
				t.Errorf("kind %d: %x, %v", kind, got, err)
			}
			q := Packet{Data: got}
			if err := q.Parse(book(), got); err != nil || q.Kind != kind || q.Meta.Class != 3 {
				t.Errorf("kind %d: %v", kind, err)
			}
			if q.Seq != 0 {
				t.Errorf("kind %d: %d quanta; 65535 last until Resume", kind, q.Seq)
			}
			if err := q.Deparse(book()); err != nil || hex.EncodeToString(q.Data[:26]) != want {
				t.Errorf("kind %d after Deparse: %x, %v", kind, q.Data, err)
			}
		})
	}
	for seq, want := range map[int64]string{1: "0001", 1000: "03e8", 65534: "fffe", 65535: "ffff", -1: "ffff"} {
		t.Run(fmt.Sprint(seq, " quanta"), func(t *testing.T) {
			p := Packet{Kind: Pause, Src: 1, Seq: seq, Meta: Metadata{Class: 3}}
			got, err := p.Emit(book(), nil)
			if err != nil || hex.EncodeToString(got[24:26]) != want {
				t.Errorf("%d quanta: %x, %v", seq, got, err)
			}
			q := Packet{Seq: 7}
			if err := q.Parse(book(), got); err != nil || seq > 0 && seq < 65535 && q.Seq != seq || (seq < 1 || seq > 65534) &&
				q.Seq != 0 {
				t.Errorf("%d quanta come as %d, %v", seq, q.Seq, err)
			}
		})
	}
}

// TestOwnByHand checks the header of the transports without a standard one, byte by byte, after the extension of an
// activity.
func TestOwnByHand(t *testing.T) {
	p := Packet{Kind: Nack, Src: 1, Dst: 2, SrcPort: 0x1122, DstPort: 0x3344, Version: 6, Proto: ProtoOwn,
		HopLimit: 9, TOS: 0x2e,
		Seq: 0x0102030405, Ack: 0x060708090a}
	p.SetExtension(ExtActivity, []byte{0x3f, 0x80, 0, 0})
	got, err := p.Emit(book(), nil)
	want := "025700000002" + "025700000001" + "86dd" + "62e00000" + "0018" + "00" + "09" +
		"fd000000000000000000000000000001" + "fd000000000000000000000000000002" +
		"fe00" + "3e043f800000" + "11223344" + "02" + "0102030405" + "060708090a" + "00"
	if err != nil || hex.EncodeToString(got) != want {
		t.Errorf("%v:\n%x, want\n%s", err, got, want)
	}
}

// TestPacket_CarriesICMPUnchanged checks that a switch carries ICMP (RFC 792, RFC 4443) unchanged, except its own
// fields of the IP header.
func TestPacket_CarriesICMPUnchanged(t *testing.T) {
	b := book()
	for _, proto := range []uint8{ProtoICMP, ProtoICMPv6} {
		t.Run(fmt.Sprint("protocol ", proto), func(t *testing.T) {
			echo := []byte{8, 0, 0xf7, 0xff, 0xff, 0xff, 0, 1} // identifier 0xffff, of which the shim would make a kind
			frame := AppendEthernet(nil, MAC(2), MAC(1), EtherIPv4)
			var err error
			if proto == ProtoICMPv6 {
				frame = AppendEthernet(nil, MAC(2), MAC(1), EtherIPv6)
				frame, err = AppendIPv6(frame, b.V6(1), b.V6(2), proto, 0, 64, len(echo))
			} else {
				frame, err = AppendIPv4(frame, b.V4(1), b.V4(2), proto, 0, 64, len(echo))
			}
			if err != nil {
				t.Fatal(err)
			}
			p := Packet{Data: append(frame, echo...), SrcPort: 7, DstPort: 8, Seq: 9, Ack: 10}
			if err := p.Parse(b, p.Data); err != nil {
				t.Fatal(err)
			}
			if p.Kind != Data || p.Payload != 8 || p.Src != 1 || p.Dst != 2 || p.SrcPort|p.DstPort != 0 || p.Seq|p.Ack != 0 {
				t.Errorf("protocol %d: %s", proto, essence(&p))
			}
			p.HopLimit--
			p.TOS |= CE
			if err := p.Deparse(b); err != nil {
				t.Fatal(err)
			}
			checksums(t, p.Data)
			if got := p.Data[len(p.Data)-len(echo):]; string(got) != string(echo) {
				t.Errorf("protocol %d: % x came out", proto, got)
			}
			p.Proto = proto
			if _, err := p.Emit(b, nil); err == nil {
				t.Errorf("protocol %d is made", proto)
			}
		})
	}
}

func TestEmitRefuses(t *testing.T) {
	good := Packet{Src: 1, Dst: 2, Version: 4, Proto: ProtoUDP}
	for want, change := range map[string]func(*Packet){
		"class 8":       func(p *Packet) { p.Kind, p.Meta.Class = Pause, 8 },
		"version 5":     func(p *Packet) { p.Version = 5 },
		"payload of -1": func(p *Packet) { p.Payload = -1 },
		"protocol 253":  func(p *Packet) { p.Proto = 253 },
		"protocol 0":    func(p *Packet) { p.Proto, p.Version = 0, 6 },
		"at most 65535": func(p *Packet) { p.Version, p.Payload = 6, 65536 },
		"the book has":  func(p *Packet) { p.Dst = 3 },
		"not both IPv4": func(p *Packet) { p.Dst = 0 },
	} {
		t.Run(want, func(t *testing.T) {
			p := good
			change(&p)
			want = strings.Replace(want, "at most 65535", "0 to 65535", 1)
			if _, err := p.Emit(book(), nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %q", err, want)
			}
		})
	}
}

func ExamplePacket_Emit() {
	b := NewBook()
	b.Add(netip.MustParseAddr("10.0.0.1"), netip.Addr{})
	b.Add(netip.MustParseAddr("10.0.0.2"), netip.Addr{})
	p := Packet{Src: 1, Dst: 2, SrcPort: 5, DstPort: 6, Version: 4, Proto: ProtoUDP, HopLimit: 64, Payload: 18, Seq: 7}
	frame, err := p.Emit(b, nil)
	var q Packet
	fmt.Println(len(frame), err, q.Parse(b, frame), q.Src, q.Dst, q.Seq)
	// Output: 60 <nil> <nil> 1 2 7
}
