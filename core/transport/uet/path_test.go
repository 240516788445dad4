package uet

import (
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestRandomPaths checks paths with random losses, trims, marks, delays and duplicates, under every controller and
// balancer. Every byte arrives once and no flow stalls; bytes on the wire give the same result as fields.
func TestRandomPaths(t *testing.T) {
	var timeouts, nacks, pulls int64
	for seed := range uint64(120) {
		outcome := func(wire bool) string {
			random := unit.NewRandom(seed, "uet")
			sizes := make([]unit.Bytes, 1+random.IntN(4))
			for i := range sizes {
				sizes[i] = unit.Bytes(1 + random.IntN(100_000))
			}
			control := []string{bySender, byReceiver, byBoth}[random.IntN(3)]
			kind := balanceKinds[random.IntN(len(balanceKinds))]
			rto, sleek := []string{fixedRTO, estimatedRTO}[random.IntN(2)], random.IntN(3) == 0
			slow := unit.Time(random.IntN(3)) * us
			w := newPipe(t, sizes, func(i int, c *Config) {
				c.Control, c.Balance, c.Paths, c.RTO = control, kind, 8, rto
				c.Sleek = sleek && control != byReceiver
				c.AckDelay, c.NackDelay = slow, slow/2
			})
			w.wire, w.log = wire, &strings.Builder{}
			loss, back, twice, reorder := random.Float64()*0.2, random.Float64()*0.2, random.Float64()*0.1, random.Float64()*0.3
			trim, mark := random.Float64()*0.7, random.Float64()
			if random.IntN(2) == 0 {
				loss, back = 0, 0
			}
			hook := func(loss float64) func(p *packet.Packet) fate {
				return func(p *packet.Packet) fate {
					f := fate{copies: 1}
					if random.Float64() < twice {
						f.copies = 2
					}
					if random.Float64() < loss {
						f.copies = 0
					}
					if random.Float64() < reorder {
						f.later = unit.Time(random.IntN(int(10 * us)))
					}
					f.trim, f.mark = random.Float64() < trim, random.Float64() < mark
					return f
				}
			}
			w.onData, w.onBack = hook(loss), hook(back)
			w.runUntil(unit.Never - 1)
			w.done()
			for i := range w.s {
				timeouts, nacks = timeouts+w.s[i].Timeouts(), nacks+w.r[i].nacks
			}
			pulls += int64(len(w.pulls))
			return w.log.String()
		}
		if outcome(false) != outcome(true) {
			t.Errorf("seed %d: bytes give another trace than fields", seed)
		}
	}
	if timeouts < 100 || nacks < 1000 || pulls < 1000 {
		t.Errorf("the paths are too good: %d timeouts, %d NACKs, %d PULLs", timeouts, nacks, pulls)
	}
}
