package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/core/unit"
	"weir/internal/document"
)

// Paper names where an experiment comes from.
type Paper struct {
	Name   string
	Figure string
}

func (p Paper) String() string {
	if p.Figure == "" {
		return p.Name
	}
	return p.Name + ", figure " + p.Figure
}

func paperOf(t *document.Node) Paper {
	var p Paper
	about := paper.Of(top.Of(t).Get("paper"))
	if x := about.Get("name"); x != nil {
		p.Name = x.Text
	}
	if x := about.Get("figure"); x != nil {
		p.Figure = x.Text
	}
	return p
}

// headSection is what a file has once for all points: its title, its paper and the seeds.
type headSection struct {
	name  string
	title string
	paper Paper

	repeat    int   // max seeds a point in the simulator
	need      *Need // how many of them by what is measured; nil: all
	labRepeat int   // seeds in the lab, where a run takes as long as what it measures
	seed      uint64
	quota     unit.Bytes // of a run's trace; 0: none
}

// readHead reads what is the same for all points.
func (h *headSection) readHead(d *reader, file *document.Node) {
	tree := document.Copy(file)
	root := d.View(tree, top)
	if t := root.Get("title"); t != nil {
		h.title = d.Text(t)
	} else {
		h.title = h.name
	}
	if p := root.Get("paper"); p != nil {
		if _, ok := d.Map(p, paper); ok {
			for _, k := range p.Keys {
				if !paper.Has(k.Name, ofPoints) {
					d.Text(k.Value)
				}
			}
		}
		h.paper = paperOf(file)
	}
	h.readRepeat(d, root.Default("repeat"))
	if t := root.Get("lab_repeat"); t != nil {
		h.labRepeat = d.Integer(t, 1, maxSeeds)
	}
	seed := root.Default("seed")
	n, err := strconv.ParseUint(d.Text(seed), 10, 64)
	if err != nil && seed.Kind == document.Scalar {
		d.Fail(seed.Position, "0 … 18446744073709551615", "%q is not a seed", seed.Text)
	}
	h.seed = n
	if t := root.Get("trace_quota"); t != nil {
		var ok bool
		if h.quota, ok = document.ReadOK(d.Reader, t, unit.ParseBytes); ok && h.quota < 1 {
			d.Fail(t.Position, "1 B or more", "a quota of %v leaves no trace", h.quota)
		}
	}
	var defaults document.Defaults
	defaults.Note(tree)
	defaults.WriteShared()
}

// Name returns the name of the experiment, p4abc/fig4, or of its file.
func (h *headSection) Name() string { return h.name }

// Title returns the title of its report.
func (h *headSection) Title() string { return h.title }

// Paper returns the paper that the experiment reproduces.
func (h *headSection) Paper() Paper { return h.paper }

// Repeat returns the number of seeds of a point in the simulator; with a Need the max number.
func (h *headSection) Repeat() int { return h.repeat }

// LabRepeat returns the number of seeds of a point in the lab, where a run takes as long as what it measures.
func (h *headSection) LabRepeat() int { return h.labRepeat }

// Seed returns the first seed.
func (h *headSection) Seed() uint64 { return h.seed }

// TraceQuota returns what the files of a run's trace may take together; 0: as much as there is, and only where the
// results are.
func (h *headSection) TraceQuota() unit.Bytes { return h.quota }

// RepeatOn returns the number of seeds of a point in a world, Sim or Lab; with a Need the max number.
func (h *headSection) RepeatOn(world string) int {
	if world == Lab {
		return h.labRepeat
	}
	return h.repeat
}

// Need says how many seeds a point has by what is measured: the smallest number, from Least on, of first seeds over
// which the interval of a measure's mean is narrow enough at every point; Most if there is none.
type Need struct {
	Measure, Group string  // Group is "" if the measure has none
	Until          float64 // half of the interval over the mean, at most
	Confidence     float64 // of the interval
	Least, Most    int
}

// Measured returns the name of the measure in expressions: fct_p99.storage.
func (n *Need) Measured() string { return nameOf(n.Measure, n.Group) }

// String returns the condition: fct_p99.storage within 2 % at 95 %.
func (n *Need) String() string {
	return fmt.Sprintf("%s within %s at %s", n.Measured(), spaced(n.Until), spaced(n.Confidence))
}

// spaced returns a share with a space before the sign.
func spaced(share float64) string { return strings.TrimSuffix(unit.FormatShare(share), "%") + " %" }

// Bounds of seeds by need. Two seeds are the fewest that have an interval.
const (
	maxSeeds      = 10000
	minNeedSeeds  = 2
	minConfidence = 0.5
	maxConfidence = 0.9999
)

// Need returns how the number of seeds follows from what is measured; false if the file has the number.
func (h *headSection) Need() (Need, bool) {
	if h.need == nil {
		return Need{}, false
	}
	return *h.need, true
}

// NeedOn returns Need for a world: the lab, where a run takes as long as what it measures, has a number.
func (h *headSection) NeedOn(world string) (Need, bool) {
	if world == Lab {
		return Need{}, false
	}
	return h.Need()
}

// readRepeat reads how many seeds there are. What the measure is called is checked when measures are known.
func (h *headSection) readRepeat(d *reader, t *document.Node) {
	if t.Kind != document.Mapping {
		if t.Kind == document.List {
			d.Fail(t.Position, fmt.Sprintf("1 … %d, or %s", maxSeeds, needExample), "this is %v", t.Kind)
			return
		}
		h.repeat = d.Integer(t, 1, maxSeeds)
		h.labRepeat = h.repeat
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
		unit.FormatShare(minConfidence)+" … "+unit.FormatShare(maxConfidence),
		func(v float64) bool { return v >= minConfidence && v <= maxConfidence })
	least, most := x.Default("least"), x.Default("most")
	n.Least = d.Integer(least, minNeedSeeds, maxSeeds)
	n.Most = d.Integer(most, minNeedSeeds, maxSeeds)
	if d.Count() == before && n.Most < n.Least {
		d.Fail(most.Position, fmt.Sprintf("most: %d … %d, or a smaller least", n.Least, maxSeeds),
			"at most %d seeds are fewer than the least, %d", n.Most, n.Least)
	}
	h.need, h.repeat, h.labRepeat = n, n.Most, n.Least
}

// checkNeed checks that runs, whose values have these names, have what decides the number of seeds.
func (h *headSection) checkNeed(d *reader, repeat *document.Node, names []string) {
	if h.need == nil {
		return
	}
	t := d.View(repeat, need).Get("measure")
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
		d.Fail(t.Position, document.Near(t.Text, groups), "%s is not one number", t.Text)
		return
	}
	d.Unknown(t.Position, "measure", t.Text, names)
}
