package experiment

import (
	"weir/internal/document"
	"weir/internal/switchfile"
)

// decoder decodes the points of a file, one after another. Each section of the file has a decoder of its own, which
// puts what it reads into the point. Only what points share stays in decoders.
type decoder struct {
	*reader
	tree       *document.Node    // what is decoded; nothing changes it
	defaults   document.Defaults // of the points so far
	mentions   map[string]bool   // names that the file uses, be it in a block that this point has not
	incomplete bool              // there is no network or no traffic
	trial      Trial
	built      map[string]bool // what decides whether switches can be built, of the points so far
	flows      flowList        // of the point before

	nodes    *nodeNames
	network  *networkDecoder
	users    *userDecoder
	switches *switchDecoder
	paths    *pathChecker
	traffic  *trafficDecoder
	events   *eventDecoder
}

// newDecoder returns a decoder of a file's points. Programs are checked for a placement.
func newDecoder(c *document.Reader, r *Registry, src *Source, placement switchfile.Placement) *decoder {
	d := &decoder{reader: &reader{Reader: c, registry: r, source: src, inputs: map[string][]byte{}},
		built: map[string]bool{}}
	d.nodes = &nodeNames{reader: d.reader}
	d.network = &networkDecoder{reader: d.reader, routed: newRoutedNetworks()}
	d.users = &userDecoder{d.reader, d.nodes}
	d.paths = &pathChecker{reader: d.reader}
	d.switches = &switchDecoder{d.reader, d.nodes, d.network, d.paths, placement}
	d.traffic = &trafficDecoder{reader: d.reader, nodes: d.nodes, paths: d.paths}
	d.traffic.jobs = &jobDecoder{reader: d.reader, nodes: d.nodes, traffic: d.traffic}
	d.traffic.files = &flowFileDecoder{d.reader, d.nodes, d.traffic}
	d.traffic.captures = &captureDecoder{reader: d.reader, nodes: d.nodes}
	d.events = &eventDecoder{d.reader, d.nodes}
	return d
}
