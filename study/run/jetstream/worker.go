package jetstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"weir/core/trace"
	"weir/internal/revision"
	"weir/internal/text"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
	"weir/study/run/remote"
)

// Worker executes runs from the queues of coordinators. It neither reads nor writes files of this machine.
type Worker struct {
	Registry *experiment.Registry
	Revision revision.Revision
	Name     string        // shown to users; "": host and process
	Jobs     int           // concurrent runs; below 1: one per core
	Memory   float64       // bytes for each run; 0: no limit
	MaxTime  time.Duration // time limit of a run; 0: no limit
	MaxBytes int           // limit in bytes of a result, and of an experiment's files; 0: no limit
	OnNotice func(text string)

	own string // id of a coordinator's built-in worker

	change func(data []byte) []byte // for tests: falsifies results
	transport
}

// ExecuteRuns executes runs until ctx ends. It then gives up the runs in flight, which go to other workers. It returns
// an error if it cannot connect or the server rejects the worker's credentials; a broken connection is no error.
func (w Worker) ExecuteRuns(ctx context.Context, j *Join) error {
	within := limits{memory: w.Memory, maxTime: w.MaxTime}
	if w.own == "" {
		w.own = rand.Text() // secret: other workers that knew it could report in its name
	} else {
		within.memory = 0 // the coordinator's own runs have no limit
	}
	if w.Name == "" {
		host, _ := os.Hostname()
		w.Name = fmt.Sprintf("%s/%d", host, os.Getpid())
	}
	if w.Jobs < 1 {
		w.Jobs = runtime.GOMAXPROCS(0)
	}
	x := &workerState{Worker: w, coordinator: j.Coordinator, sweeps: map[sweep]*workerSweep{},
		numbers: map[sweep]uint64{}, wake: make(chan struct{}, 1), limits: &within}
	within.jobs = w.Jobs
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	said := "" // last notice; a lost connection with the same reason gets no second one
	conn, err := j.connect("weir worker "+w.Name, append(w.transport.options(), nats.CustomInboxPrefix(workerInbox),
		nats.ReconnectHandler(func(c *nats.Conn) { said = ""; c.Publish(askSubject, nil) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			if errors.Is(err, nats.ErrAuthorization) {
				end(refusal{j.explainError(err)})
			} else if text := err.Error(); text != said {
				said = text
				x.issueNotice("%v; the worker keeps trying", j.explainError(err))
			}
		}))...)
	if err != nil {
		return err
	}
	defer conn.Close()
	err = x.workOn(ctx, conn)
	var refused refusal
	if errors.As(context.Cause(ctx), &refused) {
		return refused.error
	}
	return err
}

// refusal is the reason why a server rejects a worker.
type refusal struct{ error }

// workerState is the state of a Worker that runs.
type workerState struct {
	Worker
	conn *nats.Conn

	announcements *nats.Subscription

	ctx  context.Context // context of the worker
	lock sync.Mutex

	coordinator string // public key that signs announcements; "": accept the first key of each sweep
	sweeps      map[sweep]*workerSweep
	numbers     map[sweep]uint64 // numbers of the last announcements, also of ended sweeps
	forged      int              // announcements without a valid signature since the last notice
	forgedAt    time.Time
	announcedAt time.Time     // time of the last announcement
	wake        chan struct{} // signals that there may be work
	limits      *limits
}

// workerSweep is a worker's state of one sweep.
type workerSweep struct {
	announcement
	key     string          // key that signs its announcements
	ctx     context.Context // ends when the sweep is over
	cancel  context.CancelFunc
	heard   time.Time
	running int // its runs in execution here
	refused string
	ready   bool // the coordinator has welcomed this worker
	woken   *nats.Subscription
	checks  bool          // checks may be queued
	loading chan struct{} // closed when loading has ended; nil: it has not begun
	runs    map[string]*plan.Run
	ports   [][]trace.Port        // ports to trace, by point
	err     atomic.Pointer[error] // why loading failed
}

// maxCoordinatorSilence is the silence of a coordinator after which its sweep counts as ended.
const maxCoordinatorSilence = 30 * time.Second

// workOn receives announcements and executes runs on an open connection, which it stores in w, until ctx ends. It then
// sends a goodbye to the coordinators. It returns an error only if it cannot subscribe.
func (w *workerState) workOn(ctx context.Context, conn *nats.Conn) (err error) {
	w.conn, w.ctx = conn, ctx
	if w.announcements, err = conn.Subscribe(announceSubject, w.receiveAnnouncement); err != nil {
		return err
	}
	conn.Publish(askSubject, nil)
	var group sync.WaitGroup
	group.Go(func() { w.greetRegularly(ctx) })
	for range w.Jobs {
		group.Go(func() { w.runSlot(ctx) })
	}
	group.Wait()
	w.announcements.Unsubscribe()
	w.greetAll(true)
	conn.FlushTimeout(500 * time.Millisecond) // give coordinators the chance to receive the goodbye
	return nil
}

