package transport

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/telemetry"
)

// ends returns the two ends of a flow with sealed feedback.
func ends(t testing.TB, f *Flow, key string) (*TelemetryRequester, *TelemetryResponder) {
	t.Helper()
	a := TelemetryOptions{When: AskPacket, Integrity: IntegrityKeyed, Key: key}
	x, err := NewTelemetryRequester(f, a)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewTelemetryResponder(f, cc.Flow{}, a)
	if err != nil {
		t.Fatal(err)
	}
	return &x, &r
}

// answer is an acknowledgement with HPCC's telemetry, sealed.
func answer(r *TelemetryResponder, seq int64) *packet.Packet {
	p := &packet.Packet{Kind: packet.Ack, Proto: packet.ProtoRDMA, Version: 4, SrcPort: 9, DstPort: 7, Seq: seq,
		Ack: seq + 1000}
	f := &telemetry.Format{HPCC: telemetry.HPCC{Multi: 1}}
	f.HPCC.Rates[0] = 25e9
	f.AddRequest(p, telemetry.HopRecords, false)
	f.PushRecord(p, &telemetry.Hop{Time: us, TxBytes: 12800, Queue: 8000, Rate: 25e9, Switch: 3})
	f.MakeAnswer(p)
	r.AddSeal(p)
	r.WriteCode(p)
	return p
}

// TestCodeGolden calculates the code of an acknowledgement by hand: number 8, version and protocol, ports, payload 4,
// kind and flags, sequence and acknowledgement of 40 bits at the upper end of 8 bytes each, then the other extensions
// as they are stored. The flow's key is derived from the text, flow 5 and its ports.
func TestCodeGolden(t *testing.T) {
	_, r := ends(t, &Flow{ID: 5, SrcPort: 7, DstPort: 9}, "secret")
	p := &packet.Packet{Kind: packet.Nack, Proto: packet.ProtoRDMA, Version: 6, SrcPort: 9, DstPort: 7, Seq: 1<<40 +
		0x0102, Ack: 0x0304, TOS: 2, HopLimit: 64, TCP: packet.Segment{Flags: packet.ECE}}
	p.SetExtension(Feedback, []byte{0, 0, 1, 0, 0, 2})
	r.AddSeal(p)
	r.WriteCode(p)
	of := func(key []byte, message string) []byte {
		b, err := hex.DecodeString(message)
		if err != nil {
			t.Fatal(err)
		}
		h := hmac.New(sha256.New, key)
		h.Write(b)
		return h.Sum(nil)
	}
	key := of([]byte("key secret"), hex.EncodeToString([]byte("feedback"))+"00000005"+"0007"+"0009")
	want := hex.EncodeToString(of(key, "0000000000000001"+"06fc"+"00090007"+"00000000"+"0240"+"0000000102000000"+
		"0000000304000000"+"1a06000001000002")[:16])
	b, ok := p.Extension(Authentication)
	if got := hex.EncodeToString(b); !ok || got != "00000001"+want {
		t.Errorf("%s, want 00000001%s", got, want)
	}
	if p.ExtensionBytes() != 32 { // 2 + (2+6) + (2+4+16) in multiples of 8
		t.Errorf("%d bytes", p.ExtensionBytes())
	}
}

