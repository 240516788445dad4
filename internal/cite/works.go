package cite

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// Works holds the works that may be cited: the entries of docs/sources.md.
type Works struct {
	keys  map[string]string // by key or short form: the key
	text  string            // all entries, one space between words
	names *regexp.Regexp    // a key or a short form, the longest first

	listed map[string][]string // by key: the sections that the entry names
}

// short matches the line of an entry with other forms of its key.
var short = regexp.MustCompile(`^Also cited as (.*)\.$`)

// quoted matches one of these forms.
var quoted = regexp.MustCompile("`([^`]+)`")

// ReadWorks reads docs/sources.md: each heading of level three is the key of a work. A line "Also cited as `A`, `B`."
// right below it gives other forms; a description of the work follows. A key without a description of five words or
// more, or twice, is an error.
func ReadWorks(markdown string) (*Works, error) {
	w := &Works{keys: map[string]string{}, listed: map[string][]string{},
		text: strings.Join(strings.Fields(markdown), " ")}
	add := func(form, key string) error {
		if other, ok := w.keys[form]; ok {
			return fmt.Errorf("%q stands for %q and for %q", form, other, key)
		}
		w.keys[form] = key
		return nil
	}
	key, words := "", 0
	entries := map[string]string{}
	flush := func() error {
		if key != "" && words < 5 {
			return fmt.Errorf("work %q has no reference entry", key)
		}
		return nil
	}
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		switch m := short.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "#"):
			if err := flush(); err != nil {
				return nil, err
			}
			key, words = "", 0
			if heading, ok := strings.CutPrefix(line, "### "); ok {
				key = heading
				if err := add(key, key); err != nil {
					return nil, err
				}
			}
		case m != nil && key != "":
			for _, form := range quoted.FindAllStringSubmatch(m[1], -1) {
				if err := add(form[1], key); err != nil {
					return nil, err
				}
			}
		default:
			words += len(strings.Fields(line))
			entries[key] += line + " "
		}
	}
	if err := flush(); err != nil {
		return nil, err
	}
	var forms []string
	for form := range w.keys {
		forms = append(forms, regexp.QuoteMeta(form))
	}
	if len(forms) == 0 {
		return nil, fmt.Errorf("no work: headings of level three are their keys")
	}
	sort.Slice(forms, func(i, j int) bool {
		return len(forms[i]) > len(forms[j]) || len(forms[i]) == len(forms[j]) && forms[i] < forms[j]
	})
	w.names = regexp.MustCompile(strings.Join(forms, "|"))
	for key, entry := range entries {
		w.readSections(key, entry)
	}
	return w, nil
}

// Key returns the key of the work with a form, ignoring case; "" if it is unknown.
func (w *Works) Key(form string) string {
	for f, key := range w.keys {
		if strings.EqualFold(f, form) {
			return key
		}
	}
	return ""
}

// Keys returns the works' keys in alphabetical order.
func (w *Works) Keys() []string {
	var keys []string
	for form, key := range w.keys {
		if form == key {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	return keys
}

// mention is a work's name in a text, from start to end.
type mention struct {
	start, end int
	key        string
}

// mentions returns the works named in a text, whole words only.
func (w *Works) mentions(text string) (found []mention) {
	for at := 0; at < len(text); {
		m := w.names.FindStringIndex(text[at:])
		if m == nil {
			break
		}
		start, end := at+m[0], at+m[1]
		if start > 0 && isNameByte(text[start-1]) || end < len(text) && isNameByte(text[end]) &&
			!(text[end] == '-' && (end+1 == len(text) || text[end+1] == ' ')) {
			at = start + 1
			continue
		}
		found = append(found, mention{start, end, w.keys[text[start:end]]})
		at = end
	}
	return found
}

// isNameByte reports whether a byte next to a name makes it part of a longer one.
func isNameByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '_' || b == '/'
}
