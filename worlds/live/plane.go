package live

import (
	"encoding/binary"
	"fmt"

	"weir/core/dataplane"
	"weir/core/fabric"
	"weir/core/fabric/wiring"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/trace"
	"weir/core/unit"
)

// Monitor is an experiment at a plane. It identifies and records packets at the hosts, and acts at times of its own.
// All times are event times.
type Monitor interface {
	// Identify returns the flow of a packet that a host's kernel sends; packet.NoFlow if it belongs to none.
	Identify(p *packet.Packet) packet.FlowID
	// Arrive records a packet that reaches the host of a node. It reports whether the packet belongs to a flow between
	// hosts of Weir's own.
	Arrive(now unit.Time, node int, p *packet.Packet) (own bool)
	// Act does what is due at now, before which everything has happened, and returns when it is to act next; unit.Never
	// for not again. Plane.ScheduleAct sets the first time.
	Act(now unit.Time) (next unit.Time)
}

// PlaneConfig is what a Plane is made of.
type PlaneConfig struct {
	Network  *topology.Network
	Wiring   *wiring.Wiring // of Network
	Book     *packet.Book
	Framing  packet.Framing
	MaxFrame int              // bytes of the largest frame
	Gates    []Gate           // of hosts, by node
	Clock    func() unit.Time // event time by the wall clock, to see how late frames leave
	// AnyFrame accepts frames of all types and leaves parsing to the switches' codecs.
	AnyFrame bool

	// An experiment has the rest, all of which may be nil.
	Monitor  Monitor
	Own      []bool         // by node: it has a host of Weir's own
	Observer trace.Observer // of switches
	Links    trace.Observer // of links
	Programs func(node int) []dataplane.Program
	// Wrap returns the fabric's node in place of a switch.
	Wrap func(node int, sw *dataplane.Switch) fabric.Node
}

// Plane is the data plane: the fabric with all switches and links, and the gates to the
// hosts. It has no clock of its own but to see how late frames leave. It is not safe for concurrent use.
type Plane struct {
	Departures
	fabric  *fabric.Fabric
	pool    packet.Pool
	framing packet.Framing
	room    int         // of a frame, in bytes
	any     bool        // frames of all types enter, not only what hosts of the lab send
	hosts   []*hostPort // by node, nil for switches
	gated   []*hostPort
	stamps  []unit.Time // of gated, in this step
	monitor Monitor     // nil: none

	done  unit.Time // all before it has happened
	due   unit.Time // when the next event was to happen, at the end of the last step
	actAt unit.Time // when monitor acts
}

// NewPlane makes a plane of switches and links, at rest.
func NewPlane(c PlaneConfig) (*Plane, error) {
	d := &Plane{Departures: NewDepartures(c.Clock, c.Book), framing: c.Framing, room: c.MaxFrame, any: c.AnyFrame,
		monitor: c.Monitor, hosts: make([]*hostPort, len(c.Network.Nodes))}
	nodes := make([]fabric.Node, len(c.Network.Nodes))
	for i, node := range c.Network.Nodes {
		if node.Switch {
			var more []dataplane.Program
			if c.Programs != nil {
				more = c.Programs(i)
			}
			sw, err := c.Wiring.NewSwitch(i, fabric.Part{Pool: &d.pool, Observer: c.Observer}, more, nil)
			if err != nil {
				return nil, err
			}
			if nodes[i] = sw; c.Wrap != nil {
				nodes[i] = c.Wrap(i, sw)
			}
			continue
		}
		leaving := c.Wiring.Leaving(i)
		if len(leaving) != 1 {
			return nil, fmt.Errorf("host %s has %d links; a host has one NIC", node.Name, len(leaving))
		}
		h := d.newHostPort(i, node.Name, c.Wiring.Links[leaving[0]].Rate, c.Gates[i])
		h.own = c.Own != nil && c.Own[i]
		c.Wiring.Attach(i, 0, h.port)
		nodes[i], d.hosts[i] = h, h
	}
	return d, d.start(nodes, c.Wiring.Links, c.Links)
}

// framesReady is for how many packets there is room before anything happens.
const framesReady = 4096

