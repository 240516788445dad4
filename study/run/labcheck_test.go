package run

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/cc/reno"
	"weir/core/dataplane/feedback/inband"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/topology"
	"weir/core/transport/udp"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/worlds/lab/kernel"
)

// someKernel returns a kernel with fixed properties. Tests do not probe the kernel of the machine.
func someKernel() *kernel.Kernel {
	k := &kernel.Kernel{CongestionControls: []string{"reno", "bbr", "cubic"}, Tick: 4 * unit.Millisecond}
	for _, name := range []string{"tcp_comp_sack_delay_ns", "tcp_comp_sack_nr", "tcp_ecn", "tcp_ecn_fallback",
		"tcp_moderate_rcvbuf", "tcp_rmem", "tcp_rto_min_us", "tcp_wmem"} {
		k.Sysctls = append(k.Sysctls, kernel.Sysctl{Name: name})
	}
	return k
}

// twoHosts is the beginning of experiments with two hosts at one switch.
const twoHosts = `duration: 2s
topology:
  hosts: [a, b]
  switches: [s]
  links:
    - {ends: [a, s], rate: 100Mbps, delay: 1ms}
    - {ends: [s, b], rate: 100Mbps, delay: 1ms, buffer: 100 packets}
`

// TestCheckLab checks that features that the kernel lacks are refused by name, with their places in the file, all
// at once, before the start (issue "The lab").
func TestCheckLab(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		want       []string // of the error, in order; none: there is no error
		force      bool
	}{
		{"all can be had", twoHosts + "switch: [forward]\ntraffic:\n  - {name: x, from: a, to: b, transport: tcp, cc: " +
			"bbr}\n  - {name: y, from: a, to: b, transport: udp, rate: 1Mbps}\nmeasure: [goodput]\n", nil, false},
		{"a congestion control", twoHosts + "switch: [forward]\ntraffic:\n  - {name: x, from: a, to: b, transport: tcp, " +
			"cc: dctcp}\nmeasure: [goodput]\n",
			[]string{":10:51: traffic x: the kernel has no dctcp, only reno, bbr, cubic; enable CONFIG_TCP_CONG_DCTCP or " +
				"load the module tcp_dctcp; allowed: reno, bbr, cubic"}, false},
		{"its parameter", twoHosts + "switch: [forward]\ntraffic:\n  - {name: x, from: a, to: b, transport: tcp, cc: " +
			"{cubic: {variant: rfc9438}}}\nmeasure: [goodput]\n",
			[]string{"the kernel's cubic has no parameter variant; allowed: its default: linux"}, false},
		{"a parameter of TCP", twoHosts + "switch: [forward]\ntraffic:\n  - {name: x, from: a, to: b, transport: tcp, " +
			"delayed_ack: 50ms}\nmeasure: [goodput]\n",
			[]string{"traffic x: transport tcp: the kernel does not support delayed_ack 50ms: the maximum is 40ms " +
				"(TCP_DELACK_MIN)"},
			false},
		{"a host's", twoHosts + "switch: [forward]\ntraffic:\n  - {name: x, from: a, to: b, transport: tcp, ecn: true}\n  " +
			"- {name: y, from: a, to: b, transport: tcp}\nmeasure: [goodput]\n",
			[]string{":10:3: host a: flows of one host require net.ipv4.tcp_ecn to be 1 and 2"}, false},
		{"a host's, by force", twoHosts + "switch: [forward]\ntraffic:\n  - {name: x, from: a, to: b, transport: tcp, ecn: " +
			"true}\n  - {name: y, from: a, to: b, transport: tcp}\nmeasure: [goodput]\n",
			[]string{":10:3: host a: flows of one host require net.ipv4.tcp_ecn to be 1 and 2"}, true},
		{"buffers of its own", twoHosts + "switch: [forward]\ntraffic:\n  - {name: x, from: a, to: b, transport: {tcp: " +
			"{send_buffer: 32KiB, receive_buffer: 32KiB, autotuning: false}}}\n  - {name: y, from: a, to: b, transport: " +
			"{tcp: {send_buffer: 48KiB, receive_buffer: 48KiB, autotuning: false}}}\nmeasure: [goodput]\n", nil, false},
		{"buffers too small to be its own", twoHosts + "switch: [forward]\ntraffic:\n  - {name: x, from: a, to: b, " +
			"transport: {tcp: {send_buffer: 4KiB}}}\n  - {name: y, from: a, to: b, transport: tcp}\nmeasure: [goodput]\n",
			[]string{":10:5: traffic x: transport tcp: the kernel does not support send_buffer 4096 B next to larger ones " +
				"of the same host; allowed: 4608 B and more"}, false},
		{"a framing", twoHosts + "switch: [forward]\nframing: htsim\ntraffic:\n  - {name: x, from: a, to: b, transport: " +
			"tcp}\nmeasure: [goodput]\n",
			[]string{":9:10: framing htsim counts headers that real frames do not have; allowed: l2, wire"}, false},
		{"measures", twoHosts + "switch: [forward]\ntraffic:\n  - {name: x, from: a, to: b, transport: tcp}\nmeasure: " +
			"[goodput, overshoot]\n",
			[]string{":11:20: the lab does not support overshoot: a kernel reports the payload in flight of its sender only"},
			false},
		{"a measure's option", twoHosts + "switch: [forward]\ntraffic:\n  - {name: x, from: a, to: b, transport: tcp}\n" +
			"measure: [goodput, {pfc_pause: {log: true}}]\n",
			[]string{":11:20: the lab does not support pfc_pause: its data plane records no log of pause frames"}, false},
		{"long packets", twoHosts + "switch: [forward]\ntraffic:\n  - {name: x, from: a, to: b, transport: udp, rate: " +
			"1Mbps, payload: 9300 B}\nmeasure: [goodput]\n",
			[]string{"traffic x: IP packets of 9328 bytes exceed the limit of interfaces in the lab (9216 bytes); allowed: a " +
				"payload of 9188 B"}, false},
		{"too large", strings.ReplaceAll(twoHosts, "100Mbps", "10Gbps") +
			"switch: [forward]\ntraffic:\n  - {name: x, from: a, to: b, transport: tcp}\nmeasure: [goodput]\n",
			[]string{":3:3: too large for this machine at its only point: hosts would send about 1.238 M frames/s, but the " +
				"lab can forward only 100 k on time; allowed: rates divided by 13 (--set rates=/13), or as many times fewer " +
				"senders"},
			false},
		{"too large, by force", strings.ReplaceAll(twoHosts, "100Mbps", "10Gbps") +
			"switch: [forward]\ntraffic:\n  - {name: x, from: a, to: b, transport: tcp}\nmeasure: [goodput]\n", nil, true},
		{"many hosts", "duration: 2s\ntopology: {fat_tree: {k: 16, rate: 1Mbps, delay: 1us}}\nswitch: " +
			"[forward]\ntraffic:\n  - {name: x, from: h0, to: h1, transport: tcp}\nmeasure: [goodput]\n",
			[]string{"the network has 1024 hosts, and the lab needs a namespace with its own rings for each; allowed: up to " +
				"128 hosts"},
			false},
		{"too large, by force, with what cannot be had", strings.ReplaceAll(twoHosts, "100Mbps", "10Gbps") +
			"switch: [forward]\ntraffic:\n  - {name: x, from: a, to: b, transport: tcp, cc: dctcp}\nmeasure: [goodput]\n",
			[]string{"the kernel has no dctcp"}, true},
		{"a transport that no kernel has", twoHosts + "switch: [forward]\ntraffic:\n  - {name: x, from: a, to: b, " +
			"transport: rdma, cc: none}\nmeasure: [goodput]\n", nil, false},
		{"a congestion control that it lacks, of Weir's own hosts", twoHosts + "switch: [forward]\ntraffic:\n  - {name: " +
			"x, from: a, to: b, transport: {tcp: {stack: weir, delayed_ack: 50ms}}, cc: dctcp}\nmeasure: [goodput]\n",
			nil, false},
		{"all together", twoHosts + "switch: [forward]\nframing: htsim\ntraffic:\n  - {name: x, from: a, to: b, transport: " +
			"tcp, cc: dctcp}\nmeasure: [goodput, overshoot]\n",
			[]string{"the kernel has no dctcp", "framing htsim", "not support overshoot"}, false},
	} {
		t.Run(c.name, func(t *testing.T) { checks(t, c.spec, c.force, c.want) })
	}
}

