//go:build !nojetstream

package cli

import (
	"errors"
	"fmt"
	"math"
	"net"
	"runtime"

	"weir/internal/revision"
	"weir/internal/webserver"
	"weir/study/run"
	"weir/study/run/jetstream"
)

// runner is where runs are carried out; nil: here.
func (f *workerFlags) runner(a *app, bar *progressBar, jobs int) (run.Runner, func() error, error) {
	join, err := f.join()
	if err != nil {
		return nil, nil, err
	}
	switch {
	case f.Workers == "" && join == nil:
		return nil, nil, f.alone()
	case f.Workers != "" && join != nil:
		return nil, nil, fmt.Errorf("%w: --workers starts a server, and --nats names one: only one of them is allowed",
			errInput)
	case f.Workers != "":
		if _, err := jetstream.Reachable(f.Workers); err != nil {
			return nil, nil, fmt.Errorf("%w: --workers: %w", errInput, err)
		}
	}
	if f.NoOwn {
		jobs = -1
	}
	var memory float64
	if a.machine.available > 0 {
		memory = a.machine.available / float64(atATime(jobs))
	}
	c := jetstream.New(jetstream.Config{Registry: a.registry, Revision: revision.This(), Listen: f.Workers, Server: join,
		Jobs: jobs, Memory: memory, Verify: f.verify(), OnNotice: func(text string) {
			bar.clear()
			fmt.Fprintln(a.stderr, "notice:", text)
		},
		OnStatus: func(s jetstream.Status) { bar.beside(s.Short()) }})
	stop, err := f.serve(a, c)
	if err != nil {
		return nil, nil, err
	}
	return c, func() error {
		if s := c.Status(); s.Done+s.Failed > 0 {
			fmt.Fprintln(a.stderr, s.String())
		}
		return stop()
	}, nil
}

// verify returns which results of workers are compared.
func (f *workerFlags) verify() jetstream.Verify {
	if f.Verify == "all" {
		return jetstream.VerifyAll
	}
	return jetstream.VerifySample
}

// atATime is how many runs a number of jobs is.
func atATime(jobs int) int {
	if jobs == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return max(jobs, 1)
}

// serve serves the sweep's metrics, if that is asked for.
func (f *workerFlags) serve(a *app, c *jetstream.Coordinator) (stop func() error, err error) {
	if f.Metrics == "" {
		return func() error { return nil }, nil
	}
	public := fmt.Errorf("%w: --metrics: all who reach %q could read them; allowed: an address of this machine alone, "+
		"as 127.0.0.1:9100", errInput, f.Metrics)
	if host, _, err := net.SplitHostPort(f.Metrics); err == nil && !webserver.IsLoopback(host) {
		return nil, public
	}
	l, err := webserver.Listen(f.Metrics)
	if err != nil {
		return nil, fmt.Errorf("%w: --metrics: %w", errInput, err)
	}
	if host, _, _ := net.SplitHostPort(l.Addr().String()); !webserver.IsLoopback(host) { // localhost, elsewhere
		l.Close()
		return nil, public
	}
	h, err := jetstream.Metrics(c.Status)
	if err != nil {
		l.Close()
		return nil, err
	}
	fmt.Fprintf(a.stderr, "metrics are at http://%v/metrics\n", l.Addr())
	s := webserver.New(h)
	go s.Serve(webserver.Limit(l, webserver.MaxConnections))
	return s.Close, nil
}

// join is the server that flags name; nil: none.
func (f *serverFlags) join() (*jetstream.Join, error) {
	switch {
	case f.NATS == "" && f.Creds == "":
		return nil, nil
	case f.NATS == "":
		return nil, fmt.Errorf("%w: --creds is for the server of --nats", errInput)
	}
	j := &jetstream.Join{Address: f.NATS, Credentials: string(f.Creds)}
	if err := j.Wrong(); err != nil {
		return nil, fmt.Errorf("%w: --nats: %w", errInput, err)
	}
	return j, nil
}

// Run carries out runs until it is interrupted.
func (c *workerCmd) Run(a *app) error {
	join, err := c.serverFlags.join()
	switch {
	case err != nil:
		return err
	case c.Join != "" && join != nil:
		return fmt.Errorf("%w: --join has the server, and --nats names one: only one of them is allowed", errInput)
	case c.Join != "":
		if join, err = jetstream.ReadJoin(c.Join); err != nil {
			return err
		}
	case join == nil:
		return fmt.Errorf("%w: a worker needs --join FILE, which weir run --workers writes, or --nats URL", errInput)
	}
	if c.Jobs < 0 || c.Time < 0 {
		return fmt.Errorf("%w: --jobs is %d and --time %v; 0 or more is allowed", errInput, c.Jobs, c.Time)
	}
	jobs := atATime(c.Jobs)
	memory := c.Memory * 1e6
	if memory == 0 && a.machine.available > 0 {
		memory = math.Floor(a.machine.available / float64(jobs))
	}
	signals := listen(a.screen, inPreparation)
	defer signals.stop()
	signals.next(inSweep)
	w := jetstream.Worker{Registry: a.registry, Revision: revision.This(), Name: c.Name, Jobs: jobs, Memory: memory,
		Longest: c.Time, Largest: int(c.Disk * 1e6), OnNotice: func(text string) { fmt.Fprintln(a.stderr, "notice:", text) }}
	fmt.Fprintf(a.stderr, "a worker for %d runs at a time; Ctrl-C ends it, and what it has in hand goes to others\n", jobs)
	if err := w.Work(signals, join); err != nil {
		return err
	}
	if signals.Err() != nil {
		a.code = Interrupted
		return nil
	}
	return errors.New("the worker has ended")
}
