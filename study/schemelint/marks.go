package schemelint

import (
	"fmt"

	"weir/core/packet"
	"weir/core/trace"
	"weir/worlds/sim"
)

// marked finds packets that were sent as not ECN-capable and arrive with a congestion mark: RFC 3168 §5 has such
// packets dropped, and their receivers look for no marks.
type marked struct {
	capable  []bool // by flow: its sender has sent ECN-capable packets
	arrived  int
	switched []string // where such a packet was first seen with a mark
}

// watch traces all ports.
func (m *marked) watch(c *sim.Config) {
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

// Write looks at an event.
func (m *marked) Write(r *trace.Record) error {
	if r.Kind != trace.Transmit || r.Packet != packet.Data || r.Flow < 0 || r.Flow >= int64(len(m.capable)) {
		return nil
	}
	switch {
	case r.Node == r.Src:
		m.capable[r.Flow] = m.capable[r.Flow] || r.TOS&packet.ECN != 0
	case r.TOS&packet.ECN == packet.CE && !m.capable[r.Flow]:
		if m.arrived++; len(m.switched) == 0 {
			m.switched = []string{r.Node}
		}
	}
	return nil
}

// found says that there are such packets.
func (m *marked) found() string {
	if m.arrived == 0 {
		return ""
	}
	return fmt.Sprintf("a program marks packets that are not ECN-capable (the first at %s): their senders hear of no "+
		"marks; such packets are dropped instead (RFC 3168 §5), unless p.TOS&packet.ECN == packet.ECT0", m.switched[0])
}
