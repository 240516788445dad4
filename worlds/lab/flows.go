package lab

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"weir/core/fabric/observe"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// seen is what the plane knows of the flows, and notes of their packets.
type seen struct {
	table   []entry // open addressed, at most half full; its length is a power of two
	flows   []flowSeen
	delays  []unit.Histogram // by Flow.Group; nil: none are kept
	orders  []observe.Order  // by flow; nil: nobody asks
	notices observe.Notices
	follow  bool // the notices
	part    part
}

// part is a part of a run.
type part uint8

const (
	warming part = iota
	measuring
	over
)

// flowSeen is what was seen of one flow's data packets.
type flowSeen struct {
	src, dst int32              // nodes
	counters transport.Counters // received data packets and their delays
	before   transport.Counters // when the measured part began
}

// key is what names a flow in a frame.
type key struct {
	addresses [4]uint64 // source and destination as in the header; IPv4: in the first
	rest      uint64    // ports as in the header, version, protocol: one word, so that keys compare as memory
}

func restOf(ports uint32, version, proto uint8) uint64 {
	return uint64(ports)<<16 | uint64(version)<<8 | uint64(proto)
}

// entry is a slot of the table.
type entry struct {
	key
	flow     int32 // 1 + number; 0: the slot is empty
	src, dst packet.Addr
}

// slot is where the search for a key begins: every bit of it moves the upper ones.
func (k *key) slot(size int) int {
	h := (k.addresses[0] ^ k.rest) * 0x9e3779b97f4a7c15
	if k.rest>>8&0xff == 6 {
		h = (h ^ h>>32 ^ k.addresses[1]) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>32 ^ k.addresses[2]) * 0x94d049bb133111eb
		h = (h ^ h>>32 ^ k.addresses[3]) * 0x9e3779b97f4a7c15
	}
	return int((h ^ h>>32) * 0xd6e8feb86659fd93 >> (64 - bits.TrailingZeros(uint(size))))
}

// newSeen makes it of a configuration; nil if that has no flows.
func newSeen(c *Config) (*seen, error) {
	if len(c.Flows) == 0 {
		return nil, nil
	}
	size := 8
	for size < 4*len(c.Flows) { // two directions each
		size *= 2
	}
	s := &seen{table: make([]entry, size), flows: make([]flowSeen, len(c.Flows)), follow: c.Notices}
	groups := 0
	for i := range c.Flows {
		f := &c.Flows[i]
		groups = max(groups, f.Group+1)
		x := &s.flows[i]
		x.src, x.dst, x.counters.DelayMin = int32(f.Src), int32(f.Dst), unit.Never
		if f.Proto == 0 {
			continue
		}
		for _, back := range []bool{false, true} {
			e := entry{flow: int32(i) + 1, src: packet.Addr(f.Src + 1), dst: packet.Addr(f.Dst + 1)}
			from, to := f.SrcPort, f.DstPort
			if back {
				e.src, e.dst, from, to = e.dst, e.src, to, from
			}
			var head []byte // the addresses as in a header
			if f.Version == 4 {
				src, dst := c.Hosts.V4(e.src), c.Hosts.V4(e.dst)
				if !src.IsValid() || !dst.IsValid() {
					return nil, fmt.Errorf("lab: flow %d: a host has no IPv4 address", i)
				}
				head = append(src.AsSlice(), dst.AsSlice()...)
			} else {
				src, dst := c.Hosts.V6(e.src), c.Hosts.V6(e.dst)
				if !src.IsValid() || !dst.IsValid() {
					return nil, fmt.Errorf("lab: flow %d: a host has no IPv6 address", i)
				}
				head = append(src.AsSlice(), dst.AsSlice()...)
			}
			for k := range len(head) / 8 {
				e.addresses[k] = binary.BigEndian.Uint64(head[8*k:])
			}
			e.rest = restOf(uint32(from)<<16|uint32(to), f.Version, f.Proto)
			at, there := s.find(&e.key)
			if there {
				return nil, fmt.Errorf("lab: flows %d and %d have the same addresses and ports", s.table[at].flow-1, i)
			}
			s.table[at] = e
		}
	}
	if c.Delays {
		s.delays = make([]unit.Histogram, groups)
		for i := range s.delays { // room for all that will come
			s.delays[i].Add(1000 * unit.Second)
			s.delays[i].Reset()
		}
		for i := range s.flows {
			s.flows[i].counters.Delays = &s.delays[c.Flows[i].Group]
		}
	}
	if c.Ordering {
		s.orders = make([]observe.Order, len(c.Flows))
	}
	return s, nil
}

