package ncf

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// Values of Config.Nack: the drops that cause NACKs.
const (
	NackAll       = "all"       // of any flow: mice, too, are notified which packet was lost (BS'19 §4.3, Incast)
	NackElephants = "elephants" // of elephants only (BS'19 §5)
	NackNone      = "none"      // no drops: three queues only
)

// Values of Config.Scope and Config.Pool.
const (
	PerPort   = "port"
	PerSwitch = "switch"
)

// NackForm is the form of notices to senders of TCP. Others get extensions.
type NackForm uint8

// Forms of notices to senders of TCP.
const (
	AsOption    NackForm = iota // a NACK as an option of an old ACK
	AsExtension                 // a NACK as for other transports
	AsECE                       // no NACK: a copy of the flow's last ACK, with ECE
)

var nackForms = [...]string{"tcp_option", "extension", "ece"}

// String returns the form's name in specs: "tcp_option", "extension" or "ece"; "unknown" for any other value.
func (f NackForm) String() string {
	if int(f) < len(nackForms) {
		return nackForms[f]
	}
	return "unknown"
}

// Config configures NCF in one switch. It follows from Options.
type Config struct {
	Sketch   SketchConfig // its Seed is the switch's own
	Scope    string       // the traffic that shares refer to: PerPort or PerSwitch
	Detector Detector

	Pool string // memory per port or per switch: PerPort or PerSwitch
	// Memory uses the size of the ports' buffers if its Size and Packets are 0. Its Windows, Duration, MaxFrame,
	// ControlFrame and Separate are ignored.
	Memory MemoryConfig

	Nack   string
	Signed bool // notices contain the sending switch's ID
	Form   NackForm
	// NackBudget is the number of NACKs that each departing packet gives its flow, beyond those that a flow may have at
	// any time; 0: no limit.
	NackBudget int
	Coalesce   unit.Time // time for which a notice waits for further losses of its flow
	UDP        bool      // UDP datagrams cause NACKs, too
	Acks       Class     // class of packets without payload that are not feedback of the network: Control or Mice

	Top            int       // number of elephants notified during congestion; 0: only on losses
	NoticeInterval unit.Time // minimum time between notices to an elephant; 0: a window
	NotifiesAll    bool      // notify also elephants within their offer
	TrimsAlike     bool      // unresponsive elephants are not trimmed before others
	EarlyShare     float64   // elephants get a NACK when their packets use this share of the memory; 0: never
	TargetShare    float64   // share of a port's rate that is offered
	// MiceBudget is traffic of mice in the last n·d, as a share of what a port can send in that time. Above it, elephants
	// within their balance are no longer throttled in favour of mice. 0: they never are. It may be above 1, because
	// several ports send mice to one.
	MiceBudget     float64
	EqualBandwidth bool // equal parts of bandwidth beyond the guarantees, also without a flood
	MaxMin         bool // supply that some elephants do not need goes to the others

	ChangesByFlowlet bool      // a flow changes its queue only when its old one has no packet of it
	MaxChangeDelay   unit.Time // maximum delay of that change
}

// Program is NCF in one switch.
type Program struct {
	config   Config
	detector Detector
	framing  packet.Framing
	ports    []port // the last one is for packets without a known egress port
	changes  *changes
	pending  []gathered
	demands  []float64
	nacks    NackCounts
	evicting bool

	allowance *allowance // nil: any number of NACKs
	echoes    *echoes    // nil: copies are not sent

	frames         dataplane.Frames // nil in a network
	room           int              // of a frame
	currentHeader  header           // of the packet in hand
	pendingHeaders []header         // of pending
}

// port is the state of an egress port. Ports may share a sketch or memory.
type port struct {
	out            packet.PortID
	sketch         *Sketch
	memory         *Memory // nil: unknown egress port
	part           *Memory // the port's part of a pool; nil: memory is the port's own
	top            *HeaviestFlows
	next           int     // in top
	mice           tally   // bytes that arrived for the port in the last n·d
	miceShare      float64 // share of the rate for mice permanently; 0: not yet known, below 0: equal parts
	overload       overload
	repeats        repeats
	input          input // arrivals in the present, by class
	offer          offer
	maxOutstanding uint32 // maxOutstanding; 0: not yet computed
}

// controlFrame is the size in bytes of the largest NACK: over IPv6, of a segment with 40 bytes of options, and an
// extension with all its fields, which hop-by-hop options pad to 72 bytes. A NACK as an option is smaller.
const controlFrame = packet.EthernetHeader + packet.IPv6Header + packet.TCPHeader + 40 + 72

