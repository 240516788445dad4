package claim

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
	"gonum.org/v1/gonum/stat/distuv"

	"weir/core/unit"
	"weir/internal/document"
	"weir/study/measure"
)

// View is what claims see of an experiment.
type View struct {
	Paper    string // where claims come from
	Sweep    []measure.Dimension
	Points   [][]measure.Coordinate
	Narrowed bool                   // options may have left out a part of the sweep
	Shape    func() *measure.Values // what runs have: names, without values
}

// keys are those of the sweep.
func (s *View) keys() (keys []string) {
	for _, d := range s.Sweep {
		keys = append(keys, d.Key)
	}
	return keys
}

// Sample is a finished run.
type Sample struct {
	Point  []measure.Coordinate
	Seed   uint64
	Values *measure.Values
}

// Compiled is one entry of the expect list, decoded.
type Compiled struct {
	Claim
	Filter
	others  []selector // other points that it names
	some    bool       // one point is enough
	along   string     // sweep key along which neighbours are compared; "" for none
	that    *truth
	written *strings.Replacer // quantities as the file has them
}

// Filter picks points of the sweep.
type Filter struct {
	where []condition
	when  *vm.Program // where as an expression over sweep keys; may be nil
}

// condition is one key of where.
type condition struct {
	key  string
	only string // the one value that is meant; "": there may be several
	test func(measure.Coordinate) bool
}

// truth is a boolean expression: and, or, not over comparisons. A comparison is
// judged by the interval of its difference over the seeds.
type truth struct {
	op          string // "and", "or", "not", "<", "<=", ">", ">=", "==", "!="; "bool": left alone
	parts       []*truth
	left, right *vm.Program
	leftText    string
	rightText   string
	unit        string // of both sides, as far as the expression shows it
}

// ternary is Kleene's third value between false and true.
type ternary int

