package window

import (
	"fmt"
	"testing"

	"weir/core/packet"
	"weir/core/transport/transporttest/flowtest"
	"weir/core/unit"
)

// pipe joins the two endpoints over a path of a delay each way, with losses as lose reports them. It returns the number
// of data packets sent and the time of the end.
func pipe(t *testing.T, s *Sender, r *Receiver, lose func(data bool, n int) bool) (sent int, end unit.Time) {
	t.Helper()
	type flight struct {
		at unit.Time
		p  *packet.Packet
	}
	var air []flight
	now, n := unit.Time(0), [2]int{}
	const delay, service = 10 * unit.Microsecond, 100 * unit.Nanosecond
	free := unit.Time(0)
	for step := 0; s.Counters().Finished == unit.Never; step++ {
		if step > 100000 {
			t.Fatalf("the flow does not end: %+v", *s.Counters())
		}
		next := s.NextTimer()
		send := max(s.NextSend(), free)
		if s.NextSend() == unit.Never {
			send = unit.Never
		}
		arrive := unit.Never
		if len(air) > 0 {
			arrive = air[0].at
		}
		switch now = max(now, min(next, send, arrive)); {
		case arrive <= min(next, send):
			f := air[0]
			air = air[1:]
			data := f.p.Kind == packet.Data
			n[b(data)]++
			if lose != nil && lose(data, n[b(data)]) {
				continue
			}
			if !data {
				s.Receive(now, f.p)
			} else if r.Receive(now, f.p) {
				air = append(air, flight{now + delay, f.p})
			}
		case send <= next:
			p := &packet.Packet{Sent: now}
			s.Emit(now, p)
			sent++
			free = now + service
			air = append(air, flight{now + delay, p})
		default:
			s.Advance(now)
		}
	}
	return sent, now
}

func b(x bool) int {
	if x {
		return 1
	}
	return 0
}

// TestSender_WindowLimitsFlight checks that at most a window is in flight, and one window goes per round trip.
func TestSender_WindowLimitsFlight(t *testing.T) {
	s, r := New(flowtest.NewFlow(1_000_000), 50, unit.Millisecond)
	sent, end := pipe(t, s, r, nil)
	// 20 windows of 50 packets; a round trip is 20 µs, one packet 0.1 µs
	if rounds := float64(end) / float64(20*unit.Microsecond); sent != 1000 || rounds < 20 || rounds > 21 {
		t.Errorf("%d packets in %.2f round trips; 1000 in 20 were expected", sent, rounds)
	}
	s, _ = New(flowtest.NewFlow(1_000_000), 7, unit.Millisecond)
	for n := 0; s.NextSend() != unit.Never; n++ {
		if n == 7 {
			t.Fatal("more than the window is sent without acknowledgement")
		}
		s.Emit(0, &packet.Packet{})
	}
}

// TestSender_DeliversAllUnderLoss checks that all bytes arrive once, for any lost packets, data or acknowledgements.
func TestSender_DeliversAllUnderLoss(t *testing.T) {
	for seed := range uint64(30) {
		random := unit.NewRandom(seed, "loss")
		rate := float64(seed) / 60
		size := unit.Bytes(1 + random.IntN(200_000))
		s, r := New(flowtest.NewFlow(size), 1+random.IntN(40), 100*unit.Microsecond)
		sent, _ := pipe(t, s, r, func(bool, int) bool { return random.Float64() < rate })
		if c := r.Counters(); c.ReceivedBytes != size || c.Finished == unit.Never {
			t.Errorf("seed %d: %d of %d bytes", seed, c.ReceivedBytes, size)
		}
		if c := s.Counters(); c.SentBytes != size || int64(sent) != c.SentPackets ||
			c.Retransmitted != c.SentPackets-int64((size+999)/1000) {
			t.Errorf("seed %d: sender counts %+v for %d packets", seed, *c, sent)
		}
	}
}

// TestGoBackN checks that a single loss in a window costs one NACK and one window, not a timeout.
func TestGoBackN(t *testing.T) {
	s, r := New(flowtest.NewFlow(100_000), 20, 10*unit.Millisecond)
	sent, end := pipe(t, s, r, func(data bool, n int) bool { return data && n == 30 })
	if end > 200*unit.Microsecond || sent <= 100 || sent > 120 {
		t.Errorf("%d packets sent, end at %v", sent, end)
	}
}

// TestSender_TimeoutDoublesUntilProgress checks that the timeout doubles up to 64 times, and that a new acknowledgement
// resets it.
func TestSender_TimeoutDoublesUntilProgress(t *testing.T) {
	s, _ := New(flowtest.NewFlow(10_000), 5, unit.Millisecond)
	s.Emit(0, &packet.Packet{})
	at, want := unit.Time(0), unit.Millisecond
	for range 9 {
		if s.NextTimer() != at+want {
			t.Fatalf("timeout at %v, want %v", s.NextTimer(), at+want)
		}
		at += want
		s.Advance(at)
		want = min(2*want, 64*unit.Millisecond)
	}
	s.Emit(at, &packet.Packet{})
	s.Receive(at, &packet.Packet{Kind: packet.Ack, Ack: 1000})
	if s.NextTimer() != unit.Never {
		t.Errorf("nothing is out, and a timer runs until %v", s.NextTimer())
	}
	s.Emit(at, &packet.Packet{})
	if s.NextTimer() != at+unit.Millisecond {
		t.Errorf("after progress the timeout is %v", s.NextTimer()-at)
	}
	// an acknowledgement of data that was never sent has no effect
	s.Receive(at, &packet.Packet{Kind: packet.Ack, Ack: 1 << 40})
	if s.unacked != 1000 {
		t.Errorf("acknowledged up to %d", s.unacked)
	}
}

func TestScheme_RequiresWindowAndSize(t *testing.T) {
	v, err := Scheme().Configure("window", "3 packets")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Scheme().Build(flowtest.NewFlow(1), nil); err == nil {
		t.Error("a flow without a window is taken")
	}
	if _, _, err := Scheme().Build(flowtest.NewFlow(0), v); err == nil {
		t.Error("a flow without a size is taken")
	}
	if _, _, err := Scheme().Build(flowtest.NewFlow(1), v); err != nil {
		t.Error(err)
	}
}

func ExampleNew() {
	s, r := New(flowtest.NewFlow(2500), 10, unit.Millisecond)
	for s.NextSend() != unit.Never {
		p := &packet.Packet{}
		s.Emit(0, p)
		fmt.Print(p.Seq, " ", p.Payload)
		r.Receive(0, p)
		fmt.Println(", acknowledged up to", p.Ack)
	}
	// Output:
	// 0 1000, acknowledged up to 1000
	// 1000 1000, acknowledged up to 2000
	// 2000 500, acknowledged up to 2500
}
