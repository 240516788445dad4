package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/topology"
	"weir/core/unit"
	"weir/internal/document"
	"weir/study/measure"
	"weir/worlds/sim"
)

// Point is one combination of the sweep, decoded.
type Point struct {
	At        []measure.Coordinate
	Canonical string // all that decides its runs but seed and executable
	defaults  []Parameter

	measure.Point // what measures see of it
	Book          *packet.Book
	tree          *topology.Tree // with hierarchical addresses
	prefixes      topology.Prefixes
	switches      []sim.SwitchConfig
	Telemetry     *telemetry.Format // nil: no switch writes any
	Entries       []Traffic
	Flows         []Flow
	Measures      measure.List
	events        []sim.Event
	stalls        sim.Stalls
	Sampled       float64 // values that the measures of a run keep
}

// Traffic is one entry of the traffic list.
type Traffic struct {
	measure.Traffic
	At, CCAt        document.Place // where it is given, and its congestion controller
	TransportConfig scheme.Config
	Generator       *generator // nil: the flows are listed
	CC              *cc.Scheme // nil: the transport has none
	CCConfig        scheme.Config
	TOS             uint8
	tosBySize       []sizedTOS // ascending; tos is that of the last
	startLow        unit.Time
	startHigh       unit.Time
	stop            unit.Time
}

// see makes what measures see of the point's traffic, of which all is there if nothing was
// wrong.
func (p *Point) see(ok bool) {
	p.Partial = !ok
	for i := range p.Entries {
		tr := p.Entries[i].Traffic
		tr.Start = p.Entries[i].startLow
		if g := p.Entries[i].Generator; g != nil {
			tr.Sizes = g.sizes
		}
		p.Traffic = append(p.Traffic, tr)
	}
}

// measureList reads what is measured.
func (d *decoder) measureList(root document.Map, p *Point) {
	p.Measures = measure.Decode(d.Reader, d.registry.Measures, root.Default("measure"), &p.Point)
}

// Flow is a flow whose start may still have to be drawn.
type Flow struct {
	Traffic  int
	index    int // within its traffic
	Src, Dst int
	Size     unit.Bytes
	fixed    bool // start is given
	start    unit.Time
	later    unit.Time // added to a start that is drawn: of its set
	Port     int       // destination port of a flow file; 0: none
	after    []int     // flows of the point that arrive at src before it begins; start is the earliest then
}

// decodePoint decodes combination i of the sweep.
func (s *Spec) decodePoint(d *decoder, i int, used map[string]bool) *Point {
	p := &Point{}
	d.files, d.bufferAt, d.limits = nil, nil, nil
	d.Bound = map[document.Place]string{}
	tree := document.Copy(d.tree)
	tree.Keys = slices.DeleteFunc(tree.Keys, func(k document.Entry) bool { return top.Has(k.Name, ofFile) })
	index := make([]int, len(s.Sweep))
	for k := len(s.Sweep) - 1; k >= 0; k-- {
		n := len(s.Sweep[k].Values)
		index[k] = i % n
		i /= n
	}
	var places []document.Place
	var variables []variable
	for k, dim := range s.Sweep {
		p.At = append(p.At, dim.Values[index[k]])
		places = append(places, s.given[k].places[index[k]])
		if block := s.given[k].blocks[index[k]]; block != nil {
			block = document.Copy(block)
			var over []document.Entry
			for _, x := range block.Keys {
				if slices.Contains(top.Names(), x.Name) {
					over = append(over, x)
				} else {
					variables = append(variables, variable{Entry: x})
				}
			}
			block.Keys = over
			overlay(tree, block, 0)
		}
	}
	root, _ := d.Map(tree, top)
	for i, v := range variables { // a block may use the names of those before it
		d.substitute(v.Value, p.At, places, variables[:i], used)
	}
	d.substitute(tree, p.At, places, variables, used)
	for _, v := range variables {
		if !v.used {
			d.Unknown(v.Place, "key", v.Name, append(top.Names(), "a name that $"+v.Name+" stands for"))
		}
	}
	if !d.OK() {
		return p
	}
	p.Duration = d.Positive(root.Get("duration"))
	p.Warmup = document.Read(d.Reader, root.Default("warmup"), unit.ParseTime)
	if p.Duration+p.Warmup < 0 {
		d.Fail(root.Get("duration").Place, "106 days in all", "duration and warm-up are too long")
	}
	p.Framing, _ = packet.FramingByName(d.word(root.Default("framing"), top, "framing"))
	d.network(root, p)
	if !d.OK() {
		return p
	}
	if d.route(root, p); !d.OK() {
		return p
	}
	d.switchConfigs(root, p)
	d.trafficList(root, p)
	d.eventList(root, p)
	d.stalls(root, p)
	p.see(d.OK())
	d.measureList(root, p)
	d.buffers(p)
	if d.OK() {
		var b strings.Builder
		root.Write(&b, 0)
		fmt.Fprintf(&b, "point %q\nfiles %q\n", measure.PointName(p.At), d.files)
		p.Canonical = b.String()
		for _, x := range parameters(tree) {
			if strings.HasPrefix(x.Source, "default: ") {
				p.defaults = append(p.defaults, x)
			}
		}
		d.dryRun(root, p)
	}
	return p
}

// dryRun builds the run's simulation once, so that what only constructors can
// know is an error of the file and not of a run. Endpoints are built for every point;
// switches, which are many in large networks, for each network, configuration and list
// of measures.
func (d *decoder) dryRun(root document.Map, p *Point) {
	c, err := p.Config(1)
	if err == nil {
		p.Sampled = measure.Samples(&p.Point, c)
		var b strings.Builder
		for _, key := range top.Names(ofBuild) {
			if t := root.Get(key); t != nil {
				t.Write(&b, 0)
			}
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%q", d.files)
		if what := b.String(); !d.dryBuilt[what] {
			d.dryBuilt[what] = true
			_, err = sim.New(c)
		}
	}
	var much *measure.TooMuch
	var refused *refusal
	switch {
	case errors.As(err, &much):
		d.Fail(root.Get("measure").Place, "", "%v", err)
	case errors.As(err, &refused):
		d.Fail(refused.Place, "", "this cannot be built: %v", err)
	case err != nil:
		d.Fail(root.Get("topology").Place, "", "this cannot be built: %v", err)
	}
}

// largestFrame is that of any traffic, with as many extensions as a packet can have.
func (p *Point) largestFrame() (n int32) {
	for i := range p.Entries {
		tr := &p.Entries[i]
		n = max(n, p.Framing.Frame(tr.Headers(), tr.Payload, true)+packet.MostExtensions, p.Framing.Frame(tr.Headers(), 0,
			false)+packet.MostExtensions)
	}
	return n
}
