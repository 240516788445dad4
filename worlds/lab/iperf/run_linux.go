package iperf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/unit"
	"weir/internal/atomicfile"
	"weir/internal/sockdiag"
	"weir/worlds/lab/traffic"
)

// Time limit for servers to start and for all processes to end, and period of checks of sockets.
const (
	processTimeout = 10 * time.Second
	pollPeriod     = 10 * time.Millisecond
)

// controlBytes is the number of bytes that a server has sent over a control connection when the test runs: one for
// each of the states PARAM_EXCHANGE, CREATE_STREAMS, TEST_START and TEST_RUNNING.
const controlBytes = 4

// Run generates the traffic of a run with iperf3, which must be installed: else the error is ErrMissing. Unsupported
// traffic (Check) is an error before any process starts. When Run returns, also after ctx is done, all of its
// processes have ended; an unfinished run returns ctx's error.
func Run(ctx context.Context, c traffic.Config) (*Result, error) {
	r, err := runFlows(ctx, &c)
	if err != nil {
		return nil, fmt.Errorf("iperf: %w", err)
	}
	return r, nil
}

// runFlows plans the flows, runs all processes and returns the result. All processes have ended when it returns.
func runFlows(ctx context.Context, c *traffic.Config) (*Result, error) {
	flows, err := planFlows(c)
	if err != nil {
		return nil, err
	}
	program, err := exec.LookPath("iperf3")
	if err != nil {
		return nil, ErrMissing
	}
	// Holds iperf3's buffer files, which a killed process leaves behind.
	dir, remove, err := atomicfile.NewTempFolder("weir-iperf3")
	if err != nil {
		return nil, err
	}
	defer remove()
	ctx, cancel := context.WithCancel(ctx)
	r := &runner{c: c, program: program, dir: dir, startTimes: make([]unit.Time, len(flows))}
	for i := range r.startTimes {
		r.startTimes[i] = unit.Never
	}
	x := &session{runner: r, flows: flows, tests: make([]testOutput, len(flows)), failed: make(chan error, 2*len(flows)+1)}
	// All processes end before this function returns.
	defer r.close()
	defer x.wait.Wait()
	defer cancel()

	x.startServers(ctx)
	if err := r.openDiags(flows); err != nil {
		return nil, err
	}
	if err := r.awaitListening(ctx, flows, x.failed); err != nil {
		return nil, err
	}
	if err := x.awaitClients(ctx, x.startClients(ctx)); err != nil {
		return nil, err
	}
	if err := x.awaitServers(ctx); err != nil {
		return nil, err
	}
	return r.buildResult(flows, x.tests)
}

// session holds the processes of a run.
type session struct {
	*runner
	flows  []plan
	tests  []testOutput
	failed chan error // one error for each process, and one for the checks
	wait   sync.WaitGroup
}

// startServers starts all servers and returns when they run or have failed to start. Their errors go to x.failed, also
// later. Their outputs go to x.tests when they end.
func (x *session) startServers(ctx context.Context) {
	var started sync.WaitGroup
	for i := range x.flows {
		p, t := &x.flows[i], &x.tests[i]
		started.Add(1)
		x.wait.Go(func() {
			if err := x.runProcess(ctx, p.Dst, p.server, &t.server, &started); err != nil {
				x.failed <- fmt.Errorf("flow %d: server: %w", i, err)
			}
		})
	}
	started.Wait()
}

// startClients starts each client at its flow's start and records the starts of tests. It returns at once, with a
// channel that is closed when all clients have ended. Errors go to x.failed, outputs to x.tests.
func (x *session) startClients(ctx context.Context) (finished chan struct{}) {
	launched := make([]bool, len(x.flows))
	var launching sync.Mutex
	var clients sync.WaitGroup
	for i := range x.flows {
		p, t := &x.flows[i], &x.tests[i]
		clients.Add(1)
		x.wait.Go(func() {
			defer clients.Done()
			if !sleepUntil(ctx, x.c.Epoch+int64(p.Start/unit.Nanosecond)) {
				return
			}
			launching.Lock()
			launched[i] = true
			launching.Unlock()
			if err := x.runProcess(ctx, p.Src, p.client, &t.client, nil); err != nil {
				x.failed <- fmt.Errorf("flow %d: client: %w", i, err)
			}
		})
	}
	x.wait.Go(func() {
		wanted := make([]bool, len(x.flows))
		for done := false; !done && ctx.Err() == nil; time.Sleep(pollPeriod) {
			launching.Lock()
			copy(wanted, launched)
			launching.Unlock()
			var err error
			if done, err = x.recordStarts(x.flows, wanted); err != nil {
				x.failed <- err
				return
			}
		}
	})
	finished = make(chan struct{})
	x.wait.Go(func() { clients.Wait(); close(finished) })
	return finished
}