// wakeSlots makes an idle slot look for work. A slot is one of the worker's Jobs goroutines (runSlot).
func (w *workerState) wakeSlots() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// issueNotice passes a notice to OnNotice.
func (w *workerState) issueNotice(format string, args ...any) {
	if w.OnNotice != nil {
		w.OnNotice(fmt.Sprintf(format, args...))
	}
}

// refuseForged counts an announcement without the coordinator's signature, and issues at most one notice per minute.
// The caller must hold the lock.
func (w *workerState) refuseForged() {
	w.forged++
	if time.Since(w.forgedAt) > time.Minute {
		w.issueNotice("%s without the coordinator's signature is ignored", text.Count(w.forged, "announcement"))
		w.forged, w.forgedAt = 0, time.Now()
	}
}

// receiveAnnouncement handles an announcement of a sweep: it verifies the signature, starts a new sweep and ends one
// that is over. It ignores replays and sweeps above maxSweeps. A sweep of another program is refused.
func (w *workerState) receiveAnnouncement(m *nats.Msg) {
	a, key, ok := verifyAnnouncement(m.Data)
	w.lock.Lock()
	defer w.lock.Unlock()
	w.announcedAt = time.Now()
	s := w.sweeps[a.Sweep]
	if !ok || w.coordinator != "" && key != w.coordinator || s != nil && key != s.key {
		w.refuseForged()
		return
	}
	if a.Number <= w.numbers[a.Sweep] || s == nil && len(w.sweeps) >= maxSweeps {
		return // a replay of an old one
	}
	if len(w.numbers) > maxMembers {
		clear(w.numbers)
	}
	w.numbers[a.Sweep] = a.Number
	if a.Over {
		if s != nil {
			w.forgetSweep(s)
		}
		return
	}
	if s == nil {
		s = &workerSweep{announcement: a, key: key}
		s.ctx, s.cancel = context.WithCancel(w.ctx)
		if ok, why := revision.Compare(w.Revision, a.Revision); !ok {
			s.refused = why
			w.issueNotice("%s is of another program, because this one has %s", a.Experiment, why)
		}
		s.woken, _ = w.conn.Subscribe(a.Sweep.subject("wake"), func(m *nats.Msg) {
			switch string(m.Data) {
			case w.own:
				go w.greetAll(false)
			case wakeChecks:
				w.lock.Lock()
				s.checks = true
				w.lock.Unlock()
			}
			w.wakeSlots()
		})
		w.sweeps[a.Sweep] = s
		go w.greetAll(false)
	}
	s.heard, s.Classes = time.Now(), a.Classes
}

// forgetSweep stops all work on a sweep. The caller must hold the lock.
func (w *workerState) forgetSweep(s *workerSweep) {
	delete(w.sweeps, s.Sweep)
	s.woken.Unsubscribe()
	s.cancel()
}

// greetRegularly greets the coordinators at the interval helloInterval until ctx ends.
func (w *workerState) greetRegularly(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(helloInterval):
			w.renewSubscription()
			w.greetAll(false)
		}
	}
}

// renewSubscription subscribes to announcements again, and asks for one, after a silence of helloInterval. A
// coordinator's server does not forward them to a subscription from before its accounts were connected. Only
// greetRegularly calls it.
func (w *workerState) renewSubscription() {
	w.lock.Lock()
	silent := time.Since(w.announcedAt) >= helloInterval
	w.lock.Unlock()
	if !silent {
		return
	}
	if again, err := w.conn.Subscribe(announceSubject, w.receiveAnnouncement); err == nil {
		w.announcements.Unsubscribe()
		w.announcements = again
		w.conn.Publish(askSubject, nil)
	}
}

// helloInterval is the interval of a worker's hellos.
const helloInterval = 2 * time.Second

