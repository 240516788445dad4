package cite

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	// option matches the option that a part of a source refers to: "bdp: IRN §3.2".
	option = regexp.MustCompile(`^[a-z0-9_+]+: `)
	// places matches places after a work's key, with the comma or "and" between them.
	places = regexp.MustCompile(`^(?:,? (?:and |to )?(?:` + locator + `|[A-Za-z0-9_-]+\.(?:cc?|cpp|h|p4|py|txt)\b)` +
		`(?: (?:to|and) [0-9A-Z][0-9.]*)?|,? \([^()]*\)|\[[^\]]*\])+`)
	// own matches a part that cites no work.
	own = regexp.MustCompile(`^Weir(?:$|: .)`)
)

// CheckSource checks where a value comes from, as a scheme, a parameter or an experiment states it. A source is one
// part, or several with "; " between them; each is
//
//	Weir
//	Weir: why
//	[option: ]WORK[ (conference and year)][ place][, place | , WORK …][: what it says there | , "its words"]
//
// WORK is a key of docs/sources.md, or one of its other forms. A place is a section, an equation, a figure, a table, a
// line, an algorithm, an appendix, a footnote, a file. A part may begin with a place if the part before it names its
// work. The whole part is checked by CheckText, too: reasons, quotations, and text in brackets.
func (w *Works) CheckSource(source, home string, pages func(name string) bool) error {
	if source == "" {
		return fmt.Errorf("no source")
	}
	last := home
	for _, part := range strings.Split(source, "; ") {
		rest := part
		if m := w.mentions(rest); !own.MatchString(rest) && (len(m) == 0 || m[0].start > 0) {
			rest = rest[len(option.FindString(rest)):]
		}
		if !own.MatchString(rest) {
			var err error
			if last, err = w.readCitations(rest, last); err != nil {
				return fmt.Errorf("%q: %w", part, err)
			}
		}
		if wrong := w.CheckText(rest, last, pages); len(wrong) > 0 {
			return fmt.Errorf("%q: %s", part, wrong[0])
		}
	}
	return nil
}

// readCitations reads works and places from the start of a part, up to the statement about them, and returns the last
// named work. The argument last is the work of places at the start, or "".
func (w *Works) readCitations(part, last string) (work string, err error) {
	for rest := part; ; {
		named := false
		if m := w.mentions(rest); len(m) > 0 && m[0].start == 0 {
			last, rest, named = m[0].key, rest[m[0].end:], true
		} else if places.MatchString(", "+rest) && last != "" {
			rest = ", " + rest
			named = true
		}
		if !named {
			return "", fmt.Errorf("%q is neither a work of docs/sources.md nor \"Weir\"", rest)
		}
		rest = rest[len(places.FindString(rest)):]
		switch {
		case rest == "", strings.HasPrefix(rest, ": "), strings.HasPrefix(rest, `, "`): // the last prefix is a quotation
			return last, nil
		case strings.HasPrefix(rest, ", "):
			rest = rest[2:]
		case strings.HasPrefix(rest, " and "):
			rest = rest[5:]
		default:
			return "", fmt.Errorf("%q is no place in %s; quoted text follows \": \"", strings.TrimSpace(rest),
				last)
		}
	}
}
