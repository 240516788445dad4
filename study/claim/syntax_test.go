package claim

import "testing"

// TestDescribeSyntax_ExplainsCommonMistakes checks messages of syntax errors between two parts of an expression.
func TestDescribeSyntax_ExplainsCommonMistakes(t *testing.T) {
	for _, x := range []struct{ before, after, general, message, allowed string }{
		{"jain >", "> 1", `unexpected ">"`, `unexpected ">" after "jain >"`, ""},
		{"jain ", "= 1", `unexpected "="`, `"=" is not a comparison`, "=="},
		{"queue < 125 ", "kB", `unexpected "kB"`, `"kB" follows a space`, "a quantity without a space: 125kB"},
		{"queue < 125 ", "jain", `unexpected "jain"`, `unexpected "jain" after "< 125"`, ""},
		{"goodput > 3M", "bit", "bad number syntax: \"3M\"", `"3Mbit" is not a quantity`, "units " + units},
		{"", ">", `unexpected ">"`, `unexpected ">"`, ""},
	} {
		if message, allowed := describeSyntax(x.before, x.after, x.general); message != x.message || allowed != x.allowed {
			t.Errorf("%q|%q: %q, %q", x.before, x.after, message, allowed)
		}
	}
}

// TestOriginalOffset_CountsReplacedText checks offsets before, in and behind parts that were replaced by shorter and
// longer ones.
func TestOriginalOffset_CountsReplacedText(t *testing.T) {
	// point(a=1).x > 5ms > 1 became point_0.x > 0.005 > 1
	all := append(listInsertions("point_0.x > 5ms > 1", []string{"point_0", "point(a=1)"}), insertion{12, 5, "5ms"})
	for offset, want := range map[int]int{0: 0, 3: 0, 7: 10, 10: 13, 12: 15, 14: 15, 17: 18, 20: 21} {
		if got := originalOffset(offset, all); got != want {
			t.Errorf("%d is %d in the file, want %d", offset, got, want)
		}
	}
}
