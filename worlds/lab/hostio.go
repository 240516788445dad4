package lab

import (
	"encoding/binary"
	"fmt"

	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
	"weir/worlds/live"
)

// Edge runs Weir's own hosts in event time. sim.Edge implements it with the simulator's hosts. Frames enter and
// leave in Ethernet form.
type Edge interface {
	// DeliverFrame processes all events before now, then passes a frame that arrived at now to the host of a node. It
	// reports whether the frame belongs to a flow of these hosts.
	DeliverFrame(now unit.Time, node int, frame []byte) bool
	// Advance processes all events before until, and reports whether more will follow.
	Advance(until unit.Time) bool
	// Next returns the time of the next event if no frame arrives, at the latest the end of the run; unit.Never
	// after it.
	Next() unit.Time
	// ReturnPacket takes back a packet that has been sent.
	ReturnPacket(p *packet.Packet)
	// Now returns the time before which all events are processed.
	Now() unit.Time
	// Err returns the error that stopped the hosts.
	Err() error
}

// HostsConfig configures Weir's own hosts of a run.
type HostsConfig struct {
	Network *topology.Network
	Hosts   *packet.Book
	MTU     int // of hosts' interfaces, in bytes; 0: DefaultMTU
	// Capture, if set, has the file for the frames that the hosts receive and send (see ReplayHosts). Its Switches
	// are ignored.
	Capture *Capture
	// Make creates the hosts. Their NICs call send when they start to send a packet. result returns the outcome of
	// the flows, which must be encodable as JSON.
	Make func(send func(node int, now unit.Time, p *packet.Packet)) (edge Edge, result func() any, err error)
}

// HostsReport has the counts of a run's own hosts and the disturbances by the machine.
type HostsReport struct {
	Counts   live.FrameCounters     // In and Out count frames of the hosts
	Gates    live.GateCounts        // of all gates
	Strays   uint64                 // frames for these hosts that belong to no flow
	Lateness live.Lateness          // of sent frames, by the departure of their first bit
	Stall    unit.Time              // longest time by which due work was delayed
	Waits    []live.SchedulingDelay // all such delays that were not short, in the experiment's time
	Waited   unit.Time              // time in which the thread was runnable while other threads of this machine ran
	Steps    int                    // steps of the wall clock
	CPU      float64                // share of one core
	Wall     unit.Time
	Captured *CaptureSummary // with HostsConfig.Capture
	// Scheduling is what the thread was granted; empty: no special scheduling.
	Scheduling live.Scheduling
}

// Errors lists losses and failures that invalidate a run, one text for each kind; nil without any.
func (r *HostsReport) Errors() []string {
	all := formatCounts(
		errorCount{r.Gates.RingLost, "frames did not fit into a ring of Weir's hosts"},
		errorCount{r.Gates.TooLong, "frames of Weir's hosts were longer than a slot of the ring"},
		errorCount{r.Gates.Partial, "frames arrived at Weir's hosts without a checksum"},
		errorCount{r.Gates.Tagged, "frames arrived at Weir's hosts with a VLAN tag"},
		errorCount{r.Counts.SendLost, "frames of Weir's hosts were not accepted by the kernel"},
		errorCount{r.Counts.Unwritable, "packets of Weir's hosts cannot be written as frames"},
		errorCount{r.Strays, "frames arrived at Weir's hosts that belong to none of their flows"})
	if r.Captured != nil && r.Captured.Error != "" {
		all = append(all, "the capture of the hosts could not be written: "+r.Captured.Error)
	}
	return all
}

// hostIO connects Weir's own hosts with gates: it reads their frames and sends their packets.
type hostIO struct {
	live.Departures
	edge   Edge
	queues []*live.TxQueue // by node; nil: no own host
	hosts  []hostGate
	frame  []byte
	// strays counts frames that belong to no flow.
	strays  uint64
	format  frameFormat
	capture *hostCapture // nil: no capture
	done    unit.Time    // all events before it are processed
	due     unit.Time    // due time of the next event, at the end of the last step
}

// hostGate is one of Weir's own hosts with its gate.
type hostGate struct {
	*live.TxQueue
	node  int
	mac   [6]byte
	stamp unit.Time
}

