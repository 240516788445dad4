package lab

import (
	"encoding/binary"
	"fmt"

	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
	"weir/worlds/live"
)

// Edge is hosts of Weir's own, in event time: sim.Edge, which are those of the simulator. Frames come to them and leave
// them as Ethernet carries them.
type Edge interface {
	// Enter carries out all that happens before now, and gives a frame to the host of a node that has come in then. It
	// reports whether the frame is of a flow of these hosts.
	Enter(now unit.Time, node int, frame []byte) bool
	// Advance carries out all that happens before until, and reports whether there will be more.
	Advance(until unit.Time) bool
	// Next is when there is something to do if nothing comes in, at the latest the hosts' end; unit.Never behind it.
	Next() unit.Time
	// Return takes back a packet that has left.
	Return(p *packet.Packet)
	// Now is the time before which everything has happened.
	Now() unit.Time
	// Err is what keeps the hosts from going on.
	Err() error
}

// HostsConfig is the hosts of a run that are Weir's own.
type HostsConfig struct {
	Network *topology.Network
	Hosts   *packet.Book
	MTU     int // of hosts' interfaces, in bytes; 0: DefaultMTU
	// Capture, if given, is where what the hosts take and send is written (its Switches say nothing here): see
	// ReplayHosts.
	Capture *Capture
	// Make makes the hosts, whose NICs call send with what they begin to send, and what says of their flows how they
	// ended, which must be JSON.
	Make func(send func(node int, now unit.Time, p *packet.Packet)) (edge Edge, result func() any, err error)
}

// HostsReport is what the hosts of a run have counted, and what it says about the machine.
type HostsReport struct {
	Counts   live.FrameCounters     // In and Out are the hosts' own
	Gates    live.GateCounts        // of all gates
	Strays   uint64                 // frames for these hosts that are of none of their flows
	Lateness live.Lateness          // of frames that they sent, by the time at which their first bit leaves
	Stall    unit.Time              // longest time for which something was to be done and nothing happened
	Waits    []live.SchedulingDelay // all such times that were not short, in the experiment's time
	Waited   unit.Time              // for how long the thread could have run and others of this machine had the processor
	Steps    int                    // of the wall clock
	CPU      float64                // share of one core that they used
	Wall     unit.Time
	Captured *Captured // with HostsConfig.Capture
	// Scheduling is what their thread had; empty: nothing of that.
	Scheduling live.Scheduling
}

// Errors lists what must not happen in a run.
func (r *HostsReport) Errors() []string {
	all := counted(
		count{r.Gates.RingLost, "frames found no room in a ring of Weir's hosts"},
		count{r.Gates.TooLong, "frames of Weir's hosts were longer than a ring's slot"},
		count{r.Gates.Partial, "frames came to Weir's hosts without their checksum"},
		count{r.Gates.Tagged, "frames came to Weir's hosts with a VLAN tag"},
		count{r.Counts.SendLost, "frames of Weir's hosts were not taken by the kernel"},
		count{r.Counts.Unwritable, "packets of Weir's hosts cannot be written as frames"},
		count{r.Strays, "frames came to Weir's hosts that are of none of their flows"})
	if r.Captured != nil && r.Captured.Error != "" {
		all = append(all, "the capture of the hosts could not be written: "+r.Captured.Error)
	}
	return all
}

// hostIO drives hosts of Weir's own: it takes their frames from gates, and gives them what they send.
type hostIO struct {
	live.Departures
	edge   Edge
	queues []*live.TxQueue // by node; nil: no such host
	hosts  []hostGate
	frame  []byte
	strays uint64
	format frameFormat
	tape   *hostTape // nil: nothing is captured
	done   unit.Time // all before it has happened
	due    unit.Time // when the next thing was to happen, at the end of the last step
}

// hostGate is a host of Weir's own with its gate.
type hostGate struct {
	*live.TxQueue
	node  int
	mac   [6]byte
	stamp unit.Time
}

// newHostIO makes the hosts at those gates, by node; nil: there is no host of Weir's own.
func (c *HostsConfig) newHostIO(gates []live.Gate, clock func() unit.Time) (s *hostIO, result func() any, err error) {
	if len(gates) != len(c.Network.Nodes) {
		return nil, nil, fmt.Errorf("gates of %d nodes for %d", len(gates), len(c.Network.Nodes))
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
			return nil, nil, fmt.Errorf("a capture of at most %d bytes", c.Capture.Limit)
		}
		s.newTape(c)
	}
	if s.edge, result, err = c.Make(s.send); err != nil {
		return nil, nil, err
	}
	s.Release = s.edge.Return
	return s, result, nil
}

// send lets a packet of a host leave.
func (s *hostIO) send(node int, now unit.Time, p *packet.Packet) {
	if s.tape != nil {
		s.tape.recordSent(now, node, p)
	}
	s.queues[node].Send(now, p)
}

// step does everything that is due at now, by the wall clock, and reports whether there will be more. now must be read
// before.
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
		s.enter(h, at)
		h.stamp = h.Gate.Stamp()
	}
	more = s.edge.Advance(now + 1)
	s.done = max(s.done, now+1)
	s.RetryAt = unit.Never
	for i := range s.hosts {
		s.hosts[i].Flush()
	}
	s.due = s.next()
	if err := s.edge.Err(); err != nil {
		s.Fail(err)
	}
	return more && s.Err == nil
}

// next returns when step has something to do if no frame comes in.
func (s *hostIO) next() unit.Time { return min(s.edge.Next(), s.RetryAt) }

// enter takes the first frame that waits for a host.
func (s *hostIO) enter(h *hostGate, at unit.Time) {
	s.frame = h.Gate.Take(s.frame[:0])
	f := s.frame
	if len(f) < packet.EthernetHeader || [6]byte(f) != h.mac && binary.BigEndian.Uint16(f[12:]) != packet.EtherControl {
		return // the kernel's
	}
	s.Counts.In++
	late := unit.Time(0)
	// What is before done has happened: of a frame that comes later the first thing is at its host's door.
	if first := s.done + atOnce; at < first { // its stamp was not to be seen yet in the last step
		late, at = first-at, first
		s.Counts.Belated++
		s.Counts.BelatedBy = max(s.Counts.BelatedBy, late)
	}
	own := s.edge.Enter(at, h.node, f)
	if s.edge.Next() < unit.Never { // after the end the hosts take no frame
		if s.tape != nil {
			s.tape.recordTaken(at, h.node, f, late)
		}
		if !own {
			s.strays++
		}
	}
	s.done = max(s.done, at-atOnce)
}

// report makes the report of a run that ends now.
func (s *hostIO) report(now unit.Time) HostsReport {
	r := HostsReport{Counts: s.Counts, Strays: s.strays, Lateness: s.Lateness(), Stall: s.Stall,
		Waits: s.Waits, Wall: now}
	for i := range s.hosts {
		r.Gates.Add(s.hosts[i].Gate.Counts())
	}
	return r
}
