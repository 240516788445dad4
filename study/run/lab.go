package run

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"weir/core/dataplane"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/results"
	"weir/worlds/lab"
	"weir/worlds/lab/iperf"
	"weir/worlds/lab/kernel"
	labtraffic "weir/worlds/lab/traffic"
	"weir/worlds/live"
	"weir/worlds/sim"
)

// labLead is the time between the start of the lab's data plane and time 0 of the experiment. Events at time 0 need
// it for their preparation.
const labLead = 500 * unit.Millisecond

// Lab configures the execution of runs in the lab.
type Lab struct {
	// Dataplane creates the process of a run's data plane. The process calls lab.Serve with the result of LabConfig and
	// the capture. It is nil if there is no such process.
	Dataplane func(r *plan.Run, capture *lab.Capture) *exec.Cmd
	// Hosts creates the process of a run's Weir hosts. The process calls lab.ServeHosts with the result of HostsConfig
	// and the capture. It is nil if there is no such process.
	Hosts func(r *plan.Run, capture *lab.Capture) *exec.Cmd
	// Capture names switches whose input and output each run captures into captures/ of the results folder. The
	// simulator's switch must turn the input into the same output. lab.CaptureHosts stands for all Weir hosts.
	Capture []string
	// Kernel has the features of this machine's kernel.
	Kernel *kernel.Kernel
	// Attempts limits the executions of a run that the machine disturbs; below 1: one.
	Attempts int
	// Scheduling of time-critical threads; empty: live.DefaultScheduling.
	Scheduling live.Scheduling
	// Generator of traffic; nil: lab/traffic.
	Generator *Generator
	// Counterpart has the simulator's results for comparison; nil: no comparison.
	Counterpart *results.Outcome
	// OnRun receives the result of each attempt of a run, the attempt's number from 1, and the limit.
	OnRun func(r *plan.Run, attempt, limit int, a *results.Attempt)
	// OnBusy, if not nil, is called once, when the machine has disturbed all attempts of busyRuns runs. Each later run
	// has one attempt.
	OnBusy func()
	// OnLeft, if not nil, is called at each attempt with the leftovers of earlier labs that cannot be removed.
	OnLeft func(left error)

	disturbed int // runs with all attempts disturbed
}

// busyRuns is the number of disturbed runs after which the machine counts as busy. Further attempts would take time
// and be disturbed, too.
const busyRuns = 2

// maxAttempts returns the limit of attempts for the next run.
func (o *Lab) maxAttempts() int {
	if o.disturbed >= busyRuns {
		return 1
	}
	return max(o.Attempts, 1)
}

// Generator sends and receives a run's traffic in the lab.
type Generator struct {
	Name string
	Run  func(ctx context.Context, c labtraffic.Config) (*labtraffic.Result, error)
	// Check returns an error for traffic that the generator cannot send; nil: it can send all traffic that CheckLab
	// accepts.
	Check func(c labtraffic.Config) error
}

// kernelGenerator is Weir's generator over kernel sockets. IPerf3 verifies it: it sends unlimited TCP flows and
// constant-rate datagrams with iperf3.
var (
	kernelGenerator = Generator{Name: "weir", Run: labtraffic.Run}
	IPerf3          = Generator{Name: "iperf3", Check: iperf.Check, Run: func(ctx context.Context,
		c labtraffic.Config) (*labtraffic.Result, error) {
		r, err := iperf.Run(ctx, c)
		if err != nil {
			return nil, err
		}
		return &r.Result, nil
	}}
)

// GeneratorNames returns the names of all generators.
func GeneratorNames() []string { return []string{kernelGenerator.Name, IPerf3.Name} }

// Check returns an error for traffic of the experiment that the generator cannot send, before any process starts. It
// checks one seed of each point. CheckLab must have accepted the experiment.
func (o *Lab) Check(s *experiment.Spec) error {
	g := o.selectGenerator()
	if g.Check == nil {
		return nil
	}
	nowhere := func(int, func() error) error { return errors.New("the lab has not started") }
	seen := map[*experiment.Point]bool{} // all seeds of a point have the same kinds of flows
	for _, r := range plan.ListRuns(s) {
		if seen[r.SpecPoint] {
			continue
		}
		seen[r.SpecPoint] = true
		c, err := r.Config()
		if err != nil {
			return err
		}
		t, _ := labTraffic(r.SpecPoint, c, o.Kernel, nowhere, 0, nil)
		if err := g.Check(t); err != nil {
			return fmt.Errorf("%s: %w", orPoint(r.Point), err)
		}
	}
	return nil
}

