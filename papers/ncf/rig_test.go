package ncf

import (
	"fmt"
	"net/netip"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

const (
	us = unit.Microsecond
	ms = unit.Millisecond
)

// rig is one switch with NCF and the plainest driver. Port i leads to address i+1, of either family, unless via
// differs.
type rig struct {
	t     testing.TB
	sw    *dataplane.Switch
	first dataplane.Program // it forwards
	g     *Program
	pool  packet.Pool
	book  *packet.Book
	free  []unit.Time
	ask   []unit.Time
	lines []unit.Serialiser
	setup setup
	sent  func(at unit.Time, port packet.PortID, p *packet.Packet) // what has left
	out   []*packet.Packet                                         // copies of it, without sent
}

type setup struct {
	ports     int
	queues    int
	rate      unit.Rate // 1 Gb/s
	rates     map[int]unit.Rate
	packets   unit.PacketRate // of all ports instead
	limit     tm.Limit
	scheduler func() tm.Scheduler // nil: ncf
	framing   packet.Framing
	wire      bool
	via       map[packet.Addr]packet.PortID
	before    []dataplane.Program // of NCF
	after     []dataplane.Program
	bare      bool // without NCF
	alone     bool // a switch on its own
	given     []string
}

// bareFrames are the frames of a standalone switch that sees no frames.
type bareFrames struct{}

func (bareFrames) FlowNumber(*packet.Packet, bool) uint64    { return 0 }
func (bareFrames) CopyHeader(*packet.Packet, []byte) int     { return 0 }
func (bareFrames) AppendAnswer(*packet.Packet, []byte) bool  { return false }
func (bareFrames) AppendEcho(*packet.Packet, []byte, uint32) {}

func newRig(t testing.TB, s setup) *rig {
	t.Helper()
	if s.rate == 0 {
		s.rate = unit.Gbps
	}
	r := &rig{t: t, book: packet.NewBook(), setup: s}
	var rules []dataplane.Route
	for i := range s.ports {
		v4, v6 := netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), netip.MustParseAddr(fmt.Sprintf("fd00::%x", i+1))
		a := r.book.Add(v4, v6)
		out, other := s.via[a]
		if !other {
			out = packet.PortID(i)
		}
		rules = append(rules, dataplane.Route{Prefix: netip.PrefixFrom(v4, 32), Ports: []packet.PortID{out}},
			dataplane.Route{Prefix: netip.PrefixFrom(v6, 128), Ports: []packet.PortID{out}})
	}
	routes, err := dataplane.NewRoutes(r.book, rules)
	if err != nil {
		t.Fatal(err)
	}
	site := &dataplane.Site{Switch: "s", ID: 7, Ports: s.ports, Queues: s.queues, Book: r.book, Routes: routes,
		Framing: s.framing, MaxFrame: 1514,
		Random: func(entity string) unit.Random { return unit.NewRandom(1, entity) }}
	if s.alone {
		site.Frames = bareFrames{}
	}
	for i := range s.ports {
		rate := s.rate
		if x := s.rates[i]; x > 0 {
			rate = x
		}
		var sched tm.Scheduler
		if s.scheduler != nil {
			sched = s.scheduler()
		} else if sched, err = tm.NewNCF(s.queues, tm.NCF{Control: 0.05, Mice: 0.1, Elephants: 0.1}, rate, 1514,
			3028); err != nil {
			t.Fatal(err)
		}
		line := unit.LinkRate{Bits: rate}
		if s.packets > 0 {
			line = unit.LinkRate{Packets: s.packets}
		}
		site.At = append(site.At, tm.NewPort(tm.NewBuffer(s.queues, tm.Limit{}, s.limit), sched, line))
		r.free, r.ask, r.lines = append(r.free, 0), append(r.ask, unit.Never), append(r.lines, unit.NewSerialiser(line))
	}
	r.first = forward.New(site)
	programs := append([]dataplane.Program{r.first}, s.before...)
	if !s.bare {
		g, err := dataplanetest.BuildProgram(Scheme(), site, s.given...)
		if err != nil {
			t.Fatal(err)
		}
		r.g = g.(*Program)
		programs = append(programs, r.g)
	}
	programs = append(programs, s.after...)
	r.sw, err = dataplane.New(dataplane.Config{Name: "s", ID: 7, Ports: site.At, Programs: programs, Pool: &r.pool,
		Book:   r.book,
		Random: unit.NewRandom(1, "switch"), MinFrame: s.framing.Min + s.framing.Extra})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) transmit(now unit.Time, out packet.PortID) {
	r.ask[out] = unit.Never
	p, again := r.sw.Dequeue(now, out)
	if p != nil {
		r.free[out] = now + r.lines[out].NextTime(p.Size, r.free[out] == now)
		if again = max(again, r.free[out]); r.sent != nil {
			r.sent(r.free[out], out, p)
		} else {
			c := *p
			r.out = append(r.out, &c)
		}
		r.pool.Put(p)
	}
	if again != unit.Never {
		r.ask[out] = min(r.ask[out], max(again, now+1))
	}
	r.woken(now)
}

