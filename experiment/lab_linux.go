package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"weir/lab"
	"weir/lab/kernel"
	labtraffic "weir/lab/traffic"
	"weir/sim"
	"weir/unit"
)

// carryOut runs one run in the lab, again while the machine disturbs it.
func (o *LabOptions) carryOut(ctx context.Context, r *RunSpec, dir, id string, progress func(share float64)) (*Run, error) {
	return o.repeat(r, func() (*Run, *Attempt, error) { return o.attempt(ctx, r, dir, id, progress) })
}

// attempt carries a run out once.
func (o *LabOptions) attempt(ctx context.Context, r *RunSpec, dir, id string, progress func(share float64)) (run *Run, a *Attempt, err error) {
	c, err := r.Config()
	if err != nil {
		return nil, nil, err
	}
	plane, err := r.Lab()
	if err != nil {
		return nil, nil, err
	}
	n, err := lab.Open(plane.Network, plane.Hosts, r.point.hostMTU())
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if e := n.Close(); e != nil && err == nil {
			run, a, err = nil, nil, e
		}
	}()
	hosts, err := r.point.labHosts(o.Kernel)
	if err != nil {
		return nil, nil, err
	}
	for node := range plane.Network.Nodes {
		if h := hosts[node]; h != nil {
			err := n.Do(node, func() error {
				_, err := h.Apply(lab.NIC)
				return err
			})
			if err != nil {
				return nil, nil, fmt.Errorf("lab: host %s: %w", plane.Network.Nodes[node].Name, err)
			}
		}
	}
	var capture *lab.Capture
	if len(o.Capture) > 0 && dir != "" {
		capture = &lab.Capture{Switches: o.Capture, File: captureFile(dir, id)}
		if err := os.MkdirAll(filepath.Dir(capture.File), 0o777); err != nil {
			return nil, nil, fmt.Errorf("%s: it cannot be made: %w", filepath.Dir(capture.File), reason(err))
		}
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
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.Done(): // it must not before it is told to
			cancel(p.Err())
		case <-ctx.Done():
		}
	}()
	before := cpuTime()
	begin := time.Now()
	sent, err := o.generator().Run(ctx, r.point.labTraffic(c, o.Kernel, n, p.Epoch+int64(plane.Lead/unit.Nanosecond), progress))
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, context.Canceled) {
			cause = errInterrupted
		}
		return nil, nil, cause
	}
	if err != nil {
		return nil, nil, err
	}
	own := (cpuTime() - before).Seconds() / time.Since(begin).Seconds()
	stopped = true
	report, err := p.Stop()
	if err != nil {
		return nil, nil, err
	}
	a = attemptOf(report, sent, r.point.shortestRTT(c))
	a.OwnCPU = own
	if capture != nil {
		if a.Replays, err = ReplayFile(plane, o.Capture, capture.File); err != nil {
			return nil, nil, err
		}
		for i := range a.Replays {
			if x := &a.Replays[i]; x.Difference != "" {
				a.Errors = append(a.Errors, fmt.Sprintf("switch %s, replayed in the simulator: %s", x.Switch, x.Difference))
			}
		}
	}
	return r.labRun(c, report, sent, id), a, nil
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// timestamps are the bytes of options in each of the kernel's segments (RFC 7323 §3).
const timestamps = 12

// labTraffic is what the run's hosts send.
func (p *point) labTraffic(c *sim.Config, k *kernel.Kernel, n *lab.Network, epoch int64, progress func(share float64)) labtraffic.Config {
	t := labtraffic.Config{
		Epoch: epoch, Warmup: c.Warmup, Duration: c.Duration, UntilDone: c.UntilDone, Book: c.Hosts, Do: n.Do,
		Progress: func(now unit.Time) { progress(now.Seconds() / c.Duration.Seconds()) },
	}
	for i := range c.Flows {
		f := &c.Flows[i]
		tr := &p.traffic[f.Group]
		x := labtraffic.Flow{
			Src: f.Src, Dst: f.Dst, SrcPort: f.SrcPort, DstPort: f.DstPort, Version: tr.version, TOS: tr.tosOf(f.Size),
			Start: f.Start, Stop: f.Stop, Size: f.Size, Payload: tr.payload, After: f.After,
		}
		if tr.cc == nil {
			x.UDP, x.UDPReceiver, x.Begin = f.Sender, f.Receiver, f.Begin
		} else {
			s, _ := k.TCP(tr.values) // CheckLab has seen that it can
			x.TCP = &labtraffic.TCP{ReceiverOptions: s.ReceiverOptions, CongestionControl: tr.cc.Name, Rate: tr.values.Rate("rate"), Pacing: tr.values.Bool("pacing"), MSS: tr.payload + timestamps}
		}
		t.Flows = append(t.Flows, x)
	}
	for _, w := range c.Watches {
		if what, ok := sampled[w.What]; ok {
			t.Samples = append(t.Samples, labtraffic.Sample{What: what, Flow: w.Index, Every: w.Every})
		}
	}
	return t
}
