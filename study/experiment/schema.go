package experiment

import (
	"encoding/json"
	"sort"
	"strings"

	"weir/core/scheme"
	"weir/internal/document"
	"weir/study/measure"
)

// node is a part of a JSON schema.
type node map[string]any

// anyScalar is a plain value; a $key of the sweep can stand for any.
var anyScalar = []string{"string", "number", "boolean"}

func text(doc string) node { return node{"type": anyScalar, "description": doc} }

// mapOf returns a map with these keys and no others.
func mapOf(doc string, properties node, required ...string) node {
	n := node{"type": "object", "description": doc, "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		n["required"] = required
	}
	return n
}

func listOf(doc string, items node) node {
	return node{"type": "array", "description": doc, "items": items}
}

// word returns one of these, or a $key. YAML reads some words as a boolean or a number.
func word(doc string, words ...string) node {
	var values []any
	for _, w := range words {
		values = append(values, w)
		var read any
		if json.Unmarshal([]byte(w), &read) == nil {
			values = append(values, read)
		}
	}
	n := node{"anyOf": []node{{"enum": values}, {"type": "string", "pattern": `^\$`}}}
	if doc != "" {
		n["description"] = doc
	}
	return n
}

// parameter returns one parameter of a scheme.
func parameter(p *scheme.Param) node {
	doc := p.Doc + " (" + p.Source + ")"
	switch {
	case p.Kind == scheme.Map:
		return node{"anyOf": []node{{"type": "object"}, {"type": "string", "pattern": `^\$`}}, "description": doc}
	case len(p.Words) > 0:
		n := word(doc, p.Words...)
		n["default"] = p.Default
		return n
	}
	doc += "; " + p.Form()
	for _, limit := range p.Range {
		doc += ", " + limit.String()
	}
	n := text(doc)
	for _, limit := range p.Range {
		if at, ok := limit.Number(p.Kind); ok {
			n[limits[limit.Relation]] = at
		}
	}
	if p.Default != "" {
		n["default"] = p.Default
	}
	return n
}

// limits are a schema's words for a number's limits; other values are texts, for which it has none.
var limits = [...]string{scheme.AtLeast: "minimum", scheme.Above: "exclusiveMinimum", scheme.AtMost: "maximum",
	scheme.Below: "exclusiveMaximum"}

// schemeParameters returns the parameters of a scheme as a map, or a $key of the sweep.
func schemeParameters(s *scheme.Scheme) node {
	return node{"anyOf": []node{schemeObject(s), {"type": "string", "pattern": `^\$`}}}
}

// schemeObject returns the parameters of a scheme as a map.
func schemeObject(s *scheme.Scheme) node {
	properties, required := node{}, []string{}
	for _, p := range s.Parameters() {
		properties[p.Name] = parameter(p)
		if p.Required {
			required = append(required, p.Name)
		}
	}
	return mapOf(s.Doc+" ("+s.Source+")", properties, required...)
}

// named returns one of some schemes: its name, or its name with parameters.
func named(doc string, schemes []*scheme.Scheme, others ...string) node {
	names := append([]string{}, others...)
	properties := node{}
	for _, s := range schemes {
		names = append(names, s.Name)
		properties[s.Name] = schemeParameters(s)
	}
	sort.Strings(names)
	n := word(doc, names...)
	n["anyOf"] = append(n["anyOf"].([]node), node{"type": "object", "properties": properties,
		"additionalProperties": false, "minProperties": 1, "maxProperties": 1})
	return n
}

// schemes returns the schemes of a kind that a key's form names.
func (r *Registry) schemes(kind string) (list []*scheme.Scheme) {
	switch kind {
	case "program":
		for i := range r.Programs {
			list = append(list, &r.Programs[i].Scheme)
		}
	case "scheduler":
		for i := range r.Schedulers {
			list = append(list, &r.Schedulers[i].Scheme)
		}
	case "transport":
		for i := range r.Transports {
			list = append(list, &r.Transports[i].Scheme)
		}
	case "congestion controller":
		for i := range r.Controllers {
			list = append(list, &r.Controllers[i].Scheme)
		}
	case "topology":
		for i := range r.Topologies {
			list = append(list, &r.Topologies[i].Scheme)
		}
	case "job":
		for i := range r.Jobs {
			list = append(list, &r.Jobs[i].Scheme)
		}
	case "ideal network":
		for i := range r.Ideals {
			list = append(list, &r.Ideals[i].Scheme)
		}
	}
	return list
}

