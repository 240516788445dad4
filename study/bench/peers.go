package bench

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"weir/core/outcome"
	"weir/core/trace"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// ns3Program is the program for ns-3. It reads links, flows and the paths that Weir's packets took.
//
//go:embed ns3/peer.cc
var ns3Program []byte

// ns3Packages are the Debian packages that are needed to build it.
const ns3Packages = "g++ pkg-config libns3-dev libgsl-dev"

// errNoPeer is the error of Peers if the machine cannot build the program for ns-3.
var errNoPeer = errors.New("ns-3 cannot be built on this machine; on Debian: apt-get install " + ns3Packages)

// Parameters of both simulators. They are what Debian's ns-3 can do: it acknowledges each segment if configured,
// starts with this window, has this retransmission timeout, and its point-to-point frames have two bytes in addition
// to the IP packet.
const (
	peerSegment = 1448 // payload, with time stamps
	peerWindow  = 10   // segments
	peerQueue   = 1000 // packets at each port
	peerMark    = 65   // packets in the queue from which on DCTCP's are marked
	peerRTO     = 10   // ms
	peerFlow    = 200_000
	peerRepeats = 20 // repetitions of Weir's run, which takes some hundredths of a second
)

// PeerSide is the result of one simulator.
type PeerSide struct {
	PacketHops uint64    `json:"packet_hops"`
	Rate       float64   `json:"packet_hops_per_cpu_s"` // median of the rounds
	FCT        []float64 `json:"fct_s"`                 // by flow, from its start to the arrival of its last byte
}

// PeerRow compares both simulators with one congestion control.
type PeerRow struct {
	CC     string   `json:"cc"`
	Note   string   `json:"note,omitempty"` // what differs in ns-3
	Weir   PeerSide `json:"weir"`
	NS3    PeerSide `json:"ns3"`
	Ratio  float64  `json:"ratio"` // of packet-hops per CPU second, median of the rounds
	Median float64  `json:"fct_ratio_median"`
	Apart  float64  `json:"fct_apart"` // mean over flows of |log2 of the ratio|
}

// PeersFigures is the result of Peers.
type PeersFigures struct {
	Name    string     `json:"benchmark"`
	Machine Machine    `json:"machine"`
	Version string     `json:"ns3"`
	Rounds  int        `json:"rounds"`
	Hosts   int        `json:"hosts"`
	Rows    []*PeerRow `json:"rows"`
}

// peerSpec returns the experiment of both simulators: a permutation in a k-ary fat tree.
func peerSpec(k int, cc string) string {
	programs := "ecmp"
	if cc == "dctcp" {
		programs += fmt.Sprintf(", {ecn: {kmin: %d packets, kmax: %d packets, at: enqueue}}", peerMark, peerMark)
	}
	return fmt.Sprintf(`title: compared with ns-3, %s
duration: 10s
framing: {overhead: 2 B}
mtu: 1500 B
topology: {fat_tree: {k: %d, rate: 100Gbps, delay: 1us, buffer: %d packets}}
switch: [%s]
traffic:
  - {name: x, from: "*", to: permutation, size: %d B, start: 0s, cc: %s, transport: {tcp: {initial_window: %d packets,
     autotuning: false, delayed_ack: 0s, compressed_ack: 0s, bursts: false, rto_min: %dms, rto_initial: %dms}}}
measure: [fct]
`, cc, k, peerQueue, programs, peerFlow, cc, peerWindow, peerRTO, peerRTO)
}

// peerBench compares both simulators. Tests replace its fields.
type peerBench struct {
	Meters
	// output runs a program and returns its standard output.
	output  func(ctx context.Context, program string, args ...string) ([]byte, error)
	repeats int // number of Weir's runs in a round
}

// Peers runs the same flows over the same paths in Weir and in Debian's ns-3, with DCTCP and CUBIC in a k-ary fat tree.
// o.Rounds is 1 or more; o.RunTurn is not used. It builds the program for ns-3 in a temporary folder first, and returns
// an error with the needed packages if that fails.
func Peers(ctx context.Context, r *experiment.Registry, k int, o TurnOptions) (*PeersFigures, error) {
	return (&peerBench{Meters: MachineMeters(), output: runProgram, repeats: peerRepeats}).runAll(ctx, r, k, o)
}

// runProgram runs a program and returns its standard output. An error includes its standard error.
func runProgram(ctx context.Context, program string, args ...string) ([]byte, error) {
	var errs bytes.Buffer
	c := exec.CommandContext(ctx, program, args...)
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(program), err, errs.Bytes())
	}
	return out, nil
}

