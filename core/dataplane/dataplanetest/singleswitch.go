package dataplanetest

import (
	"fmt"
	"net/netip"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// SingleSwitch is one switch of a fat tree, with ports that are never busy. Packets depart at once, so that a test
// sees the switch's effect on them.
//
// There are two hosts per leaf: leaf i has the nodes 2i and 2i+1. All hosts precede the leaves, and these precede the
// other switches.
type SingleSwitch struct {
	*dataplane.Switch
	Pool    packet.Pool
	Book    *packet.Book
	Program dataplane.Program
	Ports   []*tm.Port
	Now     unit.Time
}

// SwitchPosition selects the switch. Ports lead down first: at a leaf to its two hosts, in a tier above to Below.
type SwitchPosition struct {
	Tiers, Tier int
	Leaves      int
	Node        int     // number of a leaf; numbers of other switches follow the leaves'
	Below       [][]int // above the leaves: by port, the leaves that it leads down to
	Up          int     // ports to the tier above; all lead to every leaf that is not below
	Rates       []unit.LinkRate
	Framing     packet.Framing
}

// HostAddress returns the address of a host of a leaf, 0 or 1.
func HostAddress(leaf, i int) packet.Addr { return packet.Addr(2*leaf + i + 1) }

// NewSingleSwitch creates the switch at position w with one program of scheme s. params are the scheme's parameters as
// BuildProgram takes them. Ports without a rate have 10 Gb/s.
func NewSingleSwitch(s dataplane.Scheme, w SwitchPosition, params ...string) (*SingleSwitch, error) {
	place := &dataplane.TreePosition{Tiers: w.Tiers, Tier: w.Tier, Leaves: w.Leaves, Leaf: []int32{-1}}
	a := &SingleSwitch{Book: packet.NewBook()}
	nodes := 3*w.Leaves + 64
	for node := range nodes {
		a.Book.Add(netip.AddrFrom4([4]byte{10, 0, byte((node + 1) >> 8), byte(node + 1)}),
			netip.MustParseAddr(fmt.Sprintf("fd00::%x", node+1)))
		switch leaf := int32(-1); {
		case node < 2*w.Leaves:
			place.Leaf = append(place.Leaf, int32(node/2))
		case node < 3*w.Leaves:
			place.Leaf = append(place.Leaf, int32(node-2*w.Leaves))
		default:
			place.Leaf = append(place.Leaf, leaf)
		}
	}
	down := len(w.Below)
	if w.Tier == 1 {
		down = 2
	}
	var up []packet.PortID
	for i := range down + w.Up {
		if i < down {
			place.Down = append(place.Down, packet.PortID(i))
		} else {
			up = append(up, packet.PortID(i))
			place.Above = append(place.Above, 3*w.Leaves+i-down)
		}
	}
	place.Up = up
	paths := &packet.Paths{Class: make([]uint32, nodes+1), Via: []uint32{0, 1}, Sets: [][]packet.PortID{nil, up}}
	for i := range place.Down {
		paths.Via, paths.Sets = append(paths.Via, uint32(i+2)), append(paths.Sets, []packet.PortID{packet.PortID(i)})
	}
	for host := range 2 * w.Leaves {
		paths.Class[host+1] = 1
		if w.Tier == 1 && host/2 == w.Node {
			paths.Class[host+1] = uint32(host%2 + 2)
		}
		for port, leaves := range w.Below {
			for _, leaf := range leaves {
				if leaf == host/2 {
					paths.Class[host+1] = uint32(port + 2)
				}
			}
		}
	}
	site := &dataplane.Site{Switch: "s", ID: 2*w.Leaves + w.Node, Ports: down + w.Up, Book: a.Book,
		Routes: dataplane.HostRoutes(a.Book, paths), Framing: w.Framing,
		Place: func() (*dataplane.TreePosition, error) { return place, nil }, Random: func(e string) unit.Random {
			return unit.NewRandom(1, e)
		}}
	for i := range site.Ports {
		rate := unit.LinkRate{Bits: 10 * unit.Gbps}
		if i < len(w.Rates) {
			rate = w.Rates[i]
		}
		a.Ports = append(a.Ports, tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{}), tm.NewFIFO(), rate))
		site.Lines = append(site.Lines, dataplane.Line{Rate: rate})
	}
	site.At = a.Ports
	var err error
	if a.Program, err = BuildProgram(s, site, params...); err != nil {
		return nil, err
	}
	a.Switch, err = dataplane.New(dataplane.Config{Name: "s", ID: site.ID, Ports: a.Ports,
		Programs: []dataplane.Program{a.Program}, Pool: &a.Pool, Book: a.Book, Random: unit.NewRandom(1, "s")})
	return a, err
}

// Departed is a packet that has departed by a port. Its Data is not its own.
type Departed struct {
	Port packet.PortID
	packet.Packet
}

// NewPacket takes a data packet of size bytes from the pool, of a flow between two addresses, IPv4 and UDP, with flow
// as its source port.
func (a *SingleSwitch) NewPacket(src, dst packet.Addr, flow uint16, size int32) *packet.Packet {
	p := a.Pool.Get()
	p.Kind, p.Src, p.Dst, p.Version, p.HopLimit, p.SrcPort, p.Proto, p.Size = packet.Data, src, dst, 4, 64, flow,
		packet.ProtoUDP, size
	p.Hash = packet.FlowHash(src, dst, flow, 0, p.Proto)
	return p
}

// ReceivePacket sets the time to now, lets a packet arrive at a port now and returns the packets that depart then.
// Packets that depart by earlier ticks are not returned; call RunUntil before for these.
func (a *SingleSwitch) ReceivePacket(now unit.Time, port packet.PortID, p *packet.Packet) []Departed {
	a.RunUntil(now)
	a.Receive(now, port, p)
	return a.collectLeaving(now)
}

// RunUntil runs the program's ticks up to and including now, sets the time to now, and returns the packets that the
// ticks sent.
func (a *SingleSwitch) RunUntil(now unit.Time) (all []Departed) {
	for a.Wants().Timer <= now {
		a.Now = max(a.Now, a.Wants().Timer)
		a.Advance(a.Now)
		all = append(all, a.collectLeaving(a.Now)...)
	}
	a.Now = now
	return all
}

// collectLeaving empties the woken ports, returns copies of their packets, and frees these.
func (a *SingleSwitch) collectLeaving(now unit.Time) (all []Departed) {
	for {
		out, ok := a.Wants().NextWoken()
		if !ok {
			return all
		}
		for {
			p, _ := a.Dequeue(now, out)
			if p == nil {
				break
			}
			all = append(all, Departed{out, *p})
			a.Pool.Put(p)
		}
	}
}