// TestCheckLabOfSenders checks that some measures of the kernel's senders are refused, by name. Weir's own senders
// report them.
func TestCheckLabOfSenders(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		want       []string // of the error; none: there is no error
	}{
		{"measures of one's own hosts", twoHosts + "switch: [forward]\ntraffic:\n  - {name: x, from: a, to: b, transport: " +
			"{tcp: {stack: weir}}}\n  - {name: y, from: a, to: b, transport: tcp}\nmeasure: [{reduction: {traffic: x}}]\n",
			nil},
		{"measures of others", twoHosts + "switch: [forward]\ntraffic:\n  - {name: x, from: a, to: b, transport: {tcp: " +
			"{stack: weir}}}\n  - {name: y, from: a, to: b, transport: tcp}\nmeasure: [overshoot, {reduction: {traffic: y}}, " +
			"nacks]\n", []string{"the lab does not support overshoot: a kernel reports the payload in flight of its sender " +
			"only at intervals, so the maximum is unknown (traffic y; stack: weir makes it available)",
			"the lab does not support reduction: a kernel does not report",
			"the lab does not support nacks: a kernel sender does not accept notices"}},
	} {
		t.Run(c.name, func(t *testing.T) { checks(t, c.spec, false, c.want) })
	}
}

// checks runs CheckLab on an experiment, and compares its errors.
func checks(t *testing.T, text string, force bool, want []string) {
	t.Helper()
	err := CheckLab(plantest.Load(t, room(), text, experiment.Options{}), someKernel(), force)
	if (err == nil) != (want == nil) {
		t.Fatalf("%v, want %q", err, want)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v\nwant %q", err, w)
		}
	}
}

