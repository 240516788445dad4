package hpcc_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/cc/reno"
	"weir/core/dataplane"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/feedback/inband"
	"weir/core/dataplane/tm"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/rdma"
	"weir/core/transport/tcp"
	"weir/core/transport/udp"
	"weir/core/unit"
	"weir/core/workload"
	"weir/internal/testkit/plantest"
	"weir/papers/hpcc"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/worlds/sim"
)

const (
	ns = unit.Nanosecond
	us = unit.Microsecond
	ms = unit.Millisecond
)

// classifier puts packets into the class of their TOS byte's upper three bits.
type classifier struct{}

func (classifier) Name() string { return "classifier" }
func (classifier) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	p.Meta.Class = p.TOS >> 5
	return dataplane.Accept
}

func registry() *experiment.Registry {
	return &experiment.Registry{
		Measures:  measure.Definitions(),
		Workloads: workload.Distributions(),
		Programs: []dataplane.Scheme{ecmp.Scheme(), inband.Scheme(),
			{Scheme: scheme.Scheme{Name: "classifier", Doc: "for tests"},
				Build: func(*dataplane.Site, scheme.Config) (dataplane.Program, error) { return classifier{}, nil }}},
		Schedulers:  tm.Schemes(),
		Transports:  []transport.Scheme{rdma.Scheme(), tcp.Scheme(), udp.Scheme(), udp.ControlledScheme()},
		Topologies:  topology.Schemes(),
		Controllers: []cc.Scheme{hpcc.Scheme(), hpcc.PINTScheme(), hpcc.PowerScheme(), hpcc.RxScheme(), reno.Scheme()},
	}
}

// configure returns the first run of an experiment, with changes; nil: without any.
func configure(t testing.TB, text string, change func(*sim.Config)) *sim.Config {
	t.Helper()
	c := plantest.Configure(t, registry(), text)
	if change != nil {
		change(c)
	}
	return c
}

// runNetwork runs the first run of an experiment, with changes; nil: without any.
func runNetwork(t testing.TB, text string, change func(*sim.Config)) *outcome.Result {
	t.Helper()
	return plantest.Simulate(t, configure(t, text, change))
}

// dumbbell is an experiment of one bottleneck; what is traffic and programs.
func dumbbell(hosts int, programs, traffic string) string {
	return fmt.Sprintf(`
duration: 6ms
framing: hpcc
mtu: 1000 B payload
topology: {dumbbell: {hosts: %d, rate: 100Gbps, delay: 1us, bottleneck: 100Gbps}}
switches: {"*": {programs: [%s]}}
traffic:
%s`, hosts, programs, traffic)
}

// watch looks at the queue of the bottleneck, the last link's first end, and at what
// flows have got.
func watch(every unit.Time) func(*sim.Config) {
	return func(c *sim.Config) {
		c.Watches = append(c.Watches, outcome.Watch{What: outcome.QueueBytes, Index: 2 * (len(c.Wiring.Network.Links) - 1),
			Every: every})
		for i := range c.Flows {
			c.Watches = append(c.Watches, outcome.Watch{What: outcome.ReceivedBytes, Index: i, Every: every})
		}
	}
}

func percentile(x []int64, p int) int64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return x[(len(x)-1)*p/100]
}

// payloadShare is the payload's share of a frame of 1090 B, in HPCC's framing.
const payloadShare = 1000.0 / 1090

