package results

import (
	"slices"

	"weir/core/jobs/job"
)

// timed reports whether a run has kept what ranks do.
func (o *Outcome) timed() bool {
	return slices.ContainsFunc(o.Runs, func(r *Run) bool { return r.Timelines != nil })
}

// timelineSheet has a row for each thing that a rank did.
func timelineSheet() Sheet {
	return Sheet{Name: "timeline", Doc: "what a rank of a job did for a time, of runs with the measure timeline, in the " +
		"order of jobs, ranks and time",
		own: []Column{
			{Name: "traffic", of: "", Doc: "name of the job in the experiment"},
			{Name: "rank", of: int32(0), Doc: "of the job, from 0"},
			{Name: "host", of: "", Doc: "where it is"},
			{Name: "iteration", of: int32(0), Optional: true, Doc: "of the job, from 0; undefined: it has none"},
			{Name: "operation", of: int32(0), Optional: true, Doc: "collective operation that is communicated for, or " +
				"waited in, from 0; undefined: none"},
			{Name: "does", of: "", Doc: "`computing`, `communicating`, `both` or `waiting`"},
			{Name: "begin_s", of: 0.0, Doc: "from the beginning of the warm-up, in seconds"},
			{Name: "end_s", of: 0.0, Doc: "likewise; the rank's next row begins then"},
		},
		rows: func(o *Outcome, add func(r *Run, own ...any)) {
			names := job.Doings()
			number := func(v int32) any {
				if v < 0 {
					return nil
				}
				return v
			}
			for _, r := range o.Runs {
				for _, x := range r.Timelines {
					for i := range x.Does {
						add(r, x.Traffic, x.Rank[i], x.Hosts[x.Rank[i]], number(x.Iteration[i]), number(x.Operation[i]),
							names[x.Does[i]], x.BeginS[i], x.EndS[i])
					}
				}
			}
		}}
}
