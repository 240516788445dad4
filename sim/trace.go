package sim

import (
	"weir/packet"
	"weir/topology"
	"weir/trace"
	"weir/unit"
)

// TracePorts lists a network's ports by their number, 2·link + end, none of them
// traced.
func TracePorts(n *topology.Network) []trace.Port {
	var ports []trace.Port
	for i, l := range n.Links {
		for e, node := range l.Ends {
			ports = append(ports, trace.Port{Name: n.PortName(i, e), Node: node})
		}
	}
	return ports
}

// queueing adds to a link's events what waits at the port that sends.
type queueing struct{ run *Simulation }

func (q queueing) Observe(e trace.Event, p *packet.Packet) {
	if e.Kind != trace.Arrive { // whose node may be ahead of the port's
		port := q.run.portOf(q.run.linkOf[e.Port])
		e.QueuePackets, e.QueueBytes = port.Packets(), port.Bytes()
	}
	q.run.config.Trace.Observe(e, p)
}

// linkObserver is the fabric's; its link i is the port 2·link + end.
func (r *Simulation) linkObserver() trace.Observer {
	if r.config.Trace == nil {
		return nil
	}
	return queueing{r}
}

func (r *Simulation) switchObserver() trace.Observer {
	if r.config.Trace == nil {
		return nil
	}
	return r.config.Trace
}

// flush writes the trace of what happened before done. When all flows are done the
// trace ends with the last of them: how far the run goes on is a matter of windows.
// The collector keeps its error.
func (r *Simulation) flush(done unit.Time) {
	if r.config.UntilDone && r.unfinished == 0 {
		r.config.Trace.End(r.lastFinish)
	} else {
		r.config.Trace.Flush(done)
	}
}
