package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Acts reports whether a character does something where it is shown, or is not seen: controls (C0, DEL, C1),
// what turns the direction of writing, joins or separates without width, line and paragraph separators,
// characters that Unicode has left free, and those that select another glyph.
func Acts(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return !unicode.IsGraphic(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Escaped is a character as \u001b. One beyond 16 bits has the two halves of UTF-16, as JSON does: it can
// stand in a string of a document.
func Escaped(r rune) string {
	if r > 0xffff {
		high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Find returns the first character of a text that acts, or the first byte that is not UTF-8, and how many
// bytes are before it; −1 if there is none. bad says that it is such a byte.
func Find[T string | []byte](s T) (at int, r rune, bad bool) {
	for at = 0; at < len(s); {
		if b := s[at]; b >= ' ' && b < 0x7f {
			at++
			continue
		}
		r, n := utf8.DecodeRuneInString(string(s[at:min(at+utf8.UTFMax, len(s))]))
		if r == utf8.RuneError && n == 1 {
			return at, rune(s[at]), true
		}
		if Acts(r) {
			return at, r, false
		}
		at += n
	}
	return -1, 0, false
}

// Shown is a text in one line with what acts escaped; a byte that is not UTF-8 is \x9b.
func Shown(s string) string { return shown(s, false) }

// Lines is Shown for a text of many lines, whose ends and tabs stay.
func Lines(s string) string { return shown(s, true) }

func shown(s string, lines bool) string {
	at, n := next(s, lines)
	if at < 0 {
		return s
	}
	var b strings.Builder
	for ; at >= 0; at, n = next(s, lines) {
		b.WriteString(s[:at])
		if r, _ := utf8.DecodeRuneInString(s[at:]); r == utf8.RuneError {
			fmt.Fprintf(&b, `\x%02x`, s[at])
		} else {
			b.WriteString(Escaped(r))
		}
		s = s[at+n:]
	}
	b.WriteString(s)
	return b.String()
}

// next is where a text has what must be escaped, and how many bytes of it; −1 if nowhere.
func next(s string, lines bool) (at, n int) {
	for from := 0; ; from += n {
		at, r, bad := Find(s[from:])
		if at < 0 {
			return -1, 0
		}
		from += at
		n = 1
		if !bad {
			n = utf8.RuneLen(r)
		}
		ends := r == '\n' || r == '\t' || r == '\r' && strings.HasPrefix(s[from+1:], "\n")
		if bad || !lines || !ends {
			return from, n
		}
	}
}

// Cell is Shown for a cell of a table that others open in a spreadsheet, which would take what begins with
// = + - or @ for a formula: it gets a quote before it. A number stays one.
func Cell(s string) string {
	s = Shown(s)
	if s == "" || !strings.ContainsRune("=+-@", rune(s[0])) || number(s) {
		return s
	}
	return "'" + s
}

// number reports whether a text is a decimal number.
func number(s string) bool {
	s = strings.TrimLeft(s[:1], "+-") + s[1:]
	mantissa, exponent, scaled := strings.Cut(strings.ToLower(s), "e")
	whole, part, _ := strings.Cut(mantissa, ".")
	if scaled && !digits(strings.TrimLeft(exponent[:min(1, len(exponent))], "+-")+exponent[min(1, len(exponent)):]) {
		return false
	}
	return digits(whole + part)
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
