package dataplane

import (
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// Recirculation is the port through which programs send packets to the ingress again: its rate, and the maximum number
// of packets that wait for it or are on it. Without a rate, recirculation takes no time and has no limit.
type Recirculation struct {
	Rate  unit.LinkRate
	Queue int
}

// request is a hook's request for the end of this step.
type request struct {
	packet      *packet.Packet
	destination uint8
	reason      Reason
}

// Destinations of requested packets.
const (
	toManager uint8 = iota
	toIngress
	toRecirculation
	toDrop
)

// recirculating is a packet on the recirculation port, and the time of its exit.
type recirculating struct {
	exitTime unit.Time
	packet   *packet.Packet
}

// requestsPerStep limits the requests of hooks in one step, so that a program that injects a packet for every
// injected packet cannot hang the run.
const requestsPerStep = 1 << 14

// addRequest queues a hook's request. why is the reason if the destination is toDrop.
func (s *Switch) addRequest(p *packet.Packet, destination uint8, why Reason) {
	s.pending = append(s.pending, request{p, destination, why})
}

// serveRequests runs the requests of this step's hooks, including new ones that they cause. After requestsPerStep
// requests it drops the packets of all others as RecirculationFull.
func (s *Switch) serveRequests() {
	for i := 0; i < len(s.pending); i++ {
		a := s.pending[i]
		if i >= requestsPerStep && a.destination != toDrop {
			a.destination, a.reason = toDrop, RecirculationFull
		}
		switch a.destination {
		case toManager:
			s.enqueuePacket(a.packet)
		case toIngress:
			s.runIngress(a.packet)
		case toRecirculation:
			s.recirculatePacket(a.packet)
		case toDrop:
			s.dropPacket(a.packet, a.reason)
		}
	}
	s.pending = s.pending[:0]
}

// clonePacket returns a copy of p, without its payload if headersOnly. It has its own Data and is in no list. Without
// payload it is marked as trimmed and keeps its class. It counts as created by the switch.
func (s *Switch) clonePacket(p *packet.Packet, headersOnly bool) *packet.Packet {
	s.created++
	var c *packet.Packet
	if p.Data == nil {
		c = s.pool.Get()
		c.CopyFrom(p)
	} else {
		c = s.pool.GetFrame(len(p.Data))
		data := append(c.Data, p.Data...)
		c.CopyFrom(p)
		c.Data = data
	}
	c.Next = nil
	if headersOnly {
		class := c.Meta.Class
		s.trimPacket(c)
		c.Meta.Class = class
	}
	return c
}

// recirculatePacket puts p onto the recirculation port, or drops it as RecirculationFull if the port's queue is full.
// Without a rate of the port, p enters the ingress at once.
func (s *Switch) recirculatePacket(p *packet.Packet) {
	waiting := len(s.recirc) - s.recircHead
	if s.config.Recirculation.Rate == (unit.LinkRate{}) {
		s.reenterIngress(p)
		return
	}
	if waiting >= s.config.Recirculation.Queue {
		s.dropPacket(p, RecirculationFull)
		return
	}
	start := max(s.env.now, s.recircFree)
	s.recircFree = start + s.recircSerialiser.NextTime(p.Size, waiting > 0)
	if s.recircHead > 0 && len(s.recirc) == cap(s.recirc) {
		s.recirc = s.recirc[:copy(s.recirc, s.recirc[s.recircHead:])]
		s.recircHead = 0
	}
	s.recirc = append(s.recirc, recirculating{s.recircFree, p})
	s.setTimer()
}

// reenterIngress passes a recirculated packet to the ingress. It keeps class, flags, user and mark, and has no ports.
func (s *Switch) reenterIngress(p *packet.Packet) {
	p.Meta = packet.Metadata{In: packet.NoPort, Out: packet.NoPort, Class: p.Meta.Class, Flags: p.Meta.Flags,
		User: p.Meta.User,
		Mark: p.Meta.Mark}
	s.runIngress(p)
}

// evictTail takes the last packet out of a queue and requests its drop as Evicted. It returns false if the queue is
// empty.
func (s *Switch) evictTail(out packet.PortID, q tm.QueueID) bool {
	p := s.ports[out].PopTail(q)
	if p == nil {
		return false
	}
	s.dropEvicted(p)
	return true
}

// dropEvicted drops p, which was taken out of its queue, at the end of this step.
func (s *Switch) dropEvicted(p *packet.Packet) {
	s.unbookPacket(p)
	s.addRequest(p, toDrop, Evicted)
}

// trimTail trims the last packet of a queue and requests its admission in the trim class at the end of this step. It
// returns false if the queue is empty.
func (s *Switch) trimTail(out packet.PortID, q tm.QueueID) bool {
	p := s.ports[out].PopTail(q)
	if p == nil {
		return false
	}
	s.unbookPacket(p)
	s.trimPacket(p)
	s.addRequest(p, toManager, NotDropped)
	return true
}

// unbookPacket subtracts p, which was taken out of its queue, from the buffered bytes and runs the Unbookers.
func (s *Switch) unbookPacket(p *packet.Packet) {
	s.buffered -= unit.Bytes(p.Size)
	for _, h := range s.unbookers {
		h.Unbook(&s.env, p)
	}
}