// TestTwoFlowsConverge checks two flows at one bottleneck; the second begins 1 ms after the first. T is 6.6 µs. After
// 10 T both together have eta·B within 3 %. After 20 T the queue is a few packets at its 95th percentile, and each has
// its half within 10 %.
func TestTwoFlowsConverge(t *testing.T) {
	for _, transport := range []string{"rdma", "udp_controlled"} {
		t.Run(transport, func(t *testing.T) {
			const every = 10 * us
			r := runNetwork(t, dumbbell(2, "ecmp, telemetry", fmt.Sprintf(`
  - {name: one, from: left0, to: right0, transport: %s, cc: {hpcc: {w_ai: 150 B}}, start: 0s}
  - {name: two, from: left1, to: right1, transport: %s, cc: {hpcc: {w_ai: 150 B}}, start: 1ms}`, transport, transport)),
				watch(every))
			rate := func(flow int, from, to unit.Time) float64 {
				w := r.Watched[1+flow]
				return float64(w[to/every]-w[from/every]) * 8 / (to - from).Seconds() / 100e9 / payloadShare
			}
			if alone := rate(0, 200*us, ms); alone < 0.92 || alone > 0.98 {
				t.Errorf("%s: alone, a flow has %.3f of the link", transport, alone)
			}
			if both := rate(0, 1070*us, 1300*us) + rate(1, 1070*us, 1300*us); both < 0.92 || both > 0.98 {
				t.Errorf("%s: 10 T after the second has begun, they have %.3f of the link", transport, both)
			}
			if q := percentile(r.Watched[0][1140*us/every:], 95); q > 12_000 {
				t.Errorf("%s: after 20 T the queue is %d B", transport, q)
			}
			for flow := range 2 {
				if x := rate(flow, 2*ms, 5*ms); x < 0.475*0.9 || x > 0.475*1.1 {
					t.Errorf("%s: flow %d has %.3f of the link", transport, flow, x)
				}
			}
		})
	}
}

// TestIncastNetwork checks HPCC §5.4, 16 flows to one host. The first burst, 16 W, drains in some round trips; then the
// queue is near zero and the link in use.
func TestIncastNetwork(t *testing.T) {
	for _, control := range []string{"hpcc: {w_ai: 25 B}", "rx_hpcc: {w_ai: 25 B}", "hpcc_pint: {w_ai: 25 B}",
		"powertcp: {n: 160}", "hpcc: {w_ai: 25 B, mode: per_hop}"} {
		t.Run(control, func(t *testing.T) {
			const every = 5 * us
			r := runNetwork(t, dumbbell(16, "ecmp, {telemetry: {t: 13us}}", fmt.Sprintf(`
  - {name: incast, from: "left*", to: right0, transport: rdma, cc: {%s}, size: 2MB, start: 0s}`, control)),
				watch(every))
			last := unit.Time(0)
			for _, f := range r.Flows {
				last = max(last, f.FCT)
			}
			// 16 · 2 MB in frames of 1090 B at 95 % of 100 Gb/s take 2.94 ms.
			if r.End != outcome.AllDone || r.Drops != [dataplane.Reasons]uint64{} || last > 3400*us {
				t.Errorf("%s: %s, drops %v, the last flow ends after %v", control, r.End, r.Drops, last)
				return
			}
			first, late := percentile(r.Watched[0], 100), percentile(r.Watched[0][400*us/every:2*ms/every], 95)
			if first < 500_000 || late > 30_000 {
				t.Errorf("%s: a queue of %d B at first, after 0.4 ms of %d B", control, first, late)
			}
			t.Logf("%s: last FCT %v, queue %d B, then %d B", control, last, first, late)
		})
	}
}

// mesh is a leaf-spine network with cross traffic and losses.
func mesh(format, transport, control, ask, more string) string {
	return meshOf(300, format, transport, control, ask, more)
}

// meshOf is mesh with another size of the flows upward, in kB; those downward have two thirds of it.
func meshOf(size int, format, transport, control, ask, more string) string {
	return fmt.Sprintf(`
duration: 3ms
mtu: 1000 B payload
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 3, rate: 25Gbps, delay: 1us, loss: 0.05%%, buffer: 200kB}}
switches: {"*": {programs: [ecmp, {telemetry: {format: %[1]s, t: 15us}}]}}
traffic:
  - {name: up, from: [h0, h1, h2], to: [h3, h4], transport: %[2]s, telemetry: %[3]s, cc: {%[4]s}, size: %[6]dkB,
     start: 0s..50us%[5]s}
  - {name: down, from: [h5], to: [h0, h3], transport: %[2]s, telemetry: %[3]s, cc: {%[4]s}, size: %[7]dkB,
     start: 20us%[5]s}`,
		format, transport, ask, control, more, size, size*2/3)
}

