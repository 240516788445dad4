package experiment

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"weir/core/topology"
	"weir/core/workload"
	"weir/internal/document"
)

// openFile reads a file that the spec names, relative to the spec, and returns it with
// the name that errors give it.
func (d *reader) openFile(t *document.Node) (data []byte, name string) {
	name = d.Text(t)
	data, err := d.source.Open(filepath.ToSlash(name))
	if err != nil {
		d.Fail(t.Place, "a file beside the experiment", "%q cannot be read: %v", t.Text, document.Reason(err))
	}
	d.files = append(d.files, fmt.Sprintf("%s %x", t.Text, sha256.Sum256(data)))
	name = d.source.Path(name)
	if err == nil {
		d.inputs[t.Text] = data
	}
	return data, name
}

// openText is openFile for a file of text.
func (d *reader) openText(t *document.Node) (data []byte, name string) {
	data, name = d.openFile(t)
	d.Remember(name, data)
	d.IsText(name, data, false)
	return data, name
}

// networkFormats are the names of formats that networks are read in.
func (r *Registry) networkFormats() (names []string) {
	for i := range r.Networks {
		names = append(names, r.Networks[i].Name)
	}
	return names
}

// flowFormats are the names of formats that flows are read in.
func (r *Registry) flowFormats() (names []string) {
	for i := range r.Flows {
		names = append(names, r.Flows[i].Name)
	}
	return names
}

// readFormat reads which of some formats a file has, as their index; −1 if that is not said, or not known.
func (d *reader) readFormat(x document.Map, table *document.Table, known, formats []string, what string) int {
	v := x.Get("format")
	if v == nil {
		d.Missing(x.Node, "format", table.What, known, "format: "+strings.Join(formats, ", or "),
			"the %s file's format is missing", what)
		return -1
	}
	return slices.Index(formats, d.Word(v, "format", formats))
}

// checkNoFile notes keys that say how a file is read where there is none.
func (d *reader) checkNoFile(x document.Map, table *document.Table) {
	for _, k := range table.Names(ofAFile) {
		if v := x.Get(k); v != nil {
			d.Fail(v.Place, "file: …, or no "+k, "%q says how a file is read, and there is no file", k)
		}
	}
}

// ignoresRest reports whether an error is about what follows the last entry that a file
// announces, if its format does, and the spec says that it shall not be looked at.
func (d *reader) ignoresRest(x document.Map, table *document.Table, format string, announces bool, err error) bool {
	rest := x.Get("rest")
	if rest == nil {
		return false
	}
	if !announces {
		d.Fail(rest.Place, "no rest", "files of the format %s do not announce their entries", format)
	}
	d.readWord(rest, table, "rest")
	return Excess(err)
}

// Excess reports whether all that a file announces was read, and more stands behind it.
func Excess(err error) bool {
	switch e := err.(type) {
	case *topology.FormatError:
		return e.Excess
	case *workload.FormatError:
		return e.Excess
	}
	return false
}

// skip returns what lets an experiment read a file with text behind its last entry.
func skip(excess bool) string {
	if excess {
		return "rest: ignored, next to file"
	}
	return ""
}

// Foreign notes an error in a file that the spec names.
func Foreign(d *document.Reader, t *document.Node, err error) {
	switch e := err.(type) {
	case *topology.FormatError:
		d.Fail(d.InFile(e.File, e.Line, e.Column), skip(e.Excess), "%s", e.Msg)
	case *workload.FormatError:
		d.Fail(d.InFile(e.File, e.Line, e.Column), skip(e.Excess), "%s", e.Msg)
	case interface{ Unwrap() []error }:
		for _, x := range e.Unwrap() {
			Foreign(d, t, x)
		}
	default:
		d.Fail(t.Place, "", "%s: %v", t.Text, err)
	}
}
