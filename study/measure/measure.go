package measure

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/core/jobs/job"
	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/document"
)

// Definition is a kind of measure that the measure list of an experiment can name. A program that
// embeds Weir adds its own to the registry.
type Definition struct {
	Name string
	Doc  string // what is measured, with its unit
	// Reads explains how to read a value that has no unit; reports have it below their tables.
	Reads string
	Keys  []Key          // its options
	New   func() Measure // a measure before its options are read
	// Ideal kinds are defined on an ideal network, too, which carries only jobs and has no packets.
	Ideal bool

	// What reports and tables do with values of the kind's name:
	Near   Tolerance // how close simulator and lab have to be; none: they are not compared
	Judged []string  // last words of the groups that are compared; nil: all are
	Sparse bool      // tables omit groups that are 0 everywhere, except the sum of all
	Queues bool      // each series is the length of a port's queue, and has the port's name

	// Which of two values is the better one, of its name and of those that begin with it; and of what else it
	// records.
	Better Better
	Also   map[string]Better

	// Parts are, by the name of a mean or a maximum of several things, the names of two values: of how many it is, and of
	// how many it was to be. Tables mark it where these differ, and do not compare it with others.
	Parts map[string][2]string
}

// Better decides which of two values is the better one.
type Better int8

// Of many measures neither is better: they are part of how something works.
const (
	Neither Better = iota
	Higher
	Lower
)

// Of says which values of a name are better that a kind records: fct_p99 of fct.
func (k *Definition) Of(name string) Better {
	if b, ok := k.Also[name]; ok {
		return b
	}
	return k.Better
}

// Records reports whether a kind records values of a name.
func (k *Definition) Records(name string) bool {
	_, also := k.Also[name]
	return also || name == k.Name || k.Name != "" && strings.HasPrefix(name, k.Name+"_")
}

// Nearness is how close simulator and lab have to be in a group of values of this unit.
func (k *Definition) Nearness(unitName, group string) (near Tolerance) {
	if k.Judged != nil && !slices.Contains(k.Judged, group[strings.LastIndexByte(group, ' ')+1:]) {
		return Tolerance{}
	}
	if near = k.Near; k.Queues && unitName == "bytes" {
		near.Difference *= fullFrame
	}
	return near
}

// fullFrame is what a packet counts where a queue is measured in bytes: a frame of Ethernet (IEEE 802.3).
const fullFrame = 1514

// Tolerance is how close two values have to be to agree: within a share of the first, or within
// a difference that is too small to matter.
type Tolerance struct{ Share, Difference float64 }

// Given reports whether there is a tolerance.
func (t Tolerance) Given() bool { return t != Tolerance{} }

// Bounds are the least and the most by which a value that agrees with a is above it.
func (t Tolerance) Bounds(a float64) (least, most float64) {
	most = max(t.Share*math.Abs(a), t.Difference)
	return -most, most
}

// Moved returns by how much a value of a group can change if what was measured changes in a share of the time. A mean
// changes by that share of itself. A percentile's rank moves by the share: where values spread evenly from 0, the value
// changes by the share over the rank, and by anything once the share exceeds what lies beyond the rank.
func (k *Definition) Moved(group string, value, share float64) float64 {
	if p, of := PercentileOf(group); of {
		rank := p / 100
		if share > min(rank, 1-rank) {
			return math.Inf(1)
		}
		share /= rank
	}
	return share * math.Abs(value)
}

// PercentileOf is which percentile a group is, above 0 and below 100: 99 of "s->b p99"; false: it is none.
func PercentileOf(group string) (p float64, is bool) {
	word, is := strings.CutPrefix(group[strings.LastIndexByte(group, ' ')+1:], "p")
	p, err := strconv.ParseFloat(strings.ReplaceAll(word, "_", "."), 64)
	return p, is && err == nil
}

// Measure is one entry of an experiment's list. It keeps its own options.
type Measure interface {
	// Decode reads the options.
	Decode(o *Options)
	// Label distinguishes it from others of its kind: a port, a traffic; "" if there can be only one.
	Label() string
	// Needs returns what a run with that load has to observe for it.
	Needs(p *Point, load *outcome.Load) Needs
	// Lab says why it is not available in the lab at that point, without its name; "" if it is.
	Lab(p *Point) string
	// Evaluate adds its values for a run.
	Evaluate(e *Evaluation)
}

// Plain is a measure without options, for which every run counts enough, in both worlds.
// Measures embed it and define what differs.
type Plain struct{}

// Decode reads no option.
func (Plain) Decode(*Options) {}

// Label is "": there is only one.
func (Plain) Label() string { return "" }

// Needs is nothing.
func (Plain) Needs(*Point, *outcome.Load) Needs { return Needs{} }

// Lab says that it is available.
func (Plain) Lab(*Point) string { return "" }

// Needs are what a run has to observe.
type Needs struct {
	Watches  []outcome.Watch
	Onsets   []outcome.Onset
	Delays   bool   // distribution of the delays of data packets
	Tally    bool   // what frames consist of
	Peaks    bool   // largest payload in flight
	Notices  bool   // what becomes of notices
	Ordering bool   // which packets come late
	Pauses   bool   // every pause frame
	Taken    bool   // what switches take
	Steers   bool   // what control planes do
	Lines    []Line // what ranks of jobs do
}