// greetAll sends a hello, or with bye a goodbye, to all coordinators and handles their responses. It forgets sweeps
// with a coordinator that is silent for long, unless a run of the sweep executes here.
func (w *workerState) greetAll(bye bool) {
	w.lock.Lock()
	for _, s := range w.sweeps {
		if time.Since(s.heard) > maxCoordinatorSilence && s.running == 0 {
			w.forgetSweep(s)
		}
	}
	all := slices.Collect(maps.Values(w.sweeps))
	w.lock.Unlock()
	host, _ := os.Hostname()
	for _, s := range all {
		about := hello{Worker: w.own, Name: w.Name, Revision: w.Revision, Memory: w.Memory, Jobs: w.Jobs, Bye: bye,
			Host: host, Broken: int(w.conn.Stats().Reconnects)}
		if err := s.loadError(); err != nil {
			about.Unable = err.Error()
		}
		h := encode(about)
		if bye {
			w.conn.Publish(s.Sweep.subject("hello"), h)
			continue
		}
		m, err := w.conn.Request(s.Sweep.subject("hello"), h, helloInterval)
		if err != nil {
			continue // the coordinator is not there at this time
		}
		var answer welcome
		if json.Unmarshal(m.Data, &answer) != nil {
			continue
		}
		w.lock.Lock()
		if answer.Why != "" && s.refused == "" {
			w.issueNotice("%s refuses this worker: %s", s.Experiment, answer.Why)
		}
		if s.refused = answer.Why; s.refused == "" {
			s.ready, s.checks = true, true
		}
		w.lock.Unlock()
		w.wakeSlots()
	}
}

// runSlot executes one run after the other until ctx ends.
func (w *workerState) runSlot(ctx context.Context) {
	for ctx.Err() == nil {
		if w.runNext(ctx) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-w.wake:
			w.wakeSlots() // wake the other slots: each looks once
			time.Sleep(time.Millisecond)
			if !w.runNext(ctx) {
				select {
				case <-w.wake:
				default:
				}
			}
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// runNext takes a check or a run from the first ready sweep, by id, that has one for this worker (findJob), and
// executes it to its end. It returns false if no sweep has one.
func (w *workerState) runNext(ctx context.Context) bool {
	w.lock.Lock()
	var all []*workerSweep
	for _, id := range slices.Sorted(maps.Keys(w.sweeps)) {
		if s := w.sweeps[id]; s.ready && s.refused == "" && s.loadError() == nil {
			all = append(all, s)
		}
	}
	w.lock.Unlock()
	for _, s := range all {
		if j, m := w.findJob(ctx, s); m != nil {
			w.countRuns(s, +1)
			w.runJob(s, j, m)
			w.countRuns(s, -1)
			return true
		}
	}
	return false
}

// findJob takes a job that fits this worker from the queues of a sweep, or returns nil. It tries checks first, if some
// may be queued, and larger classes before smaller ones. It sets s.checks: whether more checks may be queued. The
// caller ends the lease.
func (w *workerState) findJob(ctx context.Context, s *workerSweep) (*job, *lease) {
	top := sizeClasses - 1
	if w.Memory > 0 {
		top = maxClassWithin(w.Memory)
	}
	w.lock.Lock()
	classes, kinds := slices.Clone(s.Classes), []string{"run"}
	if s.checks {
		kinds, s.checks = []string{"check", "run"}, false
	}
	w.lock.Unlock()
	slices.Sort(classes)
	for _, kind := range kinds {
		for _, class := range slices.Backward(classes) {
			if class > top || class < 0 || class >= sizeClasses {
				continue
			}
			if j, m := w.fetchJob(ctx, s, queueName(kind, class)); m != nil {
				if kind == "check" { // there may be more checks
					w.lock.Lock()
					s.checks = true
					w.lock.Unlock()
				}
				return j, m
			}
		}
	}
	return nil, nil
}

// maxPassed limits the checks of its own runs that a worker skips to find another one.
const maxPassed = 16

// fetchJob takes a message from a queue, or returns nil if no message is for this worker. It skips up to maxPassed
// checks of the worker's own runs and returns them to the queue at the end. It removes messages that are not a job.
func (w *workerState) fetchJob(ctx context.Context, s *workerSweep, queue string) (*job, *lease) {
	var others []*lease
	defer func() {
		for _, m := range others {
			m.Nak()
		}
	}()
	for len(others) < maxPassed {
		m, data := pullMessage(ctx, w.conn, s.Sweep.runStream(), queue)
		if m == nil {
			return nil, nil
		}
		j := &job{}
		switch {
		case json.Unmarshal(data, j) != nil:
			m.Term()
		case slices.Contains(j.Not, hashID(w.own)):
			others = append(others, m)
		default:
			return j, m
		}
	}
	return nil, nil
}

// countRuns adds n, which may be negative, to the number of a sweep's runs in execution here.
func (w *workerState) countRuns(s *workerSweep, n int) {
	w.lock.Lock()
	defer w.lock.Unlock()
	s.running += n
}

// runJob executes the run of a message, reports its result and ends the lease. It notifies the coordinator of the begin
// and the progress. If the sweep ends or the experiment cannot be loaded, it returns the run to the queue.
func (w *workerState) runJob(s *workerSweep, j *job, m *lease) {
	ctx := s.ctx
	b := begun{Worker: w.own, Name: w.Name, Run: j.Run, Check: j.Check}
	w.conn.Publish(s.Sweep.subject("begun"), encode(b))
	stop := w.extendLease(s, m)
	data, err := w.executeRun(ctx, s, j, func(hops uint64, share float64) {
		b.Hops, b.Share = hops, share
		w.conn.Publish(s.Sweep.subject("far"), encode(b))
	})
	if ctx.Err() != nil || errors.Is(err, errUnable) {
		stop()
		b.Back = true
		w.conn.Publish(s.Sweep.subject("begun"), encode(b))
		m.Nak()
		return
	}
	d := done{Worker: w.own, Name: w.Name, Run: j.Run, Check: j.Check}
	if err != nil {
		d.Error, d.Limit = err.Error(), errors.Is(err, errLimit)
	}
	if w.change != nil && data != nil {
		data = w.change(data)
	}
	w.reportResult(ctx, s, &d, data)
	stop()
	if ctx.Err() == nil {
		retry(ctx, func(ctx context.Context) error { return m.DoubleAck(ctx) }, 3)
	}
}

// extendLease extends the lease of a run periodically until the returned function is called.
func (w *workerState) extendLease(s *workerSweep, m *lease) (stop func()) {
	ended := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(s.Patience / 4):
				m.InProgress()
			}
		}
	})
	return func() { close(ended); group.Wait() }
}