// TestForgedFeedback checks draft-miao §9.1: forged or altered feedback, and feedback of another flow or key, is
// refused and changes no state. Genuine feedback is accepted afterwards.
func TestForgedFeedback(t *testing.T) {
	flow := &Flow{ID: 5, SrcPort: 7, DstPort: 9, Seed: 1}
	for name, change := range map[string]func(p *packet.Packet){
		"without a code": func(p *packet.Packet) { p.RemoveExtension(Authentication) },
		"a short code":   func(p *packet.Packet) { p.SetExtension(Authentication, []byte{0, 0, 0, 1}) },
		"zeros":          func(p *packet.Packet) { p.SetExtension(Authentication, make([]byte, numberBytes+codeBytes)) },
		"another number": func(p *packet.Packet) { b, _ := p.Extension(Authentication); b[3]++ },
		"a far number":   func(p *packet.Packet) { b, _ := p.Extension(Authentication); b[0] ^= 0x80 },
		"a code's bit":   func(p *packet.Packet) { b, _ := p.Extension(Authentication); b[19] ^= 1 },
		"kind":           func(p *packet.Packet) { p.Kind = packet.Notice },
		"sequence":       func(p *packet.Packet) { p.Seq += 1000 },
		"acknowledgement": func(p *packet.Packet) {
			p.Ack += 1000
		},
		"echo of a mark": func(p *packet.Packet) { p.TCP.Flags ^= packet.ECE },
		"port":           func(p *packet.Packet) { p.DstPort++ },
		"telemetry": func(p *packet.Packet) {
			b, _ := p.Extension(telemetry.Extension &^ telemetry.Asked)
			b[9] ^= 0x10
		},
		"no telemetry":    func(p *packet.Packet) { p.RemoveExtension(telemetry.Extension &^ telemetry.Asked) },
		"a window beside": func(p *packet.Packet) { p.SetExtension(Feedback, make([]byte, 6)) },
		"another flow's": func(p *packet.Packet) {
			_, r := ends(t, &Flow{ID: 6, SrcPort: 7, DstPort: 9, Seed: 1}, "")
			*p = *answer(r, 0)
		},
		"another seed's": func(p *packet.Packet) {
			_, r := ends(t, &Flow{ID: 5, SrcPort: 7, DstPort: 9, Seed: 2}, "")
			*p = *answer(r, 0)
		},
		"another key's":    func(p *packet.Packet) { _, r := ends(t, flow, "guessed"); *p = *answer(r, 0) },
		"the sender's own": func(p *packet.Packet) { p.SrcPort, p.DstPort = p.DstPort, p.SrcPort },
	} {
		t.Run(name, func(t *testing.T) {
			x, r := ends(t, flow, "")
			p := answer(r, 0)
			forged := *p
			change(&forged)
			number, seen := x.seal.number, x.seal.bitmap
			if x.IsGenuine(&forged) || x.seal.number != number || x.seal.bitmap != seen {
				t.Errorf("%s: taken", name)
			}
			if !x.IsGenuine(p) {
				t.Errorf("%s: the true one is refused afterwards", name)
			}
		})
	}
}

// TestRoutersMayChange checks that the code does not cover fields that routers change.
func TestRoutersMayChange(t *testing.T) {
	x, r := ends(t, &Flow{}, "")
	p := answer(r, 0)
	p.TOS, p.HopLimit, p.Size, p.Hash, p.Sent = 3, 9, 99, 7, us
	if !x.IsGenuine(p) {
		t.Error("refused")
	}
}

// TestReplayedFeedback checks that each number counts once, in any order within 64, also where its lower half wraps
// (RFC 4303 §2.2.1, §3.4.3).
func TestReplayedFeedback(t *testing.T) {
	for _, start := range []uint64{0, 1<<32 - 100, 5<<32 - 3} {
		x, r := ends(t, &Flow{}, "")
		x.seal.number, r.seal.number = start, start
		var all []*packet.Packet
		for i := range 200 {
			all = append(all, answer(r, int64(i)*1000))
		}
		take := func(i int, want bool) {
			if got := x.IsGenuine(all[i]); got != want {
				t.Errorf("from %#x: message %d: %v, want %v", start, i, got, want)
			}
		}
		for _, i := range []int{0, 1, 5, 3, 2, 4} {
			take(i, true)
		}
		for i := range 6 {
			take(i, false)
		}
		take(100, true)
		take(36, false) // 64 below the highest
		take(37, true)
		take(37, false)
		take(99, true)
		take(199, true)
		for i := range 200 {
			take(i, i >= 136 && i != 199)
		}
	}
}

