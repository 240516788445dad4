package rdma

import (
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestLossProbes checks that a sender without a timeout of its own probes (RFC 8985 §7): after 320 us, then after twice
// as long. The answer proves losses, or acknowledges packets that have arrived; no other packet is resent.
func TestLossProbes(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat} {
		for _, x := range []struct {
			name            string
			data, back      []int // packets that are lost, by number of each direction
			later           unit.Time
			again, timeouts int64
			probes          int
		}{
			{"no loss", nil, nil, 0, 0, 0, 0},
			{"the last packet", []int{9}, nil, 0, 1, 1, 1},
			{"all packets of the window", []int{0, 1, 2, 3, 4}, nil, 0, 5, 1, 1},
			{"the last packet, and the probe", []int{9, 10}, nil, 0, 1, 1, 2},
			{"the last packet, and the answer", []int{9}, []int{9}, 0, 1, 1, 2},
			{"the last ACK", nil, []int{9}, 0, 0, 0, 1},
			{"the last two ACKs, and the probe", []int{10}, []int{8, 9}, 0, 0, 0, 2},
			// 320 us × (1 + 2 + 4 + 8 + 16) = 9.92 ms
			{"packets that wait for 10 ms", nil, nil, 10 * unit.Millisecond, 0, 0, 5},
		} {
			w := newPipe(t, 10_000, func(c *Config) { c.Recovery, c.RTOMin = recovery, 0 }, &fixed{window: 5000}, 0)
			probes, lose := 0, drop(x.data...)
			w.onData = func(p *packet.Packet) (int, unit.Time) {
				copies, _ := lose(p)
				if p.Kind == packet.Probe {
					probes++
				}
				return copies, x.later
			}
			w.onBack = drop(x.back...)
			w.runUntil(unit.Second)
			w.done(10_000)
			if c := w.s.Counters(); c.Retransmitted != x.again || w.s.Timeouts() != x.timeouts || probes != x.probes ||
				w.r.Counters().DuplicateCount() > 0 {
				t.Errorf("%s, %s: %d sent again, %d twice, %d timeouts, %d probes; want %d, 0, %d, %d", recovery, x.name,
					c.Retransmitted, w.r.Counters().DuplicateCount(), w.s.Timeouts(), probes, x.again, x.timeouts, x.probes)
			}
		}
	}
}
