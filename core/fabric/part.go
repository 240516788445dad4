package fabric

import (
	"fmt"

	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
)

// Several threads may run a fabric. Each has a part of it: some of the groups, with all the memory that their nodes
// write to. Within a window groups do not influence each other, so parts need not wait for each other until it ends. A
// frame that leaves a part goes into an out-box, which its destination empties at the beginning of its next window.
// There are two sets of out-boxes, so that a window never fills and empties the same one. A frame never arrives in the
// window in which it was sent, and the order of arrivals follows from time and link. So the result is the same for
// every division.

// part is one part of a fabric.
type part struct {
	fabric   *Fabric
	id       int
	groups   []*group
	nextAt   []unit.Time // by groups: their earliest events
	next     unit.Time   // minimum of these, and of the arrivals of frames that it sent to other parts in its last window
	pool     *packet.Pool
	observer trace.Observer
	boxes    [2][][]crossing // by turn and part

	sorter keySorter // of the arrivals of a window
	events uint64
	hops   uint64
	sink   int32 // uses the results of touch, so that its reads are not removed
	_      [64]byte
}

// crossing is a frame on its way to another part.
type crossing struct {
	wire *wire
	at   unit.Time
	p    *packet.Packet
}

// makeParts assigns the groups to parts. It is an error if nodes of one group are in different parts. So is a part that
// does not exist, or another number of entries in PartOf than of nodes.
func (f *Fabric) makeParts(c *Config) error {
	for k, p := range append([]Part{{c.Pool, c.Observer}}, c.MoreParts...) {
		x := &part{fabric: f, id: k, pool: p.Pool, observer: p.Observer}
		for turn := range x.boxes {
			x.boxes[turn] = make([][]crossing, 1+len(c.MoreParts))
		}
		f.parts = append(f.parts, x)
	}
	if c.PartOf != nil && len(c.PartOf) != len(f.members) {
		return fmt.Errorf("fabric: parts of %d nodes, there are %d", len(c.PartOf), len(f.members))
	}
	for n := range f.members {
		k := int32(0)
		if c.PartOf != nil {
			k = c.PartOf[n]
		}
		if k < 0 || int(k) >= len(f.parts) {
			return fmt.Errorf("fabric: node %d is in part %d of %d", n, k, len(f.parts))
		}
		switch g := f.members[n].group; {
		case g.part == nil:
			g.part = f.parts[k]
			g.part.groups = append(g.part.groups, g)
		case g.part != f.parts[k]:
			return fmt.Errorf("fabric: node %d is in part %d, and another one of its group in part %d", n, k, g.part.id)
		}
	}
	for _, x := range f.parts {
		x.nextAt = make([]unit.Time, len(x.groups))
		for i, g := range x.groups {
			x.nextAt[i] = unit.Never
			g.nextAt = &x.nextAt[i]
		}
	}
	for i := range f.ports {
		pt := &f.ports[i]
		pt.crosses = pt.wire.to.group.part != f.extras[i].from.group.part
	}
	return nil
}

// runPart runs the events of a part before the end of the window, after it has taken in the frames that other parts
// sent in the last one.
func (f *Fabric) runPart(k int) {
	x, end := f.parts[k], f.end
	x.takeIn(f.turn ^ 1)
	x.next = unit.Never
	for i, t := range x.nextAt {
		if t >= end {
			continue
		}
		if g := x.groups[i]; g.single != nil {
			f.runSingle(g, end)
		} else {
			f.runGroup(g, end)
		}
	}
	x.next = min(x.next, x.firstEvent())
}

// firstEvent returns the time of the earliest event of the part's groups.
func (x *part) firstEvent() unit.Time {
	t := unit.Never
	for _, at := range x.nextAt {
		t = min(t, at)
	}
	return t
}

// sendAcross puts a frame that leaves the part into its out-box of a turn, to arrive at arrivalTime.
func (x *part) sendAcross(turn int, pt *port, arrivalTime unit.Time, p *packet.Packet) {
	box := &x.boxes[turn][pt.wire.to.group.part.id]
	*box = append(*box, crossing{pt.wire, arrivalTime, p})
	x.next = min(x.next, arrivalTime)
}

// takeIn puts the frames that other parts sent in a turn onto the part's links. These boxes are then empty.
func (x *part) takeIn(turn int) {
	for _, from := range x.fabric.parts {
		box := from.boxes[turn][x.id]
		for i := range box {
			c := &box[i]
			c.wire.putFrame(c.at, c.p)
		}
		from.boxes[turn][x.id] = box[:0]
	}
}

// takeIn empties all out-boxes, outside of windows, so that links have all frames in flight.
func (f *Fabric) takeIn() {
	if len(f.parts) == 1 {
		return
	}
	for _, x := range f.parts {
		x.takeIn(0)
		x.takeIn(1)
	}
}

// reportEvent calls the observer, if there is one. Runs without an observer do not call it, because links with an
// observer are special.
func (x *part) reportEvent(now unit.Time, k trace.EventKind, node, link int32, why string, p *packet.Packet) {
	if x.observer != nil {
		x.observer.Observe(trace.Event{At: now, Kind: k, Node: node, Port: link, Reason: why, QueuePackets: trace.None,
			QueueBytes: trace.None}, p)
	}
}
