package experiment

import (
	"fmt"
	"path/filepath"
	"strconv"

	"weir/internal/document"
)

// Parameter is one value that decides the experiment, and where it comes from.
type Parameter struct {
	Path   string `json:"path"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// Parameters lists all values of the resolved spec in its order.
func (s *Spec) Parameters() []Parameter {
	out := s.bound(parameters(s.root))
	for i := range out {
		if was, ok := s.origins[out[i].Path]; ok && was.Value == out[i].Value {
			out[i].Source = was.Source
		}
	}
	return out
}

// parameters lists the values of a tree.
func parameters(root *document.Node) []Parameter {
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
						out = append(out, Parameter{path, k.Name, source(k.Value, from)})
					} else {
						out = append(out, Parameter{p, "{}", source(k.Value, from)})
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
				out = append(out, Parameter{path, t.Flow(), source(t, from)})
				return
			}
			for i, x := range t.Items {
				name := strconv.Itoa(i)
				if n := traffic.Of(x).Get("name"); n != nil {
					name = n.Text
				}
				walk(path+"."+name, x, from)
			}
		default:
			out = append(out, Parameter{path, t.Text, source(t, from)})
		}
	}
	for _, k := range root.Keys {
		if !top.Has(k.Name, unlisted) {
			walk(k.Name, k.Value, "")
		}
	}
	return out
}

// bound adds the defaults of what a $key names: they differ from point to point, so
// the file has no one place for them. Those of a sweep's block are there already.
func (s *Spec) bound(out []Parameter) []Parameter {
	seen := map[string]bool{}
	for _, p := range out {
		seen[p.Path] = true
	}
	for _, p := range s.points {
		for _, x := range p.defaults {
			there := seen[x.Path]
			for _, c := range p.at {
				there = there || seen["sweep."+c.Key+"."+c.Text+"."+x.Path]
			}
			if !there {
				seen[x.Path] = true
				out = append(out, x)
			}
		}
	}
	return out
}

func source(t *document.Node, from string) string {
	if from != "" {
		return from
	}
	return fmt.Sprintf("%s:%d", filepath.Base(t.File), t.Line) // results say nothing of the machine's folders
}