// find returns the slot of a key, or the empty one where it would be.
func (s *seen) find(k *key) (at int, there bool) {
	for at = k.slot(len(s.table)); ; at = (at + 1) & (len(s.table) - 1) {
		e := &s.table[at]
		if e.flow == 0 {
			return at, false
		}
		if e.key == *k {
			return at, true
		}
	}
}

// identify says of a packet that has just come from a host which flow it belongs to, and what
// links want to know of it; switches parse it themselves. A packet of none has NoFlow.
func (s *seen) identify(p *packet.Packet) {
	p.Flow = packet.NoFlow
	var k key
	ip := p.Data[packet.EthernetHeader:]
	var segment []byte
	switch be := binary.BigEndian; {
	case len(ip) >= packet.IPv4Header && ip[0]>>4 == 4 && p.Data[12] == 0x08:
		header, total := int(ip[0]&15)*4, int(be.Uint16(ip[2:]))
		// damaged, or a fragment
		if header < packet.IPv4Header || total < header || total > len(ip) || be.Uint16(ip[6:])&0x3fff != 0 {
			return
		}
		p.Version, p.Proto, p.TOS = 4, ip[9], ip[1]
		k.addresses[0] = be.Uint64(ip[12:])
		segment = ip[header:total]
	case len(ip) >= packet.IPv6Header && ip[0]>>4 == 6 && p.Data[12] == 0x86:
		length := int(be.Uint16(ip[4:]))
		if packet.IPv6Header+length > len(ip) {
			return
		}
		p.Version, p.Proto, p.TOS = 6, ip[6], ip[0]<<4|ip[1]>>4
		for i := range k.addresses {
			k.addresses[i] = be.Uint64(ip[8+8*i:])
		}
		segment = ip[packet.IPv6Header : packet.IPv6Header+length]
	default:
		return
	}
	p.Kind, p.Payload = packet.Data, int32(len(segment))
	switch {
	case p.Proto == packet.ProtoTCP && len(segment) >= packet.TCPHeader:
		if p.Payload -= int32(segment[12]>>4) * 4; p.Payload <= 0 {
			p.Kind, p.Payload = packet.Ack, 0
		}
	case p.Proto == packet.ProtoUDP && len(segment) >= packet.UDPHeader:
		p.Payload -= packet.UDPHeader
	default:
		return
	}
	ports := binary.BigEndian.Uint32(segment)
	k.rest = restOf(ports, p.Version, p.Proto)
	if at, there := s.find(&k); there {
		e := &s.table[at]
		p.Flow, p.Src, p.Dst, p.SrcPort, p.DstPort = packet.FlowID(e.flow-1), e.src, e.dst, uint16(ports>>16), uint16(ports)
	}
}

// arrived is told of a packet that has come to a host.
func (s *seen) arrived(node int, now unit.Time, p *packet.Packet) {
	if s.part == over || int64(p.Flow) >= int64(len(s.flows)) {
		return
	}
	f := &s.flows[p.Flow]
	switch int32(node) {
	case f.dst:
		if p.Kind != packet.Data || p.Meta.Flags&(packet.Trimmed|packet.Internal) != 0 {
			return
		}
		f.counters.ReceivedPackets++
		f.counters.ReceivedBytes += unit.Bytes(p.Payload)
		f.counters.Delay(now - p.Sent)
		if s.orders != nil && p.Payload > 0 {
			s.orders[p.Flow].Saw(p.Sent, s.part == measuring)
		}
	case f.src:
		if s.follow && s.part == measuring && observe.IsNotice(p) {
			s.notices.Arrived(now - p.Sent)
		}
	}
}

// measure begins the measured part, or ends it.
func (s *seen) measure(p part) {
	if s.part = p; p != measuring {
		return
	}
	for i := range s.delays {
		s.delays[i].Reset()
	}
	for i := range s.flows {
		f := &s.flows[i]
		f.counters.DelayMin, f.counters.DelayMax = unit.Never, 0
		f.before = f.counters
	}
}

// report adds what was seen to a report.
func (s *seen) report(r *Report) {
	r.Delays = s.delays
	for i := range s.flows {
		c, b := &s.flows[i].counters, &s.flows[i].before
		f := FlowCounts{
			Packets: c.ReceivedPackets - b.ReceivedPackets, Bytes: c.ReceivedBytes - b.ReceivedBytes,
			DelaySum: c.DelaySum - b.DelaySum, DelayMin: c.DelayMin, DelayMax: c.DelayMax, Jitter: c.Jitter,
		}
		if s.orders != nil {
			f.Reordering = s.orders[i].Reordering
		}
		r.Flows = append(r.Flows, f)
	}
	r.Notices = s.notices
}
