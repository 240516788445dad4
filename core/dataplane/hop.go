package dataplane

import (
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// Receive takes p, which came in at port in.
func (s *Switch) Receive(now unit.Time, in packet.PortID, p *packet.Packet) {
	s.env.now = now
	if p.Data != nil && (s.config.Codec != nil || !p.Parsed()) {
		// The parser reads headers only: Size is what the link carried, and Sent is the
		// driver's, as the payload does not say it.
		sent := p.Sent
		var err error
		if s.config.Codec != nil {
			err = s.config.Codec.Parse(now, in, p)
		} else {
			err = p.Parse(s.config.Book, p.Data)
		}
		p.Sent = sent
		if err != nil {
			p.Meta = packet.Metadata{In: in, Out: packet.NoPort}
			s.drop(p, Malformed)
			s.serve()
			return
		}
	}
	if p.Kind == packet.Pause || p.Kind == packet.Resume {
		s.receivePFC(in, p)
		return
	}
	p.Meta = packet.Metadata{In: in, Out: packet.NoPort,
		Flags: p.Meta.Flags & (packet.Trimmed | packet.Internal | packet.ToUser)}
	s.direct = p.Data == nil
	if !s.routed {
		s.ingress(p)
	} else if v := s.pipe.In(&s.env, p, false); v == Passed {
		s.wants.CutThrough(p.Meta.Out, p)
	} else {
		s.applyVerdict(p, v)
	}
	s.direct = false
	if len(s.pending) > 0 {
		s.serve()
	}
}

func (s *Switch) ingress(p *packet.Packet) {
	if s.routed {
		s.applyVerdict(p, s.pipe.In(&s.env, p, false))
		return
	}
	for _, h := range s.ingressers {
		if v := h.Ingress(&s.env, p); v != Accept {
			switch v {
			case Trim:
				s.trim(p)
				continue
			case Consume:
				s.consumed++
				s.pool.Put(p)
			default:
				s.drop(p, Reason(v))
			}
			s.replicas = s.replicas[:0]
			return
		}
	}
	if len(s.replicas) > 0 {
		s.replicate(p)
	}
	s.enqueue(p)
}

// replicate passes copies of p to the traffic managers of the ports that programs have asked for (Env.Replicate).
func (s *Switch) replicate(p *packet.Packet) {
	for _, out := range s.replicas {
		c := s.clone(p, false)
		c.Meta.Out = out
		s.enqueue(c)
	}
	s.replicas = s.replicas[:0]
}

// enqueue passes a packet to the traffic manager.
func (s *Switch) enqueue(p *packet.Packet) {
	if s.pipe != nil {
		s.direct = s.direct && len(s.pending)+len(s.replicas) == 0
		s.applyVerdict(p, s.pipe.In(&s.env, p, true))
		return
	}
	s.enqueueByHooks(p)
}

// enqueueByHooks is enqueue without a pipe.
func (s *Switch) enqueueByHooks(p *packet.Packet) {
	m := &p.Meta
	if int(m.Out) >= len(s.ports) {
		s.drop(p, NoRoute)
		return
	}
	port := s.ports[m.Out]
again:
	m.Queue = min(m.Class, port.Last())
	for _, h := range s.admitters {
		if v := h.Admit(&s.env, p); v != Accept {
			switch {
			case v != Trim:
				s.drop(p, Reason(v))
				return
			case m.Flags&packet.Trimmed != 0:
				s.drop(p, TrimFailed)
				return
			}
			s.trim(p)
			goto again
		}
	}
	if r := port.Fits(m.Queue, p.Size); r != tm.Fits && !s.makeRoom(port, p, r) {
		return
	}
	p.Enqueued = s.env.now
	port.Push(m.Queue, p)
	s.buffered += unit.Bytes(p.Size)
	for _, h := range s.bookers {
		h.Book(&s.env, p)
	}
	s.wake(m.Out)
}

// makeRoom evicts packets of the port until p fits, where the scheduler allows it (tm.NewFQ). It
// returns false if p itself had to be dropped.
func (s *Switch) makeRoom(port *tm.Port, p *packet.Packet, why tm.Refusal) bool {
	p.Enqueued = s.env.now // laws of longest flows (tm.NewCake) ask for the time
	for why != tm.Fits {
		x := port.Displace(p.Meta.Queue, p, why)
		if x == nil {
			s.drop(p, refusals[why])
			return false
		}
		s.evicted(x)
		why = port.Fits(p.Meta.Queue, p.Size)
	}
	return true
}

// wake reports the port as woken if it has something to send and the driver would not ask for it anyway.
func (s *Switch) wake(out packet.PortID) {
	if !s.awake[out] && !s.ports[out].Idle() {
		s.awake[out] = true
		s.wants.Wake(out)
	}
}

// Dequeue gives the packet that port out sends now; see fabric.Node.
func (s *Switch) Dequeue(now unit.Time, out packet.PortID) (*packet.Packet, unit.Time) {
	s.env.now = now
	port := s.ports[out]
	var p *packet.Packet
	for {
		var control bool
		var again unit.Time
		p, control, again = port.Next(now)
		if p == nil {
			// The port sleeps even if again is a time: a packet for another queue may leave
			// before that.
			s.awake[out] = false
			s.serve()
			return nil, again
		}
		if control || s.egress(p) {
			break
		}
	}
	port.Sent(p)
	s.awake[out] = true
	if len(s.pending) > 0 {
		s.serve()
	}
	if port.Idle() {
		s.awake[out] = false
		return p, unit.Never
	}
	return p, now
}

// egress passes p, which has left its queue, through the hooks of the egress and the deparser.
// It returns false if p was dropped.
func (s *Switch) egress(p *packet.Packet) bool {
	s.buffered -= unit.Bytes(p.Size)
	if s.pipe != nil {
		s.pipe.Out(&s.env, p)
		return p.Data == nil || s.deparse(p)
	}
	for _, h := range s.unbookers {
		h.Unbook(&s.env, p)
	}
	for _, h := range s.releasers {
		if v := h.Release(&s.env, p); v != Accept {
			if v != Trim {
				s.drop(p, Reason(v))
				return false
			}
			s.trim(p)
		}
	}
	for _, h := range s.egressers {
		if v := h.Egress(&s.env, p); v != Accept {
			if v != Trim {
				s.drop(p, Reason(v))
				return false
			}
			s.trim(p)
		}
	}
	return p.Data == nil || s.deparse(p)
}

// deparse writes what programs have changed into the frame. It returns false if p was dropped.
func (s *Switch) deparse(p *packet.Packet) bool {
	var err error
	if s.config.Codec != nil {
		err = s.config.Codec.Deparse(p)
	} else {
		err = p.Deparse(s.config.Book)
	}
	if err != nil { // no frame can carry what a program has made
		s.drop(p, Malformed)
		return false
	}
	return true
}

// trim cuts the payload off and moves the packet to the trim class.
func (s *Switch) trim(p *packet.Packet) {
	if p.Meta.Flags&packet.Trimmed != 0 {
		return
	}
	p.Size = max(p.Size-p.Payload, s.config.MinFrame)
	p.Payload = 0
	p.Meta.Flags |= packet.Trimmed
	p.Meta.Class = s.config.TrimClass
}

// drop counts and frees p. The Droppers still find its ports in p.Meta.
func (s *Switch) drop(p *packet.Packet, why Reason) {
	m := &p.Meta
	s.drops[why]++
	if int(m.Out) < len(s.portDrops) {
		s.portDrops[m.Out][why]++
	}
	if m.Flags&packet.Internal != 0 {
		s.madeDrops[p.Kind]++
	}
	for _, h := range s.droppers {
		h.OnDrop(&s.env, p, why)
	}
	s.pool.Put(p)
}
