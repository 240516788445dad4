package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/revision"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/report"
	"weir/study/results"
)

// merge merges folders as the command line does.
func merge(into string, any bool, dirs ...string) (*results.MergeResult, error) {
	return results.MergeFolders(context.Background(), room(), dirs, results.MergeOptions{Parent: into, AnyProgram: any,
		Generators: GeneratorNames(), Report: page})
}

func page(o *results.Outcome) error {
	_, err := report.WriteReport(o, report.Page{Version: "of tests"})
	return err
}

// partOf copies the part of a results folder that a machine leaves after these runs. Without an index it is what a
// killed process leaves.
func partOf(t *testing.T, of *results.Outcome, ids []string, index bool) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), filepath.Base(of.Dir))
	type named struct {
		ID string `json:"id"`
	}
	doc := map[string]any{"format": results.Format, "experiment": of.Name, "world": of.World}
	list, without := []named{}, map[string]bool{}
	for _, r := range of.Runs {
		if slices.Contains(ids, r.ID) {
			list = append(list, named{r.ID})
			continue
		}
		files, err := filepath.Glob(filepath.Join(of.Dir, "*", r.ID+"*"))
		if err != nil || len(files) < 5 {
			t.Fatal(err, files)
		}
		for _, f := range files {
			without[f] = true
		}
	}
	linkWithout(t, dir, of.Dir, without)
	doc["runs"] = list
	data, _ := json.Marshal(doc)
	put(t, filepath.Join(dir, "runs.json"), string(data))
	if !index {
		for _, name := range []string{"runs.json", "host.json", "report.html", results.FlowsFile} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// differ returns the name of a file that differs between two results folders, or "".
func differ(t *testing.T, want, got string) string {
	t.Helper()
	a, b := contents(t, want), contents(t, got)
	for name := range maps.Keys(b) {
		if _, ok := a[name]; !ok {
			return name + " is too many"
		}
	}
	for name, text := range a {
		if b[name] != text {
			return name
		}
	}
	return ""
}

// TestMergeAnySplit checks that merged folders have the bytes of one machine. Three machines have a random part of
// the runs and of their traces, some of them twice. The folders are merged in random order, at once or one after
// the other.
func TestMergeAnySplit(t *testing.T) {
	want := whole(t, experiment.Options{Set: []string{"repeat=2"}}, "x")
	if len(want.Runs) != 6 {
		t.Fatalf("%d runs", len(want.Runs))
	}
	for k := range 3 {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(25, uint64(k)))
			parts := make([][]string, 3)
			for _, r := range want.Runs {
				parts[rng.IntN(3)] = append(parts[rng.IntN(3)], r.ID)
			}
			for _, r := range want.Runs { // what nobody has now, and what two have
				p := rng.IntN(3)
				if there := slices.ContainsFunc(parts, func(ids []string) bool { return slices.Contains(ids, r.ID) }); !there ||
					rng.IntN(4) == 0 {
					parts[p] = append(parts[p], r.ID)
				}
			}
			var dirs []string
			for _, ids := range parts {
				dirs = append(dirs, partOf(t, want, ids, rng.IntN(2) == 0))
			}
			rng.Shuffle(3, func(i, j int) { dirs[i], dirs[j] = dirs[j], dirs[i] })
			into := t.TempDir()
			m, err := merge(into, false, dirs...)
			if err != nil {
				t.Fatal(err)
			}
			if m.Missing != 0 || m.Found != 6 || m.New != 6 || m.Folders != 3 {
				t.Errorf("%+v", m)
			}
			if name := differ(t, want.Dir, m.Dir); name != "" {
				t.Error(name)
			}
			again, err := merge(into, false, dirs[k%3])
			if err != nil || again.New != 0 || again.Found != 6 || differ(t, want.Dir, again.Dir) != "" {
				t.Errorf("once more: %v, %+v", err, again)
			}
			step := t.TempDir() // one after the other
			for _, dir := range dirs {
				if m, err = merge(step, false, dir); err != nil {
					t.Fatal(err)
				}
			}
			if name := differ(t, want.Dir, m.Dir); name != "" {
				t.Error("one after the other:", name)
			}
			if opened, err := results.Open(room(), m.Dir); err != nil || string(opened.JSON()) != string(want.JSON()) {
				t.Errorf("opened: %v", err)
			}
		})
	}
}

