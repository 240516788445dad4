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

// Bound is the last recorded bound under a key.
type Bound struct {
	Value float64
	Go    string // release that set the bound
}

// Bounds holds the valid bounds.
type Bounds map[BoundKey]Bound

// A file of bounds is a log. A record has a line with its day, Go's release and the reason, and an indented line for
// each bound that it moves, with the workload, the figure, and the bound or gone. The last line of a bound is valid,
// earlier ones are its history. So each move of a bound has a reason.
const gone = "gone"

// heading matches the line that begins a record.
var heading = regexp.MustCompile(`^(\d{4}-\d\d-\d\d) (go\d+\.\S+): (.+)$`)

// Read reads a file of bounds. Its errors name the line.
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
			if day, release, err = readHeading(line); err == nil && day < before {
				err = fmt.Errorf("the record of %s is after that of %s; records are appended", day, before)
			}
			moved = map[BoundKey]bool{}
		} else if moved == nil {
			err = fmt.Errorf("a bound before the first record's day and reason")
		} else {
			err = held.readBound(strings.Fields(rest), release, moved)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return held, lines.Err()
}

// readHeading reads the line that begins a record. It returns the record's day and its release of Go.
func readHeading(line string) (day, release string, err error) {
	m := heading.FindStringSubmatch(line)
	if m == nil {
		return "", "", fmt.Errorf("%q is no record; it begins with its day, Go's release and a reason", line)
	}
	if _, err := time.Parse(time.DateOnly, m[1]); err != nil {
		return "", "", err
	}
	return m[1], m[2], checkReason(m[3])
}

// checkReason checks that a text is at least three words on one line.
func checkReason(why string) error {
	if len(strings.Fields(why)) < 3 || strings.ContainsAny(why, "\r\n") {
		return fmt.Errorf("%q is no reason for new bounds; write a sentence on one line", why)
	}
	return nil
}

// readBound sets a bound from the words of a line of a record, or deletes it if its value is the word gone. The map
// moved has the keys that the record has moved already. A key that moves twice is an error.
func (b Bounds) readBound(words []string, release string, moved map[BoundKey]bool) error {
	if len(words) != 3 {
		return fmt.Errorf("%q is no bound; it has a workload, a figure and a number", strings.Join(words, " "))
	}
	k := BoundKey{words[0], words[1]}
	before, known := b[k]
	f, ok := findFigure(k.Figure)
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
	if err != nil || !(value >= 0 && value <= math.MaxInt64) || f.format(value) != words[2] {
		return fmt.Errorf("%q is no bound; a number of 0 or more with %d decimals is", words[2], f.Decimals)
	}
	if known && before.Value == value && before.Go == release {
		return fmt.Errorf("%s of %s is %s already", k.Figure, k.Workload, words[2])
	}
	b[k] = Bound{value, release}
	return nil
}

// CheckAll compares the measured figures with their bounds. It returns all that is wrong, including bounds of figures
// that are no longer measured, unless absent reports that this machine cannot measure their figure. The argument
// present is the running release of Go.
func (b Bounds) CheckAll(measured map[BoundKey]float64, present string,
	absent func(figure string) bool) (wrong []string) {
	wrong = b.Compare(measured, present)
	for _, k := range sortedKeys(b) {
		if _, there := measured[k]; !there && !absent(k.Figure) {
			wrong = append(wrong, fmt.Sprintf("%s: %s has a bound, but is not measured", k.Workload, k.Figure))
		}
	}
	return wrong
}

// Compare describes each measured figure that breaks its bound. The argument present is the running release of Go.
func (b Bounds) Compare(measured map[BoundKey]float64, present string) (wrong []string) {
	for _, k := range sortedKeys(measured) {
		f, ok := findFigure(k.Figure)
		bound, held := b[k]
		if !ok || !held {
			wrong = append(wrong, fmt.Sprintf("%s: %s has no bound", k.Workload, k.Figure))
		} else if err := f.CheckBound(bound.Value, measured[k], bound.Go, present); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", k.Workload, err))
		}
	}
	return wrong
}

// Record returns the record to append to a file of bounds so that moved bounds are valid, nil if no bound has moved.
// The record has the release present of Go, the day and the reason why.
func (b Bounds) Record(measured map[BoundKey]float64, present string, day time.Time, why string) ([]byte, error) {
	if err := checkReason(why); err != nil {
		return nil, err
	}
	var rows bytes.Buffer
	row := func(k BoundKey, value string) { fmt.Fprintf(&rows, "\t%-12s %-20s %s\n", k.Workload, k.Figure, value) }
	for _, k := range sortedKeys(measured) {
		f, ok := findFigure(k.Figure)
		if !ok {
			return nil, fmt.Errorf("%q is no figure", k.Figure)
		}
		bound, held := b[k]
		if !held || f.HasMoved(bound.Value, measured[k]) || f.Compiled && minorRelease(bound.Go) != minorRelease(present) {
			row(k, f.format(measured[k]))
		}
	}
	for _, k := range sortedKeys(b) {
		if _, there := measured[k]; !there {
			row(k, gone)
		}
	}
	if rows.Len() == 0 {
		return nil, nil
	}
	return fmt.Appendf(nil, "\n%s %s: %s\n%s", day.Format(time.DateOnly), present, why, rows.Bytes()), nil
}

// sortedKeys returns the keys of a table, by workload and in the order of figures.
func sortedKeys[V any](table map[BoundKey]V) []BoundKey {
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
