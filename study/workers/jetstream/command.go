// Package jetstream implements the flags --workers and --nats of weir run and weir serve, and the command weir
// worker, with JetStream.
package jetstream

import (
	"context"
	"fmt"
	"math"
	"net"

	"weir/internal/bind"
	"weir/internal/command"
	"weir/internal/revision"
	"weir/internal/webserver"
	"weir/study/results"
	"weir/study/run"
	queue "weir/study/run/jetstream"
	"weir/study/workers"
)

// Driver implements workers.Driver.
type Driver struct{}

// Runner returns the runner of weir run, which starts in Begin. With f.Metrics it starts the server of metrics at once.
// The returned function prints a summary to m.Stderr and stops that server; it does not stop the runner. The argument
// jobs is the number of concurrent runs on this machine; 0: one per core. With f.NoOwn no run executes on this
// machine. Wrong flags are an ErrInput.
func (Driver) Runner(f *workers.Flags, m *workers.Machine, jobs int) (run.Runner, func() error, error) {
	join, err := parseJoin(&f.ServerFlags)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case f.Workers != "" && join != nil:
		return nil, nil, errTwoServers
	case f.Workers != "":
		if _, err := queue.ReachableHost(f.Workers); err != nil {
			return nil, nil, fmt.Errorf("%w: --workers: %w", command.ErrInput, err)
		}
	}
	if f.NoOwn {
		jobs = -1
	}
	c := queue.New(queue.Config{Registry: m.Registry, Revision: revision.This(), Listen: f.Workers, Server: join,
		Jobs: jobs, Memory: m.MemoryPerRun(jobs), VerifyMode: verifyMode(f), OnNotice: m.Notice,
		OnStatus: func(s queue.Status) { m.Status(s.FormatShort()) }})
	stop, err := serveMetrics(f, m, c)
	if err != nil {
		return nil, nil, err
	}
	return c, func() error {
		if s := c.Status(); s.Done+s.Failed > 0 {
			fmt.Fprintln(m.Stderr, s.String())
		}
		return stop()
	}, nil
}

var errTwoServers = fmt.Errorf("%w: --workers starts a server, but --nats names an existing one; only one of them is "+
	"allowed",
	command.ErrInput)

// verifyMode returns which results of workers are verified.
func verifyMode(f *workers.Flags) queue.Verify {
	if f.Verify == "all" {
		return queue.VerifyAll
	}
	return queue.VerifySample
}

// serveMetrics serves the metrics of a sweep if the flags ask for it, on a loopback address only, and prints the
// address to m.Stderr. It returns a function that stops the server, never nil without an error.
func serveMetrics(f *workers.Flags, m *workers.Machine, c *queue.Coordinator) (stop func() error, err error) {
	if f.Metrics == "" {
		return func() error { return nil }, nil
	}
	publicErr := fmt.Errorf("%w: --metrics: other machines could read the metrics at %q; an address of loopback such as "+
		"127.0.0.1:9100 is allowed", command.ErrInput, f.Metrics)
	if host, _, err := net.SplitHostPort(f.Metrics); err == nil && !bind.IsLoopback(host) {
		return nil, publicErr
	}
	l, err := bind.Listen(f.Metrics)
	if err != nil {
		return nil, fmt.Errorf("%w: --metrics: %w", command.ErrInput, err)
	}
	if host, _, _ := net.SplitHostPort(l.Addr().String()); !bind.IsLoopback(host) { // localhost may resolve elsewhere
		l.Close()
		return nil, publicErr
	}
	h, err := queue.NewMetricsHandler(c.Status)
	if err != nil {
		l.Close()
		return nil, err
	}
	fmt.Fprintf(m.Stderr, "metrics: http://%v/metrics\n", l.Addr())
	s := webserver.New(h)
	go s.Serve(webserver.LimitConnections(l, webserver.MaxConnections))
	return s.Close, nil
}

// parseJoin returns the server that the flags name; nil if they name no server.
func parseJoin(f *workers.ServerFlags) (*queue.Join, error) {
	switch {
	case f.NATS == "" && f.Creds == "":
		return nil, nil
	case f.NATS == "":
		return nil, fmt.Errorf("%w: --creds needs --nats; add it, or leave out --creds", command.ErrInput)
	}
	j := &queue.Join{Address: f.NATS, Credentials: f.Creds}
	if err := j.Check(); err != nil {
		return nil, fmt.Errorf("%w: --nats: %w", command.ErrInput, err)
	}
	return j, nil
}

// Account returns the executions of a sweep from the journal of its results folder; nil if it cannot be read.
func (Driver) Account(dir string) []results.Execution { return queue.ReadAccounts(dir) }

// Work executes runs until ctx ends. Without --memory, each concurrent run has an equal share of the available memory.
// Wrong flags are an ErrInput.
func (Driver) Work(ctx context.Context, c *workers.WorkerFlags, m *workers.Machine) error {
	join, err := parseJoin(&c.ServerFlags)
	switch {
	case err != nil:
		return err
	case c.Join != "" && join != nil:
		return fmt.Errorf("%w: the file of --join names a server, and so does --nats; only one of them is allowed",
			command.ErrInput)
	case c.Join != "":
		if join, err = queue.ReadJoin(c.Join); err != nil {
			return err
		}
	case join == nil:
		return fmt.Errorf("%w: a worker needs --join FILE (written by weir run --workers) or --nats URL; add one of them",
			command.ErrInput)
	}
	if c.Jobs < 0 || c.Time < 0 {
		return fmt.Errorf("%w: --jobs is %d and --time is %v; 0 or more is allowed for both",
			command.ErrInput, c.Jobs, c.Time)
	}
	jobs := workers.ConcurrentRuns(c.Jobs)
	memory := c.Memory * 1e6
	if memory == 0 && m.Available > 0 {
		memory = math.Floor(m.Available / float64(jobs))
	}
	w := queue.Worker{Registry: m.Registry, Revision: revision.This(), Name: c.Name, Jobs: jobs, Memory: memory,
		MaxTime: c.Time, MaxBytes: int(c.Disk * 1e6), OnNotice: m.Notice}
	fmt.Fprintf(m.Stderr, "worker with up to %d concurrent runs; Ctrl-C stops it, and its unfinished runs go to other "+
		"workers\n", jobs)
	return w.ExecuteRuns(ctx, join)
}
