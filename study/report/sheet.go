package report

import (
	"strings"
	"unicode/utf8"

	"weir/internal/text"
)

// DefaultWidth is the line width in columns for a terminal of unknown width.
const DefaultWidth = 80

// style is the appearance of a piece of text on a colour terminal.
type style uint8

const (
	plain style = iota
	strong
	faint
	good
	bad
	unsure
)

// styleCodes are the attributes of styles (ECMA-48 §8.3.117). They use the terminal's own colours, which are readable
// on light and dark backgrounds.
var styleCodes = [...]string{plain: "", strong: "1", faint: "2", good: "1;32", bad: "1;31", unsure: "1;33"}

// textPiece is a piece of a line.
type textPiece struct {
	text string
	style
}

// sheet is the output for a terminal. With colours it escapes the texts of others, so that only its own codes act on
// the terminal. Without colours the caller escapes the output.
type sheet struct {
	b     strings.Builder
	width int
	color bool
}

// writeLine writes a line of pieces, without trailing spaces. It does not limit the width.
func (s *sheet) writeLine(spans ...textPiece) {
	last := len(spans) - 1
	for last >= 0 && strings.TrimRight(spans[last].text, " ") == "" {
		last--
	}
	for i := range last + 1 {
		x := spans[i].text
		if i == last {
			x = strings.TrimRight(x, " ")
		}
		s.writePiece(x, spans[i].style)
	}
	s.b.WriteByte('\n')
}

// writePiece writes a text in a style. Without colours the style has no effect.
func (s *sheet) writePiece(x string, textStyle style) {
	if !s.color {
		s.b.WriteString(x)
		return
	}
	if x = text.EscapeLine(x); textStyle == plain || strings.Trim(x, " ") == "" {
		s.b.WriteString(x)
		return
	}
	s.b.WriteString("\x1b[" + styleCodes[textStyle] + "m" + x + "\x1b[0m")
}

// writeHanging writes a text within the width. The first line begins with first in a style, the others with the
// indent.
func (s *sheet) writeHanging(first string, textStyle style, words, indent string) {
	for i, l := range strings.Split(WrapHanging(first, words, indent, s.width), "\n") {
		if rest, ok := strings.CutPrefix(l, first); ok && i == 0 {
			s.writeLine(textPiece{first, textStyle}, textPiece{rest, plain})
		} else {
			s.writeLine(textPiece{l, plain})
		}
	}
}

// writeNote writes a text in a style within the width; further lines are indented by four spaces.
func (s *sheet) writeNote(words string, textStyle style) {
	for _, l := range strings.Split(WrapText(words, s.width, "    "), "\n") {
		s.writeLine(textPiece{l, textStyle})
	}
}

// WrapHanging breaks words into lines of at most width columns. The first line begins with first, each following line
// with the indent. A longer word gets a line of its own. Spaces and line breaks in words become single spaces.
func WrapHanging(first, words, indent string, width int) string {
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

// WrapText breaks text into lines of at most width columns and indents all lines after the first.
func WrapText(text string, width int, indent string) string {
	return WrapHanging("", text, indent, width)
}

// padText pads s with spaces to width runes, on the right if leftAligned is set, otherwise on the left. A longer text
// stays unchanged.
func padText(s string, width int, leftAligned bool) string {
	fill := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
	if leftAligned {
		return s + fill
	}
	return fill + s
}
