package ncf

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// Values of Config.Nack: the drops that become NACKs.
const (
	NackAll       = "all"       // of any flow: mice, too, learn which packet was lost (§4.3, Incast)
	NackElephants = "elephants" // of elephants only (§5)
	NackNone      = "none"      // none: three queues, and drops
)

// What Config.Scope says.
const (
	PerPort   = "port"
	PerSwitch = "switch"
)

// NackForm is how senders of TCP are told. Others get extensions.
type NackForm uint8

// Forms of what a sender of TCP gets.
const (
	AsOption    NackForm = iota // a NACK as an option of an old ACK
	AsExtension                 // a NACK as other transports have it
	AsECE                       // no NACK: a copy of the flow's last ACK, with ECE
)

var nackForms = [...]string{"tcp_option", "extension", "ece"}

// String returns the form as experiments name it: "tcp_option", "extension" or "ece"; "unknown" for any other value.
func (f NackForm) String() string {
	if int(f) < len(nackForms) {
		return nackForms[f]
	}
	return "unknown"
}

// Config is how a switch does NCF: what follows from Options.
type Config struct {
	Sketch   SketchConfig // its Seed is the switch's own
	Scope    string       // the traffic that a flow's share is of: PerPort or PerSwitch
	Detector Detector

	Pool string // memory per port or per switch: PerPort or PerSwitch
	// Size and Packets 0: the size of the ports' buffers. Windows, Duration, MaxFrame, ControlFrame and
	// Separate are ignored
	Memory MemoryConfig

	Nack   string
	Signed bool // notices name the switch that sends them
	Form   NackForm
	// NackBudget is how many NACKs each packet that leaves gives its flow, beyond those that a flow may have at any
	// time; 0: there is no limit
	NackBudget int
	Coalesce   unit.Time // how long a notice waits for further losses of its flow; 0: not at all
	UDP        bool      // UDP datagrams cause NACKs, too
	Acks       Class     // class of packets without payload that are not feedback of the network: Control or Mice

	Top     int       // elephants that may get a NACK during congestion; 0: only those whose packets find no room
	Every   unit.Time // at most once so often; 0: once in a window
	TellAll bool      // also elephants that send no more than they are offered
	Spare   bool      // those that ignore NACKs are not trimmed before others
	Early   float64   // elephants get a NACK when their packets use this share of the memory; 0: never
	Target  float64   // share of a port's rate that is offered
	// MiceBudget is the share of what a port sends in n·d that mice may bring before elephants no longer pay
	// for them
	MiceBudget float64
	Equal      bool // mice and elephants have equal parts of the bandwidth beyond the guarantees, also without a flood
	MaxMin     bool // supply that some elephants do not want goes to the others

	Flowlet bool      // a flow changes its queue only when its packets have left the old one
	Wait    unit.Time // or after that long
}

// Program is NCF in one switch.
type Program struct {
	config   Config
	detector Detector
	framing  packet.Framing
	ports    []port // the last one is for packets whose egress port is unknown
	changes  *changes
	pending  []gathered
	demands  []float64
	nacks    NackCounts
	evicting bool

	allowance *allowance // nil: any number of NACKs
	echoes    *echoes    // nil: none are sent

	frames  dataplane.Frames // nil in a network
	room    int              // of a frame
	about   header           // of the packet in hand
	waiting []header         // of pending
}

// port is the state of an egress port. Ports may share a sketch or memory.
type port struct {
	out       packet.PortID
	sketch    *Sketch
	memory    *Memory // nil: of no port
	part      *Memory // of a pool, as far as the port's buffer holds it; nil: memory is the port's own
	top       *Top
	next      int     // in top
	mice      tally   // bytes that came for the port in the last n·d
	miceShare float64 // part of the rate that mice can have for long; 0: not known yet, below 0: they have an equal part
	overload  overload
	repeats   repeats
	input     input // and in the present, by class
	offer     offer
	allowed   uint32 // NACKs of a flow before any of its packets leaves; 0: not known yet
}

