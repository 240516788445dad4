package jetstream

import (
	"context"
	"errors"
	"fmt"

	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
	"weir/study/run/remote"
)

// errUnable says that a worker can carry out no run of the experiment: that is no fault of the run's.
var errUnable = errors.New("the experiment cannot be loaded")

// loadOnce loads the experiment if this is its first run here, or waits until it is loaded.
func (w *working) loadOnce(ctx context.Context, s *serving) {
	w.lock.Lock()
	first := s.loading == nil
	if first {
		s.loading = make(chan struct{})
	}
	w.lock.Unlock()
	if !first {
		<-s.loading
		return
	}
	defer close(s.loading)
	w.load(ctx, s)
}

// load unpacks the experiment.
func (w *working) load(ctx context.Context, s *serving) {
	fetch := func(digest string) ([]byte, error) { return w.input(ctx, s, digest) }
	manifest, err := fetch(s.Manifest)
	if err == nil {
		var exp *experiment.Spec
		if exp, err = remote.Unpack(w.Registry, manifest, fetch); err == nil {
			s.ports, err = run.TracePorts(exp, s.Trace)
		}
		if err == nil && len(s.Trace) > 0 && exp.TraceQuota() == 0 {
			err = errors.New("its traces have no bound")
		}
		if err == nil {
			s.runs = plan.ByID(plan.Runs(exp), s.Executable)
			return
		}
	}
	if ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", errUnable, err)
		s.err.Store(&err)
		w.notice("%s: %v", s.Experiment, err)
	}
}

// input asks the coordinator for a file of the experiment, part by part, until it answers or ctx ends.
func (w *working) input(ctx context.Context, s *serving, digest string) (data []byte, err error) {
	for {
		var part input
		again(ctx, func(ctx context.Context) error {
			m, err := w.conn.RequestWithContext(ctx, s.Sweep.subject("input"), encode(inputRequest{digest, len(data)}))
			if err == nil && !decode(m.Data, &part) {
				err = errors.New("the answer is no part of a file")
			}
			return err
		}, 0)
		data = append(data, part.Data...)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case part.Size < 0:
			return nil, errors.New("the coordinator does not have it")
		case w.Largest > 0 && part.Size > w.Largest:
			return nil, fmt.Errorf("it has %d bytes, and this worker takes %d at most", part.Size, w.Largest)
		case len(data) >= part.Size:
			return data, nil
		case len(part.Data) == 0:
			return nil, fmt.Errorf("the coordinator has sent %d of its %d bytes", len(data), part.Size)
		}
	}
}

// unable is why a worker cannot carry out runs of a sweep; nil: it can.
func (s *serving) unable() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}
