package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/atomicfile"
	"weir/internal/document"
	"weir/study/plan"
	"weir/study/results"
	"weir/worlds/lab"
	"weir/worlds/sim"
)

// carryOut runs one run in the lab, again while the machine disturbs it.
func (o *Lab) carryOut(ctx context.Context, r *plan.Run, dir, id string, progress func(share float64)) (*results.Run,
	error) {
	return o.repeat(r, func() (*results.Run, *results.Attempt, error) { return o.attempt(ctx, r, dir, id, progress) })
}

// attempt carries a run out once.
func (o *Lab) attempt(ctx context.Context, r *plan.Run, dir, id string, progress func(share float64)) (run *results.Run,
	a *results.Attempt, err error) {
	c, err := r.Config()
	if err != nil {
		return nil, nil, err
	}
	plane, err := LabConfig(r)
	if err != nil {
		return nil, nil, err
	}
	n, err := o.open(r, plane)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if e := n.Close(); e != nil && err == nil {
			run, a, err = nil, nil, e
		}
	}()
	if err := errors.Join(n.Schedule(o.Scheduling), n.Shape(plane)); err != nil {
		return nil, nil, err
	}
	followers, err := o.equip(r, plane, n)
	if err != nil {
		return nil, nil, err
	}
	defer followers.Close()
	if err := n.Lay(plane.Cables()); err != nil {
		return nil, nil, err
	}
	capture, ofHosts, err := o.capture(dir, id)
	if err != nil {
		return nil, nil, err
	}
	p, err := n.Start(o.Dataplane(r, capture))
	if err != nil {
		return nil, nil, err
	}
	stopped := false
	defer func() {
		if !stopped {
			p.Kill()
		}
	}()
	ctx, done := accompany(ctx, p, plane)
	defer done()
	before := cpuTime()
	begin := time.Now()
	all, err := o.send(ctx, r, c, plane, n, ofHosts, p.Epoch+int64(plane.Lead/unit.Nanosecond), progress)
	if err != nil {
		return nil, nil, err
	}
	own := (cpuTime() - before).Seconds() / time.Since(begin).Seconds()
	if err := followers.Close(); err != nil {
		return nil, nil, err
	}
	stopped = true
	report, err := p.Stop()
	if err != nil {
		return nil, nil, err
	}
	a = attemptOf(report, all, shortestRTT(r.Of, c), twoFrames(r.Of))
	a.OwnCPU = own
	a.Carriers = carriers(report, plane)
	if capture != nil && (report.Captured == nil || report.Captured.Error == "") { // else it is an error of the run
		if a.Replays, err = replayFile(plane, capture.Switches, capture.File); err != nil {
			return nil, nil, err
		}
	}
	if h := all.hosts; ofHosts != nil && h != nil && h.Captured != nil && h.Captured.Error == "" {
		x, err := ReplayHostsFile(r, ofHosts.File)
		if err != nil {
			return nil, nil, err
		}
		a.Replays = append(a.Replays, x)
	}
	differences(a)
	addCounts(followers, a)
	return labRun(r, c, report, all, id), a, nil
}

// open makes the hosts of a run.
func (o *Lab) open(r *plan.Run, plane *lab.Config) (*lab.Network, error) {
	n, err := lab.Open(plane.Wiring.Network, plane.Wiring.Hosts, hostMTU(r.Of))
	if err == nil && n.Left != nil && o.OnLeft != nil {
		o.OnLeft(n.Left)
	}
	return n, err
}

// capture is what of a run is captured, and where to: of switches, and of hosts of Weir's own; nil: nothing of them.
func (o *Lab) capture(dir, id string) (capture, ofHosts *lab.Capture, err error) {
	switches, hosts := o.switches()
	if len(o.Capture) == 0 || dir == "" {
		return nil, nil, nil
	}
	if len(switches) > 0 {
		capture = &lab.Capture{Switches: switches, File: captureFile(dir, id)}
	}
	if hosts {
		ofHosts = &lab.Capture{File: hostsFile(dir, id)}
	}
	folder := filepath.Dir(captureFile(dir, id))
	if err := atomicfile.MkdirAll(folder); err != nil {
		return nil, nil, lostError{fmt.Errorf("%s: it cannot be made: %w", folder, document.Reason(err))}
	}
	return capture, ofHosts, nil
}

// accompany ends a run when its data plane ends, which it must not before it is told to, and does with the cables of
// its links what the experiment has in store for them. done ends that.
func accompany(of context.Context, p *lab.DataPlane, plane *lab.Config) (ctx context.Context, done func()) {
	ctx, cancel := while(of, p)
	var pulling sync.WaitGroup
	pulling.Go(func() {
		if err := p.Pull(ctx, plane); err != nil {
			cancel(err)
		}
	})
	return ctx, func() {
		cancel(nil)
		pulling.Wait()
	}
}

