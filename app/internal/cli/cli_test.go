package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"weir/core/cc/none"
	"weir/core/dataplane"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/buffer/pfc"
	"weir/core/dataplane/buffer/sharedbuffer"
	"weir/core/dataplane/classify"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/tm"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/rdma"
	"weir/core/transport/udp"
	"weir/core/transport/window"
	"weir/core/workload"
	"weir/internal/command"
	"weir/papers/p4abc"
	"weir/study/bench"
	"weir/study/experiment"
	"weir/study/interop/hpccsim"
	"weir/study/measure"
)

// init makes the tests estimate times for the reference machine, not for the one that runs them.
func init() { machineSpeed = func() float64 { return 1 } }

func registry() *experiment.Registry {
	return &experiment.Registry{
		Measures:   measure.Definitions(),
		Programs:   []dataplane.Scheme{p4abc.Scheme(), ecmp.Scheme(), forward.Scheme()},
		Schedulers: tm.Schemes(),
		Transports: []transport.Scheme{udp.Scheme(), window.Scheme()},
		Networks:   topology.Formats(), Flows: workload.Formats(), Imports: []experiment.Import{hpccsim.Importer()},
		Library: []experiment.Library{{Name: "bench", Files: bench.Experiments},
			{Name: "p4abc", Files: p4abc.Experiments}},
	}
}

// weir runs a command line and returns its exit code and output.
func weir(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Run(registry(), args, &out, &errs, false)
	return code, out.String(), errs.String()
}

// small is a quick experiment whose claim a fails and whose claim b holds.
const small = `title: small
duration: 200ms
topology:
  hosts: [a, b]
  switches: [s]
  links: [{ends: [a, s], rate: 10Mbps, delay: 1ms}, {ends: [s, b], rate: 10Mbps, delay: 1ms, buffer: 9 packets}]
switch: [forward]
traffic: [{name: x, from: a, to: b, transport: udp, rate: $rate, start: 0s}]
sweep: {rate: [1Mbps, 5Mbps]}
measure: [goodput]
plot: [{x: rate, y: goodput}]
expect:
  - {id: a, says: more than is sent, that: goodput.x > 2 * rate}
  - {id: b, says: something, that: goodput.x > 0}
`

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "small.yaml")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// lockedRing returns an experiment with a ring of five switches with PFC whose queues block each other. Each host
// sends to the switch two hops on, more than the links carry.
func lockedRing() string {
	var links, traffic strings.Builder
	for i := range 5 {
		fmt.Fprintf(&links, "    - {ends: [h%d, s%d], rate: 10Gbps, delay: 1us}\n    - {ends: [s%d, s%d], rate: 10Gbps, "+
			"delay: 1us}\n", i, i, i, (i+1)%5)
		fmt.Fprintf(&traffic, "  - {name: x%d, from: h%d, to: h%d, transport: {rdma: {class: 3}}, cc: none, size: 5MB, "+
			"start: 0s}\n",
			i, i, (i+2)%5)
	}
	return "title: ring\nduration: 50ms\ntopology:\n  hosts: [h0, h1, h2, h3, h4]\n  switches: [s0, s1, s2, s3, s4]\n" +
		"  links:\n" + links.String() + "switches: {\"*\": {queues: 4, programs: [forward, classify, {shared_buffer: " +
		"{size: 400KB}}, {pfc: {classes: {3: true}}}]}}\ntraffic:\n" + traffic.String() + "measure: [drops]\n"
}

