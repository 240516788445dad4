package claim

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"weir/internal/document"
	"weir/study/measure"
)

// View is the part of an experiment that claims can refer to.
type View struct {
	Paper    string // source of the claims
	Sweep    []measure.Dimension
	Points   [][]measure.Coordinate
	Numbers  []int                  // of points among all combinations, ascending; nil: the sweep has all
	Narrowed bool                   // options may have removed a part of the sweep
	Shape    func() *measure.Values // names and units of what runs measure, without values
	Kinds    []string               // names of the measures that an experiment can record
	// MayBeMeasure is set if points are invalid, so that the measures of runs are unknown. It reports whether a name may
	// be a measure. Then claims are checked only as far as possible, and not compiled.
	MayBeMeasure func(name string) bool
}

// sweepKeys returns the keys of the sweep in its order.
func (s *View) sweepKeys() (keys []string) {
	for _, d := range s.Sweep {
		keys = append(keys, d.Key)
	}
	return keys
}

// Compiled is one entry of the expect list, decoded and compiled.
type Compiled struct {
	Claim
	Filter
	selectors []selector // other points that the expression names
	onePoint  bool       // the claim holds if it holds at one point
	alongKey  string     // sweep key along which neighbours are compared; "": no key
	truth     *truth
	// measures has the measures that the expression names, by the variable of their point; "": the current point.
	measures map[string]map[string]bool
}

// Table has the keys of a claim.
var Table = &document.Table{KeyNoun: "claim key", Doc: "a claim", Keys: []document.Key{
	{Name: "id", Form: document.Value("text"), Doc: "name of the claim", Required: true, Example: "id: …"},
	{Name: "says", Form: document.Value("text"), Doc: "the claim in words", Required: true, Example: "says: …"},
	{Name: "where", Form: document.AnyValue("values by sweep key, or an expression"), Doc: "points at which the claim " +
		"is checked",
		Without: "all"},
	{Name: "along", Form: document.Value("sweep key"), Doc: "key of the sweep along which neighbouring points are " +
		"compared", Without: "none"},
	{Name: "for", Form: document.OneOf("every", "some"), Doc: "whether the claim must hold at every point or at some " +
		"point", Without: "`every`"},
	{Name: "that", Form: document.Value("expression"), Doc: "condition that must hold", Required: true,
		Example: "that: goodput.a > goodput.b"},
}}

// ReadClaims reads the expect list and returns the claims that could be read. Errors go to d; a claim with an error may
// be in the result, without its expression.
func (s *View) ReadClaims(d *document.Reader, t *document.Node) (claims []*Compiled) {
	if t.Kind != document.List {
		d.Fail(t.Position, "[{id: …, says: …, that: …}]", "expect is not a list")
		return nil
	}
	ids := map[string]bool{}
	for _, item := range t.Items {
		x, ok := d.ReadMap(item, Table)
		if !ok {
			continue
		}
		c := &Compiled{Claim: Claim{Paper: s.Paper}}
		for _, k := range []struct {
			name string
			to   *string
		}{{"id", &c.ID}, {"says", &c.Says}} {
			if v := x.Get(k.name); v != nil {
				*k.to = d.ReadText(v)
			} else {
				x.FailMissing(k.name, "the claim needs the key %q", k.name)
			}
		}
		if id := x.Get("id"); id != nil && ids[c.ID] {
			d.Fail(id.Position, "another id", "the claim %q is given twice", c.ID)
		}
		ids[c.ID] = true
		if w := x.Get("where"); w != nil {
			s.ReadWhere(d, &c.Filter, w)
		}
		if a := x.Get("along"); a != nil {
			c.alongKey = d.ReadWord(a, "sweep key", s.sweepKeys())
		}
		if f := x.Get("for"); f != nil {
			c.onePoint = d.ReadWord(f, "quantifier", Table.FindKey("for").Form.Words) == "some"
		}
		that := x.Get("that")
		if that == nil {
			x.FailMissing("that", "the claim needs the key \"that\"")
			continue
		}
		s.decodeThat(d, c, that)
		if d.OK() && s.MayBeMeasure == nil && !s.Narrowed && len(s.matchingPoints(c)) == 0 {
			s.failWithoutPoint(d, c, x)
		}
		claims = append(claims, c)
	}
	return claims
}

