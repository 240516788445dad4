package run

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"weir/core/trace"
	"weir/internal/atomicfile"
	"weir/internal/document"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/results"
)

// TestExecute_RepeatsDamagedRuns checks that a run with a damaged file or trace, or with those of another run, is
// repeated, with a notice that gives the reason. Afterwards the folder has its old content.
func TestExecute_RepeatsDamagedRuns(t *testing.T) {
	good := execute(t, runnable, Options{Dir: t.TempDir(), Executable: "x", Trace: []string{"s->c"}})
	want := contents(t, good.Dir)
	id, other := good.Runs[0].ID, good.Runs[1].ID
	cut := func(n int) func(string) string { return func(text string) string { return text[:n] } }
	replace := func(old, new string) func(string) string {
		return func(text string) string { return strings.Replace(text, old, new, 1) }
	}
	resealed := func(change func(string) string) func(string) string {
		return func(text string) string { return testkit.ReplaceDigest(change(text)) }
	}
	run := "runs/" + id + ".json"
	for _, c := range []struct {
		name, file string
		damage     func(string) string
		notice     string
	}{
		{"run of 0 bytes", run, cut(0), "the file is damaged: unexpected end"},
		{"run of 50 bytes", run, cut(50), "the file is damaged: unexpected end"},
		{"a value", run, replace(`"events": `, `"events": 1`), "its content does not match its digest"},
		{"no digest", run, func(text string) string {
			at := strings.Index(text, ",\n  \"sha256\"")
			return text[:at] + "\n}\n"
		}, "its digest (sha256) at the end is missing"},
		{"seed", run, resealed(replace(`"seed": 1`, `"seed": 11`)), "the file has the seed 11, but the run has 1"},
		{"point", run, resealed(func(text string) string { return strings.ReplaceAll(text, "500kbps", "501kbps") }),
			`the file has the point "rate=501kbps", but the run has "rate=500kbps"`},
		{"id", run, resealed(replace(id, other)), "the file is of the run " + other},
		{"another run", run, func(string) string { return want["runs/"+other+".json"] }, "the file is of the run " + other},
		{"no id", run, resealed(replace(id, "../../../x")), `no run has the id "../../../x"`},
		{"pcapng of 0 bytes", "traces/" + id + ".pcapng", cut(0), "does not match the digest"},
		{"parquet of 50 bytes", "traces/" + id + ".parquet", cut(50), "does not match the digest"},
		{"text of 0 bytes", "traces/" + id + ".txt", cut(0), "does not match the digest"},
		{"text of 50 bytes", "traces/" + id + ".txt", cut(50), "does not match the digest"},
		{"an event", "traces/" + id + ".txt", replace(" drop ", " lost "), "does not match the digest"},
		{"no digests", "traces/" + id + ".sha256", cut(0), "its digest is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := want[c.file]
			if c.file == "traces/"+id+".txt" && c.damage(before) == before { // this run drops nothing
				c.damage = replace(" transmit ", " lost ")
			}
			if err := os.WriteFile(filepath.Join(good.Dir, c.file), []byte(c.damage(before)), 0o644); err != nil {
				t.Fatal(err)
			}
			var notices []string
			o := execute(t, runnable, Options{Dir: filepath.Dir(good.Dir), Executable: "x", Trace: []string{"s->c"},
				OnNotice: func(text string) { notices = append(notices, text) }})
			if len(notices) != 1 || !strings.Contains(notices[0], c.notice) || !strings.Contains(notices[0], id) ||
				!strings.HasSuffix(notices[0], "; the run is repeated") {
				t.Errorf("notices %q, want %s", notices, c.notice)
			}
			if o.Found != len(o.Runs)-1 || len(o.Failed) > 0 {
				t.Errorf("%d of %d were found, failed: %v", o.Found, len(o.Runs), o.Failed)
			}
			if now := contents(t, good.Dir); fmt.Sprint(now) != fmt.Sprint(want) {
				t.Error("the folder is not what it was")
			}
		})
	}
}

