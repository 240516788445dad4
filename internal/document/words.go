package document

import (
	"fmt"
	"slices"
	"strings"
)

const (
	longestWord = 64   // bytes of a word that a nearest one is looked for
	MostNear    = 2000 // words that it is compared with; no message needs more
	mostListed  = 100  // words that a message lists in full; of more it has the first
	fewListed   = 20
	fewWords    = 8 // words in whose place one that is not known is told all of them
	nearWords   = 5 // and of more the nearest
)

// Nearest returns the word most like s for an error message, "" if none is, or if it is s itself. Its work has
// a bound, whatever a file says: of very long words none is near, and of very many the first are looked at.
func Nearest(s string, words []string) string {
	if len(s) > longestWord {
		return ""
	}
	best, least := "", max(2, len(s)/3)+1
	low := strings.ToLower(s)
	for _, w := range words[:min(len(words), MostNear)] {
		if len(w)-len(s) >= least || len(s)-len(w) >= least || w == s {
			continue
		}
		if d := distance(low, strings.ToLower(w)); d < least && d < len(s) {
			best, least = w, d
		}
	}
	return best
}

// distance is Levenshtein's, with a swap of neighbours as one. It keeps three rows of the table.
func distance(a, b string) int {
	var rows [3][2 * longestWord]int
	before, last, row := rows[0][:], rows[1][:], rows[2][:]
	if len(b) >= len(row) {
		return len(b)
	}
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// Choices joins the words that a message says are allowed; of very many it has the first and their number.
func Choices(words []string) string {
	said, more := words, ""
	if len(words) > mostListed {
		said, more = words[:fewListed], fmt.Sprintf(" and %d more", len(words)-fewListed)
	}
	short := make([]string, len(said))
	for i, w := range said {
		short[i] = shorten(w, longestWord)
	}
	return strings.Join(short, ", ") + more
}

// Near joins the words that a message says are allowed in place of s: all of a few, the nearest of many.
func Near(s string, words []string) string {
	if len(words) <= fewWords {
		return Choices(words)
	}
	return Likely(s, words, nearWords)
}

// Likely joins so many of the words that a message says are allowed, those that are most like s first, as in a
// choice of which most are not what was meant.
func Likely(s string, words []string, most int) string {
	if len(words) <= most {
		return Choices(words)
	}
	left, low := slices.Clone(words[:min(len(words), MostNear)]), strings.ToLower(shorten(s, longestWord))
	far := map[string]int{}
	for _, w := range left {
		name := strings.ToLower(w)
		last := name[strings.LastIndexByte(name, '/')+1:] // often a name is given without its room
		if far[w] = min(distance(low, name), distance(low, last)); strings.Contains(name, low) {
			far[w] = 0
		}
	}
	slices.SortStableFunc(left, func(a, b string) int { return far[a] - far[b] })
	return fmt.Sprintf("%s, … and %d more", Choices(left[:most]), len(words)-most)
}

// meant is what a message says of the word that was probably meant. Words that look alike without being the
// same, for their letters are of several alphabets, are told apart by their numbers.
func meant(word, nearest string) string {
	if nearest == "" {
		return ""
	}
	said := fmt.Sprintf("; did you mean %q?", nearest)
	if ascii := fmt.Sprintf("%+q", word); ascii != fmt.Sprintf("%q", word) {
		said += fmt.Sprintf(" here stands %s", ascii)
	}
	return said
}

// shorten takes the middle out of a text that is longer than what stands around it.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	end := most * 4 / 9
	return string(r[:most-end]) + "…" + string(r[len(r)-end:])
}

// Shorten is a name that somebody else gives, as a message has it.
func Shorten(s string) string { return shorten(s, longestWord) }
