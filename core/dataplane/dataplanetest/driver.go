package dataplanetest

import (
	"fmt"
	"net/netip"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// Setup is the switch of a script. Port i leads to the address 10.0.0.(i+1), which
// is packet.Addr i+1.
type Setup struct {
	Ports         []Port
	Programs      []dataplane.Program
	Recirculation dataplane.Recirculation
	TrimClass     uint8
	Wire          bool // packets come in as bytes
}

// Port is one port of the switch.
type Port struct {
	Rate      unit.LinkRate
	Delay     unit.Time // that programs know of; nothing is late by it
	Queues    int       // at least 1
	Each      tm.Limit
	Total     tm.Limit
	Scheduler tm.Scheduler // nil: FIFO for one queue, strict priority for several
}

// Arrival is a packet whose last bit comes in at a time.
type Arrival struct {
	At       unit.Time
	Port     packet.PortID
	Kind     packet.Kind
	Dst      packet.Addr
	Seq      int64 // of Pause: quanta
	Payload  int32 // Size is 42 bytes more
	HopLimit uint8 // 0 means 64
	Class    uint8 // of Pause and Resume
}

// Departure is a packet whose last bit has gone out at a time.
type Departure struct {
	At       unit.Time
	Port     packet.PortID
	Kind     packet.Kind
	Seq      int64
	Size     int32
	HopLimit uint8
	Flags    uint8
	Class    uint8 // of Pause and Resume
}

// Transcript is what a script gave.
type Transcript struct {
	Departures []Departure // in the order of time, then port
	Drops      [dataplane.Reasons]uint64
	Live       int // packets that are still somewhere at the end: must be 0
}

// A Driver carries a script out: it makes the switch, lets everything arrive in
// the given order of time, and goes on until nothing happens any more.
type Driver func(s Setup, script []Arrival) Transcript

// Book has the addresses of a script: one a port, and one that no port leads to.
func (s *Setup) Book() *packet.Book {
	b := packet.NewBook()
	for i := range len(s.Ports) + 1 {
		b.Add(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), netip.MustParseAddr(fmt.Sprintf("fd00::%d", i+1)))
	}
	return b
}

