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

// jobKind is the kind of measures of jobs.
func jobKind() Definition {
	return Definition{Name: "job",
		Doc: "of jobs, by traffic: time from the start until all is done [s]; of iterations that " +
			"began after the warm-up and ended mean and longest (job_iteration, job_iteration_max [s]) with a distribution, " +
			"how many have ended (job_iterations) and how many there are to be (job_iterations_asked); of collective " +
			"operations likewise mean (job_operation [s]) and what each host moves at the least over that (job_bus_bandwidth " +
			"[bit/s]); of hosts the time in which they compute (job_computing [s]) and in which they do not before their end, " +
			"mean and longest (job_exposed, job_exposed_max [s]), without the time in which they wait for the beginning of an " +
			"iteration (job_waiting [s], with `align`; it is no part of job_iteration either), and the rank that computes " +
			"longest, or an iteration where not all are over (job_slowest_rank), if not all compute alike; of messages, from " +
			"when the transport has one until all of it is acknowledged, median and 99 % (job_message_p50, job_message_p99 " +
			"[s], within 1/64 of a value) with a distribution, on packets; " +
			"what all send (job_sent [bytes]), operations that never ran (job_left). By group what is of the ranks at its hosts",
		Keys:   []Key{by("traffic", "traffic", bySender), limit()},
		Better: Lower, Also: map[string]Better{"job_bus_bandwidth": Higher, "job_computing": Neither,
			"job_slowest_rank": Neither, "job_sent": Neither, "job_waiting": Neither, "job_iterations": Higher,
			"job_iterations_asked": Neither},
		Parts: map[string][2]string{"job_iteration": ended, "job_iteration_max": ended, "job_operation": ended,
			"job_bus_bandwidth": ended},
		New: func() Measure { return &jobs{} }, Ideal: true}
}

// ended are the names of how many iterations have ended, and of how many there were to be.
var ended = [2]string{"job_iterations", "job_iterations_asked"}

// jobs is what became of jobs.
type jobs struct{ grouped }

// Check says that there must be one.
func (*jobs) Check(p *Point) (why, allowed string) {
	if slices.ContainsFunc(p.Traffic, func(t Traffic) bool { return t.Job }) {
		return "", ""
	}
	return "no traffic of the experiment is a job", "a traffic with a job"
}

