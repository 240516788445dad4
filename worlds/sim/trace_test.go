package sim

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/buffer/inputloss"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/transport"
	"weir/core/transport/window"
	"weir/core/unit"
)

// traced executes a run with these ports traced. It returns its result, and its trace as text and as records, with
// the frames in the text.
func traced(t testing.TB, c *Config, patterns ...string) (*outcome.Result, string, []trace.Record) {
	t.Helper()
	var b strings.Builder
	text, all := trace.NewText(&b, nil), &records{}
	record(t, c, patterns, text, all)
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Trace.Err(); err != nil {
		t.Fatal(err)
	}
	text.Close()
	return r, b.String(), all.list
}

// record has a run traced: the ports that the patterns name, with frames, into the sinks.
func record(t testing.TB, c *Config, patterns []string, sinks ...trace.Sink) {
	t.Helper()
	ports := TracePorts(c.Wiring.Network)
	for _, p := range patterns {
		if !trace.MarkPorts(ports, p) {
			t.Fatalf("no port is like %s", p)
		}
	}
	tc := trace.Config{Ports: ports, Book: c.Wiring.Hosts, Frames: true, Sinks: sinks}
	for _, n := range c.Wiring.Network.Nodes {
		tc.Nodes = append(tc.Nodes, n.Name)
	}
	c.Trace = trace.NewCollector(tc)
}

type records struct{ list []trace.Record }

func (r *records) Write(x *trace.Record) error {
	y := *x
	y.Frame = append([]byte(nil), x.Frame...)
	r.list = append(r.list, y)
	return nil
}

// frames returns the text of a trace with checksums of the frames.
func frames(list []trace.Record) string {
	var b strings.Builder
	for i := range list {
		fmt.Fprintf(&b, "%s %d %d %08x\n", trace.AppendText(nil, &list[i]), list[i].FrameBytes, len(list[i].Frame),
			crc32.ChecksumIEEE(list[i].Frame))
	}
	return b.String()
}

// TestTrace_ChangesNoResult checks that a trace changes no result, and that its text has the events of its records.
// sameInEveryForm checks that its bytes depend neither on windows nor on threads: TestSameResultTCP,
// TestSameResultRDMA, TestTraceSame and others.
func TestTrace_ChangesNoResult(t *testing.T) {
	for name, transports := range map[string]func(testing.TB, *Config){
		"window": func(testing.TB, *Config) {}, "mixed": mixed, "until done": untilDone,
	} {
		build := func() *Config {
			c := config(t, 0, nil)
			c.Duration = 5 * unit.Millisecond
			transports(t, c)
			return c
		}
		_, text, list := traced(t, build(), "*")
		if strings.Count(frames(list), "\n") != strings.Count(text, "\n")-2 {
			t.Errorf("%s: the text has other events", name)
		}
		again := build()
		again.Trace = trace.NewCollector(trace.Config{Nodes: make([]string, len(again.Wiring.Network.Nodes)),
			Ports: allTraced(again)})
		if transcript(t, build()) != transcript(t, again) {
			t.Errorf("%s: a run with a trace gives another result", name)
		}
	}
}

// TestTraceSame checks flows of windows, of TCP next to datagrams, and flows that all have an end.
func TestTraceSame(t *testing.T) { traceSame(t, 0, endForms) }

// traceSame compares forms of three mixes of transports.
func traceSame(t *testing.T, seed uint64, forms []form) {
	t.Helper()
	for name, transports := range map[string]func(testing.TB, *Config){
		"window": func(testing.TB, *Config) {}, "mixed": mixed, "until done": untilDone,
	} {
		events := map[trace.EventKind]int{}
		sameInEveryForm(t, fmt.Sprintf("seed %d, %s", seed, name), forms, func(change func(*Config)) *Config {
			c := config(t, seed, change)
			c.Duration = 2 * unit.Millisecond
			transports(t, c)
			return c
		}, func(x *trace.Record, _ []byte) { events[x.Kind]++ })
		if events[trace.Drop] == 0 || events[trace.Lost] == 0 {
			t.Fatalf("seed %d, %s: too little happens", seed, name)
		}
	}
}

func allTraced(c *Config) []trace.Port {
	ports := TracePorts(c.Wiring.Network)
	trace.MarkPorts(ports, "*")
	return ports
}

// untilDone makes a run of flows that all have an end.
func untilDone(t testing.TB, c *Config) {
	every := c.Flows
	c.Flows = nil
	for i := 0; i < len(every); i += 2 {
		f := transport.Flow{ID: packet.FlowID(len(c.Flows)), Src: packet.Addr(every[i].Src + 1),
			Dst:     packet.Addr(every[i].Dst + 1),
			SrcPort: every[i].SrcPort, DstPort: 7, Version: 4, Size: 200_000, Payload: 1000, Framing: packet.Framings[0]}
		s, r := window.New(f, 20, 200*unit.Microsecond)
		c.Add(outcome.Flow{Src: every[i].Src, Dst: every[i].Dst, Size: f.Size,
			SrcPort: f.SrcPort, DstPort: 7}, s, r)
	}
	c.UntilDone, c.Duration = true, unit.Second
}