// reportResult sends a result, or d.Error, and a report of it until the server has stored both or the sweep has ended.
// A sweep has ended, too, if its streams are gone and its coordinator is silent. It sets d.Digest and d.Data.
func (w *workerState) reportResult(ctx context.Context, s *workerSweep, d *done, data []byte) {
	retry(ctx, func(ctx context.Context) error {
		if d.Error == "" {
			d.Digest = remote.Digest(data)
			if len(data) <= maxInline {
				d.Data = data
			} else if err := w.sendParts(ctx, s, d.Digest, data); err != nil {
				return err
			}
		}
		err := publishReport(ctx, w.conn, s.Sweep, d)
		if errors.Is(err, nats.ErrNoResponders) && w.isSilent(s) {
			return nil // the sweep is gone, and no coordinator will create it again
		}
		return err
	}, 0)
}

// isSilent reports whether the coordinator has been silent for more than maxCoordinatorSilence although the server
// responds.
func (w *workerState) isSilent(s *workerSweep) bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	return time.Since(s.heard) > maxCoordinatorSilence && w.conn.IsConnected()
}

// retry calls do until it succeeds, ctx ends, or it was called the given number of times; 0: no limit. It drops errors.
// Each call has a time limit, and the pause between calls doubles up to 2 s.
func retry(ctx context.Context, do func(ctx context.Context) error, times int) {
	wait := 50 * time.Millisecond
	for n := 1; ; n++ {
		each, cancel := context.WithTimeout(ctx, answerTimeout(n-1))
		err := do(each)
		cancel()
		if err == nil || ctx.Err() != nil || n == times {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, 2*time.Second)
	}
}

// executeRun loads the experiment at its first run here, and executes a run within the worker's limits. It calls
// progress with the packet hops and the finished share. An exceeded limit is a limitError. If the experiment cannot be
// loaded, it greets all coordinators and returns errUnable.
func (w *workerState) executeRun(ctx context.Context, s *workerSweep, j *job,
	progress func(uint64, float64)) ([]byte, error) {
	w.loadOnce(ctx, s)
	if s.loadError() != nil {
		w.greetAll(false)
		return nil, errUnable
	}
	r := s.runs[j.Run]
	if r == nil {
		return nil, errors.New("the experiment does not contain this run")
	}
	if need := plan.EstimateMemory(r); w.Memory > 0 && need > w.Memory {
		return nil, limitError(fmt.Sprintf("it takes about %.0f MB of memory, and this worker allows %.0f MB per run",
			need/1e6, w.Memory/1e6))
	}
	data, err := w.limits.runWithin(ctx, r, func(ctx context.Context) ([]byte, error) {
		return run.SimulateTraced(ctx, r, s.ports[r.Index], &s.Tracing, s.Executable, max(runtime.GOMAXPROCS(0)/w.Jobs, 1),
			progress)
	})
	if err == nil && w.MaxBytes > 0 && len(data) > w.MaxBytes {
		return nil, limitError(fmt.Sprintf("its result has %d bytes, and this worker allows up to %d", len(data),
			w.MaxBytes))
	}
	return data, err
}
