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

// InputError is one error in an input file.
type InputError struct {
	File         string
	Line, Column int    // from 1
	Msg          string // what is wrong
	Allowed      string // what would be right; "" if unknown
	Excerpt      string // the line of the file; of a long line, the part around the column
	Caret        int    // position of the column in the excerpt
	Truncated    bool   // it closes a truncated list and gives the number of further errors
	Unplaced     bool   // the message names the file or option, which has no position to show
	Missing      bool   // a key is missing, and Allowed is an example of it
}

// Error returns "file:line:column: message; allowed: …", followed by the excerpt with a caret below the column. For a
// missing key, "add" precedes the example. The position of an option with one word is left out, with its excerpt.
func (e InputError) Error() string {
	if e.Truncated {
		return e.Msg
	}
	s, isWord := text.EscapeLines(e.Msg), isOneWord(e.File)
	switch {
	case e.Unplaced:
	case isWord:
		s = text.EscapeLine(e.File) + ": " + s
	default:
		s = fmt.Sprintf("%s:%d:%d: %s", text.EscapeLine(e.File), e.Line, e.Column, s)
	}
	if e.Allowed != "" && e.Missing {
		s += "; add " + text.EscapeLines(e.Allowed)
	} else if e.Allowed != "" {
		s += "; allowed: " + text.EscapeLines(e.Allowed)
	}
	if e.Excerpt != "" && !isWord {
		s += "\n    " + e.Excerpt + "\n    " + strings.Repeat(" ", e.Caret) + "^"
	}
	return s
}

// isOneWord reports whether the name of an input is an option --set with a value of one word.
func isOneWord(file string) bool {
	setting, isSetting := strings.CutPrefix(file, "--set ")
	_, value, hasValue := strings.Cut(setting, "=")
	return isSetting && hasValue && value != "" && !strings.ContainsAny(value, " \t\r\n{}[],:\"'#&*!|>…")
}

