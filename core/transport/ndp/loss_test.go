package ndp

import (
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestLossProbes checks that a sender without a timeout of its own and without an answer sends a header as a probe (RFC
// 8985 §7). The NACK proves losses; a packet that only waits is not resent.
func TestLossProbes(t *testing.T) {
	for _, x := range []struct {
		name  string
		lost  []int // packets of the sender that are lost, by number
		later unit.Time
		again int64
	}{
		{"no loss", nil, 0, 0}, {"the last packet", []int{9}, 0, 1}, {"the last packet, and the probe", []int{9, 10}, 0, 1},
		{"the first window", []int{0, 1, 2, 3}, 0, 4}, {"packets that wait for 10 ms", nil, 10 * unit.Millisecond, 0},
	} {
		w := newPipe(t, []unit.Bytes{10_000}, func(_ int, c *Config) { c.Window, c.RTOMin = 4, 0 })
		n := -1
		w.onData = func(*packet.Packet) fate {
			n++
			for _, i := range x.lost {
				if i == n {
					return fate{}
				}
			}
			return fate{copies: 1, later: x.later}
		}
		w.runUntil(unit.Second)
		if s, r := w.s[0].Counters(), w.r[0].Counters(); s.Finished == unit.Never || r.ReceivedBytes != 10_000 ||
			s.Retransmitted != x.again || r.DuplicateCount() > 0 {
			t.Errorf("%s: %v arrived, finished at %v; %d packets sent again, %d arrived twice, want %d and 0", x.name,
				r.ReceivedBytes, s.Finished, s.Retransmitted, r.DuplicateCount(), x.again)
		}
	}
}
