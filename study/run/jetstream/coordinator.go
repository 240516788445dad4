package jetstream

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"weir/core/trace"
	"weir/internal/atomicfile"
	"weir/internal/bind"
	"weir/internal/revision"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/results"
	"weir/study/run"
	"weir/study/run/remote"
)

// Config is how an experiment is carried out by workers.
type Config struct {
	Registry *experiment.Registry
	Revision revision.Revision
	Listen   string // ADDRESS:PORT of a server of its own; "": that of Server
	Server   *Join  // one that is there
	Jobs     int    // runs at a time of its own worker; below 0: it has none; 0: one a core
	Memory   float64
	// Keys is a folder of the server's keys and the file to join with, by which workers come back to one experiment after
	// the other (Prepare). "": each has its own, in the folder of its queue.
	Keys     string
	Verify   Verify // which results of workers are made again and compared
	OnNotice func(text string)
	OnStatus func(Status) // several times a second

	patience time.Duration // 0: 10 s
	draw     func() bool   // whether one more run of a worker is checked; nil: one in fifty
	joined   func(file string)
	change   func(data []byte) []byte // of its own worker
	queue    string                   // folder of the queue; "": in that of the results
	transport
}

// Verify is which results of workers are made again and compared, beside the first one of each.
type Verify string

// Kinds of verification.
const (
	VerifySample Verify = ""    // one in fifty, by another worker
	VerifyAll    Verify = "all" // also the first result of each worker at each point, by the coordinator
)

// Coordinator is a run.Runner whose runs workers carry out.
type Coordinator struct {
	Config
	work       *run.Work
	ports      [][]trace.Port   // to trace, by point
	dir        string           // of the queue
	lone       *atomicfile.File // nobody else has that folder
	sweep      sweep
	server     *Server
	conn       *nats.Conn
	queues     queues // on the server, and the results there
	inbox      jetstream.ConsumeContext
	stale      atomic.Bool // it is of a connection that broke
	ended      context.CancelFunc
	background background
	own        string // its own worker
	announcer  announcer
	files      map[string][]byte // of the experiment, by digest

	partials partials // large results on their way, by worker and digest

	notices noticeLimit // of workers

	lock     sync.Mutex
	tasks    map[string]*task
	members  roster
	verifier verifier // of results
	journal  *journal
	status   Status
	deaf     string // why the server does not answer, as was told; "": it does
	full     string // why it cannot write; "": it can

	hands       chan struct{} // of as many results at a time
	misfits     map[int]bool  // classes of which it was said that no worker takes them
	left        int           // how often in a row reconcile has left it to those that have come
	interrupted bool          // some run has not come back, or was not even handed over
}

// New is a coordinator.
func New(c Config) *Coordinator {
	if c.patience == 0 {
		c.patience = 10 * time.Second
	}
	if c.draw == nil {
		c.draw = func() bool { return drawn(rand.IntN) }
	}
	x := &Coordinator{Config: c, tasks: map[string]*task{}, members: roster{}, partials: partials{},
		misfits: map[int]bool{}, hands: make(chan struct{}, 16), own: crand.Text()}
	x.verifier = verifier{c: x, checks: map[string]*check{}, settled: sync.NewCond(&x.lock)}
	return x
}

// drawn draws whether a run is made again to be compared: one in fifty is. intN returns a number below n.
func drawn(intN func(n int) int) bool { return intN(oneIn) == 0 }

// task is a run that has been handed over.
type task struct {
	run.Task
	class  int
	result chan outcome
	far    func(uint64, float64)
	began  []*member   // that took it and have not reported
	lost   []string    // names of workers that did not come back with it
	errors []complaint // what workers reported
	tries  int         // count of further publications
	over   bool
	queued bool    // it has been published
	by     *member // who has made what was taken
	digest string  // of that

	withheld time.Time // since then no queue and no worker that is heard has it; zero: one has
}

