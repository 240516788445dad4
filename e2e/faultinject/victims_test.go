package faultinject

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/core/trace"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/interop/hpccsim"
	"weir/study/plan"
	"weir/study/report"
	"weir/study/results"
	"weir/study/run"
	"weir/worlds/sim"
	softswitch "weir/worlds/switch"
)

// small is an experiment with most kinds of keys.
const small = `title: small
duration: 20ms
warmup: 1ms
topology:
  hosts: [a, b, c]
  switches: [s, z]
  links:
    - {ends: [a, s], rate: 100Mbps, delay: 100us}
    - {ends: [c, s], rate: 100Mbps, delay: 100us, loss: 0.1%}
    - {ends: [s, z], rate: 10Mbps, delay: 1ms, buffer: 24 packets, jitter: 10us}
    - {ends: [z, b], rate: 100Mbps, delay: 100us}
switches:
  "*": {queues: 2, scheduler: strict, buffer: 100KB, programs: [ecmp, {ecn: {kmin: 5KB, kmax: 7KB, pmax: 100%}}]}
traffic:
  - {name: udp, from: a, to: b, transport: udp, rate: $r, start: 0s, size: 20KB}
  - {name: tcp, from: c, to: b, transport: tcp, cc: dctcp, size: 50KB, start: 1ms}
  - {name: many, from: "*", to: random, transport: tcp, sizes: websearch, load: 10%, stop: 10ms}
events: [{at: 5ms, link: [s, z], down: true}, {at: 6ms, link: [s, z], down: false}]
sweep: {r: [1Mbps, 2Mbps]}
quick: {r: [1Mbps]}
repeat: 2
seed: 3
measure: [goodput, fct, {queue: {port: s->z, every: 1ms}}, {slowdown: {bins: 3}}]
plot: [{x: r, y: goodput, lines: [traffic]}, {x: time, y: queue}]
expect:
  - {id: more, says: more is sent, that: goodput.udp > 1kbps, where: {r: 2Mbps}}
`

// readFiles is an experiment that reads its network, flows and sizes from files.
const readFiles = `title: files
duration: 3ms
topology: {file: net.txt, format: hpcc}
switch: [ecmp]
traffic:
  - {name: list, file: list.flow, format: hpcc, transport: tcp, offset: 1ms}
  - {name: matrix, file: matrix.cm, format: htsim, time_unit: 1us, transport: tcp}
  - {name: drawn, from: "*", to: random, transport: tcp, sizes: {file: sizes.cdf}, load: 0.1%}
measure: [goodput]
`

var read = map[string]string{
	"e.yaml": readFiles,
	"tree.yaml": strings.NewReplacer("net.txt, format: hpcc", "tree.topo, format: htsim", "matrix.cm", "tree.cm").
		Replace(readFiles),
	"net.txt": "4 1 3\n3\n0 3 10Gbps 1us 0\n1 3 10Gbps 1us 0\n2 3 10Gbps 1us 0\n",
	"tree.topo": "Nodes 4\nTiers 2\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns " +
		"500\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 500\n",
	"list.flow": "2\n0 1 3 100 20000 0.001\n1 2 3 100 20000 0.002\n",
	"matrix.cm": "Nodes 3\nConnections 2\n0->1 id 1 start 0 size 20000\n2->1 id 2 start 5 size 20000\n",
	"tree.cm":   "Nodes 4\nConnections 2\n0->1 id 1 start 0 size 20000\n2->1 id 2 start 5 size 20000\n",
	"sizes.cdf": "0 0\n1000 50\n3000 100\n",
}

// access is a switch's file.
const access = `ports:
  left: {interface: eth1, rate: 50Mbps, buffer: 100 packets}
  right: {interface: eth2, rate: 1Gbps, queue: 30 packets}
switch: [forward, {ecn: {kmin: 5KB, kmax: 7KB, pmax: 100%}}]
queues: 2
scheduler: strict
metrics: 127.0.0.1:9465
`

func inMemory(of map[string]string) map[string][]byte {
	files := map[string][]byte{}
	for name, text := range of {
		files[name] = []byte(text)
	}
	return files
}