const (
	no ternary = iota
	maybe
	yes
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

var claimKeys = []string{"id", "says", "where", "along", "for", "that"}

// Decode reads the expect list.
func (s *View) Decode(d *document.Reader, t *document.Node) (claims []*Compiled) {
	if t.Kind != document.List {
		d.Fail(t.Place, "[{id: …, says: …, that: …}]", "expect is a list")
		return nil
	}
	seen := map[string]bool{}
	for _, x := range t.Items {
		if !d.Keys(x, "a claim's key", claimKeys) {
			continue
		}
		c := &Compiled{Claim: Claim{Paper: s.Paper}}
		for _, k := range []struct {
			name string
			to   *string
		}{{"id", &c.ID}, {"says", &c.Says}} {
			if v := x.Get(k.name); v != nil {
				*k.to = d.Text(v)
			} else {
				d.Missing(x, k.name, "a claim's key", claimKeys, k.name+": …", "the claim has no %q", k.name)
			}
		}
		if id := x.Get("id"); id != nil && seen[c.ID] {
			d.Fail(id.Place, "another id", "the claim %q is here already", c.ID)
		}
		seen[c.ID] = true
		if w := x.Get("where"); w != nil {
			s.Where(d, &c.Filter, w)
		}
		if a := x.Get("along"); a != nil {
			c.along = d.Word(a, "sweep key", s.keys())
		}
		if f := x.Get("for"); f != nil {
			c.some = d.Word(f, "quantifier", []string{"every", "some"}) == "some"
		}
		that := x.Get("that")
		if that == nil {
			d.Missing(x, "that", "a claim's key", claimKeys, "that: goodput.a > goodput.b", "the claim has no \"that\"")
			continue
		}
		s.decodeThat(d, c, that)
		if d.OK() && !s.Narrowed && len(s.matching(c)) == 0 {
			d.Fail(x.Place, "", "no point of the sweep is meant by the claim %q", c.ID)
		}
		claims = append(claims, c)
	}
	return claims
}

// Where reads which points are meant.
func (s *View) Where(d *document.Reader, c *Filter, w *document.Node) {
	if w.Kind == document.Scalar {
		env := environment(s.Points[0], nil)
		text := Units(w.Text)
		if node, err := parser.Parse(text); err != nil {
			d.Fail(w.Place, `{scheme: abc}, or scheme == "abc" and n > 4`, "%s", firstLine(err))
		} else if v := unknownName(node.Node, env, nil); v.msg != "" {
			d.Fail(within(d, w, v.word), v.allowed, "%s", v.msg)
		} else if c.when, err = expr.Compile(text, expr.Env(env), expr.AsBool()); err != nil {
			d.Fail(w.Place, "a comparison of sweep keys", "%s", firstLine(err))
		}
		return
	}
	if !d.Keys(w, "sweep key", s.keys()) {
		return
	}
	for _, k := range w.Keys {
		cond := condition{key: k.Name}
		switch {
		case !slices.Contains(s.keys(), k.Name):
			continue
		case k.Value.Kind == document.List:
			allowed := map[string]bool{}
			for _, x := range k.Value.Items {
				allowed[d.Text(x)] = true
				s.checkValue(d, k.Name, x)
			}
			cond.test = func(c measure.Coordinate) bool { return allowed[c.Text] }
		case k.Value.Kind == document.Mapping:
			d.Fail(k.Value.Place, `a value, a list of values, or "<= 36Mbps"`, "this is a map")
			continue
		default:
			text := k.Value.Text
			m := comparison.FindStringSubmatch(text)
			if m == nil {
				s.checkValue(d, k.Name, k.Value)
				cond.only, cond.test = text, func(c measure.Coordinate) bool { return c.Text == text }
				break
			}
			bound, ok := measure.ParseQuantity(strings.TrimSpace(m[2]))
			if !ok {
				d.Fail(k.Value.Place, "<= 36Mbps", "%q is not a quantity", m[2])
				continue
			}
			cond.test = func(c measure.Coordinate) bool { return c.IsNum && compare(m[1], c.Value, bound) }
		}
		c.where = append(c.where, cond)
	}
}

// checkValue notes a where that names a value which the sweep does not have; --set
// and --quick may have taken it away.
func (s *View) checkValue(d *document.Reader, key string, t *document.Node) {
	if s.Narrowed {
		return
	}
	var words []string
	for _, dim := range s.Sweep {
		if dim.Key == key {
			for _, v := range dim.Values {
				words = append(words, v.Text)
			}
		}
	}
	if t.Kind == document.Scalar && !slices.Contains(words, t.Text) {
		d.Unknown(t.Place, "value of "+key, t.Text, words)
	}
}

func compare(op string, a, b float64) bool {
	switch op {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "==":
		return a == b
	}
	return a != b
}

// environment is what an expression can name at a point: sweep keys and measures.
// A measure by flow size is slowdown_bins.traffic[0].p99.
func environment(point []measure.Coordinate, run *measure.Values) map[string]any {
	env := map[string]any{}
	for _, c := range point {
		if c.IsNum {
			env[c.Key] = c.Value
		} else {
			env[c.Key] = c.Text
		}
	}
	if run == nil {
		return env
	}
	for _, m := range run.Measures {
		if m.Groups == nil {
			env[m.Name] = m.Value
			continue
		}
		groups := map[string]float64{}
		for _, g := range m.Groups {
			groups[g.Group] = g.Value
		}
		env[m.Name] = groups
	}
	for i := range run.Bins {
		b := &run.Bins[i]
		of, ok := env[b.Name+"_bins"].(map[string][]map[string]float64)
		if !ok {
			of = map[string][]map[string]float64{}
			env[b.Name+"_bins"] = of
		}
		rows := []map[string]float64{}
		for _, x := range b.Bins {
			row := map[string]float64{"from": float64(x.FromBytes), "to": float64(x.ToBytes), "n": float64(x.N),
				"mean": float64(x.Mean)}
			for k, p := range b.Percentiles {
				row[strings.TrimPrefix(measure.PercentileName("", p), "_")] = float64(x.Percentiles[k])
			}
			rows = append(rows, row)
		}
		of[b.Traffic] = rows
	}
	return env
}

// sample is an environment with every name that a run of this spec has; the values
// do not matter.
func (s *View) sample() map[string]any {
	at := append([]measure.Coordinate(nil), s.Points[0]...)
	return environment(at, s.Shape())
}

// measures are the names of measures that an expression can name.
func (s *View) measures() map[string]any {
	out := map[string]any{}
	for _, m := range s.Shape().Measures {
		out[m.Name] = nil
	}
	for _, b := range s.Shape().Bins {
		out[b.Name+"_bins"] = nil
	}
	return out
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

// selector is a point(key=value, …) of a claim: the point in hand, with these sweep
// keys at these values.
type selector struct {
	name   string // of the variable that stands for it
	values []int  // by sweep key: index of the value, −1: as in the point in hand
	gone   bool   // options have left out a value
}

var selection = regexp.MustCompile(`\bpoint\(([^()]*)\)`)

// selectors replaces every point(…) of an expression by a variable.
func (s *View) selectors(d *document.Reader, c *Compiled, t *document.Node, text string) (replaced string,
	written []string) {
	replaced = selection.ReplaceAllStringFunc(text, func(whole string) string {
		sel := selector{name: fmt.Sprintf("point_%d", len(c.others))}
		for range s.Sweep {
			sel.values = append(sel.values, -1)
		}
		for _, part := range strings.Split(selection.FindStringSubmatch(whole)[1], ",") {
			key, value, ok := strings.Cut(part, "=")
			key, value = strings.TrimSpace(key), strings.Trim(strings.TrimSpace(value), `'"`)
			var keys, values []string
			at := -1
			for k, dim := range s.Sweep {
				keys = append(keys, dim.Key)
				if dim.Key == key {
					at = k
				}
			}
			if !ok || at < 0 {
				d.Unknown(t.Place, "sweep key in point(key=value)", key, keys)
				return sel.name
			}
			for k, v := range s.Sweep[at].Values {
				if values = append(values, v.Text); v.Text == value {
					sel.values[at] = k
				}
			}
			if sel.values[at] < 0 {
				if s.Narrowed {
					sel.gone = true
					continue
				}
				d.Unknown(t.Place, "value of "+key, value, values)
			}
		}
		c.others = append(c.others, sel)
		written = append(written, sel.name, whole)
		return sel.name
	})
	return replaced, written
}

// pointOf is the point that a selector means at point i, −1 if it is not there.
func (s *View) pointOf(sel *selector, i int) int {
	if sel.gone {
		return -1
	}
	out, stride := 0, 1
	for k := len(s.Sweep) - 1; k >= 0; k-- {
		n := len(s.Sweep[k].Values)
		v := i / stride % n
		if sel.values[k] >= 0 {
			v = sel.values[k]
		}
		out += v * stride
		stride *= n
	}
	return out
}

func (s *View) decodeThat(d *document.Reader, c *Compiled, t *document.Node) {
	text, pairs := s.selectors(d, c, t, d.Text(t))
	if !d.OK() {
		return
	}
	if strings.TrimSpace(text) == "" {
		d.Fail(t.Place, "goodput.a > 0.5 * goodput.b", "the claim says nothing")
		return
	}
	c.written = literals(text, pairs...)
	text0 := text
	text = Units(text)
	node, err := parser.Parse(text)
	if err != nil {
		d.Fail(t.Place, "goodput.a > 0.5 * goodput.b", "%s", firstLine(err))
		return
	}
	env := s.sample()
	if c.along != "" {
		env["next"] = s.sample()
	}
	for _, sel := range c.others {
		env[sel.name] = s.sample()
	}
	measures := s.measures()
	if v := unknownName(node.Node, env, measures); v.msg != "" {
		d.Fail(within(d, t, v.word), v.allowed, "%s", v.msg)
		return
	} else if !v.measured {
		d.Fail(t.Place, strings.Join(slices.Sorted(maps.Keys(measures)), ", "), "the claim names no measure")
		return
	}
	if word := s.clash(node.Node, literalUnits(text0, node.Node)); word != "" {
		d.Fail(t.Place, "quantities of one kind on both sides", "%s", word)
		return
	}
	c.that, err = build(node.Node, env, s.unitOf)
	if err != nil {
		d.Fail(t.Place, "comparisons joined by and, or, not", "%s", firstLine(err))
	}
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

// names walks an expression for names that do not exist.
type names struct {
	env                map[string]any
	measures           map[string]any
	word, msg, allowed string // what is wrong
	measured           bool   // it names a measure
}

func unknownName(n ast.Node, env map[string]any, measures map[string]any) *names {
	v := &names{env: env, measures: measures}
	ast.Walk(&n, v)
	v.whole(n)
	return v
}

// whole notes a measure that stands where a number should, without one of its groups.
func (v *names) whole(n ast.Node) {
	var m any
	var word string
	switch x := n.(type) {
	case *ast.IdentifierNode:
		m, word = v.env[x.Value], x.Value
	case *ast.MemberNode:
		base, name := baseOf(x, v.env)
		if e, ok := base.(map[string]any); ok {
			m, word = e[name], name
		}
	}
	groups, ok := m.(map[string]float64)
	if !ok || v.msg != "" {
		return
	}
	var words []string
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		words = append(words, word+"."+g)
	}
	v.word, v.msg, v.allowed = word, fmt.Sprintf("%s is not one number", word), strings.Join(words, ", ")
}

func (v *names) Visit(n *ast.Node) {
	if v.msg != "" {
		return
	}
	switch x := (*n).(type) {
	case *ast.IdentifierNode:
		if _, ok := v.env[x.Value]; !ok {
			v.report(x.Value, v.env)
		}
		if _, ok := v.measures[x.Value]; ok {
			v.measured = true
		}
	case *ast.BinaryNode:
		v.whole(x.Left)
		v.whole(x.Right)
	case *ast.UnaryNode:
		v.whole(x.Node)
	case *ast.MemberNode:
		base, name := baseOf(x, v.env)
		if base == nil || name == "" {
			return
		}
		switch m := base.(type) {
		case map[string]float64:
			if _, ok := m[name]; !ok {
				words := slices.Sorted(maps.Keys(m))
				v.word, v.msg, v.allowed = name, fmt.Sprintf("%s has no %q", measureOf(x), name), strings.Join(words, ", ")
				if n := document.Nearest(name, words); n != "" {
					v.msg += fmt.Sprintf("; did you mean %q?", n)
				}
			}
		case map[string]any:
			if _, ok := m[name]; !ok {
				v.report(name, m)
			}
			if _, ok := v.measures[name]; ok {
				v.measured = true
			}
		}
	}
}

func (v *names) report(name string, env map[string]any) {
	words := slices.Sorted(maps.Keys(env))
	v.word = name
	v.msg = fmt.Sprintf("%q is neither a measure nor a sweep key", name)
	if n := document.Nearest(name, words); n != "" {
		v.msg += fmt.Sprintf("; did you mean %q?", n)
	}
	v.allowed = strings.Join(words, ", ")
}

// measureOf names the measure of which a member node takes a group.
func measureOf(m *ast.MemberNode) string {
	switch x := m.Node.(type) {
	case *ast.IdentifierNode:
		return x.Value
	case *ast.MemberNode:
		if name, ok := x.Property.(*ast.StringNode); ok {
			return name.Value
		}
	}
	return "it"
}

// baseOf returns the value of which a member node takes a member, if that is in
// the environment, and the member's name.
func baseOf(m *ast.MemberNode, env map[string]any) (any, string) {
	name, ok := m.Property.(*ast.StringNode)
	if !ok {
		return nil, ""
	}
	switch x := m.Node.(type) {
	case *ast.IdentifierNode:
		return env[x.Value], name.Value
	case *ast.MemberNode:
		base, inner := baseOf(x, env)
		if e, ok := base.(map[string]any); ok {
			return e[inner], name.Value
		}
	}
	return nil, ""
}

// build turns an expression into a truth.
func build(n ast.Node, env map[string]any, unitOf func(ast.Node) (string, bool)) (*truth, error) {
	switch x := n.(type) {
	case *ast.UnaryNode:
		if x.Operator == "not" || x.Operator == "!" {
			part, err := build(x.Node, env, unitOf)
			return &truth{op: "not", parts: []*truth{part}}, err
		}
	case *ast.BinaryNode:
		op := map[string]string{"and": "and", "&&": "and", "or": "or", "||": "or"}[x.Operator]
		if op != "" {
			l, err := build(x.Left, env, unitOf)
			if err != nil {
				return nil, err
			}
			r, err := build(x.Right, env, unitOf)
			return &truth{op: op, parts: []*truth{l, r}}, err
		}
		switch x.Operator {
		case "<", "<=", ">", ">=", "==", "!=":
			t := &truth{op: x.Operator, leftText: x.Left.String(), rightText: x.Right.String()}
			if t.unit, _ = unitOf(x.Left); t.unit == "" {
				t.unit, _ = unitOf(x.Right)
			}
			_, err := expr.Compile(x.String(), expr.Env(env), expr.AsBool()) // do the sides compare?
			if err != nil {
				return nil, err
			}
			if t.left, err = expr.Compile(t.leftText, expr.Env(env)); err != nil {
				return nil, err
			}
			t.right, err = expr.Compile(t.rightText, expr.Env(env))
			return t, err
		}
	}
	t := &truth{op: "bool", leftText: n.String()}
	var err error
	t.left, err = expr.Compile(t.leftText, expr.Env(env), expr.AsBool())
	return t, err
}

// verdict is the outcome of a truth at one place of the sweep.
type verdict struct {
	value  ternary
	margin float64 // of the comparison that decides, relative; negative when it is false
	text   string  // that comparison with its numbers
}

// judge evaluates t over the seeds' environments, one a seed.
func (t *truth) judge(envs []map[string]any) verdict {
	switch t.op {
	case "not":
		v := t.parts[0].judge(envs)
		v.value, v.margin = yes-v.value, -v.margin
		return v
	case "and", "or":
		a, b := t.parts[0].judge(envs), t.parts[1].judge(envs)
		worse := b.value < a.value || b.value == a.value && b.margin < a.margin
		if worse == (t.op == "and") {
			return b
		}
		return a
	}
	var differences, lefts, rights []float64
	var holding, failing int // of what is not a comparison of numbers
	for _, env := range envs {
		l, err := expr.Run(t.left, env)
		if err != nil {
			return verdict{maybe, math.Inf(-1), t.leftText + ": " + firstLine(err)}
		}
		if t.op == "bool" {
			if b, ok := l.(bool); ok && b {
				holding++
			} else {
				failing++
			}
			continue
		}
		r, err := expr.Run(t.right, env)
		if err != nil {
			return verdict{maybe, math.Inf(-1), t.rightText + ": " + firstLine(err)}
		}
		x, okX := toFloat(l)
		y, okY := toFloat(r)
		if !okX || !okY { // words, of which only the same and others are known
			a, isA := l.(string)
			b, isB := r.(string)
			if !isA || !isB || t.op != "==" && t.op != "!=" {
				return verdict{maybe, math.Inf(-1), t.leftText + " and " + t.rightText + " cannot be compared there"}
			}
			if (a == b) == (t.op == "==") {
				holding++
			} else {
				failing++
			}
			continue
		}
		lefts, rights = append(lefts, x), append(rights, y)
		differences = append(differences, x-y)
	}
	switch {
	case len(differences) > 0:
	case failing == 0:
		return verdict{yes, 1, t.text() + " is true"}
	case holding == 0:
		return verdict{no, -1, t.text() + " is false"}
	default:
		return verdict{maybe, 0, fmt.Sprintf("%s is true for %d of %d seeds", t.text(), holding, holding+failing)}
	}
	left, _ := MeanInterval(lefts)
	right, _ := MeanInterval(rights)
	mean, half := MeanInterval(differences)
	v := verdict{text: fmt.Sprintf("%s = %s %s %s", t.leftText, measure.Quantity(left, t.unit), t.op,
		measure.Quantity(right, t.unit))}
	if math.IsNaN(mean) {
		v.value, v.margin = maybe, math.Inf(-1)
		v.text = t.leftText + " or " + t.rightText + " is not defined there"
		return v
	}
	if len(differences) < 2 || math.IsInf(mean, 0) {
		half = 0
	}
	low, high := mean-half, mean+half
	v.value = maybe
	switch t.op {
	case "<", "<=":
		v.margin = -mean
		if compare(t.op, high, 0) {
			v.value = yes
		} else if !compare(t.op, low, 0) {
			v.value = no
		}
	case ">", ">=":
		v.margin = mean
		if compare(t.op, low, 0) {
			v.value = yes
		} else if !compare(t.op, high, 0) {
			v.value = no
		}
	default:
		equal := low == 0 && high == 0
		apart := low > 0 || high < 0
		v.margin = -math.Abs(mean)
		if t.op == "!=" {
			equal, apart, v.margin = apart, equal, -v.margin
		}
		if equal {
			v.value = yes
		} else if apart {
			v.value = no
		}
	}
	if scale := max(math.Abs(left), math.Abs(right)); scale > 0 {
		v.margin /= scale
	}
	if half > 0 {
		v.text += fmt.Sprintf(" (difference %s ± %s)", measure.Quantity(mean, t.unit), measure.Quantity(half, t.unit))
	}
	return v
}

// text is the expression of a leaf.
func (t *truth) text() string {
	if t.op == "bool" {
		return t.leftText
	}
	return t.leftText + " " + t.op + " " + t.rightText
}

func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	}
	return 0, false
}

