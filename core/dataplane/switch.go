package dataplane

import (
	"fmt"
	"slices"

	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
)

// Config holds the parts of a switch.
type Config struct {
	Name     string
	ID       int
	Ports    []*tm.Port
	Programs []Program // in order
	// FusePrograms, if given, returns the Pipe of the programs; nil: they have no pipe.
	FusePrograms  func(programs []Program, ports []*tm.Port) Pipe
	Pool          *packet.Pool
	Book          *packet.Book // for the parser; may be nil if packets never arrive in wire form
	Codec         Codec        // nil: packet.Parse and packet.Deparse, with the Book
	Random        unit.Random
	Recirculation Recirculation
	TrimClass     uint8 // class that trimmed packets move to
	MinFrame      int32 // min Size of a trimmed packet (Framing's padding and gap); 0: no minimum
	// Observer, if given, receives an event for every packet that enters a queue and every drop.
	Observer trace.Observer
	Numbers  []Number // of Ports, for the observer
	// OnPFC, if given, is called for every PFC frame that arrived, after it took effect, and for every pause that
	// expired.
	OnPFC func(now unit.Time, in packet.PortID, class uint8, kind packet.Kind)
}

// Codec is the parser and deparser of a switch with frames that differ from the lab hosts'. A bridge has its own.
type Codec interface {
	// Parse fills p from the frame in p.Data, which arrived at port in. It does not change Data, Size, Flow and the
	// fields of Meta that the switch sets. After an error the switch drops the packet as Malformed.
	Parse(now unit.Time, in packet.PortID, p *packet.Packet) error
	// Deparse writes the changes that programs may have made into p.Data.
	Deparse(p *packet.Packet) error
	// Opposite returns the Hash that Parse gives packets of p's flow in the other direction.
	Opposite(p *packet.Packet) uint32
}

// Number holds the numbers of the two directions of a port's link in events: out of the switch, and into it.
type Number struct{ Out, In int32 }

// Switch is one switch: parser → ingress → traffic manager → egress → deparser. It is a pure state machine: the
// driver provides the time and decides when a port can send. It implements fabric.Node.
type Switch struct {
	env    Env
	config Config
	pool   *packet.Pool
	ports  []*tm.Port
	awake  []bool // the driver will ask this port without a wake-up

	ingressers []Ingresser
	admitters  []Admitter
	bookers    []Booker
	unbookers  []Unbooker
	releasers  []Releaser
	egressers  []Egresser
	droppers   []Dropper
	tickers    []ticker
	pipe       Pipe      // nil: the hooks, one by one
	routed     bool      // the pipe also does the ingress
	direct     bool      // the packet in hand has just arrived and may depart at once
	nextTick   unit.Time // next tick, or end of a pause

	pausing []uint8 // by port: classes that the neighbour was asked to stop
	expiry  unit.Time

	buffered unit.Bytes
	wants    packet.NodeRequests
	pending  []request

	recircSerialiser unit.Serialiser
	recirc           []recirculating // in order of time
	recircHead       int             // first one that is still on the port
	recircFree       unit.Time

	replicas []packet.PortID // ports for copies of the packet in hand (Env.ReplicateTo)

	consumed    uint64
	created     uint64   // packets made by the switch or its programs
	samples     []Sample // memory for the samples of programs' metrics; nil: not used yet
	freed       uint64   // of these, packets that programs gave back unused
	receivedPFC uint64   // PFC frames that arrived
	drops       [Reasons]uint64
	portDrops   [][Reasons]uint64
	made        [packet.Kinds]uint64
	madeDrops   [packet.Kinds]uint64
}

// ticker is a program with ticks and the time of its next tick.
type ticker struct {
	Ticker
	nextTick unit.Time
}

