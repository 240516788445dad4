package dataplanetest

import (
	"fmt"
	"net/netip"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// Setup describes the switch of a script. Port i leads to the address 10.0.0.(i+1), which is packet.Addr i+1.
type Setup struct {
	Ports         []Port
	Programs      []dataplane.Program
	Recirculation dataplane.Recirculation
	TrimClass     uint8
	Wire          bool // packets arrive as bytes
	// Fuse is dataplane.Config.FusePrograms.
	Fuse func(programs []dataplane.Program, ports []*tm.Port) dataplane.Pipe

	madePorts []*tm.Port // ports that programs already know; nil: not made yet
}

// Port is one port of the switch.
type Port struct {
	Rate      unit.LinkRate
	Delay     unit.Time // for programs; the driver adds no delay
	Queues    int       // at least 1
	Each      tm.Limit
	Total     tm.Limit
	Scheduler tm.Scheduler // nil: FIFO for one queue, strict priority for several
}

// Arrival is a packet that arrives completely at a time.
type Arrival struct {
	At       unit.Time
	Port     packet.PortID
	Kind     packet.Kind
	Dst      packet.Addr
	Seq      int64 // of Pause: quanta
	Payload  int32 // Size is 42 bytes more
	HopLimit uint8 // 0 means 64
	Class    uint8 // of Pause and Resume
	TOS      uint8
	Flow     uint16 // added to the source port
	// Shape, if given, changes the packet before it arrives.
	Shape func(p *packet.Packet)
}

// Departure is a packet that has departed completely at a time.
type Departure struct {
	At       unit.Time
	Port     packet.PortID
	Kind     packet.Kind
	Seq      int64
	Size     int32
	HopLimit uint8
	Flags    uint8
	Class    uint8 // of Pause and Resume
	TOS      uint8
	// Extensions are the packet's extensions in its internal form.
	Extensions string
}

// Transcript is the result of a script.
type Transcript struct {
	Departures []Departure // in the order of time, then port
	Drops      [dataplane.Reasons]uint64
	Live       int // packets that still exist at the end: must be 0
	PortDrops  [][dataplane.Reasons]uint64
	Pauses     []tm.Pauses // by port, at the end
	Bytes      []uint64    // by port, bytes that departed
	Passed     int         // packets that needed no queue
	Events     uint64      // of a fabric
}

// RecordEnd adds the switch's counters at the end. now is the end of pauses that are still held.
func (t *Transcript) RecordEnd(now unit.Time, sw *dataplane.Switch, s *Setup, pool *packet.Pool) {
	t.Drops, t.Live = sw.DropCounts(), pool.LiveCount()
	for i := range s.Ports {
		port := sw.Port(packet.PortID(i))
		t.PortDrops, t.Bytes = append(t.PortDrops, sw.PortDrops(packet.PortID(i))), append(t.Bytes, port.TxBytes())
		t.Pauses = append(t.Pauses, port.Pauses(now))
	}
}

// A ScriptRunner runs a script: it creates the switch, lets the packets arrive in the order of time, and continues
// until no event is left.
type ScriptRunner func(s Setup, script []Arrival) Transcript

// NewBook returns the addresses of a script: one per port, and one that no port leads to.
func (s *Setup) NewBook() *packet.Book {
	b := packet.NewBook()
	for i := range len(s.Ports) + 1 {
		b.Add(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), netip.MustParseAddr(fmt.Sprintf("fd00::%d", i+1)))
	}
	return b
}

// NewSite returns the site for a script's programs. It panics on ports that no route can have.
func (s *Setup) NewSite() *dataplane.Site {
	site := &dataplane.Site{Switch: "s", Ports: len(s.Ports), Book: s.NewBook(), Lines: make([]dataplane.Line,
		len(s.Ports)),
		Random: func(entity string) unit.Random { return unit.NewRandom(1, entity) }}
	var rules []dataplane.Route
	for i, p := range s.Ports {
		site.Lines[i] = dataplane.Line{Rate: p.Rate, Delay: p.Delay}
		site.Queues = max(site.Queues, p.Queues)
		rules = append(rules, dataplane.Route{
			Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), 32),
			Ports:  []packet.PortID{packet.PortID(i)}})
	}
	var err error
	if site.Routes, err = dataplane.NewRoutes(site.Book, rules); err != nil {
		panic(err) // a mistake in the script
	}
	return site
}

// NewSiteWithPorts returns the site with the ports of the future switch, for programs that use their schedulers. A
// later NewSwitch of the same Setup uses these ports.
func (s *Setup) NewSiteWithPorts() *dataplane.Site {
	site := s.NewSite()
	s.madePorts = s.newPorts()
	site.At = s.madePorts
	return site
}

