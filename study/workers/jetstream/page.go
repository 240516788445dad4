package jetstream

import (
	"fmt"
	"path/filepath"

	"weir/internal/command"
	"weir/internal/revision"
	"weir/study/page/live"
	"weir/study/run"
	queue "weir/study/run/jetstream"
	"weir/study/workers"
)

// Page returns the page's functions for workers. The file to join with exists from the start and stays valid, so that
// workers can serve one job after the other. It and the keys are below the results folder out. Wrong flags are an
// ErrInput.
func (d Driver) Page(f *workers.Flags, m *workers.Machine, out string) (*workers.Page, error) {
	join, err := parseJoin(&f.ServerFlags)
	switch {
	case err != nil:
		return nil, err
	case f.Workers != "" && join != nil:
		return nil, errTwoServers
	case f.Metrics != "":
		return nil, fmt.Errorf("%w: --metrics is for weir run, because the page of weir serve shows workers and queue; "+
			"leave it out", command.ErrInput)
	}
	p := &workers.Page{Account: d.Account}
	listens, keys := "", ""
	if f.Workers != "" {
		keys = filepath.Join(out, ".workers")
		if p.Join, listens, err = queue.WriteJoinFile(f.Workers, keys); err != nil {
			return nil, fmt.Errorf("%w: --workers: %w", command.ErrInput, err)
		}
		if keys, err = filepath.Abs(keys); err != nil {
			return nil, err
		}
	}
	p.Runner = func(jobs int, report func(live.WorkersStatus), notice func(string)) (run.Runner, func() error, error) {
		if f.NoOwn {
			jobs = -1
		}
		c := queue.New(queue.Config{Registry: m.Registry, Revision: revision.This(), Listen: listens, Server: join,
			Keys: keys, Jobs: jobs, Memory: m.MemoryPerRun(jobs), VerifyMode: verifyMode(f), OnNotice: notice,
			OnStatus: func(s queue.Status) { report(convertStatus(s)) }})
		return c, func() error { report(convertStatus(c.Status())); return nil }, nil
	}
	return p, nil
}

// convertStatus converts the status of a queue for the page.
func convertStatus(s queue.Status) live.WorkersStatus {
	x := live.WorkersStatus{Queued: s.Queued, Done: s.Done, Failed: s.Failed, Checked: s.Checked, Lost: s.Lost,
		Aside: s.Quarantined, Waiting: s.Waiting}
	for _, w := range s.Workers {
		state := "connected"
		switch {
		case w.Bad != "":
			state = "excluded: " + w.Bad
		case w.Gone:
			state = "not responding"
		}
		x.Workers = append(x.Workers, live.Worker{Name: w.Name, Jobs: w.Jobs, Hand: w.Hand, Done: w.Done, State: state})
	}
	return x
}
