package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/testkit/plantest"
	"weir/study/plan"
	"weir/worlds/sim"
)

// crossing is a reaction of flows that cross the spines between two leaves. There are eight pairs of hosts, whose
// links are as fast as the uplinks, and four spines, so that uplinks get twice their capacity.
type crossing struct {
	reaction
	both      bool   // flows go in both directions, and their acknowledgements wait behind the others' data
	unequal   bool   // the links of leaf0 and spine3 have a quarter of the rate
	scheduler string // of schedulerChoices
	speed     speed
	flows     int // in each direction, over all pairs of hosts
}

func (x crossing) String() string {
	way, paths := "one way", "equal paths"
	if x.both {
		way = "both ways"
	}
	if x.unequal {
		paths = "unequal paths"
	}
	return fmt.Sprintf("%v, %s, %s, %s, %v, %d flows", x.reaction, way, paths, x.scheduler, x.speed, x.flows)
}

// schedulerChoices are one queue per port, two classes that share it under DWRR, and the same with acknowledgements
// in a class with priority.
var schedulerChoices = []string{"fifo", "dwrr", "dwrr with priority"}

// speed is the rate of all links, and their delay.
type speed struct {
	rate  unit.Rate
	delay unit.Time
}

var speedChoices = []speed{{unit.Gbps, 20 * unit.Microsecond}, {10 * unit.Gbps, 2 * unit.Microsecond},
	{25 * unit.Gbps, unit.Microsecond}, {100 * unit.Gbps, unit.Microsecond}, {100 * unit.Gbps, 10 * unit.Microsecond},
	{400 * unit.Gbps, unit.Microsecond / 2}, {1000 * unit.Gbps, unit.Microsecond / 2},
	// 50 times and a tenth of the delays above
	{unit.Gbps, unit.Millisecond}, {10 * unit.Gbps, 100 * unit.Microsecond}, {10 * unit.Gbps, unit.Microsecond / 5},
	{100 * unit.Gbps, unit.Microsecond / 10}}

// flowChoices are one flow for each pair of hosts, a single flow, and 125 for each pair.
var flowChoices = []int{8, 1, 1000}

func (s speed) String() string { return fmt.Sprintf("%v and %v a link", s.rate, s.delay) }

// trip returns the base round trip over four links each way, for a frame of 1560 bytes and an acknowledgement of
// 100.
func (s speed) trip() unit.Time {
	return (8*s.delay + 4*unit.TransmitTime(1560+100, s.rate)) / unit.Nanosecond * unit.Nanosecond
}

// product is the capacity of a link in a base round trip.
func (s speed) product() unit.Bytes { return s.rate.BytesIn(s.trip()) }

// agentTrips is the minimum T of preset: agent, in base round trips rounded up: ten times a link's time for 64 KiB,
// the largest burst of Linux, but at most a millisecond each (docs/agent.md).
func (s speed) agentTrips() unit.Time {
	bursts := 10 * min(unit.TransmitTime(65536, s.rate), unit.Millisecond)
	return 1 + (bursts+s.trip()-1)/s.trip()
}

// buffer returns the buffer of each link: four products, and with more than eight flows two frames for each flow of
// an uplink on average. The windows of most laws are at least a packet.
func (x crossing) buffer() unit.Bytes {
	b := 4 * x.speed.product()
	if x.flows > 8 {
		b += unit.Bytes(x.flows / 4 * 2 * 1560)
	}
	return b
}

