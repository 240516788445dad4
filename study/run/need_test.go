package run

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/testkit/plantest"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/results"
)

// byNeed returns an experiment with three points whose values differ by the phases of its senders.
func byNeed(repeat string) string {
	return strings.Replace(small, "repeat: 2", "repeat: "+repeat, 1) + smallTraffic + `switch: [forward]
sweep: {rate: [1Mbps, 2100kbps, 4Mbps]}
measure: [goodput, delay]
expect: [{id: more, says: more is more, along: rate, that: next.goodput.a > goodput.a}]
`
}

// wanted needs 10 seeds.
const (
	wanted     = "{measure: delay.a, until: 6%, least: 3, most: 30}"
	wantedN    = 10
	wantedRuns = 3 * wantedN
)

// left returns the files of a results folder below dir, without runs that do not count, and the number of those.
func left(t *testing.T, dir string) (files map[string]string, beyond int) {
	t.Helper()
	files = contents(t, dir)
	index := ""
	for name, text := range files {
		if filepath.Base(name) == "runs.json" {
			index = text
		}
	}
	for name := range files {
		if id := strings.TrimSuffix(filepath.Base(name), ".json"); filepath.Base(filepath.Dir(name)) == "runs" &&
			!strings.Contains(index, id) {
			delete(files, name)
			beyond++
		}
	}
	return files, beyond
}

// home returns the files of the experiment with one run at a time. All other executions must write the same.
func home(t *testing.T, text string) map[string]string {
	t.Helper()
	if files, made := fixtures.homes[text]; made {
		return files
	}
	dir := t.TempDir()
	execute(t, text, Options{Dir: dir, Executable: "e", Jobs: 1})
	files, _ := left(t, dir)
	fixtures.homes[text] = files
	return files
}

// ahead writes every other run to a folder below dir, also of later seeds than are needed, as another process may.
func ahead(t *testing.T, dir string) {
	t.Helper()
	s := plantest.Load(t, room(), byNeed(wanted), experiment.Options{})
	if fixtures.ahead == "" {
		shared := fixtures.newDir(t)
		makeAhead(t, s, results.FolderPath(s, shared, experiment.Sim))
		fixtures.ahead = shared
	}
	linkWithout(t, dir, fixtures.ahead, nil)
}

