package supply_test

import (
	"testing"

	"weir/core/unit"
)

// TestFairToRTTs checks that two flows with RTTs of 10 and 100 ms and the same supply share the link equally and fill
// it. The same flows without supply, which reduce as for a loss, do not. TestFairToRTTsFull has more controllers and
// the larger buffer.
func TestFairToRTTs(t *testing.T) { fairToRTTs(t, 12, []maker{makers[0], makers[7]}, 25) }

// fairToRTTs compares flows at round trips of 10 and 100 ms from second 5 to second end. Buffers of 25 and 500 packets
// are a fortieth and a half of what the longer path holds.
func fairToRTTs(t *testing.T, end int, tested []maker, buffers ...int) {
	t.Helper()
	seconds := float64(end - 5)
	for _, m := range tested {
		for _, buffer := range buffers {
			shares := func(wrapped bool) (jain, use float64) {
				a, b := sender(t, m, 10*ms, wrapped), sender(t, m, 100*ms, wrapped)
				loop := bottleneck(buffer, a, b)
				loop.Run(5 * unit.Second)
				x, y := a.Delivered, b.Delivered
				loop.Run(unit.Time(end) * unit.Second)
				p, q := float64(a.Delivered-x), float64(b.Delivered-y)
				t.Logf("%s, buffer %d, wrapped %v: %.0f and %.0f packets/s, %d trimmed", m.name, buffer, wrapped, p/seconds,
					q/seconds, loop.Trimmed)
				return (p + q) * (p + q) / 2 / (p*p + q*q), (p + q) / seconds / 10_000
			}
			jain, use := shares(true)
			least := 0.97
			if m.name == "bbr" && buffer == 500 { // the flow of 10 ms holds itself back: its own estimate of the rate falls
				least = 0.8
			}
			if jain < least || use < 0.9 {
				t.Errorf("%s, buffer %d: Jain %.3f, use %.3f", m.name, buffer, jain, use)
			}
			if m.name == "reno" || m.name == "bbr" {
				if alone, _ := shares(false); alone > jain-0.1 {
					t.Errorf("%s, buffer %d: Jain %.3f with supply, %.3f without", m.name, buffer, jain, alone)
				}
			}
		}
	}
}
