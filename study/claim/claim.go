package claim

import (
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/parser"

	"weir/internal/document"
	"weir/study/measure"
)

// View is what claims see of an experiment.
type View struct {
	Paper    string // where claims come from
	Sweep    []measure.Dimension
	Points   [][]measure.Coordinate
	Numbers  []int                  // of points among all combinations of the sweep, ascending; nil: all are there
	Narrowed bool                   // options may have left out a part of the sweep
	Shape    func() *measure.Values // what runs have: names, without values
	// Blind is set where points are wrong, so that nobody knows what runs have: it reports whether a name may be a
	// measure. Claims are then checked as far as that goes, and not made.
	Blind func(name string) bool
}

// keys are those of the sweep.
func (s *View) keys() (keys []string) {
	for _, d := range s.Sweep {
		keys = append(keys, d.Key)
	}
	return keys
}

// Compiled is one entry of the expect list, decoded.
type Compiled struct {
	Claim
	Filter
	others []selector // other points that it names
	some   bool       // one point is enough
	along  string     // sweep key along which neighbours are compared; "": no key
	that   *truth
	// measures are the names that the expression has, by the variable that stands for their point; "": the point in hand.
	measures map[string]map[string]bool
}

// Table are the keys of a claim.
var Table = &document.Table{What: "a claim's key", Doc: "a claim", Keys: []document.Key{
	{Name: "id", Form: document.Value("text"), Doc: "its name", Required: true, Example: "id: …"},
	{Name: "says", Form: document.Value("text"), Doc: "what is claimed, in words", Required: true, Example: "says: …"},
	{Name: "where", Form: document.Unbound("values by sweep key, or an expression"), Doc: "points that are meant",
		Without: "all"},
	{Name: "along", Form: document.Value("sweep key"), Doc: "along which neighbours are compared", Without: "none"},
	{Name: "for", Form: document.OneOf("every", "some"), Doc: "how many of the points must have it", Without: "`every`"},
	{Name: "that", Form: document.Value("expression"), Doc: "what is to hold", Required: true,
		Example: "that: goodput.a > goodput.b"},
}}

// Decode reads the expect list.
func (s *View) Decode(d *document.Reader, t *document.Node) (claims []*Compiled) {
	if t.Kind != document.List {
		d.Fail(t.Position, "[{id: …, says: …, that: …}]", "expect is a list")
		return nil
	}
	seen := map[string]bool{}
	for _, item := range t.Items {
		x, ok := d.Map(item, Table)
		if !ok {
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
				x.Missing(k.name, "the claim has no %q", k.name)
			}
		}
		if id := x.Get("id"); id != nil && seen[c.ID] {
			d.Fail(id.Position, "another id", "the claim %q is here already", c.ID)
		}
		seen[c.ID] = true
		if w := x.Get("where"); w != nil {
			s.Where(d, &c.Filter, w)
		}
		if a := x.Get("along"); a != nil {
			c.along = d.Word(a, "sweep key", s.keys())
		}
		if f := x.Get("for"); f != nil {
			c.some = d.Word(f, "quantifier", Table.Key("for").Form.Words) == "some"
		}
		that := x.Get("that")
		if that == nil {
			x.Missing("that", "the claim has no \"that\"")
			continue
		}
		s.decodeThat(d, c, that)
		if d.OK() && s.Blind == nil && !s.Narrowed && len(s.matching(c)) == 0 {
			d.Fail(x.Position, "", "no point of the sweep is meant by the claim %q", c.ID)
		}
		claims = append(claims, c)
	}
	return claims
}

func (s *View) decodeThat(d *document.Reader, c *Compiled, t *document.Node) {
	before := d.Count()
	text, names := s.selectors(d, c, t, d.Text(t))
	if d.Count() > before {
		return
	}
	if strings.TrimSpace(text) == "" {
		d.Fail(t.Position, "goodput.a > 0.5 * goodput.b", "the claim says nothing")
		return
	}
	text0 := text
	text, tokens := numbers(text0)
	node, err := parser.Parse(text)
	if err != nil {
		d.Fail(t.Position, "goodput.a > 0.5 * goodput.b", "%s", firstLine(err))
		return
	}
	if s.Blind != nil {
		s.guess(d, c, t, node.Node)
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
	v := unknownName(node.Node, env, measures)
	if c.measures = v.named; v.msg != "" {
		d.Fail(within(d, t, v.word), v.allowed, "%s", v.msg)
		return
	} else if len(v.named) == 0 {
		d.Fail(t.Position, document.Choices(slices.Sorted(maps.Keys(measures))), "the claim names no measure")
		return
	}
	if word := s.clash(node.Node, literalUnits(text0, node.Node)); word != "" {
		d.Fail(t.Position, "quantities of one kind on both sides", "%s", word)
		return
	}
	people, err := displayTree(text, tokens, names)
	if err == nil {
		c.that, err = build(node.Node, people, env, s.unitOf)
	}
	if err != nil {
		d.Fail(t.Position, "comparisons joined by and, or, not", "%s", firstLine(err))
	}
}