func victims(t *testing.T, e effort) (all []victim) {
	all = append(all, victim{name: "experiment", files: map[string][]byte{"e.yaml": []byte(small)}, file: "e.yaml",
		try: checkExperiment("e.yaml")})
	files := inMemory(read)
	for _, x := range [][2]string{{"topology of the HPCC simulator", "net.txt"}, {"flow sizes", "sizes.cdf"},
		{"flows of the HPCC simulator", "list.flow"}, {"connections of htsim", "matrix.cm"}} {
		all = append(all, victim{name: x[0], files: files, file: x[1], try: checkExperiment("e.yaml")})
	}
	all = append(all, victim{name: "topology of htsim", files: files, file: "tree.topo",
		try: checkExperiment("tree.yaml")},
		victim{name: "switch", files: map[string][]byte{"switch.yaml": []byte(access)}, file: "switch.yaml",
			try: func(files map[string][]byte) error {
				_, err := softswitch.Decode(softswitch.Schemes{Programs: known.Programs, Schedulers: known.Schedulers},
					"switch.yaml",
					files["switch.yaml"])
				return err
			}})
	return append(append(all, imports(t)...), outcomes(t, e)...)
}

// checkExperiment checks one, and runs it if that takes little.
func checkExperiment(name string) func(files map[string][]byte) error {
	return func(files map[string][]byte) error {
		s, err := plan.Load(known, from(files, name), experiment.Options{})
		if err != nil {
			return err
		}
		again := map[string][]byte{"spec.yaml": s.Resolved()}
		for n, data := range files {
			again[n] = data
		}
		if _, err := plan.Load(known, from(again, "spec.yaml"), experiment.Options{Resolved: true}); err != nil {
			panic("it is not read again: " + err.Error())
		}
		for _, r := range plan.ListRuns(s) {
			if plan.EstimateHops(r) > 2e4 || plan.EstimateMemory(r) > 50e6 {
				return nil
			}
		}
		o, err := execute(s)
		if err == nil {
			report.FormatText(o)
		}
		return err
	}
}

// execute runs an experiment, and interrupts it as a signal does if its runs have looked for an interrupt maxLooks
// times: the test is that they end then.
func execute(s *experiment.Spec) (*results.Outcome, error) {
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	looks := 0
	return run.Execute(ctx, s, run.Options{Jobs: 1, Threads: 1, Observe: func(_ *plan.Run, c *sim.Config) run.Observer {
		interrupted := c.Stopped
		c.Stopped = func() bool {
			if looks++; looks == maxLooks {
				interrupt()
			}
			return interrupted()
		}
		return blindObserver{}
	}})
}

// TestExecuteInterrupts has a run that looks for an interrupt more often than it may: it is missing, and so is
// the one after it.
func TestExecuteInterrupts(t *testing.T) {
	const text = `title: idle
duration: 1000s
topology: {hosts: [a, b], switches: [s], links: [{ends: [a, s], rate: 10Mbps, delay: 1ms},
  {ends: [s, b], rate: 10Mbps, delay: 1ms}]}
switch: [forward]
traffic: [{name: x, from: a, to: b, transport: udp, rate: 10bps, start: 0s}]
measure: [{queue: {port: s->b, every: 1ms}}]
repeat: 2
`
	s := plantest.LoadSource(t, known, from(map[string][]byte{"e.yaml": []byte(text)}, "e.yaml"), experiment.Options{})
	o, err := execute(s)
	if err != nil || o.Missing != 2 {
		t.Fatalf("%d of 2 runs are missing: %v", o.Missing, err)
	}
	report.FormatText(o)
}

// maxLooks limits how often the runs of an experiment check for an interrupt before there is one. Undamaged
// experiments check less often.
const maxLooks = 2000

// blindObserver ignores all windows.
type blindObserver struct{}

func (blindObserver) ObserveWindow(*sim.View) {}
func (blindObserver) End(error)               {}

