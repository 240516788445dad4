package sim

import (
	"weir/packet"
	"weir/telemetry"
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

// Tally is what frames consisted of, in bytes, added up over all links.
type Tally struct {
	Kinds      [packet.Kinds]uint64 // frames without extensions, by packet.Kind
	Payload    uint64               // of Data
	Extensions uint64               // of all kinds: telemetry and what else rides along
}

// count takes telemetry as its format counts it, which is nil if there is none.
func (t *Tally) count(f *packet.Packet, format *telemetry.Format) {
	extensions := uint64(f.ExtensionBytes())
	if format != nil {
		extensions = uint64(format.Bytes(f))
	}
	extensions = min(extensions, uint64(f.Size)) // a fixed framing may have them in its own bytes
	t.Kinds[f.Kind] += uint64(f.Size) - extensions
	if f.Kind == packet.Data {
		t.Payload += uint64(f.Payload)
	}
	t.Extensions += extensions
}

// links is told what links do: it counts what frames consist of and which notices are
// lost, and adds to the events of a trace what waits at the port that sends.
type links struct{ run *Simulation }

func (q links) Observe(e trace.Event, p *packet.Packet) {
	if q.run.config.Tally && e.Kind == trace.Transmit {
		q.run.tally.count(p, q.run.config.Telemetry)
	}
	if q.run.config.Notices && e.Kind == trace.Lost && isNotice(p) {
		q.run.seen.notices.Dropped++
	}
	if q.run.config.Trace == nil {
		return
	}
	if e.Kind != trace.Arrive { // whose node may be ahead of the port's
		port := q.run.portOf(q.run.linkOf[e.Port])
		e.QueuePackets, e.QueueBytes = port.Packets(), port.Bytes()
	}
	q.run.config.Trace.Observe(e, p)
}

// linkObserver is the fabric's; its link i is the port 2·link + end.
func (r *Simulation) linkObserver() trace.Observer {
	if r.config.Trace == nil && !r.config.Tally && !r.config.Notices {
		return nil
	}
	return links{r}
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
