package hpccsim

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/core/cc/dcqcn"
	"weir/core/cc/timely"
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/topology"
	"weir/core/transport/rdma"
	"weir/core/unit"
	"weir/core/workload"
	"weir/internal/document"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/papers/hpcc"
	"weir/study/experiment"
	"weir/study/interop/simfiles"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/results"
	"weir/study/run"
)

// idle is a program that accepts all packets.
type idle struct{}

func (idle) Name() string { return "idle" }
func (idle) Admit(*dataplane.Env, *packet.Packet) dataplane.Verdict {
	return dataplane.Accept
}

// bound is a configuration that no program reads.
type bound func(p *scheme.Params)

func (b bound) Params(p *scheme.Params) { b(p) }

func standIn(name string, b bound) scheme.Scheme {
	return scheme.Scheme{Name: name, Config: func() scheme.Config { scheme.Bind(b).Reset(); return b }}
}

// simulator returns a registry with all that an import names: the controllers, and stand-ins for programs that it does
// not have, with the parameters that the import gives them.
func simulator() *experiment.Registry {
	r := room()
	r.Transports = append(r.Transports, rdma.Scheme())
	r.Controllers = append(r.Controllers, dcqcn.Scheme(), timely.Scheme(), hpcc.Scheme(), hpcc.PINTScheme())
	for _, s := range []scheme.Scheme{
		standIn("shared_buffer", func(p *scheme.Params) { p.Size(new(unit.Bytes), "size", "1 B", "", "") }),
		standIn("pfc", func(p *scheme.Params) {
			p.Text(new(string), "headroom", "x", "", "")
			p.Text(new(string), "trigger", "x", "", "")
			p.Int(new(int), "shift", "1", "", "")
			p.Rate(new(unit.Rate), "nic_rate", "1Gbps", "", "")
		}),
		standIn("ecn", func(p *scheme.Params) {
			scheme.MapOf(p, new([]scheme.Pair[unit.Rate, unit.Bytes]), unit.ParseRate, scheme.Sizes, "kmin_map", "", "")
			scheme.MapOf(p, new([]scheme.Pair[unit.Rate, unit.Bytes]), unit.ParseRate, scheme.Sizes, "kmax_map", "", "")
			scheme.MapOf(p, new([]scheme.Pair[unit.Rate, float64]), unit.ParseRate, scheme.Shares, "pmax_map", "", "")
		}),
		standIn("telemetry", func(p *scheme.Params) {
			p.Text(new(string), "format", "x", "", "")
			p.Int(new(int), "multi", "1", "", "")
			p.Float(new(float64), "base", "1", "", "")
			p.Time(new(unit.Time), "t", "0s", "", "")
		}),
	} {
		known := false
		for i := range r.Programs {
			known = known || r.Programs[i].Name == s.Name
		}
		if !known {
			r.Programs = append(r.Programs, dataplane.Scheme{Scheme: s, Build: func(*dataplane.Site,
				scheme.Config) (dataplane.Program, error) {
				return idle{}, nil
			}})
		}
	}
	return r
}

const (
	simulatorTopology = "7 3 6\n4 5 6\n0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n2 5 100Gbps 1us 0\n3 5 100Gbps 1us 0\n4 6 " +
		"400Gbps 1us 0\n6 5 400Gbps 1us 0\n"
	simulatorFlows = "3\n0 2 3 100 30000 2.000001\n1 2 3 200 5000 2.000002\n3 2 3 200 5000 2.000002\n"
)

