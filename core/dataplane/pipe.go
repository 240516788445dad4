package dataplane

import (
	"weir/core/packet"
	"weir/core/unit"
)

// Pipe is a list of programs in one object (package fused) with the effects of their hooks. Its Book must not look at
// a packet's queue, and its Out must not drop a packet that has left the queue.
type Pipe interface {
	// DoesIngress reports whether Arrive can also do the ingress.
	DoesIngress() bool
	// Arrive is Admit and, if the packet may enter its queue, Book; before them Ingress, unless p is routed. Accept: port
	// and queue have room for p, which enters now. Passed: p needs no queue (Env.CanPass), and Depart is done, too.
	// ByHooks: only hooks can decide from the traffic manager on; only the ingress has run. Any other verdict drops p.
	Arrive(env *Env, p *packet.Packet, routed bool) Verdict
	// Depart is Unbook, Release and Egress.
	Depart(env *Env, p *packet.Packet)
}

// CanPass reports whether a packet in the hands of a Pipe can depart by port out without its queue, which must be open
// (tm.Port.IsOpen). Then the driver would ask that port next, at once, with no other event before it that could notice
// the difference. Frames in wire form do not pass, because a capture of departing frames wraps Dequeue.
func (e *Env) CanPass(out packet.PortID) bool {
	return e.sw.direct && !e.sw.awake[out] && e.sw.wants.IsPortFree(out, e.now)
}

// fusePrograms creates the pipe of the switch's programs, if there is one. An observer needs its own hook, and so
// does a scheduler that drops packets.
func (s *Switch) fusePrograms() {
	s.pipe, s.routed = nil, false
	if s.config.FusePrograms == nil || s.config.Observer != nil || s.hasSchedulerDrops() {
		return
	}
	if s.pipe = s.config.FusePrograms(s.config.Programs, s.ports); s.pipe != nil {
		s.routed = s.pipe.DoesIngress()
	}
}

// applyVerdict applies the pipe's verdict to p. Passed hands p to the driver at once, Accept puts it into its queue,
// and ByHooks continues at the traffic manager. Any other verdict drops p.
func (s *Switch) applyVerdict(p *packet.Packet, v Verdict) {
	switch m := &p.Meta; v {
	case Passed:
		s.wants.CutThrough(m.Out, p)
	case Accept:
		p.Enqueued = s.env.now
		s.ports[m.Out].Push(m.Queue, p)
		s.buffered += unit.Bytes(p.Size)
		s.wakePort(m.Out)
	case ByHooks:
		s.enqueueByHooks(p)
	default:
		s.dropPacket(p, Reason(v))
	}
}