// TestExitCodes checks the exit codes that the README lists.
func TestExitCodes(t *testing.T) {
	file, out := write(t, small), t.TempDir()
	text, _, _ := strings.Cut(small, "expect:")
	unjudged := write(t, text+"expect: [{id: x, says: x, that: goodput.x / 0 > 1}]\n")
	for _, c := range []struct {
		code int
		args string
		err  string // in stderr
	}{
		{0, "run " + file + " --out " + out, ""},
		{3, "run " + file + " --check --out " + out, ""},
		{0, "run " + unjudged + " --out " + out, ""},
		{4, "run " + unjudged + " --check --out " + out, ""},
		{2, "run nosuch", "unknown experiment or file \"nosuch\"; weir list shows the experiments"},
		{2, "run p4abc/fig9", `did you mean "p4abc/fig4"`},
		{2, "run fig5x", `unknown experiment or file "fig5x"; did you mean "p4abc/fig5"?`},
		{2, "run fig5x", "; weir list shows the experiments"},
		{2, "run " + file + " --bogus", "unknown flag --bogus"},
		{2, "run " + file + " --on moon", "--on"},
		{2, "run " + file + " --jobs -1", "--jobs"},
		{2, "run " + file + " --set nothing", "key=value"},
		{2, "run " + file + " --set durration=1s", `did you mean "duration"`},
		{2, "frobnicate", "unexpected argument"},
		{2, "list cheese", "must be one of"},
		{2, "check " + write(t, strings.Replace(small, "[a, s]", "[a, a]", 1)), "small.yaml:6:"},
		{0, "--help", ""},
		{0, "version", ""},
	} {
		t.Run(c.args, func(t *testing.T) {
			code, _, errs := weir(strings.Fields(c.args)...)
			if code != c.code || !strings.Contains(errs, c.err) {
				t.Errorf("weir %s: exit code %d, want %d; %s", c.args, code, c.code, errs)
			}
		})
	}
}

// TestExitCodeOfCutRun checks that a run that is cut because its network is locked up gives exit code 1.
func TestExitCodeOfCutRun(t *testing.T) {
	r := registry()
	r.Programs = append(r.Programs, classify.Scheme(), pfc.Scheme(), sharedbuffer.Scheme())
	r.Transports = append(r.Transports, rdma.Scheme())
	r.Controllers = append(r.Controllers, none.Scheme())
	var out, errs bytes.Buffer
	code := Run(r, []string{"run", write(t, lockedRing()), "--out", t.TempDir()}, &out, &errs, false)
	if code != command.RunFailed || !strings.Contains(out.String(), "1 pfc deadlock") {
		t.Errorf("exit code %d; %s%s", code, &out, &errs)
	}
}