// CutExcerpt returns the part of a line that an error shows, and the position of the column in it, from 0. Columns
// count characters from 1. It replaces characters that a terminal does not print by U+FFFD.
func CutExcerpt(line string, column int) (excerpt string, caret int) {
	const before, after = 60, 40 // columns of a long line
	runes := []rune(strings.TrimRight(line, " \t\r"))
	for i, r := range runes {
		if r == '\t' {
			runes[i] = ' '
		} else if text.ActsOnTerminal(r) {
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

// InputErrors are all errors of an input, in the order of the file.
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

// String returns file:line:column.
func (p Position) String() string {
	return fmt.Sprintf("%s:%d:%d", text.EscapeLine(p.File), p.Line, p.Column)
}

// Reader reads the values of a file and of the files that it names, and collects errors.
type Reader struct {
	files map[string][]byte // by the name that errors use
	// Bound is the current value of the $key at each position.
	Bound   map[Position]string
	errors  InputErrors
	failed  []Position        // positions of errors
	omitted map[Position]bool // positions of errors above the limit
	// failedBounds has each $key at which an error was noted.
	failedBounds map[string]bool
	kind         FileKind
	once         bool // report only one error per position
	// repeated counts further errors at positions that have one
	repeated int
	used     []paramUse          // parameters that act under conditions, in reading order
	idle     map[paramUse]string // why each has no effect; "": it has one
}

// FileKind names a kind of file in messages.
type FileKind struct {
	Name  string // experiment
	Whole string // an experiment
	First string // first key of such a file
}

// NewReader returns an empty reader for a file of the given kind.
func NewReader(k FileKind) *Reader { return &Reader{kind: k} }

// OK reports whether the reader has no errors.
func (r *Reader) OK() bool { return len(r.errors) == 0 }

// CountErrors returns the number of errors, including those that are not listed.
func (r *Reader) CountErrors() int { return len(r.errors) + len(r.omitted) + r.repeated }

// HasFailedBound reports whether an error was noted at a $key of this name, so that a value of the key may be wrong.
func (r *Reader) HasFailedBound(key string) bool { return r.failedBounds["$"+key] }

// LineIn returns line n, from 1, of a file that was read, or "" if there is no such line.
func (r *Reader) LineIn(file string, n int) string { return LineOf(r.files[file], n) }

// Remember keeps a file's contents for the excerpts of errors. The caller does not change data afterwards.
func (r *Reader) Remember(file string, data []byte) {
	if r.files == nil {
		r.files = map[string][]byte{}
	}
	r.files[file] = data
}

// LineOf returns line n of a text, from 1, or "" if there is no such line.
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
	maxErrors   = 50   // listed for one input; the others are counted
	maxMessage  = 180  // characters of a message, since a file can give names of any length
	maxAllowed  = 6000 // characters of the list of allowed values
	maxFileName = 300  // characters of a file's name, which --set can give
	maxFactLine = 800  // characters of one line of facts, in addition to a file's name
	maxFacts    = 32   // lines of one message
)

// Fail notes an error at a position unless that position has the same one; after AllowRepeats, any. The argument
// allowed lists what would be right, or is "". Beyond maxErrors errors, it only counts the positions. Long texts are
// shortened.
func (r *Reader) Fail(place Position, allowed, format string, args ...any) {
	r.addError(place, allowed, shorten(fmt.Sprintf(format, args...), maxMessage))
}

// FailLines notes an error as Fail does, with a message of several lines. The caller has bounded the values in each
// line, so that shortening does not remove the middle of one.
func (r *Reader) FailLines(place Position, message string) {
	lines := strings.Split(message, "\n")
	if more := len(lines) - maxFacts; more > 0 {
		lines = append(lines[:maxFacts], fmt.Sprintf("and %d more", more))
	}
	for i, l := range lines {
		lines[i] = shorten(l, maxFileName+maxFactLine)
	}
	r.addError(place, "", strings.Join(lines, "\n"))
}

// addError notes an error with a message of bounded length, to which it adds the value of a $key at the position. It
// drops duplicates, and counts errors above the limit.
func (r *Reader) addError(place Position, allowed, message string) {
	if r.isFull(place) {
		return
	}
	e := InputError{File: shorten(place.File, maxFileName), Line: max(place.Line, 1), Column: max(place.Column, 1),
		Msg: message, Allowed: shorten(allowed, maxAllowed)}
	if value, ok := r.Bound[place]; ok {
		e.Msg += " (" + shorten(value, maxMessage) + ")"
		name, _, _ := strings.Cut(value, " ")
		if r.failedBounds == nil {
			r.failedBounds = map[string]bool{}
		}
		r.failedBounds[name] = true
	}
	for _, o := range r.errors {
		if o.File == e.File && o.Line == e.Line && o.Column == e.Column && (r.once || o.Msg == e.Msg) {
			if r.once {
				r.repeated++
			}
			return
		}
	}
	e.Excerpt, e.Caret = CutExcerpt(LineOf(r.files[place.File], e.Line), e.Column)
	r.errors = append(r.errors, e)
	r.failed = append(r.failed, place)
}

// AllowRepeats announces that the same input is read again with other values. From then on, a position keeps its first
// error, and further ones there are only counted.
func (r *Reader) AllowRepeats() { r.once = true }

// isFull reports whether the list of errors is full. It then counts the position as one with an error.
func (r *Reader) isFull(place Position) bool {
	if len(r.errors) < maxErrors {
		return false
	}
	if r.omitted == nil {
		r.omitted = map[Position]bool{}
	}
	r.omitted[place] = true
	return true
}

// Err returns all errors as InputErrors in the order of lines and columns, or nil. Above the limit, the last one gives
// the number of further positions.
func (r *Reader) Err() error {
	if r.OK() {
		return nil
	}
	sort.SliceStable(r.errors, func(i, j int) bool {
		a, b := r.errors[i], r.errors[j]
		return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
	})
	for _, at := range r.failed {
		delete(r.omitted, at)
	}
	if len(r.omitted) > 0 {
		rest := r.errors[len(r.errors)-1]
		rest.Msg, rest.Allowed, rest.Excerpt, rest.Truncated = fmt.Sprintf("and %d more", len(r.omitted)), "", "", true
		return append(slices.Clip(r.errors), rest)
	}
	return r.errors
}
