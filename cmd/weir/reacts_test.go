package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/cmd/weir/cli"
	"weir/core/dataplane"
	"weir/study/plan"
	"weir/study/spec"
	"weir/worlds/sim"
)

// reaction is one combination of what decides whether senders react to a congested link.
type reaction struct{ controller, transport, format, balancer string }

func (r reaction) String() string {
	return fmt.Sprintf("%s over %s, %s, %s", r.controller, r.transport, r.format, r.balancer)
}

// reactions are all: controllers with thresholds that suit the round trip, transports, formats of telemetry and
// load balancers.
func reactions() (all []reaction) {
	controllers := []string{"hpcc", "hpcc: {mode: per_hop}", "hpcc: {mode: rx_rate}", "hpcc: {census: on}",
		"hpcc: {delay: sojourn}", "rx_hpcc", "rx_hpcc: {census: off}", "hpcc_pint", "powertcp",
		"dcqcn", "swift: {base_target: 12us, hop_delay: 1us, fs_range: 10us}",
		"timely: {t_low: 12us, t_high: 30us, min_rtt: 9us, segment: 8kB, delta: 100Mbps, min_rate: 500Mbps}",
		"dctcp", "bbr", "cubic", "reno"}
	transports := []string{"rdma: {recovery: selective_repeat, reordering: adaptive}", "rdma",
		"tcp: {rto_min: 1ms}", "udp_controlled"}
	formats := []string{"hpcc", "int-md", "int-md, sojourn: on", "ioam", "ioam-gafni", "ifa", "ifa-ext",
		"relative", "none"}
	balancers := []string{"ecmp", "wecmp", "spray", "drill", "letflow", "conga", "hula"}
	for _, c := range controllers {
		for _, t := range transports {
			for _, f := range formats {
				for _, b := range balancers {
					all = append(all, reaction{c, t, f, b})
				}
			}
		}
	}
	return all
}

// congested is an incast of eight hosts of two leaves, and its first leaf's port to the receiver as port 1. Its
// buffer holds four bandwidth-delay products: first windows fill it twice.
const congested = `duration: 3ms
warmup: %s
topology: {leaf_spine: {leaves: 3, spines: 4, hosts: 4, rate: 25Gbps, uplink: 25Gbps, delay: 1us, buffer: 120kB}}
switch: [%s, {ecn: {kmin: 15kB, kmax: 45kB, pmax: 20%%}}%s]
traffic:
  - {name: x, from: [h4, h5, h6, h7, h8, h9, h10, h11], to: h0, transport: {%s}, cc: {%s}, start: 0s}
measure: [goodput]
`

func (r reaction) spec() string {
	telemetry := fmt.Sprintf(", {telemetry: {format: %s, t: 9us}}", r.format)
	if r.format == "none" {
		telemetry = ""
	}
	warmup := "3ms"
	if r.controller == "bbr" { // its model takes its time
		warmup = "20ms"
	}
	return fmt.Sprintf(congested, warmup, r.balancer, telemetry, block(r.transport), block(r.controller))
}

// block makes name: {} of a name.
func block(s string) string {
	if !strings.Contains(s, ":") {
		return s + ": {}"
	}
	return s
}

// check loads and runs the combination. It is right if loading says that something does not go together, or if the
// queue is bounded: its 95th percentile is at most two bandwidth-delay products, or, of a law that fills buffers
// until they drop, few packets are dropped; and the link is used.
func (r reaction) check(t *testing.T) {
	s, err := plan.Load(cli.Registry(), &spec.Source{Name: "test", File: "test.yaml", Data: []byte(r.spec())},
		spec.Options{})
	if err != nil {
		if !strings.Contains(err.Error(), "test.yaml:") {
			t.Errorf("refused without a place: %v", err)
		}
		t.Skip("refused: ", strings.SplitN(err.Error(), "\n", 2)[0])
	}
	warned := s.Warnings()
	c, err := plan.Runs(s)[0].Config()
	if err != nil {
		t.Fatal(err)
	}
	c.Watches = append(c.Watches, sim.Watch{What: sim.QueueBytes, Index: 1, Every: 1_000_000})
	out, err := sim.Run(c)
	if err != nil {
		t.Fatal(err)
	}
	queue := slices.Clone(out.Watched[0])
	slices.Sort(queue)
	p95 := queue[len(queue)*95/100]
	drops, bytes := uint64(0), int64(0)
	for why, n := range out.Drops {
		if dataplane.Reason(why) != dataplane.NotDropped {
			drops += n
		}
	}
	for i := range out.Flows {
		bytes += int64(out.Flows[i].Receiver.ReceivedBytes)
	}
	used := float64(bytes) * 8 / out.Measured.Seconds() / 25e9
	lost := float64(drops) * 1500 * 8 / out.Measured.Seconds() / 25e9
	t.Logf("p95 %d B, used %.2f, lost %.3f, warned %q", p95, used, lost, warned)
	most := 0.15
	if r.controller == "bbr" { // version 1 does not slow down for losses: what bounds it is its window of twice a BDP
		most = 1
	}
	if bounded := p95 <= 60_000 || lost <= most; (!bounded || used < 0.3) && len(warned) == 0 {
		t.Errorf("nobody reacts, and nothing is said: p95 of the queue %d B, goodput %.2f of the link, lost %.3f", p95, used,
			lost)
	}
}
