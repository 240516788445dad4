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

// Env is a hook's view of the switch while it runs. Requests (Send, Inject, Recirculate) are carried out
// in order after the current packet, so that no hook is ever re-entered.
type Env struct {
	now    unit.Time
	id     int
	sw     *Switch
	random unit.Random
}

// Now is the time of this step, the same for everything in it.
func (e *Env) Now() unit.Time { return e.now }

// ID is the switch's number in the run.
func (e *Env) ID() int { return e.id }

// Ports returns how many ports the switch has.
func (e *Env) Ports() int { return len(e.sw.ports) }

// Port returns port i, to be read: queue lengths, transmitted bytes, rate.
func (e *Env) Port(i packet.PortID) *tm.Port { return e.sw.ports[i] }

// Buffered returns the bytes that wait in all ports of the switch, which is the use of its shared buffer.
func (e *Env) Buffered() unit.Bytes { return e.sw.buffered }

// Random is the switch's own random stream.
func (e *Env) Random() unit.Random { return e.random }

// New returns a zeroed packet for the program to fill and to hand back by Send,
// Inject or Recirculate (or Free).
func (e *Env) New() *packet.Packet {
	e.sw.born++
	return e.sw.pool.Get()
}

// Free takes back a packet from New or Clone that is not needed.
func (e *Env) Free(p *packet.Packet) {
	e.sw.freed++
	e.sw.pool.Put(p)
}

// Clone returns a copy of p, without its payload if headersOnly.
func (e *Env) Clone(p *packet.Packet, headersOnly bool) *packet.Packet {
	return e.sw.clone(p, headersOnly)
}

// Send gives p to the traffic manager for port out in the given class, with all
// admission hooks and limits.
func (e *Env) Send(p *packet.Packet, out packet.PortID, class uint8) {
	e.made(p)
	p.Meta = packet.Metadata{In: packet.NoPort, Out: out, Class: class, Flags: p.Meta.Flags | packet.Internal}
	e.sw.ask(p, toManager, NotDropped)
}

// Replicate has the packet in hand leave by port out, too, as P4's multicast does: when the ingress is done
// and has accepted it, a copy goes to that port's traffic manager with the priority class and everything else
// that the ingress has found out. It is a packet of its sender like the one in hand, so programs treat it as
// such, and it ends with it if the ingress drops it. It is for hooks of the ingress.
func (e *Env) Replicate(out packet.PortID) { e.sw.replicas = append(e.sw.replicas, out) }

// Inject gives p to the ingress, as if it had come in at no port.
func (e *Env) Inject(p *packet.Packet) {
	e.made(p)
	p.Meta = packet.Metadata{In: packet.NoPort, Out: packet.NoPort, Flags: p.Meta.Flags | packet.Internal}
	e.sw.ask(p, toIngress, NotDropped)
}

// made counts a packet that a program hands over for the first time. Packets other than data count as sent
// now; a copy of data keeps its age.
func (e *Env) made(p *packet.Packet) {
	if p.Meta.Flags&packet.Internal != 0 {
		return
	}
	e.sw.made[p.Kind]++
	if p.Kind != packet.Data {
		p.Sent = e.now
	}
}

// Recirculate sends p through the recirculation port, whose rate and queue are
// the switch's (Config.Recirculation), to the ingress. It is dropped with
// RecirculationFull if that port's queue is full.
func (e *Env) Recirculate(p *packet.Packet) {
	e.sw.ask(p, toRecirculation, NotDropped)
}

// Control sends a PFC frame out of port in, so that the neighbour there stops or resumes sending packets
// of the class (IEEE 802.1Qbb; 64 bytes, ahead of all queues). A pause lasts until the resume.
func (e *Env) Control(in packet.PortID, kind packet.Kind, class uint8) {
	e.sw.control(in, kind, class, 0)
}

// Pause sends a PFC frame as Control does, which stops the class for that many quanta
// of 512 bit times, 1 … 65534.
func (e *Env) Pause(in packet.PortID, class uint8, quanta int64) {
	e.sw.control(in, packet.Pause, class, max(1, min(quanta, 0xfffe)))
}

// TickAt has the program's Tick called at the time at, which is later than now, if that is before the time
// that Tick returned last.
func (e *Env) TickAt(t Ticker, at unit.Time) {
	for i := range e.sw.tickers {
		if k := &e.sw.tickers[i]; k.Ticker == t && at < k.at {
			k.at = max(at, e.now+1)
			e.sw.nextTick = min(e.sw.nextTick, k.at)
			e.sw.setTimer()
		}
	}
}

