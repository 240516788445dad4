package topology

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// IsPattern reports whether a name has characters that are special in patterns.
func IsPattern(name string) bool { return strings.ContainsAny(name, `*?[\`) }

// matchName reports whether a node's name matches a pattern. Patterns have the syntax of package path and, in addition,
// ranges: h[0-15] has the numbers from 0 to 15, written without leading zeros. Several ranges and numbers are
// separated by commas.
func matchName(pattern, name string) bool { return NewPattern(pattern).Match(name) }

// Pattern is a parsed pattern of names, for comparisons with many names.
type Pattern struct {
	text          string   // of a pattern without ranges
	exact         bool     // text matches only itself
	ranges        [][2]int // of the first number; nil: the pattern has no number in [ ]
	before, after *Pattern
}

// NewPattern parses a pattern with the syntax of matchName. An invalid pattern matches no name.
func NewPattern(pattern string) *Pattern {
	before, ranges, after, ok := splitNumbered(pattern)
	if !ok {
		return &Pattern{text: pattern, exact: !IsPattern(pattern)}
	}
	return &Pattern{ranges: ranges, before: NewPattern(before), after: NewPattern(after)}
}

// Match reports whether the whole name matches the pattern. A number in a range has no leading zeros.
func (p *Pattern) Match(name string) bool {
	if p.exact {
		return name == p.text
	}
	if p.ranges == nil {
		is, err := path.Match(p.text, name)
		return err == nil && is
	}
	for at := range len(name) { // a number may be at any position
		end := at
		for end < len(name) && name[end] >= '0' && name[end] <= '9' {
			end++
		}
		if end == at || at > 0 && name[at-1] >= '0' && name[at-1] <= '9' || name[at] == '0' && end > at+1 {
			continue
		}
		if n, err := strconv.Atoi(name[at:end]); err == nil && isInRanges(p.ranges, n) &&
			p.before.Match(name[:at]) && p.after.Match(name[end:]) {
			return true
		}
	}
	return false
}

// splitNumbered splits a pattern at its first [ … ] that has a comma or a number of several digits. Other brackets have
// single digits, and are equivalent classes of characters. ok is false without such brackets.
func splitNumbered(pattern string) (before string, ranges [][2]int, after string, ok bool) {
	for at := 0; ; {
		open := strings.IndexByte(pattern[at:], '[')
		if open < 0 {
			return "", nil, "", false
		}
		open += at
		length := strings.IndexByte(pattern[open:], ']')
		if length < 0 {
			return "", nil, "", false
		}
		inside := pattern[open+1 : open+length]
		if ranges, ok = parseRanges(inside); ok && len(inside) > 3 {
			return pattern[:open], ranges, pattern[open+length+1:], true
		}
		at = open + length + 1
	}
}

// parseRanges parses 0-15 or 0-3,8,10-12. ok is false for any other text. A range may end before it begins.
func parseRanges(text string) (all [][2]int, ok bool) {
	for _, part := range strings.Split(text, ",") {
		low, high, ranged := strings.Cut(part, "-")
		if !ranged {
			high = low
		}
		a, err := strconv.ParseUint(low, 10, 31)
		b, err2 := strconv.ParseUint(high, 10, 31)
		if err != nil || err2 != nil {
			return nil, false
		}
		all = append(all, [2]int{int(a), int(b)})
	}
	return all, true
}

// isInRanges reports whether a range, with both of its ends, contains n.
func isInRanges(ranges [][2]int, n int) bool {
	for _, r := range ranges {
		if n >= r[0] && n <= r[1] {
			return true
		}
	}
	return false
}

// numberRanges has the ranges of numbers of a pattern's [ ], and its position.
type numberRanges struct {
	open, end int // offsets in the pattern, brackets included
	ranges    [][2]int
	digit     bool // it matches one digit, not a number
}

// findNumberRanges returns all [ ] with numbers of a pattern, in order. Two characters, as in [12], are not a number
// but a class.
func findNumberRanges(pattern string) (all []numberRanges) {
	for at := 0; ; {
		open := strings.IndexByte(pattern[at:], '[')
		if open < 0 {
			return all
		}
		open += at
		length := strings.IndexByte(pattern[open:], ']')
		if length < 0 {
			return all
		}
		inside := pattern[open+1 : open+length]
		at = open + length + 1
		if ranges, ok := parseRanges(inside); ok && (len(inside) != 2) { // [12] is 1 or 2
			all = append(all, numberRanges{open, at, ranges, len(inside) <= 3})
		}
	}
}

// FindBackwardRange returns the first range of a pattern that ends before it begins, such as 3-0, and its reverse; ""
// if there is no such range.
func FindBackwardRange(pattern string) (is, meant string) {
	for _, x := range findNumberRanges(pattern) {
		for _, r := range x.ranges {
			if r[0] > r[1] {
				return fmt.Sprintf("%d-%d", r[0], r[1]), fmt.Sprintf("%d-%d", r[1], r[0])
			}
		}
	}
	return "", ""
}

// FindAbsent returns the numbers of a pattern's ranges that no matching name has, as h16 … h99, and the pattern of the
// numbers that names have; "": names have all numbers. matching has all names that match. Ranges are examined one by
// one, except digits next to wildcards or other brackets, as in h[1-9]*.
func FindAbsent(pattern string, matching []string) (absent, there string) {
	for _, x := range findNumberRanges(pattern) {
		before, after := pattern[:x.open], pattern[x.end:]
		if after != "" && strings.ContainsRune("*?[", rune(after[0])) || strings.HasSuffix(before, "]") {
			continue
		}
		seen := map[int]bool{}
		var numbers []int
		for _, name := range matching {
			for at := 0; at < len(name); at++ {
				end := at
				for end < len(name) && name[end] >= '0' && name[end] <= '9' && (!x.digit || end == at) {
					end++
				}
				n, err := strconv.Atoi(name[at:end])
				if err == nil && isInRanges(x.ranges, n) && !seen[n] && matchName(before+name[at:end]+after, name) {
					seen[n], numbers = true, append(numbers, n)
				}
				at = max(at, end-1)
			}
		}
		var has, lacks [][2]int
		slices.Sort(numbers)
		for _, r := range x.ranges {
			next := r[0]
			for _, n := range numbers {
				if n < next || n > r[1] {
					continue
				}
				if n > next {
					lacks = append(lacks, [2]int{next, n - 1})
				}
				if k := len(has) - 1; k >= 0 && has[k][1] == n-1 {
					has[k][1] = n
				} else {
					has = append(has, [2]int{n, n})
				}
				next = n + 1
			}
			if next <= r[1] {
				lacks = append(lacks, [2]int{next, r[1]})
			}
		}
		if lacks != nil {
			return formatSpans(lacks, ", ", " … ", before, after),
				before + "[" + formatSpans(has, ",", "-", "", "") + "]" + after
		}
	}
	return "", ""
}

// formatSpans formats the first of some ranges, with a separator between them and "…" after the first five. A range of
// several numbers has its ends joined by dash. prefix and suffix are around each number.
func formatSpans(all [][2]int, separator, dash, prefix, suffix string) string {
	const most = 5
	var parts []string
	for _, r := range all[:min(len(all), most)] {
		part := prefix + strconv.Itoa(r[0]) + suffix
		if r[1] > r[0] {
			part += dash + prefix + strconv.Itoa(r[1]) + suffix
		}
		parts = append(parts, part)
	}
	if len(all) > most {
		parts = append(parts, "…")
	}
	return strings.Join(parts, separator)
}
