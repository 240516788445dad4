// Package fused combines programs that often occur together: one call when a packet arrives and one when it departs,
// instead of seven calls of hooks for complete HPCC. The semantics stay in the programs. The pipe calls the same
// methods in the same order, but directly. It looks up an ingress queue once for all of them, and skips calls that
// would have no effect.
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

// pipe is a list of programs, each in the place of its hooks; nil: not in the list.
type pipe struct {
	ports []*tm.Port

	ecmp    *ecmp.Program
	forward *forward.Program
	others  bool // the list has other ingressers

	early       *ecn.Enqueue // before the memory
	red         *red.Program
	redFirst    bool // before early
	memory      *sharedbuffer.Buffer
	late        *ecn.Enqueue // behind the memory
	pfc         *pfc.Program
	ecn         *ecn.Dequeue // before inband, since records may contain the packet's ECN field
	inband      *inband.Program
	afterInband *ecn.Dequeue // behind inband
	hasEarly    bool         // early or red is set
	hasRare     bool         // red or afterInband is set

	trimming *trimming.Program // alone behind a route: trims
}

// FusePrograms returns the pipe of a list of programs between ports; nil if a program has no place in it. The ports
// must be the switch's, since the pipe keeps them.
func FusePrograms(programs []dataplane.Program, ports []*tm.Port) dataplane.Pipe {
	x := &pipe{ports: ports}
	for _, p := range programs {
		if !x.addProgram(p) {
			return nil
		}
	}
	if x.trimming != nil {
		return x.trimPipe()
	}
	x.hasEarly = x.early != nil || x.red != nil
	x.hasRare = x.red != nil || x.afterInband != nil
	return x
}

// addProgram puts a program into its place. It returns false if the program has no place, the place is taken, or the
// order is wrong. A program without hooks behind the ingress needs no place.
func (x *pipe) addProgram(p dataplane.Program) bool {
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
		return x.addMarks(p)
	case *red.Program:
		if x.red != nil || x.memory != nil { // red drops, but a packet that the memory accepts is booked in the same step
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
		if x.ecn != nil || x.afterInband != nil {
			return false
		}
		if x.inband != nil {
			x.afterInband = p
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
	if guard, counts := pfc.ProgramOf(p); guard != nil {
		return x.addPFC(guard, counts)
	}
	_, ingress := p.(dataplane.Ingresser)
	x.others = x.others || ingress
	return !hasQueueHooks(p)
}

// addMarks adds a program that marks before the queue. It returns false if both places are taken.
func (x *pipe) addMarks(p *ecn.Enqueue) bool {
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

// addPFC adds PFC. counts means that it counts packets itself, and so brings the memory; otherwise it watches the
// memory in the list. It returns false if that does not fit the list.
func (x *pipe) addPFC(p *pfc.Program, counts bool) bool {
	if x.pfc != nil || counts == (x.memory != nil) || !counts && x.memory != p.Buffer() {
		return false
	}
	x.pfc, x.memory = p, p.Buffer()
	return true
}

// hasQueueHooks reports whether a program has hooks between the ingress and the wire.
func hasQueueHooks(p dataplane.Program) bool {
	_, admits := p.(dataplane.Admitter)
	_, books := p.(dataplane.Booker)
	_, unbooks := p.(dataplane.Unbooker)
	_, releases := p.(dataplane.Releaser)
	_, egress := p.(dataplane.Egresser)
	return admits || books || unbooks || releases || egress
}

// DoesIngress reports whether Arrive can also do the ingress of all programs.
func (x *pipe) DoesIngress() bool { return !x.others && (x.ecmp != nil || x.forward != nil) }

// Arrive runs the ingress, Admit and Book of all programs, and Depart if the packet needs no queue. A packet may be
// booked before it is in the queue, because no part looks at the queue when it books.
func (x *pipe) Arrive(env *dataplane.Env, p *packet.Packet, routed bool) (v dataplane.Verdict) {
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
	m.Queue = min(m.Class, port.LastQueue())
	if port.IsBounded() && port.Fits(m.Queue, p.Size) != tm.Fits {
		return dataplane.ByHooks
	}
	if x.hasEarly {
		if v = x.admitEarly(env, p); v != dataplane.Accept {
			return v
		}
	}
	passes, booked := port.IsOpen() && env.CanPass(m.Out), x.memory != nil
	if booked {
		q, n := x.memory.IngressQueue(m.In, m.Class), unit.Bytes(p.Size)
		switch room := q.HasReserve(n); {
		case room && passes && !x.isStopped(m): // in and out at once have no effect
			booked = false
		case room:
			q.BookReserve(n)
		default:
			if v = x.enterMemory(env, p, q); v != dataplane.Accept {
				return v
			}
			passes = passes && env.CanPass(m.Out) // PFC may have woken a port
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
		x.leaveMemory(env, p)
	}
	x.departFast(env, p)
	port.CountSent(p)
	return dataplane.Passed
}

// enterMemory runs Admit and Book of the memory and PFC, for p's ingress queue q. Its reserve has no room for p. PFC
// may pause the neighbour.
func (x *pipe) enterMemory(env *dataplane.Env, p *packet.Packet, q *sharedbuffer.Queue) dataplane.Verdict {
	v := x.memory.AdmitAndBook(env, p, q)
	if v == dataplane.Accept && x.pfc != nil && int(p.Meta.In) < len(x.ports) {
		x.pfc.CheckBooked(env, &p.Meta, q)
	}
	return v
}

// admitEarly runs the marks and drops before the memory. It stops at a drop.
func (x *pipe) admitEarly(env *dataplane.Env, p *packet.Packet) (v dataplane.Verdict) {
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

// Depart runs Unbook, Release and Egress of all programs.
func (x *pipe) Depart(env *dataplane.Env, p *packet.Packet) {
	if x.memory != nil {
		x.leaveMemory(env, p)
	}
	x.departFast(env, p)
}

// isStopped reports whether PFC has stopped the neighbour that sent a packet.
func (x *pipe) isStopped(m *packet.Metadata) bool {
	return x.pfc != nil && int(m.In) < len(x.ports) && x.pfc.HasStopped(m)
}

// leaveMemory runs Unbook of the memory, which must hold p, and of PFC if p's class is stopped at the neighbour.
func (x *pipe) leaveMemory(env *dataplane.Env, p *packet.Packet) {
	m := &p.Meta
	x.memory.UnbookBytes(x.memory.IngressQueue(m.In, m.Class), unit.Bytes(p.Size))
	if x.isStopped(m) {
		x.pfc.Unbook(env, p)
	}
}

// departFast runs Release and Egress of all programs.
func (x *pipe) departFast(env *dataplane.Env, p *packet.Packet) {
	if x.hasRare {
		x.departFully(env, p)
		return
	}
	if x.ecn != nil && ecn.IsMarkable(p) {
		x.ecn.Egress(env, p)
	}
	if x.inband != nil {
		x.inband.Egress(env, p)
	}
}

// departFully is departFast in a list with red, or with ecn behind inband.
func (x *pipe) departFully(env *dataplane.Env, p *packet.Packet) {
	if x.red != nil {
		x.red.Release(env, p)
	}
	if x.ecn != nil && ecn.IsMarkable(p) {
		x.ecn.Egress(env, p)
	}
	if x.inband != nil {
		x.inband.Egress(env, p)
	}
	if x.afterInband != nil {
		x.afterInband.Egress(env, p)
	}
}
