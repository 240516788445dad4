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

// Definition is a kind of measure that an experiment can list. A program that embeds Weir adds its own kinds to the
// registry.
type Definition struct {
	Name string
	Doc  string // what is measured, with its unit
	// Reads explains how to read a value without a unit. Reports print it below their tables.
	Reads string
	Keys  []Key          // its options
	New   func() Measure // a measure before its options are read
	// Ideal kinds are also defined on an ideal network, which carries only jobs and has no packets.
	Ideal bool

	// How reports and tables treat values of the kind's name:
	Tolerance Tolerance // how close simulator and lab have to be; zero: they are not compared
	Judged    []string  // last words of the groups that are compared; nil: all groups are
	Sparse    bool      // tables omit groups that are 0 everywhere, except the sum
	Queues    bool      // each series is the length of a port's queue and is named after the port

	// Better states which of two values is the better one. It holds for the kind's name and names that begin with it.
	// Also has exceptions by name.
	Better Better
	Also   map[string]Better

	// Parts has, by the name of a mean or a maximum over several things, the names of two values: the number of things
	// that it covers, and the number that was requested. Tables mark the value if the two differ, and do not compare it
	// with others.
	Parts map[string][2]string
}

// Better states which of two values of a measure is the better one.
type Better int8

// Neither is for values that describe how something works and have no better direction.
const (
	Neither Better = iota
	Higher
	Lower
)

// BetterOf returns which values of a name that the kind records are better. The name is fct_p99 of kind fct, for
// example. It does not check that the kind records the name.
func (k *Definition) BetterOf(name string) Better {
	if b, ok := k.Also[name]; ok {
		return b
	}
	return k.Better
}

// RecordsName reports whether a kind records values of a name: its own name, names in Also, and its name followed by _.
func (k *Definition) RecordsName(name string) bool {
	_, also := k.Also[name]
	return also || name == k.Name || k.Name != "" && strings.HasPrefix(name, k.Name+"_")
}

// ToleranceFor returns how close simulator and lab have to be for a group of values with this unit; zero if the group
// is not compared. For queues in bytes, a difference in packets becomes bytes of full frames. Group "s1->server p99"
// belongs to Judged "p99".
func (k *Definition) ToleranceFor(unitName, group string) (near Tolerance) {
	if k.Judged != nil && !slices.Contains(k.Judged, group[strings.LastIndexByte(group, ' ')+1:]) {
		return Tolerance{}
	}
	if near = k.Tolerance; k.Queues && unitName == "bytes" {
		near.Difference *= fullFrame
	}
	return near
}

// fullFrame is the frame size in bytes that stands for a packet in queues measured in bytes: Ethernet (IEEE 802.3).
const fullFrame = 1514

// Tolerance defines when two values agree: within a share of the first, or within an absolute difference.
type Tolerance struct{ Share, Difference float64 }

// IsSet reports whether there is a tolerance.
func (t Tolerance) IsSet() bool { return t != Tolerance{} }

// Bounds returns the minimum and the maximum of b − a for values b that agree with a. They are differences, not values
// of b: −high and high.
func (t Tolerance) Bounds(a float64) (low, high float64) {
	high = max(t.Share*math.Abs(a), t.Difference)
	return -high, high
}

// MaxChange returns the largest change of a group's value if a share of the measured time changes. A mean changes by
// that share of itself. A percentile's rank moves by the share: if values are spread evenly from 0, the value changes
// by the share divided by the rank. value and the result are in the measure's unit, and the result is not negative. It
// is +Inf if the share exceeds the rank or the part beyond it.
func (k *Definition) MaxChange(group string, value, share float64) float64 {
	if p, isPercentile := PercentileOf(group); isPercentile {
		rank := p / 100
		if share > min(rank, 1-rank) {
			return math.Inf(1)
		}
		share /= rank
	}
	return share * math.Abs(value)
}

// PercentileOf returns the percentile in a group's name, from 0 to 100: 99 for "s->b p99", 99.9 for "p99_9"; false if
// the group is not a percentile.
func PercentileOf(group string) (p float64, is bool) {
	word, is := strings.CutPrefix(group[strings.LastIndexByte(group, ' ')+1:], "p")
	p, err := strconv.ParseFloat(strings.ReplaceAll(word, "_", "."), 64)
	return p, is && err == nil
}