// apart is a measure that cannot be listed beside every other one of its kind.
type apart interface {
	// Excludes says why it cannot be listed beside other, and what is allowed; "" if it can.
	Excludes(other Measure) (why, allowed string)
}

// checked is a measure whose needs can be checked only once all points are known.
type checked interface {
	// Check says what is missing, and what is allowed; "" if nothing is.
	Check(p *Point) (why, allowed string)
}

// Entry is a measure of the list, with its kind and its place in the file.
type Entry struct {
	*Definition
	At document.Position
	Measure
	only []string // traffics that it is limited to; nil: all
}

// List are the measures of an experiment.
type List []*Entry

// Names are the names of kinds.
func Names(kinds []Definition) (names []string) {
	for i := range kinds {
		names = append(names, kinds[i].Name)
	}
	return names
}

// mostMeasures bounds a list, each of whose entries is held against the others of its kind.
const mostMeasures = 1000

// Decode reads the measure list, out of kinds.
func Decode(r *document.Reader, kinds []Definition, t *document.Node, p *Point) (list List) {
	if t.Kind != document.List {
		r.Fail(t.Position, "[goodput, {queue: {port: s1->server}}]", "measure is a list")
		return nil
	}
	for _, x := range t.Items {
		at := x.Position
		name, options := r.Named(x, "measure")
		if options == nil {
			continue
		}
		var kind *Definition
		for i := range kinds {
			if kinds[i].Name == name {
				kind = &kinds[i]
			}
		}
		if kind == nil {
			r.Unknown(x.Position, "measure", name, Names(kinds))
			continue
		}
		before := r.Count()
		if len(kind.Keys) == 0 && len(options.Keys) > 0 {
			r.Fail(options.Keys[0].Position, name+" alone", "%s has no options", name)
			continue
		}
		given, _ := r.Map(options, kind.Table())
		m := &Entry{Definition: kind, At: at, Measure: kind.New()}
		o := &Options{Reader: r, At: x.Position, Node: given, Kind: kind, Point: p}
		m.Decode(o)
		m.only = o.limit()
		if r.Count() > before {
			continue
		}
		if len(list) == mostMeasures {
			r.Fail(at, fmt.Sprintf("up to %d", mostMeasures), "there are more than %d measures", mostMeasures)
			break
		}
		for _, other := range list {
			m.beside(r, other)
		}
		list = append(list, m)
	}
	return list
}

// beside checks that both measures can be in one list.
func (m *Entry) beside(r *document.Reader, other *Entry) {
	if other.Name != m.Name {
		return
	}
	if other.Measure.Label() == m.Measure.Label() {
		if of, twice := m.overlaps(other); twice {
			allowed := "each measure once"
			if m.only != nil || other.only != nil {
				allowed = "each traffic in one entry"
			}
			r.Fail(m.At, allowed, "the measure %s is here already", of)
		}
	} else if apart, ok := m.Measure.(apart); ok {
		if why, allowed := apart.Excludes(other.Measure); why != "" {
			r.Fail(m.At, allowed, "%s", why)
		}
	}
}

// Check reports measures that lack something at all points together.
func (l List) Check(r *document.Reader, p *Point) {
	for _, m := range l {
		if c, ok := m.Measure.(checked); ok {
			if why, allowed := c.Check(m.limited(p)); why != "" {
				r.Fail(m.At, allowed, "%s", why)
			}
		}
	}
}

// Needs returns those of all measures together, and those of each.
func (l List) Needs(p *Point, load *outcome.Load) (all Needs, each []Needs) {
	for _, m := range l {
		n := m.Needs(p, load)
		all.Watches = append(all.Watches, n.Watches...)
		all.Onsets = append(all.Onsets, n.Onsets...)
		all.Delays = all.Delays || n.Delays
		all.Tally = all.Tally || n.Tally
		all.Peaks = all.Peaks || n.Peaks
		all.Notices = all.Notices || n.Notices
		all.Ordering = all.Ordering || n.Ordering
		all.Pauses = all.Pauses || n.Pauses
		all.Taken = all.Taken || n.Taken
		all.Steers = all.Steers || n.Steers
		n.Lines = slices.DeleteFunc(n.Lines, func(x Line) bool { return !m.shows(p.Traffic[load.Jobs[x.Job].Group].Name) })
		all.Lines = append(all.Lines, n.Lines...)
		each = append(each, n)
	}
	return all, each
}

// Observe returns what a run has to observe for the measures, and gives its jobs their timelines. Pause frames are left
// to the runner. It returns an error if the run would keep too many samples.
func (l List) Observe(p *Point, load *outcome.Load) (s outcome.Selection, err error) {
	n, _ := l.Needs(p, load)
	s = outcome.Selection{Watches: n.Watches, Onsets: n.Onsets, Delays: n.Delays, Tally: n.Tally, Notices: n.Notices,
		Ordering: n.Ordering, Peaks: n.Peaks, Usage: n.Taken, Steers: n.Steers}
	if total := Samples(p, load, s.Watches); total > mostWatched {
		return s, &TooMuch{total}
	}
	for i := range n.Lines {
		n.Lines[i].timeline(load)
	}
	return s, nil
}