// newPorts creates the ports of a script. Without a scheduler they get FIFO or, with several queues, strict priority.
// Schedulers that need addresses get the script's.
func (s *Setup) newPorts() (ports []*tm.Port) {
	for _, p := range s.Ports {
		scheduler := p.Scheduler
		if scheduler == nil {
			if scheduler = tm.NewFIFO(); p.Queues > 1 {
				scheduler = tm.NewStrict()
			}
		}
		if x, ok := scheduler.(tm.Addressed); ok {
			x.SetAddresses(s.NewBook())
		}
		ports = append(ports, tm.NewPort(tm.NewBuffer(max(p.Queues, 1), p.Each, p.Total), scheduler, p.Rate))
	}
	return ports
}

// NewSwitch creates the switch of a script, with the ports of NewSiteWithPorts if that was called. It panics if a
// program is invalid.
func (s *Setup) NewSwitch(pool *packet.Pool) *dataplane.Switch {
	ports := s.madePorts
	if ports == nil {
		ports = s.newPorts()
	}
	sw, err := dataplane.New(dataplane.Config{Name: "s", Ports: ports, Programs: s.Programs, FusePrograms: s.Fuse,
		Pool: pool, Book: s.NewBook(), Random: unit.NewRandom(1, "switch"), Recirculation: s.Recirculation,
		TrimClass: s.TrimClass})
	if err != nil {
		panic(err) // a mistake in the script
	}
	return sw
}

// NewPacket takes a packet from pool and sets it to the arrival, of UDP over IPv4, changed by Shape. With Wire it is a
// frame of bytes with addresses from book. It panics if the frame cannot be written.
func (s *Setup) NewPacket(pool *packet.Pool, book *packet.Book, a Arrival) *packet.Packet {
	p := pool.Get()
	p.Kind, p.Dst, p.Seq, p.Payload, p.HopLimit = a.Kind, a.Dst, a.Seq, a.Payload, a.HopLimit
	if p.HopLimit == 0 {
		p.HopLimit = 64
	}
	p.Src = packet.Addr(a.Port + 1)
	p.Version, p.Proto, p.SrcPort, p.DstPort, p.TOS = 4, packet.ProtoUDP, 1000+a.Flow, 2000, a.TOS
	p.Size = 42 + a.Payload
	p.Hash = packet.FlowHash(p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto)
	if a.Kind == packet.Pause || a.Kind == packet.Resume {
		p.Size = 64
		p.Meta.Class = a.Class
	}
	if a.Shape != nil {
		a.Shape(p)
	}
	if s.Wire {
		data, err := p.Emit(book, nil)
		if err != nil {
			panic(err)
		}
		size := p.Size
		*p = packet.Packet{Size: size, Data: data}
	}
	return p
}

// NewDeparture returns the departure of a packet. The class counts only for Pause and Resume, and of the flags only
// packet.Trimmed.
func NewDeparture(departureTime unit.Time, port packet.PortID, p *packet.Packet) Departure {
	return Departure{departureTime, port, p.Kind, p.Seq, p.Size, p.HopLimit, p.Meta.Flags & packet.Trimmed,
		p.Meta.Class * isPFC(p.Kind), p.TOS, string(p.AppendExtensions(nil, 0))}
}

// isPFC returns 1 for a Pause or Resume frame, else 0.
func isPFC(k packet.Kind) uint8 {
	if k == packet.Pause || k == packet.Resume {
		return 1
	}
	return 0
}

// node is a switch as drivers use it: fabric.Node.
type node interface {
	Receive(now unit.Time, in packet.PortID, p *packet.Packet)
	Dequeue(now unit.Time, out packet.PortID) (*packet.Packet, unit.Time)
	Advance(now unit.Time)
	Wants() *packet.NodeRequests
}

// RunDirect is the simplest driver: it drives a single switch exactly by the contract.
func RunDirect(s Setup, script []Arrival) Transcript { return runDirect(s, script, mutation{}) }

// mutation is a deliberate fault of a driver.
type mutation struct {
	node           func(node) node // wraps the switch
	pollsBusyPorts bool            // asks a busy port
	ignoresWoken   bool            // does not drain NextWoken after Dequeue and Advance
	noTimers       bool
	ignoresAgain   bool // does not return at the requested time
}

// driver drives one switch without links; it records departures.
type driver struct {
	node
	mutation
	pool        packet.Pool
	serialisers []unit.Serialiser
	freeAt      []unit.Time // by port, when it is free
	passed      int         // packets that were cut through
	askAt       []unit.Time // by port, when to ask it
	departures  []Departure
}

