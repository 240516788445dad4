package experiment

import (
	"fmt"
	"slices"
	"strings"

	"weir/internal/document"
	"weir/study/claim"
	"weir/study/measure"
)

// sweepSection has the keys that a file varies, and the combinations that it omits.
type sweepSection struct {
	sweep        []measure.Dimension
	valueOrigins []origins  // by dimension of the sweep
	omissions    []omission // entries of the key without
	absences     []absence  // the points that they omit
	numbers      []int      // of points among all combinations; nil: the sweep has all combinations
}

// origins are the places of the values of one key of the sweep.
type origins struct {
	blocks []*document.Node // by value: the keys that it sets; nil for scalars
	places []document.Position
}

// sweepKeys returns the names of a file's sweep keys. It returns nil without a sweep.
func sweepKeys(root *document.Node) []string {
	var keys []string
	for _, k := range top.ViewMap(root).GetEntries("sweep") {
		keys = append(keys, k.Name)
	}
	return keys
}

// readSweep reads the sweep. A value that is not a list or map is a single value. It reports an error for values that
// occur twice and for blocks with keys that must be equal at all points.
func (s *sweepSection) readSweep(d *reader, tree *document.Node) {
	sweep := top.ViewMap(tree).Get("sweep")
	if sweep == nil {
		return
	}
	if sweep.Kind != document.Mapping {
		d.Fail(sweep.Position, "{key: [value, …]} or {key: {name: {…}}}", "sweep is not a map")
		return
	}
	for _, k := range top.ViewMap(tree).GetEntries("sweep") {
		dim, from := measure.Dimension{Key: k.Name}, origins{}
		add := func(text string, place document.Position, block *document.Node) {
			v, ok := measure.ParseQuantity(text)
			dim.Values = append(dim.Values, measure.Coordinate{Key: k.Name, Text: text, Value: v, IsNum: ok})
			from.blocks = append(from.blocks, block)
			from.places = append(from.places, place)
		}
		switch k.Value.Kind {
		case document.List:
			for _, x := range k.Value.Items {
				if x.Kind != document.Scalar {
					d.Fail(x.Position, "", "the value of the sweep is not a plain value; write blocks as a map from names to blocks")
					continue
				}
				add(x.Text, x.Position, nil)
			}
		case document.Mapping:
			for _, x := range k.Value.Keys {
				if x.Value.Kind != document.Mapping {
					d.Fail(x.Value.Position, "{switch: […], …}", "the block %q of the sweep is not a map", x.Name)
					continue
				}
				for _, y := range x.Value.Keys {
					if slices.Contains(top.KeyNames(wholeFile, fixed), y.Name) {
						d.Fail(y.Position, "keys of a single run", "a sweep cannot vary %q", y.Name)
					}
				}
				add(x.Name, x.Position, x.Value)
			}
		default:
			add(k.Value.Text, k.Value.Position, nil)
		}
		if len(dim.Values) == 0 {
			d.Fail(k.Value.Position, "one value or more", "the sweep of %q has no values", k.Name)
			continue
		}
		texts := map[string]bool{}
		for i, v := range dim.Values {
			if texts[v.Text] {
				d.Fail(from.places[i], "each value once", "the sweep of %q has the value %q twice", k.Name, v.Text)
			}
			texts[v.Text] = true
		}
		s.sweep, s.valueOrigins = append(s.sweep, dim), append(s.valueOrigins, from)
	}
}

// Sweep returns the keys that the file varies, with their values.
func (s *sweepSection) Sweep() []measure.Dimension {
	out := slices.Clone(s.sweep)
	for i := range out {
		out[i].Values = slices.Clone(out[i].Values)
	}
	return out
}

