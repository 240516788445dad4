package results

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
)

// schemas are JSON schemas of the JSON files of a results folder, in $defs by the file's name; run.json is that of
// runs/<id>.json.
//
//go:embed schemas.json
var schemas []byte

// SchemaNames are the files that there are schemas of, in the order in which they are told of.
func SchemaNames() []string {
	return []string{"runs.json", "run.json", "origin.json", "host.json", "flows.parquet", "series.parquet",
		"timeline.parquet", "trace.parquet"}
}

// Schemas is one JSON schema whose $defs have a schema for each of SchemaNames, and what these share. Those of Parquet
// files are of a row, as an object.
func Schemas() []byte { return schema("") }

// Schema is that of one of SchemaNames.
func Schema(name string) []byte { return schema(name) }

// schema is all, with a reference to the one that is meant.
func schema(name string) []byte {
	var doc struct {
		Schema string                     `json:"$schema"`
		Title  string                     `json:"title"`
		Ref    string                     `json:"$ref,omitempty"`
		Defs   map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(schemas, &doc); err != nil {
		panic(err) // a file of this package
	}
	if name != "" {
		doc.Ref = "#/$defs/" + name
		doc.Title = "A file of a results folder of Weir: " + name
	}
	for _, s := range []Sheet{flowsSheet(), seriesSheet(), timelineSheet()} {
		doc.Defs[s.Name+".parquet"] = rowSchema(s.Name+".parquet: "+s.Doc, append(first(), s.own...), true)
	}
	doc.Defs["trace.parquet"] = rowSchema("traces/<id>.parquet: an event at a traced port", traceColumns(), false)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// rowSchema is that of a row as an object, which may have columns of the sweep.
func rowSchema(doc string, columns []Column, sweep bool) json.RawMessage {
	var o, properties object
	var names []string
	for i := range columns {
		c := &columns[i]
		names = append(names, c.Name)
		kind := map[string]string{"string": "string", "double": "number"}[c.columnType()]
		if kind == "" {
			kind = "integer"
		}
		var p object
		if p.add("description", c.Doc); c.Optional {
			p.add("type", []string{kind, "null"})
		} else {
			p.add("type", kind)
		}
		properties.add(c.Name, p.bytes())
	}
	o.add("description", doc)
	o.add("type", "object")
	o.add("properties", properties.bytes())
	o.add("required", names)
	if sweep {
		o.add("additionalProperties", json.RawMessage(fmt.Sprintf(`{"description": %q, "type": ["string", "number"]}`,
			"a key of the sweep as the experiment writes it; KEY_value: a quantity in base units")))
	} else {
		o.add("additionalProperties", false)
	}
	return o.bytes()
}
