package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// proseFile has the bounds of pages that exceed a limit: a number, a page and a figure a line. A bound only falls.
const proseFile = "internal/ci/prose.txt"

const (
	maxSentence  = 35      // words
	meanSentence = 25      // words, the average of a page
	noLimit      = 1 << 30 // words of a page
)

// pageLimits are the maximum words by page, outside tables, code and generated parts.
var pageLimits = map[string]int{"README.md": 900, "docs/compare.md": 600, "docs/design.md": 3500, "docs/spec.md": 7000}

// folderLimits are the maximum words of a page by folder. Files of the root folder are guides.
var folderLimits = map[string]int{".": 2500, "docs": 2500, "docs/tutorials": 1000, "docs/schemes": 800,
	"docs/papers": noLimit}

// uncountedPages are lists and pages made by the program.
var uncountedPages = map[string]bool{"CHANGELOG.md": true, "docs/commands.md": true, "docs/warnings.md": true,
	"docs/footprint.md": true, "docs/sources.md": true, "docs/promises.md": true}

// proseFigure is one count of a page with its limit.
type proseFigure struct {
	name         string // page and figure, as in the file of bounds
	count, limit int
}

// wordLimit returns the maximum words of a page. It reports false if the page is not counted.
func wordLimit(name string) (int, bool) {
	if path.Ext(name) != ".md" || uncountedPages[name] {
		return 0, false
	}
	if limit, ok := pageLimits[name]; ok {
		return limit, true
	}
	limit, ok := folderLimits[path.Dir(name)]
	return limit, ok
}

var (
	generatedBlock = regexp.MustCompile(`(?s)<!-- (?:keys: [a-z-]+|sizes|results: [^>]*) -->\n.*?<!-- end -->`)
	htmlComment    = regexp.MustCompile(`(?s)<!--.*?-->`)
	listItem       = regexp.MustCompile(`^\s*(?:[-*+]|\d+\.) +`)
	linkText       = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	codeSpan       = regexp.MustCompile("`[^`]*`")
	sentenceEnd    = regexp.MustCompile(`[.!?:][)"'*_]*(?:\s+|$)`)
)

// proseBlocks returns the paragraphs, list items and headings of Markdown, each on one line, without tables, code
// blocks, generated blocks and comments. Headings keep their #.
func proseBlocks(text string) (blocks []string) {
	text = htmlComment.ReplaceAllString(generatedBlock.ReplaceAllString(text, ""), "")
	var block []string
	flush := func() {
		if len(block) > 0 {
			blocks = append(blocks, strings.Join(block, " "))
		}
		block = nil
	}
	fenced, blank, code := false, true, false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		code = strings.HasPrefix(line, "    ") && (blank || code)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			flush()
			fenced = !fenced
		case fenced || code && trimmed != "":
		case trimmed == "" || strings.HasPrefix(trimmed, "|"):
			flush()
		case strings.HasPrefix(trimmed, "#"):
			flush()
			blocks = append(blocks, trimmed)
		default:
			if marker := listItem.FindString(line); marker != "" {
				flush()
				trimmed = strings.TrimSpace(line[len(marker):])
			}
			block = append(block, trimmed)
		}
		blank = trimmed == ""
	}
	flush()
	return blocks
}

// splitSentences returns the sentences of a paragraph. Text in backquotes counts as one word.
func splitSentences(block string) (sentences []string) {
	block = linkText.ReplaceAllString(codeSpan.ReplaceAllString(block, "code"), "$1")
	for block != "" {
		end := sentenceEnd.FindStringIndex(block)
		if end == nil {
			end = []int{len(block), len(block)}
		}
		sentences = append(sentences, strings.TrimSpace(block[:end[1]]))
		block = block[end[1]:]
	}
	return sentences
}