// controlFrame is the size of the largest NACK, in bytes: over IPv6, of a segment with 40 bytes of options, and an
// extension with all its fields, which hop-by-hop options pad to 72 bytes. A NACK as an option is smaller.
const controlFrame = packet.EthernetHeader + packet.IPv6Header + packet.TCPHeader + 40 + 72

// defaultFrame stands for the largest frame where that is unknown.
const defaultFrame = 1514

// slots is the number of flows whose changes of class a switch can delay.
const slots = 4096

// New returns the program for a site, of options that scheme.Validate finds nothing wrong with.
func New(site *dataplane.Site, o Options) (*Program, error) {
	durations, err := o.settle(site)
	if err != nil {
		return nil, fmt.Errorf("ncf: %w", err)
	}
	c := o.config()
	g := &Program{config: c, detector: c.Detector, framing: site.Framing, demands: make([]float64, 0, heaviest(c.Top))}
	queues := max(site.Queues, 1)
	for _, p := range site.At {
		queues = max(queues, p.Queues())
	}
	if queues > maxQueues {
		return nil, fmt.Errorf("ncf: ports have %d queues; 1 … %d are possible (3: control, mice, elephants)",
			queues, maxQueues)
	}
	c.Sketch.Seed = site.Random("ncf").Uint64()
	var sketch *Sketch
	for i := range site.Ports + 1 {
		if sketch == nil || c.Scope == PerPort {
			config := c.Sketch
			config.Duration = durations[i]
			sketch = NewSketch(config)
		}
		x := port{out: packet.PortID(i), sketch: sketch, top: NewTop(heaviest(c.Top), c.Sketch.Windows)}
		x.mice = newTally(c.Sketch.Windows, durations[i])
		if !c.Equal && c.Nack == NackAll {
			x.repeats = make(repeats, repeatCells)
		}
		g.ports = append(g.ports, x)
	}
	if err := g.share(site); err != nil {
		return nil, fmt.Errorf("ncf: %w", err)
	}
	frame := site.MaxFrame
	if frame == 0 {
		frame = defaultFrame
	}
	for i := range g.ports {
		g.ports[i].prepare(&g.ports[i].sketch.config, site.Rate(i).Bits, int32(frame))
	}
	if c.Flowlet {
		g.changes = newChanges(slots, site.Ports+1, c.Wait)
	}
	if c.Nack != NackNone {
		g.allowance = newAllowance(c.NackBudget)
	}
	if c.Coalesce > 0 {
		g.pending = make([]gathered, pendingSlots)
	}
	if c.Form == AsECE && c.Nack != NackNone {
		g.echoes = newEchoes(site.Frames != nil)
	}
	g.prepareStandalone(site)
	return g, nil
}

// prepareStandalone makes room for headers in a standalone switch.
func (g *Program) prepareStandalone(site *dataplane.Site) {
	if g.frames = site.Frames; g.frames == nil {
		return
	}
	g.room = int(site.MaxFrame) + packet.MostExtensions
	for i := range g.ports {
		g.ports[i].top.headers = make([]header, cap(g.ports[i].top.keys))
	}
	g.waiting = make([]header, len(g.pending))
}

// heaviest is the number of elephants that a port tracks. Even if none is notified during congestion, the
// supply depends on their number.
func heaviest(top int) int {
	if top == 0 {
		return 20
	}
	return top
}

