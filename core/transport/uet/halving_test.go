package uet_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/unit"
	"weir/study/experiment"
)

// tree16 is a fat tree of 16 hosts at 400 Gb/s, as the simulator reads it.
const tree16 = `Nodes 16
Tiers 3
Podsize 4

Tier 0
Oversubscribed 1
Downlink_speed_Gbps 400
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 0

Tier 1
Oversubscribed 1
Downlink_speed_Gbps 400
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 0
Bundle 1

Tier 2
Downlink_speed_Gbps 400
Radix_Down 4
Downlink_Latency_ns 1000
Switch_Latency_ns 0
Bundle 1
`

// halvingMatrix returns the matrix of an all-reduce of 16 MiB among 16 nodes by halving and doubling, some times in a
// row. The flow of a round triggers the next flow of its receiver, when its sender has the acknowledgement. Node 3
// begins late by some microseconds.
func halvingMatrix(late float64, times int) string {
	const nodes, size = 16, 16 << 20
	var rounds [][2]int // distance of the partner, size
	for range times {
		for d := nodes / 2; d > 0; d /= 2 {
			rounds = append(rounds, [2]int{d, size * d / nodes})
		}
		for d := 1; d < nodes; d *= 2 {
			rounds = append(rounds, [2]int{d, size * d / nodes})
		}
	}
	var b, triggers strings.Builder
	fmt.Fprintf(&b, "Nodes %d\nConnections %d\nTriggers %d\n", nodes, nodes*len(rounds), nodes*(len(rounds)-1))
	trigger := func(round, node int) int { return (round-1)*nodes + node + 1 } // that begins what a node sends in a round
	for k, x := range rounds {
		for m := range nodes {
			start := 0.0
			if m == 3 {
				start = late
			}
			begins := fmt.Sprintf("start %g", start)
			if k > 0 {
				begins = fmt.Sprintf("trigger %d", trigger(k, m))
			}
			fmt.Fprintf(&b, "%d->%d id %d %s size %d", m, m^x[0], k*nodes+m+1, begins, x[1])
			if k+1 < len(rounds) {
				fmt.Fprintf(&b, " send_done_trigger %d", trigger(k+1, m^x[0]))
				fmt.Fprintf(&triggers, "trigger id %d oneshot\n", trigger(k+1, m^x[0]))
			}
			fmt.Fprintln(&b)
		}
	}
	return b.String() + triggers.String()
}

// halving reads the experiment of such a matrix.
func halving(t *testing.T, late float64, times int) *experiment.Spec {
	t.Helper()
	files := map[string]string{"hd.cm": halvingMatrix(late, times), "ft16.topo": tree16}
	return loadWith(t, `
duration: 20ms
topology: {file: ft16.topo, format: htsim}
framing: htsim
mtu: 4086 B payload
switches:
  "*": {queues: 2, programs: [ecmp, {trimming: {rtt: 12.50568us}}]}
traffic:
  - {name: all, file: hd.cm, format: htsim, time_unit: 1us,
     transport: {uet: {control: nscc, network_rtt: 12.50568us, paths: 64, balance: mixed}}}
measure: [fct]
`, func(name string) ([]byte, error) {
		if text, is := files[name]; is {
			return []byte(text), nil
		}
		return nil, fmt.Errorf("no file %s", name)
	})
}

// halvingRuns are the simulator's, commit 40ccb05, of these matrices: the range of the last end [us] and of the packets
// that are sent again, of some seeds.
//
//	htsim_uec -tm hd.cm -topo ft16.topo -sender_cc_only -paths 64 -load_balancing_algo mixed -end 20000 -seed $SEED
type halvingRuns struct {
	late        float64
	times       int
	low, high   float64
	least, most float64 // packets
}

// check runs a matrix with some seeds. All flows end, the mean of the last ends is in the simulator's range, give or
// take a share, and so is the mean of the packets that are sent again, give or take 50 or 15 %.
func (x *halvingRuns) check(t *testing.T, seeds int, share float64) {
	t.Helper()
	s := halving(t, x.late, x.times)
	mean, again := 0.0, 0.0
	low, high := unit.Never, unit.Time(0)
	for seed := range seeds {
		f := carry(t, s, uint64(seed+1))
		if want := 128 * x.times; f.done != want {
			t.Errorf("seed %d: %d of %d flows end", seed+1, f.done, want)
		}
		mean += micro(f.last) / float64(seeds)
		low, high = min(low, f.last), max(high, f.last)
		again += float64(f.again) / float64(seeds)
		t.Logf("seed %d: %.1f us, %d packets sent again", seed+1, micro(f.last), f.again)
	}
	if mean < x.low*(1-share) || mean > x.high*(1+share) {
		t.Errorf("late by %v us, %d in a row: %.1f us (%.1f … %.1f), in the simulator %.1f to %.1f", x.late, x.times, mean,
			micro(low), micro(high), x.low, x.high)
	}
	if again < x.least-max(50, 0.15*x.least) || again > x.most+max(50, 0.15*x.most) {
		t.Errorf("late by %v us, %d in a row: %.0f packets are sent again, in the simulator %v to %v", x.late, x.times, again,
			x.least, x.most)
	}
}

// TestHalvingDoubling checks that in lockstep an all-reduce by halving and doubling takes as long as in the simulator,
// with almost no retransmissions. So does one where a node begins 20 us later, which costs two fifths more in both.
func TestHalvingDoubling(t *testing.T) {
	for _, x := range []halvingRuns{{0, 1, 753, 768, 0, 17}, {20, 1, 1052, 1096, 403, 541}} {
		x.check(t, 1, 0.03)
	}
}
