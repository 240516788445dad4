package packet

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/core/unit"
)

// TestNotificationGolden checks Weir's form; option type and discarding are from RFC 8200 §4.2 and RFC 4727 §3.5.
func TestNotificationGolden(t *testing.T) {
	if ExtNotification>>6 != 1 || ExtNotification>>5&1 != 0 {
		t.Errorf("option type %#x: a host that does not know it must discard the packet silently (01), and it does not "+
			"change en route (0)", ExtNotification)
	}
	for _, c := range []struct {
		n    Notification
		want string
	}{
		{Notification{Lost: 1448, Supply: 5 * unit.Gbps, Demand: 10 * unit.Gbps}, "10 00 05a8 004c4b40 00989680"},
		{Notification{Cause: CauseReclaimed, Lost: 1, Switch: 7, Signed: true}, "11 01 0001 00000000 00000000 00000007"},
		{Notification{Cause: CauseElephant, Supply: 1, Demand: math.MaxInt64}, "10 02 0000 00000001 ffffffff"},
		{Notification{Lost: 1000, More: [MaxSpans]Span{{1000, 1000}, {-2000, 65535}}, Spans: 2},
			"10 00 03e8 00000000 00000000 000003e803e8 fffff830ffff"},
	} {
		t.Run(c.want, func(t *testing.T) {
			var p Packet
			if p.IsNotification() || !p.SetNotification(&c.n) || !p.IsNotification() {
				t.Fatalf("%+v does not fit", c.n)
			}
			b, _ := p.Extension(ExtNotification)
			want := ""
			for _, r := range c.want {
				if r != ' ' {
					want += string(r)
				}
			}
			if got := hex.EncodeToString(b); got != want {
				t.Errorf("%+v: %s, want %s", c.n, got, want)
			}
		})
	}
}

// TestNotNotification checks that invalid options are no notice: too short, another version, unknown flags and causes,
// half a span, an empty span, too many spans.
func TestNotNotification(t *testing.T) {
	head := "10 00 05a8 00000000 00000000 "
	for _, text := range []string{"", "10 00 05a8 00000000 000000", "20 00 05a8 00000000 00000000",
		"12 00 05a8 00000000 00000000", "10 04 05a8 00000000 00000000",
		"11 00 05a8 00000000 00000000 000000", head + "000003e8", head + "000003e80000", head + strings.Repeat("000003e803e8",
			MaxSpans+1)} {
		t.Run(cmp.Or(text, "empty"), func(t *testing.T) {
			var p Packet
			var n Notification
			b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
			if err != nil || !p.SetExtension(ExtNotification, b) {
				t.Fatal(err)
			}
			if p.Notification(&n) {
				t.Errorf("%s is read as %+v", text, n)
			}
		})
	}
}

// TestNotificationOnTheWire checks that a data packet that a switch returns is a NACK after the codec too, with either
// version of IP, and no ICMP (RFC 6633).
func TestNotificationOnTheWire(t *testing.T) {
	b0 := book()
	for _, version := range []uint8{4, 6} {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			for _, proto := range []uint8{ProtoTCP, ProtoRDMA} {
				p := Packet{Kind: Nack, Src: 1, Dst: 2, SrcPort: 1000, DstPort: 2000, Proto: proto, Version: version, Seq: 14480,
					HopLimit: 3}
				if proto == ProtoTCP {
					p.TCP = Segment{Flags: ACK, Present: HasTimestamps, TSVal: 77, TSEcho: 66, Window: 64}
				}
				p.Hash = FlowHash(1, 2, 1000, 2000, proto)
				p.SwapEnds()
				if p.Src != 2 || p.Dst != 1 || p.SrcPort != 2000 || p.DstPort != 1000 || p.HopLimit != 64 ||
					p.Hash != FlowHash(2, 1, 2000, 1000, proto) {
					t.Errorf("turned round: %+v", p)
				}
				want := Notification{Lost: 1448, Supply: unit.Gbps}
				p.SetNotification(&want)
				b, err := p.Emit(b0, nil)
				if err != nil {
					t.Fatal(err)
				}
				var q Packet
				var n Notification
				if err := q.Parse(b0, b); err != nil || q.Kind != Nack || !q.Notification(&n) || n != want || q.Seq != p.Seq ||
					q.TCP.TSVal != p.TCP.TSVal || q.Proto != proto || q.Payload != 0 {
					t.Errorf("IPv%d, protocol %d: %+v, %+v, %v", version, proto, q, n, err)
				}
			}
		})
	}
}

func FuzzNotification_RoundTripsExtension(f *testing.F) {
	f.Add([]byte{0x10, 0, 5, 0xa8, 0, 0, 0, 1, 0, 0, 0, 2})
	f.Add([]byte{0x11, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 3, 0xe8, 3, 0xe8})
	f.Fuzz(func(t *testing.T, b []byte) {
		var p, q Packet
		if len(b) > 190 || !p.SetExtension(ExtNotification, b) {
			return
		}
		var n, again Notification
		if !p.Notification(&n) {
			return
		}
		if !q.SetNotification(&n) || !q.Notification(&again) || n != again {
			t.Errorf("%x: %+v, again %+v", b, n, again)
		}
		if c, _ := q.Extension(ExtNotification); string(c) != string(b) {
			t.Errorf("%x comes back as %x", b, c)
		}
	})
}
