package measure

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"weir/core/jobs/job"
	"weir/core/outcome"
	"weir/core/unit"
)

// jobKind returns the kind of measures of jobs.
func jobKind() Definition {
	return Definition{Name: "job",
		Doc: "times of jobs, by traffic: total time from start to end [s]; iterations that began after the warm-up and " +
			"ended: mean and maximum time (job_iteration, job_iteration_max [s]) with a distribution, their number " +
			"(job_iterations) and the configured number (job_iterations_asked); collective operations: mean time " +
			"(job_operation [s]) and the minimum data that each host moves, divided by that time (job_bus_bandwidth " +
			"[bit/s]); hosts: computing time (job_computing [s]); mean and maximum time without computing before their " +
			"end (job_exposed, job_exposed_max [s]); the time that they wait for the beginning of an iteration " +
			"(job_waiting [s], with `align`), which counts neither there nor in job_iteration; the rank with the longest " +
			"computing time, or with an unfinished iteration, unless all compute equally (job_slowest_rank); messages: " +
			"median and 99th percentile of the time until the transport has an acknowledgement for all of a message " +
			"(job_message_p50, job_message_p99 [s], within 1/64 of a value) with a distribution, on packets; the data " +
			"that all send (job_sent [bytes]); operations that never ran (job_left). Values by group are of the ranks at " +
			"its hosts",
		Keys:   []Key{byKey("traffic", "traffic", bySender), limitKey()},
		Better: Lower, Also: map[string]Better{"job_bus_bandwidth": Higher, "job_computing": Neither,
			"job_slowest_rank": Neither, "job_sent": Neither, "job_waiting": Neither, "job_iterations": Higher,
			"job_iterations_asked": Neither},
		Parts: map[string][2]string{"job_iteration": iterationCounts, "job_iteration_max": iterationCounts,
			"job_operation":     iterationCounts,
			"job_bus_bandwidth": iterationCounts},
		New: func() Measure { return &jobs{} }, Ideal: true}
}

// iterationCounts has the names of two values: the iterations that ended, and those that were requested.
var iterationCounts = [2]string{"job_iterations", "job_iterations_asked"}

// jobs measures the progress of jobs: the times of their parts, and how much they compute, wait and send.
type jobs struct{ grouped }

// Check reports an error if no traffic is a job.
func (*jobs) Check(p *Point) (why, allowed string) {
	if slices.ContainsFunc(p.Traffic, func(t Traffic) bool { return t.Job }) {
		return "", ""
	}
	return "no traffic of the experiment is a job", "a traffic with a job"
}

// AddValues adds how long jobs and their parts took. Parts that have not ended are NaN.
func (m *jobs) AddValues(e *Evaluation) {
	if m.isByGroup() {
		m.addByGroup(e)
		return
	}
	add := func(name, unitName string, value func(o *job.Outcome, t int) float64) {
		m := Measured{Name: name, Unit: unitName, Groups: []GroupValue{}}
		for t := range e.Point.Traffic {
			if o := e.Result.Job(t); o != nil {
				m.Groups = append(m.Groups, GroupValue{Group: e.Point.Traffic[t].Name, Value: value(o, t)})
			}
		}
		e.Add(m)
	}
	seconds := func(t unit.Time) float64 { return t.Seconds() }
	add("job", "s", func(o *job.Outcome, t int) float64 {
		if o.Left > 0 {
			return math.NaN()
		}
		return seconds(jobEnd(o) - e.Point.Traffic[t].Start)
	})
	add("job_iteration", "s", func(o *job.Outcome, t int) float64 { return mean(e.iterationTimes(o, t)) })
	add("job_iteration_max", "s", func(o *job.Outcome, t int) float64 {
		return maxOrNaN(e.iterationTimes(o, t))
	})
	add(iterationCounts[0], "", func(o *job.Outcome,
		t int) float64 {
		return float64(len(o.Iterations)) + 0*e.requestedIterations(t)
	})
	add(iterationCounts[1], "", func(_ *job.Outcome, t int) float64 { return e.requestedIterations(t) })
	add("job_operation", "s", func(o *job.Outcome, _ int) float64 { return mean(e.operationTimes(o)) })
	add("job_bus_bandwidth", "bps", func(o *job.Outcome, t int) float64 {
		if bus := e.Point.Traffic[t].BusBytes; bus > 0 {
			return bus * 8 / mean(e.operationTimes(o))
		}
		return math.NaN()
	})
	add("job_computing", "s", func(o *job.Outcome, t int) float64 {
		return mean(e.rankValues(o, t, func(r *job.RankOutcome) float64 { return seconds(r.Computing) }))
	})
	exposed := func(t int) func(r *job.RankOutcome) float64 {
		return func(r *job.RankOutcome) float64 { return seconds(r.Exposed() - e.Point.Traffic[t].Start) }
	}
	add("job_exposed", "s", func(o *job.Outcome, t int) float64 { return mean(e.rankValues(o, t, exposed(t))) })
	add("job_exposed_max", "s", func(o *job.Outcome, t int) float64 { return maxOrNaN(e.rankValues(o, t, exposed(t))) })
	add("job_waiting", "s", func(o *job.Outcome, t int) float64 {
		return mean(e.rankValues(o, t, func(r *job.RankOutcome) float64 { return seconds(r.Waited) }))
	})
	add("job_slowest_rank", "", e.findSlowestRank)
	add("job_sent", "bytes", func(o *job.Outcome, _ int) float64 {
		sum := 0.0
		for i := range o.Ranks {
			sum += float64(o.Ranks[i].Sent)
		}
		return sum
	})
	add("job_left", "", func(o *job.Outcome, _ int) float64 { return float64(o.Left) })
	quantile := func(share float64) func(o *job.Outcome, t int) float64 {
		return func(_ *job.Outcome, t int) float64 {
			if h := e.Result.MessageTimes(t); h != nil && h.Count() > 0 {
				return seconds(h.Quantile(share))
			}
			return math.NaN()
		}
	}
	add("job_message_p50", "s", quantile(.5))
	add("job_message_p99", "s", quantile(.99))
	e.addJobDistributions()
}

