package dataplane

import (
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// Recirculation is the port by which programs send packets to the ingress again: its rate, and how many
// packets may wait for it or be on it. Without a rate, recirculation takes no time and has no limit.
type Recirculation struct {
	Rate  unit.LinkRate
	Queue int
}

// request is what a hook has asked for after this step.
type request struct {
	p     *packet.Packet
	where uint8
	why   Reason
}

// Where requested packets go.
const (
	toManager uint8 = iota
	toIngress
	toRecirculation
	toDrop
)

type recirculating struct {
	at unit.Time
	p  *packet.Packet
}

// requestsPerStep bounds what hooks may request in one step, so that a program that injects a packet for
// every injected packet cannot hang the run.
const requestsPerStep = 1 << 14

// ask notes a hook's request.
func (s *Switch) ask(p *packet.Packet, where uint8, why Reason) {
	s.pending = append(s.pending, request{p, where, why})
}

// serve carries out the requests of this step's hooks, including those made meanwhile.
func (s *Switch) serve() {
	for i := 0; i < len(s.pending); i++ {
		a := s.pending[i]
		if i >= requestsPerStep && a.where != toDrop {
			a.where, a.why = toDrop, RecirculationFull
		}
		switch a.where {
		case toManager:
			s.enqueue(a.p)
		case toIngress:
			s.ingress(a.p)
		case toRecirculation:
			s.recirculate(a.p)
		case toDrop:
			s.drop(a.p, a.why)
		}
	}
	s.pending = s.pending[:0]
}

func (s *Switch) clone(p *packet.Packet, headersOnly bool) *packet.Packet {
	s.born++
	var c *packet.Packet
	if p.Data == nil {
		c = s.pool.Get()
		c.Copy(p)
	} else {
		c = s.pool.GetFrame(len(p.Data))
		data := append(c.Data, p.Data...)
		c.Copy(p)
		c.Data = data
	}
	c.Next = nil
	if headersOnly {
		class := c.Meta.Class
		s.trim(c)
		c.Meta.Class = class
	}
	return c
}

func (s *Switch) recirculate(p *packet.Packet) {
	waiting := len(s.recirc) - s.recircAt
	if s.config.Recirculation.Rate == (unit.LinkRate{}) {
		s.reenter(p)
		return
	}
	if waiting >= s.config.Recirculation.Queue {
		s.drop(p, RecirculationFull)
		return
	}
	start := max(s.env.now, s.recircFree)
	s.recircFree = start + s.recircSerialiser.Next(p.Size, waiting > 0)
	if s.recircAt > 0 && len(s.recirc) == cap(s.recirc) {
		s.recirc = s.recirc[:copy(s.recirc, s.recirc[s.recircAt:])]
		s.recircAt = 0
	}
	s.recirc = append(s.recirc, recirculating{s.recircFree, p})
	s.setTimer()
}

// reenter puts a recirculated packet into the ingress.
func (s *Switch) reenter(p *packet.Packet) {
	p.Meta = packet.Metadata{In: packet.NoPort, Out: packet.NoPort, Class: p.Meta.Class, Flags: p.Meta.Flags,
		User: p.Meta.User,
		Mark: p.Meta.Mark}
	s.ingress(p)
}

func (s *Switch) evict(out packet.PortID, q tm.QueueID) bool {
	p := s.ports[out].PopTail(q)
	if p == nil {
		return false
	}
	s.evicted(p)
	return true
}

// evicted drops p, which was taken out of its queue, when this step ends.
func (s *Switch) evicted(p *packet.Packet) {
	s.unbook(p)
	s.ask(p, toDrop, Evicted)
}

func (s *Switch) trimTail(out packet.PortID, q tm.QueueID) bool {
	p := s.ports[out].PopTail(q)
	if p == nil {
		return false
	}
	s.unbook(p)
	s.trim(p)
	s.ask(p, toManager, NotDropped)
	return true
}

// unbook accounts for p, which was taken out of its queue.
func (s *Switch) unbook(p *packet.Packet) {
	s.buffered -= unit.Bytes(p.Size)
	for _, h := range s.unbookers {
		h.Unbook(&s.env, p)
	}
}
