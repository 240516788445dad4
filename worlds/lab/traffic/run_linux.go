package traffic

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/unit"
)

// run is a run in progress. One thread does all of TCP, one sends and one receives all
// datagrams; what they share is under the lock.
type run struct {
	*Config
	clock  clock
	result *Result
	loops  []loop
	endAt  atomic.Int64 // unit.Time

	lock    sync.Mutex
	end     End
	failed  error
	missing []int   // by flow: how many of After have not arrived
	waiting [][]int // by flow: those that come after it
	open    int     // flows with a size that are neither done nor given up
	givenUp []bool
	lost    int // flows with a size that are given up
	begun   [threads]released
	visit   sync.Mutex     // of namespaces
	tails   []atomic.Int64 // by flow: when a last datagram was sent that is too short to say so
}

// The threads.
const (
	tcpThread = iota
	sendThread
	receiveThread
	threads
)

// released are flows that may begin, as others have arrived.
type released struct {
	flows []int
	wake  int // eventfd
}

// Run runs the traffic, and returns when it has ended: at Duration, with UntilDone when all is done, or
// when ctx is. A flow that fails is part of the result; an error concerns this machine, such as a port
// that another program uses.
func Run(ctx context.Context, c Config) (*Result, error) {
	r, err := newRun(&c)
	if err == nil {
		err = r.carry(ctx)
	}
	r.close()
	if err != nil {
		return nil, fmt.Errorf("traffic: %w", err)
	}
	return r.result, nil
}

// newRun opens what must be there before the first flow begins. The run is to be closed
// also after an error.
func newRun(c *Config) (*run, error) {
	r := &run{
		Config: c, result: &Result{Flows: make([]FlowResult, len(c.Flows)), Sampled: make([][]int64, len(c.Samples))},
		missing: make([]int, len(c.Flows)), waiting: make([][]int, len(c.Flows)), givenUp: make([]bool, len(c.Flows)),
		tails: make([]atomic.Int64, len(c.Flows)),
	}
	for i := range r.begun {
		r.begun[i].wake = -1
	}
	if err := c.check(); err != nil {
		return r, err
	}
	r.endAt.Store(int64(c.Duration))
	var tcp, udp []int
	for i := range c.Flows {
		f := &c.Flows[i]
		if f.TCP != nil {
			tcp = append(tcp, i)
		} else {
			udp = append(udp, i)
		}
		if f.Size > 0 {
			r.open++
		}
		x := &r.result.Flows[i]
		x.Start, x.FCT, x.Arrived, x.Written = f.Start, unit.Never, unit.Never, unit.Never
		if r.missing[i] = len(f.After); r.missing[i] > 0 {
			x.Start = unit.Never
		}
		for _, a := range f.After {
			r.waiting[a] = append(r.waiting[a], i)
		}
	}
	var err error
	if r.clock, err = newClock(c.Epoch); err != nil {
		return r, err
	}
	for i := range r.begun {
		if r.begun[i].wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
			r.begun[i].wake = -1
			return r, explain(os.NewSyscallError("eventfd", err))
		}
	}
	if len(tcp) > 0 {
		r.loops = append(r.loops, newConnections(r, tcp))
	}
	if len(udp) > 0 {
		r.loops = append(r.loops, newSending(r, udp), newReceiving(r, udp))
	}
	for _, l := range r.loops {
		if err := l.prepare(); err != nil {
			return r, err
		}
	}
	return r, nil
}

// carry runs until the end.
func (r *run) carry(ctx context.Context) error {
	if r.UntilDone && r.open == 0 {
		r.finish(AllDone, 0)
	}
	r.start(ctx)
	r.result.End, r.result.Time = r.end, max(r.until(), 0)
	if r.end == "" {
		r.result.End = TimeUp
	}
	return r.failed
}

// close closes all that is open.
func (r *run) close() {
	for _, l := range r.loops {
		l.close()
	}
	for i := range r.begun {
		if r.begun[i].wake >= 0 {
			unix.Close(r.begun[i].wake)
		}
	}
}

// loop is what a thread does.
type loop interface {
	prepare() error // makes what is there from the beginning
	drive() error   // until the end
	close()         // after drive, or whatever of prepare was done
}

// start runs the threads until all have ended.
func (r *run) start(ctx context.Context) {
	var group sync.WaitGroup
	for _, l := range r.loops {
		group.Add(1)
		go func() {
			defer group.Done()
			// The thread goes on when the goroutine ends: a data plane that it happens to
			// have started would die with it (PR_SET_PDEATHSIG).
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			defer punctual()()
			if err := l.drive(); err != nil {
				r.fail(err)
			}
		}()
	}
	ended := make(chan struct{})
	go func() {
		group.Wait()
		close(ended)
	}()
	progress := time.NewTicker(100 * time.Millisecond)
	defer progress.Stop()
	done := ctx.Done()
	for {
		select {
		case <-ended:
			return
		case <-done:
			done = nil
			r.finish(Interrupted, r.clock.now())
		case <-progress.C:
			if r.Progress != nil {
				r.Progress(r.clock.now())
			}
		}
	}
}