// Measure is one entry of an experiment's measure list, with its own options.
type Measure interface {
	// ReadOptions reads the entry's options. Errors go to o.
	ReadOptions(o *Options)
	// Label distinguishes the entry from others of its kind: a port, a traffic; "" if there can be only one.
	Label() string
	// ListNeeds returns what a run with that load has to observe for the measure.
	ListNeeds(p *Point, load *outcome.Load) Needs
	// WhyNotInLab returns why the lab cannot measure it at the point, without its name; "" if it can.
	WhyNotInLab(p *Point) string
	// AddValues adds the measure's values for a run.
	AddValues(e *Evaluation)
}

// Plain is a measure without options that needs only the counters of every run, in simulator and lab. Measures embed
// it and override what differs.
type Plain struct{}

// ReadOptions does not read any option.
func (Plain) ReadOptions(*Options) {}

// Label returns "": there is only one entry of the kind.
func (Plain) Label() string { return "" }

// ListNeeds returns the empty value.
func (Plain) ListNeeds(*Point, *outcome.Load) Needs { return Needs{} }

// WhyNotInLab returns "": the lab supports it.
func (Plain) WhyNotInLab(*Point) string { return "" }

// Needs lists what a run has to observe.
type Needs struct {
	Watches       []outcome.Watch
	Onsets        []outcome.Onset
	Delays        bool              // distribution of the delays of data packets
	Tally         bool              // bytes of frames by their content
	Peaks         bool              // largest payload in flight
	Notices       bool              // what happens to notices of switches
	Ordering      bool              // which packets arrive late
	Pauses        bool              // every pause frame
	Usage         bool              // resources that switches use
	ControlPlanes bool              // counters of control planes
	Timelines     []TimelineRequest // timelines of ranks of jobs
}

// excluder is a measure that cannot be listed together with every other one of its kind.
type excluder interface {
	// Excludes returns why it cannot be listed together with other, and what is allowed; "" if it can.
	Excludes(other Measure) (why, allowed string)
}

// checker is a measure that can be checked only once all points are known.
type checker interface {
	// Check returns what is missing at p, and what is allowed; "" if the measure is available.
	Check(p *Point) (why, allowed string)
}

// Entry is a measure of the list, with its kind and its place in the file.
type Entry struct {
	*Definition
	At document.Position
	Measure
	onlyTraffics []string // the traffics that it is limited to; nil: all
}

// List holds the measures of an experiment.
type List []*Entry

// KindNames returns the names of kinds. They are in the given order.
func KindNames(kinds []Definition) (names []string) {
	for i := range kinds {
		names = append(names, kinds[i].Name)
	}
	return names
}

// maxMeasures limits the length of a list: each entry is compared with the others of its kind.
const maxMeasures = 1000

// DecodeList reads the measure list t. Each entry names one of kinds. It returns the valid entries; errors go to r. p
// is the point that options refer to. A list is checked later with all points known (Check).
func DecodeList(r *document.Reader, kinds []Definition, t *document.Node, p *Point) (list List) {
	if t.Kind != document.List {
		r.Fail(t.Position, "[goodput, {queue: {port: s1->server}}]", "measure is not a list")
		return nil
	}
	for _, x := range t.Items {
		place := x.Position
		name, options := r.SplitNamed(x, "measure")
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
			r.FailUnknown(x.Position, "measure", name, KindNames(kinds))
			continue
		}
		before := r.CountErrors()
		if len(kind.Keys) == 0 && len(options.Keys) > 0 {
			r.Fail(options.Keys[0].Position, name+" without options", "%s has no options", name)
			continue
		}
		given, _ := r.ReadMap(options, kind.Table())
		m := &Entry{Definition: kind, At: place, Measure: kind.New()}
		o := &Options{Reader: r, At: x.Position, Node: given, Kind: kind, Point: p}
		m.ReadOptions(o)
		m.onlyTraffics = o.readLimit()
		if r.CountErrors() > before {
			continue
		}
		if len(list) == maxMeasures {
			r.Fail(place, fmt.Sprintf("up to %d", maxMeasures), "the experiment has more than %d measures", maxMeasures)
			break
		}
		for _, other := range list {
			m.checkAgainst(r, other)
		}
		list = append(list, m)
	}
	return list
}