// combinations are what a mesh is run with.
var combinations = [][5]string{
	{"hpcc", "rdma", "hpcc: {}", "packet", ""},
	{"hpcc", "rdma", "hpcc: {mode: per_hop}", "packets", ", recovery: selective_repeat, ack_every: 4 packets"},
	{"hpcc", "rdma", "rx_hpcc: {}", "packet", ", recovery: selective_repeat, ack_every: 8 packets"},
	{"hpcc", "rdma", "hpcc_pint: {share: 50%}", "packet", ""},
	{"hpcc", "rdma", "hpcc: {}", "congestion", ""},
	{"hpcc", "rdma", "powertcp: {}", "probe", ""},
	{"int-md, sojourn: on", "rdma", "hpcc: {delay: sojourn}", "packet", ", ip: 6"},
	{"ioam", "rdma", "hpcc: {}", "congestion", ""},
	{"ifa-ext", "rdma", "rx_hpcc: {}", "rtt", ""},
	{"ioam-gafni", "rdma", "hpcc: {mode: per_hop}", "packet", ", ip: 6"},
	{"hpcc", "tcp", "hpcc: {}", "packet", ", rto_min: 1ms"},
	{"int-md", "tcp", "hpcc: {}", "packets", ", rto_min: 1ms, ip: 6"},
	{"ifa-ext", "tcp", "hpcc: {}", "packet", ", rto_min: 1ms"},
	{"ioam", "tcp", "rx_hpcc: {}", "packet", ", rto_min: 1ms, ip: 6"},
	{"hpcc", "tcp", "rx_hpcc: {}", "packet", ", rto_min: 1ms"},
	{"hpcc", "tcp", "powertcp: {}", "probe", ", rto_min: 1ms"},
	{"hpcc", "udp_controlled", "hpcc: {}", "packet", ""},
	{"int-md", "udp_controlled", "hpcc: {}", "probe", ", report_every: 3 packets"},
	{"ifa-ext", "udp_controlled", "hpcc: {delay: sojourn}", "packet", ""},
	{"hpcc", "udp_controlled", "rx_hpcc: {}", "congestion", ""},
}

