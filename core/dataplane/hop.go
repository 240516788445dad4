package dataplane

import (
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// Receive processes p, which arrived at port in. The switch takes p over. It parses p if p arrives in wire form, and
// drops it as Malformed if that fails. A PFC frame ends here; other packets run through the ingress up to their queue
// or their end.
func (s *Switch) Receive(now unit.Time, in packet.PortID, p *packet.Packet) {
	s.env.now = now
	if p.Data != nil && (s.config.Codec != nil || !p.IsParsed()) {
		// The parser reads only headers. Size is the length on the link, and Sent comes from the driver, since the payload
		// does not contain it.
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
			s.dropPacket(p, Malformed)
			s.serveRequests()
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
		s.runIngress(p)
	} else if v := s.pipe.Arrive(&s.env, p, false); v == Passed {
		s.wants.CutThrough(p.Meta.Out, p)
	} else {
		s.applyVerdict(p, v)
	}
	s.direct = false
	if len(s.pending) > 0 {
		s.serveRequests()
	}
}

// runIngress runs the ingress on p and, if it accepts, enqueues p and its replicas. Trim trims p and continues; a drop
// or Consume frees p and cancels its replicas.
func (s *Switch) runIngress(p *packet.Packet) {
	if s.routed {
		s.applyVerdict(p, s.pipe.Arrive(&s.env, p, false))
		return
	}
	for _, h := range s.ingressers {
		if v := h.Ingress(&s.env, p); v != Accept {
			switch v {
			case Trim:
				s.trimPacket(p)
				continue
			case Consume:
				s.consumed++
				s.pool.Put(p)
			default:
				s.dropPacket(p, Reason(v))
			}
			s.replicas = s.replicas[:0]
			return
		}
	}
	if len(s.replicas) > 0 {
		s.replicatePacket(p)
	}
	s.enqueuePacket(p)
}

// replicatePacket passes copies of p to the traffic managers of the ports requested by programs (Env.ReplicateTo). It
// clears the list of these ports. The copies precede p.
func (s *Switch) replicatePacket(p *packet.Packet) {
	for _, out := range s.replicas {
		c := s.clonePacket(p, false)
		c.Meta.Out = out
		s.enqueuePacket(c)
	}
	s.replicas = s.replicas[:0]
}

// enqueuePacket passes a packet to the traffic manager, by the pipe if there is one.
func (s *Switch) enqueuePacket(p *packet.Packet) {
	if s.pipe != nil {
		s.direct = s.direct && len(s.pending)+len(s.replicas) == 0
		s.applyVerdict(p, s.pipe.Arrive(&s.env, p, true))
		return
	}
	s.enqueueByHooks(p)
}

// enqueueByHooks is enqueuePacket without a pipe. It drops p if its egress port does not exist, if a hook refuses it,
// or if the queue or port has no room. After Trim the trimmed packet starts at the first hook again; a second Trim
// drops it as TrimFailed.
func (s *Switch) enqueueByHooks(p *packet.Packet) {
	m := &p.Meta
	if int(m.Out) >= len(s.ports) {
		s.dropPacket(p, NoRoute)
		return
	}
	port := s.ports[m.Out]
again:
	m.Queue = min(m.Class, port.LastQueue())
	for _, h := range s.admitters {
		if v := h.Admit(&s.env, p); v != Accept {
			switch {
			case v != Trim:
				s.dropPacket(p, Reason(v))
				return
			case m.Flags&packet.Trimmed != 0:
				s.dropPacket(p, TrimFailed)
				return
			}
			s.trimPacket(p)
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
	s.wakePort(m.Out)
}

// makeRoom evicts packets of the port until p fits, if the scheduler allows it (tm.NewFQ). why is the limit that p
// exceeds. It returns false if p itself was dropped. Evicted packets are dropped at the end of this step.
func (s *Switch) makeRoom(port *tm.Port, p *packet.Packet, why tm.Refusal) bool {
	p.Enqueued = s.env.now // tm.Cake's law needs the time
	for why != tm.Fits {
		x := port.MakeRoom(p.Meta.Queue, p, why)
		if x == nil {
			s.dropPacket(p, refusals[why])
			return false
		}
		s.dropEvicted(x)
		why = port.Fits(p.Meta.Queue, p.Size)
	}
	return true
}

// wakePort reports a port with data to the driver as woken, unless the driver will ask it anyway.
func (s *Switch) wakePort(out packet.PortID) {
	if !s.awake[out] && !s.ports[out].IsIdle() {
		s.awake[out] = true
		s.wants.WakePort(out)
	}
}

// Dequeue returns the packet that port out sends now, after its egress, and the time at which the driver asks the port
// again; see fabric.Node. Packets that the egress drops are skipped. The time is now if data is left behind the packet,
// and unit.Never if not. Without a packet it is the scheduler's next time, but WakePort may come first.
func (s *Switch) Dequeue(now unit.Time, out packet.PortID) (*packet.Packet, unit.Time) {
	s.env.now = now
	port := s.ports[out]
	var p *packet.Packet
	for {
		var control bool
		var again unit.Time
		p, control, again = port.DequeueNext(now)
		if p == nil {
			// The port sleeps even if again is a time, because a packet in another queue may depart before that.
			s.awake[out] = false
			s.serveRequests()
			return nil, again
		}
		if control || s.runEgress(p) {
			break
		}
	}
	port.CountSent(p)
	s.awake[out] = true
	if len(s.pending) > 0 {
		s.serveRequests()
	}
	if port.IsIdle() {
		s.awake[out] = false
		return p, unit.Never
	}
	return p, now
}

// runEgress passes p, which has left its queue, through the egress hooks and the deparser. It returns false if p was
// dropped. It subtracts p from the buffered bytes and runs Unbook first.
func (s *Switch) runEgress(p *packet.Packet) bool {
	s.buffered -= unit.Bytes(p.Size)
	if s.pipe != nil {
		s.pipe.Depart(&s.env, p)
		return p.Data == nil || s.deparsePacket(p)
	}
	for _, h := range s.unbookers {
		h.Unbook(&s.env, p)
	}
	for _, h := range s.releasers {
		if v := h.Release(&s.env, p); v != Accept {
			if v != Trim {
				s.dropPacket(p, Reason(v))
				return false
			}
			s.trimPacket(p)
		}
	}
	for _, h := range s.egressers {
		if v := h.Egress(&s.env, p); v != Accept {
			if v != Trim {
				s.dropPacket(p, Reason(v))
				return false
			}
			s.trimPacket(p)
		}
	}
	return p.Data == nil || s.deparsePacket(p)
}

// deparsePacket writes the programs' changes into the frame. If that fails, it drops p as Malformed and returns false.
func (s *Switch) deparsePacket(p *packet.Packet) bool {
	var err error
	if s.config.Codec != nil {
		err = s.config.Codec.Deparse(p)
	} else {
		err = p.Deparse(s.config.Book)
	}
	if err != nil { // no frame can carry the packet that a program has made
		s.dropPacket(p, Malformed)
		return false
	}
	return true
}

// trimPacket cuts off the payload, marks the packet as trimmed and moves it to the trim class. Size becomes at least
// MinFrame. A packet that is trimmed already stays as it is.
func (s *Switch) trimPacket(p *packet.Packet) {
	if p.Meta.Flags&packet.Trimmed != 0 {
		return
	}
	p.Size = max(p.Size-p.Payload, s.config.MinFrame)
	p.Payload = 0
	p.Meta.Flags |= packet.Trimmed
	p.Meta.Class = s.config.TrimClass
}

// dropPacket counts p by reason and port, calls the Droppers, which still find its ports in p.Meta, and frees p. p must
// be in no queue. The buffered bytes stay as they are.
func (s *Switch) dropPacket(p *packet.Packet, why Reason) {
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
