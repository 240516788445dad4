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

// execute executes one run in the lab, and again while the machine disturbs it.
func (o *Lab) execute(ctx context.Context, r *plan.Run, dir, id string, progress func(share float64)) (*results.Run,
	error) {
	return o.repeatRun(r, func() (*results.Run, *results.Attempt, error) {
		return o.executeOnce(ctx, r, dir, id, progress)
	})
}

// executeOnce executes a run once, and returns the result with the record of the attempt. The captures are files of the
// run's id below dir; without dir the run has no captures. An error of the network's removal replaces the result.
func (o *Lab) executeOnce(ctx context.Context, r *plan.Run, dir, id string,
	progress func(share float64)) (run *results.Run, a *results.Attempt, err error) {
	c, err := r.Config()
	if err != nil {
		return nil, nil, err
	}
	plane, err := LabConfig(r)
	if err != nil {
		return nil, nil, err
	}
	n, err := o.openNetwork(r, plane)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if e := n.Close(); e != nil && err == nil {
			run, a, err = nil, nil, e
		}
	}()
	if err := errors.Join(n.Schedule(o.Scheduling), n.LimitHosts(plane)); err != nil {
		return nil, nil, err
	}
	followers, err := o.equipHosts(r, plane, n)
	if err != nil {
		return nil, nil, err
	}
	defer followers.Close()
	if err := n.LayCables(plane.CableLinks()); err != nil {
		return nil, nil, err
	}
	capture, ofHosts, err := o.openCaptures(dir, id)
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
	ctx, done := pullCables(ctx, p, plane)
	defer done()
	before := cpuTime()
	begin := time.Now()
	all, err := o.runHosts(ctx, r, c, plane, n, ofHosts, p.Epoch+int64(plane.Lead/unit.Nanosecond), progress)
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
	a = attemptOf(report, all, shortestRTT(r.SpecPoint, c), twoFrames(r.SpecPoint))
	a.OwnCPU = own
	a.Carriers = listCarriers(report, plane)
	if capture != nil && (report.Captured == nil || report.Captured.Error == "") { // otherwise the run has that error
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
	addDifferences(a)
	addCounts(followers, a)
	return labRun(r, c, report, all, id), a, nil
}

// openNetwork creates the network of a run's hosts, and reports leftovers of earlier labs.
func (o *Lab) openNetwork(r *plan.Run, plane *lab.Config) (*lab.Network, error) {
	n, err := lab.Open(plane.Wiring.Network, plane.Wiring.Hosts, hostMTU(r.SpecPoint))
	if err == nil && n.CleanError != nil && o.OnLeft != nil {
		o.OnLeft(n.CleanError)
	}
	return n, err
}

// openCaptures returns the captures of switches and of Weir hosts for a run, each nil if not requested. It creates
// their folder. Without dir it returns no captures. A folder that cannot be created is a lostError.
func (o *Lab) openCaptures(dir, id string) (capture, hostCapture *lab.Capture, err error) {
	switches, hosts := o.splitCapture()
	if len(o.Capture) == 0 || dir == "" {
		return nil, nil, nil
	}
	if len(switches) > 0 {
		capture = &lab.Capture{Switches: switches, File: captureFile(dir, id)}
	}
	if hosts {
		hostCapture = &lab.Capture{File: hostsFile(dir, id)}
	}
	folder := filepath.Dir(captureFile(dir, id))
	if err := atomicfile.MkdirAll(folder); err != nil {
		return nil, nil, lostError{fmt.Errorf("%s: the folder cannot be created: %w", folder, document.UnwrapPathError(err))}
	}
	return capture, hostCapture, nil
}

// pullCables pulls and plugs the cables of links at the experiment's times, in the background. The returned context
// ends if the data plane or a cable fails. The caller calls done, which stops both and waits.
func pullCables(parent context.Context, p *lab.DataPlane, plane *lab.Config) (ctx context.Context, done func()) {
	ctx, cancel := untilFailure(parent, p)
	var pulling sync.WaitGroup
	pulling.Go(func() {
		if err := p.PullCables(ctx, plane); err != nil {
			cancel(err)
		}
	})
	return ctx, func() {
		cancel(nil)
		pulling.Wait()
	}
}

// process is a process of the lab.
type process interface {
	Done() <-chan struct{}
	Err() error
}