// share assigns memory to the ports.
func (g *Program) share(site *dataplane.Site) error {
	m := g.config.Memory
	m.Windows, m.Duration = g.config.Sketch.Windows, g.config.Sketch.Duration
	if m.MaxFrame = site.MaxFrame; m.MaxFrame == 0 {
		m.MaxFrame = defaultFrame
	}
	m.ControlFrame = g.framing.Frame(controlFrame, 0, false)
	given := m.Size > 0 || m.Packets > 0
	whole, none := m, false
	whole.Separate = site.Queues >= 3
	for i := range site.Ports {
		own, limit, queues := m, site.Limit(i), site.Queues
		own.Duration = g.ports[i].sketch.Duration()
		if i < len(site.At) {
			queues = site.At[i].Queues()
		}
		if !given {
			if own.Size = limit.Bytes; own.Size == 0 {
				own.Packets = int(limit.Packets)
			}
			none = none || own.Size == 0 && own.Packets == 0
			whole.Size += own.Size
			whole.Packets += own.Packets
			if own.Size == 0 && own.Packets == 0 && g.config.Pool == PerSwitch {
				continue // an error, below
			}
		} else {
			own.within(limit)
		}
		own.Separate = queues >= 3
		memory, err := NewMemory(own)
		if err != nil {
			return fmt.Errorf("%s: %w", portName(site, i), err)
		}
		if g.ports[i].memory = memory; g.config.Pool == PerSwitch {
			g.ports[i].part = memory
		}
	}
	if g.config.Pool != PerSwitch {
		return nil
	}
	if !given && (none || whole.Size > 0 && whole.Packets > 0) {
		return fmt.Errorf("memory of the switch is what its ports' buffers hold: all must have one, in bytes or all in " +
			"packets; or memory says how much there is")
	}
	memory, err := NewMemory(whole)
	for i := range site.Ports {
		g.ports[i].memory = memory
	}
	return err
}

// within bounds memory that a file has given by what the port's buffer holds: what is beyond that can't be used, and a
// buffer that is full while there seems to be memory would keep out whoever comes, without regard to reservations. A
// buffer of fewer packets than the memory holds of the largest has the memory count packets, too.
func (c *MemoryConfig) within(limit tm.Limit) {
	frame := unit.Bytes(c.MaxFrame)
	switch {
	case c.Size == 0 && limit.Packets > 0:
		c.Packets = min(c.Packets, int(limit.Packets))
	case c.Size == 0 && limit.Bytes > 0:
		c.Packets = min(c.Packets, int(limit.Bytes/frame))
	case limit.Packets > 0 && unit.Bytes(limit.Packets)*frame < c.Size:
		c.Size, c.Packets = 0, int(limit.Packets)
	case limit.Bytes > 0:
		c.Size = min(c.Size, limit.Bytes)
	}
}

// portName identifies a port of a switch.
func portName(site *dataplane.Site, i int) string {
	if i < len(site.Lines) && site.Lines[i].To != "" {
		return fmt.Sprintf("port %s->%s", site.Switch, site.Lines[i].To)
	}
	return fmt.Sprintf("port %d", i)
}

// Name is "ncf".
func (g *Program) Name() string { return "ncf" }

// at returns the state of an egress port.
func (g *Program) at(out packet.PortID) *port {
	return &g.ports[min(int(out), len(g.ports)-1)]
}

// own is the memory of the port alone: its part of a pool.
func (x *port) own() *Memory {
	if x.part != nil {
		return x.part
	}
	return x.memory
}

// lacks is the memory in which a frame of a class finds no room: the port's part of a pool, or the pool; nil: none.
func (x *port) lacks(c Class, size int32) *Memory {
	if x.part != nil && !x.part.Fits(c, size) {
		return x.part
	}
	if !x.memory.Fits(c, size) {
		return x.memory
	}
	return nil
}

// congested is the congested memory of a port, its part of a pool before the pool; nil: none is.
func (x *port) congested() *Memory {
	switch {
	case x.memory == nil:
		return nil
	case x.part != nil && x.part.Congested():
		return x.part
	case x.memory.Congested():
		return x.memory
	}
	return nil
}

// Memory returns the memory of a port.
func (g *Program) Memory(out packet.PortID) *Memory { return g.at(out).memory }

// Changed returns how often a tracked flow changed its class, and how often it did so although packets of
// it still waited.
func (g *Program) Changed() (moved, forced uint64) {
	if g.changes == nil {
		return 0, 0
	}
	return g.changes.moved, g.changes.forced
}

