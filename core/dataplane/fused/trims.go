package fused

import (
	"weir/core/dataplane"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/buffer/trimming"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/tm"
	"weir/core/packet"
)

// trimmingPipe is a route and trimming, as the only program between the ingress and the wire.
type trimmingPipe struct {
	ports    []*tm.Port
	ecmp     *ecmp.Program
	forward  *forward.Program // or this
	trimming *trimming.Program
}

// trimPipe returns the pipe of a list with trimming; nil if the list has more than a route in addition. The route
// precedes trimming, which sets the packets' classes behind it.
func (x *pipe) trimPipe() dataplane.Pipe {
	if x.others || x.ecmp == nil && x.forward == nil || x.early != nil || x.red != nil || x.memory != nil ||
		x.late != nil || x.pfc != nil || x.ecn != nil || x.inband != nil || x.afterInband != nil {
		return nil
	}
	return &trimmingPipe{x.ports, x.ecmp, x.forward, x.trimming}
}

// DoesIngress returns true: Arrive can do the ingress.
func (*trimmingPipe) DoesIngress() bool { return true }

// Arrive runs the ingress and Admit, and Egress if the packet needs no queue. Packets without room, or without a port,
// get ByHooks. Packets of other queues than Data are not marked.
func (x *trimmingPipe) Arrive(env *dataplane.Env, p *packet.Packet, routed bool) (v dataplane.Verdict) {
	if !routed {
		if x.ecmp != nil {
			v = x.ecmp.Ingress(env, p)
		} else {
			v = x.forward.Ingress(env, p)
		}
		if v != dataplane.Accept {
			return v
		}
		x.trimming.Ingress(env, p)
	}
	m := &p.Meta
	if int(m.Out) >= len(x.ports) {
		return dataplane.ByHooks
	}
	port, now := x.ports[m.Out], env.Now()
	m.Queue = min(m.Class, port.LastQueue())
	if !x.trimming.HasRoom(now, port, p) {
		return dataplane.ByHooks
	}
	if !port.IsVacant() || !env.CanPass(m.Out) {
		return dataplane.Accept
	}
	p.Enqueued = now
	if m.Queue == trimming.Data {
		x.trimming.MarkDeparting(now, port, p)
	}
	port.CountSent(p)
	return dataplane.Passed
}

// Depart marks a data packet that departs from its queue, as the Egress of trimming does. Packets of other queues stay
// as they are.
func (x *trimmingPipe) Depart(env *dataplane.Env, p *packet.Packet) {
	if m := &p.Meta; m.Queue == trimming.Data {
		x.trimming.MarkDeparting(env.Now(), x.ports[m.Out], p)
	}
}
