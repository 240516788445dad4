// Package inputring is a switch that reads its input no faster than so many packets per second, and loses what
// does not fit into the rings in which packets wait to be read. P4-ABC's testbed was one (§6.1.3: BMv2 "cannot
// read input traffic fast enough and drops packets at the ingress at higher speeds").
//
// Only the losses are modelled. A packet that finds room goes on at once: its wait, (ring + 1)/capacity at most, is
// left out, since a program has no queue of its own. An experiment that needs the wait as well puts a link of that
// rate in packets, with that buffer, in front of the switch.
package inputring

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// config is how fast a switch reads, and how much waits meanwhile.
type config struct {
	Capacity unit.LinkRate // in packets/s, of all ports together
	Ring     int           // packets that wait, without the one that is being read
	Own      bool          // each port has a ring, and they are read in turn
	Jitter   float64       // each packet takes (1 + U(−j, j)) times as long
}

// Traits returns that it drops packets, whatever the queues are.
func (*config) Traits() dataplane.Traits { return dataplane.Traits{DropsEarly: true} }

// Params binds the configuration.
func (c *config) Params(p *scheme.Params) {
	p.LinkRate(&c.Capacity, "capacity", "", "packets that the switch reads per second, of all ports together",
		"P4-ABC §6.1.3: there is one, how large is not said").Required().Min("1pps")
	p.Packets(&c.Ring, "ring", "32 packets", "that wait to be read, without the one that is being read",
		"ours").Max("1000000 packets")
	p.Either(&c.Own, [2]string{"shared", "port"}, "rings", "shared",
		"one for all ports, in order of arrival, or one for each port, read in turn", "port: BMv2")
	p.Share(&c.Jitter, "jitter", "0%", "the time to read a packet varies by so much, uniformly", "ours").
		Min("0%").Max("100%")
	p.Rule("capacity", func() error {
		if c.Capacity.Packets <= 0 {
			return fmt.Errorf("%v: a rate in packets is needed, such as 10kpps", c.Capacity)
		}
		return nil
	})
}

// Scheme is what an experiment names: switch: [{input: {capacity: 10kpps}}, …].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "input",
		Doc:    "reads so many packets per second, loses what finds its ring full",
		Source: "P4-ABC §6.1.3"}, newProgram)
}

// program is the switch's input. Its state is what would wait: as many packets as have come in and not been read.
type program struct {
	config  config
	random  unit.Random
	time    unit.Serialiser
	waiting []int     // by ring
	all     int       // in all rings
	last    int       // the ring that was read last
	free    unit.Time // when the packet that is being read will have been
}

// newProgram returns the program.
func newProgram(site *dataplane.Site, c config) (*program, error) {
	rings := 1
	if c.Own {
		rings = max(site.Ports, 1)
	}
	return &program{config: c, random: site.Random("input"), time: unit.NewSerialiser(c.Capacity),
		waiting: make([]int, rings)}, nil
}

// Name is "input".
func (r *program) Name() string { return "input" }

// Ingress loses the packet if its ring is full. What the switch has made itself did not come in.
func (r *program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.In == packet.NoPort || r.take(env.Now(), int(p.Meta.In)) {
		return dataplane.Accept
	}
	return dataplane.Drop(dataplane.InputLoss)
}

// take reports whether a packet that comes in at a port is read at once, or has room to wait. A packet that was
// read by now has left its ring: departures come before arrivals of the same instant.
func (r *program) take(now unit.Time, in int) bool {
	for r.all > 0 && r.free <= now {
		r.waiting[r.next()]--
		r.all--
		r.free += r.reading(true)
	}
	ring := 0
	if r.config.Own {
		ring = in
	}
	if r.free <= now {
		r.last = ring
		r.free = now + r.reading(false)
		return true
	}
	if r.waiting[ring] >= r.config.Ring {
		return false
	}
	r.waiting[ring]++
	r.all++
	return true
}

// next moves on to the ring that is read next: the first one after the last that is not empty, as BMv2's loop over
// its ports takes one packet of each that has any.
func (r *program) next() int {
	for {
		if r.last++; r.last >= len(r.waiting) {
			r.last = 0
		}
		if r.waiting[r.last] > 0 {
			return r.last
		}
	}
}

// reading is how long the next packet takes.
func (r *program) reading(continues bool) unit.Time {
	t := r.time.Next(0, continues)
	if j := r.config.Jitter; j > 0 {
		t += unit.Time(float64(t) * j * (float64(2*r.random.Float64()) - 1))
	}
	return t
}
