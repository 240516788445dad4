package experiment_test

import (
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
)

// compared is an experiment with one sweep of every sort.
const compared = `
duration: 5s
topology:
  hosts: [a, b, c]
  switches: [s]
  links: [{ends: [a, s], rate: $rate, delay: 1ms}, {ends: [b, s], rate: 1Mbps, delay: 1ms},
          {ends: [c, s], rate: 1Mbps, delay: 1ms}]
switch: [forward]
traffic:
  - {name: a, from: a, to: b, transport: tcp, cc: $cc, size: 1MB, flows: $n}
  - {name: u, from: c, to: b, transport: udp, rate: $offered}
sweep:
  rate: [1Mbps, 2Mbps]
  scheme: {one: {cc: cubic}, two: {cc: {cubic: {beta: $beta}}}}
  n: [1, 2]
  beta: [0.6, 0.7]
  offered: [1kbps, 2kbps]
measure: [goodput, {fct: {percentiles: [50]}}, delay]
ratio: [{of: [goodput, fct_p50], over: {scheme: one}}]
`

// TestConditions_AreNetworkAndLoad checks that swept values of the network and the load are conditions, and swept
// schemes are alternatives.
func TestConditions_AreNetworkAndLoad(t *testing.T) {
	s := comparedSpec(t)
	if got := strings.Join(s.Conditions(), " "); got != "rate n offered" {
		t.Errorf("conditions are %s", got)
	}
}

// TestBetter_FollowsKindOfMeasure checks that the kind of measure decides whether a value is better, and for a ratio
// the divided measure.
func TestBetter_FollowsKindOfMeasure(t *testing.T) {
	s := comparedSpec(t)
	for name, want := range map[string]measure.Better{"goodput": measure.Higher, "fct": measure.Lower,
		"fct_p50": measure.Lower, "fct_finished": measure.Higher, "fct_sd": measure.Neither, "goodput_ratio": measure.Higher,
		"fct_p50_ratio": measure.Lower, "incast_goodput": measure.Higher, "fct_last": measure.Lower,
		"port_packets": measure.Neither, "cwnd": measure.Neither, "foreign": measure.Neither, "delay_max": measure.Lower,
		"fct_last_x": measure.Lower, "nacks_delay": measure.Neither} {
		t.Run(name, func(t *testing.T) {
			if got := s.Better(name, ""); got != want {
				t.Errorf("%d, want %d", got, want)
			}
		})
	}
	if k := s.KindOf("fct_last"); k.Name != "fct_last" {
		t.Errorf("fct_last is recorded by %s", k.Name)
	}
	if k := s.KindOf("fct_p50_ratio"); k.Name != "fct" {
		t.Errorf("a ratio of fct_p50 is taken for one of %q", k.Name)
	}
}

func comparedSpec(t *testing.T) *experiment.Spec {
	t.Helper()
	return plantest.LoadSource(t, room(), file("x.yaml", compared), experiment.Options{})
}

// TestMeasures_AreLimitedToTraffics checks that fct and similar measures can be limited to traffics. Values of the
// others are omitted, and common ones stay.
func TestMeasures_AreLimitedToTraffics(t *testing.T) {
	for _, c := range []struct{ name, measure, want, distributions string }{
		{"all", "delay", "delay.a delay.u delay_max.a delay_max.u", "a u"},
		{"one", "delay: {traffic: u}", "delay.u delay_max.u", "u"},
		{"pattern", `delay: {traffic: "?", percentiles: [50]}`,
			"delay.a delay.u delay_max.a delay_max.u delay_p50.a delay_p50.u",
			"a u"},
		{"list", "delay: {traffic: [u]}", "delay.u delay_max.u", "u"},
		{"two entries", "delay: {traffic: u}}, {delay: {traffic: a, percentiles: [90]}",
			"delay.u delay.a delay_max.u delay_max.a delay_p90.a", "u a"},
		{"goodput", "goodput: {traffic: a}", "goodput.a", ""},
		{"fct", "fct: {traffic: a}", "fct.a fct_max.a fct_finished.a fct_written.a", "a"},
		{"loss", "loss: {traffic: a}", "loss.a", ""},
		{"retransmissions", "retransmissions: {by: flow, traffic: a}",
			"retransmissions.a retransmissions_mean.a retransmissions_sd.a", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, _, _ := strings.Cut(compared, "measure:")
			if c.name == "all" {
				text += "measure: [delay]\n"
			} else {
				text += "measure: [{" + c.measure + "}]\n"
			}
			s := plantest.LoadSource(t, room(), file("x.yaml", text), experiment.Options{})
			shape := experiment.Shape(s)
			var got, of []string
			for _, m := range shape.Measures {
				for _, g := range m.Groups {
					got = append(got, m.Name+"."+g.Group)
				}
			}
			for _, d := range shape.Distributions {
				of = append(of, d.Group)
			}
			if strings.Join(got, " ") != c.want || strings.Join(of, " ") != c.distributions {
				t.Errorf("%s; distributions of %s\nwant %s; %s", strings.Join(got, " "), strings.Join(of, " "), c.want,
					c.distributions)
			}
		})
	}
}

// TestLimitErrors checks that measures without such limits are an error with its place, and the allowed ones.
func TestLimitErrors(t *testing.T) {
	for _, c := range []struct{ name, measure, want string }{
		{"unknown", "fct: {traffic: nobody}", `unknown traffic "nobody"`},
		{"pattern of none", "fct: {traffic: x*}", `unknown traffic "x*"`},
		{"broken pattern", `fct: {traffic: "[a"}`, `unknown traffic "[a"`},
		{"empty list", "fct: {traffic: []}", "traffic is an empty list"},
		{"without an end", "fct: {traffic: u}", "no traffic of the experiment has a fct, since no flow has an end"},
		{"twice", "fct: {traffic: a}}, {fct: {traffic: [u, a]}", "the measure fct of a is given twice"},
		{"all and one", "delay: {percentiles: [50]}}, {delay: {traffic: a}", "the measure delay is given twice"},
		{"of all", "goodput: {by: all, traffic: a}",
			"traffic is given, but goodput by: all has a single value for all traffics"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, _, _ := strings.Cut(compared, "measure:")
			_, err := plan.Load(room(), file("x.yaml", text+"measure: [{"+c.measure+"}]\n"), experiment.Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "x.yaml:") ||
				!strings.Contains(err.Error(), "allowed") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
