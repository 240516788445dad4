package measure

import (
	"path"
	"slices"

	"weir/internal/document"
)

// limits is the trait of a key that names the traffics of which a measure gives values.
const limits document.Trait = 1

// limit is the key that limits a measure whose groups are traffics to some of them.
func limit() Key {
	name := document.Value("name or pattern")
	return Key{Name: "traffic", Form: document.AnyOf("name, pattern, or list of them", name, document.ListOf(name, "")),
		Doc: "of which it is", Without: "each", Traits: limits}
}

// LimitKey is the option traffic of Weir's own measures, for kinds whose groups are traffics: values, distributions and
// tables of other traffics are left out.
func LimitKey() Key { return limit() }

// limit reads the traffics that the entry is limited to; nil: it is not.
func (o *Options) limit() (only []string) {
	key := slices.IndexFunc(o.Kind.Keys, func(k Key) bool { return k.Traits&limits != 0 })
	if key < 0 || o.Node.Get(o.Kind.Keys[key].Name) == nil {
		return nil
	}
	t := o.Node.Get(o.Kind.Keys[key].Name)
	grouped := slices.ContainsFunc(o.Kind.Keys, func(k Key) bool { return k.Name == "by" })
	if grouped && o.Node.Get("by") != nil && o.Node.Get("by").Text == "all" {
		o.Fail(t.Position, "by: traffic", "%s by all has no traffics to choose from", o.Kind.Name)
		return nil
	}
	items := []*document.Node{t}
	if t.Kind == document.List {
		if items = t.Items; len(items) == 0 {
			o.Fail(t.Position, "at least one traffic", "the list of traffics is empty")
		}
	}
	var names []string
	for i := range o.Point.Traffic {
		names = append(names, o.Point.Traffic[i].Name)
	}
	for _, x := range items {
		pattern, found := o.Text(x), false
		for _, name := range names {
			if ok, err := path.Match(pattern, name); name != pattern && (err != nil || !ok) {
				continue
			}
			if found = true; !slices.Contains(only, name) {
				only = append(only, name)
			}
		}
		if !found && x.Kind == document.Scalar && !o.Point.Partial {
			o.Unknown(x.Position, "traffic", pattern, append(slices.Clone(names), "*"))
		}
	}
	return only
}

// overlaps says what two entries of a kind both give.
func (m *Entry) overlaps(other *Entry) (of string, twice bool) {
	if m.only == nil || other.only == nil {
		return m.Name, true
	}
	for _, t := range m.only {
		if other.shows(t) {
			return m.Name + " of " + t, true
		}
	}
	return "", false
}

// shows reports whether the entry gives values of a traffic.
func (m *Entry) shows(traffic string) bool { return m.only == nil || slices.Contains(m.only, traffic) }

// limited is the point with only the traffics that the entry is limited to.
func (m *Entry) limited(p *Point) *Point {
	if m.only == nil {
		return p
	}
	q := *p
	q.Traffic = nil
	for _, t := range p.Traffic {
		if m.shows(t.Name) {
			q.Traffic = append(q.Traffic, t)
		}
	}
	return &q
}

// evaluate adds the entry's values, without those of traffics that it does not show. What it knows of is the whole run:
// a share of all is that of one traffic among all.
func (m *Entry) evaluate(e *Evaluation) {
	if m.only == nil {
		m.Measure.Evaluate(e)
		return
	}
	if x, ok := m.Measure.(ofGroups); ok && x.ofGroups() {
		e.only = m.only
		m.Measure.Evaluate(e)
		e.only = nil
		return
	}
	whole := e.Values
	var own Values
	e.Values = &own
	m.Measure.Evaluate(e)
	e.Values = whole
	for _, x := range own.Measures {
		if x.Groups != nil {
			x.Groups = slices.DeleteFunc(x.Groups, func(g Grouped) bool { return !m.shows(g.Group) })
		}
		e.Add(x)
	}
	for _, b := range own.Bins {
		if m.shows(b.Traffic) {
			whole.Bins = append(whole.Bins, b)
		}
	}
	for _, s := range own.Series {
		if s.Group == "" || m.shows(s.Group) {
			whole.Series = append(whole.Series, s)
		}
	}
	for _, d := range own.Distributions {
		if m.shows(d.Group) {
			whole.Distributions = append(whole.Distributions, d)
		}
	}
	whole.Histograms = append(whole.Histograms, own.Histograms...)
	for _, x := range own.Timelines {
		if m.shows(x.Traffic) {
			whole.Timelines = append(whole.Timelines, x)
		}
	}
}