// mixed makes a run of finite TCP flows, with the datagrams next to them.
func mixed(t testing.TB, c *Config) {
	udp := slices.Clone(c.Endpoints)
	connections(t, c)
	for i := range c.Flows {
		if c.Flows[i].Size == 0 {
			c.Endpoints[i] = udp[i]
		}
	}
}

func difference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n%s\nwant\n%s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

// TestTraceCounts checks that a trace's counts are the run's. Queues grow and shrink by the packets that the events
// name, and times ascend.
func TestTraceCounts(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { traceCounts(t, seed) })
	}
}

func traceCounts(t *testing.T, seed uint64) {
	c := config(t, seed, nil)
	mixed(t, c)
	c.Wiring.Events = []wiring.Event{{At: 100 * unit.Microsecond, Link: 9, Down: true},
		{At: 300 * unit.Microsecond, Link: 9}}
	for i := range c.Wiring.Switches {
		c.Wiring.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			loss, err := inputloss.New(site, inputloss.Config{Probability: 0.02})
			if err != nil {
				return nil, err
			}
			return []dataplane.Program{loss, ecmp.New(site, 7)}, nil
		}
	}
	r, _, list := traced(t, c, "*")
	names := map[string]int{}
	for i := range r.Ports {
		names[c.Wiring.Network.PortName(i/2, i%2)] = i
	}
	kinds, drops := [trace.Kinds]uint64{}, map[string]uint64{}
	transmitted, lost := make([]uint64, len(r.Ports)), make([]uint64, len(r.Ports))
	packets, bytes := make([]int64, len(r.Ports)), make([]int64, len(r.Ports))
	last := unit.Time(0)
	for _, e := range list {
		kinds[e.Kind]++
		i := names[e.Port]
		end := c.Wiring.Network.Nodes[r.Ports[i].Node]
		if e.At < last {
			t.Fatalf("times descend: %v after %v", e.At, last)
		}
		last = e.At
		switch e.Kind {
		case trace.Enqueue:
			packets[i]++
			bytes[i] += e.Size
		case trace.Transmit:
			transmitted[i]++
			if end.Switch {
				packets[i]--
				bytes[i] -= e.Size
			}
		case trace.Drop:
			drops[e.Reason]++
		case trace.Lost:
			lost[i]++
			drops[e.Reason]++
			if want := dataplane.LinkLost.OneWord(); c.Wiring.Network.Links[i/2].Loss > 0 && e.Reason != want {
				t.Errorf("a loss for %s, want %s", e.Reason, want)
			} else if want := dataplane.LinkDown.OneWord(); i/2 == 9 && e.Reason != want {
				t.Errorf("a loss for %s, want %s", e.Reason, want)
			}
		}
		if end.Switch && e.QueuePackets != trace.None && (packets[i] != e.QueuePackets || bytes[i] != e.QueueBytes) {
			t.Fatalf("%s: %d packets and %d bytes wait by the events before", trace.AppendText(nil, &e), packets[i], bytes[i])
		}
		// before an egress port is chosen, a drop belongs to the ingress port of the packet
		known := e.Kind != trace.Arrive && e.Reason != "input_loss" && e.Reason != "no_route"
		if known != (e.QueuePackets != trace.None) {
			t.Errorf("%s: the queue is recorded where it is not known, or missing", trace.AppendText(nil, &e))
		}
		if known != (e.Node == end.Name) {
			t.Errorf("%s: this happened at another node", trace.AppendText(nil, &e))
		}
	}
	for i, p := range r.Ports {
		if transmitted[i] != p.TxPackets || lost[i] != p.Lost {
			t.Errorf("port %d: %d transmitted, %d lost; the run counts %d, %d", i, transmitted[i], lost[i],
				p.TxPackets, p.Lost)
		}
	}
	for why := dataplane.Reason(1); why < dataplane.Reasons; why++ {
		if drops[why.OneWord()] != r.Drops[why] {
			t.Errorf("%d drops for %s, the run counts %d", drops[why.OneWord()], why, r.Drops[why])
		}
	}
	if kinds[trace.Arrive] != r.PacketHops || drops["input_loss"] == 0 || drops["port_packets"] == 0 ||
		drops["link_loss"] == 0 {
		t.Errorf("%v events by kind, %v drops, %d packet-hops", kinds, drops, r.PacketHops)
	}
}

// TestTracePorts checks that only the traced ports report, and each as when all are traced.
func TestTracePorts(t *testing.T) {
	c := config(t, 1, nil)
	_, all, _ := traced(t, c, "*")
	c = config(t, 1, nil)
	_, some, list := traced(t, c, "s0->h*", "h1->s0")
	var want strings.Builder
	for _, l := range strings.SplitAfter(all, "\n") {
		if w := strings.Split(l, " "); strings.HasPrefix(l, "#") || len(w) > 3 &&
			(w[3] == "h1->s0" || strings.HasPrefix(w[3], "s0->h")) {
			want.WriteString(l)
		}
	}
	if some != want.String() || len(list) < 100 {
		t.Error(difference(some, want.String()))
	}
}
