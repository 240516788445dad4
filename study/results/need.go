package results

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"

	"weir/internal/text"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/measure"
)

// SeedChoice is the number of seeds of every point that count, if the experiment chooses it by measured values. It is
// the same for all points, so that compared values have the same seeds.
type SeedChoice struct {
	experiment.Need
	N     int // the first N seeds count
	State ChoiceState
	// Share is the largest ratio of half of an interval to its mean, and Point its point. It includes points with a
	// value at all N seeds; NaN without any.
	Share float64
	Point []measure.Coordinate
	// PointsWithout counts the points without a value at any of the N seeds; they do not affect the choice.
	PointsWithout int
	// PartialPoint is the first point with a value at only some of the N seeds, so that no report has its mean; nil: no
	// such point.
	PartialPoint []measure.Coordinate

	samples *sampleTable
}

// ChoiceState is the state of the choice of the number of seeds.
type ChoiceState string

// States. Pending: a run of the first N seeds is missing, so that it is open whether N suffice. Met: N is the
// smallest sufficient number. Unmet: the maximum number does not suffice.
const (
	Pending ChoiceState = "open"
	Met     ChoiceState = "met"
	Unmet   ChoiceState = "not met"
)

// sampleTable holds values by point and seed.
type sampleTable struct {
	need   experiment.Need
	points [][]measure.Coordinate
	values [][]float64 // NaN: not defined
	there  [][]bool
}

// ChooseSeeds chooses the number of seeds that count from the finished runs, in the order of the seeds; runs of later
// seeds have no influence. It returns nil if the experiment gives the number in this world. Runs of other points are
// ignored. A value that is not finite counts as undefined, like in files.
func ChooseSeeds(s *experiment.Spec, runs []*Run, world string) *SeedChoice {
	need, ok := s.NeedOn(world)
	if !ok {
		return nil
	}
	a := &sampleTable{need: need}
	index := map[string]int{}
	for i, p := range s.Points() {
		a.points = append(a.points, p.Coordinates())
		a.values, a.there = append(a.values, make([]float64, need.MaxSeeds)), append(a.there, make([]bool, need.MaxSeeds))
		index[measure.PointName(p.Coordinates())] = i
	}
	ratios := ratioMeasures(s, runs, need.Measure)
	for k, r := range runs {
		p, known := index[measure.PointName(r.Point)]
		seed := r.Seed - s.Seed() // wraps as seeds do
		if !known || seed >= uint64(need.MaxSeeds) {
			continue
		}
		a.there[p][seed] = true
		listed := r.Measures
		if ratios != nil {
			listed = ratios[k]
		}
		a.values[p][seed] = finiteValue(listed, need.Measure, need.Group)
	}
	return a.chooseCount()
}

// ratioMeasures returns the ratios of each run; nil if the measure is not a ratio.
func ratioMeasures(s *experiment.Spec, runs []*Run, name string) [][]measure.Measured {
	if s.RatioReference(name) == "" {
		return nil
	}
	return s.Ratios(newSamples(runs))
}

// finiteValue returns a value of a run; NaN if it is missing or not finite. group is "" for a measure without groups.
func finiteValue(listed []measure.Measured, name, group string) float64 {
	for i := range listed {
		m := &listed[i]
		if m.Name != name {
			continue
		}
		if m.Groups == nil && group == "" {
			return dropInfinite(m.Value)
		}
		for _, g := range m.Groups {
			if g.Group == group {
				return dropInfinite(g.Value)
			}
		}
	}
	return math.NaN()
}