// TestReport_RepeatsTablesOfFinishedRuns checks that report prints the tables of a finished run again and writes
// the same page without running a simulation. It also checks that diff compares two folders, that --csv starts with
// the header for spreadsheets, and that an experiment's name finds its results folder.
func TestReport_RepeatsTablesOfFinishedRuns(t *testing.T) {
	file, out := write(t, small), t.TempDir()
	_, tables, _ := weir("run", file, "--out", out)
	weir("run", file, "--out", out, "--seed", "9", "--set", "duration=900ms")
	dirs, _ := filepath.Glob(filepath.Join(out, "small-*"))
	if len(dirs) != 2 {
		t.Fatalf("folders %v", dirs)
	}
	data, err := os.ReadFile(filepath.Join(dirs[0], "spec.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "900ms") {
		dirs[0], dirs[1] = dirs[1], dirs[0]
	}
	first, err := os.ReadFile(filepath.Join(dirs[0], "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(dirs[0], "report.html"))
	code, again, stderr := weir("report", dirs[0])
	if _, err := os.Stat(filepath.Join(dirs[0], "report.html")); err != nil || code != 0 || again != tables {
		t.Errorf("report: exit code %d, %v\n%s%s\nwant\n%s", code, err, again, stderr, tables)
	}
	if page, _ := os.ReadFile(filepath.Join(dirs[0], "report.html")); !bytes.Equal(page, first) {
		t.Error("report makes another page than run")
	}
	code, text, _ := weir("diff", dirs[0], dirs[1])
	for _, want := range []string{"→ 900ms", "seed: 1 → 9", "rate=5Mbps", "goodput x [", "values differ"} {
		t.Run(want, func(t *testing.T) {
			if code != 0 || !strings.Contains(text, want) {
				t.Errorf("diff: exit code %d, %q is not in\n%s", code, want, text)
			}
		})
	}
	for _, l := range strings.Split(text, "\n") {
		if len([]rune(l)) > 100 {
			t.Errorf("diff: %d columns: %s", len([]rune(l)), l)
		}
	}
	if _, text, _ = weir("diff", dirs[0], dirs[0]); !strings.Contains(text, "\n0 values differ") {
		t.Errorf("diff of one folder:\n%s", text)
	}
	if code, csv, _ := weir("report", dirs[0], "--csv"); code != 0 ||
		!strings.HasPrefix(csv, "run,seed,rate,measure,group,unit,value\n") {
		t.Errorf("CSV: exit code %d\n%s", code, csv)
	}
	if code, _, stderr := weir("report", t.TempDir()); code != 2 ||
		!strings.Contains(stderr, "the file is missing, so this is not a results folder") {
		t.Errorf("an empty folder: exit code %d\n%s", code, stderr)
	}
	// An experiment's file selects the results folder of its current content; a report selects its own folder.
	for _, args := range [][]string{{"report", file, "--out", out}, {"report", filepath.Join(dirs[0], "report.html")}} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			if code, again, stderr := weir(args...); code != 0 || again != tables {
				t.Errorf("weir %s: exit code %d\n%s%s\nwant\n%s", args, code, again, stderr, tables)
			}
		})
	}
	if code, text, stderr := weir("diff", file, dirs[1], "--out", out); code != 0 ||
		!strings.Contains(text, "seed: 1 → 9") {
		t.Errorf("diff of an experiment: exit code %d\n%s%s", code, text, stderr)
	}
	for args, want := range map[string]string{
		"report p4abc/fig4 --out " + out: "p4abc/fig4 has no results in " + filepath.Base(out) + "/; run the experiment, " +
			"or name a results folder",
		"report p4abc/fig9": "not a results folder. Read as an experiment: unknown experiment or file \"p4abc/fig9\"",
	} {
		t.Run(args, func(t *testing.T) {
			if code, _, stderr := weir(strings.Fields(args)...); code != 2 || !strings.Contains(stderr, want) {
				t.Errorf("weir %s: exit code %d\n%s", args, code, stderr)
			}
		})
	}
	if code, _, stderr := weir("run", file, "--json", "--csv"); code != 2 {
		t.Errorf("--json --csv: exit code %d\n%s", code, stderr)
	}
}

func TestRun_WritesFolderAndFindsFinishedRuns(t *testing.T) {
	file, out := write(t, small), t.TempDir()
	code, stdout, stderr := weir("run", file, "--out", out)
	if code != 0 || stderr != "" || !strings.Contains(stdout, "fails      a (2 runs)") ||
		!strings.Contains(stdout, "holds      b (2 runs)") || !strings.Contains(stdout,
		"2 runs: all ran for the full duration") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	dirs, _ := filepath.Glob(filepath.Join(out, "small-*"))
	if len(dirs) != 1 {
		t.Fatalf("folders %v", dirs)
	}
	for _, f := range []string{"spec.yaml", "runs.json", "host.json", "report.html", "host.html",
		"plots/1-goodput-over-rate.svg"} {
		t.Run(f, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(dirs[0], f)); err != nil {
				t.Error(err)
			}
		})
	}
	_, again, _ := weir("run", file, "--out", out)
	if !strings.Contains(again, "2 runs reused from earlier") {
		t.Errorf("finished runs are not found:\n%s", again)
	}
	_, fresh, _ := weir("run", file, "--out", out, "--fresh")
	if strings.Contains(fresh, "already") {
		t.Error("--fresh finds runs")
	}
	code, doc, _ := weir("run", file, "--out", out, "--json")
	var d struct {
		Experiment, World string
		Runs              []struct {
			ID       string
			Seed     int
			Point    map[string]string
			End      struct{ Reason string }
			Measures map[string]map[string]float64
		}
		Claims []struct{ ID, Says, Measured, Verdict string }
	}
	if err := json.Unmarshal([]byte(doc), &d); err != nil || code != 0 {
		t.Fatalf("%v\n%s", err, doc)
	}
	if d.Experiment != "small" || d.World != "sim" || len(d.Runs) != 2 || d.Runs[1].Point["rate"] != "5Mbps" ||
		d.Runs[1].End.Reason != "time up" ||
		d.Runs[1].Measures["goodput_bps"]["x"] < 4.7e6 || len(d.Claims) != 2 || d.Claims[0].Verdict != "fails" {
		t.Errorf("%+v", d)
	}
	saved, _ := os.ReadFile(filepath.Join(dirs[0], "runs.json"))
	if string(saved) != doc {
		t.Error("runs.json is not what --json prints")
	}
	// results do not reveal the folder of the file
	page, err := os.ReadFile(filepath.Join(dirs[0], "report.html"))
	if err != nil || strings.Contains(string(page), filepath.Dir(file)) ||
		!strings.Contains(string(page), "small.yaml:2") {
		t.Errorf("the report names the file's folder, or not the file: %v", err)
	}
	// the resolved spec is an experiment, and the same one
	code, resolved, errs := weir("check", filepath.Join(dirs[0], "spec.yaml"))
	if code != 0 || !strings.Contains(resolved, "is valid: 2 runs") {
		t.Errorf("spec.yaml: %s%s", resolved, errs)
	}
}

