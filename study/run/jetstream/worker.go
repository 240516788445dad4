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
	"github.com/nats-io/nats.go/jetstream"

	"weir/core/trace"
	"weir/internal/revision"
	"weir/study/plan"
	"weir/study/run"
	"weir/study/spec"
)

// Worker carries out runs that coordinators have in a queue. It reads no files of this machine, and writes none.
type Worker struct {
	Registry *spec.Registry
	Revision revision.Revision
	Name     string        // for people; "": host and process
	Jobs     int           // runs at a time; below 1: one a core
	Memory   float64       // for each of them [bytes]; 0: no limit
	Longest  time.Duration // a run may take; 0: no limit
	Largest  int           // bytes of a result, or of an experiment's files; 0: no limit
	OnNotice func(text string)

	own string // of a coordinator's own worker: drawn by it

	change func(data []byte) []byte // of tests: a worker that lies
	transport
}

// Work carries out runs until ctx ends. Then it gives up those under way: they go to others.
func (w Worker) Work(ctx context.Context, j *Join) error {
	within := limits{memory: w.Memory, longest: w.Longest}
	if w.own == "" {
		w.own = rand.Text() // in its name others could report, if they knew it
	} else {
		within.memory = 0 // as for runs that no worker carries out
	}
	if w.Name == "" {
		host, _ := os.Hostname()
		w.Name = fmt.Sprintf("%s/%d", host, os.Getpid())
	}
	if w.Jobs < 1 {
		w.Jobs = runtime.GOMAXPROCS(0)
	}
	x := &working{Worker: w, sweeps: map[sweep]*serving{}, wake: make(chan struct{}, 1), limits: &within}
	within.jobs = w.Jobs
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	said := "" // that a connection is lost is no news where there is another reason again
	conn, err := j.connect("weir worker "+w.Name, append(w.transport.options(), nats.CustomInboxPrefix(workerInbox),
		nats.ReconnectHandler(func(c *nats.Conn) { said = ""; c.Publish(askSubject, nil) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			if errors.Is(err, nats.ErrAuthorization) {
				end(refusal{j.refused(err)})
			} else if text := err.Error(); text != said {
				said = text
				x.notice("%v: it is tried again and again", j.refused(err))
			}
		}))...)
	if err != nil {
		return err
	}
	defer conn.Close()
	err = x.work(ctx, conn)
	var refused refusal
	if errors.As(context.Cause(ctx), &refused) {
		return refused.error
	}
	return err
}

// refusal is why a server does not let a worker in.
type refusal struct{ error }

// working is a worker at work.
type working struct {
	Worker
	conn *nats.Conn
	js   jetstream.JetStream

	ctx  context.Context // of the worker
	lock sync.Mutex

	sweeps map[sweep]*serving
	wake   chan struct{} // there may be something to do
	limits *limits
}

// serving is what a worker knows of a sweep.
type serving struct {
	announcement
	ctx     context.Context // ends when the sweep is over
	cancel  context.CancelFunc
	heard   time.Time
	hands   int // runs of it under way here
	refused string
	ready   bool // it has been welcomed
	woken   *nats.Subscription
	checks  bool // there may be some
	queues  map[string]jetstream.Consumer
	results jetstream.ObjectStore
	loading chan struct{} // closed when the experiment has been loaded, or cannot be; nil: it is not being loaded
	runs    map[string]*plan.Run
	ports   [][]trace.Port        // to trace, by point
	err     atomic.Pointer[error] // why it cannot be loaded
}

// silent is for how long a coordinator is not heard before its sweep is thought to be over.
const silent = 30 * time.Second

