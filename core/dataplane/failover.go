package dataplane

import (
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Failover leaves ports of a switch out whose links are down, as routers do that watch their own links (loss of signal,
// BFD): once a link has been down for a time its port is left out, and once it has been up for as long the port is
// taken in again. What is shorter changes nothing. Only flows of a port that is left out move (resilient hashing), to
// those that are left. Routes do not change: who has no other port for a destination goes on sending there, and other
// switches learn nothing.
//
// A nil Failover leaves none out, ever.
type Failover struct {
	after unit.Time
	out   []bool          // by port: it is left out
	turns []unit.Time     // by port, when that changes; Never: it stays
	next  unit.Time       // the first of these
	left  int             // how many are left out
	live  []packet.PortID // room
}

// BindFailover binds after what time a program leaves ports out.
func BindFailover(p *scheme.Params, after *unit.Time) {
	p.Time(after, "failover", "0s", "time for which the link of a port of the switch is down until the port is left out "+
		"where others lead to a destination, and up until it is taken in again; 0s: none is left out", "ours: as BFD or "+
		"loss of signal, ms to us").Max("60s")
}

// NewFailover is that of a switch; nil: it has none, after is 0.
func NewFailover(site *Site, after unit.Time) *Failover {
	if after == 0 {
		return nil
	}
	f := &Failover{after: after, out: make([]bool, site.Ports), turns: make([]unit.Time, site.Ports), next: unit.Never,
		live: make([]packet.PortID, 0, site.Ports)}
	for i := range f.out {
		f.turns[i] = unit.Never
		if i < len(site.At) && site.At[i].Down() {
			f.out[i] = true
			f.left++
		}
	}
	return f
}

// PortDown is told that the link of a port is down, or up again, from now on (PortWatcher).
func (f *Failover) PortDown(now unit.Time, port packet.PortID, down bool) {
	if f == nil {
		return
	}
	f.turn(now)
	switch {
	case f.out[port] == down:
		f.turns[port] = unit.Never
	case f.turns[port] == unit.Never:
		f.turns[port] = now + f.after
	}
	f.findNextTurn()
}

// turn leaves out, or takes in, what is due.
func (f *Failover) turn(now unit.Time) {
	for i, at := range f.turns {
		if at > now {
			continue
		}
		f.turns[i] = unit.Never
		if f.out[i] = !f.out[i]; f.out[i] {
			f.left++
		} else {
			f.left--
		}
	}
	f.findNextTurn()
}

// findNextTurn sets next to the earliest turn.
func (f *Failover) findNextTurn() {
	f.next = unit.Never
	for _, at := range f.turns {
		f.next = min(f.next, at)
	}
}

// Leaves reports whether a port is left out.
func (f *Failover) Leaves(env *Env, port packet.PortID) bool {
	if f == nil {
		return false
	}
	if f.next <= env.now {
		f.turn(env.now)
	}
	return f.left > 0 && f.out[port]
}

// Live returns those of ports that are not left out, good until the next call; all of them if none is, or if all are:
// then there is nothing better.
func (f *Failover) Live(env *Env, ports []packet.PortID) []packet.PortID {
	if f == nil {
		return ports
	}
	if f.next <= env.now {
		f.turn(env.now)
	}
	if f.left == 0 {
		return ports
	}
	f.live = f.live[:0]
	for _, x := range ports {
		if !f.out[x] {
			f.live = append(f.live, x)
		}
	}
	if len(f.live) == 0 {
		return ports
	}
	return f.live
}

// Stages is what it takes: a bit a port.
func (f *Failover) Stages() []Stage {
	if f == nil {
		return nil
	}
	return []Stage{{Name: "ports in use", Gress: InIngress, Registers: []RegisterUse{{Name: "ports left out",
		Cells: len(f.out), Bits: 1, Reads: 1}}}}
}

// PortWatcher is a program that wants to be told of the links of its switch.
type PortWatcher interface {
	Program
	// PortDown is called when the link of a port goes down, or comes up.
	PortDown(now unit.Time, port packet.PortID, down bool)
}

// SetDown says that the link of a port is down, or up again, from now on.
func (s *Switch) SetDown(now unit.Time, port packet.PortID, down bool) {
	s.ports[port].SetDown(down)
	for _, p := range s.config.Programs {
		if w, ok := p.(PortWatcher); ok {
			w.PortDown(now, port, down)
		}
	}
}