// holder returns the worker that has begun a run and has not reported; nil: there is none.
func (t *task) holder() *member {
	if len(t.began) == 0 {
		return nil
	}
	return t.began[len(t.began)-1]
}

// suffix distinguishes the messages of a run that is published several times.
func (t *task) suffix() string {
	if t.tries == 0 {
		return ""
	}
	return fmt.Sprintf("-%d", t.tries)
}

// outcome is what a run gives.
type outcome struct {
	data []byte
	err  error
}

// Traces reports that workers deliver the traces of runs.
func (c *Coordinator) Traces() bool { return true }

// Room is more than any number of workers takes at a time.
func (c *Coordinator) Room() int { return 4096 }

// Begin starts the server, or reaches the one that there is, and makes the queue.
func (c *Coordinator) Begin(ctx context.Context, w *run.Work) (err error) {
	c.work = w
	if w.Dir == "" {
		return errors.New("workers need a folder of results")
	}
	if c.dir = c.queue; c.dir == "" {
		c.dir = queueFolder(w.Dir)
	}
	c.interrupted = true // until it has begun: what is there of before stays
	defer func() { c.interrupted = err != nil }()
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	if c.ports, err = run.TracePorts(w.Spec, w.Trace); err != nil {
		return err
	}
	const busy = "another process has workers carry out this experiment"
	if c.lone, err = remote.Lock(c.dir, "coordinator", busy); err != nil {
		return err
	}
	if c.journal, err = openJournal(filepath.Join(c.dir, journalFile), traced(w)); err != nil {
		return err
	}
	c.sweep = c.journal.sweep
	join, options, err := c.begin()
	if err != nil {
		return err
	}
	c.journal.Begin(results.ByWorkers, withoutSecrets(join.Address))
	c.announcer.hello.Number = uint64(len(c.journal.Executions())) << 32 // above all numbers of executions before
	options = append(options, c.watched()...)
	if c.conn, err = join.connect("weir coordinator of "+w.Spec.Name(), options...); err != nil {
		return err
	}
	c.announcer.conn = c.conn
	if c.queues.js, err = jetstream.New(c.conn); err != nil {
		return err
	}
	c.queues.sweep = c.sweep
	running, ended := context.WithCancel(context.WithoutCancel(ctx))
	c.ended, c.verifier.judges = ended, running
	if before := c.journal.before; before != "" { // what it has left gives other traces
		c.announcer.announceOver(before)
		before.remove(ctx, c.queues.js)
	}
	if err := c.prepare(ctx); err != nil {
		return err
	}
	if err := c.listen(); err != nil {
		return err
	}
	c.background.startFunction(func() { c.attend(running) })
	if c.Jobs >= 0 {
		own := Worker{Registry: c.Registry, Revision: c.Revision, Name: "this process", Jobs: c.Jobs, Memory: c.Memory,
			own: c.own, change: c.change, transport: c.transport}
		c.background.startFunction(func() {
			if err := own.Work(running, join); err != nil {
				c.notice("its own worker: %v", err)
			}
		})
	}
	return nil
}

// begin starts a server, or takes the one that there is.
func (c *Coordinator) begin() (*Join, []nats.Option, error) {
	if c.Listen == "" {
		secrets, err := openSecrets(c.keys(), "localhost")
		if err != nil {
			return nil, nil, err
		}
		if c.announcer.key, err = nkeys.FromSeed([]byte(secrets.Coordinator)); err != nil {
			return nil, nil, err
		}
		j := *c.Server
		j.Coordinator = publicKey(secrets.Coordinator)
		return &j, c.options(), nil
	}
	host, err := Reachable(c.Listen)
	if err != nil {
		return nil, nil, err
	}
	secrets, err := openSecrets(c.keys(), host)
	if err != nil {
		return nil, nil, err
	}
	if c.announcer.key, err = nkeys.FromSeed([]byte(secrets.Coordinator)); err != nil {
		return nil, nil, err
	}
	listen := c.Listen
	if before, err := ReadJoin(c.joinFile()); err == nil && strings.HasSuffix(listen, ":0") {
		listen = strings.TrimPrefix(before.Address, "nats://") // workers look for it where it was
	}
	if c.server, err = c.start(listen, c.dir, secrets, c.sweep); err != nil {
		return nil, nil, err
	}
	join := Join{Address: "nats://" + c.server.Address(), Key: secrets.Worker, Certificate: string(secrets.authority),
		Coordinator: publicKey(secrets.Coordinator)}
	if err := join.write(c.joinFile()); err != nil {
		return nil, nil, err
	}
	if c.Keys == "" { // else it was told before
		c.notice("workers join with: weir worker --join %s", c.joinFile())
	}
	if c.joined != nil {
		c.joined(c.joinFile())
	}
	join.Key = secrets.Coordinator
	return &join, []nats.Option{nats.InProcessServer(c.server)}, nil
}