// countCombinations returns the number of combinations of the sweep. It reports an error if there are too many points
// or runs, before the product overflows.
func (s *sweepSection) countCombinations(c *document.Reader, root *document.Node, h *headSection) (n int, ok bool) {
	n = 1
	for k, dim := range s.sweep {
		if n *= len(dim.Values); n > maxPoints {
			c.Fail(s.valueOrigins[k].places[0], fmt.Sprintf("up to %d points", maxPoints),
				"the sweep has %d points with only the first %d of its %d keys", n, k+1, len(s.sweep))
			return 0, false
		}
	}
	for _, k := range []struct {
		key   string
		seeds int
	}{{"repeat", h.repeat}, {"lab_repeat", h.labRepeat}} {
		if t := top.ViewMap(root).Get(k.key); t != nil && n*k.seeds > maxRuns {
			c.Fail(t.Position, fmt.Sprintf("up to %d runs", maxRuns), "%d points with %d seeds each are %d runs", n, k.seeds,
				n*k.seeds)
			return 0, false
		}
	}
	return n, true
}

// indexOf returns, by key of the sweep, the index of its value in combination i. The last key varies fastest.
func (s *sweepSection) indexOf(i int) []int {
	index := make([]int, len(s.sweep))
	for k := len(s.sweep) - 1; k >= 0; k-- {
		n := len(s.sweep[k].Values)
		index[k] = i % n
		i /= n
	}
	return index
}

// absence is an entry of without: omitted points of the sweep, and why they have no meaning.
type absence struct {
	Points [][]measure.Coordinate
	Why    string
}

// Describe returns the points as text, by the keys in which they are not the whole sweep: scheme=ndp
// balance=ecmp|flowlets. If the points are not a product of values, it lists them.
func (a *absence) Describe(sweep []measure.Dimension) string {
	words, product := []string{}, 1
	for k, dim := range sweep {
		var values []string
		for _, p := range a.Points {
			if !slices.Contains(values, p[k].Text) {
				values = append(values, p[k].Text)
			}
		}
		if product *= len(values); len(values) < len(dim.Values) {
			words = append(words, dim.Key+"="+strings.Join(values, "|"))
		}
	}
	if product == len(a.Points) && len(words) > 0 {
		return strings.Join(words, " ")
	}
	words = nil
	for _, p := range a.Points {
		words = append(words, measure.PointName(p))
	}
	return strings.Join(words, ", ")
}

// without has the keys of an entry of without.
var without = &document.Table{KeyNoun: "without key", Doc: "points to leave out", Keys: []document.Key{
	{Name: "where", Form: whereForm, Doc: "points to leave out", Required: true, Example: withoutExample},
	{Name: "why", Form: textForm, Doc: "reason why they have no meaning, which reports print",
		Required: true, Example: withoutExample},
}}

const withoutExample = "{where: {scheme: ndp, balance: ecmp}, why: NDP wants all paths}"

// omission is an entry of without that has been read.
type omission struct {
	claim.Filter
	why   string
	place document.Position
}

// readWithout reads the entries of without. narrowed accepts values that options may have removed. The sweep must have
// been read.
func (s *sweepSection) readWithout(d *reader, tree *document.Node, narrowed bool) {
	t := top.ViewMap(tree).Get("without")
	if t == nil {
		return
	}
	switch {
	case t.Kind != document.List:
		d.Fail(t.Position, "["+withoutExample+"]", "without is not a list")
		return
	case len(s.sweep) == 0:
		d.Fail(t.Position, "a sweep", "the experiment has no sweep, so it has no point to leave out")
		return
	}
	view := claim.View{Sweep: s.sweep, Points: [][]measure.Coordinate{s.coordinates(0)}, Narrowed: narrowed}
	for _, item := range t.Items {
		x, ok := d.ReadMap(item, without)
		if !ok {
			continue
		}
		a := omission{place: item.Position}
		for _, key := range []string{"where", "why"} {
			if x.Get(key) == nil {
				x.FailMissing(key, "the entry of without needs the key %q", key)
			}
		}
		if w := x.Get("where"); w != nil {
			view.ReadWhere(d.Reader, &a.Filter, w)
		}
		if w := x.Get("why"); w != nil {
			a.why = d.ReadText(w)
		}
		s.omissions = append(s.omissions, a)
	}
}