// countProse returns the figures of a page, and its sentences of more than maxSentence words. The argument limit is the
// maximum number of words of the page.
func countProse(name, text string, limit int) (figures []proseFigure, long []string) {
	words, inSentences, sentences := 0, 0, 0
	for _, block := range proseBlocks(text) {
		heading := strings.HasPrefix(block, "#")
		words += len(strings.Fields(linkText.ReplaceAllString(strings.TrimLeft(block, "#"), "$1")))
		if heading {
			continue
		}
		for _, s := range splitSentences(block) {
			n := len(strings.Fields(s))
			inSentences, sentences = inSentences+n, sentences+1
			if n > maxSentence {
				long = append(long, s)
			}
		}
	}
	mean := 0
	if sentences > 0 {
		mean = (inSentences + sentences - 1) / sentences
	}
	return []proseFigure{
		{name + ": words", words, limit},
		{name + ": words a sentence on average, rounded up", mean, meanSentence},
		{fmt.Sprintf("%s: sentences above %d words", name, maxSentence), len(long), 0},
	}, long
}

// proseFigures counts all pages, in the order of files, and returns the long sentences by page.
func proseFigures(root string, files []string) (figures []proseFigure, long map[string][]string, err error) {
	long = map[string][]string{}
	for _, name := range files {
		limit, ok := wordLimit(name)
		if !ok {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return nil, nil, err
		}
		more, sentences := countProse(name, string(data), limit)
		figures, long[name] = append(figures, more...), sentences
	}
	return figures, long, nil
}

// checkProse returns an error if a figure is above its limit and its bound, if a bound is not needed, or if it is above
// an earlier one. It prints to out the bounds that could be lowered.
func checkProse(root string, files []string, out io.Writer) error {
	figures, _, err := proseFigures(root, files)
	if err != nil {
		return err
	}
	bounds, err := proseBounds(root)
	if err != nil {
		return err
	}
	var wrong []string
	used := map[string]bool{}
	for _, f := range figures {
		bound, listed := bounds[f.name]
		used[f.name] = listed
		switch {
		case f.count > max(f.limit, bound):
			wrong = append(wrong, fmt.Sprintf("%s: %d, at most %d are allowed; `go run ./internal/ci prose PAGE` lists "+
				"long sentences", f.name, f.count, max(f.limit, bound)))
		case listed && f.count < bound:
			fmt.Fprintf(out, "prose: %s: %d, below its bound of %d: `go run ./internal/ci prose -lower` lowers it\n",
				f.name, f.count, bound)
		}
	}
	for _, name := range sortedKeys(bounds) {
		switch {
		case strings.HasPrefix(name, "docs/spec.md:") || strings.HasPrefix(name, "docs/schemes/"):
			wrong = append(wrong, fmt.Sprintf("%s: %s has no bounds above its limits", proseFile, name))
		case !used[name]:
			wrong = append(wrong, fmt.Sprintf("%s: %s is not counted; remove the line", proseFile, name))
		}
	}
	raised, err := raisedBounds(root, proseFile, bounds)
	if err != nil {
		return err
	}
	if wrong = append(wrong, raised...); len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}

// proseBounds reads the file of bounds.
func proseBounds(root string) (map[string]int, error) {
	data, err := os.ReadFile(filepath.Join(root, proseFile))
	if err != nil {
		return nil, err
	}
	return readBounds(proseFile, string(data))
}

// proseCommand prints the figures above their limits, and the long sentences of the pages in args. Without pages it
// checks the figures. With -lower it writes the figures that are below their bounds.
func proseCommand(root string, args []string) error {
	files, err := trackedFiles(root)
	if err != nil {
		return err
	}
	figures, long, err := proseFigures(root, files)
	if err != nil {
		return err
	}
	if len(args) > 0 && args[0] == "-lower" {
		return lowerProse(root, figures)
	}
	for _, f := range figures {
		if f.count > f.limit {
			fmt.Printf("%d %s (at most %d)\n", f.count, f.name, f.limit)
		}
	}
	if len(args) == 0 {
		return checkProse(root, files, os.Stdout)
	}
	for _, name := range args {
		for _, s := range long[name] {
			fmt.Printf("%s: %s\n", name, s)
		}
	}
	return nil
}

// lowerProse writes bounds for the pages that have some: the lower one of figure and bound, and no line for a figure
// within its limit.
func lowerProse(root string, figures []proseFigure) error {
	bounds, err := proseBounds(root)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range figures {
		if bound, ok := bounds[f.name]; ok && f.count > f.limit {
			fmt.Fprintf(&b, "%d %s\n", min(f.count, bound), f.name)
		}
	}
	return os.WriteFile(filepath.Join(root, proseFile), []byte(b.String()), 0o644)
}
