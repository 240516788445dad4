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
	quantityPattern   = regexp.MustCompile(`(^|[^A-Za-z0-9_.])([0-9]+(?:\.[0-9]+)?)([A-Za-zµ]+|%)($|[^A-Za-z0-9_])`)
	quotedPattern     = regexp.MustCompile("'[^']*'|\"[^\"]*\"|`[^`]*`")
	comparisonPattern = regexp.MustCompile(`^\s*(<=|>=|<|>|==|!=)\s*(.+)$`)
)

// ReplaceQuantities replaces quantities in an expression by numbers in base units: "23.9Mbps", "10%", "5ms". The modulo
// operator needs a space before it. Quoted text and words that are not quantities are kept.
func ReplaceQuantities(text string) string {
	out, _ := replaceQuantities(text)
	return out
}

// A token is a number in an expression that stands for a quantity: its offset in characters, and the quantity as
// written in the file.
type token struct {
	offset int
	text   string
}

// replaceQuantities does the same as ReplaceQuantities, and also returns the tokens of the numbers that it inserted.
func replaceQuantities(text string) (out string, tokens []token) {
	var b strings.Builder
	for text != "" {
		part, words := text, ""
		if q := quotedPattern.FindStringIndex(text); q != nil {
			part, words = text[:q[0]], text[q[0]:q[1]]
		}
		text = text[len(part)+len(words):]
		for {
			m := quantityPattern.FindStringSubmatchIndex(part)
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
			part = part[m[7]:] // no number can begin here: a unit is not followed by a letter or a digit
		}
		b.WriteString(part + words)
	}
	return b.String(), tokens
}

// displayTree parses an expression for output: it prints numbers, quantities and points of the sweep as the file has
// them. text and tokens are from replaceQuantities. names has variables, each followed by the text that it stands for.
func displayTree(text string, tokens []token, names []string) (ast.Node, error) {
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, err
	}
	characters := []rune(text)
	ast.Walk(&tree.Node, patcher(func(n *ast.Node) {
		location := (*n).Location()
		switch x := (*n).(type) {
		case *ast.IntegerNode, *ast.FloatNode:
			word := string(characters[location.From:location.To])
			if k := slices.IndexFunc(tokens, func(t token) bool { return t.offset == location.From }); k >= 0 {
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

// patcher is a function that visits the nodes of an expression and may replace them.
type patcher func(*ast.Node)

// Visit calls p (ast.Visitor).
func (p patcher) Visit(n *ast.Node) { p(n) }

// formatValue returns a value of a comparison with its unit. Values below 1 get no SI prefix if they have no unit (a
// share, an index, a ratio) or count things: "0.007219 m" would be read as metres.
func formatValue(v float64, unit string) string {
	if a := math.Abs(v); a < 1 && (unit == "" || len(unit) > 3 && unit != "bytes") {
		return strings.TrimSpace(strconv.FormatFloat(v, 'g', 4, 64) + " " + unit)
	}
	return measure.FormatQuantity(v, unit)
}

// firstLine returns the first line of an error's text.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// coordinatePattern matches the coordinates that the expression library adds to a message. They count in the text after
// replacements, which no reader sees.
var coordinatePattern = regexp.MustCompile(` \(\d+:\d+\)$`)

// Errors of the expression library, and the types of Go in them.
var (
	notBoolPattern    = regexp.MustCompile(`^expected bool, but got (.+)$`)
	mismatchPattern   = regexp.MustCompile(`^invalid operation: (\S+) \(mismatched types? (.+?)(?: and (.+?))?\)$`)
	tokenPattern      = regexp.MustCompile(`^unexpected token [A-Za-z]+\(("(?:[^"\\]|\\.)*")\)`)
	actualTypePattern = regexp.MustCompile(`\(got ([^()]+)\)`)
)

// describeError returns the first line of an error of the expression library, in the words of experiments instead of
// types of Go and kinds of tokens. subject names the expression, in case it is not a condition.
func describeError(subject string, err error) string {
	line := coordinatePattern.ReplaceAllString(firstLine(err), "")
	if m := notBoolPattern.FindStringSubmatch(line); m != nil {
		return subject + " is " + describeType(m[1]) + ", not a condition"
	}
	if m := mismatchPattern.FindStringSubmatch(line); m != nil {
		operands := describeType(m[2])
		if m[3] != "" {
			operands += " and " + describeType(m[3])
		}
		return m[1] + " does not apply to " + operands
	}
	line = strings.Replace(line, "unexpected token EOF", "the expression ends too early", 1)
	line = tokenPattern.ReplaceAllString(line, "unexpected $1")
	return actualTypePattern.ReplaceAllStringFunc(line, func(s string) string {
		return "(got " + describeType(actualTypePattern.FindStringSubmatch(s)[1]) + ")"
	})
}

// describeType returns a type of Go in the words of experiments. It returns an unknown type as it is.
func describeType(name string) string {
	switch {
	case name == "bool":
		return "a condition"
	case name == "string":
		return "a text"
	case strings.HasPrefix(name, "map["):
		return "a map"
	case strings.HasPrefix(name, "["):
		return "a list"
	case name == "int", name == "float64":
		return "a number"
	}
	return name
}

// wordPlace returns the place of a word in value t if the value is on one line, else the place of t.
func wordPlace(d *document.Reader, t *document.Node, word string) document.Position {
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