// selectGenerator returns the generator, which is kernelGenerator by default.
func (o *Lab) selectGenerator() *Generator {
	if o.Generator == nil {
		return &kernelGenerator
	}
	return o.Generator
}

// repeatRun executes a run again while the machine disturbs it, up to the limit. It calls OnRun after each attempt, and
// counts the run if the last one was disturbed, too (OnBusy). It returns the last attempt's result, also if disturbed,
// with the records of all attempts. An error of an attempt ends the run without a result.
func (o *Lab) repeatRun(r *plan.Run, attempt func() (*results.Run, *results.Attempt, error)) (*results.Run, error) {
	var attempts []results.Attempt
	limit := o.maxAttempts()
	for {
		run, a, err := attempt()
		if err != nil {
			return nil, err
		}
		attempts = append(attempts, *a)
		if o.OnRun != nil {
			o.OnRun(r, len(attempts), limit, a)
		}
		if len(a.Disturbed) > 0 && len(attempts) < limit {
			continue
		}
		if run.Attempts = attempts; len(a.Disturbed) > 0 {
			if o.disturbed++; o.disturbed == busyRuns && o.OnBusy != nil {
				o.OnBusy()
			}
		}
		return run, nil
	}
}

// LabConfig returns the configuration of a run's data plane in the lab. It has the flows' addresses, but no traffic:
// the hosts are real. It returns an error if the extra ports of a flow cannot be determined.
func LabConfig(r *plan.Run) (*lab.Config, error) {
	c, err := r.Config()
	if err != nil {
		return nil, err
	}
	out := &lab.Config{
		Wiring: c.Wiring, Selection: c.Selection,
		Lead: labLead, Warmup: c.Warmup, Duration: c.Duration, MTU: hostMTU(r.SpecPoint),
	}
	for i := range c.Flows {
		f := &c.Flows[i]
		tr := r.SpecPoint.Entry(f.Group)
		transport, _ := tr.Transport()
		x := lab.Flow{Group: f.Group, Src: f.Src, Dst: f.Dst, SrcPort: f.SrcPort, DstPort: f.DstPort,
			Version: tr.Version(), Proto: transport.Proto, Own: tr.UsesWeirStack()}
		if x.Own {
			if x.Ports, err = extraPorts(c, i); err != nil {
				return nil, err
			}
		}
		out.Flows = append(out.Flows, x)
	}
	return out, nil
}

// hostMTU returns the MTU of the hosts' interfaces in bytes: lab.DefaultMTU, or more if the largest packets need it.
func hostMTU(p *experiment.Point) int {
	mtu := int32(lab.DefaultMTU)
	for i := range p.Entries() {
		mtu = max(mtu, ipPacket(p, p.Entry(i)))
	}
	return int(mtu)
}

// shortestRTT returns the lowest base RTT of the run's flows, or unit.Never without flows.
func shortestRTT(p *experiment.Point, c *sim.Config) unit.Time {
	least, seen := unit.Never, p.Measured()
	for i := range c.Flows {
		f := &c.Flows[i]
		least = min(least, seen.Path(f.Src, f.Dst, &seen.Traffic[f.Group]).BaseRTT)
	}
	return least
}

// twoFrames returns the transmission time of two full frames on the slowest link. Queues of simulator and lab may
// differ by two frames.
func twoFrames(p *experiment.Point) (longest unit.Time) {
	const header = 14 // of Ethernet
	frame := int32(header + hostMTU(p))
	for _, l := range p.Network().Links {
		s := unit.NewSerialiser(l.Rate)
		longest = max(longest, 2*s.NextTime(frame, false))
	}
	return longest
}

// timestamps is the number of option bytes in each of the kernel's segments (RFC 7323 §3).
const timestamps = 12

