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

// labLead is the time between the start of a run's data plane in the lab and time 0 of
// the experiment: what is to happen then can get ready.
const labLead = 500 * unit.Millisecond

// Lab say how runs are carried out in the lab.
type Lab struct {
	// Dataplane makes the process of a run's data plane, which calls lab.Serve with what
	// r.Lab() gives and with the capture; nil: there is none.
	Dataplane func(r *plan.Run, capture *lab.Capture) *exec.Cmd
	// Hosts makes the process of a run's hosts that are Weir's own, which calls lab.ServeHosts with what HostsConfig
	// gives, with the capture; nil: there is none.
	Hosts func(r *plan.Run, capture *lab.Capture) *exec.Cmd
	// Capture are switches whose input and output each run captures, into captures/ of the
	// results folder. Replayed through a switch of the simulator, the input must give the
	// output. lab.CaptureHosts stands for all hosts of Weir's own.
	Capture []string
	// Kernel is what this machine's offers.
	Kernel *kernel.Kernel
	// Attempts is how often a run is carried out at most while the machine disturbs it;
	// below 1 means once.
	Attempts int
	// Scheduling of what must be punctual; empty: live.DefaultScheduling.
	Scheduling live.Scheduling
	// Generator of traffic; nil: lab/traffic.
	Generator *Generator
	// Beside is what the simulator gives for the same; may be nil.
	Beside *results.Outcome
	// OnRun receives the result of an attempt of a run, its number from 1, and how many there can be.
	OnRun func(r *plan.Run, attempt, limit int, a *results.Attempt)
	// OnBusy is called once, when the machine has disturbed busyRuns runs in all their attempts: each later run then has
	// one attempt. It may be nil.
	OnBusy func()
	// OnLeft is told, with each attempt, what dead labs have left that cannot be removed; nil: nobody is.
	OnLeft func(left error)

	disturbed int // runs that were disturbed in all their attempts
}

// busyRuns is the number of disturbed runs after which the machine counts as busy. It takes all attempts of two runs to
// know it; more attempts of the others take time and are disturbed, too.
const busyRuns = 2

// attempts returns how many attempts a run can have.
func (o *Lab) attempts() int {
	if o.disturbed >= busyRuns {
		return 1
	}
	return max(o.Attempts, 1)
}

// Generator sends and receives a run's traffic in the lab.
type Generator struct {
	Name string
	Run  func(ctx context.Context, c labtraffic.Config) (*labtraffic.Result, error)
	// Check tells what of a run's traffic it cannot send; nil: it can all that CheckLab lets
	// through.
	Check func(c labtraffic.Config) error
}

// kernelGenerator is the generator of our own, over kernel sockets, and IPerf3 the one to check it
// with: flows of TCP without end, and datagrams at a constant rate, by iperf3.
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

// Generators are the names of all.
func Generators() []string { return []string{kernelGenerator.Name, IPerf3.Name} }

// Check tells what of the experiment's traffic the generator cannot send, before anything
// starts. CheckLab must have found nothing.
func (o *Lab) Check(s *experiment.Spec) error {
	g := o.generator()
	if g.Check == nil {
		return nil
	}
	nowhere := func(int, func() error) error { return errors.New("there is no lab yet") }
	seen := map[*experiment.Point]bool{} // seeds of a point have the same kinds of flows
	for _, r := range plan.Runs(s) {
		if seen[r.Of] {
			continue
		}
		seen[r.Of] = true
		c, err := r.Config()
		if err != nil {
			return err
		}
		t, _ := labTraffic(r.Of, c, o.Kernel, nowhere, 0, nil)
		if err := g.Check(t); err != nil {
			return fmt.Errorf("%s: %w", orPoint(r.Point), err)
		}
	}
	return nil
}

func (o *Lab) generator() *Generator {
	if o.Generator == nil {
		return &kernelGenerator
	}
	return o.Generator
}

