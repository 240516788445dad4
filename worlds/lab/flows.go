package lab

import (
	"fmt"

	"weir/core/fabric/observe"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// flowTable is the plane's state of the flows and of their packets.
type flowTable struct {
	table   []entry // open addressed, at most half full; its length is a power of two
	flows   []flowRecord
	delays  []unit.Histogram // by Flow.Group; nil: none are kept
	orders  []observe.Order  // by flow; nil: nobody asks
	notices outcome.Notices
	follow  bool // the notices
	part    part
}

// own reports whether a packet is of a flow between hosts of Weir's own.
func (s *flowTable) own(p *packet.Packet) bool {
	return int64(p.Flow) < int64(len(s.flows)) && s.flows[p.Flow].own
}

// part is a part of a run.
type part uint8

const (
	warming part = iota
	measuring
	over
)

// flowRecord is what was seen of one flow's data packets.
type flowRecord struct {
	src, dst int32              // nodes
	own      bool               // Flow.Own
	counters transport.Counters // received data packets and their delays
	before   transport.Counters // when the measured part began
}

// key is what names a flow in a packet that has been parsed.
type key struct {
	src, dst         packet.Addr
	srcPort, dstPort uint16
	version, proto   uint8
}

// entry is a slot of the table.
type entry struct {
	key
	flow int32 // 1 + number; 0: the slot is empty
}

// newFlowTable makes it of a configuration; nil if that has no flows.
func newFlowTable(c *Config) (*flowTable, error) {
	if len(c.Flows) == 0 {
		return nil, nil
	}
	size, keys := 8, 0
	for i := range c.Flows {
		keys += 2 * (1 + len(c.Flows[i].Ports)) // two directions each
	}
	for size < 2*keys {
		size *= 2
	}
	s := &flowTable{table: make([]entry, size), flows: make([]flowRecord, len(c.Flows)), follow: c.Notices}
	groups := 0
	for i := range c.Flows {
		f := &c.Flows[i]
		groups = max(groups, f.Group+1)
		x := &s.flows[i]
		x.src, x.dst, x.own, x.counters.DelayMin = int32(f.Src), int32(f.Dst), f.Own, unit.Never
		for _, port := range append([]uint16{f.SrcPort}, f.Ports...) {
			if err := s.add(c, i, port); err != nil {
				return nil, err
			}
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

// add enters a flow with one of its source ports.
func (s *flowTable) add(c *Config, flow int, port uint16) error {
	f := &c.Flows[flow]
	k := key{packet.Addr(f.Src + 1), packet.Addr(f.Dst + 1), port, f.DstPort, f.Version, f.Proto}
	for range 2 {
		if v4, v6 := c.Wiring.Hosts.V4(k.src), c.Wiring.Hosts.V6(k.src); f.Version == 4 && !v4.IsValid() ||
			f.Version == 6 && !v6.IsValid() {
			return fmt.Errorf("lab: flow %d: a host has no IPv%d address", flow, f.Version)
		}
		at, there := s.find(k, packet.FlowHash(k.src, k.dst, k.srcPort, k.dstPort, k.proto))
		if there {
			return fmt.Errorf("lab: flows %d and %d have the same addresses and ports", s.table[at].flow-1, flow)
		}
		s.table[at] = entry{k, int32(flow) + 1}
		k.src, k.dst, k.srcPort, k.dstPort = k.dst, k.src, k.dstPort, k.srcPort
	}
	return nil
}

// find returns the slot of a key with that hash, or the empty one where it would be.
func (s *flowTable) find(k key, hash uint32) (at int, there bool) {
	mask := len(s.table) - 1
	for at = int(hash) & mask; ; at = (at + 1) & mask {
		e := &s.table[at]
		if e.flow == 0 {
			return at, false
		}
		if e.key == k {
			return at, true
		}
	}
}

// flow is that of a packet that has been parsed; NoFlow: it belongs to none.
func (s *flowTable) flow(p *packet.Packet) packet.FlowID {
	at, there := s.find(key{p.Src, p.Dst, p.SrcPort, p.DstPort, p.Version, p.Proto}, p.Hash)
	if !there {
		return packet.NoFlow
	}
	return packet.FlowID(s.table[at].flow - 1)
}

// arrived records a packet that has reached a host.
func (s *flowTable) arrived(node int, now unit.Time, p *packet.Packet) {
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
func (s *flowTable) measure(p part) {
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
func (s *flowTable) report(r *Report) {
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
