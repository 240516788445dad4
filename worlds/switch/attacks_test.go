package softswitch

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"weir/core/packet"
	"weir/core/unit"
)

// Attack is traffic of an attacker who wants more of a link than a user's part, without detection.
type Attack struct {
	Name  string
	Frame func(i int) []byte // the frame with this number
	// On and Off are for how long it sends in turn; 0: it does not stop.
	On, Off unit.Time
	// Many: it has many users' worth of addresses and keeps to them, so only names help against it.
	Many bool
	// Third marks an attack for a bridge with more than two ports, where the attacker has a separate port.
	Third bool
	// Second: it has another port, too, and sends from both in turn.
	Second bool
}

// AttackRate is the sending rate of an attacker.
const AttackRate = 80 * unit.Mbps

// Victim and Receiver are the ends of the TCP flow under attack. Attackers send to the receiver's station from
// another station.
var (
	Victim   = netip.MustParseAddr("10.9.0.1")
	Receiver = netip.MustParseAddr("10.9.0.2")
)

const fullPayload = 1500

// craft builds a frame to the receiver, from the parts after the addresses.
func craft(parts ...[]byte) []byte {
	f := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 9}
	for _, p := range parts {
		f = append(f, p...)
	}
	for len(f) < shortestFrame {
		f = append(f, 0)
	}
	return f
}

func short(x uint16) []byte { return binary.BigEndian.AppendUint16(nil, x) }

// ip4 returns a packet of IPv4 of the given size, which change may damage.
func ip4(src uint32, proto uint8, size int, change func(h []byte)) []byte {
	h := make([]byte, size)
	to := Receiver.As4()
	h[0], h[8], h[9] = 0x45, 64, proto
	binary.BigEndian.PutUint16(h[2:], uint16(size))
	binary.BigEndian.PutUint32(h[12:], src)
	copy(h[16:], to[:])
	if proto == packet.ProtoUDP && size >= 28 {
		copy(h[20:], []byte{16, 0, 0, 7, byte((size - 20) >> 8), byte(size - 20), 0, 0})
	}
	if change != nil {
		change(h)
	}
	binary.BigEndian.PutUint16(h[10:], 0)
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(h[i:]))
	}
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(h[10:], ^uint16(sum+sum>>16))
	return craft(short(packet.EtherIPv4), h)
}

// ip6 returns a packet of IPv6 of the given size, with the bytes after its header.
func ip6(subnet, host uint64, next, hops uint8, size int, rest ...byte) []byte {
	h := make([]byte, size)
	h[0], h[6], h[7] = 0x60, next, hops
	binary.BigEndian.PutUint16(h[4:], uint16(size-packet.IPv6Header))
	binary.BigEndian.PutUint64(h[8:], subnet)
	binary.BigEndian.PutUint64(h[16:], host)
	to := netip.MustParseAddr("fd09::2").As16()
	copy(h[24:], to[:])
	copy(h[40:], rest)
	return craft(short(packet.EtherIPv6), h)
}

const (
	attacker4 = 10<<24 | 9<<16 | 9
	attacker6 = 0x20010db8_00000000
)

// scatter maps numbers to other numbers, without duplicates.
func scatter(i int) uint64 { return uint64(i+1) * 0x9e3779b97f4a7c15 }

// Attacks returns all known attacks.
func Attacks() []Attack {
	return slices.Concat(malformed(), foreign(), rotations(), smuggled(), stolen())
}

// malformed returns frames with wrong headers.
func malformed() []Attack {
	return []Attack{
		{Name: "UDP", Frame: func(int) []byte { return ip4(attacker4, 17, fullPayload, nil) }},
		{Name: "IPv4 longer than its frame", Frame: func(int) []byte {
			return ip4(attacker4, 17, fullPayload, func(h []byte) { binary.BigEndian.PutUint16(h[2:], fullPayload+1) })
		}},
		{Name: "IPv4 shorter than its frame", Frame: func(int) []byte {
			return ip4(attacker4, 17, fullPayload, func(h []byte) { binary.BigEndian.PutUint16(h[2:], fullPayload-1) })
		}},
		{Name: "IPv4 with a header of 4 bytes", Frame: func(int) []byte {
			return ip4(attacker4, 17, fullPayload, func(h []byte) { h[0] = 0x41 })
		}},
		{Name: "IPv4 with a header longer than it is", Frame: func(int) []byte {
			return ip4(attacker4, 17, 40, func(h []byte) { h[0] = 0x4f })
		}},
		{Name: "IP version 5", Frame: func(int) []byte {
			return ip4(attacker4, 17, fullPayload, func(h []byte) { h[0] = 0x55 })
		}},
	}
}

