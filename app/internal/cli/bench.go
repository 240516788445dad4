package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"weir/internal/command"
	"weir/internal/text"
	"weir/study/bench"
	"weir/worlds/lab"
	"weir/worlds/live"
)

type benchCmd struct {
	What    string        `arg:"" enum:"${benches}" default:"engine" help:"${benchWhat}"`
	JSON    bool          `name:"json" help:"Print JSON instead of text."`
	Runs    int           `placeholder:"N" help:"${benchRuns}"`
	Hosts   []int         `placeholder:"N" help:"${benchHosts}"`
	Threads int           `placeholder:"N" help:"Number of threads in threads. Default: one per core."`
	Docs    string        `placeholder:"FILE" type:"path" help:"${benchDocs}"`
	Turn    string        `hidden:"" help:"One turn of scale or threads, as JSON, in this process."`
	Time    time.Duration `placeholder:"DURATION" help:"${benchTime}"`
	Only    []string      `hidden:"" help:"Rows of switch to measure."`
	Profile string        `hidden:"" type:"path" help:"${benchProfile}"`
}

// Run runs the benchmark b.What and prints its figures. It returns an error if a flag does not apply to the benchmark.
func (b *benchCmd) Run(a *app) error {
	switch b.What {
	case "switch", "clock":
		return b.runSwitch(a)
	case "scale", "threads", "peers":
		return b.runTurns(a)
	case "page":
		return b.runPage(a)
	}
	if b.Runs != 0 || b.Time != 0 {
		return fmt.Errorf("%w: --runs and --time do not apply to this benchmark; leave them out", command.ErrInput)
	}
	if b.Profile != "" {
		stop, err := startProfile(filepath.Join(b.Profile, b.What+".pprof"))
		if err != nil {
			return err
		}
		defer stop()
	}
	f, err := bench.Run(a.registry, b.What)
	if err != nil {
		return err
	}
	b.printFigures(a, f)
	return nil
}

// runSwitch runs the benchmarks switch and clock, with defaults for --runs and --time, and prints the figures. An
// interrupt sets the exit code and is not an error.
func (b *benchCmd) runSwitch(a *app) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	turns := 0
	o := bench.SwitchOptions{Runs: b.Runs, Time: b.Time, Only: b.Only, DataPlane: func(experiment string,
		run int) (*exec.Cmd, error) {
		c := exec.Command(self, "lab-dataplane", experiment, "--index", strconv.Itoa(run))
		if b.Profile != "" {
			turns++
			c.Args = append(c.Args, "--profile", filepath.Join(b.Profile, fmt.Sprintf("%s-%d-%d.pprof",
				strings.ReplaceAll(experiment, "/", "-"), run, turns)))
		}
		return c, nil
	}}
	o.OnLeft = a.warnOfLeft(func() {})
	if b.What == "clock" {
		o.Schedulings = live.Schedulings
	}
	if o.Runs == 0 {
		o.Runs = bench.Rounds
	}
	if o.Time == 0 {
		o.Time = 2 * time.Second
	}
	var done func()
	o.Progress, done = a.showActivity()
	signals := handleSignals(a.screen, grace{labWork(nil).time, 0, lab.CloseLabs, "no results were measured"})
	defer signals.stop()
	f, err := bench.Switch(signals, a.registry, o)
	done()
	switch {
	case errors.Is(err, context.Canceled):
		a.code = command.Interrupted
		return nil
	case errors.Is(err, lab.ErrNotRoot), errors.Is(err, lab.ErrNotLinux), errors.Is(err, bench.ErrRounds):
		return fmt.Errorf("%w: %w", command.ErrInput, err)
	case err != nil:
		return err
	}
	b.printFigures(a, f)
	return nil
}

// showActivity returns functions for a benchmark: show overwrites a line of the terminal with the current activity,
// and done clears it. Without a terminal, show is nil.
func (a *app) showActivity() (show func(doing string), done func()) {
	const clear = "\r\x1b[K"
	if !a.terminal {
		return nil, func() {}
	}
	return func(doing string) { fmt.Fprint(a.screen, clear, text.EscapeLine(doing)) }, func() {
		fmt.Fprint(a.screen,
			clear)
	}
}

// figures are the results of a benchmark.
type figures interface {
	fmt.Stringer
	JSON() []byte
}

// printFigures prints the figures as text or as JSON.
func (b *benchCmd) printFigures(a *app, f figures) {
	if b.JSON {
		a.stdout.Write(f.JSON())
	} else {
		fmt.Fprint(a.stdout, f)
	}
}