// MeanInterval returns the mean of a sample and half the width of its 95 %
// interval by Student's t; NaN for the width of a sample of one.
func MeanInterval(x []float64) (mean, half float64) {
	n := float64(len(x))
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	for _, v := range x {
		mean += v
	}
	mean /= n
	if n < 2 {
		return mean, math.NaN()
	}
	squares := 0.0
	for _, v := range x {
		squares += float64((v - mean) * (v - mean))
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
	return mean, t * math.Sqrt(squares/(n-1)/n)
}

// unitOf is the unit of an expression, as far as its measures show it; known is false
// for what is a plain number and fits any unit.
func (s *View) unitOf(n ast.Node) (unit string, known bool) {
	switch x := n.(type) {
	case *ast.IdentifierNode:
		return s.UnitOf(x.Value)
	case *ast.MemberNode:
		for m := n; ; { // the first name of the chain that is a measure
			switch y := m.(type) {
			case *ast.MemberNode:
				if name, ok := y.Property.(*ast.StringNode); ok {
					if m == n && (name.Value == "from" || name.Value == "to") { // of a bin
						return "bytes", true
					}
					if m == n && name.Value == "n" {
						return "", true
					}
					if u, is := s.UnitOf(name.Value); is {
						return u, true
					}
				}
				m = y.Node
				continue
			case *ast.IdentifierNode:
				return s.UnitOf(y.Value)
			}
			return "", false
		}
	case *ast.UnaryNode:
		return s.unitOf(x.Node)
	case *ast.BuiltinNode:
		if len(x.Arguments) > 0 && slices.Contains([]string{"abs", "min", "max", "mean", "floor", "ceil", "round"}, x.Name) {
			return s.unitOf(x.Arguments[0])
		}
	case *ast.BinaryNode:
		left, isLeft := s.unitOf(x.Left)
		right, isRight := s.unitOf(x.Right)
		switch {
		case x.Operator == "+" || x.Operator == "-":
			if isLeft {
				return left, true
			}
			return right, isRight
		case x.Operator == "*" && isLeft != isRight:
			return left + right, true
		case x.Operator == "/" && isLeft && !isRight:
			return left, true
		}
	}
	return "", false
}

// literalUnits tells the units of the numbers in an expression that stand for
// quantities: text is the expression with its quantities, n with their numbers. Numbers
// that also stand for themselves, or for two kinds of quantity, are left out.
func literalUnits(text string, n ast.Node) map[float64]string {
	units, count := map[float64]string{}, map[float64]int{}
	for _, m := range literal.FindAllStringSubmatch(quoted.ReplaceAllString(strings.ReplaceAll(text, " ", "  "), "''"),
		-1) {
		u, word := "", m[2]+m[3]
		if _, err := unit.ParseTime(word); err == nil {
			u = "s"
		} else if _, err := unit.ParseRate(word); err == nil {
			u = "bps"
		} else if _, err := unit.ParseBytes(word); err == nil {
			u = "bytes"
		}
		v, ok := measure.ParseQuantity(word)
		if old, twice := units[v]; !ok || twice && old != u || u == "" && m[3] != "%" {
			u = "?"
		}
		units[v] = u
		count[v]++
	}
	ast.Walk(&n, visitor(func(n ast.Node) {
		if v, ok := literalOf(n); ok {
			count[v]--
		}
	}))
	for v, u := range units {
		if u == "?" || count[v] != 0 {
			delete(units, v)
		}
	}
	return units
}

type visitor func(ast.Node)

func (v visitor) Visit(n *ast.Node) { v(*n) }

func literalOf(n ast.Node) (float64, bool) {
	switch x := n.(type) {
	case *ast.IntegerNode:
		return float64(x.Value), true
	case *ast.FloatNode:
		return x.Value, true
	}
	return 0, false
}

// clash says which comparison, sum or difference of an expression has sides of
// different units; "" if none has, as far as measures and quantities show it.
func (s *View) clash(n ast.Node, literals map[float64]string) (what string) {
	ast.Walk(&n, visitor(func(n ast.Node) {
		x, ok := n.(*ast.BinaryNode)
		if !ok || !slices.Contains([]string{"<", "<=", ">", ">=", "==", "!=", "+", "-"}, x.Operator) || what != "" {
			return
		}
		left, isLeft := s.dimension(x.Left, literals)
		right, isRight := s.dimension(x.Right, literals)
		if isLeft && isRight && left != right {
			what = fmt.Sprintf("the sides of %s are in %s and %s", x.Operator, nameOfUnit(left), nameOfUnit(right))
		}
	}))
	return what
}

// dimension is the unit of an expression, quantities included; known is false for what
// may be anything: a sweep key, a plain number, what a product or a quotient comes to.
func (s *View) dimension(n ast.Node, literals map[float64]string) (unit string, known bool) {
	switch x := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		v, _ := literalOf(x)
		unit, known = literals[v]
		return unit, known
	case *ast.IdentifierNode, *ast.MemberNode:
		return s.unitOf(x)
	case *ast.UnaryNode:
		return s.dimension(x.Node, literals)
	case *ast.BuiltinNode:
		if len(x.Arguments) > 0 && slices.Contains([]string{"abs", "min", "max", "mean"}, x.Name) {
			return s.dimension(x.Arguments[0], literals)
		}
	case *ast.BinaryNode:
		left, isLeft := s.dimension(x.Left, literals)
		right, isRight := s.dimension(x.Right, literals)
		_, factorLeft := literalOf(x.Left)
		_, factorRight := literalOf(x.Right)
		factorLeft, factorRight = factorLeft && !isLeft || isLeft && left == "", factorRight && !isRight || isRight &&
			right == ""
		switch {
		case x.Operator == "+" || x.Operator == "-":
			if isLeft {
				return left, true
			}
			return right, isRight
		case x.Operator == "*" && factorLeft:
			return right, isRight
		case (x.Operator == "*" || x.Operator == "/") && factorRight:
			return left, isLeft
		}
	}
	return "", false
}

