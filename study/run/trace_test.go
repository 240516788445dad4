package run

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/core/trace"
	"weir/internal/document"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/results"
)

// TestExecute_AddsMissingTraces checks that every run has a trace in three forms. Existing runs without it, or with
// a trace of other ports, are executed again and stay the same; other files are kept.
func TestExecute_AddsMissingTraces(t *testing.T) {
	dir := t.TempDir()
	plain := execute(t, runnable, Options{Dir: dir, Executable: "x"})
	before := contents(t, plain.Dir)
	again := func(jobs, found int, ports ...string) {
		t.Helper()
		o := execute(t, runnable, Options{Dir: dir, Executable: "x", Jobs: jobs, Trace: ports})
		if o.Found != found || o.Traces != len(o.Runs) || len(o.Failed) > 0 {
			t.Errorf("%v: %d of %d runs were found, %d have traces, %v", ports, o.Found, len(o.Runs), o.Traces, o.Failed)
		}
	}
	traces := func() map[string]string {
		files := contents(t, plain.Dir)
		out := map[string]string{}
		for name, data := range files {
			if strings.HasPrefix(name, "traces") {
				out[name] = data
				delete(files, name)
			}
		}
		if len(files) != len(before) {
			t.Errorf("%d files, there were %d", len(files), len(before))
		}
		for name, data := range before {
			if files[name] != data {
				t.Errorf("%s is another one", name)
			}
		}
		return out
	}
	n := len(plain.Runs)
	again(2, 0, "s->c")
	one := traces()
	if len(one) != 4*n {
		t.Fatalf("%d files for %d runs", len(one), n)
	}
	again(1, n, "s->c")
	again(1, 0, "s->*", "b->s")
	if other := traces(); len(other) != 4*n || other["traces/"+plain.Runs[0].ID+".txt"] == one["traces/"+
		plain.Runs[0].ID+".txt"] {
		t.Error("other ports give the same trace")
	}
	os.Remove(filepath.Join(plain.Dir, "traces", plain.Runs[1].ID+".pcapng"))
	again(1, n-1, "s->*", "b->s")
	again(1, 0, "s->c")
	for name, data := range traces() {
		if one[name] != data {
			t.Errorf("%s: another time it has other bytes", name)
		}
		if filepath.Ext(name) == results.TraceDigests {
			continue
		}
		events := 0
		if _, err := results.ReadTrace(filepath.Join(plain.Dir, name), func(r *trace.Record) error {
			events++
			return nil
		}); err != nil || events < 10 {
			t.Errorf("%s: %d events, %v", name, events, err)
		}
	}
	// the run's counts agree with its trace
	for _, r := range plain.Runs {
		drops := uint64(0)
		results.ReadTrace(filepath.Join(plain.Dir, "traces", r.ID+".parquet"), func(x *trace.Record) error {
			if x.Kind == trace.Drop {
				drops++
			}
			return nil
		})
		want := uint64(0)
		for _, d := range r.Drops {
			want += d.Count
		}
		if drops < want { // the trace also has the warm-up
			t.Errorf("%s: %d drops, the run counts %d", measure.PointName(r.Point), drops, want)
		}
	}
}

// TestTraceLeftOver checks that the remains of a killed process's trace are removed when the run is executed again.
func TestTraceLeftOver(t *testing.T) {
	dir := t.TempDir()
	plain := execute(t, runnable, Options{Dir: dir, Executable: "x"})
	left := filepath.Join(plain.Dir, "traces", ".new-"+plain.Runs[0].ID+"-123")
	if err := os.MkdirAll(filepath.Dir(left), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, []byte("a part"), 0o666); err != nil {
		t.Fatal(err)
	}
	execute(t, runnable, Options{Dir: dir, Executable: "x", Trace: []string{"s->c"}})
	if files, _ := filepath.Glob(filepath.Join(plain.Dir, "traces", ".new-*")); len(files) > 0 {
		t.Errorf("left over: %v", files)
	}
}

// TestTraceInterrupted checks that finished runs stay in the outcome when their requested trace is interrupted.
func TestTraceInterrupted(t *testing.T) {
	dir := t.TempDir()
	plain := execute(t, runnable, Options{Dir: dir, Executable: "x"})
	before := contents(t, plain.Dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o, err := Execute(ctx, plantest.Load(t, room(), runnable, experiment.Options{}), Options{Jobs: 1, Dir: dir,
		Executable: "x",
		Trace:      []string{"s->c"}, OnProgress: func(p Progress) {
			if p.Done == 2 {
				cancel()
			}
		}})
	if err != nil || len(o.Runs) != 6 || o.Missing != 0 || o.Traces != 2 || o.Untraced != 4 {
		t.Errorf("%d runs, %d missing, %d traces, %d lack theirs, %v", len(o.Runs), o.Missing, o.Traces, o.Untraced, err)
	}
	if want := "6 of 6 runs are finished and kept, 4 of them without a trace; the same command " +
		"continues with the rest"; o.DescribeKept() != want {
		t.Error(o.DescribeKept())
	}
	after := contents(t, plain.Dir)
	for name, data := range before {
		if after[name] != data {
			t.Errorf("%s is another one", name)
		}
	}
}

// TestTraceOfAnotherResult checks that an existing result that differs from the traced run is a failure.
func TestTraceOfAnotherResult(t *testing.T) {
	dir := t.TempDir()
	o := execute(t, runnable, Options{Dir: dir, Executable: "x"})
	name := filepath.Join(o.Dir, "runs", o.Runs[0].ID+".json")
	data, _ := os.ReadFile(name)
	changed := testkit.ReplaceDigest(strings.Replace(string(data), `"events": `, `"events": 1`, 1))
	os.WriteFile(name, []byte(changed), 0o644)
	out, err := Execute(context.Background(), plantest.Load(t, room(), runnable, experiment.Options{}), Options{Dir: dir,
		Executable: "x",
		Trace:      []string{"*"}})
	if err != nil || len(out.Failed) != 1 || !strings.Contains(out.Failed[0].Err.Error(), "a different result") {
		t.Errorf("%v, failed: %v", err, out.Failed)
	}
	if left, _ := filepath.Glob(filepath.Join(o.Dir, "traces", ".new-*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// TestTracePorts checks that a port that no point has is an error that names the nearest and the allowed ones.
func TestTracePorts(t *testing.T) {
	_, err := Execute(context.Background(), plantest.Load(t, room(), runnable, experiment.Options{}),
		Options{Dir: t.TempDir(),
			Trace: []string{"s->c", "s->cc", "x*"}})
	for _, want := range []string{`unknown port "s->cc"; did you mean "s->c"?`, "allowed: a->s, s->a",
		`unknown port "x*"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
	if _, ok := err.(document.InputErrors); !ok {
		t.Errorf("%T", err)
	}
}