// foreign returns frames that belong to no user, or look as if they did.
func foreign() []Attack {
	return []Attack{
		{Name: "solicitations of 1500 bytes, hop limit 64", Frame: func(int) []byte {
			return ip6(attacker6, 1, packet.ProtoICMPv6, 64, fullPayload, 135)
		}},
		{Name: "solicitations of 1500 bytes, hop limit 255", Frame: func(int) []byte {
			return ip6(attacker6, 1, packet.ProtoICMPv6, 255, fullPayload, 135)
		}},
		{Name: "solicitations of 500 bytes, hop limit 255", Frame: func(int) []byte {
			return ip6(attacker6, 1, packet.ProtoICMPv6, 255, 486, 135)
		}},
		{Name: "small solicitations, hop limit 255", Frame: func(i int) []byte {
			return ip6(0xfe80<<48, scatter(i), packet.ProtoICMPv6, 255, 72, 135)
		}},
		{Name: "ARP", Frame: func(i int) []byte {
			return craft(short(etherARP), []byte{0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 9, 10, 99, byte(i >> 8), byte(i),
				0, 0, 0, 0, 0, 0, 10, 99, 0, 1}) // of no host here, whose neighbours it would change
		}},
		{Name: "ARP of 1500 bytes", Frame: func(int) []byte {
			return craft(short(etherARP), []byte{0, 1, 8, 0, 6, 4, 0, 1}, make([]byte, fullPayload-8))
		}},
		{Name: "Ethernet type 0x88b5", Frame: func(int) []byte { return craft(short(0x88b5), make([]byte, fullPayload)) }},
		{Name: "three tags", Frame: func(i int) []byte {
			tag := func(kind uint16, n int) []byte { return append(short(kind), byte(n>>8)&0xf, byte(n)) }
			return craft(tag(etherService, i), tag(etherVLAN, i/7), tag(etherVLAN, i/3),
				ip4(attacker4, 17, fullPayload-8, nil)[12:])
		}},
	}
}

// rotations returns attacks with users that change, are numerous, or hide.
func rotations() []Attack {
	udp6 := []byte{16, 0, 0, 7, 5, 180, 0, 0}
	return []Attack{
		{Name: "changing tags below one", Frame: func(i int) []byte {
			return craft(short(etherService), []byte{0, 6}, short(etherVLAN), []byte{byte(i>>8) & 0xf, byte(i)},
				ip4(attacker4, 17, fullPayload-4, nil)[12:])
		}},
		{Name: "changing tags", Frame: func(i int) []byte {
			return craft(short(etherVLAN), []byte{byte(i>>8) & 0xf, byte(i)}, ip4(attacker4, 17, fullPayload, nil)[12:])
		}},
		{Name: "sources within a /64", Frame: func(i int) []byte {
			return ip6(attacker6, scatter(i), packet.ProtoUDP, 64, fullPayload, udp6...)
		}},
		{Name: "sources of changing /64s", Frame: func(i int) []byte {
			return ip6(attacker6|scatter(i)>>32, 1, packet.ProtoUDP, 64, fullPayload, udp6...)
		}},
		{Name: "changing sources of IPv4", Frame: func(i int) []byte {
			return ip4(uint32(scatter(i)>>40)|172<<24, 17, fullPayload, nil)
		}},
		{Name: "1000 sources at once", Many: true, Frame: func(i int) []byte {
			return ip4(172<<24|uint32(i%1000), 17, fullPayload, nil)
		}},
		{Name: "idle, then a burst", On: 500 * unit.Millisecond, Off: 1500 * unit.Millisecond,
			Frame: func(int) []byte { return ip4(attacker4, 17, fullPayload, nil) }},
		{Name: "bursts of 100 ms", On: 100 * unit.Millisecond, Off: 400 * unit.Millisecond,
			Frame: func(int) []byte { return ip4(attacker4, 17, fullPayload, nil) }},
		{Name: "fragments of IPv4", Frame: func(i int) []byte {
			return ip4(attacker4, 17, fullPayload, func(h []byte) {
				binary.BigEndian.PutUint16(h[4:], uint16(i))
				binary.BigEndian.PutUint16(h[6:], 0x2000|uint16(i%8)*185)
			})
		}},
		{Name: "fragments of IPv6", Frame: func(i int) []byte {
			return ip6(attacker6, scatter(i), fragmented, 255, fullPayload, packet.ProtoICMPv6, 0, 0, 1, 0, 0, 0, byte(i), 135)
		}},
		{Name: "solicitations behind a hop-by-hop header", Frame: func(int) []byte {
			return ip6(attacker6, 1, hopByHop, 255, 72, packet.ProtoICMPv6, 0, 5, 2, 0, 0, 1, 0, 135)
		}},
		{Name: "forged marks", Frame: func(int) []byte {
			// a mark of the lowest activity, as a core would read it
			return ip4(attacker4, 253, fullPayload, func(h []byte) {
				copy(h[20:], []byte{17, 8, 0x38, 4, 0xff, 0x7f, 0xff, 0xff})
			})
		}},
	}
}

