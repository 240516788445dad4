package document

import (
	"errors"
	"slices"

	"weir/core/scheme"
	"weir/core/unit"
)

// Configuration decodes a scheme's parameters from a map, except the keys in skip, which belong to others.
// Defaults are filled into the map. A parameter with an error stays at its default, and nothing should be
// built then.
func (r *Reader) Configuration(s *scheme.Scheme, t *Node, skip []string) scheme.Config {
	config := s.Default()
	params := scheme.Bind(config)
	names := skip
	for i, p := range params.List() {
		names = slices.Insert(slices.Clip(names), i, p.Name)
	}
	what := "parameter of " + s.Name
	for _, k := range t.Keys {
		if !slices.Contains(names, k.Name) {
			r.Unknown(k.Place, what, k.Name, names)
		}
	}
	before, missing := len(r.errors), false
	for _, p := range params.List() {
		switch v := t.Get(p.Name); {
		case v != nil:
			r.set(s, p, v)
		case p.Required:
			missing = true
			r.Missing(t, p.Name, what, names, p.Name+": "+p.Form()+", "+p.Doc, "%s needs the parameter %q", s.Name, p.Name)
		case p.Kind != scheme.Map:
			t.fill(p.Name, p.Default, p.Source)
		}
	}
	if missing || len(r.errors) > before { // parameters that are not set need not go together
		return config
	}
	for _, err := range params.Check() {
		r.wrong(s, t, err)
	}
	return config
}

// set gives a parameter the value that the file has.
func (r *Reader) set(s *scheme.Scheme, p *scheme.Param, t *Node) {
	switch {
	case p.Kind == scheme.Map && t.Kind == Mapping:
		p.Clear()
		for _, k := range t.Keys {
			if err := p.Key(k.Name); err != nil {
				r.wrong(s, &Node{Place: k.Place}, err)
			} else if k.Value.Kind != Scalar {
				r.Fail(k.Value.Place, p.Form(), "%s of %s is %v", p.Name, s.Name, k.Value.Kind)
			} else if err := p.Put(k.Name, k.Value.Text); err != nil {
				r.wrong(s, k.Value, err)
			}
		}
	case p.Kind == scheme.Map:
		r.Fail(t.Place, "a map", "%s of %s is %v", p.Name, s.Name, t.Kind)
	case t.Kind != Scalar:
		r.Fail(t.Place, p.Form(), "%s of %s is %v", p.Name, s.Name, t.Kind)
	default:
		if err := p.Set(t.Text); err != nil {
			r.wrong(s, t, err)
		}
	}
}

// wrong records an error of a parameter: at its place in a map of parameters, or at the place of its
// value.
func (r *Reader) wrong(s *scheme.Scheme, t *Node, err error) {
	var e *scheme.Error
	if !errors.As(err, &e) {
		r.Fail(t.Place, "", "%v", err)
		return
	}
	at := t.Place
	if v := t.Get(e.Param); v != nil {
		at = v.Place
	}
	if len(e.Words) > 0 {
		r.Unknown(at, e.Param+" of "+s.Name, e.Text, e.Words)
		return
	}
	r.Fail(at, e.Allowed, "%s", e.Of(s.Name))
}

// SchemeValues decodes the parameters of a scheme from a map, except the keys in skip, which belong to
// others.
func (r *Reader) SchemeValues(s *scheme.Scheme, t *Node, skip []string) scheme.Values {
	values := map[string]any{}
	var names []string
	for _, p := range s.Params {
		names = append(names, p.Name)
	}
	for _, k := range t.Keys {
		if !slices.Contains(names, k.Name) && !slices.Contains(skip, k.Name) {
			r.Unknown(k.Place, "parameter of "+s.Name, k.Name, append(append([]string{}, names...), skip...))
		}
	}
	for i := range s.Params {
		p := &s.Params[i]
		v := t.Get(p.Name)
		if v == nil {
			if p.Required {
				r.Missing(t, p.Name, "parameter of "+s.Name, append(append([]string{}, names...), skip...), p.Name+": "+
					Kinds[p.Kind]+", "+p.Doc, "%s needs the parameter %q", s.Name, p.Name)
				values[p.Name] = zero(p)
				continue
			}
			if p.Kind == scheme.Map && p.Default == "" {
				values[p.Name] = []scheme.Entry(nil)
				continue
			}
			v = t.fill(p.Name, p.Default, p.Source)
		}
		values[p.Name] = r.param(s, p, v)
	}
	return scheme.NewValues(s.Name, values)
}

