package run_test

import (
	"errors"
	"strings"
	"testing"

	"weir/core/dataplane/feedback/inband"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/papers/hpcc"
	"weir/papers/p4abc"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
	"weir/worlds/lab/kernel"
)

// linux returns a kernel with everything that transport tcp needs. Its agents fail with the given error.
func linux(cannot error) *kernel.Kernel {
	k := &kernel.Kernel{CongestionControls: []string{"reno", "cubic"}, Tick: 4 * unit.Millisecond, CPUs: 2,
		Agent: func() error { return cannot }}
	for _, name := range []string{"tcp_comp_sack_delay_ns", "tcp_comp_sack_nr", "tcp_ecn", "tcp_ecn_fallback",
		"tcp_moderate_rcvbuf", "tcp_rmem", "tcp_rto_min_us", "tcp_wmem"} {
		k.Sysctls = append(k.Sysctls, kernel.Sysctl{Name: name})
	}
	return k
}

func withAgents() *experiment.Registry {
	r := plantest.NewRegistry(p4abc.Scheme(), ".")
	r.Programs = append(r.Programs, inband.Scheme())
	r.Controllers = append(r.Controllers, hpcc.Scheme(), hpcc.RxScheme())
	return r
}

// traced is an experiment in which Linux' own TCP follows HPCC++, with words to replace.
const traced = `duration: 1s
topology:
  hosts: [a, b, d]
  switches: [s]
  links:
    - {ends: [a, s], rate: 100Mbps, delay: 1ms}
    - {ends: [d, s], rate: 100Mbps, delay: 1ms}
    - {ends: [s, b], rate: 50Mbps, delay: 1ms, buffer: 100 packets}
switch: [forward, {telemetry: {format: ioam}}]
traffic:
  - {name: x, from: [a, d], to: b, transport: tcp, cc: {rx_hpcc: {preset: agent}}, ip: 6, start: 0s}
measure: [goodput]
`

// TestCheckLabAgents checks that requests that agents of Linux' hosts cannot fulfil are refused before the start,
// all at once and with their places. They concern the law, telemetry, IP, hosts with several flows, and the kernel.
func TestCheckLabAgents(t *testing.T) {
	for _, x := range []struct {
		name    string
		replace []string
		cannot  error
		want    []string // of the error, in its order; none: there is none
	}{
		{"all can be had", nil, nil, nil},
		{"its parameters", []string{"preset: agent", "preset: agent, eta: 90%, n: 16, max_stage: 2, t: 7ms"}, nil, nil},
		{"CUBIC where nobody follows anything", []string{"cc: {rx_hpcc: {preset: agent}}", "cc: cubic"}, nil, nil},
		{"another law at the sender", []string{"{rx_hpcc: {preset: agent}}", "hpcc"}, nil,
			[]string{":11:", "which has no congestion control equivalent to hpcc; allowed: reno, cubic, rx_hpcc, or any " +
				"with stack: weir of tcp"}},
		{"another preset", []string{"{rx_hpcc: {preset: agent}}", "rx_hpcc"}, nil,
			[]string{":11:", "traffic x: cc rx_hpcc: preset: the TCP of Linux supports preset: agent only"}},
		{"what an agent has no words for", []string{"preset: agent", "preset: agent, min_rate: 1Mbps, eta: 0.5%"}, nil,
			[]string{"min_rate: the TCP of Linux has no minimum rate", "eta: the TCP of Linux supports 1% to 100%"}},
		{"IPv4", []string{"ip: 6", "ip: 4"}, nil, []string{"traffic x: Linux TCP supports rx_hpcc over IPv6 only"}},
		{"another format", []string{"format: ioam", "format: int-md"}, nil,
			[]string{":9:", "Linux hosts support only IOAM traces with up to 5 hops"}},
		{"microseconds", []string{"format: ioam", "format: ioam, fraction: us"}, nil, []string{"times in ns"}},
		{"more room", []string{"format: ioam", "format: ioam, hops: 6"}, nil, []string{"up to 5 hops"}},
		{"no telemetry", []string{", {telemetry: {format: ioam}}", ""}, nil, []string{"traffic x: no switch writes records"}},
		{"small segments", []string{"measure: [", "mtu: 100 B payload\nmeasure: ["}, nil,
			[]string{"traffic x: Linux segments with a payload of 100 B have no space for records"}},
		{"asking once a round trip", []string{"transport: tcp", "transport: {tcp: {telemetry: rtt}}"}, nil,
			[]string{"the kernel does not support telemetry rtt"}},
		{"another TCP at the same host", []string{"measure: [", "  - {name: y, from: d, to: b, transport: tcp, cc: " +
			"cubic, ip: 6, start: 0s}\nmeasure: ["}, nil, []string{"host d: its agent would also control traffic y"}},
		{"… over IPv4", []string{"measure: [", "  - {name: y, from: d, to: b, transport: tcp, cc: cubic, start: 0s}\n" +
			"measure: ["}, nil, nil},
		{"another law at the same host", []string{"measure: [", "  - {name: y, from: d, to: b, transport: tcp, cc: " +
			"{rx_hpcc: {preset: agent, n: 2}}, ip: 6, start: 0s}\nmeasure: ["}, nil,
			[]string{"host d: its flows need the parameters eta 0.95, n 8, max_stage 5, t 0s and eta 0.95, n 2"}},
		{"a machine without BPF", nil, errors.New("agent: unsupported machine: the kernel is " +
			"Linux 5.15.0; 6.6 or later is required"), []string{":11:",
			"the kernel is Linux 5.15.0; 6.6 or later is required", "allowed: stack: weir of tcp"}},
		{"Weir's own hosts need none of it", []string{"transport: tcp", "transport: {tcp: {stack: weir}}", "ip: 6",
			"ip: 4", "format: ioam", "format: int-md"}, errors.New("nothing"), nil},
		{"all together", []string{"preset: agent", "preset: draft", "ip: 6", "ip: 4", "format: ioam", "format: ifa-ext"},
			errors.New("it is too old"), []string{"IOAM traces", "IPv6 only", "supports preset: agent only",
				"it is too old"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := plantest.Load(t, withAgents(), strings.NewReplacer(x.replace...).Replace(traced), experiment.Options{})
			err := run.CheckLab(s, linux(x.cannot), false)
			if len(x.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("there is no error")
			}
			rest := err.Error()
			for _, want := range x.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("%v\nlacks, or has earlier: %s", err, want)
				}
				rest = after
			}
		})
	}
}

