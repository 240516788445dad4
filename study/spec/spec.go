package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"weir/internal/document"
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
type Spec struct {
	Name  string
	Title string
	Paper Paper
	Sweep []measure.Dimension
	Plots []Plot

	Repeat    int // seeds a point, in the simulator
	LabRepeat int // and in the lab, where a run takes as long as what it measures
	Seed      uint64
	Quick     bool
	Warnings  []string

	registry *Registry
	Source   *Source
	Root     *document.Node
	Points   []*Point          // one a combination
	names    *measure.Values   // what runs have: shape
	Inputs   map[string][]byte // files that it names
	claims   []*claim.Compiled
	View     claim.View // of claims
	given    []origins  // by the sweep
	set      []string
	partial  bool
	origins  map[string]Parameter // by path, of the file that a resolved spec was made of; nil if not known

	paperValues []PaperValue
}

// Load decodes and validates an experiment. Everything that is wrong comes back
// together as InputErrors.
func Load(r *Registry, src *Source, o Options) (*Spec, error) {
	c := document.NewReader(FileKind)
	root := document.Parse(c, src.File, src.Data)
	if root == nil || !c.OK() {
		return nil, c.Err()
	}
	if root.Kind != document.Mapping {
		c.Fail(root.Place, strings.Join(top.Names(), ", "), "an experiment is a map")
		return nil, c.Err()
	}
	s := &Spec{Name: src.Name, registry: r, Source: src, Root: root, Quick: o.Quick, set: o.Set, partial: o.Resolved}
	whole, _ := c.Map(root, top)
	for _, k := range top.Keys {
		if k.Required && whole.Get(k.Name) == nil {
			whole.Missing(k.Name, "the key %q is missing", k.Name)
		}
	}
	if !c.OK() {
		return nil, c.Err()
	}
	s.Root = document.Clone(root)
	s.applyQuick(c)
	s.applySet(c)
	if o.Seed != nil {
		s.Root.Set("seed", &document.Node{Place: root.Place, Text: strconv.FormatUint(*o.Seed, 10), From: "--seed"})
	}
	d := &decoder{Reader: c, registry: r, source: src, inputs: map[string][]byte{}, dryBuilt: map[string]bool{}}
	s.Inputs = d.inputs
	// What is decoded is one document, and what is made of it another: defaults go into the
	// resolved one, which nothing is read from.
	s.Root = document.Clone(s.Root)
	d.tree = document.Copy(s.Root)
	s.decodeHead(d)
	s.decodeSweep(d)
	if !c.OK() {
		return nil, c.Err()
	}
	used := map[string]bool{}
	combinations := 1
	for _, dim := range s.Sweep {
		combinations *= len(dim.Values)
	}
	if combinations > 100000 {
		c.Fail(top.Of(root).Get("sweep").Place, "100000", "the sweep has %d points", combinations)
		return nil, c.Err()
	}
	for i := range combinations {
		s.Points = append(s.Points, s.decodePoint(d, i, used))
		if !c.OK() {
			break
		}
	}
	if s.agree(); c.OK() {
		s.Points[0].Measures.Check(c, &s.Points[0].Point)
	}
	for k, dim := range s.Sweep {
		if s.given[k].blocks[0] == nil && !used[dim.Key] && c.OK() {
			c.Fail(s.given[k].places[0], "$"+dim.Key+" somewhere in the file", "nothing uses $%s, which the sweep varies",
				dim.Key)
		}
	}
	if c.OK() {
		s.see()
		s.decodePlots(d)
		if t := top.Of(root).Get("expect"); t != nil {
			s.claims = s.View.Decode(c, t)
		}
		s.decodePaperValues(d)
		s.Shape() // nothing changes a spec from here on
	}
	s.Warnings = d.warnings
	if err := c.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// see makes what claims see of the spec.
func (s *Spec) see() {
	s.View = claim.View{Paper: s.Paper.String(), Sweep: s.Sweep, Shape: s.Shape,
		Narrowed: s.Quick || s.partial || len(s.set) > 0}
	for _, p := range s.Points {
		s.View.Points = append(s.View.Points, p.At)
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

// Shape is what runs of the spec have, with nothing in it but names.
func (s *Spec) Shape() *measure.Values {
	if s.names == nil {
		s.names = &measure.Values{}
		p := s.Points[0]
		if c, err := p.Config(1); err == nil {
			*s.names = p.Measures.Shape(&p.Point, c)
		}
	}
	return s.names
}

// Judge gives every claim its verdict over the finished runs of a world.
func (s *Spec) Judge(runs []claim.Sample, world string) []claim.Claim {
	var seeds []uint64
	for k := range s.RepeatOn(world) {
		seeds = append(seeds, s.Seed+uint64(k))
	}
	return s.View.Judge(s.claims, seeds, runs)
}

// agree makes all points have the same measures: what some point has, all show.
func (s *Spec) agree() {
	buffered, sized := false, map[string]bool{}
	for _, p := range s.Points {
		for t := range p.Entries {
			buffered = buffered || p.Entries[t].Transport.Buffered
			if g := p.Entries[t].Generator; g != nil && g.Mean() > 0 {
				sized[p.Entries[t].Name] = true
			}
		}
		for _, f := range p.Flows {
			if f.Size > 0 {
				sized[p.Entries[f.Traffic].Name] = true
			}
		}
	}
	for _, p := range s.Points {
		p.Buffered = buffered
		for t := range p.Traffic {
			p.Traffic[t].Sized = sized[p.Traffic[t].Name]
		}
	}
}

// decodeHead reads what is the same for all points.
func (s *Spec) decodeHead(d *decoder) {
	root := d.View(document.Copy(d.tree), top)
	if t := root.Get("title"); t != nil {
		s.Title = d.Text(t)
	} else {
		s.Title = s.Name
	}
	if p := root.Get("paper"); p != nil {
		if _, ok := d.Map(p, paper); ok {
			for _, k := range p.Keys {
				if !paper.Has(k.Name, ofPoints) {
					d.Text(k.Value)
				}
			}
		}
		s.Paper = paperOf(d.tree)
	}
	s.Repeat = d.Integer(root.Default("repeat"), 1, 10000)
	s.LabRepeat = s.Repeat
	if t := root.Get("lab_repeat"); t != nil {
		s.LabRepeat = d.Integer(t, 1, 10000)
	}
	seed := root.Default("seed")
	n, err := strconv.ParseUint(d.Text(seed), 10, 64)
	if err != nil && seed.Kind == document.Scalar {
		d.Fail(seed.Place, "0 … 18446744073709551615", "%q is not a seed", seed.Text)
	}
	s.Seed = n
}

// Resolved returns the spec as an experiment file with every option applied and
// every default written out.
func (s *Spec) Resolved() []byte {
	var b strings.Builder
	clean := document.Copy(s.Root)
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

// At is where the first of some keys of the top level that are there is given; the file's
// beginning if none is.
func (s *Spec) At(keys ...string) document.Place {
	for _, key := range keys {
		if t := top.Of(s.Root).Get(key); t != nil {
			return t.Place
		}
	}
	return s.Root.Place
}

// RepeatOn is how many seeds a point has in a world, Sim or Lab.
func (s *Spec) RepeatOn(world string) int {
	if world == Lab {
		return s.LabRepeat
	}
	return s.Repeat
}

// FileKind is how messages name an experiment's file.
var FileKind = document.Kind{Name: "experiment", Whole: "an experiment", First: "title, duration, topology, traffic, …"}
