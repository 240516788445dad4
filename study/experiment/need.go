package experiment

import (
	"fmt"
	"slices"
	"strings"

	"weir/core/unit"
	"weir/internal/document"
)

// Need says how many seeds a point has by what is measured: the smallest number, from Least on, of first seeds over
// which the interval of a measure's mean is narrow enough at every point; Most if there is none.
type Need struct {
	Measure, Group string  // Group is "" if the measure has none
	Until          float64 // half of the interval over the mean, at most
	Confidence     float64 // of the interval
	Least, Most    int
}

// Measured is the measure as expressions have it: fct_p99.storage.
func (n *Need) Measured() string { return nameOf(n.Measure, n.Group) }

// String is what is wanted: fct_p99.storage within 2 % at 95 %.
func (n *Need) String() string {
	return fmt.Sprintf("%s within %s at %s", n.Measured(), spaced(n.Until), spaced(n.Confidence))
}

// spaced is a share as text has it.
func spaced(share float64) string { return strings.TrimSuffix(unit.FormatShare(share), "%") + " %" }

// nameOf is a measure, or one of its groups, as expressions have it.
func nameOf(m, group string) string {
	if group == "" {
		return m
	}
	return m + "." + group
}

// Bounds of seeds by need. Two seeds are the fewest that have an interval.
const (
	mostSeeds       = 10000
	leastOfNeed     = 2
	leastConfidence = 0.5
	mostConfidence  = 0.9999
)

// Need is how the number of seeds follows from what is measured; false if the file has the number.
func (s *Spec) Need() (Need, bool) {
	if s.need == nil {
		return Need{}, false
	}
	return *s.need, true
}

// NeedOn is Need for a world: the lab, where a run takes as long as what it measures, has a number.
func (s *Spec) NeedOn(world string) (Need, bool) {
	if world == Lab {
		return Need{}, false
	}
	return s.Need()
}

// decodeRepeat reads how many seeds there are. What the measure is called is checked when measures are known.
func (s *Spec) decodeRepeat(d *decoder, t *document.Node) {
	if t.Kind != document.Mapping {
		if t.Kind == document.List {
			d.Fail(t.Place, fmt.Sprintf("1 … %d, or %s", mostSeeds, needExample), "this is %v", t.Kind)
			return
		}
		s.repeat = d.Integer(t, 1, mostSeeds)
		s.labRepeat = s.repeat
		return
	}
	before := d.Count()
	x, _ := d.Map(t, need)
	for _, key := range []string{"measure", "until"} {
		if x.Get(key) == nil {
			x.Missing(key, "repeat has no %q", key)
		}
	}
	n := &Need{}
	if v := x.Get("measure"); v != nil {
		n.Measure, n.Group, _ = strings.Cut(d.Text(v), ".")
	}
	if v := x.Get("until"); v != nil {
		n.Until = d.readShare(v, "above 0% and up to 100%", func(v float64) bool { return v > 0 && v <= 1 })
	}
	n.Confidence = d.readShare(x.Default("confidence"),
		unit.FormatShare(leastConfidence)+" … "+unit.FormatShare(mostConfidence),
		func(v float64) bool { return v >= leastConfidence && v <= mostConfidence })
	least, most := x.Default("least"), x.Default("most")
	n.Least = d.Integer(least, leastOfNeed, mostSeeds)
	n.Most = d.Integer(most, leastOfNeed, mostSeeds)
	if d.Count() == before && n.Most < n.Least {
		d.Fail(most.Place, fmt.Sprintf("most: %d … %d, or a smaller least", n.Least, mostSeeds),
			"at most %d seeds are fewer than the least, %d", n.Most, n.Least)
	}
	s.need, s.repeat, s.labRepeat = n, n.Most, n.Least
}

// readShare reads a share that has to be within bounds.
func (d *reader) readShare(t *document.Node, allowed string, within func(float64) bool) float64 {
	v, ok := document.ReadOK(d.Reader, t, unit.ParseShare)
	if ok && !within(v) {
		d.Fail(t.Place, allowed, "%q is not in the range", t.Text)
	}
	return v
}

// checkNeed looks whether runs have what decides the number of seeds.
func (s *Spec) checkNeed(d *decoder) {
	if s.need == nil {
		return
	}
	t := d.View(top.Of(s.root).Get("repeat"), need).Get("measure")
	names := s.valueNames()
	if slices.Contains(names, t.Text) {
		return
	}
	var groups []string
	for _, n := range names {
		if strings.HasPrefix(n, t.Text+".") {
			groups = append(groups, n)
		}
	}
	if groups != nil {
		d.Fail(t.Place, document.Near(t.Text, groups), "%s is not one number", t.Text)
		return
	}
	d.Unknown(t.Place, "measure", t.Text, names)
}
