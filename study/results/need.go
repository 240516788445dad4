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

// Chosen is how many seeds of every point count where an experiment says by what is measured. All points have the
// same, so that what is compared has the same seeds.
type Chosen struct {
	experiment.Need
	N     int // the first so many seeds count
	State ChoiceState
	// Share is half of the interval over the mean where that is largest, and Point is there: of the points with a value
	// at every one of the N seeds; NaN if there is none.
	Share float64
	Point []measure.Coordinate
	// Without are points with no value at any of the N seeds, which decide nothing.
	Without int
	// Partly is the first point with a value at some of the N seeds only, whose mean no report has; nil: there is none.
	Partly []measure.Coordinate

	at *samples
}

// ChoiceState is the state of the choice of a number of seeds.
type ChoiceState string

// States. Pending: a run of the first N seeds is not there, because it failed or has not been carried out, so that it
// is not known whether N are enough; more may be needed. Met: N seeds are the first that are enough. Unmet: not even
// the most are.
const (
	Pending ChoiceState = "open"
	Met     ChoiceState = "met"
	Unmet   ChoiceState = "not met"
)

// samples are values by point and seed.
type samples struct {
	need   experiment.Need
	points [][]measure.Coordinate
	values [][]float64 // NaN: not defined
	there  [][]bool
}

// Choose decides by the finished runs how many seeds count, in the order of the seeds: runs of later ones make no
// difference. It is nil where the experiment has the number. A value that is not finite is not defined, as in files.
func Choose(s *experiment.Spec, runs []*Run, world string) *Chosen {
	need, ok := s.NeedOn(world)
	if !ok {
		return nil
	}
	a := &samples{need: need}
	index := map[string]int{}
	for i, p := range s.Points() {
		a.points = append(a.points, p.At())
		a.values, a.there = append(a.values, make([]float64, need.Most)), append(a.there, make([]bool, need.Most))
		index[measure.PointName(p.At())] = i
	}
	ratios := ratiosOf(s, runs, need.Measure)
	for k, r := range runs {
		p, known := index[measure.PointName(r.Point)]
		seed := r.Seed - s.Seed() // wraps as seeds do
		if !known || seed >= uint64(need.Most) {
			continue
		}
		a.there[p][seed] = true
		listed := r.Measures
		if ratios != nil {
			listed = ratios[k]
		}
		a.values[p][seed] = valueOf(listed, need.Measure, need.Group)
	}
	return a.choose()
}

// ratiosOf are the ratios of each run; nil if the measure is none.
func ratiosOf(s *experiment.Spec, runs []*Run, name string) [][]measure.Measured {
	if s.Over(name) == "" {
		return nil
	}
	return s.Ratios(sampled(runs))
}

// valueOf is a number of a run; NaN if it is not there or not finite.
func valueOf(listed []measure.Measured, name, group string) float64 {
	for i := range listed {
		m := &listed[i]
		if m.Name != name {
			continue
		}
		if m.Groups == nil && group == "" {
			return finite(m.Value)
		}
		for _, g := range m.Groups {
			if g.Group == group {
				return finite(g.Value)
			}
		}
	}
	return math.NaN()
}

