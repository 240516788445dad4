package claim

import (
	"maps"
	"math"
	"slices"

	"weir/study/measure"
)

// FinishedRun is the outcome of a finished run with its seed, point and values.
type FinishedRun struct {
	Point  []measure.Coordinate
	Seed   uint64
	Values *measure.Values
	// Disturbed runs do not decide a claim: the machine may have changed what was measured.
	Disturbed bool
	// disturbedRatios names the run's ratios to a disturbed run. They do not decide a claim either.
	disturbedRatios []string
}

// isDisturbed reports whether the machine may have changed one of the measures.
func (x *FinishedRun) isDisturbed(measures map[string]bool) bool {
	return x.Disturbed || slices.ContainsFunc(x.disturbedRatios, func(name string) bool { return measures[name] })
}

// matchingPoints returns the indices of the points that a claim is about, or with `along` the first of each pair of
// neighbours.
func (s *View) matchingPoints(c *Compiled) []int {
	var points []int
	for i, point := range s.Points {
		if c.Matches(point) && (c.alongKey == "" || s.nextNeighbour(c, i) >= 0) && !s.lacksSelected(c, i) {
			points = append(points, i)
		}
	}
	return points
}

// lacksSelected reports whether a claim compares point i with a point that the sweep never had; points that options
// have removed do not count.
func (s *View) lacksSelected(c *Compiled, i int) bool {
	return s.findLackingSelector(c, i) != nil
}

// findLackingSelector returns the first selector of a claim that means a point that the sweep lacks, at point i; nil if
// there is no such selector. Points that options have removed do not count.
func (s *View) findLackingSelector(c *Compiled, i int) *selector {
	for k := range c.selectors {
		if sel := &c.selectors[k]; !sel.isRemoved && s.selectPoint(sel, i) < 0 {
			return sel
		}
	}
	return nil
}

// nextNeighbour returns the index of the next point after i along the claim's sweep key that the claim is about; −1 if
// it does not exist.
func (s *View) nextNeighbour(c *Compiled, i int) int {
	stride, number := 1, s.combination(i)
	for k := len(s.Sweep) - 1; k >= 0; k-- {
		n := len(s.Sweep[k].Values)
		if s.Sweep[k].Key == c.alongKey {
			for position := number / stride % n; position < n-1; position++ {
				number += stride
				if next := s.pointOfCombination(number); next >= 0 && c.Matches(s.Points[next]) {
					return next
				}
			}
			return -1
		}
		stride *= n
	}
	return -1
}

// combination returns the number of point i among all combinations of the sweep.
func (s *View) combination(i int) int {
	if s.Numbers == nil {
		return i
	}
	return s.Numbers[i]
}

// pointOfCombination returns the index of the point with a number among all combinations; −1 if the sweep lacks it.
func (s *View) pointOfCombination(number int) int {
	if s.Numbers == nil {
		return number
	}
	if i, ok := slices.BinarySearch(s.Numbers, number); ok {
		return i
	}
	return -1
}

// sampleIndex has the finished runs by the point's name and the seed.
type sampleIndex map[string]map[uint64]*FinishedRun

// indexSamples returns runs by point and seed. They point into runs; of several the last counts.
func indexSamples(runs []FinishedRun) sampleIndex {
	index := sampleIndex{}
	for i := range runs {
		r := &runs[i]
		name := measure.PointName(r.Point)
		if index[name] == nil {
			index[name] = map[uint64]*FinishedRun{}
		}
		index[name][r.Seed] = r
	}
	return index
}

// JudgeClaims returns every claim with its verdict over the finished runs of the seeds, in the order of claims. The
// claims must have been read without errors. seeds are all that should have run; runs of other seeds are ignored.
func (s *View) JudgeClaims(claims []*Compiled, seeds []uint64, runs []FinishedRun) []Claim {
	index := indexSamples(runs)
	var out []Claim
	for _, c := range claims {
		out = append(out, s.judgeClaim(c, seeds, index))
	}
	return out
}

// judgeClaim returns the claim with the verdict of the point that decides: the point that contradicts the claim most,
// or supports it most if one point is enough. A missing run leaves the claim undecided unless the verdict cannot
// change.
func (s *View) judgeClaim(c *Compiled, seeds []uint64, index sampleIndex) Claim {
	result := c.Claim
	points := s.matchingPoints(c)
	decides := verdict{value: yes, margin: math.Inf(1)}
	if c.onePoint {
		decides = verdict{value: no, margin: math.Inf(-1)}
	}
	missing := len(points) == 0
	used := map[*FinishedRun]bool{}
	for _, i := range points {
		var envs []map[string]any
		runsHere := map[*FinishedRun]bool{}
		for _, seed := range seeds {
			if env := s.claimEnvironment(c, i, seed, index, runsHere); env != nil {
				envs = append(envs, env)
			} else {
				missing = true
			}
		}
		maps.Copy(used, runsHere)
		if len(envs) == 0 {
			continue
		}
		v := c.truth.judgeSeeds(envs)
		if slices.Contains(slices.Collect(maps.Values(runsHere)), true) {
			v.value, v.text = maybe, v.text+disturbedText
		}
		weaker, more := v, decides
		if c.onePoint {
			weaker, more = decides, v
		}
		if weaker.value < more.value || weaker.value == more.value && weaker.margin < more.margin {
			decides = v
			if name := measure.PointName(s.Points[i]); name != "" {
				decides.text = name + ": " + v.text
			}
		}
	}
	result.Measured, result.N = decides.text, len(used)
	switch {
	case len(points) == 0:
		result.Verdict, result.Measured = Undecided, "no point of this sweep applies to the claim"
	case !c.onePoint && decides.value == no, c.onePoint && decides.value == no && !missing:
		result.Verdict = Fails
	case decides.value == maybe || missing && !(c.onePoint && decides.value == yes):
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

// claimEnvironment returns the environment of a claim's expression for a seed at point i, one of matchingPoints. It has
// the run there, the next run along the claim's key, and the runs at other points that it names. It returns nil if one
// of them is missing. It adds the runs that it found to used, with whether the machine may have changed a measure that
// the claim names.
func (s *View) claimEnvironment(c *Compiled, i int, seed uint64, index sampleIndex,
	used map[*FinishedRun]bool) map[string]any {
	r := index[measure.PointName(s.Points[i])][seed]
	if r == nil {
		return nil
	}
	env := newEnvironment(r.Point, r.Values)
	if c.alongKey != "" {
		next := index[measure.PointName(s.Points[s.nextNeighbour(c, i)])][seed]
		if next == nil {
			return nil
		}
		env["next"] = newEnvironment(next.Point, next.Values)
		used[next] = used[next] || next.isDisturbed(c.measures["next"])
	}
	for o := range c.selectors {
		var there *FinishedRun
		if k := s.selectPoint(&c.selectors[o], i); k >= 0 {
			there = index[measure.PointName(s.Points[k])][seed]
		}
		if there == nil {
			return nil
		}
		env[c.selectors[o].name] = newEnvironment(there.Point, there.Values)
		used[there] = used[there] || there.isDisturbed(c.measures[c.selectors[o].name])
	}
	used[r] = used[r] || r.isDisturbed(c.measures[""])
	return env
}
