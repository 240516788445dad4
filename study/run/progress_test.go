package run

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// beyond has hosts a and b with a switch between them, on a path that once cut a run short.
func beyond(duration, delay, rest string) string {
	return "title: t\nduration: " + duration + `
topology:
  hosts: [a, b]
  switches: [s]
  links:
    - {ends: [a, s], rate: 100Mbps, delay: 1ms}
    - {ends: [s, b], rate: 10Mbps, delay: ` + delay + `, buffer: 100 packets}
switch: [forward]
measure: [fct, loss]
` + rest
}

const transfer = "traffic: [{name: x, from: a, to: b, transport: tcp, cc: reno, size: 100kB, start: 0s}]\n"

// TestRun_EndsEarlyOnlyWithoutProgress checks that a run ends before its duration only when no further event can
// change its state. It waits for delays and outages of any length, and for a retransmission timer that has backed
// off to its maximum.
func TestRun_EndsEarlyOnlyWithoutProgress(t *testing.T) {
	for _, c := range []struct {
		name, text string
		end        outcome.EndReason
		from, to   float64 // when the run ends, in s
		waits      string
	}{
		{"delay of 6 s, TCP", beyond("200s", "6s", transfer), outcome.AllDone, 40, 60, ""},
		{"delay of 30 s, datagrams", beyond("200s", "30s",
			"traffic: [{name: x, from: a, to: b, transport: udp, rate: 1Mbps, size: 100kB, start: 0s}]\n"),
			outcome.AllDone, 30.78, 30.8, ""},
		{"down from 5 s to 18 s", strings.Replace(beyond("200s", "100ms", transfer), "size: 100kB", "size: 20MB", 1) +
			"events: [{at: 5s, link: [s, b], down: true}, {at: 18s, link: [s, b], down: false}]\n",
			outcome.AllDone, 30, 90, ""},
		// RFC 6298 (2.5), (5.5): 0.2 s and the round trip double up to 120 s (Linux's TCP_RTO_MAX)
		{"down until RTO is at its maximum", strings.Replace(beyond("3000s", "1ms", transfer), "100kB", "1MB", 1) +
			"events: [{at: 100ms, link: [s, b], down: true}, {at: 450s, link: [s, b], down: false}]\n",
			outcome.AllDone, 450, 571, ""},
		// RFC 9293 §3.8.3, tcp_syn_retries = 6: after 1 + 2 + … + 64 s
		{"down for longer than SYNs are repeated", beyond("3000s", "1ms", transfer) +
			"events: [{at: 0s, link: [s, b], down: true}]\n",
			outcome.NoProgress, 127, 127.5, "no event: its connection has timed out"},
		{"down for ever", beyond("100s", "1ms", transfer) + "events: [{at: 1ms, link: [s, b], down: true}]\n",
			outcome.TimeUp, 100, 100, "its timer at 127"},
		// HULA's probes between switches do not belong to the flow, and do not keep the run going.
		{"connection given up, with probes between switches", `title: t
duration: 3000s
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 1, rate: 1Gbps, delay: 10us, buffer: 100 packets}}
addresses: hierarchical
switch: [{hula: {probe: 100ms}}]
traffic: [{name: x, from: h0, to: h1, transport: tcp, cc: reno, size: 1MB, start: 0s}]
events: [{at: 0s, link: [leaf1, h1], down: true}]
measure: [fct, loss]
`, outcome.NoProgress, 127, 127.5, "no event: its connection has timed out"},
		{"a flow that starts after a long silence", beyond("200s", "1ms", "traffic:\n"+
			"  - {name: x, from: a, to: b, transport: udp, rate: 5Mbps, size: 1MB, start: 0s}\n"+
			"  - {name: y, from: a, to: b, transport: udp, rate: 1Mbps, size: 1kB, start: 150s}\n"),
			outcome.AllDone, 150, 150.1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := one(t, c.text)
			if r.End.Reason != string(c.end) || r.End.TimeS < c.from || r.End.TimeS > c.to {
				t.Errorf("%s at %g s, want %s between %g and %g s", r.End.Reason, r.End.TimeS, c.end, c.from, c.to)
			}
			if !strings.Contains(r.End.WaitsFor, c.waits) || (c.waits == "") != (r.End.WaitsFor == "") {
				t.Errorf("it waits for %q, want %q", r.End.WaitsFor, c.waits)
			}
			if strings.Contains(r.End.WaitsFor, "in the network") {
				t.Errorf("no packet of a flow is in the network: %q", r.End.WaitsFor)
			}
			if loss := valueOf(r, t, "loss", "x"); c.end == outcome.AllDone && strings.Contains(c.text, "udp") && loss != 0 {
				t.Errorf("loss of %g, and no link or queue loses anything", loss)
			}
			if n := len(r.Unfinished); n > 0 && r.Unfinished[0].WaitsFor == "" {
				t.Errorf("unfinished, and not said what for: %+v", r.Unfinished)
			}
		})
	}
}

