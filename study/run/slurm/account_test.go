package slurm

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/report"
	"weir/study/results"
	"weir/study/run"
)

// accounts returns the accounts of executions that a folder keeps.
func accounts(t *testing.T, dir string) []results.Execution {
	t.Helper()
	h, err := results.ReadHosts(dir)
	if err != nil {
		t.Fatal(err)
	}
	return h.Executions
}

// logged executes tasks of job 1, and leaves the logs of Slurm.
func logged(t *testing.T, dir string, tasks ...int) {
	t.Helper()
	f, err := OpenFolder(room(), dir)
	if err != nil {
		t.Error(err)
		return
	}
	for _, task := range tasks {
		var b strings.Builder
		if _, err := f.ExecuteTask(t.Context(), task, 1, func(text string) { b.WriteString(text + "\n") }); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(filepath.Join(dir, logs, logName(1, task)), []byte(b.String()), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// TestRunner_RecordsJobsOfExecutions checks that host.json has the jobs of each execution with their machines, and
// the failed and lost runs.
func TestRunner_RecordsJobsOfExecutions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, into := newCluster(t), t.TempDir()
		x := c.execute(t.Context(), three, into, func() {
			c.finishAllButTwo(t, func(dir string, task int) { logged(t, dir, task) })
		})
		host, _ := os.Hostname()
		all := accounts(t, x.out.Dir)
		if x.err != nil || len(all) != 1 {
			t.Fatalf("%v, %+v", x.err, all)
		}
		e := all[0]
		if e.By != results.BySlurm || e.Runs != 1 || e.Lost != 1 || e.Interrupted || e.Ended.IsZero() ||
			len(e.Workers) != 1 ||
			len(e.Failed) != 1 || e.Failed[0].Run != "x=bad seed 1" ||
			e.Failed[0].Error != "panic: a mistake of the scheme" || len(e.Events) != 2 ||
			!strings.Contains(e.Events[1].Text, "TIMEOUT") {
			t.Errorf("%+v", e)
		}
		if w := e.Workers[0]; w.Name != "job 1" || w.Host != host || w.Jobs != 3 || w.Runs != 1 || w.Lost != 1 ||
			w.Errors != 1 {
			t.Errorf("%+v", w)
		}
		if text := report.Account(x.out); !strings.Contains(text, "job 1") || !strings.Contains(text, "TIMEOUT") {
			t.Error(text)
		}
		x = c.execute(t.Context(), three, into, func() {
			carry(t, c.submitted(2)[1], 0, 1)
			c.queue()
		})
		if all = accounts(t, x.out.Dir); x.err != nil || len(all) != 2 || all[0].ID != e.ID || all[1].Runs != 1 ||
			all[1].Workers[0].Name != "job 2" {
			t.Errorf("%v, %+v", x.err, all)
		}
		left, _ := filepath.Glob(filepath.Join(x.out.Dir, "slurm", "*"))
		if slices.ContainsFunc(left, func(name string) bool {
			return filepath.Base(name) == journalFile
		}) {
			t.Errorf("%q is left", left)
		}
	})
}

// TestAccountOfKilled checks that the next execution reports a killed one, without an end.
func TestAccountOfKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, into := newCluster(t), t.TempDir()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var killed []byte
		x := c.execute(ctx, six, into, func() {
			dir := c.submitted(1)[0]
			c.until("job 1 in the journal", func() bool {
				killed, _ = os.ReadFile(filepath.Join(filepath.Dir(dir), journalFile))
				return strings.Contains(string(killed), "job 1: 6 tasks")
			})
			stop()
		})
		if x.err != nil || accounts(t, x.out.Dir)[0].Interrupted == false {
			t.Fatalf("%+v", x)
		}
		if err := os.WriteFile(filepath.Join(x.out.Dir, "slurm", journalFile), killed, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(x.out.Dir, "host.json")); err != nil {
			t.Fatal(err)
		}
		x = c.execute(t.Context(), six, into, func() {
			carry(t, c.jobs()[0], 0, 1, 2, 3, 4, 5)
			c.queue()
		})
		all := accounts(t, x.out.Dir)
		if x.err != nil || len(all) != 2 || !all[0].Ended.IsZero() ||
			!strings.Contains(all[0].Events[0].Text, "job 1: 6 tasks") ||
			all[1].Runs != 6 || all[1].Ended.IsZero() {
			t.Errorf("%v, %+v", x.err, all)
		}
		sameAsLocal(t, six, x.out.Dir)
	})
}

// TestAccountOfCollected checks that collected runs are listed by job, with the number of missing runs.
func TestAccountOfCollected(t *testing.T) {
	f := exported(t, six, quick())
	logged(t, f.Dir, 0, 1, 2)
	into := t.TempDir()
	collect := func() *results.Outcome {
		out, err := run.Execute(t.Context(), plantest.Load(t, room(), six, experiment.Options{}), run.Options{Dir: into,
			Executable: "e", Runner: f.NewCollector()})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	out := collect()
	all := accounts(t, out.Dir)
	if len(all) != 1 || all[0].By != results.ByCollect || all[0].Runs != 3 || all[0].Lost != 3 ||
		len(all[0].Workers) != 2 || all[0].Workers[1].Name != "job 1" || all[0].Workers[1].Runs != 3 ||
		len(all[0].Events) == 0 {
		t.Errorf("%+v", all)
	}
	carry(t, f.Dir, 3, 4, 5)
	if all = accounts(t, collect().Dir); len(all) != 2 || all[1].Runs != 3 || all[1].Lost != 0 {
		t.Errorf("%+v", all)
	}
	if all = accounts(t, collect().Dir); len(all) != 2 {
		t.Errorf("nothing was collected, and told: %+v", all)
	}
}