// smuggled returns frames with headers that an operator may not expect, and attacks of users that are no longer
// new.
func smuggled() []Attack {
	udp := func(size int) []byte { return ip4(attacker4, 17, size, nil)[12:] }
	session := func(kind uint16, protocol ...byte) []byte {
		return append(append(short(kind), 0x11, 0, 0, 7, 5, 180), protocol...)
	}
	return []Attack{
		{Name: "PPPoE session", Frame: func(i int) []byte {
			return craft(session(etherPPPoE, 0, pppIPv4), ip4(uint32(scatter(i)>>40)|172<<24, 17, fullPayload-8, nil)[14:])
		}},
		{Name: "PPPoE session of LCP", Frame: func(int) []byte {
			return craft(session(etherPPPoE, 0xc0, 0x21), make([]byte, fullPayload-8))
		}},
		{Name: "PPPoE discovery", Frame: func(int) []byte { return craft(session(0x8863), make([]byte, fullPayload-6)) }},
		{Name: "priority tags", Frame: func(i int) []byte {
			return craft(short(etherVLAN), []byte{byte(i) << 5, 0}, udp(fullPayload))
		}},
		{Name: "small UDP", Frame: func(int) []byte { return ip4(attacker4, 17, 46, nil) }},
		{Name: "sources that change each 2 s", Frame: func(i int) []byte { // 6605 frames a second
			return ip4(172<<24|uint32(i/13210), 17, fullPayload, nil)
		}},
		{Name: "broadcast of IP", Frame: func(int) []byte {
			f := ip4(attacker4, 17, fullPayload, func(h []byte) { copy(h[16:], []byte{255, 255, 255, 255}) })
			copy(f, []byte{255, 255, 255, 255, 255, 255})
			return f
		}},
	}
}

// stolen returns attacks on the learned addresses of a bridge, from a separate port of the attacker.
func stolen() []Attack {
	receiver, victim := []byte{2, 0, 0, 0, 0, 2}, []byte{2, 0, 0, 0, 0, 1}
	with := func(to byte, source []byte) []byte {
		f := ip4(attacker4, 17, fullPayload, nil)
		copy(f, []byte{to, to, to, to, to, to})
		copy(f[6:], source)
		return f
	}
	flood := func(i int) []byte {
		x := scatter(i)
		return with(0xff, []byte{2, 1, byte(x >> 56), byte(x >> 48), byte(x >> 40), byte(x >> 32)})
	}
	return []Attack{
		{Name: "broadcasts with the receiver's MAC address", Third: true,
			Frame: func(int) []byte { return with(0xff, receiver) }},
		{Name: "broadcasts with the victim's MAC address", Third: true, Frame: func(int) []byte {
			return with(0xff, victim)
		}},
		{Name: "few frames with the receiver's MAC address", Third: true, On: 2 * unit.Millisecond, Off: unit.Second,
			Frame: func(int) []byte { return with(0xff, receiver) }},
		{Name: "frames to the receiver with its MAC address", Third: true, Second: true, Frame: func(int) []byte {
			f := with(0, receiver)
			copy(f, receiver)
			return f
		}},
		{Name: "ever new MAC addresses", Third: true, Frame: flood},
		{Name: "ever new MAC addresses, and the receiver's", Third: true, Second: true, Frame: func(i int) []byte {
			if i%50 < 2 {
				return with(0xff, receiver)
			}
			return flood(i)
		}},
		{Name: "two ports", Third: true, Second: true, Frame: func(int) []byte {
			return ip4(attacker4, 17, fullPayload, nil)
		}},
	}
}
