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

// Config configures the execution of an experiment by workers.
type Config struct {
	Registry *experiment.Registry
	Revision revision.Revision
	Listen   string // ADDRESS:PORT of a server in this process; "": use Server
	Server   *Join  // an existing server
	Jobs     int    // concurrent runs of the built-in worker; 0: one per core; below 0: no built-in worker
	Memory   float64
	// Keys is a folder with the server's keys and the join file (WriteJoinFile). With it, workers can rejoin for the next
	// experiment. "": the folder of the queue, with new keys for each sweep.
	Keys       string
	VerifyMode Verify // which results of workers are verified
	OnNotice   func(text string)
	OnStatus   func(Status) // several times a second

	patience time.Duration // 0: 10 s
	draw     func() bool   // draws whether a run of a trusted worker is checked; nil: one in fifty
	joined   func(file string)
	change   func(data []byte) []byte // for tests: alters results of the built-in worker
	queue    string                   // folder of the queue; "": inside the results folder
	transport
}

// Verify selects the results of workers that are computed again and compared, in addition to the first result of each
// worker.
type Verify string

// Kinds of verification.
const (
	VerifySample Verify = ""    // one in fifty, by another worker
	VerifyAll    Verify = "all" // also the first result of each worker at each point, by the coordinator
)

// Coordinator is a run.Runner that has workers execute its runs.
type Coordinator struct {
	Config
	work       *run.Work
	ports      [][]trace.Port   // ports to trace, by point
	dir        string           // of the queue
	folderLock *atomicfile.File // lock of that folder
	sweep      sweep
	server     *natsServer
	conn       *nats.Conn
	queues     queues // streams on the server
	inbox      jetstream.ConsumeContext
	stale      atomic.Bool // set after a reconnection: the inbox has to be opened again
	cancel     context.CancelFunc
	background background
	ownID      string // id of the built-in worker
	announcer  announcer
	files      map[string][]byte // files of the experiment, by digest

	partials partials // large results in transfer, by worker and digest

	notices noticeLimit // limits notices about workers

	lock        sync.Mutex
	tasks       map[string]*task
	members     roster
	verifier    verifier // of results
	journal     *journal
	status      Status
	unreachable string // notice that the server does not respond; "": it responds
	diskFull    string // notice that the server cannot write; "": it can

	resultSlots chan struct{} // limits the results that are handled concurrently
	misfits     map[int]bool  // size classes with a notice that no worker takes them
	skips       int           // consecutive calls of reconcile that waited for pending reports
	interrupted bool          // some run has not returned, or was not handed over
}

// New returns a coordinator. Config.patience and Config.draw have defaults. The coordinator starts in Begin.
func New(c Config) *Coordinator {
	if c.patience == 0 {
		c.patience = 10 * time.Second
	}
	if c.draw == nil {
		c.draw = func() bool { return drawCheck(rand.IntN) }
	}
	x := &Coordinator{Config: c, tasks: map[string]*task{}, members: roster{}, partials: partials{},
		misfits: map[int]bool{}, resultSlots: make(chan struct{}, 16), ownID: crand.Text()}
	x.verifier = verifier{c: x, checks: map[string]*check{}, settled: sync.NewCond(&x.lock)}
	return x
}

// drawCheck draws whether a run is checked, with probability 1/checkInterval. The function intN returns a number
// below n.
func drawCheck(intN func(n int) int) bool { return intN(checkInterval) == 0 }

// task is a run that has been handed over to workers.
type task struct {
	run.Task
	class      int
	result     chan outcome
	onProgress func(uint64, float64)
	began      []*member   // workers that began it and have not reported
	lost       []string    // names of workers that were lost with it
	errors     []complaint // errors that workers reported
	tries      int         // number of further publications
	over       bool
	queued     bool    // it has been published
	maker      *member // worker that computed the accepted result
	digest     string  // digest of the accepted result

	withheld time.Time // since when no queue and no responsive worker has it; zero: one has it
}

