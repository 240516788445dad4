package spec

import (
	"bytes"
	"fmt"

	"weir/core/unit"
	"weir/core/workload"
	"weir/internal/document"
)

func (d *decoder) flowFile(x document.Map, p *Point, tr Traffic) {
	for _, k := range traffic.Names(notListed) {
		if v := x.Get(k); v != nil {
			d.Fail(v.Place, "file, format, offset", "%q stands beside a flow file, which decides it", k)
		}
	}
	which := d.format(x, traffic, d.trafficWords(), d.registry.flowFormats(), "flow")
	if which < 0 {
		return
	}
	format := &d.registry.Flows[which]
	each := unit.Second
	switch v := x.Get("time_unit"); {
	case format.Unclear != "" && v == nil:
		d.Fail(x.Place, "time_unit: 1us, or 1ps", "%s; time_unit says it", format.Unclear)
	case format.Unclear != "":
		each = d.Positive(v)
	case v != nil:
		d.Fail(v.Place, "no time_unit", "the times of %s's files are in seconds", format.Program)
	}
	port := -1
	switch v := x.Get("port"); {
	case v != nil && !format.Ports:
		d.Fail(v.Place, "no port", "%s's files have no ports", format.Program)
	case v != nil:
		port = d.Integer(v, 0, 65535)
	}
	offset := document.Read(d.Reader, x.Default("offset"), unit.ParseTime)
	for _, k := range []string{"interfaces"} {
		if v := x.Get(k); v != nil {
			d.Fail(v.Place, "as: flows, as: packets, or no "+k, "%q is of captures", k)
		}
	}
	data, name := d.openText(x.Get("file"))
	if !d.OK() {
		return
	}
	flows, ok := d.readFlows(x, format, each, data, name)
	if !ok {
		return
	}
	if !d.room(x.Get("file").Place, p, float64(len(flows))) {
		return
	}
	id := len(p.entries)
	p.entries = append(p.entries, tr)
	nodes := p.seen.Network.Nodes
	for i, f := range flows {
		if port >= 0 && f.Port != port {
			continue
		}
		for e, node := range [2]int{f.Src, f.Dst} {
			if node < len(nodes) && !nodes[node].Switch {
				continue
			}
			at := d.InFile(name, f.At.Line, [2]int{f.At.Src, f.At.Dst}[e]) // which goes through the file
			if node >= len(nodes) {
				d.Fail(at, fmt.Sprintf("0 … %d, but for switches", len(nodes)-1), "there is no node %d in the topology", node)
			} else {
				d.Fail(at, "a host", "node %d is the switch %s", node, nodes[node].Name)
			}
			return
		}
		if p.seen.Routes.Hops(f.Src, f.Dst) < 0 {
			d.Fail(d.InFile(name, f.At.Line, f.At.Dst), "hosts that links and switches join", "there is no path from %s to %s",
				nodes[f.Src].Name, nodes[f.Dst].Name)
			return
		}
		if f.Start < offset {
			d.Fail(d.InFile(name, f.At.Line, f.At.Start), fmt.Sprintf("%v or later", offset),
				"the flow starts at %v, before the offset", f.Start)
			return
		}
		p.flows.add(Flow{Traffic: id, Index: i, Src: f.Src, Dst: f.Dst, Size: f.Size, Fixed: true,
			Start: f.Start - offset, Port: f.Port})
	}
	if port >= 0 && (p.flows.n == 0 || p.flows.at(p.flows.n-1).Traffic != id) {
		d.Fail(x.Get("port").Place, "a port that flows of the file go to", "no flow of the file goes to port %d", port)
	}
}

// readFlows reads a flow file's data.
func (d *decoder) readFlows(x document.Map, format *workload.Format, each unit.Time, data []byte,
	name string) ([]workload.Flow, bool) {
	flows, err := format.Read(bytes.NewReader(data), name, each)
	if d.ignored(x, traffic, format.Name, format.Announces, err) {
		err = nil
	}
	if err != nil {
		Foreign(d.Reader, x.Get("file"), err)
		return nil, false
	}
	return flows, true
}