// addJobDistributions adds the distributions of the times of messages and iterations, by traffic.
func (e *Evaluation) addJobDistributions() {
	for t := range e.Point.Traffic {
		if h := e.Result.MessageTimes(t); h != nil {
			d := Distribution{Name: "job_message", Unit: "s", Group: e.Point.Traffic[t].Name}
			for _, c := range h.Classes() {
				d.Add(c.Middle().Seconds(), c.Count)
			}
			e.AddDistribution(d)
		}
		if o := e.Result.Job(t); o != nil {
			all := e.iterationTimes(o, t)
			slices.Sort(all)
			e.AddDistribution(distributionOf("job_iteration", "s", e.Point.Traffic[t].Name, all))
		}
	}
}

// addByGroup adds the values of the ranks at the hosts of each group. Ranks that are servers count only for job and
// job_sent.
func (m *jobs) addByGroup(e *Evaluation) {
	classes := m.listClasses(e)
	each := func(k int, all bool, value func(r *job.RankOutcome, start unit.Time) float64) (out []float64) {
		classes[k].visitRanks(e, func(j, rank, _ int, _ *outcome.RankCounters) {
			if o := &e.Result.Jobs[j]; rank < len(o.Ranks) && (all || !e.isServer(e.Load.Jobs[j].Group, rank)) {
				out = append(out, value(&o.Ranks[rank], e.Point.Traffic[e.Load.Jobs[j].Group].Start))
			}
		})
		return out
	}
	add := func(name, unitName string, over func(all []float64) float64,
		value func(r *job.RankOutcome, start unit.Time) float64) {
		e.addByClass(classes, name, unitName, false, func(k int) float64 { return over(each(k, name == "job", value)) })
	}
	add("job", "s", maxOrNaN, func(r *job.RankOutcome, start unit.Time) float64 {
		if !r.Done {
			return math.NaN()
		}
		return (r.End - start).Seconds()
	})
	add("job_computing", "s", mean, func(r *job.RankOutcome, _ unit.Time) float64 { return r.Computing.Seconds() })
	exposed := func(r *job.RankOutcome, start unit.Time) float64 { return (r.Exposed() - start).Seconds() }
	add("job_exposed", "s", mean, exposed)
	add("job_exposed_max", "s", maxOrNaN, exposed)
	add("job_waiting", "s", mean, func(r *job.RankOutcome, _ unit.Time) float64 { return r.Waited.Seconds() })
	e.addByClass(classes, "job_slowest_rank", "", false, func(k int) float64 {
		var x slowestRank
		classes[k].visitRanks(e, func(j, rank, _ int, _ *outcome.RankCounters) {
			if o := &e.Result.Jobs[j]; rank < len(o.Ranks) && !e.isServer(e.Load.Jobs[j].Group, rank) {
				x.addRank(o, rank, !math.IsNaN(e.requestedIterations(e.Load.Jobs[j].Group)))
			}
		})
		return x.rankNumber()
	})
	e.addByClass(classes, "job_sent", "bytes", false, func(k int) (sum float64) {
		for _, v := range each(k, true, func(r *job.RankOutcome, _ unit.Time) float64 { return float64(r.Sent) }) {
			sum += v
		}
		return sum
	})
}

