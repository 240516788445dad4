package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/switchfile"
	"weir/study/claim"
	"weir/study/measure"
)

// Paper names where an experiment comes from.
type Paper struct {
	Name   string
	Figure string
}

func (p Paper) String() string {
	if p.Figure == "" {
		return p.Name
	}
	return p.Name + ", figure " + p.Figure
}

func paperOf(t *document.Node) Paper {
	var p Paper
	about := paper.Of(top.Of(t).Get("paper"))
	if x := about.Get("name"); x != nil {
		p.Name = x.Text
	}
	if x := about.Get("figure"); x != nil {
		p.Figure = x.Text
	}
	return p
}

// Spec is an experiment file, decoded and valid, with its options applied.
// Nothing changes one that is loaded: its parts are asked for, and slices and maps come as copies.
type Spec struct {
	name  string
	title string
	paper Paper
	sweep []measure.Dimension
	plots []Plot

	repeat    int   // seeds a point, in the simulator, at most
	need      *Need // how many of them by what is measured; nil: all
	labRepeat int   // and in the lab, where a run takes as long as what it measures
	seed      uint64
	quota     unit.Bytes // of a run's trace; 0: none
	quick     bool
	warnings  []Warning

	registry *Registry
	trial    Trial
	source   *Source
	root     *document.Node
	points   []*Point          // one a combination
	memory   int64             // bytes that the points take
	names    *measure.Values   // what runs have: shape
	inputs   map[string][]byte // files that it names
	options  Options
	claims   []*claim.Compiled
	ratios   []claim.Ratio
	view     claim.View // of claims
	given    []origins  // by the sweep
	leftOut  []absent   // what without says
	absences []Absence  // what that leaves out of the sweep
	numbers  []int      // of points among all combinations; nil: all are there
	listing  Listing
	best     map[string]measure.Better // by measure or measure.group
	set      []string
	partial  bool
	origins  map[string]Parameter // by path, of the file that a resolved spec was made of; nil if not known

	paperValues []PaperValue
}

// Trial makes a point's first run before there are any, so that what only constructors can know is
// an error of the file and not of a run. Package plan, which makes the runs, has it.
type Trial interface {
	// Build makes the run, and all of its network too if whole is set. It returns how many values
	// the run's measures look at, and how many of these are kept beyond it.
	Build(p *Point, whole bool) (samples, kept float64, err error)
	// Shape gives the names of what runs of the point have.
	Shape(p *Point) measure.Values
}

