package main

import (
	"slices"
	"strings"
	"testing"
)

// TestProseBlocks checks the extraction of prose: no tables, code, generated blocks and comments.
func TestProseBlocks(t *testing.T) {
	const text = "# A page\n\nOne line\nand the next. Its `code: with. signs` is a word: a [link. text](x.md#y).\n\n" +
		"    code: 1\n\n    more code\n\n| a | table |\n|---|---|\n\n<!-- keys: x -->\n| b |\nwords\n<!-- end -->\n" +
		"- an item\n  goes on\n- another\n\n1. first\n\n```\nfenced words\n```\n<!-- a\ncomment -->Last one\n"
	want := []string{"# A page", "One line and the next. Its `code: with. signs` is a word: a [link. text](x.md#y).",
		"an item goes on", "another", "first", "Last one"}
	if got := proseBlocks(text); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	sentences := []string{"One line and the next.", "Its code is a word:", "a link.", "text."}
	if got := splitSentences(want[1]); !slices.Equal(got, sentences) {
		t.Errorf("%q, want %q", got, sentences)
	}
}

// TestCountProse checks the figures of a page: words, the mean of a sentence rounded up, and long sentences.
func TestCountProse(t *testing.T) {
	long := strings.Repeat("word ", 36) + "end."
	figures, sentences := countProse("p.md", "# Title\n\nTwo words. "+long+"\n", 30)
	want := []proseFigure{{"p.md: words", 40, 30}, {"p.md: words a sentence on average, rounded up", 20, 25},
		{"p.md: sentences above 35 words", 1, 0}}
	if !slices.Equal(figures, want) || len(sentences) != 1 || sentences[0] != long {
		t.Errorf("%v, %q", figures, sentences)
	}
}

// TestWordLimit checks the kinds of pages.
func TestWordLimit(t *testing.T) {
	for name, want := range map[string]int{"README.md": 900, "CONTRIBUTING.md": 2500, "CHANGELOG.md": 0,
		"docs/ai.md":   2500,
		"docs/spec.md": 7000, "docs/schemes/fq.md": 800, "docs/tutorials/x.md": 1000, "docs/sources.md": 0,
		"docs/papers/x.md": noLimit, "core/x.md": 0, "docs/x.svg": 0} {
		if got, ok := wordLimit(name); got != want || ok != (want > 0) {
			t.Errorf("%s: %d, %v; want %d", name, got, ok, want)
		}
	}
}