// repeat carries a run out again while the machine disturbs it, unless the machine is busy. The last attempt counts;
// all are recorded.
func (o *Lab) repeat(r *plan.Run, attempt func() (*results.Run, *results.Attempt, error)) (*results.Run, error) {
	var attempts []results.Attempt
	limit := o.attempts()
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

// LabConfig makes the configuration of the run's data plane in the lab. Hosts there are real:
// of traffic it says nothing.
func LabConfig(r *plan.Run) (*lab.Config, error) {
	c, err := r.Config()
	if err != nil {
		return nil, err
	}
	out := &lab.Config{
		Wiring: c.Wiring, Selection: c.Selection,
		Lead: labLead, Warmup: c.Warmup, Duration: c.Duration, MTU: hostMTU(r.Of),
	}
	for i := range c.Flows {
		f := &c.Flows[i]
		tr := r.Of.Entry(f.Group)
		transport, _ := tr.Transport()
		x := lab.Flow{Group: f.Group, Src: f.Src, Dst: f.Dst, SrcPort: f.SrcPort, DstPort: f.DstPort,
			Version: tr.Version(), Proto: transport.Proto, Own: tr.Own()}
		if x.Own {
			if x.Ports, err = ports(c, i); err != nil {
				return nil, err
			}
		}
		out.Flows = append(out.Flows, x)
	}
	return out, nil
}

// hostMTU is the MTU of the hosts' interfaces: Ethernet's, or what the largest packets
// need.
func hostMTU(p *experiment.Point) int {
	mtu := int32(lab.DefaultMTU)
	for i := range p.Entries() {
		mtu = max(mtu, ipPacket(p, p.Entry(i)))
	}
	return int(mtu)
}

// shortestRTT is the least base RTT of the run's flows.
func shortestRTT(p *experiment.Point, c *sim.Config) unit.Time {
	least, seen := unit.Never, p.Measured()
	for i := range c.Flows {
		f := &c.Flows[i]
		least = min(least, seen.Path(f.Src, f.Dst, &seen.Traffic[f.Group]).BaseRTT)
	}
	return least
}

// twoFrames is how long two full frames take on the slowest link: by two, queues of simulator and lab may differ.
func twoFrames(p *experiment.Point) (longest unit.Time) {
	const header = 14 // of Ethernet
	frame := int32(header + hostMTU(p))
	for _, l := range p.Network().Links {
		s := unit.NewSerialiser(l.Rate)
		longest = max(longest, 2*s.Next(frame, false))
	}
	return longest
}

// timestamps are the bytes of options in each of the kernel's segments (RFC 7323 §3).
const timestamps = 12

// labTraffic is what the run's kernels send, and the numbers of these flows among all.
func labTraffic(p *experiment.Point, c *sim.Config, k *kernel.Kernel, do func(node int, what func() error) error,
	epoch int64,
	progress func(share float64)) (t labtraffic.Config, of []int) {
	t = labtraffic.Config{
		Epoch: epoch, Warmup: c.Warmup, Duration: c.Duration, UntilDone: c.UntilDone, Book: c.Wiring.Hosts, Do: do,
		Progress: func(now unit.Time) { progress(now.Seconds() / c.Duration.Seconds()) },
	}
	hosts, _ := labHosts(p, k) // CheckLab has seen that they can
	number := make([]int, len(c.Flows))
	for i := range c.Flows {
		if number[i] = len(of); !p.Entry(c.Flows[i].Group).Own() {
			of = append(of, i)
		}
	}
	ports := p.Network().Ports()
	for _, i := range of {
		f := &c.Flows[i]
		tr := p.Entry(f.Group)
		transport, config := tr.Transport()
		x := labtraffic.Flow{
			Src: f.Src, Dst: f.Dst, SrcPort: f.SrcPort, DstPort: f.DstPort, Version: tr.Version(), TOS: tr.TOSOf(f.Size),
			Start: f.Start, Stop: f.Stop, Size: f.Size, Payload: tr.Payload(),
		}
		for _, a := range f.After { // which are of kernels, too
			x.After = append(x.After, number[a])
		}
		if transport.Kernel == packet.ProtoUDP {
			udpEnds(c, i, &x)
			x.Link = p.Network().Links[ports[f.Src][0].Link].Rate
		} else {
			s, _ := k.TCP(config)
			s.Buffers(hosts[f.Src], hosts[f.Dst])
			x.TCP = &labtraffic.TCP{ReceiverOptions: s.ReceiverOptions, CongestionControl: controlOf(tr),
				SendBuffer: s.SendBuffer, ReceiveBuffer: s.ReceiveBuffer,
				Rate: s.Rate, Pacing: s.Pacing, MSS: tr.Payload() + timestamps + agentRoom(p, tr)}
		}
		t.Flows = append(t.Flows, x)
	}
	for _, w := range c.Watches {
		if what, ok := sampled[w.What]; ok && !p.Entry(c.Flows[w.Index].Group).Own() {
			t.Samples = append(t.Samples, labtraffic.Sample{What: what, Flow: number[w.Index], Every: w.Every})
		}
	}
	return t, of
}

// controlOf is the kernel's congestion control with which a traffic's connections begin: CUBIC, if agents then have
// them follow something else.
func controlOf(tr *experiment.Traffic) string {
	if agentOf(tr) != nil {
		return "cubic"
	}
	controller, _ := tr.CC()
	return controller.Kernel
}

// udpEnds makes the endpoints of a flow of datagrams, the sender of one that comes after others when it begins. What
// cannot be made, which the plan has tried, is missing.
func udpEnds(c *sim.Config, i int, x *labtraffic.Flow) {
	sender := func(start unit.Time) transport.Endpoint {
		e, _ := c.EndpointFactory.Sender(i, start)
		return e
	}
	x.UDPReceiver, _ = c.EndpointFactory.Receiver(i)
	if x.After == nil {
		x.UDP = sender(x.Start)
	} else {
		x.Begin = sender
	}
}

// sampled are the watches of flows, which the generator looks at.
var sampled = map[outcome.Quantity]labtraffic.What{
	outcome.ReceivedBytes: labtraffic.ReceivedBytes, outcome.Window: labtraffic.Window, outcome.Rate: labtraffic.Rate,
	outcome.InFlight: labtraffic.InFlight, outcome.RTT: labtraffic.RTT, outcome.DeliveryRate: labtraffic.DeliveryRate,
}

// attemptOf is what a run of the data plane, and of what sends, say of the machine.
// rtt is the shortest round-trip time without queues, frames how long two frames take on the slowest link.
func attemptOf(r *lab.Report, all *labOutcome, rtt, frames unit.Time) *results.Attempt {
	if all.kernel != nil {
		r.Kernels = all.kernel.Waiting
	}
	l := &r.Lateness
	a := &results.Attempt{
		Disturbed: append([]string{}, r.Disturbed(all.hosts, rtt)...), Upset: r.DisturbedShare(all.hosts, rtt),
		Held: r.HeldShare(all.hosts, frames, rtt), WaitedS: r.Waited.Seconds(),
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
	if late := &t.Late; late.Count() > 0 {
		a.Send = &results.SendLate{Datagrams: late.Count(), P50S: late.Quantile(0.5).Seconds(),
			P99S: late.Quantile(0.99).Seconds(),
			MaxS: late.Max.Seconds()}
	}
	return a
}

// labRun is what the measures give of a run of the lab.
func labRun(r *plan.Run, c *sim.Config, report *lab.Report, s *labOutcome, id string) *results.Run {
	return result(r, c, labResult(r.Of, c, report, s), id)
}

// labResult is a run of the lab as the simulator would give it, so that measures mean the
// same in both.
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
	s.watched(p, c, r, res)
	res.Measured = max(res.Time-c.Warmup, 0)
	res.End = s.endReason()
	res.Drops[dataplane.NotExpected] = s.countStrays()
	if s.kernel != nil {
		s.kernelFlows(r, res)
	}
	if s.own != nil {
		s.ownFlows(p, c, r, res)
		s.onsets(c, r, res)
	}
	for i := range res.Flows {
		if c.Flows[i].Size > 0 && res.Flows[i].FCT == unit.Never {
			res.Unfinished = append(res.Unfinished, i)
			res.Delivered = append(res.Delivered, s.received(i))
		}
	}
	return res
}