// New creates a switch. It fails if a program has no hook, which is a mistake in the program, or if an observer does
// not get one Number for each port. The switch takes over the ports of c.
func New(c Config) (*Switch, error) {
	s := &Switch{
		config: c, pool: c.Pool, ports: c.Ports,
		awake: make([]bool, len(c.Ports)), nextTick: unit.Never, pausing: make([]uint8, len(c.Ports)), expiry: unit.Never,
		portDrops: make([][Reasons]uint64, len(c.Ports)),
	}
	if c.Observer != nil {
		if len(c.Numbers) != len(c.Ports) {
			return nil, fmt.Errorf("switch %s: %d port numbers for an observer, there are %d ports", c.Name, len(c.Numbers),
				len(c.Ports))
		}
		w := &watch{c.Observer, s}
		s.bookers, s.droppers = append(s.bookers, w), append(s.droppers, w)
	}
	s.env = Env{id: c.ID, sw: s, random: c.Random}
	s.addSchedulerDrops()
	if c.Recirculation.Rate != (unit.LinkRate{}) {
		s.recircSerialiser = unit.NewSerialiser(c.Recirculation.Rate)
	}
	for _, p := range c.Programs {
		if !s.addHooks(p) {
			return nil, fmt.Errorf("switch %s: program %s has no hook", c.Name, p.Name())
		}
	}
	s.fusePrograms()
	s.setTimer()
	return s, nil
}

// addHooks sorts a program's hooks into the slices. It returns false if the program has no hook. A program's first tick
// is due at once.
func (s *Switch) addHooks(p Program) bool {
	hooks := appendHook(p, &s.ingressers) + appendHook(p, &s.admitters) + appendHook(p, &s.bookers) + appendHook(p,
		&s.unbookers) +
		appendHook(p, &s.releasers) + appendHook(p, &s.egressers) + appendHook(p, &s.droppers)
	if h, ok := p.(Ticker); ok {
		s.tickers = append(s.tickers, ticker{h, 0})
		s.nextTick = 0
		hooks++
	}
	return hooks > 0
}

// addSchedulerDrops adds a hook that drops the packets which a port's scheduler drops (tm.NewFQCoDel).
func (s *Switch) addSchedulerDrops() {
	if s.hasSchedulerDrops() {
		s.releasers = append(s.releasers, schedulerDrops{})
	}
}

// hasSchedulerDrops reports whether a scheduler drops packets.
func (s *Switch) hasSchedulerDrops() bool {
	return slices.ContainsFunc(s.ports, (*tm.Port).DropsAtDequeue)
}

// schedulerDrops is a Releaser that drops the packets selected by the scheduler.
type schedulerDrops struct{}

// Release drops the packet as EarlyDrop if its port's scheduler has selected it. It runs before the programs' Release,
// which get only packets that are sent.
func (schedulerDrops) Release(env *Env, p *packet.Packet) Verdict {
	if env.sw.ports[p.Meta.Out].MustDrop() {
		return Drop(EarlyDrop)
	}
	return Accept
}

// appendHook appends a program to the list of a hook, if it has the hook. It returns the number of hooks added, 0 or
// 1.
func appendHook[Hook any](p Program, hooks *[]Hook) int {
	h, ok := p.(Hook)
	if !ok {
		return 0
	}
	*hooks = append(*hooks, h)
	return 1
}

// SetPrograms replaces the switch's programs between two packets. A program in both lists continues. A new one ticks
// from now on; if it is an Unbooker, every waiting packet is booked with it, queue by queue. A removed Restorer resets
// its ports. Programs without hooks are accepted. It fails without a change if the switch has an observer.
func (s *Switch) SetPrograms(now unit.Time, programs []Program) error {
	if s.config.Observer != nil {
		return fmt.Errorf("switch %s: its programs cannot change while it is observed", s.config.Name)
	}
	ticking := s.tickers
	s.env.now = now
	s.ingressers, s.admitters, s.bookers, s.unbookers, s.releasers, s.egressers, s.droppers, s.tickers = nil, nil, nil,
		nil, nil, nil, nil, nil
	s.addSchedulerDrops()
	for _, p := range s.config.Programs {
		if r, ok := p.(Restorer); ok && !slices.Contains(programs, p) {
			r.Restore(&s.env)
		}
	}
	for _, p := range programs {
		s.addHooks(p)
	}
	for i := range s.tickers {
		for _, was := range ticking {
			if was.Ticker == s.tickers[i].Ticker {
				s.tickers[i].nextTick = was.nextTick
			}
		}
	}
	s.nextTick = s.expiry
	for i := range s.tickers {
		s.nextTick = min(s.nextTick, s.tickers[i].nextTick)
	}
	for _, p := range programs {
		_, keeps := p.(Unbooker)
		books, ok := p.(Booker)
		if !keeps || !ok || slices.Contains(s.config.Programs, p) {
			continue
		}
		for _, port := range s.ports {
			for q := range port.Queues() {
				for x := range port.Queue(tm.QueueID(q)).All() {
					books.Book(&s.env, x)
				}
			}
		}
	}
	s.config.Programs = programs
	s.fusePrograms()
	s.setTimer()
	return nil
}