// TestTraceOfAnotherRun checks that the trace of another run is not accepted, even if its files and its list of
// digests have the run's names. It also checks that sha256sum(1) can verify the list.
func TestTraceOfAnotherRun(t *testing.T) {
	good := execute(t, runnable, Options{Dir: t.TempDir(), Executable: "x", Trace: []string{"s->c"}})
	want := contents(t, good.Dir)
	other, id := good.Runs[0].ID, good.Runs[1].ID // they differ in their seeds
	list := want["traces/"+other+results.TraceDigests]
	for _, x := range []struct{ name, list string }{
		{"names", strings.ReplaceAll(list, other+".", id+".")},
		{"names and id", strings.ReplaceAll(list, other, id)},
		{"names, id and seed", strings.Replace(strings.ReplaceAll(list, other, id), "seed 1", "seed 2", 1)},
		{"names, nothing else", strings.ReplaceAll(list[strings.Index(list, "\n")+1:], other, id)},
	} {
		t.Run(x.name, func(t *testing.T) {
			for _, form := range traceForms {
				forge(t, good.Dir, id+form.suffix, want["traces/"+other+form.suffix])
			}
			forge(t, good.Dir, id+results.TraceDigests, x.list)
			var notices []string
			execute(t, runnable, Options{Dir: filepath.Dir(good.Dir), Executable: "x", Trace: []string{"s->c"},
				OnNotice: func(text string) { notices = append(notices, text) }})
			if len(notices) != 1 || !strings.Contains(notices[0], id+".sha256 belongs to another run or result") {
				t.Errorf("notices %q", notices)
			}
			if now := contents(t, good.Dir); fmt.Sprint(now) != fmt.Sprint(want) {
				t.Error("the folder is not what it was")
			}
		})
	}
	for line := range strings.Lines(list) { // as sha256sum --check reads it
		digest, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if strings.HasPrefix(line, "#") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(good.Dir, "traces", name))
		if err != nil || fmt.Sprintf("%x", sha256.Sum256(data)) != digest {
			t.Errorf("%q, %v", line, err)
		}
	}
}