// start makes the fabric.
func (d *Plane) start(nodes []fabric.Node, links []fabric.Link, o trace.Observer) (err error) {
	for _, h := range d.hosts {
		if h != nil {
			d.gated = append(d.gated, h)
		}
	}
	d.stamps = make([]unit.Time, len(d.gated))
	d.due, d.actAt, d.Release = unit.Never, unit.Never, d.pool.Put
	var ready [framesReady]*packet.Packet
	room := d.room + packet.MostExtensions
	slab := make([]byte, framesReady*room) // one allocation: its pages are touched when they are used
	for i := range ready {
		ready[i] = d.pool.Get()
		ready[i].Data = slab[i*room : i*room : (i+1)*room]
	}
	for _, p := range ready {
		d.pool.Put(p)
	}
	d.fabric, err = fabric.New(fabric.Config{Nodes: nodes, Links: links, Pool: &d.pool, Observer: o})
	return err
}

// Fabric returns the fabric, for counters and for what happens to links.
func (d *Plane) Fabric() *fabric.Fabric { return d.fabric }

// LivePackets returns how many packets the plane has.
func (d *Plane) LivePackets() int { return d.pool.Live() }

// Done returns the event time before which everything has happened.
func (d *Plane) Done() unit.Time { return d.done }

// GateCounts returns the sum of what all gates have counted. It may be a system call for each.
func (d *Plane) GateCounts() (sum GateCounts) {
	for _, h := range d.gated {
		sum.Add(h.Gate.Counts())
	}
	return sum
}

// ScheduleAct has the monitor act at a time, in place of the one that it has returned before.
func (d *Plane) ScheduleAct(at unit.Time) { d.actAt = at }

// ActNow runs an act between two steps, after everything that has happened.
func (d *Plane) ActNow(act func(now unit.Time)) {
	act(d.done)
	d.due = d.Next()
}

// Step does everything that is due at now, by the wall clock: it receives frames in the order of their
// stamps, runs the fabric's events, and sends what arrives at hosts. now must be read before. An error
// ends the run.
func (d *Plane) Step(now unit.Time) error {
	need := d.due
	for i, h := range d.gated {
		d.stamps[i] = h.Gate.Stamp()
		need = min(need, d.stamps[i])
	}
	d.RecordWait(need, now)
	for {
		first, at := 0, unit.Never
		for i, t := range d.stamps {
			if t < at {
				first, at = i, t
			}
		}
		if at > now {
			break
		}
		if at < d.done { // its stamp was not to be seen yet in the last step
			d.Counts.Belated++
			d.Counts.BelatedBy = max(d.Counts.BelatedBy, d.done-at)
			at = d.done
		}
		d.advance(at)
		d.enter(d.gated[first], at)
		d.stamps[first] = d.gated[first].Gate.Stamp()
	}
	if now >= d.done {
		d.advance(now + 1)
	}
	d.RetryAt = unit.Never
	for _, h := range d.gated {
		h.Flush()
	}
	d.due = d.Next()
	return d.Err
}

// Next returns when Step has something to do if no frame comes in; unit.Never if not.
func (d *Plane) Next() unit.Time {
	return min(d.fabric.Next(), d.RetryAt, d.actAt)
}

// advance runs all that happens before until, and the monitor's acts up to then.
func (d *Plane) advance(until unit.Time) {
	for d.actAt <= until {
		d.fabric.Run(d.actAt, nil)
		d.actAt = d.monitor.Act(d.actAt)
	}
	d.fabric.Run(until, nil)
	d.done = max(d.done, until)
}

// enter takes the first frame of a host into the fabric.
func (d *Plane) enter(h *hostPort, now unit.Time) {
	p := d.pool.GetFrame(d.room + packet.MostExtensions)
	p.Data = h.Gate.Take(p.Data)
	d.Counts.In++
	if len(p.Data) < packet.EthernetHeader || !d.any && !isForwarded(binary.BigEndian.Uint16(p.Data[12:])) {
		d.Counts.NonIP++
		d.pool.Put(p)
		return
	}
	p.Size = d.framing.Frame(int32(len(p.Data)), 0, false)
	if !d.any {
		d.parse(p)
	}
	h.enter(p)
	d.fabric.Wake(h.node, now)
}

// parse reads the frame of p, once for all switches and links on its way, and finds its flow.
func (d *Plane) parse(p *packet.Packet) {
	p.Flow = packet.NoFlow
	switch err := p.Parse(d.book, p.Data); {
	case err != nil: // the first switch drops it; until then it is bytes
		p.ClearExtensions()
		p.Kind, p.Payload = packet.Data, 0
	case d.monitor != nil && p.Kind != packet.Pause && p.Kind != packet.Resume:
		p.Flow = d.monitor.Identify(p)
	}
}

// isForwarded reports whether switches take frames of a type.
func isForwarded(etherType uint16) bool {
	return etherType == packet.EtherIPv4 || etherType == packet.EtherIPv6 || etherType == packet.EtherControl
}
