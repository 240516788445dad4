package dataplane

import (
	"weir/core/packet"
	"weir/core/unit"
)

// Flowlets records the port of each flowlet (Sinha, Kandula, Katabi, HotNets 2004). Packets of a flow with gaps below
// Gap stay together. If the delays of paths differ by less than Gap, no packet of the next flowlet overtakes the last
// one, on any path. The register array is indexed by the flow's hash, as in hardware (LetFlow §3, CONGA §3.4): flows
// that collide count as one.
type Flowlets struct {
	gap   unit.Time
	cells []flowlet
	mask  uint32
}

// flowlet is a cell of the array.
type flowlet struct {
	until unit.Time // the flowlet ends if no packet arrives by then
	port  packet.PortID
	used  bool
}

// NewFlowlets returns an array of size cells, rounded up to a power of two; a size below 1 counts as 1. A gap of 0
// makes every packet a flowlet.
func NewFlowlets(size int, gap unit.Time) *Flowlets {
	n := 1
	for n < size {
		n *= 2
	}
	return &Flowlets{gap: gap, cells: make([]flowlet, n), mask: uint32(n - 1)}
}

// ContinueFlowlet returns the port of the flow's flowlet and extends the flowlet. It returns false if the packet begins
// a new flowlet; then BeginFlowlet sets the port.
func (f *Flowlets) ContinueFlowlet(now unit.Time, hash uint32) (packet.PortID, bool) {
	c := &f.cells[hash&f.mask]
	if !c.used || now >= c.until {
		return 0, false
	}
	c.until = now + f.gap
	return c.port, true
}

// BeginFlowlet records the port of a flowlet that begins with a packet now. It replaces the flowlet of another flow in
// the same cell.
func (f *Flowlets) BeginFlowlet(now unit.Time, hash uint32, port packet.PortID) {
	f.cells[hash&f.mask] = flowlet{now + f.gap, port, true}
}

// LastPort returns the last port of the flow, or of a flow in the same cell; false without such a port. The flowlet may
// have ended.
func (f *Flowlets) LastPort(hash uint32) (packet.PortID, bool) {
	c := &f.cells[hash&f.mask]
	return c.port, c.used
}

// Normalize clears flowlets that have ended, for users that do not call LastPort. Their cells become empty.
func (f *Flowlets) Normalize(now unit.Time) {
	for i := range f.cells {
		if c := &f.cells[i]; c.used && now >= c.until {
			*c = flowlet{}
		}
	}
}

// Cells returns the number of cells.
func (f *Flowlets) Cells() int { return len(f.cells) }

// PathSet is the first step of every load balancer: the ports of the shortest paths to a destination.
type PathSet struct {
	paths  [2]*packet.Paths // by IP version
	routes *Routes
}

// NewPathSet returns the path set of a site. A site without Routes has a set without paths.
func NewPathSet(site *Site) PathSet {
	return PathSet{[2]*packet.Paths{site.Routes.Paths(4), site.Routes.Paths(6)}, site.Routes}
}

// TakeHop decrements the packet's hop limit and returns the ports that lead to its destination, at least one, with the
// number of their set (packet.Paths). If the packet must be dropped, it returns the verdict, no ports and the set −1.
func (s *PathSet) TakeHop(p *packet.Packet) (ports []packet.PortID, set int, v Verdict) {
	if !p.DecrementHopLimit() {
		return nil, -1, Drop(HopLimitExceeded)
	}
	paths := s.paths[0]
	if p.Version == 6 {
		paths = s.paths[1]
	}
	if ports, set = paths.PortSetTo(p.Dst); len(ports) == 0 {
		return nil, -1, Drop(NoRoute)
	}
	return ports, set, Accept
}

// MixHash returns a hash of h in which every bit depends on every bit of h (MurmurHash3's finaliser).
func MixHash(h uint32) uint32 {
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