// TestFramesPerSecond checks the estimate of frames per second. The senders are as in figure 4, at four times the
// paper's rates. They fit a machine with two cores, and not one with a single core.
func TestFramesPerSecond(t *testing.T) {
	const text = `duration: 2s
topology:
  hosts: [a, b, c]
  switches: [s]
  links:
    - {ends: [a, s], rate: 400Mbps, delay: 1ms}
    - {ends: [b, s], rate: 400Mbps, delay: 1ms}
    - {ends: [s, c], rate: 200Mbps, delay: 1ms, buffer: 100 packets}
switch: [forward]
traffic:
  - {name: x, from: a, to: c, transport: udp, rate: 500Mbps, payload: 1448 B}
  - {name: y, from: b, to: c, transport: tcp, flows: 3}
measure: [goodput]
`
	s := plantest.LoadSource(t, room(), file("test.yaml", text), experiment.Options{})
	// On a single core hosts and data plane share it.
	k := someKernel()
	for cpus, enough := range map[int]bool{1: false, 2: true} {
		t.Run(fmt.Sprint("cores ", cpus), func(t *testing.T) {
			k.CPUs = cpus
			if err := CheckLab(s, k, false); (err == nil) != enough {
				t.Error(err)
			}
		})
	}
	// 400 Mb/s of frames of 1490 bytes; 200 Mb/s of 1514 and half as many acknowledgements.
	want := 400e6/8/1490 + 1.5*200e6/8/1514
	if got := plan.FramesPerSecond(s.Points()[0]); got < 0.97*want || got > 1.03*want {
		t.Errorf("%.0f frames/s, want %.0f", got, want)
	}
}