// transcript is all of a result but for the count of events, which ticks do not change.
func transcript(t *testing.T, c *sim.Config) string {
	t.Helper()
	r := plantest.Simulate(t, c)
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestForms_GiveSameTranscript checks that for any transport, law, format and requests all flows end (datagrams may be
// lost). The form of packets on the links, and the offsets of switches' clocks, make no difference, to the last bit.
func TestForms_GiveSameTranscript(t *testing.T) { sameForms(t, 150) }

// sameForms compares the forms of a mesh with the given size of its flows in kB.
func sameForms(t *testing.T, size int) {
	t.Helper()
	for k, x := range combinations {
		text := meshOf(size, x[0], x[1], x[2], x[3], x[4])
		with := func(change func(*sim.Config)) string {
			return transcript(t, configure(t, text, func(c *sim.Config) {
				c.Tally, c.UntilDone, c.Duration = true, false, 2*ms
				for i := range 2 * len(c.Wiring.Network.Links) {
					c.Watches = append(c.Watches, outcome.Watch{What: outcome.QueueBytes, Index: i, Every: 50 * us})
				}
				if change != nil {
					change(c)
				}
			}))
		}
		want := with(nil)
		if !strings.Contains(want, `"Unfinished":null`) {
			t.Errorf("%v: %.200s", x, want)
		}
		random := unit.NewRandom(uint64(k), "offsets")
		for name, change := range map[string]func(*sim.Config){
			"wire":   func(c *sim.Config) { c.Wire = true },
			"window": func(c *sim.Config) { c.Window = 300 * ns },
			"offsets": func(c *sim.Config) {
				for i := range c.Wiring.Switches {
					offset := unit.Time(random.Int64N(int64(4*unit.Second)) - int64(2*unit.Second))
					if !strings.HasPrefix(x[2], "hpcc_pint") { // records' times are whole nanoseconds
						offset -= offset % ns
					}
					c.Wiring.Switches[i].Clock.Offset = offset
				}
			},
		} {
			if got := with(change); got != want {
				t.Errorf("%v, %s: another result\n%.600s\n%.600s", x, name, got, want)
			}
		}
	}
}

// bounded looks at what a sender does with its window.
type bounded struct {
	transport.Endpoint
	t       *testing.T
	name    string
	payload unit.Bytes
	most    unit.Bytes
	sent    int
}

func (b *bounded) Emit(now unit.Time, p *packet.Packet) {
	b.Endpoint.Emit(now, p)
	g := b.Endpoint.(transport.Gauged).Gauge()
	if p.Payload > 0 && g.InFlight > max(g.Window, b.payload) {
		b.t.Errorf("%s, %v: %v in flight, the window is %v", b.name, now, g.InFlight, g.Window)
	}
	b.most = max(b.most, g.InFlight)
	b.sent++
}

// TestWindowBound checks draft-miao §9.3: the window bounds the flight in each transport. The window is at most W_init.
func TestWindowBound(t *testing.T) {
	for _, x := range combinations {
		text := mesh(x[0], x[1], x[2], x[3], x[4])
		if x[1] == "tcp" { // a loss probe may be one packet too much (RFC 8985 §7)
			text = strings.Replace(text, "loss: 0.05%", "loss: 0%", 1)
		}
		var all []*bounded
		r := runNetwork(t, text, func(c *sim.Config) {
			for i := range c.Flows {
				b := &bounded{Endpoint: c.Endpoints[i].Sender, t: t, name: fmt.Sprint(x, " flow ", i), payload: 1000}
				c.Endpoints[i].Sender = b
				all = append(all, b)
			}
		})
		for i, b := range all {
			if b.sent < 200 || b.most > 60_000 { // 25 Gb/s · 10 µs and more are 31 kB and more
				t.Errorf("%s: %d packets, up to %v in flight, %s", b.name, b.sent, b.most, r.End)
			}
			if r.Flows[i].FCT == unit.Never {
				t.Errorf("%s does not end", b.name)
			}
		}
	}
}

// TestMixedHops checks a hop without telemetry: if packets wait elsewhere it makes no difference. If they wait there,
// windows stay at most at W_init, and so do queues.
func TestMixedHops(t *testing.T) {
	text := dumbbell(4, "ecmp, telemetry", `
  - {name: four, from: ["left0", "left1", "left2", "left3"], to: right0, transport: rdma, cc: {hpcc: {w_ai: 25 B}},
     size: 1MB, start: 0s}`)
	late := func(without string) (int64, unit.Time) {
		x := text
		if without != "" {
			x = strings.Replace(text, "traffic:", "  "+without+": {programs: [ecmp]}\ntraffic:", 1)
			x = strings.Replace(x, `switches: {"*": {programs: [ecmp, telemetry]}}`,
				"switches:\n  \"*\": {programs: [ecmp, telemetry]}", 1)
		}
		r := runNetwork(t, x, watch(5*us))
		last := unit.Time(0)
		for _, f := range r.Flows {
			last = max(last, f.FCT)
		}
		if r.End != outcome.AllDone {
			t.Errorf("without %s: %s", without, r.End)
		}
		return percentile(r.Watched[0][40:60], 95), last // 200 to 300 µs
	}
	all, fct := late("")
	right, fctRight := late("right")
	left, fctLeft := late("left") // where the queue is
	t.Logf("queue and last FCT: %d B, %v; without the right switch %d B, %v; without the left %d B, %v", all, fct, right,
		fctRight, left, fctLeft)
	if all > 20_000 || right > 20_000 || left < 100_000 || left > 4*100_000 {
		t.Errorf("queues of %d, %d and %d B", all, right, left)
	}
	if max(fct, fctRight, fctLeft) > 450*us {
		t.Errorf("last flows end after %v, %v, %v", fct, fctRight, fctLeft)
	}
}

// TestLongPath checks a path with more hops than there is room for: of seven, the first five are recorded, and a header
// reports that there are others. A queue after them is not recorded, and is bounded by W_init.
func TestLongPath(t *testing.T) {
	for _, format := range []string{"int-md", "ioam", "ifa-ext"} {
		t.Run(format, func(t *testing.T) {
			missed, more := 0, map[string]int{"int-md": 1, "ioam": 1, "ifa-ext": 2}[format] // IFA says how many
			text := fmt.Sprintf(`
duration: 6ms
framing: hpcc
mtu: 1000 B payload
topology: {parking_lot: {hops: 6, hosts: 1, rate: 100Gbps, delay: 1us, bottleneck: 100Gbps}}
switches: {"*": {programs: [ecmp, {telemetry: {format: %s, hops: 5}}]}}
traffic:
  - {name: long, from: h0, to: h6, transport: rdma, cc: {hpcc: {w_ai: 25 B}}, size: 1MB, start: 0s}
  - {name: cross, from: h5, to: h6, transport: rdma, cc: {hpcc: {w_ai: 25 B}}, size: 1MB, start: 0s}`, format)
			c := configure(t, text, nil)
			s := c.Endpoints[0].Sender
			f := telemetryFormat(t, format)
			f.Hops = 5
			c.Endpoints[0].Sender = &listening{Endpoint: s, onReceive: func(p *packet.Packet) {
				var r telemetry.Records
				if what, _ := f.ReadAnswer(p, &r); what == telemetry.Recorded {
					if r.Len() != 5 || r.MissedHops() != more {
						t.Errorf("%s: %d records, %d missed", format, r.Len(), r.MissedHops())
					}
					missed++
				}
			}}
			r, err := sim.Run(c)
			if err != nil || r.End != outcome.AllDone || missed < 900 {
				t.Errorf("%s: %v, %v, %d answers", format, r, err, missed)
			}
		})
	}
}

type listening struct {
	transport.Endpoint
	onReceive func(p *packet.Packet)
}

func (l *listening) Receive(now unit.Time, p *packet.Packet) bool {
	l.onReceive(p)
	return l.Endpoint.Receive(now, p)
}

func telemetryFormat(t testing.TB, name string) *telemetry.Format {
	t.Helper()
	f, err := telemetry.NewFormat(name, 1, 1.05, []unit.Rate{100 * unit.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	return &f
}

// TestTelemetry_SparseRequestsKeepQueueShort checks telemetry that is requested less often, only from congested
// switches, or by probes: flows still use the capacity that another flow releases.
func TestTelemetry_SparseRequestsKeepQueueShort(t *testing.T) {
	for _, ask := range []string{"packet", "packets", "rtt", "congestion", "probe"} {
		t.Run(ask, func(t *testing.T) {
			r := runNetwork(t, dumbbell(2, "ecmp, {telemetry: {t: 13us}}", fmt.Sprintf(`
  - {name: one, from: left0, to: right0, transport: rdma, telemetry: %s, cc: {hpcc: {}}, size: 20MB, start: 0s}
  - {name: two, from: left1, to: right1, transport: rdma, telemetry: %s, cc: {hpcc: {}}, size: 4MB, start: 200us}`, ask,
				ask)), func(c *sim.Config) {
				watch(5 * us)(c)
				c.Tally = true
			})
			// Both together at 95 % are done after 2.2 ms.
			if fct := r.Flows[0].FCT; fct > 2500*us {
				t.Errorf("%s: the first flow ends after %v", ask, fct)
			}
			q := percentile(r.Watched[0][60:len(r.Watched[0])/3], 95)
			// 48 B with each of the 24000 packets, on 3 links, there and back
			share := float64(r.Tally.Extensions) / (2 * 3 * 48 * 24_000)
			if q > 90_000 || ask == "packet" && share != 1 || ask == "packets" && (share < 0.124 || share > 0.126) ||
				ask == "rtt" && share > 0.05 ||
				ask == "congestion" && share > 0.9 || ask == "probe" && (share > 0.05 || r.Tally.Kinds[packet.Probe] == 0) {
				t.Errorf("%s: a queue of %d B, telemetry of %.3f", ask, q, share)
			}
			t.Logf("%s: FCT %v, queue %d B, telemetry of %.3f", ask, r.Flows[0].FCT, q, share)
		})
	}
}

// TestReceiverNetwork checks draft-miao §6.2: a receiver sends windows once a T, not with each packet, and ACKs are
// small. The number of flows on its link sets W_ai, and a late flow gets its part.
func TestReceiverNetwork(t *testing.T) {
	windows, told := map[int64]bool{}, 0
	c := configure(t, dumbbell(4, "ecmp, telemetry", `
  - {name: four, from: ["left0", "left1", "left2", "left3"], to: right0, transport: rdma, cc: {rx_hpcc: {}},
     size: 2MB, start: 0s..300us}`), func(c *sim.Config) { c.Tally = true })
	most := 0
	c.Endpoints[0].Sender = &listening{Endpoint: c.Endpoints[0].Sender, onReceive: func(p *packet.Packet) {
		if b, ok := p.Extension(transport.Feedback); ok {
			told++
			windows[int64(b[0])<<24|int64(b[1])<<16|int64(b[2])<<8|int64(b[3])] = true
			most = max(most, int(b[4]&0x1f)<<8|int(b[5])) // behind the number of the feedback
		}
		if p.ExtensionBytes() > 16 {
			t.Errorf("an ACK has %d bytes of extensions", p.ExtensionBytes())
		}
	}}
	r, err := sim.Run(c)
	if err != nil || r.End != outcome.AllDone {
		t.Fatal(r, err)
	}
	trips := int(r.Flows[0].FCT/(6*us)) + 2
	if told < 2000 || len(windows) < 20 || len(windows) > trips || most != 4 {
		t.Errorf("%d ACKs tell %d windows within %d T, and %d flows", told, len(windows), trips, most)
	}
}

// TestClassesNetwork checks draft-miao §9.4, two classes at 1:3 under DWRR, each notified of its share. Both saturated
// have a quarter and three quarters of eta's rate. When one is idle, the other keeps to its share, or has all if idle
// classes release theirs.
func TestClassesNetwork(t *testing.T) {
	for _, idle := range []string{"0s", "30us"} {
		t.Run(idle, func(t *testing.T) {
			r := runNetwork(t, fmt.Sprintf(`
duration: 6ms
mtu: 1000 B payload
topology: {dumbbell: {hosts: 2, rate: 100Gbps, delay: 1us, bottleneck: 100Gbps}}
switches:
  "*": {programs: [classifier, ecmp, {telemetry: {format: int-md, idle: %s}}], queues: 2,
        scheduler: {dwrr: {weights: {0: 1, 1: 3}}}}
traffic:
  - {name: small, from: left0, to: right0, transport: rdma, tos: 0, cc: {hpcc: {}}, start: 0s}
  - {name: large, from: left1, to: right1, transport: rdma, tos: 0x20, ack_tos: 32, cc: {hpcc: {}},
     start: 0s, stop: 3ms}`, idle), watch(100*us))
			rate := func(flow int, from, to unit.Time) float64 {
				w := r.Watched[1+flow]
				// 50 B of headers, 44 of telemetry
				return float64(w[to/(100*us)]-w[from/(100*us)]) * 8 / (to - from).Seconds() / 100e9 * 1094 / 1000
			}
			small, large, alone := rate(0, ms, 3*ms), rate(1, ms, 3*ms), rate(0, 4*ms, 6*ms-100*us)
			t.Logf("idle %s: %.3f and %.3f, alone %.3f", idle, small, large, alone)
			if small < 0.22 || small > 0.25 || large < 0.66 || large > 0.75 {
				t.Errorf("idle %s: the classes have %.3f and %.3f", idle, small, large)
			}
			if idle == "0s" && (alone < 0.22 || alone > 0.25) || idle != "0s" && (alone < 0.9 || alone > 0.96) {
				t.Errorf("idle %s: alone, the small class has %.3f", idle, alone)
			}
		})
	}
}

// TestClassesUnderPriorityNetwork checks a queue in strict priority over the classes: it has no share, and the classes
// share the rest with a short queue, for any load of it. Frames grow by a record at the second switch, which is the
// bottleneck: it is full to eta.
func TestClassesUnderPriorityNetwork(t *testing.T) {
	for _, x := range []struct {
		idle           string
		rate, priority unit.Rate // of links, and of what the queue in strict priority sends
	}{{"0s", 100 * unit.Gbps, 0}, {"30us", 100 * unit.Gbps, 0}, {"0s", 100 * unit.Gbps, 40 * unit.Gbps},
		{"30us", 100 * unit.Gbps, 60 * unit.Gbps},
		{"0s", 400 * unit.Gbps, 80 * unit.Gbps}} {
		t.Run(fmt.Sprintf("idle %s, %v of %v", x.idle, x.priority, x.rate), func(t *testing.T) {
			more := ""
			if x.priority > 0 {
				more = fmt.Sprintf("\n  - {name: first, from: left3, to: right3, transport: udp, rate: %v, start: 0s}", x.priority)
			}
			r := runNetwork(t, fmt.Sprintf(`
duration: 1500us
warmup: 1ms
mtu: 1000 B payload
topology: {dumbbell: {hosts: 4, rate: %v, delay: 1us, bottleneck: %[1]v}}
switches:
  "*": {programs: [classifier, ecmp, {telemetry: {format: int-md, idle: %s}}], queues: 4,
        scheduler: {dwrr: {priority: 1, weights: {1: 1, 2: 2, 3: 5}}}}
traffic:
  - {name: a, from: left0, to: right0, transport: {rdma: {ack_tos: 0}}, tos: 0x20, cc: hpcc, start: 0s}
  - {name: b, from: left1, to: right1, transport: {rdma: {ack_tos: 0}}, tos: 0x40, cc: hpcc, start: 0s}
  - {name: c, from: left2, to: right2, transport: {rdma: {ack_tos: 0}}, tos: 0x60, cc: hpcc, start: 0s}%s`, x.rate,
				x.idle, more), watch(us))
			first := float64(x.priority) / float64(x.rate)
			full := first
			for i, share := range []float64{1. / 8, 2. / 8, 5. / 8} {
				got := float64(r.Ports[4*i+3].TxBytes) * 8 / r.Measured.Seconds() / float64(x.rate) // right->right0 …
				full += got
				if want := share * (0.95 - first); got < 0.93*want || got > 1.12*want {
					t.Errorf("class %d has %.4f of the rate, want %.4f", i, got, want)
				}
			}
			if full < 0.93 || full > 0.98 {
				t.Errorf("the last links together are %.3f full", full)
			}
			if q := percentile(r.Watched[0], 95); q > 5_000 {
				t.Errorf("p95 of the queue is %d B", q)
			}
		})
	}
}

// TestClockErrors checks clocks that are coarse or drift. Times between records are at least 87 ns. A rate from a
// coarse difference of times is too high in the mean, and records without a new time are not used. The loss of
// throughput is negligible with 1 ns, 1.3 % with 10 ns, 5.2 % with 100 ns; queues stay short. Drifts of ±100 ppm make
// no difference.
func TestClockErrors(t *testing.T) {
	for _, x := range []struct {
		clock telemetry.Clock
		most  unit.Time
	}{{telemetry.Clock{}, 1850 * us}, {telemetry.Clock{Resolution: ns}, 1850 * us}, {telemetry.Clock{Resolution: 10 * ns},
		1880 * us},
		{telemetry.Clock{Resolution: 100 * ns}, 1960 * us}, {telemetry.Clock{Drift: 100}, 1850 * us},
		{telemetry.Clock{Drift: -100}, 1850 * us}} {
		t.Run(fmt.Sprintf("resolution %v, drift %v ppm", x.clock.Resolution, x.clock.Drift), func(t *testing.T) {
			clock := x.clock
			r := runNetwork(t, dumbbell(2, "ecmp, {telemetry: {format: int-md}}", `
  - {name: two, from: [left0, left1], to: right0, transport: rdma, size: 10MB, start: 0s,
     cc: {hpcc: {preset: simulator, w_ai: 150 B}}}`),
				func(c *sim.Config) {
					watch(5 * us)(c)
					for i := range c.Wiring.Switches {
						c.Wiring.Switches[i].Clock = clock
					}
				})
			last := max(r.Flows[0].FCT, r.Flows[1].FCT) // 20 MB in frames of 1090 B at 95 % take 1.84 ms
			q := percentile(r.Watched[0][60:300], 95)
			t.Logf("%+v: FCT %v, queue %d B", clock, last, q)
			if last < 1800*us || last > x.most || q > 5_000 {
				t.Errorf("%+v: FCT %v, queue %d B", clock, last, q)
			}
		})
	}
}
