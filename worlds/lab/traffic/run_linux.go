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

// run is a run in progress. One thread handles all TCP flows, one sends and one receives all datagrams. lock
// protects their shared state.
type run struct {
	*Config
	clock  clock
	result *Result
	loops  []loop
	endAt  atomic.Int64 // unit.Time

	lock          sync.Mutex
	end           End
	failed        error
	missing       []int   // by flow: predecessors in Predecessors that have not arrived
	waiting       [][]int // by flow: its successors
	openFlows     int     // flows with a size that are neither done nor abandoned
	givenUp       []bool
	lostFlows     int // abandoned flows with a size
	begun         [threads]releasedFlows
	namespaceLock sync.Mutex     // held in other namespaces
	tails         []atomic.Int64 // by flow: send time of a last datagram that is too short to carry it
}

// The threads.
const (
	tcpThread = iota
	sendThread
	receiveThread
	threads
)

// releasedFlows lists flows of a thread that may start because their predecessors have arrived.
type releasedFlows struct {
	flows []int
	wake  int // eventfd
}

// Run generates the traffic and returns when the run has ended: at Duration, with UntilDone when all flows are done, or
// when ctx is done. It calls Config.Do and Config.Progress. A failed flow is part of the result. An error concerns this
// machine, such as a port used by another program; the result is then nil.
func Run(ctx context.Context, c Config) (*Result, error) {
	r, err := newRun(&c)
	if err == nil {
		err = r.runToEnd(ctx)
	}
	r.close()
	if err != nil {
		return nil, fmt.Errorf("traffic: %w", err)
	}
	return r.result, nil
}

// newRun opens everything that must exist before the first flow starts. The caller must close the run, also after an
// error: the result is never nil.
func newRun(c *Config) (*run, error) {
	r := &run{
		Config: c, result: &Result{Flows: make([]FlowResult, len(c.Flows)), Sampled: make([][]int64, len(c.Samples))},
		missing: make([]int, len(c.Flows)), waiting: make([][]int, len(c.Flows)), givenUp: make([]bool, len(c.Flows)),
		tails: make([]atomic.Int64, len(c.Flows)),
	}
	for i := range r.begun {
		r.begun[i].wake = -1
	}
	if err := c.checkConfig(); err != nil {
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
			r.openFlows++
		}
		x := &r.result.Flows[i]
		x.Start, x.FCT, x.Arrived, x.Written = f.Start, unit.Never, unit.Never, unit.Never
		if r.missing[i] = len(f.Predecessors); r.missing[i] > 0 {
			x.Start = unit.Never
		}
		for _, a := range f.Predecessors {
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
			return r, explainError(os.NewSyscallError("eventfd", err))
		}
	}
	if len(tcp) > 0 {
		r.loops = append(r.loops, newConnections(r, tcp))
	}
	if len(udp) > 0 {
		r.loops = append(r.loops, newUDPSenders(r, udp), newUDPReceivers(r, udp))
	}
	for _, l := range r.loops {
		if err := l.prepare(); err != nil {
			return r, err
		}
	}
	return r, nil
}

// runToEnd runs all threads, and completes the result when they have ended. The error is the threads'.
func (r *run) runToEnd(ctx context.Context) error {
	if r.UntilDone && r.openFlows == 0 {
		r.finishAt(AllDone, 0)
	}
	r.runThreads(ctx)
	r.result.End, r.result.Time = r.end, max(r.endTime(), 0)
	if r.end == "" {
		r.result.End = TimeUp
	}
	return r.failed
}

// close closes all threads' files.
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

// loop is the work of a thread.
type loop interface {
	prepare() error // opens what must exist from the start
	drive() error   // runs until the end
	close()         // called after drive, or after a failed prepare
}

// runThreads runs the threads until all have ended. It ends the run when ctx is done, and calls Config.Progress.
func (r *run) runThreads(ctx context.Context) {
	var group sync.WaitGroup
	for _, l := range r.loops {
		group.Add(1)
		go func() {
			defer group.Done()
			// Unlocking keeps the thread alive after the goroutine: it may have started a data plane, which would die
			// with it (PR_SET_PDEATHSIG).
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			defer raisePrecision()()
			if err := l.drive(); err != nil {
				r.failRun(err)
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
			r.finishAt(Interrupted, r.clock.now())
		case <-progress.C:
			if r.Progress != nil {
				r.Progress(r.clock.now())
			}
		}
	}
}

// raisePrecision makes wake-ups of this thread more precise until restore is called. Without permission for it,
// wake-ups are later, which the lateness shows. The goroutine must be locked to its thread.
func raisePrecision() (restore func()) {
	const thread = 0 // the calling thread
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		slack = 0 // the default
	}
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, thread)
	if nice = 20 - nice; err != nil { // the kernel returns 20 − nice
		nice = 0
	}
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	unix.Setpriority(unix.PRIO_PROCESS, thread, -10)
	return func() {
		unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
		unix.Setpriority(unix.PRIO_PROCESS, thread, nice)
	}
}