func finite(v float64) float64 {
	if math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

// choose goes through the numbers of seeds. The point that was too wide is looked at first, as it mostly still is.
func (a *samples) choose() *Chosen {
	first := 0
	for n := a.need.Least; n <= a.need.Most; n++ {
		if !a.complete(n) {
			return a.chosen(n, Pending)
		}
		q, met, known := claim.Quantile(n, a.need.Confidence), true, false
		for k := range a.points {
			p := (first + k) % len(a.points)
			is, value := a.narrow(p, n, q)
			if known = known || value; !is {
				first, met = p, false
				break
			}
		}
		if met && known {
			return a.chosen(n, Met)
		}
	}
	return a.chosen(a.need.Most, Unmet)
}

// complete reports whether all points have their first n runs.
func (a *samples) complete(n int) bool {
	from := n - 1 // what is before was looked at
	if n == a.need.Least {
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

// narrow reports whether the interval of a point's mean over n seeds is narrow enough, or decides nothing because no
// seed has a value.
func (a *samples) narrow(p, n int, quantile float64) (is, value bool) {
	x := a.values[p][:n]
	share := claim.Share(x, quantile)
	if !math.IsNaN(share) {
		return share <= a.need.Until, true
	}
	return a.defined(p, n) == 0, false
}

// defined counts the first n seeds with a value.
func (a *samples) defined(p, n int) (count int) {
	for _, v := range a.values[p][:n] {
		if !math.IsNaN(v) {
			count++
		}
	}
	return count
}

// chosen says what is known of n seeds.
func (a *samples) chosen(n int, state ChoiceState) *Chosen {
	c := &Chosen{Need: a.need, N: n, State: state, Share: math.NaN(), at: a}
	if state == Pending {
		return c
	}
	q := claim.Quantile(n, a.need.Confidence)
	for p := range a.points {
		share := claim.Share(a.values[p][:n], q)
		switch {
		case !math.IsNaN(share):
			if math.IsNaN(c.Share) || share > c.Share {
				c.Share, c.Point = share, a.points[p]
			}
		case a.defined(p, n) == 0:
			c.Without++
		case c.Partly == nil:
			c.Partly = a.points[p]
		}
	}
	return c
}

// Counts reports whether a seed counts, by its number from 0; c may be nil: all do.
func (c *Chosen) Counts(seed uint64) bool { return c == nil || seed < uint64(c.N) }

// Next is how many seeds are worth having before the next choice, if the runs of the first done seeds are all there and
// are not enough: half of the way to where their variance says that it ends, so that few are in vain. No outcome
// depends on it.
func (c *Chosen) Next(done int) int { return min(done+(c.Likely(done)-done+1)/2, c.Most) }

// Likely is where the variance of the first done seeds says that it ends, if they are not enough.
func (c *Chosen) Likely(done int) int {
	wanted := done + 1
	for p := range c.at.points {
		wanted = max(wanted, c.at.expected(p, done))
	}
	return min(wanted, c.Most)
}

// expected is how many seeds of a point are enough if mean and variance stay those of the first n.
func (a *samples) expected(p, n int) int {
	errors := claim.Share(a.values[p][:n], 1) * math.Sqrt(float64(n)) // deviation over mean
	if math.IsNaN(errors) {
		if a.defined(p, n) == 0 {
			return n
		}
		return a.need.Most
	}
	enough := func(k int) bool {
		return errors/math.Sqrt(float64(k))*claim.Quantile(k, a.need.Confidence) <= a.need.Until
	}
	return n + sort.Search(a.need.Most-n, func(more int) bool { return enough(n + more) })
}

// String is the choice in a sentence.
func (c *Chosen) String() string {
	wanted, runs := c.Need.String(), text.Count(c.N, "run")+" per point"
	switch {
	case c.State == Met && c.Without > 0:
		return fmt.Sprintf("%s, chosen by the data: %s; points without a value: %d", runs, wanted, c.Without)
	case c.State == Met:
		return fmt.Sprintf("%s, chosen by the data: %s", runs, wanted)
	case c.State == Pending:
		return fmt.Sprintf("how many seeds are needed is open, %d or more: the first %d of every point have to be there for "+
			"%s", c.N, c.N, wanted)
	case c.Partly != nil:
		return fmt.Sprintf("%s, the most: %s is not reached, for %s has a value at some seeds only", runs, wanted,
			orPoint(c.Partly))
	case math.IsNaN(c.Share):
		return fmt.Sprintf("%s, the most: %s is not reached, for no run has a value", runs, wanted)
	case math.IsInf(c.Share, 0):
		return fmt.Sprintf("%s, the most: %s is not reached, for %s has a mean of 0", runs, wanted, orPoint(c.Point))
	}
	return fmt.Sprintf("%s, the most: %s is not reached, %s is within %s", runs, wanted, orPoint(c.Point),
		percent(c.Share))
}

// Note is what to know of intervals over seeds that the data chose.
const Note = "Seeds were added until that interval was narrow enough: it is a little too narrow on average"

func orPoint(p []measure.Coordinate) string {
	if len(p) == 0 {
		return "the point"
	}
	return measure.PointName(p)
}

// percent is a share in percent with two digits, rounded up: it is beyond a bound.
func percent(share float64) string {
	v := 100 * share
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	if v = math.Ceil(v/unit) * unit; v >= 100 {
		return fmt.Sprintf("%.0f %%", v)
	}
	return fmt.Sprintf("%.3g %%", v)
}

// json is the choice in runs.json.
func (c *Chosen) json() json.RawMessage {
	var o, point object
	o.add("n", c.N)
	o.add("chosen", c.State)
	o.add("measure", c.Measured())
	o.add("until", c.Until)
	o.add("confidence", c.Confidence)
	o.add("least", c.Least)
	o.add("most", c.Most)
	if c.State != Pending {
		o.add("share", c.Share)
		for _, x := range c.Point {
			point.add(x.Key, x.Text)
		}
		o.add("point", point.bytes())
		o.add("points_without", c.Without)
	}
	return o.bytes()
}