// TestProgressOfDatagrams checks that a run with finite datagram flows ends when the last datagram has arrived, for
// any duration. So measures over its time do not depend on the duration.
func TestProgressOfDatagrams(t *testing.T) {
	text := func(duration string) string {
		return beyond(duration, "1ms",
			"traffic: [{name: x, from: a, to: b, transport: udp, rate: 8Mbps, size: 100kB, start: 0s}]\n") +
			"measure: [goodput]\n"
	}
	first := ""
	for _, duration := range []string{"1s", "10s", "1000s", "20000s"} {
		r, _ := one(t, strings.Replace(text(duration), "measure: [fct, loss]\n", "", 1))
		got := fmt.Sprint(r.End, r.Measures)
		// 100 kB at 8 Mb/s, minus the gap before the first datagram; plus two links of 1 ms and the last frame on them
		if r.End.Reason != string(outcome.AllDone) || r.End.TimeS < 0.1 || r.End.TimeS > 0.105 {
			t.Errorf("duration %s: %+v", duration, r.End)
		}
		if first == "" {
			first = got
		}
		if got != first {
			t.Errorf("duration %s: %s, with 1s %s", duration, got, first)
		}
	}
}

// TestRun_NamesWhatFlowsWaitFor checks that the end of a run names the cause that holds a flow up.
func TestRun_NamesWhatFlowsWaitFor(t *testing.T) {
	udp := "traffic:\n  - {name: x, from: a, to: b, transport: udp, rate: 1Mbps, size: 1MB, start: %s}\n"
	for _, c := range []struct{ name, text, want string }{
		{"pace", beyond("1s", "1ms", fmt.Sprintf(udp, "0s")), "its pacing at 1.0"},
		{"packets in the network", beyond("1s", "2s", transfer), "its timer at 1 s, with a packet in the network"},
		{"a timer", beyond("1s", "1ms", transfer) + "events: [{at: 0s, link: [s, b], down: true}]\n", "its timer at 1 s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := one(t, c.text)
			if !strings.Contains(r.End.WaitsFor, c.want) {
				t.Errorf("it waits for %q, want %q", r.End.WaitsFor, c.want)
			}
		})
	}
	r, _ := one(t, circle(5, "5MB")+"measure: [drops]\n")
	if !strings.Contains(r.End.WaitsFor, "its host, where PFC pauses class 3, with") {
		t.Errorf("a ring that is locked waits for %q", r.End.WaitsFor)
	}
}

// TestProgress_CountsPacketHops checks that progress counts the packet-hops of all runs, that shares rise to 1, and
// that the simulated time belongs to a run in progress. A run whose flows finish long before its duration does not
// look as if it had just begun.
func TestProgress_CountsPacketHops(t *testing.T) {
	var all []Progress
	var ticks atomic.Int64 // every look at the clock is a report later
	clock := func() time.Time { return time.Unix(0, 0).Add(time.Duration(ticks.Add(1)) * minInterval) }
	out := execute(t, runnable, Options{Jobs: 2, clock: clock, OnProgress: func(p Progress) { all = append(all, p) }})
	hops := uint64(0)
	for _, r := range out.Runs {
		hops += r.PacketHops
	}
	last := all[len(all)-1]
	if last.Share != 1 || last.Done != len(out.Runs) || last.PacketHops != hops || last.Time != 0 {
		t.Errorf("%+v at last, %d packet-hops", last, hops)
	}
	seen := false
	for i, p := range all {
		if seen = seen || p.Time > 0; p.Share < 0 || i > 0 && (p.Share < all[i-1].Share ||
			p.PacketHops < all[i-1].PacketHops) {
			t.Errorf("%+v after %+v", p, all[max(i-1, 0)])
		}
	}
	if !seen {
		t.Error("no simulated time")
	}
	s := plantest.Load(t, room(), beyond("2000s", "1ms", transfer), experiment.Options{})
	r := plan.ListRuns(s)[0]
	c, err := r.Config()
	if err != nil {
		t.Fatal(err)
	}
	var share float64
	tell := newReporter(r, c, clock, func(_ sim.Progress, s float64) { share = s })
	tell(sim.Progress{Time: 100 * unit.Millisecond, PacketHops: uint64(plan.EstimateHops(r) / 2)})
	if share < 0.49 || share > 0.51 {
		t.Errorf("half of the packet-hops are a share of %g", share)
	}
	tell(sim.Progress{Time: 200 * unit.Millisecond, PacketHops: uint64(plan.EstimateHops(r) * 3)})
	if share != maxGuessed {
		t.Errorf("more packet-hops than were expected are a share of %g", share)
	}
}

// TestReportsAreRare checks that reports of one run are at least minInterval apart.
func TestReportsAreRare(t *testing.T) {
	r := plan.ListRuns(plantest.Load(t, room(), runnable, experiment.Options{}))[0]
	c, err := r.Config()
	if err != nil {
		t.Fatal(err)
	}
	now, reports := time.Unix(0, 0), 0
	tell := newReporter(r, c, func() time.Time { return now }, func(sim.Progress, float64) { reports++ })
	for range 40 {
		now = now.Add(minInterval / 4)
		tell(sim.Progress{})
	}
	if reports != 10 {
		t.Errorf("%d reports, want 10", reports)
	}
}