// TestShow_FitsTerminalAndShowsDefaults checks that lists and descriptions fit a terminal, are sorted, and show
// every default.
func TestShow_FitsTerminalAndShowsDefaults(t *testing.T) {
	for _, args := range []string{"list", "list schemes", "list measures", "list workloads", "list topologies",
		"show p4abc/fig4", "show abc", "show udp", "show guarantee",
		"check p4abc/fig4 --quick", "--help", "run --help", "trace --help", "show window"} {
		t.Run(args, func(t *testing.T) {
			code, out, errs := weir(strings.Fields(args)...)
			if code != 0 || out == "" {
				t.Errorf("weir %s: exit code %d, %s", args, code, errs)
			}
			for _, l := range strings.Split(out, "\n") {
				if utf8.RuneCountInString(l) > 80 {
					t.Errorf("weir %s: %d columns: %s", args, utf8.RuneCountInString(l), l)
				}
			}
		})
	}
	_, out, _ := weir("list")
	if !strings.Contains(out, "p4abc/fig4 ") || strings.Index(out, "bench/engine") > strings.Index(out, "p4abc/fig4") {
		t.Error(out)
	}
	_, out, _ = weir("show", "abc")
	for _, want := range []string{"average_memory", "default 300ms", "P4-ABC §6.1.3", "one of exact, register"} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(out, want) {
				t.Errorf("weir show abc lacks %q:\n%s", want, out)
			}
		})
	}
	var both, errs bytes.Buffer // a program and a transport have this name
	if code := Run(Registry(), []string{"show", "ndp"}, &both, &errs, false); code != 0 {
		t.Errorf("weir show ndp: exit code %d, %s", code, errs.String())
	}
	out = both.String()
	for _, want := range []string{"program ndp", "trim_tail", "transport ndp", "initial_window"} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(out, want) {
				t.Errorf("weir show ndp lacks %q:\n%s", want, out)
			}
		})
	}
	_, out, _ = weir("show", "p4abc/fig4", "--set", "duration=300s")
	for _, want := range []string{"300s", "--set", "gap_jitter", "10%", "default: Weir"} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(out, want) {
				t.Errorf("weir show p4abc/fig4 lacks %q:\n%s", want, out)
			}
		})
	}
}

// TestShowAll checks that a name of two kinds of schemes shows both: ndp is a program and a transport.
func TestShowAll(t *testing.T) {
	var out, errs bytes.Buffer
	if code := Run(Registry(), []string{"show", "ndp"}, &out, &errs, false); code != 0 {
		t.Fatal(errs.String())
	}
	for _, want := range []string{"program ndp", "trim_tail", "transport ndp", "initial_window"} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(out.String(), want) {
				t.Errorf("weir show ndp lacks %q:\n%s", want, out.String())
			}
		})
	}
}

