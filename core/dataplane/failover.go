package dataplane

import (
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Failover excludes ports of a switch with a failed link, like a router that watches its own links (loss of signal,
// BFD). A port is excluded when its link has been down for a time, and used again when the link has been up for as
// long. Shorter changes have no effect. Only the flows of an excluded port move, to the remaining ports (resilient
// hashing). Routes do not change: a destination without another port keeps its port, and other switches learn of no
// change.
//
// A nil Failover excludes no port.
type Failover struct {
	after        unit.Time
	leftOut      []bool          // by port: it is excluded
	changeTimes  []unit.Time     // by port, when that changes; Never: no change is due
	nextChange   unit.Time       // the earliest of these
	leftOutCount int             // number of excluded ports
	livePorts    []packet.PortID // memory for LivePorts
}

// BindFailover binds the time after which a program excludes a port to the parameter failover. 0 excludes no port.
func BindFailover(p *scheme.Params, delay *unit.Time) {
	p.Time(delay, "failover", "0s", "time after a link failure until a switch stops using its port, if other ports "+
		"lead to the destination, and after a repair until it uses the port again; 0s: the port remains in use",
		"Weir: as BFD or loss of signal, from ms to us").Max("60s")
}

// NewFailover returns the Failover of a switch; nil if the delay is 0. Ports that are down at the start are excluded.
func NewFailover(site *Site, delay unit.Time) *Failover {
	if delay == 0 {
		return nil
	}
	f := &Failover{after: delay, leftOut: make([]bool, site.Ports), changeTimes: make([]unit.Time, site.Ports),
		nextChange: unit.Never,
		livePorts:  make([]packet.PortID, 0, site.Ports)}
	for i := range f.leftOut {
		f.changeTimes[i] = unit.Never
		if i < len(site.At) && site.At[i].IsDown() {
			f.leftOut[i] = true
			f.leftOutCount++
		}
	}
	return f
}

// PortDown records that the link of a port goes down, or comes up again, at now (PortWatcher), and applies changes due
// before. If the link changes back before the time has passed, the port stays as it is.
func (f *Failover) PortDown(now unit.Time, port packet.PortID, down bool) {
	if f == nil {
		return
	}
	f.applyDueChanges(now)
	switch {
	case f.leftOut[port] == down:
		f.changeTimes[port] = unit.Never
	case f.changeTimes[port] == unit.Never:
		f.changeTimes[port] = now + f.after
	}
	f.findNextChange()
}

// applyDueChanges excludes or includes each port with a due change. It also sets the time of the next change.
func (f *Failover) applyDueChanges(now unit.Time) {
	for i, at := range f.changeTimes {
		if at > now {
			continue
		}
		f.changeTimes[i] = unit.Never
		if f.leftOut[i] = !f.leftOut[i]; f.leftOut[i] {
			f.leftOutCount++
		} else {
			f.leftOutCount--
		}
	}
	f.findNextChange()
}

// findNextChange sets the time of the next change; unit.Never if no change is due.
func (f *Failover) findNextChange() {
	f.nextChange = unit.Never
	for _, at := range f.changeTimes {
		f.nextChange = min(f.nextChange, at)
	}
}

// IsExcluded reports whether a port is excluded at present. It first applies the changes that are due.
func (f *Failover) IsExcluded(env *Env, port packet.PortID) bool {
	if f == nil {
		return false
	}
	if f.nextChange <= env.now {
		f.applyDueChanges(env.now)
	}
	return f.leftOutCount > 0 && f.leftOut[port]
}

// LivePorts returns the ports that are not excluded, in the same order, after it has applied the changes that are
// due. The slice is valid until the next call. It returns ports itself if no port of the switch is excluded, or if all
// of ports are.
func (f *Failover) LivePorts(env *Env, ports []packet.PortID) []packet.PortID {
	if f == nil {
		return ports
	}
	if f.nextChange <= env.now {
		f.applyDueChanges(env.now)
	}
	if f.leftOutCount == 0 {
		return ports
	}
	f.livePorts = f.livePorts[:0]
	for _, x := range ports {
		if !f.leftOut[x] {
			f.livePorts = append(f.livePorts, x)
		}
	}
	if len(f.livePorts) == 0 {
		return ports
	}
	return f.livePorts
}

// Stages returns the footprint: a bit a port; nil for a nil Failover.
func (f *Failover) Stages() []Stage {
	if f == nil {
		return nil
	}
	return []Stage{{Name: "ports in use", Gress: InIngress, Registers: []RegisterUse{{Name: "ports left out",
		Cells: len(f.leftOut), Bits: 1, Reads: 1}}}}
}

// PortWatcher is a program that is notified of link changes at its switch.
type PortWatcher interface {
	Program
	// PortDown is called when the link of a port goes down, or comes up.
	PortDown(now unit.Time, port packet.PortID, down bool)
}

// SetDown records that the link of a port goes down, or comes up again, at now, in the port's state, and then notifies
// the programs that are PortWatchers.
func (s *Switch) SetDown(now unit.Time, port packet.PortID, down bool) {
	s.ports[port].SetDown(down)
	for _, p := range s.config.Programs {
		if w, ok := p.(PortWatcher); ok {
			w.PortDown(now, port, down)
		}
	}
}
