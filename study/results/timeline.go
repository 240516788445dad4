package results

import (
	"slices"

	"weir/core/jobs/job"
)

// hasTimelines reports whether any run has a timeline of ranks.
func (o *Outcome) hasTimelines() bool {
	return slices.ContainsFunc(o.Runs, func(r *Run) bool { return r.Timelines != nil })
}

// timelineSheet returns the sheet with a row for each state of a rank.
func timelineSheet() Sheet {
	return Sheet{Name: "timeline", Doc: "activity of a rank of a job over a period, of runs with the measure timeline, " +
		"in the order of jobs, ranks and time",
		ownColumns: []Column{
			{Name: "traffic", zero: "", Doc: "name of the job in the experiment"},
			{Name: "rank", zero: int32(0), Doc: "of the job, from 0"},
			{Name: "host", zero: "", Doc: "where it is"},
			{Name: "iteration", zero: int32(0), Optional: true, Doc: "of the job, from 0; undefined: it has none"},
			{Name: "operation", zero: int32(0), Optional: true, Doc: "collective operation that is communicated for, or " +
				"waited in, from 0; undefined: none"},
			{Name: "does", zero: "", Doc: "`computing`, `communicating`, `both` or `waiting`"},
			{Name: "begin_s", zero: 0.0, Doc: "from the beginning of the warm-up, in seconds"},
			{Name: "end_s", zero: 0.0, Doc: "likewise; the rank's next row begins then"},
		},
		rows: func(o *Outcome, add func(r *Run, own ...any)) {
			names := job.ActivityNames()
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