// newHostIO creates the hosts at the gates, by node; a nil gate has no own host. clock returns the experiment's time.
// result returns the outcome of the flows, as HostsConfig.Make's. With Capture the capture begins.
func (c *HostsConfig) newHostIO(gates []live.Gate, clock func() unit.Time) (s *hostIO, result func() any, err error) {
	if len(gates) != len(c.Network.Nodes) {
		return nil, nil, fmt.Errorf("there are gates of %d nodes for %d nodes", len(gates), len(c.Network.Nodes))
	}
	s = &hostIO{Departures: live.NewDepartures(clock, c.Hosts), queues: make([]*live.TxQueue, len(gates)),
		format: frameFormat{book: c.Hosts}, due: unit.Never}
	for node, g := range gates {
		if g == nil {
			continue
		}
		q := s.NewTxQueue(c.Network.Nodes[node].Name, g)
		s.queues[node] = q
		s.hosts = append(s.hosts, hostGate{TxQueue: q, node: node, mac: live.OwnMAC(packet.Addr(node + 1))})
	}
	if c.Capture != nil {
		if c.Capture.Limit < 0 {
			return nil, nil, fmt.Errorf("a capture with a limit of %d bytes is too small", c.Capture.Limit)
		}
		s.startCapture(c)
	}
	if s.edge, result, err = c.Make(s.sendPacket); err != nil {
		return nil, nil, err
	}
	s.Release = s.edge.ReturnPacket
	return s, result, nil
}

// sendPacket records a packet of a host that starts to depart at event time now, if there is a capture, and gives it to
// the host's queue.
func (s *hostIO) sendPacket(node int, now unit.Time, p *packet.Packet) {
	if s.capture != nil {
		s.capture.recordSent(now, node, p)
	}
	s.queues[node].Send(now, p)
}

// step takes the frames that have arrived, runs the hosts and sends what is due at the wall-clock time now. It reports
// whether more will follow; false also after an error, s.Err. The caller must read now before the call.
func (s *hostIO) step(now unit.Time) (more bool) {
	need := s.due
	for i := range s.hosts {
		h := &s.hosts[i]
		h.stamp = h.Gate.Stamp()
		need = min(need, h.stamp)
	}
	s.RecordWait(need, now)
	for {
		first, at := 0, unit.Never
		for i := range s.hosts {
			if t := s.hosts[i].stamp; t < at {
				first, at = i, t
			}
		}
		if at > now {
			break
		}
		h := &s.hosts[first]
		s.enterFrame(h, at)
		h.stamp = h.Gate.Stamp()
	}
	more = s.edge.Advance(now + 1)
	s.done = max(s.done, now+1)
	s.RetryAt = unit.Never
	for i := range s.hosts {
		s.hosts[i].Flush()
	}
	s.due = s.nextStep()
	if err := s.edge.Err(); err != nil {
		s.Fail(err)
	}
	return more && s.Err == nil
}

// nextStep returns the time of the next step if no frame arrives.
func (s *hostIO) nextStep() unit.Time { return min(s.edge.Next(), s.RetryAt) }

// enterFrame takes the first waiting frame of a host, which arrived at time arrival, and passes it to the host. It
// drops frames for the kernel. A frame that arrived before processed events enters right after them and counts as
// belated. Frames of no flow count as strays.
func (s *hostIO) enterFrame(h *hostGate, arrival unit.Time) {
	s.frame = h.Gate.Take(s.frame[:0])
	f := s.frame
	if len(f) < packet.EthernetHeader || [6]byte(f) != h.mac && binary.BigEndian.Uint16(f[12:]) != packet.EtherControl {
		return // for the kernel
	}
	s.Counts.In++
	late := unit.Time(0)
	// Events before done are processed. A frame with an earlier stamp enters arrival the host's gate right after them.
	if first := s.done + minArrivalTime; arrival < first { // the last step could not see its stamp yet
		late, arrival = first-arrival, first
		s.Counts.Belated++
		s.Counts.BelatedBy = max(s.Counts.BelatedBy, late)
	}
	isOwn := s.edge.DeliverFrame(arrival, h.node, f)
	if s.edge.Next() < unit.Never { // after the end the hosts accept no frame
		if s.capture != nil {
			s.capture.recordTaken(arrival, h.node, f, late)
		}
		if !isOwn {
			s.strays++
		}
	}
	s.done = max(s.done, arrival-minArrivalTime)
}

// buildReport returns the report of a run that has lasted for now. It omits the fields that only the process knows.
func (s *hostIO) buildReport(now unit.Time) HostsReport {
	r := HostsReport{Counts: s.Counts, Strays: s.strays, Lateness: s.Lateness(), Stall: s.Stall,
		Waits: s.Waits, Wall: now}
	for i := range s.hosts {
		r.Gates.Add(s.hosts[i].Gate.Counts())
	}
	return r
}
