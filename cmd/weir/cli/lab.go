package cli

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"

	"weir/lab"
)

type labCmd struct {
	Clean labCleanCmd `cmd:"" help:"Remove what labs have left that died: namespaces and interfaces. Those of living labs stay."`
}

type labCleanCmd struct{}

func (*labCleanCmd) Run(a *app) error {
	removed, err := lab.Clean()
	for _, name := range removed {
		fmt.Fprintln(a.stdout, "removed", name)
	}
	if errors.Is(err, lab.ErrNotRoot) || errors.Is(err, lab.ErrNotLinux) {
		return fmt.Errorf("%w: %w", errInput, err)
	}
	if err == nil && len(removed) == 0 {
		fmt.Fprintln(a.stdout, "there is nothing to remove")
	}
	return err
}

// labDataplaneCmd is the process that a lab starts for its switches and links: it reads
// from its standard input where the hosts are, and runs until that is closed.
type labDataplaneCmd struct {
	selection
	Index   int    `name:"index" help:"Which of the experiment's runs, from 0."`
	Profile string `hidden:"" type:"path" help:"File for a CPU profile of the process (weir bench switch --profile)."`
}

func (d *labDataplaneCmd) Run(a *app) error {
	spec, err := d.load(a)
	if err != nil {
		return err
	}
	runs := spec.Runs()
	if d.Index < 0 || d.Index >= len(runs) {
		return fmt.Errorf("%w: run %d of %d", errInput, d.Index, len(runs))
	}
	c, err := runs[d.Index].Lab()
	if err != nil {
		return err
	}
	if d.Profile != "" {
		f, err := os.Create(d.Profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	return lab.Serve(c, os.Stdin, a.stdout)
}