// TestAgentsOfHosts checks that the file decides the configuration of an agent: the law's parameters, and the base
// round trip of its host's paths as T if they are alike. A sending host's link rate limits the rate that a receiver
// may request. A segment with its trace fits the MTU, as in the simulator.
func TestAgentsOfHosts(t *testing.T) {
	for _, x := range []struct {
		name, from, to string
		same           bool // the receiver's paths
	}{{"alike", "", "", true}, {"other delays", "ends: [d, s], rate: 100Mbps, delay: 1ms",
		"ends: [d, s], rate: 100Mbps, delay: 3ms", false}} {
		t.Run(x.name, func(t *testing.T) {
			text := strings.Replace(traced, "preset: agent", "preset: agent, eta: 90%, n: 3", 1)
			text = strings.Replace(text, x.from, x.to, 1)
			one := plan.ListRuns(plantest.Load(t, withAgents(), text, experiment.Options{}))[0]
			hosts, err := run.LabAgents(one.SpecPoint)
			if err != nil || len(hosts) != 3 {
				t.Fatal(hosts, err)
			}
			a, b, d := hosts[0], hosts[1], hosts[2]
			if a.Eta != 0.9 || a.Flows != 3 || a.Rate != 100*unit.Mbps || b.Rate != 0 || d.Rate != 100*unit.Mbps {
				t.Errorf("%+v", hosts)
			}
			// 4 ms, a frame of at most 1514 bytes over both links, an acknowledgement, and 0.2 ms of hosts
			if a.RTT < 4450*unit.Microsecond || a.RTT > 4600*unit.Microsecond || (b.RTT == a.RTT) != x.same ||
				x.same != (b.RTT > 0) {
				t.Errorf("T of %v, %v and %v", a.RTT, b.RTT, d.RTT)
			}
			c, err := run.LabConfig(one)
			if err != nil {
				t.Fatal(err)
			}
			// 40 bytes of IPv6, 160 of the trace, 32 of TCP
			if p := one.SpecPoint.Entry(0).Payload(); p != 1268 || c.MTU != 1500 {
				t.Errorf("a payload of %d, an MTU of %d", p, c.MTU)
			}
		})
	}
}
