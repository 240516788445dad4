package cli

import (
	"math"
	"strings"
	"testing"

	"weir/core/unit"
	"weir/study/plan"
	"weir/study/run"
	"weir/study/spec"
	"weir/worlds/lab"
	"weir/worlds/sim"
)

// The lab's data plane and hosts do with frames, on a machine that is never late, what the simulator does with packets:
// every program, scheduler, controller and transport. Ties are settled otherwise by some picoseconds, so times may
// differ a little, and at full queues who is dropped.
func TestRehearsals(t *testing.T) {
	r := Registry()
	everyScheme(r, func(what, text string) {
		t.Run(what, func(t *testing.T) {
			text = strings.ReplaceAll(strings.ReplaceAll(text, "transport: tcp", "transport: tcp, stack: weir"),
				"transport: udp,", "transport: udp, stack: weir,")
			most := 0.02
			if what == "program abc" { // it drops by lot, and few flows end
				most = 0.2
			}
			rehearse(t, r, text, most)
		})
	})
}

func rehearse(t *testing.T, r *spec.Registry, text string, most float64) {
	t.Helper()
	s, err := plan.Load(r, &spec.Source{Name: "rehearsal", File: "rehearsal.yaml", Data: []byte(text)}, spec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	one := plan.Runs(s)[0]
	c, err := one.Config()
	if err != nil {
		t.Fatal(err)
	}
	want, err := sim.Run(c)
	if err != nil {
		t.Fatal(err)
	}
	network, err := run.LabConfig(one)
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := run.HostsConfig(one)
	if err != nil {
		t.Fatal(err)
	}
	report, ends, result, err := lab.Rehearse(network, hosts)
	if err != nil {
		t.Fatal(err)
	}
	got := result.(*sim.Result)
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
	if near(float64(len(got.Unfinished)), float64(len(want.Unfinished)), 0.02, 1) &&
		near(mean(fct), mean(wanted), most, 0) && near(drops(report.Drops), drops(want.Drops), most, 5) {
		return
	}
	t.Errorf("%d flows are unfinished, wanted %d; mean FCT %.6g s, wanted %.6g; %v drops, wanted %v",
		len(got.Unfinished), len(want.Unfinished), mean(fct), mean(wanted), drops(report.Drops), drops(want.Drops))
}

func near(a, b, share, floor float64) bool { return math.Abs(a-b) <= max(share*math.Abs(b), floor) }

func mean(x []float64) (m float64) {
	for _, v := range x {
		m += v / float64(len(x))
	}
	return m
}