// TestMergeSeeds checks that ranges of seeds that follow each other, or overlap, become one experiment with all
// seeds.
func TestMergeSeeds(t *testing.T) {
	seeds := func(first uint64, repeat string) *results.Outcome {
		return whole(t, experiment.Options{Seed: &first, Set: []string{"repeat=" + repeat, "rate=1Mbps"}}, "x")
	}
	want := seeds(1, "5")
	a, b, c := seeds(1, "2"), seeds(2, "2"), seeds(4, "2")
	for _, dirs := range [][]string{{a.Dir, b.Dir, c.Dir}, {c.Dir, b.Dir, a.Dir}, {b.Dir, c.Dir, a.Dir},
		{c.Dir, a.Dir, b.Dir, want.Dir}} {
		m, err := merge(t.TempDir(), false, dirs...)
		if err != nil {
			t.Fatal(err)
		}
		if name := differ(t, want.Dir, m.Dir); name != "" || filepath.Base(m.Dir) != filepath.Base(want.Dir) {
			t.Errorf("%s of %s differs", name, m.Dir)
		}
	}
	missing := partOf(t, c, []string{c.Runs[0].ID}, true)
	m, err := merge(t.TempDir(), false, a.Dir, b.Dir, missing)
	if err != nil || m.Missing != len(c.Runs)-1 {
		t.Errorf("%v, %+v", err, m)
	}
}

// TestMergeSeedsCommand checks that merged results of several seeds have the command and the sources of values of
// one command for all seeds.
func TestMergeSeedsCommand(t *testing.T) {
	for given, want := range map[string]string{
		"weir run x.yaml": "weir run x.yaml --set repeat=3",
		"weir run 'a --set repeat=7.yaml' --seed 1":           "weir run 'a --set repeat=7.yaml' --seed 1 --set repeat=3",
		"weir run x.yaml --set repeat=2 --set rate='1 Mbps'":  "weir run x.yaml --set repeat=3 --set rate='1 Mbps'",
		"weir run x.yaml --set=repeat=2 --quick":              "weir run x.yaml --set=repeat=3 --quick",
		`weir run 'it'\''s --set repeat=4' --seed 1`:          `weir run 'it'\''s --set repeat=4' --seed 1 --set repeat=3`,
		"weir run x.yaml --set repeats=2 --set repeat=2 --on": "weir run x.yaml --set repeats=2 --set repeat=3 --on",
	} {
		part := func(first uint64, n string) string {
			o, err := Execute(t.Context(), plantest.Load(t, room(), runnable, experiment.Options{Seed: &first,
				Set: []string{"repeat=" + n,
					"rate=1Mbps"}}), Options{Dir: t.TempDir(), Executable: "x", Command: given})
			if err != nil {
				t.Fatal(err)
			}
			return o.Dir
		}
		m, err := merge(t.TempDir(), false, part(3, "1"), part(1, "2"))
		if err != nil || m.Command != want {
			t.Errorf("%v, %s\nwant %s", err, m.Command, want)
		}
	}
}

// other changes the program in a results folder to another one, as on another machine.
func other(t *testing.T, dir string) {
	t.Helper()
	replace(t, filepath.Join(dir, "host.json"), "/"+runtime.GOARCH+" ", "/mips ")
}

func replace(t *testing.T, file, old, new string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(data), old) {
		t.Fatalf("%v: no %q in %s", err, old, data)
	}
	put(t, file, strings.Replace(string(data), old, new, 1))
}

// reseal changes a file of a run, and updates its digest. The trace with the old digest is removed.
func reseal(t *testing.T, file, old, new string) {
	t.Helper()
	replace(t, file, old, new)
	data, _ := os.ReadFile(file)
	put(t, file, testkit.ReplaceDigest(string(data)))
	id := strings.TrimSuffix(filepath.Base(file), ".json")
	if err := os.Remove(filepath.Join(filepath.Dir(file), "..", "traces", id+results.TraceDigests)); err != nil {
		t.Fatal(err)
	}
}