// runAll does the work of Peers.
func (p *peerBench) runAll(ctx context.Context, r *experiment.Registry, k int, o TurnOptions) (*PeersFigures, error) {
	f := &PeersFigures{Name: "peers", Machine: thisMachine(), Rounds: o.Rounds, Hosts: k * k * k / 4}
	folder, err := os.MkdirTemp("", "weir-peers")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	o.report("building for ns-3")
	program, version, err := p.build(ctx, folder)
	if err != nil {
		return nil, err
	}
	f.Version = version
	for _, row := range []*PeerRow{{CC: "dctcp"}, {CC: "cubic"}, {CC: "cubic", Note: "without HyStart"}} {
		cc := row.CC
		f.Rows = append(f.Rows, row)
		s, err := plan.Load(r, &experiment.Source{Name: "peers", File: "peers.yaml", Data: []byte(peerSpec(k, cc))},
			experiment.Options{})
		if err != nil {
			return nil, err
		}
		config := func() (*sim.Config, error) { return plan.ListRuns(s)[0].Config() }
		file := filepath.Join(folder, cc+".txt")
		if err := writePeer(file, row, config); err != nil {
			return nil, err
		}
		var weir, theirs, ratios []float64
		for round := range o.Rounds {
			o.report("%s, round %d of %d", cc, round+1, o.Rounds)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			rate, err := p.runWeir(&row.Weir, config)
			if err != nil {
				return nil, err
			}
			out, err := p.output(ctx, program, file)
			if err != nil {
				return nil, fmt.Errorf("ns-3: %w", err)
			}
			other, err := row.NS3.parse(string(out))
			if err != nil {
				return nil, err
			}
			weir, theirs, ratios = append(weir, rate), append(theirs, other), append(ratios, rate/other)
		}
		row.Weir.Rate, row.NS3.Rate, row.Ratio = median(weir), median(theirs), median(ratios)
		row.compareFCTs()
	}
	return f, nil
}

// build compiles the program for ns-3 in a folder. It returns the program's file and the version of ns-3.
func (p *peerBench) build(ctx context.Context, folder string) (program, version string, err error) {
	parts := []string{"ns3-core", "ns3-network", "ns3-internet", "ns3-point-to-point", "ns3-applications",
		"ns3-traffic-control"}
	flags, err := p.output(ctx, "pkg-config", append([]string{"--cflags", "--libs"}, parts...)...)
	if err != nil {
		return "", "", fmt.Errorf("%w (%w)", errNoPeer, err)
	}
	v, err := p.output(ctx, "pkg-config", "--modversion", parts[0])
	if err != nil {
		return "", "", fmt.Errorf("%w (%w)", errNoPeer, err)
	}
	source := filepath.Join(folder, "peer.cc")
	if err := os.WriteFile(source, ns3Program, 0o600); err != nil {
		return "", "", err
	}
	program = filepath.Join(folder, "peer")
	if _, err := p.output(ctx, "g++", append([]string{"-O3", "-std=c++17", source, "-o", program},
		strings.Fields(string(flags))...)...); err != nil {
		return "", "", fmt.Errorf("%w (%w)", errNoPeer, err)
	}
	return program, strings.TrimSpace(string(v)), nil
}

// pathRecorder is a trace sink that records the nodes on each flow's paths there and back.
type pathRecorder struct {
	nodeIndex map[string]int
	flows     []outcome.Flow
	paths     [][2][]int
}

// Write records where a packet passes (trace.Sink).
func (t *pathRecorder) Write(r *trace.Record) error {
	if r.Kind != trace.Transmit || r.Flow < 0 {
		return nil
	}
	back := 0
	if t.nodeIndex[r.Src] != t.flows[r.Flow].Src {
		back = 1
	}
	if way := &t.paths[r.Flow][back]; !slices.Contains(*way, t.nodeIndex[r.Node]) {
		*way = append(*way, t.nodeIndex[r.Node])
	}
	return nil
}

