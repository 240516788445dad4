package experiment

import (
	"encoding/json"
	"sort"
	"strings"

	"weir/core/scheme"
	"weir/internal/document"
	"weir/study/measure"
)

// schemaNode is a part of a JSON schema.
type schemaNode map[string]any

// anyScalar are the types of a plain value. A $key of the sweep may replace any value.
var anyScalar = []string{"string", "number", "boolean"}

// scalarSchema returns the schema of a plain value.
func scalarSchema(doc string) schemaNode { return schemaNode{"type": anyScalar, "description": doc} }

// mapSchema returns the schema of a map with these keys and no others. properties has the schema of each key.
func mapSchema(doc string, properties schemaNode, required ...string) schemaNode {
	n := schemaNode{"type": "object", "description": doc, "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		n["required"] = required
	}
	return n
}

// listSchema returns the schema of a list. items is the schema of each item.
func listSchema(doc string, items schemaNode) schemaNode {
	return schemaNode{"type": "array", "description": doc, "items": items}
}

// wordSchema returns the schema of a value that is one of words, or a $key. YAML reads some words as a boolean or a
// number. Such a word may also have this type.
func wordSchema(doc string, words ...string) schemaNode {
	var values []any
	for _, w := range words {
		values = append(values, w)
		var read any
		if json.Unmarshal([]byte(w), &read) == nil {
			values = append(values, read)
		}
	}
	n := schemaNode{"anyOf": []schemaNode{{"enum": values}, {"type": "string", "pattern": `^\$`}}}
	if doc != "" {
		n["description"] = doc
	}
	return n
}

// parameterSchema returns the schema of one parameter of a scheme.
func parameterSchema(p *scheme.Param) schemaNode {
	doc := p.Doc + " (" + p.Source + ")"
	switch {
	case p.Kind == scheme.Map:
		return schemaNode{"anyOf": []schemaNode{{"type": "object"}, {"type": "string", "pattern": `^\$`}},
			"description": doc + "; " + p.DescribeValues()}
	case len(p.Words) > 0:
		n := wordSchema(doc, p.Words...)
		n["default"] = p.Default
		return n
	}
	n := scalarSchema(doc + "; " + p.DescribeValues())
	for _, limit := range p.Range {
		if bound, ok := limit.Number(p.Kind); ok {
			n[limits[limit.Relation]] = bound
		}
	}
	if p.Default != "" {
		n["default"] = p.Default
	}
	return n
}

// limits are the schema's keywords for limits of numbers. Other values are texts, which have no limits.
var limits = [...]string{scheme.AtLeast: "minimum", scheme.Above: "exclusiveMinimum", scheme.AtMost: "maximum",
	scheme.Below: "exclusiveMaximum"}

// schemeParameters returns the schema of a scheme's parameters: a map, or a $key of the sweep.
func schemeParameters(s *scheme.Scheme) schemaNode {
	return schemaNode{"anyOf": []schemaNode{schemeObject(s), {"type": "string", "pattern": `^\$`}}}
}

// schemeObject returns the schema of a scheme's parameters as a map.
func schemeObject(s *scheme.Scheme) schemaNode {
	properties, required := schemaNode{}, []string{}
	for _, p := range s.Parameters() {
		properties[p.Name] = parameterSchema(p)
		if p.Required {
			required = append(required, p.Name)
		}
	}
	return mapSchema(s.Doc+" ("+s.Source+")", properties, required...)
}

// namedScheme returns the schema of a value that names one of schemes: its name, or its name with parameters. others
// are names without parameters.
func namedScheme(doc string, schemes []*scheme.Scheme, others ...string) schemaNode {
	names := append([]string{}, others...)
	properties := schemaNode{}
	for _, s := range schemes {
		names = append(names, s.Name)
		properties[s.Name] = schemeParameters(s)
	}
	sort.Strings(names)
	n := wordSchema(doc, names...)
	n["anyOf"] = append(n["anyOf"].([]schemaNode), schemaNode{"type": "object", "properties": properties,
		"additionalProperties": false, "minProperties": 1, "maxProperties": 1})
	return n
}