// registered returns the form of a value that names a scheme of a kind.
func (r *Registry) registered(doc string, f document.Form) node {
	switch f.Of {
	case "measure":
		return r.measured()
	case "distribution":
		var names []string
		for i := range r.Workloads {
			names = append(names, r.Workloads[i].Name)
		}
		return word(doc, names...)
	case "format of networks":
		return word(doc, r.networkFormats()...)
	case "format of flows":
		return word(doc, r.flowFormats()...)
	}
	var others []string
	if f.Extra != "" {
		others = append(others, f.Extra)
	}
	return named(doc, r.schemes(f.Of), others...)
}

// measured returns an entry of the measure list.
func (r *Registry) measured() node {
	kinds := node{}
	for i := range r.Measures {
		kinds[r.Measures[i].Name] = r.table(r.Measures[i].Table(), false)
	}
	return node{"anyOf": []node{{"enum": measure.Names(r.Measures)}, {"type": "object", "properties": kinds,
		"additionalProperties": false, "minProperties": 1, "maxProperties": 1}}}
}

// form returns a value that a key can have.
func (r *Registry) form(doc string, f document.Form) (n node) {
	switch f.Shape {
	case document.Word:
		return word(doc, f.Words...)
	case document.Listed:
		n = node{"anyOf": []node{listOf("", r.form("", *f.Items)), {"type": "string", "pattern": `^\$`}}}
	case document.Fields:
		n = node{"anyOf": []node{r.table(f.Table, true), {"type": "string", "pattern": `^\$`}}}
	case document.ByName:
		n = node{"type": "object", "additionalProperties": r.form("", *f.Items)}
	case document.Choice:
		var forms []node
		for _, x := range f.Any {
			forms = append(forms, r.form("", x))
		}
		n = node{"anyOf": forms}
	case document.Ends:
		n = node{"type": "array", "items": node{"type": []string{"string", "integer"}}, "minItems": 2, "maxItems": 2}
	case document.Scheme:
		return r.registered(doc, f)
	case document.Free:
		n = node{}
	default:
		n = node{"type": anyScalar}
	}
	if doc != "" {
		n["description"] = doc
	}
	return n
}

// table returns a map with a table's keys; needed reports whether it wants those that are required.
func (r *Registry) table(t *document.Table, needed bool) node {
	properties, required := node{}, []string{}
	for _, k := range t.Keys {
		doc := strings.ReplaceAll(k.Doc, "`", "")
		if k.Form.Text != "" && len(k.Form.Words) == 0 {
			doc += ": " + strings.ReplaceAll(k.Form.Text, "`", "")
		}
		n := r.form(doc, k.Form)
		if k.Default != "" && k.Cases == nil && k.Default[0] != '[' {
			n["default"] = k.Default
		}
		properties[k.Name] = n
		if k.Required && needed {
			required = append(required, k.Name)
		}
	}
	n := mapOf(t.Doc, properties, required...)
	switch t.Open {
	case "":
	case "topology":
		for _, s := range r.schemes(t.Open) {
			properties[s.Name] = schemeParameters(s)
		}
	case "parameter": // parameters may stand beside the transport's name
		for _, s := range r.schemes("transport") {
			for _, p := range s.Parameters() {
				if properties[p.Name] == nil {
					properties[p.Name] = text(s.Name + ": " + p.Doc)
				}
			}
		}
	default:
		n["additionalProperties"] = text(t.Open)
	}
	return n
}

// Schema returns a JSON schema (draft 2020-12) of experiment files with this registry's
// schemes, for editors: the tables of keys in another form. It knows keys and words; what only
// decoding can tell (units, names of hosts, expressions) weir check says.
func (r *Registry) Schema() []byte {
	root := r.table(top, true)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Weir experiment"
	data, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // it is made of strings
	}
	return append(data, '\n')
}