// TestFramesByPath checks that a host's rate follows from the narrowest link of a path and from the flows that
// share it, not from the host's own link: fast access links fit. Only datagrams are sent at their rate even if a
// queue is full. (Review of P4-ABC and the lab, F3.)
func TestFramesByPath(t *testing.T) {
	const network = `duration: 5s
topology:
  hosts: [a, b, c, d]
  switches: [s1, s2]
  links:
    - {ends: [a, s1], rate: 10Gbps, delay: 1ms}
    - {ends: [c, s1], rate: 10Gbps, delay: 1ms}
    - {ends: [s1, s2], rate: 10Mbps, delay: 1ms, buffer: 50 packets}
    - {ends: [s2, b], rate: 10Gbps, delay: 1ms}
    - {ends: [s2, d], rate: 10Gbps, delay: 1ms}
`
	const mbps = 1e6 / 8 / 1514 * 1.5 // frames of TCP, with ACKs
	for _, c := range []struct {
		name, more, traffic string
		want                float64
	}{
		{"one flow", "", "{name: x, from: a, to: b, transport: tcp}", 10 * mbps},
		{"IPv6", "", "{name: x, from: a, to: b, transport: tcp, ip: 6}", 10 * mbps},
		{"a thousand flows", "", "{name: x, from: a, to: b, transport: tcp, flows: 1000}", 10 * mbps},
		{"two senders", "", "{name: x, from: a, to: b, transport: tcp}\n  - {name: y, from: c, to: d, transport: tcp}",
			10 * mbps},
		{"both directions", "", "{name: x, from: a, to: b, transport: tcp}\n  - {name: y, from: b, to: a, transport: tcp}",
			20 * mbps},
		{"beside the narrow link", "", "{name: x, from: a, to: b, transport: tcp}\n  - {name: y, from: a, to: c, " +
			"transport: tcp}", 10*mbps + 9990*mbps},
		{"a slow application", "", "{name: x, from: a, to: b, transport: {tcp: {rate: 2Mbps}}}", 2 * mbps},
		{"the link's rate rises", "events:\n  - {at: 1s, link: [s1, s2], rate: 30Mbps}\n",
			"{name: x, from: a, to: b, transport: tcp}", 30 * mbps},
		{"datagrams", "", "{name: x, from: a, to: b, transport: udp, rate: 80Mbps, payload: 1000 B}", 10e3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := plantest.Load(t, room(),
				network+"switch: [forward]\n"+c.more+"traffic:\n  - "+c.traffic+"\nmeasure: [goodput]\n", experiment.Options{})
			if got := plan.FramesPerSecond(s.Points()[0]); got < 0.99*c.want || got > 1.01*c.want {
				t.Errorf("%.0f frames/s, want %.0f", got, c.want)
			}
		})
	}
}

// TestSmallDatagrams checks that small datagrams do not make TCP's segments small: 1 Mb/s of 64 bytes next to TCP
// at 100 Mb/s.
func TestSmallDatagrams(t *testing.T) {
	s := plantest.Load(t, room(), twoHosts+`switch: [forward]
traffic:
  - {name: x, from: a, to: b, transport: udp, rate: 1Mbps, payload: 64 B}
  - {name: y, from: a, to: b, transport: tcp}
measure: [goodput]
`, experiment.Options{})
	want := 1e6/8/64 + 1.5*100e6/8/1514
	if got := plan.FramesPerSecond(s.Points()[0]); got < 0.97*want || got > 1.03*want {
		t.Errorf("%.0f frames/s, want %.0f", got, want)
	}
}

