package e2e

import (
	"fmt"
	"strings"
	"testing"

	"weir/app"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// stands is an experiment with two leaves and four spines.
const stands = `duration: 1ms
topology: {leaf_spine: {leaves: 2, spines: 4, hosts: 4, rate: 100Gbps, uplink: 100Gbps, delay: 1us, buffer: 1MB}}
switch: [ecmp, {ecn: {kmin: 100KB, kmax: 400KB}}, telemetry]
traffic:
  - {name: x, from: h4, to: h0, transport: {rdma: {first_window: line_rate}}, cc: {hpcc: {eta: 95%}}, start: 0s}
measure: [goodput]
`

// middle is the part of stands between its topology and its first host.
const middle = `
switch: [ecmp, {ecn: {kmin: 100KB, kmax: 400KB}}, telemetry]
traffic:
  - {name: x, from: `

// agentFlow is the part of stands between its telemetry and its controller.
const agentFlow = `
traffic:
  - {name: x, from: h4, to: h0, transport: {rdma: {first_window: line_rate}}, cc: {`

// suited lists changes of stands, the text at the place of the message, and the message. A ! marks an error.
var suited = []struct{ old, new, at, want string }{
	{"", "", "", ""},
	// records
	{"telemetry]", "{telemetry: {format: ifa}}]", "{hpcc", "!traffic x: cc hpcc: the controller needs bytes sent"},
	{"eta: 95%", "delay: sojourn", "{hpcc", "!traffic x: cc hpcc: the controller needs times in the switch (sojourn)"},
	{"telemetry]", "{telemetry: {format: ifa-ext}}]", "", ""},
	{"telemetry]", "{telemetry: {format: relative, t: 9us}}]", "", ""},
	{"telemetry]", "{telemetry: {format: int-md, hops: 2}}]", "{hpcc",
		"traffic x: cc hpcc: a path has 3 switches (h4->h0), but telemetry in format: int-md has room for 2"},
	{"telemetry]", "{telemetry: {hops: 3}}]", "3}}]", "hops of telemetry has no effect; it acts only with format: int-md"},
	{"leaf_spine: {leaves: 2, spines: 4, hosts: 4, rate: 100Gbps, uplink: 100Gbps, delay: 1us, buffer: 1MB}}" + middle +
		"h4",
		"parking_lot: {hops: 5, hosts: 1, rate: 100Gbps, bottleneck: 100Gbps, delay: 1us, buffer: 1MB}}" + middle + "h5",
		"{hpcc",
		"!traffic x: cc hpcc: a path has 6 switches (h5->h0), but telemetry in format: hpcc has room for 5"},
	{"hpcc: {eta: 95%}", "hpcc: {mode: per_hop}", "", ""},
	{"leaf_spine: {leaves: 2, spines: 4, hosts: 4, rate: 100Gbps, uplink: 100Gbps, delay: 1us, buffer: 1MB}}" + middle +
		"h4", "parking_lot: {hops: 16, hosts: 1, rate: 100Gbps, bottleneck: 100Gbps, delay: 1us, buffer: 1MB}}" + middle +
		"h16", "{hpcc", "!traffic x: cc hpcc: a path has 17 switches (h16->h0), but telemetry in format: hpcc has room for " +
		"5 records, so further queues are invisible; none has more than 16; relative needs none"},
	// requests for telemetry
	{"first_window: line_rate", "telemetry: congestion", "congestion",
		"!traffic x: transport rdma: telemetry: switches must average loads: the program telemetry needs its parameter " +
			"t for format: relative, for telemetry: congestion and for controllers that want loads"},
	{"hpcc: {eta: 95%}", "hpcc_pint: {}", "{hpcc_pint", "!traffic x: cc hpcc_pint: switches must average loads"},
	{"telemetry]", "{telemetry: {format: relative}}]", "{hpcc", "!traffic x: cc hpcc: switches must average loads"},
	{"first_window: line_rate", "telemetry: packets, telemetry_packets: 100000 packets", "100000",
		"traffic x: transport rdma: telemetry_packets: one packet in"},
	{"first_window: line_rate", "telemetry: packets, telemetry_packets: 1000 packets", "", ""},
	{"telemetry]", "forward]", "{hpcc",
		"traffic x: cc hpcc: the path has no congestion signal for it: no switch writes telemetry"},
	{"first_window: line_rate", "telemetry: none", "{hpcc",
		"traffic x: cc hpcc: the path has no congestion signal for it: telemetry"},
	// parameters that a mode ignores
	{"eta: 95%", "n: 16, w_ai: 100 B", "100 B", "w_ai of hpcc has no effect; it acts only with n: 0"},
	{"eta: 95%", "census: on, n: 16", "16", "traffic x: cc hpcc: n: with census: on it acts only while the last hop"},
	{"hpcc: {eta: 95%}", "rx_hpcc: {w_ai: 10 B}", "10 B", "traffic x: cc rx_hpcc: w_ai: with census: on it acts only"},
	{"hpcc: {eta: 95%}", "rx_hpcc: {w_ai: 10 B, census: off}", "", ""},
	{"telemetry]" + agentFlow + "hpcc: {eta: 95%}", "{telemetry: {format: relative, t: 9us}}]" + agentFlow +
		"rx_hpcc: {preset: agent}", "agent}", "!traffic x: cc rx_hpcc: preset: agent takes the rate of the path's slowest"},
	{"telemetry]" + agentFlow + "hpcc: {eta: 95%}", "{telemetry: {format: relative, t: 9us}}]" + agentFlow +
		"rx_hpcc: {census: off}", "", ""},
	{"telemetry]" + agentFlow + "hpcc: {eta: 95%}", "{telemetry: {format: int-md, t: 9us}}]" + agentFlow +
		"rx_hpcc: {preset: agent}", "", ""},
	{"hpcc: {eta: 95%}", "powertcp: {n: 4, beta: 1Gbps}", "1Gbps",
		"beta of powertcp has no effect; it acts only with n: 0"},
	{"first_window: line_rate", "initial_window: 20 packets", "20 packets",
		"initial_window of rdma has no effect; it acts only with first_window: initial_window"},
	{"first_window: line_rate", "bound_bytes: 1MB", "1MB}}, cc",
		"bound_bytes of rdma has no effect; it acts only with bound"},
	{"first_window: line_rate", "recovery: selective_repeat, nack_interval: 2us", "2us",
		"nack_interval of rdma has no effect; it acts only with recovery: go_back_n"},
	{"first_window: line_rate", "telemetry_packets: 4 packets", "4 packets",
		"telemetry_packets of rdma has no effect; it acts only with telemetry: packets"},
	{"telemetry]", "{telemetry: {format: int-md, multi: 2}}]", "2}}]",
		"multi of telemetry has no effect; it acts only with"},
	{"hpcc: {eta: 95%}", "swift: {fs_range: 0s, fs_max_cwnd: 50}", "50}", "fs_max_cwnd of swift has no effect"},
	{"first_window: line_rate}}, cc: {hpcc: {eta: 95%}}",
		"recovery: selective_repeat}}, cc: {timely: {update: rtt, segment: 32kB, t_high: 60us}}", "32kB",
		"segment of timely has no effect"},
	{"hpcc: {eta: 95%}", "dcqcn: {preset: vendor, byte_counter: 2MB}", "2MB", "byte_counter of dcqcn has no effect"},
	// windows, rates and thresholds
	{"eta: 95%", "t: 5us", "5us", "traffic x: cc hpcc: t: the round trip of the longest path without queues is 848"},
	{"eta: 95%", "t: 27us", "27us", "traffic x: cc hpcc: t: the round trip of the longest path without queues is 848"},
	{"eta: 95%", "t: 17us", "", ""},
	{"eta: 95%", "w_ai: 9kB", "9kB", "traffic x: cc hpcc: w_ai: 9kB exceeds the headroom"},
	{"eta: 95%", "min_rate: 200Gbps", "200Gbps",
		"!traffic x: cc hpcc: min_rate: 200Gbps exceeds the rate of a sender's link"},
	{"first_window: line_rate}}, cc: {hpcc: {eta: 95%}}",
		"recovery: selective_repeat}}, cc: {timely: {t_low: 1us, t_high: 8us}}", "8us",
		"traffic x: cc timely: t_high: the round trip of the longest path"},
	{"first_window: line_rate}}, cc: {hpcc: {eta: 95%}}", "recovery: selective_repeat}}, cc: {timely: {t_high: 89us}}",
		"89us", "traffic x: cc timely: t_high: no packet is delayed that long"},
	{"first_window: line_rate}}, cc: {hpcc: {eta: 95%}}",
		"recovery: selective_repeat}}, cc: {timely: {start_rate: 200Gbps}}", "200Gbps",
		"!traffic x: cc timely: start_rate: 200Gbps exceeds"},
	{"hpcc: {eta: 95%}", "dcqcn: {min_rate: 200Gbps}", "200Gbps", "!traffic x: cc dcqcn: min_rate: 200Gbps exceeds"},
	{"hpcc: {eta: 95%}", "swift: {base_target: 2us, hop_delay: 1us}", "2us",
		"traffic x: cc swift: base_target: the target"},
	{"hpcc: {eta: 95%}", "swift: {max_cwnd: 9}", "9}", "traffic x: cc swift: max_cwnd: 9 packets are less than a round"},
	{"first_window: line_rate", "ack_every: 64 packets", "", ""},
	{"first_window: line_rate", "bound: bytes, bound_bytes: 9kB", "9kB",
		"traffic x: transport rdma: bound_bytes: 9kB are"},
	{"first_window: line_rate", "rto: fixed, rto_min: 8us", "8us",
		"traffic x: transport rdma: rto_min: the timeout of 8us is shorter than 250us"},
	{"first_window: line_rate", "base_rtt: 4us", "4us",
		"traffic x: transport rdma: base_rtt: the round trip of the longest path without queues is 848"},
	{"rdma: {first_window: line_rate}", "tcp: {receive_buffer: 64kB}", "64kB",
		"traffic x: transport tcp: receive_buffer: a window of 32kB, half of it, is less than a round trip"},
	{"kmin: 100KB, kmax: 400KB", "kmin: 1MB, kmax: 2MB", "{ecn", "switch leaf0: program ecn: at leaf0->h0 with 100Gbps, " +
		"it marks queues above 1MB, but a queue has at most 1MB"},
	{"ecn: {kmin: 100KB, kmax: 400KB}", "codel: {target: 100ns, interval: 1us}", "100ns",
		"switch leaf0: program codel: target: at the port to h0 with 100Gbps, a frame of"},
	{"ecn: {kmin: 100KB, kmax: 400KB}", "pie: {target: 80us}", "80us",
		"switch leaf0: program pie: target: the buffer of the port to h0 is full after 80us, not above 80us"},
	{"ecn: {kmin: 100KB, kmax: 400KB}", "pie: {target: 79us, update: 50us, alpha: 0.0004}", "", ""},
	{"ecn: {kmin: 100KB, kmax: 400KB}", "pie: {target: 79us, update: 50us}", "50us",
		"switch leaf0: program pie: update: the gain alpha acts once in an update, and 0.125 is " +
			"chosen for one of 15ms"},
	{"ecn: {kmin: 100KB, kmax: 400KB}", "ppv: {target: 90us}", "90us",
		"switch leaf0: program ppv: target: the buffer of the port to h0 holds 80us"},
	// signals
	{"hpcc: {eta: 95%}", "dcqcn: {}", "", ""},
	{"first_window: line_rate}}, cc: {hpcc: {eta: 95%}}", "recovery: go_back_n}}, cc: {timely: {t_high: 60us}}",
		"go_back_n",
		"traffic x: transport rdma: recovery: packets can be lost, and go_back_n measures no round trip"},
	{"rdma: {first_window: line_rate}}, cc: {hpcc: {eta: 95%}}", "tcp: {}}, cc: dcqcn", "dcqcn",
		"traffic x: cc dcqcn: the path has no congestion signal for it: tcp has no CNPs"},
	{"first_window: line_rate}}, cc: {hpcc: {eta: 95%}}", "ecn: echo}}, cc: dcqcn", "dcqcn",
		"traffic x: cc dcqcn: the path has no congestion signal for it: ecn: echo of rdma sends no CNPs"},
	{", buffer: 1MB}}\nswitch: [ecmp, {ecn: {kmin: 100KB, kmax: 400KB}}, telemetry]", "}}\nswitch: [ecmp]", "{hpcc",
		"traffic x: cc hpcc: the path has no congestion signal for it: no switch writes telemetry"},
	{"rdma: {first_window: line_rate}}, cc: {hpcc: {eta: 95%}}", "udp_controlled: {}}, cc: bbr", "bbr",
		"traffic x: cc bbr: the path has no congestion signal for it: udp_controlled measures no rates of delivery"},
	// paths
	{"[ecmp", "[spray", "{rdma", "traffic x: transport rdma: packets are reordered, since program spray " +
		"(test.yaml:3:10) sprays them: recovery: go_back_n"},
	{"[ecmp", "[letflow", "", ""},
}

// TestSuitsPaths checks that senders with several paths get a warning unless the switches hash source ports and
// have a choice of paths.
func TestSuitsPaths(t *testing.T) {
	for _, x := range []struct{ balance, spines, want string }{
		{"ecmp", "4", ""},
		{"spray", "4", "test.yaml:4:93: traffic x: transport rdma: paths: 8 source ports do not select separate paths, " +
			"since program " +
			"spray (test.yaml:3:10) sends each packet over a different path"},
		{"drill", "4", "since program drill (test.yaml:3:10) sends each packet over a different path"},
		{"letflow", "4", "since program letflow (test.yaml:3:10) sends each flowlet over a different path"},
		{"forward", "4", "since no switch chooses among paths by a hash"},
		{"ecmp", "1", "since no switch chooses among paths by a hash"},
	} {
		t.Run(x.balance+x.spines, func(t *testing.T) {
			text := `duration: 1ms
topology: {leaf_spine: {leaves: 2, spines: ` + x.spines + `, hosts: 2, rate: 100Gbps, delay: 1us, buffer: 1MB}}
switch: [` + x.balance + `, telemetry]
traffic: [{name: x, from: h0, to: h2, transport: {rdma: {recovery: selective_repeat, paths: 8}}, cc: hpcc, start: 0s}]
measure: [goodput]
`
			s := plantest.Load(t, app.Registry(), text, experiment.Options{})
			all := strings.Join(testkit.FormatAll(s.Warnings()), "\n")
			if warned := strings.Contains(all, "source ports"); warned != (x.want != "") || !strings.Contains(all, x.want) {
				t.Errorf("warnings: %s", all)
			}
		})
	}
}

// TestLoad_ReportsUnsuitableSchemes checks that a scheme that cannot work in its network is an error. A scheme that
// has no effect, or probably another one than intended, is a warning. Each has its place. Rows without a message
// expect none.
func TestLoad_ReportsUnsuitableSchemes(t *testing.T) {
	for _, x := range suited {
		t.Run(x.new, func(t *testing.T) {
			text := strings.Replace(stands, x.old, x.new, 1)
			if text == stands && x.old != x.new {
				t.Fatal("nothing is replaced")
			}
			place := "test.yaml:"
			for i, line := range strings.Split(text, "\n") {
				if k := strings.Index(line, x.at); x.at != "" && k >= 0 {
					place += fmt.Sprintf("%d:%d: ", i+1, k+1)
					break
				}
			}
			s, err := plan.Load(app.Registry(), plantest.NewSource("test.yaml", text), experiment.Options{})
			if want, refused := strings.CutPrefix(x.want, "!"); refused {
				if err == nil || !strings.HasPrefix(err.Error(), place+want) {
					t.Errorf("%v, want %s%s", err, place, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			switch w := testkit.FormatAll(s.Warnings()); {
			case x.want == "" && len(w) > 0:
				t.Errorf("%q", w)
			case x.want != "" && (len(w) != 1 || !strings.HasPrefix(w[0], place+x.want)):
				t.Errorf("%q, want %s%s", w, place, x.want)
			}
		})
	}
}

// TestIdleSomewhere checks that a parameter that acts at one point of the sweep causes no warning at the others,
// and that a parameter with its default value causes none.
func TestIdleSomewhere(t *testing.T) {
	for _, x := range []struct {
		sweep string
		idle  bool
	}{
		{"{start: [line_rate, initial_window]}", false}, {"{start: [line_rate]}", true}, {"{start: [initial_window]}", false},
	} {
		t.Run(x.sweep, func(t *testing.T) {
			text := strings.Replace(stands, "line_rate", "$start, initial_window: 20 packets", 1) + "sweep: " + x.sweep + "\n"
			s, err := plan.Load(app.Registry(), plantest.NewSource("test.yaml", text), experiment.Options{})
			if err != nil || (len(s.Warnings()) > 0) != x.idle {
				t.Errorf("%v, %q", err, s.Warnings())
			}
		})
	}
	text := strings.Replace(stands, "first_window: line_rate", "initial_window: 10 packets", 1)
	if s, err := plan.Load(app.Registry(), plantest.NewSource("test.yaml", text),
		experiment.Options{}); err != nil || len(s.Warnings()) > 0 {
		t.Errorf("%v, %q", err, s.Warnings())
	}
}
