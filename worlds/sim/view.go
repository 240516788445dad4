package sim

import (
	"weir/core/transport"
	"weir/core/unit"
)

// View is the network of a run in progress, at a Time before which all events have happened; some nodes may be ahead by
// less than a window. It is valid until Config.View returns.
type View struct {
	Time unit.Time
	run  *Simulation
	left *skipped // counters of skipped iterations; nil: no iteration was skipped
}

// PortView is the state of a port: one direction of a link. Its counters begin at the start of the run.
type PortView struct {
	Packets   int32      // that wait
	Bytes     unit.Bytes // of these
	SentBytes uint64
	Drops     uint64 // of packets on their way to the port, and on its link
}

// FlowView is the state of a flow.
type FlowView struct {
	Active   bool       // it has begun, and not ended
	Received unit.Bytes // payload that was new to its receiver, from the start of the run
	Window   unit.Bytes // of a sender that is transport.Gauged, while it is going
	Rate     unit.Rate
}

// Port returns the state of port i: 2·link + end, as in outcome.Watch. It is zero for hosts without their network
// (Edge).
func (v *View) Port(i int) (p PortView) {
	w := v.run.wiring
	if w == nil { // hosts without their network (Edge)
		return p
	}
	t := w.Port(i)
	l := v.run.fabric.LinkCounters(i)
	p = PortView{Packets: t.Packets(), Bytes: t.Bytes(), SentBytes: t.TxBytes(), Drops: l.Lost}
	if d := &w.Directions[i]; d.OfSwitch {
		for _, n := range w.Switches[d.Node].PortDrops(d.Port) {
			p.Drops += n
		}
	}
	if v.left != nil {
		v.left.addPort(i, &p)
	}
	return p
}

// Flow returns the state of flow i of Config.Flows. Window and Rate are 0 unless it is active and its sender is
// transport.Gauged.
func (v *View) Flow(i int) (f FlowView) {
	r := v.run
	f.Received = r.receivedBytes(i)
	k := r.sender[i]
	if k < 0 || r.outcome[i].Start > v.Time {
		return f
	}
	c := &r.config.Flows[i]
	s := &r.hosts[c.Src].slot[k]
	if f.Active = s.counters.Finished > v.Time && (c.Stop == 0 || c.Stop > v.Time); !f.Active {
		return f
	}
	if g, gauged := s.endpoint.(transport.Gauged); gauged {
		now := g.Gauge()
		f.Window, f.Rate = now.Window, now.Rate
	}
	return f
}
