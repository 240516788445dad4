package lab

import (
	"weir/core/dataplane"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/unit"
)

// queueWatch finds the start of an onset at a port. It runs as a switch's last program and checks the queue at
// each packet.
type queueWatch struct {
	outcome.Onset
	after   unit.Time // in event time
	node    int
	port    packet.PortID
	begins  unit.Time // in event time; unit.Never: not begun
	checked bool      // the length at the start of the watch was checked
}

// watchQueues adds the watches of the configuration's onsets at ports to d.watches. The wiring must exist.
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

// queueWatches returns a switch's watches as programs.
func (d *plane) queueWatches(node int) (programs []dataplane.Program) {
	for _, w := range d.watches {
		if w.node == node {
			programs = append(programs, w)
		}
	}
	return programs
}

// Name returns the program's name in errors.
func (w *queueWatch) Name() string { return "rise" }

// Book checks the port after each packet that entered a queue.
func (w *queueWatch) Book(env *dataplane.Env, p *packet.Packet) {
	if p.Meta.Out == w.port && w.begins == unit.Never && env.Now() >= w.after {
		q := env.Port(w.port)
		w.checkQueue(env.Now(), q.Packets(), q.Bytes())
	}
}

// checkQueue starts the onset at now if the queue exceeds one of the onset's limits above 0.
func (w *queueWatch) checkQueue(now unit.Time, packets int32, bytes unit.Bytes) {
	if a := w.Above; a.Packets > 0 && packets > a.Packets || a.Bytes > 0 && bytes > a.Bytes {
		w.begins = now
	}
}

// nextQueueCheck returns the time of the next check of a queue at the start of its watch; unit.Never without one.
func (d *plane) nextQueueCheck() unit.Time {
	next := unit.Never
	for _, w := range d.watches {
		if !w.checked {
			next = min(next, w.after)
		}
	}
	return next
}

// checkQueues checks once the queues of watches that start at or before now.
func (d *plane) checkQueues(now unit.Time) {
	for _, w := range d.watches {
		if !w.checked && w.after <= now {
			w.checked = true
			if q := d.wiring.Port(w.Port); w.begins == unit.Never {
				w.checkQueue(now, q.Packets(), q.Bytes())
			}
		}
	}
}

// onsetTimes returns the starts of all onsets in the experiment's time, unit.Never if an onset has not begun.
func (d *plane) onsetTimes() (times []unit.Time) {
	for _, w := range d.watches {
		t := w.begins
		if t < unit.Never {
			t -= d.config.Lead
		}
		times = append(times, t)
	}
	return times
}
