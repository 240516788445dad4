package experiment

import (
	"fmt"
	"slices"
	"strconv"

	"weir/internal/document"
	"weir/internal/switchfile"
	"weir/study/claim"
	"weir/study/experiment/plots"
	"weir/study/measure"
)

// Spec is an experiment file, decoded and valid, with its options applied. It is made of what its sections have read.
// Nothing changes one that is loaded: its parts are read by methods, and slices and maps come as copies.
type Spec struct {
	experimentFile
	headSection
	sweepSection
	measuredSection
	paperSection
	plots   []plots.Plot
	listing Listing

	registry *Registry
	points   []*Point // one a combination
	memory   int64    // bytes that the points take
	warnings []document.Warning
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
		c.Fail(root.Position, document.Choices(top.Names()), "an experiment is a map")
		return nil, c.Err()
	}
	own := *src
	o.Set = slices.Clone(o.Set)
	s := &Spec{experimentFile: experimentFile{source: &own, root: root, quick: o.Quick, options: o}, registry: r}
	s.name, s.kinds = src.Name, r.Measures
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
		s.root.Set("seed", &document.Node{Position: root.Position, Text: strconv.FormatUint(*o.Seed, 10), From: "--seed"})
	}
	d := newDecoder(c, r, &own, switchfile.InNetwork)
	d.trial, d.machine, d.mentions = t, o.Machine, mentions(root, map[string]bool{})
	s.inputs = d.inputs
	// What is decoded is one document, and what is made of it another: defaults go into the
	// resolved one, which nothing is read from.
	s.root = document.Clone(s.root)
	d.tree = document.Copy(s.root)
	s.readHead(d.reader, d.tree)
	before := c.Count()
	s.readSweep(d.reader, d.tree)
	if c.Count() == before {
		s.readWithout(d.reader, d.tree, s.isNarrowed())
	}
	if c.Count() > before || lacks {
		s.decodeRest(d, lacks && c.Count() == before)
		return nil, c.Err()
	}
	s.decodePoints(d, root)
	if !c.OK() {
		s.checkResultNames(d)
	} else {
		s.setView()
		s.names = t.Shape(s.points[0])
		s.readResults(d.reader, root)
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

// readResults reads what the file has of results, when points and measures are known. Claims are those of the file
// itself, whatever the options are.
func (s *Spec) readResults(d *reader, file *document.Node) {
	root := top.Of(s.root)
	s.readRatios(d, root.Get("ratio"))
	s.checkNeed(d, root.Get("repeat"), s.valueNames())
	s.readTables(d, root.Get("tables"))
	s.readBest(d, root.Get("best"))
	s.plots = s.plotDecoder(d.Reader).Read(root.Get("plot"))
	if t := top.Of(file).Get("expect"); t != nil {
		s.claims = s.view.Decode(d.Reader, t)
	}
	s.readPaperValues(d, root.Get("paper"), &s.measuredSection)
}

// decodePoints decodes every combination of the sweep, up to the first that is wrong, and then those that differ from
// it in one block.
func (s *Spec) decodePoints(d *decoder, root *document.Node) {
	c, used := d.Reader, map[string]bool{}
	combinations, ok := s.countCombinations(c, root, &s.headSection)
	if !ok {
		return
	}
	kept, ok := s.keepCombinations(d.reader, s.root, combinations, s.isNarrowed())
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
			s.decodeOtherBlocks(d, i, used)
			break
		}
		if r.add(s, d.reader, n, p); c.Count() > before {
			break
		}
		if !c.OK() { // the head has errors: one point is enough to find what else is wrong
			break
		}
	}
	d.defaults.WriteShared()
	if s.unifyMeasures(); c.OK() {
		s.points[0].measures.Check(c, &s.points[0].seen)
	}
	for k, dim := range s.sweep {
		if s.valueOrigins[k].blocks[0] == nil && !used[dim.Key] && c.OK() {
			c.Fail(s.valueOrigins[k].places[0], "$"+dim.Key+" somewhere in the file", "nothing uses $%s, which the sweep varies",
				dim.Key)
		}
	}
}

// Limits of a file, so that a slip is an error and not a request for all memory.
const (
	maxPoints = 100000  // combinations of the sweep
	maxRuns   = 1000000 // points × seeds
)

// setView makes what claims see of the spec.
func (s *Spec) setView() {
	s.view = claim.View{Paper: s.paper.String(), Sweep: s.sweep, Shape: s.shape,
		Numbers: s.numbers, Narrowed: s.isNarrowed()}
	s.competitors = map[string]bool{}
	for _, p := range s.points {
		s.view.Points = append(s.view.Points, p.at)
		for i := range p.entries {
			s.competitors[p.entries[i].Name()] = s.competitors[p.entries[i].Name()] || len(p.entries) > 1
		}
		for i := range p.seen.Groups {
			s.competitors[p.seen.Groups[i].Name] = s.competitors[p.seen.Groups[i].Name] || len(p.seen.Groups) > 1
		}
	}
}

// unifyMeasures makes all points have the same measures: what some point has, all show.
func (s *Spec) unifyMeasures() {
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

// Points returns the combinations of the sweep. The first key varies slowest.
func (s *Spec) Points() []*Point { return slices.Clone(s.points) }

// Plots returns what is drawn.
func (s *Spec) Plots() []plots.Plot { return slices.Clone(s.plots) }

// Warnings returns the warnings about what may work otherwise than is meant.
func (s *Spec) Warnings() []document.Warning { return slices.Clone(s.warnings) }

// FileKind is how messages name an experiment's file.
var FileKind = document.FileKind{Name: "experiment", Whole: "an experiment",
	First: "title, duration, topology, traffic, …"}

// Judge returns the claims with their verdicts over the finished runs of so many seeds.
func (s *Spec) Judge(runs []claim.FinishedRun, seeds int) []claim.Claim {
	var all []uint64
	for k := range seeds {
		all = append(all, s.seed+uint64(k))
	}
	return s.view.Judge(s.claims, all, runs)
}

// plotDecoder returns a decoder of plots of what runs of the spec have.
func (s *Spec) plotDecoder(r *document.Reader) *plots.Decoder {
	var traffics []string
	ranks := 0
	for _, p := range s.points {
		for i := range p.seen.Traffic {
			if n := p.seen.Traffic[i].Name; !slices.Contains(traffics, n) {
				traffics = append(traffics, n)
			}
		}
		for i := range p.entries {
			if j := p.entries[i].job; j != nil {
				ranks = max(ranks, j.Program.Ranks())
			}
		}
	}
	return plots.NewDecoder(r, &s.view, s.shape(), traffics, ranks)
}

// ParsePlot reads a plot that is no entry of the list (plots.Decoder).
func (s *Spec) ParsePlot(keys []plots.Key) (plots.Plot, error) {
	return s.plotDecoder(document.NewReader(plots.FileKind)).Parse(keys)
}

// PlotKeysOf returns the keys of the i-th plot of the file.
func (s *Spec) PlotKeysOf(i int) (keys []plots.Key) {
	for _, k := range top.Of(s.root).Get("plot").Items[i].Keys {
		keys = append(keys, plots.Key{Name: k.Name, Text: k.Value.Flow(), Place: fmt.Sprintf("plot %d, %s", i+1, k.Name)})
	}
	return keys
}