// TestMergePrograms checks that runs of several programs are merged only on request. A result that both have is
// taken from the program with more runs if it is the same, and refused if it differs. The reports list the runs of
// each program.
func TestMergePrograms(t *testing.T) {
	a, b := whole(t, experiment.Options{}, "x"), whole(t, experiment.Options{}, "y")
	other(t, b.Dir)
	ids := func(o *results.Outcome, from, to int) (ids []string) {
		for _, r := range o.Runs[from:to] {
			ids = append(ids, r.ID)
		}
		return ids
	}
	n := len(a.Runs)
	partA, partB := partOf(t, a, ids(a, 0, n-2), true), partOf(t, b, ids(b, n-3, n), true)
	if _, err := merge(t.TempDir(), false, partA, partB); err == nil ||
		!strings.Contains(err.Error(), "architecture mips, not "+runtime.GOARCH) {
		t.Fatal(err)
	}
	into := t.TempDir()
	m, err := merge(into, true, partB, partA)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Programs) != 2 || !slices.Equal(m.Programs[0].Runs, ids(a, 0, n-2)) ||
		!slices.Equal(m.Programs[1].Runs, ids(b, n-2, n)) || !strings.Contains(m.Programs[1].Revision, "/mips ") {
		t.Errorf("%+v", m.Programs)
	}
	opened, err := results.Open(room(), m.Dir)
	if err != nil {
		t.Fatal(err)
	}
	want := "program " + m.Programs[1].Revision + ": 2 runs: " + strings.Join(m.Programs[1].Runs, ", ")
	if got := strings.Join(strings.Fields(report.FormatText(opened)), " "); !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := contents(t, m.Dir)["report.html"]; !strings.Contains(got, "<li>"+want+"</li>") {
		t.Errorf("no %s in the page", want)
	}
	if again, err := merge(t.TempDir(), true, m.Dir, partB); err != nil || len(again.Programs) != 2 {
		t.Errorf("merged once more: %v, %+v", err, again)
	}
	if _, err := merge(into, false, partA); err == nil || !strings.Contains(err.Error(), "--revisions any") {
		t.Errorf("into a folder of two: %v", err)
	}
	reseal(t, results.RunFile(partB, b.Runs[n-3].ID), `"events": `, `"events": 1`)
	if _, err := merge(t.TempDir(), true, partB, partA); err == nil ||
		!strings.Contains(err.Error(), "of another program; only one of them can be merged") {
		t.Errorf("two results: %v", err)
	}
}

// TestMergeRefuses checks that folders that cannot be merged are refused with the names of the files, and that no
// file is written.
func TestMergeRefuses(t *testing.T) {
	good := whole(t, experiment.Options{}, "x")
	y := whole(t, experiment.Options{}, "y")
	idsOf := func(o *results.Outcome) (ids []string) {
		for _, r := range o.Runs {
			ids = append(ids, r.ID)
		}
		return ids
	}
	var said strings.Builder
	for _, c := range refusals(t, good, y) {
		t.Run(c.name, func(t *testing.T) {
			from := c.b
			if from == nil {
				from = good
			}
			a, b := partOf(t, good, idsOf(good), true), partOf(t, from, idsOf(from), true)
			into := filepath.Join(t.TempDir(), "into")
			c.do(a, b)
			_, err := merge(into, false, a, b)
			if err == nil {
				t.Fatal("it is merged")
			}
			text := strings.NewReplacer(a, "A", b, "B", into, "INTO", revision.This().String(), "THIS",
				"not "+runtime.GOARCH, "not ARCH").Replace(err.Error())
			for i, r := range slices.Concat(good.Runs, y.Runs) {
				text = strings.ReplaceAll(text, r.ID, fmt.Sprintf("RUN%d", i))
			}
			fmt.Fprintf(&said, "# %s\n%s\n", c.name, text)
			if left, _ := os.ReadDir(into); len(left) > 0 {
				t.Errorf("%v is written", left)
			}
		})
	}
	testkit.Golden(t, "merge.txt", said.String())
}

// refusal is a mismatch of two folders.
type refusal struct {
	name string
	b    *results.Outcome // which the second is of; nil: which the first is of
	do   func(a, b string)
}

// refusals returns all mismatches of folders. The outcome y is from another executable than good.
func refusals(t *testing.T, good, y *results.Outcome) []refusal {
	fourth := uint64(4)
	narrowed, later := whole(t, experiment.Options{Set: []string{"rate=1Mbps"}}, "x"), whole(t,
		experiment.Options{Seed: &fourth}, "x")
	longer := whole(t, experiment.Options{Set: []string{"duration=100ms"}}, "x")
	return append(damages(t, good.Runs[0].ID), []refusal{
		{"another program", y, func(a, b string) { other(t, b) }},
		{"another build of the same program", y, func(a, b string) {}},
		{"a program that nothing tells of", y, func(a, b string) {
			os.Remove(filepath.Join(b, "host.json"))
		}},
		{"a part of the sweep", narrowed, func(a, b string) {}},
		{"another experiment", longer, func(a, b string) {}},
		{"another name", nil, func(a, b string) {
			replace(t, filepath.Join(b, "runs.json"), `"experiment":"test"`, `"experiment":"mine"`)
		}},
		{"seeds with a gap", later, func(a, b string) {}},
		{"no spec", nil, func(a, b string) { os.Remove(filepath.Join(b, "spec.yaml")) }},
		{"no folder", nil, func(a, b string) { os.RemoveAll(b) }},
		{"an index of a newer format", nil, func(a, b string) {
			replace(t, filepath.Join(b, "runs.json"), `"format":2`, `"format":3`)
		}},
		{"a damaged host.json", nil, func(a, b string) { put(t, filepath.Join(b, "host.json"), "[") }},
		{"a damaged origin.json", nil, func(a, b string) { put(t, filepath.Join(b, "origin.json"), "[") }},
		{"the simulator and the lab", nil, func(a, b string) {
			replace(t, filepath.Join(b, "runs.json"), `"world":"sim"`, `"world":"lab"`)
		}},
	}...)
}

