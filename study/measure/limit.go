package measure

import (
	"path"
	"slices"

	"weir/internal/document"
)

// limitTrait marks the key that selects the traffics for which a measure gives values.
const limitTrait document.Trait = 1

// limitKey returns the key `traffic`, which limits a measure to some traffics.
func limitKey() Key {
	name := document.Value("name or pattern")
	return Key{Name: "traffic", Form: document.AnyOf("name, pattern, or list of them", name, document.ListOf(name, "")),
		Doc: "traffics to measure", Without: "each", Traits: limitTrait}
}

// LimitKey returns the key `traffic` of Weir's own measures, for kinds that give values by traffic. The values,
// distributions and tables of other traffics are left out.
func LimitKey() Key { return limitKey() }

// readLimit returns the names of the traffics that the entry is limited to; nil if it has no limit. It reports an error
// for names and patterns that match no traffic.
func (o *Options) readLimit() (only []string) {
	key := slices.IndexFunc(o.Kind.Keys, func(k Key) bool { return k.Traits&limitTrait != 0 })
	if key < 0 || o.Node.Get(o.Kind.Keys[key].Name) == nil {
		return nil
	}
	t := o.Node.Get(o.Kind.Keys[key].Name)
	grouped := slices.ContainsFunc(o.Kind.Keys, func(k Key) bool { return k.Name == "by" })
	if grouped && o.Node.Get("by") != nil && o.Node.Get("by").Text == "all" {
		o.Fail(t.Position, "by: traffic", "traffic is given, but %s by: all has a single value for all traffics", o.Kind.Name)
		return nil
	}
	items := []*document.Node{t}
	if t.Kind == document.List {
		if items = t.Items; len(items) == 0 {
			o.Fail(t.Position, "at least one traffic", "traffic is an empty list")
		}
	}
	var names []string
	for i := range o.Point.Traffic {
		names = append(names, o.Point.Traffic[i].Name)
	}
	for _, x := range items {
		pattern, found := o.ReadText(x), false
		for _, name := range names {
			if ok, err := path.Match(pattern, name); name != pattern && (err != nil || !ok) {
				continue
			}
			if found = true; !slices.Contains(only, name) {
				only = append(only, name)
			}
		}
		if !found && x.Kind == document.Scalar && !o.Point.Partial {
			o.FailUnknown(x.Position, "traffic", pattern, append(slices.Clone(names), "*"))
		}
	}
	return only
}

// findOverlap reports whether two entries of a kind give the same value, and names the first such value for messages.
// Their labels must be equal.
func (m *Entry) findOverlap(other *Entry) (value string, twice bool) {
	if m.onlyTraffics == nil || other.onlyTraffics == nil {
		return m.Name, true
	}
	for _, t := range m.onlyTraffics {
		if other.showsTraffic(t) {
			return m.Name + " of " + t, true
		}
	}
	return "", false
}

// showsTraffic reports whether the entry gives values for a traffic.
func (m *Entry) showsTraffic(traffic string) bool {
	return m.onlyTraffics == nil || slices.Contains(m.onlyTraffics, traffic)
}

// limitPoint returns the point with only the traffics that the entry is limited to. It returns p itself without a
// limit, otherwise a copy.
func (m *Entry) limitPoint(p *Point) *Point {
	if m.onlyTraffics == nil {
		return p
	}
	q := *p
	q.Traffic = nil
	for _, t := range p.Traffic {
		if m.showsTraffic(t.Name) {
			q.Traffic = append(q.Traffic, t)
		}
	}
	return &q
}

// addShownValues adds the entry's values, leaving out traffics that it does not show. The measure still sees the whole
// run, so that a traffic's share is its share among all traffics.
func (m *Entry) addShownValues(e *Evaluation) {
	if m.onlyTraffics == nil {
		m.Measure.AddValues(e)
		return
	}
	if x, ok := m.Measure.(hostGrouper); ok && x.isByGroup() {
		e.onlyTraffics = m.onlyTraffics
		m.Measure.AddValues(e)
		e.onlyTraffics = nil
		return
	}
	whole := e.Values
	var shown Values
	e.Values = &shown
	m.Measure.AddValues(e)
	e.Values = whole
	for _, x := range shown.Measures {
		if x.Groups != nil {
			x.Groups = slices.DeleteFunc(x.Groups, func(g GroupValue) bool { return !m.showsTraffic(g.Group) })
		}
		e.Add(x)
	}
	for _, b := range shown.Bins {
		if m.showsTraffic(b.Traffic) {
			whole.Bins = append(whole.Bins, b)
		}
	}
	for _, s := range shown.Series {
		if s.Group == "" || m.showsTraffic(s.Group) {
			whole.Series = append(whole.Series, s)
		}
	}
	for _, d := range shown.Distributions {
		if m.showsTraffic(d.Group) {
			whole.Distributions = append(whole.Distributions, d)
		}
	}
	whole.Histograms = append(whole.Histograms, shown.Histograms...)
	for _, x := range shown.Timelines {
		if m.showsTraffic(x.Traffic) {
			whole.Timelines = append(whole.Timelines, x)
		}
	}
}