// coordinates returns the sweep's values of combination i.
func (s *sweepSection) coordinates(i int) (point []measure.Coordinate) {
	for k, v := range s.indexOf(i) {
		point = append(point, s.sweep[k].Values[v])
	}
	return point
}

// findAbsence returns the index of the entry of without that omits combination i; −1 if no entry does.
func (s *sweepSection) findAbsence(i int) int {
	if len(s.omissions) == 0 {
		return -1
	}
	point := s.coordinates(i)
	return slices.IndexFunc(s.omissions, func(a omission) bool { return a.Matches(point) })
}

// keepCombinations returns the combinations that are not omitted, out of the given number. It reports an error and
// returns false if all are omitted, or if an entry omits no point. With narrowed an entry may omit no point. It also
// stores the omitted points.
func (s *sweepSection) keepCombinations(d *reader, root *document.Node, combinations int, narrowed bool) (kept []int,
	ok bool) {
	s.absences = make([]absence, len(s.omissions))
	for i := range combinations {
		k := s.findAbsence(i)
		if k < 0 {
			kept = append(kept, i)
			continue
		}
		s.absences[k].Why = s.omissions[k].why
		s.absences[k].Points = append(s.absences[k].Points, s.coordinates(i))
	}
	for k := range s.absences {
		if len(s.absences[k].Points) == 0 && !narrowed {
			s.failIdleOmission(d, k, combinations)
			return nil, false
		}
	}
	s.absences = slices.DeleteFunc(s.absences, func(a absence) bool { return len(a.Points) == 0 })
	if len(kept) == 0 {
		why := s.absences[0].Why
		d.Fail(top.ViewMap(root).Get("without").Position, "at least one remaining point",
			"without leaves no point of the sweep: %s",
			why)
		return nil, false
	}
	return kept, true
}

// failIdleOmission reports that entry k of without omits no point: it matches no combination, or only those that
// earlier entries omit.
func (s *sweepSection) failIdleOmission(d *reader, k, combinations int) {
	for i := range combinations {
		if s.omissions[k].Matches(s.coordinates(i)) {
			d.Fail(s.omissions[k].place, "remove the entry, or change its where",
				"this entry of without omits nothing: earlier entries already omit all of its points")
			return
		}
	}
	d.Fail(s.omissions[k].place, "a where that matches points of the sweep",
		"this entry of without matches no point of the sweep")
}

// OmittedPoints returns, for each entry of without that omits points, these points and the reason why they have no
// meaning.
func (s *sweepSection) OmittedPoints() []absence {
	out := slices.Clone(s.absences)
	for i := range out {
		out[i].Points = slices.Clone(out[i].Points)
	}
	return out
}

// firstCombination returns the first combination that is not omitted, out of the given number; 0 if all are.
func (s *sweepSection) firstCombination(combinations int) int {
	for i := range combinations {
		if s.findAbsence(i) < 0 {
			return i
		}
	}
	return 0
}

// variable is a $name that a block of the sweep defines.
type variable struct {
	document.Entry
	used bool
}

// bindings has the values of a file's $names at one combination of the sweep.
type bindings struct {
	*reader
	point     []measure.Coordinate
	places    []document.Position // places of these values in the sweep
	variables []variable          // defined by its blocks
	used      map[string]bool     // keys of the sweep that any point uses
}

// bindNames merges the blocks of combination i into a tree, and returns the values of $names. It adds no names to used;
// replaceNames does.
func (s *sweepSection) bindNames(d *reader, tree *document.Node, i int, used map[string]bool) *bindings {
	b := &bindings{reader: d, point: s.coordinates(i), used: used}
	for k, v := range s.indexOf(i) {
		b.places = append(b.places, s.valueOrigins[k].places[v])
		block := s.valueOrigins[k].blocks[v]
		if block == nil {
			continue
		}
		block = document.Copy(block)
		var over []document.Entry
		for _, x := range block.Keys {
			if slices.Contains(top.KeyNames(), x.Name) {
				over = append(over, x)
			} else {
				b.variables = append(b.variables, variable{Entry: x})
			}
		}
		block.Keys = over
		mergeBlock(tree, block, 0)
	}
	return b
}

