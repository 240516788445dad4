package jetstream

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/revision"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/report"
	"weir/study/results"
	"weir/study/run"
)

// accountsIn reads the accounts of executions that a folder keeps.
func accountsIn(t *testing.T, dir string) []results.Execution {
	t.Helper()
	h, err := results.ReadHosts(dir)
	if err != nil {
		t.Fatal(err)
	}
	return h.Executions
}

// named returns the worker with the given name.
func named(e results.Execution, name string) results.Worker {
	for _, w := range e.Workers {
		if w.Name == name {
			return w
		}
	}
	return results.Worker{}
}

// TestAccount_NamesWorkersAndRefusals checks that host.json and the report name the workers with their number of
// runs, and the refused and excluded workers with the reasons.
func TestAccount_NamesWorkersAndRefusals(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newParty(t)
		p.config.draw = func() bool { return true }
		other := revision.This()
		other.Arch = "m68k"
		p.guests(func(j *Join) {
			p.worker(Worker{Name: "amiga", Revision: other}, j)
			p.worker(Worker{Name: "liar", change: func(data []byte) []byte {
				r, err := results.ReadRun(data)
				if err != nil {
					t.Error(err)
				}
				r.Events++
				return r.EncodeJSON(true)
			}}, j)
			until(t, "a refusal", func() bool { return p.notices.has("architecture m68k") })
			p.worker(Worker{Name: "honest"}, j)
		})
		o, _, err := p.execute(t.Context(), sweepOf(t, 40))
		if err != nil || o.Missing > 0 || len(o.Failed) > 0 {
			t.Fatalf("%v, %d missing, failed %v", err, o.Missing, o.Failed)
		}
		all := accountsIn(t, o.Dir)
		if len(all) != 1 {
			t.Fatalf("%+v", all)
		}
		e, host := all[0], must(os.Hostname())
		if e.By != results.ByWorkers || e.Runs != 40 || e.Checked == 0 || e.Interrupted || e.Ended.Before(e.Begun) ||
			e.Host != host || e.Revision != revision.This().String() || !strings.HasPrefix(e.Place, "nats://127.0.0.1:") {
			t.Errorf("%+v", e)
		}
		if w := named(e, "honest"); w.Runs != 40 || w.Host != host || w.Jobs != 1 || w.SetAside != "" ||
			w.Revision != revision.This().String() {
			t.Errorf("%+v", w)
		}
		if w := named(e, "liar"); w.Runs != 0 || w.Discarded == 0 || !strings.Contains(w.SetAside,
			"differs from the result of the run") {
			t.Errorf("%+v", w)
		}
		if w := named(e, "amiga"); w.Runs != 0 || !strings.Contains(w.Refused, "architecture m68k") {
			t.Errorf("%+v", w)
		}
		path, err := report.WriteReport(o, report.Page{})
		if err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(filepath.Join(filepath.Dir(path), "host.html"))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{report.Account(o), string(page)} {
			for _, want := range []string{"liar was excluded", "amiga was refused: it has architecture m68k", "honest",
				"liar is excluded"} {
				if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
					t.Errorf("%s lacks %s", text, want)
				}
			}
		}
		if main, err := os.ReadFile(path); err != nil || bytes.Contains(main, []byte("liar")) {
			t.Errorf("the report itself depends on who carried the runs out: %v", err)
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestAccountOfErrors checks that a failed run is listed with its last error.
func TestAccountOfErrors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := plantest.Load(t, registry(), strings.Replace(plantest.Small, "repeat: 2", "repeat: 1", 1)+plantest.SmallTraffic+
			"switch: [$x]\nsweep: {x: [forward, crash], rate: [1Mbps]}\nmeasure: [goodput]\n", experiment.Options{})
		p := newParty(t)
		p.guests(func(j *Join) { p.worker(Worker{Name: "a"}, j) })
		o, _, err := p.execute(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		e := accountsIn(t, o.Dir)[0]
		if e.Runs != 1 || len(e.Failed) != 1 || e.Failed[0].Error != "panic: a mistake of the scheme" ||
			!strings.HasPrefix(e.Failed[0].Run, "x=crash") || named(e, "a").Errors != maxErrors {
			t.Errorf("%+v", e)
		}
	})
}

