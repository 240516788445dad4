package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/results"
	"weir/study/run/remote"
)

// elsewhere is a runner in this process whose workers get the experiment from its parcel only.
type elsewhere struct {
	t        *testing.T
	room     int
	unpacked *experiment.Spec
	change   func(t Task, data []byte, err error) ([]byte, error)
	begun    error
	ended    int

	withdrawn []string // ids
	lock      sync.Mutex
	order     []float64 // packet-hops, as runs came
}

func (e *elsewhere) Begin(_ context.Context, w *Work) error {
	manifest, files := remote.PackParcel(w.Spec)
	s, err := remote.UnpackParcel(room(), manifest, func(digest string) ([]byte, error) { return files[digest], nil })
	if err != nil {
		e.t.Error(err)
	}
	e.unpacked = s
	return e.begun
}

func (e *elsewhere) MaxRuns() int { return e.room }

func (e *elsewhere) ExecuteRun(ctx context.Context, t Task, far func(uint64, float64)) ([]byte, error) {
	e.lock.Lock()
	e.order = append(e.order, t.Hops)
	e.lock.Unlock()
	for _, r := range plan.ListRunsOn(e.unpacked, experiment.Sim) {
		if r.ID("e") == t.ID {
			data, err := SimulateRun(ctx, r, "e", 1, far)
			if e.change != nil {
				return e.change(t, data, err)
			}
			return data, err
		}
	}
	return nil, errors.New("the parcel has no such run")
}

func (e *elsewhere) VerifyResults(context.Context) (withdrawn []string, err error) {
	withdrawn, e.withdrawn = e.withdrawn, nil
	return withdrawn, nil
}

func (e *elsewhere) Close() error { e.ended++; return nil }

