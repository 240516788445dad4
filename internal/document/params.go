package document

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir/core/scheme"
)

// DecodeConfig decodes the parameters of scheme s from a map, except the keys in skip, which other readers decode. It
// fills defaults into the map, marks it for SortKeys, and records parameters for IdleWarnings. Errors are noted in the
// reader. A parameter with an error keeps its default; the caller must not build the scheme then.
func (r *Reader) DecodeConfig(s *scheme.Scheme, t *Node, skip []string) scheme.Config {
	config := s.NewConfig()
	params := scheme.Bind(config)
	names := make([]string, 0, len(params.List())+len(skip))
	for _, p := range params.List() {
		names = append(names, p.Name)
	}
	names = append(names, skip...)
	what := s.Name + " parameter"
	for _, k := range t.Keys {
		if !slices.Contains(names, k.Name) {
			r.FailUnknown(k.Position, what, k.Name, names)
		}
	}
	t.declared = true
	before, missing := len(r.errors), false
	for _, p := range params.List() {
		switch v := t.Find(p.Name); {
		case v != nil:
			r.setParam(s, p, v)
		case p.Required:
			missing = true
			doc, _, _ := strings.Cut(p.Doc, ";")
			r.FailMissing(t, p.Name, what, names, p.Name+", "+p.DescribeForm(), "%s needs the parameter %q (%s)", s.Name,
				p.Name, doc)
		case p.Kind != scheme.Map:
			t.fill(p.Name, p.Default, p.Source)
		}
	}
	if missing || len(r.errors) > before { // do not check combinations of incomplete parameters
		return config
	}
	for _, err := range params.CheckValues() {
		r.failParam(s, t, err)
	}
	if len(r.errors) == before {
		r.noteUses(s, params, t)
	}
	return config
}

// paramUse is a conditional parameter that a file gives.
type paramUse struct {
	at   Position
	name string
}

// noteUses records which conditional parameters of the file have an effect. A parameter that is read for several runs
// needs an effect in one of them.
func (r *Reader) noteUses(s *scheme.Scheme, params *scheme.Params, t *Node) {
	for _, p := range params.List() {
		if p.IsDefault() || !p.IsConditional() {
			continue
		}
		u := paramUse{t.Position, p.Name}
		if v := t.Find(p.Name); v != nil {
			u.at = v.Position
		}
		if _, known := r.idle[u]; !known {
			r.used = append(r.used, u)
			if r.idle == nil {
				r.idle = map[paramUse]string{}
			}
		} else if r.idle[u] == "" {
			continue
		}
		r.idle[u] = ""
		if condition := p.FindIdle(); condition != "" {
			r.idle[u] = fmt.Sprintf("%s of %s has no effect; it acts only with %s", p.Name, s.Name, condition)
		}
	}
}

// IdleWarnings returns a warning for each parameter of the file that has no effect in any run.
func (r *Reader) IdleWarnings() (all []Warning) {
	for _, u := range r.used {
		if text := r.idle[u]; text != "" {
			all = append(all, Warn(warnIdle, u.at, "%s", text))
		}
	}
	return all
}

// setParam sets a parameter to the value of the file, or notes an error. Entries of a map replace the default entries.
func (r *Reader) setParam(s *scheme.Scheme, p *scheme.Param, t *Node) {
	switch {
	case p.Kind == scheme.Map && t.Kind == Mapping:
		p.ClearMap()
		for _, k := range t.Keys {
			if err := p.CheckKey(k.Name); err != nil {
				r.failParam(s, &Node{Position: k.Position}, err)
			} else if k.Value.Kind != Scalar {
				r.Fail(k.Value.Position, p.DescribeForm(), "%s of %s is %v", p.Name, s.Name, k.Value.Kind)
			} else if err := p.AddEntry(k.Name, k.Value.Text); err != nil {
				r.failParam(s, k.Value, err)
			}
		}
	case p.Kind == scheme.Map:
		r.Fail(t.Position, "a map", "%s of %s is %v", p.Name, s.Name, t.Kind)
	case t.Kind != Scalar:
		r.Fail(t.Position, p.DescribeForm(), "%s of %s is %v", p.Name, s.Name, t.Kind)
	default:
		if err := p.Set(t.Text); err != nil {
			r.failParam(s, t, err)
		}
	}
}

// failParam notes an error of a parameter at the position of its value, or of the map if it has no value.
func (r *Reader) failParam(s *scheme.Scheme, t *Node, err error) {
	var e *scheme.Error
	if !errors.As(err, &e) {
		r.Fail(t.Position, "", "%v", err)
		return
	}
	at := t.Position
	if v := t.Find(e.Param); v != nil {
		at = v.Position
	}
	if len(e.Words) > 0 {
		r.FailUnknown(at, s.Name+" "+e.Param, e.Text, e.Words)
		return
	}
	r.Fail(at, e.Allowed, "%s", e.TextWithScheme(s.Name))
}
