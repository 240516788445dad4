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

// How long servers may take to begin and all to end, and how often sockets are looked at.
const (
	patience   = 10 * time.Second
	pollPeriod = 10 * time.Millisecond
)

// control is how many bytes a server has sent over a control connection once the test
// runs: states PARAM_EXCHANGE, CREATE_STREAMS, TEST_START and TEST_RUNNING, a byte each.
const control = 4

// Run carries the traffic of a run out with iperf3, which must be installed. What iperf3
// cannot do is an error that names it, before anything starts. When it returns, and when
// ctx is done, none of its processes is left.
func Run(ctx context.Context, c traffic.Config) (*Result, error) {
	r, err := run(ctx, &c)
	if err != nil {
		return nil, fmt.Errorf("iperf: %w", err)
	}
	return r, nil
}

func run(ctx context.Context, c *traffic.Config) (*Result, error) {
	flows, err := plans(c)
	if err != nil {
		return nil, err
	}
	program, err := exec.LookPath("iperf3")
	if err != nil {
		return nil, ErrMissing
	}
	// For the files by which iperf3 fills its packets: a process that is killed leaves them.
	dir, remove, err := atomicfile.Folder("weir-iperf3")
	if err != nil {
		return nil, err
	}
	defer remove()
	ctx, cancel := context.WithCancel(ctx)
	r := &runner{c: c, program: program, dir: dir, begun: make([]unit.Time, len(flows))}
	for i := range r.begun {
		r.begun[i] = unit.Never
	}
	x := &session{runner: r, flows: flows, tests: make([]test, len(flows)), failed: make(chan error, 2*len(flows)+1)}
	// Whatever happens, all processes end before this does.
	defer r.close()
	defer x.wait.Wait()
	defer cancel()

	x.serve(ctx)
	if err := r.open(flows); err != nil {
		return nil, err
	}
	if err := r.listening(ctx, flows, x.failed); err != nil {
		return nil, err
	}
	if err := x.until(ctx, x.launch(ctx)); err != nil {
		return nil, err
	}
	if err := x.end(ctx); err != nil {
		return nil, err
	}
	return r.result(flows, x.tests)
}

// session is a run's processes.
type session struct {
	*runner
	flows  []plan
	tests  []test
	failed chan error // room for what all of them can say
	wait   sync.WaitGroup
}

// serve starts all servers, and returns when they run.
func (x *session) serve(ctx context.Context) {
	var started sync.WaitGroup
	for i := range x.flows {
		p, t := &x.flows[i], &x.tests[i]
		started.Add(1)
		x.wait.Go(func() {
			if err := x.process(ctx, p.Dst, p.server, &t.server, &started); err != nil {
				x.failed <- fmt.Errorf("flow %d: server: %w", i, err)
			}
		})
	}
	started.Wait()
}

