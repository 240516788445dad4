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

// readFile reads a traffic with a flow file, and adds it and its flows to the point. Keys that define flows in another
// way are errors.
func (d *flowFileDecoder) readFile(x document.Map, p *Point, tr Traffic) {
	for _, k := range traffic.KeyNames(notInFlowFile) {
		if v := x.Get(k); v != nil {
			d.Fail(v.Position, "remove "+k+", or remove file and format",
				"%q is given together with a flow file, which already lists the flows", k)
		}
	}
	which := d.readFormat(x, traffic, d.traffic.entryKeys(), d.registry.flowFormats(), "flow")
	if which < 0 {
		return
	}
	format := &d.registry.Flows[which]
	each := unit.Second
	switch v := x.Get("time_unit"); {
	case format.UnclearUnit != "" && v == nil:
		d.Fail(x.Position, "time_unit: 1us, or 1ps", "%s; give it with the key time_unit", format.UnclearUnit)
	case format.UnclearUnit != "":
		each = d.ReadPositiveTime(v)
	case v != nil:
		d.Fail(v.Position, "no time_unit", "time_unit is given, but files of %s have times in seconds", format.Program)
	}
	port := -1
	switch v := x.Get("port"); {
	case v != nil && !format.Ports:
		d.Fail(v.Position, "no port", "port is given, but files of %s have no ports", format.Program)
	case v != nil:
		port = d.ReadInteger(v, 0, 65535)
	}
	offset := document.ReadValue(d.Reader, x.GetDefault("offset"), unit.ParseTime)
	for _, k := range []string{"interfaces"} {
		if v := x.Get(k); v != nil {
			d.Fail(v.Position, "as: flows, as: packets, or no "+k, "%q applies only to captures", k)
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
	d.warnClasses(m.Flows, port, name, tr.measured.Name)
	l := flowFile{name: name, port: port, offset: offset, triggers: m.Triggers}
	d.addFlows(x, p, tr, &l, m.Flows)
}

// checkNodeCount reports an error and returns false if a file announces another number of nodes than the topology has
// hosts, as uet-htsim does (ultraethernet/uet-htsim 40ccb05, main_uec.cpp:635, :661). If hosts are not the topology's
// first nodes, the number may also include all nodes up to the last host.
func (d *flowFileDecoder) checkNodeCount(p *Point, m *workload.Matrix, name string) bool {
	hosts, covered := 0, 0
	for i, n := range p.measured.Network.Nodes {
		if !n.Switch {
			hosts, covered = hosts+1, i+1
		}
	}
	if m.NodesLine == 0 || m.Nodes == hosts || m.Nodes == covered {
		return true
	}
	d.Fail(d.PositionIn(name, m.NodesLine, m.NodesColumn), fmt.Sprintf("a matrix with Nodes %d, or a topology of %d hosts",
		hosts, m.Nodes), "Nodes is %d, but the topology has %d hosts", m.Nodes, hosts)
	return false
}

// warnClasses warns if flows to a port have several classes. A negative port selects all flows.
func (d *flowFileDecoder) warnClasses(flows []workload.Flow, port int, name, traffic string) {
	first := -1
	for i := range flows {
		switch f := &flows[i]; {
		case port >= 0 && f.Port != port:
		case first < 0:
			first = f.Class
		case f.Class != first:
			d.warn(warnClasses, d.PositionIn(name, f.At.Line, f.At.Src),
				"traffic %s: flows of class %d and of class %d are treated alike; give a traffic its own class with class of "+
					"rdma or with tos", traffic, first, f.Class)
			return
		}
	}
}

// flowFile has the properties of a flow file apart from its flows.
type flowFile struct {
	name     string
	port     int // −1: all
	offset   unit.Time
	triggers []workload.Trigger
}

// addFlows adds the traffic to the point, with the file's triggers and its flows to the selected port. The offset is
// subtracted from all starts. It stops at the first flow with an error: an unknown host, no path, or a start before the
// offset. Flows that wait for others start at the offset or later.
func (d *flowFileDecoder) addFlows(x document.Map, p *Point, tr Traffic, l *flowFile, flows []workload.Flow) {
	id, first := len(p.entries), p.flows.count
	p.entries = append(p.entries, tr)
	for _, t := range l.triggers {
		p.triggers = append(p.triggers, shiftTrigger(t, first))
	}
	nodes := p.measured.Network.Nodes
	for i, f := range flows {
		if l.port >= 0 && f.Port != l.port {
			continue
		}
		for e, node := range [2]int{f.Src, f.Dst} {
			if node < len(nodes) && !nodes[node].Switch {
				continue
			}
			place := d.PositionIn(l.name, f.At.Line, [2]int{f.At.Src, f.At.Dst}[e]) // reads through the file
			if node >= len(nodes) {
				d.Fail(place, fmt.Sprintf("a host: 0 … %d without switches", len(nodes)-1),
					"node %d does not exist in the topology", node)
			} else {
				d.Fail(place, "a host", "node %d is the switch %s, not a host", node, nodes[node].Name)
			}
			return
		}
		if !p.measured.Routes.AreJoined(f.Src, f.Dst) {
			d.nodes.checkPath(d.PositionIn(l.name, f.At.Line, f.At.Dst), p, f.Src, f.Dst) // reads through the file
			return
		}
		if f.At.Start == 0 && len(l.triggers) > 0 { // the flow waits for others
			f.Start = max(f.Start, l.offset)
		}
		if f.Start < l.offset {
			d.Fail(d.PositionIn(l.name, f.At.Line, f.At.Start), fmt.Sprintf("%v or later", l.offset),
				"the flow starts at %v, before the offset of the file", f.Start)
			return
		}
		p.flows.addFlow(Flow{Traffic: id, Index: i, Src: f.Src, Dst: f.Dst, Size: f.Size, Fixed: true,
			Start: f.Start - l.offset, Port: f.Port})
	}
	if l.port >= 0 && (p.flows.count == 0 || p.flows.flowAt(p.flows.count-1).Traffic != id) {
		d.Fail(x.Get("port").Position, "a port that flows of the file go to", "no flow of the file goes to port %d", l.port)
	}
}

// readFlows parses a flow file's data. Times in the file count in units of timeUnit. It reports errors and returns
// false.
func (d *flowFileDecoder) readFlows(x document.Map, format *workload.FileFormat, timeUnit unit.Time, data []byte,
	name string) (m workload.Matrix, ok bool) {
	var err error
	if format.ReadChained != nil {
		m, err = format.ReadChained(bytes.NewReader(data), name, timeUnit)
	} else {
		m.Flows, err = format.Read(bytes.NewReader(data), name, timeUnit)
	}
	if d.ignoresRest(x, traffic, format.Name, format.Announces, err) {
		err = nil
	}
	if err != nil {
		ReportForeignError(d.Reader, x.Get("file"), err)
		return workload.Matrix{}, false
	}
	return m, true
}

// shiftTrigger returns a trigger with shift added to the indices of its flows. It does not change t.
func shiftTrigger(t workload.Trigger, shift int) workload.Trigger {
	for _, flows := range []*[]int{&t.Sent, &t.Arrived, &t.Begins} {
		list := make([]int, len(*flows))
		for i, f := range *flows {
			list[i] = f + shift
		}
		*flows = list
	}
	return t
}

// flowList has the flows that a file lists: individually, or as a job that computes its transfers.
type flowList struct {
	parts []flowPart
	count int
}

// flowPart is a part of a flowList.
type flowPart struct {
	first     int // index of its first flow in the list
	listed    []Flow
	reduction *reduction // replaces listed
}

// reduction is a job among hosts. Each of its transfers is a flow.
type reduction struct {
	job.Flows
	traffic, first int
	hosts          []int
	start          unit.Time
}

// addFlow appends a flow.
func (l *flowList) addFlow(f Flow) {
	last := l.lastListed()
	last.listed = append(last.listed, f)
	l.count++
}

// reserveFlows reserves memory for n more flows.
func (l *flowList) reserveFlows(n int) {
	last := l.lastListed()
	last.listed = slices.Grow(last.listed, n)
}

// lastListed returns the last part if it lists its flows individually; otherwise it appends a new part.
func (l *flowList) lastListed() *flowPart {
	if k := len(l.parts); k == 0 || l.parts[k-1].reduction != nil {
		l.parts = append(l.parts, flowPart{first: l.count})
	}
	return &l.parts[len(l.parts)-1]
}

// addReduction appends the flows of a job. It sets the job's first flow.
func (l *flowList) addReduction(r reduction) {
	r.first = l.count
	l.parts = append(l.parts, flowPart{first: l.count, reduction: &r})
	l.count += r.Count()
}

// flowAt returns flow i of the list, from 0 and below count.
func (l *flowList) flowAt(i int) Flow {
	k := len(l.parts) - 1
	for l.parts[k].first > i {
		k--
	}
	p := &l.parts[k]
	r := p.reduction
	if r == nil {
		return p.listed[i-p.first]
	}
	f := Flow{Traffic: r.traffic, Index: i - p.first, Fixed: true, Start: r.start, reduction: r}
	src, dst, size := r.Transfer(f.Index)
	f.Src, f.Dst, f.Size = r.hosts[src], r.hosts[dst], size
	return f
}

// hasSameFlows reports whether two lists have the same flows in the same parts.
func (l *flowList) hasSameFlows(o *flowList) bool {
	return slices.EqualFunc(l.parts, o.parts, func(a, b flowPart) bool {
		if a.reduction == nil || b.reduction == nil {
			return a.reduction == b.reduction && slices.EqualFunc(a.listed, b.listed, Flow.isSame)
		}
		x, y := a.reduction, b.reduction
		return x.Flows == y.Flows && x.traffic == y.traffic && x.first == y.first && x.start == y.start &&
			slices.Equal(x.hosts, y.hosts)
	})
}

// memoryBytes estimates the memory of the list in bytes.
func (l *flowList) memoryBytes() (bytes int64) {
	for i := range l.parts {
		bytes += perFlow * int64(len(l.parts[i].listed))
		for k := range l.parts[i].listed {
			bytes += perDatagram * int64(len(l.parts[i].listed[k].script))
		}
		if r := l.parts[i].reduction; r != nil {
			bytes += int64(8 * len(r.hosts))
		}
	}
	return bytes
}