// Redraw lets programs draw again what they draw at their creation, after their random streams were restarted.
func (s *Switch) Redraw() {
	for _, p := range s.config.Programs {
		if r, ok := p.(Redrawer); ok {
			r.Redraw()
		}
	}
}

// Normalize lets programs bring state without effect from now on into one form.
func (s *Switch) Normalize(now unit.Time) {
	for _, p := range s.config.Programs {
		if x, ok := p.(Normalizer); ok {
			x.Normalize(now)
		}
	}
}

// Name returns the switch's name.
func (s *Switch) Name() string { return s.config.Name }

// Port returns port i.
func (s *Switch) Port(i packet.PortID) *tm.Port { return s.ports[i] }

// DropCounts returns the number of dropped packets since the start, by reason.
func (s *Switch) DropCounts() [Reasons]uint64 { return s.drops }

// PortDrops returns the drops of packets that were on their way to port i.
func (s *Switch) PortDrops(i packet.PortID) [Reasons]uint64 { return s.portDrops[i] }

// MadePackets returns the number of packets that the switch's programs have made since the start (Env.SendPacket,
// Env.InjectPacket), by kind. A copy counts as one.
func (s *Switch) MadePackets() [packet.Kinds]uint64 { return s.made }

// MadeDrops returns the number of packets made by programs of this or another switch that were dropped here since the
// start, by kind.
func (s *Switch) MadeDrops() [packet.Kinds]uint64 { return s.madeDrops }

// BufferedBytes returns the bytes that wait in all ports.
func (s *Switch) BufferedBytes() unit.Bytes { return s.buffered }

// Wants returns the ports that now have data to send, and the time of the next Advance; see fabric.Node.
func (s *Switch) Wants() *packet.NodeRequests { return &s.wants }

// setTimer sets the time of the next Advance: a program's tick, a packet on the recirculation port or the end of a
// pause. The driver reads it from Wants.
func (s *Switch) setTimer() {
	s.wants.Timer = s.nextTick
	if s.recircHead < len(s.recirc) {
		s.wants.Timer = min(s.nextTick, s.recirc[s.recircHead].exitTime)
	}
}

// Advance runs everything that is due at now: packets that leave the recirculation port, ends of pauses, ticks, and
// then their requests.
func (s *Switch) Advance(now unit.Time) {
	s.env.now = now
	for s.recircHead < len(s.recirc) && s.recirc[s.recircHead].exitTime <= now {
		p := s.recirc[s.recircHead].packet
		if s.recircHead++; s.recircHead == len(s.recirc) {
			s.recirc, s.recircHead = s.recirc[:0], 0
		}
		s.reenterIngress(p)
	}
	if s.nextTick <= now {
		if s.expiry <= now {
			s.expirePauses()
		}
		s.nextTick = s.expiry
		for i := range s.tickers {
			t := &s.tickers[i]
			if t.nextTick <= now {
				if t.nextTick = t.Tick(&s.env); t.nextTick <= now {
					t.nextTick = now + 1 // a tick is never its own successor
				}
			}
			s.nextTick = min(s.nextTick, t.nextTick)
		}
	}
	s.serveRequests()
	s.setTimer()
}
