package claim

import (
	"maps"
	"math"
	"slices"

	"weir/study/measure"
)

// FinishedRun is a finished run with its seed, point and values.
type FinishedRun struct {
	Point  []measure.Coordinate
	Seed   uint64
	Values *measure.Values
	// Disturbed runs decide no claim: the machine can have changed what was measured.
	Disturbed bool
	// disturbedRatios are the run's ratios over a disturbed run, which decide no claim either.
	disturbedRatios []string
}

// disturbs reports whether the machine can have changed one of the measures.
func (x *FinishedRun) disturbs(measures map[string]bool) bool {
	return x.Disturbed || slices.ContainsFunc(x.disturbedRatios, func(name string) bool { return measures[name] })
}

// matching returns the points that a claim means, or with along the first of each
// pair of neighbours.
func (s *View) matching(c *Compiled) []int {
	var points []int
	for i, at := range s.Points {
		if c.Means(at) && (c.along == "" || s.neighbour(c, i) >= 0) && !s.lacks(c, i) {
			points = append(points, i)
		}
	}
	return points
}

// lacks reports whether a claim compares point i with one that the sweep goes without.
func (s *View) lacks(c *Compiled, i int) bool {
	return slices.ContainsFunc(c.others, func(sel selector) bool { return !sel.gone && s.pointOf(&sel, i) < 0 })
}

// neighbour returns the next point along the claim's sweep key that the claim
// means, −1 if there is none.
func (s *View) neighbour(c *Compiled, i int) int {
	stride, number := 1, s.number(i)
	for k := len(s.Sweep) - 1; k >= 0; k-- {
		n := len(s.Sweep[k].Values)
		if s.Sweep[k].Key == c.along {
			for here := number / stride % n; here < n-1; here++ {
				number += stride
				if next := s.numbered(number); next >= 0 && c.Means(s.Points[next]) {
					return next
				}
			}
			return -1
		}
		stride *= n
	}
	return -1
}

// number is that of point i among all combinations of the sweep.
func (s *View) number(i int) int {
	if s.Numbers == nil {
		return i
	}
	return s.Numbers[i]
}

// numbered is the point with a number; −1 if the sweep goes without it.
func (s *View) numbered(number int) int {
	if s.Numbers == nil {
		return number
	}
	if i, ok := slices.BinarySearch(s.Numbers, number); ok {
		return i
	}
	return -1
}

// samples are the finished runs by point and seed.
type samples map[string]map[uint64]*FinishedRun

// sampled finds runs by point and seed.
func sampled(runs []FinishedRun) samples {
	at := samples{}
	for i := range runs {
		r := &runs[i]
		name := measure.PointName(r.Point)
		if at[name] == nil {
			at[name] = map[uint64]*FinishedRun{}
		}
		at[name][r.Seed] = r
	}
	return at
}

// Judge gives every claim its verdict over the finished runs of the seeds.
func (s *View) Judge(claims []*Compiled, seeds []uint64, runs []FinishedRun) []Claim {
	at := sampled(runs)
	var out []Claim
	for _, c := range claims {
		out = append(out, s.judge(c, seeds, at))
	}
	return out
}

// judge gives a claim the verdict of the point that decides: of all points the one that speaks
// most against it, or, if one point is enough, most for it.
func (s *View) judge(c *Compiled, seeds []uint64, at samples) Claim {
	result := c.Claim
	points := s.matching(c)
	decides := verdict{value: yes, margin: math.Inf(1)}
	if c.some {
		decides = verdict{value: no, margin: math.Inf(-1)}
	}
	missing := len(points) == 0
	used := map[*FinishedRun]bool{}
	for _, i := range points {
		var envs []map[string]any
		here := map[*FinishedRun]bool{}
		for _, seed := range seeds {
			if env := s.environmentOf(c, i, seed, at, here); env != nil {
				envs = append(envs, env)
			} else {
				missing = true
			}
		}
		maps.Copy(used, here)
		if len(envs) == 0 {
			continue
		}
		v := c.that.judge(envs)
		if slices.Contains(slices.Collect(maps.Values(here)), true) {
			v.value, v.text = maybe, v.text+disturbedText
		}
		less, more := v, decides
		if c.some {
			less, more = decides, v
		}
		if less.value < more.value || less.value == more.value && less.margin < more.margin {
			decides = v
			if name := measure.PointName(s.Points[i]); name != "" {
				decides.text = name + ": " + v.text
			}
		}
	}
	result.Measured, result.N = decides.text, len(used)
	switch {
	case len(points) == 0:
		result.Verdict, result.Measured = Undecided, "no point of this sweep bears on it"
	case !c.some && decides.value == no, c.some && decides.value == no && !missing:
		result.Verdict = Fails
	case decides.value == maybe || missing && !(c.some && decides.value == yes):
		result.Verdict = Undecided
		if missing && decides.value != maybe {
			result.Measured += " (runs are missing)"
		}
	default:
		result.Verdict = Holds
	}
	return result
}

// disturbedText follows the numbers of a point at which the machine disturbed a run.
const disturbedText = " (the machine disturbed it)"

// environmentOf is what a claim's expression sees at point i for a seed: the run there, the next
// along the claim's key, and those of other points that it names. It is nil if one of them is
// missing. The runs that it has are noted as used, with whether the machine can have changed what the claim names.
func (s *View) environmentOf(c *Compiled, i int, seed uint64, at samples, used map[*FinishedRun]bool) map[string]any {
	r := at[measure.PointName(s.Points[i])][seed]
	if r == nil {
		return nil
	}
	env := environment(r.Point, r.Values)
	if c.along != "" {
		next := at[measure.PointName(s.Points[s.neighbour(c, i)])][seed]
		if next == nil {
			return nil
		}
		env["next"] = environment(next.Point, next.Values)
		used[next] = used[next] || next.disturbs(c.measures["next"])
	}
	for o := range c.others {
		var there *FinishedRun
		if k := s.pointOf(&c.others[o], i); k >= 0 {
			there = at[measure.PointName(s.Points[k])][seed]
		}
		if there == nil {
			return nil
		}
		env[c.others[o].name] = environment(there.Point, there.Values)
		used[there] = used[there] || there.disturbs(c.measures[c.others[o].name])
	}
	used[r] = used[r] || r.disturbs(c.measures[""])
	return env
}
