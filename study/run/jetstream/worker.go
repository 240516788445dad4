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

// Worker carries out runs that coordinators have in a queue. It reads no files of this machine, and writes none.
type Worker struct {
	Registry *experiment.Registry
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
	x := &working{Worker: w, coordinator: j.Coordinator, sweeps: map[sweep]*serving{},
		numbers: map[sweep]uint64{}, wake: make(chan struct{}, 1), limits: &within}
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

	ctx  context.Context // of the worker
	lock sync.Mutex

	coordinator string // public key that announcements are signed with; "": the first one of each sweep
	sweeps      map[sweep]*serving
	numbers     map[sweep]uint64 // of their last announcements, also of sweeps that are over
	forged      int              // announcements without the right signature since the last notice
	forgedAt    time.Time
	wake        chan struct{} // there may be something to do
	limits      *limits
}

// serving is what a worker knows of a sweep.
type serving struct {
	announcement
	key     string          // that its announcements are signed with
	ctx     context.Context // ends when the sweep is over
	cancel  context.CancelFunc
	heard   time.Time
	hands   int // runs of it under way here
	refused string
	ready   bool // it has been welcomed
	woken   *nats.Subscription
	checks  bool          // there may be some
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

// refuseForged counts an announcement that has not the coordinator's signature. The lock is held.
func (w *working) refuseForged() {
	w.forged++
	if time.Since(w.forgedAt) > time.Minute {
		w.notice("%s without the coordinator's signature: ignored", text.Count(w.forged, "announcement"))
		w.forged, w.forgedAt = 0, time.Now()
	}
}

// announced receives an announcement of a sweep.
func (w *working) announced(m *nats.Msg) {
	a, key, ok := verified(m.Data)
	w.lock.Lock()
	defer w.lock.Unlock()
	s := w.sweeps[a.Sweep]
	if !ok || w.coordinator != "" && key != w.coordinator || s != nil && key != s.key {
		w.refuseForged()
		return
	}
	if a.Number <= w.numbers[a.Sweep] || s == nil && len(w.sweeps) >= mostSweeps {
		return // it is a copy of an old one
	}
	if len(w.numbers) > mostMembers {
		clear(w.numbers)
	}
	w.numbers[a.Sweep] = a.Number
	if a.Over {
		if s != nil {
			w.forget(s)
		}
		return
	}
	if s == nil {
		s = &serving{announcement: a, key: key}
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
func (w *working) find(ctx context.Context, s *serving) (*job, *lease) {
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
			if j, m := w.fetch(ctx, s, queueName(kind, class)); m != nil {
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
func (w *working) fetch(ctx context.Context, s *serving, queue string) (*job, *lease) {
	var others []*lease
	defer func() {
		for _, m := range others {
			m.Nak()
		}
	}()
	for len(others) < mostPassed {
		m, data := pull(ctx, w.conn, s.Sweep.runs(), queue)
		if m == nil {
			return nil, nil
		}
		j := &job{}
		switch {
		case json.Unmarshal(data, j) != nil:
			m.Term()
		case slices.Contains(j.Not, secretly(w.own)):
			others = append(others, m)
		default:
			return j, m
		}
	}
	return nil, nil
}

// hand counts the runs of a sweep that are under way here.
func (w *working) hand(s *serving, n int) {
	w.lock.Lock()
	defer w.lock.Unlock()
	s.hands += n
}

// take carries out the run of a message, and says what it gives.
func (w *working) take(s *serving, j *job, m *lease) {
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
func (w *working) hold(s *serving, m *lease) (stop func()) {
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

// report sends a result, and says that it is there: as often as it takes.
func (w *working) report(ctx context.Context, s *serving, d *done, data []byte) {
	again(ctx, func(ctx context.Context) error {
		if d.Error == "" {
			d.Digest = remote.Digest(data)
			if len(data) <= atOnce {
				d.Data = data
			} else if err := w.sendParts(ctx, s, d.Digest, data); err != nil {
				return err
			}
		}
		err := publishReport(ctx, w.conn, s.Sweep, d)
		if errors.Is(err, nats.ErrNoResponders) && w.unheard(s) {
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