// Reachable is the host of an ADDRESS:PORT at which workers reach this machine. All addresses of a machine at once
// (0.0.0.0, ::, none) are refused: a worker that joins with that would look for the server on its own machine.
func Reachable(listen string) (host string, err error) {
	host, err = bind.Host(listen)
	if every := (*bind.EveryAddressError)(nil); errors.As(err, &every) {
		err = fmt.Errorf("%w; allowed: the one at which workers reach it", err)
	}
	return host, err
}

func (c *Coordinator) keys() string { return cmp.Or(c.Keys, c.dir) }

func (c *Coordinator) joinFile() string { return joinFile(c.keys()) }

func (c *Config) notice(format string, args ...any) {
	if c.OnNotice != nil {
		c.OnNotice(fmt.Sprintf(format, args...))
	}
}

// prepare makes the streams, and packs the experiment.
func (c *Coordinator) prepare(ctx context.Context) error {
	manifest, files := remote.Pack(c.work.Spec)
	files[remote.Digest(manifest)] = manifest
	c.files = files
	c.announcer.hello = announcement{Number: c.announcer.hello.Number, Sweep: c.sweep,
		Experiment: c.work.Spec.Name(), Manifest: remote.Digest(manifest),
		Executable: c.work.Executable, Revision: c.Revision, Patience: c.patience, Trace: c.work.Trace,
		Tracing: c.work.Tracing}
	return c.persist(ctx, func(ctx context.Context) error {
		if err := c.sweep.streams(ctx, c.queues.js, c.patience, c.storage, c.server != nil); err != nil {
			return err
		}
		var err error
		c.queues.results, err = c.queues.js.ObjectStore(ctx, c.sweep.results())
		return err
	})
}

// persist does something with the server until it works, and says why it waits.
func (c *Coordinator) persist(ctx context.Context, do func(ctx context.Context) error) error {
	wait := 20 * time.Millisecond
	for n := 0; ; n++ {
		each, cancel := context.WithTimeout(ctx, answer(n))
		err := do(each)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrPermissionViolation) {
			return fmt.Errorf("the server lets nobody in with these credentials: %w", err)
		}
		if wait >= time.Second {
			c.stuck(&c.deaf, fmt.Sprintf("the server does not answer (%v): everything waits for it", err))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, 2*time.Second)
	}
}

// answer is for how long the server has to answer at the n-th try (from 0): what was asked when a connection broke is
// never answered, and what is large takes its time.
func answer(n int) time.Duration { return min(time.Second<<min(n, 5), 30*time.Second) }

// stuck tells once why nothing goes on; "": it goes on.
func (c *Coordinator) stuck(reason *string, why string) {
	c.lock.Lock()
	before := cmp.Or(c.full, c.deaf)
	*reason = why
	now := cmp.Or(c.full, c.deaf)
	c.status.Waiting = now
	switch {
	case now != "" && before == "":
		c.journal.note(remote.JournalEntry{Event: remote.Waiting, Text: now})
	case now == "" && before != "":
		c.journal.note(remote.JournalEntry{Event: remote.Resumed})
	}
	c.lock.Unlock()
	switch {
	case now != "" && before == "":
		c.notice("%s", now)
	case now == "" && before != "":
		c.notice("it goes on")
	}
}

