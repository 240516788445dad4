package p4te

import (
	"bytes"
	"encoding/hex"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

var (
	short = Header{Source: 0x0123456789ab, Scale: unknownScale}
	long  = Header{Source: 0xffffffffffff, Scale: 7, Allowed: true, Rated: true, Stamped: true, Ack: 0xfffffff0, Seq: 1,
		TSVal: 0x01020304, TSEcho: 0xa0b0c0d0, Window: 501}
	fake = Header{Source: 1, Scale: 10, Fake: true, Applied: true, Rated: true, Ack: 0x1234}
)

// TestHeaderGolden checks the forms byte by byte: version 1 in the upper three bits, flags stamped 16, rated 8, fake 4,
// applied 2, allowed 1; scale; 48 bits of T^Source in ns; acknowledgement, sequence, time stamps, window, two bytes of
// 0.
func TestHeaderGolden(t *testing.T) {
	for _, c := range []struct {
		name string
		h    Header
		want string
	}{
		{"before the first ACK", short, "20ff0123456789ab"},
		{"rated", long, "3907ffffffffffff" + "fffffff0" + "00000001" + "01020304" + "a0b0c0d0" + "01f5" + "0000"},
		{"fake", fake, "2e0a000000000001" + "00001234" + "00000000" + "00000000" + "00000000" + "0000" + "0000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p packet.Packet
			if !c.h.WriteTo(&p) {
				t.Fatalf("%s: no room", c.name)
			}
			b, _ := p.Extension(HeaderKind)
			if got := hex.EncodeToString(b); got != c.want {
				t.Errorf("%s:\n%s, want\n%s", c.name, got, c.want)
			}
			var back Header
			if !back.ReadFrom(&p) || back != c.h {
				t.Errorf("%s: reads back as %+v, want %+v", c.name, back, c.h)
			}
		})
	}
	var p packet.Packet
	if !putFeedback(&p, []Event{{QueueDepth, Increase, 3, 40}, {Utilisation, Decrease, 3, 1}}) {
		t.Fatal("no room for feedback")
	}
	b, _ := p.Extension(FeedbackKind)
	if got, want := hex.EncodeToString(b), "010100030000000000000028"+"020200030000000000000001"; got != want {
		t.Errorf("feedback %s, want %s", got, want)
	}
}

// TestHeaderOverhead checks that a frame grows by 16 bytes with the short header and by 32 with the long one. This is
// head and padding of the option, in a hop-by-hop header (RFC 8200 §4.2) or over IPv4 a shim of the same form. Of a
// full frame of 1514 B that is 1.1 % and 2.1 %.
func TestHeaderOverhead(t *testing.T) {
	for _, c := range []struct {
		h    Header
		want int32
	}{{short, 16}, {long, 32}, {fake, 32}} {
		var p packet.Packet
		c.h.WriteTo(&p)
		if got := p.ExtensionBytes(); got != c.want {
			t.Errorf("%+v takes %d bytes, want %d", c.h, got, c.want)
		}
	}
}

// TestHeaderDamaged checks that a damaged header is no header.
func TestHeaderDamaged(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "short": "20ff0123456789", "long": "20ff0123456789ab00", "version": "40ff0123456789ab",
		"version 0":   "00ff0123456789ab",
		"rated, cut":  "2807ffffffffffff",
		"reserved":    "2807ffffffffffff" + "fffffff0" + "00000001" + "01020304" + "a0b0c0d0" + "01f5" + "0001",
		"only stamps": "3007ffffffffffff",
	} {
		t.Run(name, func(t *testing.T) {
			b, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			var p packet.Packet
			p.SetExtension(HeaderKind, b)
			var h Header
			if h.ReadFrom(&p) {
				t.Errorf("%s: taken as %+v", name, h)
			}
			if _, ok := restamp(&p, 1); ok && name != "reserved" && name != "only stamps" {
				t.Errorf("%s: it is stamped", name)
			}
		})
	}
	for name, text := range map[string]string{"no feedback": "", "feedback, cut": "0101000300000000000000",
		"three events":     "010100030000000000000028010100030000000000000028010100030000000000000028",
		"feedback, metric": "040100030000000000000028", "feedback, change": "010300030000000000000028"} {
		t.Run(name, func(t *testing.T) {
			b, _ := hex.DecodeString(text)
			var p packet.Packet
			p.SetExtension(FeedbackKind, b)
			var e [2]Event
			if n, ok := parseFeedback(&p, &e); ok {
				t.Errorf("%s: %d events", name, n)
			}
		})
	}
	if _, ok := parseFeedback(new(packet.Packet), new([2]Event)); ok {
		t.Error("feedback without any is taken")
	}
}