// damages returns the mismatches with a damaged file of the run or of another kind.
func damages(t *testing.T, id string) []refusal {
	run := filepath.Join("runs", id+".json")
	return []refusal{
		{"another result of the same run", nil, func(a, b string) {
			reseal(t, filepath.Join(b, run), `"events": `, `"events": 1`)
		}},
		{"a damaged run", nil, func(a, b string) { replace(t, filepath.Join(b, run), `"events": `, `"events": 1`) }},
		{"runs that were cut in both", nil, func(a, b string) {
			put(t, filepath.Join(a, run), "{")
			put(t, filepath.Join(b, run), "")
		}},
		{"a run of a newer format", nil, func(a, b string) {
			reseal(t, filepath.Join(b, run), `"format": 2`, `"format": 3`)
		}},
		{"a run by another's name", nil, func(a, b string) {
			if err := os.Rename(filepath.Join(b, run), results.RunFile(b, "0123456789abcdef")); err != nil {
				t.Fatal(err)
			}
		}},
		{"a foreign run", nil, func(a, b string) {
			reseal(t, filepath.Join(b, run), `"seed": 1`, `"seed": 77`)
		}},
		{"a foreign file", nil, func(a, b string) { put(t, filepath.Join(b, "runs", "notes.txt"), "mine") }},
		{"a damaged trace", nil, func(a, b string) {
			replace(t, filepath.Join(b, "traces", id+".txt"), "# ports", "# PORTS")
		}},
		{"a trace that is gone", nil, func(a, b string) { os.Remove(filepath.Join(b, "traces", id+".parquet")) }},
		{"a list of digests with a path", nil, func(a, b string) {
			replace(t, filepath.Join(b, "traces", id+".sha256"), "  "+id+".txt", "  ../../"+id+".txt")
		}},
		{"traces of other ports", nil, func(a, b string) {
			traceOthers(t, b)
		}},
	}
}

// traceOthers traces other ports than whole does, into an existing folder.
func traceOthers(t *testing.T, dir string) {
	t.Helper()
	if _, err := Execute(context.Background(), plantest.Load(t, room(), runnable, experiment.Options{}),
		Options{Dir: filepath.Dir(dir),
			Executable: "x", Trace: []string{"a->s"}}); err != nil {
		t.Fatal(err)
	}
}

// TestMergeLeavesOutOldRuns checks that files of earlier programs, which a folder keeps and runs.json does not
// list, do not count as runs of another revision. They are left out, with a notice.
func TestMergeLeavesOutOldRuns(t *testing.T) {
	good, old := whole(t, experiment.Options{}, "x"), whole(t, experiment.Options{}, "old")
	dir := partOf(t, good, []string{good.Runs[0].ID}, true)
	data, err := os.ReadFile(results.RunFile(old.Dir, old.Runs[1].ID))
	if err != nil {
		t.Fatal(err)
	}
	put(t, results.RunFile(dir, old.Runs[1].ID), string(data))
	put(t, filepath.Join(dir, "runs", ".new-1234"), "half of")
	var notices []string
	m, err := results.MergeFolders(t.Context(), room(), []string{dir, good.Dir}, results.MergeOptions{Parent: t.TempDir(),
		Report:   page,
		OnNotice: func(text string) { notices = append(notices, text) }})
	if err != nil || len(notices) != 1 || !strings.HasPrefix(notices[0], dir+": 1 file of runs is left out, ") {
		t.Errorf("%v, %q", err, notices)
	}
	if name := differ(t, good.Dir, m.Dir); name != "" || m.Duplicates != 1 {
		t.Errorf("%s, %d alike", name, m.Duplicates)
	}
}