// failWithoutPoint reports why the claim x is about no point: its where matches no point, no matching point has a
// neighbour along its key, or the sweep lacks each point with which it compares.
func (s *View) failWithoutPoint(d *document.Reader, c *Compiled, x document.Map) {
	matches := false
	for i, point := range s.Points {
		if !c.Matches(point) {
			continue
		}
		matches = true
		if c.alongKey != "" && s.nextNeighbour(c, i) < 0 {
			continue
		}
		if sel := s.findLackingSelector(c, i); sel != nil {
			var names []string
			_, values := s.selectCombination(sel, i)
			for k := range values {
				names = append(names, measure.PointName(values[k:k+1]))
			}
			d.Fail(x.Get("that").Position, "a where or point(…) with points that remain",
				"the claim %q has no point to compare: %s selects %s, which without omits", c.ID, sel.text,
				strings.Join(names, ", "))
			return
		}
	}
	if matches {
		d.Fail(x.Get("along").Position, "a where that matches two values of "+c.alongKey+" or more",
			"the claim %q has no neighbours to compare along %s", c.ID, c.alongKey)
		return
	}
	d.Fail(x.Position, "a where that matches points of the sweep", "the claim %q matches no point of the sweep", c.ID)
}

// decodeThat compiles the expression t of a claim into c: its selectors, measures and truth. It reports an error for
// unknown names, an expression without a measure, and sides in different units. With MayBeMeasure it only checks the
// names.
func (s *View) decodeThat(d *document.Reader, c *Compiled, t *document.Node) {
	before := d.CountErrors()
	written := d.ReadText(t)
	text, names := s.replaceSelectors(d, c, t, written)
	if d.CountErrors() > before {
		return
	}
	if strings.TrimSpace(text) == "" {
		d.Fail(t.Position, s.exampleClaim(), "the key that is empty")
		return
	}
	if at := openPoint(text); at >= 0 {
		d.Fail(wordPlace(d, t, "point"), "point(key=value, …)", "point( is not closed by )")
		return
	}
	text0 := text
	node := parseExpression(d, t, written, text0, names, "that", "comparisons joined by and, or, not, such as "+
		s.exampleClaim())
	if node == nil {
		return
	}
	text, tokens := replaceQuantities(text0)
	if s.MayBeMeasure != nil {
		s.checkPossibleNames(d, c, t, node)
		return
	}
	env := s.sampleEnvironment()
	if c.alongKey != "" {
		env["next"] = s.sampleEnvironment()
	}
	for _, sel := range c.selectors {
		env[sel.name] = s.sampleEnvironment()
	}
	measures := s.measureNames()
	v := s.checkNames(node, env, measures)
	if c.measures = v.named; v.msg != "" {
		d.Fail(wordPlace(d, t, v.word), v.allowed, "%s", v.msg)
		return
	} else if len(v.named) == 0 {
		d.Fail(t.Position, document.JoinChoices(slices.Sorted(maps.Keys(measures))), "the claim refers to no measure")
		return
	}
	if word := s.findUnitClash(node, literalUnits(text0, node)); word != "" {
		d.Fail(t.Position, "quantities in the same unit on both sides", "%s", word)
		return
	}
	people, err := displayTree(text, tokens, names)
	if err == nil {
		c.truth, err = newTruth(node, people, env, s.expressionUnit)
	}
	if err != nil {
		subject := "that"
		if part, ok := errors.AsType[*partError](err); ok && part.text != people.String() {
			subject = part.text
		}
		d.Fail(t.Position, "comparisons joined by and, or, not, such as "+s.exampleClaim(), "%s",
			describeError(subject, err))
	}
}