// Keeping is a measure that keeps other numbers of series beyond the run than one of each watch.
type Keeping interface {
	// Keeps returns the number of series, each of which has the samples of one watch.
	Keeps(e *Evaluation) int
}

// Kept returns the number of values over time that are kept beyond the run.
func (l List) Kept(p *Point, load *outcome.Load) (total float64) {
	_, each := l.Needs(p, load)
	for i, m := range l {
		all := each[i].Watches
		if x, ok := m.Measure.(Keeping); ok && len(all) > 0 {
			total += float64(x.Keeps(&Evaluation{Point: p, Load: load, list: l})) *
				float64(all[0].Samples(p.Warmup, p.Warmup+p.Duration))
			continue
		}
		for k := range all {
			total += p.samples(&all[k], load)
		}
	}
	return total
}

// Samples returns the number of watched values that a run keeps.
func Samples(p *Point, load *outcome.Load, watches []outcome.Watch) (total float64) {
	for i := range watches {
		total += p.samples(&watches[i], load)
	}
	return total
}

// samples returns the number of values of a watch, and of those on the flows that a trial has not drawn.
func (p *Point) samples(w *outcome.Watch, load *outcome.Load) float64 {
	n := float64(w.Samples(p.Warmup, p.Warmup+p.Duration))
	// Only ReceivedBytes are of each flow. Other watches are of a fixed number of flows.
	if p.Scale != nil && w.What == outcome.ReceivedBytes {
		n *= p.Scale[load.Flows[w.Index].Group]
	}
	return n
}

// TooMuch is the error of measures that would keep too many samples.
type TooMuch struct{ samples float64 }

func (e *TooMuch) Error() string {
	return "the measures would keep " + SI(e.samples) + " samples a run; at most " + SI(mostWatched) +
		" fit: make every longer, or watch less"
}

// Evaluate computes the values of a run's result.
func (l List) Evaluate(p *Point, load *outcome.Load, res *outcome.Result) (v Values) {
	all, each := l.Needs(p, load)
	if load.Ideal != nil {
		res = ideally(p, load, &all, res)
	}
	e := &Evaluation{Point: p, Load: load, Result: res, Values: &v, seconds: res.Measured.Seconds(), list: l}
	samples, onsets := res.Watched, res.Onsets
	for i, m := range l {
		n, k := len(each[i].Watches), len(each[i].Onsets)
		e.Samples, samples = samples[:n], samples[n:]
		e.Onsets, onsets = onsets[:k], onsets[k:]
		first := len(v.Measures)
		m.evaluate(e)
		if !m.Ideal && load.Ideal != nil {
			undefine(v.Measures[first:])
		}
	}
	v.Flows = e.flowTable()
	return v
}

// ideally is the result of a run on an ideal network, with nothing in what packets would fill.
func ideally(p *Point, load *outcome.Load, n *Needs, res *outcome.Result) *outcome.Result {
	own, none := *res, nothing(p, load, n)
	own.Flows, own.Ports, own.Watched, own.Delays = none.Flows, none.Ports, none.Watched, none.Delays
	own.Onsets, own.Reordering, own.Peaks = none.Onsets, none.Reordering, none.Peaks
	return &own
}

// undefine makes values none.
func undefine(all []Measured) {
	for i := range all {
		all[i].Value = math.NaN()
		for k := range all[i].Groups {
			all[i].Groups[k].Value = math.NaN()
		}
	}
}

// Shape returns the names and units of what runs with a load have, by evaluating an empty result.
func (l List) Shape(p *Point, load *outcome.Load) Values {
	n, _ := l.Needs(p, load)
	res := nothing(p, load, &n)
	for i := range load.Jobs {
		res.Jobs, res.JobGroups = append(res.Jobs, job.Outcome{}), append(res.JobGroups, load.Jobs[i].Group)
		res.Times = append(res.Times, unit.Histogram{})
	}
	return l.Evaluate(p, load, res)
}

// nothing is a result in which no packet was ever sent.
func nothing(p *Point, load *outcome.Load, n *Needs) *outcome.Result {
	res := &outcome.Result{Flows: make([]outcome.FlowResult, len(load.Flows)), Ports: make([]outcome.PortResult,
		2*len(p.Network.Links)),
		Watched: make([][]int64, len(n.Watches)), Delays: make([]unit.Histogram, len(p.Traffic)),
		Onsets: make([]outcome.OnsetResult, len(n.Onsets)), Reordering: make([]outcome.Reordering, len(load.Flows)),
		Peaks: make([]unit.Bytes, len(load.Flows))}
	for i := range res.Flows {
		res.Flows[i].FCT, res.Flows[i].Written = unit.Never, unit.Never
	}
	return res
}
