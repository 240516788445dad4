package run

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"weir/internal/atomicfile"
	"weir/internal/revision"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/results"
)

// writeAccount stores the runner's account of the sweep in x.accounts, and writes it to host.json before the runner
// ends, so that it is kept if this process is killed. It locks the folder, and waits while the disk is full. It has no
// effect if results are not kept or the runner has no accounts.
func (x *execution) writeAccount(ctx context.Context) error {
	a, is := x.o.Runner.(Accountant)
	if !is || x.out.Dir == "" {
		return nil
	}
	x.accounts = a.ReportExecutions(x.out.Dir, ctx.Err() != nil)
	if len(x.accounts) == 0 {
		return nil
	}
	defer atomicfile.Lock(x.out.Dir)()
	return x.withSpace(ctx, x.keepHosts)
}

// keepHosts writes host.json and sets out.Hosts: this machine, the accounts of this execution, and those that the file
// already has. The account of the runs of this process is kept only next to others. An unreadable file is replaced,
// after a notice. The caller holds the folder's lock.
func (x *execution) keepHosts() error {
	before, err := results.ReadHosts(x.out.Dir)
	if err != nil {
		if x.o.OnNotice != nil {
			x.o.OnNotice(fmt.Sprintf("%v: the file is rewritten without the earlier executions", err))
		}
		before = &results.Hosts{}
	}
	all := append(before.Executions, x.accounts...)
	if own := x.localExecution(); len(all) > 0 && own != nil {
		all = append(all, *own)
	}
	x.out.Hosts = results.NewHosts(describeMachine(*x.o), all)
	return results.WriteHosts(x.out.Dir, x.out.Hosts)
}

// localExecution updates x.local, the account of an execution without runner, and returns it. It returns nil with a
// runner, or if no run has succeeded or failed. Results found in the folder do not count as its runs, and interrupted
// runs are not failures.
func (x *execution) localExecution() *results.Execution {
	if x.o.Runner != nil {
		return nil
	}
	e := &x.local
	e.Runs, e.Failed, e.Ended, e.Interrupted = 0, nil, results.AccountTime(), x.interrupted
	for i, run := range x.all {
		switch {
		case x.failures[i] == errInterrupted: // the run is missing
		case x.failures[i] != nil:
			e.Failed = append(e.Failed, results.FailedRun{Run: FormatRunName(x.runs[i]),
				Error: results.ShortenText(x.failures[i].Error())})
		case run != nil && !x.found[i]:
			e.Runs++
		}
	}
	if e.Runs == 0 && len(e.Failed) == 0 {
		return nil
	}
	return e
}

// FormatRunName returns the name of a run in messages: its point and seed.
func FormatRunName(r *plan.Run) string {
	return fmt.Sprintf("%s seed %d", measure.PointName(r.Point), r.Seed)
}

// describeMachine returns the description of this machine and program in the results. Its number of jobs is o.Jobs as
// given; 0 is one per core.
func describeMachine(o Options) results.Machine {
	host, _ := os.Hostname()
	return results.Machine{Host: host, OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
		Go: runtime.Version(), Executable: o.Executable, Jobs: o.Jobs, Revision: revision.This().String(),
		Version: revision.Version()}
}