// work is Work with a connection.
func (w *working) work(ctx context.Context, conn *nats.Conn) (err error) {
	w.conn, w.ctx = conn, ctx
	if w.js, err = jetstream.New(conn); err != nil {
		return err
	}
	heard, err := conn.Subscribe(announceSubject, w.announced)
	if err != nil {
		return err
	}
	defer heard.Unsubscribe()
	conn.Publish(askSubject, nil)
	var group sync.WaitGroup
	group.Go(func() { w.present(ctx) })
	for range w.Jobs {
		group.Go(func() { w.slot(ctx) })
	}
	group.Wait()
	w.tell(true)
	conn.FlushTimeout(500 * time.Millisecond) // so that coordinators hear of it, if they are there
	return nil
}

func (w *working) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *working) notice(format string, args ...any) {
	if w.OnNotice != nil {
		w.OnNotice(fmt.Sprintf(format, args...))
	}
}

// announced hears of a sweep.
func (w *working) announced(m *nats.Msg) {
	var a announcement
	if json.Unmarshal(m.Data, &a) != nil || a.Sweep == "" {
		return
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	s := w.sweeps[a.Sweep]
	if a.Over {
		if s != nil {
			w.forget(s)
		}
		return
	}
	if s == nil {
		s = &serving{announcement: a}
		s.ctx, s.cancel = context.WithCancel(w.ctx)
		if ok, why := revision.Same(w.Revision, a.Revision); !ok {
			s.refused = why
			w.notice("%s is another program's: this one has %s", a.Experiment, why)
		}
		s.woken, _ = w.conn.Subscribe(a.Sweep.subject("wake"), func(m *nats.Msg) {
			switch string(m.Data) {
			case w.own:
				go w.tell(false)
			case wakeChecks:
				w.lock.Lock()
				s.checks = true
				w.lock.Unlock()
			}
			w.rouse()
		})
		w.sweeps[a.Sweep] = s
		go w.tell(false)
	}
	s.heard, s.Classes = time.Now(), a.Classes
}

// forget ends what is under way of a sweep that is over. The lock is held.
func (w *working) forget(s *serving) {
	delete(w.sweeps, s.Sweep)
	s.woken.Unsubscribe()
	s.cancel()
}

// present says hello every few seconds.
func (w *working) present(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(presence):
			w.tell(false)
		}
	}
}

// presence is how often a worker says that it is there.
const presence = 2 * time.Second

// tell says hello, or goodbye, to all coordinators.
func (w *working) tell(bye bool) {
	w.lock.Lock()
	for _, s := range w.sweeps {
		if time.Since(s.heard) > silent && s.hands == 0 {
			w.forget(s)
		}
	}
	all := slices.Collect(maps.Values(w.sweeps))
	w.lock.Unlock()
	host, _ := os.Hostname()
	for _, s := range all {
		about := hello{Worker: w.own, Name: w.Name, Revision: w.Revision, Memory: w.Memory, Jobs: w.Jobs, Bye: bye,
			Host: host, Broken: int(w.conn.Stats().Reconnects)}
		if err := s.unable(); err != nil {
			about.Unable = err.Error()
		}
		h := encode(about)
		if bye {
			w.conn.Publish(s.Sweep.subject("hello"), h)
			continue
		}
		m, err := w.conn.Request(s.Sweep.subject("hello"), h, presence)
		if err != nil {
			continue // the coordinator is not there, now
		}
		var answer welcome
		if json.Unmarshal(m.Data, &answer) != nil {
			continue
		}
		w.lock.Lock()
		if answer.Why != "" && s.refused == "" {
			w.notice("%s refuses this worker: %s", s.Experiment, answer.Why)
		}
		if s.refused = answer.Why; s.refused == "" {
			s.ready, s.checks = true, true
		}
		w.lock.Unlock()
		w.rouse()
	}
}