// key identifies a flow in all sketches of this switch, which share a seed.
func (g *Program) key(p *packet.Packet) uint64 {
	if g.frames != nil {
		return g.frames.Flow(p, false)
	}
	return g.ports[0].sketch.Key(p)
}

// queue is the queue of a class at a port with this number of queues (§4.2: three; with more, elephants
// are spread over all but the first two).
func queue(c Class, k uint64, queues int) uint8 {
	switch {
	case queues == 1 || c == Control:
		return 0
	case queues == 2 || c == Mice:
		return 1
	}
	return 2 + uint8((k*0x9e3779b97f4a7c15)>>33%uint64(queues-2))
}

// classOf derives the class of a packet from its queue.
func classOf(p *packet.Packet, queues int) Class {
	switch {
	case queues == 1 && carries(p):
		return Mice
	case queues == 1 || p.Meta.Queue == 0:
		return Control
	case p.Meta.Queue == 1:
		return Mice
	}
	return Elephants
}

// Ingress counts the packet, checks whether its flow is an elephant, and sets its class (§4.1, §4.2). It
// must follow the programs that choose the egress port or a class.
func (g *Program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	now, x := env.Now(), g.at(m.Out)
	queues := maxQueues
	if int(m.Out) < env.Ports() {
		queues = env.Port(m.Out).Queues()
	}
	if g.echoes != nil && p.Proto == packet.ProtoTCP {
		g.passes(env, p)
	}
	if !carries(p) || g.exempt(p) {
		c := Control
		if g.config.Acks == Mice && !g.exempt(p) && p.Payload == 0 && (p.Kind == packet.Ack || p.Kind == packet.Data) &&
			m.Flags&packet.Trimmed == 0 && !p.Notifies() {
			c = Mice
			g.countMice(env, x, p.Size, p.Size)
		}
		x.input.add(now, c, p.Size)
		m.Class = queue(c, 0, queues)
		return dataplane.Accept
	}
	k := g.key(p)
	var counts *FlowEstimate
	if m.In == packet.NoPort { // recirculated, or not from a host
		counts = x.sketch.Query(now, k)
	} else {
		counts = x.sketch.Count(now, k, p.Size)
	}
	c, notified := Mice, false
	elephant := g.isElephant(env, x, k, p, counts)
	if g.echoes != nil && p.Proto == packet.ProtoTCP && m.In != packet.NoPort {
		g.sends(now, k, p, elephant)
	}
	if elephant {
		c = Elephants
		if o := x.top.OfferCounts(x.sketch.Window(), k, counts); o != nil {
			g.promote(now, x, o, counts, p.Size)
			o.Note(p, m.Out)
			g.remember(x, o, p)
			notified = g.early(env, x, o)
		}
	} else {
		first := p.Size
		if x.repeats.remove(k, p) {
			first = 0
		}
		g.countMice(env, x, p.Size, first)
	}
	if m.In != packet.NoPort {
		x.input.add(now, c, p.Size)
	}
	if m := x.congested(); m != nil && !notified && g.config.Top > 0 && g.config.Nack != NackNone &&
		m.throttles(now, g.flooded(env, x)) {
		g.notifyHeaviest(env, x)
	}
	if g.changes != nil {
		c = g.changes.class(now, k, x.out, c)
	}
	m.Class = queue(c, k, queues)
	return dataplane.Accept
}

// Admit takes the packet into memory if it fits, or if enough can be evicted from another class (§4.2,
// §4.4). Evictions for a packet that a later program or a limit refuses are in vain, so NCF must follow
// other programs that refuse packets.
func (g *Program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	x := g.at(m.Out)
	if x.memory == nil {
		return dataplane.Accept
	}
	queues := env.Port(m.Out).Queues()
	c := classOf(p, queues)
	if c == Elephants && g.trimUnresponsive(p) {
		g.nacks.Ignored++
		return g.refuse(env, p)
	}
	if c == Mice && !g.canRespond(p) && g.isFlood(env, x) && !x.hasFreeRoom(p.Size) {
		x.own().Refused()
		return g.refuse(env, p)
	}
	lacking := x.lacks(c, p.Size)
	if lacking == nil {
		return dataplane.Accept
	}
	if queues > 1 {
		if lacking = g.reclaim(env, x, lacking, c, p.Size); lacking == nil {
			return dataplane.Accept
		}
	}
	lacking.Refused()
	return g.refuse(env, p)
}

