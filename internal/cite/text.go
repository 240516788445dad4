package cite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// locator is a place in a work: "§" and a number, "figure 7", "lines 3 to 9".
const locator = `(?:§§? ?[0-9A-Z][0-9A-Za-z.]*` +
	`|(?:[Ee]quations?|eqs?\.|[Ff]igures?|[Ff]igs?\.|[Tt]ables?|[Ll]ines?|[Aa]lgorithms?|[Aa]ppendix|[Aa]ppendices` +
	`|[Ff]ootnotes?|[Tt]heorems?) \(?[0-9A-Z][0-9a-z.]*\b\)?)`

var (
	// section is where a text names a section, which is always a work's.
	section = regexp.MustCompile(`§ ?[0-9A-Z]`)
	// place is any other place that is a work's unless the text is about a file or a picture.
	numbered = regexp.MustCompile(`\b(?:eqs?\.|[Ee]quations?|[Aa]lgorithms?|[Aa]ppendix|[Ff]ootnotes?|[Tt]heorems?) ` +
		`\(?[0-9A-Z]\b`)
	request  = regexp.MustCompile(`\bRFCs? ?([0-9]{3,5})`)
	draft    = regexp.MustCompile(`\bdraft-[a-z][a-z0-9]*(?:-[a-z0-9]+)*`)
	standard = regexp.MustCompile(`\bIEEE P?802[.0-9A-Za-z]*[0-9A-Za-z]`)
	venue    = regexp.MustCompile(`\b(SIGCOMM|NSDI|CoNEXT|INFOCOM|EuroSys|SOSR|SOSP|OSDI|ToN|JSAC|ICPE|TNSM|IMC|HotNets|` +
		`ATC|SIGMETRICS|BS)(?: |, ?| ?')+((?:19|20)?[0-9]{2})\b`)
	others = regexp.MustCompile(`([A-Z][\p{L}-]+) et al\b`)
	// unnamed are documents that are not in the tree.
	unnamed = regexp.MustCompile(`\b[Ff]acts? [A-H][0-9]*\b|\bDESIGN\b|\bnotes/[a-z]`)
	page    = regexp.MustCompile(`[A-Za-z0-9_./-]*[A-Za-z0-9_]\.md(?:#[A-Za-z0-9_-]+)?\b`)
	// between is what may stand between a work's name and its place: "HPCC (SIGCOMM 2019) §4".
	between = regexp.MustCompile(`^(?:'s?)?["”]?(?: \([^()]*\))? ?$`)
	// ahead are words that a place may follow without a work's name between them.
	ahead = []string{"A", "As", "And", "At", "By", "From", "How", "In", "Its", "Of", "On", "Or", "Per", "See",
		"The", "Their",
		"This", "To", "Under", "What", "With", "Without"}
)

// Text finds what a text cites and docs/sources.md does not have. A text is a comment, a
// string, or a paragraph of documentation, on one line. It cites
//
//   - a section, an equation, an algorithm, a footnote, a theorem or an appendix: of the
//     work that it named last before it, else of the first one of the work's room, home;
//   - an RFC, an Internet-Draft, a standard of IEEE 802;
//   - a work by conference and year, or by its first author, which is an entry's text;
//   - a page of this tree, with or without a heading's anchor, which pages has.
//
// What stands before a section's number and looks like a work's name has to be one.
func (w *Works) Text(text, home string, pages func(name string) bool) (wrong []string) {
	fail := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	named := w.mentions(text)
	known := func(form string) bool { _, ok := w.keys[form]; return ok }
	places := append(section.FindAllStringIndex(text, -1), numbered.FindAllStringIndex(text, -1)...)
	for _, at := range places {
		what := text[at[0]:min(len(text), at[1]+4)]
		before := strings.TrimRight(text[:at[0]], " ")
		before = before[strings.LastIndexAny(before, " (")+1:]
		if before == "source:" { // of an experiment's file: a place in the paper that it names
			continue
		}
		ends := slices.ContainsFunc(named, func(m mention) bool {
			return m.end <= at[0] && between.MatchString(text[m.end:at[0]])
		})
		if !ends && looksNamed(before) {
			fail("%q before %q is no work of docs/sources.md", before, what)
		} else if home == "" && !slices.ContainsFunc(named, func(m mention) bool { return m.end <= at[0] }) &&
			!of(text[at[0]:], named, at[0]) {
			fail("%q is of no work: name one of docs/sources.md before it", what)
		}
	}
	for _, m := range request.FindAllStringSubmatch(text, -1) {
		if !known("RFC " + m[1]) {
			fail("docs/sources.md has no RFC %s", m[1])
		}
	}
	for _, m := range draft.FindAllString(text, -1) {
		if !known(m) {
			fail("docs/sources.md has no %s", m)
		}
	}
	for _, m := range standard.FindAllString(text, -1) {
		if !known(m) {
			fail("docs/sources.md has no %s", m)
		}
	}
	for _, m := range venue.FindAllStringSubmatch(text, -1) {
		year := m[2]
		if len(year) == 2 {
			year = "20" + year
			if m[2] > "70" {
				year = "19" + m[2]
			}
		}
		if !known(m[0]) && !strings.Contains(w.text, m[1]+" "+year) {
			fail("docs/sources.md has nothing of %s %s", m[1], year)
		}
	}
	for _, m := range others.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(w.text, m[1]) {
			fail("docs/sources.md has no author %s", m[1])
		}
	}
	for _, m := range unnamed.FindAllString(text, -1) {
		fail("%q is not in the tree", m)
	}
	for _, m := range page.FindAllString(text, -1) {
		if !pages(m) {
			fail("there is no page %s", m)
		}
	}
	return wrong
}

// of reports whether a place is followed by its work: "figure 7 of HPCC".
func of(rest string, named []mention, at int) bool {
	i := strings.Index(rest, " of ")
	return i >= 0 && i < 16 && slices.ContainsFunc(named, func(m mention) bool {
		return m.start >= at+i && m.start <= at+i+len(" of the ")
	})
}

// looksNamed reports whether a word could be a work's name: one with a capital letter or a
// figure that is not another place's.
func looksNamed(word string) bool {
	word = strings.Trim(word, `"'“”()`)
	if word == "" || strings.ContainsAny(word[len(word)-1:], ".,;:)—–=|→") || strings.Contains(word, "§") {
		return false
	}
	if slices.Contains(ahead, word) {
		return false
	}
	return strings.ContainsFunc(word, func(r rune) bool { return r >= 'A' && r <= 'Z' }) || strings.Contains(word, ".md")
}