// simulatorFiles writes a configuration with topology and flows into a folder. change has pairs of a key and its line.
// It returns the path of the configuration.
func simulatorFiles(t testing.TB, change ...string) (config string) {
	t.Helper()
	data, err := os.ReadFile("../simfiles/testdata/config.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(change); i += 2 {
		was := regexp.MustCompile(`(?m)^` + change[i] + ` .*$`)
		if !was.Match(data) {
			t.Fatalf("no %s", change[i])
		}
		data = was.ReplaceAll(data, []byte(change[i+1]))
	}
	dir := t.TempDir()
	os.Mkdir(filepath.Join(dir, "mix"), 0o777)
	for name, text := range map[string]string{"config.txt": string(data), "topology.txt": simulatorTopology,
		"flow.txt": simulatorFlows, "trace.txt": "2\n4 5\nIDs of nodes\n"} {
		if err := os.WriteFile(filepath.Join(dir, "mix", name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "mix", "config.txt")
}

// TestImportHPCC checks that a config.txt with its files becomes an experiment that is valid and runs, for each of the
// simulator's controllers. The experiment mentions every key of it.
func TestImportHPCC(t *testing.T) {
	for name, change := range map[string][]string{
		"hpcc": nil,
		"per-rtt": {"FAST_REACT", "FAST_REACT 0", "GLOBAL_T", "GLOBAL_T 0", "LINK_DOWN", "LINK_DOWN 0 0 0", "INT_MULTI",
			"INT_MULTI 1", "ENABLE_QCN", "ENABLE_QCN 0", "PAUSE_TIME", "PAUSE_TIME 0", "VAR_WIN", "VAR_WIN 0",
			"SAMPLE_FEEDBACK", "SAMPLE_FEEDBACK 1", "USE_DYNAMIC_PFC_THRESHOLD", "USE_DYNAMIC_PFC_THRESHOLD 0",
			"L2_BACK_TO_ZERO", "L2_BACK_TO_ZERO 1", "ACK_HIGH_PRIO", "ACK_HIGH_PRIO 1", "RATE_BOUND", "RATE_BOUND 0"},
		"dcqcn": {"CC_MODE", "CC_MODE 1", "HAS_WIN", "HAS_WIN 0", "L2_ACK_INTERVAL", "L2_ACK_INTERVAL 4000",
			"ERROR_RATE_PER_LINK", "ERROR_RATE_PER_LINK 0.001", "EWMA_GAIN", "EWMA_GAIN 0"},
		"timely": {"CC_MODE", "CC_MODE 7", "RATE_HAI", "RATE_HAI 250Mb/s", "ENABLE_TRACE", "ENABLE_TRACE 0"},
		"dctcp":  {"CC_MODE", "CC_MODE 8", "EWMA_GAIN", "EWMA_GAIN 0.0625"},
		"pint": {"CC_MODE", "CC_MODE 10", "MULTI_RATE", "MULTI_RATE 1", "QLEN_MON_START", "QLEN_MON_START 2001000000",
			"QLEN_MON_END", "QLEN_MON_END 2002000000"},
	} {
		t.Run(name, func(t *testing.T) {
			data, warnings := imported(t, change...)
			testkit.Golden(t, "import/"+name+".yaml", string(data))
			for _, k := range simfiles.Keys {
				if n := bytes.Count(data, []byte("#   "+k.Name+" ")); n != 1 {
					t.Errorf("%s is mentioned %d times", k.Name, n)
				}
			}
			all := strings.Join(warnings, "\n") + "\n"
			testkit.Golden(t, "import/"+name+".txt", regexp.MustCompile(`(?m)^.*config`).ReplaceAllString(all, "config"))
		})
	}
}

// imported imports a configuration, and runs the resulting experiment.
func imported(t *testing.T, change ...string) (data []byte, warnings []string) {
	t.Helper()
	config := simulatorFiles(t, change...)
	folder := filepath.Dir(filepath.Dir(config))
	r := simulator()
	data, told, err := Import(r, config, folder)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "e.yaml")
	if err := os.WriteFile(file, data, 0o666); err != nil {
		t.Fatal(err)
	}
	src, err := r.OpenExperiment(file)
	if err != nil {
		t.Fatal(err)
	}
	s := plantest.LoadSource(t, r, src, experiment.Options{})
	o, err := run.Execute(context.Background(), s, run.Options{})
	if err != nil || len(o.Failed) > 0 || o.Runs[0].End.Reason != "all flows done" {
		t.Errorf("%v, %v", err, o.Failed)
	}
	return data, testkit.FormatAll(told)
}

// TestImportEveryMode checks every controller with every switch of the configuration that affects it, on and off: the
// experiment is valid and its flows end. Without these keys it has the simulator's defaults.
func TestImportEveryMode(t *testing.T) {
	for _, mode := range []string{"1", "3", "7", "8", "10"} {
		for _, key := range []string{"HAS_WIN", "VAR_WIN", "FAST_REACT", "MULTI_RATE", "SAMPLE_FEEDBACK", "GLOBAL_T",
			"RATE_BOUND", "ACK_HIGH_PRIO", "CLAMP_TARGET_RATE"} {
			for _, on := range []string{"0", "1"} {
				t.Run(mode+" "+key+" "+on, func(t *testing.T) {
					imported(t, "CC_MODE", "CC_MODE "+mode, key, key+" "+on, "LINK_DOWN", "LINK_DOWN 0 0 0")
				})
			}
		}
		t.Run(mode+" absent", func(t *testing.T) { // as a file of the least keys has it
			data, _ := imported(t, "CC_MODE", "CC_MODE "+mode, "HAS_WIN", "", "VAR_WIN", "", "FAST_REACT", "",
				"MULTI_RATE", "", "SAMPLE_FEEDBACK", "", "GLOBAL_T", "", "PINT_PROB", "", "PINT_LOG_BASE", "", "INT_MULTI", "",
				"BUFFER_SIZE", "", "U_TARGET", "", "MI_THRESH", "")
			for m, want := range map[string]string{"3": "max_stage: 5", "10": "window: bdp", "1": "window: bdp",
				"7": "window: bdp", "8": "bound: bdp"} {
				if m == mode && !bytes.Contains(data, []byte(want)) || !bytes.Contains(data, []byte("size: 16MiB")) {
					t.Errorf("no %s in\n%s", want, data)
				}
			}
			if mode == "3" && !bytes.Contains(data, []byte("mode: per_hop")) {
				t.Error("the simulator's own MULTI_RATE is 1")
			}
		})
	}
}

// TestImportDCTCP checks CC_MODE 8: the simulator's flows start at line rate, and HAS_WIN bounds them.
func TestImportDCTCP(t *testing.T) {
	data, _ := imported(t, "CC_MODE", "CC_MODE 8")
	for _, want := range []string{"slow_start: false", "bound: bdp", "window_test: below"} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("no %s", want)
		}
	}
	if data, _ = imported(t, "CC_MODE", "CC_MODE 8", "HAS_WIN", "HAS_WIN 0"); bytes.Contains(data, []byte("bound")) {
		t.Error("a bound without HAS_WIN")
	}
	if _, warnings := imported(t, "CC_MODE", "CC_MODE 8", "DCTCP_RATE_AI", "DCTCP_RATE_AI 9Gb/s"); !strings.Contains(
		strings.Join(warnings, "\n"), "DCTCP_RATE_AI 9Gb/s has no counterpart: a window that grows by 9225 bytes") {
		t.Errorf("%q", warnings)
	}
}

