package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/run"
)

// onThreads runs a spec on one thread and on three, which must give the same bytes, and returns the number of
// packet-hops.
func onThreads(t *testing.T, r *experiment.Registry, src *experiment.Source, o experiment.Options) (hops uint64) {
	t.Helper()
	var want []byte
	for _, threads := range []int{1, 3} {
		s := plantest.LoadSource(t, r, src, o)
		out, err := run.Execute(context.Background(), s, run.Options{Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range out.Failed {
			t.Errorf("%d threads: %v", threads, f.Err)
		}
		var got []byte
		for _, x := range out.Runs {
			if got = append(got, x.EncodeJSON(true)...); threads == 1 {
				hops += x.PacketHops
			}
		}
		if threads == 1 {
			want = got
		} else if !bytes.Equal(got, want) {
			t.Errorf("%d threads give another result", threads)
		}
	}
	return hops
}

// threadsSpec returns a network in which every scheme acts: many senders to one receiver, across leaves.
func threadsSpec(switches, traffic, more string) string {
	return fmt.Sprintf(`duration: 3ms
topology: {leaf_spine: {leaves: 3, spines: 2, hosts: 2, rate: 1Gbps, delay: 2us, buffer: 60kB}}
%s
traffic:
  - {name: x, from: "h[0-4]", to: h5, size: 60kB, start: 0s..100us, %s}
  - {name: y, from: h5, to: h0, size: 30kB, flows: 8, start: 0s..300us, %s}
measure: [fct, goodput, delay, drops, {queue: {switches: "*", every: 100us}}, overhead, reordering, nacks,
          pfc_pause, jitter, loss%s]
`, switches, traffic, traffic, more)
}

// threadsForms are the schemes that need more than their name after ecmp, with traffic that makes them act.
var threadsForms = map[string][2]string{
	"program dualpi2": {`switches: {"*": {programs: [ecmp, dualpi2], queues: 2, scheduler: {deadline: {step: 1ms}}}}`,
		overTCP},
	// The sources' times. With derived times, both worlds probe at other instants, and ties decide which packet is
	// dropped.
	"program hula":      {"switch: [ecmp, {hula: {probe: 200us, gap: 100us}}]", overTCP},
	"program conga":     {"switch: [ecmp, {conga: {gap: 500us, tau: 160us, age: 10ms}}]", overTCP},
	"program loss":      {"switch: [ecmp, {loss: {probability: 1%}}]", overTCP},
	"program input":     {"switch: [ecmp, {input: {capacity: 300000pps}}]", overTCP},
	"program ndp":       {`switches: {"*": {programs: [spray, ndp], queues: 2}}`, "transport: ndp"},
	"program trimming":  {`switches: {"*": {programs: [ecmp, trimming], queues: 2}}`, "transport: uet"},
	"program pfc":       {"switch: [ecmp, {shared_buffer: {size: 200kB}}, pfc]", "transport: rdma, cc: dcqcn"},
	"program p4te":      {"addresses: hierarchical\nswitch: [p4te]", "transport: tcp, cc: dctcp"},
	"program afq":       {`switches: {"*": {programs: [ecmp, afq], queues: 8, scheduler: calendar}}`, overTCP},
	"program fdpa":      {`switches: {"*": {programs: [ecmp, fdpa], queues: 4}}`, overTCP},
	"program plan":      {"switch: [ecmp, {plan: {others: 300Mbps}}]", overTCP},
	"program bolt":      {"switch: [ecmp, bolt]", "transport: rdma, cc: bolt"},
	"program telemetry": {"switch: [ecmp, telemetry]", "transport: rdma, cc: hpcc"},
	"program fast_cnp":  {"switch: [ecmp, fast_cnp]", "transport: rdma, cc: dcqcn"},
	"scheduler fifo":    {`switches: {"*": {programs: [ecmp], scheduler: fifo}}`, overTCP},
	"controller hpcc_pint": {"switch: [ecmp, {telemetry: {t: 30us}}]",
		"transport: rdma, cc: {hpcc_pint: {t: 30us}}"},
	"controller bolt":  {"switch: [ecmp, bolt]", "transport: rdma, cc: bolt"},
	"transport ndp":    {`switches: {"*": {programs: [spray, ndp], queues: 2}}`, "transport: ndp"},
	"transport uet":    {`switches: {"*": {programs: [ecmp, trimming], queues: 2}}`, "transport: {uet: {control: both}}"},
	"transport window": {"switch: [ecmp]", "transport: window, window: 24 packets"},
	"transport udp":    {"switch: [ecmp]", "transport: udp, rate: 500Mbps"},
}

const overTCP = "transport: tcp"

// everyScheme calls try for every program, scheduler, controller and transport, with its name and a spec in which
// it acts.
func everyScheme(r *experiment.Registry, try func(what, text string)) {
	of := func(what, switches, traffic string) {
		if form, own := threadsForms[what]; own {
			switches, traffic = form[0], form[1]
		}
		try(what, threadsSpec(switches, traffic, ""))
	}
	for _, p := range r.Programs {
		list := "[ecmp, " + p.Name + "]"
		if p.Name == "ecmp" {
			list = "[ecmp]"
		}
		of("program "+p.Name, "switch: "+list, overTCP)
	}
	for _, s := range r.Schedulers {
		of("scheduler "+s.Name, `switches: {"*": {programs: [ecmp], queues: 3, scheduler: `+s.Name+"}}", overTCP)
	}
	for _, c := range r.Controllers {
		of("controller "+c.Name, "switch: [ecmp, {shared_buffer: {size: 200kB}}, ecn, pfc, telemetry]",
			"transport: rdma, cc: "+c.Name)
	}
	for _, x := range r.Transports {
		of("transport "+x.Name, "switch: [ecmp, {shared_buffer: {size: 200kB}}, pfc]", "transport: "+x.Name)
	}
}

// TestThreadsSame checks that every scheme gives the same results on three threads as on one.
func TestThreadsSame(t *testing.T) {
	r := Registry()
	everyScheme(r, func(what, text string) {
		t.Run(what, func(t *testing.T) { runOne(t, r, text) })
	})
	const rdma = "switch: [ecmp, {shared_buffer: {size: 200kB}}, ecn, pfc, telemetry]\n"
	for what, more := range map[string]string{
		"senders": ", {cwnd: {every: 100us}}, {in_flight: {every: 100us}}, {rtt: {every: 100us}}, " +
			"{reduction: {traffic: x, after: 200us, port: leaf2->h5, above: 20kB}}, retransmissions, {buffer: {every: 50us}}",
		"shares": ", {jain: {every: 200us}}, slowdown, unfinished, fct_last, {utilisation: {port: leaf2->h5}}",
	} {
		t.Run(what, func(t *testing.T) {
			runOne(t, r, threadsSpec("switch: [ecmp, {ecn: {kmin: 20kB, kmax: 20kB}}]", "transport: tcp, cc: dctcp", more))
		})
	}
	for what, text := range map[string]string{
		"a link that fails, and stalls": threadsSpec(rdma+"stalls: {every: 1ms, length: 50us}\n"+
			"events: [{at: 200us, link: [leaf0, spine1], down: true}, {at: 500us, link: [leaf1, spine0], rate: 100Mbps}]",
			"transport: rdma, cc: dcqcn", ""),
		"NICs that take a time": threadsSpec(
			"switch: [ecmp, {shared_buffer: {size: 100kB}}, {ecn: {kmin: 20kB, kmax: 40kB}}]",
			"transport: {rdma: {nic_ack_delay: 7us, nic_nack_delay: 3us, nic_cnp_delay: 11us}}, cc: dcqcn", ""),
		"failover": threadsSpec("switch: [{ecmp: {failover: 50us}}]\n"+
			"events: [{at: 200us, link: [leaf0, spine1], down: true}, {at: 600us, link: [leaf0, spine1], down: false}]",
			overTCP, ""),
		"failover of flowlets": threadsSpec("switch: [{letflow: {gap: 20us, failover: 50us}}]\n"+
			"events: [{at: 200us, link: [leaf0, spine1], down: true}, {at: 600us, link: [leaf0, spine1], down: false}]",
			overTCP, ""),
		"NICs of ndp": threadsSpec(`switches: {"*": {programs: [spray, ndp], queues: 2}}`,
			"transport: {ndp: {nic_ack_delay: 7us, nic_nack_delay: 3us}}", ""),
		"control planes": threadsSpec("addresses: hierarchical\nswitch: [p4te]", "transport: tcp, cc: dctcp",
			", control, balance"),
		"flows after flows": `duration: 20ms
topology: {leaf_spine: {leaves: 3, spines: 2, hosts: 2, rate: 1Gbps, delay: 2us}}
` + rdma + `traffic:
  - {name: r, job: {all_reduce_flows: {algorithm: ring, size: 600kB}}, hosts: [h0, h2, h4, h1, h3, h5],
     transport: rdma, cc: hpcc}
measure: [collective, fct]
`,
		"jitter, loss and no delay": strings.Replace(threadsSpec("switch: [ecmp]", overTCP, ""), "delay: 2us",
			"delay: 2us, loss: 1%, jitter: 3us", 1),
	} {
		t.Run(what, func(t *testing.T) { runOne(t, r, text) })
	}
}

func runOne(t *testing.T, r *experiment.Registry, text string) {
	t.Helper()
	src := plantest.NewSource("threads.yaml", text)
	if hops := onThreads(t, r, src, experiment.Options{}); hops < 1000 {
		t.Errorf("%d packet-hops prove little", hops)
	}
}
