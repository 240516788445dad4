package ndp_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/balance/spray"
	ndpswitch "weir/core/dataplane/buffer/ndp"
	"weir/core/dataplane/tm"
	"weir/core/outcome"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/ndp"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/worlds/sim"
)

// configure makes the first run of an experiment.
func configure(t testing.TB, text string) *sim.Config {
	t.Helper()
	registry := &experiment.Registry{
		Measures:   measure.Definitions(),
		Programs:   []dataplane.Scheme{ecmp.Scheme(), ndpswitch.Scheme(), spray.Scheme()},
		Schedulers: tm.Schemes(),
		Transports: []transport.Scheme{ndp.Scheme()},
		Topologies: topology.Schemes(),
	}
	return plantest.Configure(t, registry, text)
}

func incast(hosts, senders int, size, program string) string {
	return fmt.Sprintf(`
duration: 2s
topology: {star: {hosts: %d, rate: 10Gbps, delay: 1us}}
switches:
  "*": {queues: 2, scheduler: {wrr: {weights: {0: 10}}}, programs: [ecmp, %s]}
traffic:
  - {name: incast, from: {random: %d}, to: {random: 1}, transport: ndp, size: %s, start: 0s}
`, hosts, program, senders, size)
}

// timeouts returns the timeouts of all flows.
func timeouts(c *sim.Config) (n int64) {
	for i := range c.Flows {
		n += c.Endpoints[i].Sender.(*ndp.Sender).Timeouts()
	}
	return n
}

// TestNDP_IncastEndsNearOptimum checks NDP §6: incasts of any size end near the optimum, without a timeout, with queues
// of eight packets. They are fair: the last of equal flows ends shortly after the first.
func TestNDP_IncastEndsNearOptimum(t *testing.T) {
	const frame, payload = 1514, 1464
	for _, x := range []struct {
		senders int
		size    unit.Bytes
		least   float64 // of the bottleneck's time
	}{{8, 500_000, 0.98}, {64, 20_000, 0.95}, {64, 500_000, 0.98}, {256, 20_000, 0.95}, {256, 500_000, 0.98}} {
		t.Run(fmt.Sprintf("%d senders of %v", x.senders, x.size), func(t *testing.T) {
			c := configure(t, incast(257, x.senders, fmt.Sprint(int64(x.size), " B"), "ndp"))
			last := 2*c.Flows[0].Dst + 1 // port of the switch to the receiver
			c.Watches = []outcome.Watch{{What: outcome.QueueBytes, Index: last, Every: 10 * unit.Microsecond},
				{What: outcome.QueuePackets,
					Index: last, Every: 10 * unit.Microsecond}}
			r := plantest.Simulate(t, c)
			end, first := unit.Time(0), unit.Never
			for _, f := range r.Flows {
				end, first = max(end, f.FCT), min(first, f.FCT)
			}
			packets := (x.size + payload - 1) / payload
			bytes := x.size + packets*(frame-payload)
			optimum := unit.TransmitTime(bytes*unit.Bytes(x.senders), 10*unit.Gbps) + 4*unit.Microsecond
			name := fmt.Sprintf("%d × %v", x.senders, x.size)
			if share := float64(optimum) / float64(end); share < x.least || len(r.Unfinished) > 0 {
				t.Errorf("%s: the last flow ends after %v, %.3f of the optimum %v; %d unfinished", name, end, share, optimum,
					len(r.Unfinished))
			}
			if n := timeouts(c); n > 0 {
				t.Errorf("%s: %d timeouts", name, n)
			}
			if x.size == 500_000 && float64(first) < 0.9*float64(end) {
				t.Errorf("%s: the first of equal flows ends at %v, the last at %v", name, first, end)
			}
			for i, b := range r.Watched[0] {
				if b > 8*(frame+int64(c.Wiring.MaxFrame)) {
					t.Fatalf("%s: %d bytes wait at %v", name, b, unit.Time(i)*10*unit.Microsecond)
				}
			}
			var lost uint64 // headers that are neither kept nor sent back
			for why, n := range r.Drops {
				if dataplane.Reason(why) != dataplane.Returned {
					lost += n
				}
			}
			if lost > 0 {
				t.Errorf("%s: %d packets are lost: %v", name, lost, r.Drops)
			}
			if x.senders == 8 && r.Drops[dataplane.Returned] > 0 {
				t.Errorf("%s: %d headers find no room", name, r.Drops[dataplane.Returned])
			}
		})
	}
}