// FuzzSeal_RefusesAnyChange checks that any difference from what the receiver has sealed, in what is read, is refused
// and changes no state.
func FuzzSeal_RefusesAnyChange(f *testing.F) {
	f.Add(uint8(0), uint16(0), uint8(1), int64(0))
	f.Add(uint8(5), uint16(44), uint8(0xff), int64(-1))
	f.Fuzz(func(t *testing.T, kind uint8, at uint16, flip uint8, seq int64) {
		x, r := ends(t, &Flow{Seed: 3}, "")
		p := answer(r, 0)
		forged := *p
		forged.Kind ^= packet.Kind(kind)
		forged.Seq ^= seq
		all := p.AppendExtensions(nil, 0)
		forgedAll := append([]byte(nil), all...)
		forgedAll[int(at)%len(all)] ^= flip
		forged.ClearExtensions()
		for b := forgedAll; len(b) >= 2 && 2+int(b[1]) <= len(b); b = b[2+int(b[1]):] {
			forged.SetExtension(b[0], b[2:2+int(b[1])])
		}
		same := forged.Kind == p.Kind && uint64(forged.Seq)<<24 == uint64(p.Seq)<<24 &&
			string(forged.AppendExtensions(nil, 0)) == string(all)
		if x.IsGenuine(&forged) != same {
			t.Errorf("kind %d, byte %d ^ %#x, sequence %d: taken %v", kind, at, flip, seq, !same)
		}
		if x.IsGenuine(p) == same {
			t.Error("the true one")
		}
	})
}

// TestRoomForCode checks that the longest telemetry fits together with the code, which covers it.
func TestRoomForCode(t *testing.T) {
	for _, format := range []string{"int-md", "ioam", "ifa-ext"} {
		t.Run(format, func(t *testing.T) {
			f, _ := telemetry.NewFormat(format, 1, 1.05, nil)
			x, r := ends(t, &Flow{Telemetry: &f, CC: &cc.Scheme{Telemetry: telemetry.HopRecords}}, "")
			p := &packet.Packet{}
			x.AskIfDue(0, p, 0)
			for i := range f.Hops {
				f.PushRecord(p, &telemetry.Hop{Rate: 1e9, Switch: uint32(i)})
			}
			r.HandleData(0, p, -1)
			r.GiveAnswer(p)
			r.AddSeal(p)
			r.WriteCode(p)
			altered := &packet.Packet{}
			altered.CopyFrom(p)
			altered.Stack()[len(p.Stack())-1] ^= 1
			if x.IsGenuine(altered) {
				t.Error("an altered record is taken")
			}
			var a cc.Ack
			if genuine, read := x.IsGenuine(p), x.ReadFeedback(0, p, &a); !genuine || !read || len(a.Telemetry.Hops) != f.Hops {
				t.Errorf("genuine %v, read %v, %d hops", genuine, read, len(a.Telemetry.Hops))
			}
		})
	}
}

func TestIntegrityErrors(t *testing.T) {
	for _, bad := range []string{"signed", "Keyed"} {
		t.Run(bad, func(t *testing.T) {
			a := TelemetryOptions{When: AskPacket, Packets: 1, Integrity: bad}
			if err := scheme.Validate(&a); err == nil {
				t.Errorf("%s: no error", bad)
			}
		})
	}
	x, err := NewTelemetryRequester(&Flow{}, TelemetryOptions{})
	if err != nil || !x.IsGenuine(&packet.Packet{}) {
		t.Error("without integrity something is refused")
	}
}

func TestSeal_DoesNotAllocate(t *testing.T) {
	x, r := ends(t, &Flow{}, "")
	p := answer(r, 0)
	if n := testing.AllocsPerRun(1000, func() {
		r.AddSeal(p)
		r.WriteCode(p)
		if !x.IsGenuine(p) {
			t.Fatal("refused")
		}
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

// BenchmarkSeal measures what an acknowledgement with HPCC's 42 bytes costs at the receiver. BenchmarkGenuine is the
// same at the sender.
func BenchmarkSeal(b *testing.B) {
	_, r := ends(b, &Flow{}, "")
	p := answer(r, 0)
	b.ReportAllocs()
	for b.Loop() {
		r.AddSeal(p)
		r.WriteCode(p)
	}
}

func BenchmarkGenuine(b *testing.B) {
	x, r := ends(b, &Flow{}, "")
	p := answer(r, 0)
	b.ReportAllocs()
	for b.Loop() {
		r.AddSeal(p)
		r.WriteCode(p)
		if !x.IsGenuine(p) {
			b.Fatal("refused")
		}
	}
}
