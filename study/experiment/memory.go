package experiment

import (
	"fmt"
	"slices"

	"weir/core/topology"
	"weir/core/unit"
	"weir/internal/document"
)

// Bytes that parts of points take, about.
const (
	ofPoint     = 2000 // without what follows
	ofParameter = 200
	ofSwitch    = 136 // each node has the place for a switch's configuration
	ofFlow      = 128
	ofDatagram  = 16
	ofNode      = 200 // with its addresses and ports
	ofLink      = 72
	ofRoute     = 4
)

// pointLimits bound the points of a sweep, all together.
type pointLimits struct {
	parts  int   // nodes, links and listed flows that are made
	memory int64 // bytes, of which what points share counts once
}

// usualLimits are the limits of sweeps; tests set smaller ones.
var usualLimits = pointLimits{parts: 1 << 23, memory: 300e6}

// sizeOfFirst is the limit of parts for a sweep of which only the first point is known. Other points may be smaller,
// but a first one that is so much too large is refused before many are made.
func (l pointLimits) sizeOfFirst() int { return 4 * l.parts }

// tally counts what the points of a sweep take, against its limits.
type tally struct {
	of   int // points of the sweep
	kept int // nodes, links and listed flows
}

// add counts point i. It fails if those so far, and others that are to come, are too many.
func (r *tally) add(s *Spec, d *reader, i int, p *Point) {
	size := len(p.seen.Network.Nodes) + len(p.seen.Network.Links) + p.flows.n
	r.kept += size
	s.memory += p.memory
	sweep := func() document.Place { return top.Of(s.root).Get("sweep").Place }
	limits := s.options.pointLimits()
	allowed := fmt.Sprintf("points × nodes, links and listed flows up to %d", limits.parts)
	switch {
	case i+1 == r.of:
	case i == 0 && size > limits.sizeOfFirst()/r.of:
		d.Fail(sweep(), allowed, "the first of the sweep's %d points has %d nodes, links and listed flows: %d with others "+
			"like it", r.of, size, r.of*size)
	case r.kept > limits.parts:
		d.Fail(sweep(), allowed, "%d of the sweep's %d points have %d nodes, links and listed flows already", i+1, r.of,
			r.kept)
	case s.memory > limits.memory:
		d.Fail(sweep(), fmt.Sprintf("points that take up to %v together; those with the same network and flows share them",
			unit.Bytes(limits.memory)), "%d of the sweep's %d points take %d MB of memory already", i+1, r.of,
			s.memory/1e6)
	}
}

// shareFlows lets a point have the flows of the one before it if they are the same, and counts what is its own. What it
// has of networks and routes was counted when these were made.
func (d *decoder) shareFlows(p *Point) {
	p.memory += int64(ofPoint + ofParameter*len(p.defaults) + len(p.canonical) + ofSwitch*len(p.switches))
	if p.flows.same(&d.flows) {
		p.flows = d.flows
		return
	}
	d.flows = p.flows
	p.memory += p.flows.memory()
}

// same reports whether a flow is as another.
func (f Flow) same(o Flow) bool {
	return f.Traffic == o.Traffic && f.Index == o.Index && f.Src == o.Src && f.Dst == o.Dst && f.Size == o.Size &&
		f.Fixed == o.Fixed && f.Start == o.Start && f.Later == o.Later && f.Port == o.Port &&
		f.captured == o.captured && slices.Equal(f.script, o.script)
}

// tableSize is how many routes the switches of a network have, with the numbers of its switches and of those with
// hosts.
func tableSize(n *topology.Network) (routes, switches, classes int) {
	for _, node := range n.Nodes {
		if node.Switch {
			switches++
		}
	}
	classes = n.Classes()
	return classes * switches, switches, classes
}

// Memory is about how many bytes the points take, of which what they share counts once.
func (s *Spec) Memory() int64 { return s.memory }