// checkAgainst reports an error if both entries cannot be in one list: they give the same values, or a measure excludes
// the other.
func (m *Entry) checkAgainst(r *document.Reader, other *Entry) {
	if other.Name != m.Name {
		return
	}
	if other.Measure.Label() == m.Measure.Label() {
		if value, twice := m.findOverlap(other); twice {
			allowed := "each measure once"
			if m.onlyTraffics != nil || other.onlyTraffics != nil {
				allowed = "each traffic in one entry"
			}
			r.Fail(m.At, allowed, "the measure %s is given twice", value)
		}
	} else if apart, ok := m.Measure.(excluder); ok {
		if why, allowed := apart.Excludes(other.Measure); why != "" {
			r.Fail(m.At, allowed, "%s", why)
		}
	}
}

// Check reports an error to r for each measure that is not available at any point. p has what all points have together.
func (l List) Check(r *document.Reader, p *Point) {
	for _, m := range l {
		if c, ok := m.Measure.(checker); ok {
			if why, allowed := c.Check(m.limitPoint(p)); why != "" {
				r.Fail(m.At, allowed, "%s", why)
			}
		}
	}
}

// ListNeeds returns the needs of all measures together, and of each measure in the list's order. Watches and onsets of
// all are in the same order.
func (l List) ListNeeds(p *Point, load *outcome.Load) (all Needs, each []Needs) {
	for _, m := range l {
		n := m.ListNeeds(p, load)
		all.Watches = append(all.Watches, n.Watches...)
		all.Onsets = append(all.Onsets, n.Onsets...)
		all.Delays = all.Delays || n.Delays
		all.Tally = all.Tally || n.Tally
		all.Peaks = all.Peaks || n.Peaks
		all.Notices = all.Notices || n.Notices
		all.Ordering = all.Ordering || n.Ordering
		all.Pauses = all.Pauses || n.Pauses
		all.Usage = all.Usage || n.Usage
		all.ControlPlanes = all.ControlPlanes || n.ControlPlanes
		n.Timelines = slices.DeleteFunc(n.Timelines,
			func(x TimelineRequest) bool { return !m.showsTraffic(p.Traffic[load.Jobs[x.Job].Group].Name) })
		all.Timelines = append(all.Timelines, n.Timelines...)
		each = append(each, n)
	}
	return all, each
}

// Observe returns what a run has to observe for the measures, and attaches timelines to the load's jobs. It changes
// load. The caller logs Pause frames if a measure needs them (Needs.Pauses). Observe returns a TooManySamplesError
// error if the run would keep too many samples.
func (l List) Observe(p *Point, load *outcome.Load) (s outcome.Selection, err error) {
	n, _ := l.ListNeeds(p, load)
	s = outcome.Selection{Watches: n.Watches, Onsets: n.Onsets, Delays: n.Delays, Tally: n.Tally, Notices: n.Notices,
		Ordering: n.Ordering, Peaks: n.Peaks, Usage: n.Usage, Steers: n.ControlPlanes}
	if total := CountSamples(p, load, s.Watches); total > maxWatched {
		return s, &TooManySamplesError{total}
	}
	for i := range n.Timelines {
		n.Timelines[i].attachTimeline(load)
	}
	return s, nil
}

// SeriesCounter is a measure that keeps another number of series beyond the run than one for each watch.
type SeriesCounter interface {
	// CountSeries returns the number of series. Each has as many samples as one watch.
	CountSeries(e *Evaluation) int
}

