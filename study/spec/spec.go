package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"weir/core/cc"
	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/workload"
	"weir/internal/document"
	"weir/study/claim"
	"weir/study/measure"
)

// Registry is all that experiment files can name. It is a value: a program that
// embeds Weir makes its own, with its own schemes.
type Registry struct {
	Programs    []dataplane.Scheme
	Schedulers  []tm.Scheme
	Transports  []transport.Scheme
	Controllers []cc.Scheme
	Topologies  []topology.Scheme
	Measures    []measure.Kind
	Workloads   []workload.CDF // sizes: NAME
	Formats     []Format       // weir export --format NAME
	Library     []Library
}

// Format is a form in which results can be given to other programs.
type Format struct {
	Name string
	Doc  string        // one line: what is written
	New  func() Export // one whose options have their defaults
}

// Export writes results in a format. It is a pointer to a struct whose fields are the format's
// options: flags of the command, with the tags of package kong.
type Export interface {
	// Write writes the results of folder dir, which results.Open reads with the registry, into
	// another folder, and says on out what it has written.
	Write(r *Registry, dir, into string, out io.Writer) error
}

// CheckedExport is an Export whose options can be wrong.
type CheckedExport interface {
	// Check says what is wrong with them, naming the flag.
	Check() error
}

// Library is a room's own experiments.
type Library struct {
	Name  string // p4abc: its file fig4.yaml is the experiment p4abc/fig4
	Files fs.FS  // experiments/*.yaml, and what they name, relative to experiments/
}

// Entry is one experiment of a library.
type Entry struct {
	Name, Title string
	Paper       Paper
}

// Source is an experiment file that was found.
type Source struct {
	Name string // p4abc/fig4, or the file's base name
	File string // as errors name it
	Data []byte
	Open func(name string) ([]byte, error) // files that the spec names
}

