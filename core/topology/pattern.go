package topology

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// IsPattern reports whether a name has anything that Match reads as more than itself.
func IsPattern(name string) bool { return strings.ContainsAny(name, `*?[\`) }

// match reports whether a node's name matches a pattern: those of package path, and besides h[0-15] with the numbers
// from 0 to 15, written without leading zeros; several ranges and numbers stand apart by commas.
func match(pattern, name string) bool { return NewPattern(pattern).Match(name) }

// Pattern is a pattern of names that is read once and compared with many names.
type Pattern struct {
	text          string   // of one without ranges
	exact         bool     // text matches only itself
	ranges        [][2]int // of the first number; nil: the text has no number in [ ]
	before, after *Pattern
}

// NewPattern reads a pattern as Match does.
func NewPattern(pattern string) *Pattern {
	before, ranges, after, ok := numbered(pattern)
	if !ok {
		return &Pattern{text: pattern, exact: !IsPattern(pattern)}
	}
	return &Pattern{ranges: ranges, before: NewPattern(before), after: NewPattern(after)}
}

// Match reports whether a name matches the pattern.
func (p *Pattern) Match(name string) bool {
	if p.exact {
		return name == p.text
	}
	if p.ranges == nil {
		is, err := path.Match(p.text, name)
		return err == nil && is
	}
	for at := range len(name) { // a number may stand at any place
		end := at
		for end < len(name) && name[end] >= '0' && name[end] <= '9' {
			end++
		}
		if end == at || at > 0 && name[at-1] >= '0' && name[at-1] <= '9' || name[at] == '0' && end > at+1 {
			continue
		}
		if n, err := strconv.Atoi(name[at:end]); err == nil && within(p.ranges, n) &&
			p.before.Match(name[:at]) && p.after.Match(name[end:]) {
			return true
		}
	}
	return false
}

// numbered cuts a pattern at its first [ … ] with numbers of which one has several digits, or with a comma: what has
// one digit is a class of characters, which means the same.
func numbered(pattern string) (before string, ranges [][2]int, after string, ok bool) {
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
		if ranges, ok = rangesOf(inside); ok && len(inside) > 3 {
			return pattern[:open], ranges, pattern[open+length+1:], true
		}
		at = open + length + 1
	}
}

// rangesOf reads 0-15 or 0-3,8,10-12.
func rangesOf(text string) (all [][2]int, ok bool) {
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

func within(ranges [][2]int, n int) bool {
	for _, r := range ranges {
		if n >= r[0] && n <= r[1] {
			return true
		}
	}
	return false
}

// explicit are the ranges of numbers that a pattern has in [ ], with where they stand.
type explicit struct {
	open, end int // of the pattern, the brackets included
	ranges    [][2]int
	digit     bool // one is compared with a digit, not with a number
}

func explicits(pattern string) (all []explicit) {
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
		if ranges, ok := rangesOf(inside); ok && (len(inside) != 2) { // [12] is 1 or 2
			all = append(all, explicit{open, at, ranges, len(inside) <= 3})
		}
	}
}

// Backwards is the first range of a pattern that ends before it begins, such as 3-0, and the other way round; "": there
// is none.
func Backwards(pattern string) (is, meant string) {
	for _, x := range explicits(pattern) {
		for _, r := range x.ranges {
			if r[0] > r[1] {
				return fmt.Sprintf("%d-%d", r[0], r[1]), fmt.Sprintf("%d-%d", r[1], r[0])
			}
		}
	}
	return "", ""
}

// Absent says of a pattern and all names that match it which numbers of its ranges none of them has, as h16 … h99, and
// the pattern with those that some have; "": each number is there. Ranges are looked at one by one, but for digits
// that others may follow or precede, as in h[1-9]*.
func Absent(pattern string, matching []string) (absent, there string) {
	for _, x := range explicits(pattern) {
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
				if err == nil && within(x.ranges, n) && !seen[n] && match(before+name[at:end]+after, name) {
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
			return spans(lacks, ", ", " … ", before, after), before + "[" + spans(has, ",", "-", "", "") + "]" + after
		}
	}
	return "", ""
}

// spans writes the first of some ranges, with what stands around each number.
func spans(all [][2]int, between, to, before, after string) string {
	const most = 5
	var parts []string
	for _, r := range all[:min(len(all), most)] {
		part := before + strconv.Itoa(r[0]) + after
		if r[1] > r[0] {
			part += to + before + strconv.Itoa(r[1]) + after
		}
		parts = append(parts, part)
	}
	if len(all) > most {
		parts = append(parts, "…")
	}
	return strings.Join(parts, between)
}
