package cc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"weir/core/unit"
)

const us = unit.Microsecond

// TestCensus_CountsFlowsSentWithinInterval checks draft-miao §6.2: N is the number of flows that sent within the last
// T.
func TestCensus_CountsFlowsSentWithinInterval(t *testing.T) {
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
			c.RemoveFlow(&members[i])
			members[i] = Member{}
			seen[i] = -unit.Second
			continue
		}
		if seen[i] < now-10*us { // silent for longer than T, as another flow would be
			c.RemoveFlow(&members[i])
			members[i] = Member{}
		}
		c.CountFlow(now, 10*us, &members[i])
		seen[i] = now
		want := 0
		for _, at := range seen {
			if at >= now-10*us {
				want++
			}
		}
		if got := c.CountFor(&members[i]); got != want {
			t.Fatalf("at %v: %d flows, want %d", now, got, want)
		}
	}
}

// TestCensusOfSlowFlows checks that flows below a packet per T count correctly on average, up to 64 T between packets:
// a link that takes 10 packets within T has more flows than that. A flow that resumes after a pause counts as at most
// 64 flows for one T.
func TestCensusOfSlowFlows(t *testing.T) {
	for _, n := range []int{1, 8, 100, 600} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var c Census
			members := make([]Member, n)
			sum, k := 0., 0.
			for i := range 40 * n {
				c.CountFlow(unit.Time(i)*us, 10*us, &members[i*7%n]) // one after the other: 7 and n have no divisor
				if i >= 4*n+20 {
					sum, k = sum+float64(c.CountFor(&members[i*7%n])), k+1
				}
			}
			if mean := sum / k; math.Abs(mean-float64(n)) > 0.05*float64(n)+0.1 {
				t.Errorf("%.1f flows on average, want %d", mean, n)
			}
			c.CountFlow(unit.Second, 10*us, &members[0])
			if own, other := c.CountFor(&members[0]), c.CountFor(&Member{}); own != 1 || other != 1+maxSilence {
				t.Errorf("after a pause of a second %d flows for the flow, %d for another", own, other)
			}
			c.CountFlow(unit.Second, 10*us, &members[0])
			if own, other := c.CountFor(&members[0]), c.CountFor(&Member{}); own != 1 || other != 2 {
				t.Errorf("by its next packet %d flows for the flow, %d for another", own, other)
			}
		})
	}
}

// TestCensusForFlow checks that the number for a flow is the rounded sum of the other flows' weights, plus one for the
// flow itself. With its own weight the flow that was silent for the longest time would have the largest number.
func TestCensusForFlow(t *testing.T) {
	for _, x := range []struct {
		silence [2]unit.Time // of two flows with T = 10 us
		want    [2]int       // number for each
	}{
		{[2]unit.Time{5 * us, 5 * us}, [2]int{2, 2}},
		{[2]unit.Time{50 * us, 5 * us}, [2]int{2, 6}},
		{[2]unit.Time{14 * us, 16 * us}, [2]int{3, 2}}, // 1.4 and 1.6 others
		{[2]unit.Time{26 * us, 300 * us}, [2]int{31, 4}},
		{[2]unit.Time{5000 * us, 24 * us}, [2]int{3, 65}},
	} {
		t.Run(fmt.Sprint(x.silence), func(t *testing.T) {
			var c Census
			var members [2]Member
			order := []int{0, 1} // by the time of the packet before
			if x.silence[0] < x.silence[1] {
				order = []int{1, 0}
			}
			for _, i := range order {
				c.CountFlow(unit.Second-x.silence[i], 10*us, &members[i])
			}
			for i := range members {
				c.CountFlow(unit.Second, 10*us, &members[i])
			}
			for i := range members {
				if got := c.CountFor(&members[i]); got != x.want[i] {
					t.Errorf("flow %d has %d, want %d", i, got, x.want[i])
				}
			}
		})
	}
}
