package experiment

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/document"
)

// Options change a spec before it is decoded.
type Options struct {
	// key=value; dotted keys reach into maps; a sweep key is fixed to one value; rates=/N and times=xN change all
	Set   []string
	Seed  *uint64
	Quick bool
	// Resolved: the file is the spec.yaml of a results folder, of which options may have
	// left a part of the sweep; a claim may mean no point of it.
	Resolved bool
	Machine  float64 // bytes of memory of the machine that a run must fit into; 0: those of a usual one
	Origin   *Origin // of a resolved file: what it was made of; nil if that is not known

	limits *pointLimits // nil: usualLimits; tests have smaller ones
}

// pointLimits returns the limits of the points of a sweep.
func (o *Options) pointLimits() pointLimits {
	if o.limits == nil {
		return usualLimits
	}
	return *o.limits
}

// Origin says of what file and options a resolved spec was made: whether it is the quick variant,
// and where its values come from.
type Origin struct {
	Quick      bool
	Parameters []Parameter
}

// applyQuick puts the quick block's values into the spec. What it takes away from
// a sweep, the spec keeps in full.
func (s *Spec) applyQuick(c *document.Reader) {
	q := top.Of(s.root).Get("quick")
	if q == nil {
		return
	}
	if q.Kind != document.Mapping {
		c.Fail(q.Place, "{repeat: 1, …}", "quick is a map")
		return
	}
	sweep := top.Of(s.root).Get("sweep")
	allowed := append(top.Names(byQuick), sweepKeys(s.root)...)
	for _, k := range top.Of(s.root).Entries("quick") {
		if !slices.Contains(allowed, k.Name) {
			c.Unknown(k.Place, "quick's key", k.Name, allowed)
			continue
		}
		if s.quick {
			s.put(c, k.Name, k.Value, "quick")
		} else if v := sweep.Find(k.Name); v != nil {
			s.subset(c, document.Copy(v), k.Value) // checked, not used
		}
	}
}

// put sets a top-level key or narrows a sweep key.
func (s *Spec) put(c *document.Reader, name string, value *document.Node, from string) {
	v := document.Copy(value)
	v.Orig, v.From = nil, from
	if sweep := top.Of(s.root).Get("sweep"); sweep.Find(name) != nil {
		if narrowed := s.subset(c, sweep.Find(name), v); narrowed != nil {
			narrowed.From = from
			sweep.Set(name, narrowed)
		}
		return
	}
	s.root.Set(name, v)
}

// subset returns the sweep values that value asks for: of a map those named, of a
// list any values (they need not have been there).
func (s *Spec) subset(c *document.Reader, sweep, value *document.Node) *document.Node {
	wanted := []*document.Node{value}
	if value.Kind == document.List {
		wanted = value.Items
	}
	out := &document.Node{Place: value.Place, Kind: sweep.Kind}
	for _, w := range wanted {
		if w.Kind != document.Scalar {
			c.Fail(w.Place, "", "a value of the sweep is expected, not %v", w.Kind)
			return nil
		}
		if sweep.Kind != document.Mapping {
			out.Items = append(out.Items, w)
			continue
		}
		v := sweep.Find(w.Text)
		if v == nil {
			var names []string
			for _, k := range sweep.Keys {
				names = append(names, k.Name)
			}
			c.Unknown(w.Place, "the sweep's value", w.Text, names)
			return nil
		}
		out.Set(w.Text, v)
	}
	return out
}

// applySet carries out --set key=value.
func (s *Spec) applySet(c *document.Reader) {
	for _, a := range s.set {
		here := document.Place{File: "--set " + a, Line: 1, Column: 1}
		key, text, ok := strings.Cut(a, "=")
		if !ok || key == "" || text == "" {
			c.Fail(here, "key=value", "this sets nothing")
			continue
		}
		if !c.Printable(here, key) {
			continue
		}
		v := document.Parse(c, here.File, []byte(text))
		if v == nil {
			continue
		}
		if slices.Contains(append(top.Names(), sweepKeys(s.root)...), key) {
			s.put(c, key, v, "--set")
			continue
		}
		if s.scale(c, here, key, text) {
			continue
		}
		v.From = "--set"
		at := s.root
		parts := strings.Split(key, ".")
		for i, p := range parts {
			if at.Kind == document.List {
				n, err := strconv.Atoi(p)
				if err != nil || n < 0 || n >= len(at.Items) {
					// traffic.heavy.rate: an entry by its name
					n = -1
					for k, x := range at.Items {
						if name := traffic.Of(x).Get("name"); name != nil && name.Text == p {
							n = k
						}
					}
				}
				if n < 0 {
					c.Fail(here, "", "%q has no entry %q", strings.Join(parts[:i], "."), p)
					break
				}
				if i == len(parts)-1 {
					at.Items[n] = v
				}
				at = at.Items[n]
				continue
			}
			if i == len(parts)-1 && at.Kind == document.Mapping && i > 0 {
				at.Set(p, v)
				break
			}
			next := at.Find(p)
			if next == nil {
				var words []string
				for _, k := range at.Keys {
					words = append(words, k.Name)
				}
				if i == 0 {
					words = append(top.Names(), sweepKeys(s.root)...)
				}
				c.Unknown(here, "key", p, words)
				break
			}
			at = next
		}
	}
}