// Load decodes and validates an experiment, each of whose points it tries. Everything that is
// wrong comes back together as InputErrors.
func Load(r *Registry, src *Source, o Options, t Trial) (*Spec, error) {
	c := document.NewReader(FileKind)
	root := document.Parse(c, src.File, src.Data)
	if root == nil || !c.OK() {
		return nil, c.Err()
	}
	if root.Kind != document.Mapping {
		c.Fail(root.Place, document.Choices(top.Names()), "an experiment is a map")
		return nil, c.Err()
	}
	own := *src
	s := &Spec{name: src.Name, registry: r, trial: t, source: &own, root: root, quick: o.Quick, set: slices.Clone(o.Set),
		partial: o.Resolved, options: o}
	whole, _ := c.Map(root, top)
	for _, k := range top.Keys {
		if k.Required && whole.Get(k.Name) == nil {
			whole.Missing(k.Name, "the key %q is missing", k.Name)
		}
	}
	lacks := !c.OK()
	s.root = document.Clone(root)
	s.applyQuick(c)
	s.applySet(c)
	if o.Seed != nil {
		s.root.Set("seed", &document.Node{Place: root.Place, Text: strconv.FormatUint(*o.Seed, 10), From: "--seed"})
	}
	d := newDecoder(c, r, &own, switchfile.InNetwork)
	d.trial, d.machine, d.mentions = t, o.Machine, mentions(root, map[string]bool{})
	s.inputs = d.inputs
	// What is decoded is one document, and what is made of it another: defaults go into the
	// resolved one, which nothing is read from.
	s.root = document.Clone(s.root)
	d.tree = document.Copy(s.root)
	s.decodeHead(d)
	before := c.Count()
	s.decodeSweep(d)
	if c.Count() == before {
		s.decodeWithout(d)
	}
	if c.Count() > before || lacks {
		s.withoutPoints(d, lacks && c.Count() == before)
		return nil, c.Err()
	}
	s.decodePoints(d, root)
	if !c.OK() {
		s.blindly(d)
	} else {
		s.see()
		s.decodeRatios(d)
		s.checkNeed(d)
		s.decodeTables(d)
		s.decodeBest(d)
		s.decodePlots(d)
		if t := top.Of(root).Get("expect"); t != nil {
			s.claims = s.view.Decode(c, t)
		}
		s.decodePaperValues(d)
		s.shape()
	}
	d.countSimilar()
	if s.warnings = d.warnings; !s.quick {
		s.warnings = append(s.warnings, c.Idle()...)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	if o.Origin != nil {
		s.quick, s.origins = o.Origin.Quick, map[string]Parameter{}
		for _, p := range o.Origin.Parameters {
			s.origins[p.Path] = p
		}
	}
	return s, nil
}

// decodePoints decodes every combination of the sweep, up to the first that is wrong, and then those that differ from
// it in one block.
func (s *Spec) decodePoints(d *decoder, root *document.Node) {
	c, used := d.Reader, map[string]bool{}
	combinations, ok := s.combinations(c, root)
	if !ok {
		return
	}
	kept, ok := s.kept(d, combinations)
	if !ok {
		return
	}
	if len(s.absences) > 0 {
		s.numbers = kept
	}
	r := tally{of: len(kept)}
	for n, i := range kept {
		before := c.Count()
		p := s.decodePoint(d, i, used)
		s.points = append(s.points, p)
		if p.seen.Network == nil && c.Count() == before { // by what is wrong with the head, and is told
			break
		}
		if c.Count() > before {
			s.otherBlocks(d, i, used)
			break
		}
		if r.add(s, d.reader, n, p); c.Count() > before {
			break
		}
		if !c.OK() { // the head has errors: one point is enough to find what else is wrong
			break
		}
	}
	d.defaults.Settle()
	if s.agree(); c.OK() {
		s.points[0].measures.Check(c, &s.points[0].seen)
	}
	for k, dim := range s.sweep {
		if s.given[k].blocks[0] == nil && !used[dim.Key] && c.OK() {
			c.Fail(s.given[k].places[0], "$"+dim.Key+" somewhere in the file", "nothing uses $%s, which the sweep varies",
				dim.Key)
		}
	}
}

// Limits of a file, so that a slip is an error and not a request for all memory.
const (
	mostPoints = 100000  // combinations of the sweep
	mostRuns   = 1000000 // points × seeds
)

// combinations counts those of the sweep, and their runs, without the product of all dimensions, which
// may have no number.
func (s *Spec) combinations(c *document.Reader, root *document.Node) (n int, ok bool) {
	n = 1
	for k, dim := range s.sweep {
		if n *= len(dim.Values); n > mostPoints {
			c.Fail(s.given[k].places[0], fmt.Sprintf("up to %d points", mostPoints),
				"the sweep has %d points with its first %d keys of %d", n, k+1, len(s.sweep))
			return 0, false
		}
	}
	for _, k := range []struct {
		key   string
		seeds int
	}{{"repeat", s.repeat}, {"lab_repeat", s.labRepeat}} {
		if t := top.Of(root).Get(k.key); t != nil && n*k.seeds > mostRuns {
			c.Fail(t.Place, fmt.Sprintf("up to %d runs", mostRuns), "%d points with %d seeds each are %d runs", n, k.seeds,
				n*k.seeds)
			return 0, false
		}
	}
	return n, true
}

// see makes what claims see of the spec.
func (s *Spec) see() {
	s.view = claim.View{Paper: s.paper.String(), Sweep: s.sweep, Shape: s.shape,
		Numbers: s.numbers, Narrowed: s.narrowed()}
	for _, p := range s.points {
		s.view.Points = append(s.view.Points, p.at)
	}
}

// Kind is the kind of measure whose name a recorded value bears; the zero Kind for what a kind
// records under a name that is not its own, such as fct_written.
func (s *Spec) Kind(name string) measure.Kind {
	for _, k := range s.registry.Measures {
		if k.Name == name {
			return k
		}
	}
	return measure.Kind{}
}

// Judged are the measures whose values are compared between simulator and lab.
func (s *Spec) Judged() (names []string) {
	for _, k := range s.registry.Measures {
		if k.Near.Given() {
			names = append(names, k.Name)
		}
	}
	return names
}

// shape is what runs of the spec have, with nothing in it but names.
func (s *Spec) shape() *measure.Values {
	if s.names == nil {
		names := s.trial.Shape(s.points[0])
		s.names = &names
	}
	return s.names
}

// decodeRatios reads the ratio list. Plots and claims can name what it has like any measure.
func (s *Spec) decodeRatios(d *decoder) {
	t := top.Of(s.root).Get("ratio")
	if t == nil {
		return
	}
	names := s.shape()
	s.ratios = s.view.DecodeRatios(d.Reader, t, names.Measures)
	for i := range s.ratios {
		names.Measures = append(names.Measures, s.ratios[i].Shape(names.Measures))
	}
}

// Ratios are the measures of runs over those of their reference points, by run.
func (s *Spec) Ratios(runs []claim.Sample) [][]measure.Measured { return s.view.Ratios(s.ratios, runs) }

// Over says which point a measure that is a ratio has as its reference; "" for others.
func (s *Spec) Over(name string) string {
	for i := range s.ratios {
		if s.ratios[i].Name == name {
			return s.ratios[i].Over()
		}
	}
	return ""
}

// Judge gives every claim its verdict over the finished runs of so many seeds.
func (s *Spec) Judge(runs []claim.Sample, seeds int) []claim.Claim {
	var all []uint64
	for k := range seeds {
		all = append(all, s.seed+uint64(k))
	}
	return s.view.Judge(s.claims, all, runs)
}

// agree makes all points have the same measures: what some point has, all show.
func (s *Spec) agree() {
	buffered, sized := false, map[string]bool{}
	for _, p := range s.points {
		for t := range p.entries {
			buffered = buffered || p.entries[t].seen.Transport.Buffered
			if g := p.entries[t].generator; g != nil && g.Mean() > 0 {
				sized[p.entries[t].seen.Name] = true
			}
		}
		for i := range p.flows.n {
			if f := p.flows.at(i); f.Size > 0 {
				sized[p.entries[f.Traffic].seen.Name] = true
			}
		}
	}
	for _, p := range s.points {
		p.seen.Buffered = buffered
		for t := range p.seen.Traffic {
			p.seen.Traffic[t].Sized = sized[p.seen.Traffic[t].Name]
		}
	}
}

// decodeHead reads what is the same for all points.
func (s *Spec) decodeHead(d *decoder) {
	tree := document.Copy(d.tree)
	root := d.View(tree, top)
	if t := root.Get("title"); t != nil {
		s.title = d.Text(t)
	} else {
		s.title = s.name
	}
	if p := root.Get("paper"); p != nil {
		if _, ok := d.Map(p, paper); ok {
			for _, k := range p.Keys {
				if !paper.Has(k.Name, ofPoints) {
					d.Text(k.Value)
				}
			}
		}
		s.paper = paperOf(d.tree)
	}
	s.decodeRepeat(d, root.Default("repeat"))
	if t := root.Get("lab_repeat"); t != nil {
		s.labRepeat = d.Integer(t, 1, mostSeeds)
	}
	seed := root.Default("seed")
	n, err := strconv.ParseUint(d.Text(seed), 10, 64)
	if err != nil && seed.Kind == document.Scalar {
		d.Fail(seed.Place, "0 … 18446744073709551615", "%q is not a seed", seed.Text)
	}
	s.seed = n
	if t := root.Get("trace_quota"); t != nil {
		var ok bool
		if s.quota, ok = document.ReadOK(d.Reader, t, unit.ParseBytes); ok && s.quota < 1 {
			d.Fail(t.Place, "1 B or more", "a quota of %v leaves no trace", s.quota)
		}
	}
	var defaults document.Defaults
	defaults.Note(tree)
	defaults.Settle()
}

// Resolved returns the spec as an experiment file with every option applied and
// every default written out.
func (s *Spec) Resolved() []byte {
	var b strings.Builder
	clean := document.Copy(s.root)
	var keep []document.Entry
	for _, k := range clean.Keys {
		if !top.Has(k.Name, ofOptions) {
			keep = append(keep, k)
		}
	}
	clean.Keys = keep
	clean.Write(&b, 0)
	return []byte(b.String())
}

// Hash is the SHA-256 of the resolved spec in hexadecimal.
func (s *Spec) Hash() string {
	h := sha256.Sum256(s.Resolved())
	return hex.EncodeToString(h[:])
}

// Name is the experiment's: p4abc/fig4, or its file's.
func (s *Spec) Name() string { return s.name }

// Title is that of its report.
func (s *Spec) Title() string { return s.title }

// Paper is what it reproduces.
func (s *Spec) Paper() Paper { return s.paper }

// Sweep is what it varies.
func (s *Spec) Sweep() []measure.Dimension {
	out := slices.Clone(s.sweep)
	for i := range out {
		out[i].Values = slices.Clone(out[i].Values)
	}
	return out
}

// Points are the combinations of the sweep, of which the first key varies slowest.
func (s *Spec) Points() []*Point { return slices.Clone(s.points) }

// Plots are what is drawn.
func (s *Spec) Plots() []Plot { return slices.Clone(s.plots) }

// Repeat is how many seeds a point has in the simulator, with a Need at most, and LabRepeat in the lab, where a run
// takes as long as what it measures.
func (s *Spec) Repeat() int { return s.repeat }

// LabRepeat is Repeat for the lab.
func (s *Spec) LabRepeat() int { return s.labRepeat }

// Seed is the first.
func (s *Spec) Seed() uint64 { return s.seed }

// TraceQuota is what the files of a run's trace may take together; 0: as much as there is, and only where the results
// are.
func (s *Spec) TraceQuota() unit.Bytes { return s.quota }

// Quick reports whether it is the quick variant.
func (s *Spec) Quick() bool { return s.quick }

// Warnings are about what may work otherwise than is meant.
func (s *Spec) Warnings() []Warning { return slices.Clone(s.warnings) }

// Text is the file that it was read from, with its name.
func (s *Spec) Text() (file string, data []byte) { return s.source.File, slices.Clone(s.source.Data) }

// Inputs are the files that it names, by their names in it.
func (s *Spec) Inputs() map[string][]byte { return maps.Clone(s.inputs) }

// Given is what the spec was loaded of: its file's text, and options. Loaded again they give the same spec, and runs
// with the same ids, as its resolved text does; that does not say any more where its values come from.
func (s *Spec) Given() (*Source, Options) {
	src, o := *s.source, s.options
	o.Set = slices.Clone(o.Set)
	return &src, o
}

// Measures are the names of what its runs have.
func (s *Spec) Measures() []measure.Measured { return slices.Clone(s.shape().Measures) }

// At is where the first of some keys of the top level that are there is given; the file's
// beginning if none is.
func (s *Spec) At(keys ...string) document.Place {
	for _, key := range keys {
		if t := top.Of(s.root).Get(key); t != nil {
			return t.Place
		}
	}
	return s.root.Place
}

// RepeatOn is how many seeds a point has in a world, Sim or Lab; with a Need at most.
func (s *Spec) RepeatOn(world string) int {
	if world == Lab {
		return s.labRepeat
	}
	return s.repeat
}

// FileKind is how messages name an experiment's file.
var FileKind = document.Kind{Name: "experiment", Whole: "an experiment", First: "title, duration, topology, traffic, …"}
