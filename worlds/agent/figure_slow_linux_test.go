//go:build slow

package agent_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"weir/worlds/agent"
)

// seen is what the receiver's port has done in a time.
type seen struct {
	Utilisation   float64
	P50, P99, Max int
	Drops         int
}

// measure says what happened during a time from now on.
func (n *node) measure(t *testing.T, during time.Duration) seen {
	t.Helper()
	n.mu.Lock()
	o := n.ports[0]
	first, drops := len(o.samples), o.drops
	n.mu.Unlock()
	time.Sleep(during)
	n.mu.Lock()
	defer n.mu.Unlock()
	q := slices.Clone(o.samples[first:])
	if len(q) < 2 {
		return seen{}
	}
	bytes := o.bytes[len(o.bytes)-1] - o.bytes[first]
	slices.Sort(q)
	at := func(share float64) int { return int(q[int(share*float64(len(q)-1))]) }
	return seen{Utilisation: float64(bytes) * 8 / float64(n.Rate) * 1000 / float64(len(q)-1), P50: at(.5),
		P99: at(.99), Max: at(1), Drops: o.drops - drops}
}

func (s seen) String() string {
	return fmt.Sprintf("utilisation %.3f, queue p50 %d, p99 %d, max %d packets, %d drops", s.Utilisation, s.P50, s.P99,
		s.Max, s.Drops)
}

// pair are two flows over a path of 200 Mb/s with a round trip of 10 ms and 1,000 packets of buffer, from second 5 to
// second 15: what the port has done, and by how much their goodputs differ.
func pair(t *testing.T, agents bool) (s seen, differ float64) {
	r := lay(t, path{Rate: 200e6, Back: 1e9, Delay: 5 * time.Millisecond, Buffer: 1000, Telemetry: 1}, 2)
	if agents {
		for _, name := range r.hosts {
			r.agent(name, agent.Defaults())
		}
	}
	f, g := r.open("a1"), r.open("a2")
	f.send()
	g.send()
	time.Sleep(5 * time.Second)
	x, y := f.came.Load(), g.came.Load()
	s = r.node.measure(t, 10*time.Second)
	x, y = f.came.Load()-x, g.came.Load()-y
	return s, float64(max(x, y))/float64(min(x, y)) - 1
}

// Two flows of HPCC++ fill 92 % of a link with fewer than five packets in its queue, where CUBIC's have over 900, and
// their goodputs differ by at most 5 %: the median of five runs.
func TestFigure(t *testing.T) {
	needAgent(t)
	var utilisation, differ []float64
	var queue []int
	const runs = 5
	for i := range runs {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s, d := pair(t, true)
			t.Logf("HPCC++: %v; goodputs differ by %.1f %%", s, 100*d)
			utilisation, differ, queue = append(utilisation, s.Utilisation), append(differ, d), append(queue, s.P50)
		})
	}
	t.Run("cubic", func(t *testing.T) {
		s, d := pair(t, false)
		t.Logf("CUBIC: %v; goodputs differ by %.1f %%", s, 100*d)
		if s.P99 <= 900 {
			t.Errorf("CUBIC's queue has a p99 of %d packets", s.P99)
		}
	})
	slices.Sort(utilisation)
	slices.Sort(differ)
	slices.Sort(queue)
	u, d, q := utilisation[runs/2], differ[runs/2], queue[runs/2]
	t.Logf("medians: utilisation %.3f, queue p50 %d packets, goodputs differ by %.1f %%", u, q, 100*d)
	if u < 0.92 || q >= 5 || d > 0.05 {
		t.Error("want 0.92 or more, fewer than 5, and 5 % or less")
	}
}
