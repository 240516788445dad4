package dataplane

import (
	"fmt"
	"slices"

	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
)

// Config is what a switch is made of.
type Config struct {
	Name     string
	ID       int
	Ports    []*tm.Port
	Programs []Program // in order
	// Fuse, if given, is asked for the Pipe of the programs.
	Fuse          func(programs []Program, ports []*tm.Port) Pipe
	Pool          *packet.Pool
	Book          *packet.Book // for the parser; may be nil if packets never arrive in wire form
	Codec         Codec        // nil: packet.Parse and packet.Deparse, with the Book
	Random        unit.Random
	Recirculation Recirculation
	TrimClass     uint8 // class that trimmed packets move to
	MinFrame      int32 // least Size of a trimmed packet (Framing's padding and gap); 0: none
	// Observer, if given, gets an event for every packet that enters a queue and every drop.
	Observer trace.Observer
	Numbers  []Number // of Ports, for the observer
	// OnPFC, if given, is called for every PFC frame that arrived, after it took effect, and for every
	// pause that expired.
	OnPFC func(now unit.Time, in packet.PortID, class uint8, kind packet.Kind)
}

// Codec is the parser and deparser of a switch whose frames are not those of the lab's hosts.
// A bridge has its own.
type Codec interface {
	// Parse fills p from the frame in p.Data, which came in at port in. It leaves Data, Size and
	// Flow alone, and those fields of Meta that the switch sets. After an error the switch drops
	// the packet as Malformed.
	Parse(now unit.Time, in packet.PortID, p *packet.Packet) error
	// Deparse writes what programs may have changed into p.Data.
	Deparse(p *packet.Packet) error
	// Opposite is the Hash that Parse gives packets of p's flow the other way.
	Opposite(p *packet.Packet) uint32
}

// Number holds the numbers that events give the two directions of a port's link: out of
// the switch, and into it.
type Number struct{ Out, In int32 }

// Switch is one switch: parser → ingress → traffic manager → egress → deparser. It is a pure state
// machine: the driver provides the time and says when a port can send. It implements fabric.Node.
type Switch struct {
	env    Env
	config Config
	pool   *packet.Pool
	ports  []*tm.Port
	awake  []bool // the driver will ask this port without being woken

	ingressers []Ingresser
	admitters  []Admitter
	bookers    []Booker
	unbookers  []Unbooker
	releasers  []Releaser
	egressers  []Egresser
	droppers   []Dropper
	tickers    []ticker
	pipe       Pipe      // nil: the hooks, one by one
	routed     bool      // by the pipe, too
	direct     bool      // what is in hand, just received, may leave at once
	nextTick   unit.Time // or when a pause ends by itself

	pausing []uint8 // by port: classes that the neighbour was asked to stop
	expiry  unit.Time

	buffered unit.Bytes
	wants    packet.Wants
	pending  []request

	recircSerialiser unit.Serialiser
	recirc           []recirculating // in order of time
	recircAt         int             // first one that is still on its way
	recircFree       unit.Time

	replicas []packet.PortID // by which the packet in hand leaves, too (Env.Replicate)

	consumed  uint64
	born      uint64   // packets that the switch or its programs have made
	samples   []Sample // room for those of programs' metrics; nil: nobody has asked
	freed     uint64   // of these, those that programs gave back unused
	absorbed  uint64   // PFC frames that came in
	drops     [Reasons]uint64
	portDrops [][Reasons]uint64
	made      [packet.Kinds]uint64
	madeDrops [packet.Kinds]uint64
}

type ticker struct {
	Ticker
	at unit.Time
}

// New makes a switch. It fails when a program has no hook at all, which is a
// mistake in the program.
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
		if !s.hook(p) {
			return nil, fmt.Errorf("switch %s: program %s has no hook", c.Name, p.Name())
		}
	}
	s.fuse()
	s.setTimer()
	return s, nil
}

