package collective

import (
	"fmt"
	"testing"

	"weir/core/jobs/job"
	"weir/core/jobs/loggops"
	"weir/core/unit"
	"weir/internal/testkit/jobtest"
)

// runOn runs a job on an ideal network and calls visit with each receive.
func runOn(t *testing.T, m loggops.Model, c Config, visit func(s job.Span)) unit.Time {
	t.Helper()
	j, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	o := jobtest.RunJob(t, m, j, job.Watch{OnSpan: func(s job.Span) {
		if s.Op.Kind == job.Recv && visit != nil {
			visit(s)
		}
	}})
	return o.Operations[0].End
}

// TestClosedForms checks that operations among 16 members with 16 MiB at 400 Gb/s and 1 us have the times of their
// formulas, in ns. A block takes wire(block) = ⌊(block − 1)·0.02⌋, and each step a latency of 1000. Where one member
// receives from all, or sends to all, its NIC has 15 blocks after each other.
func TestClosedForms(t *testing.T) {
	const size, latency = 16 << 20, 1000
	wire := func(size int) int { return (size - 1) * 20 / 1000 }
	halves := 0
	for _, part := range []int{2, 4, 8, 16} {
		halves += latency + wire(size/part)
	}
	for _, x := range []struct {
		c    Config
		want int
	}{
		{Config{Operation: AllReduce, Algorithm: Ring}, 30 * (latency + wire(size/16))},
		{Config{Operation: AllReduce, Algorithm: HalvingDoubling}, 2 * halves},
		{Config{Operation: AllReduce, Algorithm: Hierarchical, Local: 4}, 6*(latency+wire(size/4)) +
			6*(latency+wire(size/16))},
		{Config{Operation: AllGather, Algorithm: Ring}, 15 * (latency + wire(size/16))},
		{Config{Operation: ReduceScatter, Algorithm: HalvingDoubling}, halves},
		{Config{Operation: AllToAll, Algorithm: Direct}, latency + 15*wire(size/16)},
		{Config{Operation: Scatter}, latency + 15*wire(size/16)},
		{Config{Operation: Gather}, latency + 15*wire(size/16)},
		{Config{Operation: Broadcast, Algorithm: Chain, Chunks: 16}, 15*(latency+wire(size/16)) + 15*wire(size/16)},
		{Config{Operation: Broadcast, Algorithm: Tree}, 4 * (latency + wire(size))},
		{Config{Operation: Reduce, Algorithm: Chain}, 15 * (latency + wire(size))},
	} {
		x.c.Members, x.c.Size = 16, size
		t.Run(x.c.Operation+" "+x.c.Algorithm, func(t *testing.T) {
			if got := runOn(t, model(), x.c, nil); got != unit.Time(x.want)*unit.Nanosecond {
				t.Errorf("%v, want %d ns", got, x.want)
			}
		})
	}
}

// TestReceivesAtRate checks that no NIC receives faster than its rate. Before its last receive ends, a latency, an
// overhead and the time of all of its messages' bytes but their first ones have passed. With receive: free a gather is
// faster.
func TestReceivesAtRate(t *testing.T) {
	m := model()
	m.Overhead, m.Gap = 500*unit.Nanosecond, 300*unit.Nanosecond
	faster := func(t *testing.T, m loggops.Model, c Config) (broken bool) {
		type at struct {
			rank int
			nic  uint8
		}
		busy, last := map[at]unit.Time{}, map[at]unit.Time{}
		runOn(t, m, c, func(s job.Span) {
			p := at{s.Rank, s.Op.NIC}
			busy[p] += m.WireTime(s.Op.Size)
			last[p] = max(last[p], s.To)
		})
		for p, total := range busy {
			broken = broken || last[p] < m.Latency+m.Overhead+total
		}
		return broken
	}
	every(t, func(t *testing.T, c Config) {
		c.Size = 1 << 20
		for _, c.NICs = range []int{1, 2} {
			if faster(t, m, c) {
				t.Errorf("%d NICs: one of them receives faster than its rate", c.NICs)
			}
		}
	})
	m.Free = true
	if !faster(t, m, Config{Operation: Gather, Members: 8, Size: 1 << 20}) {
		t.Error("a gather with receive: free is bound by the NIC")
	}
}

// treeTime returns the time of a double tree of members with 16 MiB, relative to 2·S/B: each member sends and receives
// all data twice (Sanders, Speck and Träff, 2009).
func treeTime(t *testing.T, free bool, eager unit.Bytes, members, channels, chunks int) float64 {
	t.Helper()
	m := model()
	m.Free, m.Eager = free, eager
	const size = 16 << 20
	took := runOn(t, m, Config{Operation: AllReduce, Algorithm: DoubleTree, Members: members, Size: size,
		Channels: channels, Chunks: chunks}, nil)
	return took.Seconds() / (2 * size * 20e-12)
}

// checkTrees checks that double trees take at most 1.1 of their bound with 64 chunks or more (128 for more than 32
// members: their trees are deeper). More chunks must not take longer than fewer, except for the latency of the last
// chunk up and down, which shorter chunks do not cover. With receive: free, where receivers do not slow their senders
// down, that is from 64 chunks on.
func checkTrees(t *testing.T, members, channels, chunks []int) {
	t.Helper()
	for _, form := range []struct {
		free  bool
		eager unit.Bytes
	}{{false, 1 << 50}, {false, 65535}, {false, 0}, {true, 1 << 50}, {true, 65535}} {
		for _, n := range members {
			for _, parts := range channels {
				t.Run(fmt.Sprintf("%d members, %d channels, %+v", n, parts, form), func(t *testing.T) {
					before := 0.0
					for _, k := range chunks {
						took := treeTime(t, form.free, form.eager, n, parts, k)
						if (parts*k >= 128 || n <= 32 && parts*k >= 64) && took > 1.1 {
							t.Errorf("%d chunks take %.3f of the bound", k, took)
						}
						latencies := 2 * us.Seconds() / (2 * 16 << 20 * 20e-12)
						if (parts*k > 64 || !form.free) && before > 0 && took > before+latencies {
							t.Errorf("%d chunks take %.4f of the bound, and fewer took %.4f", k, took, before)
						}
						before = took
					}
				})
			}
		}
	}
}

func TestDoubleTreeAtItsBound(t *testing.T) {
	checkTrees(t, []int{2, 3, 4, 5, 8, 12, 16, 17}, []int{1, 4}, []int{1, 4, 16, 64})
}