// TestCheckLabOwnController checks that the field Kernel of a controller, and not its name, selects the kernel's
// controller. A user's own controller may have the name of a kernel's one, and another one may be the kernel's
// under its own name.
func TestCheckLabOwnController(t *testing.T) {
	for _, c := range []struct{ name, kernel, want string }{
		{"none of the kernel's", "", "traffic x: the lab's hosts run Linux, which has no congestion control equivalent to " +
			"vegas; allowed: reno, bbr, cubic, or any with stack: weir of tcp\n"},
		{"one that this kernel lacks", "yeah", "traffic x: the kernel has no yeah, only reno, bbr, cubic, vegas;"},
		{"the kernel's", "bbr", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, k := room(), someKernel()
			k.CongestionControls = append(k.CongestionControls, "vegas")
			own := reno.Scheme()
			own.Name, own.Kernel = "vegas", c.kernel
			r.Controllers = append(r.Controllers, own)
			s := plantest.Load(t, r, twoHosts+"switch: [forward]\ntraffic: [{name: x, from: a, to: b, transport: tcp, "+
				"cc: vegas}]\nmeasure: [goodput]\n", experiment.Options{})
			err := CheckLab(s, k, false)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				run, err := plan.ListRuns(s)[0].Config()
				if err != nil {
					t.Fatal(err)
				}
				traffic, _ := labTraffic(s.Points()[0], run, k, nil, 0, nil)
				if got := traffic.Flows[0].TCP.CongestionControl; got != "bbr" {
					t.Errorf("the socket has %s", got)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestCheckLabOfNetwork checks that hosts must have one link, and that a user's measure gives its own reason why
// the lab lacks it. Switches that write telemetry do not change packets that request none, such as those of a
// kernel's TCP.
func TestCheckLabOfNetwork(t *testing.T) {
	const text = twoHosts + `switch: [forward]
traffic: [{name: x, from: a, to: b, transport: tcp}]
measure: [goodput]
`
	r := room()
	r.Programs = append(r.Programs, inband.Scheme())
	r.Measures = append(r.Measures, measure.Definition{Name: "mine", New: func() measure.Measure { return ours{} }})
	r.Topologies = append(r.Topologies, topology.Scheme{Scheme: scheme.Scheme{Name: "twice", Doc: "host a has two links"},
		Build: func(scheme.Config) (*topology.Network, error) {
			link := topology.Link{Rate: unit.LinkRate{Bits: 100 * unit.Mbps}, Delay: unit.Millisecond}
			n := &topology.Network{Nodes: []topology.Node{{Name: "a"}, {Name: "b"}, {Name: "s", Switch: true},
				{Name: "r", Switch: true}}}
			for _, ends := range [][2]int{{0, 2}, {0, 3}, {1, 2}, {2, 3}} {
				link.Ends = ends
				n.Links = append(n.Links, link)
			}
			return n, nil
		}})
	for _, programs := range []string{"[forward]", "[forward, {telemetry: {t: 10us}}]"} {
		s := plantest.Load(t, r, strings.Replace(text, "[forward]", programs, 1), experiment.Options{})
		if err := CheckLab(s, someKernel(), false); err != nil {
			t.Fatal(err)
		}
	}
	network := text[strings.Index(text, "topology:"):strings.Index(text, "switch:")]
	for want, change := range map[string][2]string{
		":10:11: the lab does not support mine: a kernel does not count them": {"[goodput]", "[mine]"},
		":3:3: host c has no link, but a host in the lab has one interface":   {"hosts: [a, b]", "hosts: [a, b, c]"},
	} {
		t.Run(want, func(t *testing.T) {
			s := plantest.Load(t, r, strings.Replace(text, change[0], change[1], 1), experiment.Options{})
			if err := CheckLab(s, someKernel(), false); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
	// A family whose hosts have several links is available in the simulator only.
	s := plantest.Load(t, r, strings.Replace(text, network, "topology: {twice: {}}\n", 1), experiment.Options{})
	err := CheckLab(s, someKernel(), false)
	want := "host a has 2 links, but a host in the lab has one interface"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// ours is a user's own measure, which gives the reason why the lab lacks it.
type ours struct{ measure.Plain }

func (ours) AddValues(*measure.Evaluation) {}

func (ours) WhyNotInLab(*measure.Point) string { return "a kernel does not count them" }

// TestOwnTransport checks that a transport of any name declares that a kernel has it, and the rate of its flows.
func TestOwnTransport(t *testing.T) {
	r := room()
	mine := udp.Scheme()
	mine.Name = "mine"
	r.Transports = append(r.Transports, mine)
	s := plantest.LoadSource(t, r, file("test.yaml", twoHosts+`switch: [forward]
traffic: [{name: x, from: a, to: b, transport: mine, rate: 8Mbps, payload: 1000 B}]
measure: [goodput]
`), experiment.Options{})
	if err := CheckLab(s, someKernel(), false); err != nil {
		t.Error(err)
	}
	if got := plan.FramesPerSecond(s.Points()[0]); got != 1000 {
		t.Errorf("%g frames/s, want 1000", got)
	}
	if got, want := fmt.Sprint(s.KernelTransports()), "[tcp udp mine]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	c, err := LabConfig(plan.ListRuns(s)[0])
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Flows[0].Proto; got != packet.ProtoUDP {
		t.Errorf("protocol %d", got)
	}
}
