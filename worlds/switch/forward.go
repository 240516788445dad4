package softswitch

import (
	"encoding/binary"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/worlds/switch/control"
	"weir/worlds/switch/frames"
)

// Bounds of the addresses that a bridge learns (IEEE 802.1Q table 8-6: 300 s).
const (
	ageing  = 300 * unit.Second
	macSets = 512 // of macWays addresses
	macWays = 8
)

// forward is the program "forward" of a bridge. With two ports, what comes in at one leaves by
// the other, whatever its addresses. With more it learns: a frame leaves by the port behind
// which its destination was seen, in its VLAN, and otherwise by all ports but its own. It
// forwards everything, even what bridges keep to themselves (BPDU, LLDP, pause frames), and has
// no spanning tree.
//
// Anybody can send with somebody else's address. So an address that was seen at several ports is
// behind all of them until it has kept to one for the time of ageing: a sender that claims it gets copies,
// and takes no frame away. A sender with many addresses displaces only its own (room).
type forward struct {
	ports int
	seed  uint64     // of hashes, lest senders choose addresses that collide
	table []macEntry // nil for two ports
}

// macEntry is where an address was seen.
type macEntry struct {
	key      uint64 // MAC address and VLAN; 0: nothing
	lastSeen unit.Time
	moved    unit.Time     // when it came to another port
	home     packet.PortID // where it was before it moved
	port     packet.PortID // where it was seen last
	places   uint16        // bit set: ports at which it was seen since it stayed at one
}

// disputed reports whether more than one port claims the address.
func (s *macEntry) disputed() bool { return s.places&(s.places-1) != 0 }

// forwardConfig has no parameters.
type forwardConfig struct{ scheme.None }

// Traits returns that the program chooses the egress port.
func (*forwardConfig) Traits() dataplane.Traits { return dataplane.Traits{Forwards: true} }

// forwardScheme returns the scheme that a file names: switch: [forward, …].
func forwardScheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "forward", Doc: "forwarding as a bridge: from one of two ports to the " +
		"other, between more by MAC address", Source: "IEEE 802.1Q §8.6"},
		func(site *dataplane.Site, _ forwardConfig) (*forward, error) {
			f := &forward{ports: site.Ports}
			if site.Ports > 2 {
				random := site.Random("addresses")
				f.seed = random.Uint64()
				f.table = make([]macEntry, macSets*macWays)
			}
			return f, nil
		})
}

// Adopt takes over the addresses that the program has learned so far.
func (f *forward) Adopt(_ unit.Time, other dataplane.Program) (kept string, lost []string) {
	old, ok := other.(*forward)
	if !ok {
		return "", nil
	}
	copy(f.table, old.table)
	f.seed = old.seed
	return "what it has learned", nil
}

// Name is "forward".
func (f *forward) Name() string { return "forward" }

// Ingress chooses the egress port, and has copies made of what leaves by several.
func (f *forward) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	if int(m.In) >= f.ports || p.Data == nil {
		return dataplane.Drop(dataplane.NoRoute)
	}
	if f.table == nil {
		m.Out = 1 - m.In
		return dataplane.Accept
	}
	vlan := uint64(frames.OuterVLAN(p.Data))
	to, from := address(p.Data, vlan), address(p.Data[6:], vlan)
	if p.Data[6]&1 == 0 { // a group address sends nothing
		f.learn(env.Now(), from, m.In)
	}
	places := ^uint16(0)
	if p.Data[0]&1 == 0 {
		if s := f.find(to); s != nil && env.Now()-s.lastSeen < ageing {
			places = s.places
		}
	}
	m.Out = packet.NoPort
	for out := range packet.PortID(f.ports) {
		switch {
		case out == m.In || places>>out&1 == 0:
		case m.Out == packet.NoPort:
			m.Out = out
		default:
			env.Replicate(out)
		}
	}
	if m.Out == packet.NoPort {
		return dataplane.Consume // both are on one side
	}
	return dataplane.Accept
}

// address is the key of the MAC address that b begins with.
func address(b []byte, vlan uint64) uint64 {
	return uint64(binary.BigEndian.Uint32(b))<<32 | uint64(binary.BigEndian.Uint16(b[4:]))<<16 | vlan
}

func (f *forward) set(key uint64) []macEntry {
	first := frames.Hash(key, f.seed) % macSets * macWays
	return f.table[first : first+macWays]
}

// find returns where an address was seen, nil if nowhere.
func (f *forward) find(key uint64) *macEntry {
	set := f.set(key)
	for i := range set {
		if set[i].key == key {
			return &set[i]
		}
	}
	return nil
}

// learn notes that an address was seen at a port.
func (f *forward) learn(now unit.Time, key uint64, port packet.PortID) {
	s := f.find(key)
	if s == nil || now-s.lastSeen >= ageing {
		if s == nil {
			s = f.room(now, key, port)
		}
		*s = macEntry{key: key, home: port, port: port, places: 1 << port}
	}
	s.lastSeen = now
	switch {
	case s.port != port:
		s.moved, s.port = now, port
		s.places |= 1 << port
	case s.disputed() && now-s.moved >= ageing:
		s.home, s.places = port, 1<<port
	}
}

// room finds a place for an address that was seen at a port: an empty one, one whose address is too old, or that of
// the address of the same port that was silent longest. So who sends with ever new addresses displaces own ones
// and nobody else's. A port that has no address in the set takes one from the port that has most.
func (f *forward) room(now unit.Time, key uint64, port packet.PortID) *macEntry {
	set := f.set(key)
	var of [control.MaxPorts]int
	most := port
	for i := range set {
		s := &set[i]
		if s.key == 0 || now-s.lastSeen >= ageing {
			return s
		}
		if of[s.home]++; of[s.home] > of[most] {
			most = s.home
		}
	}
	if of[port] > 0 {
		most = port
	}
	var oldest *macEntry
	for i := range set {
		if s := &set[i]; s.home == most && (oldest == nil || s.lastSeen < oldest.lastSeen) {
			oldest = s
		}
	}
	return oldest
}