// writePeer writes the input file of ns-3's program for a row. It runs Weir once to get the paths of flows. The
// function config returns a new configuration of the run.
func writePeer(file string, row *PeerRow, config func() (*sim.Config, error)) error {
	c, err := config()
	if err != nil {
		return err
	}
	n := c.Wiring.Network
	t := &pathRecorder{nodeIndex: map[string]int{}, flows: c.Flows, paths: make([][2][]int, len(c.Flows))}
	names := make([]string, len(n.Nodes))
	for i := range n.Nodes {
		names[i] = n.Nodes[i].Name
		t.nodeIndex[names[i]] = i
	}
	ports := sim.TracePorts(n)
	for i := range ports {
		ports[i].Traced = true
	}
	c.Trace = trace.NewCollector(trace.Config{Nodes: names, Ports: ports, Book: c.Wiring.Hosts, Sinks: []trace.Sink{t}})
	if _, err := sim.Run(c); err != nil {
		return err
	}
	var b bytes.Buffer
	hystart := "on"
	if row.Note != "" {
		hystart = "off"
	}
	fmt.Fprintf(&b, "cc %s\nhystart %s\nmss %d\nwindow %d\nqueue %d\nmark %d\nrto_ms %d\nnodes %d\n", row.CC, hystart,
		peerSegment, peerWindow,
		peerQueue, peerMark, peerRTO, len(n.Nodes))
	for _, l := range n.Links {
		fmt.Fprintf(&b, "link %d %d %d %d\n", l.Ends[0], l.Ends[1], int64(l.Rate.Bits), int64(l.Delay))
	}
	for i := range c.Flows {
		f := &c.Flows[i]
		fmt.Fprintf(&b, "flow %d data%s acks%s\n", int64(f.Size), formatPath(t.paths[i][0], f.Dst), formatPath(t.paths[i][1],
			f.Src))
	}
	return os.WriteFile(file, b.Bytes(), 0o600)
}

// formatPath returns the numbers of a path's nodes and of its end as text, with a space before each.
func formatPath(nodes []int, end int) (text string) {
	for _, n := range append(slices.Clone(nodes), end) {
		text += " " + strconv.Itoa(n)
	}
	return text
}

// runWeir repeats Weir's run until its duration can be measured, stores the last results in s, and returns the
// packet-hops per CPU second. A flow that does not finish is an error.
func (p *peerBench) runWeir(s *PeerSide, config func() (*sim.Config, error)) (rate float64, err error) {
	hops, cpu := 0.0, 0.0
	for range p.repeats {
		c, err := config()
		if err != nil {
			return 0, err
		}
		x, err := sim.New(c)
		if err != nil {
			return 0, err
		}
		_, before, _ := p.CPU()
		res := x.Run()
		_, after, _ := p.CPU()
		if len(res.Unfinished) > 0 {
			return 0, fmt.Errorf("bench peers: %d flows did not finish (%s)", len(res.Unfinished), res.End)
		}
		hops, cpu = hops+float64(res.PacketHops), cpu+after-before
		s.PacketHops, s.FCT = res.PacketHops, nil
		for i := range res.Flows {
			s.FCT = append(s.FCT, (res.Flows[i].Arrived - res.Flows[i].Start).Seconds())
		}
	}
	return hops / cpu, nil
}

// parse reads the output of ns-3's program into s, and returns its packet-hops per CPU second. It returns an error if a
// flow did not finish or a figure is missing.
func (s *PeerSide) parse(out string) (rate float64, err error) {
	cpu := 0.0
	s.FCT = nil
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		bad := fmt.Errorf("ns-3 printed %q", strings.TrimSpace(line))
		if len(f) < 2 {
			return 0, bad
		}
		x, err := strconv.ParseFloat(f[len(f)-1], 64)
		if err != nil {
			return 0, bad
		}
		switch f[0] {
		case "flow":
			if x < 0 {
				return 0, fmt.Errorf("ns-3: flow %s did not finish", f[1])
			}
			s.FCT = append(s.FCT, x/1e9)
		case "cpu_s":
			cpu = x
		case "hops":
			s.PacketHops = uint64(x)
		}
	}
	if cpu <= 0 || s.PacketHops == 0 {
		return 0, fmt.Errorf("the output of ns-3 has neither CPU time nor packet-hops: %q", out)
	}
	return float64(s.PacketHops) / cpu, nil
}

// compareFCTs sets Median and Apart from the flows' completion times: how much ns-3's differ from Weir's. Both sides
// must have the same flows, and Apart must be 0.
func (r *PeerRow) compareFCTs() {
	var ratios []float64
	for i := range r.Weir.FCT {
		ratio := r.NS3.FCT[i] / r.Weir.FCT[i]
		ratios = append(ratios, ratio)
		r.Apart += math.Abs(math.Log2(ratio)) / float64(len(r.Weir.FCT))
	}
	r.Median = median(ratios)
}

// quantiles are the shown quantiles of flow completion times.
var quantiles = []float64{0, 0.1, 0.5, 0.9, 0.99, 1}

