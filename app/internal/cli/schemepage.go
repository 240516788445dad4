package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"weir/internal/command"
	"weir/study/report"
)

var (
	pageLink    = regexp.MustCompile(`\[([^\]]*)\]\(([^)]*)\)`)
	pageItem    = regexp.MustCompile(`^(?:[-*]|\d+\.) `)
	pageComment = regexp.MustCompile(`(?s)<!--.*?-->\n?`)
)

// showPage prints the page of a scheme, if the program has the documentation. If several kinds have a scheme of this
// name, only the first of them has it.
func (a *app) showPage(k kindOf) {
	docs, err := command.DocsCommand.Get()
	if err != nil {
		return
	}
	all := a.listSchemes()
	first := all[slices.IndexFunc(all, func(x kindOf) bool { return x.s.Name == k.s.Name })]
	if text := docs.SchemePage(k.s.Name); text != "" && first.kind == k.kind {
		fmt.Fprintf(a.stdout, "%s\n\n", wrapPage(text, a.lineWidth()))
	}
}

// expandLinks replaces the links of a text on a page about schemes: the command that shows the target follows the text
// of the link. That is weir show for a page about schemes, and weir docs for other pages and for headings. Targets that
// are no pages of the repository follow as they are.
func expandLinks(text string) string {
	return pageLink.ReplaceAllStringFunc(text, func(link string) string {
		m := pageLink.FindStringSubmatch(link)
		file, heading, hasHeading := strings.Cut(m[2], "#")
		name, isPage := strings.CutSuffix(file, ".md")
		page := strings.TrimPrefix(name, "../") // the name of a page in weir docs
		switch {
		case !isPage || strings.Contains(file, "://"):
			return m[1] + " (" + m[2] + ")"
		case hasHeading:
			return m[1] + " (weir docs " + page + "#" + heading + ")"
		case !strings.Contains(name, "/"):
			return m[1] + " (weir show " + name + ")"
		}
		return m[1] + " (weir docs " + page + ")"
	})
}

// wrapPage formats Markdown for a terminal: it wraps paragraphs and list items, replaces the targets of links by
// commands, and aligns tables. Lines of code are kept.
func wrapPage(text string, width int) string {
	var b, block strings.Builder
	var rows [][]string
	indent := ""
	flush := func() {
		if block.Len() > 0 {
			b.WriteString(report.WrapHanging(indent, expandLinks(block.String()),
				strings.Repeat(" ", len(indent)), width) + "\n")
		}
		if len(rows) > 0 {
			b.WriteString(pageTable(rows, width))
		}
		block.Reset()
		rows, indent = nil, ""
	}
	for line := range strings.Lines(pageComment.ReplaceAllString(text, "")) {
		line = strings.TrimRight(line, "\n")
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || strings.HasPrefix(line, "    "):
			flush()
			b.WriteString(line + "\n")
		case strings.HasPrefix(line, "#"):
			flush()
			b.WriteString(strings.TrimLeft(line, "# ") + "\n")
		case strings.HasPrefix(line, "|"):
			rows = append(rows, tableCells(expandLinks(line)))
		default:
			if pageItem.MatchString(line) {
				flush()
				indent, trimmed, _ = strings.Cut(trimmed, " ")
				indent += " "
			}
			block.WriteString(trimmed + " ")
		}
	}
	flush()
	return strings.TrimRight(b.String(), "\n")
}

// tableCells splits a row of a Markdown table.
func tableCells(row string) []string {
	cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// pageTable formats a Markdown table with its head in the first row. If it fits the width, columns are aligned.
// Otherwise each row is a block: the first cell, then a line for each other cell with the head of its column.
func pageTable(rows [][]string, width int) string {
	head, body := rows[0], rows[min(2, len(rows)):]
	widths, total := make([]int, len(head)), 2*len(head)-2
	for i := range head {
		widths[i] = utf8.RuneCountInString(head[i])
		for _, row := range body {
			if i < len(row) {
				widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
			}
		}
		total += widths[i]
	}
	var b strings.Builder
	if total <= width {
		for _, row := range append([][]string{head}, body...) {
			line := ""
			for i := range min(len(row), len(widths)) {
				line += row[i] + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(row[i])+2)
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
		return b.String()
	}
	for _, row := range body {
		b.WriteString(report.WrapText(row[0], width, "  ") + "\n")
		for i := 1; i < min(len(row), len(head)); i++ {
			if row[i] == "" {
				continue
			}
			text := row[i]
			if head[i] != "" && len(head) > 2 {
				text = head[i] + ": " + text
			}
			b.WriteString(report.WrapHanging("    ", text, "    ", width) + "\n")
		}
	}
	return b.String()
}
