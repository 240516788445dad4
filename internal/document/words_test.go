package document

import (
	"fmt"
	"strings"
	"testing"
)

// TestMessagesAreCapped checks that the first errors are reported with the number of the others, and that a message
// shortens a long name.
func TestMessagesAreCapped(t *testing.T) {
	words := make([]string, 9000)
	for i := range words {
		words[i] = fmt.Sprint("word", i)
	}
	r := NewReader(kind)
	for i := range 8000 {
		at := Position{File: "x.yaml", Line: 8000 - i, Column: 1}
		r.FailUnknown(at, "name", fmt.Sprint("wrod", i), words)
		r.FailUnknown(at, "name", fmt.Sprint("wrod", i), words) // again at its place
	}
	said := r.Err().Error()
	if n := strings.Count(said, "unknown "); n != 50 || !strings.HasSuffix(said, "\nand 7950 more") ||
		r.CountErrors() != 8000 {
		t.Errorf("%d of %d: …%s", n, r.CountErrors(), said[len(said)-100:])
	}
	if !strings.Contains(said, "allowed: word49, ") || !strings.Contains(said, ", … and 8995 more") || len(said) > 50*400 {
		t.Errorf("%d bytes: %.1000s", len(said), said)
	}
	long := strings.Repeat("n", 100000)
	r = NewReader(kind)
	r.FailUnknown(Position{File: "--set " + long, Line: 1, Column: 1}, "name", long, []string{"a", long})
	if said := r.Err().Error(); len(said) > 800 || strings.Count(said, "…") != 3 {
		t.Errorf("%d bytes: %.1000s", len(said), said)
	}
}

// TestFailLines_BoundsMessages checks that a message with several lines keeps each of them, up to a limit for long
// input.
func TestFailLines_BoundsMessages(t *testing.T) {
	r := NewReader(kind)
	line := strings.Repeat("rank 7 waits for rank 8, ", 12)
	r.FailLines(Position{File: "x.yaml"}, "it waits\n"+line+"\n"+line)
	if said := r.Err().Error(); strings.Count(said, line) != 2 || strings.Contains(said, "…") {
		t.Error(said)
	}
	r = NewReader(kind)
	r.FailLines(Position{File: "x.yaml"}, strings.Repeat(strings.Repeat("n", 100000)+"\n", 1000))
	if said := r.Err().Error(); len(said) > 40000 || !strings.HasSuffix(said, "\nand 969 more") {
		t.Errorf("%d bytes: …%s", len(said), said[len(said)-100:])
	}
}

// TestFailUnknown_SuggestsNearestWord checks that a suggestion makes the difference from the unknown word visible,
// or that there is no suggestion.
func TestFailUnknown_SuggestsNearestWord(t *testing.T) {
	for _, x := range []struct{ name, word, known, want string }{
		{"the same", "client", "client", ""},
		{"another case", "Client", "client", `; did you mean "client"?`},
		{"what is not printed", "cli\u200bent", "client", `; did you mean "client"?`},
		{"a letter of another alphabet", "cli\u0435nt", "client", `; did you mean "client"? the file has "cli\u0435nt"`},
		{"very long", strings.Repeat("client", 20), strings.Repeat("client", 20) + "s", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := NewReader(kind)
			r.FailUnknown(Position{File: "x.yaml"}, "host", x.word, []string{x.known})
			_, got, _ := strings.Cut(r.Err().Error(), "unknown host ")
			_, got, _ = strings.Cut(got, `"`)
			_, got, _ = strings.Cut(got, `"`)
			if got, _, _ = strings.Cut(got, "; allowed"); got != x.want {
				t.Errorf("%q, want %q", got, x.want)
			}
		})
	}
}

// TestParse_RejectsQuadraticInput checks that input for which the YAML library needs quadratic time is refused
// before parsing.
func TestParse_RejectsQuadraticInput(t *testing.T) {
	lines := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, x := range []struct{ name, text, want string }{
		{"keys", lines(60000, "key%d: 1\n"), "x.yaml:4097:1: the map has more than 4096 keys"},
		{"keys below", "a:\n  b:\n" + lines(5000, "    k%d: x\n"), "x.yaml:4099:5: the map has more than 4096 keys"},
		{"keys of many maps", lines(5000, "- k%d: x\n  other: [1]\n  # none\n"), ""},
		{"keys of two maps", "a:\n" + lines(4000, "  a%d: x\n") + "b:\n" + lines(4000, "  b%d: x\n"), ""},
		{"values", lines(400, "k%d:\n"), "x.yaml:51:4: a value is missing; 50 others before it are missing too"},
		{"values of a list", "a:\n" + lines(400000, "-\n# %d\n"), "a value is missing; 50 others before it are missing too"},
		{"values in braces", "a: {" + lines(100, "k%d, ") + "}", "a value is missing; 50 others before it are missing too"},
		{"values in braces after a colon", "a: {" + lines(100, "k%d:, ") + "}",
			"a value is missing; 50 others before it are missing too"},
		{"a value below a comment", lines(100, "k%d:\n# here\n- x\n"), ""},
		{"lists", lines(100, "k%d:\n  - [a, {b: c}]\n  - - x\n    - y\n"), ""},
		{"words in brackets", "a: [" + lines(100, "k%d, ") + "]", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := NewReader(kind)
			Parse(r, "x.yaml", []byte(x.text)[:min(len(x.text), 999999)])
			err := r.Err()
			if err == nil && x.want != "" || err != nil && (x.want == "" || !strings.Contains(err.Error(), x.want)) {
				t.Errorf("%.300v, want %q", err, x.want)
			}
		})
	}
}

// TestJoinLikely_KeepsNearestWords checks that a message has the words of a long list that are closest to the given
// word, and the number of the others.
func TestJoinLikely_KeepsNearestWords(t *testing.T) {
	words := []string{"hpcc/fig1", "hpcc/joins", "ncf/reaction", "p4abc/fig4", "p4abc/fig5"}
	for _, x := range []struct {
		word string
		most int
		want string
	}{
		{"p4abc/fig6", 2, "p4abc/fig4, p4abc/fig5, … and 3 more"},
		{"joins", 1, "hpcc/joins, … and 4 more"},
		{"p4abc/fig6", 5, "hpcc/fig1, hpcc/joins, ncf/reaction, p4abc/fig4, p4abc/fig5"},
		{strings.Repeat("é", 1000), 1, "hpcc/fig1, … and 4 more"},
		{"", 1, "hpcc/fig1, … and 4 more"},
	} {
		t.Run(x.word+"/"+x.want, func(t *testing.T) {
			if got := JoinLikely(x.word, words, x.most); got != x.want {
				t.Errorf("%s, want %s", got, x.want)
			}
		})
	}
}
