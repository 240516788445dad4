package experiment

import (
	"slices"
	"strings"

	"weir/core/scheme"
	"weir/internal/document"
)

// Meaning explains what a value of the sweep stands for.
type Meaning struct{ Key, Value, Text string }

// Meanings explain the values of the sweep that are names: what a block sets, and what the schemes are that it or the
// value itself names. Plain quantities explain themselves.
func (s *Spec) Meanings() (all []Meaning) {
	for k, dim := range s.sweep {
		for i, v := range dim.Values {
			m := Meaning{Key: dim.Key, Value: v.Text}
			if block := s.given[k].blocks[i]; block != nil {
				m.Text = s.explained(block)
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

// explained lists what a block of the sweep sets, with the schemes that it names: "switch: forward, abc (activity-based
// congestion management)". Many parameters are left to the file.
func (s *Spec) explained(block *document.Node) string {
	var parts []string
	for _, k := range block.Keys {
		var words []string
		values := []*document.Node{k.Value}
		if k.Value.Kind == document.List {
			values = k.Value.Items
		}
		for _, v := range values {
			words = append(words, s.word(v, k.Name != "switch" || len(values) == 1))
		}
		parts = append(parts, k.Name+": "+strings.Join(words, ", "))
	}
	return strings.Join(parts, "; ")
}

// mostParameters is the longest text of a scheme's parameters that an explanation has.
const mostParameters = 50

// word is a value of a block: a scheme by its name, with what it is. Plain forwarding is explained only where a switch
// does nothing else.
func (s *Spec) word(v *document.Node, only bool) string {
	name, shown := v.Text, v.Text
	if v.Kind == document.Mapping && len(v.Keys) == 1 {
		name = v.Keys[0].Name
		switch parameters := v.Keys[0].Value.Flow(); {
		case parameters == "{}":
			shown = name
		case len(parameters) > mostParameters:
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
	return document.Shorten(v.Flow())
}

// schemeDoc is what a scheme of that name is; "" if it is unknown, or several differ.
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
