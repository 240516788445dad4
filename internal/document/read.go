package document

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"weir/core/unit"
)

// CheckKeys checks that t is a map with no keys except the allowed ones, and notes an error for each other key. The
// argument what names a key in errors. It reports whether t is a map.
func (r *Reader) CheckKeys(t *Node, what string, allowed []string) bool {
	if t.Kind != Mapping {
		r.Fail(t.Position, "a map with "+JoinChoices(allowed), "the value is %v", t.Kind)
		return false
	}
	for _, k := range t.Keys {
		if !slices.Contains(allowed, k.Name) {
			r.FailUnknown(k.Position, what, k.Name, allowed)
		}
	}
	return true
}

// FailMissing notes that a map lacks a key, or that an unknown key was probably meant to be this one. The argument what
// names a key in errors, known has all allowed keys, and allowed is an example of the missing one. The format is of the
// error for a missing key.
func (r *Reader) FailMissing(t *Node, key, what string, known []string, allowed, format string, args ...any) {
	for _, k := range t.Keys[:min(len(t.Keys), MaxNear)] {
		if slices.Contains(known, k.Name) || FindNearest(k.Name, known) != key {
			continue
		}
		if slices.Contains(r.failed, k.Position) || r.omitted[k.Position] {
			return // the error is noted already
		}
		r.FailUnknown(k.Position, what, k.Name, known)
		return
	}
	count := len(r.errors)
	r.Fail(t.Position, allowed, format, args...)
	if len(r.errors) > count {
		r.errors[count].Missing = true
	}
}

// ReadDefault returns a key's value. If it is missing, ReadDefault fills in the value standard with the source from and
// returns it. It also marks t for SortKeys.
func (r *Reader) ReadDefault(t *Node, key, standard, from string) *Node {
	t.declared = true
	if v := t.Find(key); v != nil {
		return v
	}
	return t.fill(key, standard, from)
}

// ReadText returns a scalar's text. It notes an error and returns "" for a list or a map.
func (r *Reader) ReadText(t *Node) string {
	if t.Kind != Scalar {
		r.Fail(t.Position, "a plain value", "the value is %v", t.Kind)
		return ""
	}
	return t.Text
}

// ReadInteger returns a number from low to high. It notes an error and returns low if the value is not such a number.
func (r *Reader) ReadInteger(t *Node, low, high int) int {
	n, err := strconv.Atoi(r.ReadText(t))
	switch {
	case t.Kind != Scalar:
		return low // ReadText has noted the error
	case err != nil || n < low || n > high:
		r.Fail(t.Position, fmt.Sprintf("%d … %d", low, high), "%q is not a whole number in the range", t.Text)
		return low
	}
	return n
}

// ReadValue parses a plain value with the parser of a unit. It notes an error and returns the parser's value if that
// fails.
func ReadValue[T any](r *Reader, t *Node, parse func(string) (T, error)) T {
	v, _ := ReadValid(r, t, parse)
	return v
}

// ReadValid works as ReadValue, and reports whether the value is valid.
func ReadValid[T any](r *Reader, t *Node, parse func(string) (T, error)) (T, bool) {
	v, err := parse(r.ReadText(t))
	if err != nil && t.Kind == Scalar {
		r.Fail(t.Position, "", "%v", err)
	}
	return v, err == nil && t.Kind == Scalar
}

// ReadPositiveTime returns a time above 0. For any other value it notes an error and returns the smallest time, one
// picosecond.
func (r *Reader) ReadPositiveTime(t *Node) unit.Time {
	v, ok := ReadValid(r, t, unit.ParseTime)
	if ok && v <= 0 {
		r.Fail(t.Position, "a time above 0", "%q is not above 0", t.Text)
	}
	return max(v, 1)
}

// ReadWord returns a plain value and notes an error if it is not one of the words. It returns an unknown word, too. The
// argument what names the value in errors.
func (r *Reader) ReadWord(t *Node, what string, words []string) string {
	w := r.ReadText(t)
	if t.Kind == Scalar && !slices.Contains(words, w) {
		r.FailUnknown(t.Position, what, w, words)
	}
	return w
}

// PositionIn converts a line and column of a file that the spec names to a position. Column counts bytes; the position
// counts characters.
func (r *Reader) PositionIn(name string, line, column int) Position {
	text := r.LineIn(name, line)
	return Position{name, line, utf8.RuneCountInString(text[:min(max(column-1, 0), len(text))]) + 1}
}

// SplitNamed splits an entry that is a name or {name: {parameters}} into name and parameters. It expands a name into
// such a map in place. It notes an error and returns "" and nil for any other entry. The argument what names the entry
// in errors.
func (r *Reader) SplitNamed(t *Node, what string) (string, *Node) {
	if t.Kind == Scalar {
		// the resolved file needs a place for the parameters
		params := &Node{Position: t.Position, Kind: Mapping}
		name := t.Text
		*t = Node{Position: t.Position, Kind: Mapping, Keys: []Entry{{t.Position, name, params}}, Orig: t.Orig, From: t.From}
		return name, params
	}
	if t.Kind != Mapping || len(t.Keys) != 1 || t.Keys[0].Value.Kind != Mapping {
		r.Fail(t.Position, "name, or {name: {parameter: value}}", "the entry does not name a %s", what)
		return "", nil
	}
	return t.Keys[0].Name, t.Keys[0].Value
}

// FailUnknown notes that a word is not one of the allowed words, and suggests the nearest one. The argument what names
// the kind of word.
func (r *Reader) FailUnknown(place Position, what, word string, words []string) {
	if r.isFull(place) { // avoid the search for the nearest word
		return
	}
	nearest := FindNearest(word, words)
	r.Fail(place, JoinNear(word, words), "unknown %s %q%s", what, word, suggest(word, nearest))
}