// slot carries out one run after the other.
func (w *working) slot(ctx context.Context) {
	for ctx.Err() == nil {
		if w.next(ctx) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-w.wake:
			w.rouse() // for the others; each looks once, and waits then
			time.Sleep(time.Millisecond)
			if !w.next(ctx) {
				select {
				case <-w.wake:
				default:
				}
			}
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// next takes a check or a run of some sweep, of the largest class that fits, and carries it out.
func (w *working) next(ctx context.Context) bool {
	w.lock.Lock()
	var all []*serving
	for _, id := range slices.Sorted(maps.Keys(w.sweeps)) {
		if s := w.sweeps[id]; s.ready && s.refused == "" && s.unable() == nil {
			all = append(all, s)
		}
	}
	w.lock.Unlock()
	for _, s := range all {
		if j, m := w.find(ctx, s); m != nil {
			w.hand(s, +1)
			w.take(s, j, m)
			w.hand(s, -1)
			return true
		}
	}
	return false
}

// find takes what a sweep has for this worker out of its queues; nil: nothing.
func (w *working) find(ctx context.Context, s *serving) (*job, jetstream.Msg) {
	top := Classes - 1
	if w.Memory > 0 {
		top = fits(w.Memory)
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
			if class > top || class < 0 || class >= Classes {
				continue
			}
			q, err := w.queue(ctx, s, queueName(kind, class))
			if err != nil {
				continue
			}
			if j, m := w.fetch(q); m != nil {
				if kind == "check" { // it may not be the last
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

// mostPassed is how many checks of its own runs a worker passes over to find another behind them.
const mostPassed = 16

// fetch takes a message out of a queue; nil: there is none for this worker. Checks of its own runs are for others: it
// gives them back when it has found another.
func (w *working) fetch(queue jetstream.Consumer) (*job, jetstream.Msg) {
	var others []jetstream.Msg
	defer func() {
		for _, m := range others {
			m.Nak()
		}
	}()
	for len(others) < mostPassed {
		batch, err := queue.FetchNoWait(1)
		if err != nil {
			return nil, nil
		}
		m, ok := <-batch.Messages()
		if !ok {
			return nil, nil
		}
		j := &job{}
		switch {
		case json.Unmarshal(m.Data(), j) != nil:
			m.Term()
		case slices.Contains(j.Not, secretly(w.own)):
			others = append(others, m)
		default:
			return j, m
		}
	}
	return nil, nil
}

// queue looks up a consumer of a sweep.
func (w *working) queue(ctx context.Context, s *serving, name string) (jetstream.Consumer, error) {
	w.lock.Lock()
	store, q := s.results, s.queues[name]
	w.lock.Unlock()
	if store != nil && q != nil {
		return q, nil
	}
	ctx, cancel := context.WithTimeout(ctx, answer(1))
	defer cancel()
	store, err := w.js.ObjectStore(ctx, s.Sweep.results())
	if err != nil {
		return nil, err
	}
	if q, err = w.js.Consumer(ctx, s.Sweep.runs(), name); err != nil {
		return nil, err
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	if s.queues == nil {
		s.queues = map[string]jetstream.Consumer{}
	}
	s.results, s.queues[name] = store, q
	return q, nil
}

// hand counts the runs of a sweep that are under way here.
func (w *working) hand(s *serving, n int) {
	w.lock.Lock()
	defer w.lock.Unlock()
	s.hands += n
}

// take carries out the run of a message, and says what it gives.
func (w *working) take(s *serving, j *job, m jetstream.Msg) {
	ctx := s.ctx
	b := begun{Worker: w.own, Name: w.Name, Run: j.Run, Check: j.Check}
	w.conn.Publish(s.Sweep.subject("begun"), encode(b))
	stop := w.hold(s, m)
	data, err := w.carryOut(ctx, s, j, func(hops uint64, share float64) {
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
	w.report(ctx, s, &d, data)
	stop()
	if ctx.Err() == nil {
		again(ctx, func(ctx context.Context) error { return m.DoubleAck(ctx) }, 3)
	}
}

// hold says now and then that a run is being carried out. What it returns ends that.
func (w *working) hold(s *serving, m jetstream.Msg) (stop func()) {
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

// report puts a result into the store, and says that it is there: as often as it takes.
func (w *working) report(ctx context.Context, s *serving, d *done, data []byte) {
	again(ctx, func(ctx context.Context) error {
		if d.Error == "" {
			d.Digest = run.Digest(data)
			if len(data) <= atOnce {
				d.Data = data
			} else if info, err := s.results.GetInfo(ctx, d.Digest); err != nil || info.Size != uint64(len(data)) {
				if _, err := w.put(ctx, s.results, d.Digest, data); err != nil {
					return err
				}
			}
		}
		_, err := w.js.Publish(ctx, s.Sweep.subject("done."+d.Run), encode(d))
		if errors.Is(err, jetstream.ErrNoStreamResponse) && w.unheard(s) {
			return nil // the sweep has been taken away, and nobody makes it again
		}
		return err
	}, 0)
}

// unheard reports whether the coordinator has said nothing for long, although the server is there.
func (w *working) unheard(s *serving) bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	return time.Since(s.heard) > silent && w.conn.IsConnected()
}

// again does something until it works, ctx ends or it has been tried so often; 0: always. It waits longer and longer.
func again(ctx context.Context, do func(ctx context.Context) error, times int) {
	wait := 50 * time.Millisecond
	for n := 1; ; n++ {
		each, cancel := context.WithTimeout(ctx, answer(n-1))
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

// carryOut loads the experiment, if this is its first run here, and carries out a run within the worker's limits.
func (w *working) carryOut(ctx context.Context, s *serving, j *job, far func(uint64, float64)) ([]byte, error) {
	w.loadOnce(ctx, s)
	if s.unable() != nil {
		w.tell(false)
		return nil, errUnable
	}
	r := s.runs[j.Run]
	if r == nil {
		return nil, errors.New("the experiment has no such run")
	}
	if need := plan.EstimateMemory(r); w.Memory > 0 && need > w.Memory {
		return nil, limitError(fmt.Sprintf("it takes about %.0f MB of memory, and this worker has %.0f MB for a run",
			need/1e6, w.Memory/1e6))
	}
	data, err := w.limits.within(ctx, r, func(ctx context.Context) ([]byte, error) {
		return run.Traced(ctx, r, s.ports[r.Index], &s.Tracing, s.Executable, max(runtime.GOMAXPROCS(0)/w.Jobs, 1), far)
	})
	if err == nil && w.Largest > 0 && len(data) > w.Largest {
		return nil, limitError(fmt.Sprintf("its result has %d bytes, and this worker gives %d at most", len(data),
			w.Largest))
	}
	return data, err
}

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
	inputs, err := w.js.ObjectStore(ctx, s.Sweep.inputs())
	if err == nil {
		var manifest []byte
		fetch := func(digest string) (data []byte, err error) {
			if info, err := inputs.GetInfo(ctx, digest); err == nil && w.Largest > 0 && info.Size > uint64(w.Largest) {
				return nil, fmt.Errorf("it has %d bytes, and this worker takes %d at most", info.Size, w.Largest)
			}
			again(ctx, func(ctx context.Context) error {
				if data, err = inputs.GetBytes(ctx, digest); errors.Is(err, jetstream.ErrObjectNotFound) {
					return nil
				}
				return err
			}, 0)
			return data, err
		}
		if manifest, err = fetch(s.Manifest); err == nil {
			var exp *spec.Spec
			if exp, err = run.Unpack(w.Registry, manifest, fetch); err == nil {
				s.ports, err = run.TracePorts(exp, s.Trace)
			}
			if err == nil && len(s.Trace) > 0 && exp.TraceQuota() == 0 {
				err = errors.New("its traces have no bound")
			}
			if err == nil {
				runs := map[string]*plan.Run{}
				for _, r := range plan.RunsOn(exp, spec.Sim) {
					runs[r.ID(s.Executable)] = r
				}
				s.runs = runs
				return
			}
		}
	}
	if ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", errUnable, err)
		s.err.Store(&err)
		w.notice("%s: %v", s.Experiment, err)
	}
}

// unable is why a worker cannot carry out runs of a sweep; nil: it can.
func (s *serving) unable() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}