// imports returns the files of the HPCC simulator, from its config.txt on.
func imports(t *testing.T) []victim {
	config, err := os.ReadFile("../../study/interop/simfiles/testdata/config.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := map[string][]byte{"mix/config.txt": config, "mix/trace.txt": []byte("2\n4 5\nIDs of nodes\n"),
		"mix/topology.txt": []byte("7 3 6\n4 5 6\n0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n2 5 100Gbps 1us 0\n" +
			"3 5 100Gbps 1us 0\n4 6 400Gbps 1us 0\n6 5 400Gbps 1us 0\n"),
		"mix/flow.txt": []byte("3\n0 2 3 100 30000 2.000001\n1 2 3 200 5000 2.000002\n3 2 3 200 5000 2.000002\n")}
	return []victim{{name: "config.txt of the HPCC simulator", files: files, file: "mix/config.txt",
		try: func(files map[string][]byte) error {
			if err := put(dir, files); err != nil {
				return err
			}
			_, _, err := hpccsim.Import(known, filepath.Join(dir, "mix/config.txt"), dir)
			return err
		}}}
}

// outcomes returns the output of a run: its traces, and the files of its results folder.
func outcomes(t *testing.T, e effort) (all []victim) {
	s := plantest.LoadSource(t, known, from(map[string][]byte{"e.yaml": []byte(small)}, "e.yaml"),
		experiment.Options{Quick: true})
	o, err := run.Execute(context.Background(), s, run.Options{Jobs: 1, Dir: t.TempDir(), Trace: []string{"s->z"}})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, pattern := range []string{"*.json", "*.yaml", "runs/*", "traces/*"} {
		found, _ := filepath.Glob(filepath.Join(o.Dir, pattern))
		for _, name := range found {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			short, _ := filepath.Rel(o.Dir, name)
			files[short] = data
		}
	}
	dir := t.TempDir()
	traces := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasPrefix(name, "traces/") {
			continue
		}
		form, file := filepath.Ext(name), filepath.Join(dir, filepath.Base(name))
		if bytes.HasPrefix(files[name], []byte("PAR1")) || form == ".pcapng" || form == ".txt" {
			traces++
		}
		if form != ".pcapng" && form != ".parquet" && form != ".txt" || all != nil && listed(all, "trace "+form) {
			continue
		}
		all = append(all, victim{name: "trace " + form, files: files, file: name, binary: form != ".txt",
			place: regexp.MustCompile(`(offset|line|row|column) \d`), try: func(files map[string][]byte) error {
				if err := os.WriteFile(file, files[name], 0o644); err != nil {
					return err
				}
				var sum trace.Summary
				_, err := results.ReadTrace(file, func(r *trace.Record) error { sum.AddRecord(r); return nil })
				return err
			}})
	}
	if traces < 3 {
		t.Fatalf("there are %d traces", traces)
	}
	return append(append(all, bundles(t, e, o.Dir)...), folders(t, e, files)...)
}

func listed(all []victim, name string) bool {
	for _, v := range all {
		if v.name == name {
			return true
		}
	}
	return false
}

// folders returns results folders with one damaged file each.
func folders(t *testing.T, e effort, files map[string][]byte) (all []victim) {
	dir := t.TempDir()
	if err := put(dir, files); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		kind := name
		switch {
		case strings.HasPrefix(name, "traces/"):
			continue
		case strings.HasPrefix(name, "runs/"):
			kind = "run"
		}
		if listed(all, "results, "+kind) {
			continue
		}
		all = append(all, victim{name: "results, " + kind, slow: e.costly, files: map[string][]byte{name: files[name]},
			file: name,
			try: func(mutant map[string][]byte) error {
				if err := put(dir, mutant); err != nil {
					return err
				}
				defer put(dir, map[string][]byte{name: files[name]})
				o, err := results.Open(known, dir)
				if err != nil {
					return err
				}
				report.FormatText(o)
				report.Account(o)
				o.JSON()
				if e.pages {
					if _, err := report.WriteReport(o, report.Page{}); err != nil {
						return err
					}
				}
				return o.CSV(io.Discard)
			}})
	}
	return all
}