// holder returns the worker that has begun the run and has not reported, or nil.
func (t *task) holder() *member {
	if len(t.began) == 0 {
		return nil
	}
	return t.began[len(t.began)-1]
}

// suffix returns a suffix that distinguishes the messages of a run that is published several times.
func (t *task) suffix() string {
	if t.tries == 0 {
		return ""
	}
	return fmt.Sprintf("-%d", t.tries)
}

// outcome is the result of a run, or its error.
type outcome struct {
	data []byte
	err  error
}

// Traces reports that workers deliver the traces of runs.
func (c *Coordinator) Traces() bool { return true }

// MaxRuns returns more runs than any number of workers takes at a time.
func (c *Coordinator) MaxRuns() int { return 4096 }

// Begin starts the server or connects to an existing one, creates the queue, and starts the built-in worker. It fails
// if results are not kept, or if another process coordinates the same results folder. The coordinator works until
// Close, also if ctx ends earlier. Call Close after an error, too.
func (c *Coordinator) Begin(ctx context.Context, w *run.Work) (err error) {
	c.work = w
	if w.Dir == "" {
		return errors.New("workers need a results folder")
	}
	if c.dir = c.queue; c.dir == "" {
		c.dir = queueFolder(w.Dir)
	}
	c.interrupted = true // until it has begun, Close keeps the files of earlier executions
	defer func() { c.interrupted = err != nil }()
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	if c.ports, err = run.TracePorts(w.Spec, w.Trace); err != nil {
		return err
	}
	const busy = "another process already runs this experiment on workers; stop it first"
	if c.folderLock, err = remote.LockFolder(c.dir, "coordinator", busy); err != nil {
		return err
	}
	if c.journal, err = openJournal(filepath.Join(c.dir, journalFile), traced(w)); err != nil {
		return err
	}
	c.sweep = c.journal.sweep
	join, options, err := c.openServer()
	if err != nil {
		return err
	}
	c.journal.BeginExecution(results.ByWorkers, removeSecrets(join.Address))
	c.announcer.hello.Number = uint64(len(c.journal.Executions())) << 32 // above all numbers of earlier executions
	options = append(options, c.watchConnection()...)
	if c.conn, err = join.connect("weir coordinator of "+w.Spec.Name(), options...); err != nil {
		return err
	}
	c.announcer.conn = c.conn
	if c.queues.js, err = jetstream.New(c.conn); err != nil {
		return err
	}
	c.queues.sweep = c.sweep
	running, ended := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel, c.verifier.judges = ended, running
	if before := c.journal.before; before != "" { // the earlier sweep traced other ports
		c.announcer.announceOver(before)
		before.removeStreams(ctx, c.queues.js)
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
			own: c.ownID, change: c.change, transport: c.transport}
		c.background.startFunction(func() {
			if err := own.ExecuteRuns(running, join); err != nil {
				c.issueNotice("its own worker: %v", err)
			}
		})
	}
	return nil
}

