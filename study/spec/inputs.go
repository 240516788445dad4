package spec

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"weir/core/topology"
	"weir/core/workload"
	"weir/internal/document"
)

// openFile reads a file that the spec names, relative to the spec, and returns it with
// the name that errors give it.
func (d *decoder) openFile(t *document.Node) (data []byte, name string) {
	name = d.Text(t)
	data, err := d.source.Open(filepath.ToSlash(name))
	switch {
	case err != nil:
		d.Fail(t.Place, "a file beside the experiment", "%q cannot be read: %v", t.Text, document.Reason(err))
	case len(data) >= int(document.LargestInput):
		d.Fail(t.Place, "up to "+document.LargestInput.String(), "%q is too large", t.Text)
		return nil, name
	}
	d.files = append(d.files, fmt.Sprintf("%s %x", t.Text, sha256.Sum256(data)))
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(d.source.File), name)
	}
	if err == nil {
		d.inputs[t.Text] = data
	}
	d.Remember(name, data)
	d.IsText(name, data, false)
	return data, name
}

// ignored reports whether an error is about what stands behind the last entry that a file
// of the HPCC simulator announces, and the spec says that it shall not be looked at.
func (d *decoder) ignored(x document.Map, table *document.Table, format string, err error) bool {
	rest := x.Get("rest")
	if rest == nil {
		return false
	}
	if format != "hpcc" {
		d.Fail(rest.Place, "no rest", "files of the format %s do not announce their entries", format)
	}
	d.word(rest, table, "rest")
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

// Foreign notes an error in a file that the spec names.
func Foreign(d *document.Reader, t *document.Node, err error) {
	switch e := err.(type) {
	case *topology.FormatError:
		d.Fail(d.InFile(e.File, e.Line, e.Column), "", "%s", e.Msg)
	case *workload.FormatError:
		d.Fail(d.InFile(e.File, e.Line, e.Column), "", "%s", e.Msg)
	default:
		d.Fail(t.Place, "", "%s: %v", t.Text, err)
	}
}