// launch starts each client at its flow's start, and notes when tests begin. The channel is closed
// when all clients have ended.
func (x *session) launch(ctx context.Context) (finished chan struct{}) {
	launched := make([]bool, len(x.flows))
	var launching sync.Mutex
	var clients sync.WaitGroup
	for i := range x.flows {
		p, t := &x.flows[i], &x.tests[i]
		clients.Add(1)
		x.wait.Go(func() {
			defer clients.Done()
			if !sleep(ctx, x.c.Epoch+int64(p.Start/unit.Nanosecond)) {
				return
			}
			launching.Lock()
			launched[i] = true
			launching.Unlock()
			if err := x.process(ctx, p.Src, p.client, &t.client, nil); err != nil {
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
			if done, err = x.watch(x.flows, wanted); err != nil {
				x.failed <- err
				return
			}
		}
	})
	finished = make(chan struct{})
	x.wait.Go(func() { clients.Wait(); close(finished) })
	return finished
}

// until waits for the clients.
func (x *session) until(ctx context.Context, finished chan struct{}) error {
	progress := time.NewTicker(time.Second)
	defer progress.Stop()
	last := time.NewTimer(time.Duration(x.c.Epoch-now()) + time.Duration(x.c.Duration/unit.Nanosecond) +
		3*time.Second + patience)
	defer last.Stop()
	for running := true; running; {
		select {
		case err := <-x.failed:
			return first(err, x.failed)
		case <-ctx.Done():
			return ctx.Err()
		case <-last.C:
			return fmt.Errorf("clients do not end %v after the run", patience)
		case <-finished:
			running = false
		case <-progress.C:
			if x.c.Progress != nil {
				x.c.Progress(max(0, unit.Time(now()-x.c.Epoch)*unit.Nanosecond))
			}
		}
	}
	select {
	case err := <-x.failed:
		return first(err, x.failed)
	default:
		return nil
	}
}

// end waits for the servers, which end with their tests.
func (x *session) end(ctx context.Context) error {
	ended := make(chan struct{})
	go func() { x.wait.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(patience):
		return fmt.Errorf("servers do not end %v after their tests", patience)
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

// test is what the two processes of a flow have written.
type test struct{ server, client []byte }

type runner struct {
	c       *traffic.Config
	program string
	dir     string
	do      sync.Mutex // around Config.Do
	diags   []diag
	begun   []unit.Time // by flow, in the experiment's time
}

// diag is a node's sock_diag.
type diag struct {
	node int
	conn *sockdiag.Conn
}

func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0 // there is always such a clock
	}
	return t.Nano()
}

// sleep waits until a time of CLOCK_MONOTONIC; false: ctx was done before.
func sleep(ctx context.Context, until int64) bool {
	t := time.NewTimer(time.Duration(until - now()))
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// process runs iperf3 in a node's namespace until it ends, or kills it when ctx is done.
// started, if given, is called when it runs or could not be started.
func (r *runner) process(ctx context.Context, node int, words []string, out *[]byte, started *sync.WaitGroup) error {
	// It dies with the thread that has started it, which therefore stays.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var said, wrote bytes.Buffer
	p := exec.CommandContext(ctx, r.program, words...)
	p.Stdout, p.Stderr = &wrote, &said
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
	*out = wrote.Bytes()
	if ctx.Err() != nil {
		return nil // it was killed
	}
	// It ends with 0 also when it has failed, and says so in its report.
	if wrote.Len() > 0 {
		if _, why := parse(*out); why != nil {
			return why
		}
	}
	if s := strings.TrimSpace(said.String()); err != nil && s != "" {
		return errors.New(s)
	}
	return err
}

// first is the error that says most: that of a client, which its server only echoes.
func first(err error, failed <-chan error) error {
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

// open opens sock_diag in the hosts of servers.
func (r *runner) open(flows []plan) error {
	for i := range flows {
		node := flows[i].Dst
		if r.at(node) != nil {
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

func (r *runner) at(node int) *sockdiag.Conn {
	for _, d := range r.diags {
		if d.node == node {
			return d.conn
		}
	}
	return nil
}

func (r *runner) close() {
	for _, d := range r.diags {
		d.conn.Close()
	}
	r.diags = nil
}

func family(p *plan) uint8 {
	if p.Version == 6 {
		return unix.AF_INET6
	}
	return unix.AF_INET
}

// listening waits until all servers do.
func (r *runner) listening(ctx context.Context, flows []plan, failed <-chan error) error {
	deadline := time.Now().Add(patience)
	for i := range flows {
		p := &flows[i]
		for {
			sockets, err := r.at(p.Dst).Dump(family(p), sockdiag.Filter{States: []sockdiag.TCPState{sockdiag.Listen},
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
				return fmt.Errorf("flow %d: its server does not listen after %v", i, patience)
			}
		}
	}
	return nil
}

// watch notes the time of flows whose tests run now. done: all have begun.
func (r *runner) watch(flows []plan, wanted []bool) (done bool, err error) {
	done = true
	for _, d := range r.diags {
		for _, version := range [2]uint8{4, 6} {
			var sockets []sockdiag.Socket
			asked := false
			for i := range flows {
				p := &flows[i]
				if r.begun[i] != unit.Never || p.Dst != d.node || p.Version != version {
					continue
				}
				done = false
				if !wanted[i] {
					continue
				}
				if !asked {
					if sockets, err = d.conn.Dump(family(p),
						sockdiag.Filter{States: []sockdiag.TCPState{sockdiag.Established}}); err != nil {
						return false, err
					}
					asked = true
				}
				for k := range sockets {
					s := &sockets[k]
					if s.Local == p.to && s.Remote.Addr() == p.from.Addr() && s.Remote.Port() != p.SrcPort &&
						s.Info.BytesSent >= control {
						r.begun[i] = unit.Time(now()-r.c.Epoch) * unit.Nanosecond
					}
				}
			}
		}
	}
	return done, nil
}

// result puts together what the processes have written.
func (r *runner) result(flows []plan, all []test) (*Result, error) {
	n := len(flows)
	out := &Result{
		Result: traffic.Result{End: traffic.TimeUp, Time: r.c.Duration, Flows: make([]traffic.FlowResult, n)},
		Lost:   make([]Loss, n), Ports: make([]uint16, n), Short: make([]unit.Time, n), part: r.c.Duration - r.c.Warmup,
	}
	for i := range flows {
		p, x := &flows[i], &out.Flows[i]
		x.Start, x.FCT, x.Arrived, x.Written = p.Start, unit.Never, unit.Never, unit.Never
		out.Ports[i] = p.to.Port()
		if r.begun[i] == unit.Never {
			return nil, fmt.Errorf("flow %d: its test has not begun", i)
		}
		client, err := parse(all[i].client)
		if err != nil {
			return nil, fmt.Errorf("flow %d: client: %w", i, err)
		}
		server, err := parse(all[i].server)
		if err != nil {
			return nil, fmt.Errorf("flow %d: server: %w", i, err)
		}
		out.Version = strings.TrimPrefix(client.version, "iperf ")
		late := max(0, r.begun[i]-p.Start)
		out.Begun.Add(late)
		out.Begun.Max = max(out.Begun.Max, late)

		// In the test's time, which begins with it.
		from, to := r.c.Warmup-r.begun[i], r.c.Duration-r.begun[i]
		sent, got := client.between(from, to), server.between(from, to)
		x.Receiver.ReceivedBytes = unit.Bytes(math.Round(got.bytes))
		if p.TCP != nil {
			x.Sender.Retransmitted = int64(math.Round(sent.retransmits))
		} else {
			x.Sender.SentBytes, x.Sender.SentPackets = unit.Bytes(math.Round(sent.bytes)), int64(math.Round(sent.packets))
			out.Lost[i] = Loss{int64(math.Round(got.lost)), int64(math.Round(got.packets))}
			x.Receiver.ReceivedPackets = max(0, out.Lost[i].Of-out.Lost[i].Lost)
		}
		last := to
		if p.Stop > 0 && p.Stop < r.c.Duration {
			last = p.Stop - r.begun[i]
		}
		out.Short[i] = max(0, last-max(server.end(), from))
	}
	return out, nil
}
