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

// Monitor connects an experiment with a plane. It identifies packets, records them at the hosts, and acts at its
// own times. All times are event times.
type Monitor interface {
	// Identify returns the flow of a packet that a host's kernel sends, or packet.NoFlow.
	Identify(p *packet.Packet) packet.FlowID
	// Arrive records a packet that reaches the host of a node. It reports whether the packet belongs to a flow
	// between Weir's own hosts.
	Arrive(now unit.Time, node int, p *packet.Packet) (own bool)
	// Act performs the actions due at now, after all earlier events. It returns the time of the next call,
	// unit.Never for no further call. Plane.ScheduleAct sets the first one.
	Act(now unit.Time) (next unit.Time)
}

// PlaneConfig configures a Plane.
type PlaneConfig struct {
	Network  *topology.Network
	Wiring   *wiring.Wiring // of Network
	Book     *packet.Book
	Framing  packet.Framing
	MaxFrame int              // bytes of the largest frame
	Gates    []Gate           // of hosts, by node
	Clock    func() unit.Time // event time by the wall clock, to measure lateness
	// AnyFrame accepts frames of all types and leaves parsing to the switches' codecs.
	AnyFrame bool

	// The remaining fields are for experiments; all may be nil.
	Monitor  Monitor
	Own      []bool         // by node: it has one of Weir's own hosts
	Observer trace.Observer // events of switches
	Links    trace.Observer // events of links
	Programs func(node int) []dataplane.Program
	// Wrap returns the fabric's node for a switch.
	Wrap func(node int, sw *dataplane.Switch) fabric.Node
}

// Plane is a data plane: a fabric with all switches and links, and the gates to the hosts. It uses the wall clock
// only to measure lateness. It is not safe for concurrent use.
type Plane struct {
	Departures
	fabric     *fabric.Fabric
	pool       packet.Pool
	framing    packet.Framing
	maxFrame   int         // maximum frame length in bytes
	anyFrame   bool        // accept frames of all types
	hosts      []*hostPort // by node, nil for switches
	gatedHosts []*hostPort
	stamps     []unit.Time // stamps of gatedHosts in this step
	monitor    Monitor     // nil: no monitor

	done  unit.Time // all events before it are processed
	due   unit.Time // due time of the next event, at the end of the last step
	actAt unit.Time // time of the monitor's next act
}

// NewPlane creates an idle plane with all switches of the wiring, and attaches the hosts' ports to c.Wiring. It fails
// if a host has other than one link, or if a program cannot be built.
func NewPlane(c PlaneConfig) (*Plane, error) {
	d := &Plane{Departures: NewDepartures(c.Clock, c.Book), framing: c.Framing, maxFrame: c.MaxFrame, anyFrame: c.AnyFrame,
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
		leaving := c.Wiring.LinksFrom(i)
		if len(leaving) != 1 {
			return nil, fmt.Errorf("host %s has %d links; a host has one NIC", node.Name, len(leaving))
		}
		h := d.newHostPort(i, node.Name, c.Wiring.Links[leaving[0]].Rate, c.Gates[i])
		h.hasOwnHost = c.Own != nil && c.Own[i]
		c.Wiring.AttachNIC(i, 0, h.port)
		nodes[i], d.hosts[i] = h, h
	}
	return d, d.startFabric(nodes, c.Wiring.Links, c.Links)
}

// framesReady is the number of packets allocated in advance.
const framesReady = 4096