// CountKept returns the number of values of series that are kept beyond the run, in its results.
func (l List) CountKept(p *Point, load *outcome.Load) (total float64) {
	_, each := l.ListNeeds(p, load)
	for i, m := range l {
		all := each[i].Watches
		if x, ok := m.Measure.(SeriesCounter); ok && len(all) > 0 {
			total += float64(x.CountSeries(&Evaluation{Point: p, Load: load, list: l})) *
				float64(all[0].Samples(p.Warmup, p.Warmup+p.Duration))
			continue
		}
		for k := range all {
			total += p.countSamples(&all[k], load)
		}
	}
	return total
}

// CountSamples returns the number of values that a run of the load keeps in memory for the watches.
func CountSamples(p *Point, load *outcome.Load, watches []outcome.Watch) (total float64) {
	for i := range watches {
		total += p.countSamples(&watches[i], load)
	}
	return total
}

// countSamples returns the number of values that watch w yields. If a trial drew only some of the flows, it includes
// the watches of the others.
func (p *Point) countSamples(w *outcome.Watch, load *outcome.Load) float64 {
	n := float64(w.Samples(p.Warmup, p.Warmup+p.Duration))
	// Only ReceivedBytes are watched on each flow. Other watches cover a fixed number of flows.
	if p.Scale != nil && w.What == outcome.ReceivedBytes {
		n *= p.Scale[load.Flows[w.Index].Group]
	}
	return n
}

// TooManySamplesError is the error of measures that would keep too many samples in a run.
type TooManySamplesError struct{ samples float64 }

// Error returns the number of samples, the limit and the remedies.
func (e *TooManySamplesError) Error() string {
	return "the measures would record " + FormatSI(e.samples) + " samples in a run; at most " + FormatSI(maxWatched) +
		" fit into memory: use a longer every, or measure fewer ports or flows"
}

// Evaluate returns the values of a run's result. res must come from a run that observed what Observe returned. On an
// ideal network, measures of packets are NaN. Flows is set for every run.
func (l List) Evaluate(p *Point, load *outcome.Load, res *outcome.Result) (v Values) {
	all, each := l.ListNeeds(p, load)
	if load.Ideal != nil {
		res = withoutPackets(p, load, &all, res)
	}
	e := &Evaluation{Point: p, Load: load, Result: res, Values: &v, seconds: res.Measured.Seconds(), list: l}
	samples, onsets := res.Watched, res.Onsets
	for i, m := range l {
		n, k := len(each[i].Watches), len(each[i].Onsets)
		e.Samples, samples = samples[:n], samples[n:]
		e.Onsets, onsets = onsets[:k], onsets[k:]
		first := len(v.Measures)
		m.addShownValues(e)
		if !m.Ideal && load.Ideal != nil {
			setUndefined(v.Measures[first:])
		}
	}
	v.Flows = e.makeFlowTable()
	return v
}

// withoutPackets returns the result of a run on an ideal network, with empty counters of packets. It does not change
// res.
func withoutPackets(p *Point, load *outcome.Load, n *Needs, res *outcome.Result) *outcome.Result {
	result, none := *res, emptyResult(p, load, n)
	result.Flows, result.Ports, result.Watched, result.Delays = none.Flows, none.Ports, none.Watched, none.Delays
	result.Onsets, result.Reordering, result.Peaks = none.Onsets, none.Reordering, none.Peaks
	return &result
}

// setUndefined sets all values to NaN.
func setUndefined(measures []Measured) {
	for i := range measures {
		measures[i].Value = math.NaN()
		for k := range measures[i].Groups {
			measures[i].Groups[k].Value = math.NaN()
		}
	}
}

// ListNames returns the names and units of the values of runs with a load. It evaluates an empty result, so numbers in
// it have no meaning.
func (l List) ListNames(p *Point, load *outcome.Load) Values {
	n, _ := l.ListNeeds(p, load)
	res := emptyResult(p, load, &n)
	for i := range load.Jobs {
		res.Jobs, res.JobGroups = append(res.Jobs, job.Outcome{}), append(res.JobGroups, load.Jobs[i].Group)
		res.Times = append(res.Times, unit.Histogram{})
	}
	return l.Evaluate(p, load, res)
}

// emptyResult returns a result in which no packet was ever sent, with a place for each flow, port, watch and onset.
func emptyResult(p *Point, load *outcome.Load, n *Needs) *outcome.Result {
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
