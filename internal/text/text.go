package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ActsOnTerminal reports whether a character has an effect where it is shown, or is invisible: controls (C0, DEL, C1),
// changes of the writing direction, zero-width joiners and spaces, line and paragraph separators, unassigned
// characters, and variation selectors.
func ActsOnTerminal(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return !unicode.IsGraphic(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// EscapeRune returns a character as \u001b. A character beyond 16 bits becomes two UTF-16 halves, as in JSON, so that a
// string of a document can hold it.
func EscapeRune(r rune) string {
	if r > 0xffff {
		high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// FindActing returns the first character of a text that acts, or the first byte that is not UTF-8, and its offset in
// bytes. Without one the offset is −1. Line ends and tabs act, too. It sets bad for such a byte.
func FindActing[T string | []byte](s T) (at int, r rune, bad bool) {
	for at = 0; at < len(s); {
		if b := s[at]; b >= ' ' && b < 0x7f {
			at++
			continue
		}
		r, n := utf8.DecodeRuneInString(string(s[at:min(at+utf8.UTFMax, len(s))]))
		if r == utf8.RuneError && n == 1 {
			return at, rune(s[at]), true
		}
		if ActsOnTerminal(r) {
			return at, r, false
		}
		at += n
	}
	return -1, 0, false
}

// EscapeLine returns a text as one line with acting characters escaped. A byte that is not UTF-8 becomes \x9b.
func EscapeLine(s string) string { return escapeText(s, false) }

// EscapeLines works as EscapeLine and keeps line ends and tabs.
func EscapeLines(s string) string { return escapeText(s, true) }

// escapeText escapes the acting characters of s. With lines, it keeps line ends and tabs.
func escapeText(s string, lines bool) string {
	at, n := findEscape(s, lines)
	if at < 0 {
		return s
	}
	var b strings.Builder
	for ; at >= 0; at, n = findEscape(s, lines) {
		b.WriteString(s[:at])
		if r, _ := utf8.DecodeRuneInString(s[at:]); r == utf8.RuneError {
			fmt.Fprintf(&b, `\x%02x`, s[at])
		} else {
			b.WriteString(EscapeRune(r))
		}
		s = s[at+n:]
	}
	b.WriteString(s)
	return b.String()
}

// findEscape returns the offset of the first character that needs an escape and its length in bytes, or −1.
func findEscape(s string, lines bool) (at, n int) {
	for from := 0; ; from += n {
		at, r, bad := FindActing(s[from:])
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

// EscapeCell works as EscapeLine for a cell of a table. A spreadsheet takes a text that begins with = + - or @ for a
// formula: such a text gets a leading quote, unless it is a number.
func EscapeCell(s string) string {
	s = EscapeLine(s)
	if s == "" || !strings.ContainsRune("=+-@", rune(s[0])) || isNumber(s) {
		return s
	}
	return "'" + s
}

// isNumber reports whether a text is a decimal number, with an optional sign and exponent. The text must not be empty.
func isNumber(s string) bool {
	s = strings.TrimLeft(s[:1], "+-") + s[1:]
	mantissa, exponent, scaled := strings.Cut(strings.ToLower(s), "e")
	whole, part, _ := strings.Cut(mantissa, ".")
	if scaled && !isDigits(strings.TrimLeft(exponent[:min(1, len(exponent))], "+-")+exponent[min(1, len(exponent)):]) {
		return false
	}
	return isDigits(whole + part)
}

// isDigits reports whether s has only digits and is not empty.
func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