// startFabric creates the fabric and allocates framesReady packets.
func (d *Plane) startFabric(nodes []fabric.Node, links []fabric.Link, o trace.Observer) (err error) {
	for _, h := range d.hosts {
		if h != nil {
			d.gatedHosts = append(d.gatedHosts, h)
		}
	}
	d.stamps = make([]unit.Time, len(d.gatedHosts))
	d.due, d.actAt, d.Release = unit.Never, unit.Never, d.pool.Put
	var ready [framesReady]*packet.Packet
	room := d.maxFrame + packet.MaxExtensionBytes
	slab := make([]byte, framesReady*room) // one allocation; its pages are touched on first use
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

// Fabric returns the fabric, for its counters and for events of links.
func (d *Plane) Fabric() *fabric.Fabric { return d.fabric }

// LivePackets returns the number of packets in use: on links, in queues, and in gates until they are sent.
func (d *Plane) LivePackets() int { return d.pool.LiveCount() }

// Done returns the event time before which all events are processed.
func (d *Plane) Done() unit.Time { return d.done }

// GateCounts returns the sum of all gates' counters. It may make a system call for each.
func (d *Plane) GateCounts() (sum GateCounts) {
	for _, h := range d.gatedHosts {
		sum.Add(h.Gate.Counts())
	}
	return sum
}

// ScheduleAct sets the event time of the monitor's next act; unit.Never: there is no further act. Without a monitor
// it must not be called.
func (d *Plane) ScheduleAct(next unit.Time) { d.actAt = next }

// ActNow calls act with the current event time between two steps, after all earlier events. Work that act causes is due
// at the next step.
func (d *Plane) ActNow(act func(now unit.Time)) {
	act(d.done)
	d.due = d.Next()
}

// Step performs everything due at the wall-clock time now: it receives frames in order of their stamps, runs the
// fabric's events, and sends frames that reach hosts. The caller must read now before the call. An error ends the
// run.
func (d *Plane) Step(now unit.Time) error {
	need := d.due
	for i, h := range d.gatedHosts {
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
		if at < d.done { // the last step could not see its stamp yet
			d.Counts.Belated++
			d.Counts.BelatedBy = max(d.Counts.BelatedBy, d.done-at)
			at = d.done
		}
		d.runUntil(at)
		d.enterFrame(d.gatedHosts[first], at)
		d.stamps[first] = d.gatedHosts[first].Gate.Stamp()
	}
	if now >= d.done {
		d.runUntil(now + 1)
	}
	d.RetryAt = unit.Never
	for _, h := range d.gatedHosts {
		h.Flush()
	}
	d.due = d.Next()
	return d.Err
}

// Next returns the time of the next step if no frame arrives, or unit.Never.
func (d *Plane) Next() unit.Time {
	return min(d.fabric.NextEvent(), d.RetryAt, d.actAt)
}

// runUntil runs all events before until, and the monitor's acts up to and including it, each after the earlier events.
// An earlier until than done has no effect on done.
func (d *Plane) runUntil(until unit.Time) {
	for d.actAt <= until {
		d.fabric.Run(d.actAt, nil)
		d.actAt = d.monitor.Act(d.actAt)
	}
	d.fabric.Run(until, nil)
	d.done = max(d.done, until)
}

// enterFrame moves the first waiting frame of a host into the fabric at now, after counting it. It drops short frames
// and, without anyFrame, those that switches do not accept.
func (d *Plane) enterFrame(h *hostPort, now unit.Time) {
	p := d.pool.GetFrame(d.maxFrame + packet.MaxExtensionBytes)
	p.Data = h.Gate.Take(p.Data)
	d.Counts.In++
	if len(p.Data) < packet.EthernetHeader || !d.anyFrame && !isForwarded(binary.BigEndian.Uint16(p.Data[12:])) {
		d.Counts.NonIP++
		d.pool.Put(p)
		return
	}
	p.Size = d.framing.FrameBytes(int32(len(p.Data)), 0, false)
	if !d.anyFrame {
		d.parseFrame(p)
	}
	h.pushFrame(p)
	d.fabric.WakeNode(h.node, now)
}

// parseFrame parses the frame of p once for all switches and links, and identifies its flow, p.Flow. A frame that
// cannot be parsed has no flow and no payload.
func (d *Plane) parseFrame(p *packet.Packet) {
	p.Flow = packet.NoFlow
	switch err := p.Parse(d.book, p.Data); {
	case err != nil: // the first switch drops it; until then it is opaque
		p.ClearExtensions()
		p.Kind, p.Payload = packet.Data, 0
	case d.monitor != nil && p.Kind != packet.Pause && p.Kind != packet.Resume:
		p.Flow = d.monitor.Identify(p)
	}
}

// isForwarded reports whether switches accept frames of an Ethernet type: IPv4, IPv6 and PFC.
func isForwarded(etherType uint16) bool {
	return etherType == packet.EtherIPv4 || etherType == packet.EtherIPv6 || etherType == packet.EtherControl
}
