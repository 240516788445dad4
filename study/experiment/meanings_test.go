package experiment_test

import (
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
)

// TestMeanings_ExplainNamedValues checks that named values of the sweep are explained by the keys that they set and by
// their schemes. Quantities are not.
func TestMeanings_ExplainNamedValues(t *testing.T) {
	s := plantest.Load(t, room(), strings.NewReplacer("switch: [forward]\n", "", "sweep: {rate: [1Mbps, 2Mbps, 4Mbps]}",
		"sweep: {rate: [1Mbps, 2Mbps], scheme: {plain: {switch: [forward]}, "+
			"both: {switch: [forward, {ecmp: {failover: 5ms}}]}}}").
		Replace(claimSpec), experiment.Options{})
	var got []string
	for _, m := range s.Meanings() {
		got = append(got, m.Key+" "+m.Value+": "+m.Text)
	}
	for i, want := range []string{"scheme plain: switch: forward (IP forwarding",
		"scheme both: switch: forward, ecmp {failover: 5ms} (equal-cost"} {
		if len(got) != 2 || !strings.HasPrefix(got[i], want) {
			t.Fatalf("%q, want %q first", got, want)
		}
	}
}

// TestMeaningOfScheme checks that a value that is the name of a scheme is explained by that scheme.
func TestMeaningOfScheme(t *testing.T) {
	s := plantest.Load(t, room(), withoutSpec, experiment.Options{})
	all := s.Meanings()
	if len(all) < 2 || all[0].Key != "how" || all[0].Value != "forward" ||
		!strings.Contains(all[0].Text, "IP forwarding") {
		t.Errorf("%+v", all)
	}
}
