package dataplane

import (
	"weir/core/packet"
	"weir/core/unit"
)

// Pipe is a list of programs in one piece (package fused), which does what their hooks would do, one by one. It must
// neither look at a packet's queue when it books, nor drop what has left the queue.
type Pipe interface {
	// Routes reports whether In can do the ingress, too.
	Routes() bool
	// In is Admit and, if the packet may enter its queue, Book; before them Ingress, unless p is routed. It answers
	// Accept: its port and queue have room for p, which enters it now; Passed: p needs no queue (Env.Passes), and Out
	// is done, too; ByHooks: only hooks can say what happens from the traffic manager on, and nothing has happened yet
	// but the ingress; else p is dropped.
	In(env *Env, p *packet.Packet, routed bool) Verdict
	// Out is Unbook, Release and Egress.
	Out(env *Env, p *packet.Packet)
}

// Passes reports whether a packet in the hands of a Pipe can leave by port out without its queue, which must be open
// (tm.Port.Open): the driver would ask that port next, at once, and nothing else happens before that, which might find
// what leaving changes. Frames in wire form do not pass: those who write frames down as they leave wrap Dequeue.
func (e *Env) Passes(out packet.PortID) bool {
	return e.sw.direct && !e.sw.awake[out] && e.sw.wants.Free(out, e.now)
}

// fuse makes the pipe of the switch's programs, if they have one. An observer has a hook of its own, and so has a
// scheduler that has packets dropped.
func (s *Switch) fuse() {
	s.pipe, s.routed = nil, false
	if s.config.Fuse == nil || s.config.Observer != nil || s.hasSchedulerDrops() {
		return
	}
	if s.pipe = s.config.Fuse(s.config.Programs, s.ports); s.pipe != nil {
		s.routed = s.pipe.Routes()
	}
}

// applyVerdict carries out the pipe's verdict on p.
func (s *Switch) applyVerdict(p *packet.Packet, v Verdict) {
	switch m := &p.Meta; v {
	case Passed:
		s.wants.CutThrough(m.Out, p)
	case Accept:
		p.Enqueued = s.env.now
		s.ports[m.Out].Push(m.Queue, p)
		s.buffered += unit.Bytes(p.Size)
		s.wake(m.Out)
	case ByHooks:
		s.enqueueByHooks(p)
	default:
		s.drop(p, Reason(v))
	}
}
