// Package fused makes one piece of programs that often stand together: a call when a packet comes and one when it
// leaves, where hooks are seven calls for complete HPCC. Semantics stay where they are, in the programs: the pipe calls
// the same methods in the same order, but directly, looks an ingress queue up once for all of them, and leaves out what
// a program says that it would not do anyway.
package fused

import (
	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/aqm/red"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/buffer/pfc"
	"weir/core/dataplane/buffer/sharedbuffer"
	"weir/core/dataplane/buffer/trimming"
	"weir/core/dataplane/feedback/inband"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// pipe is a list of programs, each in the place of its hooks; nil: it is not in the list.
type pipe struct {
	ports []*tm.Port

	ecmp    *ecmp.Program
	forward *forward.Program
	others  bool // there are ingressers but these

	early    *ecn.Enqueue // before the memory
	red      *red.Program
	redFirst bool // before early
	memory   *sharedbuffer.Buffer
	late     *ecn.Enqueue // behind the memory
	pfc      *pfc.Program
	ecn      *ecn.Dequeue // before inband, whose records may have the packet's ECN field
	inband   *inband.Program
	lastly   *ecn.Dequeue // behind it
	first    bool         // early or red is there
	rare     bool         // red or lastly is there

	trimming *trimming.Program // stands alone behind a route: trims
}

// Of returns the pipe of a list of programs between ports; nil if one of them has no place in it.
func Of(programs []dataplane.Program, ports []*tm.Port) dataplane.Pipe {
	x := &pipe{ports: ports}
	for _, p := range programs {
		if !x.add(p) {
			return nil
		}
	}
	if x.trimming != nil {
		return x.trims()
	}
	x.first = x.early != nil || x.red != nil
	x.rare = x.red != nil || x.lastly != nil
	return x
}

// add puts a program into its place. It returns false if it has none, or the place is taken, or who stands there
// would come too early or too late.
func (x *pipe) add(p dataplane.Program) bool {
	switch p := p.(type) {
	case *ecmp.Program:
		if x.others = x.others || x.ecmp != nil || x.forward != nil; !x.others {
			x.ecmp = p
		}
		return true
	case *forward.Program:
		if x.others = x.others || x.ecmp != nil || x.forward != nil; !x.others {
			x.forward = p
		}
		return true
	case *ecn.Enqueue:
		return x.marks(p)
	case *red.Program:
		if x.red != nil || x.memory != nil { // it drops, and what the memory has accepted is booked in the same step
			return false
		}
		x.red, x.redFirst = p, x.early == nil
		return true
	case *sharedbuffer.Program:
		if x.memory != nil {
			return false
		}
		x.memory = p.Buffer
		return true
	case *ecn.Dequeue:
		if x.ecn != nil || x.lastly != nil {
			return false
		}
		if x.inband != nil {
			x.lastly = p
		} else {
			x.ecn = p
		}
		return true
	case *inband.Program:
		if x.inband != nil {
			return false
		}
		x.inband = p
		return true
	}
	if t, ok := p.(*trimming.Program); ok {
		if x.trimming != nil {
			return false
		}
		x.trimming = t
		return true
	}
	if guard, counts := pfc.Of(p); guard != nil {
		return x.guards(guard, counts)
	}
	_, ingress := p.(dataplane.Ingresser)
	x.others = x.others || ingress
	return !manages(p)
}

// marks adds marks before the queue.
func (x *pipe) marks(p *ecn.Enqueue) bool {
	switch {
	case x.memory == nil && x.early == nil:
		x.early = p
	case x.memory != nil && x.late == nil:
		x.late = p
	default:
		return false
	}
	return true
}

// guards adds PFC, which counts by itself, or watches the memory that is in the list.
func (x *pipe) guards(p *pfc.Program, counts bool) bool {
	if x.pfc != nil || counts == (x.memory != nil) || !counts && x.memory != p.Buffer() {
		return false
	}
	x.pfc, x.memory = p, p.Buffer()
	return true
}

// manages reports whether a program has hooks between the ingress and the wire.
func manages(p dataplane.Program) bool {
	_, admits := p.(dataplane.Admitter)
	_, books := p.(dataplane.Booker)
	_, unbooks := p.(dataplane.Unbooker)
	_, releases := p.(dataplane.Releaser)
	_, egress := p.(dataplane.Egresser)
	return admits || books || unbooks || releases || egress
}

// Routes reports whether In can do the ingress of all programs.
func (x *pipe) Routes() bool { return !x.others && (x.ecmp != nil || x.forward != nil) }

// In is the ingress, Admit and Book of all programs, and Out where the packet needs no queue. Nobody sees the
// difference between a packet that is booked before it is in the queue and one that is booked behind that: no part
// looks at the queue when it books.
func (x *pipe) In(env *dataplane.Env, p *packet.Packet, routed bool) (v dataplane.Verdict) {
	if !routed {
		if x.ecmp != nil {
			v = x.ecmp.Ingress(env, p)
		} else {
			v = x.forward.Ingress(env, p)
		}
		if v != dataplane.Accept {
			return v
		}
	}
	m := &p.Meta
	if int(m.Out) >= len(x.ports) {
		return dataplane.ByHooks
	}
	port := x.ports[m.Out]
	m.Queue = min(m.Class, port.Last())
	if port.Bounded() && port.Fits(m.Queue, p.Size) != tm.Fits {
		return dataplane.ByHooks
	}
	if x.first {
		if v = x.admit(env, p); v != dataplane.Accept {
			return v
		}
	}
	passes, booked := port.Open() && env.Passes(m.Out), x.memory != nil
	if booked {
		q, n := x.memory.Queue(m.In, m.Class), unit.Bytes(p.Size)
		switch room := q.Room(n); {
		case room && passes && !x.stopped(m): // in and out at once changes nothing
			booked = false
		case room:
			q.Take(n)
		default:
			if v = x.enter(env, p, q); v != dataplane.Accept {
				return v
			}
			passes = passes && env.Passes(m.Out) // PFC may have woken a port
		}
	}
	if x.late != nil {
		x.late.Admit(env, p)
	}
	if !passes {
		return dataplane.Accept
	}
	p.Enqueued = env.Now()
	if booked {
		x.leave(env, p)
	}
	x.depart(env, p)
	port.Sent(p)
	return dataplane.Passed
}

// enter is Admit and Book of the memory and PFC, of an ingress queue whose reserve has no room.
func (x *pipe) enter(env *dataplane.Env, p *packet.Packet, q *sharedbuffer.Queue) dataplane.Verdict {
	v := x.memory.Enter(env, p, q)
	if v == dataplane.Accept && x.pfc != nil && int(p.Meta.In) < len(x.ports) {
		x.pfc.Booked(env, &p.Meta, q)
	}
	return v
}

// admit has packets marked and dropped before the memory.
func (x *pipe) admit(env *dataplane.Env, p *packet.Packet) (v dataplane.Verdict) {
	if x.red != nil && x.redFirst {
		v = x.red.Admit(env, p)
	}
	if x.early != nil && v == dataplane.Accept {
		v = x.early.Admit(env, p)
	}
	if x.red != nil && !x.redFirst {
		v = x.red.Admit(env, p)
	}
	return v
}

// Out is Unbook, Release and Egress of all programs.
func (x *pipe) Out(env *dataplane.Env, p *packet.Packet) {
	if x.memory != nil {
		x.leave(env, p)
	}
	x.depart(env, p)
}

// stopped reports whether the neighbour that sent a packet has been stopped by PFC.
func (x *pipe) stopped(m *packet.Metadata) bool {
	return x.pfc != nil && int(m.In) < len(x.ports) && x.pfc.Stopped(m)
}

// leave is Unbook.
func (x *pipe) leave(env *dataplane.Env, p *packet.Packet) {
	m := &p.Meta
	x.memory.Leave(x.memory.Queue(m.In, m.Class), unit.Bytes(p.Size))
	if x.stopped(m) {
		x.pfc.Unbook(env, p)
	}
}

// depart is Release and Egress.
func (x *pipe) depart(env *dataplane.Env, p *packet.Packet) {
	if x.rare {
		x.departs(env, p)
		return
	}
	if x.ecn != nil && ecn.Markable(p) {
		x.ecn.Egress(env, p)
	}
	if x.inband != nil {
		x.inband.Egress(env, p)
	}
}

// departs is depart in general.
func (x *pipe) departs(env *dataplane.Env, p *packet.Packet) {
	if x.red != nil {
		x.red.Release(env, p)
	}
	if x.ecn != nil && ecn.Markable(p) {
		x.ecn.Egress(env, p)
	}
	if x.inband != nil {
		x.inband.Egress(env, p)
	}
	if x.lastly != nil {
		x.lastly.Egress(env, p)
	}
}
