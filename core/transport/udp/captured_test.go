package udp

import (
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// script is a flow of three datagrams.
func script(version uint8) transport.Flow {
	return transport.Flow{Start: unit.Second, Size: 16 + 1472 + 500, Payload: 1472, Version: version, Stop: unit.Never,
		SrcPort: 7, DstPort: 8, Framing: packet.Framings[0],
		Script: &transport.Script{{Payload: 16}, {Payload: 1472}, {Offset: unit.Millisecond, Payload: 500}}}
}

// TestCapturedSender_ReplaysCapture checks that a capture's datagrams are sent at its times, or as soon as possible,
// and the flow has no others.
func TestCapturedSender_ReplaysCapture(t *testing.T) {
	f := script(6)
	s, r, err := newCaptured(f, capturedConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range *f.Script {
		if at := s.NextSend(); at != unit.Second+d.Offset {
			t.Fatalf("datagram %d is due at %v", i, at)
		}
		now := unit.Second + d.Offset + unit.Microsecond
		p := &packet.Packet{}
		s.Emit(now, p)
		if p.Payload != d.Payload || p.Seq != int64(i) || p.Version != 6 || p.Proto != packet.ProtoUDP ||
			p.Size != packet.Framings[0].FrameBytes(14+40+8, d.Payload, true) {
			t.Errorf("%+v", p)
		}
		r.Receive(now, p)
	}
	const last = unit.Second + unit.Millisecond + unit.Microsecond
	if s.NextSend() != unit.Never || s.Counters().Finished != last || r.Counters().Finished != last ||
		s.Counters().SentBytes != f.Size || s.NextTimer() != unit.Never {
		t.Errorf("%+v\n%+v", s.Counters(), r.Counters())
	}
	f.Stop = unit.Second + 500*unit.Microsecond
	if s, _, _ = newCaptured(f, capturedConfig{}); s.NextSend() != unit.Second {
		t.Error("it does not begin")
	}
	for range 2 {
		s.Emit(unit.Second, &packet.Packet{})
	}
	if s.NextSend() != unit.Never {
		t.Error("it goes on behind its stop")
	}
}

// TestBadCaptured checks that values that no capture has are errors.
func TestBadCaptured(t *testing.T) {
	for want, change := range map[string]func(f *transport.Flow){
		"without datagrams":                      func(f *transport.Flow) { f.Script = nil },
		"datagram 0 of a capture has 15 bytes":   func(f *transport.Flow) { (*f.Script)[0].Payload = 15 },
		"datagram 1 of a capture has 1472 bytes": func(f *transport.Flow) { f.Payload = 1471 },
		"500 bytes of payload, -1ps after":       func(f *transport.Flow) { (*f.Script)[2].Offset = -1 },
	} {
		t.Run(want, func(t *testing.T) {
			f := script(4)
			change(&f)
			if _, _, err := newCaptured(f, capturedConfig{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
	if c := (&capturedConfig{Weir: true}); !c.Traits().OwnStack || Scheme().Captured.Name != "udp" {
		t.Error("it is not udp")
	}
}
