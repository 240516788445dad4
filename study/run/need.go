package run

import (
	"context"
	"errors"
	"runtime"

	"weir/study/results"
)

// If the measures decide the number of seeds, the runs of the minimum number execute first, and then those of more
// seeds until results.ChooseSeeds has decided. The number of seeds at a time affects only the speed: results beyond the
// choice stay in the folder and are not part of the outcome.

// seedIndex returns the index of run i's seed, from 0.
func (x *execution) seedIndex(i int) int { return int(x.runs[i].Seed - x.out.Spec.Seed()) }

// firstSeeds returns the initial number of seeds of each point.
func (x *execution) firstSeeds() int {
	if need, ok := x.out.Spec.NeedOn(x.out.World); ok {
		return need.MinSeeds
	}
	return x.out.Spec.RepeatOn(x.out.World)
}

// findResults finds the results of the wanted seeds with the index from and later. With Fresh it discards them again,
// but damaged folders are still an error. If ctx ends, it returns early without an error.
func (x *execution) findResults(ctx context.Context, from int) error {
	for i := range x.runs {
		if k := x.seedIndex(i); k < from || k >= x.seeds {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		if err := x.findResult(i); err != nil {
			return err
		}
		if x.o.Fresh {
			x.all[i], x.before[i], x.found[i] = nil, nil, false
		}
	}
	return nil
}

// listLacking returns the runs of the wanted seeds with the index from and later that have no result.
func (x *execution) listLacking(from int) (todo []int) {
	for i := range x.runs {
		if k := x.seedIndex(i); k >= from && k < x.seeds && x.all[i] == nil {
			todo = append(todo, i)
		}
	}
	return todo
}

// listFinished returns the results so far, including those that lack only their trace.
func (x *execution) listFinished() (runs []*results.Run) {
	for i := range x.runs {
		if r := x.runResult(i); r != nil {
			runs = append(runs, r)
		}
	}
	return runs
}

// runResult returns the result of run i, or an earlier one that lacks its trace, or nil if the run failed or has not
// finished.
func (x *execution) runResult(i int) *results.Run {
	switch failed := x.failures[i] != nil; {
	case failed && !errors.Is(x.failures[i], errInterrupted):
		return nil
	case x.all[i] == nil:
		return x.before[i]
	}
	return x.all[i]
}

// chooseSeeds decides the number of seeds from the results so far. It returns nil if the experiment sets the number.
func (x *execution) chooseSeeds() *results.SeedChoice {
	return results.ChooseSeeds(x.out.Spec, x.listFinished(), x.out.World)
}

// countSeeds returns the number of seeds that count, from the results so far.
func (x *execution) countSeeds() int {
	if c := x.chooseSeeds(); c != nil {
		return c.N
	}
	return x.out.Spec.RepeatOn(x.out.World)
}

// addSeeds increases the number of wanted seeds if all their runs have finished and are not enough, and finds the
// results of the new ones. It returns the runs to execute. It returns no runs if the number is decided, or cannot be
// because a run failed.
func (x *execution) addSeeds(ctx context.Context) (todo []int, err error) {
	for ctx.Err() == nil && len(todo) == 0 {
		c := x.chooseSeeds()
		if c == nil || c.State != results.Pending || c.N <= x.seeds {
			return nil, nil
		}
		done, points := x.seeds, len(x.out.Spec.Points())
		x.seeds = nextSeeds(c, done, (x.maxJobs()+points-1)/points)
		if x.out.Dir != "" {
			if err := x.findResults(ctx, done); err != nil {
				return nil, err
			}
		}
		todo = x.listLacking(done)
	}
	return todo, nil
}

// nextSeeds returns the next number of seeds after done seeds were not enough, where room more seeds could run at once.
// Few seeds are a poor estimate of the variance, so the number at most doubles. Beyond half of the way to the likely
// end, it uses the room only up to that end: a cluster may have room for many more than needed.
func nextSeeds(c *results.SeedChoice, done, room int) int {
	return min(max(c.NextTarget(done), min(done+room, c.EstimateSeeds(done))), 2*done, c.MaxSeeds)
}

// maxJobs returns the number of concurrent runs: the runner's, Options.Jobs, or one per core. It is at least 1.
func (x *execution) maxJobs() int {
	switch {
	case x.o.Runner != nil:
		return max(x.o.Runner.MaxRuns(), 1)
	case x.o.Jobs < 1:
		return runtime.GOMAXPROCS(0)
	}
	return x.o.Jobs
}

// findOthers finds the results of seeds that count and that other processes have written since the last check. With
// Fresh it considers only seeds that this process executes.
func (x *execution) findOthers() error {
	for looked := 0; ; {
		seeds := x.countSeeds()
		if x.o.Fresh {
			seeds = min(seeds, x.seeds) // earlier results are ignored
		}
		if seeds <= looked {
			return nil
		}
		for i := range x.runs {
			k := x.seedIndex(i)
			if k >= looked && k < seeds && x.all[i] == nil && x.isNew(i, results.RunFile(x.out.Dir, x.o.runID(x.runs[i]))) {
				if err := x.findResult(i); err != nil {
					return err
				}
			}
		}
		looked = seeds
	}
}
