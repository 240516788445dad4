package topology

import (
	"fmt"
	"strings"
	"testing"
)

// TestMatchName_MatchesRangesOfNumbers checks that a range of numbers matches exactly the numbers in it. Everything
// else is as in package path.
func TestMatchName_MatchesRangesOfNumbers(t *testing.T) {
	for _, x := range []struct {
		pattern, matches string // of those below
	}{
		{"h[0-15]", "h0 h1 h9 h10 h15"}, {"h[8-11]", "h9 h10"}, {"h[0-9]", "h0 h1 h9"}, {"h[10,16]", "h10 h16"},
		{"h[0-1,15-16]", "h0 h1 h15 h16"}, {"h?", "h0 h1 h9"}, {"h*", "h0 h1 h9 h10 h15 h16 h150"}, {"h15", "h15"},
		{"*[10-12]", "h10 leaf10 rack12"}, {"rack[10-12]*", "rack12 rack12b"}, {"rack[12-12]b", "rack12b"},
		{"[0-15]", ""}, {"h[15-0]", ""}, {"h[0-15", ""}, {"h[a-b]", ""}, {"h[00-15]", "h0 h1 h9 h10 h15"},
		{"*", "h0 h1 h9 h10 h15 h16 h150 leaf10 rack12 rack12b"},
		{"leaf[10-10]", "leaf10"},
	} {
		t.Run(x.pattern, func(t *testing.T) {
			var got []string
			for _, name := range strings.Fields("h0 h1 h9 h10 h15 h16 h150 leaf10 rack12 rack12b") {
				if matchName(x.pattern, name) {
					got = append(got, name)
				}
			}
			if strings.Join(got, " ") != x.matches {
				t.Errorf("%v, want %s", got, x.matches)
			}
		})
	}
}

// FuzzMatchName_MatchesNumbersInRange checks that any range matches exactly its numbers.
func FuzzMatchName_MatchesNumbersInRange(f *testing.F) {
	f.Add(0, 15, 7, "h", "")
	f.Fuzz(func(t *testing.T, low, high, n int, before, after string) {
		if low < 0 || high < low || n < 0 || max(high, n) > 1e9 || strings.ContainsAny(before+after, `*?[]\0123456789`) {
			return
		}
		pattern := fmt.Sprintf("%s[%d-%d,%d]%s", before, low, high, high, after)
		if got, want := matchName(pattern, fmt.Sprint(before, n, after)), n >= low && n <= high; got != want &&
			!strings.Contains(before+after, "/") {
			t.Errorf("%q, %d: %v", pattern, n, got)
		}
	})
}

// TestFindAbsent_FindsMissingRangeNumbers checks that numbers of a range without a name are found, range by range. A
// pattern without a range has no missing ones.
func TestFindAbsent_FindsMissingRangeNumbers(t *testing.T) {
	names := strings.Fields("h0 h1 h2 h3 h5 h15 h16 leaf0 leaf1 leaf10 r0h0 r0h1 r1h0")
	for _, x := range []struct{ pattern, absent, there string }{
		{"h[0-3]", "", ""}, {"h[0-5]", "h4", "h[0-3,5]"}, {"h[0-99]", "h4, h6 … h14, h17 … h99", "h[0-3,5,15-16]"},
		{"h[0-1,15-16]", "", ""}, {"h[0-1,15-17]", "h17", "h[0-1,15-16]"}, {"leaf[0-9]", "leaf2 … leaf9", "leaf[0-1]"},
		{"leaf[0-9]*", "", ""}, {"h[1-9][0-9]", "", ""}, {"h*", "", ""}, {"h?", "", ""}, {"h[12]", "", ""},
		{"h[2]", "", ""}, {"r[0-1]h[0-1]", "", ""}, {"r[0-1]h[0-2]", "r[0-1]h2", "r[0-1]h[0-1]"},
		{"r[0-10]h0", "r2h0 … r10h0", "r[0-1]h0"}, {"h[0-2000000000]", "h4, h6 … h14, h17 … h2000000000", "h[0-3,5,15-16]"},
		{"h[0,2,4,6,8,10,12]", "h4, h6, h8, h10, h12", "h[0,2]"},
	} {
		t.Run(x.pattern, func(t *testing.T) {
			var matching []string
			for _, name := range names {
				if matchName(x.pattern, name) {
					matching = append(matching, name)
				}
			}
			if absent, there := FindAbsent(x.pattern, matching); absent != x.absent || there != x.there {
				t.Errorf("%q, %q, want %q, %q", absent, there, x.absent, x.there)
			}
		})
	}
}

// TestFindBackwardRange_FindsReversedRange checks that a range that ends before it begins is found.
func TestFindBackwardRange_FindsReversedRange(t *testing.T) {
	for pattern, want := range map[string]string{"h[3-0]": "3-0", "h[0-3,15-8]": "15-8", "h[0-3]": "", "[b-a]": "",
		"h*": ""} {
		if is, _ := FindBackwardRange(pattern); is != want {
			t.Errorf("%s: %q, want %q", pattern, is, want)
		}
	}
}
