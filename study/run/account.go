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

// account keeps what the runner says has happened, before it ends: whatever ends this process then, it is there.
func (x *execution) account(ctx context.Context) error {
	a, is := x.o.Runner.(Accountant)
	if !is || x.out.Dir == "" {
		return nil
	}
	x.told = a.Account(x.out.Dir, ctx.Err() != nil)
	if len(x.told) == 0 {
		return nil
	}
	defer atomicfile.Lock(x.out.Dir)()
	return x.withSpace(ctx, x.keepHosts)
}

// keepHosts writes host.json: this machine, and what has happened, with what is there of that already.
func (x *execution) keepHosts() error {
	before, err := results.ReadHosts(x.out.Dir)
	if err != nil {
		if x.o.OnNotice != nil {
			x.o.OnNotice(fmt.Sprintf("%v: it is written anew, without what it had of sweeps", err))
		}
		before = &results.Hosts{}
	}
	all := append(before.Executions, x.told...)
	if own := x.here(); len(all) > 0 && own != nil {
		all = append(all, *own)
	}
	x.out.Hosts = results.HostsOf(machine(*x.o), all)
	return results.WriteHosts(x.out.Dir, x.out.Hosts)
}

// here is what has happened where no runner was; nil if nothing was carried out.
func (x *execution) here() *results.Execution {
	if x.o.Runner != nil {
		return nil
	}
	e := &x.own
	e.Runs, e.Failed, e.Ended, e.Interrupted = 0, nil, results.Now(), x.interrupted
	for i, run := range x.all {
		switch {
		case x.failures[i] == errInterrupted: // it is missing
		case x.failures[i] != nil:
			e.Failed = append(e.Failed, results.FailedRun{Run: NameOf(x.runs[i]), Error: results.Brief(x.failures[i].Error())})
		case run != nil && !x.found[i]:
			e.Runs++
		}
	}
	if e.Runs == 0 && len(e.Failed) == 0 {
		return nil
	}
	return e
}

// NameOf is a run's name for people.
func NameOf(r *plan.Run) string { return fmt.Sprintf("%s seed %d", measure.PointName(r.Point), r.Seed) }

// machine is all that results say of the machine.
func machine(o Options) results.Machine {
	host, _ := os.Hostname()
	return results.Machine{Host: host, OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
		Go: runtime.Version(), Executable: o.Executable, Jobs: o.Jobs, Revision: revision.This().String(),
		Version: revision.Version()}
}