// TestRunnerSameBytes checks that the folder has the same bytes with any runner. It includes an experiment with
// files, results that return largest first, and an execution that continues after an interruption.
func TestRunnerSameBytes(t *testing.T) {
	const listed = `duration: 200ms
topology: {file: net.txt, format: hpcc}
traffic: [{name: list, file: flows.txt, format: hpcc, transport: window, window: 10 packets}]
switch: [ecmp]
repeat: 3
measure: [fct]
`
	for name, text := range map[string]string{"sweep": runnable, "files": listed} {
		t.Run(name, func(t *testing.T) {
			src := file("test.yaml", text)
			src.Open = func(name string) ([]byte, error) {
				data, ok := map[string]string{"net.txt": "5 1 4\n4\n0 4 10Mbps 0.001ms 0\n1 4 10Mbps 0.001ms 0\n" +
					"2 4 10Mbps 0.001ms 0\n3 4 10Mbps 0.001ms 0\n",
					"flows.txt": "2\n0 1 3 100 20000 0.01\n2 1 3 100 4000 0.02\n"}[name]
				if !ok {
					return nil, fmt.Errorf("no file %s", name)
				}
				return []byte(data), nil
			}
			s := plantest.LoadSource(t, room(), src, experiment.Options{})
			here, there := t.TempDir(), t.TempDir()
			if _, err := Execute(t.Context(), s, Options{Dir: here, Executable: "e"}); err != nil {
				t.Fatal(err)
			}
			e := &elsewhere{t: t, room: 2}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var n atomic.Int64
			e.change = func(_ Task, data []byte, err error) ([]byte, error) {
				switch count := n.Add(1); {
				case count == 2:
					stop()
				case count > 2: // it has ended just before the interruption
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return data, err
			}
			o, err := Execute(ctx, s, Options{Dir: there, Executable: "e", Runner: e})
			if err != nil || o.Missing == 0 || len(o.Runs) == 0 || len(o.Failed) > 0 || e.ended != 1 {
				t.Fatalf("%v, %d missing of %d, failed %v, ended %d times", err, o.Missing, len(o.Runs), o.Failed, e.ended)
			}
			e.room, e.change = 100, nil
			o, err = Execute(t.Context(), s, Options{Dir: there, Executable: "e", Runner: e})
			if err != nil || o.Missing > 0 || o.Found == 0 || e.ended != 2 {
				t.Fatalf("%v, %d missing, %d found, ended %d times", err, o.Missing, o.Found, e.ended)
			}
			if a, b := contents(t, here), contents(t, there); !maps.Equal(a, b) {
				t.Errorf("%q and %q, or what they have, differ", slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
			}
			if e.ended != 2 {
				t.Errorf("ended %d times", e.ended)
			}
			if _, err := Execute(t.Context(), s, Options{Dir: there, Executable: "e", Runner: e}); err != nil || e.ended != 2 {
				t.Errorf("%v; asked for nothing, ended %d times", err, e.ended)
			}
		})
	}
}

// TestRunnerLargestFirst checks that the runs with the most packet-hops are handed over first.
func TestRunnerLargestFirst(t *testing.T) {
	e := &elsewhere{t: t, room: 1}
	execute(t, runnable, Options{Executable: "e", Runner: e})
	if !slices.IsSortedFunc(e.order, func(a, b float64) int { return int(b - a) }) || e.order[0] == e.order[5] {
		t.Errorf("%v", e.order)
	}
}

// TestRunnerWithdraws checks that runs that a runner withdraws are executed again, even if they existed before.
func TestRunnerWithdraws(t *testing.T) {
	dir := t.TempDir()
	s := plantest.Load(t, room(), runnable, experiment.Options{})
	runs := plan.ListRunsOn(s, experiment.Sim)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	lie := func(_ Task, data []byte, err error) ([]byte, error) {
		run, _ := results.ReadRun(data)
		run.Events++
		return run.EncodeJSON(true), err
	}
	e := &elsewhere{t: t, room: 1, change: func(task Task, data []byte, err error) ([]byte, error) {
		stop()
		return lie(task, data, err)
	}}
	if o, err := Execute(ctx, s, Options{Dir: dir, Executable: "e", Runner: e}); err != nil || len(o.Runs) != 1 {
		t.Fatal(err)
	}
	made := map[string]int{}
	e.change = func(task Task, data []byte, err error) ([]byte, error) {
		if made[task.ID]++; len(e.withdrawn) > 0 || len(made) > 5 {
			return data, err
		}
		if len(made) == 5 && made[task.ID] == 1 { // the last but one: now it is known that all were lies
			for _, r := range runs {
				e.withdrawn = append(e.withdrawn, r.ID("e"))
			}
		}
		return lie(task, data, err)
	}
	o, err := Execute(t.Context(), s, Options{Dir: dir, Executable: "e", Runner: e})
	if err != nil || len(o.Runs) != 6 || o.Found > 0 {
		t.Fatalf("%v, %d runs, %d found", err, len(o.Runs), o.Found)
	}
	here := t.TempDir()
	if _, err := Execute(t.Context(), s, Options{Dir: here, Executable: "e"}); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(contents(t, here), contents(t, dir)) {
		t.Error("other bytes")
	}
}

// TestRunnerErrors checks that returned results are verified. An error fails its run only, and the others continue.
// A LostError ends the execution, and keeps the finished runs.
func TestRunnerErrors(t *testing.T) {
	first := ""
	other := func(t Task, data []byte, err error) ([]byte, error) {
		return bytes.Replace(data, []byte(`"seed": 1`), []byte(`"seed": 2`), 1), err
	}
	one := func(change func(t Task, data []byte, err error) ([]byte, error)) func(Task, []byte, error) ([]byte, error) {
		var lock sync.Mutex
		return func(t Task, data []byte, err error) ([]byte, error) {
			lock.Lock()
			defer lock.Unlock()
			if first == "" {
				first = t.ID
			}
			if t.ID == first {
				return change(t, data, err)
			}
			return data, err
		}
	}
	full := errors.New("the disk is full")
	for _, x := range []struct {
		name   string
		begun  error
		change func(Task, []byte, error) ([]byte, error)
		failed string // of the run
		lost   string // of all
	}{
		{"changed", nil, other, "the returned result does not belong to the run: the file is damaged", ""},
		{"cut", nil, func(_ Task, data []byte, err error) ([]byte, error) { return data[:len(data)/2], err },
			"the returned result does not belong to the run: the file is damaged", ""},
		{"empty", nil, func(Task, []byte, error) ([]byte, error) { return nil, nil },
			"the returned result does not belong to the run", ""},
		{"error", nil, func(Task, []byte, error) ([]byte, error) { return nil, errors.New("lost six times") },
			"lost six times", ""},
		{"lost", nil, func(Task, []byte, error) ([]byte, error) { return nil, LostError(full) }, "", "the disk is full; "},
		{"no beginning", full, nil, "", "the disk is full; 0 of 6 runs"},
	} {
		t.Run(x.name, func(t *testing.T) {
			first = ""
			e := &elsewhere{t: t, room: 1, begun: x.begun}
			if x.change != nil {
				e.change = one(x.change)
			}
			s := plantest.Load(t, room(), runnable, experiment.Options{})
			o, err := Execute(t.Context(), s, Options{Dir: t.TempDir(), Executable: "e", Runner: e})
			if x.lost != "" {
				if err == nil || !strings.HasPrefix(err.Error(), x.lost) {
					t.Errorf("%v, want %s", err, x.lost)
				}
			} else if err != nil || len(o.Failed) != 1 || !strings.HasPrefix(o.Failed[0].Err.Error(), x.failed) ||
				len(o.Runs) != 5 {
				t.Errorf("%v, failed %v", err, o.Failed)
			}
			if e.ended != 1 {
				t.Errorf("ended %d times", e.ended)
			}
		})
	}
	for why, o := range map[string]Options{"runs of the lab need this machine": {Lab: &Lab{}},
		"cannot trace": {Trace: []string{"s->c"}, Dir: t.TempDir()}} {
		o.Runner = &elsewhere{t: t}
		if _, err := Execute(t.Context(), plantest.Load(t, room(), runnable, experiment.Options{}), o); err == nil ||
			!strings.Contains(err.Error(), why) {
			t.Errorf("%v", err)
		}
	}
}

// TestRunnerOther checks that another run's result is not accepted for a run, even with the right digest.
func TestRunnerOther(t *testing.T) {
	dir := t.TempDir()
	s := plantest.Load(t, room(), runnable, experiment.Options{})
	if _, err := Execute(t.Context(), s, Options{Dir: dir, Executable: "e"}); err != nil {
		t.Fatal(err)
	}
	runs := plan.ListRunsOn(s, experiment.Sim)
	folder, _ := filepath.Glob(filepath.Join(dir, "*"))
	other := contents(t, folder[0])[filepath.Join("runs", runs[0].ID("e")+".json")]
	if _, err := results.VerifyRun([]byte(other), runs[0], runs[0].ID("e")); err != nil {
		t.Error(err)
	}
	if _, err := results.VerifyRun([]byte(other), runs[1], runs[1].ID("e")); err == nil {
		t.Error("taken")
	}
}

// TestUnpackParcel_RejectsWrongFiles checks that unpacking a parcel gives exactly its files, with the content that
// their digests name.
func TestUnpackParcel_RejectsWrongFiles(t *testing.T) {
	s := plantest.Load(t, room(), runnable, experiment.Options{})
	manifest, files := remote.PackParcel(s)
	fetch := func(digest string) ([]byte, error) { return files[digest], nil }
	if u, err := remote.UnpackParcel(room(), manifest, fetch); err != nil || u.Hash() != s.Hash() {
		t.Errorf("%v", err)
	}
	strange := runnable + "matrix: 1\n"
	listed := small + "traffic: [{name: x, file: /etc/passwd, format: hpcc, " +
		"transport: window, window: 1 packets}]\nswitch: [forward]\nmeasure: [fct]\n"
	for _, x := range []struct{ name, manifest, want string }{
		{"no JSON", "{", "the file is not a parcel of an experiment"},
		{"another key", `{"format": 2, "path": "x"}`, "the file is not a parcel of an experiment"},
		{"another format", `{"format": 1}`, "the parcel has format 1 of another version of weir; this version supports 2"},
		{"another content", strings.Replace(string(manifest), remote.Digest([]byte(runnable)), remote.Digest([]byte("x")), 1),
			"its content has the hash"},
		{"not valid", strings.Replace(string(manifest), remote.Digest([]byte(runnable)), remote.Digest([]byte(strange)), 1),
			"matrix"},
		{"another file", strings.Replace(string(manifest), remote.Digest([]byte(runnable)), remote.Digest([]byte(listed)), 1),
			`the parcel of the experiment does not have the file "/etc/passwd"`},
	} {
		t.Run(x.name, func(t *testing.T) {
			files[remote.Digest([]byte(strange))], files[remote.Digest([]byte(listed))] = []byte(strange), []byte(listed)
			if _, err := remote.UnpackParcel(room(), []byte(x.manifest), fetch); err == nil || !strings.Contains(err.Error(),
				x.want) {
				t.Errorf("%v, want %s", err, x.want)
			}
		})
	}
}
