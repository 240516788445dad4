package hpcc_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// shares runs two flows from NICs of 25 Gb/s and two from NICs of 100 into a link of 100, and gives what all four
// have got between end and twice that, in Gb/s, slow ones first, and the use of the link.
func shares(t *testing.T, controller string, delay, end unit.Time) (got [4]float64, used float64) {
	t.Helper()
	c := configure(t, fmt.Sprintf(`
duration: %v
warmup: %v
framing: hpcc
mtu: 1000 B payload
topology:
  hosts: [a, b, c, d, z]
  switches: [s]
  links:
    - {ends: [s, z], rate: 100Gbps, delay: %[3]v, buffer: 32MB}
    - {ends: [a, s], rate: 25Gbps, delay: %[3]v}
    - {ends: [b, s], rate: 25Gbps, delay: %[3]v}
    - {ends: [c, s], rate: 100Gbps, delay: %[3]v}
    - {ends: [d, s], rate: 100Gbps, delay: %[3]v}
switch: [ecmp, telemetry]
traffic: [{name: x, from: [a, b, c, d], to: z, transport: rdma, cc: {%[4]s}, start: 0s}]
measure: [goodput]`, end, end, delay, controller), nil)
	r := plantest.Simulate(t, c)
	for i := range got {
		got[i] = float64(r.Flows[i].Receiver.ReceivedBytes) * 8 / r.Measured.Seconds() / 1e9
	}
	return got, float64(r.Ports[0].TxBytes) * 8 / (100e9 * r.Measured.Seconds())
}

// TestCensusNetwork checks that N and W_init are the last hop's, so NICs of several rates share it. With each sender's
// own, NICs of 25 Gb/s got 7.4 Gb/s and NICs of 100 Gb/s 36.5. With census: off w_ai and n apply as given.
// TestCensusNetworkFull runs longer.
func TestCensusNetwork(t *testing.T) {
	censusNetwork(t, func(delay unit.Time) unit.Time { return 600*delay + 3*ms },
		func(delay unit.Time, n string) bool { return delay == us || n == "" })
}

// censusNetwork runs four controllers at two round trips, if covers accepts their setting of n. until gives the time of
// a run.
func censusNetwork(t *testing.T, until func(delay unit.Time) unit.Time, covers func(delay unit.Time, n string) bool) {
	t.Helper()
	for _, delay := range []unit.Time{us, 10 * us} {
		for _, c := range []string{"rx_hpcc: {}", "rx_hpcc: {census: on, n: 16}", "hpcc: {census: on}",
			"hpcc: {census: on, n: 16}"} {
			n := ""
			if strings.Contains(c, "n: 16") {
				n = "16"
			}
			if !covers(delay, n) {
				continue
			}
			t.Run(fmt.Sprintf("%s %v", c, delay), func(t *testing.T) {
				got, used := shares(t, c, delay, until(delay))
				for _, x := range got {
					if x < 20 || x > 25 {
						t.Errorf("%.1f Gb/s", got)
						break
					}
				}
				if used < 0.95 {
					t.Errorf("the link is %.3f full", used)
				}
			})
		}
	}
	for _, scheme := range []string{"hpcc", "rx_hpcc"} {
		t.Run(scheme+" without", func(t *testing.T) {
			few, _ := shares(t, scheme+": {census: off, n: 16}", us, until(us))
			many, _ := shares(t, scheme+": {census: off, n: 1600}", us, until(us))
			if few[0] > 12 || few == many {
				t.Errorf("n: 16: %.1f Gb/s, n: 1600: %.1f", few, many)
			}
		})
	}
}

