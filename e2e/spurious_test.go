package e2e

import (
	"fmt"
	"strings"
	"testing"

	"weir/app"
	"weir/core/dataplane"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// wait is a combination of causes of waiting in a network that neither loses nor reorders packets.
type wait struct{ buffer, rate, delay, flows, transport, controller string }

// buffersOfWaits are the kinds of buffers of switches.
var buffersOfWaits = []string{"pfc of 200kB", "pfc of 1MB", "pfc of 32MB", "unlimited", "1GB a port", "queue limit",
	"ndp in turns"}

// lossless reports whether the buffers of the switches can hold all packets. Other buffers can be too small for
// some flows.
func (w wait) lossless() bool {
	return w.buffer == "pfc of 32MB" || w.buffer == "unlimited" || w.buffer == "1GB a port"
}

func (w wait) String() string {
	return fmt.Sprintf("%s over %s, %s, %s, %s, %s", w.controller, w.transport, w.flows, w.buffer, w.rate, w.delay)
}

// waits returns all combinations of controllers, transports, ways to repair losses, unlimited and PFC buffers,
// rates, delays, and competing flows.
func waits() (all []wait) {
	for _, buffer := range buffersOfWaits {
		for _, rate := range []string{"10Gbps", "25Gbps", "100Gbps", "400Gbps"} {
			for _, delay := range []string{"100ns", "1us", "100us", "5ms"} {
				for _, flows := range []string{"alone", "incast", "load", "both ways", "victim", "two NICs", "same edge",
					"off path"} {
					for _, t := range []string{"rdma: {recovery: go_back_n}", "rdma: {recovery: selective_repeat}",
						"rdma: {recovery: selective_repeat, reordering: adaptive}", "udp_controlled", "ndp",
						"rdma: {recovery: selective_repeat, paths: 8}",
						"rdma: {recovery: selective_repeat, paths: 8, nic_nack_delay: 500us}",
						"rdma: {recovery: go_back_n, nic_ack_delay: 30us}",
						"rdma: {recovery: selective_repeat, ack_every: 64 packets}", "udp_controlled: {report_every: 8 packets}",
						"ndp: {nic_ack_delay: 10us, nic_nack_delay: 50us}"} {
						if buffer == "ndp in turns" && !strings.HasPrefix(t, "ndp") {
							continue // it is not trimmed, but lost
						}
						for _, c := range controllersOf(t) {
							all = append(all, wait{buffer, rate, delay, flows, t, c})
						}
					}
				}
			}
		}
	}
	return all
}

// controllersOf returns controllers for a transport.
func controllersOf(t string) []string {
	switch {
	case strings.HasPrefix(t, "ndp"):
		return []string{""}
	case strings.Contains(t, "paths"):
		return []string{"hpcc"}
	}
	return []string{"none", "dcqcn", "reno", "dctcp", "hpcc",
		"timely: {t_low: 20us, t_high: 60us, min_rtt: 9us}", "swift: {base_target: 30us, fs_range: 30us}"}
}

func (w wait) spec() string {
	queues, switches := "", "ecmp, {telemetry: {format: hpcc}}, {ecn: {kmin: 100kB, kmax: 400kB, pmax: 20%}}"
	buffer := ""
	switch w.buffer {
	case "pfc of 200kB": // with 10 Gb/s and links of 1 us or less
		headroom := w.inFlight() + 12_500
		switches += fmt.Sprintf(", {shared_buffer: {size: %dB, reserved: 1kB}}, {pfc: {headroom: size, "+
			"headroom_size: %dB}}", 110_000+w.ports()*headroom, headroom)
	case "pfc of 1MB":
		switches += ", {shared_buffer: {size: 1MB, reserved: 1kB}}, {pfc: {headroom: size, headroom_size: 20kB}}"
	case "pfc of 32MB":
		headroom := w.inFlight() + 200_000
		switches += fmt.Sprintf(", {shared_buffer: {size: %dB}}, {pfc: {headroom: size, headroom_size: %dB}}",
			32_000_000+w.ports()*headroom, headroom)
	case "1GB a port":
		buffer = ", buffer: 1GB"
	case "queue limit":
		queues = "switches: {\"*\": {queue_limit: 500kB}}\n"
	case "ndp in turns": // only ndp has its packets trimmed; others lose them
		queues = "switches: {\"*\": {queues: 2, scheduler: {wrr: {weights: {0: 10}}}, programs: [ecmp, ndp]}}\n"
	}
	stop := map[string]string{"10Gbps": "2ms", "25Gbps": "1ms", "100Gbps": "300us", "400Gbps": "100us"}[w.rate]
	controller := ""
	if w.controller != "" {
		controller = ", cc: {" + block(w.controller) + "}"
	}
	topology := fmt.Sprintf("star: {hosts: 17, rate: %s, delay: %s%s}", w.rate, w.delay, buffer)
	ends := []string{`from: ["h?", "h1[0-5]"], to: h16, size: 300kB, start: 0s..20us`}
	switch w.flows {
	case "alone":
		ends = []string{`from: h0, to: h16, size: 1MB, start: 0s`}
	case "two NICs": // replies of one flow wait for the data of many at the same NIC
		link := fmt.Sprintf("rate: %s, delay: %s%s", w.rate, w.delay, buffer)
		topology = "hosts: [a, b, c], switches: [s1, s2], links: ["
		for _, x := range []string{"a, s1", "a, s2", "b, s1", "b, s2", "c, s1"} {
			topology += fmt.Sprintf("{ends: [%s], %s}, ", x, link)
		}
		topology += "]"
		ends = []string{`from: a, to: b, flows: 50, size: 1kB, start: 0s..20us`,
			`from: c, to: a, flows: 50, size: 40kB, start: 0s..20us`, `from: b, to: c, flows: 4, size: 300kB, start: 0s`}
	case "load":
		topology = fmt.Sprintf("leaf_spine: {leaves: 3, spines: 2, hosts: 5, rate: %s, uplink: %s, delay: %s%s}", w.rate,
			w.rate, w.delay, buffer)
		ends = []string{`from: "*", to: random, size: 100kB, load: 80%, start: 0s, stop: ` + stop}
	case "both ways":
		ends = append(ends, `from: h16, to: ["h?", "h1[0-5]"], size: 300kB, start: 0s..50us`)
	case "same edge": // h53 sends into the incast, so that its edge switch pauses it, and has answers for h52
		topology = fmt.Sprintf("fat_tree: {k: 6, rate: %s, delay: %s%s}", w.rate, w.delay, buffer)
		ends = []string{`from: "*", to: h0, size: 500kB, start: 0s`, `from: h52, to: h53, size: 400kB, start: 10us`,
			`from: h53, to: h49, size: 400kB, start: 10us`}
	case "off path": // a and b use s1 and s2, which s5 pauses over s4 and s3
		topology = "hosts: [a, b, z, c1, c2, c3, c4, d1, d2, d3, d4, e1, e2, e3, e4, f1, f2, f3, f4], " +
			"switches: [s1, s2, s3, s4, s5], links: ["
		links := []string{"a, s1", "b, s2", "s1, s2", "s2, s3", "s3, s4", "s4, s5", "s5, z"}
		for i := range 16 {
			links = append(links, fmt.Sprintf("%c%d, s%d", "cdef"[i/4], i%4+1, []int{1, 3, 4, 5}[i/4]))
		}
		for _, x := range links {
			topology += fmt.Sprintf("{ends: [%s], rate: %s, delay: %s%s}, ", x, w.rate, w.delay, buffer)
		}
		topology = strings.TrimSuffix(topology, ", ") + "]"
		ends = []string{`from: ["c?", "d?", "e?", "f?"], to: z, size: 1MB, start: 0s`,
			`from: a, to: b, size: 1MB, start: 0s`}
	case "victim":
		topology = fmt.Sprintf("fat_tree: {k: 4, rate: %s, delay: %s%s}", w.rate, w.delay, buffer)
		ends = []string{`from: ["h[0-9]", "h1[0-3]"], to: h15, size: 300kB, start: 0s..20us`,
			`from: h1, to: h14, size: 2kB, load: 1%, start: 0s, stop: ` + stop}
	}
	text := fmt.Sprintf("duration: 60ms\ntopology: {%s}\nswitch: [%s]\n%straffic:\n", topology, switches, queues)
	for i, x := range ends {
		text += fmt.Sprintf("  - {name: t%d, %s, transport: {%s}%s}\n", i, x, block(w.transport), controller)
	}
	return text + "measure: [goodput]\n"
}

// inFlight returns the bytes that a neighbour sends until a pause has effect.
func (w wait) inFlight() int64 {
	rate, _ := unit.ParseRate(w.rate)
	delay, _ := unit.ParseTime(w.delay)
	return int64(2 * delay.Seconds() * float64(rate) / 8)
}

// ports returns the number of ports of the largest switch.
func (w wait) ports() int64 {
	if w.flows == "alone" || w.flows == "incast" || w.flows == "both ways" {
		return 17
	}
	return 7
}

// check runs the combination. No data packet arrives twice, and no timer expires. It reports whether that was tested:
// buffers that are not lossless may drop packets, and then timers are needed.
func (w wait) check(t *testing.T) (tested bool) {
	s, err := plan.Load(app.Registry(), &experiment.Source{Name: "test", File: "test.yaml", Data: []byte(w.spec())},
		experiment.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, w.spec())
	}
	c, err := plan.ListRuns(s)[0].Config()
	if err != nil {
		t.Fatal(err)
	}
	out := plantest.Simulate(t, c)
	for why, n := range out.Drops {
		if dataplane.Reason(why) == dataplane.NotDropped || n == 0 {
			continue
		}
		if w.lossless() {
			t.Errorf("%d packets are dropped: %v\n%s", n, dataplane.Reason(why), w.spec())
		}
		return false
	}
	duplicates, again, timeouts, arrived := int64(0), int64(0), int64(0), int64(0)
	var first *transport.Received
	for i := range out.Flows {
		f := &out.Flows[i]
		duplicates, arrived = duplicates+f.Receiver.DuplicateCount(), arrived+f.Receiver.ReceivedPackets
		again += f.Sender.Retransmitted
		if timeouts += f.Timeouts; f.Receiver.DuplicateCount() > 0 && first == nil {
			first = &f.Receiver
		}
	}
	if duplicates+timeouts > 0 {
		t.Errorf("%d packets were sent again, %d had arrived (first flow %v), %d timeouts; no packet was dropped", again,
			duplicates, first, timeouts)
	}
	return arrived > 0
}

