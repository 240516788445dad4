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
	// section matches a section, which always belongs to a work.
	section = regexp.MustCompile(`§ ?[0-9A-Z]`)
	// numbered matches other places that belong to a work in any text.
	numbered = regexp.MustCompile(`\b(?:eqs?\.|[Ee]quations?|[Aa]lgorithms?|[Aa]ppendix|[Ff]ootnotes?|[Tt]heorems?) ` +
		`\(?[0-9A-Z]\b`)
	// loose matches places that belong to a work if one is named next to them: this tree has figures, too.
	loose = regexp.MustCompile(`\b(?:[Ff]igures?|[Ff]igs?\.|[Tt]ables?|[Ll]ines?) [0-9]`)
	// owner matches a place with the name of its work after it: "lines 3 to 9 of XCP".
	owner = regexp.MustCompile(`^` + locator + `(?:(?:,| and| to)? [0-9]+)* of (?:the )?([\p{L}0-9-]+)`)
	// aside matches brackets between a name and a place: "XCP (2002) §3".
	aside = regexp.MustCompile(` \([^()]*\)$`)
	// acronym matches names that begin with two capitals, as most works' do, title names with a capital, lower words
	// without any.
	acronym  = regexp.MustCompile(`^[A-Z]{2}[A-Za-z0-9]*$`)
	title    = regexp.MustCompile(`^[A-Z][A-Za-z0-9]+$`)
	lower    = regexp.MustCompile(`^[a-z]+$`)
	request  = regexp.MustCompile(`(?i)\bRFCs?[ -]?([0-9]{3,5})`)
	draft    = regexp.MustCompile(`\bdraft-[a-z][a-z0-9]*(?:-[a-z0-9]+)*`)
	standard = regexp.MustCompile(`\bIEEE P?802[.0-9A-Za-z]*[0-9A-Za-z]`)
	venue    = regexp.MustCompile(`\b(SIGCOMM|NSDI|CoNEXT|INFOCOM|EuroSys|SOSR|SOSP|OSDI|ToN|JSAC|ICPE|TNSM|IMC|HotNets|` +
		`ATC|SIGMETRICS|BS|ICNP|CCR|ICDCS|APNet|ANCS|PAM|MobiCom|Globecom|VLDB)(?: |, ?| ?')+((?:19|20)?[0-9]{2})\b`)
	others = regexp.MustCompile(`([A-Z][\p{L}-]+) et al\b`)
	// unnamed matches documents that are not in the tree.
	unnamed = regexp.MustCompile(`\b[Ff]acts? [A-H][0-9]*\b|\bDESIGN\b|\bnotes/[a-z]`)
	page    = regexp.MustCompile(`[A-Za-z0-9_./-]*[A-Za-z0-9_]\.md(?:#[A-Za-z0-9_-]+)?\b`)
	// between matches text between a work's name and its place: "HPCC (SIGCOMM 2019) §4".
	between = regexp.MustCompile(`^(?:'s?)?["”]?(?: \([^()]*\))?,? ?$`)
	// ahead are words that may precede a place without a work's name between them.
	ahead = strings.Fields("a against as and at break breaks by from how in is its of on or per see sketch than " +
		"the their this thresholds to trees under what where whereas which with without")
)

