package experiment

import (
	"bytes"
	"fmt"
	"slices"

	"weir/core/jobs/job"
	"weir/core/unit"
	"weir/core/workload"
	"weir/internal/document"
)

// flowFileDecoder reads traffics with flows that a file lists.
type flowFileDecoder struct {
	*reader
	nodes   *nodeNames
	traffic *trafficDecoder
}

// readFile reads a traffic that has a flow file.
func (d *flowFileDecoder) readFile(x document.Map, p *Point, tr Traffic) {
	for _, k := range traffic.Names(notListed) {
		if v := x.Get(k); v != nil {
			d.Fail(v.Position, "file, format, offset", "%q stands beside a flow file, which decides it", k)
		}
	}
	which := d.readFormat(x, traffic, d.traffic.entryKeys(), d.registry.flowFormats(), "flow")
	if which < 0 {
		return
	}
	format := &d.registry.Flows[which]
	each := unit.Second
	switch v := x.Get("time_unit"); {
	case format.Unclear != "" && v == nil:
		d.Fail(x.Position, "time_unit: 1us, or 1ps", "%s; time_unit says it", format.Unclear)
	case format.Unclear != "":
		each = d.Positive(v)
	case v != nil:
		d.Fail(v.Position, "no time_unit", "the times of %s's files are in seconds", format.Program)
	}
	port := -1
	switch v := x.Get("port"); {
	case v != nil && !format.Ports:
		d.Fail(v.Position, "no port", "%s's files have no ports", format.Program)
	case v != nil:
		port = d.Integer(v, 0, 65535)
	}
	offset := document.Read(d.Reader, x.Default("offset"), unit.ParseTime)
	for _, k := range []string{"interfaces"} {
		if v := x.Get(k); v != nil {
			d.Fail(v.Position, "as: flows, as: packets, or no "+k, "%q is of captures", k)
		}
	}
	data, name := d.openText(x.Get("file"))
	if !d.entryOK() {
		return
	}
	m, ok := d.readFlows(x, format, each, data, name)
	if !ok || !d.checkNodeCount(p, &m, name) {
		return
	}
	if !d.checkFlowCount(x.Get("file").Position, p, float64(len(m.Flows))) {
		return
	}
	d.warnClasses(m.Flows, port, name, tr.seen.Name)
	l := flowFile{name: name, port: port, offset: offset, triggers: m.Triggers}
	d.addFlows(x, p, tr, &l, m.Flows)
}

// checkNodeCount reports an error where a file announces another number of nodes than the topology has hosts, as
// uet-htsim does (ultraethernet/uet-htsim 40ccb05, main_uec.cpp:635, :661). In a topology whose hosts are not its first
// nodes the number may also be the one that covers all of them.
func (d *flowFileDecoder) checkNodeCount(p *Point, m *workload.Matrix, name string) bool {
	hosts, covered := 0, 0
	for i, n := range p.seen.Network.Nodes {
		if !n.Switch {
			hosts, covered = hosts+1, i+1
		}
	}
	if m.NodesLine == 0 || m.Nodes == hosts || m.Nodes == covered {
		return true
	}
	d.Fail(d.InFile(name, m.NodesLine, m.NodesColumn), fmt.Sprintf("a matrix with Nodes %d, or a topology of %d hosts",
		hosts, m.Nodes), "Nodes is %d, and the topology has %d hosts", m.Nodes, hosts)
	return false
}

// warnClasses warns of flows to a port, or to any if it is negative, that are of several classes.
func (d *flowFileDecoder) warnClasses(flows []workload.Flow, port int, name, traffic string) {
	first := -1
	for i := range flows {
		switch f := &flows[i]; {
		case port >= 0 && f.Port != port:
		case first < 0:
			first = f.Class
		case f.Class != first:
			d.warn(warnClasses, d.InFile(name, f.At.Line, f.At.Src), "traffic %s: flows of class %d and of class %d are alike "+
				"here: class of rdma, or tos, gives a traffic its own", traffic, first, f.Class)
			return
		}
	}
}

// flowFile is what is known of a flow file beside its flows.
type flowFile struct {
	name     string
	port     int // −1: all
	offset   unit.Time
	triggers []workload.Trigger
}

