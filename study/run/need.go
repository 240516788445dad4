package run

import (
	"context"
	"errors"
	"runtime"

	"weir/study/results"
)

// Where an experiment says by what is measured how many seeds there are, runs are carried out of the least first, and
// then of more until results.Choose has decided. How many more at a time is a matter of speed: what is finished of
// seeds beyond the choice stays in the folder, and is not in the outcome.

// seed is the number of a run's seed, from 0.
func (x *execution) seed(i int) int { return int(x.runs[i].Seed - x.out.Spec.Seed()) }

// firstSeeds is how many seeds of each point are wanted at first.
func (x *execution) firstSeeds() int {
	if need, ok := x.out.Spec.NeedOn(x.out.World); ok {
		return need.Least
	}
	return x.out.Spec.RepeatOn(x.out.World)
}

// look finds the runs that are there of the wanted seeds from one on.
func (x *execution) look(ctx context.Context, from int) error {
	for i := range x.runs {
		if k := x.seed(i); k < from || k >= x.seeds {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		if err := x.find(i); err != nil {
			return err
		}
		if x.o.Fresh {
			x.all[i], x.before[i], x.found[i] = nil, nil, false
		}
	}
	return nil
}

// lacking are the runs that are not there of the wanted seeds from one on.
func (x *execution) lacking(from int) (todo []int) {
	for i := range x.runs {
		if k := x.seed(i); k >= from && k < x.seeds && x.all[i] == nil {
			todo = append(todo, i)
		}
	}
	return todo
}

// finished are the runs with a result.
func (x *execution) finished() (runs []*results.Run) {
	for i := range x.runs {
		if r := x.given(i); r != nil {
			runs = append(runs, r)
		}
	}
	return runs
}

// given is what a run has given, or has been before its trace was wanted; nil if it failed, or is not finished.
func (x *execution) given(i int) *results.Run {
	switch failed := x.failures[i] != nil; {
	case failed && !errors.Is(x.failures[i], errInterrupted):
		return nil
	case x.all[i] == nil:
		return x.before[i]
	}
	return x.all[i]
}

// choose decides by what is finished how many seeds count; nil if the experiment says it.
func (x *execution) choose() *results.Chosen {
	return results.Choose(x.out.Spec, x.finished(), x.out.World)
}

// counting is how many seeds count by what is finished.
func (x *execution) counting() int {
	if c := x.choose(); c != nil {
		return c.N
	}
	return x.out.Spec.RepeatOn(x.out.World)
}

// more has more seeds wanted if all runs of those so far are there and are not enough, and returns what is to be
// carried out for it; nothing if that is decided, or cannot be because a run failed.
func (x *execution) more(ctx context.Context) (todo []int, err error) {
	for ctx.Err() == nil && len(todo) == 0 {
		c := x.choose()
		if c == nil || c.State != results.Pending || c.N <= x.seeds {
			return nil, nil
		}
		done, points := x.seeds, len(x.out.Spec.Points())
		x.seeds = further(c, done, (x.jobs()+points-1)/points)
		if x.out.Dir != "" {
			if err := x.look(ctx, done); err != nil {
				return nil, err
			}
		}
		todo = x.lacking(done)
	}
	return todo, nil
}

// further is how many seeds are wanted next if the first done are not enough, and so many more could be carried out at
// once. Few seeds say little of the variance, so that there are never more than twice as many. Beyond what half of the
// way to the likely end asks for, the room is used only up to that end: a cluster may have room for far more than are
// needed.
func further(c *results.Chosen, done, room int) int {
	return min(max(c.Next(done), min(done+room, c.Likely(done))), 2*done, c.Most)
}

// jobs is how many runs are carried out at a time.
func (x *execution) jobs() int {
	switch {
	case x.o.Runner != nil:
		return max(x.o.Runner.Room(), 1)
	case x.o.Jobs < 1:
		return runtime.GOMAXPROCS(0)
	}
	return x.o.Jobs
}

// others finds runs that other processes have finished meanwhile, as far as they count.
func (x *execution) others() error {
	for looked := 0; ; {
		seeds := x.counting()
		if x.o.Fresh {
			seeds = min(seeds, x.seeds) // what was there before is not looked at
		}
		if seeds <= looked {
			return nil
		}
		for i := range x.runs {
			k := x.seed(i)
			if k >= looked && k < seeds && x.all[i] == nil && x.isNew(i, results.RunFile(x.out.Dir, x.o.id(x.runs[i]))) {
				if err := x.find(i); err != nil {
					return err
				}
			}
		}
		looked = seeds
	}
}