// openServer starts a server (c.server) or selects the existing one, and sets the announcer's key. It reads or creates
// the secrets. For its own server it also writes the join file, and reports that file. It returns how to join the
// server as the coordinator, and options for the connection.
func (c *Coordinator) openServer() (*Join, []nats.Option, error) {
	if c.Listen == "" {
		secrets, err := openSecrets(c.keyFolder(), "localhost")
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
	host, err := ReachableHost(c.Listen)
	if err != nil {
		return nil, nil, err
	}
	secrets, err := openSecrets(c.keyFolder(), host)
	if err != nil {
		return nil, nil, err
	}
	if c.announcer.key, err = nkeys.FromSeed([]byte(secrets.Coordinator)); err != nil {
		return nil, nil, err
	}
	listen := c.Listen
	if before, err := ReadJoin(c.joinFile()); err == nil && strings.HasSuffix(listen, ":0") {
		listen = strings.TrimPrefix(before.Address, "nats://") // workers look for the server at its previous address
	}
	if c.server, err = c.startServer(listen, c.dir, secrets, c.sweep); err != nil {
		return nil, nil, err
	}
	join := Join{Address: "nats://" + c.server.address(), Key: secrets.Worker, Certificate: string(secrets.authority),
		Coordinator: publicKey(secrets.Coordinator)}
	if err := join.write(c.joinFile()); err != nil {
		return nil, nil, err
	}
	if c.Keys == "" { // with Keys, the caller of WriteJoinFile has reported the file
		c.issueNotice("to join workers, run: weir worker --join %s", c.joinFile())
	}
	if c.joined != nil {
		c.joined(c.joinFile())
	}
	join.Key = secrets.Coordinator
	return &join, []nats.Option{nats.InProcessServer(c.server)}, nil
}

// ReachableHost returns the host of an ADDRESS:PORT at which workers reach this machine. It rejects addresses of all
// interfaces (0.0.0.0, ::, empty): a worker that joins with one would look for the server on its own machine.
func ReachableHost(listen string) (host string, err error) {
	host, err = bind.ParseHost(listen)
	if every := (*bind.EveryAddressError)(nil); errors.As(err, &every) {
		err = fmt.Errorf("%w; allowed: the address at which workers reach this machine", err)
	}
	return host, err
}

// keyFolder returns the folder of the keys: Keys, or the folder of the queue.
func (c *Coordinator) keyFolder() string { return cmp.Or(c.Keys, c.dir) }

// joinFile returns the name of the sweep's join file.
func (c *Coordinator) joinFile() string { return joinFile(c.keyFolder()) }

// issueNotice passes a notice to OnNotice.
func (c *Config) issueNotice(format string, args ...any) {
	if c.OnNotice != nil {
		c.OnNotice(fmt.Sprintf(format, args...))
	}
}

// prepare packs the experiment into c.files, fills in the announcement, and creates the streams and stores. It waits
// until the server responds (persist).
func (c *Coordinator) prepare(ctx context.Context) error {
	manifest, files := remote.PackParcel(c.work.Spec)
	files[remote.Digest(manifest)] = manifest
	c.files = files
	c.announcer.hello = announcement{Number: c.announcer.hello.Number, Sweep: c.sweep,
		Experiment: c.work.Spec.Name(), Manifest: remote.Digest(manifest),
		Executable: c.work.Executable, Revision: c.Revision, Patience: c.patience, Trace: c.work.Trace,
		Tracing: c.work.Tracing}
	return c.persist(ctx, func(ctx context.Context) error {
		if err := c.sweep.createStreams(ctx, c.queues.js, c.patience, c.storage, c.server != nil); err != nil {
			return err
		}
		var err error
		c.queues.results, err = c.queues.js.ObjectStore(ctx, c.sweep.resultStore())
		return err
	})
}

// persist calls do until it succeeds, with growing pauses. Each call has a time limit. While it waits for longer than a
// second, it sets c.unreachable, which the caller resets (setWaiting). It returns an error if ctx ends or the server
// rejects the credentials.
func (c *Coordinator) persist(ctx context.Context, do func(ctx context.Context) error) error {
	wait := 20 * time.Millisecond
	for n := 0; ; n++ {
		each, cancel := context.WithTimeout(ctx, answerTimeout(n))
		err := do(each)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrPermissionViolation) {
			return fmt.Errorf("the server rejects these credentials: %w", err)
		}
		if wait >= time.Second {
			c.setWaiting(&c.unreachable, fmt.Sprintf("the server does not answer (%v); all runs wait for it", err))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, 2*time.Second)
	}
}

// answerTimeout returns the time that the server has to respond at try n, from 0: 1 s, doubled at each try up to 30
// s. A request that was sent when a connection broke never gets a response, and a large one takes long.
func answerTimeout(n int) time.Duration { return min(time.Second<<min(n, 5), 30*time.Second) }

// setWaiting notes why all runs wait, or with why "" that the reason has ended. The argument reason is c.unreachable or
// c.diskFull. It issues one notice when the waiting starts and one when it ends. The caller must not hold the lock.
func (c *Coordinator) setWaiting(reason *string, why string) {
	c.lock.Lock()
	before := cmp.Or(c.diskFull, c.unreachable)
	*reason = why
	now := cmp.Or(c.diskFull, c.unreachable)
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
		c.issueNotice("%s", now)
	case now == "" && before != "":
		c.issueNotice("the sweep continues")
	}
}

