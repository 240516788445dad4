package report

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"weir/study/experiment/plots"
	"weir/study/results"
)

// TestReport_ShowsChosenSeeds checks that a page reports in a line that the data chose the number of seeds, and as a
// notice that the seeds are too few or the number is unknown. A page of the lab reports the same of the simulator, next
// to the lab's number.
func TestReport_ShowsChosenSeeds(t *testing.T) {
	s := paperSpec(t, "repeat: {measure: jain, until: 5%, least: 2, most: 9}\n")
	need, _ := s.Need()
	enough := &results.SeedChoice{Need: need, N: 3, State: results.Met}
	few := &results.SeedChoice{Need: need, N: 9, State: results.Unmet, Share: math.NaN()}
	open := &results.SeedChoice{Need: need, N: 4, State: results.Pending}
	for _, c := range []struct {
		name        string
		own, beside *results.SeedChoice
		lab         bool
		facts, says string
		notice      bool
	}{
		{"enough", enough, nil, false, ", seeds 1 … 3;",
			"3 runs per point, chosen by the data: jain within 5 % at 95 %. Seeds were added", false},
		{"too few", few, nil, false, ", seeds 1 … 9;",
			"9 runs per point, the maximum: jain within 5 % at 95 % is not reached, because no run has a value.", true},
		{"not known", open, nil, false, ", seeds 1 … 4;", "the required number of seeds is unknown, 4 or more", true},
		{"of the simulator", nil, enough, true, ", seeds 1 … 2, in the simulator seeds 1 … 3;",
			"in the simulator 3 runs per point, chosen by the data", false},
		{"too few in the simulator", nil, few, true, ", seeds 1 … 2, in the simulator seeds 1 … 9;",
			"in the simulator 9 runs per point, the maximum", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := labOutcome(t)
			if !c.lab {
				o = o.Counterpart
			} else {
				o.Counterpart.Spec, o.Counterpart.Chosen = s, c.beside
			}
			o.Spec, o.Chosen, o.Dir = s, c.own, t.TempDir()
			path, err := WriteReport(o, Page{})
			if err != nil {
				t.Fatal(err)
			}
			page, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			class := `<p class="sub">`
			if c.notice {
				class = `<p class="notice">`
			}
			for _, want := range []string{c.facts, class + c.says} {
				if !strings.Contains(string(page), want) {
					t.Errorf("the page lacks %q", want)
				}
			}
			if text := strings.Join(strings.Fields(FormatText(o)), " "); !strings.Contains(text, strings.TrimSuffix(c.says,
				".")) {
				t.Errorf("the terminal lacks %q:\n%s", c.says, text)
			}
			titled := slices.ContainsFunc(s.Plots(), func(p plots.Plot) bool {
				svg, err := newWorlds(o).drawSVG(p)
				return err == nil && strings.Contains(string(svg), " by the data")
			})
			if titled != (c.own != nil) {
				t.Errorf("a plot says so: %v", titled)
			}
		})
	}
	o := labOutcome(t)
	o.Spec, o.Counterpart = s, nil
	if text := factsLine(o, 1); strings.Contains(text, "of the simulator") || len(describeSeeds(o)) > 0 {
		t.Errorf("without the simulator's results it says %s, %q", text, describeSeeds(o))
	}
}
