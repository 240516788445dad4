package testkit

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	errorPlace  = regexp.MustCompile(`(?m)^(?:weir: )?([^\s:][^:\n]*:\d+:\d+: .*)$`)
	nearestName = regexp.MustCompile(`did you mean [^;?]*\?`)
	listStart   = regexp.MustCompile(`(?:allowed: |allowed are |; add |one of (?:the units )?|a map with )`)
	listKey     = regexp.MustCompile(`^[a-z_]+: `)
	countOfMore = regexp.MustCompile(`^(\S+) and (\d+) more$`)
	quotedText  = regexp.MustCompile(`"[^"]*"`)
	anyNumber   = regexp.MustCompile(`\S*\d\S*`)
	firstPlace  = regexp.MustCompile(`^[^:\n]*:\d+:\d+: `)
)

// RemoveLists replaces each list of allowed names in an error by "…", so that a new name does not change golden
// files. A list consists of words separated by commas. It keeps limits, examples and explanations, which contain
// spaces.
func RemoveLists(text string) string {
	var b strings.Builder
	for {
		at := listStart.FindStringIndex(text)
		if at == nil {
			return b.String() + text
		}
		b.WriteString(text[:at[1]])
		text = text[at[1]:]
		if n := listLength(text); n > 0 {
			b.WriteString("…")
			text = text[n:]
		}
	}
}

// listLength returns the length in bytes of the list of names at the beginning of a text, or 0 without a list.
func listLength(text string) int {
	if end := strings.IndexAny(text, ";\n("); end >= 0 {
		text = text[:end]
	}
	text = strings.TrimRight(text, " ")
	length, names := 0, 0
	for i, item := range strings.Split(listKey.ReplaceAllString(text, ""), ", ") {
		switch {
		case strings.HasPrefix(item, "or ") && names > 1, strings.HasPrefix(item, "{") && names > 1:
			return length // an example follows
		case strings.Contains(item, " ") && !countOfMore.MatchString(item), strings.HasPrefix(item, "["):
			return 0
		case i > 0:
			length += len(", ")
		}
		length += len(item)
		names++
	}
	if key := listKey.FindString(text); key != "" {
		if names < 2 {
			return 0 // the value of a key is an example
		}
		length += len(key)
	}
	return length
}

// briefError reduces an error to its place, its kind and the nearest name, one line for each place. The kind is the
// message up to the first semicolon. It drops lines without a place, such as excerpts and carets. A text without any
// place stays, without its lists.
func briefError(text string) string {
	places := errorPlace.FindAllStringSubmatch(text, -1)
	if len(places) == 0 {
		return RemoveLists(text)
	}
	var b strings.Builder
	for _, place := range places {
		kind, rest, _ := strings.Cut(place[1], "; ")
		b.WriteString(RemoveLists(kind))
		if near := nearestName.FindString(rest); near != "" {
			b.WriteString("; " + near)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// errorKind returns the kind of the first error in a text: its message without place, quoted text, numbers and the
// nearest name.
func errorKind(text string) string {
	first, _, _ := strings.Cut(briefError(text), "\n")
	kind, _, _ := strings.Cut(firstPlace.ReplaceAllString(first, ""), "; ")
	return anyNumber.ReplaceAllString(quotedText.ReplaceAllString(kind, `""`), "0")
}

// ErrorTexts collects the errors of a golden file: for each error its place, its kind and the nearest name. For
// marked errors it has the full text with the file's line and the caret, without lists of names. Only one error of a
// kind can be marked. The zero value is ready to use.
type ErrorTexts struct {
	text   strings.Builder
	marked map[string]string // names of errors by kind
}

// Heading begins a group of errors.
func (e *ErrorTexts) Heading(heading string) { e.text.WriteString("# " + heading + "\n") }

// AddError appends the error text to the golden file's text. With full, it marks the error. The name is the label of
// its lines. Without one the lines have no label.
func (e *ErrorTexts) AddError(t *testing.T, name, text string, full bool) {
	t.Helper()
	e.text.WriteString(e.FormatError(t, name, text, full))
}

// FormatError returns the text that AddError would append. With full, it also marks the error.
func (e *ErrorTexts) FormatError(t *testing.T, name, text string, full bool) string {
	t.Helper()
	label, indent := name+": ", "  "
	if name == "" {
		label, indent = "", ""
	}
	var b strings.Builder
	if !full {
		for line := range strings.Lines(briefError(text)) {
			b.WriteString(label + line)
		}
		return b.String()
	}
	kind := errorKind(text)
	if other, ok := e.marked[kind]; ok {
		t.Errorf("%s: the golden file has the full text of another error of this kind, %s: %s", name, other, kind)
	}
	if e.marked == nil {
		e.marked = map[string]string{}
	}
	e.marked[kind] = name
	if name != "" {
		b.WriteString(name + ":\n")
	}
	for line := range strings.Lines(RemoveLists(text)) {
		b.WriteString(indent + line)
	}
	return b.String()
}

// CountMarked returns the number of marked errors.
func (e *ErrorTexts) CountMarked() int { return len(e.marked) }

// String returns the golden file's text.
func (e *ErrorTexts) String() string { return e.text.String() }

// CheckList checks the last list of allowed names in the error text. It must have only known names, and list or count
// them all.
func CheckList(t *testing.T, text string, known []string) {
	t.Helper()
	if problem := findListError(text, known); problem != "" {
		t.Errorf("%s: %s", problem, text)
	}
}

// findListError returns the error of the last list in a text, or "" if it has all known names.
func findListError(text string, known []string) string {
	starts := listStart.FindAllStringIndex(text, -1)
	if len(starts) == 0 {
		return "there is no list"
	}
	list := text[starts[len(starts)-1][1]:]
	list = strings.TrimSpace(listKey.ReplaceAllString(list[:listLength(list)], ""))
	count := 0
	for _, name := range strings.Split(list, ", ") {
		if more := countOfMore.FindStringSubmatch(name); more != nil {
			n, _ := strconv.Atoi(more[2])
			count += n
			name = more[1]
		}
		if name == "…" {
			continue
		}
		if count++; !slices.Contains(known, name) {
			return fmt.Sprintf("%q is listed, and is none of %q", name, known)
		}
	}
	if count != len(known) {
		return fmt.Sprintf("%d names are listed or counted, want %d", count, len(known))
	}
	return ""
}
