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

// TestBoltGolden checks Weir's form: flags, time, queue and link.
func TestBoltGolden(t *testing.T) {
	for _, c := range []struct {
		h    Bolt
		want string
		kept Bolt
	}{
		{Bolt{Flags: BoltIncrease, Sent: 8000}, "04 00001f40 00000000 000000", Bolt{Flags: BoltIncrease, Sent: 8000}},
		{Bolt{BoltFirst | BoltLast | BoltDecrease | BoltNotified, math.MaxUint32, 3000, 100 * unit.Gbps},
			"1b ffffffff 00000bb8 0186a0", Bolt{BoltFirst | BoltLast | BoltDecrease | BoltNotified, math.MaxUint32, 3000,
				100 * unit.Gbps}},
		{Bolt{Flags: BoltDecrease, Queue: 1 << 40, Link: 1}, "08 00000000 ffffffff 000001",
			Bolt{Flags: BoltDecrease, Queue: math.MaxUint32, Link: unit.Mbps}}, // a rate that is not 0 stays so
		{Bolt{Queue: -1, Link: 100 * unit.Tbps}, "00 00000000 00000000 ffffff", Bolt{Link: (1<<24 - 1) * unit.Mbps}},
	} {
		t.Run(c.want, func(t *testing.T) {
			for kind, answer := range map[uint8]bool{ExtBolt: false, ExtBoltAnswer: true} {
				var p Packet
				if !p.SetBolt(&c.h, answer) {
					t.Fatalf("%+v does not fit", c.h)
				}
				b, _ := p.Extension(kind)
				if got := hex.EncodeToString(b); got != strings.ReplaceAll(c.want, " ", "") {
					t.Errorf("%+v: %s", c.h, got)
				}
				var h, other Bolt
				if !p.Bolt(&h, answer) || h != c.kept || p.Bolt(&other, !answer) {
					t.Errorf("answer %v: %+v, want %+v", answer, h, c.kept)
				}
				if p.HasHotExtension(ExtBolt) == answer { // what switches look at
					t.Errorf("answer %v: asks %v", answer, p.HasHotExtension(ExtBolt))
				}
			}
		})
	}
	if n := (&Packet{}).ExtensionBytes(); n != 0 {
		t.Errorf("%d bytes without one", n)
	}
	p := Packet{}
	p.SetBolt(&Bolt{}, false)
	if n := p.ExtensionBytes(); n != 16 {
		t.Errorf("data has %d bytes more, want 16", n)
	}
	if ExtBolt>>5 != 1 || ExtBoltAnswer>>5 != 0 {
		t.Error("the header of data changes en route (RFC 8200 §4.2: 001), that of answers does not (000)")
	}
}

// TestNotBolt checks that another length, or unknown flags, are no Bolt header.
func TestNotBolt(t *testing.T) {
	for _, text := range []string{"", "04 00001f40 00000000 0000", "04 00001f40 00000000 00000000",
		"20 00001f40 00000000 000000"} {
		t.Run(cmp.Or(text, "empty"), func(t *testing.T) {
			var p Packet
			var h Bolt
			b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
			if err != nil || !p.SetExtension(ExtBolt, b) {
				t.Fatal(err)
			}
			if p.Bolt(&h, false) {
				t.Errorf("%s is read as %+v", text, h)
			}
		})
	}
}

// TestBoltAnswer checks that the answer has exactly the data's fields, after the codec, too.
func TestBoltAnswer(t *testing.T) {
	for _, version := range []uint8{4, 6} {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			p := Packet{Kind: Data, Src: 1, Dst: 2, SrcPort: 1000, DstPort: 2000, Proto: ProtoRDMA, Version: version,
				Payload: 64, HopLimit: 3}
			want, h := Bolt{BoltDecrease, 77, 3000, 10 * unit.Gbps}, Bolt{}
			p.SetExtension(ExtActivity, []byte{1, 2, 3, 4})
			p.SetBolt(&want, false)
			b, err := p.Emit(book(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var q Packet
			if err := q.Parse(book(), b); err != nil || !q.Bolt(&h, false) || h != want || !q.HasHotExtension(ExtBolt) {
				t.Fatalf("%+v, %v", h, err)
			}
			q.AnswerBolt()
			if _, there := q.Extension(ExtActivity); there || !q.Bolt(&h, true) || h != want || q.HasHotExtension(ExtBolt) ||
				q.ExtensionBytes() != 16 {
				t.Errorf("the answer is %+v, of %d bytes", h, q.ExtensionBytes())
			}
			q.AnswerBolt() // of a packet without the data's header nothing is left
			if q.HasExtensions() {
				t.Error("an answer answered")
			}
		})
	}
}

func FuzzBolt_RoundTripsExtension(f *testing.F) {
	f.Add([]byte{4, 0, 0, 0x1f, 0x40, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0x1b, 255, 255, 255, 255, 0, 0, 0xb, 0xb8, 1, 0x86, 0xa0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var p, q Packet
		var h, again Bolt
		if len(b) > 190 || !p.SetExtension(ExtBolt, b) || !p.Bolt(&h, false) {
			return
		}
		if !q.SetBolt(&h, false) || !q.Bolt(&again, false) || h != again {
			t.Errorf("%x: %+v, again %+v", b, h, again)
		}
		if c, _ := q.Extension(ExtBolt); string(c) != string(b) {
			t.Errorf("%x becomes %x", b, c)
		}
	})
}
