package dataplane

import (
	"fmt"
	"math/bits"
	"slices"

	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
)

// Recirculation is the port by which a program sends packets to the ingress
// again: its rate, and how many packets may wait for it or be on it. With no
// rate, recirculation takes no time and has no limit.
type Recirculation struct {
	Rate  unit.LinkRate
	Queue int
}

// Config is what a switch is made of.
type Config struct {
	Name          string
	ID            int
	Ports         []*tm.Port
	Programs      []Program // in order
	Pool          *packet.Pool
	Book          *packet.Book // for the parser; may be nil if packets never come in wire form
	Codec         Codec        // nil: packet.Parse and packet.Deparse, with the Book
	Random        unit.Random
	Recirculation Recirculation
	TrimClass     uint8 // class that trimmed packets move to
	MinFrame      int32 // least Size of a trimmed packet (Framing's padding and gap); 0: none
	// Observer, if given, is told of packets that enter queues and of drops.
	Observer trace.Observer
	Numbers  []Number // of Ports, for the observer
	// OnPFC is told of every PFC frame that came in, after it has worked, and of every
	// pause that ended by itself; may be nil.
	OnPFC func(now unit.Time, in PortID, class uint8, kind packet.Kind)
}

// Codec is the parser and deparser of a switch that takes other frames than the lab's hosts
// send: a bridge has its own.
type Codec interface {
	// Parse fills p, all but Data, Size, Flow and what is not the frame's to tell of Meta, from
	// p.Data, which came in at port in. An error drops it as Malformed.
	Parse(now unit.Time, in PortID, p *packet.Packet) error
	// Deparse writes what programs may have changed into p.Data.
	Deparse(p *packet.Packet) error
}

// Number is what events call the two directions of a switch port's link: the one
// that leaves the switch and the one that comes in.
type Number struct{ Out, In int32 }

// Switch is one switch: parser → ingress → traffic manager → egress → deparser.
// It is a pure state machine: the driver says what time it is and when a port
// can send. It implements fabric.Node.
type Switch struct {
	env    Env
	config Config
	pool   *packet.Pool
	ports  []*tm.Port
	awake  []bool // the driver will ask this port by itself

	ingressers []Ingresser
	admitters  []Admitter
	bookers    []Booker
	unbookers  []Unbooker
	releasers  []Releaser
	egressers  []Egresser
	droppers   []Dropper
	tickers    []ticker
	nextTick   unit.Time // or when a pause ends by itself

	pausing []uint8 // by port: classes that the neighbour was asked to stop
	expiry  unit.Time

	buffered unit.Bytes
	woken    []PortID
	wokenAt  int // next in woken to be named
	pending  []asked
	digests  []Digest

	recircSerialiser unit.Serialiser
	recirc           []recirculating // in order of time
	recircAt         int             // first one that is still on its way
	recircFree       unit.Time

	consumed  uint64
	drops     [Reasons]uint64
	portDrops [][Reasons]uint64
	made      [packet.Kinds]uint64
	madeDrops [packet.Kinds]uint64
}

type ticker struct {
	Ticker
	at unit.Time
}

// asked is a packet for which a hook asked something.
type asked struct {
	p     *packet.Packet
	where uint8
	why   Reason
}

// Where packets that a hook asked for go.
const (
	toManager uint8 = iota
	toIngress
	toRecirculation
	toDrop
)

type recirculating struct {
	at unit.Time
	p  *packet.Packet
}

// askedPerStep bounds how many packets the hooks may ask for in one step: a
// program that injects a packet for every injected packet must not hang the run.
const askedPerStep = 1 << 14

