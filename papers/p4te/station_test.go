package p4te

import (
	"fmt"
	"net/netip"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// forced is P4TE with the colours that a test sets.
type forced struct {
	*Program
	class, egress dataplane.Colour
}

func (f *forced) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	v := f.Program.Ingress(env, p)
	p.Meta.Mark = uint8(f.class)
	return v
}

func (f *forced) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if f.rate != nil {
		f.rate.adaptRate(env, p, f.egress)
	}
	if f.hosts[p.Meta.Out] && p.HasHotExtension(HeaderKind) {
		f.removeHeader(p)
	}
	return dataplane.Accept
}

// station is one switch: of the hosts a, b below leaf 0 and c, d below leaf 1. Leaf 0 has a
// and b at ports 0 and 1 and spines at 2 and 3; a spine has the leaves at ports 0 and 1.
type station struct {
	*dataplane.Switch
	*forced
	t     testing.TB
	ports []*tm.Port
	pool  packet.Pool
	book  *packet.Book
	now   unit.Time
}

const a, b, c, d packet.Addr = 1, 2, 3, 4

func newStation(t testing.TB, tier int, given ...string) *station {
	t.Helper()
	x := &station{t: t, book: packet.NewBook()}
	for i := range 4 {
		x.book.Add(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), netip.MustParseAddr(fmt.Sprintf("2001:1:1::%x:%x",
			i/2, i%2)))
	}
	place := &dataplane.TreePosition{Tiers: 2, Tier: tier, Down: []packet.PortID{0, 1}}
	prefix := func(text string, port packet.PortID) {
		place.Routes = append(place.Routes, dataplane.Route{Prefix: netip.MustParsePrefix(text),
			Ports: []packet.PortID{port}})
	}
	if tier == 1 {
		place.Up = []packet.PortID{2, 3}
		prefix("2001:1:1::0:0/128", 0)
		prefix("2001:1:1::0:1/128", 1)
	} else {
		prefix("2001:1:1::0:0/112", 0)
		prefix("2001:1:1::1:0/112", 1)
	}
	site := &dataplane.Site{Switch: "s", Ports: 4, MaxFrame: 1600, Book: x.book, Place: func() (*dataplane.TreePosition,
		error) {
		return place, nil
	},
		Random: func(e string) unit.Random { return unit.NewRandom(1, e) }}
	var ports []*tm.Port
	for range 4 {
		rate := unit.LinkRate{Bits: 10 * unit.Gbps}
		ports = append(ports, tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{}), tm.NewFIFO(), rate))
		site.Lines = append(site.Lines, dataplane.Line{Rate: rate})
	}
	p, err := dataplanetest.BuildProgram(Scheme(), site, given...)
	if err != nil {
		t.Fatal(err)
	}
	x.ports = ports
	x.forced = &forced{Program: p.(*Program), class: dataplane.Yellow, egress: dataplane.Yellow}
	x.Switch, err = dataplane.New(dataplane.Config{Name: "s", Ports: ports, Programs: []dataplane.Program{x.forced},
		Pool: &x.pool, Book: x.book, Random: unit.NewRandom(1, "s")})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// segment is one of TCP, ports 1000 + source to 1000 + destination.
func (x *station) segment(src, dst packet.Addr, seq, ack uint32, payload int32, flags uint8) *packet.Packet {
	p := x.pool.Get()
	p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto, p.Version, p.HopLimit = src, dst, 1000+uint16(src), 1000+uint16(dst),
		packet.ProtoTCP, 6, 64
	p.Seq, p.Ack, p.Payload = int64(seq), int64(ack), payload
	p.TCP.Flags, p.TCP.Window, p.TCP.Present, p.TCP.TSVal, p.TCP.TSEcho = flags, 99, packet.HasTimestamps, 11, 12
	if p.Kind = packet.Ack; payload > 0 {
		p.Kind = packet.Data
	}
	p.TOS = packet.ECT0
	p.Hash = packet.FlowHash(p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto)
	p.Size = 14 + 40 + 32 + payload
	return p
}

// pass delivers a packet and returns what departs then, by port.
func (x *station) pass(in packet.PortID, p *packet.Packet) (left [4][]*packet.Packet) {
	x.t.Helper()
	x.now += unit.Microsecond
	x.Receive(x.now, in, p)
	return x.leaving()
}

func (x *station) leaving() (left [4][]*packet.Packet) {
	for range 2 { // what one port sends may be answered by another
		for out := range left {
			for {
				p, _ := x.Dequeue(x.now, packet.PortID(out))
				if p == nil {
					break
				}
				left[out] = append(left[out], p)
			}
		}
	}
	return left
}

// ack is an acknowledgement of c to a with window and scale-free fields.
func (x *station) ack(seq, ack uint32, window uint16, val, echo uint32) *packet.Packet {
	p := x.segment(c, a, seq, ack, 0, packet.ACK)
	p.TCP.Window, p.TCP.TSVal, p.TCP.TSEcho = window, val, echo
	return p
}

// handshake passes the SYN of a, at isn, and the SYN-ACK of c, at peer.
func (x *station) handshake(isn, peer uint32) {
	syn := x.segment(a, c, isn, 0, 0, packet.SYN)
	x.pass(0, syn)
	back := x.segment(c, a, peer, isn+1, 0, packet.SYN|packet.ACK)
	back.TCP.Present |= packet.HasScale
	back.TCP.Scale = 7
	x.pass(2, back)
}

// up is the only packet that went up.
func (x *station) up(left [4][]*packet.Packet) (*packet.Packet, Header) {
	x.t.Helper()
	went := append(left[2], left[3]...)
	if len(went) != 1 {
		x.t.Fatalf("%d packets went up", len(went))
	}
	var h Header
	h.ReadFrom(went[0])
	return went[0], h
}

func (x *station) leavingNothing() {
	for out, l := range x.leaving() {
		if len(l) > 0 {
			x.t.Errorf("%d packets more leave by port %d", len(l), out)
		}
	}
}