func forge(t *testing.T, dir, name, data string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "traces", name), []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestIDsAreNoPaths checks that an id in runs.json cannot be a path.
func TestIDsAreNoPaths(t *testing.T) {
	o := execute(t, runnable, Options{Dir: t.TempDir(), Executable: "x"})
	index := filepath.Join(o.Dir, "runs.json")
	data, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	run, err := os.ReadFile(results.RunFile(o.Dir, o.Runs[0].ID))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"../../x", "..", "", "/etc/passwd", "0123456789ABCDEF", "0123456789abcde/", "a\x00b"} {
		t.Run(id, func(t *testing.T) {
			quoted := fmt.Sprintf("%q", id)
			quoted = strings.ReplaceAll(quoted, `\x00`, `\u0000`)
			text := strings.Replace(string(data), `"`+o.Runs[0].ID+`"`, quoted, 1)
			if err := os.WriteFile(index, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if id == "../../x" { // if it were followed it would be found
				if err := os.WriteFile(filepath.Join(o.Dir, "..", "x.json"), run, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, err := results.Open(room(), o.Dir)
			if err == nil || !strings.Contains(err.Error(), "runs.json:1:1: the file is not one that weir writes: no run has "+
				"the id") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestExecute_SharesRunsWhenConcurrent checks that several executions of one experiment at once share its runs,
// also with traces. Each run is executed once, every execution has all of them, and the folder has the files of a
// single execution.
func TestExecute_SharesRunsWhenConcurrent(t *testing.T) {
	want := contents(t, execute(t, runnable, Options{Dir: t.TempDir(), Executable: "x", Trace: []string{"*"}}).Dir)
	dir := t.TempDir()
	const several = 3
	outcomes := make([]*results.Outcome, several)
	var group sync.WaitGroup
	var begun sync.WaitGroup
	begun.Add(several)
	for i := range several {
		first := true
		group.Go(func() {
			var err error
			outcomes[i], err = Execute(t.Context(), plantest.Load(t, room(), runnable, experiment.Options{}), Options{Dir: dir,
				Executable: "x",
				Trace:      []string{"*"}, Jobs: 2, OnProgress: func(Progress) {
					if first { // none ends before all have begun
						first = false
						begun.Done()
						begun.Wait()
					}
				}})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	carried := 0
	for _, o := range outcomes {
		if o == nil || len(o.Runs) != 6 || o.Missing > 0 || len(o.Failed) > 0 || o.Traces != 6 {
			t.Fatalf("%+v", o)
		}
		carried += len(o.Runs) - o.Found
	}
	if carried != 6 {
		t.Errorf("%d of 6 runs were carried out", carried)
	}
	if got := contents(t, outcomes[0].Dir); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%d files, want %d, or they differ", len(got), len(want))
	}
}

// TestTraceOfOtherPorts checks that traces of other ports are refused while a process makes traces, because a run
// has one trace, and success promises it. The same ports are accepted. Afterwards other ports are accepted, too.
func TestTraceOfOtherPorts(t *testing.T) {
	dir := t.TempDir()
	beside := func(ports ...string) (*results.Outcome, error) {
		return Execute(t.Context(), plantest.Load(t, room(), runnable, experiment.Options{}), Options{Dir: dir,
			Executable: "x", Trace: ports})
	}
	var once sync.Once
	o := execute(t, runnable, Options{Dir: dir, Executable: "x", Jobs: 1, Trace: []string{"s->c"},
		OnProgress: func(Progress) {
			once.Do(func() {
				for _, ports := range []string{"b->s", "*"} {
					_, err := beside(ports)
					if _, ok := err.(document.InputErrors); !ok || !strings.HasPrefix(err.Error(), "--trace:1:1: another process "+
						"traces this experiment into ") || !strings.Contains(err.Error(), ", and of other ports: s->c; allowed: ") {
						t.Errorf("--trace %s: %v", ports, err)
					}
				}
				ctx, stop := context.WithCancel(t.Context())
				stop()
				if _, err := Execute(ctx, plantest.Load(t, room(), runnable, experiment.Options{}), Options{Dir: dir,
					Executable: "x",
					Trace:      []string{"*->c"}}); err != nil {
					t.Errorf("the same ports: %v", err)
				}
			})
		}})
	if o.Traces != 6 {
		t.Errorf("%d traces", o.Traces)
	}
	for _, r := range o.Runs {
		text, err := os.ReadFile(filepath.Join(o.Dir, "traces", r.ID+".txt"))
		if !strings.HasPrefix(string(text), trace.TextHead([]string{"s->c"})) || err != nil {
			t.Errorf("%s has a trace of other ports, %v", r.ID, err)
		}
	}
	if again, err := beside("b->s"); err != nil || again.Traces != 6 || again.Found != 0 {
		t.Errorf("afterwards: %+v, %v", again, err)
	}
	if left, _ := filepath.Glob(filepath.Join(o.Dir, "traces", ".new-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestTakenOver checks that an execution waits for a run that another living process has claimed, and executes it
// if that process gives up.
func TestTakenOver(t *testing.T) {
	o := execute(t, runnable, Options{Dir: t.TempDir(), Executable: "x"})
	file := results.RunFile(o.Dir, o.Runs[2].ID)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	claim, err := atomicfile.Claim(file)
	if err != nil {
		t.Fatal(err)
	}
	var notices []string
	again := execute(t, runnable, Options{Dir: filepath.Dir(o.Dir), Executable: "x", OnNotice: func(text string) {
		notices = append(notices, text)
		claim.Discard()
	}})
	if len(notices) != 1 || !strings.HasPrefix(notices[0], "another process executes 1 of the runs; ") ||
		len(again.Runs) != 6 || again.Found != 5 {
		t.Errorf("notices %q, %d runs, %d found", notices, len(again.Runs), again.Found)
	}
	names, _ := filepath.Glob(filepath.Join(o.Dir, "*", ".new-*"))
	if len(names) > 0 {
		t.Errorf("left: %v", names)
	}
}