// CheckText returns the citations of a text that docs/sources.md does not have. A text is a comment, a string, or a
// paragraph of documentation, on one line. It cites
//
//   - a section, an equation, an algorithm, a footnote, a theorem or an appendix: of the last work named before it,
//     otherwise of home, the first work of the package. If docs/sources.md lists sections of a work, a section has to
//     be one of them, or a part of one, or to have a part there;
//   - a figure, a table or lines next to a name, which has to be a work's: "XCP figure 7", "lines 3 to 9 of XCP";
//     without a name they are this tree's;
//   - an RFC, an Internet-Draft, a standard of IEEE 802;
//   - a work by conference and year, or by its first author, which an entry has to contain;
//   - a page of this tree, with or without a heading's anchor, for which pages returns true.
//
// A word before a section's number that looks like a work's name has to be one.
func (w *Works) CheckText(text, home string, pages func(name string) bool) (wrong []string) {
	fail := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	known := func(form string) bool { _, ok := w.keys[form]; return ok }
	wrong = append(w.checkPlaces(text, home), w.unlisted(text, home)...)
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
		if !regexp.MustCompile(`(?:^|[^\p{L}-])` + regexp.QuoteMeta(m[1]) + `(?:$|[^\p{L}-])`).MatchString(w.text) {
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

// checkPlaces returns errors for places in a text that belong to no work, see CheckText.
func (w *Works) checkPlaces(text, home string) (wrong []string) {
	fail := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	sections, counted := section.FindAllStringIndex(text, -1), numbered.FindAllStringIndex(text, -1)
	all := slices.Concat(sections, counted, loose.FindAllStringIndex(text, -1))
	if len(all) == 0 { // as in most texts; finding names takes longest
		return nil
	}
	named := w.mentions(text)
	for i, at := range all {
		what := text[at[0]:min(len(text), at[1]+4)]
		before := wordBefore(text[:at[0]], i < len(sections))
		if before == "source:" { // in an experiment's file: a place in the paper that it names
			continue
		}
		ends := slices.ContainsFunc(named, func(m mention) bool {
			return m.end <= at[0] && between.MatchString(text[m.end:at[0]])
		})
		if !ends && looksNamed(before, i < len(sections)) {
			fail("%q before %q is no work of docs/sources.md", before, what)
		} else if name := unknownOwner(text[at[0]:], named, at[0]); name != "" {
			fail("%q behind %q is no work of docs/sources.md", name, what)
		} else if i < len(sections)+len(counted) && home == "" &&
			!slices.ContainsFunc(named, func(m mention) bool { return m.end <= at[0] }) &&
			!hasWorkAfter(text[at[0]:], named, at[0]) {
			fail("%q is of no work: name one of docs/sources.md before it", what)
		}
	}
	return wrong
}

// hasWorkAfter reports whether a place is followed by "of" or "of the" and its work: "figure 7 of HPCC". The argument
// rest is the text from the first byte of the place on. start is the offset of that byte in the text to which the
// offsets in named refer. The "of" must begin within 16 bytes.
func hasWorkAfter(rest string, named []mention, start int) bool {
	i := strings.Index(rest, " of ")
	return i >= 0 && i < 16 && slices.ContainsFunc(named, func(m mention) bool {
		return m.start >= start+i && m.start <= start+i+len(" of the ")
	})
}

// unknownOwner returns the name of a place's work after "of" if docs/sources.md does not have it: "lines 3 to 9 of
// XCP". It returns "" otherwise. The arguments are as for hasWorkAfter.
func unknownOwner(rest string, named []mention, start int) string {
	m := owner.FindStringSubmatchIndex(rest)
	if m == nil || slices.ContainsFunc(named, func(n mention) bool { return n.start == start+m[2] }) {
		return ""
	}
	if name := rest[m[2]:m[3]]; looksNamed(name, false) {
		return name
	}
	return ""
}

// wordBefore returns the last word before a place. It skips brackets between them, and a comma after an acronym or,
// before a section, any name; a comma after another word ends a clause.
func wordBefore(text string, section bool) string {
	text = strings.TrimRight(text, " ")
	bare := aside.ReplaceAllString(strings.TrimSuffix(text, ","), "")
	word := bare[strings.LastIndexAny(bare, " ([")+1:]
	if len(bare) == len(text) || acronym.MatchString(word) || section && title.MatchString(word) {
		return word
	}
	return text[strings.LastIndexAny(text, " ([")+1:]
}

// looksNamed reports whether a word could be a work's name: one with a capital letter that belongs to no other place.
// Before a section any word could be, except common words of a sentence.
func looksNamed(word string, section bool) bool {
	word = strings.Trim(word, `"'“”()`)
	if word == "" || strings.ContainsAny(word[len(word)-1:], ".,;:)—–=|→") || strings.Contains(word, "§") {
		return false
	}
	if slices.Contains(ahead, strings.ToLower(word)) {
		return false
	}
	if section && lower.MatchString(word) {
		return true
	}
	return strings.ContainsFunc(word, func(r rune) bool { return r >= 'A' && r <= 'Z' }) || strings.Contains(word, ".md")
}
