package experiment

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"weir/core/scheme"
	"weir/internal/document"
)

// Parameter is one value that determines the experiment, with its origin.
type Parameter struct {
	Path   string `json:"path"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// Parameters lists all values of the resolved spec in its order, then defaults that differ by point. If the spec is
// resolved, values that still have their original value have their original source.
func (s *Spec) Parameters() []Parameter {
	out := s.addDefaults(listParameters(s.root))
	for i := range out {
		if was, ok := s.origins[out[i].Path]; ok && was.Value == out[i].Value {
			out[i].Source = was.Source
		}
	}
	return out
}

// listParameters lists the values of a tree, except of keys that do not affect results. A list of plain values is one
// parameter.
func listParameters(root *document.Node) []Parameter {
	var out []Parameter
	var walk func(path string, t *document.Node, inherited string)
	walk = func(path string, t *document.Node, inherited string) {
		from := inherited
		if t.From != "" {
			from = t.From
		}
		switch t.Kind {
		case document.Mapping:
			for _, k := range t.Keys {
				p := k.Name
				if path != "" {
					p = path + "." + k.Name
				}
				if k.Value.Kind == document.Mapping && len(k.Value.Keys) == 0 { // a scheme without parameters
					if f := k.Value.From; f != "" {
						from = f
					}
					if len(t.Keys) == 1 {
						out = append(out, Parameter{path, k.Name, sourceOf(k.Value, from)})
					} else {
						out = append(out, Parameter{p, "{}", sourceOf(k.Value, from)})
					}
					continue
				}
				walk(p, k.Value, from)
			}
		case document.List:
			plain := true
			for _, x := range t.Items {
				plain = plain && x.Kind == document.Scalar
			}
			if plain {
				out = append(out, Parameter{path, t.FormatFlow(), sourceOf(t, from)})
				return
			}
			for i, x := range t.Items {
				name := strconv.Itoa(i)
				if n := traffic.ViewMap(x).Get("name"); n != nil {
					name = n.Text
				}
				walk(path+"."+name, x, from)
			}
		default:
			out = append(out, Parameter{path, t.Text, sourceOf(t, from)})
		}
	}
	for _, k := range root.Keys {
		if !top.HasTrait(k.Name, unlisted) {
			walk(k.Name, k.Value, "")
		}
	}
	return out
}

// addDefaults adds the defaults of schemes that a $key names. They differ from point to point, so they have no place
// in the file's tree. Defaults in a sweep's block are listed already.
func (s *Spec) addDefaults(out []Parameter) []Parameter {
	listed := map[string]bool{}
	for _, p := range out {
		listed[p.Path] = true
	}
	for _, p := range s.points {
		for _, x := range p.defaults {
			there := listed[x.Path]
			for _, c := range p.coordinates {
				there = there || listed["sweep."+c.Key+"."+c.Text+"."+x.Path]
			}
			if !there {
				listed[x.Path] = true
				out = append(out, x)
			}
		}
	}
	return out
}

// sourceOf returns where a value comes from: origin, or if that is "", its file and line.
func sourceOf(t *document.Node, origin string) string {
	if origin != "" {
		return origin
	}
	return fmt.Sprintf("%s:%d", filepath.Base(t.File), t.Line) // results do not contain names of the machine's folders
}

// Meaning explains a value of the sweep.
type Meaning struct{ Key, Value, Text string }

// Meanings returns explanations of the values of the sweep that are names: the keys that a block sets, and
// descriptions of schemes that it or the value itself names. Plain quantities are not explained.
func (s *Spec) Meanings() (all []Meaning) {
	for k, dim := range s.sweep {
		for i, v := range dim.Values {
			m := Meaning{Key: dim.Key, Value: v.Text}
			if block := s.valueOrigins[k].blocks[i]; block != nil {
				m.Text = s.explainBlock(block)
			} else if !v.IsNum {
				m.Text = s.registry.schemeDoc(v.Text)
			}
			if m.Text != "" {
				all = append(all, m)
			}
		}
	}
	return all
}

// explainBlock returns the keys that a block of the sweep sets, with the schemes that it names: "switch: forward, abc
// (activity-based congestion management)". Long parameters are omitted.
func (s *Spec) explainBlock(block *document.Node) string {
	var parts []string
	for _, k := range block.Keys {
		var words []string
		values := []*document.Node{k.Value}
		if k.Value.Kind == document.List {
			values = k.Value.Items
		}
		for _, v := range values {
			words = append(words, s.explainValue(v, k.Name != "switch" || len(values) == 1))
		}
		parts = append(parts, k.Name+": "+strings.Join(words, ", "))
	}
	return strings.Join(parts, "; ")
}

// maxParameterText limits the length of a scheme's parameters in an explanation.
const maxParameterText = 50

// explainValue returns the text of a block's value: a scheme's name with its description, or the value. Plain
// forwarding is explained only with only, which marks a switch's only program.
func (s *Spec) explainValue(v *document.Node, only bool) string {
	name, shown := v.Text, v.Text
	if v.Kind == document.Mapping && len(v.Keys) == 1 {
		name = v.Keys[0].Name
		switch parameters := v.Keys[0].Value.FormatFlow(); {
		case parameters == "{}":
			shown = name
		case len(parameters) > maxParameterText:
			shown = name + " {…}"
		default:
			shown = name + " " + parameters
		}
	}
	doc := s.registry.schemeDoc(name)
	switch {
	case doc != "" && (only || name != "forward"):
		return shown + " (" + doc + ")"
	case doc != "":
		return shown
	}
	return document.ShortenName(v.FormatFlow())
}

// schemeDoc returns the description of a scheme; "" if it is unknown, or several schemes of the name differ.
func (r *Registry) schemeDoc(name string) string {
	var docs []string
	add := func(x *scheme.Scheme) {
		if x.Name == name && name != "" && !slices.Contains(docs, x.Doc) {
			docs = append(docs, x.Doc)
		}
	}
	for i := range r.Programs {
		add(&r.Programs[i].Scheme)
	}
	for i := range r.Controllers {
		add(&r.Controllers[i].Scheme)
	}
	for i := range r.Schedulers {
		add(&r.Schedulers[i].Scheme)
	}
	for i := range r.Transports {
		add(&r.Transports[i].Scheme)
	}
	if len(docs) != 1 {
		return ""
	}
	return docs[0]
}