// TestImportHPCCErrors checks that impossible configurations are errors with the place of the key.
func TestImportHPCCErrors(t *testing.T) {
	for want, change := range map[string][]string{
		"config.txt:18:9: CC_MODE is \"2\"; allowed: 1 (DCQCN), 3 (HPCC)": {"CC_MODE", "CC_MODE 2"},
		"config.txt:9:15: \"mix/none.txt\" cannot be read: no such file": {"TOPOLOGY_FILE",
			"TOPOLOGY_FILE mix/none.txt"},
		"the configuration has no FLOW_FILE": {"FLOW_FILE", ""},
		"the simulation stops at 2s; allowed: more than 2s": {"SIMULATOR_STOP_TIME",
			"SIMULATOR_STOP_TIME 2.0"},
		"nodes 0 and 6 have no link":             {"LINK_DOWN", "LINK_DOWN 5 0 6"},
		"KMAX_MAP has none for links of 400Gbps": {"KMAX_MAP", "KMAX_MAP 1 100000000000 1600"},
		"without acknowledgements no flow ends":  {"L2_ACK_INTERVAL", "L2_ACK_INTERVAL 0"},
		"mix/flow.txt:1:1: the first line is the number of flows": {"TOPOLOGY_FILE",
			"TOPOLOGY_FILE mix/topology.txt", "FLOW_FILE", "FLOW_FILE mix/topology.txt"},
		"config.txt:18:1: unknown key \"CC_MOD\"; did you mean CC_MODE?": {"CC_MODE", "CC_MOD 3"},
		"trace.txt:1:1: the number of nodes":                             {"TRACE_FILE", "TRACE_FILE mix/config.txt"},
		"topology.txt:1:1: the number of nodes is":                       {"TOPOLOGY_FILE", "TOPOLOGY_FILE config.txt"},
	} {
		data, _, err := Import(simulator(), simulatorFiles(t, change...), ".")
		// the file is another one here
		if i := strings.IndexByte(want, ':'); strings.HasPrefix(want, "mix/") || strings.HasPrefix(want, "trace") ||
			strings.HasPrefix(want, "topology") {
			want = want[i:]
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, not %s\n%s", change, err, want, data)
		}
		if _, ok := err.(document.InputErrors); !ok && err != nil {
			t.Errorf("%T", err)
		}
	}
	if _, _, err := Import(simulator(), "testdata/none.txt", "."); err == nil ||
		!strings.Contains(err.Error(), "testdata/none.txt:1:1: it cannot be read") {
		t.Error(err)
	}
	r := simulator()
	r.Programs, r.Controllers = room().Programs, room().Controllers
	if _, _, err := Import(r, simulatorFiles(t), "."); err == nil ||
		!strings.Contains(err.Error(), "this weir has no congestion controller hpcc") {
		t.Error(err)
	}
	r.Controllers = simulator().Controllers
	if data, warnings, err := Import(r, simulatorFiles(t), "."); err != nil ||
		!strings.Contains(fmt.Sprint(warnings), "left out: the program ecn") ||
		!bytes.Contains(data, []byte("this weir has no program ecn")) {
		t.Errorf("%v, warnings %q", err, warnings)
	}
}