func (r *rig) woken(now unit.Time) {
	for {
		out, ok := r.sw.Wants().NextWoken()
		if !ok {
			return
		}
		if r.free[out] <= now {
			r.transmit(now, out)
		} else {
			r.ask[out] = min(r.ask[out], r.free[out])
		}
	}
}

// until does what is due up to now.
func (r *rig) until(now unit.Time) {
	for {
		at, port := r.sw.Wants().Timer, -1
		for i, x := range r.ask {
			if x <= at {
				at, port = x, i
			}
		}
		switch {
		case at > now || at == unit.Never:
			return
		case port >= 0:
			r.transmit(at, packet.PortID(port))
		default:
			r.sw.Advance(at)
			r.woken(at)
		}
	}
}

// drain runs until no packet waits.
func (r *rig) drain() { r.until(unit.Never - 1) }

// data is a packet with payload from address src to dst.
func (r *rig) data(src, dst packet.Addr, port uint16, seq int64, payload int32,
	change ...func(p *packet.Packet)) *packet.Packet {
	p := r.pool.Get()
	p.Src, p.Dst, p.SrcPort, p.DstPort, p.Flow = src, dst, port, 80, packet.FlowID(port)
	p.Kind, p.Proto, p.Version, p.HopLimit, p.Seq, p.Payload, p.TOS = packet.Data, packet.ProtoTCP, 4, 64, seq, payload,
		packet.ECT0
	p.TCP.Flags, p.TCP.Present, p.TCP.TSVal, p.TCP.TSEcho, p.TCP.Window = packet.ACK, packet.HasTimestamps, 77, 5, 100
	for _, f := range change {
		f(p)
	}
	p.Hash = packet.FlowHash(p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto)
	p.Size = r.setup.framing.FrameBytes(p.Headers()+p.ExtensionBytes(), p.Payload, p.Kind == packet.Data)
	return p
}

// come makes p arrive.
func (r *rig) come(now unit.Time, in packet.PortID, p *packet.Packet) {
	r.until(now)
	if r.setup.wire {
		data, err := p.Emit(r.book, nil)
		if err != nil {
			r.t.Fatal(err)
		}
		size, flow := p.Size, p.Flow
		*p = packet.Packet{Size: size, Data: data, Flow: flow}
	}
	r.sw.Receive(now, in, p)
	r.woken(now)
	r.check()
}

// check compares the books with what waits.
func (r *rig) check() {
	if r.g == nil {
		return
	}
	var whole [ClassCount]int64
	for i := range r.setup.ports {
		var waits [ClassCount]int64
		x, memory := r.sw.Port(packet.PortID(i)), r.g.Memory(packet.PortID(i))
		for q := range x.Queues() {
			c, n := min(Class(q), Elephants), int64(x.Queue(uint8(q)).Bytes())
			if memory.packets {
				n = int64(x.Queue(uint8(q)).Packets())
			}
			if x.Queues() == 1 {
				if n != memory.Used(Control)+memory.Used(Mice) && r.g.config.Pool == PerPort {
					r.t.Fatalf("%d wait, %d are booked", n, memory.used)
				}
				return
			}
			waits[c] += n
			whole[c] += n
		}
		if err := r.g.ports[i].ownMemory().Check(waits); err != nil {
			r.t.Fatalf("port %d: %v", i, err)
		}
	}
	if r.g.config.Pool == PerSwitch {
		if err := r.g.Memory(0).Check(whole); err != nil {
			r.t.Fatal(err)
		}
	}
}

// about is where the packet begins that a NACK is about.
func about(p *packet.Packet) int64 {
	seq, _ := p.NoticeSubject()
	return seq
}

// nacks are the NACKs among what has left, and their notices.
func (r *rig) nacks() (nacks []*packet.Packet, notices []packet.Notification) {
	for _, p := range r.out {
		var n packet.Notification
		if p.Data != nil {
			var q packet.Packet
			if err := q.Parse(r.book, p.Data); err != nil {
				r.t.Fatal(err)
			}
			q.Size = p.Size
			p = &q
		}
		if p.Notification(&n) {
			nacks, notices = append(nacks, p), append(notices, n)
		}
	}
	return nacks, notices
}

// fatten makes the flow an elephant: it sends n packets of 1000 bytes, which leave.
func (r *rig) fatten(now unit.Time, src, dst packet.Addr, port uint16, n int) unit.Time {
	for i := range n {
		r.come(now, packet.PortID(src-1), r.data(src, dst, port, int64(i)*1000, 1000))
		now += 20 * us
	}
	r.until(now)
	return now
}
