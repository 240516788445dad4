package results

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
)

// schemaFile holds JSON schemas of the JSON files of a results folder, in $defs by file name; run.json stands for
// runs/<id>.json.
//
//go:embed schemas.json
var schemaFile []byte

// SchemaNames returns the names of the files with a schema, in the order of documentation.
func SchemaNames() []string {
	return []string{"runs.json", "run.json", "origin.json", "host.json", "flows.parquet", "series.parquet",
		"timeline.parquet", "trace.parquet"}
}

// Schemas returns one JSON schema with a schema for each of SchemaNames in $defs. Schemas of Parquet files describe a
// row as an object.
func Schemas() []byte { return buildSchema("") }

// SchemaOf returns the schema of one of SchemaNames. It does not check the name.
func SchemaOf(name string) []byte { return buildSchema(name) }

// buildSchema returns all schemas with a reference to the named one; "" for no reference.
func buildSchema(name string) []byte {
	var doc struct {
		Schema string                     `json:"$schema"`
		Title  string                     `json:"title"`
		Ref    string                     `json:"$ref,omitempty"`
		Defs   map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(schemaFile, &doc); err != nil {
		panic(err) // a file of this package
	}
	if name != "" {
		doc.Ref = "#/$defs/" + name
		doc.Title = "A file of a results folder of Weir: " + name
	}
	for _, s := range []Sheet{flowsSheet(), seriesSheet(), timelineSheet()} {
		doc.Defs[s.Name+".parquet"] = rowSchema(s.Name+".parquet: "+s.Doc, append(firstColumns(), s.ownColumns...), true)
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

// rowSchema returns the schema of a row as an object; sweep allows columns of sweep keys.
func rowSchema(doc string, columns []Column, sweep bool) json.RawMessage {
	var o, properties jsonObject
	var names []string
	for i := range columns {
		c := &columns[i]
		names = append(names, c.Name)
		kind := map[string]string{"string": "string", "double": "number"}[c.columnType()]
		if kind == "" {
			kind = "integer"
		}
		var p jsonObject
		if p.addKey("description", c.Doc); c.Optional {
			p.addKey("type", []string{kind, "null"})
		} else {
			p.addKey("type", kind)
		}
		properties.addKey(c.Name, p.finishJSON())
	}
	o.addKey("description", doc)
	o.addKey("type", "object")
	o.addKey("properties", properties.finishJSON())
	o.addKey("required", names)
	if sweep {
		o.addKey("additionalProperties", json.RawMessage(fmt.Sprintf(`{"description": %q, "type": ["string", "number"]}`,
			"a key of the sweep as the experiment writes it; KEY_value: a quantity in base units")))
	} else {
		o.addKey("additionalProperties", false)
	}
	return o.finishJSON()
}
