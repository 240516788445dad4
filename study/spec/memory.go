package spec

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

// Limits of the points of a sweep.
const (
	mostKept   = 1 << 23 // nodes, links and listed flows that are made for all points together
	mostMemory = 300e6   // bytes of all points together, of which what they share counts once
	// mostLikeFirst is mostKept for a sweep of which only the first point is known: others may be smaller, but a
	// first that is so much too large is no reason to make many of them before the file is refused.
	mostLikeFirst = 4 * mostKept
)

// tally counts what the points of a sweep take, against its limits.
type tally struct {
	of   int // points of the sweep
	kept int // nodes, links and listed flows
}

// add counts point i. It fails if those so far, and others that are to come, are too many.
func (r *tally) add(s *Spec, d *decoder, i int, p *Point) {
	size := len(p.seen.Network.Nodes) + len(p.seen.Network.Links) + p.flows.n
	r.kept += size
	s.memory += p.memory
	sweep := func() document.Place { return top.Of(s.root).Get("sweep").Place }
	allowed := fmt.Sprintf("points × nodes, links and listed flows up to %d", mostKept)
	switch {
	case i+1 == r.of:
	case i == 0 && size > mostLikeFirst/r.of:
		d.Fail(sweep(), allowed, "the first of the sweep's %d points has %d nodes, links and listed flows: %d with others "+
			"like it", r.of, size, r.of*size)
	case r.kept > mostKept:
		d.Fail(sweep(), allowed, "%d of the sweep's %d points have %d nodes, links and listed flows already", i+1, r.of,
			r.kept)
	case s.memory > mostMemory:
		d.Fail(sweep(), fmt.Sprintf("points that take up to %v together; those with the same network and flows share them",
			unit.Bytes(mostMemory)), "%d of the sweep's %d points take %d MB of memory already", i+1, r.of,
			s.memory/1e6)
	}
}

// share lets a point have the flows of the one before it if they are the same, and counts what is its own. What it
// has of networks and routes was counted when these were made.
func (d *decoder) share(p *Point) {
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
