package sim

import (
	"weir/core/fabric/observe"
	"weir/core/topology"
	"weir/core/trace"
	"weir/core/unit"
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

// linkObserver is the fabric's; its link i is the port 2·link + end.
func (r *Simulation) linkObserver() trace.Observer {
	c := r.config
	if c.Trace == nil && !c.Tally && !c.Notices {
		return nil
	}
	l := &observe.Links{Telemetry: c.Telemetry, Port: r.wiring.Port}
	if c.Tally {
		l.Tally = &r.tally
	}
	if c.Notices {
		l.Lost = &r.seen.notices.Dropped
	}
	if c.Trace != nil {
		l.Trace = c.Trace
	}
	return l
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