// endTime returns the end of the run, as currently known.
func (r *run) endTime() unit.Time { return unit.Time(r.endAt.Load()) }

// finishAt ends the run at time end for a reason, unless it ends earlier, and wakes the threads.
func (r *run) finishAt(reason End, end unit.Time) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.finishLocked(reason, end)
}

// finishLocked is finishAt for callers that hold the lock.
func (r *run) finishLocked(reason End, end unit.Time) {
	if end >= r.endTime() {
		return
	}
	r.end = reason
	r.endAt.Store(int64(end))
	for i := range r.begun {
		r.wakeThread(i)
	}
}

// failRun ends the run now with an error, joined to earlier ones.
func (r *run) failRun(err error) {
	r.lock.Lock()
	r.failed = errors.Join(r.failed, err)
	r.lock.Unlock()
	r.finishAt(Interrupted, r.clock.now())
}

// wakeThread wakes a thread by its eventfd.
func (r *run) wakeThread(thread int) {
	unix.Write(r.begun[thread].wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

// clearWake resets a thread's eventfd.
func (r *run) clearWake(thread int) {
	var b [8]byte
	unix.Read(r.begun[thread].wake, b[:])
}

// markDone records that a flow with a size is done at its sender at time end, which may end the run.
func (r *run) markDone(end unit.Time) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.openFlows--
	r.endIfDone(end)
}

// giveUp abandons a flow and its successors at now, which may end the run.
func (r *run) giveUp(flow int, now unit.Time) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.abandonFlow(flow)
	r.endIfDone(now)
}

// abandonFlow abandons a flow and, unless it has arrived, its successors; counts of open and lost flows follow. The
// caller holds the lock.
func (r *run) abandonFlow(flow int) {
	if r.givenUp[flow] {
		return
	}
	r.givenUp[flow] = true
	if r.Flows[flow].Size > 0 {
		r.openFlows--
		r.lostFlows++
	}
	if r.result.Flows[flow].Arrived == unit.Never {
		for _, w := range r.waiting[flow] {
			r.abandonFlow(w)
		}
	}
}

// endIfDone ends the run at now if no flow with a size is open, with UntilDone only. The caller holds the lock.
func (r *run) endIfDone(now unit.Time) {
	switch {
	case !r.UntilDone || r.openFlows > 0:
	case r.lostFlows > 0:
		r.finishLocked(NoProgress, now)
	default:
		r.finishLocked(AllDone, now)
	}
}

// markArrived records the arrival of a flow and releases successors without further predecessors: it wakes their
// threads. They start at the arrival, or at their earliest start if that is later.
func (r *run) markArrived(flow int, arrival unit.Time) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.result.Flows[flow].Arrived = arrival
	for _, w := range r.waiting[flow] {
		if r.missing[w]--; r.missing[w] > 0 {
			continue
		}
		r.result.Flows[w].Start = max(r.Flows[w].Start, arrival)
		thread := tcpThread
		if r.Flows[w].TCP == nil {
			thread = sendThread
		}
		r.begun[thread].flows = append(r.begun[thread].flows, w)
		r.wakeThread(thread)
	}
}

// takeReleased returns the flows of a thread that may start now, in the memory of buffer, and clears the list.
func (r *run) takeReleased(thread int, buffer []int) []int {
	r.lock.Lock()
	defer r.lock.Unlock()
	b := &r.begun[thread]
	buffer = append(buffer[:0], b.flows...)
	b.flows = b.flows[:0]
	return buffer
}

// doForFlow runs action in a node's namespace, one at a time in the process; errors name the flow.
func (r *run) doForFlow(node, flow int, action func() error) error {
	r.namespaceLock.Lock()
	defer r.namespaceLock.Unlock()
	if err := r.Do(node, action); err != nil {
		return fmt.Errorf("flow %d, host %d: %w", flow, node, explainError(err))
	}
	return nil
}

// period groups the samples with the same period.
type period struct {
	every, next unit.Time
	samples     []int
}

// samplePeriods groups the samples that filter selects by period. The first samples are due at Warmup.
func (c *Config) samplePeriods(filter func(s *Sample) bool) (out []period) {
sample:
	for k := range c.Samples {
		s := &c.Samples[k]
		if !filter(s) {
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
