package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"weir/study/page/live"
	"weir/study/run"
	"weir/study/workers"
)

// workerFlags are the flags of weir run and serve for runs that other machines carry out.
type workerFlags struct{ workers.Flags }

// runner returns where runs are carried out; nil: here.
func (f *workerFlags) runner(a *app, bar *progressBar, jobs int) (run.Runner, func() error, error) {
	if !f.Wanted() {
		return nil, nil, f.Unused()
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
	m.Status = bar.beside
	return driver.Runner(&f.Flags, m, jobs)
}

// workersMachine returns what runs have on this machine.
func (a *app) workersMachine() *workers.Machine {
	return &workers.Machine{Registry: a.registry, Available: a.machine.available, Stderr: a.stderr,
		Notice: func(text string) { fmt.Fprintln(a.stderr, "notice:", text) }}
}

// paged lets workers carry out the jobs of weir serve, if a flag requests it.
func (f *workerFlags) paged(a *app, o *live.Options, out string) error {
	driver, err := workers.Remote.Get()
	if err == nil {
		o.Account = driver.Account
	}
	if !f.Wanted() {
		return f.Unused()
	}
	if err != nil {
		return err
	}
	p, err := driver.Page(&f.Flags, a.workersMachine(), out)
	if err != nil {
		return err
	}
	if p.Join != "" {
		o.Join = "weir worker --join " + quoted(shortly(p.Join))
		fmt.Fprintf(a.stderr, "workers join with: %s\n", o.Join)
	}
	o.Account, o.Runner = p.Account, p.Runner
	return nil
}

type workerCmd struct{ workers.WorkerFlags }

// Run carries out runs until it is interrupted.
func (c *workerCmd) Run(a *app) error {
	driver, err := workers.Remote.Get()
	if err != nil {
		return err
	}
	signals := listen(a.screen, inPreparation)
	defer signals.stop()
	signals.next(inSweep)
	if err := driver.Work(signals, &c.WorkerFlags, a.workersMachine()); err != nil {
		return err
	}
	if signals.Err() != nil {
		a.code = exitInterrupted
		return nil
	}
	return errors.New("the worker has ended")
}

// shortly is a path as one names it from here, if it is below.
func shortly(file string) string {
	here, err := os.Getwd()
	if err != nil {
		return file
	}
	if below, err := filepath.Rel(here, file); err == nil && filepath.IsLocal(below) {
		return below
	}
	return file
}
