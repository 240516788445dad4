package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

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
}

// Work carries out runs until ctx ends. Then it gives up those under way: they go to others.
func (w Worker) Work(ctx context.Context, j *Join) error {
	if w.own == "" {
		w.own = nuid.Next()
	}
	if w.Name == "" {
		host, _ := os.Hostname()
		w.Name = fmt.Sprintf("%s/%d", host, os.Getpid())
	}
	if w.Jobs < 1 {
		w.Jobs = runtime.GOMAXPROCS(0)
	}
	x := &working{Worker: w, sweeps: map[sweep]*serving{}, wake: make(chan struct{}, 1)}
	conn, err := j.connect("weir worker "+w.Name, nats.CustomInboxPrefix(workerInbox),
		nats.ReconnectHandler(func(c *nats.Conn) { c.Publish(askSubject, nil) }))
	if err != nil {
		return err
	}
	defer conn.Close()
	return x.work(ctx, conn)
}

// working is a worker at work.
type working struct {
	Worker
	conn *nats.Conn
	js   jetstream.JetStream

	lock   sync.Mutex
	sweeps map[sweep]*serving
	wake   chan struct{} // there may be something to do
}

// serving is what a worker knows of a sweep.
type serving struct {
	announcement
	heard   time.Time
	refused string
	ready   bool // it has been welcomed
	woken   *nats.Subscription
	classes []jetstream.Consumer
	results jetstream.ObjectStore
	loading sync.Once
	runs    map[string]*plan.Run
	err     error // why it cannot be loaded
}

// silent is for how long a coordinator is not heard before its sweep is thought to be over.
const silent = 30 * time.Second

