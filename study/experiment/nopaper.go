package experiment

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"weir/internal/document"
)

// paperKeys are the keys of a file that belong to its paper.
var paperKeys = []string{"paper", "expect"}

// OmitPaper returns an experiment's file without the paper, its values and its claims, so that a copy can become an
// experiment of the caller's. Comments of what remains are kept. A comment at the top of the file, which is about the
// paper's experiment, is replaced by one that names the original. A file that names no paper is returned as it is.
func OmitPaper(src *Source) ([]byte, error) {
	data := bytes.TrimPrefix(src.Data, []byte("\ufeff"))
	r := document.NewReader(FileKind)
	t := document.Parse(r, src.File, data)
	if err := r.Err(); err != nil {
		return nil, err
	}
	if top.Of(t).Get("paper") == nil {
		return data, nil
	}
	head := fmt.Sprintf("# A copy of %s without its paper, the paper's values and claims.\n", src.Name)
	lines := slices.Collect(strings.Lines(string(data)))
	var b strings.Builder
	b.WriteString(head)
	for i, k := range t.Keys {
		if k.Column != 1 || i > 0 && k.Line == t.Keys[i-1].Line { // the map is in braces: comments cannot be kept
			return []byte(head + flowPaperless(t)), nil
		}
		end := len(lines)
		if i+1 < len(t.Keys) {
			end = aboveKey(lines, t.Keys[i+1].Line-1)
		}
		if slices.Contains(paperKeys, k.Name) {
			continue
		}
		first := k.Line - 1
		if i > 0 {
			first = aboveKey(lines, first)
		}
		b.WriteString(strings.Join(lines[first:end], ""))
	}
	return []byte(strings.TrimRight(b.String(), "\n") + "\n"), nil
}

// aboveKey returns the first of the lines of comments that are directly above a line; both are counted from 0.
func aboveKey(lines []string, line int) int {
	for line > 0 && strings.HasPrefix(lines[line-1], "#") {
		line--
	}
	return line
}

// flowPaperless writes a file again, without what belongs to its paper.
func flowPaperless(t *document.Node) string {
	c := document.Clone(t)
	c.Keys = slices.DeleteFunc(c.Keys, func(e document.Entry) bool { return slices.Contains(paperKeys, e.Name) })
	var b strings.Builder
	c.Write(&b, 0)
	return b.String()
}
