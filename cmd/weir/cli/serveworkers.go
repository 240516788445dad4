//go:build !nojetstream

package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"weir/internal/revision"
	"weir/study/page"
	"weir/study/page/live"
	"weir/study/run"
	"weir/study/run/jetstream"
)

// paged has the jobs of weir serve carried out by workers, if that is asked for. The file to join with is there at
// once, and stays: workers come back to one job after the other.
func (f *workerFlags) paged(a *app, o *page.Options, out string) error {
	o.Account = jetstream.Told
	join, err := f.join()
	switch {
	case err != nil:
		return err
	case f.Workers == "" && join == nil:
		return f.alone()
	case f.Workers != "" && join != nil:
		return fmt.Errorf("%w: --workers starts a server, and --nats names one: only one of them is allowed", errInput)
	case f.Metrics != "":
		return fmt.Errorf("%w: --metrics is for weir run: here the page shows workers and queue", errInput)
	}
	listens, keys := "", ""
	if f.Workers != "" {
		keys = filepath.Join(out, ".workers")
		var file string
		if file, listens, err = jetstream.Prepare(f.Workers, keys); err != nil {
			return fmt.Errorf("%w: --workers: %w", errInput, err)
		}
		o.Join = "weir worker --join " + quoted(shortly(file))
		fmt.Fprintf(a.stderr, "workers join with: %s\n", o.Join)
		if keys, err = filepath.Abs(keys); err != nil {
			return err
		}
	}
	o.Runner = func(jobs int, tell func(live.Sweep), notice func(string)) (run.Runner, func() error, error) {
		if f.NoOwn {
			jobs = -1
		}
		var memory float64
		if a.machine.available > 0 {
			memory = a.machine.available / float64(atATime(jobs))
		}
		c := jetstream.New(jetstream.Config{Registry: a.registry, Revision: revision.This(), Listen: listens, Server: join,
			Keys: keys, Jobs: jobs, Memory: memory, Verify: f.verify(), OnNotice: notice,
			OnStatus: func(s jetstream.Status) { tell(sweepOf(s)) }})
		return c, func() error { tell(sweepOf(c.Status())); return nil }, nil
	}
	return nil
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

// sweepOf is a status as the page shows it.
func sweepOf(s jetstream.Status) live.Sweep {
	x := live.Sweep{Queued: s.Queued, Done: s.Done, Failed: s.Failed, Checked: s.Checked, Lost: s.Lost,
		Aside: s.SetAside, Waiting: s.Waiting}
	for _, w := range s.Workers {
		state := "is there"
		switch {
		case w.Bad != "":
			state = "set aside: " + w.Bad
		case w.Gone:
			state = "not heard any more"
		}
		x.Workers = append(x.Workers, live.Worker{Name: w.Name, Jobs: w.Jobs, Hand: w.Hand, Done: w.Done, State: state})
	}
	return x
}