func makeAhead(t *testing.T, s *experiment.Spec, folder string) {
	t.Helper()
	if err := results.MakeFolder(folder); err != nil {
		t.Fatal(err)
	}
	for k, r := range plan.ListRuns(s) {
		if k%2 != 0 {
			continue
		}
		data, err := SimulateRun(t.Context(), r, "e", 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(results.RunFile(folder, r.ID("e")), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func sameAs(t *testing.T, want, got map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s differs, or is missing:\n%.500s\nwant\n%.500s", name, got[name], want[name])
			return
		}
	}
	if !maps.Equal(want, got) {
		t.Errorf("%q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// TestSeedsByNeed checks that the outcome has the first seeds that are enough, and no others, in its runs, claims
// and document.
func TestSeedsByNeed(t *testing.T) {
	files := home(t, byNeed(wanted))
	dir := t.TempDir()
	ahead(t, dir)
	o := execute(t, byNeed(wanted), Options{Dir: dir, Executable: "e", Jobs: 30})
	if len(o.Runs) != wantedRuns || o.Missing != 0 || o.Seeds() != wantedN || o.Chosen.State != results.Met {
		t.Fatalf("%d runs, %d missing: %s", len(o.Runs), o.Missing, o.Chosen)
	}
	for k, r := range o.Runs {
		if r.Seed != uint64(1+k%wantedN) {
			t.Errorf("run %d has the seed %d", k, r.Seed)
		}
	}
	if c := o.Claims[0]; c.Verdict != claim.Holds || c.N != wantedRuns {
		t.Errorf("%+v", c)
	}
	var doc struct {
		Seeds struct {
			N          int
			Chosen     string
			Measure    string
			Until      float64
			Confidence float64
			Least      int
			Most       int
			Share      float64
			Point      map[string]string
		}
		Runs []json.RawMessage
	}
	if err := json.Unmarshal(o.JSON(), &doc); err != nil {
		t.Fatal(err)
	}
	s := doc.Seeds
	if s.N != wantedN || s.Chosen != "met" || s.Measure != "delay.a" || s.Until != 0.06 || s.Confidence != 0.95 ||
		s.Least != 3 || s.Most != 30 || !(s.Share > 0.05 && s.Share <= 0.06) || s.Point["rate"] == "" ||
		len(doc.Runs) != wantedRuns {
		t.Errorf("%+v", doc.Seeds)
	}
	got, beyond := left(t, dir)
	if sameAs(t, files, got); beyond == 0 {
		t.Error("there is no run beyond: nothing is shown")
	}
	again, err := results.Open(room(), o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if string(again.JSON()) != string(o.JSON()) || again.Missing != 0 {
		t.Errorf("opened again it is %s, with %d missing", again.Chosen, again.Missing)
	}
	table := &strings.Builder{}
	if err := o.CSV(table); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(table.String()), "\n")
	if !strings.HasSuffix(lines[0], ",value,seeds") || !strings.Contains(lines[1], "chosen by the data: ") {
		t.Errorf("%s\n%s", lines[0], lines[1])
	}
}

// TestSeedsByNeedSameBytes checks that the bytes are the same for any number of concurrent runs, in any order, from
// any runner, and with existing runs.
func TestSeedsByNeedSameBytes(t *testing.T) {
	files := home(t, byNeed(wanted))
	for _, x := range []struct {
		name string
		o    func(dir string) Options
	}{
		{"two at a time", func(string) Options { return Options{Jobs: 2} }},
		{"elsewhere", func(string) Options {
			var order orderOfReturns
			return Options{Runner: &elsewhere{t: t, room: 40, change: func(_ Task, data []byte, err error) ([]byte, error) {
				order.wait()
				return data, err
			}}}
		}},
		{"with later seeds", func(dir string) Options {
			ahead(t, dir)
			return Options{Jobs: 1}
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				o := x.o(dir)
				o.Dir, o.Executable = dir, "e"
				execute(t, byNeed(wanted), o)
				got, _ := left(t, dir)
				sameAs(t, files, got)
			})
		})
	}
}

// orderOfReturns makes runs return in another order than they began. They wait on a bubble's clock.
type orderOfReturns struct{ runs atomic.Int64 }

func (o *orderOfReturns) wait() { time.Sleep(time.Duration(o.runs.Add(1)*7%20) * time.Millisecond) }

// TestSeedsByNeedOnCluster checks that a cluster with enough slots for all seeds gets only the number that is
// likely needed, and at most twice the existing number. After the first three seeds it gets six. If nine are almost
// enough, it does not get nine more.
func TestSeedsByNeedOnCluster(t *testing.T) {
	for _, c := range []struct {
		least string
		most  int // seeds that are asked for
	}{{"3", 12}, {"9", 12}} {
		t.Run(c.least, func(t *testing.T) {
			text, e := byNeed(strings.Replace(wanted, "least: 3", "least: "+c.least, 1)), &elsewhere{t: t, room: 1000}
			dir := t.TempDir()
			o := execute(t, text, Options{Dir: dir, Executable: "e", Runner: e})
			if asked := len(e.order); o.Seeds() != wantedN || asked < wantedRuns || asked > 3*c.most {
				t.Errorf("%d runs were asked for, of which %d seeds count", asked, o.Seeds())
			}
			got, _ := left(t, dir)
			sameAs(t, home(t, text), got)
		})
	}
}

// TestSeedsByNeedGoOn checks that an execution interrupted at any point continues to the same result. Until then
// the number of seeds is open, and the outcome has the finished runs of the first seeds.
func TestSeedsByNeedGoOn(t *testing.T) {
	files := home(t, byNeed(wanted))
	dir, text := t.TempDir(), byNeed(wanted)
	interruptions := 0
	for at := 4; ; at += 5 { // runs
		ctx, stop := context.WithCancel(t.Context())
		done := 0
		o, err := Execute(ctx, plantest.Load(t, room(), text, experiment.Options{}), Options{Dir: dir, Executable: "e",
			Jobs: 2,
			OnProgress: func(p Progress) {
				if done = max(done, p.Done); done >= at {
					stop()
				}
				if p.Done > p.Runs || p.Share > 1 {
					t.Errorf("%+v", p)
				}
			}})
		stop()
		if err != nil {
			t.Fatal(err)
		}
		if o.Chosen.State == results.Met {
			break
		}
		interruptions++
		if o.Chosen.State != results.Pending || o.Missing == 0 || len(o.Runs)+o.Missing != 3*o.Seeds() ||
			!strings.Contains(o.DescribeKept(), " of at least ") {
			t.Fatalf("%s: %d runs, %d missing; %s", o.Chosen, len(o.Runs), o.Missing, o.DescribeKept())
		}
		if again, err := results.Open(room(), o.Dir); err != nil || string(again.JSON()) != string(o.JSON()) ||
			again.Missing != o.Missing {
			t.Errorf("%v: opened again it is %s", err, again.Chosen)
		}
	}
	got, _ := left(t, dir)
	if sameAs(t, files, got); interruptions < 3 {
		t.Errorf("%d interruptions", interruptions)
	}
}

// TestSeedsByNeedTogether checks that several processes share the seeds of one experiment, and have the same
// outcome.
func TestSeedsByNeedTogether(t *testing.T) {
	files := home(t, byNeed(wanted))
	dir := t.TempDir()
	s := plantest.Load(t, room(), byNeed(wanted), experiment.Options{})
	outcomes := make([]*results.Outcome, 3)
	var group sync.WaitGroup
	for k := range outcomes {
		group.Go(func() {
			o, err := Execute(t.Context(), s, Options{Dir: dir, Executable: "e", Jobs: 1 + 4*k})
			if err != nil {
				t.Error(err)
			}
			outcomes[k] = o
		})
	}
	group.Wait()
	for k, o := range outcomes {
		if o.Seeds() != wantedN || len(o.Runs) != wantedRuns || o.Missing > 0 || len(o.Failed) > 0 {
			t.Errorf("process %d: %s, %d missing, failed %v", k, o.Chosen, o.Missing, o.Failed)
		}
	}
	got, _ := left(t, dir)
	sameAs(t, files, got)
}

// TestSeedsByNeedWithdrawn checks that a withdrawn result has no effect on the number of seeds. Here it is a wrong
// value of one of the first seeds, which would require more.
func TestSeedsByNeedWithdrawn(t *testing.T) {
	files := home(t, byNeed(wanted))
	s, dir := plantest.Load(t, room(), byNeed(wanted), experiment.Options{}), t.TempDir()
	bad := plan.ListRuns(s)[1].ID("e")
	e := &elsewhere{t: t, room: 1, withdrawn: []string{bad}}
	wrong, made := true, 0
	e.change = func(k Task, data []byte, err error) ([]byte, error) {
		if made++; k.ID != bad || !wrong {
			return data, err
		}
		wrong = false
		r, err := results.ReadRun(data)
		if err != nil {
			return nil, err
		}
		for i := range r.Measures {
			for k := range r.Measures[i].Groups {
				r.Measures[i].Groups[k].Value *= 100
			}
		}
		return r.EncodeJSON(true), nil
	}
	execute(t, byNeed(wanted), Options{Dir: dir, Executable: "e", Runner: e})
	got, _ := left(t, dir)
	if sameAs(t, files, got); wrong || made > wantedRuns+3+1 { // at most one seed beyond
		t.Errorf("%d runs were made", made)
	}
}

// TestSeedsByNeedMerged checks that merged folders, each with a part of the runs, equal the folder of one machine.
// Runs of later seeds do not count there either.
func TestSeedsByNeedMerged(t *testing.T) {
	files := home(t, byNeed(wanted))
	root := t.TempDir()
	ahead(t, root)
	whole := execute(t, byNeed(wanted), Options{Dir: root, Executable: "e", Jobs: 30})
	var parts []string
	for part := range 2 {
		dir := filepath.Join(t.TempDir(), filepath.Base(whole.Dir))
		linkWithout(t, dir, whole.Dir, nil)
		runs, _ := filepath.Glob(filepath.Join(dir, "runs", "*"))
		for k, name := range append(runs, filepath.Join(dir, "runs.json")) {
			if k%2 == part || k == len(runs) {
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
			}
		}
		parts = append(parts, dir)
	}
	into := t.TempDir()
	m, err := results.MergeFolders(t.Context(), room(), parts, results.MergeOptions{Parent: into})
	if err != nil {
		t.Fatal(err)
	}
	if m.New != wantedRuns || m.Missing > 0 || m.Seeds() != wantedN || m.Duplicates != 0 {
		t.Errorf("%d new, %d missing, %d in both: %s", m.New, m.Missing, m.Duplicates, m.Chosen)
	}
	got, beyond := left(t, into)
	if sameAs(t, files, got); beyond == 0 {
		t.Error("no later seed was merged: nothing is shown")
	}
}

// TestSeedsByNeedFailed checks that a run that fails has no value: the number of seeds stays open, and the failure
// is reported. After a later success, the files equal those of an undisturbed execution.
func TestSeedsByNeedFailed(t *testing.T) {
	files := home(t, byNeed(wanted))
	s := plantest.Load(t, room(), byNeed(wanted), experiment.Options{})
	for _, x := range []struct {
		name          string
		point, seed   int
		n, begun      int
		state         results.ChoiceState
		failed, finds int
	}{
		{"of the least", 1, 2, 3, 9, results.Pending, 1, 8},
		{"in between", 1, 7, 8, 3 * wantedN, results.Pending, 1, 23},
		{"beyond", 1, 11, wantedN, 0, results.Met, 0, wantedRuns},
	} {
		t.Run(x.name, func(t *testing.T) {
			bad := plan.ListRuns(s)[30*x.point+x.seed].ID("e")
			var lock sync.Mutex
			begun := 0
			dir := t.TempDir()
			o := execute(t, byNeed(wanted), Options{Dir: dir, Executable: "e", Runner: &elsewhere{t: t, room: 1,
				change: func(k Task, data []byte, err error) ([]byte, error) {
					lock.Lock()
					defer lock.Unlock()
					if begun++; k.ID == bad {
						return nil, errors.New("lost six times")
					}
					return data, err
				}}})
			if o.Chosen.N != x.n || o.Chosen.State != x.state || len(o.Failed) != x.failed || len(o.Runs) != x.finds ||
				o.Missing != 0 || x.begun > 0 && begun > x.begun {
				t.Errorf("%s: %d runs, %d failed, %d missing; %d were begun", o.Chosen, len(o.Runs), len(o.Failed), o.Missing,
					begun)
			}
			execute(t, byNeed(wanted), Options{Dir: dir, Executable: "e", Jobs: 2})
			got, _ := left(t, dir)
			sameAs(t, files, got)
		})
	}
}

// TestSeedsByNeedNotReached checks that all seeds count, and that the outcome reports it, if the maximum number of
// seeds is not enough.
func TestSeedsByNeedNotReached(t *testing.T) {
	o := execute(t, byNeed("{measure: delay.a, until: 2%, least: 3, most: 7}"), Options{Executable: "e"})
	if len(o.Runs) != 21 || o.Chosen.State != results.Unmet || !strings.Contains(o.Chosen.String(),
		"7 runs per point, the maximum: delay.a within 2 % at 95 % is not reached; rate=2100kbps is within ") {
		t.Errorf("%d runs: %s", len(o.Runs), o.Chosen)
	}
}

// TestSeedsByNeedSameRuns checks that a run has the same id with a fixed number of seeds and with a number by need.
func TestSeedsByNeedSameRuns(t *testing.T) {
	number, need := plantest.Load(t, room(), byNeed("30"), experiment.Options{}), plantest.Load(t, room(), byNeed(wanted),
		experiment.Options{})
	runs := plan.ListRuns(number)
	for i, r := range plan.ListRuns(need) {
		if r.ID("e") != runs[i].ID("e") || r.Seed != runs[i].Seed {
			t.Errorf("run %d is another", i)
		}
	}
	if len(plan.ListRunsOn(need, experiment.Lab)) != 9 {
		t.Errorf("%d runs in the lab", len(plan.ListRunsOn(need, experiment.Lab)))
	}
}

// TestSeedsByNeedTraces checks that each run that counts has a trace, also runs that existed without one.
func TestSeedsByNeedTraces(t *testing.T) {
	dir := t.TempDir()
	execute(t, byNeed(wanted), Options{Dir: dir, Executable: "e"})
	o := execute(t, byNeed(wanted), Options{Dir: dir, Executable: "e", Trace: []string{"s->c"}})
	if o.Traces != wantedRuns || o.Seeds() != wantedN || len(o.Failed) > 0 {
		t.Errorf("%d traces of %s; %v", o.Traces, o.Chosen, o.Failed)
	}
	o = execute(t, byNeed(wanted), Options{Dir: dir, Executable: "e", Fresh: true})
	if o.Found != 0 || o.Seeds() != wantedN {
		t.Errorf("%d found of %s", o.Found, o.Chosen)
	}
}