// punctual makes wake-ups of this thread more punctual, until the returned function is called. Without the
// permission for it the run continues, but later; its lateness shows that.
func punctual() (usual func()) {
	const thread = 0 // the calling one
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		slack = 0 // the default
	}
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, thread)
	if nice = 20 - nice; err != nil { // the kernel gives 20 − nice
		nice = 0
	}
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	unix.Setpriority(unix.PRIO_PROCESS, thread, -10)
	return func() {
		unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
		unix.Setpriority(unix.PRIO_PROCESS, thread, nice)
	}
}

// until is when the run ends, as it is known now.
func (r *run) until() unit.Time { return unit.Time(r.endAt.Load()) }

// finish ends the run at a time, unless it ends before.
func (r *run) finish(why End, at unit.Time) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.finishLocked(why, at)
}

func (r *run) finishLocked(why End, at unit.Time) {
	if at >= r.until() {
		return
	}
	r.end = why
	r.endAt.Store(int64(at))
	for i := range r.begun {
		r.wake(i)
	}
}

// fail ends the run with an error.
func (r *run) fail(err error) {
	r.lock.Lock()
	r.failed = errors.Join(r.failed, err)
	r.lock.Unlock()
	r.finish(Interrupted, r.clock.now())
}

func (r *run) wake(thread int) {
	unix.Write(r.begun[thread].wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

// woken takes the wake-up away.
func (r *run) woken(thread int) {
	var b [8]byte
	unix.Read(r.begun[thread].wake, b[:])
}

// done notes that a flow with a size is done, as its sender sees it.
func (r *run) done(at unit.Time) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.open--
	r.endIfDone(at)
}

// giveUp notes that a flow will not be done, nor what comes after it.
func (r *run) giveUp(flow int, at unit.Time) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.abandon(flow)
	r.endIfDone(at)
}

func (r *run) abandon(flow int) {
	if r.givenUp[flow] {
		return
	}
	r.givenUp[flow] = true
	if r.Flows[flow].Size > 0 {
		r.open--
		r.lost++
	}
	if r.result.Flows[flow].Arrived == unit.Never {
		for _, w := range r.waiting[flow] {
			r.abandon(w)
		}
	}
}

// endIfDone ends the run if every flow is done or given up. The lock is held.
func (r *run) endIfDone(at unit.Time) {
	switch {
	case !r.UntilDone || r.open > 0:
	case r.lost > 0:
		r.finishLocked(NoProgress, at)
	default:
		r.finishLocked(AllDone, at)
	}
}

// arrived notes that a flow has arrived, and releases what waited for it alone.
func (r *run) arrived(flow int, at unit.Time) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.result.Flows[flow].Arrived = at
	for _, w := range r.waiting[flow] {
		if r.missing[w]--; r.missing[w] > 0 {
			continue
		}
		r.result.Flows[w].Start = max(r.Flows[w].Start, at)
		thread := tcpThread
		if r.Flows[w].TCP == nil {
			thread = sendThread
		}
		r.begun[thread].flows = append(r.begun[thread].flows, w)
		r.wake(thread)
	}
}

// released are the flows of a thread that may begin now.
func (r *run) released(thread int, into []int) []int {
	r.lock.Lock()
	defer r.lock.Unlock()
	b := &r.begun[thread]
	into = append(into[:0], b.flows...)
	b.flows = b.flows[:0]
	return into
}

// in runs what in a node's namespace, for a flow.
func (r *run) in(node, flow int, what func() error) error {
	r.visit.Lock()
	defer r.visit.Unlock()
	if err := r.Do(node, what); err != nil {
		return fmt.Errorf("flow %d, host %d: %w", flow, node, explain(err))
	}
	return nil
}

// period are the samples that are looked at together.
type period struct {
	every, next unit.Time
	samples     []int
}

// periods are those of the flows of one thread.
func (c *Config) periods(mine func(s *Sample) bool) (out []period) {
sample:
	for k := range c.Samples {
		s := &c.Samples[k]
		if !mine(s) {
			continue
		}
		for i := range out {
			if out[i].every == s.Every {
				out[i].samples = append(out[i].samples, k)
				continue sample
			}
		}
		out = append(out, period{s.Every, c.Warmup, []int{k}})
	}
	return out
}
