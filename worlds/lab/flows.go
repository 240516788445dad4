package lab

import (
	"fmt"

	"weir/core/fabric/observe"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// flowTable identifies packets of flows and counts them.
type flowTable struct {
	table        []flowEntry // open addressed, at most half full; its length is a power of two
	flows        []flowRecord
	delays       []unit.Histogram       // by Flow.Group; nil: not requested
	orders       []observe.OrderTracker // by flow; nil: not requested
	notices      outcome.Notices
	countNotices bool // count notices
	part         runPart
}

// isOwn reports whether a packet belongs to a flow between Weir's own hosts.
func (s *flowTable) isOwn(p *packet.Packet) bool {
	return int64(p.Flow) < int64(len(s.flows)) && s.flows[p.Flow].isOwn
}

// runPart is a part of a run.
type runPart uint8

const (
	warming runPart = iota
	measuring
	over
)

// flowRecord counts a flow's data packets.
type flowRecord struct {
	src, dst int32              // nodes
	isOwn    bool               // Flow.Own
	counters transport.Counters // received data packets and their delays
	before   transport.Counters // counters at the start of the measured part
}

// flowKey identifies the flow of a parsed packet.
type flowKey struct {
	src, dst         packet.Addr
	srcPort, dstPort uint16
	version, proto   uint8
}

// flowEntry is a slot of the table.
type flowEntry struct {
	flowKey
	flow int32 // 1 + number; 0: the slot is empty
}

// newFlowTable builds the table of a configuration, nil without flows. It fails if two flows have the same addresses
// and ports, or if a host lacks an address of its flow's version.
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
	s := &flowTable{table: make([]flowEntry, size), flows: make([]flowRecord, len(c.Flows)), countNotices: c.Notices}
	groups := 0
	for i := range c.Flows {
		f := &c.Flows[i]
		groups = max(groups, f.Group+1)
		x := &s.flows[i]
		x.src, x.dst, x.isOwn, x.counters.DelayMin = int32(f.Src), int32(f.Dst), f.Own, unit.Never
		for _, port := range append([]uint16{f.SrcPort}, f.Ports...) {
			if err := s.addFlow(c, i, port); err != nil {
				return nil, err
			}
		}
	}
	if c.Delays {
		s.delays = make([]unit.Histogram, groups)
		for i := range s.delays { // allocate for all later samples
			s.delays[i].Add(1000 * unit.Second)
			s.delays[i].Reset()
		}
		for i := range s.flows {
			s.flows[i].counters.Delays = &s.delays[c.Flows[i].Group]
		}
	}
	if c.Ordering {
		s.orders = make([]observe.OrderTracker, len(c.Flows))
	}
	return s, nil
}

// addFlow enters both directions of a flow with one of its source ports. It fails if another flow has the same key, or
// if a host lacks an address of the flow's version; then one direction may be entered.
func (s *flowTable) addFlow(c *Config, flow int, port uint16) error {
	f := &c.Flows[flow]
	k := flowKey{packet.Addr(f.Src + 1), packet.Addr(f.Dst + 1), port, f.DstPort, f.Version, f.Proto}
	for range 2 {
		if v4, v6 := c.Wiring.Hosts.V4(k.src), c.Wiring.Hosts.V6(k.src); f.Version == 4 && !v4.IsValid() ||
			f.Version == 6 && !v6.IsValid() {
			return fmt.Errorf("lab: flow %d: a host has no IPv%d address", flow, f.Version)
		}
		slot, exists := s.findSlot(k, packet.FlowHash(k.src, k.dst, k.srcPort, k.dstPort, k.proto))
		if exists {
			return fmt.Errorf("lab: flows %d and %d have the same addresses and ports", s.table[slot].flow-1, flow)
		}
		s.table[slot] = flowEntry{k, int32(flow) + 1}
		k.src, k.dst, k.srcPort, k.dstPort = k.dst, k.src, k.dstPort, k.srcPort
	}
	return nil
}

// findSlot returns the slot of a key with the given hash, or the empty slot for it. The table must have an empty slot.
func (s *flowTable) findSlot(k flowKey, hash uint32) (slot int, exists bool) {
	mask := len(s.table) - 1
	for slot = int(hash) & mask; ; slot = (slot + 1) & mask {
		e := &s.table[slot]
		if e.flow == 0 {
			return slot, false
		}
		if e.flowKey == k {
			return slot, true
		}
	}
}

// identifyFlow returns the flow of a parsed packet by addresses, ports, version, protocol and hash; NoFlow if it has
// none.
func (s *flowTable) identifyFlow(p *packet.Packet) packet.FlowID {
	slot, exists := s.findSlot(flowKey{p.Src, p.Dst, p.SrcPort, p.DstPort, p.Version, p.Proto}, p.Hash)
	if !exists {
		return packet.NoFlow
	}
	return packet.FlowID(s.table[slot].flow - 1)
}

// recordArrival counts a packet that has reached the host of a node at now: data of a flow at its destination, with its
// delay since p.Sent, and notices at its source. Trimmed packets do not count, nor do packets after the measured part.
func (s *flowTable) recordArrival(node int, now unit.Time, p *packet.Packet) {
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
		f.counters.AddDelay(now - p.Sent)
		if s.orders != nil && p.Payload > 0 {
			s.orders[p.Flow].AddArrival(p.Sent, s.part == measuring)
		}
	case f.src:
		if s.countNotices && s.part == measuring && observe.IsNotice(p) {
			s.notices.CountArrival(now - p.Sent)
		}
	}
}

// setPart starts a part of the run. At the start of the measured part it resets delays and saves the counters.
func (s *flowTable) setPart(p runPart) {
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

// addToReport adds the flows' counts, delays and notices of the measured part to a report.
func (s *flowTable) addToReport(r *Report) {
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