// TestIncastWithoutReturn checks that without return to sender headers are dropped, and that all flows end still, by
// timeouts.
func TestIncastWithoutReturn(t *testing.T) {
	c := configure(t, incast(257, 256, "20 kB", "{ndp: {return_to_sender: false, headers: 2 kB}}"))
	r := plantest.Simulate(t, c)
	if len(r.Unfinished) > 0 || r.Drops[dataplane.TrimFailed] == 0 || r.Drops[dataplane.Returned] > 0 || timeouts(c) == 0 {
		t.Errorf("%d unfinished, %d timeouts, drops %v", len(r.Unfinished), timeouts(c), r.Drops)
	}
}

// TestNDP_PermutationUsesAllPaths checks NDP §6 with a permutation on a fat tree: each host sends to one and receives
// from one. Packets spread over all paths use nearly all of the links' capacity (9000 B, as in the paper). They use
// less if switches go round in a fixed order, which locks their phases, and about two thirds with a path per flow.
func TestNDP_PermutationUsesAllPaths(t *testing.T) {
	goodput := func(program string) float64 {
		c := configure(t, fmt.Sprintf(`
duration: 8ms
warmup: 2ms
mtu: 9000 B
topology: {fat_tree: {k: 4, rate: 10Gbps, delay: 1us}}
switches:
  "*": {queues: 2, scheduler: {wrr: {weights: {0: 10}}}, programs: [%s, ndp]}
traffic:
  - {name: perm, from: "*", to: permutation, transport: ndp, start: 0s}
`, program))
		r := plantest.Simulate(t, c)
		var sum unit.Bytes
		for _, f := range r.Flows {
			sum += f.Receiver.ReceivedBytes
		}
		if n := timeouts(c); n > 0 {
			t.Errorf("%s: %d timeouts", program, n)
		}
		return float64(sum) * 8 / r.Measured.Seconds() / 10e9 / float64(len(r.Flows)) * 9014 / 8964
	}
	for _, x := range []struct {
		program     string
		least, most float64
	}{{"{spray: {order: permutation}}", 0.93, 1}, {"{spray: {order: random}}", 0.93, 1}, {"{spray: {order: round_robin}}",
		0.82, 0.93}, {"ecmp", 0.5, 0.8}} {
		t.Run(x.program, func(t *testing.T) {
			if share := goodput(x.program); share < x.least || share > x.most {
				t.Errorf("with %s flows have %.3f of the links", x.program, share)
			}
		})
	}
}

// TestSameResult checks that bytes on every link, and other execution windows, give the same result.
func TestSameResult(t *testing.T) {
	for name, text := range map[string]string{"incast": incast(33, 32, "100 kB", "{ndp: {headers: 1 kB}}"), "fat tree": `
duration: 300us
topology: {fat_tree: {k: 4, rate: 10Gbps, delay: 1us, loss: 0.1%}}
switches:
  "*": {queues: 2, scheduler: {wrr: {weights: {0: 10}}}, programs: [spray, ndp]}
traffic:
  - {name: perm, from: "*", to: permutation, transport: {ndp: {priority: true, rto_min: 50us}}, start: 0s}
  - {name: in, from: {random: 8}, to: {random: 1}, transport: ndp, size: 50 kB, ip: 6, start: 0s}
`} {
		t.Run(name, func(t *testing.T) {
			transcript := func(change func(c *sim.Config)) string {
				c := configure(t, text)
				c.Duration, c.UntilDone = min(c.Duration, 3*unit.Millisecond), false // which ends a window after the last flow
				change(c)
				b, err := json.Marshal(plantest.Simulate(t, c))
				if err != nil {
					t.Fatal(err)
				}
				return string(b)
			}
			want := transcript(func(*sim.Config) {})
			for name, change := range map[string]func(c *sim.Config){
				"wire":         func(c *sim.Config) { c.Wire = true },
				"small window": func(c *sim.Config) { c.Window = 300 * unit.Nanosecond },
				"one group":    func(c *sim.Config) { c.Window = unit.Second },
			} {
				if got := transcript(change); got != want {
					t.Errorf("%s: another result", name)
				}
			}
		})
	}
}