// TestMergeInterrupted checks that a merge that was interrupted at any point continues.
func TestMergeInterrupted(t *testing.T) {
	want := whole(t, experiment.Options{}, "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	into := t.TempDir()
	if _, err := results.MergeFolders(ctx, room(), []string{want.Dir}, results.MergeOptions{Parent: into}); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}
	dir := filepath.Join(into, filepath.Base(want.Dir))
	for cut := range len(want.Runs) {
		os.RemoveAll(dir)
		var ids []string
		for _, r := range want.Runs[:cut] {
			ids = append(ids, r.ID)
		}
		if err := os.Rename(partOf(t, want, ids, false), dir); err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(dir, "traces", want.Runs[0].ID+".sha256")) // its files come again
		put(t, filepath.Join(dir, "traces", want.Runs[0].ID+".txt"), "other")
		put(t, filepath.Join(dir, "traces", ".new-77"), "half of")
		m, err := merge(into, false, want.Dir)
		if err != nil || m.New != len(want.Runs)-cut {
			t.Fatal(err, m)
		}
		if name := differ(t, want.Dir, dir); name != "" {
			t.Errorf("after %d: %s", cut, name)
		}
	}
}

// TestMergeHosts checks that host.json of a merged folder has all machines, also after another merge.
func TestMergeHosts(t *testing.T) {
	a, b := whole(t, experiment.Options{}, "x"), whole(t, experiment.Options{}, "x")
	replace(t, filepath.Join(a.Dir, "host.json"), `"host": "`, `"host": "a`)
	replace(t, filepath.Join(b.Dir, "host.json"), `"host": "`, `"host": "b`)
	hosts := func(dir string) (n int) {
		var doc struct{ Hosts []map[string]any }
		data, _ := os.ReadFile(filepath.Join(dir, "host.json"))
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		for _, h := range doc.Hosts {
			if h["host"] == "" || h["revision"] == "" {
				t.Errorf("%v", h)
			}
		}
		return len(doc.Hosts)
	}
	one, err := merge(t.TempDir(), false, a.Dir)
	if err != nil || hosts(one.Dir) != 1 {
		t.Error(err)
	}
	into := t.TempDir()
	two, err := merge(into, false, b.Dir, one.Dir)
	if err != nil || hosts(two.Dir) != 2 {
		t.Error(err)
	}
	two, err = merge(into, false, a.Dir)
	if err != nil || hosts(two.Dir) != 2 {
		t.Error(err)
	}
}

// TestMergeAccounts checks that a merged folder has the executions of all folders, each once.
func TestMergeAccounts(t *testing.T) {
	a, b := whole(t, experiment.Options{}, "x"), whole(t, experiment.Options{}, "x")
	for i, o := range []*results.Outcome{a, b} {
		e := results.NewExecution(results.ByWorkers)
		e.Runs, e.Begun = i+1, e.Begun.Add(-time.Duration(i)*time.Hour)
		if err := results.WriteHosts(o.Dir, results.NewHosts(results.Machine{Host: "a"},
			[]results.Execution{e})); err != nil {
			t.Fatal(err)
		}
	}
	into := t.TempDir()
	for _, dirs := range [][]string{{a.Dir, b.Dir}, {b.Dir}} {
		m, err := merge(into, false, dirs...)
		if err != nil {
			t.Fatal(err)
		}
		h, err := results.ReadHosts(m.Dir)
		if err != nil || len(h.Machines) != 1 || len(h.Executions) != 2 || h.Executions[0].Runs != 2 ||
			h.Executions[1].Runs != 1 || len(m.Hosts.Executions) != 2 {
			t.Errorf("%v, %+v", err, h)
		}
	}
}

// TestMergeWithoutIndex checks that folders of processes that ended before they wrote runs.json are merged by their
// names from weir run. A folder with another name needs a second one with runs.json.
func TestMergeWithoutIndex(t *testing.T) {
	want := whole(t, experiment.Options{}, "x")
	ids := []string{want.Runs[0].ID, want.Runs[1].ID}
	own := func(index bool) string {
		dir := filepath.Join(t.TempDir(), "mine")
		if err := os.Rename(partOf(t, want, ids, index), dir); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for _, c := range []struct {
		dirs []string
		ok   bool
	}{{[]string{own(false)}, false}, {[]string{own(true)}, true}, {[]string{own(false), own(true)}, true},
		{[]string{own(false), partOf(t, want, ids, false)}, true}} {
		m, err := merge(t.TempDir(), false, c.dirs...)
		if (err == nil) != c.ok || !c.ok && !strings.Contains(err.Error(), "the name of the experiment is unknown") {
			t.Errorf("%v: %v", c.dirs, err)
		}
		if err == nil && (m.Found != 2 || m.Name != want.Name || filepath.Base(m.Dir) != filepath.Base(want.Dir)) {
			t.Errorf("%v: %+v", c.dirs, m)
		}
	}
}
