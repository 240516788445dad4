package document

import (
	"fmt"
	"io"
	"strings"

	"weir/core/scheme"
	"weir/internal/text"
)

// Warning reports input that is valid but may not do what its author expects. It prints as "PLACE: TEXT
// (IDENTIFIER)".
type Warning struct {
	Kind scheme.WarningKind
	At   Position // position in a file; line 0 if it has none
	Port string   // the affected port (scheme.Remark.Port), or ""
	Text string
}

// Warn returns a warning with a text formatted as in package fmt.
func Warn(kind scheme.WarningKind, at Position, format string, args ...any) Warning {
	return Warning{Kind: kind, At: at, Text: fmt.Sprintf(format, args...)}
}

// String returns the position, the text and, in parentheses, the identifier. Without a line, the position is left out.
// Of the option --set with a value of one word, it names only the option.
func (w Warning) String() string {
	words := w.Text + " (" + w.Kind.ID + ")"
	switch {
	case w.At.Line > 0 && isOneWord(w.At.File):
		return text.EscapeLine(w.At.File) + ": " + words
	case w.At.Line > 0:
		return w.At.String() + ": " + words
	}
	return words
}

// Line returns the warning as a line of output, without a line end.
func (w Warning) Line() string { return linePrefix + w.String() }

const linePrefix = "warning: "

// IsWarning reports whether a line of output is a warning in the format of Line.
func IsWarning(line string) bool { return strings.HasPrefix(line, linePrefix) }

// Print writes the warning as a line.
func (w Warning) Print(out io.Writer) { fmt.Fprintln(out, w.Line()) }

var warnIdle = scheme.WarningKind{ID: "idle-parameter",
	Condition: "a file gives a parameter whose value has no effect with its other parameters"}

// WarningKinds returns the kinds of warnings that this package issues.
func WarningKinds() []scheme.WarningKind { return []scheme.WarningKind{warnIdle} }