// Evaluate adds how long jobs and their parts took. What is not over is not a number.
func (m *jobs) Evaluate(e *Evaluation) {
	if m.ofGroups() {
		m.groups(e)
		return
	}
	add := func(name, unitName string, value func(o *job.Outcome, t int) float64) {
		m := Measured{Name: name, Unit: unitName, Groups: []Grouped{}}
		for t := range e.Point.Traffic {
			if o := e.Result.Job(t); o != nil {
				m.Groups = append(m.Groups, Grouped{Group: e.Point.Traffic[t].Name, Value: value(o, t)})
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
	add("job_iteration", "s", func(o *job.Outcome, t int) float64 { return mean(e.iterations(o, t)) })
	add("job_iteration_max", "s", func(o *job.Outcome, t int) float64 {
		return largest(e.iterations(o, t))
	})
	add(ended[0], "", func(o *job.Outcome, t int) float64 { return float64(len(o.Iterations)) + 0*e.asked(t) })
	add(ended[1], "", func(_ *job.Outcome, t int) float64 { return e.asked(t) })
	add("job_operation", "s", func(o *job.Outcome, _ int) float64 { return mean(e.operations(o)) })
	add("job_bus_bandwidth", "bps", func(o *job.Outcome, t int) float64 {
		if bus := e.Point.Traffic[t].Bus; bus > 0 {
			return bus * 8 / mean(e.operations(o))
		}
		return math.NaN()
	})
	add("job_computing", "s", func(o *job.Outcome, t int) float64 {
		return mean(e.ofRanks(o, t, func(r *job.RankOutcome) float64 { return seconds(r.Computing) }))
	})
	exposed := func(t int) func(r *job.RankOutcome) float64 {
		return func(r *job.RankOutcome) float64 { return seconds(r.Exposed() - e.Point.Traffic[t].Start) }
	}
	add("job_exposed", "s", func(o *job.Outcome, t int) float64 { return mean(e.ofRanks(o, t, exposed(t))) })
	add("job_exposed_max", "s", func(o *job.Outcome, t int) float64 { return largest(e.ofRanks(o, t, exposed(t))) })
	add("job_waiting", "s", func(o *job.Outcome, t int) float64 {
		return mean(e.ofRanks(o, t, func(r *job.RankOutcome) float64 { return seconds(r.Waited) }))
	})
	add("job_slowest_rank", "", e.slowestRank)
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
	for t := range e.Point.Traffic {
		if h := e.Result.MessageTimes(t); h != nil {
			d := Distribution{Name: "job_message", Unit: "s", Group: e.Point.Traffic[t].Name}
			for _, c := range h.Classes() {
				d.Add(seconds(c.Middle()), c.Count)
			}
			e.AddDistribution(d)
		}
		if o := e.Result.Job(t); o != nil {
			all := e.iterations(o, t)
			slices.Sort(all)
			e.AddDistribution(distributionOf("job_iteration", "s", e.Point.Traffic[t].Name, all))
		}
	}
}

// groups adds what is of the ranks at the hosts of each group.
func (m *jobs) groups(e *Evaluation) {
	of := m.classes(e)
	each := func(k int, all bool, value func(r *job.RankOutcome, start unit.Time) float64) (out []float64) {
		of[k].ranks(e, func(j, rank, _ int, _ *outcome.RankCounters) {
			if o := &e.Result.Jobs[j]; rank < len(o.Ranks) && (all || !e.serves(e.Load.Jobs[j].Group, rank)) {
				out = append(out, value(&o.Ranks[rank], e.Point.Traffic[e.Load.Jobs[j].Group].Start))
			}
		})
		return out
	}
	add := func(name, unitName string, over func(all []float64) float64,
		value func(r *job.RankOutcome, start unit.Time) float64) {
		e.ofClasses(of, name, unitName, false, func(k int) float64 { return over(each(k, name == "job", value)) })
	}
	add("job", "s", largest, func(r *job.RankOutcome, start unit.Time) float64 {
		if !r.Done {
			return math.NaN()
		}
		return (r.End - start).Seconds()
	})
	add("job_computing", "s", mean, func(r *job.RankOutcome, _ unit.Time) float64 { return r.Computing.Seconds() })
	exposed := func(r *job.RankOutcome, start unit.Time) float64 { return (r.Exposed() - start).Seconds() }
	add("job_exposed", "s", mean, exposed)
	add("job_exposed_max", "s", largest, exposed)
	add("job_waiting", "s", mean, func(r *job.RankOutcome, _ unit.Time) float64 { return r.Waited.Seconds() })
	e.ofClasses(of, "job_slowest_rank", "", false, func(k int) float64 {
		var x slowest
		of[k].ranks(e, func(j, rank, _ int, _ *outcome.RankCounters) {
			if o := &e.Result.Jobs[j]; rank < len(o.Ranks) && !e.serves(e.Load.Jobs[j].Group, rank) {
				x.add(o, rank, !math.IsNaN(e.asked(e.Load.Jobs[j].Group)))
			}
		})
		return x.rank()
	})
	e.ofClasses(of, "job_sent", "bytes", false, func(k int) (sum float64) {
		for _, v := range each(k, true, func(r *job.RankOutcome, _ unit.Time) float64 { return float64(r.Sent) }) {
			sum += v
		}
		return sum
	})
}

// jobEnd is when the last rank of a job ended.
func jobEnd(o *job.Outcome) (end unit.Time) {
	for i := range o.Ranks {
		end = max(end, o.Ranks[i].End)
	}
	return end
}

// iterations are how long those of a traffic took that began after the warm-up, from the end of one at its last rank to
// that of the next; where all ranks begin one together (align), from then.
func (e *Evaluation) iterations(o *job.Outcome, t int) (out []float64) {
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

// operations are how long those took that began after the warm-up and are over, from when the first rank began.
func (e *Evaluation) operations(o *job.Outcome) (out []float64) {
	for _, x := range o.Operations {
		if x.End != unit.Never && x.Begin >= e.Point.Warmup {
			out = append(out, (x.End - x.Begin).Seconds())
		}
	}
	return out
}

// ofRanks are values of the ranks of a traffic's job that do not serve others.
func (e *Evaluation) ofRanks(o *job.Outcome, t int, value func(r *job.RankOutcome) float64) (out []float64) {
	for i := range o.Ranks {
		if !e.serves(t, i) {
			out = append(out, value(&o.Ranks[i]))
		}
	}
	return out
}

// asked is how many iterations a traffic's job is to have; not a number if it does not say so, as a trace does not.
func (e *Evaluation) asked(t int) float64 {
	for i := range e.Load.Jobs {
		if j := &e.Load.Jobs[i]; j.Group == t {
			if n := job.TraitsOf(j.Program).Iterations; n > 0 {
				return float64(n)
			}
		}
	}
	return math.NaN()
}

// serves reports whether a rank of a traffic's job serves others.
func (e *Evaluation) serves(t, rank int) bool {
	for i := range e.Load.Jobs {
		if j := &e.Load.Jobs[i]; j.Group == t {
			return job.IsServer(j.Program, rank)
		}
	}
	return false
}

// largest is the largest value; not a number if there is none.
func largest(all []float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	return slices.Max(all)
}

// slowest finds the rank for which most iterations waited: the one that computed longest, the first of several. Where a
// job was cut short, ranks that are further ahead have computed longer, so what counts is the time an iteration that
// each has ended; a rank that has ended none does not count.
type slowest struct {
	number        int
	time, of      int64 // that it computed, in so many iterations
	some, unalike bool
}

func (s *slowest) add(o *job.Outcome, rank int, iterates bool) {
	r := &o.Ranks[rank]
	time, of := int64(r.Computing), int64(1)
	if o.Left > 0 && iterates {
		time, of = int64(r.Within), r.Ended
	}
	switch {
	case of == 0:
	case !s.some:
		*s = slowest{number: rank, time: time, of: of, some: true}
	default:
		c := compareShares(time, of, s.time, s.of)
		s.unalike = s.unalike || c != 0
		if c > 0 {
			s.number, s.time, s.of = rank, time, of
		}
	}
}

// rank is its number; not a number where all have computed alike.
func (s *slowest) rank() float64 {
	if !s.unalike {
		return math.NaN()
	}
	return float64(s.number)
}

// slowestRank is that of a traffic's job.
func (e *Evaluation) slowestRank(o *job.Outcome, t int) float64 {
	var x slowest
	for i := range o.Ranks {
		if !e.serves(t, i) {
			x.add(o, i, !math.IsNaN(e.asked(t)))
		}
	}
	return x.rank()
}

// compareShares compares a/b with c/d, which are not below 0.
func compareShares(a, b, c, d int64) int {
	high, low := bits.Mul64(uint64(a), uint64(d))
	high2, low2 := bits.Mul64(uint64(c), uint64(b))
	return cmp.Or(cmp.Compare(high, high2), cmp.Compare(low, low2))
}