// New makes a switch. It fails when a program has no hook at all, which is a
// mistake in the program.
func New(c Config) (*Switch, error) {
	s := &Switch{
		config: c, pool: c.Pool, ports: c.Ports,
		awake: make([]bool, len(c.Ports)), nextTick: unit.Never, pausing: make([]uint8, len(c.Ports)), expiry: unit.Never,
		portDrops: make([][Reasons]uint64, len(c.Ports)),
		woken:     make([]PortID, 0, len(c.Ports)+1),
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
	if c.Recirculation.Rate != (unit.LinkRate{}) {
		s.recircSerialiser = unit.NewSerialiser(c.Recirculation.Rate)
	}
	for _, p := range c.Programs {
		if !s.hook(p) {
			return nil, fmt.Errorf("switch %s: program %s has no hook", c.Name, p.Name())
		}
	}
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

// SetPrograms puts other programs in place of the switch's, between two packets. Those that
// were there before go on as they were. To a new one that keeps books of what waits
// (Unbooker) all of that is booked, queue by queue; it ticks from now on. The switch must
// have no observer.
func (s *Switch) SetPrograms(now unit.Time, programs []Program) error {
	if s.config.Observer != nil {
		return fmt.Errorf("switch %s: its programs cannot change while it is observed", s.config.Name)
	}
	ticking := s.tickers
	s.env.now = now
	s.ingressers, s.admitters, s.bookers, s.unbookers, s.releasers, s.egressers, s.droppers, s.tickers = nil, nil, nil,
		nil, nil, nil, nil, nil
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
	return nil
}

// Name returns the switch's name.
func (s *Switch) Name() string { return s.config.Name }

// Port returns port i.
func (s *Switch) Port(i PortID) *tm.Port { return s.ports[i] }

// Consumed returns how many packets programs have taken in for good since the start.
func (s *Switch) Consumed() uint64 { return s.consumed }

// Drops returns how many packets were dropped since the start, by reason.
func (s *Switch) Drops() [Reasons]uint64 { return s.drops }

// PortDrops returns the drops of packets that were on their way to port i.
func (s *Switch) PortDrops(i PortID) [Reasons]uint64 { return s.portDrops[i] }

// Made returns how many packets the switch's programs have made since the start (Env.Send,
// Env.Inject), by kind; a copy counts as one.
func (s *Switch) Made() [packet.Kinds]uint64 { return s.made }

// MadeDrops returns how many of the packets that programs of this or another switch have made were
// dropped here since the start, by kind.
func (s *Switch) MadeDrops() [packet.Kinds]uint64 { return s.madeDrops }

// Digests returns the messages to the control plane since the last call. The
// slice is valid until the next call into the switch.
func (s *Switch) Digests() []Digest {
	d := s.digests
	s.digests = s.digests[:0]
	return d
}

// Receive takes p, which came in at port in.
func (s *Switch) Receive(now unit.Time, in PortID, p *packet.Packet) {
	s.env.now = now
	if p.Data != nil {
		// Size is what the link has carried; the parser reads only headers. When the packet
		// was sent its driver knows, not the payload.
		sent := p.Sent
		var err error
		if s.config.Codec != nil {
			err = s.config.Codec.Parse(now, in, p)
		} else {
			err = p.Parse(s.config.Book, p.Data)
		}
		p.Sent = sent
		if err != nil {
			p.Meta = Metadata{In: in, Out: packet.NoPort}
			s.drop(p, Malformed)
			s.settle()
			return
		}
	}
	if p.Kind == packet.Pause || p.Kind == packet.Resume {
		s.heed(in, p)
		return
	}
	p.Meta = Metadata{In: in, Out: packet.NoPort, Flags: p.Meta.Flags & (packet.Trimmed | packet.Internal)}
	s.ingress(p)
	if len(s.pending) > 0 {
		s.settle()
	}
}

// heed does what a PFC frame asks for.
func (s *Switch) heed(in PortID, p *packet.Packet) {
	port, class, kind := s.ports[in], p.Meta.Class%tm.Classes, p.Kind
	if kind == packet.Pause {
		port.Pause(s.env.now, class, p.Seq)
		if at := port.NextExpiry(); at < s.expiry {
			s.expiry = at
			s.nextTick = min(s.nextTick, at)
		}
	} else {
		port.Resume(s.env.now, class)
	}
	s.pool.Put(p)
	if s.config.OnPFC != nil {
		s.config.OnPFC(s.env.now, in, class, kind)
	}
	s.wake(in)
}

// expire ends the pauses whose time is over.
func (s *Switch) expire() {
	s.expiry = unit.Never
	for i, port := range s.ports {
		if before := port.Held(); before != 0 {
			port.Expire(s.env.now)
			for over := before &^ port.Held(); over != 0 && s.config.OnPFC != nil; over &= over - 1 {
				s.config.OnPFC(s.env.now, PortID(i), uint8(bits.TrailingZeros8(over)), packet.Resume)
			}
			s.wake(PortID(i))
			s.expiry = min(s.expiry, port.NextExpiry())
		}
	}
}

// Pausing returns the classes that the switch has asked the neighbour at a port to stop,
// as a bit set.
func (s *Switch) Pausing(in PortID) uint8 { return s.pausing[in] }

// Buffered returns the bytes that wait in all ports.
func (s *Switch) Buffered() unit.Bytes { return s.buffered }

func (s *Switch) ingress(p *packet.Packet) {
	for _, h := range s.ingressers {
		if v := h.Ingress(&s.env, p); v != Accept {
			switch v {
			case Trim:
				s.trim(p)
			case Consume:
				s.consumed++
				s.pool.Put(p)
				return
			default:
				s.drop(p, Reason(v))
				return
			}
		}
	}
	s.manage(p)
}

// manage is the traffic manager's way in.
func (s *Switch) manage(p *packet.Packet) {
	m := &p.Meta
	if int(m.Out) >= len(s.ports) {
		s.drop(p, NoRoute)
		return
	}
	port := s.ports[m.Out]
again:
	m.Queue = min(m.Class, uint8(port.Queues()-1))
	for _, h := range s.admitters {
		if v := h.Admit(&s.env, p); v != Accept {
			switch {
			case v != Trim:
				s.drop(p, Reason(v))
				return
			case m.Flags&packet.Trimmed != 0:
				s.drop(p, TrimFailed)
				return
			}
			s.trim(p)
			goto again
		}
	}
	if r := port.Fits(m.Queue, p.Size); r != tm.Fits && !s.makeRoom(port, p, r) {
		return
	}
	p.Enqueued = s.env.now
	port.Push(m.Queue, p)
	s.buffered += unit.Bytes(p.Size)
	for _, h := range s.bookers {
		h.Book(&s.env, p)
	}
	s.wake(m.Out)
}

// makeRoom lets others of port give way for p, which does not fit for a reason (tm.NewFQ). If
// p has to go itself it returns false, and p is dropped.
func (s *Switch) makeRoom(port *tm.Port, p *packet.Packet, why tm.Refusal) bool {
	for why != tm.Fits {
		x := port.Displace(p.Meta.Queue, p, why)
		if x == nil {
			s.drop(p, refusals[why])
			return false
		}
		s.evicted(x)
		why = port.Fits(p.Meta.Queue, p.Size)
	}
	return true
}

// wake names the port to the driver if it has something to send and the driver
// would not ask by itself.
func (s *Switch) wake(out PortID) {
	if !s.awake[out] && !s.ports[out].Idle() {
		s.awake[out] = true
		s.woken = append(s.woken, out)
	}
}

// Woken names the ports that went from nothing to something to send, one a call.
func (s *Switch) Woken() (PortID, bool) {
	if s.wokenAt == len(s.woken) {
		return 0, false
	}
	out := s.woken[s.wokenAt]
	if s.wokenAt++; s.wokenAt == len(s.woken) {
		s.woken = s.woken[:0]
		s.wokenAt = 0
	}
	return out, true
}

// Dequeue gives the packet that port out sends now; see fabric.Node.
func (s *Switch) Dequeue(now unit.Time, out PortID) (*packet.Packet, unit.Time) {
	s.env.now = now
	port := s.ports[out]
	var p *packet.Packet
	for {
		var control bool
		var again unit.Time
		p, control, again = port.Next(now)
		if p == nil {
			// Asleep also when again is a time: a packet for another queue may be
			// sent before that.
			s.awake[out] = false
			s.settle()
			return nil, again
		}
		if control || s.leave(p) {
			break
		}
	}
	port.Sent(p)
	s.awake[out] = true
	if len(s.pending) > 0 {
		s.settle()
	}
	if port.Idle() {
		s.awake[out] = false
		return p, unit.Never
	}
	return p, now
}

// leave takes p from its queue through the egress to the deparser. It returns
// false when a hook dropped p.
func (s *Switch) leave(p *packet.Packet) bool {
	s.buffered -= unit.Bytes(p.Size)
	for _, h := range s.unbookers {
		h.Unbook(&s.env, p)
	}
	for _, h := range s.releasers {
		if v := h.Release(&s.env, p); v != Accept {
			if v != Trim {
				s.drop(p, Reason(v))
				return false
			}
			s.trim(p)
		}
	}
	for _, h := range s.egressers {
		if v := h.Egress(&s.env, p); v != Accept {
			if v != Trim {
				s.drop(p, Reason(v))
				return false
			}
			s.trim(p)
		}
	}
	if p.Data != nil {
		var err error
		if s.config.Codec != nil {
			err = s.config.Codec.Deparse(p)
		} else {
			err = p.Deparse(s.config.Book)
		}
		if err != nil { // a program has made what no frame can say
			s.drop(p, Malformed)
			return false
		}
	}
	return true
}

// trim cuts the payload off and moves the packet to the trim class.
func (s *Switch) trim(p *packet.Packet) {
	if p.Meta.Flags&packet.Trimmed != 0 {
		return
	}
	p.Size = max(p.Size-p.Payload, s.config.MinFrame)
	p.Payload = 0
	p.Meta.Flags |= packet.Trimmed
	p.Meta.Class = s.config.TrimClass
}

// drop counts and frees p. The packet still knows its way when the Droppers see
// it.
func (s *Switch) drop(p *packet.Packet, why Reason) {
	m := &p.Meta
	s.drops[why]++
	if int(m.Out) < len(s.portDrops) {
		s.portDrops[m.Out][why]++
	}
	if m.Flags&packet.Internal != 0 {
		s.madeDrops[p.Kind]++
	}
	for _, h := range s.droppers {
		h.OnDrop(&s.env, p, why)
	}
	s.pool.Put(p)
}

// later notes what a hook asked for.
func (s *Switch) later(p *packet.Packet, where uint8, why Reason) {
	s.pending = append(s.pending, asked{p, where, why})
}

// settle does what the hooks of this step asked for, and what the hooks that
// this calls ask for in turn.
func (s *Switch) settle() {
	for i := 0; i < len(s.pending); i++ {
		a := s.pending[i]
		if i >= askedPerStep && a.where != toDrop {
			a.where, a.why = toDrop, RecirculationFull
		}
		switch a.where {
		case toManager:
			s.manage(a.p)
		case toIngress:
			s.ingress(a.p)
		case toRecirculation:
			s.recirculate(a.p)
		case toDrop:
			s.drop(a.p, a.why)
		}
	}
	s.pending = s.pending[:0]
}

func (s *Switch) clone(p *packet.Packet, headersOnly bool) *packet.Packet {
	var c *packet.Packet
	if p.Data == nil {
		c = s.pool.Get()
		*c = *p
	} else {
		c = s.pool.GetFrame(len(p.Data))
		data := append(c.Data, p.Data...)
		*c = *p
		c.Data = data
	}
	c.Next = nil
	if headersOnly {
		class := c.Meta.Class
		s.trim(c)
		c.Meta.Class = class
	}
	return c
}

func (s *Switch) recirculate(p *packet.Packet) {
	waiting := len(s.recirc) - s.recircAt
	if s.config.Recirculation.Rate == (unit.LinkRate{}) {
		s.back(p)
		return
	}
	if waiting >= s.config.Recirculation.Queue {
		s.drop(p, RecirculationFull)
		return
	}
	start := max(s.env.now, s.recircFree)
	s.recircFree = start + s.recircSerialiser.Next(p.Size, waiting > 0)
	if s.recircAt > 0 && len(s.recirc) == cap(s.recirc) {
		s.recirc = s.recirc[:copy(s.recirc, s.recirc[s.recircAt:])]
		s.recircAt = 0
	}
	s.recirc = append(s.recirc, recirculating{s.recircFree, p})
}

// back puts a recirculated packet into the ingress.
func (s *Switch) back(p *packet.Packet) {
	p.Meta = Metadata{In: packet.NoPort, Out: packet.NoPort, Class: p.Meta.Class, Flags: p.Meta.Flags, User: p.Meta.User,
		Mark: p.Meta.Mark}
	s.ingress(p)
}

func (s *Switch) control(in PortID, kind packet.Kind, class uint8, quanta int64) {
	if int(in) >= len(s.ports) || class >= tm.Classes {
		return
	}
	if s.pausing[in] |= 1 << class; kind == packet.Resume {
		s.pausing[in] &^= 1 << class
	}
	f := s.pool.Get()
	f.Kind = kind
	f.Size = 64
	f.Seq = quanta
	f.Meta.Class = class
	f.Hash = uint32(class)
	s.ports[in].Control(f)
	s.wake(in)
}

func (s *Switch) evict(out PortID, q tm.QueueID) bool {
	p := s.ports[out].PopTail(q)
	if p == nil {
		return false
	}
	s.evicted(p)
	return true
}

// evicted drops p, which was taken out of its queue, when this step ends.
func (s *Switch) evicted(p *packet.Packet) {
	s.unbook(p)
	s.later(p, toDrop, Evicted)
}

func (s *Switch) trimTail(out PortID, q tm.QueueID) bool {
	p := s.ports[out].PopTail(q)
	if p == nil {
		return false
	}
	s.unbook(p)
	s.trim(p)
	s.later(p, toManager, NotDropped)
	return true
}

// unbook takes p, which was taken out of its queue, out of the books.
func (s *Switch) unbook(p *packet.Packet) {
	s.buffered -= unit.Bytes(p.Size)
	for _, h := range s.unbookers {
		h.Unbook(&s.env, p)
	}
}

// NextTimer is when Advance wants to be called: for programs' ticks and packets
// on the recirculation port. unit.Never when idle.
func (s *Switch) NextTimer() unit.Time {
	if s.recircAt < len(s.recirc) {
		return min(s.nextTick, s.recirc[s.recircAt].at)
	}
	return s.nextTick
}

// Advance does what is due at now.
func (s *Switch) Advance(now unit.Time) {
	s.env.now = now
	for s.recircAt < len(s.recirc) && s.recirc[s.recircAt].at <= now {
		p := s.recirc[s.recircAt].p
		if s.recircAt++; s.recircAt == len(s.recirc) {
			s.recirc, s.recircAt = s.recirc[:0], 0
		}
		s.back(p)
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
	s.settle()
}
