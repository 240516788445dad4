package jetstream

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/results"
	"weir/study/run"
)

// tracedSweep returns a sweep with the given trace quota.
func tracedSweep(t testing.TB, runs int, quota string) *experiment.Spec {
	t.Helper()
	return plantest.Load(t, registry(), strings.Replace(plantest.Small, "repeat: 2", fmt.Sprintf("repeat: %d", runs/2), 1)+
		plantest.SmallTraffic+"switch: [forward]\nsweep: {rate: [500kbps, 1Mbps]}\nmeasure: [goodput, delay]\n"+quota,
		experiment.Options{})
}

const quota = "trace_quota: 10 MB\n"

// traced executes a sweep on workers, with traces of ports.
func (p *party) traced(ctx context.Context, s *experiment.Spec, ports ...string) (*results.Outcome, error) {
	return run.Execute(ctx, s, run.Options{Dir: p.dir, Executable: executable, Runner: New(p.config), Trace: ports,
		OnProgress: p.progress, OnNotice: p.notices.add})
}

// tracedHere returns the files that one machine writes.
func tracedHere(t testing.TB, s *experiment.Spec, ports ...string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	o, err := run.Execute(t.Context(), s, run.Options{Dir: dir, Executable: executable, Trace: ports})
	if err != nil || o.Traces != len(o.Runs) || len(o.Runs) == 0 {
		t.Fatalf("%v, %+v", err, o)
	}
	return contents(t, dir)
}

// TestTracesOfWorkers checks that workers return traces, with the bytes of one machine, if the experiment bounds
// them. Finished runs without a trace are repeated for it. A difference in the trace alone excludes a worker.
func TestTracesOfWorkers(t *testing.T) {
	s := tracedSweep(t, 10, quota)
	want := tracedHere(t, s, "s->c", "a*")
	for name, x := range map[string]struct {
		before bool
		change func([]byte) []byte
		said   string
	}{
		"honest":              {},
		"runs that are there": {before: true},
		"a trace of its own": {change: func(data []byte) []byte {
			at := bytes.LastIndex(data, []byte("transmit"))
			return append(append(bytes.Clone(data[:at]), "transmut"...), data[at+8:]...)
		}, said: "differs from the result of the run"},
		"the run without it": {change: func(data []byte) []byte {
			at, end := bytes.IndexByte(data, '{'), bytes.LastIndexByte(data[:bytes.Index(data, []byte("trace.pcapng"))], '}')
			return append(bytes.Clone(data[at:end+1]), '\n')
		}, said: " is invalid: "},
	} {
		runBubble(t, name, func(t *testing.T) {
			p := newParty(t)
			p.guests(func(j *Join) {
				if x.change != nil {
					p.worker(Worker{Name: "liar", change: x.change}, j)
					until(t, "the liar to be found", func() bool { return p.notices.has("liar is excluded") })
				}
				p.worker(Worker{Name: "a"}, j)
				p.worker(Worker{Name: "b"}, j)
			})
			if x.before {
				if _, err := run.Execute(t.Context(), s, run.Options{Dir: p.dir, Executable: executable}); err != nil {
					t.Fatal(err)
				}
			}
			o, err := p.traced(t.Context(), s, "s->c", "a*")
			if err != nil || o.Missing > 0 || len(o.Failed) > 0 || o.Traces != 10 {
				t.Fatalf("%v, %d missing, %d traces, failed %v", err, o.Missing, o.Traces, o.Failed)
			}
			if p.same(want); !p.notices.has(x.said) {
				t.Errorf("nobody said %q: %q", x.said, p.notices.texts())
			}
		})
	}
}

// TestTracesAreBounded checks that a trace that is larger than its quota fails its run, on a worker as in this
// process. Without a quota, traces on workers are refused.
func TestTracesAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const says = "its trace is larger than the experiment's trace_quota, 1kB"
		s := tracedSweep(t, 2, "trace_quota: 1 kB\n")
		p := newParty(t)
		p.guests(func(j *Join) { p.worker(Worker{Name: "a"}, j) })
		far, err := p.traced(t.Context(), s, "s->c")
		if err != nil {
			t.Fatal(err)
		}
		near, err := run.Execute(t.Context(), s, run.Options{Dir: t.TempDir(), Executable: executable,
			Trace: []string{"s->c"}})
		if err != nil {
			t.Fatal(err)
		}
		for place, o := range map[string]*results.Outcome{"here": near, "at a worker": far} {
			if left, _ := filepath.Glob(filepath.Join(o.Dir, "traces", "*")); len(o.Failed) != 2 ||
				o.Failed[0].Err.Error() != says || len(left) > 0 {
				t.Errorf("%s: failed %v, %q is left", place, o.Failed, left)
			}
		}
		if _, err := p.traced(t.Context(), tracedSweep(t, 2, ""), "s->c"); err == nil ||
			!strings.Contains(err.Error(), "trace_quota: 100 MB") {
			t.Error(err)
		}
	})
}

// TestOtherTraces checks that an interrupted sweep can continue with traces of other ports, or without traces. The
// content of the queue belongs to the earlier sweep.
func TestOtherTraces(t *testing.T) {
	s := tracedSweep(t, 20, quota)
	for name, ports := range map[string][]string{"others": {"s->c"}, "none": nil} {
		runBubble(t, name, func(t *testing.T) {
			p := newParty(t)
			p.config.Jobs = 1
			p.guests(func(j *Join) { p.worker(Worker{Name: "a", change: p.waits}, j) })
			if o, err := p.traced(p.interruption(), s, "s->*"); err != nil || o.Missing == 0 || len(o.Runs) == 0 {
				t.Fatalf("%v, %+v", err, o)
			}
			o, err := p.traced(t.Context(), s, ports...)
			if err != nil || o.Missing > 0 || len(o.Failed) > 0 {
				t.Fatalf("%v, %d missing, failed %v", err, o.Missing, o.Failed)
			}
			got := contents(t, p.dir)
			if ports == nil {
				maps.DeleteFunc(got, func(name, _ string) bool { return strings.Contains(name, "traces") })
				if !maps.Equal(got, here(t, s)) {
					t.Error("the files differ")
				}
			} else if !maps.Equal(got, tracedHere(t, s, ports...)) {
				t.Error("the files differ")
			}
		})
	}
}
