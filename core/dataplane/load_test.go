package dataplane

import (
	"fmt"
	"math"
	"testing"

	"weir/core/unit"
)

// TestLinkLoad_FollowsRateAndTime checks that a link of 10 Gb/s carries 200 kB in 160 µs (CONGA §3.2's Cτ), and one of
// 1000 packets/s carries 5 in 5 ms, for any sizes.
func TestLinkLoad_FollowsRateAndTime(t *testing.T) {
	for _, c := range []struct {
		rate  unit.LinkRate
		time  unit.Time
		want  float64
		frame float64
	}{
		{unit.LinkRate{Bits: 10 * unit.Gbps}, 160 * unit.Microsecond, 200_000, 1500},
		{unit.LinkRate{Packets: 1000}, 5 * unit.Millisecond, 5, 1},
	} {
		t.Run(fmt.Sprint(c.rate), func(t *testing.T) {
			if x, y := LinkLoad(c.rate, c.time), FrameLoad(c.rate, 1500); math.Abs(x-c.want) > 1e-9*c.want || y != c.frame {
				t.Errorf("%v in %v: %g, a frame of 1500 B is %g; want %g, %g", c.rate, c.time, x, y, c.want, c.frame)
			}
		})
	}
}
