package claim

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir/internal/document"
	"weir/study/measure"
)

var (
	literal    = regexp.MustCompile(`(^|[^A-Za-z0-9_.])([0-9]+(?:\.[0-9]+)?)([A-Za-zµ]+|%)($|[^A-Za-z0-9_])`)
	quoted     = regexp.MustCompile("'[^']*'|\"[^\"]*\"|`[^`]*`")
	comparison = regexp.MustCompile(`^\s*(<=|>=|<|>|==|!=)\s*(.+)$`)
)

// Units replaces quantities in an expression by numbers in base units: "23.9Mbps",
// "10%", "5ms". The modulo operator needs a space before it. Words in quotes stay.
func Units(text string) string {
	var out strings.Builder
	for {
		q := quoted.FindStringIndex(text)
		if q == nil {
			out.WriteString(bareUnits(text))
			return out.String()
		}
		out.WriteString(bareUnits(text[:q[0]]) + text[q[0]:q[1]])
		text = text[q[1]:]
	}
}

func bareUnits(text string) string {
	for {
		changed := literal.ReplaceAllStringFunc(text, func(s string) string {
			m := literal.FindStringSubmatch(s)
			if v, ok := measure.ParseQuantity(m[2] + m[3]); ok {
				return m[1] + strconv.FormatFloat(v, 'f', -1, 64) + m[4]
			}
			return s
		})
		if changed == text {
			return text
		}
		text = changed
	}
}

// literals pairs the numbers that units makes of an expression's quantities with
// what the file has: a verdict's text shows 40Mbps, not 40000000.
func literals(text string, pairs ...string) *strings.Replacer {
	for _, m := range literal.FindAllStringSubmatch(text, -1) {
		if v, ok := measure.ParseQuantity(m[2] + m[3]); ok && v >= 1000 { // shorter numbers may stand for something else
			pairs = append(pairs, strconv.FormatFloat(v, 'f', -1, 64), m[2]+m[3])
		}
	}
	return strings.NewReplacer(pairs...)
}

// quantity prints a value of a comparison with its unit. What is below 1 and has none (a share, an index, a ratio), or
// counts things, has no prefix: 0.007219, which nobody takes for metres.
func quantity(v float64, unit string) string {
	if a := math.Abs(v); a < 1 && (unit == "" || len(unit) > 3 && unit != "bytes") {
		return strings.TrimSpace(strconv.FormatFloat(v, 'g', 4, 64) + " " + unit)
	}
	return measure.Quantity(v, unit)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// within is the place of a word of a value that stands on one line, else the value's.
func within(d *document.Reader, t *document.Node, word string) document.Place {
	line := []rune(d.LineIn(t.File, t.Line))
	from := min(max(t.Column-1, 0), len(line))
	part := regexp.MustCompile(`(^|[^A-Za-z0-9_])(` + regexp.QuoteMeta(word) +
		`)($|[^A-Za-z0-9_])`).FindStringSubmatchIndex(string(line[from:]))
	if part == nil {
		return t.Place
	}
	return document.Place{File: t.File, Line: t.Line, Column: from +
		utf8.RuneCountInString(string(line[from:])[:part[4]]) + 1}
}