// labTraffic returns the traffic of the run's Linux hosts, and for each of its flows the index among all flows. The
// function do executes a function in the network namespace of a node. The argument epoch is time 0 of the experiment,
// in ns of CLOCK_MONOTONIC. The function progress receives the share of the duration that has passed. CheckLab must
// have accepted the experiment.
func labTraffic(p *experiment.Point, c *sim.Config, k *kernel.Kernel, do func(node int, f func() error) error,
	epoch int64, progress func(share float64)) (t labtraffic.Config, indices []int) {
	t = labtraffic.Config{
		Epoch: epoch, Warmup: c.Warmup, Duration: c.Duration, UntilDone: c.UntilDone, Book: c.Wiring.Hosts, Do: do,
		Progress: func(now unit.Time) { progress(now.Seconds() / c.Duration.Seconds()) },
	}
	hosts, _ := labHosts(p, k) // CheckLab has found no error
	number := make([]int, len(c.Flows))
	for i := range c.Flows {
		if number[i] = len(indices); !p.Entry(c.Flows[i].Group).UsesWeirStack() {
			indices = append(indices, i)
		}
	}
	ports := p.Network().Ports()
	for _, i := range indices {
		f := &c.Flows[i]
		tr := p.Entry(f.Group)
		transport, config := tr.Transport()
		x := labtraffic.Flow{
			Src: f.Src, Dst: f.Dst, SrcPort: f.SrcPort, DstPort: f.DstPort, Version: tr.Version(), TOS: tr.TOSOf(f.Size),
			Start: f.Start, Stop: f.Stop, Size: f.Size, Payload: tr.Payload(),
		}
		for _, a := range f.After { // these are kernel flows too
			x.Predecessors = append(x.Predecessors, number[a])
		}
		if transport.Kernel == packet.ProtoUDP {
			udpEnds(c, i, &x)
			x.Link = p.Network().Links[ports[f.Src][0].Link].Rate
		} else {
			s, _ := k.TCPSettings(config)
			s.SetBuffers(hosts[f.Src], hosts[f.Dst])
			x.TCP = &labtraffic.TCP{ReceiverOptions: s.ReceiverOptions, CongestionControl: controlOf(tr),
				SendBuffer: s.SendBuffer, ReceiveBuffer: s.ReceiveBuffer,
				Rate: s.Rate, Pacing: s.Pacing, MSS: tr.Payload() + timestamps + agentRoom(p, tr)}
		}
		t.Flows = append(t.Flows, x)
	}
	for _, w := range c.Watches {
		if what, ok := sampled[w.What]; ok && !p.Entry(c.Flows[w.Index].Group).UsesWeirStack() {
			t.Samples = append(t.Samples, labtraffic.Sample{Quantity: what, Flow: number[w.Index], Every: w.Every})
		}
	}
	return t, indices
}

// controlOf returns the kernel's congestion control of a traffic's connections. It is CUBIC if agents replace it by
// their own law.
func controlOf(tr *experiment.Traffic) string {
	if agentOf(tr) != nil {
		return "cubic"
	}
	controller, _ := tr.CC()
	return controller.Kernel
}

// udpEnds creates the endpoints of flow i of datagrams, and sets UDPReceiver and UDP of x. The sender of a flow that
// follows others is created when it begins: UDP is nil, and Begin is set. The plan has created the endpoints before, so
// errors cannot occur.
func udpEnds(c *sim.Config, i int, x *labtraffic.Flow) {
	sender := func(start unit.Time) transport.Endpoint {
		e, _ := c.EndpointFactory.Sender(i, start)
		return e
	}
	x.UDPReceiver, _ = c.EndpointFactory.Receiver(i)
	if x.Predecessors == nil {
		x.UDP = sender(x.Start)
	} else {
		x.Begin = sender
	}
}

// sampled maps the watched quantities of flows to the generator's samples.
var sampled = map[outcome.Quantity]labtraffic.Quantity{
	outcome.ReceivedBytes: labtraffic.ReceivedBytes, outcome.Window: labtraffic.Window, outcome.Rate: labtraffic.Rate,
	outcome.InFlight: labtraffic.InFlight, outcome.RTT: labtraffic.RTT, outcome.DeliveryRate: labtraffic.DeliveryRate,
}

