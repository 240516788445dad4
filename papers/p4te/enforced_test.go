package p4te

import (
	"fmt"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
)

// TestDecisionQueue checks decision: queue, enforced's default in a fabric. An over-utilised port without a queue
// changes no rate, one with half of Δ or half of its buffer lowers it, and a port that is not over-utilised raises it.
func TestDecisionQueue(t *testing.T) {
	for _, x := range []struct {
		name, mode     string
		egress         dataplane.Colour
		waiting, limit int32
		lower, raise   uint64
	}{
		{"no queue", "enforced", dataplane.Red, 0, 0, 0, 0}, {"below half of Δ", "enforced", dataplane.Yellow, 4, 0, 0, 0},
		{"half of Δ", "enforced", dataplane.Yellow, 5, 0, 1, 0}, {"half of a buffer", "enforced", dataplane.Red, 2, 4, 1, 0},
		{"less of it", "enforced", dataplane.Red, 1, 4, 0, 0}, {"green", "enforced", dataplane.Green, 0, 0, 0, 1},
		{"green with a queue", "enforced", dataplane.Green, 9, 0, 0, 1},
		{"the paper's", "last_ack", dataplane.Red, 0, 0, 1, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newStation(t, 1, "rate", x.mode, "bytes", "1000 B", "depth_delta", "10 packets")
			s.handshake(0, 900)
			s.pass(2, s.ack(901, 1, 8000, 1, 1))
			s.class, s.egress = dataplane.Green, dataplane.Green
			if x.limit > 0 {
				for port := range 4 {
					s.ports[port].SetLimit(tm.Limit{Packets: x.limit})
				}
			}
			send := func(seq uint32) { s.Receive(s.now, 0, s.segment(a, c, seq, 901, 1000, packet.ACK)) }
			s.class = dataplane.Yellow
			send(2001)
			for i := range x.waiting {
				send(3001 + 1000*uint32(i))
			}
			if n := max(s.ports[2].Packets(), s.ports[3].Packets()); n != x.waiting+1 {
				t.Fatalf("%d packets at the port, want %d", n, x.waiting+1)
			}
			s.forced.egress = x.egress
			for out := packet.PortID(2); out < 4; out++ {
				if p, _ := s.Dequeue(s.now, out); p != nil {
					s.pool.Put(p)
				}
			}
			if k := s.Counts(); k.Lower != x.lower || k.Raise != x.raise {
				t.Errorf("%d lowered, %d raised", k.Lower, k.Raise)
			}
		})
	}
}

// TestEnforcedLimit checks enforced: fake ACKs end at the leaf. The limit is first a quarter less than the flight, then
// a quarter less than itself, at least some segments. It rises by a segment or by 1/256, by fake ACKs and with every B
// bytes without one, and ends at the receiver's own window. A window is whole units of the limit, rounded up.
func TestEnforcedLimit(t *testing.T) {
	for _, c := range []struct {
		rise  string
		least int
		more  func(limit int64) int64
	}{
		{"segment", 2, func(l int64) int64 { return l + 1000 }},
		{"segment", 1, func(l int64) int64 { return l + 1000 }},
		{"share", 1, func(l int64) int64 { return l + l/256 }},
	} {
		t.Run(fmt.Sprint(c.rise, " ", c.least), func(t *testing.T) { testEnforcedLimit(t, c.rise, c.least, c.more) })
	}
}

func testEnforcedLimit(t *testing.T, rise string, least int, more func(limit int64) int64) {
	x := newStation(t, 1, "rate", "enforced", "bytes", "1000 B", "rise", rise, "least", fmt.Sprint(least))
	x.class = dataplane.Green
	x.handshake(0, 900)
	x.pass(2, x.ack(901, 1, 8000, 1, 1)) // × 128: 1024000 bytes
	seq := uint32(1)
	send := func(bytes int32) {
		for ; bytes > 0; bytes -= 1000 {
			x.pass(0, x.segment(a, c, seq, 901, 1000, packet.ACK))
			seq += 1000
		}
	}
	fake := func(lower bool) {
		t.Helper()
		f := x.ack(901, 1, 225, 1, 1)
		(&Header{Fake: true, Applied: lower, Rated: true, Ack: seq - 1000}).WriteTo(f)
		if left := x.pass(3, f); len(left[0]) != 0 {
			t.Error("a fake ACK reaches the sender")
		}
	}
	window := func(ack uint32) uint16 {
		t.Helper()
		left := x.pass(2, x.ack(901, ack, 8000, 1, 1))
		if len(left[0]) != 1 {
			t.Fatal("the ACK does not reach the sender")
		}
		return left[0][0].TCP.Window
	}
	if got := window(1); got != 8000 {
		t.Errorf("without a limit: %d", got)
	}
	fake(false)
	if got := window(1); got != 8000 {
		t.Errorf("raised without a limit: %d", got)
	}
	send(64_000)
	fake(true)
	if got := window(1); got != 48_000/128 {
		t.Errorf("3/4 of 64000 bytes in flight: %d units, want %d", got, 48_000/128)
	}
	send(1000)
	fake(true)
	units := func(limit int64) uint16 { return uint16((limit + 127) / 128) }
	if got := window(1); got != units(36_000) {
		t.Errorf("and 3/4 of that: %d units, want %d", got, units(36_000))
	}
	send(1000)
	fake(false)
	limit := more(36_000)
	if got := window(1); got != units(limit) {
		t.Errorf("raised: %d units, want %d", got, units(limit))
	}
	send(2000) // the second is 1000 bytes behind the fake ACK …
	if got := x.rate.findCell(packet.FlowHash(a, c, 1001, 1003, packet.ProtoTCP)).limit; got != limit {
		t.Errorf("too early: %d, want %d", got, limit)
	}
	send(2000) // … and these 2000 and 3000 without another
	limit = more(more(limit))
	if got := x.rate.findCell(packet.FlowHash(a, c, 1001, 1003, packet.ProtoTCP)).limit; got != limit {
		t.Errorf("after B bytes of silence: %d, want %d", got, limit)
	}
	for range 40 {
		send(1000)
		fake(true)
	}
	if got := window(1); got != units(int64(least)*1000) {
		t.Errorf("lowered again and again: %d units, want %d segments", got, least)
	}
	for range 2000 {
		send(1000)
		fake(false)
	}
	if got := window(seq); got != 8000 {
		t.Errorf("raised again and again: %d units, want the receiver's own window", got)
	}
	if x.Counts().LoweredWindows != 4 {
		t.Errorf("%d windows held, want 4", x.Counts().LoweredWindows)
	}
}