// TestSourceWraps checks that T^Source, 48 bits of ns or 78 hours, gives right differences up to half of that, across
// its wrap and with clocks ahead of the local one. Times are rounded down to whole ns, below zero as well.
func TestSourceWraps(t *testing.T) {
	const us = unit.Microsecond
	for _, c := range []struct{ from, to, want unit.Time }{
		{5 * us, 8 * us, 3 * us},
		{8 * us, 5 * us, -3 * us}, // the neighbour's clock is ahead
		{1<<48*unit.Nanosecond - us, 1<<48*unit.Nanosecond + 2*us, 3 * us},
		{-us, 2 * us, 3 * us},
		{0, 1499, unit.Nanosecond},
		{-1500, -1, unit.Nanosecond},
		{-1, 0, unit.Nanosecond},
		{0, 1<<47*unit.Nanosecond - unit.Nanosecond, 1<<47*unit.Nanosecond - unit.Nanosecond},
	} {
		if got := stampDifference(stampOf(c.from), stampOf(c.to)); got != c.want {
			t.Errorf("from %v to %v: %v, want %v", c.from, c.to, got, c.want)
		}
	}
}

// FuzzHeader_RoundTripsBytes checks that bytes accepted as a header are written back unchanged.
func FuzzHeader_RoundTripsBytes(f *testing.F) {
	for _, h := range []Header{short, long, fake} {
		var room [headerLong]byte
		f.Add(room[:h.encode(&room)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p packet.Packet
		if !p.SetExtension(HeaderKind, b) {
			return
		}
		var h Header
		if !h.ReadFrom(&p) {
			return
		}
		var room [headerLong]byte
		if again := room[:h.encode(&room)]; !bytes.Equal(again, b) {
			t.Errorf("%x is %+v, which is written as %x", b, h, again)
		}
		const source = 0xa1b2c3d4e5f6
		old, ok := restamp(&p, source)
		again := h
		again.Source = source
		if !ok || old != h.Source || !h.ReadFrom(&p) || h != again {
			t.Errorf("%x: stamped anew (%v, was %#x) it is %+v, want %+v", b, ok, old, h, again)
		}
	})
}

// FuzzFeedback_RoundTripsBytes checks that bytes accepted as feedback are written back unchanged.
func FuzzFeedback_RoundTripsBytes(f *testing.F) {
	var p packet.Packet
	putFeedback(&p, []Event{{Delay, Decrease, 7, -5}, {Utilisation, Increase, 2, 2}})
	b, _ := p.Extension(FeedbackKind)
	f.Add(bytes.Clone(b))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p packet.Packet
		if !p.SetExtension(FeedbackKind, b) {
			return
		}
		var e [2]Event
		n, ok := parseFeedback(&p, &e)
		if !ok {
			return
		}
		var q packet.Packet
		if again := putFeedback(&q, e[:n]); !again || n == 0 {
			t.Fatalf("%x: %d events that cannot be written", b, n)
		}
		if again, _ := q.Extension(FeedbackKind); !bytes.Equal(again, b) {
			t.Errorf("%x is written as %x", b, again)
		}
	})
}