// schemesOf returns the schemes of a kind in a key's form, such as "program"; nil for other kinds.
func (r *Registry) schemesOf(kind string) (list []*scheme.Scheme) {
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

// registeredSchema returns the schema of a value that names an entry of the registry.
func (r *Registry) registeredSchema(doc string, f document.Form) schemaNode {
	switch f.SchemeKind {
	case "measure":
		return r.measureSchema()
	case "distribution":
		var names []string
		for i := range r.Workloads {
			names = append(names, r.Workloads[i].Name)
		}
		return wordSchema(doc, names...)
	case "format of networks":
		return wordSchema(doc, r.networkFormats()...)
	case "format of flows":
		return wordSchema(doc, r.flowFormats()...)
	}
	var others []string
	if f.Extra != "" {
		others = append(others, f.Extra)
	}
	return namedScheme(doc, r.schemesOf(f.SchemeKind), others...)
}

// measureSchema returns the schema of an entry of the measure list.
func (r *Registry) measureSchema() schemaNode {
	kinds := schemaNode{}
	for i := range r.Measures {
		kinds[r.Measures[i].Name] = r.tableSchema(r.Measures[i].Table(), false)
	}
	return schemaNode{"anyOf": []schemaNode{{"enum": measure.KindNames(r.Measures)}, {"type": "object",
		"properties":           kinds,
		"additionalProperties": false, "minProperties": 1, "maxProperties": 1}}}
}

// formSchema returns the schema of a key's values. doc is the key's description; "": no description.
func (r *Registry) formSchema(doc string, f document.Form) (n schemaNode) {
	switch f.Shape {
	case document.Word:
		return wordSchema(doc, f.Words...)
	case document.Listed:
		n = schemaNode{"anyOf": []schemaNode{listSchema("", r.formSchema("", *f.Items)), {"type": "string",
			"pattern": `^\$`}}}
	case document.Fields:
		n = schemaNode{"anyOf": []schemaNode{r.tableSchema(f.Table, true), {"type": "string", "pattern": `^\$`}}}
	case document.ByName:
		n = schemaNode{"type": "object", "additionalProperties": r.formSchema("", *f.Items)}
	case document.Choice:
		var forms []schemaNode
		for _, x := range f.Any {
			forms = append(forms, r.formSchema("", x))
		}
		n = schemaNode{"anyOf": forms}
	case document.PairShape:
		n = schemaNode{"type": "array", "items": schemaNode{"type": []string{"string", "integer"}}, "minItems": 2,
			"maxItems": 2}
	case document.Scheme:
		return r.registeredSchema(doc, f)
	case document.Free:
		n = schemaNode{}
	default:
		n = schemaNode{"type": anyScalar}
	}
	if doc != "" {
		n["description"] = doc
	}
	return n
}

// tableSchema returns the schema of a map with a table's keys; with needed, it requires the table's required keys.
func (r *Registry) tableSchema(t *document.Table, needed bool) schemaNode {
	properties, required := schemaNode{}, []string{}
	for _, k := range t.Keys {
		doc := strings.ReplaceAll(k.Doc, "`", "")
		if k.Form.Text != "" && len(k.Form.Words) == 0 {
			doc += ": " + strings.ReplaceAll(k.Form.Text, "`", "")
		}
		n := r.formSchema(doc, k.Form)
		if k.Default != "" && k.Cases == nil && k.Default[0] != '[' {
			n["default"] = k.Default
		}
		properties[k.Name] = n
		if k.Required && needed {
			required = append(required, k.Name)
		}
	}
	n := mapSchema(t.Doc, properties, required...)
	switch t.Open {
	case "":
	case "topology":
		for _, s := range r.schemesOf(t.Open) {
			properties[s.Name] = schemeParameters(s)
		}
	case "parameter": // parameters may be next to the transport's name
		for _, s := range r.schemesOf("transport") {
			for _, p := range s.Parameters() {
				if properties[p.Name] == nil {
					properties[p.Name] = scalarSchema(s.Name + ": " + p.Doc)
				}
			}
		}
	default:
		n["additionalProperties"] = scalarSchema(t.Open)
	}
	return n
}

// WriteSchema returns a JSON schema (draft 2020-12) of experiment files with this registry's schemes, for editors. It
// is generated from the tables of keys. It checks keys and words; units, names of hosts and expressions need decoding,
// which weir check does.
func (r *Registry) WriteSchema() []byte {
	root := r.tableSchema(top, true)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Weir experiment"
	data, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // it is made of strings
	}
	return append(data, '\n')
}