// work is Work with a connection.
func (w *working) work(ctx context.Context, conn *nats.Conn) (err error) {
	w.conn = conn
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
	if s == nil {
		s = &serving{announcement: a}
		if ok, why := revision.Same(w.Revision, a.Revision); !ok {
			s.refused = why
			w.notice("%s is another program's: this one has %s", a.Experiment, why)
		}
		s.woken, _ = w.conn.Subscribe(a.Sweep.subject("wake"), func(m *nats.Msg) {
			if string(m.Data) == w.own {
				go w.tell(false)
			}
			w.rouse()
		})
		w.sweeps[a.Sweep] = s
		go w.tell(false)
	}
	s.heard, s.Classes = time.Now(), a.Classes
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
	for id, s := range w.sweeps {
		if time.Since(s.heard) > silent {
			delete(w.sweeps, id)
			s.woken.Unsubscribe()
		}
	}
	all := slices.Collect(maps.Values(w.sweeps))
	w.lock.Unlock()
	for _, s := range all {
		h := encode(hello{w.own, w.Name, w.Revision, w.Memory, w.Jobs, bye})
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
			s.ready = true
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

// next takes a run of some sweep, of the largest class that fits, and carries it out.
func (w *working) next(ctx context.Context) bool {
	w.lock.Lock()
	var all []*serving
	for _, id := range slices.Sorted(maps.Keys(w.sweeps)) {
		if s := w.sweeps[id]; s.ready && s.refused == "" && s.err == nil {
			all = append(all, s)
		}
	}
	w.lock.Unlock()
	for _, s := range all {
		if err := w.bind(ctx, s); err != nil {
			continue
		}
		top := Classes - 1
		if w.Memory > 0 {
			top = fits(w.Memory)
		}
		w.lock.Lock()
		classes := slices.Clone(s.Classes)
		w.lock.Unlock()
		slices.Sort(classes)
		for _, class := range slices.Backward(classes) {
			if class > top || class < 0 || class >= len(s.classes) {
				continue
			}
			if j, m := w.fetch(s, class); m != nil {
				w.take(ctx, s, j, m)
				return true
			}
		}
	}
	return false
}

// mostPassed is how many checks of its own runs a worker passes over to find another run behind them.
const mostPassed = 16

// fetch takes a run of a class out of the queue; nil: there is none for this worker. Checks of its own runs are for
// others: it gives them back when it has found another.
func (w *working) fetch(s *serving, class int) (*job, jetstream.Msg) {
	var others []jetstream.Msg
	defer func() {
		for _, m := range others {
			m.Nak()
		}
	}()
	for len(others) < mostPassed {
		batch, err := s.classes[class].FetchNoWait(1)
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
		case j.Not == w.own:
			others = append(others, m)
		default:
			return j, m
		}
	}
	return nil, nil
}

// bind looks up the consumers of a sweep.
func (w *working) bind(ctx context.Context, s *serving) error {
	w.lock.Lock()
	defer w.lock.Unlock()
	if s.classes != nil {
		return nil
	}
	var all []jetstream.Consumer
	for class := range Classes {
		c, err := w.js.Consumer(ctx, s.Sweep.runs(), className(class))
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	results, err := w.js.ObjectStore(ctx, s.Sweep.results())
	if err != nil {
		return err
	}
	s.classes, s.results = all, results
	return nil
}

// take carries out the run of a message, and says what it gives.
func (w *working) take(ctx context.Context, s *serving, j *job, m jetstream.Msg) {
	b := begun{Worker: w.own, Name: w.Name, Run: j.Run, Check: j.Check}
	w.conn.Publish(s.Sweep.subject("begun"), encode(b))
	stop := w.hold(s, m)
	data, err := w.carryOut(ctx, s, j, func(hops uint64, share float64) {
		b.Hops, b.Share = hops, share
		w.conn.Publish(s.Sweep.subject("far"), encode(b))
	})
	if ctx.Err() != nil {
		stop()
		m.Nak()
		return
	}
	d := done{Worker: w.own, Name: w.Name, Run: j.Run, Check: j.Check}
	if err != nil {
		d.Error = err.Error()
	} else if w.Largest > 0 && len(data) > w.Largest {
		d.Error, data = fmt.Sprintf("its result has %d bytes, and this worker gives %d at most", len(data), w.Largest), nil
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
				if _, err := s.results.PutBytes(ctx, d.Digest, data); err != nil {
					return err
				}
			}
		}
		_, err := w.js.Publish(ctx, s.Sweep.subject("done."+d.Run), encode(d))
		return err
	}, 0)
}

// again does something until it works, ctx ends or it has been tried so often; 0: always. It waits longer and longer.
func again(ctx context.Context, do func(ctx context.Context) error, times int) {
	wait := 50 * time.Millisecond
	for n := 1; ; n++ {
		each, cancel := context.WithTimeout(ctx, 10*time.Second)
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
	s.loading.Do(func() { w.load(ctx, s) })
	w.lock.Lock()
	err := s.err
	w.lock.Unlock()
	if err != nil {
		return nil, err
	}
	r := s.runs[j.Run]
	if r == nil {
		return nil, errors.New("the experiment has no such run")
	}
	if need := plan.EstimateMemory(r); w.Memory > 0 && need > w.Memory {
		return nil, fmt.Errorf("it takes about %.0f MB of memory, and this worker has %.0f MB for a run", need/1e6,
			w.Memory/1e6)
	}
	if w.Longest > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, w.Longest, errLong)
		defer cancel()
		ctx = limited
	}
	data, err := run.One(ctx, r, s.Executable, max(runtime.GOMAXPROCS(0)/w.Jobs, 1), far)
	if err != nil && errors.Is(context.Cause(ctx), errLong) {
		err = fmt.Errorf("it has not ended within %v, which is as long as this worker gives a run", w.Longest)
	}
	return data, err
}

var errLong = errors.New("too long")

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
		w.lock.Lock()
		defer w.lock.Unlock()
		s.err = fmt.Errorf("the experiment cannot be loaded: %w", err)
		w.notice("%s: %v", s.Experiment, s.err)
	}
}
