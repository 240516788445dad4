package cli

import (
	"context"
	"errors"
	"fmt"

	"weir/internal/command"
	"weir/study/bench"
)

// runPage measures the page of weir serve and prints the figures. An interrupt sets the exit code and is not an error.
func (b *benchCmd) runPage(a *app) error {
	if b.Time != 0 || b.Profile != "" || b.Docs != "" || b.Hosts != nil || b.Threads != 0 {
		return fmt.Errorf("%w: page supports only the options --runs and --json; leave out the others", command.ErrInput)
	}
	if b.Runs < 0 {
		return fmt.Errorf("%w: --runs is %d; 1 or more is allowed", command.ErrInput, b.Runs)
	}
	o := bench.PageOptions{Rounds: b.Runs}
	if o.Rounds == 0 {
		o.Rounds = bench.Rounds
	}
	var done func()
	o.Progress, done = a.showActivity()
	signals := handleSignals(a.screen, grace{inSimulation.time, inSimulation.limit, cutNothing, "no results were " +
		"measured"})
	defer signals.stop()
	f, err := bench.Page(signals, a.registry, o)
	done()
	switch {
	case signals.Err() != nil, errors.Is(err, context.Canceled):
		a.code = command.Interrupted
		return nil
	case errors.Is(err, bench.ErrNoBrowser):
		return fmt.Errorf("%w: %w", command.ErrInput, err)
	case err != nil:
		return err
	}
	b.printFigures(a, f)
	return nil
}
