package run

import (
	"fmt"

	"weir/core/workload/job"
	"weir/study/plan"
	"weir/study/results"
	"weir/worlds/sim"
)

// addJobs adds to the end of a run which of its jobs align iterations, and what the first unfinished job waits for.
func addJobs(run *results.Run, r *plan.Run, res *sim.Result) {
	for i := range res.Jobs {
		tr := r.Of.Entry(res.JobGroups[i])
		program := tr.Job().Program
		if a, aligns := program.(job.Aligning); aligns && a.Period() > 0 {
			run.End.Aligned = append(run.End.Aligned, results.Aligned{Traffic: tr.Name(), PeriodS: a.Period().Seconds()})
		}
		if o := &res.Jobs[i]; o.Left > 0 && run.End.WaitsFor == "" {
			run.End.WaitsFor = fmt.Sprintf("job %s: %s", tr.Name(), job.Deadlock(program, o))
		}
	}
}
