package experiment

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"weir/core/scheme"
	"weir/core/topology"
	"weir/core/unit"
	"weir/core/workload"
	"weir/internal/document"
	"weir/study/measure"
)

// reader reads values of an experiment's file and the files that it names. It collects errors and warnings. All
// decoders share one reader.
type reader struct {
	*document.Reader
	registry *Registry
	source   *Source
	machine  float64           // bytes of memory of the machine; 0: unknown
	inputs   map[string][]byte // the files that any point reads, by the name in the spec
	files    []string          // the files that the current point reads, with their hashes
	before   int               // number of errors before the current traffic
	warnings []document.Warning
	issued   map[document.Warning]bool // all warnings, kept or only counted in similar
	similar  map[similarity]int        // number of warnings
}

// entryOK reports whether the current traffic has no error so far.
func (d *reader) entryOK() bool { return d.CountErrors() == d.before }

// readWord reads a value that is one of a key's words. It reports an error for other values and returns them.
func (d *reader) readWord(t *document.Node, table *document.Table, key string) string {
	return d.ReadWord(t, "value of "+key, table.FindKey(key).Form.Words)
}

// warn issues a warning about a place in the file.
func (d *reader) warn(kind scheme.WarningKind, place document.Position, format string, args ...any) {
	d.issue(document.Warn(kind, place, format, args...))
}

// similarity is the common part of warnings that differ only in their text, such as those about points of a sweep.
type similarity struct {
	id, port string
	place    document.Position
}

// maxSimilar limits how many similar warnings are kept.
const maxSimilar = 3

// issue keeps a warning unless an equal one was issued or enough similar ones are kept; it counts the others.
func (d *reader) issue(w document.Warning) {
	if d.issued[w] {
		return
	}
	if d.issued == nil {
		d.issued, d.similar = map[document.Warning]bool{}, map[similarity]int{}
	}
	d.issued[w] = true
	k := similarity{w.Kind.ID, w.Port, w.At}
	if d.similar[k]++; d.similar[k] <= maxSimilar {
		d.warnings = append(d.warnings, w)
	}
}

// countSimilar adds the number of omitted similar warnings to the last one that is kept. It changes texts, so it runs
// once, after the last warning.
func (d *reader) countSimilar() {
	counted := map[similarity]bool{}
	for i := len(d.warnings) - 1; i >= 0; i-- {
		w := &d.warnings[i]
		k := similarity{w.Kind.ID, w.Port, w.At}
		if n := d.similar[k]; n > maxSimilar && !counted[k] {
			more := "; 1 more warning of this kind concerns the same place"
			if n > maxSimilar+1 {
				more = fmt.Sprintf("; %d more warnings of this kind concern the same place", n-maxSimilar)
			}
			w.Text += more
			counted[k] = true
		}
	}
}

// openFile reads a file that the spec names, relative to the spec, and returns it with its name for errors. It reports
// an error if it cannot be read; then data is nil. It notes the file as one that the current point reads.
func (d *reader) openFile(t *document.Node) (data []byte, name string) {
	name = d.ReadText(t)
	data, err := d.source.Open(filepath.ToSlash(name))
	if err != nil {
		d.Fail(t.Position, "a file in the folder of the experiment", "%q cannot be read: %v", t.Text,
			document.UnwrapPathError(err))
	}
	d.files = append(d.files, fmt.Sprintf("%s %x", t.Text, sha256.Sum256(data)))
	name = d.source.Path(name)
	if err == nil {
		d.inputs[t.Text] = data
	}
	return data, name
}

// openText opens a file like openFile, and reports an error if it is not text. Data that is not text is returned, too.
func (d *reader) openText(t *document.Node) (data []byte, name string) {
	data, name = d.openFile(t)
	d.Remember(name, data)
	d.CheckText(name, data, false)
	return data, name
}