// defaultFrame is used if the largest frame is unknown, in bytes.
const defaultFrame = 1514

// slots is the number of flows with a delayed change of class in a switch.
const slots = 4096

// New returns the program for a site, with hashes seeded by the switch's random stream. The options have passed
// scheme.Validate. It fails if d cannot be derived, with too many queues, or with memory that is unknown or too small.
func New(site *dataplane.Site, o Options) (*Program, error) {
	durations, err := o.setDurations(site)
	if err != nil {
		return nil, fmt.Errorf("ncf: %w", err)
	}
	c := o.resolve()
	g := &Program{config: c, detector: c.Detector, framing: site.Framing, demands: make([]float64, 0, heaviest(c.Top))}
	queues := max(site.Queues, 1)
	for _, p := range site.At {
		queues = max(queues, p.Queues())
	}
	if queues > maxQueues {
		return nil, fmt.Errorf("ncf: ports have %d queues; allowed: 1 … %d (3: control, mice, elephants)",
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
		if !c.EqualBandwidth && c.Nack == NackAll {
			x.repeats = make(repeats, repeatCells)
		}
		g.ports = append(g.ports, x)
	}
	if err := g.assignMemory(site); err != nil {
		return nil, fmt.Errorf("ncf: %w", err)
	}
	frame := site.MaxFrame
	if frame == 0 {
		frame = defaultFrame
	}
	for i := range g.ports {
		g.ports[i].prepareOffer(&g.ports[i].sketch.config, site.PortRate(i).Bits, int32(frame))
	}
	if c.ChangesByFlowlet {
		g.changes = newChanges(slots, site.Ports+1, c.MaxChangeDelay)
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

// prepareStandalone allocates the headers of a standalone switch.
func (g *Program) prepareStandalone(site *dataplane.Site) {
	if g.frames = site.Frames; g.frames == nil {
		return
	}
	g.room = int(site.MaxFrame) + packet.MaxExtensionBytes
	for i := range g.ports {
		g.ports[i].top.headers = make([]header, cap(g.ports[i].top.keys))
	}
	g.pendingHeaders = make([]header, len(g.pending))
}

// heaviest returns the number of elephants that a port tracks. The supply depends on their number even without notices
// during congestion. It is 20 if top is 0.
func heaviest(top int) int {
	if top == 0 {
		return 20
	}
	return top
}

// assignMemory creates the memory of ports and, with Pool: switch, the pool, which contains the ports' memories. The
// ports must have their sketches. It fails if a memory is unknown or too small.
func (g *Program) assignMemory(site *dataplane.Site) error {
	m := g.config.Memory
	m.Windows, m.Duration = g.config.Sketch.Windows, g.config.Sketch.Duration
	if m.MaxFrame = site.MaxFrame; m.MaxFrame == 0 {
		m.MaxFrame = defaultFrame
	}
	m.ControlFrame = g.framing.FrameBytes(controlFrame, 0, false)
	given := m.Size > 0 || m.Packets > 0
	whole, none := m, false
	whole.Separate = site.Queues >= 3
	for i := range site.Ports {
		own, limit, queues := m, site.PortLimit(i), site.Queues
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
			own.limitToBuffer(limit)
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
			"packets; or set memory")
	}
	memory, err := NewMemory(whole)
	for i := range site.Ports {
		g.ports[i].memory = memory
	}
	return err
}

// limitToBuffer limits configured memory to the port's buffer. The rest could not be used, and a buffer that is full
// while memory seems free would drop arrivals without regard to reservations. If the buffer holds fewer packets than
// the memory holds of the largest frames, the memory counts packets, too.
func (c *MemoryConfig) limitToBuffer(limit tm.Limit) {
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

// Name returns "ncf".
func (g *Program) Name() string { return "ncf" }

// portAt returns the state of an egress port, which the caller may change; of an unknown port, the last element.
func (g *Program) portAt(out packet.PortID) *port {
	return &g.ports[min(int(out), len(g.ports)-1)]
}

// ownMemory returns the port's own memory: its part of a pool.
func (x *port) ownMemory() *Memory {
	if x.part != nil {
		return x.part
	}
	return x.memory
}

// findLacking returns the memory in which a frame of a class finds no room: the port's part of a pool, or the pool; nil
// if it fits.
func (x *port) findLacking(c Class, size int32) *Memory {
	if x.part != nil && !x.part.Fits(c, size) {
		return x.part
	}
	if !x.memory.Fits(c, size) {
		return x.memory
	}
	return nil
}

// congested returns the congested memory of a port, its part of a pool before the pool; nil without congestion.
func (x *port) congested() *Memory {
	switch {
	case x.memory == nil:
		return nil
	case x.part != nil && x.part.IsCongested():
		return x.part
	case x.memory.IsCongested():
		return x.memory
	}
	return nil
}

// Memory returns the memory of a port.
func (g *Program) Memory(out packet.PortID) *Memory { return g.portAt(out).memory }

// CountChanges returns the number of changes of class of tracked flows, and how many of them were made with packets
// still queued.
func (g *Program) CountChanges() (moved, forced uint64) {
	if g.changes == nil {
		return 0, 0
	}
	return g.changes.moved, g.changes.forced
}

// key returns the identity of a packet's flow in all sketches of this switch, which share a seed.
func (g *Program) key(p *packet.Packet) uint64 {
	if g.frames != nil {
		return g.frames.FlowNumber(p, false)
	}
	return g.ports[0].sketch.Key(p)
}

// selectQueue returns the queue of a class at a port with this number of queues (BS'19 §4.2: three). With more,
// elephants are spread over all but the first two by k, the flow's key.
func selectQueue(c Class, k uint64, queues int) uint8 {
	switch {
	case queues == 1 || c == Control:
		return 0
	case queues == 2 || c == Mice:
		return 1
	}
	return 2 + uint8((k*0x9e3779b97f4a7c15)>>33%uint64(queues-2))
}

// classOf derives the class of a packet from its queue, Meta.Queue, at a port with this number of queues. With two
// queues elephants are mice.
func classOf(p *packet.Packet, queues int) Class {
	switch {
	case queues == 1 && isData(p):
		return Mice
	case queues == 1 || p.Meta.Queue == 0:
		return Control
	case p.Meta.Queue == 1:
		return Mice
	}
	return Elephants
}

// Ingress counts the packet, checks whether its flow is an elephant, and sets Meta.Class to the queue of its class
// (BS'19 §4.1, §4.2). It accepts every packet. It may notify the packet's sender (early) or, during congestion, one of
// the heaviest elephants. It must follow the programs that select the egress port or a class.
func (g *Program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	now, x := env.Now(), g.portAt(m.Out)
	queues := maxQueues
	if int(m.Out) < env.Ports() {
		queues = env.Port(m.Out).Queues()
	}
	if g.echoes != nil && p.Proto == packet.ProtoTCP {
		g.processSegment(env, p)
	}
	if !isData(p) || g.isExempt(p) {
		c := Control
		if g.config.Acks == Mice && !g.isExempt(p) && p.Payload == 0 && (p.Kind == packet.Ack || p.Kind == packet.Data) &&
			m.Flags&packet.Trimmed == 0 && !p.IsNotification() {
			c = Mice
			g.countMice(env, x, p.Size, p.Size)
		}
		x.input.add(now, c, p.Size)
		m.Class = selectQueue(c, 0, queues)
		return dataplane.Accept
	}
	k := g.key(p)
	var counts *FlowEstimate
	if m.In == packet.NoPort { // recirculated, or not from a host
		counts = x.sketch.Estimate(now, k)
	} else {
		counts = x.sketch.Count(now, k, p.Size)
	}
	c, notified := Mice, false
	elephant := g.isElephant(env, x, k, p, counts)
	if g.echoes != nil && p.Proto == packet.ProtoTCP && m.In != packet.NoPort {
		g.processData(now, k, p, elephant)
	}
	if elephant {
		c = Elephants
		if o := x.top.OfferCounts(x.sketch.Window(), k, counts); o != nil {
			g.promoteFlow(now, x, o, counts, p.Size)
			o.StoreHeaders(p, m.Out)
			g.storeHeaders(x, o, p)
			notified = g.notifyEarly(env, x, o)
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
		c = g.changes.selectClass(now, k, x.out, c)
	}
	m.Class = selectQueue(c, k, queues)
	return dataplane.Accept
}

// Admit accepts the packet if it fits into memory, or if enough can be evicted from another class (BS'19 §4.2, §4.4).
// Otherwise it starts congestion and drops the packet. While memory is short, it also drops packets of unresponsive
// elephants and, in a flood, datagrams. If a later program or a limit drops the packet, its evictions were unnecessary,
// so NCF must follow other programs that drop.
func (g *Program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	x := g.portAt(m.Out)
	if x.memory == nil {
		return dataplane.Accept
	}
	queues := env.Port(m.Out).Queues()
	c := classOf(p, queues)
	if c == Elephants && g.trimUnresponsive(p) {
		g.nacks.TrimmedUnresponsive++
		return g.refuse(env, p)
	}
	if c == Mice && !g.canRespond(p) && g.isFlood(env, x) && !x.hasFreeRoom(p.Size) {
		x.ownMemory().RecordRefusal()
		return g.refuse(env, p)
	}
	lacking := x.findLacking(c, p.Size)
	if lacking == nil {
		return dataplane.Accept
	}
	if queues > 1 {
		if lacking = g.reclaim(env, x, lacking, c, p.Size); lacking == nil {
			return dataplane.Accept
		}
	}
	lacking.RecordRefusal()
	return g.refuse(env, p)
}

// refuse returns a drop, with a reason that shows whether the packet's sender will be notified (Notified) or not
// (BufferFull).
func (g *Program) refuse(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if g.causesNack(env, p) && g.whySilent(env.Now(), p.Proto, g.key(p)) == "" && g.mayNotify(env, p) {
		return dataplane.Drop(dataplane.Notified)
	}
	return dataplane.Drop(dataplane.BufferFull)
}

// maxEvicted limits the packets that one packet can evict: 9000 bytes against 64.
const maxEvicted = 144

// reclaim evicts packets of classes above their entitlement, at most maxEvicted, until a frame of class c with size
// bytes fits into all memory of port x. lacking is the memory that has no room for it. It returns the memory that still
// lacks room, or nil. Each evicted packet causes a NACK (OnDrop). It must not run with one queue.
func (g *Program) reclaim(env *dataplane.Env, x *port, lacking *Memory, c Class, size int32) *Memory {
	flooded := g.isFlood(env, x)
	for range maxEvicted {
		victim, ok := Control, false
		if x.givesAsNeeded() {
			victim, ok = lacking.pickVictim(c, size)
		} else {
			victim, ok = lacking.SelectVictim(env.Now(), c, size, flooded)
		}
		if !ok {
			return lacking
		}
		from, q, ok := g.longestQueue(env, x, lacking, victim)
		if !ok {
			return lacking
		}
		g.evicting = true
		gone := env.EvictTail(from, q)
		g.evicting = false
		if !gone {
			return lacking
		}
		g.nacks.Reclaimed++
		if lacking.Fits(c, size) {
			lacking.RecordRefusal() // the evicted packets found no room
			if lacking = x.findLacking(c, size); lacking == nil {
				return nil
			}
		}
	}
	return lacking
}

// longestQueue returns the queue with the most bytes of class c at port x or, if m is a pool, at all ports; false if
// all are empty. It omits ports with one queue.
func (g *Program) longestQueue(env *dataplane.Env, x *port, m *Memory, c Class) (at packet.PortID, q tm.QueueID,
	ok bool) {
	first, last := int(x.out), int(x.out)
	if m != x.ownMemory() {
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

// Book counts a packet that has entered its queue in the port's memory and, with change: flowlet, in the flow's slot.
func (g *Program) Book(env *dataplane.Env, p *packet.Packet) {
	m := &p.Meta
	x := g.portAt(m.Out)
	c := classOf(p, env.Port(m.Out).Queues())
	if x.memory != nil {
		x.memory.Book(env.Now(), c, p.Size)
		if x.part != nil {
			x.part.Book(env.Now(), c, p.Size)
		}
	}
	if g.changes != nil {
		g.changes.recordEntry(g.key(p), x.out, m.Queue, p.Size)
	}
}

// Unbook removes a packet that departs or is evicted from the port's memory. A departing packet also gives NACKs back
// to its flow (creditDeparture).
func (g *Program) Unbook(env *dataplane.Env, p *packet.Packet) {
	m := &p.Meta
	x := g.portAt(m.Out)
	if x.memory != nil {
		c := classOf(p, env.Port(m.Out).Queues())
		x.memory.Unbook(env.Now(), c, p.Size)
		if x.part != nil {
			x.part.Unbook(env.Now(), c, p.Size)
		}
	}
	if !g.evicting {
		g.creditDeparture(p)
	}
	if g.changes != nil {
		g.changes.recordExit(x.out, m.Queue, p.Size, g.evicting)
	}
}
