package fused

import (
	"weir/core/dataplane"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/buffer/trimming"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/tm"
	"weir/core/packet"
)

// trims is a route and trimming, which has the way from the ingress to the wire for itself.
type trims struct {
	ports    []*tm.Port
	ecmp     *ecmp.Program
	forward  *forward.Program // or this
	trimming *trimming.Program
}

// trims is the pipe of a list with trimming; nil if there is more in it than a route. The route stands before it: it
// gives packets their classes behind that.
func (x *pipe) trims() dataplane.Pipe {
	if x.others || x.ecmp == nil && x.forward == nil || x.early != nil || x.red != nil || x.memory != nil ||
		x.late != nil || x.pfc != nil || x.ecn != nil || x.inband != nil || x.lastly != nil {
		return nil
	}
	return &trims{x.ports, x.ecmp, x.forward, x.trimming}
}

// Routes reports whether In can do the ingress, which it can.
func (*trims) Routes() bool { return true }

// In is the ingress and Admit, and Egress where the packet needs no queue. What has no room is for the hooks.
func (x *trims) In(env *dataplane.Env, p *packet.Packet, routed bool) (v dataplane.Verdict) {
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
	m.Queue = min(m.Class, port.Last())
	if !x.trimming.Room(now, port, p) {
		return dataplane.ByHooks
	}
	if !port.Vacant() || !env.Passes(m.Out) {
		return dataplane.Accept
	}
	p.Enqueued = now
	if m.Queue == trimming.Data {
		x.trimming.Leave(now, port, p)
	}
	port.Sent(p)
	return dataplane.Passed
}

// Out is Egress.
func (x *trims) Out(env *dataplane.Env, p *packet.Packet) {
	if m := &p.Meta; m.Queue == trimming.Data {
		x.trimming.Leave(env.Now(), x.ports[m.Out], p)
	}
}
