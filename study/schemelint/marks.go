package schemelint

import (
	"fmt"

	"weir/core/packet"
	"weir/core/trace"
	"weir/worlds/sim"
)

// markWatch finds packets that were sent as not ECN-capable and arrive with a congestion mark. RFC 3168 §5 requires
// dropping such packets, and their receivers ignore marks.
type markWatch struct {
	capable    []bool // by flow: its sender has sent an ECN-capable packet
	arrived    int
	firstNodes []string // the switch where such a packet first had a mark; empty: not seen
}

// traceAllPorts configures a run to trace all ports into the watch. The configuration must have its flows.
func (m *markWatch) traceAllPorts(c *sim.Config) {
	config := trace.Config{Ports: sim.TracePorts(c.Wiring.Network), Sinks: []trace.Sink{m}}
	for i := range config.Ports {
		config.Ports[i].Traced = true
	}
	for _, n := range c.Wiring.Network.Nodes {
		config.Nodes = append(config.Nodes, n.Name)
	}
	m.capable = make([]bool, len(c.Flows))
	c.Trace = trace.NewCollector(config)
}

// Write records an event, which it does not keep. It implements trace.Sink and returns no error.
func (m *markWatch) Write(r *trace.Record) error {
	if r.Kind != trace.Transmit || r.Packet != packet.Data || r.Flow < 0 || r.Flow >= int64(len(m.capable)) {
		return nil
	}
	switch {
	case r.Node == r.Src:
		m.capable[r.Flow] = m.capable[r.Flow] || r.TOS&packet.ECN != 0
	case r.TOS&packet.ECN == packet.CE && !m.capable[r.Flow]:
		if m.arrived++; len(m.firstNodes) == 0 {
			m.firstNodes = []string{r.Node}
		}
	}
	return nil
}

// describe returns a text about marked packets that are not ECN-capable; "" without any.
func (m *markWatch) describe() string {
	if m.arrived == 0 {
		return ""
	}
	return fmt.Sprintf("a program marks packets that are not ECN-capable (the first at %s): their senders hear of no "+
		"marks; such packets are dropped instead (RFC 3168 §5), unless p.TOS&packet.ECN == packet.ECT0", m.firstNodes[0])
}
