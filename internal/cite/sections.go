package cite

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	// numeral is one section: "§4.2", "§II.C".
	numeral = regexp.MustCompile(`§ ?([0-9A-Z][0-9A-Za-z]*(?:\.[0-9A-Za-z]+)*)`)
	// span is several sections in a row: "§6.2.1 to §6.2.3".
	span = regexp.MustCompile(`^§ ?([0-9.]*\.)?([0-9]+) to §? ?([0-9.]*\.)?([0-9]+)`)
)

// readSections records in w.listed the sections that the entry of docs/sources.md about the work key has, except those
// of other works that it names.
func (w *Works) readSections(key, entry string) {
	for _, s := range w.findSections(entry) {
		if s.owner == "" || s.owner == key {
			w.listed[key] = append(w.listed[key], s.number)
		}
	}
}

// part is a section in a text. The field owner is the work right before it, or before the sections that it follows, or
// "". The field last is the last work named before it.
type part struct{ owner, last, number string }

// findSections returns the sections of a text, of "§2.1 to §2.9" also those between, at most 19.
func (w *Works) findSections(text string) (found []part) {
	if !strings.Contains(text, "§") { // as in most texts; finding names takes longest
		return nil
	}
	named := w.mentions(text)
	owner, last, until := "", "", 0
	for _, at := range numeral.FindAllStringSubmatchIndex(text, -1) {
		if !follows.MatchString(text[until:at[0]]) {
			owner = ""
		}
		for _, m := range named {
			if m.end <= at[0] {
				if last = m.key; between.MatchString(text[m.end:at[0]]) {
					owner = m.key
				}
			}
		}
		found, until = append(found, part{owner, last, text[at[2]:at[3]]}), at[1]
		if m := span.FindStringSubmatch(text[at[0]:]); m != nil && m[1] == m[3] {
			from, _ := strconv.Atoi(m[2])
			to, _ := strconv.Atoi(m[4])
			for n := from + 1; n < min(to, from+20); n++ { // the last one is a match of its own
				found = append(found, part{owner, last, m[1] + strconv.Itoa(n)})
			}
		}
	}
	return found
}

// unlisted returns errors for the sections of a text that their work does not have, according to docs/sources.md. A
// section without a work may belong to the last named work or to home.
func (w *Works) unlisted(text, home string) (wrong []string) {
	for _, s := range w.findSections(text) {
		works := []string{s.owner}
		if s.owner == "" {
			works = slices.DeleteFunc([]string{s.last, home}, func(key string) bool { return key == "" })
		}
		if len(works) > 0 && !slices.ContainsFunc(works, func(key string) bool { return w.hasSection(key, s.number) }) {
			wrong = append(wrong, fmt.Sprintf("docs/sources.md has no §%s of %s", s.number, works[0]))
		}
	}
	return wrong
}

// follows matches text between two sections of one work.
var follows = regexp.MustCompile(`^(?:,| and| to| or|;)? $`)

// hasSection reports whether a work has a section: docs/sources.md lists the section, a section that contains it, or a
// part of it. A work without listed sections has any.
func (w *Works) hasSection(key, section string) bool {
	for _, s := range w.listed[key] {
		if s == section || strings.HasPrefix(s, section+".") || strings.HasPrefix(section, s+".") {
			return true
		}
	}
	return len(w.listed[key]) == 0
}