// jobEnd returns the time at which the job's last rank ended. It is 0 without ranks.
func jobEnd(o *job.Outcome) (end unit.Time) {
	for i := range o.Ranks {
		end = max(end, o.Ranks[i].End)
	}
	return end
}

// iterationTimes returns the durations in seconds of the iterations of traffic t's job that began after the warm-up and
// ended. An iteration lasts from the end of the one before at its last rank until its own end there. With `align` it
// begins when all ranks begin it together.
func (e *Evaluation) iterationTimes(o *job.Outcome, t int) (out []float64) {
	begin := e.Point.Traffic[t].Start
	for _, x := range o.Iterations {
		if x.Begin != unit.Never {
			begin = x.Begin
		}
		if begin >= e.Point.Warmup {
			out = append(out, (x.Last - begin).Seconds())
		}
		begin = x.Last
	}
	return out
}

// operationTimes returns the durations in seconds of the collective operations that began after the warm-up and ended.
// An operation begins with its first rank.
func (e *Evaluation) operationTimes(o *job.Outcome) (out []float64) {
	for _, x := range o.Operations {
		if x.End != unit.Never && x.Begin >= e.Point.Warmup {
			out = append(out, (x.End - x.Begin).Seconds())
		}
	}
	return out
}

// rankValues returns value for each rank of traffic t's job, except ranks that are servers.
func (e *Evaluation) rankValues(o *job.Outcome, t int, value func(r *job.RankOutcome) float64) (out []float64) {
	for i := range o.Ranks {
		if !e.isServer(t, i) {
			out = append(out, value(&o.Ranks[i]))
		}
	}
	return out
}

// requestedIterations returns the number of iterations that traffic t's job is configured to run; NaN if the job does
// not define it, as a trace does not.
func (e *Evaluation) requestedIterations(t int) float64 {
	for i := range e.Load.Jobs {
		if j := &e.Load.Jobs[i]; j.Group == t {
			if n := job.TraitsOf(j.Program).Iterations; n > 0 {
				return float64(n)
			}
		}
	}
	return math.NaN()
}

// isServer reports whether a rank of traffic t's job is a server.
func (e *Evaluation) isServer(t, rank int) bool {
	for i := range e.Load.Jobs {
		if j := &e.Load.Jobs[i]; j.Group == t {
			return job.IsServer(j.Program, rank)
		}
	}
	return false
}

// maxOrNaN returns the largest value; NaN without a value.
func maxOrNaN(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return slices.Max(values)
}

// slowestRank finds the rank that delays iterations: the one that computed longest, the first of several. If a job was
// cut short, ranks that are further ahead have computed longer. So ranks are compared by their time per ended
// iteration, and a rank that has ended no iteration does not count.
type slowestRank struct {
	number           int
	time, iterations int64 // computing time in ps, and the number of iterations in which it was spent
	some, unalike    bool
}

// addRank compares a rank with the slowest so far. rank is an index in the outcome's ranks. iterates reports whether
// the job counts its iterations.
func (s *slowestRank) addRank(o *job.Outcome, rank int, iterates bool) {
	r := &o.Ranks[rank]
	time, iterations := int64(r.Computing), int64(1)
	if o.Left > 0 && iterates {
		time, iterations = int64(r.Within), r.Ended
	}
	switch {
	case iterations == 0:
	case !s.some:
		*s = slowestRank{number: rank, time: time, iterations: iterations, some: true}
	default:
		c := compareShares(time, iterations, s.time, s.iterations)
		s.unalike = s.unalike || c != 0
		if c > 0 {
			s.number, s.time, s.iterations = rank, time, iterations
		}
	}
}

// rankNumber returns the slowest rank; NaN if all ranks computed equally long or no rank counts.
func (s *slowestRank) rankNumber() float64 {
	if !s.unalike {
		return math.NaN()
	}
	return float64(s.number)
}

// findSlowestRank returns the slowest rank of traffic t's job that is not a server; NaN if all ranks computed equally
// long.
func (e *Evaluation) findSlowestRank(o *job.Outcome, t int) float64 {
	var x slowestRank
	for i := range o.Ranks {
		if !e.isServer(t, i) {
			x.addRank(o, i, !math.IsNaN(e.requestedIterations(t)))
		}
	}
	return x.rankNumber()
}

// compareShares compares a/b with c/d, which must not be negative; b and d must be above 0. It returns −1, 0 or 1.
func compareShares(a, b, c, d int64) int {
	high, low := bits.Mul64(uint64(a), uint64(d))
	high2, low2 := bits.Mul64(uint64(c), uint64(b))
	return cmp.Or(cmp.Compare(high, high2), cmp.Compare(low, low2))
}