func nameOfUnit(u string) string {
	switch u {
	case "":
		return "plain numbers"
	case "bps":
		return "bit/s"
	}
	return u
}

// UnitOf is the unit of a measure by its name, as expressions have it.
func (s *View) UnitOf(name string) (unit string, known bool) {
	for i := range s.Shape().Measures {
		if m := &s.Shape().Measures[i]; m.Name == name {
			return m.Unit, true
		}
	}
	for i := range s.Shape().Bins {
		if b := &s.Shape().Bins[i]; b.Name+"_bins" == name {
			return b.Unit, true
		}
	}
	return "", false
}

// matching returns the points that a claim means, or with along the first of each
// pair of neighbours.
func (s *View) matching(c *Compiled) []int {
	var points []int
	for i, at := range s.Points {
		if c.Means(at) && (c.along == "" || s.neighbour(c, i) >= 0) {
			points = append(points, i)
		}
	}
	return points
}

// Means tells whether a point is meant.
func (c *Filter) Means(at []measure.Coordinate) bool {
	if c.when != nil {
		is, err := expr.Run(c.when, environment(at, nil))
		return err == nil && is == true
	}
	for _, w := range c.where {
		for _, x := range at {
			if x.Key == w.key && !w.test(x) {
				return false
			}
		}
	}
	return true
}