// drainWoken sends a packet that was cut through, and then asks each woken port for a frame, if it is free; busy ones
// are asked when they become free.
func (d *driver) drainWoken(now unit.Time) {
	if out, p := d.Wants().TakeCutThrough(); p != nil {
		d.passed++
		d.sendFrame(now, out, p)
	}
	for {
		out, ok := d.Wants().NextWoken()
		if !ok {
			return
		}
		if d.freeAt[out] <= now || d.pollsBusyPorts {
			d.transmitFrame(out, now)
		} else {
			d.askAt[out] = min(d.askAt[out], d.freeAt[out])
		}
	}
}

// transmitFrame asks a port for a frame and sends it. It also sets the time at which the port is asked again, and
// drains the woken ports.
func (d *driver) transmitFrame(out packet.PortID, now unit.Time) {
	d.askAt[out] = unit.Never
	p, again := d.Dequeue(now, out)
	if p != nil {
		d.sendFrame(now, out, p)
		again = max(again, d.freeAt[out])
	} else if again != unit.Never {
		again = max(again, now+1)
	}
	if again != unit.Never && !d.ignoresAgain {
		d.askAt[out] = min(d.askAt[out], again)
	}
	if !d.ignoresWoken {
		d.drainWoken(now)
	}
}

// sendFrame puts a frame onto the link, records its departure and frees it.
func (d *driver) sendFrame(now unit.Time, out packet.PortID, p *packet.Packet) {
	d.freeAt[out] = now + d.serialisers[out].NextTime(p.Size, d.freeAt[out] == now)
	d.departures = append(d.departures, NewDeparture(d.freeAt[out], out, p))
	d.pool.Put(p)
}

// nextEvent returns the time and the kind of the next event, in the order of the tie rule: a port, by its number; then
// the arrival, len(d.askAt); then a timer, one more. −1: no event is left.
func (d *driver) nextEvent(script []Arrival) (at unit.Time, what int) {
	at, what = unit.Never, -1
	for i := range d.askAt {
		if d.askAt[i] < at {
			at, what = d.askAt[i], i
		}
	}
	if len(script) > 0 && script[0].At < at {
		at, what = script[0].At, len(d.askAt)
	}
	if next := d.Wants().Timer; !d.noTimers && next < at {
		at, what = next, len(d.askAt)+1
	}
	return at, what
}

// runDirect runs a script on a new switch without links, driven with the faults of m. The transcript ends when no event
// is left, or only ticks of an idle switch. If the script does not end after 100000 events, Live is −1.
func runDirect(s Setup, script []Arrival, m mutation) Transcript {
	d := &driver{mutation: m, freeAt: make([]unit.Time, len(s.Ports)), askAt: make([]unit.Time, len(s.Ports)),
		serialisers: make([]unit.Serialiser, len(s.Ports))}
	sw := s.NewSwitch(&d.pool)
	if d.node = sw; m.node != nil {
		d.node = m.node(sw)
	}
	book := s.NewBook()
	for i, p := range s.Ports {
		d.askAt[i] = unit.Never
		d.serialisers[i] = unit.NewSerialiser(p.Rate)
	}
	var free []*unit.Time
	for i := range d.freeAt {
		free = append(free, &d.freeAt[i])
	}
	d.Wants().SetPortClocks(free)
	d.drainWoken(0)
	for steps := 0; steps < 100000; steps++ {
		at, what := d.nextEvent(script)
		switch {
		case what < 0, what > len(d.askAt) && len(script) == 0 && sw.Idle(): // ticks that only repeat themselves
			sortDepartures(d.departures)
			t := Transcript{Departures: d.departures, Passed: d.passed}
			t.RecordEnd(unit.Second, sw, &s, &d.pool)
			return t
		case what < len(d.askAt):
			d.transmitFrame(packet.PortID(what), at)
		case what == len(d.askAt):
			a := script[0]
			script = script[1:]
			d.Receive(at, a.Port, s.NewPacket(&d.pool, book, a))
			d.drainWoken(at)
		default:
			d.Advance(at)
			if !d.ignoresWoken {
				d.drainWoken(at)
			}
		}
	}
	return Transcript{Departures: d.departures, Live: -1} // it does not end
}

// sortDepartures sorts d in place by time, then port. Departures equal in both keep their order.
func sortDepartures(d []Departure) {
	for i := 1; i < len(d); i++ {
		for k := i; k > 0 && (d[k].At < d[k-1].At || d[k].At == d[k-1].At && d[k].Port < d[k-1].Port); k-- {
			d[k], d[k-1] = d[k-1], d[k]
		}
	}
}
