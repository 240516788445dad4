package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/core/unit"
	"weir/internal/document"
)

// Paper is the source of an experiment.
type Paper struct {
	Name   string
	Figure string
}

// String returns "name, figure n"; without a figure, the name.
func (p Paper) String() string {
	if p.Figure == "" {
		return p.Name
	}
	return p.Name + ", figure " + p.Figure
}

// paperOf returns the paper that the top level of a file names; the zero value if it names no paper.
func paperOf(t *document.Node) Paper {
	var p Paper
	about := paper.ViewMap(top.ViewMap(t).Get("paper"))
	if x := about.Get("name"); x != nil {
		p.Name = x.Text
	}
	if x := about.Get("figure"); x != nil {
		p.Figure = x.Text
	}
	return p
}

// headSection has what a file defines once for all points: its title, its paper and the seeds.
type headSection struct {
	name  string
	title string
	paper Paper

	repeat    int   // max number of seeds at each point in the simulator
	need      *Need // condition that determines the number of seeds; nil: repeat
	labRepeat int   // seeds in the lab, where a run takes as long as its duration
	seed      uint64
	quota     unit.Bytes // limit of a run's trace; 0: no limit
}

// readHead reads the keys that are the same for all points. h.name must be set: it is the default title. It does not
// change the tree, but writes defaults to the file's tree.
func (h *headSection) readHead(d *reader, file *document.Node) {
	tree := document.Copy(file)
	root := d.ViewMap(tree, top)
	if t := root.Get("title"); t != nil {
		h.title = d.ReadText(t)
	} else {
		h.title = h.name
	}
	if p := root.Get("paper"); p != nil {
		if _, ok := d.ReadMap(p, paper); ok {
			for _, k := range p.Keys {
				if !paper.HasTrait(k.Name, needsPoints) {
					d.ReadText(k.Value)
				}
			}
		}
		h.paper = paperOf(file)
	}
	h.readRepeat(d, root.GetDefault("repeat"))
	if t := root.Get("lab_repeat"); t != nil {
		h.labRepeat = d.ReadInteger(t, 1, maxSeeds)
	}
	seed := root.GetDefault("seed")
	n, err := strconv.ParseUint(d.ReadText(seed), 10, 64)
	if err != nil && seed.Kind == document.Scalar {
		d.Fail(seed.Position, "0 … 18446744073709551615", "%q is not a valid seed", seed.Text)
	}
	h.seed = n
	if t := root.Get("trace_quota"); t != nil {
		var ok bool
		if h.quota, ok = document.ReadValid(d.Reader, t, unit.ParseBytes); ok && h.quota < 1 {
			d.Fail(t.Position, "1 B or more", "trace_quota is %v, which leaves no room for a trace", h.quota)
		}
	}
	var defaults document.Defaults
	defaults.NoteDefaults(tree)
	defaults.WriteShared()
}

// Name returns the name of the experiment, such as p4abc/fig4, or of its file.
func (h *headSection) Name() string { return h.name }

// Title returns the title of the report.
func (h *headSection) Title() string { return h.title }

// Paper returns the paper that the experiment reproduces.
func (h *headSection) Paper() Paper { return h.paper }

// Repeat returns the number of seeds of a point in the simulator. With a Need it is the maximum number.
func (h *headSection) Repeat() int { return h.repeat }

// LabRepeat returns the number of seeds of a point in the lab, where a run takes as long as its duration.
func (h *headSection) LabRepeat() int { return h.labRepeat }

// Seed returns the first seed.
func (h *headSection) Seed() uint64 { return h.seed }

// TraceQuota returns the limit of the total size of a run's trace files; 0: no limit, and traces are only written on
// the machine that has the results.
func (h *headSection) TraceQuota() unit.Bytes { return h.quota }

// RepeatOn returns the number of seeds of a point in a world, Sim or Lab. With a Need it is the maximum number.
func (h *headSection) RepeatOn(world string) int {
	if world == Lab {
		return h.labRepeat
	}
	return h.repeat
}

