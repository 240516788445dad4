package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"weir/internal/command"
	"weir/study/page/live"
	"weir/study/run"
	"weir/study/workers"
)

// workerFlags are the flags of weir run and serve for runs on other machines.
type workerFlags struct{ workers.Flags }

// newRunner returns the runner for other machines and a function to end it. Without a flag that requests workers it
// returns nil, and an error if other flags for workers are set.
func (f *workerFlags) newRunner(a *app, bar *progressBar, jobs int) (run.Runner, func() error, error) {
	if !f.UsesWorkers() {
		return nil, nil, f.CheckUnused()
	}
	driver, err := workers.Remote.Get()
	if err != nil {
		return nil, nil, err
	}
	m := a.workersMachine()
	m.Notice = func(text string) {
		bar.clear()
		fmt.Fprintln(a.stderr, "notice:", text)
	}
	m.Status = bar.setExtra
	return driver.Runner(&f.Flags, m, jobs)
}

// workersMachine returns this machine's resources for workers.
func (a *app) workersMachine() *workers.Machine {
	return &workers.Machine{Registry: a.registry, Available: a.machine.available, Stderr: a.stderr,
		Notice: func(text string) { fmt.Fprintln(a.stderr, "notice:", text) }}
}

// setUpPage lets workers execute the jobs of weir serve, if a flag requests it: it sets o.Runner and o.Join, and prints
// the command for workers to stderr. It sets o.Account if workers are linked in, also without such a flag. The argument
// out is the results folder.
func (f *workerFlags) setUpPage(a *app, o *live.Options, out string) error {
	driver, err := workers.Remote.Get()
	if err == nil {
		o.Account = driver.Account
	}
	if !f.UsesWorkers() {
		return f.CheckUnused()
	}
	if err != nil {
		return err
	}
	p, err := driver.Page(&f.Flags, a.workersMachine(), out)
	if err != nil {
		return err
	}
	if p.Join != "" {
		o.Join = "weir worker --join " + quoteWord(shortenPath(p.Join))
		fmt.Fprintf(a.stderr, "to join workers, run: %s\n", o.Join)
	}
	o.Account, o.Runner = p.Account, p.Runner
	return nil
}

type workerCmd struct{ workers.WorkerFlags }

// Run executes runs until it is interrupted. Any other end is an error.
func (c *workerCmd) Run(a *app) error {
	driver, err := workers.Remote.Get()
	if err != nil {
		return err
	}
	signals := handleSignals(a.screen, inPreparation)
	defer signals.stop()
	signals.setGrace(inSweep)
	if err := driver.Work(signals, &c.WorkerFlags, a.workersMachine()); err != nil {
		return err
	}
	if signals.Err() != nil {
		a.code = command.Interrupted
		return nil
	}
	return errors.New("the worker ended unexpectedly")
}

// shortenPath returns a path relative to the current folder if it is below it, else the path itself.
func shortenPath(file string) string {
	here, err := os.Getwd()
	if err != nil {
		return file
	}
	if below, err := filepath.Rel(here, file); err == nil && filepath.IsLocal(below) {
		return below
	}
	return file
}