// listen hears workers.
func (c *Coordinator) listen() error {
	for subject, hear := range map[string]nats.MsgHandler{
		askSubject:               func(*nats.Msg) { c.announcer.announce() },
		c.sweep.subject("hello"): c.greet,
		c.sweep.subject("begun"): c.begun,
		c.sweep.subject("far"):   c.far,
		c.sweep.subject("input"): c.input,
		c.sweep.subject("part"):  c.part,
	} {
		s, err := c.conn.Subscribe(subject, hear)
		if err == nil {
			err = boundPending(s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// attend announces the sweep, takes what workers have done, and looks after what may have been lost.
func (c *Coordinator) attend(ctx context.Context) {
	c.announcer.announce()
	second, all, status := time.NewTicker(time.Second), time.NewTicker(c.patience), time.NewTicker(200*time.Millisecond)
	for ctx.Err() == nil {
		if c.stale.Swap(false) && c.inbox != nil {
			c.inbox.Stop()
			c.inbox = nil
		}
		if c.inbox == nil {
			c.inbox = c.queues.consumeReports(ctx, c.done)
		}
		select {
		case <-ctx.Done():
		case <-second.C:
			c.announcer.announce()
			c.watch()
		case <-all.C:
			c.reconcile()
		case <-status.C:
			c.report()
		}
	}
	if c.inbox != nil {
		c.inbox.Stop()
	}
}

// Carry publishes a run, and waits for what it gives.
func (c *Coordinator) Carry(ctx context.Context, of run.Task, far func(uint64, float64)) ([]byte, error) {
	t := &task{Task: of, class: class(plan.EstimateMemory(of.Run)), result: make(chan outcome, 1), far: far}
	c.lock.Lock()
	c.tasks[of.ID] = t
	c.status.Queued++
	fresh := c.announcer.addClass(t.class)
	c.lock.Unlock()
	c.unfit()
	if fresh {
		c.announcer.announce()
	}
	err := c.persist(ctx, func(ctx context.Context) error {
		return c.queues.publish(ctx, c.sweep.run(t.class, t.ID, ""), job{Run: t.ID, Hops: t.Hops})
	})
	if err == nil {
		c.stuck(&c.deaf, "")
		c.lock.Lock()
		t.queued = true
		c.lock.Unlock()
		c.conn.Publish(c.sweep.subject("wake"), nil)
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case o := <-t.result:
			return o.data, o.err
		}
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	select {
	case o := <-t.result: // it came just then, and has been counted
		return o.data, o.err
	default:
		t.over, c.interrupted = true, true
		return nil, err
	}
}

// give ends a task.
func (c *Coordinator) give(t *task, o outcome) {
	if t.over {
		return
	}
	t.over = true
	c.status.Queued--
	if o.err != nil {
		c.status.Failed++
		c.journal.note(remote.JournalEntry{Event: remote.GaveUp, Run: nameOf(t), Text: o.err.Error()})
	} else {
		c.status.Done++
	}
	t.result <- o
}

// End stops the server, and takes the queue away if all is done.
func (c *Coordinator) End() error {
	if c.ended != nil {
		c.ended()
	}
	c.background.awaitAll()
	if c.conn != nil {
		if !c.interrupted && c.queues.js != nil {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			c.announcer.announceOver(c.sweep)
			c.sweep.remove(ctx, c.queues.js)
		}
		c.conn.Close()
	}
	if c.server != nil {
		c.server.Close()
	}
	if c.journal != nil {
		c.journal.Close()
	}
	defer c.lone.Discard()
	if !c.interrupted && c.conn != nil {
		return os.RemoveAll(c.dir)
	}
	return nil
}

// decode reads a message.
func decode(m []byte, v any) bool { return json.Unmarshal(m, v) == nil }
