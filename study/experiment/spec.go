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

// Spec is an experiment file, decoded and valid, with its options applied. It consists of what its sections have read.
// A loaded Spec is not changed: methods read its parts, and return slices and maps as copies.
type Spec struct {
	experimentFile
	headSection
	sweepSection
	measuredSection
	paperSection
	plots   []plots.Plot
	listing Listing

	registry *Registry
	points   []*Point // one for each combination
	memory   int64    // memory of the points in bytes
	warnings []document.Warning
}

// Trial makes a point's first run while the file is loaded, so that errors which only constructors find are errors of
// the file and not of a run. Package plan, which makes the runs, implements it.
type Trial interface {
	// TryRun makes the run, and also all of its network if whole is set. It returns the number of values that the run's
	// measures observe, and the number that is kept beyond it.
	TryRun(p *Point, whole bool) (samples, kept float64, err error)
	// ListNames returns the names of what runs of the point measure.
	ListNames(p *Point) measure.Values
}

// Load decodes and validates an experiment, and tries each of its points. It does not change src. All errors are
// returned together as document.InputErrors, and then the Spec is nil.
func Load(r *Registry, src *Source, o Options, t Trial) (*Spec, error) {
	c := document.NewReader(FileKind)
	root := document.Parse(c, src.File, src.Data)
	if root == nil || !c.OK() {
		return nil, c.Err()
	}
	if root.Kind != document.Mapping {
		c.Fail(root.Position, document.JoinChoices(top.KeyNames()), "the experiment is not a map")
		return nil, c.Err()
	}
	source := *src
	o.Set = slices.Clone(o.Set)
	s := &Spec{experimentFile: experimentFile{source: &source, root: root, quick: o.Quick, options: o}, registry: r}
	s.name, s.kinds = src.Name, r.Measures
	whole, _ := c.ReadMap(root, top)
	for _, k := range top.Keys {
		if k.Required && whole.Get(k.Name) == nil {
			whole.FailMissing(k.Name, "the key %q is missing", k.Name)
		}
	}
	lacks := !c.OK()
	s.root = document.Clone(root)
	s.applyQuick(c)
	s.applySet(c)
	if o.Seed != nil {
		s.root.Set("seed", &document.Node{Position: root.Position, Text: strconv.FormatUint(*o.Seed, 10), From: "--seed"})
	}
	d := newDecoder(c, r, &source, switchfile.InNetwork)
	d.trial, d.machine, d.mentions = t, o.Machine, collectMentions(root, map[string]bool{})
	s.inputs = d.inputs
	// The tree that is decoded and the resolved tree are different documents: defaults are written to the resolved one,
	// which is not decoded.
	s.root = document.Clone(s.root)
	d.tree = document.Copy(s.root)
	s.readHead(d.reader, d.tree)
	before := c.CountErrors()
	s.readSweep(d.reader, d.tree)
	if c.CountErrors() == before {
		s.readWithout(d.reader, d.tree, s.isNarrowed())
	}
	if c.CountErrors() > before || lacks {
		s.decodeRest(d, lacks && c.CountErrors() == before)
		return nil, c.Err()
	}
	s.decodePoints(d, root)
	if !c.OK() {
		s.checkResultNames(d)
	} else {
		s.setView()
		s.names = t.ListNames(s.points[0])
		s.readResults(d.reader, root)
	}
	d.countSimilar()
	if s.warnings = d.warnings; !s.quick {
		s.warnings = append(s.warnings, c.IdleWarnings()...)
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

// readResults reads the keys about results, when points and measures are known. Claims are read from the file itself,
// regardless of options: file is its tree.
func (s *Spec) readResults(d *reader, file *document.Node) {
	root := top.ViewMap(s.root)
	s.readRatios(d, root.Get("ratio"))
	s.checkNeed(d, root.Get("repeat"), s.valueNames())
	s.readTables(d, root.Get("tables"))
	s.readBest(d, root.Get("best"))
	s.plots = s.plotDecoder(d.Reader).ReadList(root.Get("plot"))
	if t := top.ViewMap(file).Get("expect"); t != nil {
		s.claims = s.view.ReadClaims(d.Reader, t)
	}
	s.readPaperValues(d, root.Get("paper"), &s.measuredSection)
}

// decodePoints decodes every combination of the sweep, up to the first with errors, and then those that differ from it
// in one block. It also writes shared defaults to the file's tree, and reports an error for sweep keys that the file
// does not use.
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
	r := tally{total: len(kept)}
	for n, i := range kept {
		before := c.CountErrors()
		p := s.decodePoint(d, i, used)
		s.points = append(s.points, p)
		if p.measured.Network == nil && c.CountErrors() == before { // because of an error in the head, which was reported
			break
		}
		if c.CountErrors() > before {
			s.decodeOtherBlocks(d, i, used)
			break
		}
		if r.addPoint(s, d.reader, n, p); c.CountErrors() > before {
			break
		}
		if !c.OK() { // the head has errors: one point is enough to find others
			break
		}
	}
	d.defaults.WriteShared()
	if s.unifyMeasures(); c.OK() {
		s.points[0].measures.Check(c, &s.points[0].measured)
	}
	for k, dim := range s.sweep {
		if s.valueOrigins[k].blocks[0] == nil && !used[dim.Key] && c.OK() {
			c.Fail(s.valueOrigins[k].places[0], "$"+dim.Key+" as a value in the file",
				"the sweep varies $%s, but the file does not use it",
				dim.Key)
		}
	}
}

// Limits of a file, so that a mistake is reported as an error before it exhausts memory.
const (
	maxPoints = 100000  // combinations of the sweep
	maxRuns   = 1000000 // points × seeds
)

// setView sets the view of claims on the spec, and which traffics and groups compete. The points must be known.
func (s *Spec) setView() {
	s.view = claim.View{Paper: s.paper.String(), Sweep: s.sweep, Shape: s.shape,
		Kinds: measure.KindNames(s.registry.Measures), Numbers: s.numbers, Narrowed: s.isNarrowed()}
	s.competitors = map[string]bool{}
	for _, p := range s.points {
		s.view.Points = append(s.view.Points, p.coordinates)
		for i := range p.entries {
			s.competitors[p.entries[i].Name()] = s.competitors[p.entries[i].Name()] || len(p.entries) > 1
		}
		for i := range p.measured.Groups {
			s.competitors[p.measured.Groups[i].Name] = s.competitors[p.measured.Groups[i].Name] || len(p.measured.Groups) > 1
		}
	}
}

// unifyMeasures makes all points have the same measures. It sets Buffered and the traffics' Sized at each point if they
// hold at any point.
func (s *Spec) unifyMeasures() {
	buffered, sized := false, map[string]bool{}
	for _, p := range s.points {
		for t := range p.entries {
			buffered = buffered || p.entries[t].measured.Transport.Buffered
			if g := p.entries[t].generator; g != nil && g.MeanSize() > 0 {
				sized[p.entries[t].measured.Name] = true
			}
		}
		for i := range p.flows.count {
			if f := p.flows.flowAt(i); f.Size > 0 {
				sized[p.entries[f.Traffic].measured.Name] = true
			}
		}
	}
	for _, p := range s.points {
		p.measured.Buffered = buffered
		for t := range p.measured.Traffic {
			p.measured.Traffic[t].Sized = sized[p.measured.Traffic[t].Name]
		}
	}
}

// Points returns the combinations of the sweep. The first key varies slowest. Omitted points are left out.
func (s *Spec) Points() []*Point { return slices.Clone(s.points) }

// Plots returns the plots of the plot list.
func (s *Spec) Plots() []plots.Plot { return slices.Clone(s.plots) }

// Warnings returns the warnings about the experiment.
func (s *Spec) Warnings() []document.Warning { return slices.Clone(s.warnings) }

// FileKind is how messages name an experiment's file.
var FileKind = document.FileKind{Name: "experiment", Whole: "an experiment",
	First: "title, duration, topology, traffic, …"}

// JudgeClaims returns the claims with their verdicts over the finished runs of the given number of seeds, from the
// spec's first seed on.
func (s *Spec) JudgeClaims(runs []claim.FinishedRun, seeds int) []claim.Claim {
	var all []uint64
	for k := range seeds {
		all = append(all, s.seed+uint64(k))
	}
	return s.view.JudgeClaims(s.claims, all, runs)
}

// plotDecoder returns a decoder of plots for the spec's runs.
func (s *Spec) plotDecoder(r *document.Reader) *plots.Decoder {
	var traffics []string
	ranks := 0
	for _, p := range s.points {
		for i := range p.measured.Traffic {
			if n := p.measured.Traffic[i].Name; !slices.Contains(traffics, n) {
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

// ParsePlot reads a plot that is not in the plot list (plots.Decoder).
func (s *Spec) ParsePlot(keys []plots.Key) (plots.Plot, error) {
	return s.plotDecoder(document.NewReader(plots.FileKind)).ParsePlot(keys)
}

// PlotKeysOf returns the keys of plot i of the file, from 0, in the form that ParsePlot reads. i must be valid.
func (s *Spec) PlotKeysOf(i int) (keys []plots.Key) {
	for _, k := range top.ViewMap(s.root).Get("plot").Items[i].Keys {
		keys = append(keys, plots.Key{Name: k.Name, Text: k.Value.FormatFlow(), Place: fmt.Sprintf("plot %d, %s", i+1,
			k.Name)})
	}
	return keys
}