// fctQuantiles returns the quantiles of the completion times in microseconds, followed by the mean. There must be at
// least one flow.
func (s *PeerSide) fctQuantiles() (out []float64) {
	x := slices.Sorted(slices.Values(s.FCT))
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	for _, q := range quantiles {
		out = append(out, 1e6*x[min(int(q*float64(len(x))), len(x)-1)])
	}
	return append(out, 1e6*sum/float64(len(x)))
}

// goodput returns the sum of the flows' sizes divided by the time of the last one, in bit/s.
func (s *PeerSide) goodput() float64 {
	return 8 * peerFlow * float64(len(s.FCT)) / slices.Max(s.FCT)
}

// String returns the figures as text.
func (f *PeersFigures) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "peers: %d hosts, permutation of %d kB, next to ns-3 %s; medians of %d rounds\n%s\n\n", f.Hosts,
		peerFlow/1000, f.Version, f.Rounds, f.Machine)
	fmt.Fprintf(&b, "%-6s %-5s %8s %10s %6s %7s %7s %7s %7s\n", "cc", "", "hops", "hops/CPU s", "ratio",
		"p10 us", "p50 us",
		"p99 us", "mean us")
	for _, r := range f.Rows {
		for k, side := range []*PeerSide{&r.Weir, &r.NS3} {
			name, ratio, fcts := "Weir", fmt.Sprintf("%.0f", r.Ratio), side.fctQuantiles()
			if k == 1 {
				name, ratio = "ns-3", ""
				if r.Note != "" {
					ratio = "(1)"
				}
			}
			fmt.Fprintf(&b, "%-6s %-5s %8d %10.0f %6s %7.1f %7.1f %7.1f %7.1f\n", r.CC, name, side.PacketHops, side.Rate, ratio,
				fcts[1], fcts[2], fcts[4], fcts[6])
		}
	}
	b.WriteString("\nflow completion times, start to the last byte's arrival; (1): without HyStart\n")
	return b.String()
}

// Markdown returns the figures as tables.
func (f *PeersFigures) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "A permutation of %d hosts, %d kB a flow, in a fat tree of 100 Gb/s and 1 us, next to Debian's ns-3 "+
		"%s. Both have the\nsame links, flows, paths, segments of %d bytes, initial windows of %d, one acknowledgement per "+
		"segment, queues of %d\npackets and, for DCTCP, marks from %d packets on. Medians of %d rounds.\n%s.\n\n", f.Hosts,
		peerFlow/1000,
		f.Version, peerSegment, peerWindow, peerQueue, peerMark, f.Rounds, f.Machine)
	b.WriteString("| congestion control | simulator | packet-hops | packet-hops per CPU second | Weir over ns-3 " +
		"|\n|---|---|---:|---:|---:|\n")
	for _, r := range f.Rows {
		fmt.Fprintf(&b, "| %s | Weir | %d | %.2f M | %.0f |\n| | ns-3 %s | %d | %.3f M | |\n", r.CC, r.Weir.PacketHops,
			r.Weir.Rate/1e6, r.Ratio, r.Note, r.NS3.PacketHops, r.NS3.Rate/1e6)
	}
	b.WriteString("\nFlow completion times, from the start to the arrival of the last byte, in microseconds:\n\n" +
		"| congestion control | simulator | min | 10 % | median | 90 % | 99 % | max | mean | goodput |\n" +
		"|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range f.Rows {
		for k, side := range []*PeerSide{&r.Weir, &r.NS3} {
			fmt.Fprintf(&b, "| %s | %s |", []string{r.CC, ""}[k], []string{"Weir", strings.TrimSpace("ns-3 " + r.Note)}[k])
			for _, x := range side.fctQuantiles() {
				fmt.Fprintf(&b, " %.1f |", x)
			}
			fmt.Fprintf(&b, " %.0f Gb/s |\n", side.goodput()/1e9)
		}
	}
	b.WriteString("\n")
	for _, r := range f.Rows {
		what := strings.TrimSpace(r.CC + " " + r.Note)
		fmt.Fprintf(&b, "With %s ns-3's time over Weir's is %.3f for the median flow; flows are a factor of %.3f apart\non "+
			"average.\n", what, r.Median, math.Exp2(r.Apart))
	}
	return b.String()
}

// JSON returns the figures as a document.
func (f *PeersFigures) JSON() []byte {
	b, _ := json.MarshalIndent(f, "", "  ")
	return append(b, '\n')
}