// TestRestIgnored checks that text behind the announced entries is an error, unless the spec ignores it, as the
// simulator does. It also checks the selection of flows by a port.
func TestRestIgnored(t *testing.T) {
	r := room()
	text := func(rest string) string {
		return `duration: 1ms
topology: {file: t.txt, format: hpcc` + rest + `}
switch: [ecmp]
traffic: [{name: x, file: f.txt, format: hpcc, offset: 2s, transport: window, window: 5 packets` + rest + `}]
`
	}
	source := func(exp string) *experiment.Source {
		s := file("t.yaml", exp)
		s.Open = func(name string) ([]byte, error) {
			return map[string][]byte{"t.txt": []byte(simulatorTopology + "9 9 1Gbps\n"), "f.txt": []byte(simulatorFlows +
				"more\n")}[name], nil
		}
		return s
	}
	if _, err := plan.Load(r, source(text("")), experiment.Options{}); err == nil ||
		!strings.Contains(err.Error(), "t.txt:9:1: \"9\" follows the last entry") {
		t.Error(err)
	}
	s, err := plan.Load(r, source(text(", rest: ignored")), experiment.Options{})
	if err != nil || s.Points()[0].Flows() != 3 {
		t.Fatal(err)
	}
	if _, err := plan.Load(r, source(text(", rest: read")), experiment.Options{}); err == nil ||
		!strings.Contains(err.Error(), `unknown value of rest "read"`) {
		t.Error(err)
	}
	// flows to one port
	s, err = plan.Load(r, source(strings.Replace(text(", rest: ignored"), "offset: 2s", "offset: 2s, port: 200", 1)),
		experiment.Options{})
	if err != nil || s.Points()[0].Flows() != 2 || s.Points()[0].Flow(0).Src != 1 {
		t.Error(err)
	}
	if _, err = plan.Load(r, source(strings.Replace(text(", rest: ignored"), "offset: 2s", "offset: 2s, port: 300", 1)),
		experiment.Options{}); err == nil || !strings.Contains(err.Error(), "no flow of the file goes to port 300") {
		t.Error(err)
	}
}

