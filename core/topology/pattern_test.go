package topology

import (
	"fmt"
	"strings"
	"testing"
)

// Ranges of numbers mean each number in them and nothing else; everything else is as in package path.
func TestMatch(t *testing.T) {
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
				if Match(x.pattern, name) {
					got = append(got, name)
				}
			}
			if strings.Join(got, " ") != x.matches {
				t.Errorf("%v, want %s", got, x.matches)
			}
		})
	}
}

// A range matches the numbers that it says, whatever they are.
func FuzzMatch(f *testing.F) {
	f.Add(0, 15, 7, "h", "")
	f.Fuzz(func(t *testing.T, low, high, n int, before, after string) {
		if low < 0 || high < low || n < 0 || max(high, n) > 1e9 || strings.ContainsAny(before+after, `*?[]\0123456789`) {
			return
		}
		pattern := fmt.Sprintf("%s[%d-%d,%d]%s", before, low, high, high, after)
		if got, want := Match(pattern, fmt.Sprint(before, n, after)), n >= low && n <= high; got != want &&
			!strings.Contains(before+after, "/") {
			t.Errorf("%q, %d: %v", pattern, n, got)
		}
	})
}