// hook sorts a program's hooks into the slices; false: it has none.
func (s *Switch) hook(p Program) bool {
	hooks := add(p, &s.ingressers) + add(p, &s.admitters) + add(p, &s.bookers) + add(p, &s.unbookers) +
		add(p, &s.releasers) + add(p, &s.egressers) + add(p, &s.droppers)
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
func (s *Switch) hasSchedulerDrops() bool { return slices.ContainsFunc(s.ports, (*tm.Port).Drops) }

// schedulerDrops is a Releaser that drops the packets that the scheduler dropped.
type schedulerDrops struct{}

// Release comes before that of programs, which see only what is sent.
func (schedulerDrops) Release(env *Env, p *packet.Packet) Verdict {
	if env.sw.ports[p.Meta.Out].Doomed() {
		return Drop(EarlyDrop)
	}
	return Accept
}

// add appends a program to those that have a hook, and returns how many hooks of the kind
// it has: 0 or 1.
func add[Hook any](p Program, to *[]Hook) int {
	h, ok := p.(Hook)
	if !ok {
		return 0
	}
	*to = append(*to, h)
	return 1
}

// SetPrograms replaces the switch's programs between two packets. A program in both lists continues as it
// was. A new one ticks from now on; if it is an Unbooker, every waiting packet is booked with it, queue by
// queue. One that the new list lacks sets its ports back if it is a Restorer. The switch must have no observer.
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
		s.hook(p)
	}
	for i := range s.tickers {
		for _, was := range ticking {
			if was.Ticker == s.tickers[i].Ticker {
				s.tickers[i].at = was.at
			}
		}
	}
	s.nextTick = s.expiry
	for i := range s.tickers {
		s.nextTick = min(s.nextTick, s.tickers[i].at)
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
	s.fuse()
	s.setTimer()
	return nil
}

// Redraw has programs whose random streams have begun anew draw again what they draw when they are made.
func (s *Switch) Redraw() {
	for _, p := range s.config.Programs {
		if r, ok := p.(Redrawer); ok {
			r.Redraw()
		}
	}
}

// Normalize has programs bring state that has no effect from now on into one form.
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

// Drops returns how many packets were dropped since the start, by reason.
func (s *Switch) Drops() [Reasons]uint64 { return s.drops }

// PortDrops returns the drops of packets that were on their way to port i.
func (s *Switch) PortDrops(i packet.PortID) [Reasons]uint64 { return s.portDrops[i] }

// Made returns how many packets the switch's programs have made since the start (Env.Send,
// Env.Inject), by kind; a copy counts as one.
func (s *Switch) Made() [packet.Kinds]uint64 { return s.made }

// MadeDrops returns how many of the packets that programs of this or another switch have made were
// dropped here since the start, by kind.
func (s *Switch) MadeDrops() [packet.Kinds]uint64 { return s.madeDrops }

// Buffered returns the bytes that wait in all ports.
func (s *Switch) Buffered() unit.Bytes { return s.buffered }

// Wants returns the ports that now have something to send, and when Advance is due next; see fabric.Node.
func (s *Switch) Wants() *packet.Wants { return &s.wants }

// setTimer finds when Advance is due next: for a program's tick, a packet on the recirculation port or the end of a
// pause.
func (s *Switch) setTimer() {
	s.wants.Timer = s.nextTick
	if s.recircAt < len(s.recirc) {
		s.wants.Timer = min(s.nextTick, s.recirc[s.recircAt].at)
	}
}

// Advance does what is due at now.
func (s *Switch) Advance(now unit.Time) {
	s.env.now = now
	for s.recircAt < len(s.recirc) && s.recirc[s.recircAt].at <= now {
		p := s.recirc[s.recircAt].p
		if s.recircAt++; s.recircAt == len(s.recirc) {
			s.recirc, s.recircAt = s.recirc[:0], 0
		}
		s.reenter(p)
	}
	if s.nextTick <= now {
		if s.expiry <= now {
			s.expire()
		}
		s.nextTick = s.expiry
		for i := range s.tickers {
			t := &s.tickers[i]
			if t.at <= now {
				if t.at = t.Tick(&s.env); t.at <= now {
					t.at = now + 1 // a tick is never its own successor
				}
			}
			s.nextTick = min(s.nextTick, t.at)
		}
	}
	s.serve()
	s.setTimer()
}
