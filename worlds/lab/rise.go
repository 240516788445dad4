package lab

import (
	"weir/core/dataplane"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/unit"
)

// rise is an onset at a port, and when it began. As a switch's last program it sees the queue grow.
type rise struct {
	outcome.Onset
	after  unit.Time // in event time
	node   int
	port   packet.PortID
	at     unit.Time // in event time; unit.Never: not yet
	looked bool      // whether it was there at once
}

// risers are the programs that see queues of a switch grow.
func (d *plane) risers(node int) (programs []dataplane.Program) {
	if d.config == nil {
		return nil
	}
	if d.rises == nil {
		d.rises = []rise{}
		for _, o := range d.config.Onsets {
			if o.Port < 0 {
				continue
			}
			w := d.wiring.Directions[o.Port]
			d.rises = append(d.rises, rise{Onset: o, after: d.config.Lead + o.After, node: w.Node, port: w.Port,
				at: unit.Never})
		}
	}
	for i := range d.rises {
		if d.rises[i].node == node {
			programs = append(programs, &d.rises[i])
		}
	}
	return programs
}

// Name names it in errors.
func (r *rise) Name() string { return "rise" }

// Book looks at the port after each packet that has entered a queue.
func (r *rise) Book(env *dataplane.Env, p *packet.Packet) {
	if p.Meta.Out == r.port && r.at == unit.Never && env.Now() >= r.after {
		q := env.Port(r.port)
		r.grown(env.Now(), q.Packets(), q.Bytes())
	}
}

func (r *rise) grown(now unit.Time, packets int32, bytes unit.Bytes) {
	if a := r.Above; a.Packets > 0 && packets > a.Packets || a.Bytes > 0 && bytes > a.Bytes {
		r.at = now
	}
}

// nextRise is when a queue is to be looked at that may be as long at once.
func (d *plane) nextRise() unit.Time {
	next := unit.Never
	for i := range d.rises {
		if r := &d.rises[i]; !r.looked {
			next = min(next, r.after)
		}
	}
	return next
}

// lookForRises looks at those queues.
func (d *plane) lookForRises(now unit.Time) {
	for i := range d.rises {
		if r := &d.rises[i]; !r.looked && r.after <= now {
			r.looked = true
			if q := d.wiring.Port(r.Port); r.at == unit.Never {
				r.grown(now, q.Packets(), q.Bytes())
			}
		}
	}
}

// risen are the times of rises, in the experiment's time.
func (d *plane) risen() (at []unit.Time) {
	for i := range d.rises {
		t := d.rises[i].at
		if t < unit.Never {
			t -= d.config.Lead
		}
		at = append(at, t)
	}
	return at
}
