package document

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"weir/internal/text"
)

// InputError is one thing that is wrong with a file.
type InputError struct {
	File         string
	Line, Column int    // from 1
	Msg          string // what is wrong
	Allowed      string // what would be right, if that can be said
	Excerpt      string // the line of the file, or of a long one the part around the column
	Caret        int    // how far into the excerpt the column is
	Rest         bool   // it is behind the last that is said, and says how many more there are
}

func (e InputError) Error() string {
	if e.Rest {
		return e.Msg
	}
	s := fmt.Sprintf("%s:%d:%d: %s", text.Shown(e.File), e.Line, e.Column, text.Lines(e.Msg))
	if e.Allowed != "" {
		s += "; allowed: " + text.Lines(e.Allowed)
	}
	if e.Excerpt != "" {
		s += "\n    " + e.Excerpt + "\n    " + strings.Repeat(" ", e.Caret) + "^"
	}
	return s
}

// ExcerptOf returns the part of a line that an error shows, and the position of the column in it. A
// character that a terminal would not print becomes a replacement character.
func ExcerptOf(line string, column int) (excerpt string, caret int) {
	const before, after = 60, 40 // columns of a long line
	runes := []rune(strings.TrimRight(line, " \t\r"))
	for i, r := range runes {
		if r == '\t' {
			runes[i] = ' '
		} else if text.Acts(r) {
			runes[i] = utf8.RuneError
		}
	}
	at := min(max(column-1, 0), len(runes))
	end := ""
	if len(runes) > before+after {
		if at+after < len(runes) {
			runes, end = runes[:at+after], "…"
		}
		if at > before {
			runes, at = append([]rune{'…'}, runes[at-before:]...), before+1
		}
	}
	return string(runes) + end, at
}

// InputErrors are all things that were found wrong, in the order of the file.
type InputErrors []InputError

func (e InputErrors) Error() string {
	var s []string
	for _, x := range e {
		s = append(s, x.Error())
	}
	return strings.Join(s, "\n")
}

// Position is the position of a value in a file.
type Position struct {
	File         string
	Line, Column int
}

// String is file:line:column.
func (p Position) String() string {
	return fmt.Sprintf("%s:%d:%d", text.Shown(p.File), p.Line, p.Column)
}

// Reader reads the values of a file, and of the files that it names, and collects errors.
type Reader struct {
	files map[string][]byte // by the name that errors give them
	// Bound is what stands for the $key at a place, now.
	Bound  map[Position]string
	errors InputErrors
	failed []Position        // of errors
	unsaid map[Position]bool // of those that are too many
	kind   FileKind
	once   bool // a place has one error at most
	// repeated is how often a place has been wrong again since then
	repeated int
	used     []use          // parameters that act under conditions, in the order of reading
	idle     map[use]string // why they do not act; "": they do
}

// FileKind is a kind of file, as messages name it.
type FileKind struct {
	Name  string // experiment
	Whole string // an experiment
	First string // what such a file begins with
}

// NewReader returns one for a file of a kind.
func NewReader(k FileKind) *Reader { return &Reader{kind: k} }

// Ok reports whether nothing was wrong so far.
func (r *Reader) OK() bool { return len(r.errors) == 0 }

// Count is how much was wrong so far.
func (r *Reader) Count() int { return len(r.errors) + len(r.unsaid) + r.repeated }

// LineIn is line n of a file that was read, counted from 1; "" if there is none.
func (r *Reader) LineIn(file string, n int) string { return LineOf(r.files[file], n) }

// Remember keeps a file for the excerpts of errors.
func (r *Reader) Remember(file string, data []byte) {
	if r.files == nil {
		r.files = map[string][]byte{}
	}
	r.files[file] = data
}

// LineOf returns line n of a text, counted from 1; "" if there is none.
func LineOf(data []byte, n int) string {
	for ; n > 1; n-- {
		_, rest, more := bytes.Cut(data, []byte("\n"))
		if !more {
			return ""
		}
		data = rest
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return string(line)
}

const (
	mostErrors  = 50   // that are said of one input; of the others their number
	longMessage = 180  // characters of a message: a name is as long as its file allows
	longAllowed = 6000 // and of the list of what is allowed
	longFile    = 300  // and of a file's name, which --set gives
	longFact    = 800  // and of a line of a message of facts, whose names are short, beside that of a file
	mostFacts   = 32   // lines of one
)

// Fail notes an error at a place, once. Of those after the first mostErrors it keeps the number of places.
func (r *Reader) Fail(at Position, allowed, format string, args ...any) {
	r.fail(at, allowed, shorten(fmt.Sprintf(format, args...), longMessage))
}

// Tell notes an error as Fail does, with a message that may have several lines, in each of which whoever made it has
// bounded what a file gives: no line loses its middle.
func (r *Reader) Tell(at Position, message string) {
	lines := strings.Split(message, "\n")
	if more := len(lines) - mostFacts; more > 0 {
		lines = append(lines[:mostFacts], fmt.Sprintf("and %d more", more))
	}
	for i, l := range lines {
		lines[i] = shorten(l, longFile+longFact)
	}
	r.fail(at, "", strings.Join(lines, "\n"))
}

func (r *Reader) fail(at Position, allowed, message string) {
	if r.full(at) {
		return
	}
	e := InputError{File: shorten(at.File, longFile), Line: max(at.Line, 1), Column: max(at.Column, 1), Msg: message,
		Allowed: shorten(allowed, longAllowed)}
	if value, ok := r.Bound[at]; ok {
		e.Msg += " (" + shorten(value, longMessage) + ")"
	}
	for _, o := range r.errors {
		if o.File == e.File && o.Line == e.Line && o.Column == e.Column && (r.once || o.Msg == e.Msg) {
			if r.once {
				r.repeated++
			}
			return
		}
	}
	e.Excerpt, e.Caret = ExcerptOf(LineOf(r.files[at.File], e.Line), e.Column)
	r.errors = append(r.errors, e)
	r.failed = append(r.failed, at)
}

// Again says that what was read is read again with other values: what is wrong at a place that has an error already is
// that error.
func (r *Reader) Again() { r.once = true }

// full reports whether no further error is said. One at a place that has none is counted then.
func (r *Reader) full(at Position) bool {
	if len(r.errors) < mostErrors {
		return false
	}
	if r.unsaid == nil {
		r.unsaid = map[Position]bool{}
	}
	r.unsaid[at] = true
	return true
}

// Err returns what was gathered, in the order of the file.
func (r *Reader) Err() error {
	if r.OK() {
		return nil
	}
	sort.SliceStable(r.errors, func(i, j int) bool {
		a, b := r.errors[i], r.errors[j]
		return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
	})
	for _, at := range r.failed {
		delete(r.unsaid, at)
	}
	if len(r.unsaid) > 0 {
		rest := r.errors[len(r.errors)-1]
		rest.Msg, rest.Allowed, rest.Excerpt, rest.Rest = fmt.Sprintf("and %d more", len(r.unsaid)), "", "", true
		return append(slices.Clip(r.errors), rest)
	}
	return r.errors
}
