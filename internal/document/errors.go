package document

import (
	"bytes"
	"fmt"
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
}

func (e InputError) Error() string {
	s := fmt.Sprintf("%s:%d:%d: %s", text.Shown(e.File), e.Line, e.Column, e.Msg)
	if e.Allowed != "" {
		s += "; allowed: " + e.Allowed
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

// Place is where a value stands.
type Place struct {
	File         string
	Line, Column int
}

// Reader reads the values of a file, and of the files that it names, and collects errors.
type Reader struct {
	files map[string][]byte // by the name that errors give them
	// Bound is what stands for the $key at a place, now.
	Bound  map[Place]string
	errors InputErrors
	said   map[string]bool
	kind   Kind
}

// Kind is a kind of file as messages name it.
type Kind struct {
	Name  string // experiment
	Whole string // an experiment
	First string // what such a file begins with
}

// NewReader returns one for a file of a kind.
func NewReader(k Kind) *Reader { return &Reader{kind: k} }

// Ok reports whether nothing was wrong so far.
func (r *Reader) OK() bool { return len(r.errors) == 0 }

// Count is how much was wrong so far.
func (r *Reader) Count() int { return len(r.errors) }

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

// shorten takes the middle out of a message about a very long word.
func shorten(s string) string {
	const begin, end = 100, 80
	r := []rune(s)
	if len(r) <= begin+end {
		return s
	}
	return string(r[:begin]) + "…" + string(r[len(r)-end:])
}

// Fail notes an error at a place, once.
func (r *Reader) Fail(at Place, allowed, format string, args ...any) {
	e := InputError{File: at.File, Line: max(at.Line, 1), Column: max(at.Column, 1),
		Msg: shorten(fmt.Sprintf(format, args...)), Allowed: allowed}
	if value, ok := r.Bound[at]; ok {
		e.Msg += " (" + value + ")"
	}
	key := fmt.Sprintf("%s:%d:%d %s", e.File, e.Line, e.Column, e.Msg)
	if r.said[key] || len(r.errors) >= 20 {
		return
	}
	if r.said == nil {
		r.said = map[string]bool{}
	}
	r.said[key] = true
	e.Excerpt, e.Caret = ExcerptOf(LineOf(r.files[at.File], e.Line), e.Column)
	r.errors = append(r.errors, e)
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
	return r.errors
}

// Nearest returns the word most like s for an error message, "" if none is.
func Nearest(s string, words []string) string {
	best, least := "", max(2, len(s)/3)+1
	for _, w := range words {
		if d := distance(strings.ToLower(s), strings.ToLower(w)); d < least && d < len(s) {
			best, least = w, d
		}
	}
	return best
}

// distance is Levenshtein's, with a swap of neighbours as one.
func distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
