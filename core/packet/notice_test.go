package packet

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/core/unit"
)

// about is a segment that is on its way, about which there is a notice.
func about() Packet {
	return Packet{Kind: Data, Src: 1, Dst: 2, SrcPort: 1000, DstPort: 2000, Proto: ProtoTCP, Version: 4, HopLimit: 3,
		Seq: 0x50001000, Ack: 0x2001, Payload: 1448,
		TCP: Segment{Flags: ACK | PSH, Present: HasTimestamps, TSVal: 77, TSEcho: 5000, Window: 64}}
}

// TestNoticeGolden compares with options written by hand from the form in notice.go: kind 253, length, identifier 4e4b,
// version 1 with cause and flags, lost, supply, demand, switch, spans. 1 Gb/s is 10⁶ kbit/s, 1953·2⁹ to the nearest:
// 4fa1.
func TestNoticeGolden(t *testing.T) {
	for _, c := range []struct {
		name string
		n    Notification
		want string
	}{
		{"trimmed", Notification{Lost: 1448, Supply: unit.Gbps, Demand: 2047 * unit.Kbps},
			"fd 0b 4e4b 20 05a8 4fa1 07ff 00"},
		{"reclaimed, of a switch", Notification{Cause: CauseReclaimed, Lost: 1, Supply: 1, Switch: 7, Signed: true},
			"fd 0f 4e4b 25 0001 0001 0000 00000007 00"},
		{"elephant", Notification{Cause: CauseElephant, Demand: 2048 * unit.Kbps}, "fd 0b 4e4b 28 0000 0000 0c00 00"},
		{"marked", Notification{Cause: CauseMarked}, "fd 0b 4e4b 2c 0000 0000 0000 00"},
		{"three packets", Notification{Lost: 1000, More: [MaxSpans]Span{{1000, 1000}, {-2000, 65535}}, Spans: 2},
			"fd 17 4e4b 20 03e8 0000 0000 000003e803e8 fffff830ffff 00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := about()
			p.SwapEnds()
			if p.Payload = 0; !p.SetNotice(&c.n) || !p.IsNotification() || p.HasExtensions() {
				t.Fatalf("%+v does not fit", c.n)
			}
			o := p.TCP.tcpOptions()
			got := hex.EncodeToString(o.Append(nil))
			// time stamps: 5000 − 1024, 77
			want := "0101080a" + "00000f88" + "0000004d" + strings.ReplaceAll(c.want, " ", "")
			if got != want || int32(len(got)/2) != p.TCP.OptionBytes() || len(got) > 80 {
				t.Errorf("%s\nwant %s, %d bytes", got, want, p.TCP.OptionBytes())
			}
		})
	}
}

// TestNoticeSegment checks that the segment is a pure ACK older than the connection: below the sender's expected
// number, with a stamp that PAWS refuses, and acknowledging no data in flight. Addresses and ports are only in its
// header.
func TestNoticeSegment(t *testing.T) {
	p := about()
	p.SwapEnds()
	p.Payload = 0
	p.SetNotice(&Notification{Lost: 1448})
	if seq, stamp := p.NoticeSubject(); seq != 0x50001000 || stamp != 77 {
		t.Errorf("about %#x, stamp %d", seq, stamp)
	}
	s := p.TCP
	if p.Seq != 0x2000 || p.Ack != 0x10001000 || s.Flags != ACK || s.Window != 0 || int32(5000-s.TSVal) <= 1 ||
		p.Src != 2 || p.SrcPort != 2000 {
		t.Errorf("%+v", p)
	}
	other := about()
	other.Src, other.Dst, other.SrcPort, other.DstPort = 3, 4, 3000, 4000
	other.SwapEnds()
	other.SetNotice(&Notification{Lost: 1448})
	if other.TCP != p.TCP {
		t.Error("the option depends on addresses or ports")
	}
}

// TestNoticeOnTheWire checks that with either version of IP a notice is read from a frame as it was written, with right
// checksums.
func TestNoticeOnTheWire(t *testing.T) {
	b0 := book()
	for _, version := range []uint8{4, 6} {
		for spans := range uint8(3) {
			t.Run(fmt.Sprint(version, " with ", spans), func(t *testing.T) {
				p := about()
				p.Version = version
				p.SwapEnds()
				want := Notification{Cause: CauseReclaimed, Lost: 1448, Supply: 1024 * unit.Kbps, Signed: true, Switch: 9,
					More: [MaxSpans]Span{{1448, 1448}, {-1448, 7}}, Spans: spans}
				for i := spans; i < 2; i++ {
					want.More[i] = Span{}
				}
				p.Payload = 0
				p.SetNotice(&want)
				b, err := p.Emit(b0, nil)
				if err != nil {
					t.Fatal(err)
				}
				if int32(len(b)) != p.Headers() || checkedSegment(b, version) != 0 {
					t.Errorf("%d bytes, headers say %d; checksum off by %#x", len(b), p.Headers(), checkedSegment(b, version))
				}
				var q Packet
				var n Notification
				if err := q.Parse(b0, b); err != nil || q.Kind != Nack || !q.Notification(&n) || n != want || q.Payload != 0 {
					t.Fatalf("%+v, %+v, %v", q, n, err)
				}
				if seq, stamp := q.NoticeSubject(); uint32(seq) != 0x50001000 || stamp != 77 {
					t.Errorf("about %#x, stamp %d", seq, stamp)
				}
				frame := string(b)
				q.Data = b
				q.DecrementHopLimit()
				if q.Deparse(b0) != nil || len(q.Data) != len(frame) || checkedSegment(q.Data, version) != 0 ||
					string(q.Data) == frame {
					t.Error("a switch on its way does not pass it on")
				}
			})
		}
	}
	var n Notification
	n.Spans = OptionSpans(false) + 1
	if p := about(); p.SetNotice(&n) || p.IsNotification() {
		t.Error("a notice with more spans than there is room for is set")
	}
}