// TestShowRanges checks that each option has its form, and its range as in errors: with inclusive and exclusive ends.
func TestShowRanges(t *testing.T) {
	var out, errs bytes.Buffer
	if code := Run(Registry(), []string{"show", "ncf"}, &out, &errs, false); code != 0 {
		t.Fatal(errs.String())
	}
	for _, want := range []string{
		"\n    a share such as 85%, above 0%, at most 100%; default 5%\n",
		"\n    a share such as 85%, above 0%, below 100%; default 1%\n",
		"\n    a whole number, at least 1, at most 15; default 4\n",
		"\n    one of bytes, packets; default bytes\n",
		"\n    true or false; default false\n",
	} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(out.String(), want) {
				t.Errorf("weir show ncf lacks it:\n%s", out.String())
			}
		})
	}
}

// TestShowYAML checks that --yaml prints an experiment's file to copy, and refuses other names.
func TestShowYAML(t *testing.T) {
	file, err := os.ReadFile("../../../papers/p4abc/experiments/fig4.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if code, out, errs := weir("show", "p4abc/fig4", "--yaml"); code != 0 || out != string(file) {
		t.Errorf("exit code %d, %s\n%s", code, errs, out)
	}
	for args, want := range map[string]string{
		"show abc --yaml":                "abc is a scheme (program) and has no file",
		"show p4abc/fig4 --yaml --quick": "spec.yaml in the results folder",
		"show p4abc/fig9 --yaml":         "did you mean",
	} {
		t.Run(args, func(t *testing.T) {
			if code, out, errs := weir(strings.Fields(args)...); code != 2 || out != "" || !strings.Contains(errs, want) {
				t.Errorf("weir %s: exit code %d, %s\n%s", args, code, errs, out)
			}
		})
	}
}

// TestCheck_WarnsOfPhaseLock checks that warnings go to stderr: senders without jitter lock phase.
func TestCheck_WarnsOfPhaseLock(t *testing.T) {
	file := write(t, strings.Replace(small, "start: 0s", "start: 0s, gap_jitter: 0%", 1))
	code, _, errs := weir("check", file)
	if code != 0 || !strings.Contains(errs, "phase lock") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

// TestProgress_RewritesAndRemovesOneLine checks that the progress bar, on a terminal only, is one line that is
// rewritten and removed.
func TestProgress_RewritesAndRemovesOneLine(t *testing.T) {
	var out, errs bytes.Buffer
	file := write(t, strings.Replace(small, "duration: 200ms", "duration: 300s", 1))
	if code := Run(registry(), []string{"run", file, "--out", t.TempDir()}, &out, &errs, true); code != 0 {
		t.Fatal(errs.String())
	}
	bar := errs.String()
	if !strings.Contains(bar, "of 2 runs") || strings.Contains(bar, "\n") || !strings.HasSuffix(bar, "\r\x1b[K") {
		t.Errorf("%q", bar)
	}
}

func TestReproduce_KeepsOptionsThatDecideResults(t *testing.T) {
	got := reproduce("p4abc/fig4", "p4abc/fig4",
		strings.Fields("run p4abc/fig4 --jobs 2 --set duration=3s --out x --set=a=$b --quick --seed 9 --json"))
	if want := "weir run p4abc/fig4 --set duration=3s '--set=a=$b' --quick --seed 9"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	got = reproduce("two", "some where/two.yaml", []string{"--set", "title=it's #1"})
	if want := `weir run two.yaml --set 'title=it'\''s #1'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func ExampleRun() {
	code := Run(registry(), []string{"show", "strict"}, os.Stdout, os.Stderr, false)
	fmt.Println("exit code", code)
	// Output:
	// scheduler strict: strict priority, queue 0 first
	// source: Weir
	//
	// It has no parameters.
	// exit code 0
}