// networkFormats returns the names of the formats of network files.
func (r *Registry) networkFormats() (names []string) {
	for i := range r.Networks {
		names = append(names, r.Networks[i].Name)
	}
	return names
}

// flowFormats returns the names of the formats of flow files.
func (r *Registry) flowFormats() (names []string) {
	for i := range r.Flows {
		names = append(names, r.Flows[i].Name)
	}
	return names
}

// readFormat reads the format of a file, and returns its index in formats; −1 after an error. keys has all keys that
// the map may have. what names the file in errors.
func (d *reader) readFormat(x document.Map, table *document.Table, keys, formats []string, what string) int {
	v := x.Get("format")
	if v == nil {
		d.FailMissing(x.Node, "format", table.KeyNoun, keys, "format: "+strings.Join(formats, ", or "),
			"the format of the %s file is missing", what)
		return -1
	}
	return slices.Index(formats, d.ReadWord(v, "format", formats))
}

// checkNoFile reports an error for keys in x that require a file. It is called if there is no file.
func (d *reader) checkNoFile(x document.Map, table *document.Table) {
	for _, k := range table.KeyNames(readsFile) {
		if v := x.Get(k); v != nil {
			d.Fail(v.Position, "file: … or no "+k, "%q is given without file", k)
		}
	}
}

// ignoresRest reports whether err is about text behind the last entry that a file announces, and the key rest ignores
// it. The key is an error for formats that do not announce their number of entries.
func (d *reader) ignoresRest(x document.Map, table *document.Table, format string, announces bool, err error) bool {
	rest := x.Get("rest")
	if rest == nil {
		return false
	}
	if !announces {
		d.Fail(rest.Position, "no rest", "rest is given, but files in format: %s do not announce their number of entries",
			format)
	}
	d.readWord(rest, table, "rest")
	return IsExcess(err)
}

// IsExcess reports whether err is only about text behind the last entry that a file announces. False for nil and for
// errors of other types.
func IsExcess(err error) bool {
	switch e := err.(type) {
	case *topology.FormatError:
		return e.Excess
	case *workload.FormatError:
		return e.Excess
	}
	return false
}

// allowRest returns the remedy for an error about text behind the last entry; "" for other errors.
func allowRest(excess bool) string {
	if excess {
		return "rest: ignored, next to file"
	}
	return ""
}

// ReportForeignError reports an error in a file that the spec names. Joined errors are reported separately. The place
// is in that file for errors of formats, otherwise t, the value that names the file.
func ReportForeignError(d *document.Reader, t *document.Node, err error) {
	switch e := err.(type) {
	case *topology.FormatError:
		d.Fail(d.PositionIn(e.File, e.Line, e.Column), allowRest(e.Excess), "%s", e.Msg)
	case *workload.FormatError:
		d.Fail(d.PositionIn(e.File, e.Line, e.Column), allowRest(e.Excess), "%s", e.Msg)
	case interface{ Unwrap() []error }:
		for _, x := range e.Unwrap() {
			ReportForeignError(d, t, x)
		}
	default:
		d.Fail(t.Position, "", "%s: %v", t.Text, err)
	}
}

// readWords returns the scalars of a list, or a single scalar. It reports an error for other items and leaves them out;
// nil gives no words.
func (d *reader) readWords(t *document.Node) (words []*document.Node) {
	for _, v := range document.ItemsOf(t) {
		if d.ReadText(v); v.Kind == document.Scalar {
			words = append(words, v)
		}
	}
	return words
}