// checkedSegment is 0 if the TCP checksum of a frame is right.
func checkedSegment(b []byte, version uint8) uint16 {
	if version == 6 {
		h := IPv6(b[EthernetHeader:])
		return Checksum(Sum(pseudoSum(h.Src(), h.Dst(), ProtoTCP, len(h)-IPv6Header), h[IPv6Header:]))
	}
	h := IPv4(b[EthernetHeader:])
	return Checksum(Sum(pseudoSum(h.Src(), h.Dst(), ProtoTCP, len(h.Payload())), h.Payload()))
}

// TestNotNotice checks that a host's packet with the option is a notice only if it is a pure ACK with time stamps, of a
// notice's length and of Weir's experiment.
func TestNotNotice(t *testing.T) {
	good := "fd0b4e4b2005a8000000000000"[:22]
	for name, c := range map[string]struct {
		option string
		change func(p *Packet)
		is     bool
	}{
		"a notice":           {good, func(*Packet) {}, true},
		"with payload":       {good, func(p *Packet) { p.Payload = 1 }, false},
		"of a handshake":     {good, func(p *Packet) { p.TCP.Flags |= SYN }, false},
		"with PSH":           {good, func(p *Packet) { p.TCP.Flags |= PSH }, false},
		"no time stamps":     {good, func(p *Packet) { p.TCP.Present = 0 }, false},
		"another experiment": {"fd0b4e4c" + good[8:], func(*Packet) {}, false},
		"kind 254":           {"fe" + good[2:], func(*Packet) {}, false},
		"too short":          {"fd0a4e4b2005a8000000", func(*Packet) {}, false},
		"identifier only":    {"fd044e4b", func(*Packet) {}, false},
		"no identifier":      {"fd02", func(*Packet) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := about()
			p.Payload, p.TCP.Flags = 0, ACK
			c.change(&p)
			b, err := hex.DecodeString(c.option)
			if err != nil {
				t.Fatal(err)
			}
			o := p.TCP.tcpOptions()
			o.unknownLen = uint8(copy(o.unknown[:], b))
			frame, err := AppendTCP(nil, SegmentHeader{Flags: p.TCP.Flags, Options: o.Append(nil)})
			if err != nil {
				t.Fatal(err)
			}
			var q Packet
			if err := q.parseTCP(TCP(frame), int(p.Payload)); err != nil || q.IsNotification() != c.is {
				t.Errorf("%v, notifies: %t", err, q.IsNotification())
			}
		})
	}
}

// TestShortRates checks that rates are at most 1/2048 off, keep their order, and are read as they were written.
func TestShortRates(t *testing.T) {
	last := uint16(0)
	for _, r := range []unit.Rate{0, 1, unit.Kbps, 2047 * unit.Kbps, 2048 * unit.Kbps, 4095 * unit.Kbps, 4097 * unit.Kbps,
		unit.Gbps, 10 * unit.Gbps, 800 * unit.Gbps, 4 * unit.Tbps, math.MaxInt64} {
		v := encodeShortRate(r)
		back, ok := decodeShortRate(v)
		if !ok || v < last || r >= unit.Kbps && r < math.MaxInt64 && math.Abs(float64(back)/float64(r)-1) > 1./2048 ||
			encodeShortRate(back) != v && r < math.MaxInt64 {
			t.Errorf("%v: %#04x, back %v", r, v, back)
		}
		last = v
	}
	if _, ok := decodeShortRate(1<<11 | 1023); ok {
		t.Error("a mantissa too small for its exponent is read")
	}
}

func FuzzNotification_RoundTripsNoticeOption(f *testing.F) {
	for _, text := range []string{"2005a84fa107ff", "250001000100000000000700",
		"2003e800000000000003e803e8fffff830ffff", "20", ""} {
		b, _ := hex.DecodeString(text)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > noticeRoom {
			return
		}
		p, q := about(), about()
		p.Payload, p.TCP.Flags, q.Payload = 0, ACK, 0
		p.TCP.takeNotice(append([]byte{253, uint8(4 + len(b)), 0x4e, 0x4b}, b...))
		var n, again Notification
		if !p.Notification(&n) {
			return
		}
		if !q.SetNotice(&n) || !q.Notification(&again) || n != again {
			t.Fatalf("%x: %+v, again %+v", b, n, again)
		}
		var one, two [noticeRoom + 4]byte
		if string(p.TCP.noticeData(&one)) != string(q.TCP.noticeData(&two)) || string(b) != string(p.TCP.noticeData(&one)) {
			t.Errorf("%x comes back as %x", b, q.TCP.noticeData(&two))
		}
	})
}
