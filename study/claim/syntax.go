package claim

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"weir/internal/document"
	"weir/study/measure"
)

// insertion is a part of an expression that Weir has replaced before the library reads it. Offsets count characters.
type insertion struct {
	offset, length int    // of the replacement in the result
	text           string // as written in the file
}

// originalOffset returns the offset in the written expression of an offset in the result. all is in order.
func originalOffset(offset int, all []insertion) int {
	shift := 0
	for _, x := range all {
		if x.offset >= offset {
			break
		}
		if offset < x.offset+x.length { // within the replacement
			return x.offset + shift
		}
		shift += len([]rune(x.text)) - x.length
	}
	return offset + shift
}

// listInsertions returns the insertions of variables into an expression. names has the variables, each followed by the
// text that it replaces, in order.
func listInsertions(text string, names []string) (all []insertion) {
	from := 0
	for k := 0; k+1 < len(names); k += 2 {
		at := strings.Index(text[from:], names[k])
		if at < 0 {
			continue
		}
		all = append(all, insertion{len([]rune(text[:from+at])), len([]rune(names[k])), names[k+1]})
		from += at + len(names[k])
	}
	return all
}

// numberInsertions returns the insertions of numbers for quantities (replaceQuantities).
func numberInsertions(tokens []token) (all []insertion) {
	for _, t := range tokens {
		v, _ := measure.ParseQuantity(t.text)
		all = append(all, insertion{t.offset, len(strconv.FormatFloat(v, 'f', -1, 64)), t.text})
	}
	return all
}

// parseExpression parses an expression after replaceQuantities. written is the text of node t, names has the variables
// that replace its points, and subject is the expression's key. After a syntax error it notes it in d at its character,
// and returns nil.
func parseExpression(d *document.Reader, t *document.Node, written, replaced string, names []string, subject,
	allowed string) ast.Node {
	text, tokens := replaceQuantities(replaced)
	tree, err := parser.Parse(text)
	if err == nil {
		return tree.Node
	}
	var syntax *file.Error
	if !errors.As(err, &syntax) {
		d.Fail(t.Position, allowed, "%s", describeError(subject, err))
		return nil
	}
	offset := originalOffset(originalOffset(syntax.From, numberInsertions(tokens)), listInsertions(replaced, names))
	characters := []rune(written)
	offset = min(offset, len(characters))
	message, hint := describeSyntax(string(characters[:offset]), string(characters[offset:]), describeError(subject, err))
	if hint != "" {
		allowed = hint
	}
	if strings.HasPrefix(message, `"`+wordAround.FindString(string(characters[:offset]))) { // the word is the error
		offset -= len([]rune(wordAround.FindString(string(characters[:offset]))))
	}
	d.Fail(characterPlace(d, t, written, offset), allowed, "%s", message)
	return nil
}

var (
	numberBefore = regexp.MustCompile(`([0-9]+(?:\.[0-9]+)?)\s+$`)
	unitAfter    = regexp.MustCompile(`^[A-Za-zµ%]+`)
	wordAround   = regexp.MustCompile(`[0-9.]*[A-Za-zµ/]*$`)
)

// units are the units that messages list.
const units = "ps, ns, us, ms, s, bps, kbps, Mbps, Gbps, B, kB, MB, packets and %"

// describeSyntax returns the message of a syntax error between two parts of an expression, and what is allowed if the
// error has a common cause; "" otherwise. general is the library's message.
func describeSyntax(before, after, general string) (message, allowed string) {
	if m := numberBefore.FindStringSubmatch(before); m != nil {
		quantity := m[1] + unitAfter.FindString(after)
		if _, ok := measure.ParseQuantity(quantity); ok && quantity != m[1] {
			return strconv.Quote(unitAfter.FindString(after)) + " follows a space", "a quantity without a space: " + quantity
		}
	}
	if strings.HasPrefix(after, "=") && !strings.HasPrefix(after, "==") {
		return `"=" is not a comparison`, "=="
	}
	if strings.HasPrefix(general, "bad number syntax") {
		start := wordAround.FindString(before)
		end := regexp.MustCompile(`^[0-9.]*[A-Za-zµ/]*`).FindString(after)
		return strconv.Quote(start+end) + " is not a quantity", "units " + units
	}
	if last := strings.TrimSpace(before); strings.HasPrefix(general, "unexpected ") && last != "" {
		words := strings.Fields(last)
		return general + " after " + strconv.Quote(strings.Join(words[max(0, len(words)-2):], " ")), ""
	}
	return general, ""
}

// characterPlace returns the place of a character in the text of node t if the file has that text on one line, else the
// place of t.
func characterPlace(d *document.Reader, t *document.Node, text string, offset int) document.Position {
	line := []rune(d.LineIn(t.File, t.Line))
	from := min(max(t.Column-1, 0), len(line))
	rest := string(line[from:])
	for _, quote := range []string{"", "'", `"`} {
		if strings.HasPrefix(rest, quote+text) {
			return document.Position{File: t.File, Line: t.Line, Column: t.Column + len(quote) + offset}
		}
	}
	return t.Position
}

// exampleClaim returns a comparison with a measure that the experiment records.
func (s *View) exampleClaim() string {
	if s.MayBeMeasure == nil && s.Shape != nil {
		for _, m := range s.Shape().Measures {
			if m.Groups == nil {
				return m.Name + " > 0"
			} else if len(m.Groups) > 0 {
				return m.Name + "." + m.Groups[0].Group + " > 0"
			}
		}
	}
	return "goodput.a > 0"
}

// openPoint returns the offset in bytes of a point( that is not closed by ); −1: every one is closed.
func openPoint(text string) int {
	at := regexp.MustCompile(`\bpoint\(`).FindStringIndex(quotedPattern.ReplaceAllStringFunc(text, func(s string) string {
		return strings.Repeat(" ", len(s))
	}))
	if at == nil {
		return -1
	}
	return at[0]
}
