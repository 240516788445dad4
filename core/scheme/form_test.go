package scheme

import "testing"

// described has an option of each form that a description distinguishes.
type described struct {
	share   float64
	word    string
	enabled bool
	entries []Pair[int, int]
}

// Params binds the options of described to the fields of c, which keep their values.
func (c *described) Params(p *Params) {
	p.Share(&c.share, "share", "5%", "share", "tests").Above("0%").Max("100%")
	p.Text(&c.word, "word", "a", "word", "tests").Words("a", "b")
	p.Bool(&c.enabled, "enabled", "false", "switch", "tests")
	MapOf(p, &c.entries, parseInt, Ints, "map", "map", "tests").Min("1")
}

// TestDescribeValues_HasFormAndRange checks the description of values of each form.
func TestDescribeValues_HasFormAndRange(t *testing.T) {
	for i, want := range []string{"a share such as 85%, above 0%, at most 100%", "one of a, b", "true or false",
		"a map {key: value, …}, each value a whole number, at least 1"} {
		if got := Bind(&described{}).List()[i].DescribeValues(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestExplainShare_OnlyWithoutPercent checks that only shares above 1 without % are explained.
func TestExplainShare_OnlyWithoutPercent(t *testing.T) {
	for text, want := range map[string]struct {
		share            float64
		percent, example string
	}{"95": {95, "9500%", "95%"}, "0.95": {0.95, "", ""}, "120%": {1.2, "", ""}, "1": {1, "", ""}, "900": {900, "", ""}} {
		if percent, example := ExplainShare(text, want.share); percent != want.percent || example != want.example {
			t.Errorf("%s: %q, %q", text, percent, example)
		}
	}
}
