package document

import (
	"fmt"
	"slices"
	"strings"
)

const (
	maxWord     = 64   // bytes of a word that FindNearest accepts
	MaxNear     = 2000 // words that FindNearest compares; no message needs more
	maxListed   = 100  // words that a message lists in full
	shortListed = 20   // words that it lists of a longer list
	fewWords    = 8    // up to this count a message lists all words in place of an unknown one
	nearWords   = 5    // above it, so many of the nearest
)

// FindNearest returns the word nearest to s for an error message, without regard to case. It returns "" if no word is
// near, or if s itself is the nearest. Its cost is bounded for any input: very long words have no nearest one, and only
// the first MaxNear words are compared.
func FindNearest(s string, words []string) string {
	if len(s) > maxWord {
		return ""
	}
	best, least := "", max(2, len(s)/3)+1
	low := strings.ToLower(s)
	for _, w := range words[:min(len(words), MaxNear)] {
		if len(w)-len(s) >= least || len(s)-len(w) >= least || w == s {
			continue
		}
		if d := editDistance(low, strings.ToLower(w)); d < least && d < len(s) {
			best, least = w, d
		}
	}
	return best
}

// editDistance returns the Levenshtein distance of two words in bytes, where a swap of neighbors counts as one edit.
// For a very long b it returns the length of b. It keeps three rows of the table.
func editDistance(a, b string) int {
	var rows [3][2 * maxWord]int
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

// JoinChoices joins the words that a message lists as allowed. Of a very long list it returns the first ones and the
// number of the others.
func JoinChoices(words []string) string {
	said, more := words, ""
	if len(words) > maxListed {
		said, more = words[:shortListed], fmt.Sprintf(" and %d more", len(words)-shortListed)
	}
	short := make([]string, len(said))
	for i, w := range said {
		short[i] = shorten(w, maxWord)
	}
	return strings.Join(short, ", ") + more
}

// JoinNear joins the words that a message lists as allowed in place of s: all words of a short list, else the nearest.
func JoinNear(s string, words []string) string {
	if len(words) <= fewWords {
		return JoinChoices(words)
	}
	return JoinLikely(s, words, nearWords)
}

// JoinLikely joins up to count words of a list that are most similar to s, the nearest first, and adds the number of
// the others.
func JoinLikely(s string, words []string, count int) string {
	if len(words) <= count {
		return JoinChoices(words)
	}
	left, low := slices.Clone(words[:min(len(words), MaxNear)]), strings.ToLower(shorten(s, maxWord))
	far := map[string]int{}
	for _, w := range left {
		name := strings.ToLower(w)
		last := name[strings.LastIndexByte(name, '/')+1:] // users often omit the folder of a name
		if far[w] = min(editDistance(low, name), editDistance(low, last)); strings.Contains(name, low) {
			far[w] = 0
		}
	}
	slices.SortStableFunc(left, func(a, b string) int { return far[a] - far[b] })
	return fmt.Sprintf("%s, … and %d more", JoinChoices(left[:count]), len(words)-count)
}

// suggest returns the part of a message that suggests the probable word, or "". If the unknown word has letters
// beyond ASCII, it adds their code points: letters of several alphabets look the same.
func suggest(word, nearest string) string {
	if nearest == "" {
		return ""
	}
	said := fmt.Sprintf("; did you mean %q?", nearest)
	if ascii := fmt.Sprintf("%+q", word); ascii != fmt.Sprintf("%q", word) {
		said += fmt.Sprintf(" the file has %s", ascii)
	}
	return said
}

// shorten replaces the middle of a text with more than limit characters by "…", so that limit others remain.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	end := limit * 4 / 9
	return string(r[:limit-end]) + "…" + string(r[len(r)-end:])
}

// ShortenName shortens a foreign name for a message.
func ShortenName(s string) string { return shorten(s, maxWord) }
