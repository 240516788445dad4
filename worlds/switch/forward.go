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

// Limits of the addresses that a bridge learns (IEEE 802.1Q table 8-6: 300 s).
const (
	ageing  = 300 * unit.Second
	macSets = 512 // of macWays addresses each
	macWays = 8
)

// forward is the program "forward" of a bridge. With two ports, frames received at one depart at the other. With
// more it learns: a frame departs at the port of its destination in its VLAN, if known, else at all ports except
// its own. It forwards all frames, even those that bridges consume (BPDU, LLDP, pause frames), and has no spanning
// tree.
//
// A sender can forge another address. An address seen at several ports is therefore reachable at all of them until
// it has kept to one for the ageing time: a forger gets copies but takes no frame away. A sender with many
// addresses displaces its own only (findRoom).
type forward struct {
	ports int
	seed  uint64     // of hashes, so that senders cannot choose colliding addresses
	table []macEntry // nil with two ports
}

// macEntry is the state of an address.
type macEntry struct {
	key      uint64 // MAC address and VLAN; 0: empty
	lastSeen unit.Time
	moved    unit.Time     // when it appeared at another port
	home     packet.PortID // port before it moved
	port     packet.PortID // port where it was seen last
	ports    uint16        // bit set of ports at which it was seen since it kept to one
}

// isDisputed reports whether more than one port claims the address.
func (s *macEntry) isDisputed() bool { return s.ports&(s.ports-1) != 0 }

// forwardConfig has no parameters.
type forwardConfig struct{ scheme.None }

// Traits declares that the program chooses the egress port.
func (*forwardConfig) Traits() dataplane.Traits { return dataplane.Traits{Forwards: true} }

// forwardScheme returns the scheme named by a file: switch: [forward, …].
func forwardScheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "forward", Doc: "forwarding as a bridge: between two ports from one " +
		"to the other, between more ports by MAC address", Source: "IEEE 802.1Q §8.6"},
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

// Adopt takes over the addresses that another instance has learned, with the same number of ports. kept describes
// them; it is empty for another program.
func (f *forward) Adopt(_ unit.Time, other dataplane.Program) (kept string, lost []string) {
	old, ok := other.(*forward)
	if !ok {
		return "", nil
	}
	copy(f.table, old.table)
	f.seed = old.seed
	return "the learned addresses", nil
}

// Name returns "forward".
func (f *forward) Name() string { return "forward" }

// Ingress chooses the egress port, Meta.Out, and replicates frames for several. With more than two ports it also learns
// the sender's address. It drops packets without a port or a frame, and consumes frames with both ends at one port.
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
	to, from := macKey(p.Data, vlan), macKey(p.Data[6:], vlan)
	if p.Data[6]&1 == 0 { // group addresses are no senders
		f.learnAddress(env.Now(), from, m.In)
	}
	places := ^uint16(0)
	if p.Data[0]&1 == 0 {
		if s := f.findEntry(to); s != nil && env.Now()-s.lastSeen < ageing {
			places = s.ports
		}
	}
	m.Out = packet.NoPort
	for out := range packet.PortID(f.ports) {
		switch {
		case out == m.In || places>>out&1 == 0:
		case m.Out == packet.NoPort:
			m.Out = out
		default:
			env.ReplicateTo(out)
		}
	}
	if m.Out == packet.NoPort {
		return dataplane.Consume // both ends are at the same port
	}
	return dataplane.Accept
}

// macKey returns the key of the MAC address at the start of b in a VLAN of 12 bits.
func macKey(b []byte, vlan uint64) uint64 {
	return uint64(binary.BigEndian.Uint32(b))<<32 | uint64(binary.BigEndian.Uint16(b[4:]))<<16 | vlan
}

// macSet returns the set of the table that may hold a key.
func (f *forward) macSet(key uint64) []macEntry {
	first := frames.Hash(key, f.seed) % macSets * macWays
	return f.table[first : first+macWays]
}

// findEntry returns the entry of an address, nil if it is unknown. The entry may have aged out.
func (f *forward) findEntry(key uint64) *macEntry {
	set := f.macSet(key)
	for i := range set {
		if set[i].key == key {
			return &set[i]
		}
	}
	return nil
}

// learnAddress records in the table that an address (macKey) was seen at a port at now. An address that was silent for
// ageing starts again.
func (f *forward) learnAddress(now unit.Time, key uint64, port packet.PortID) {
	s := f.findEntry(key)
	if s == nil || now-s.lastSeen >= ageing {
		if s == nil {
			s = f.findRoom(now, key, port)
		}
		*s = macEntry{key: key, home: port, port: port, ports: 1 << port}
	}
	s.lastSeen = now
	switch {
	case s.port != port:
		s.moved, s.port = now, port
		s.ports |= 1 << port
	case s.isDisputed() && now-s.moved >= ageing:
		s.home, s.ports = port, 1<<port
	}
}

// findRoom returns an entry for a new address at a port: an empty one, one that has aged out, or the port's own
// entry that was silent longest. A sender with ever new addresses thus displaces only its own port's. A port
// without an entry in the set takes one from the port with the largest number.
func (f *forward) findRoom(now unit.Time, key uint64, port packet.PortID) *macEntry {
	set := f.macSet(key)
	var count [control.MaxPorts]int
	largest := port
	for i := range set {
		s := &set[i]
		if s.key == 0 || now-s.lastSeen >= ageing {
			return s
		}
		if count[s.home]++; count[s.home] > count[largest] {
			largest = s.home
		}
	}
	if count[port] > 0 {
		largest = port
	}
	var oldest *macEntry
	for i := range set {
		if s := &set[i]; s.home == largest && (oldest == nil || s.lastSeen < oldest.lastSeen) {
			oldest = s
		}
	}
	return oldest
}