// process is one of the lab's.
type process interface {
	Done() <-chan struct{}
	Err() error
}

// while is a context that ends when a process fails, with its error. It does not when that ends in order.
func while(of context.Context, p process) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(of)
	go func() {
		select {
		case <-p.Done():
			if err := p.Err(); err != nil {
				cancel(err)
			}
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// carriers are what links have lost and got back.
func carriers(r *lab.Report, plane *lab.Config) (all []results.Carrier) {
	for _, x := range r.Carriers {
		ends := plane.Wiring.Network.Links[x.Link].Ends
		all = append(all, results.Carrier{Ends: [2]string{plane.Wiring.Network.Nodes[ends[0]].Name,
			plane.Wiring.Network.Nodes[ends[1]].Name}, Down: x.Down, AtS: x.At.Seconds()})
	}
	return all
}

// send has all hosts send and receive until the run has ended, or the process of Weir's own hosts has failed.
func (o *Lab) send(ctx context.Context, r *plan.Run, c *sim.Config, plane *lab.Config, n *lab.Network,
	capture *lab.Capture, epoch int64, progress func(share float64)) (*labOutcome, error) {
	t, of := labTraffic(r.Of, c, o.Kernel, n.Do, epoch, progress)
	all := &labOutcome{flows: of}
	var hosts *lab.HostsProcess
	if len(of) < len(c.Flows) {
		var err error
		if hosts, err = n.StartHosts(o.Hosts(r, capture), plane.Own(), epoch); err != nil {
			return nil, err
		}
		defer func() {
			if all.own == nil {
				hosts.Kill()
			}
		}()
		var done context.CancelCauseFunc
		ctx, done = while(ctx, hosts)
		defer done(nil)
	}
	if len(of) > 0 {
		var err error
		all.kernel, err = o.generator().Run(ctx, t)
		if why := interrupted(ctx); why != nil { // what the generator says is no more than that
			err = why
		}
		if err != nil {
			return nil, err
		}
	}
	if hosts == nil {
		return all, nil
	}
	if err := await(ctx, hosts, epoch, c, progress); err != nil {
		return nil, err
	}
	own := &outcome.Result{}
	var err error
	if all.hosts, err = hosts.Stop(own); err != nil {
		return nil, err
	}
	all.own = own
	return all, nil
}

// await waits until the hosts have ended.
func await(ctx context.Context, hosts *lab.HostsProcess, epoch int64, c *sim.Config,
	progress func(share float64)) error {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-hosts.Done():
			if err := interrupted(ctx); err != nil {
				return err
			}
			return hosts.Err()
		case <-ctx.Done():
			return interrupted(ctx)
		case <-tick.C:
			progress(min(max(float64(monotonic()-epoch)/1e9/c.Duration.Seconds(), 0), 1))
		}
	}
}

// progressEvery is how often it is told how far hosts are.
const progressEvery = 200 * time.Millisecond

func monotonic() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return t.Nano()
}

// interrupted is why a run is to end before it has; nil: it is not.
func interrupted(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) {
		return errInterrupted
	}
	return cause
}

// equip gives the hosts what their flows want of them, and agents where those follow HPCC++.
func (o *Lab) equip(r *plan.Run, plane *lab.Config, n *lab.Network) (AgentGroup, error) {
	if err := o.applyHosts(r, plane, n); err != nil {
		return nil, err
	}
	return startAgents(r, n)
}

// applyHosts gives the hosts what their flows want of them.
func (o *Lab) applyHosts(r *plan.Run, plane *lab.Config, n *lab.Network) error {
	hosts, err := labHosts(r.Of, o.Kernel)
	if err != nil {
		return err
	}
	for node := range plane.Wiring.Network.Nodes {
		if h := hosts[node]; h != nil {
			err := n.Do(node, func() error {
				_, err := h.Apply(lab.NIC)
				return err
			})
			if err != nil {
				return fmt.Errorf("lab: host %s: %w", plane.Wiring.Network.Nodes[node].Name, err)
			}
		}
	}
	return nil
}

// differences notes where the simulator's switches and hosts did something else: that is an error of the attempt.
func differences(a *results.Attempt) {
	for i := range a.Replays {
		if x := &a.Replays[i]; x.Difference != "" {
			a.Errors = append(a.Errors, fmt.Sprintf("%s, replayed in the simulator: %s", x.Of(), x.Difference))
		}
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