// awaitClients waits for the end of the clients or the first error, and calls Config.Progress every second. It is an
// error if they end later than processTimeout and 3 s after the run.
func (x *session) awaitClients(ctx context.Context, finished chan struct{}) error {
	progress := time.NewTicker(time.Second)
	defer progress.Stop()
	last := time.NewTimer(time.Duration(x.c.Epoch-monotonicNow()) + time.Duration(x.c.Duration/unit.Nanosecond) +
		3*time.Second + processTimeout)
	defer last.Stop()
	for running := true; running; {
		select {
		case err := <-x.failed:
			return selectError(err, x.failed)
		case <-ctx.Done():
			return ctx.Err()
		case <-last.C:
			return fmt.Errorf("clients have not ended %v after the run", processTimeout)
		case <-finished:
			running = false
		case <-progress.C:
			if x.c.Progress != nil {
				x.c.Progress(max(0, unit.Time(monotonicNow()-x.c.Epoch)*unit.Nanosecond))
			}
		}
	}
	select {
	case err := <-x.failed:
		return selectError(err, x.failed)
	default:
		return nil
	}
}

// awaitServers waits up to processTimeout for the servers, which end with their tests. It returns the first error.
func (x *session) awaitServers(ctx context.Context) error {
	ended := make(chan struct{})
	go func() { x.wait.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(processTimeout):
		return fmt.Errorf("servers have not ended %v after their tests", processTimeout)
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-x.failed:
		return err
	default:
		return nil
	}
}

// testOutput is the output of a flow's two processes.
type testOutput struct{ server, client []byte }

// runner starts processes in the hosts and watches their sockets.
type runner struct {
	c          *traffic.Config
	program    string
	dir        string
	do         sync.Mutex // serializes Config.Do
	diags      []diag
	startTimes []unit.Time // start of each test by flow, in the experiment's time
}

// diag is the sock_diag connection of a node.
type diag struct {
	node int
	conn *sockdiag.Conn
}

// monotonicNow returns CLOCK_MONOTONIC in ns.
func monotonicNow() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0 // the clock always exists
	}
	return t.Nano()
}