// dropInfinite returns NaN for an infinite value, and other values unchanged.
func dropInfinite(v float64) float64 {
	if math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

// chooseCount tries the numbers of seeds in ascending order. It stops at the first number for which a run is missing or
// all intervals are narrow enough. It first tests the point that was too wide, which usually still is.
func (a *sampleTable) chooseCount() *SeedChoice {
	first := 0
	for n := a.need.MinSeeds; n <= a.need.MaxSeeds; n++ {
		if !a.isComplete(n) {
			return a.newChosen(n, Pending)
		}
		q, met, known := claim.IntervalQuantile(n, a.need.Confidence), true, false
		for k := range a.points {
			p := (first + k) % len(a.points)
			is, value := a.isNarrow(p, n, q)
			if known = known || value; !is {
				first, met = p, false
				break
			}
		}
		if met && known {
			return a.newChosen(n, Met)
		}
	}
	return a.newChosen(a.need.MaxSeeds, Unmet)
}

// isComplete reports whether all points have their first n runs. It assumes that the call with n−1 returned true,
// unless n is the minimum.
func (a *sampleTable) isComplete(n int) bool {
	from := n - 1 // earlier seeds were checked before
	if n == a.need.MinSeeds {
		from = 0
	}
	for p := range a.points {
		for k := from; k < n; k++ {
			if !a.there[p][k] {
				return false
			}
		}
	}
	return true
}

// isNarrow reports whether the interval of the mean of point p over the first n seeds is narrow enough. quantile is the
// one for n seeds. It is also true for a point without any value; value is false then.
func (a *sampleTable) isNarrow(p, n int, quantile float64) (is, value bool) {
	x := a.values[p][:n]
	share := claim.RelativeWidth(x, quantile)
	if !math.IsNaN(share) {
		return share <= a.need.MaxRelativeWidth, true
	}
	return a.countDefined(p, n) == 0, false
}

// countDefined counts the seeds with a value among the first n of point p.
func (a *sampleTable) countDefined(p, n int) (count int) {
	for _, v := range a.values[p][:n] {
		if !math.IsNaN(v) {
			count++
		}
	}
	return count
}

// newChosen returns the choice of n seeds with its statistics; a pending choice has no statistics.
func (a *sampleTable) newChosen(n int, state ChoiceState) *SeedChoice {
	c := &SeedChoice{Need: a.need, N: n, State: state, Share: math.NaN(), samples: a}
	if state == Pending {
		return c
	}
	q := claim.IntervalQuantile(n, a.need.Confidence)
	for p := range a.points {
		share := claim.RelativeWidth(a.values[p][:n], q)
		switch {
		case !math.IsNaN(share):
			if math.IsNaN(c.Share) || share > c.Share {
				c.Share, c.Point = share, a.points[p]
			}
		case a.countDefined(p, n) == 0:
			c.PointsWithout++
		case c.PartialPoint == nil:
			c.PartialPoint = a.points[p]
		}
	}
	return c
}

// CountsSeed reports whether a seed, numbered from 0 (its difference from the first seed), counts. For a nil SeedChoice
// all seeds count.
func (c *SeedChoice) CountsSeed(seed uint64) bool { return c == nil || seed < uint64(c.N) }

// NextTarget returns the number of seeds to run before the next choice, if the given number of first seeds is complete
// and does not suffice, at most MaxSeeds. It is half of the way to EstimateSeeds, so that few runs are unnecessary. No
// outcome depends on it.
func (c *SeedChoice) NextTarget(seeds int) int {
	return min(seeds+(c.EstimateSeeds(seeds)-seeds+1)/2, c.MaxSeeds)
}

// EstimateSeeds estimates the sufficient number of seeds from the variance of the given number of first seeds, which do
// not suffice. The result is above this number and at most MaxSeeds.
func (c *SeedChoice) EstimateSeeds(seeds int) int {
	wanted := seeds + 1
	for p := range c.samples.points {
		wanted = max(wanted, c.samples.expectedSeeds(p, seeds))
	}
	return min(wanted, c.MaxSeeds)
}

// expectedSeeds estimates the sufficient number of seeds of point p, from n to the maximum, if mean and variance stay
// those of the first n.
func (a *sampleTable) expectedSeeds(p, n int) int {
	errors := claim.RelativeWidth(a.values[p][:n], 1) * math.Sqrt(float64(n)) // deviation over mean
	if math.IsNaN(errors) {
		if a.countDefined(p, n) == 0 {
			return n
		}
		return a.need.MaxSeeds
	}
	enough := func(k int) bool {
		return errors/math.Sqrt(float64(k))*claim.IntervalQuantile(k, a.need.Confidence) <= a.need.MaxRelativeWidth
	}
	return n + sort.Search(a.need.MaxSeeds-n, func(more int) bool { return enough(n + more) })
}

// String describes the choice.
func (c *SeedChoice) String() string {
	wanted, runs := c.Need.String(), text.Count(c.N, "run")+" per point"
	switch {
	case c.State == Met && c.PointsWithout > 0:
		return fmt.Sprintf("%s, chosen by the data: %s; points without a value: %d", runs, wanted, c.PointsWithout)
	case c.State == Met:
		return fmt.Sprintf("%s, chosen by the data: %s", runs, wanted)
	case c.State == Pending:
		return fmt.Sprintf("the required number of seeds is unknown, %d or more; the first %d seeds of every point are "+
			"needed for %s", c.N, c.N, wanted)
	case c.PartialPoint != nil:
		return fmt.Sprintf("%s, the maximum: %s is not reached, because %s has a value at some seeds only", runs, wanted,
			pointText(c.PartialPoint))
	case math.IsNaN(c.Share):
		return fmt.Sprintf("%s, the maximum: %s is not reached, because no run has a value", runs, wanted)
	case math.IsInf(c.Share, 0):
		return fmt.Sprintf("%s, the maximum: %s is not reached, because %s has a mean of 0", runs, wanted, pointText(c.Point))
	}
	return fmt.Sprintf("%s, the maximum: %s is not reached; %s is within %s", runs, wanted, pointText(c.Point),
		roundUpPercent(c.Share))
}

// SeedChoiceNote explains intervals over seeds that the data chose.
const SeedChoiceNote = "Seeds were added until this interval was narrow enough, so on average it is slightly too narrow"

// pointText names a point in messages.
func pointText(p []measure.Coordinate) string {
	if len(p) == 0 {
		return "the point"
	}
	return measure.PointName(p)
}

// roundUpPercent formats a share above 0 in percent with two digits, rounded up because it exceeds a bound.
func roundUpPercent(share float64) string {
	v := 100 * share
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	if v = math.Ceil(v/unit) * unit; v >= 100 {
		return fmt.Sprintf("%.0f %%", v)
	}
	return fmt.Sprintf("%.3g %%", v)
}

// encodeJSON returns the choice for runs.json. A pending choice has no share and no point.
func (c *SeedChoice) encodeJSON() json.RawMessage {
	var o, point jsonObject
	o.addKey("n", c.N)
	o.addKey("chosen", c.State)
	o.addKey("measure", c.ValueName())
	o.addKey("until", c.MaxRelativeWidth)
	o.addKey("confidence", c.Confidence)
	o.addKey("least", c.MinSeeds)
	o.addKey("most", c.MaxSeeds)
	if c.State != Pending {
		o.addKey("share", c.Share)
		for _, x := range c.Point {
			point.addKey(x.Key, x.Text)
		}
		o.addKey("point", point.finishJSON())
		o.addKey("points_without", c.PointsWithout)
	}
	return o.finishJSON()
}
