package lab

import (
	"weir/core/dataplane"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/unit"
)

// queueWatch finds when an onset at a port begins. As a switch's last program it sees the queue grow.
type queueWatch struct {
	outcome.Onset
	after   unit.Time // in event time
	node    int
	port    packet.PortID
	begins  unit.Time // in event time; unit.Never: not yet
	checked bool      // whether the queue was that long from the start
}

// watchQueues makes the watches of the configuration's onsets at ports.
func (d *plane) watchQueues() {
	for _, o := range d.config.Onsets {
		if o.Port < 0 {
			continue
		}
		w := d.wiring.Directions[o.Port]
		d.watches = append(d.watches, &queueWatch{Onset: o, after: d.config.Lead + o.After, node: w.Node, port: w.Port,
			begins: unit.Never})
	}
}

// queueWatches returns the programs that see queues of a switch grow.
func (d *plane) queueWatches(node int) (programs []dataplane.Program) {
	for _, w := range d.watches {
		if w.node == node {
			programs = append(programs, w)
		}
	}
	return programs
}

// Name is the program's name in errors.
func (w *queueWatch) Name() string { return "rise" }

// Book checks the port after each packet that has entered a queue.
func (w *queueWatch) Book(env *dataplane.Env, p *packet.Packet) {
	if p.Meta.Out == w.port && w.begins == unit.Never && env.Now() >= w.after {
		q := env.Port(w.port)
		w.check(env.Now(), q.Packets(), q.Bytes())
	}
}

func (w *queueWatch) check(now unit.Time, packets int32, bytes unit.Bytes) {
	if a := w.Above; a.Packets > 0 && packets > a.Packets || a.Bytes > 0 && bytes > a.Bytes {
		w.begins = now
	}
}

// nextQueueCheck returns when a queue is to be checked that may be long from the start.
func (d *plane) nextQueueCheck() unit.Time {
	next := unit.Never
	for _, w := range d.watches {
		if !w.checked {
			next = min(next, w.after)
		}
	}
	return next
}

// checkQueues checks those queues.
func (d *plane) checkQueues(now unit.Time) {
	for _, w := range d.watches {
		if !w.checked && w.after <= now {
			w.checked = true
			if q := d.wiring.Port(w.Port); w.begins == unit.Never {
				w.check(now, q.Packets(), q.Bytes())
			}
		}
	}
}

// onsets returns when they began, in the experiment's time.
func (d *plane) onsets() (at []unit.Time) {
	for _, w := range d.watches {
		t := w.begins
		if t < unit.Never {
			t -= d.config.Lead
		}
		at = append(at, t)
	}
	return at
}