// attemptOf returns the record of an attempt: how the machine disturbed it, and its errors. The argument rtt is the
// lowest base RTT, and frames the transmission time of two frames on the slowest link. It sets r.Kernels from the Linux
// hosts. Errors of the generator count as disturbances, too.
func attemptOf(r *lab.Report, all *labOutcome, rtt, frames unit.Time) *results.Attempt {
	if all.kernel != nil {
		r.Kernels = all.kernel.Waiting
	}
	l := &r.Lateness
	a := &results.Attempt{
		Disturbed: append([]string{}, r.Disturbed(all.hosts, rtt)...), StallShare: r.DisturbedShare(all.hosts, rtt),
		HeldShare: r.HeldShare(all.hosts, frames, rtt), WaitedS: r.Waited.Seconds(),
		HostsWaitedS: r.Kernels.Sum.Seconds(), HostsWaited: r.WaitedShare(rtt),
		Errors: append([]string{}, r.Errors()...),
		Frames: l.Frames, LateP50S: l.P50.Seconds(), LateP99S: l.P99.Seconds(), LateP999S: l.P999.Seconds(),
		LateMaxS: l.Max.Seconds(),
		Lateness: slices.Clone(l.Below), StallS: r.Stall.Seconds(), RingLost: r.Gates.RingLost, Lost: r.VethLost +
			r.Counts.SendLost,
		Steal: r.Steal, CPU: r.CPU, WallS: r.Wall.Seconds(), Scheduling: string(r.Scheduling),
	}
	if h := all.hosts; h != nil {
		x := &h.Lateness
		a.Errors = append(a.Errors, h.Errors()...)
		a.Hosts = &results.HostsLate{Frames: x.Frames, P50S: x.P50.Seconds(), P99S: x.P99.Seconds(), MaxS: x.Max.Seconds(),
			StallS: h.Stall.Seconds(), CPU: h.CPU}
	}
	t := all.kernel
	if t == nil {
		return a
	}
	a.Disturbed, a.Errors = append(a.Disturbed, t.Errors()...), append(a.Errors, t.Errors()...)
	for i := range t.Flows {
		if err := t.Flows[i].Failed; err != nil {
			a.Errors = append(a.Errors, err.Error())
		}
	}
	if late := &t.SendLateness; late.Count() > 0 {
		a.Send = &results.SendLate{Datagrams: late.Count(), P50S: late.Quantile(0.5).Seconds(),
			P99S: late.Quantile(0.99).Seconds(),
			MaxS: late.Max.Seconds()}
	}
	return a
}

// labRun evaluates the measures on a run of the lab.
func labRun(r *plan.Run, c *sim.Config, report *lab.Report, s *labOutcome, id string) *results.Run {
	return newRun(r, c, labResult(r.SpecPoint, c, report, s), id)
}

// labResult converts the outcome of the lab to the simulator's form, so that measures have the same meaning in both.
func labResult(p *experiment.Point, c *sim.Config, r *lab.Report, s *labOutcome) *outcome.Result {
	res := &outcome.Result{
		End: outcome.TimeUp, Time: min(s.endTime(), c.Duration), Drops: r.Drops, Events: r.Events, PacketHops: r.Hops,
		Ports: r.Ports, Flows: make([]outcome.FlowResult, len(c.Flows)), Watched: make([][]int64, len(c.Watches)),
		Delays: r.Delays, Tally: r.Tally, Notices: r.Notices, Usage: r.Usage, Steering: r.Steering,
		Reordering: make([]outcome.Reordering, len(c.Flows)),
		Peaks:      make([]unit.Bytes, len(c.Flows)),
	}
	for len(res.Delays) < p.Entries() {
		res.Delays = append(res.Delays, unit.Histogram{})
	}
	s.setSamples(p, c, r, res)
	res.Measured = max(res.Time-c.Warmup, 0)
	res.End = s.endReason()
	res.Drops[dataplane.NotExpected] = s.countStrays()
	if s.kernel != nil {
		s.setKernelFlows(r, res)
	}
	if s.own != nil {
		s.setOwnFlows(p, c, r, res)
		s.setOnsets(c, r, res)
	}
	for i := range res.Flows {
		if c.Flows[i].Size > 0 && res.Flows[i].FCT == unit.Never {
			res.Unfinished = append(res.Unfinished, i)
			res.Delivered = append(res.Delivered, s.receivedBytes(i))
		}
	}
	return res
}