// Need defines the number of seeds by results. It is the smallest number n ≥ MinSeeds for which the first n seeds give
// a narrow enough interval of a measure's mean at every point, or MaxSeeds if there is no such number.
type Need struct {
	Measure, Group     string  // Group is "" if the measure has no groups
	MaxRelativeWidth   float64 // max of half the interval divided by the mean
	Confidence         float64 // of the interval
	MinSeeds, MaxSeeds int
}

// ValueName returns the name of the measure in expressions: fct_p99.storage.
func (n *Need) ValueName() string { return valueName(n.Measure, n.Group) }

// String returns the condition: fct_p99.storage within 2 % at 95 %.
func (n *Need) String() string {
	return fmt.Sprintf("%s within %s at %s", n.ValueName(), formatShare(n.MaxRelativeWidth), formatShare(n.Confidence))
}

// formatShare returns a share with a space before the percent sign.
func formatShare(share float64) string {
	return strings.TrimSuffix(unit.FormatShare(share), "%") + " %"
}

// Bounds of Need. An interval requires two seeds.
const (
	maxSeeds      = 10000
	minNeedSeeds  = 2
	minConfidence = 0.5
	maxConfidence = 0.9999
)

// Need returns the condition for the number of seeds; false if the number is fixed.
func (h *headSection) Need() (Need, bool) {
	if h.need == nil {
		return Need{}, false
	}
	return *h.need, true
}

// NeedOn returns Need for a world. The lab has a fixed number, since its runs take as long as their duration.
func (h *headSection) NeedOn(world string) (Need, bool) {
	if world == Lab {
		return Need{}, false
	}
	return h.Need()
}

// readRepeat reads the number of seeds into repeat and labRepeat. A map also sets need; repeat is then its max and
// labRepeat its min number. The name of the measure is checked later (checkNeed).
func (h *headSection) readRepeat(d *reader, t *document.Node) {
	if t.Kind != document.Mapping {
		if t.Kind == document.List {
			d.Fail(t.Position, fmt.Sprintf("1 … %d, or %s", maxSeeds, needExample), "the value is %v", t.Kind)
			return
		}
		h.repeat = d.ReadInteger(t, 1, maxSeeds)
		h.labRepeat = h.repeat
		return
	}
	before := d.CountErrors()
	x, _ := d.ReadMap(t, need)
	for _, key := range []string{"measure", "until"} {
		if x.Get(key) == nil {
			x.FailMissing(key, "repeat needs the key %q", key)
		}
	}
	n := &Need{}
	if v := x.Get("measure"); v != nil {
		n.Measure, n.Group, _ = strings.Cut(d.ReadText(v), ".")
	}
	if v := x.Get("until"); v != nil {
		n.MaxRelativeWidth = d.readShare(v, "above 0% and up to 100%", func(v float64) bool { return v > 0 && v <= 1 })
	}
	n.Confidence = d.readShare(x.GetDefault("confidence"),
		unit.FormatShare(minConfidence)+" … "+unit.FormatShare(maxConfidence),
		func(v float64) bool { return v >= minConfidence && v <= maxConfidence })
	minSeedsNode, maxSeedsNode := x.GetDefault("least"), x.GetDefault("most")
	n.MinSeeds = d.ReadInteger(minSeedsNode, minNeedSeeds, maxSeeds)
	n.MaxSeeds = d.ReadInteger(maxSeedsNode, minNeedSeeds, maxSeeds)
	if d.CountErrors() == before && n.MaxSeeds < n.MinSeeds {
		d.Fail(maxSeedsNode.Position, fmt.Sprintf("most: %d … %d or a smaller least", n.MinSeeds, maxSeeds),
			"most is %d seeds, below least with %d seeds", n.MaxSeeds, n.MinSeeds)
	}
	h.need, h.repeat, h.labRepeat = n, n.MaxSeeds, n.MinSeeds
}

// checkNeed reports an error if names, the names of runs' values, lack the measure of Need. It has no effect without a
// Need.
func (h *headSection) checkNeed(d *reader, repeat *document.Node, names []string) {
	if h.need == nil {
		return
	}
	t := d.ViewMap(repeat, need).Get("measure")
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
		d.Fail(t.Position, document.JoinNear(t.Text, groups), "%s has several values; select one", t.Text)
		return
	}
	d.FailUnknown(t.Position, "measure", t.Text, names)
}
