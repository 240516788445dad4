package costbounds

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// BoundKey identifies a bound by its workload and figure.
type BoundKey struct{ Workload, Figure string }

// Bound is the last that was recorded under a key.
type Bound struct {
	Value float64
	Go    string // release
}

// Bounds are those that hold.
type Bounds map[BoundKey]Bound

// A file of bounds is a log: a record has a line with its day, Go's release and the reason, and an indented line for
// each bound that it moves, with the workload, the figure, and the bound or gone. The last word on a bound holds, those
// before it are its history. So no bound can move but by a line below a reason.
const gone = "gone"

var heading = regexp.MustCompile(`^(\d{4}-\d\d-\d\d) (go\d+\.\S+): (.+)$`)

// Read reads a file of bounds.
func Read(in io.Reader) (Bounds, error) {
	held, day, release := Bounds{}, "", ""
	var moved map[BoundKey]bool
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var err error
		if rest, indented := strings.CutPrefix(line, "\t"); !indented {
			before := day
			if day, release, err = head(line); err == nil && day < before {
				err = fmt.Errorf("the record of %s is after that of %s; records are appended", day, before)
			}
			moved = map[BoundKey]bool{}
		} else if moved == nil {
			err = fmt.Errorf("a bound before the first record's day and reason")
		} else {
			err = held.take(strings.Fields(rest), release, moved)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return held, lines.Err()
}

// head reads the line that begins a record.
func head(line string) (day, release string, err error) {
	m := heading.FindStringSubmatch(line)
	if m == nil {
		return "", "", fmt.Errorf("%q is no record; it begins with its day, Go's release and a reason", line)
	}
	if _, err := time.Parse(time.DateOnly, m[1]); err != nil {
		return "", "", err
	}
	return m[1], m[2], reason(m[3])
}

// reason checks that a text can be one.
func reason(why string) error {
	if len(strings.Fields(why)) < 3 || strings.ContainsAny(why, "\r\n") {
		return fmt.Errorf("%q does not say why bounds move; a sentence on one line does", why)
	}
	return nil
}

// take reads a line of a record.
func (b Bounds) take(words []string, release string, moved map[BoundKey]bool) error {
	if len(words) != 3 {
		return fmt.Errorf("%q is no bound; it has a workload, a figure and a number", strings.Join(words, " "))
	}
	k := BoundKey{words[0], words[1]}
	before, known := b[k]
	f, ok := figure(k.Figure)
	switch {
	case !ok:
		return fmt.Errorf("%q is no figure", k.Figure)
	case moved[k]:
		return fmt.Errorf("one record moves %s of %s twice", k.Figure, k.Workload)
	}
	moved[k] = true
	if words[2] == gone {
		if !known {
			return fmt.Errorf("%s of %s is gone, and was not there", k.Figure, k.Workload)
		}
		delete(b, k)
		return nil
	}
	value, err := strconv.ParseFloat(words[2], 64)
	if err != nil || !(value >= 0 && value <= math.MaxInt64) || f.text(value) != words[2] {
		return fmt.Errorf("%q is no bound; a number of 0 or more with %d decimals is", words[2], f.Decimals)
	}
	if known && before.Value == value && before.Go == release {
		return fmt.Errorf("%s of %s is %s already", k.Figure, k.Workload, words[2])
	}
	b[k] = Bound{value, release}
	return nil
}

// Judge compares what was measured with its bounds. It tells all that is wrong, also bounds of what is not measured any
// more, unless absent says that this machine cannot measure their figure.
func (b Bounds) Judge(measured map[BoundKey]float64, present string, absent func(figure string) bool) (wrong []string) {
	wrong = b.Compare(measured, present)
	for _, k := range keys(b) {
		if _, there := measured[k]; !there && !absent(k.Figure) {
			wrong = append(wrong, fmt.Sprintf("%s: %s has a bound, but is not measured", k.Workload, k.Figure))
		}
	}
	return wrong
}

// Compare describes each measured figure that does not keep to its bound. The release of Go that runs is present.
func (b Bounds) Compare(measured map[BoundKey]float64, present string) (wrong []string) {
	for _, k := range keys(measured) {
		f, ok := figure(k.Figure)
		bound, held := b[k]
		if !ok || !held {
			wrong = append(wrong, fmt.Sprintf("%s: %s has no bound", k.Workload, k.Figure))
		} else if err := f.Judge(bound.Value, measured[k], bound.Go, present); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", k.Workload, err))
		}
	}
	return wrong
}

// Record is what is to be appended to a file of bounds so that those that have moved hold; nil if none has.
func (b Bounds) Record(measured map[BoundKey]float64, present string, day time.Time, why string) ([]byte, error) {
	if err := reason(why); err != nil {
		return nil, err
	}
	var rows bytes.Buffer
	row := func(k BoundKey, value string) { fmt.Fprintf(&rows, "\t%-12s %-20s %s\n", k.Workload, k.Figure, value) }
	for _, k := range keys(measured) {
		f, ok := figure(k.Figure)
		if !ok {
			return nil, fmt.Errorf("%q is no figure", k.Figure)
		}
		bound, held := b[k]
		if !held || f.Moved(bound.Value, measured[k]) || f.Compiled && release(bound.Go) != release(present) {
			row(k, f.text(measured[k]))
		}
	}
	for _, k := range keys(b) {
		if _, there := measured[k]; !there {
			row(k, gone)
		}
	}
	if rows.Len() == 0 {
		return nil, nil
	}
	return fmt.Appendf(nil, "\n%s %s: %s\n%s", day.Format(time.DateOnly), present, why, rows.Bytes()), nil
}

// keys are those of a table, by workload and in the order of figures.
func keys[V any](table map[BoundKey]V) []BoundKey {
	var sorted []BoundKey
	for k := range table {
		sorted = append(sorted, k)
	}
	place := func(name string) int {
		return slices.IndexFunc(Figures, func(f Figure) bool { return f.Name == name })
	}
	slices.SortFunc(sorted, func(a, b BoundKey) int {
		if a.Workload != b.Workload {
			return strings.Compare(a.Workload, b.Workload)
		}
		return place(a.Figure) - place(b.Figure)
	})
	return sorted
}
