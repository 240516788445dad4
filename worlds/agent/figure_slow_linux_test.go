//go:build slow

package agent_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/unit"
	"weir/internal/testutil/realtime"
	"weir/worlds/agent"
)

// seen is what the receiver's port has done in a time.
type seen struct {
	Utilisation   float64
	P50, P99, Max int
	Drops         int
	Late          time.Duration // the most that a frame has left late: what the machine has done
}

// measure says what happened during a time from now on.
func (n *node) measure(t testing.TB, during time.Duration) seen {
	t.Helper()
	n.mu.Lock()
	o := n.ports[0]
	first, drops := len(o.samples), o.drops
	n.late = 0
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
		P99: at(.99), Max: at(1), Drops: o.drops - drops, Late: time.Duration(n.late)}
}

func (s seen) String() string {
	return fmt.Sprintf("utilisation %.3f, queue p50 %d, p99 %d, max %d packets, %d drops, %v late at most", s.Utilisation,
		s.P50, s.P99, s.Max, s.Drops, s.Late.Round(time.Microsecond))
}

// pair are two flows over a path of 200 Mb/s with a round trip of 10 ms and 1,000 packets of buffer, from second 5 on
// for some time: what the port has done, and by how much their goodputs differ.
func pair(t testing.TB, agents bool, during time.Duration) (s seen, differ float64) {
	r := lay(t, path{Rate: 200e6, Back: 1e9, Delay: 5 * time.Millisecond, Buffer: 1000, Telemetry: 1}, 2)
	if agents {
		for _, name := range r.hosts {
			c := agent.Defaults()
			// As the draft has it, T is given: handshakes of a busy machine measure more, and not the same. Hosts and
			// frames take 0.3 ms of it.
			c.RTT = 10300 * unit.Microsecond
			r.agent(name, c)
		}
	}
	f, g := r.open("a1"), r.open("a2")
	f.send()
	g.send()
	time.Sleep(5 * time.Second)
	x, y := f.came.Load(), g.came.Load()
	s = r.node.measure(t, during)
	x, y = f.came.Load()-x, g.came.Load()-y
	return s, float64(max(x, y))/float64(min(x, y)) - 1
}

// first has all threads of this process come before others', as the lab's do, until the test ends: the bottleneck is
// one of them.
func first(t testing.TB) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		set := func(a unix.SchedAttr) {
			a.Size = unix.SizeofSchedAttr
			unix.SchedSetAttr(id, &a, 0) // without it the run is later, which it tells
		}
		set(unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 10})
		t.Cleanup(func() { set(unix.SchedAttr{Policy: unix.SCHED_NORMAL}) })
	}
}

// Two flows of HPCC++ fill 92 % of a link with fewer than five packets in its queue, where CUBIC's have over 900, and
// their goodputs differ by at most 5 %: the median of five runs, those of eight in which the machine was least late.
func TestFigure(t *testing.T) {
	needAgent(t)
	first(t)
	const runs, attempts, undisturbed = 5, 8, 5 * time.Millisecond
	type run struct {
		seen
		differ float64
	}
	var all []run
	quiet := 0
	for i := 0; i < attempts && quiet < runs; i++ {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s, d := pair(t, true, 10*time.Second)
			t.Logf("HPCC++: %v; goodputs differ by %.1f %%", s, 100*d)
			if all = append(all, run{s, d}); s.Late <= undisturbed {
				quiet++
			}
		})
	}
	var p99 []int
	// CUBIC's window stands below the buffer's end for some ten seconds after a loss, and goes on to the next one.
	for i := range 3 {
		t.Run(fmt.Sprint("cubic ", i), func(t *testing.T) {
			s, d := pair(t, false, 25*time.Second)
			t.Logf("CUBIC: %v; goodputs differ by %.1f %%", s, 100*d)
			p99 = append(p99, s.P99)
		})
	}
	if slices.Sort(p99); len(p99) == 3 && p99[1] <= 900 {
		t.Errorf("CUBIC's queue has a p99 of %d packets, the median of three runs", p99[1])
	}
	if len(all) == 0 {
		t.Skip("not asked for: runs of HPCC++")
	}
	slices.SortStableFunc(all, func(a, b run) int { return int(a.Late - b.Late) })
	all = all[:min(runs, len(all))]
	median := func(of func(run) float64) float64 {
		var v []float64
		for _, x := range all {
			v = append(v, of(x))
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	u := median(func(r run) float64 { return r.Utilisation })
	q := median(func(r run) float64 { return float64(r.P50) })
	d := median(func(r run) float64 { return r.differ })
	said := fmt.Sprintf("medians: utilisation %.3f, queue p50 %.0f packets, goodputs differ by %.1f %%; %d of %d runs "+
		"without a frame over %v late", u, q, 100*d, quiet, attempts, undisturbed)
	if t.Log(said); u >= 0.92 && q < 5 && d <= 0.05 {
		return
	}
	if quiet < runs {
		t.Skip(realtime.Inconclusive + "frames left late in too many runs; " + said)
	}
	t.Error("want 0.92 or more, fewer than 5, and 5 % or less")
}
