package cli

import (
	"fmt"
	"math"
	"runtime"

	"weir/study/measure"
	"weir/study/plan"
	"weir/study/report"
	"weir/study/spec"
)

type checkCmd struct {
	selection
	On string `enum:"sim,lab" default:"sim" help:"${checkOn}"`
}

// mostRows is how many runs are listed.
const mostRows = 1000

func (c *checkCmd) Run(a *app) error {
	s, err := c.load(a)
	if err != nil {
		return err
	}
	if c.On == spec.Lab {
		return a.checkLab(s)
	}
	runs := plan.Runs(s)
	rows := [][]string{{"point", "seed", "packet-hops, time, memory (estimate)"}}
	total, seconds, most := 0.0, 0.0, 0.0
	var hops, each, memory float64
	for i, r := range runs {
		if i == 0 || r.Index != runs[i-1].Index { // seeds change no estimate
			hops, each, memory = plan.Estimate(r), plan.EstimateTime(r), plan.EstimateMemory(r)
		}
		total, seconds, most = total+hops, seconds+each, max(most, memory)
		if i >= mostRows {
			continue
		}
		rows = append(rows, []string{measure.PointName(r.Point), fmt.Sprint(r.Seed), fmt.Sprintf("%s, %s, %s",
			measure.SI(hops), took(each), report.Bytes(int64(roundUp(memory))))})
	}
	fmt.Fprint(a.stdout, grid(rows))
	if len(runs) > mostRows {
		fmt.Fprintf(a.stdout, "and %d more\n", len(runs)-mostRows)
	}
	jobs := min(runtime.GOMAXPROCS(0), len(runs))
	fmt.Fprintf(a.stdout, "\n%s\n",
		report.Wrap(fmt.Sprintf("%s is valid: %d runs, about %s packet-hops, %s on one core, and up to %s of memory a run "+
			"(%d at a time here)",
			s.Name(), len(runs), measure.SI(total), took(seconds), report.Bytes(int64(roundUp(most))), jobs),
			report.Width, ""))
	return nil
}

// roundUp leaves two digits of an estimate.
func roundUp(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(max(v, 1)))-1)
	return math.Ceil(v/unit) * unit
}

func took(seconds float64) string {
	switch {
	case seconds < 1:
		return "under 1 s"
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	}
	return fmt.Sprintf("%.0f min", seconds/60)
}