// Site is where a script's programs are.
func (s *Setup) Site() *dataplane.Site {
	site := &dataplane.Site{Switch: "s", Ports: len(s.Ports), Book: s.Book(), Lines: make([]dataplane.Line, len(s.Ports)),
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

// Switch makes the switch of a script.
func (s *Setup) Switch(pool *packet.Pool) *dataplane.Switch {
	var ports []*tm.Port
	for _, p := range s.Ports {
		scheduler := p.Scheduler
		if scheduler == nil {
			if scheduler = tm.NewFIFO(); p.Queues > 1 {
				scheduler = tm.NewStrict()
			}
		}
		ports = append(ports, tm.NewPort(tm.NewBuffer(max(p.Queues, 1), p.Each, p.Total), scheduler, p.Rate))
	}
	sw, err := dataplane.New(dataplane.Config{Name: "s", Ports: ports, Programs: s.Programs, Pool: pool, Book: s.Book(),
		Random: unit.NewRandom(1, "switch"), Recirculation: s.Recirculation, TrimClass: s.TrimClass})
	if err != nil {
		panic(err) // a mistake in the script
	}
	return sw
}

// Packet makes the packet of an arrival.
func (s *Setup) Packet(pool *packet.Pool, book *packet.Book, a Arrival) *packet.Packet {
	p := pool.Get()
	p.Kind, p.Dst, p.Seq, p.Payload, p.HopLimit = a.Kind, a.Dst, a.Seq, a.Payload, a.HopLimit
	if p.HopLimit == 0 {
		p.HopLimit = 64
	}
	p.Src = packet.Addr(a.Port + 1)
	p.Version, p.Proto, p.SrcPort, p.DstPort = 4, packet.ProtoUDP, 1000, 2000
	p.Size = 42 + a.Payload
	p.Hash = packet.FlowHash(p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto)
	if a.Kind == packet.Pause || a.Kind == packet.Resume {
		p.Size = 64
		p.Meta.Class = a.Class
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

// Depart makes the departure of a packet.
func Depart(at unit.Time, port packet.PortID, p *packet.Packet) Departure {
	return Departure{at, port, p.Kind, p.Seq, p.Size, p.HopLimit, p.Meta.Flags & packet.Trimmed,
		p.Meta.Class * isPFC(p.Kind)}
}

func isPFC(k packet.Kind) uint8 {
	if k == packet.Pause || k == packet.Resume {
		return 1
	}
	return 0
}

// Node is what a driver sees of a switch: fabric.Node.
type Node interface {
	Receive(now unit.Time, in packet.PortID, p *packet.Packet)
	Dequeue(now unit.Time, out packet.PortID) (*packet.Packet, unit.Time)
	Woken() (packet.PortID, bool)
	NextTimer() unit.Time
	Advance(now unit.Time)
}

// Direct is the plainest driver: one switch, nothing else, by the letter of the
// contract.
func Direct(s Setup, script []Arrival) Transcript { return direct(s, script, mutation{}) }

// mutation is how a driver is broken on purpose.
type mutation struct {
	node         func(Node) Node // around the switch
	early        bool            // asks a busy port
	deaf         bool            // does not drain Woken after Dequeue and Advance
	noTimers     bool
	ignoresAgain bool // does not come back when told to
}

func direct(s Setup, script []Arrival, m mutation) Transcript {
	var pool packet.Pool
	sw := s.Switch(&pool)
	var node Node = sw
	if m.node != nil {
		node = m.node(node)
	}
	book := s.Book()
	var t Transcript
	free := make([]unit.Time, len(s.Ports)) // when the port is free
	ask := make([]unit.Time, len(s.Ports))  // when to ask it
	serialisers := make([]unit.Serialiser, len(s.Ports))
	for i, p := range s.Ports {
		ask[i] = unit.Never
		serialisers[i] = unit.NewSerialiser(p.Rate)
	}
	var transmit func(out packet.PortID, now unit.Time)
	drain := func(now unit.Time) {
		for {
			out, ok := node.Woken()
			if !ok {
				return
			}
			if free[out] <= now || m.early {
				transmit(out, now)
			} else {
				ask[out] = min(ask[out], free[out])
			}
		}
	}
	transmit = func(out packet.PortID, now unit.Time) {
		ask[out] = unit.Never
		p, again := node.Dequeue(now, out)
		if p != nil {
			free[out] = now + serialisers[out].Next(p.Size, free[out] == now)
			t.Departures = append(t.Departures, Depart(free[out], out, p))
			pool.Put(p)
			again = max(again, free[out])
		} else if again != unit.Never {
			again = max(again, now+1)
		}
		if again != unit.Never && !m.ignoresAgain {
			ask[out] = min(ask[out], again)
		}
		if !m.deaf {
			drain(now)
		}
	}
	drain(0)
	for steps := 0; steps < 100000; steps++ {
		// the order of the tie rule: ports, then arrivals, then timers
		at, what := unit.Never, -1
		for i := range ask {
			if ask[i] < at {
				at, what = ask[i], i
			}
		}
		if len(script) > 0 && script[0].At < at {
			at, what = script[0].At, len(ask)
		}
		if next := node.NextTimer(); !m.noTimers && next < at {
			at, what = next, len(ask)+1
		}
		switch {
		case what < 0:
			t.Drops = sw.Drops()
			t.Live = pool.Live()
			sortDepartures(t.Departures)
			return t
		case what < len(ask):
			transmit(packet.PortID(what), at)
		case what == len(ask):
			a := script[0]
			script = script[1:]
			node.Receive(at, a.Port, s.Packet(&pool, book, a))
			drain(at)
		default:
			node.Advance(at)
			if !m.deaf {
				drain(at)
			}
		}
	}
	t.Live = -1 // it goes on for ever
	return t
}

func sortDepartures(d []Departure) {
	for i := 1; i < len(d); i++ {
		for k := i; k > 0 && (d[k].At < d[k-1].At || d[k].At == d[k-1].At && d[k].Port < d[k-1].Port); k-- {
			d[k], d[k-1] = d[k-1], d[k]
		}
	}
}