// TestCensusOnSlowLinks checks that flows with windows below a packet have equal shares. A flow counts as one in its
// own number, and as its weight in the numbers of others, so the slowest flows do not have the smallest W_ai.
func TestCensusOnSlowLinks(t *testing.T) {
	for _, x := range []struct {
		flows      int
		rate       unit.Rate
		delay, end unit.Time
	}{{16, unit.Gbps, us, 200 * ms}, {24, 2500 * unit.Mbps, us / 2, 80 * ms}, {24, 10 * unit.Gbps, us / 2, 20 * ms}} {
		for _, c := range []string{"hpcc: {census: on, max_stage: 0}", "hpcc: {census: on, max_stage: 5}",
			"rx_hpcc: {max_stage: 0}", "rx_hpcc: {max_stage: 5}"} {
			t.Run(fmt.Sprintf("%d at %v %s", x.flows, x.rate, c), func(t *testing.T) {
				r := runNetwork(t, fmt.Sprintf(`
duration: %v
warmup: %v
framing: hpcc
mtu: 1000 B payload
topology: {star: {hosts: %d, rate: %v, delay: %v, buffer: 64MB}}
switch: [ecmp, telemetry]
traffic: [{name: x, from: "h[1-9]*", to: h0, transport: rdma, cc: {%s}, start: 0s..100us}]
measure: [goodput]`, x.end, x.end, x.flows+1, x.rate, x.delay, c), watch(10*us))
				sum, squares := 0., 0.
				for i := range r.Flows {
					got := float64(r.Flows[i].Receiver.ReceivedBytes)
					sum, squares = sum+got, squares+float64(got*got)
				}
				if jain := sum * sum / squares / float64(x.flows); jain < 0.9 {
					t.Errorf("Jain's index is %.3f", jain)
				}
				if used := sum * 8 / r.Measured.Seconds() / float64(x.rate) / payloadShare; used < 0.83 || used > 1 {
					t.Errorf("the link is %.3f full", used)
				}
			})
		}
	}
}

// TestReceiverOvershoot checks a receiver that commits once per T while packets wait for several T: it cuts windows
// again and again before the first cut shows. One that waits until its window shows keeps 16 flows from other leaves at
// eta, with a short queue.
func TestReceiverOvershoot(t *testing.T) {
	for _, c := range []string{"rx_hpcc", "{rx_hpcc: {census: off}}", "{hpcc: {census: on}}"} {
		t.Run(c, func(t *testing.T) {
			r := sprayed(t, 8, "3ms", "ecmp", `traffic: [{name: x, from: [h8, h9, h10, h11, h12, h13, h14, h15, h16, h17, h18,
  h19, h20, h21, h22, h23], to: h0, transport: {rdma: {recovery: selective_repeat}}, cc: `+c+`, start: 0s}]`)
			used := float64(r.Ports[1].TxBytes) * 8 / (100e9 * r.Measured.Seconds())
			if p := percentile(r.Watched[0], 99); p > 20_000 || used < 0.94 {
				t.Errorf("p99 of the queue %d bytes, utilisation %.3f", p, used)
			}
		})
	}
}

// TestReceiverDrains checks that a reduced sender sends no packet until the queue has drained. The queue of the last
// packets does not show how long they waited. Receivers that used it reduced twice for one queue, and then oscillated
// forever, with some draws of the starts: 2 of 20 with the count, 10 of 20 without (queues of 540 to 810 kB, 85 to 91 %
// of the link). TestReceiverDrainsFull has 20 seeds of each.
func TestReceiverDrains(t *testing.T) { receiverDrains(t, map[string]int{"{}": 8, "{census: off}": 3}) }

// receiverDrains runs receivers with the given settings, each with a number of seeds.
func receiverDrains(t *testing.T, settings map[string]int) {
	t.Helper()
	for c, seeds := range settings {
		t.Run(c, func(t *testing.T) {
			s := plantest.Load(t, registry(), `
duration: 500us
warmup: 2ms
repeat: `+strconv.Itoa(seeds)+`
topology: {leaf_spine: {leaves: 2, spines: 8, hosts: 8, rate: 100Gbps, uplink: 100Gbps, delay: 1us, buffer: 32MB}}
mtu: 1000 B payload
switch: [ecmp, telemetry]
traffic: [{name: x, from: [h8, h9, h10, h11, h12, h13, h14, h15], to: h0, transport: rdma, cc: {rx_hpcc: `+c+`},
  start: 0s..10us}]
measure: [goodput]`, experiment.Options{})
			for seed, run := range plan.ListRuns(s) {
				config, err := run.Config()
				if err != nil {
					t.Fatal(err)
				}
				config.Watches = append(config.Watches, outcome.Watch{What: outcome.QueueBytes, Index: 1, Every: us})
				r := plantest.Simulate(t, config)
				used := float64(r.Ports[1].TxBytes) * 8 / (100e9 * r.Measured.Seconds())
				if p := percentile(r.Watched[0], 95); p > 20_000 || used < 0.94 {
					t.Errorf("seed %d: p95 of the queue %d bytes, utilisation %.3f", seed+1, p, used)
				}
			}
		})
	}
}

