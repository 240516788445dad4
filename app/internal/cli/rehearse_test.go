//go:build !race

// Left out of race: long simulations that start no goroutines of their own.

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
	"weir/worlds/lab"
)

// TestRehearsal_MatchesSimulatorForEachScheme checks that the lab's data plane and hosts treat frames as the
// simulator treats packets, for every program, scheduler, controller and transport. The machine of the rehearsal is
// never late. Both break ties differently by some picoseconds. So times may differ a little, and full queues may
// drop other packets.
func TestRehearsal_MatchesSimulatorForEachScheme(t *testing.T) {
	r := Registry()
	everyScheme(r, func(what, text string) {
		t.Run(what, func(t *testing.T) {
			text = strings.ReplaceAll(strings.ReplaceAll(text, "transport: tcp", "transport: tcp, stack: weir"),
				"transport: udp,", "transport: udp, stack: weir,")
			if what == "program abc" {
				text = laterStart.Replace(text)
			}
			rehearse(t, r, text)
		})
	})
}

// laterStart adds a second before traffic starts. The meters of abc measure rates from the start of their switch,
// which is the experiment's time 0 in the simulator and earlier in the lab. In the first milliseconds, one world
// divides bytes by a tiny time, and the other by a second. With the delay, both worlds drop the same packets. Flows
// that lose their last segments or a SYN, 2 to 11 of 13 by seed, wait for a timeout that is longer than the run.
var laterStart = strings.NewReplacer("duration: 3ms", "duration: 1003ms", "start: 0s..100us", "start: 1s..1000100us",
	"start: 0s..300us", "start: 1s..1000300us")

func rehearse(t *testing.T, r *experiment.Registry, text string) {
	t.Helper()
	s := plantest.LoadSource(t, r, plantest.NewSource("rehearsal.yaml", text), experiment.Options{})
	one := plan.ListRuns(s)[0]
	c, err := one.Config()
	if err != nil {
		t.Fatal(err)
	}
	want := plantest.Simulate(t, c)
	network, err := run.LabConfig(one)
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := run.HostsConfig(one)
	if err != nil {
		t.Fatal(err)
	}
	hosts.Capture = &lab.Capture{File: filepath.Join(t.TempDir(), "hosts.pcapng")}
	report, ends, result, err := lab.Rehearse(network, hosts)
	if err != nil {
		t.Fatal(err)
	}
	replayHosts(t, one, ends.Captured, hosts.Capture.File)
	got := result.(*outcome.Result)
	if all := append(report.Errors(), ends.Errors()...); len(all) > 0 || report.Lateness.Max > 10 ||
		ends.Lateness.Max > 10 {
		t.Errorf("errors %v, data plane late by %v, hosts by %v", all, report.Lateness.Max, ends.Lateness.Max)
	}
	var fct, wanted []float64
	for i := range want.Flows {
		a, b := want.Flows[i].FCT, got.Flows[i].FCT
		if a == unit.Never || b == unit.Never {
			continue
		}
		fct, wanted = append(fct, b.Seconds()), append(wanted, a.Seconds())
	}
	drops := func(d [len(want.Drops)]uint64) (n float64) {
		for _, x := range d {
			n += float64(x)
		}
		return n
	}
	const share = 0.02
	oneFlow, fiveDrops := testkit.Tolerance{Relative: share, Absolute: 1}, testkit.Tolerance{Relative: share, Absolute: 5}
	if testkit.IsNear(float64(len(got.Unfinished)), float64(len(want.Unfinished)), oneFlow) &&
		testkit.IsNear(mean(fct), mean(wanted), testkit.Tolerance{Relative: share}) &&
		testkit.IsNear(drops(report.Drops), drops(want.Drops), fiveDrops) {
		return
	}
	t.Errorf("%d flows are unfinished, wanted %d; mean FCT %.6g s, wanted %.6g; %v drops, wanted %v",
		len(got.Unfinished), len(want.Unfinished), mean(fct), mean(wanted), drops(report.Drops), drops(want.Drops))
}

// replayHosts replays the frames that hosts received and sent. New hosts must send the same frames at the same
// times.
func replayHosts(t *testing.T, one *plan.Run, captured *lab.CaptureSummary, file string) {
	t.Helper()
	hosts, err := run.HostsConfig(one)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	again, err := lab.ReplayHosts(hosts, f)
	if err != nil {
		t.Fatal(err)
	}
	if again.First != nil {
		t.Errorf("the hosts do not do the same again: %.400s", again.First.String())
	}
	if again.In != captured.In || again.Out != captured.Out || again.Out < 100 {
		t.Errorf("%d frames taken and %d sent, captured are %+v", again.In, again.Out, captured)
	}
}

func mean(x []float64) (m float64) {
	for _, v := range x {
		m += v / float64(len(x))
	}
	return m
}