// TestAccountsGoOn checks that a sweep that was interrupted, or lost its coordinator, has an account of each
// execution. This includes a second execution without workers.
func TestAccountsGoOn(t *testing.T) {
	s := sweepOf(t, 30)
	for _, killed := range []bool{false, true} {
		for _, here := range []bool{false, true} {
			if killed && here {
				continue // what was in the journal waits for a coordinator
			}
			runBubble(t, fmt.Sprintf("killed %v, here %v", killed, here), func(t *testing.T) {
				p := newParty(t)
				p.config.Jobs = 1
				p.guests(func(j *Join) { p.worker(Worker{Name: "a", change: p.waits}, j) })
				first := interrupted(t, p, s)
				if killed {
					unend(t, first.Dir)
				}
				var o *results.Outcome
				var err error
				if here {
					o, err = run.Execute(t.Context(), s, run.Options{Dir: p.dir, Executable: executable})
				} else {
					o, _, err = p.execute(t.Context(), s)
				}
				if err != nil || o.Missing > 0 || len(o.Failed) > 0 {
					t.Fatalf("%v, %+v", err, o)
				}
				all := accountsIn(t, o.Dir)
				if len(all) != 2 || all[0].Ended.IsZero() != killed || all[0].Interrupted == killed ||
					all[1].Interrupted ||
					all[0].Runs != len(first.Runs) || all[0].Runs+all[1].Runs != 30 ||
					named(all[0], "a").Runs+named(all[0], "this process").Runs != all[0].Runs ||
					(all[1].By == results.ByHere) != here {
					t.Errorf("%d runs at first, %+v", len(first.Runs), all)
				}
			})
		}
	}
}

// interrupted executes some runs of a sweep.
func interrupted(t *testing.T, p *party, s *experiment.Spec) *results.Outcome {
	t.Helper()
	o, _, err := p.execute(p.interruption(), s)
	if err != nil || o.Missing == 0 || len(o.Runs) == 0 {
		t.Fatalf("%v, %+v", err, o)
	}
	return o
}

// unend changes the journal of a sweep to that of a killed coordinator: it ends in the middle of a line, without a
// record of the end.
func unend(t *testing.T, dir string) {
	t.Helper()
	name := filepath.Join(dir, "queue", "journal")
	data, err := os.ReadFile(name)
	at := bytes.Index(data, []byte(`"event":"ended"`))
	if err != nil || at < 0 {
		t.Fatalf("%v, %s", err, data)
	}
	if err := os.WriteFile(name, data[:at], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "host.json")); err != nil {
		t.Fatal(err)
	}
}

// TestTooLateForAccount checks that a late result does not count if its task is over, as after an interruption. Its
// run is repeated, and counts then.
func TestTooLateForAccount(t *testing.T) {
	j, err := openJournal(filepath.Join(t.TempDir(), "journal"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	j.BeginExecution(results.ByWorkers, "nats://a:1")
	c := &Coordinator{journal: j}
	left := &task{Task: run.Task{ID: "1"}, over: true}
	waits := &task{Task: run.Task{ID: "2"}, result: make(chan outcome, 1)}
	c.keepResult(&member{id: "w"}, left, nil)
	c.keepResult(&member{id: "w"}, waits, nil)
	if e := j.Current(); e.Runs != 1 || len(waits.result) != 1 || c.status.Done != 1 {
		t.Errorf("%+v, %+v", e, c.status)
	}
}

// TestAccount_IncludesFinishedSweepOfKilledCoordinator checks that the next coordinator, which has no runs left to
// execute, reports the journal of a coordinator that was killed at the end.
func TestAccount_IncludesFinishedSweepOfKilledCoordinator(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := sweepOf(t, 30)
		p := newParty(t)
		p.guests(func(j *Join) { p.worker(Worker{Name: "a", change: p.waits}, j) })
		first := interrupted(t, p, s)
		other := t.TempDir()
		if _, err := run.Execute(t.Context(), s, run.Options{Dir: other, Executable: executable}); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(first.Dir, "runs")); err != nil {
			t.Fatal(err)
		}
		whole := must(filepath.Glob(filepath.Join(other, "*", "runs")))
		if err := os.CopyFS(filepath.Join(first.Dir, "runs"), os.DirFS(whole[0])); err != nil {
			t.Fatal(err)
		}
		unend(t, first.Dir)
		o, _, err := p.execute(t.Context(), s)
		if err != nil || o.Found != 30 {
			t.Fatalf("%v, %+v", err, o)
		}
		if all := accountsIn(t, o.Dir); len(all) != 1 || !all[0].Ended.IsZero() || all[0].Runs != len(first.Runs) {
			t.Errorf("%+v", all)
		}
	})
}

// TestJournal_RestoresWorkersAndTrust checks that the next coordinator restores the worker of each result and the
// trusted workers, and that addresses in an account have no passwords.
func TestJournal_RestoresWorkersAndTrust(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	j, err := openJournal(name, "")
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	j.BeginExecution(results.ByWorkers, removeSecrets("nats://me:secret@a:1,nats://b:2"))
	j.noteMade("1", "w")
	j.noteTrust("w")
	j.noteQuarantine("x", "why", 3)
	for _, traced := range []string{"", "other ports"} {
		again, err := openJournal(name, traced)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if e := again.Current(); again.worker["1"] != "w" || !again.trusted["w"] || !again.bad["x"] || e.Runs != 1 ||
			e.Place != "nats://a:1,nats://b:2" || (again.sweep == j.sweep) != (traced == "") ||
			(again.before == j.sweep) != (traced != "") {
			t.Errorf("%+v, %+v", again, e)
		}
	}
}
