package uet

import (
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestLateTurns checks that with ask_late a flow with late turns at its NIC requests an acknowledgement of each packet.
// At that pace four packets, which the receiver acknowledges unasked, take more than a share of the timeout. Time spent
// waiting for the window is no turn.
func TestLateTurns(t *testing.T) {
	for _, c := range []struct {
		share float64
		gap   unit.Time
		asks  bool
	}{{0.5, 4 * us, false}, {0.5, 6 * us, true}, {1, 6 * us, false}, {1, 12 * us, true}, {0, 500 * us, false}} {
		s, _ := both(t, 1_000_000, func(x *Config) {
			x.AckBytes, x.RTOBase, x.RTOQueues, x.AskLate = 4200, 40*us, 0, c.share
		})
		for i := range unit.Time(4) {
			p, now := &packet.Packet{Src: 2, Dst: 1}, us+i*c.gap
			if s.NextSend() > now {
				t.Fatal("nothing to send")
			}
			s.Emit(now, p)
			if got := p.TCP.Flags&asks != 0; got != (c.asks && i > 0) {
				t.Errorf("%v of a timeout, packet %d after %v: asks %v", c.share, i, c.gap, got)
			}
		}
	}
	s, _ := both(t, 1_000_000, func(x *Config) { x.AskLate = 0.5 })
	n := int64(len(sent(s, 0)))
	deliver(s, 500*us, answer{caused: n - 1, expected: n, got: n * 1050})
	if all := sent(s, 500*us); len(all) < 2 || all[0].TCP.Flags&asks != 0 {
		t.Errorf("%d packets after a wait for the window, of which the first asks", len(all))
	}
}

// TestWaitsForCredit checks that a flow that waits for credit requests it after a timeout, in case a PULL was lost,
// then after twice that, and so on. It first waits twice as long as for the latest credit, since its receiver may have
// many other flows.
func TestWaitsForCredit(t *testing.T) {
	s, _ := both(t, 1_000_000, func(c *Config) { c.Control = byReceiver })
	pull := func(now unit.Time, units int64) {
		p := &packet.Packet{Src: 1, Dst: 2, Seq: units}
		e := s.ends
		e.src, e.dst = s.dst, s.src
		e.fillHeaders(p, packet.Notice, s.first, false, 0, 0)
		s.Receive(now, p)
	}
	// heard acknowledges all that is out, at once
	heard := func(now unit.Time) {
		deliver(s, now, answer{caused: s.next - 1, expected: s.next, got: s.got + s.inFlight})
	}
	sent(s, 0)
	now := us
	heard(now)
	for i := range 4 {
		want := now + s.timer.Floor<<i
		if s.NextTimer() != want {
			t.Fatalf("request %d: at %v, want %v", i, s.NextTimer(), want)
		}
		now = want
		s.Advance(now)
		if all := sent(s, now); len(all) != 1 || all[0].Payload != 0 {
			t.Fatalf("request %d: %d packets", i, len(all))
		}
		heard(now)
	}
	gap := 10 * s.timer.Floor
	for i := range int64(2) {
		now += gap
		pull(now, 64*(i+1))
		sent(s, now)
		heard(now)
	}
	if want := now + 2*gap; s.NextTimer() != want {
		t.Errorf("after PULLs %v apart it asks at %v, want %v", gap, s.NextTimer(), want)
	}
}