// Experiments lists the library, sorted by name.
func (r *Registry) Experiments() []Entry {
	var list []Entry
	for _, l := range r.Library {
		files, _ := fs.Glob(l.Files, "experiments/*.yaml")
		for _, f := range files {
			name := l.Name + "/" + strings.TrimSuffix(path.Base(f), ".yaml")
			data, err := fs.ReadFile(l.Files, f)
			if err != nil {
				continue
			}
			e := Entry{Name: name}
			c := document.NewReader(FileKind)
			if t := document.Parse(c, f, data); t != nil {
				if x := t.Get("title"); x != nil {
					e.Title = x.Text
				}
				e.Paper = paperOf(t)
			}
			list = append(list, e)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// Open finds an experiment by its library name, or a file by its path.
func (r *Registry) Open(name string) (*Source, error) {
	var names []string
	for _, e := range r.Experiments() {
		names = append(names, e.Name)
	}
	for _, l := range r.Library {
		rest, ok := strings.CutPrefix(name, l.Name+"/")
		if !ok {
			continue
		}
		file := "experiments/" + rest + ".yaml"
		if data, err := fs.ReadFile(l.Files, file); err == nil {
			return &Source{Name: name, File: name + ".yaml", Data: data, Open: func(n string) ([]byte, error) {
				return fs.ReadFile(l.Files, path.Join("experiments", n))
			}}, nil
		}
	}
	data, err := document.ReadFile(name, document.LargestFile+1) // Load says what is wrong with a larger one
	if err == nil {
		base := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
		return &Source{Name: base, File: name, Data: data, Open: func(n string) ([]byte, error) {
			if !filepath.IsAbs(n) {
				n = filepath.Join(filepath.Dir(name), n)
			}
			return document.ReadFile(n, document.LargestInput)
		}}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, document.InputErrors{{File: name, Line: 1, Column: 1, Msg: "it cannot be read: " +
			document.Reason(err).Error(),
			Allowed: "a file, or a name that weir list has"}}
	}
	e := document.InputError{File: name, Line: 1, Column: 1, Msg: "there is no such experiment and no such file"}
	likely := document.Nearest(name, names)
	for _, n := range names { // without the room's name
		if path.Base(n) == name {
			likely = n
		}
	}
	if likely != "" {
		e.Msg += fmt.Sprintf("; did you mean %q?", likely)
	}
	e.Allowed = "a file, or one of " + strings.Join(names, ", ")
	return nil, document.InputErrors{e}
}

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
	if x := t.Get("paper").Get("name"); x != nil {
		p.Name = x.Text
	}
	if x := t.Get("paper").Get("figure"); x != nil {
		p.Figure = x.Text
	}
	return p
}

// origins are where the values of a key of the sweep are given.
type origins struct {
	blocks []*document.Node // of each value, what it puts into the spec; nil for scalars
	places []document.Place
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

// Options change a spec before it is decoded.
type Options struct {
	Set   []string // key=value; dotted keys reach into maps; a sweep key is fixed to one value
	Seed  *uint64
	Quick bool
	// Resolved: the file is the spec.yaml of a results folder, of which options may have
	// left a part of the sweep; a claim may mean no point of it.
	Resolved bool
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
		c.Fail(root.Get("sweep").Place, "100000", "the sweep has %d points", combinations)
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
		if t := root.Get("expect"); t != nil {
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

// applyQuick puts the quick block's values into the spec. What it takes away from
// a sweep, the spec keeps in full.
func (s *Spec) applyQuick(c *document.Reader) {
	q := s.Root.Get("quick")
	if q == nil {
		return
	}
	if q.Kind != document.Mapping {
		c.Fail(q.Place, "{repeat: 1, …}", "quick is a map")
		return
	}
	sweep := s.Root.Get("sweep")
	allowed := top.Names(byQuick)
	if sweep != nil {
		for _, k := range sweep.Keys {
			allowed = append(allowed, k.Name)
		}
	}
	for _, k := range q.Keys {
		if !slices.Contains(allowed, k.Name) {
			c.Unknown(k.Place, "quick's key", k.Name, allowed)
			continue
		}
		if s.Quick {
			s.put(c, k.Name, k.Value, "quick")
		} else if v := sweep.Get(k.Name); v != nil {
			s.subset(c, document.Copy(v), k.Value) // checked, not used
		}
	}
}

// put sets a top-level key or narrows a sweep key.
func (s *Spec) put(c *document.Reader, name string, value *document.Node, from string) {
	v := document.Copy(value)
	v.Orig, v.From = nil, from
	if sweep := s.Root.Get("sweep"); sweep.Get(name) != nil {
		if narrowed := s.subset(c, sweep.Get(name), v); narrowed != nil {
			narrowed.From = from
			sweep.Set(name, narrowed)
		}
		return
	}
	s.Root.Set(name, v)
}

// subset returns the sweep values that value asks for: of a map those named, of a
// list any values (they need not have been there).
func (s *Spec) subset(c *document.Reader, sweep, value *document.Node) *document.Node {
	wanted := []*document.Node{value}
	if value.Kind == document.List {
		wanted = value.Items
	}
	out := &document.Node{Place: value.Place, Kind: sweep.Kind}
	for _, w := range wanted {
		if w.Kind != document.Scalar {
			c.Fail(w.Place, "", "a value of the sweep is expected, not %v", w.Kind)
			return nil
		}
		if sweep.Kind != document.Mapping {
			out.Items = append(out.Items, w)
			continue
		}
		v := sweep.Get(w.Text)
		if v == nil {
			var names []string
			for _, k := range sweep.Keys {
				names = append(names, k.Name)
			}
			c.Unknown(w.Place, "the sweep's value", w.Text, names)
			return nil
		}
		out.Set(w.Text, v)
	}
	return out
}

// applySet carries out --set key=value.
func (s *Spec) applySet(c *document.Reader) {
	for _, a := range s.set {
		here := document.Place{File: "--set " + a, Line: 1, Column: 1}
		key, text, ok := strings.Cut(a, "=")
		if !ok || key == "" || text == "" {
			c.Fail(here, "key=value", "this sets nothing")
			continue
		}
		v := document.Parse(c, here.File, []byte(text))
		if v == nil {
			continue
		}
		if _, in := s.Root.Get("sweep"), s.Root.Get("sweep").Get(key); in != nil || slices.Contains(top.Names(), key) {
			s.put(c, key, v, "--set")
			continue
		}
		v.From = "--set"
		at := s.Root
		parts := strings.Split(key, ".")
		for i, p := range parts {
			if at.Kind == document.List {
				n, err := strconv.Atoi(p)
				if err != nil || n < 0 || n >= len(at.Items) {
					// traffic.heavy.rate: an entry by its name
					n = -1
					for k, x := range at.Items {
						if name := x.Get("name"); name != nil && name.Text == p {
							n = k
						}
					}
				}
				if n < 0 {
					c.Fail(here, "", "%q has no entry %q", strings.Join(parts[:i], "."), p)
					break
				}
				if i == len(parts)-1 {
					at.Items[n] = v
				}
				at = at.Items[n]
				continue
			}
			if i == len(parts)-1 && at.Kind == document.Mapping && i > 0 {
				at.Set(p, v)
				break
			}
			next := at.Get(p)
			if next == nil {
				var words []string
				for _, k := range at.Keys {
					words = append(words, k.Name)
				}
				if i == 0 {
					words = append(top.Names(), sweepKeys(s.Root)...)
				}
				c.Unknown(here, "key", p, words)
				break
			}
			at = next
		}
	}
}

func sweepKeys(root *document.Node) []string {
	var keys []string
	if sweep := root.Get("sweep"); sweep != nil {
		for _, k := range sweep.Keys {
			keys = append(keys, k.Name)
		}
	}
	return keys
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
				if k.Name != "values" {
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

// decodeSweep reads the sweep.
func (s *Spec) decodeSweep(d *decoder) {
	sweep := d.tree.Get("sweep")
	if sweep == nil {
		return
	}
	if sweep.Kind != document.Mapping {
		d.Fail(sweep.Place, "{key: [value, …]} or {key: {name: {…}}}", "sweep is a map")
		return
	}
	for _, k := range sweep.Keys {
		dim, from := measure.Dimension{Key: k.Name}, origins{}
		add := func(text string, at document.Place, block *document.Node) {
			v, ok := measure.ParseQuantity(text)
			dim.Values = append(dim.Values, measure.Coordinate{Key: k.Name, Text: text, Value: v, IsNum: ok})
			from.blocks = append(from.blocks, block)
			from.places = append(from.places, at)
		}
		switch k.Value.Kind {
		case document.List:
			for _, x := range k.Value.Items {
				if x.Kind != document.Scalar {
					d.Fail(x.Place, "", "a value of the sweep is a plain value; for blocks write a map of names")
					continue
				}
				add(x.Text, x.Place, nil)
			}
		case document.Mapping:
			for _, x := range k.Value.Keys {
				if x.Value.Kind != document.Mapping {
					d.Fail(x.Value.Place, "{switch: […], …}", "the block %q of the sweep is a map", x.Name)
					continue
				}
				for _, y := range x.Value.Keys {
					if slices.Contains(top.Names(ofFile, fixed), y.Name) {
						d.Fail(y.Place, "what decides one run", "%q cannot be varied by a sweep", y.Name)
					}
				}
				add(x.Name, x.Place, x.Value)
			}
		default:
			add(k.Value.Text, k.Value.Place, nil)
		}
		if len(dim.Values) == 0 {
			d.Fail(k.Value.Place, "", "the sweep of %q has no values", k.Name)
			continue
		}
		seen := map[string]bool{}
		for i, v := range dim.Values {
			if seen[v.Text] {
				d.Fail(from.places[i], "each value once", "the sweep of %q has the value %q twice", k.Name, v.Text)
			}
			seen[v.Text] = true
		}
		s.Sweep, s.given = append(s.Sweep, dim), append(s.given, from)
	}
}

// Resolved returns the spec as an experiment file with every option applied and
// every default written out.
func (s *Spec) Resolved() []byte {
	var b strings.Builder
	clean := document.Copy(s.Root)
	var keep []document.Entry
	for _, k := range clean.Keys {
		if k.Name != "quick" { // it has been applied, or is not wanted
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

// Parameter is one value that decides the experiment, and where it comes from.
type Parameter struct {
	Path   string `json:"path"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// Parameters lists all values of the resolved spec in its order.
func (s *Spec) Parameters() []Parameter {
	out := s.bound(parameters(s.Root))
	for i := range out {
		if was, ok := s.origins[out[i].Path]; ok && was.Value == out[i].Value {
			out[i].Source = was.Source
		}
	}
	return out
}

// SetOrigin says of what file and options a resolved spec was made: whether it was the quick
// variant, and where its values came from.
func (s *Spec) SetOrigin(quick bool, parameters []Parameter) {
	s.Quick, s.origins = quick, map[string]Parameter{}
	for _, p := range parameters {
		s.origins[p.Path] = p
	}
}

// parameters lists the values of a tree.
func parameters(root *document.Node) []Parameter {
	var out []Parameter
	var walk func(path string, t *document.Node, inherited string)
	walk = func(path string, t *document.Node, inherited string) {
		from := inherited
		if t.From != "" {
			from = t.From
		}
		switch t.Kind {
		case document.Mapping:
			for _, k := range t.Keys {
				p := k.Name
				if path != "" {
					p = path + "." + k.Name
				}
				if k.Value.Kind == document.Mapping && len(k.Value.Keys) == 0 { // a scheme without parameters
					if f := k.Value.From; f != "" {
						from = f
					}
					if len(t.Keys) == 1 {
						out = append(out, Parameter{path, k.Name, source(k.Value, from)})
					} else {
						out = append(out, Parameter{p, "{}", source(k.Value, from)})
					}
					continue
				}
				walk(p, k.Value, from)
			}
		case document.List:
			plain := true
			for _, x := range t.Items {
				plain = plain && x.Kind == document.Scalar
			}
			if plain {
				out = append(out, Parameter{path, t.Flow(), source(t, from)})
				return
			}
			for i, x := range t.Items {
				name := strconv.Itoa(i)
				if n := x.Get("name"); n != nil {
					name = n.Text
				}
				walk(path+"."+name, x, from)
			}
		default:
			out = append(out, Parameter{path, t.Text, source(t, from)})
		}
	}
	for _, k := range root.Keys {
		if !top.Has(k.Name, unlisted) {
			walk(k.Name, k.Value, "")
		}
	}
	return out
}

// bound adds the defaults of what a $key names: they differ from point to point, so
// the file has no one place for them. Those of a sweep's block are there already.
func (s *Spec) bound(out []Parameter) []Parameter {
	seen := map[string]bool{}
	for _, p := range out {
		seen[p.Path] = true
	}
	for _, p := range s.Points {
		for _, x := range p.defaults {
			there := seen[x.Path]
			for _, c := range p.At {
				there = there || seen["sweep."+c.Key+"."+c.Text+"."+x.Path]
			}
			if !there {
				seen[x.Path] = true
				out = append(out, x)
			}
		}
	}
	return out
}

func source(t *document.Node, from string) string {
	if from != "" {
		return from
	}
	return fmt.Sprintf("%s:%d", filepath.Base(t.File), t.Line) // results say nothing of the machine's folders
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