// neighbour returns the next point along the claim's sweep key that the claim
// means, −1 if there is none.
func (s *View) neighbour(c *Compiled, i int) int {
	stride := 1
	for k := len(s.Sweep) - 1; k >= 0; k-- {
		n := len(s.Sweep[k].Values)
		if s.Sweep[k].Key == c.along {
			for here := i / stride % n; here < n-1; here++ {
				if i += stride; c.Means(s.Points[i]) {
					return i
				}
			}
			return -1
		}
		stride *= n
	}
	return -1
}

// Judge gives every claim its verdict over the finished runs of the seeds.
func (s *View) Judge(claims []*Compiled, seeds []uint64, runs []Sample) []Claim {
	// by point and seed
	at := map[string]map[uint64]*Sample{}
	for i := range runs {
		r := &runs[i]
		name := measure.PointName(r.Point)
		if at[name] == nil {
			at[name] = map[uint64]*Sample{}
		}
		at[name][r.Seed] = r
	}
	var out []Claim
	for _, c := range claims {
		result := c.Claim
		points := s.matching(c)
		decides := verdict{value: yes, margin: math.Inf(1)}
		if c.some {
			decides = verdict{value: no, margin: math.Inf(-1)}
		}
		missing := len(points) == 0
		used := map[*Sample]bool{}
		for _, i := range points {
			var envs []map[string]any
			here := at[measure.PointName(s.Points[i])]
			for _, seed := range seeds {
				r := here[seed]
				if r == nil {
					missing = true
					continue
				}
				env := environment(r.Point, r.Values)
				if c.along != "" {
					next := at[measure.PointName(s.Points[s.neighbour(c, i)])][seed]
					if next == nil {
						missing = true
						continue
					}
					env["next"] = environment(next.Point, next.Values)
					used[next] = true
				}
				for o := range c.others {
					var there *Sample
					if k := s.pointOf(&c.others[o], i); k >= 0 {
						there = at[measure.PointName(s.Points[k])][seed]
					}
					if there == nil {
						env = nil
						break
					}
					env[c.others[o].name] = environment(there.Point, there.Values)
					used[there] = true
				}
				if env == nil {
					missing = true
					continue
				}
				used[r] = true
				envs = append(envs, env)
			}
			if len(envs) == 0 {
				continue
			}
			v := c.that.judge(envs)
			less, more := v, decides
			if c.some {
				less, more = decides, v
			}
			if less.value < more.value || less.value == more.value && less.margin < more.margin {
				decides = v
				if name := measure.PointName(s.Points[i]); name != "" {
					decides.text = name + ": " + v.text
				}
			}
		}
		result.Measured, result.N = c.written.Replace(decides.text), len(used)
		switch {
		case len(points) == 0:
			result.Verdict, result.Measured = Undecided, "no point of this sweep bears on it"
		case !c.some && decides.value == no, c.some && decides.value == no && !missing:
			result.Verdict = Fails
		case decides.value == maybe || missing && !(c.some && decides.value == yes):
			result.Verdict = Undecided
			if missing && decides.value != maybe {
				result.Measured += " (runs are missing)"
			}
		default:
			result.Verdict = Holds
		}
		out = append(out, result)
	}
	return out
}

// Only are the sweep keys of which where picks one value, as key=value in the file's order:
// what tells two plots of the same axes apart.
func (c *Filter) Only() (keys []string) {
	for _, w := range c.where {
		if w.only != "" {
			keys = append(keys, w.key+"="+w.only)
		}
	}
	return keys
}