// programBlock is a value of the sweep without the keys switch and switches, of a sweep key with other values that have
// them. The zero value means that there is no such value.
type programBlock struct {
	place document.Position
	value string // as in names of points: "scheme=abc"
}

// findProgramBlock returns the first such value of combination i.
func (s *sweepSection) findProgramBlock(i int) programBlock {
	setsPrograms := func(block *document.Node) bool {
		if block == nil {
			return false
		}
		x := top.ViewMap(block)
		return x.Get("switch") != nil || x.Get("switches") != nil
	}
	for k, v := range s.indexOf(i) {
		from := &s.valueOrigins[k]
		if !setsPrograms(from.blocks[v]) && slices.ContainsFunc(from.blocks, setsPrograms) {
			return programBlock{from.places[v], measure.PointName(s.sweep[k].Values[v : v+1])}
		}
	}
	return programBlock{}
}

// replaceNames replaces the $names in a tree. A block may use the $names of blocks before it. It changes the tree, and
// reports an error for unknown names.
func (b *bindings) replaceNames(tree *document.Node) {
	for i, v := range b.variables {
		b.substituteNames(v.Value, b.variables[:i])
	}
	b.substituteNames(tree, b.variables)
}

// substituteNames replaces every $name in t by the value of a sweep key, or by what a block defines (variables), and
// marks these as used. Unknown names are errors. Defaults that are read from a sweep key's value belong to this point
// only, so they are not written to the file's tree. Defaults in a block are written to the block.
func (b *bindings) substituteNames(t *document.Node, variables []variable) {
	for _, x := range t.Items {
		b.substituteNames(x, variables)
	}
	for _, k := range t.Keys {
		b.substituteNames(k.Value, variables)
	}
	if t.Kind != document.Scalar || !strings.HasPrefix(t.Text, "$") {
		return
	}
	name := t.Text[1:]
	var names []string
	for i := range variables {
		if v := &variables[i]; v.Name == name {
			v.used = true
			*t = *document.Copy(v.Value)
			t.Bound = t.Kind == document.Scalar
			return
		}
		names = append(names, "$"+variables[i].Name)
	}
	for i, c := range b.point {
		if c.Key == name {
			place := b.places[i]
			b.Bound[t.Position] = fmt.Sprintf("$%s is %q at %s:%d:%d", name, c.Text, place.File, place.Line, place.Column)
			t.Text, t.Bound, t.Orig = c.Text, true, nil
			b.used[name] = true
			return
		}
		names = append(names, "$"+c.Key)
	}
	b.FailUnknown(t.Position, "sweep key", t.Text, names)
}

// collectMentions adds the names that occur as $name in a tree to names, and returns it.
func collectMentions(t *document.Node, names map[string]bool) map[string]bool {
	for _, x := range t.Items {
		collectMentions(x, names)
	}
	for _, k := range t.Keys {
		collectMentions(k.Value, names)
	}
	if name, ok := strings.CutPrefix(t.Text, "$"); ok && t.Kind == document.Scalar {
		names[name] = true
	}
	return names
}

// mergeBlock merges a block of the sweep into the root. It merges the maps topology, switches and switches.<name>. It
// replaces deeper values, such as a scheduler with its parameters. It changes the root. The first call has depth 0.
func mergeBlock(root, block *document.Node, depth int) {
	for _, k := range block.Keys {
		if old := root.Find(k.Name); depth < 2 && old != nil && old.Kind == document.Mapping &&
			k.Value.Kind == document.Mapping {
			mergeBlock(old, k.Value, depth+1)
			continue
		}
		root.Set(k.Name, k.Value)
	}
}