// spec returns the file of the combination. A measured part of 200 round trips follows a warm-up of the same
// length, in which first windows, four times the buffers of the uplinks, drain.
func (x crossing) spec() string {
	trip, product := x.speed.trip(), x.speed.product()
	programs := fmt.Sprintf("%s, {ecn: {kmin: %d B, kmax: %d B, pmax: 20%%}}%s", x.balancer, product/2, product*3/2,
		x.telemetry(trip))
	queues := ""
	switch x.scheduler {
	case "dwrr":
		programs, queues = "classify, "+programs, ", queues: 3, scheduler: {dwrr: {weights: {1: 1, 2: 3}}}"
	case "dwrr with priority":
		programs, queues = "classify, "+programs, ", queues: 3, scheduler: {dwrr: {priority: 1, weights: {1: 1, 2: 3}}}"
	}
	if queues != "" { // classes leave their share to others while they are idle
		programs = strings.Replace(programs, "{telemetry: {", fmt.Sprintf("{telemetry: {idle: %v, ", 4*trip), 1)
	}
	trips, warmup := unit.Time(200), unit.Time(200)
	if product > 300_000 { // as many packets as slower links have
		trips, warmup = 100, 100
	}
	switch {
	case x.flows > 8: // first windows fill all uplinks for 250 round trips, a quarter of one for 1,000
		warmup = 1000
	case x.controller == "bbr": // its model takes its time
		warmup = 5 * trips
	case x.flows == 1 && !x.reads(): // many of these laws add a packet a round trip
		warmup = max(warmup, unit.Time(product)/1560)
	case strings.Contains(x.controller, "preset: agent") && x.format != "none": // it computes with a T of its own
		trips, warmup = 20*x.speed.agentTrips(), 40*x.speed.agentTrips()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%sduration: %v\nwarmup: %v\ntopology: {leaf_spine: {leaves: 2, spines: 4, hosts: 8, rate: %v, "+
		"uplink: %v, delay: %v, buffer: %d B}}\n", x.addresses(), trips*trip, warmup*trip, x.speed.rate, x.speed.rate,
		x.speed.delay, x.buffer())
	if x.unequal {
		fmt.Fprintf(&b, "events: [{at: 0s, link: [leaf0, spine3], rate: %v}]\n", x.speed.rate/4)
	}
	fmt.Fprintf(&b, "switches: {\"*\": {programs: [%s]%s}}\nmeasure: [goodput]\ntraffic:\n", programs, queues)
	for host := range 16 {
		if (host < 8 || x.both) && host%8 < x.flows {
			b.WriteString(x.formatTraffic(host) + "\n")
		}
	}
	return b.String()
}

// formatTraffic returns the traffic of one host in one line, so that a warning's line identifies its flow. The flows
// are named x0 to x7 from leaf0 to leaf1, and y8 to y15 back.
func (x crossing) formatTraffic(host int) string {
	name, transport, class := "x", block(x.transport), 0
	if host >= 8 {
		name = "y"
	}
	if x.scheduler != "fifo" {
		class = 1 + host%2
		if strings.HasPrefix(transport, "rdma: {") {
			own := fmt.Sprintf("rdma: {class: %d, ", class)
			if x.scheduler == "dwrr with priority" {
				own += "ack_tos: 0, ack_priority: true, "
			}
			transport = strings.Replace(transport, "rdma: {", own, 1)
		}
	}
	return fmt.Sprintf("  - {name: %s%d, from: h%d, to: h%d, flows: %d, tos: %d, transport: {%s}, cc: {%s}, "+
		"start: 0s..%v}", name, host, host, (host+8)%16, max(1, x.flows/8), 32*class, transport,
		x.law(x.slowTrip(), x.speed.rate), x.speed.trip()/2)
}

// slowTrip returns the base round trip over the slow link, if there is one. With traffic both ways it includes a
// frame of the other direction before an acknowledgement. Thresholds of delay suit it.
func (x crossing) slowTrip() unit.Time {
	trip, frame := x.speed.trip(), unit.TransmitTime(1560, x.speed.rate)
	if x.unequal {
		trip, frame = trip+3*frame, 4*frame
	}
	if x.both {
		trip += frame
	}
	return trip / unit.Nanosecond * unit.Nanosecond
}

// check loads and runs the combination. It passes if loading reports a mismatch, or if the flows at each port
// between leaves and spines hold the bounds of their law, except for effects that a warning about them excuses.
func (x crossing) check(t *testing.T) {
	s, loads := tryLoad(t, x.spec())
	if !loads {
		return
	}
	c, err := plan.ListRuns(s)[0].Config()
	if err != nil {
		t.Fatal(err)
	}
	names := x.watch(c)
	out := plantest.Simulate(t, c)
	for _, way := range []string{"x", "y"} {
		if way == "y" && !x.both {
			continue
		}
		o := x.figures(out, c, names, way)
		excused := x.excusedBy(about(s.Warnings(), x.spec(), way))
		t.Logf("%s: %v, excused%v", way, o, excused)
		if missed := x.bounds().missed(o) &^ excused; missed != 0 {
			t.Errorf("flows %s do not react, and no warning names it:%v; %v\n%s", way, missed, o, x.spec())
		}
	}
}

// watch samples the queues of the ports between leaves and spines four times a round trip, and returns their names by
// the index of their watch.
func (x crossing) watch(c *sim.Config) (names []string) {
	for l := range c.Wiring.Network.Links {
		for e := range 2 {
			if name := c.Wiring.Network.PortName(l, e); strings.Contains(name, "leaf") && strings.Contains(name, "spine") {
				w := outcome.Watch{What: outcome.QueueBytes, Index: 2*l + e, Every: x.speed.trip() / 4}
				c.Watches = append(c.Watches, w)
				names = append(names, name)
			}
		}
	}
	return names
}

// figures returns the figures of one direction, x or y: the longest queue and the highest use of the ports that its
// data passes, and its flows' retransmissions. Drops are of all packets and both directions.
func (x crossing) figures(out *outcome.Result, c *sim.Config, names []string, way string) (o figures) {
	from, to := "leaf0->", "->leaf1"
	if way == "y" {
		from, to = "leaf1->", "->leaf0"
	}
	sum := 0. // of the uplinks, which a single flow may all use in part
	for i, name := range names {
		if !strings.HasPrefix(name, from) && !strings.HasSuffix(name, to) {
			continue
		}
		queue := slices.Clone(out.Watched[i])
		slices.Sort(queue)
		o.queue = max(o.queue, float64(queue[len(queue)*95/100])/float64(x.speed.product()))
		rate := x.speed.rate
		if x.unequal && strings.Contains(name, "leaf0") && strings.Contains(name, "spine3") {
			rate /= 4
		}
		sent := out.Ports[c.Watches[i].Index].TxBytes
		used := float64(sent) / float64(rate.BytesIn(out.Measured))
		if o.used = max(o.used, used); x.flows == 1 && strings.HasPrefix(name, from) {
			sum += used
		}
	}
	o.used = max(o.used, sum)
	flows := out.Flows[:x.flows]
	if way == "y" {
		flows = out.Flows[x.flows:]
	}
	return o.packets(out, flows)
}

// about returns the warnings about flows of one direction, or about no flow: by the line of a file. The port that a
// warning names does not narrow it further: it is the worst of several, and flows take all spines.
func about(all []document.Warning, text, way string) (some []document.Warning) {
	lines := strings.Split(text, "\n")
	for _, w := range all {
		other := strings.NewReplacer("x", "y", "y", "x").Replace(way)
		if w.At.Line < 1 || !strings.HasPrefix(lines[w.At.Line-1], "  - {name: "+other) {
			some = append(some, w)
		}
	}
	return some
}