// sleepUntil waits until a time of CLOCK_MONOTONIC in ns. It returns false if ctx is done first.
func sleepUntil(ctx context.Context, until int64) bool {
	t := time.NewTimer(time.Duration(until - monotonicNow()))
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// runProcess runs iperf3 with arguments words in a node's namespace until it ends, or kills it when ctx is done,
// which is no error. It stores the standard output in *out. started, unless nil, is notified when the process has
// started or failed to start. An error in iperf3's report precedes its standard error.
func (r *runner) runProcess(ctx context.Context, node int, words []string, out *[]byte, started *sync.WaitGroup) error {
	// The process dies with the thread that started it, which therefore stays locked.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var stderr, stdout bytes.Buffer
	p := exec.CommandContext(ctx, r.program, words...)
	p.Stdout, p.Stderr = &stdout, &stderr
	p.Env = append(os.Environ(), "TMPDIR="+r.dir)
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	r.do.Lock()
	err := r.c.Do(node, p.Start)
	r.do.Unlock()
	if started != nil {
		started.Done()
	}
	if err != nil {
		return err
	}
	err = p.Wait()
	*out = stdout.Bytes()
	if ctx.Err() != nil {
		return nil // it was killed
	}
	// iperf3 may exit with 0 after a failure that its report contains.
	if stdout.Len() > 0 {
		if _, reportErr := parseReport(*out); reportErr != nil {
			return reportErr
		}
	}
	if s := strings.TrimSpace(stderr.String()); err != nil && s != "" {
		return errors.New(s)
	}
	return err
}

// selectError returns the most precise error of err and those that follow within 300 ms: a client's, because its
// server only repeats it.
func selectError(err error, failed <-chan error) error {
	late := time.After(300 * time.Millisecond)
	for strings.Contains(err.Error(), ": server: ") {
		select {
		case other := <-failed:
			err = other
		case <-late:
			return err
		}
	}
	return err
}

// openDiags opens sock_diag in the hosts of the servers, once for each. close must follow, also after an error.
func (r *runner) openDiags(flows []plan) error {
	for i := range flows {
		node := flows[i].Dst
		if r.diagAt(node) != nil {
			continue
		}
		var d *sockdiag.Conn
		r.do.Lock()
		err := r.c.Do(node, func() (err error) { d, err = sockdiag.Open(); return err })
		r.do.Unlock()
		if err != nil {
			return err
		}
		r.diags = append(r.diags, diag{node, d})
	}
	return nil
}

// diagAt returns the sock_diag connection of a node, nil without one.
func (r *runner) diagAt(node int) *sockdiag.Conn {
	for _, d := range r.diags {
		if d.node == node {
			return d.conn
		}
	}
	return nil
}

// close closes the sock_diag connections.
func (r *runner) close() {
	for _, d := range r.diags {
		d.conn.Close()
	}
	r.diags = nil
}

// addressFamily returns the address family of a flow.
func addressFamily(p *plan) uint8 {
	if p.Version == 6 {
		return unix.AF_INET6
	}
	return unix.AF_INET
}

// awaitListening waits until all servers listen, up to processTimeout together, or until the first error of failed.
func (r *runner) awaitListening(ctx context.Context, flows []plan, failed <-chan error) error {
	deadline := time.Now().Add(processTimeout)
	for i := range flows {
		p := &flows[i]
		for {
			sockets, err := r.diagAt(p.Dst).Dump(addressFamily(p), sockdiag.Filter{States: []sockdiag.TCPState{sockdiag.Listen},
				LocalPort: p.to.Port()})
			if err != nil {
				return err
			}
			if len(sockets) > 0 {
				break
			}
			select {
			case err := <-failed:
				return err
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(pollPeriod):
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("flow %d: its server does not listen after %v", i, processTimeout)
			}
		}
	}
	return nil
}

// recordStarts records the current time in r.startTimes as the start of flows in wanted with a running test, unless
// recorded. It reports whether all flows have started.
func (r *runner) recordStarts(flows []plan, wanted []bool) (done bool, err error) {
	done = true
	for _, d := range r.diags {
		for _, version := range [2]uint8{4, 6} {
			var sockets []sockdiag.Socket
			dumped := false
			for i := range flows {
				p := &flows[i]
				if r.startTimes[i] != unit.Never || p.Dst != d.node || p.Version != version {
					continue
				}
				done = false
				if !wanted[i] {
					continue
				}
				if !dumped {
					if sockets, err = d.conn.Dump(addressFamily(p),
						sockdiag.Filter{States: []sockdiag.TCPState{sockdiag.Established}}); err != nil {
						return false, err
					}
					dumped = true
				}
				for k := range sockets {
					s := &sockets[k]
					if s.Local == p.to && s.Remote.Addr() == p.from.Addr() && s.Remote.Port() != p.SrcPort &&
						s.Info.BytesSent >= controlBytes {
						r.startTimes[i] = unit.Time(monotonicNow()-r.c.Epoch) * unit.Nanosecond
					}
				}
			}
		}
	}
	return done, nil
}

// buildResult combines the reports of all processes, reduced to the measured part. A flow without a recorded start or
// with an invalid report is an error.
func (r *runner) buildResult(flows []plan, all []testOutput) (*Result, error) {
	n := len(flows)
	out := &Result{
		Result: traffic.Result{End: traffic.TimeUp, Time: r.c.Duration, Flows: make([]traffic.FlowResult, n)},
		Lost:   make([]Loss, n), Ports: make([]uint16, n), Uncovered: make([]unit.Time, n), part: r.c.Duration - r.c.Warmup,
	}
	for i := range flows {
		p, x := &flows[i], &out.Flows[i]
		x.Start, x.FCT, x.Arrived, x.Written = p.Start, unit.Never, unit.Never, unit.Never
		out.Ports[i] = p.to.Port()
		if r.startTimes[i] == unit.Never {
			return nil, fmt.Errorf("flow %d: its test has not begun", i)
		}
		client, err := parseReport(all[i].client)
		if err != nil {
			return nil, fmt.Errorf("flow %d: client: %w", i, err)
		}
		server, err := parseReport(all[i].server)
		if err != nil {
			return nil, fmt.Errorf("flow %d: server: %w", i, err)
		}
		out.Version = strings.TrimPrefix(client.version, "iperf ")
		late := max(0, r.startTimes[i]-p.Start)
		out.StartLateness.Add(late)
		out.StartLateness.Max = max(out.StartLateness.Max, late)

		// Times of the test, which count from its start.
		from, to := r.c.Warmup-r.startTimes[i], r.c.Duration-r.startTimes[i]
		sent, received := client.sumBetween(from, to), server.sumBetween(from, to)
		x.Receiver.ReceivedBytes = unit.Bytes(math.Round(received.bytes))
		if p.TCP != nil {
			x.Sender.Retransmitted = int64(math.Round(sent.retransmits))
		} else {
			x.Sender.SentBytes, x.Sender.SentPackets = unit.Bytes(math.Round(sent.bytes)), int64(math.Round(sent.packets))
			out.Lost[i] = Loss{int64(math.Round(received.lost)), int64(math.Round(received.packets))}
			x.Receiver.ReceivedPackets = max(0, out.Lost[i].Total-out.Lost[i].Lost)
		}
		last := to
		if p.Stop > 0 && p.Stop < r.c.Duration {
			last = p.Stop - r.startTimes[i]
		}
		out.Uncovered[i] = max(0, last-max(server.lastEnd(), from))
	}
	return out, nil
}