// readQuantity reads a value in base units. unitName is the measure's unit; "" accepts plain numbers and shares. It
// reports an error and returns false for other values.
func (d *reader) readQuantity(t *document.Node, unitName string) (float64, bool) {
	text := d.ReadText(t)
	if t.Kind != document.Scalar {
		return 0, false
	}
	plain := func(word string) (float64, bool) {
		v, err := strconv.ParseFloat(word, 64)
		_, finite := measure.ParseQuantity(word)
		return v, err == nil && finite
	}
	allowed := ""
	switch unitName {
	case "bps":
		if v, err := unit.ParseRate(text); err == nil {
			return float64(v), true
		}
		allowed = kindOfQuantity[unitName]
	case "s":
		if v, err := unit.ParseTime(text); err == nil {
			return v.Seconds(), true
		}
		allowed = kindOfQuantity[unitName]
	case "bytes":
		if v, err := unit.ParseBytes(text); err == nil {
			return float64(v), true
		}
		allowed = kindOfQuantity[unitName]
	case "":
		if v, ok := plain(text); ok {
			return v, true
		}
		if v, err := unit.ParseShare(text); err == nil {
			return v, true
		}
		allowed = "a number such as 0.85 or a share such as 85%"
	default: // a count: 7.5 packets
		word := strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(text, unitName), strings.TrimSuffix(unitName, "s")))
		if v, ok := plain(word); ok {
			return v, true
		}
		allowed = "a number such as 7.5 " + unitName
	}
	d.Fail(t.Position, allowed, "%q is not a valid value of this measure", text)
	return 0, false
}

// readShare reads a share, and reports an error if within returns false for it. It returns the value also then.
func (d *reader) readShare(t *document.Node, allowed string, within func(float64) bool) float64 {
	v, ok := document.ReadValid(d.Reader, t, unit.ParseShare)
	if ok && !within(v) {
		d.Fail(t.Position, allowed, "%q is out of range", t.Text)
	}
	return v
}

// checkPlain reports whether a link's value is a scalar, and reports an error with the allowed values if it is not.
func (d *reader) checkPlain(t *document.Node, allowed string) bool {
	if t.Kind != document.Scalar {
		d.Fail(t.Position, allowed, "the value is %v", t.Kind)
		return false
	}
	return true
}

// readPayload parses text, the payload of a full packet in bytes, from 1 to 65507. Errors are at t; it then returns 1.
func (d *reader) readPayload(t *document.Node, text string) int32 {
	b, err := unit.ParseBytes(text)
	if err != nil || b < 1 || b > 65507 {
		d.Fail(t.Position, "1 B … 65507 B", "%q is not a valid payload", t.Text)
		return 1
	}
	return int32(b)
}

// maxFlows returns the maximum number of flows of a run, which the machine's memory limits.
func (d *reader) maxFlows() float64 {
	memory := d.machine
	if memory == 0 {
		memory = usualMemory
	}
	return min(memory/perFlowInRun, workload.MaxFlows)
}

// checkFlowCount reports whether the machine's memory can hold a run with the point's flows and moreFlows others. It
// reports an error if not, before flows are listed.
func (d *reader) checkFlowCount(place document.Position, p *Point, moreFlows float64) bool {
	n, limit := p.expectedFlows()+moreFlows, d.maxFlows()
	if n > limit {
		d.Fail(place, fmt.Sprintf("up to %.0f flows in a run (%s of memory)", limit, unit.Bytes(limit*perFlowInRun)),
			"the experiment would have about %.0f flows", n)
	}
	return n <= limit
}

// expectedFlows returns the mean number of flows of a run, listed and drawn, of the traffics that the point has so far.
func (p *Point) expectedFlows() float64 {
	n := float64(p.flows.count)
	for i := range p.entries {
		if tr := &p.entries[i]; tr.generator != nil {
			n += tr.generator.ExpectedFlows(p, tr)
		}
	}
	return n
}

// kindOfQuantity has examples of quantities by unit, for messages.
var kindOfQuantity = map[string]string{"bps": "a rate such as 9.7Mbps", "s": "a time such as 5ms",
	"bytes": "a size such as 32MB"}

const (
	// perFlowInRun is the minimum memory of a flow in a run, in bytes: its description, its outcome, and its table entry.
	perFlowInRun = 500
	// usualMemory is the assumed memory of an unknown machine in bytes.
	usualMemory = 16e9
)
