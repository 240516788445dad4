package sim

import (
	"fmt"

	"weir/core/packet"
	"weir/core/transport"
)

// tuple identifies a flow on the wire.
type tuple struct {
	src, dst         packet.Addr
	srcPort, dstPort uint16
}

// flowTuples returns the flows of these hosts by the tuples of their packets, in both directions. It makes receivers of
// flows, only to read their ports.
func (r *Simulation) flowTuples() map[tuple]packet.FlowID {
	flows := map[tuple]packet.FlowID{}
	var given []tuple
	add := func(i int, src, dst packet.Addr, srcPort, dstPort uint16) {
		for _, t := range []tuple{{src, dst, srcPort, dstPort}, {dst, src, dstPort, srcPort}} {
			flows[t] = packet.FlowID(i)
			given = append(given, t)
		}
	}
	for i := range r.config.Flows {
		if !r.hasFlow(i) {
			continue
		}
		f := &r.config.Flows[i]
		src, dst := packet.Addr(f.Src+1), packet.Addr(f.Dst+1)
		add(i, src, dst, f.SrcPort, f.DstPort)
		receiver := r.config.givenEndpoints(packet.FlowID(i)).Receiver
		if receiver == nil {
			receiver, _ = r.config.EndpointFactory.Receiver(i) // it is made only for its ports
		}
		if x, ok := receiver.(transport.Ported); ok {
			for _, port := range x.Ports() {
				add(i, src, dst, port, f.DstPort)
			}
		}
	}
	if r.failover != nil {
		r.addMoved(flows, given)
	}
	return flows
}

// addMoved adds the tuples of flows when they use other NICs than they were given. A tuple of another flow has
// precedence.
func (r *Simulation) addMoved(flows map[tuple]packet.FlowID, given []tuple) {
	addresses := func(a packet.Addr) (all []packet.Addr) {
		host := r.nics.HostOf(int(a) - 1)
		for port := range r.nics.CountOf(host) {
			all = append(all, packet.Addr(r.nics.NumberOf(host, port)+1))
		}
		return all
	}
	for _, t := range given {
		for _, src := range addresses(t.src) {
			for _, dst := range addresses(t.dst) {
				x := tuple{src, dst, t.srcPort, t.dstPort}
				if _, named := flows[x]; !named {
					flows[x] = flows[t]
				}
			}
		}
	}
}

// wireFunc returns the function that wire mode applies to a packet at the end of a link; nil in fast mode. That
// function replaces the packet by what is parsed from its bytes. It keeps only those bytes, its size in the run's
// framing, which a link knows, and the fields that measures need (sender, time and reason). It panics if a codec fails.
func (r *Simulation) wireFunc() func(p *packet.Packet) {
	if !r.config.Wire {
		return nil
	}
	flows := r.flowTuples()
	return func(p *packet.Packet) {
		data := p.Data
		if data == nil {
			var err error
			if data, err = p.Emit(r.config.Wiring.Hosts, nil); err != nil {
				panic(fmt.Sprintf("sim: wire mode cannot serialise a packet of flow %d: %v", p.Flow, err))
			}
		}
		size, sent, resent, made := p.Size, p.Sent, p.Resent, p.Meta.Flags&packet.Internal
		*p = packet.Packet{Size: size}
		if err := p.Parse(r.config.Wiring.Hosts, data); err != nil {
			panic(fmt.Sprintf("sim: wire mode cannot parse its own frame: %v", err))
		}
		p.Data, p.Sent, p.Resent = data, sent, resent
		p.Meta.Flags = made
		if p.Kind != packet.Pause && p.Kind != packet.Resume {
			p.Flow = flows[tuple{p.Src, p.Dst, p.SrcPort, p.DstPort}]
		}
	}
}