// Evict drops the packet that came last into queue q of port out or, of a fair queue, one
// of its longest flow (tm.Buffer.PopTail), and returns whether there was one.
func (e *Env) Evict(out packet.PortID, q tm.QueueID) bool { return e.sw.evict(out, q) }

// TrimTail cuts the payload off the packet that came last into queue q of port out, and
// has it admitted again in the trim class after the packet in hand, as if the hook's
// verdict on it had been Trim. It returns whether there was one.
func (e *Env) TrimTail(out packet.PortID, q tm.QueueID) bool { return e.sw.trimTail(out, q) }

// Line is the link at a port, as the switch's configuration knows it.
type Line struct {
	Rate  unit.LinkRate
	Delay unit.Time // propagation, with the largest jitter
	To    string    // name of the node at its other end; "": not known
	// Switch: that is another switch of the network.
	Switch bool
	MTU    int32 // largest IP packet; 0: any
}

// Site is where a program will run: what its constructor may use.
type Site struct {
	Switch string // name
	ID     int
	Ports  int
	// At are the ports, for their queues and schedulers. In a running switch they still have the rates and limits that
	// they had before a reload: constructors ask Rate and Limit.
	At    []*tm.Port
	Clock telemetry.Clock
	Rates []unit.Rate // of the network's links in bit/s, ascending, and then those that links get during the run
	// Counted: the framing has telemetry in each frame already, see telemetry.Format.
	Counted bool
	Lines   []Line     // by port
	Limits  []tm.Limit // by port, of all its queues; nil: the limits of At
	Queues  int        // a port; 0 means 1
	// MaxFrame is the Size of the largest frame; 0: not known.
	MaxFrame int32
	Framing  packet.Framing // of the run; the zero value counts real headers, as l2 does
	Book     *packet.Book
	Routes   *Routes
	// Frames is there in a switch on its own only, where Src and Dst of packets are users.
	Frames Frames
	// Place finds the switch's place in a fat tree; its error says why the network is not one. nil:
	// unknown.
	Place func() (*TreePosition, error)
	// Random makes the stream of an entity of this switch, by a name unique there.
	Random func(entity string) unit.Random

	// LimitsRead is set by Limit. The builder of programs resets it to learn whether a program depends on limits.
	LimitsRead bool

	shared map[string]any
}

// Rate returns the rate that port i will have, or 0 if it is not known.
func (s *Site) Rate(i int) unit.LinkRate {
	if i < len(s.Lines) && s.Lines[i].Rate != (unit.LinkRate{}) {
		return s.Lines[i].Rate
	}
	if i < len(s.At) {
		return s.At[i].Rate()
	}
	return unit.LinkRate{}
}

// Limit returns the limit that port i will have for all of its queues; the zero value is no limit or not known.
func (s *Site) Limit(i int) tm.Limit {
	s.LimitsRead = true
	if i < len(s.Limits) {
		return s.Limits[i]
	}
	if i < len(s.At) {
		return s.At[i].Limit()
	}
	return tm.Limit{}
}

// TreePosition is where a switch is in a fat tree of two or three tiers (P4TE §3.1).
type TreePosition struct {
	Tiers, Tier int             // Tier: 1 leaf, 2 spine, 3 super spine
	Up, Down    []packet.PortID // ports to the tiers above and below, ascending
	Above       []int           // by Up, the switch at the other end: its node
	// the downward table: prefixes of hosts, leaves or pods, one port each; nil: addresses are not hierarchical
	Routes []Route
	All    netip.Prefix // common prefix of all hosts; invalid: there is none
	// Leaf is, by address, the number of a host's leaf, or of the leaf itself, 0 … Leaves − 1; −1 for
	// other addresses. All switches share it, so it must not be changed.
	Leaf   []int32
	Leaves int
	// Trip is the longest round trip without queues between hosts through the whole tree, of a full frame there and a
	// small one back; 0: not known.
	Trip unit.Time
}

// Shared returns the state that the programs of this switch share under a name. The first one
// to ask makes it.
func (s *Site) Shared(name string, build func() any) any {
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
	// Build makes the program of a switch with a configuration of the scheme: nil for the
	// defaults. Define writes it.
	Build func(site *Site, c scheme.Config) (Program, error)
}

// Define makes a Scheme of a constructor for configurations of type C, whose values are in their ranges
// and fit together.
func Define[C any, P scheme.Bound[C], X Program](s scheme.Scheme, build func(site *Site, c C) (X, error)) Scheme {
	s.Config = scheme.For[C, P]
	return Scheme{Scheme: s, Build: func(site *Site, c scheme.Config) (Program, error) {
		own, err := scheme.As[C, P](c)
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
