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

// errUnable is the error of a worker that cannot execute any run of the experiment. It is not the run's error.
var errUnable = errors.New("the experiment cannot be loaded")

// loadOnce loads the experiment at its first run here, or waits until another run has loaded it. Afterwards s.loadError
// returns the error of loading.
func (w *workerState) loadOnce(ctx context.Context, s *workerSweep) {
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
	w.loadExperiment(ctx, s)
}

// loadExperiment fetches and unpacks the experiment, and sets s.runs and s.ports. It stores an error in s.err and
// issues a notice, unless ctx has ended.
func (w *workerState) loadExperiment(ctx context.Context, s *workerSweep) {
	fetch := func(digest string) ([]byte, error) { return w.fetchInput(ctx, s, digest) }
	manifest, err := fetch(s.Manifest)
	if err == nil {
		var exp *experiment.Spec
		if exp, err = remote.UnpackParcel(w.Registry, manifest, fetch); err == nil {
			s.ports, err = run.TracePorts(exp, s.Trace)
		}
		if err == nil && len(s.Trace) > 0 && exp.TraceQuota() == 0 {
			err = errors.New("the size of its traces has no limit")
		}
		if err == nil {
			s.runs = plan.IndexByID(plan.ListRuns(exp), s.Executable)
			return
		}
	}
	if ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", errUnable, err)
		s.err.Store(&err)
		w.issueNotice("%s: %v", s.Experiment, err)
	}
}

// fetchInput requests the experiment's file with the given digest from the coordinator, part by part, until it is
// complete or ctx ends. A file above MaxBytes (0: no limit) is an error. It does not verify the digest.
func (w *workerState) fetchInput(ctx context.Context, s *workerSweep, digest string) (data []byte, err error) {
	for {
		var part input
		retry(ctx, func(ctx context.Context) error {
			m, err := w.conn.RequestWithContext(ctx, s.Sweep.subject("input"), encode(inputRequest{digest, len(data)}))
			if err == nil && !decode(m.Data, &part) {
				err = errors.New("the answer is not a part of a file")
			}
			return err
		}, 0)
		data = append(data, part.Data...)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case part.Size < 0:
			return nil, errors.New("the coordinator does not have it")
		case w.MaxBytes > 0 && part.Size > w.MaxBytes:
			return nil, fmt.Errorf("it has %d bytes, and this worker accepts up to %d", part.Size, w.MaxBytes)
		case len(data) >= part.Size:
			return data, nil
		case len(part.Data) == 0:
			return nil, fmt.Errorf("the coordinator has sent %d of its %d bytes", len(data), part.Size)
		}
	}
}

// loadError returns the error that prevents a worker from executing runs of the sweep, or nil.
func (s *workerSweep) loadError() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}
