package cc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"weir/core/unit"
)

const us = unit.Microsecond

// draft-miao §6.2: N is the flows that sent within the last T.
func TestCensus(t *testing.T) {
	var c Census
	random := rand.New(rand.NewPCG(5, 5))
	members, seen := make([]Member, 30), make([]unit.Time, 30)
	for i := range seen {
		seen[i] = -unit.Second
	}
	now := unit.Time(0)
	for range 20000 {
		now += unit.Time(random.IntN(1000)) * unit.Nanosecond
		i := random.IntN(30)
		if random.IntN(20) == 0 {
			c.Leave(&members[i])
			members[i] = Member{}
			seen[i] = -unit.Second
			continue
		}
		if seen[i] < now-10*us { // silent for longer than T, as another flow would be
			c.Leave(&members[i])
			members[i] = Member{}
		}
		c.Count(now, 10*us, &members[i])
		seen[i] = now
		want := 0
		for _, at := range seen {
			if at >= now-10*us {
				want++
			}
		}
		if c.Flows() != want {
			t.Fatalf("at %v: %d flows, want %d", now, c.Flows(), want)
		}
	}
}

// Flows that send less than a packet in T count right on average, up to 64 T between packets: a link that takes 10
// packets within T has more flows than that. One that comes back from a pause is 64 flows for one T at most.
func TestCensusOfSlowFlows(t *testing.T) {
	for _, n := range []int{1, 8, 100, 600} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var c Census
			members := make([]Member, n)
			sum, k := 0., 0.
			for i := range 40 * n {
				c.Count(unit.Time(i)*us, 10*us, &members[i*7%n]) // one after the other: 7 and n have no divisor
				if i >= 4*n+20 {
					sum, k = sum+float64(c.Flows()), k+1
				}
			}
			if mean := sum / k; math.Abs(mean-float64(n)) > 0.15*float64(n)+0.1 {
				t.Errorf("%.1f flows on average, want %d", mean, n)
			}
			c.Count(unit.Second, 10*us, &members[0])
			if c.Flows() != mostSilent {
				t.Errorf("%d flows after a pause of a second", c.Flows())
			}
			c.Count(unit.Second, 10*us, &members[0])
			if c.Flows() != 1 {
				t.Errorf("%d flows by its next packet", c.Flows())
			}
		})
	}
}