// incast has eight senders to one port, whose switch makes NACKs, or writes telemetry.
const incast = `duration: 60ms
warmup: 5ms
topology: {star: {hosts: 9, rate: 1Gbps, delay: 20us, buffer: 60 packets}}
switch: [forward, %s]
traffic:
  - {name: long, from: h0, to: h8, transport: %s, start: 0s}
  - {name: short, from: "h[1-7]", to: h8, transport: %s, size: 60kB, start: 20ms}
measure: [%s]
`

// TestSenders_ReportSameMeasuresInLabAndSimulator checks that Weir's own senders report the same in the lab as in the
// simulator: the maximum in flight, the time of the reduction after a queue was long, the fate of NACKs, and windows
// over time.
func TestSenders_ReportSameMeasuresInLabAndSimulator(t *testing.T) {
	const all = "overshoot, {reduction: {traffic: long, port: s->h8, above: 8 packets, after: 10ms}}, " +
		"{cwnd: {every: 1ms}}, {in_flight: {every: 1ms}}, {rate: {every: 1ms}}, timeouts, retransmissions"
	const tcp, hpcc = "{tcp: {stack: weir, nacks: loss}}, cc: reno", "rdma, cc: {hpcc: {preset: simulator}}"
	for _, x := range []struct{ name, text string }{
		// HPCC has a maxStage of 0. With stages, an acknowledgement that is a microsecond late decides between additive
		// and multiplicative increase, and the lab's hosts and the simulator's differ by that.
		{"hpcc", fmt.Sprintf(incast, "{telemetry: {format: int-md}}", hpcc, hpcc, all)},
		{"ncf", fmt.Sprintf(incast, "ncf", tcp, tcp, all+", {rtt: {every: 1ms}}, nacks")},
		{"from a time on", fmt.Sprintf(incast, "ncf", tcp, tcp, "{reduction: {traffic: long, after: 20ms, of: all}}")},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := plantest.LoadSource(t, Registry(), plantest.NewSource("senders.yaml", x.text), experiment.Options{})
			one := plan.ListRuns(s)[0]
			want, err := run.Execute(t.Context(), s, run.Options{})
			if err != nil || len(want.Runs) != 1 {
				t.Fatal(err, want)
			}
			got, err := run.RehearseRun(one)
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range want.Runs[0].Measures {
				for k, g := range m.Groups {
					tolerance := testkit.Tolerance{Relative: 0.01, Absolute: floors[m.Unit]}
					if v := got.Measures[i].Groups[k].Value; !testkit.IsNear(v, g.Value, tolerance) && v == v ||
						(v == v) != (g.Value == g.Value) {
						t.Errorf("%s %s: %v, in the simulator %v", m.Name, g.Group, v, g.Value)
					}
				}
			}
		})
	}
}

// floors are differences that are too small to matter, by unit.
var floors = map[string]float64{"packets": 3, "s": 2e-6, "bytes": 1500, "bit/s": 1e6, "": 0.02}

// steered has two leaves and two spines of P4TE, which move flows between uplinks.
const steered = `duration: 60ms
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 3, rate: 100Mbps, delay: 50us, buffer: 60 packets}}
addresses: hierarchical
switch: [{p4te: {control_latency: 100us, table_write: 10us}}]
traffic:
  - {name: x, from: "*", to: {stride: 3}, start: 0s, payload: 1400 B, ip: 6, transport: {tcp: {stack: weir}}, cc: cubic}
measure: [control, state]
`

// TestSwitches_ReportSameMeasuresInLabAndSimulator checks that switches of the lab report control planes and programs'
// state as the simulator's do, from the experiment's time 0 on, though they run before.
func TestSwitches_ReportSameMeasuresInLabAndSimulator(t *testing.T) {
	s := plantest.LoadSource(t, Registry(), plantest.NewSource("steered.yaml", steered), experiment.Options{})
	want, err := run.Execute(t.Context(), s, run.Options{})
	if err != nil || len(want.Runs) != 1 {
		t.Fatal(err, want)
	}
	got, err := run.RehearseRun(plan.ListRuns(s)[0])
	if err != nil {
		t.Fatal(err)
	}
	most := map[string]float64{}
	for i, m := range want.Runs[0].Measures {
		for k, g := range m.Groups {
			v := got.Measures[i].Groups[k].Value
			if !testkit.IsNear(v, g.Value, testkit.Tolerance{Relative: 0.1, Absolute: 0.02}) {
				t.Errorf("%s %s: %v, in the simulator %v", m.Name, g.Group, v, g.Value)
			}
			most[m.Name+" "+g.Group] = g.Value
		}
	}
	if len(most) < 20 || most["control events"] < 100 || most["control writes"] < 20 || !(most["control_busy mean"] > 0) ||
		!(most["control_groups depth_1"] > 0) || !(most["state leaf0"] > 1000) {
		t.Errorf("there is little to tell: %v", most)
	}
}
