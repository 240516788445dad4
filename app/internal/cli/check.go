package cli

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"weir/core/jobs/job"
	"weir/internal/command"
	"weir/internal/text"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/report"
)

// machineSpeed measures the speed of this machine once per process.
var machineSpeed = sync.OnceValue(plan.MachineSpeed)

type checkCmd struct {
	selection
	On   string `enum:"sim,lab" default:"sim" help:"${checkOn}"`
	JSON bool   `name:"json" help:"Print one JSON document with runs, packet-hops and timers."`
}

// maxRows limits the runs that weir check lists.
const maxRows = 100

// Run checks the experiment and prints its runs with estimates of packet-hops, time and memory. With --on lab it also
// checks the machine. It executes no run, except a calibration of the speed.
func (c *checkCmd) Run(a *app) error {
	s, err := c.loadWatched(a)
	if err != nil {
		return err
	}
	if c.JSON {
		if c.On == experiment.Lab {
			return fmt.Errorf("%w: --json does not apply to --on lab; leave out one of them", command.ErrInput)
		}
		return a.checkJSON(s)
	}
	if c.On == experiment.Lab {
		return a.checkLab(s)
	}
	runs, share := plan.ListRuns(s), 1.0
	need, byNeed := s.Need()
	if byNeed { // the minimum number of seeds
		runs = slices.DeleteFunc(runs, func(r *plan.Run) bool { return r.Seed-s.Seed() >= uint64(need.MinSeeds) })
		share = float64(need.MaxSeeds) / float64(need.MinSeeds)
	}
	rows := [][]string{{"point", "seed", "packet-hops, time, memory (estimate)"}}
	var hops, each, size float64
	speed := machineSpeed()
	for i, r := range runs[:min(len(runs), maxRows)] {
		if i == 0 || r.Index != runs[i-1].Index { // all seeds have the same estimate
			hops, each, size = plan.EstimateHops(r), plan.EstimateTime(r)/speed, plan.EstimateMemory(r)
		}
		rows = append(rows, []string{measure.PointName(r.Point), fmt.Sprint(r.Seed), fmt.Sprintf("%s, %s, %s",
			measure.FormatSI(hops), formatTime(each), report.FormatBytes(int64(roundUp(size))))})
	}
	cost, jobs := plan.EstimateCost(runs), min(runtime.GOMAXPROCS(0), len(runs))
	elapsed := cost.Elapsed(jobs, speed)
	memory := fmt.Sprintf("up to %s of memory (%d concurrent on this machine)",
		report.FormatBytes(int64(roundUp(plan.CommandMemory(s, jobs)))), jobs)
	text := fmt.Sprintf("%s is valid: %s, about %s packet-hops, %s, and %s", s.Name(),
		text.Count(len(runs), "run"), measure.FormatSI(cost.PacketHops), formatTime(elapsed), memory)
	if byNeed {
		text = fmt.Sprintf("%s is valid: %d to %d runs with %d to %d seeds per point, until %s is reached; about %s to %s "+
			"packet-hops, %s, and %s", s.Name(), len(runs), len(plan.ListRuns(s)), need.MinSeeds, need.MaxSeeds, &need,
			measure.FormatSI(cost.PacketHops), measure.FormatSI(share*cost.PacketHops),
			formatRange(formatTime(elapsed), formatTime(share*elapsed)), memory)
	}
	fmt.Fprintf(a.stdout, "%s\n", report.WrapText(text, a.lineWidth(), ""))
	fmt.Fprintf(a.stdout, "%s\n\n",
		report.WrapText(fmt.Sprintf("The time follows from a calibration just now: this machine is %.2g times as fast as "+
			"the reference machine of docs/performance.md, if it is otherwise idle.", speed), a.lineWidth(), ""))
	if slices.ContainsFunc(runs, mayRecur) {
		hops, each := estimateRecurring(runs)
		each /= float64(jobs)
		fmt.Fprintf(a.stdout, "%s\n\n",
			report.WrapText(fmt.Sprintf("It takes less if iterations of a job recur, because the simulator skips these: if it "+
				"simulates only %d iterations per job, about %s packet-hops and %s. The actual number is known after the run.",
				simulatedIterations, measure.FormatSI(hops), formatTime(each/speed)), a.lineWidth(), ""))
	}
	for i, text := range report.DescribeOmitted(s) {
		fmt.Fprintf(a.stdout, "%s\n", report.WrapText(text, a.lineWidth(), ""))
		if i+1 == len(s.OmittedPoints()) {
			fmt.Fprintln(a.stdout)
		}
	}
	fmt.Fprint(a.stdout, formatGrid(rows, a.lineWidth()))
	if len(runs) > maxRows {
		fmt.Fprintf(a.stdout, "and %d more\n", len(runs)-maxRows)
	}
	a.printTimers(s)
	return nil
}

// maxTimers limits the timers that weir check lists.
const maxTimers = 10

// printTimers prints up to maxTimers lines on the times after which an experiment's transports send data again without
// a response. It names a point of the sweep if a traffic has several timers.
func (a *app) printTimers(s *experiment.Spec) {
	var lines []string
	entries := map[string]int{} // by traffic
	for _, t := range s.Timers() {
		entries[t.Traffic]++
	}
	for _, t := range s.Timers() {
		line := t.String()
		if entries[t.Traffic] > 1 {
			line += "; at " + t.Points[0]
			if n := len(t.Points) - 1; n > 0 {
				line += " and " + text.Count(n, "more point")
			}
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	for i, line := range lines[:min(len(lines), maxTimers)] {
		if i == 0 {
			fmt.Fprintln(a.stdout)
		}
		fmt.Fprintln(a.stdout, report.WrapText(line, a.lineWidth(), "    "))
	}
	if n := len(lines) - maxTimers; n > 0 {
		fmt.Fprintf(a.stdout, "and %s\n", text.Count(n, "more timer"))
	}
}

// mayRecur reports whether a run has a job with iterations that may recur, because random draws restart with each
// iteration.
func mayRecur(r *plan.Run) bool {
	if repeats, anew := r.SpecPoint.Iterations(); !repeats || !anew {
		return false
	}
	for id := range r.SpecPoint.Entries() {
		if j := r.SpecPoint.Entry(id).Job(); j != nil {
			if p, alike := j.Program.(job.RecurringProgram); alike && p.Ops(0, 0) > 2*p.Each(0, 0) {
				return true
			}
		}
	}
	return false
}

// simulatedIterations is the assumed number of simulated iterations of a job that soon recurs.
const simulatedIterations = 4

// estimateRecurring returns the packet-hops and seconds of all runs together if iterations that may recur soon do. The
// seconds are for one core of the reference machine.
func estimateRecurring(runs []*plan.Run) (hops, seconds float64) {
	var n, each float64
	for i, r := range runs {
		if i == 0 || r.Index != runs[i-1].Index {
			if n, each = plan.EstimateHops(r), plan.EstimateTime(r); mayRecur(r) {
				n, each = plan.EstimateRecurring(r, simulatedIterations)
			}
		}
		hops, seconds = hops+n, seconds+each
	}
	return hops, seconds
}

// formatRange returns "FROM to TO", or one value if both are equal.
func formatRange(from, to string) string {
	if from == to {
		return from
	}
	return from + " to " + to
}

// roundUp rounds an estimate up to two digits. Values below 1 are rounded up to one decimal.
func roundUp(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(max(v, 1)))-1)
	return math.Ceil(v/unit) * unit
}

// formatTime returns an estimated time in the precision of the estimate.
func formatTime(seconds float64) string { return plan.RoughTime(seconds) }
