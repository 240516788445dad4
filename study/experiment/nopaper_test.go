package experiment_test

import (
	"strings"
	"testing"

	"weir/study/experiment"
)

// TestWithoutPaper checks what remains of a file: all but the paper and its claims, with their comments.
func TestWithoutPaper(t *testing.T) {
	const head = "# A copy of p4abc/x without its paper, the paper's values and claims.\n"
	for _, c := range []struct{ name, file, want string }{
		{"comments", "# P4-ABC\n#   weir run p4abc/x\ntitle: A\npaper:        # which\n  name: p4-abc\n  # of it\n" +
			"  figure: 5\n# how long\nduration: 1s  # measured\n\n# what is claimed\nexpect:\n  - id: a\n# where\n" +
			"topology:\n  x: 1\n",
			head + "title: A\n# how long\nduration: 1s  # measured\n\n# where\ntopology:\n  x: 1\n"},
		{"paper first", "# P4-ABC\npaper: {name: a}\n# the title\ntitle: A\n", head + "# the title\ntitle: A\n"},
		{"claims last", "title: A\npaper: {name: a}\nduration: 1s\n\n# 47.8 Mb/s\nexpect: []\n",
			head + "title: A\nduration: 1s\n"},
		{"no line at the end", "paper: {name: a}\ntitle: A", head + "title: A\n"},
		{"mark of byte order", "\ufefftitle: A\npaper: {name: a}\n", head + "title: A\n"},
		{"no paper", "# mine\ntitle: A\nexpect:\n  - id: a\n", "# mine\ntitle: A\nexpect:\n  - id: a\n"},
		{"in braces", "{title: A, paper: {name: a}, duration: 1s}\n", head + "title: A\nduration: 1s\n"},
		{"in braces, by line", "{title: A,\npaper: {name: a},\nduration: 1s}\n", head + "title: A\nduration: 1s\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := experiment.OmitPaper(&experiment.Source{Name: "p4abc/x", File: "x.yaml", Data: []byte(c.file)})
			if err != nil || string(got) != c.want {
				t.Errorf("%v\n%s\nnot\n%s", err, got, c.want)
			}
		})
	}
	if _, err := experiment.OmitPaper(&experiment.Source{File: "x.yaml", Data: []byte("title: [")}); err == nil ||
		!strings.Contains(err.Error(), "x.yaml:1:") {
		t.Errorf("of a file that is not YAML: %v", err)
	}
}
