// Package inputring is a switch that reads its input at a limited rate in packets per second, and loses packets that
// find their ring full. P4-ABC's testbed was such a switch (P4-ABC §6.1.3: BMv2 "cannot read input traffic fast
// enough and drops packets at the ingress at higher speeds").
//
// It models only the losses. A packet with room continues at once. Its wait, at most (ring + 1)/capacity, is omitted,
// since a program has no queue of its own. An experiment that needs the wait as well puts a link with that rate in
// packets and that buffer in front of the switch.
package inputring

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// config holds the read rate of a switch, and the sizes of its rings.
type config struct {
	Capacity unit.LinkRate // in packets/s, of all ports together
	Ring     int           // packets that wait, without the one in reading
	Own      bool          // each port has a ring, and they are read in turn
	Jitter   float64       // each packet takes (1 + U(−j, j)) times as long
}

// Traits returns that it drops packets regardless of the queues.
func (*config) Traits() dataplane.Traits { return dataplane.Traits{DropsEarly: true} }

// Params binds the options of input to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	p.LinkRate(&c.Capacity, "capacity", "", "packets per second that the switch reads, of all ports together",
		"P4-ABC §6.1.3: a limit without a value").Required().Min("1pps")
	p.Packets(&c.Ring, "ring", "32 packets", "packets that can wait to be read, without the one that is being read; "+
		"further packets are lost",
		"Weir").Max("1000000 packets")
	p.BoolWords(&c.Own, [2]string{"shared", "port"}, "rings", "shared",
		"shared: one ring for all ports, in order of arrival; port: one ring per port, read in turn", "port: BMv2")
	p.Share(&c.Jitter, "jitter", "0%", "maximum deviation of the time to read a packet, as a share of that time, "+
		"uniformly distributed", "Weir").
		Min("0%").Max("100%")
	p.AddRule("capacity", func() error {
		if c.Capacity.Packets <= 0 {
			return fmt.Errorf("%v: a rate in packets is needed, such as 10kpps", c.Capacity)
		}
		return nil
	})
}

// Scheme returns the scheme of the program input, as in switch: [{input: {capacity: 10kpps}}, …].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "input",
		Doc:    "reads a limited number of packets per second and drops packets that find the input ring full",
		Source: "P4-ABC §6.1.3"}, newProgram)
}

// program is the switch's input. Its state is the number of packets that have arrived and have not been read.
type program struct {
	config       config
	random       unit.Random
	serialiser   unit.Serialiser
	waiting      []int     // by ring
	waitingTotal int       // sum over all rings
	lastRing     int       // the ring that was read last
	readUntil    unit.Time // when the current packet will have been read
}

// newProgram returns the program with empty rings: one for each port with Own, otherwise one for all. The error is
// always nil.
func newProgram(site *dataplane.Site, c config) (*program, error) {
	rings := 1
	if c.Own {
		rings = max(site.Ports, 1)
	}
	return &program{config: c, random: site.Random("input"), serialiser: unit.NewSerialiser(c.Capacity),
		waiting: make([]int, rings)}, nil
}

// Name returns "input".
func (r *program) Name() string { return "input" }

// Ingress drops the packet if its ring is full. Packets made by the switch did not arrive, and pass.
func (r *program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.In == packet.NoPort || r.takePacket(env.Now(), int(p.Meta.In)) {
		return dataplane.Accept
	}
	return dataplane.Drop(dataplane.InputLoss)
}

// takePacket takes in a packet that arrives at a port, and returns false if its ring is full. First it removes the
// packets read by now from their rings: departures precede arrivals of the same instant. The packet is read at once or
// waits in its ring.
func (r *program) takePacket(now unit.Time, port int) bool {
	for r.waitingTotal > 0 && r.readUntil <= now {
		r.waiting[r.nextRing()]--
		r.waitingTotal--
		r.readUntil += r.readTime(true)
	}
	ring := 0
	if r.config.Own {
		ring = port
	}
	if r.readUntil <= now {
		r.lastRing = ring
		r.readUntil = now + r.readTime(false)
		return true
	}
	if r.waiting[ring] >= r.config.Ring {
		return false
	}
	r.waiting[ring]++
	r.waitingTotal++
	return true
}

// nextRing returns the ring that is read next, the first non-empty one after the last. BMv2's loop over its ports
// likewise takes one packet of each port with packets. At least one packet must wait. The ring becomes the last one.
func (r *program) nextRing() int {
	for {
		if r.lastRing++; r.lastRing >= len(r.waiting) {
			r.lastRing = 0
		}
		if r.waiting[r.lastRing] > 0 {
			return r.lastRing
		}
	}
}

// readTime returns the time to read the next packet. backToBack means that the packet before has just been read. With
// jitter, each call draws a random number.
func (r *program) readTime(backToBack bool) unit.Time {
	t := r.serialiser.NextTime(0, backToBack)
	if j := r.config.Jitter; j > 0 {
		t += unit.Time(float64(t) * j * (float64(2*r.random.Float64()) - 1))
	}
	return t
}