// TestExportHPCC checks a run's fct.txt by hand: one packet of 1000 B over two links of 100 Gb/s and 1 us, with a frame
// of 1090 B and an acknowledgement of 88 B. It takes 4000 + 2·(87.2 + 7.04) = 4188.48 ns from 3.0005 us to 7.18898 us,
// on a clock of nanoseconds from 3000 to 7188. Standalone it takes 4000 + 2·80 + ⌊83.84⌋ = 4243 (HPCC simulator,
// fct.txt).
func TestExportHPCC(t *testing.T) {
	s := plantest.Load(t, room(), `duration: 1ms
framing: hpcc
mtu: 1000 B payload
topology: {leaf_spine: {leaves: 1, spines: 1, hosts: 3, rate: 100Gbps, delay: 1us}}
switch: [ecmp]
traffic:
  - {name: one, from: h0, to: h1, size: 1000 B, start: 3000500ps, transport: window, window: 10 packets}
  - {name: again, from: h0, to: h1, size: 1000 B, start: 20us, transport: window, window: 10 packets}
  - {name: incast, from: {random: 1}, to: {random: 1}, size: 1000 B, start: 40us, transport: window, window: 10 packets}
  - {name: late, from: h0, to: h2, size: 10MB, start: 990us, transport: window, window: 1 packet}
measure: [{queue: {port: leaf0->h1, unit: bytes, every: 100us}}]
`, experiment.Options{})
	dir := t.TempDir()
	o, err := run.Execute(context.Background(), s, run.Options{Dir: dir})
	if err != nil || len(o.Failed) > 0 {
		t.Fatal(err, o.Failed)
	}
	again, err := results.Open(room(), o.Dir) // as weir export has it
	if err != nil {
		t.Fatal(err)
	}
	out, err := exportRuns(again, filepath.Join(dir, "out"), 2*unit.Second)
	if err != nil || len(out) != 1 || out[0].Unfinished != 1 {
		t.Fatal(err, out)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(out[0].Folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	fct := read("fct.txt")
	lines := strings.Split(fct, "\n")
	if lines[0] != "0b000001 0b000101 10000 100 1000 2000003000 4188 4243" ||
		lines[1] != "0b000001 0b000101 10001 100 1000 2000020000 4188 4243" {
		t.Error(fct)
	}
	flows, err := simfiles.ReadFCT(strings.NewReader(fct), "fct.txt")
	if err != nil || len(flows) != 3 || flows[2].DstPort != simfiles.IncastPort || flows[2].Start != 2000040000 {
		t.Error(fct, err)
	}
	list, err := workload.ReadHPCCFlows(strings.NewReader(read("flow.txt")), "flow.txt")
	if err != nil || len(list) != 4 || list[0].Start != 2*unit.Second+3000500 || list[2].Port != simfiles.IncastPort ||
		list[3].Size != 10*unit.MB {
		t.Error(list, err)
	}
	if n, err := topology.ReadHPCC(strings.NewReader(read("topology.txt")), "topology.txt"); err != nil ||
		len(n.Links) != len(s.Points()[0].Network().Links) {
		t.Error(err)
	}
	queues, err := simfiles.ReadQueues(strings.NewReader(read("qlen.txt")), "qlen.txt")
	if err != nil || len(queues) != 1 || queues[0].Time != 2001000000 || len(queues[0].Ports) != 1 {
		t.Fatal(queues, err)
	}
	// leaf0 is node 3; its links are to h0, h1, h2 and the spine: h1's is its second.
	if q := queues[0].Ports[0]; q.Switch != 3 || q.Port != 2 || fmt.Sprint(q.Counts) != "[10]" {
		t.Errorf("%+v", q)
	}
	ownQueues(t, again)
	// PFC's frames are kept on request; node 3 is the switch, and it pauses h0, node 0.
	again.Runs[0].PFC = []results.PFCFrame{{TimeNs: 1500, Node: 0, Port: 0, Class: 3, Paused: true},
		{TimeNs: 2500, Node: 3, Port: 2, Class: 3, Paused: false}}
	if _, err := exportRuns(again, filepath.Join(dir, "out"), 2*unit.Second); err != nil {
		t.Fatal(err)
	}
	if got := read("pfc.txt"); got != "2000001500 0 0 1 1\n2000002500 3 1 3 0\n" {
		t.Errorf("pfc.txt is %q", got)
	}
	tables := out[0].Slowdowns(1)
	if len(tables) != 2 || tables[0].Port != 100 || tables[0].Flows != 2 || tables[0].Rows[0].P99 != 1 ||
		tables[1].Port != 200 {
		t.Errorf("%+v", tables)
	}
}

// ownQueues checks series of another binary's measures: they are queues exactly if their measure declares it.
func ownQueues(t *testing.T, o *results.Outcome) {
	t.Helper()
	own := room()
	own.Measures = append(own.Measures, measure.Definition{Name: "backlog", Queues: true},
		measure.Definition{Name: "credit"})
	s := plantest.Load(t, own, string(o.Spec.Resolved()), experiment.Options{Resolved: true})
	for name, want := range map[string]bool{"backlog": true, "credit": false} {
		t.Run(name, func(t *testing.T) {
			r := *o.Runs[0]
			r.Series = slices.Clone(r.Series)
			for i := range r.Series {
				r.Series[i].Name = name
			}
			if got := queueHistograms(s, s.Points()[0], &r, 0) != nil; got != want {
				t.Errorf("its series are taken for queues: %v", got)
			}
		})
	}
}

// FuzzImportHPCC checks that any configuration gives an error with its place, or an experiment. It does not check that
// the experiment is valid, since that takes longer, and Import does it.
func FuzzImportHPCC(f *testing.F) {
	config := simulatorFiles(f)
	data, err := os.ReadFile(config)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	for _, mode := range []string{"1", "7", "8", "10"} {
		f.Add(bytes.Replace(data, []byte("CC_MODE 3"), []byte("CC_MODE "+mode), 1))
	}
	r := simulator()
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(config, data, 0o666); err != nil {
			t.Fatal(err)
		}
		out, _, err := convertConfig(r, config, filepath.Dir(config))
		if _, ok := err.(document.InputErrors); err != nil && !ok {
			t.Fatalf("%T: %v", err, err)
		}
		if err == nil && len(out) == 0 {
			t.Fatal("there is neither an experiment nor an error")
		}
	})
}
