package report

import (
	"strings"
	"unicode/utf8"

	"weir/internal/text"
)

// Width is that of a terminal of which nothing is known.
const Width = 80

// style is how a piece of text looks on a terminal that shows colours.
type style uint8

const (
	plain style = iota
	strong
	faint
	good
	bad
	unsure
)

// codes are the attributes of styles (ECMA-48 §8.3.117): colours that are readable on light and dark are the
// terminal's own.
var codes = [...]string{plain: "", strong: "1", faint: "2", good: "1;32", bad: "1;31", unsure: "1;33"}

// bit is a piece of a line.
type bit struct {
	text string
	style
}

// sheet is what a terminal shows. With colours it has what others wrote already escaped, so that nothing but its own
// codes acts on the terminal; without, its writer does that.
type sheet struct {
	b     strings.Builder
	width int
	color bool
}

func (s *sheet) line(spans ...bit) {
	last := len(spans) - 1
	for last >= 0 && strings.TrimRight(spans[last].text, " ") == "" {
		last--
	}
	for i := range last + 1 {
		x := spans[i].text
		if i == last {
			x = strings.TrimRight(x, " ")
		}
		s.piece(x, spans[i].style)
	}
	s.b.WriteByte('\n')
}

func (s *sheet) piece(x string, as style) {
	if !s.color {
		s.b.WriteString(x)
		return
	}
	if x = text.Shown(x); as == plain || strings.Trim(x, " ") == "" {
		s.b.WriteString(x)
		return
	}
	s.b.WriteString("\x1b[" + codes[as] + "m" + x + "\x1b[0m")
}

// say prints a text within the width, whose first line begins with something of a style, and the others with an indent.
func (s *sheet) say(first string, as style, words, indent string) {
	for i, l := range strings.Split(Hang(first, words, indent, s.width), "\n") {
		if rest, ok := strings.CutPrefix(l, first); ok && i == 0 {
			s.line(bit{first, as}, bit{rest, plain})
		} else {
			s.line(bit{l, plain})
		}
	}
}

// note prints a text of a style within the width.
func (s *sheet) note(words string, as style) {
	for _, l := range strings.Split(Wrap(words, s.width, "    "), "\n") {
		s.line(bit{l, as})
	}
}

// Hang breaks text into lines of at most width columns: the first begins with what is first, which is as wide as it is,
// each after it with the indent.
func Hang(first, words, indent string, width int) string {
	var b strings.Builder
	b.WriteString(first)
	used, begins := utf8.RuneCountInString(first), true
	for _, w := range strings.Fields(words) {
		n := utf8.RuneCountInString(w)
		switch {
		case begins:
		case used+1+n > width:
			b.WriteString("\n" + indent)
			used = utf8.RuneCountInString(indent)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(w)
		used, begins = used+n, false
	}
	return b.String()
}

// Wrap breaks text into lines of at most width columns, each after the first
// indented.
func Wrap(text string, width int, indent string) string { return Hang("", text, indent, width) }

func pad(s string, width int, left bool) string {
	fill := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
	if left {
		return s + fill
	}
	return fill + s
}
