package sim

import (
	"weir/core/topology"
	"weir/core/trace"
	"weir/core/unit"
)

// TracePorts returns a network's ports by their number, 2·link + end. No port in the result is traced yet.
func TracePorts(n *topology.Network) []trace.Port {
	var ports []trace.Port
	for i, l := range n.Links {
		for e, node := range l.Ends {
			ports = append(ports, trace.Port{Name: n.PortName(i, e), Node: node})
		}
	}
	return ports
}

// flushTrace writes the trace up to done. When all flows are done the trace ends with the last of them, since how far
// the run continues depends on windows. The collector keeps its error. Config.Trace must not be nil.
func (r *Simulation) flushTrace(done unit.Time) {
	if r.config.UntilDone && r.unfinished == 0 {
		r.config.Trace.EndAt(r.lastFinish)
	} else {
		r.config.Trace.Flush(done)
	}
}
