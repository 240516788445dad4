package run

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/results"
	"weir/worlds/lab"
	labtraffic "weir/worlds/lab/traffic"
	"weir/worlds/live"
)

// TestRepeatRun_RepeatsDisturbedAttempts checks that a disturbed attempt is repeated, up to the limit. The last one
// counts, and all are recorded and reported (issue "The lab", honesty about the machine).
func TestRepeatRun_RepeatsDisturbedAttempts(t *testing.T) {
	noisy := []string{"a stall"}
	for _, x := range []struct {
		limit     int
		disturbed [][]string // by attempt
		want      int        // attempts
	}{
		{3, [][]string{nil}, 1},
		{3, [][]string{noisy, nil}, 2},
		{3, [][]string{noisy, noisy, nil}, 3},
		{3, [][]string{noisy, noisy, noisy, nil}, 3},
		{1, [][]string{noisy, nil}, 1},
		{0, [][]string{noisy, nil}, 1},
	} {
		t.Run(fmt.Sprintf("limit %d, disturbed %q", x.limit, x.disturbed), func(t *testing.T) {
			n := 0
			var told []string
			o := &Lab{Attempts: x.limit, OnRun: func(_ *plan.Run, attempt, _ int, a *results.Attempt) {
				told = append(told, fmt.Sprint(attempt, a.Disturbed))
			}}
			run, err := o.repeatRun(&plan.Run{}, func() (*results.Run, *results.Attempt, error) {
				n++
				return &results.Run{Seed: uint64(n)}, &results.Attempt{Disturbed: x.disturbed[n-1], Frames: uint64(n)}, nil
			})
			if err != nil || n != x.want || run.Seed != uint64(n) || len(run.Attempts) != n || len(told) != n {
				t.Fatalf("%d attempts, %+v, told %v, %v", n, run, told, err)
			}
			for i, a := range run.Attempts {
				if a.Frames != uint64(i+1) || !reflect.DeepEqual(a.Disturbed, x.disturbed[i]) ||
					told[i] != fmt.Sprint(i+1, a.Disturbed) {
					t.Errorf("attempt %d is %+v, told as %s", i+1, a, told[i])
				}
			}
		})
	}
	wrong := errors.New("wrong")
	n := 0
	_, err := (&Lab{Attempts: 5}).repeatRun(&plan.Run{}, func() (*results.Run, *results.Attempt, error) {
		if n++; n == 2 {
			return nil, nil, wrong
		}
		return &results.Run{}, &results.Attempt{Disturbed: noisy}, nil
	})
	if err != wrong || n != 2 {
		t.Errorf("%v after %d attempts", err, n)
	}
}

