package dataplane

import (
	"fmt"
	"net/netip"

	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// Env is a hook's view of the switch while the hook runs. Requests (SendPacket, InjectPacket, RecirculatePacket) run in
// order after the current packet, so that a hook is never re-entered.
type Env struct {
	now    unit.Time
	id     int
	sw     *Switch
	random unit.Random
}

// Now returns the time of this step, the same for everything in it.
func (e *Env) Now() unit.Time { return e.now }

// ID returns the switch's number in the run.
func (e *Env) ID() int { return e.id }

// Ports returns the number of the switch's ports.
func (e *Env) Ports() int { return len(e.sw.ports) }

// Port returns port i for reading: queue lengths, transmitted bytes, rate. i must be below Ports.
func (e *Env) Port(i packet.PortID) *tm.Port { return e.sw.ports[i] }

// BufferedBytes returns the bytes that wait in all ports of the switch: the use of its shared buffer.
func (e *Env) BufferedBytes() unit.Bytes { return e.sw.buffered }

// Random returns the switch's own random stream.
func (e *Env) Random() unit.Random { return e.random }

// NewPacket returns a zeroed packet for the program to fill and to pass to SendPacket, InjectPacket, RecirculatePacket
// or FreePacket.
func (e *Env) NewPacket() *packet.Packet {
	e.sw.created++
	return e.sw.pool.Get()
}

// FreePacket takes back an unused packet from NewPacket or ClonePacket.
func (e *Env) FreePacket(p *packet.Packet) {
	e.sw.freed++
	e.sw.pool.Put(p)
}

// ClonePacket returns a copy of p, without its payload if headersOnly. A copy without payload is marked as trimmed and
// keeps its class. The program passes the copy on or frees it, like a packet of NewPacket.
func (e *Env) ClonePacket(p *packet.Packet, headersOnly bool) *packet.Packet {
	return e.sw.clonePacket(p, headersOnly)
}

// SendPacket passes p to the traffic manager for port out in the given class. All admission hooks and limits apply. The
// rest of p.Meta is reset, except the flags, which get Internal. p belongs to the switch from then on.
func (e *Env) SendPacket(p *packet.Packet, out packet.PortID, class uint8) {
	e.made(p)
	p.Meta = packet.Metadata{In: packet.NoPort, Out: out, Class: class, Flags: p.Meta.Flags | packet.Internal}
	e.sw.addRequest(p, toManager, NotDropped)
}

// ReplicateTo requests a copy of the packet in hand for port out, like P4's multicast. When the ingress has accepted
// the packet, the copy goes to that port's traffic manager with the priority class and all other results of the
// ingress. Programs treat it as a packet of its sender, like the one in hand. If the ingress drops the packet, there
// is no copy. Only hooks of the ingress may call it.
func (e *Env) ReplicateTo(out packet.PortID) { e.sw.replicas = append(e.sw.replicas, out) }

// InjectPacket passes p to the ingress, as a packet that arrived at no port. p.Meta is reset, except the flags, which
// get Internal. p belongs to the switch from then on.
func (e *Env) InjectPacket(p *packet.Packet) {
	e.made(p)
	p.Meta = packet.Metadata{In: packet.NoPort, Out: packet.NoPort, Flags: p.Meta.Flags | packet.Internal}
	e.sw.addRequest(p, toIngress, NotDropped)
}

// made counts a packet that a program passes on for the first time, which has no flag Internal yet. A packet other than
// data counts as sent now; a copy of data keeps its age.
func (e *Env) made(p *packet.Packet) {
	if p.Meta.Flags&packet.Internal != 0 {
		return
	}
	e.sw.made[p.Kind]++
	if p.Kind != packet.Data {
		p.Sent = e.now
	}
}

// RecirculatePacket sends p through the recirculation port to the ingress. Config.Recirculation sets the port's rate
// and queue. If the queue is full, p is dropped with RecirculationFull. Without a rate, p reaches the ingress in this
// step. p is a packet of the program (NewPacket, ClonePacket). It keeps class, flags, user and mark, and has no ports.
func (e *Env) RecirculatePacket(p *packet.Packet) {
	e.sw.addRequest(p, toRecirculation, NotDropped)
}

// SendPFC sends a PFC frame of the given kind, packet.Pause or packet.Resume, out of a port, so that the neighbour
// there stops or resumes packets of the class (IEEE 802.1Qbb; 64 bytes, ahead of all queues). A pause lasts until the
// resume. A port or class that does not exist has no effect.
func (e *Env) SendPFC(port packet.PortID, kind packet.Kind, class uint8) {
	e.sw.sendControl(port, kind, class, 0)
}

// SendPause sends a PFC frame like SendPFC, which stops the class for that many quanta of 512 bit times, limited to 1 …
// 65534.
func (e *Env) SendPause(port packet.PortID, class uint8, quanta int64) {
	e.sw.sendControl(port, packet.Pause, class, max(1, min(quanta, 0xfffe)))
}

// TickAt requests a call of t's Tick at tickTime, if that is before its next tick. A time that is not after now counts
// as 1 ps after now. A Ticker that is no program of the switch has no effect.
func (e *Env) TickAt(t Ticker, tickTime unit.Time) {
	for i := range e.sw.tickers {
		if k := &e.sw.tickers[i]; k.Ticker == t && tickTime < k.nextTick {
			k.nextTick = max(tickTime, e.now+1)
			e.sw.nextTick = min(e.sw.nextTick, k.nextTick)
			e.sw.setTimer()
		}
	}
}

// EvictTail drops the last packet of queue q of port out or, in a fair queue, a packet of its longest flow
// (tm.Buffer.PopTail). It reports whether there was a packet. The packet is dropped with the reason Evicted after the
// packet in hand.
func (e *Env) EvictTail(out packet.PortID, q tm.QueueID) bool { return e.sw.evictTail(out, q) }

// TrimTail cuts the payload off the last packet of queue q of port out. The packet is admitted again in the trim
// class after the packet in hand, as if the hook's verdict on it had been Trim. TrimTail reports whether there was a
// packet.
func (e *Env) TrimTail(out packet.PortID, q tm.QueueID) bool { return e.sw.trimTail(out, q) }

// Line is the link at a port, as configured.
type Line struct {
	Rate  unit.LinkRate
	Delay unit.Time // propagation, with the largest jitter
	To    string    // name of the node at its other end; "": not known
	// Switch reports whether that node is another switch of the network.
	Switch bool
	MTU    int32 // largest IP packet; 0: any
}

// Site is the place where a program will run, for use by its constructor.
type Site struct {
	Switch string // name
	ID     int
	Ports  int
	// At are the ports, for access to their queues and schedulers. In a running switch they have the rates and limits
	// from before a reload: constructors use PortRate and PortLimit.
	At    []*tm.Port
	Clock telemetry.Clock
	Rates []unit.Rate // of the network's links in bit/s, ascending, and then later ones of the run
	// CountsTelemetry: the framing already counts the telemetry in each frame, see telemetry.Format.
	CountsTelemetry bool
	Lines           []Line     // by port
	Limits          []tm.Limit // by port, of all its queues; nil: the limits of At
	Queues          int        // a port; 0 means 1
	// MaxFrame is the Size of the largest frame; 0: not known.
	MaxFrame int32
	Framing  packet.Framing // of the run; the zero value counts real headers, as l2 does
	Book     *packet.Book
	Routes   *Routes
	// Frames is set only in a standalone switch, where Src and Dst of packets are users.
	Frames Frames
	// Place finds the switch's place in a fat tree. Its error gives the reason why the network is no fat tree. nil:
	// unknown.
	Place func() (*TreePosition, error)
	// Random returns the stream of an entity of this switch; the name is unique in the switch.
	Random func(entity string) unit.Random

	// LimitsRead is set by PortLimit. The builder of programs resets it to learn whether a program depends on limits.
	LimitsRead bool

	shared map[string]any
}

// PortRate returns the rate that port i will have, or 0 if it is not known.
func (s *Site) PortRate(i int) unit.LinkRate {
	if i < len(s.Lines) && s.Lines[i].Rate != (unit.LinkRate{}) {
		return s.Lines[i].Rate
	}
	if i < len(s.At) {
		return s.At[i].Rate()
	}
	return unit.LinkRate{}
}

// PortLimit returns the limit for all queues of port i together; the zero value is no limit or not known. It sets
// LimitsRead.
func (s *Site) PortLimit(i int) tm.Limit {
	s.LimitsRead = true
	if i < len(s.Limits) {
		return s.Limits[i]
	}
	if i < len(s.At) {
		return s.At[i].Limit()
	}
	return tm.Limit{}
}

// TreePosition is a switch's position in a fat tree of two or three tiers (P4TE §3.1).
type TreePosition struct {
	Tiers, Tier int             // Tier: 1 leaf, 2 spine, 3 super spine
	Up, Down    []packet.PortID // ports to the tiers above and below, ascending
	Above       []int           // by Up, the node number of the switch at the other end
	// downward table: prefixes of hosts, leaves or pods, one port each; nil: addresses are not hierarchical
	Routes []Route
	All    netip.Prefix // common prefix of all hosts; invalid: there is no such prefix
	// Leaf holds, by address, the number of a host's leaf or of the leaf itself, 0 … Leaves − 1; −1 for other addresses.
	// All switches share it, so it must not be changed.
	Leaf   []int32
	Leaves int
	// Trip is the longest round trip without queues between hosts of the tree, of a full frame and a small one back; 0:
	// not known.
	Trip unit.Time
}

// GetShared returns the object that the programs of this switch share under a name. The first call creates it with
// build. Later calls do not use build.
func (s *Site) GetShared(name string, build func() any) any {
	if s.shared == nil {
		s.shared = map[string]any{}
	}
	x, there := s.shared[name]
	if !there {
		x = build()
		s.shared[name] = x
	}
	return x
}

// Scheme is a program that an experiment can name.
type Scheme struct {
	scheme.Scheme
	// Build creates the program of a switch with a configuration of the scheme; nil: the defaults. Define sets Build.
	Build func(site *Site, c scheme.Config) (Program, error)
}

// Define returns a Scheme with the constructor build for configurations of type C. build gets only configurations with
// values in their ranges that fit together. Without a configuration, it gets the defaults. Define replaces s.Config.
func Define[C any, P scheme.Bound[C], X Program](s scheme.Scheme, build func(site *Site, c C) (X, error)) Scheme {
	s.Config = scheme.NewDefault[C, P]
	return Scheme{Scheme: s, Build: func(site *Site, c scheme.Config) (Program, error) {
		own, err := scheme.ConfigAs[C, P](c)
		if err != nil {
			return nil, fmt.Errorf("program %s: %w", s.Name, err)
		}
		x, err := build(site, own)
		if err != nil {
			return nil, err
		}
		return x, nil
	}}
}
