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

// read notes the sections that an entry of docs/sources.md lists, but for those of other works that it
// names.
func (w *Works) read(key, entry string) {
	for _, s := range w.sections(entry) {
		if s.owner == "" || s.owner == key {
			w.listed[key] = append(w.listed[key], s.number)
		}
	}
}

// part is a section in a text: the work that stands right before it or before those that it
// follows, "" for none, and the work that was named last.
type part struct{ owner, last, number string }

// sections finds the sections of a text.
func (w *Works) sections(text string) (found []part) {
	if !strings.Contains(text, "§") { // as in most texts, and finding names takes longest
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
			for n := from + 1; n < min(to, from+20); n++ { // the last has its turn
				found = append(found, part{owner, last, m[1] + strconv.Itoa(n)})
			}
		}
	}
	return found
}

// unlisted finds the sections of a text that their work does not have. One that stands alone may be of the
// work that was named last or of home.
func (w *Works) unlisted(text, home string) (wrong []string) {
	for _, s := range w.sections(text) {
		works := []string{s.owner}
		if s.owner == "" {
			works = slices.DeleteFunc([]string{s.last, home}, func(key string) bool { return key == "" })
		}
		if len(works) > 0 && !slices.ContainsFunc(works, func(key string) bool { return w.lists(key, s.number) }) {
			wrong = append(wrong, fmt.Sprintf("docs/sources.md has no §%s of %s", s.number, works[0]))
		}
	}
	return wrong
}

// follows is what may stand between two sections of one work.
var follows = regexp.MustCompile(`^(?:,| and| to| or|;)? $`)

// lists reports whether a work has a section, as far as docs/sources.md says: it lists the section,
// one that it is a part of, or a part of it. Of a work without sections there nothing is known.
func (w *Works) lists(key, section string) bool {
	for _, s := range w.listed[key] {
		if s == section || strings.HasPrefix(s, section+".") || strings.HasPrefix(section, s+".") {
			return true
		}
	}
	return len(w.listed[key]) == 0
}