// refuse drops a packet with the reason that says whether its sender is told.
func (g *Program) refuse(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if g.answers(env, p) && g.silent(env.Now(), p.Proto, g.key(p)) == "" && g.mayNotify(env, p) {
		return dataplane.Drop(dataplane.Notified)
	}
	return dataplane.Drop(dataplane.BufferFull)
}

// mostEvicted bounds the packets that one packet can evict: 9000 bytes against 64.
const mostEvicted = 144

// reclaim evicts packets of classes that exceed their entitlement until a frame of class c fits into all memory of port
// x. It returns the memory that still lacks room; nil: it fits. Each evicted packet becomes a NACK (OnDrop).
func (g *Program) reclaim(env *dataplane.Env, x *port, lacking *Memory, c Class, size int32) *Memory {
	flooded := g.isFlood(env, x)
	for range mostEvicted {
		victim, ok := Control, false
		if x.asNeeded() {
			victim, ok = lacking.pickVictim(c, size)
		} else {
			victim, ok = lacking.Victim(env.Now(), c, size, flooded)
		}
		if !ok {
			return lacking
		}
		from, q, ok := g.longest(env, x, lacking, victim)
		if !ok {
			return lacking
		}
		g.evicting = true
		gone := env.Evict(from, q)
		g.evicting = false
		if !gone {
			return lacking
		}
		g.nacks.Reclaimed++
		if lacking.Fits(c, size) {
			lacking.Refused() // the evicted packets found no room
			if lacking = x.lacks(c, size); lacking == nil {
				return nil
			}
		}
	}
	return lacking
}

// longest returns the longest queue of a class at port x, or, in a pool, at all ports.
func (g *Program) longest(env *dataplane.Env, x *port, m *Memory, c Class) (at packet.PortID, q tm.QueueID,
	ok bool) {
	first, last := int(x.out), int(x.out)
	if m != x.own() {
		first, last = 0, env.Ports()-1
	}
	most := int32(0)
	for i := first; i <= last; i++ {
		p := env.Port(packet.PortID(i))
		if p.Queues() == 1 {
			continue // all classes wait in this queue
		}
		from, to := int(c), int(c)
		if c == Elephants {
			to = p.Queues() - 1
		}
		for k := from; k <= to && k < p.Queues(); k++ {
			if n := int32(p.Queue(tm.QueueID(k)).Bytes()); n > most {
				at, q, most = packet.PortID(i), tm.QueueID(k), n
			}
		}
	}
	return at, q, most > 0
}

// Book counts a packet that has entered its queue.
func (g *Program) Book(env *dataplane.Env, p *packet.Packet) {
	m := &p.Meta
	x := g.at(m.Out)
	c := classOf(p, env.Port(m.Out).Queues())
	if x.memory != nil {
		x.memory.Book(env.Now(), c, p.Size)
		if x.part != nil {
			x.part.Book(env.Now(), c, p.Size)
		}
	}
	if g.changes != nil {
		g.changes.book(g.key(p), x.out, m.Queue, p.Size)
	}
}

// Unbook counts it out.
func (g *Program) Unbook(env *dataplane.Env, p *packet.Packet) {
	m := &p.Meta
	x := g.at(m.Out)
	if x.memory != nil {
		c := classOf(p, env.Port(m.Out).Queues())
		x.memory.Unbook(env.Now(), c, p.Size)
		if x.part != nil {
			x.part.Unbook(env.Now(), c, p.Size)
		}
	}
	if !g.evicting {
		g.left(p)
	}
	if g.changes != nil {
		g.changes.unbook(x.out, m.Queue, p.Size, g.evicting)
	}
}