// zero is a parameter's value where the file has none, or a wrong one: the run is
// not carried out then.
func zero(p *scheme.Param) any {
	switch p.Kind {
	case scheme.Int, scheme.Packets:
		return 0
	case scheme.Float, scheme.Share:
		return 0.0
	case scheme.Bool:
		return false
	case scheme.Duration:
		return unit.Time(0)
	case scheme.Rate:
		return unit.Rate(0)
	case scheme.LinkRate:
		return unit.LinkRate{}
	case scheme.Size:
		return unit.Bytes(0)
	case scheme.Length:
		return unit.Length{}
	case scheme.Map:
		return []scheme.Entry(nil)
	}
	return ""
}

// Kinds says what a file may write for each kind.
var Kinds = map[scheme.Kind]string{
	scheme.Int: "a whole number", scheme.Float: "a number", scheme.Bool: "true, false",
	scheme.Duration: "a time such as 5ms",
	scheme.Rate:     "a rate such as 10kbps", scheme.Share: "a share such as 85%", scheme.Size: "a size such as 32MB",
	scheme.Packets: "a number of packets such as 24 packets", scheme.Length: "a length such as 24 packets or 36kB",
	scheme.LinkRate: "a rate such as 100Mbps or 4170pps", scheme.Map: "a map", scheme.Text: "a word",
}

// param decodes one parameter and checks its bounds.
func (r *Reader) param(s *scheme.Scheme, p *scheme.Param, t *Node) any {
	if p.Kind == scheme.Map {
		if t.Kind != Mapping {
			r.Fail(t.Place, Kinds[p.Kind], "%s of %s is %v", p.Name, s.Name, t.Kind)
			return zero(p)
		}
		one := *p
		one.Kind = p.Of
		var entries []scheme.Entry
		for _, k := range t.Keys {
			entries = append(entries, scheme.Entry{Key: k.Name, Value: r.param(s, &one, k.Value)})
		}
		return entries
	}
	if t.Kind != Scalar {
		r.Fail(t.Place, Kinds[p.Kind], "%s of %s is %v", p.Name, s.Name, t.Kind)
		return zero(p)
	}
	v, err := scheme.Parse(p.Kind, t.Text)
	if err != nil {
		r.Fail(t.Place, Kinds[p.Kind], "%s of %s: %v", p.Name, s.Name, err)
		return zero(p)
	}
	if p.Kind == scheme.Text && len(p.Words) > 0 && !slices.Contains(p.Words, t.Text) {
		r.Unknown(t.Place, p.Name+" of "+s.Name, t.Text, p.Words)
	}
	for _, bound := range []struct {
		text string
		sign float64
		word string
	}{{p.Min, 1, "at least"}, {p.Max, -1, "at most"}} {
		if bound.text == "" {
			continue
		}
		b, err := scheme.Parse(p.Kind, bound.text)
		if err == nil && (scale(v)-scale(b))*bound.sign < 0 {
			r.Fail(t.Place, bound.word+" "+bound.text, "%s of %s is %s", p.Name, s.Name, t.Text)
			return zero(p)
		}
	}
	return v
}

// scale orders values of one kind.
func scale(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	case unit.Time:
		return float64(v)
	case unit.Rate:
		return float64(v)
	case unit.LinkRate:
		return float64(v.Bits) + float64(v.Packets)
	case unit.Bytes:
		return float64(v)
	case unit.Length:
		return float64(v.Packets) + float64(v.Bytes)
	}
	return 0
}
