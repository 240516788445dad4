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

// TopologyFlag is the file name in errors about the network of FootprintPoint.
const TopologyFlag = "--topology"

// FootprintPoint returns a point without traffic, in which all switches have one program. topology is the value of an
// experiment's key of that name, as YAML. Files that it names are opened in the current folder. set has parameters of
// the program, or of switches (queues), as key=value. Fat trees have hierarchical addresses. Errors in the arguments
// are returned as document.InputErrors.
func (r *Registry) FootprintPoint(name, topology string, set []string) (*Point, error) {
	c := document.NewReader(FileKind)
	place := document.Position{File: "--footprint", Line: 1, Column: 1}
	var program *dataplane.Scheme
	var names []string
	for i := range r.Programs {
		if names = append(names, r.Programs[i].Name); r.Programs[i].Name == name {
			program = &r.Programs[i]
		}
	}
	slices.Sort(names)
	if program == nil {
		c.FailUnknown(place, "program", name, names)
		return nil, c.Err()
	}
	network := document.Parse(c, TopologyFlag, []byte(topology))
	if c.OK() && (network == nil || network.Kind != document.Mapping) {
		c.Fail(document.Position{File: TopologyFlag, Line: 1, Column: 1},
			"fat_tree: {k: 8, rate: 10Gbps, delay: 1us}, or another of weir list topologies",
			"the topology is not a map")
	}
	params := &document.Node{Position: place, Kind: document.Mapping}
	pattern := &document.Node{Position: place, Kind: document.Mapping}
	footprintParameters(c, program, set, params, pattern)
	if !c.OK() {
		return nil, c.Err()
	}
	pattern.Set("programs", &document.Node{Position: place, Kind: document.List,
		Items: []*document.Node{{Position: place, Kind: document.Mapping, Keys: []document.Entry{{Position: place, Name: name,
			Value: params}}}}})
	root := &document.Node{Position: place, Kind: document.Mapping}
	root.Set("topology", network)
	root.Set("switches", &document.Node{Position: place, Kind: document.Mapping,
		Keys: []document.Entry{{Position: place, Name: "*", Value: pattern}}})

	source := &Source{Name: name, File: TopologyFlag, Open: func(n string) ([]byte, error) {
		return document.ReadFile(n, document.MaxInput)
	}}
	d := newDecoder(c, r, source, switchfile.Sample)
	p := &Point{measured: measure.Point{Duration: 1}}
	p.measured.Framing, _ = packet.FramingByName("l2")
	whole := d.ViewMap(root, top)
	if d.network.readTopology(whole, p); !c.OK() {
		return nil, c.Err()
	}
	if x, err := p.measured.Network.FindTree(); err == nil && x.CheckPlan(x.NewPlan()) == nil {
		root.Set("addresses", &document.Node{Position: place, Text: hierarchical})
	}
	if d.network.assignRoutes(whole, p); c.OK() {
		d.switches.readSwitches(whole, p, nil)
	}
	if d.network.checkBuffers(p); !c.OK() {
		return nil, c.Err()
	}
	return p, nil
}

// footprintParameters adds each key=value of set to the program's parameters, or to the switches' (pattern). A key that
// both have is the program's.
func footprintParameters(c *document.Reader, program *dataplane.Scheme, set []string, params, pattern *document.Node) {
	for _, a := range set {
		place := document.Position{File: "--set " + a, Line: 1, Column: 1}
		key, text, ok := strings.Cut(a, "=")
		if !ok || key == "" || text == "" {
			c.Fail(place, "parameter=value", "the setting has no value")
			continue
		}
		if !c.CheckPrintable(place, key) {
			continue
		}
		v := document.Parse(c, place.File, []byte(text))
		if v == nil {
			continue
		}
		to := params
		if slices.Contains(perSwitch.KeyNames(affectsState), key) && !slices.ContainsFunc(program.Parameters(),
			func(p *scheme.Param) bool {
				return p.Name == key
			}) {
			to = pattern
		}
		to.Keys = append(to.Keys, document.Entry{Position: place, Name: key, Value: v})
	}
}
