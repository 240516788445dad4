package text

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestActsOnTerminal_FindsControlCharacters(t *testing.T) {
	for _, r := range "\x00\x07\t\n\r\x1b\x7f\u0080\u009b\u009f\u00ad\u034f\u061c\u115f\u180e\u200b\u200c\u200d\u200e" +
		"\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff\ufe0f\U000e0001" +
		"\U000e0100\U000f0000" {
		t.Run(EscapeRune(r), func(t *testing.T) {
			if !ActsOnTerminal(r) {
				t.Error("it is taken for a character that only shows itself")
			}
		})
	}
	for _, r := range " ~µéπ±→…–“日本ä\u00a0\u3000\U0001f600é\u0301\ufffd" {
		t.Run(string(r), func(t *testing.T) {
			if ActsOnTerminal(r) {
				t.Errorf("%U is refused", r)
			}
		})
	}
}

func TestEscapeLine_EscapesActingCharacters(t *testing.T) {
	for _, x := range []struct{ name, in, line, lines string }{
		{"plain", "goodput of µ → 5 ± 1", "goodput of µ → 5 ± 1", "goodput of µ → 5 ± 1"},
		{"colour", "a\x1b[31mb", `a\u001b[31mb`, `a\u001b[31mb`},
		{"window title", "\x1b]0;x\a", `\u001b]0;x\u0007`, `\u001b]0;x\u0007`},
		{"8-bit CSI", "a\u009b2Jb\x9b2J", `a\u009b2Jb\x9b2J`, `a\u009b2Jb\x9b2J`},
		{"turned", "a\u202eb", `a\u202eb`, `a\u202eb`},
		{"tag", "a\U000e0041b", `a\udb40\udc41b`, `a\udb40\udc41b`},
		{"lines", "a\nb\tc\r\nd", `a\u000ab\u0009c\u000d\u000ad`, "a\nb\tc\r\nd"},
		{"overwritten line", "fails\rholds", `fails\u000dholds`, `fails\u000dholds`},
		{"part of a character", "a\xe2\x80", `a\xe2\x80`, `a\xe2\x80`},
		{"at the end of a line", "a\r", `a\u000d`, `a\u000d`},
		{"empty", "", "", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got := EscapeLine(x.in); got != x.line {
				t.Errorf("in a line %q, want %q", got, x.line)
			}
			if got := EscapeLines(x.in); got != x.lines {
				t.Errorf("in lines %q, want %q", got, x.lines)
			}
		})
	}
}

// TestEscapeCell_QuotesFormulas checks that cells that a spreadsheet would evaluate as formulas are quoted, and
// that numbers stay numbers.
func TestEscapeCell_QuotesFormulas(t *testing.T) {
	for in, want := range map[string]string{
		"=1+1": "'=1+1", "+cmd": "'+cmd", "-2+3": "'-2+3", "@SUM(A1)": "'@SUM(A1)", "\t=1": `\u0009=1`, "\r=1": `\u000d=1`,
		"-1": "-1", "+1.5e-3": "+1.5e-3", "-.5": "-.5", "-1E6": "-1E6", "-": "'-", "-e5": "'-e5", "-1e": "'-1e",
		"--1": "'--1", "-5ms": "'-5ms", "1=2": "1=2", "": "", "a-b": "a-b", "-Inf": "'-Inf", "-0x1p2": "'-0x1p2",
		"-1e+-5": "'-1e+-5",
	} {
		t.Run(in, func(t *testing.T) {
			if got := EscapeCell(in); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// FuzzEscapeLine_LeavesNoActingCharacter checks that escaped text is UTF-8 without acting characters, and that a
// second escape does not change it. The result is the same for any division into writes. A JSON document stays one,
// with the same strings.
func FuzzEscapeLine_LeavesNoActingCharacter(f *testing.F) {
	for _, s := range []string{"a\x1b[0mb", "µ\u202e\xff\xe2\x80", "\r\n\r", "\U000e0001\U0010ffff", "=1\u2028"} {
		f.Add(s, 1)
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, cut int) {
		line := EscapeLine(s)
		if at, r, _ := FindActing(line); at >= 0 || !utf8.ValidString(line) || EscapeLine(line) != line ||
			EscapeLines(line) != line {
			t.Errorf("%q leaves %U in %q", s, r, line)
		}
		lines := EscapeLines(s)
		if EscapeLines(lines) != lines {
			t.Errorf("%q is %q, and then %q", s, lines, EscapeLines(lines))
		}
		var b bytes.Buffer
		w := NewWriter(&b)
		step := max(1, cut&7)
		for rest := s; rest != ""; rest = rest[min(step, len(rest)):] {
			w.Write([]byte(rest[:min(step, len(rest))]))
		}
		if w.Flush(); b.String() != lines {
			t.Errorf("%q is written %q, want %q", s, b.String(), lines)
		}
		sameJSON(t, s)
	})
}

func sameJSON(t *testing.T, s string) {
	document, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var want, got string
	if err := json.Unmarshal(document, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(EscapeLines(string(document))), &got); err != nil || got != want {
		t.Errorf("%s has the string %q, want %q: %v", EscapeLines(string(document)), got, want, err)
	}
}

// TestShownAllocates checks that text without special characters is escaped without allocation.
func TestShownAllocates(t *testing.T) {
	s := "goodput of heavy hitters over the share of light ones"
	if n := testing.AllocsPerRun(100, func() { EscapeLine(s); EscapeLines(s) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