// TestDelayedRepliesFirst checks that replies that a NIC delays are sent before the data of many flows, like
// immediate replies.
func TestDelayedRepliesFirst(t *testing.T) {
	for _, x := range []string{"rdma: {recovery: go_back_n, nic_ack_delay: 30us}",
		"rdma: {recovery: selective_repeat, ack_every: 64 packets}", "udp_controlled: {report_every: 8 packets}"} {
		w := wait{"queue limit", "10Gbps", "1us", "two NICs", x, "swift: {base_target: 30us, fs_range: 30us}"}
		if !w.check(t) {
			t.Errorf("%v: packets are dropped", w)
		}
	}
}

// TestPausesOfOtherPaths checks timers when PFC pauses a path from switches that it does not use, and when it
// pauses the NICs of both of its hosts.
func TestPausesOfOtherPaths(t *testing.T) {
	for _, flows := range []string{"same edge", "off path"} {
		w := wait{"pfc of 200kB", "10Gbps", "1us", flows, "rdma: {recovery: go_back_n}", "none"}
		if !w.check(t) {
			t.Errorf("%v: packets are dropped", w)
		}
	}
}

// drawWaits checks combinations that a seed draws, each kind of buffer in turn. It ends when one of each kind, and
// the given number in total, have dropped no packet.
func drawWaits(t *testing.T, seed uint64, count int) {
	kinds, random := map[string][]wait{}, unit.NewRandom(seed, "combinations")
	for _, w := range waits() {
		kinds[w.buffer] = append(kinds[w.buffer], w)
	}
	tested, total := map[string]int{}, 0
	for drawn := 0; total < count || len(tested) < len(kinds); drawn++ {
		if drawn == 2*count+10 {
			t.Fatalf("only %d of %d combinations drop no packet: %v", total, drawn, tested)
		}
		all := kinds[buffersOfWaits[drawn%len(buffersOfWaits)]]
		w := all[random.IntN(len(all))]
		t.Run(w.String(), func(t *testing.T) {
			if w.check(t) {
				tested[w.buffer]++
				total++
			}
		})
	}
}

// TestTimers_CauseNoSpuriousRetransmissions checks that no timer retransmits a packet in a network that neither
// loses nor reorders packets, with any controller.
func TestTimers_CauseNoSpuriousRetransmissions(t *testing.T) { drawWaits(t, 1, 10) }