// TestCensusSpread checks that flows sprayed over shared uplinks keep equal shares with the census. The last hop of
// each has one flow and is not the bottleneck, though a packet in a burst of several paths meets the maximum load
// there.
func TestCensusSpread(t *testing.T) {
	r := sprayedAfter(t, 2, "2ms", "1ms", "spray", `traffic: [{name: x, from: "*", to: {stride: 8},
  transport: {rdma: {recovery: selective_repeat, reordering: adaptive}}, cc: rx_hpcc, start: 0s..10us}]`)
	if jain := fairness(r); jain < 0.975 {
		t.Errorf("Jain's index is %.3f", jain)
	}
}

// TestCensusPartial checks that upon congestion the last record is of the last congested hop. Where that is a link in
// the middle, its flows are not the receiver's host's. With their number, eight W_ai of the complete headroom waited in
// its queue: p95 75 kB, 255 at 400 Gb/s.
func TestCensusPartial(t *testing.T) {
	for _, c := range []string{"rx_hpcc: {}", "hpcc: {census: on}"} {
		for _, rate := range []string{"100Gbps", "400Gbps"} {
			t.Run(c+" "+rate, func(t *testing.T) {
				r := runNetwork(t, fmt.Sprintf(`
duration: 500us
warmup: 1500us
mtu: 1000 B payload
topology: {dumbbell: {hosts: 8, rate: %s, delay: 1us, bottleneck: %[1]s, buffer: 64MB}}
switch: [ecmp, {telemetry: {t: 7us}}]
traffic: [{name: x, from: "*", to: {stride: 8}, transport: {rdma: {telemetry: congestion}}, cc: {%s}, start: 0s..10us}]
measure: [goodput]`, rate, c), watch(us))
				if p := percentile(r.Watched[0], 95); p > 15_000 {
					t.Errorf("p95 of the queue %d bytes", p)
				}
			})
		}
	}
}

// TestCensusUnequalPaths checks that flows sprayed over a slow path and three others are limited by the slow one,
// though the last hop is the bottleneck in almost all packets' measurements. While N counted then, Jain's index was .28
// to .34.
func TestCensusUnequalPaths(t *testing.T) {
	for _, c := range []string{"rx_hpcc", "{rx_hpcc: {max_stage: 0}}", "{hpcc: {census: on}}"} {
		t.Run(c, func(t *testing.T) {
			r := runSprayed(t, `
duration: 1ms
warmup: 5ms
topology: {leaf_spine: {leaves: 2, spines: 4, hosts: 4, rate: 100Gbps, delay: 5us, buffer: 64MB}}
mtu: 1000 B payload
switch: [spray, telemetry]
traffic: [{name: x, from: "*", to: {stride: 4}, cc: `+c+`, start: 0s..5us,
  transport: {rdma: {recovery: selective_repeat, reordering: adaptive}}}]
events: [{at: 0s, link: [leaf0, spine3], rate: 25Gbps}]
measure: [goodput]`)
			if jain := fairness(r); jain < 0.9 {
				t.Errorf("Jain's index is %.3f", jain)
			}
		})
	}
}

// fairness is Jain's index of what flows have got.
func fairness(r *outcome.Result) float64 {
	sum, squares := 0.0, 0.0
	for i := range r.Flows {
		x := float64(r.Flows[i].Receiver.ReceivedBytes)
		sum, squares = sum+x, squares+float64(x*x)
	}
	return sum * sum / squares / float64(len(r.Flows))
}
