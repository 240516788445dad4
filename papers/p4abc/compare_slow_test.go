//go:build slow

package p4abc_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"weir/study/experiment"
)

// TestCompareSearchFull runs the search: of the settings of each scheme the first with the least mean distance from the
// ideal, over all points and seeds, is what the figures have in their second column.
func TestCompareSearchFull(t *testing.T) {
	o := carryOut(t, "p4abc/compare-search", experiment.Options{})
	apart, runs := map[[2]string]float64{}, map[[2]string]int{}
	for _, r := range o.Runs {
		var at [2]string
		for _, c := range r.Point {
			switch c.Key {
			case "scheme":
				at[0] = c.Text
			case "setting":
				at[1] = c.Text
			}
		}
		for _, m := range r.Measures {
			if m.Name == "max_min_apart" {
				apart[at] += m.Value
				runs[at]++
			}
		}
	}
	settings := settingsOf(t, "p4abc/compare-search", "setting")
	figure := settingsOf(t, "p4abc/compare-fig5", "parameters")["searched"]
	for _, scheme := range adjustable {
		best := ""
		for _, setting := range slices.Sorted(maps.Keys(settings)) {
			at := [2]string{scheme, setting}
			if runs[at] != 2*4 {
				t.Fatalf("%v has %d runs", at, runs[at])
			}
			t.Logf("%s %v: %.2f Mb/s", scheme, settings[setting][scheme], apart[at]/8e6)
			if best == "" || apart[at] < apart[[2]string{scheme, best}] {
				best = setting
			}
		}
		if fmt.Sprint(figure[scheme]) != fmt.Sprint(settings[best][scheme]) ||
			scheme == "afq" && figure["rounds"] != settings[best]["rounds"] {
			t.Errorf("%s has %v in the figures, and the best setting is %s, %v", scheme, figure[scheme], best,
				settings[best][scheme])
		}
	}
}