// listen subscribes to the messages of workers, except the reports, which attend receives.
func (c *Coordinator) listen() error {
	for subject, hear := range map[string]nats.MsgHandler{
		askSubject:               func(*nats.Msg) { c.announcer.announce() },
		c.sweep.subject("hello"): c.greet,
		c.sweep.subject("begun"): c.receiveBegun,
		c.sweep.subject("far"):   c.receiveProgress,
		c.sweep.subject("input"): c.sendInput,
		c.sweep.subject("part"):  c.receivePart,
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

// attend announces the sweep each second, receives reports, restarts a server of this process that cannot write,
// reconciles the queue after each patience and reports the status, until ctx ends.
func (c *Coordinator) attend(ctx context.Context) {
	c.announcer.announce()
	second, all, status := time.NewTicker(time.Second), time.NewTicker(c.patience), time.NewTicker(200*time.Millisecond)
	for ctx.Err() == nil {
		if c.stale.Swap(false) && c.inbox != nil {
			c.inbox.Stop()
			c.inbox = nil
		}
		if c.inbox == nil {
			c.inbox = c.queues.consumeReports(ctx, c.receiveReport)
		}
		select {
		case <-ctx.Done():
		case <-second.C:
			c.announcer.announce()
			c.watch()
		case <-all.C:
			c.reconcile()
		case <-status.C:
			c.reportStatus()
		}
	}
	if c.inbox != nil {
		c.inbox.Stop()
	}
}

// ExecuteRun publishes a run and waits for its accepted result or for the end of ctx. It calls progress with the run's
// packet hops and finished share. An error is the run's own, unless ctx has ended or the server rejects the
// coordinator; Close keeps the queue then. A result that arrives while ctx ends counts.
func (c *Coordinator) ExecuteRun(ctx context.Context, r run.Task, progress func(uint64, float64)) ([]byte, error) {
	t := &task{Task: r, class: sizeClass(plan.EstimateMemory(r.Run)), result: make(chan outcome, 1),
		onProgress: progress}
	c.lock.Lock()
	c.tasks[r.ID] = t
	c.status.Queued++
	fresh := c.announcer.addClass(t.class)
	c.lock.Unlock()
	c.reportMisfits()
	if fresh {
		c.announcer.announce()
	}
	err := c.persist(ctx, func(ctx context.Context) error {
		return c.queues.publish(ctx, c.sweep.runSubject(t.class, t.ID, ""), job{Run: t.ID, Hops: t.Hops})
	})
	if err == nil {
		c.setWaiting(&c.unreachable, "")
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
	case o := <-t.result: // the result arrived at the same time and is counted
		return o.data, o.err
	default:
		t.over, c.interrupted = true, true
		return nil, err
	}
}

// endTask ends a task with its outcome, updates the status, and passes the outcome to ExecuteRun. A task that is over
// stays as it is. The caller must hold the lock.
func (c *Coordinator) endTask(t *task, o outcome) {
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

// Close stops all work and the server. It removes the queue and its folder if all runs are done, and keeps them for a
// later execution otherwise.
func (c *Coordinator) Close() error {
	if c.cancel != nil {
		c.cancel()
	}
	c.background.awaitAll()
	if c.conn != nil {
		if !c.interrupted && c.queues.js != nil {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			c.announcer.announceOver(c.sweep)
			c.sweep.removeStreams(ctx, c.queues.js)
		}
		c.conn.Close()
	}
	if c.server != nil {
		c.server.stop()
	}
	if c.journal != nil {
		c.journal.Close()
	}
	defer c.folderLock.Discard()
	if !c.interrupted && c.conn != nil {
		return os.RemoveAll(c.dir)
	}
	return nil
}

// decode decodes a message into v and reports whether that succeeds.
func decode(m []byte, v any) bool { return json.Unmarshal(m, v) == nil }
