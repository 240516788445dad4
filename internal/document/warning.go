package document

import (
	"fmt"
	"io"
	"strings"

	"weir/core/scheme"
)

// Warning is a report about something that may work otherwise than its author means. It prints as
// "PLACE: TEXT (IDENTIFIER)".
type Warning struct {
	Kind scheme.WarningKind
	At   Position // in a file; without a line: no place
	Port string   // that it is about (scheme.Remark.Port); "": no port
	Text string
}

// Warn returns a warning whose text follows from format and args as in package fmt.
func Warn(kind scheme.WarningKind, at Position, format string, args ...any) Warning {
	return Warning{Kind: kind, At: at, Text: fmt.Sprintf(format, args...)}
}

// String is the place, the text and, in parentheses, the identifier.
func (w Warning) String() string {
	text := w.Text + " (" + w.Kind.ID + ")"
	if w.At.Line > 0 {
		text = w.At.String() + ": " + text
	}
	return text
}

// Line is the warning as a line of a program's output, without its end.
func (w Warning) Line() string { return linePrefix + w.String() }

const linePrefix = "warning: "

// IsWarning reports whether a line of output is a warning, as Line returns it.
func IsWarning(line string) bool { return strings.HasPrefix(line, linePrefix) }

// Print writes the warning as a line.
func (w Warning) Print(out io.Writer) { fmt.Fprintln(out, w.Line()) }

var warnIdle = scheme.WarningKind{ID: "idle-parameter",
	Condition: "a file gives a parameter whose value has no effect with its other parameters"}

// WarningKinds returns the kinds of warnings that this package issues.
func WarningKinds() []scheme.WarningKind { return []scheme.WarningKind{warnIdle} }
