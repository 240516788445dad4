package experiment

import (
	"slices"
	"strings"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/internal/document"
	"weir/internal/switchfile"
	"weir/study/measure"
)

// TopologyFlag is the file that errors in a bare point's network name.
const TopologyFlag = "--topology"

// FootprintPoint makes a point without traffic, all of whose switches have one program: topology is what an
// experiment has under that key, and set are parameters of the program, or of switches (queues), as
// key=value. Fat trees have hierarchical addresses. What is wrong comes back as InputErrors.
func (r *Registry) FootprintPoint(name, topology string, set []string) (*Point, error) {
	c := document.NewReader(FileKind)
	here := document.Position{File: "--footprint", Line: 1, Column: 1}
	var program *dataplane.Scheme
	var names []string
	for i := range r.Programs {
		if names = append(names, r.Programs[i].Name); r.Programs[i].Name == name {
			program = &r.Programs[i]
		}
	}
	slices.Sort(names)
	if program == nil {
		c.Unknown(here, "program", name, names)
		return nil, c.Err()
	}
	network := document.Parse(c, TopologyFlag, []byte(topology))
	if c.OK() && (network == nil || network.Kind != document.Mapping) {
		c.Fail(document.Position{File: TopologyFlag, Line: 1, Column: 1},
			"fat_tree: {k: 8, rate: 10Gbps, delay: 1us}, or another of weir list topologies",
			"a topology is a map")
	}
	params := &document.Node{Position: here, Kind: document.Mapping}
	pattern := &document.Node{Position: here, Kind: document.Mapping}
	bareParameters(c, program, set, params, pattern)
	if !c.OK() {
		return nil, c.Err()
	}
	pattern.Set("programs", &document.Node{Position: here, Kind: document.List,
		Items: []*document.Node{{Position: here, Kind: document.Mapping, Keys: []document.Entry{{Position: here, Name: name,
			Value: params}}}}})
	root := &document.Node{Position: here, Kind: document.Mapping}
	root.Set("topology", network)
	root.Set("switches", &document.Node{Position: here, Kind: document.Mapping,
		Keys: []document.Entry{{Position: here, Name: "*", Value: pattern}}})

	source := &Source{Name: name, File: TopologyFlag, Open: func(n string) ([]byte, error) {
		return document.ReadFile(n, document.LargestInput)
	}}
	d := newDecoder(c, r, source, switchfile.Sample)
	p := &Point{seen: measure.Point{Duration: 1}}
	p.seen.Framing, _ = packet.FramingByName("l2")
	whole := d.View(root, top)
	if d.network.readTopology(whole, p); !c.OK() {
		return nil, c.Err()
	}
	if x, err := p.seen.Network.Tree(); err == nil && x.Check(x.Plan()) == nil {
		root.Set("addresses", &document.Node{Position: here, Text: hierarchical})
	}
	if d.network.assignRoutes(whole, p); c.OK() {
		d.switches.readSwitches(whole, p, nil)
	}
	if d.network.checkBuffers(p); !c.OK() {
		return nil, c.Err()
	}
	return p, nil
}

// bareParameters puts key=value into the program's parameters, or into those of switches.
func bareParameters(c *document.Reader, program *dataplane.Scheme, set []string, params, pattern *document.Node) {
	for _, a := range set {
		at := document.Position{File: "--set " + a, Line: 1, Column: 1}
		key, text, ok := strings.Cut(a, "=")
		if !ok || key == "" || text == "" {
			c.Fail(at, "parameter=value", "this sets nothing")
			continue
		}
		if !c.Printable(at, key) {
			continue
		}
		v := document.Parse(c, at.File, []byte(text))
		if v == nil {
			continue
		}
		to := params
		if slices.Contains(perSwitch.Names(ofState), key) && !slices.ContainsFunc(program.Parameters(),
			func(p *scheme.Param) bool {
				return p.Name == key
			}) {
			to = pattern
		}
		to.Keys = append(to.Keys, document.Entry{Position: at, Name: key, Value: v})
	}
}
