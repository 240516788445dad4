package topology

import (
	"path"
	"strconv"
	"strings"
)

// IsPattern reports whether a name has anything that Match reads as more than itself.
func IsPattern(name string) bool { return strings.ContainsAny(name, `*?[\`) }

// Match reports whether a node's name matches a pattern: those of package path, and besides h[0-15] with the numbers
// from 0 to 15, written without leading zeros; several ranges and numbers stand apart by commas.
func Match(pattern, name string) bool {
	before, ranges, after, ok := numbered(pattern)
	if !ok {
		is, err := path.Match(pattern, name)
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
		if n, err := strconv.Atoi(name[at:end]); err == nil && within(ranges, n) && Match(before, name[:at]) &&
			Match(after, name[end:]) {
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
