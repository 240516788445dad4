package dataplane

import (
	"weir/core/packet"
	"weir/core/trace"
)

// watch reports the events of a switch to an observer. It is the first hook; a switch without an observer does not
// have it.
type watch struct {
	observer trace.Observer
	sw       *Switch
}

// Book reports a packet that has entered its queue.
func (w *watch) Book(env *Env, p *packet.Packet) {
	w.observeEvent(trace.Enqueue, env, p, "")
}

// OnDrop reports a drop.
func (w *watch) OnDrop(env *Env, p *packet.Packet, why Reason) {
	w.observeEvent(trace.Drop, env, p, why.OneWord())
}

// observeEvent reports an event with its port: the egress port or, if no port was chosen before the drop, the port at
// which p arrived. why is the reason of a drop in one word; "" for other events.
func (w *watch) observeEvent(k trace.EventKind, env *Env, p *packet.Packet, why string) {
	s, m := w.sw, &p.Meta
	e := trace.Event{At: env.now, Kind: k, Node: int32(s.config.ID), Reason: why,
		Port: trace.None, QueuePackets: trace.None, QueueBytes: trace.None}
	switch {
	case int(m.Out) < len(s.ports):
		port := s.ports[m.Out]
		e.Port, e.QueuePackets, e.QueueBytes = s.config.Numbers[m.Out].Out, port.Packets(), port.Bytes()
	case int(m.In) < len(s.ports):
		e.Port = s.config.Numbers[m.In].In
	}
	w.observer.Observe(e, p)
}