// TestBusyMachine checks that runs have one attempt after the machine has disturbed all attempts of two runs, and
// that this is reported once.
func TestBusyMachine(t *testing.T) {
	const noisy, quiet = true, false
	for _, x := range []struct {
		runs []bool // by run: all its attempts are disturbed
		want string // attempts by run
		busy int    // notices
	}{
		{[]bool{quiet, noisy, quiet, quiet}, "[1 3 1 1]", 0},
		{[]bool{noisy, noisy, noisy, quiet}, "[3 3 1 1]", 1},
		{[]bool{noisy, quiet, noisy, noisy, noisy}, "[3 1 3 1 1]", 1},
	} {
		t.Run(fmt.Sprint(x.runs), func(t *testing.T) {
			var attempts []int
			busy := 0
			o := &Lab{Attempts: 3, OnBusy: func() { busy++ }}
			for _, disturbed := range x.runs {
				a := &results.Attempt{}
				if disturbed {
					a.Disturbed = []string{"a stall"}
				}
				run, err := o.repeatRun(&plan.Run{}, func() (*results.Run, *results.Attempt, error) {
					return &results.Run{}, a, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				attempts = append(attempts, len(run.Attempts))
			}
			if got := fmt.Sprint(attempts); got != x.want || busy != x.busy {
				t.Errorf("attempts %s, want %s; busy %d times, want %d", got, x.want, busy, x.busy)
			}
		})
	}
}

// TestAttemptOf checks that an attempt has the measurements of the data plane and the generator about the machine.
// Frames lost outside the experiment's network are an error of the run and disturb it. A failed connection is an
// error.
func TestAttemptOf(t *testing.T) {
	var h unit.Histogram
	h.Add(unit.Millisecond)
	quiet := &lab.Report{
		Lateness: live.Lateness{Frames: 7, P50: 1e6, P99: 2e6, P999: 3e6, Max: 4e6, Below: []uint64{3, 4}},
		Stall:    5e6, Steal: 0.01, CPU: 0.2, Wall: unit.Second}
	a := attemptOf(quiet, &labOutcome{kernel: &labtraffic.Result{}}, unit.Second, 0)
	want := &results.Attempt{Disturbed: []string{}, Errors: []string{}, Frames: 7, LateP50S: 1e-6, LateP99S: 2e-6,
		LateP999S: 3e-6,
		LateMaxS:  4e-6, Lateness: []uint64{3, 4},
		StallS: 5e-6, Steal: 0.01, CPU: 0.2, WallS: 1}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("quiet: %+v\nwant %+v", a, want)
	}
	bad := *quiet
	bad.Gates.RingLost, bad.VethLost, bad.Counts.SendLost, bad.Gates.Partial = 1, 2, 4, 8
	kernel := &labtraffic.Result{Flows: []labtraffic.FlowResult{{}, {Failed: errors.New("it was refused")}},
		Lost: labtraffic.Lost{Unread: 3}, SendLateness: labtraffic.Lateness{Histogram: h, Max: 2 * unit.Millisecond}}
	a = attemptOf(&bad, &labOutcome{kernel: kernel}, unit.Second, 0)
	if a.RingLost != 1 || a.Lost != 6 {
		t.Errorf("lost: %d and %d", a.RingLost, a.Lost)
	}
	text := strings.Join(a.Disturbed, "; ")
	for _, w := range []string{"rings lost 7 frames", "3 datagrams did not fit into a receiving socket"} {
		if !strings.Contains(text, w) {
			t.Errorf("disturbed by %q, want %q", text, w)
		}
	}
	if strings.Contains(text, "refused") || strings.Contains(text, "checksum") {
		t.Errorf("disturbed by %q, of which the machine is not guilty", text)
	}
	text = strings.Join(a.Errors, "; ")
	for _, w := range []string{"1 frames did not fit into a ring", "2 frames were dropped", "4 frames were not accepted",
		"8 frames arrived without a checksum", "3 datagrams", "it was refused"} {
		if !strings.Contains(text, w) {
			t.Errorf("errors %q, want %q", text, w)
		}
	}
	if s := a.Send; s == nil || s.Datagrams != 1 || s.MaxS != 2e-3 || math.Abs(s.P50S-1e-3) > 2e-5 {
		t.Errorf("datagrams: %+v", s)
	}
}

// TestLabRun checks that results of the lab have the meaning of the simulator's. Hosts give their own counters, the
// network gives deliveries and delays, samples have the right places, and unfinished flows have the number of bytes
// that arrived.
func TestLabRun(t *testing.T) {
	s := plantest.Load(t, room(), `duration: 2s
warmup: 1s
topology:
  hosts: [a, b]
  switches: [s]
  links:
    - {ends: [a, s], rate: 100Mbps, delay: 1ms}
    - {ends: [s, b], rate: 100Mbps, delay: 3ms, buffer: 100 packets}
traffic:
  - {name: sized, from: a, to: b, transport: tcp, size: 100kB, start: 0s}
  - {name: long, from: a, to: b, transport: tcp, start: 0s}
switch: [forward]
measure: [{goodput: {by: traffic}}, {rtt: {every: 500ms}}, {queue: {port: s->b, every: 500ms}},
  {delay: {by: traffic}}, {cwnd: {every: 500ms}}, fct, timeouts]
`, experiment.Options{})
	r := plan.ListRuns(s)[0]
	c, err := r.Config()
	if err != nil {
		t.Fatal(err)
	}
	// 1514 and 66 bytes each way at 100 Mb/s over two links, 8 ms of delay.
	if rtt := shortestRTT(r.SpecPoint, c); rtt < 8*unit.Millisecond || rtt > 9*unit.Millisecond {
		t.Errorf("the shortest base RTT is %v", rtt)
	}
	report := &lab.Report{Watched: make([][]int64, len(c.Watches)), Ports: make([]outcome.PortResult, 4),
		Delays: []unit.Histogram{},
		Flows: []lab.FlowCounts{{DelayMin: unit.Never}, {Packets: 500, Bytes: 724000, DelaySum: 2500 * unit.Millisecond,
			DelayMin: 4 * unit.Millisecond, DelayMax: 7 * unit.Millisecond}}}
	report.Drops[1] = 9
	kernel := &labtraffic.Result{End: labtraffic.TimeUp, Time: 3 * unit.Second, Flows: []labtraffic.FlowResult{
		{FCT: unit.Never, Arrived: unit.Never, Written: unit.Never, Received: 70_000},
		{FCT: unit.Never, Arrived: unit.Never, Written: unit.Never, Timeouts: 3, Received: 1e6},
	}}
	kernel.Flows[1].Receiver = transport.Counters{Received: transport.Received{ReceivedBytes: 500_000,
		ReceivedPackets: 499, Spurious: [packet.ResendCauses]int64{packet.FirstCopy: 4}, DelayMin: unit.Never}}
	value := int64(0)
	of := map[outcome.Quantity][]int{}
	for i, w := range c.Watches {
		samples := []int64{0, value + 1, value + 2}
		if value += 10; w.What.OfFlow() {
			kernel.Sampled = append(kernel.Sampled, samples)
		} else {
			report.Watched[i] = slices.Clone(samples)
		}
		of[w.What] = append(of[w.What], i)
	}
	all := &labOutcome{kernel: kernel, flows: []int{0, 1}}
	res := labResult(r.SpecPoint, c, report, all)
	if res.Time != c.Duration || res.Measured != c.Duration-c.Warmup || !slices.Equal(res.Unfinished, []int{0}) ||
		res.Drops != report.Drops || len(res.Delays) != 2 {
		t.Errorf("%v, measured %v, unfinished %v, drops %v, %d histograms", res.Time, res.Measured, res.Unfinished, res.Drops,
			len(res.Delays))
	}
	f := &res.Flows[1].Receiver
	if f.ReceivedBytes != 500_000 || f.ReceivedPackets != 500 || f.DuplicateCount() != 4 ||
		f.DelaySum != 2500*unit.Millisecond || f.DelayMax != 7*unit.Millisecond || res.Flows[1].Timeouts != 3 {
		t.Errorf("%+v", res.Flows[1])
	}
	for what, all := range of {
		for _, i := range all {
			want := []int64{0, 10*int64(i) + 1, 10*int64(i) + 2}
			if what == outcome.RTT { // there was none yet
				want[0] = -1
			}
			if !slices.Equal(res.Watched[i], want) {
				t.Errorf("watch %d: %v, want %v", i, res.Watched[i], want)
			}
		}
	}
	run := labRun(r, c, report, all, "id")
	if u := run.Unfinished; len(u) != 1 || u[0] != (results.UnfinishedFlow{Flow: 0, Traffic: "sized", Src: "a", Dst: "b",
		SizeBytes: 100_000, DoneBytes: 70_000}) {
		t.Errorf("unfinished: %+v", u)
	}
	if run.End.Reason != "time up" || run.ID != "id" {
		t.Errorf("%+v", run.End)
	}
}

// TestCountAgreements_AllowsOneInTenOutside checks that one point in ten may be outside, and that a point is
// outside if one of its values is. An undecided point counts as inside or outside (issue "The lab").
func TestCountAgreements_AllowsOneInTenOutside(t *testing.T) {
	for _, x := range []struct {
		points, outside, undecided int
		want                       claim.Verdict
	}{{10, 0, 0, claim.Holds}, {10, 1, 0, claim.Holds}, {10, 2, 0, claim.Fails}, {9, 1, 0, claim.Fails},
		{20, 2, 0, claim.Holds}, {19, 2, 0, claim.Fails}, {1, 0, 0, claim.Holds}, {1, 1, 0, claim.Fails},
		{0, 0, 0, claim.Undecided}, {10, 0, 1, claim.Holds}, {10, 1, 1, claim.Undecided}, {10, 0, 10, claim.Undecided},
		{10, 2, 8, claim.Fails}} {
		t.Run(fmt.Sprintf("%d of %d outside, %d undecided", x.outside, x.points, x.undecided), func(t *testing.T) {
			var all []results.Agreement
			for p := range x.points {
				point := []measure.Coordinate{{Key: "n", Text: fmt.Sprint(p)}}
				verdict := claim.Holds
				switch {
				case p < x.outside:
					verdict = claim.Fails
				case p < x.outside+x.undecided:
					verdict = claim.Undecided
				}
				all = append(all, results.Agreement{Point: point, Measure: "goodput", Group: "a", Judged: true, Verdict: verdict},
					results.Agreement{Point: point, Measure: "goodput", Group: "b", Judged: true, Verdict: claim.Holds},
					results.Agreement{Point: point, Measure: "jain"})
			}
			want := results.AgreementCount{Inside: x.points - x.outside - x.undecided, Apart: x.outside, Points: x.points,
				Verdict: x.want}
			if got := results.CountAgreements(all); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// TestLabConfig checks that the data plane has the network, the times and the flows of the simulator's run, and
// buffers for the largest packets of the file.
func TestLabConfig(t *testing.T) {
	s := plantest.Load(t, room(), `duration: 2s
warmup: 1s
topology:
  hosts: [a, b]
  switches: [s]
  links:
    - {ends: [a, s], rate: 100Mbps, delay: 1ms}
    - {ends: [s, b], rate: 100Mbps, delay: 3ms, buffer: 100 packets}
traffic:
  - {name: x, from: a, to: b, transport: tcp, flows: 2, start: 0s}
  - {name: y, from: b, to: a, transport: udp, rate: $r, payload: $payload, ip: 6, start: 0s}
switch: [forward]
sweep: {r: [1Mbps, 2Mbps], payload: [1000 B, 9168 B]}
measure: [goodput, {queue: {port: s->b}}]
`, experiment.Options{})
	for _, r := range plan.ListRuns(s) {
		c, err := r.Config()
		if err != nil {
			t.Fatal(err)
		}
		l, err := LabConfig(r)
		if err != nil {
			t.Fatal(err)
		}
		if l.Duration != 3*unit.Second || l.Warmup != unit.Second || l.Lead != labLead || l.Wiring.Seed != c.Wiring.Seed {
			t.Errorf("from %v to %v, lead %v, seed %d", l.Warmup, l.Duration, l.Lead, l.Wiring.Seed)
		}
		want := 1500
		if r.Point[1].Text != "1000 B" { // as long as they can be (maxMTU)
			want = 9216
		}
		if l.MTU != want || hostMTU(r.SpecPoint) != l.MTU {
			t.Errorf("an MTU of %d, of hosts %d", l.MTU, hostMTU(r.SpecPoint))
		}
		if !reflect.DeepEqual(l.Watches, c.Watches) || len(l.Flows) != 3 {
			t.Fatalf("%+v, %+v", l.Watches, l.Flows)
		}
		for k, f := range l.Flows {
			x := &c.Flows[k]
			group, version, proto := 0, uint8(4), uint8(6)
			if k == 2 {
				group, version, proto = 1, 6, 17
			}
			if want := (lab.Flow{Group: group, Src: x.Src, Dst: x.Dst, SrcPort: x.SrcPort, DstPort: x.DstPort, Version: version,
				Proto: proto}); !reflect.DeepEqual(f, want) {
				t.Errorf("flow %d: %+v of %+v", k, f, x)
			}
		}
	}
}

// TestCheckGenerator checks that traffic that iperf3 cannot send is refused before the start, by flow. Weir's own
// generator sends all traffic that CheckLab accepts.
func TestCheckGenerator(t *testing.T) {
	const head = `duration: 2s
topology:
  hosts: [a, b]
  switches: [s]
  links:
    - {ends: [a, s], rate: 100Mbps, delay: 1ms}
    - {ends: [s, b], rate: 100Mbps, delay: 3ms, buffer: 100 packets}
switch: [forward]
`
	for _, x := range []struct{ name, rest, want string }{
		{"all can be had", "traffic: [{name: x, from: a, to: b, transport: tcp, flows: 2}, {name: y, from: a, to: b, " +
			"transport: udp, rate: 1Mbps}]\nmeasure: [goodput]\n", ""},
		{"an end", "traffic: [{name: x, from: a, to: b, transport: tcp, size: 1MB}]\nmeasure: [goodput]\n",
			"its only point: iperf: the run ends when all flows are done"},
		{"a pattern", "traffic: [{name: x, from: a, to: b, transport: udp, rate: 1Mbps, pattern: $p}]\nsweep: {p: [cbr, " +
			"poisson]}\nmeasure: [goodput]\n", "p=poisson: iperf: flow 0: pattern poisson of UDP"},
		{"samples", "traffic: [{name: x, from: a, to: b, transport: tcp}]\nmeasure: [goodput, {cwnd: {every: 10ms}}]\n",
			"iperf: samples of flows"},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := plantest.Load(t, room(), head+x.rest, experiment.Options{})
			if err := CheckLab(s, someKernel(), false); err != nil {
				t.Fatal(err)
			}
			if err := (&Lab{Kernel: someKernel()}).Check(s); err != nil {
				t.Errorf("our own: %v", err)
			}
			err := (&Lab{Kernel: someKernel(), Generator: &IPerf3}).Check(s)
			if got := fmt.Sprint(err); (err == nil) != (x.want == "") || !strings.Contains(got, x.want) && err != nil {
				t.Errorf("%v, want %q", err, x.want)
			}
		})
	}
}

// TestHasCaptures_ChecksRequestedSwitches checks that a finished run counts only if it has the requested captures.
func TestHasCaptures_ChecksRequestedSwitches(t *testing.T) {
	first := results.Attempt{Replays: []results.Replay{{Switch: "s1"}, {Switch: "s2"}}}
	last := results.Attempt{Replays: []results.Replay{{Switch: "s1"}}}
	for _, x := range []struct {
		name     string
		want     []string
		attempts []results.Attempt
		there    bool
	}{
		{"nothing wanted, no attempt", nil, nil, true},
		{"nothing wanted", nil, []results.Attempt{last}, true},
		{"one", []string{"s1"}, []results.Attempt{last}, true},
		{"one, without captures", []string{"s1"}, []results.Attempt{{}}, false},
		{"both, in the first attempt alone", []string{"s1", "s2"}, []results.Attempt{first, last}, false},
		{"both, in the last attempt", []string{"s2", "s1"}, []results.Attempt{last, first}, true},
		{"one, no attempt", []string{"s1"}, nil, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			dir, run := t.TempDir(), &results.Run{ID: "0123456789abcdef", Attempts: x.attempts}
			file := captureFile(dir, run.ID)
			if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("frames"), 0o666); err != nil {
				t.Fatal(err)
			}
			o := &Lab{Capture: x.want}
			if err := o.writeDigests(run, dir); err != nil {
				t.Fatal(err)
			}
			if got, err := o.hasCaptures(run, dir); got != x.there || err != nil {
				t.Error(got, err)
			}
			other := *run // its capture, in another's name
			other.Seed++
			got, err := o.hasCaptures(&other, dir)
			if want := x.there && x.want == nil; got != want || (err != nil) != (x.there && x.want != nil) {
				t.Errorf("of another run: %v, %v", got, err)
			}
			if os.Truncate(file, 3) != nil {
				t.Error("it cannot be cut")
			}
			got, err = o.hasCaptures(run, dir) // a cut one is none
			if want := x.there && x.want == nil; got != want || (err != nil) != (x.there && x.want != nil) {
				t.Errorf("after a cut: %v, %v", got, err)
			}
		})
	}
}

// TestShortestRTT checks that stalls are judged by the shortest path of any flow.
func TestShortestRTT(t *testing.T) {
	for _, order := range []string{"near, far", "far, near"} {
		t.Run(order, func(t *testing.T) {
			first, second, _ := strings.Cut(order, ", ")
			s := plantest.Load(t, room(), fmt.Sprintf(`duration: 2s
topology:
  hosts: [near, far, b]
  switches: [s]
  links:
    - {ends: [near, s], rate: 100Mbps, delay: 1ms}
    - {ends: [far, s], rate: 100Mbps, delay: 20ms}
    - {ends: [s, b], rate: 100Mbps, delay: 1ms, buffer: 100 packets}
switch: [forward]
traffic: [{name: x, from: %s, to: b, transport: tcp}, {name: y, from: %s, to: b, transport: tcp}]
measure: [goodput]
`, first, second), experiment.Options{})
			r := plan.ListRuns(s)[0]
			c, err := r.Config()
			if err != nil {
				t.Fatal(err)
			}
			if rtt := shortestRTT(r.SpecPoint, c); rtt < 4*unit.Millisecond || rtt > 5*unit.Millisecond {
				t.Error(rtt)
			}
			if took := twoFrames(r.SpecPoint); took != 2*1514*80*unit.Nanosecond {
				t.Errorf("two frames take %v", took)
			}
		})
	}
}

// TestLabRepeat checks that lab_repeat gives a point fewer seeds in the lab than in the simulator, the first ones,
// and that claims about the lab need no others.
func TestLabRepeat(t *testing.T) {
	text := strings.Replace(claimSpec, "repeat: 2",
		"repeat: 3\nlab_repeat: 1\nquick: {lab_repeat: 2, rate: [1Mbps, 4Mbps]}", 1) +
		"expect: [{id: x, says: y, that: goodput.a < 5}]\n"
	s := plantest.Load(t, room(), text, experiment.Options{})
	runs := plan.ListRunsOn(s, experiment.Lab)
	if len(plan.ListRuns(s)) != 3*3 || len(runs) != 3 {
		t.Fatalf("%d runs, %d in the lab", len(plan.ListRuns(s)), len(runs))
	}
	var done []*results.Run
	for i, r := range runs {
		if same := plan.ListRuns(s)[3*i]; r.Number != i || r.Seed != s.Seed() || r.ID("") != same.ID("") {
			t.Errorf("run %d: number %d, seed %d", i, r.Number, r.Seed)
		}
		done = append(done, &results.Run{Seed: r.Seed, Point: r.Point,
			Values: measure.Values{Measures: []measure.Measured{{Name: "goodput", Unit: "bps",
				Groups: []measure.GroupValue{{Group: "a", Value: 1}}}}}})
	}
	if c := results.JudgeClaims(s, done, s.LabRepeat())[0]; c.Verdict != claim.Holds {
		t.Errorf("in the lab: %+v", c)
	}
	if c := results.JudgeClaims(s, done, s.Repeat())[0]; c.Verdict != claim.Undecided {
		t.Errorf("in the simulator, with two of three seeds missing: %+v", c)
	}
	quick := plantest.Load(t, room(), text, experiment.Options{Quick: true})
	if len(plan.ListRuns(quick)) != 2*3 || len(plan.ListRunsOn(quick, experiment.Lab)) != 2*2 {
		t.Errorf("quick: %d runs, %d in the lab", len(plan.ListRuns(quick)), len(plan.ListRunsOn(quick, experiment.Lab)))
	}
	if s := plantest.Load(t, room(), claimSpec, experiment.Options{}); len(plan.ListRunsOn(s,
		experiment.Lab)) != len(plan.ListRuns(s)) {
		t.Error("without lab_repeat the lab has other runs than the simulator")
	}
}

const claimSpec = small + smallTraffic + `switch: [forward]
sweep: {rate: [1Mbps, 2Mbps, 4Mbps]}
measure: [goodput, jain, {queue: {port: s->c}}]
`