// untilFailure returns a child of a context that ends with a process's error as its cause. It does not end if the
// process ends without error. The caller calls the returned cancel.
func untilFailure(parent context.Context, p process) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(parent)
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

// listCarriers returns the changes of carrier on the links.
func listCarriers(r *lab.Report, plane *lab.Config) (all []results.Carrier) {
	for _, x := range r.Carriers {
		ends := plane.Wiring.Network.Links[x.Link].Ends
		all = append(all, results.Carrier{Ends: [2]string{plane.Wiring.Network.Nodes[ends[0]].Name,
			plane.Wiring.Network.Nodes[ends[1]].Name}, Down: x.Down, AtS: x.At.Seconds()})
	}
	return all
}

// runHosts runs all hosts until the run has ended, or the process of the Weir hosts fails. The argument epoch is time 0
// of the experiment, in ns of CLOCK_MONOTONIC. After an error of the generator it kills the Weir hosts.
func (o *Lab) runHosts(ctx context.Context, r *plan.Run, c *sim.Config, plane *lab.Config, n *lab.Network,
	capture *lab.Capture, epoch int64, progress func(share float64)) (*labOutcome, error) {
	t, of := labTraffic(r.SpecPoint, c, o.Kernel, n.Do, epoch, progress)
	all := &labOutcome{flows: of}
	var hosts *lab.HostsProcess
	if len(of) < len(c.Flows) {
		var err error
		if hosts, err = n.StartHosts(o.Hosts(r, capture), plane.OwnHosts(), epoch); err != nil {
			return nil, err
		}
		defer func() {
			if all.own == nil {
				hosts.Kill()
			}
		}()
		var done context.CancelCauseFunc
		ctx, done = untilFailure(ctx, hosts)
		defer done(nil)
	}
	if len(of) > 0 {
		var err error
		all.kernel, err = o.selectGenerator().Run(ctx, t)
		if why := interruptReason(ctx); why != nil { // the generator's error only repeats this one
			err = why
		}
		if err != nil {
			return nil, err
		}
	}
	if hosts == nil {
		return all, nil
	}
	if err := awaitHosts(ctx, hosts, epoch, c, progress); err != nil {
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

// awaitHosts waits until the Weir hosts have ended, and reports progress as the share of the duration. It returns the
// hosts' error, or the reason why ctx ended.
func awaitHosts(ctx context.Context, hosts *lab.HostsProcess, epoch int64, c *sim.Config,
	progress func(share float64)) error {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-hosts.Done():
			if err := interruptReason(ctx); err != nil {
				return err
			}
			return hosts.Err()
		case <-ctx.Done():
			return interruptReason(ctx)
		case <-tick.C:
			progress(min(max(float64(readMonotonic()-epoch)/1e9/c.Duration.Seconds(), 0), 1))
		}
	}
}

// progressEvery is the interval of progress reports on hosts.
const progressEvery = 200 * time.Millisecond

// readMonotonic returns the time of CLOCK_MONOTONIC in ns, or 0 after an error.
func readMonotonic() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return t.Nano()
}

// interruptReason returns the reason why ctx ended early, or nil if it has not ended. It is errInterrupted if ctx was
// cancelled without another cause.
func interruptReason(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) {
		return errInterrupted
	}
	return cause
}

// equipHosts configures the hosts for their flows, and starts agents on hosts with HPCC++ flows. The caller closes the
// returned group.
func (o *Lab) equipHosts(r *plan.Run, plane *lab.Config, n *lab.Network) (AgentGroup, error) {
	if err := o.applyHosts(r, plane, n); err != nil {
		return nil, err
	}
	return startAgents(r, n)
}

// applyHosts applies the kernel settings that the flows need to each host.
func (o *Lab) applyHosts(r *plan.Run, plane *lab.Config, n *lab.Network) error {
	hosts, err := labHosts(r.SpecPoint, o.Kernel)
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

// addDifferences adds an error to the attempt for each capture that differs from the simulator's switches or hosts.
func addDifferences(a *results.Attempt) {
	for i := range a.Replays {
		if x := &a.Replays[i]; x.Difference != "" {
			a.Errors = append(a.Errors, fmt.Sprintf("%s, replayed in the simulator: %s", x.Subject(), x.Difference))
		}
	}
}

// cpuTime returns the user and system time of this process, or 0 after an error.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
