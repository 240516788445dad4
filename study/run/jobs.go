package run

import (
	"fmt"
	"strings"

	"weir/core/jobs/job"
	"weir/core/outcome"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/results"
	"weir/worlds/sim"
)

// addJobs adds the results of jobs to run.End: which jobs align their iterations, the unfinished jobs with what they
// wait for, and what the first of these waits for.
func addJobs(run *results.Run, r *plan.Run, res *outcome.Result) {
	for i := range res.Jobs {
		tr := r.SpecPoint.Entry(res.JobGroups[i])
		program := tr.Job().Program
		if period := job.TraitsOf(program).Period; period > 0 {
			run.End.Aligned = append(run.End.Aligned, results.Aligned{Traffic: tr.Name(), PeriodS: period.Seconds()})
		}
		o := &res.Jobs[i]
		if o.Left == 0 {
			continue
		}
		waits := job.DescribeDeadlock(program, o)
		if run.End.WaitsFor == "" {
			run.End.WaitsFor = fmt.Sprintf("job %s: %s", tr.Name(), waits)
		}
		u := results.UnfinishedJob{Traffic: tr.Name(), WaitsFor: strings.Split(waits, "\n")}
		if i < len(res.JobWaits) {
			u.Messages = messageWaits(r.SpecPoint, tr, res.JobWaits[i])
		}
		run.End.Jobs = append(run.End.Jobs, u)
	}
}

// messageWaits describes the unfinished messages of a job and what they waited for.
func messageWaits(p *experiment.Point, tr *experiment.Traffic, waits []outcome.MessageWait) (out []string) {
	name := func(rank int) string {
		return fmt.Sprintf("rank %d (%s)", rank, p.Measured().Network.Nodes[tr.Job().Hosts[rank]].Name)
	}
	for i := range waits {
		w := &waits[i]
		out = append(out, fmt.Sprintf("%s → %s, %d of %d bytes; it waited for %s", name(w.From), name(w.To),
			int64(w.Received), int64(w.Size), waitsFor(p, &w.Wait)))
	}
	return out
}

// waitsFor describes what a flow waits for, and names the failed links that lost packets of it.
func waitsFor(p *experiment.Point, w *outcome.Wait) string {
	text := w.String()
	for i, direction := range w.Down {
		if i == maxDownNamed {
			return text + fmt.Sprintf(" and %d more", len(w.Down)-i)
		}
		sep := ", "
		if i == 0 {
			sep = "; its packets were lost on links that are down: "
		}
		text += sep + p.Measured().PortName(direction)
	}
	return text
}

// maxDownNamed limits the links that waitsFor names.
const maxDownNamed = 4

// jobPrograms returns the programs of a run's jobs.
func jobPrograms(c *sim.Config) (out []job.Program) {
	for i := range c.Jobs {
		out = append(out, c.Jobs[i].Program)
	}
	return out
}
