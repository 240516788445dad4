package experiment_test

import (
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
)

// withBest is compared with more measures and an entry best.
func withBest(t *testing.T, best string, replaced ...string) *experiment.Spec {
	t.Helper()
	text := strings.Replace(compared, "measure: [goodput,", "measure: [goodput, jain, {queue: {switches: s}},", 1)
	text = strings.NewReplacer(replaced...).Replace(text)
	return plantest.LoadSource(t, room(), file("x.yaml", text+best), experiment.Options{})
}

// TestBestOfSeveralTraffics checks that values of one traffic among several have no best direction, for any measure.
// Totals and indices have one.
func TestBestOfSeveralTraffics(t *testing.T) {
	s := withBest(t, "")
	for name, want := range map[string]measure.Better{"goodput.a": measure.Neither, "goodput.u": measure.Neither,
		"jain": measure.Higher, "fct_p50.a": measure.Neither, "delay.a p99": measure.Neither,
		"queue.s->b mean": measure.Lower, "goodput_ratio.a": measure.Neither, "fct_p50_ratio": measure.Lower,
		"loss.other": measure.Lower} {
		m, group, _ := strings.Cut(name, ".")
		if got := s.Better(m, group); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

// TestBestOfOneTraffic checks that a traffic that has the network to itself keeps the direction of its measures.
func TestBestOfOneTraffic(t *testing.T) {
	s := withBest(t, "", "  - {name: u, from: c, to: b, transport: udp, rate: $offered}\n", "",
		"  offered: [1kbps, 2kbps]\n", "")
	for name, want := range map[string]measure.Better{"goodput.a": measure.Higher, "fct_p50.a": measure.Lower} {
		m, group, _ := strings.Cut(name, ".")
		if got := s.Better(m, group); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

// TestBestOfGroups checks that groups of hosts share the network as traffics do.
func TestBestOfGroups(t *testing.T) {
	for groups, want := range map[string]measure.Better{"{left: a, right: c}": measure.Neither,
		"{left: a}": measure.Higher} {
		s := withBest(t, "groups: "+groups+"\n", "measure: [goodput,", "measure: [{goodput: {by: group}},")
		if got := s.Better("goodput", "left"); got != want {
			t.Errorf("groups %s: %d, want %d", groups, got, want)
		}
	}
}

// TestBestOfFile checks that the file's direction for a group overrides its direction for the measure, and that the
// measure's own.
func TestBestOfFile(t *testing.T) {
	s := withBest(t, "best: {goodput: lower, goodput.a: higher, jain: none, fct_p50: lower, goodput_ratio.a: higher}\n")
	for name, want := range map[string]measure.Better{"goodput.a": measure.Higher, "goodput.u": measure.Lower,
		"jain": measure.Neither, "fct_p50.a": measure.Lower, "fct.a": measure.Neither,
		"goodput_ratio.a": measure.Higher, "goodput_ratio.u": measure.Neither} {
		m, group, _ := strings.Cut(name, ".")
		if got := s.Better(m, group); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	const want = "best:\n  goodput: lower\n  goodput.a: higher\n  jain: none\n"
	if got := string(s.Resolved()); !strings.Contains(got, want) {
		t.Errorf("the resolved file lacks best:\n%s", got)
	}
}

// TestBestErrors checks that a wrong entry is an error with its place and the allowed values.
func TestBestErrors(t *testing.T) {
	for _, c := range []struct{ best, place, says string }{
		{"best: {goodput.b: higher}", "20:8", `unknown measure "goodput.b"; did you mean "goodput.a"?`},
		{"best: {godput: higher}", "20:8", `unknown measure "godput"; did you mean "goodput"?`},
		{"best: {goodput: hihger}", "20:17",
			`unknown direction "hihger"; did you mean "higher"?; allowed: higher, lower, none`},
		{"best: {goodput: [higher]}", "20:17", "the value is a list; allowed: a plain value"},
		{"best: higher", "20:7", "best is a plain value; allowed: {goodput.a: higher, queue: none}"},
		{"best: {goodput: higher, goodput: lower}", "20:25", "given twice"},
		{"best:\n  goodput.a: {higher: 1}", "21:14", "the value is a map"},
	} {
		_, err := plan.Load(room(), file("x.yaml", compared+c.best+"\n"), experiment.Options{})
		if err == nil || !strings.Contains(err.Error(), "x.yaml:"+c.place) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v\nwant it at %s with %q", c.best, err, c.place, c.says)
		}
	}
}
