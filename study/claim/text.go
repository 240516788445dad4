package claim

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

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
	out, _ := numbers(text)
	return out
}

// A token is a number in an expression that stands for a quantity: where it begins, in characters, and the quantity as
// the file has it.
type token struct {
	from int
	text string
}

// numbers is Units, and returns where the numbers are that it has made.
func numbers(text string) (out string, tokens []token) {
	var b strings.Builder
	for text != "" {
		part, words := text, ""
		if q := quoted.FindStringIndex(text); q != nil {
			part, words = text[:q[0]], text[q[0]:q[1]]
		}
		text = text[len(part)+len(words):]
		for {
			m := literal.FindStringSubmatchIndex(part)
			if m == nil {
				break
			}
			b.WriteString(part[:m[4]])
			quantity := part[m[4]:m[7]]
			if v, ok := measure.ParseQuantity(quantity); ok {
				tokens = append(tokens, token{utf8.RuneCountInString(b.String()), quantity})
				quantity = strconv.FormatFloat(v, 'f', -1, 64)
			}
			b.WriteString(quantity)
			part = part[m[7]:] // no number can begin here: what follows a unit is neither a letter nor a digit
		}
		b.WriteString(part + words)
	}
	return b.String(), tokens
}

// displayTree parses an expression once more for people: it prints numbers, quantities and points of the sweep as the
// file has them. names are variables, each followed by what it stands for.
func displayTree(text string, tokens []token, names []string) (ast.Node, error) {
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, err
	}
	characters := []rune(text)
	ast.Walk(&tree.Node, printer(func(n *ast.Node) {
		at := (*n).Location()
		switch x := (*n).(type) {
		case *ast.IntegerNode, *ast.FloatNode:
			word := string(characters[at.From:at.To])
			if k := slices.IndexFunc(tokens, func(t token) bool { return t.from == at.From }); k >= 0 {
				word = tokens[k].text
			}
			ast.Patch(n, &ast.IdentifierNode{Value: word})
		case *ast.IdentifierNode:
			if k := slices.Index(names, x.Value); k >= 0 && k%2 == 0 {
				ast.Patch(n, &ast.IdentifierNode{Value: names[k+1]})
			}
		}
	}))
	return tree.Node, nil
}

type printer func(*ast.Node)

func (p printer) Visit(n *ast.Node) { p(n) }

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
func within(d *document.Reader, t *document.Node, word string) document.Position {
	line := []rune(d.LineIn(t.File, t.Line))
	from := min(max(t.Column-1, 0), len(line))
	part := regexp.MustCompile(`(^|[^A-Za-z0-9_])(` + regexp.QuoteMeta(word) +
		`)($|[^A-Za-z0-9_])`).FindStringSubmatchIndex(string(line[from:]))
	if part == nil {
		return t.Position
	}
	return document.Position{File: t.File, Line: t.Line, Column: from +
		utf8.RuneCountInString(string(line[from:])[:part[4]]) + 1}
}