// addFlows adds the flows of a file to the point.
func (d *flowFileDecoder) addFlows(x document.Map, p *Point, tr Traffic, l *flowFile, flows []workload.Flow) {
	id, first := len(p.entries), p.flows.n
	p.entries = append(p.entries, tr)
	for _, t := range l.triggers {
		p.triggers = append(p.triggers, shiftTrigger(t, first))
	}
	nodes := p.seen.Network.Nodes
	for i, f := range flows {
		if l.port >= 0 && f.Port != l.port {
			continue
		}
		for e, node := range [2]int{f.Src, f.Dst} {
			if node < len(nodes) && !nodes[node].Switch {
				continue
			}
			at := d.InFile(l.name, f.At.Line, [2]int{f.At.Src, f.At.Dst}[e]) // which goes through the file
			if node >= len(nodes) {
				d.Fail(at, fmt.Sprintf("0 … %d, but for switches", len(nodes)-1), "there is no node %d in the topology", node)
			} else {
				d.Fail(at, "a host", "node %d is the switch %s", node, nodes[node].Name)
			}
			return
		}
		if !p.seen.Routes.Joined(f.Src, f.Dst) {
			d.nodes.checkPath(d.InFile(l.name, f.At.Line, f.At.Dst), p, f.Src, f.Dst) // which goes through the file
			return
		}
		if f.At.Start == 0 && len(l.triggers) > 0 { // it waits for others
			f.Start = max(f.Start, l.offset)
		}
		if f.Start < l.offset {
			d.Fail(d.InFile(l.name, f.At.Line, f.At.Start), fmt.Sprintf("%v or later", l.offset),
				"the flow starts at %v, before the offset", f.Start)
			return
		}
		p.flows.add(Flow{Traffic: id, Index: i, Src: f.Src, Dst: f.Dst, Size: f.Size, Fixed: true,
			Start: f.Start - l.offset, Port: f.Port})
	}
	if l.port >= 0 && (p.flows.n == 0 || p.flows.at(p.flows.n-1).Traffic != id) {
		d.Fail(x.Get("port").Position, "a port that flows of the file go to", "no flow of the file goes to port %d", l.port)
	}
}

// readFlows reads a flow file's data.
func (d *flowFileDecoder) readFlows(x document.Map, format *workload.FileFormat, each unit.Time, data []byte,
	name string) (m workload.Matrix, ok bool) {
	var err error
	if format.Chained != nil {
		m, err = format.Chained(bytes.NewReader(data), name, each)
	} else {
		m.Flows, err = format.Read(bytes.NewReader(data), name, each)
	}
	if d.ignoresRest(x, traffic, format.Name, format.Announces, err) {
		err = nil
	}
	if err != nil {
		Foreign(d.Reader, x.Get("file"), err)
		return workload.Matrix{}, false
	}
	return m, true
}

// shiftTrigger returns a trigger whose flows stand after so many others.
func shiftTrigger(t workload.Trigger, first int) workload.Trigger {
	for _, flows := range []*[]int{&t.Sent, &t.Arrived, &t.Begins} {
		list := make([]int, len(*flows))
		for i, f := range *flows {
			list[i] = f + first
		}
		*flows = list
	}
	return t
}

// flowList is the flows that a file lists: one by one, or as a job that has its transfers by formula.
type flowList struct {
	parts []flowPart
	n     int
}

// flowPart is a part of a flowList.
type flowPart struct {
	first  int // flow of the list
	listed []Flow
	reduce *reduction // in place of listed
}

// reduction is a job among hosts in which each transfer is a flow.
type reduction struct {
	job.Flows
	traffic, first int
	hosts          []int
	start          unit.Time
}

// add appends a flow.
func (l *flowList) add(f Flow) {
	last := l.lastListed()
	last.listed = append(last.listed, f)
	l.n++
}

// grow makes room for n more flows.
func (l *flowList) grow(n int) {
	last := l.lastListed()
	last.listed = slices.Grow(last.listed, n)
}

// lastListed returns the last part if it lists its flows, else a new part behind it.
func (l *flowList) lastListed() *flowPart {
	if k := len(l.parts); k == 0 || l.parts[k-1].reduce != nil {
		l.parts = append(l.parts, flowPart{first: l.n})
	}
	return &l.parts[len(l.parts)-1]
}

// addReduction appends the flows of a job.
func (l *flowList) addReduction(r reduction) {
	r.first = l.n
	l.parts = append(l.parts, flowPart{first: l.n, reduce: &r})
	l.n += r.Count()
}

// at returns flow i.
func (l *flowList) at(i int) Flow {
	k := len(l.parts) - 1
	for l.parts[k].first > i {
		k--
	}
	p := &l.parts[k]
	r := p.reduce
	if r == nil {
		return p.listed[i-p.first]
	}
	f := Flow{Traffic: r.traffic, Index: i - p.first, Fixed: true, Start: r.start, reduce: r}
	src, dst, size := r.Transfer(f.Index)
	f.Src, f.Dst, f.Size = r.hosts[src], r.hosts[dst], size
	return f
}

// same reports whether two lists have the same flows.
func (l *flowList) same(o *flowList) bool {
	return slices.EqualFunc(l.parts, o.parts, func(a, b flowPart) bool {
		if a.reduce == nil || b.reduce == nil {
			return a.reduce == b.reduce && slices.EqualFunc(a.listed, b.listed, Flow.same)
		}
		x, y := a.reduce, b.reduce
		return x.Flows == y.Flows && x.traffic == y.traffic && x.first == y.first && x.start == y.start &&
			slices.Equal(x.hosts, y.hosts)
	})
}

// memory returns about how many bytes the list takes.
func (l *flowList) memory() (bytes int64) {
	for i := range l.parts {
		bytes += ofFlow * int64(len(l.parts[i].listed))
		for k := range l.parts[i].listed {
			bytes += ofDatagram * int64(len(l.parts[i].listed[k].script))
		}
		if r := l.parts[i].reduce; r != nil {
			bytes += int64(8 * len(r.hosts))
		}
	}
	return bytes
}
