package plan

import (
	"fmt"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/transport"
	"weir/core/unit"
	"weir/study/measure"
	"weir/study/spec"
	"weir/worlds/sim"
)

// firstPort is the lowest source port of generated flows (HPCC simulator), serverPort that of
// destinations: one on which no dissector of tshark expects a protocol.
const (
	firstPort  = 10000
	serverPort = 40000
)

// Config makes the run of a point with a seed.
func Config(p *spec.Point, seed uint64) (*sim.Config, error) { return configure(p, seed, false) }

// mostTried is how many flows of a point a trial makes with endpoints.
const mostTried = 2000

// configure makes the run of a point with a seed. For a trial of a point with many flows it gives endpoints
// to the first of each traffic only, so that to check an experiment takes no more memory than to read it; not
// of one with a collective, whose flows come after each other.
func configure(p *spec.Point, seed uint64, trial bool) (*sim.Config, error) {
	tree, prefixes := p.Tree()
	stalls := p.Stalls()
	c := &sim.Config{
		Wiring: sim.Wiring{
			Seed: seed, Network: p.Network(), Switches: p.Switches(), Hosts: p.Book(), Tree: tree, Prefixes: prefixes,
			Events: p.Events(), Framing: p.Framing(), MaxFrame: p.LargestFrame(), Telemetry: p.Telemetry(),
		},
		Duration: p.Warmup() + p.Duration(), Warmup: p.Warmup(), UntilDone: true,
		Stalls: sim.Stalls{Every: stalls.Every, Length: stalls.Length},
	}
	b := &builder{point: p, seen: p.Measured(), seed: seed, telemetry: c.Telemetry,
		hosts: make([]cc.Host, len(c.Network.Nodes)), listed: map[[3]int]int{}}
	all, tried := flows(p, seed), make([]int, p.Entries())
	for id := range p.Entries() {
		trial = trial && !p.Entry(id).Measured().Collective
	}
	c.Flows = make([]sim.Flow, 0, len(all))
	for i := range all {
		f := &all[i]
		if tried[f.Traffic]++; trial && tried[f.Traffic] > mostTried {
			tr := p.Entry(f.Traffic)
			start, _ := tr.Start()
			c.Flows = append(c.Flows, sim.Flow{Group: f.Traffic, Src: f.Src, Dst: f.Dst, Start: start, Size: f.Size})
			continue
		}
		flow, endless, err := b.flow(i, f)
		if err != nil {
			return nil, err
		}
		c.UntilDone = c.UntilDone && !endless
		c.Flows = append(c.Flows, flow)
	}
	return c, p.Measures().Observe(b.seen, c)
}

// flows are those of a run: those that the file lists, then those that are drawn.
func flows(p *spec.Point, seed uint64) (all []spec.Flow) {
	if n := p.Flows(); n > 0 {
		all = make([]spec.Flow, n)
	}
	for i := range all {
		all[i] = p.Flow(i)
	}
	for id := range p.Entries() {
		tr := p.Entry(id)
		if g, ok := tr.Generator(); ok {
			d := &drawing{Generator: g, point: p, traffic: tr, id: id, seed: seed}
			if drawn := d.flows(); all == nil {
				all = drawn
			} else {
				all = append(all, drawn...)
			}
		}
	}
	return all
}

// builder makes the flows of one run.
type builder struct {
	point     *spec.Point
	seen      *measure.Point
	seed      uint64
	telemetry *telemetry.Format
	hosts     []cc.Host
	listed    map[[3]int]int // flows of a list, by hosts and port
}

// random is a flow's own stream.
func (b *builder) random(tr *spec.Traffic, f *spec.Flow) unit.Random {
	return unit.NewRandom(b.seed, fmt.Sprintf("flow %s %d", tr.Name(), f.Index))
}

// start is when a flow starts, drawn from its stream if the file gives a range.
func start(tr *spec.Traffic, f *spec.Flow, random unit.Random) unit.Time {
	if f.Fixed {
		return f.Start
	}
	low, high := tr.Start()
	if high > low {
		low += unit.Time(random.Int64N(int64(high-low) + 1))
	}
	return low + f.Later
}

// flow makes flow i with its endpoints. It reports whether it has no end.
func (b *builder) flow(i int, f *spec.Flow) (flow sim.Flow, endless bool, err error) {
	p, tr := b.point, b.point.Entry(f.Traffic)
	random := b.random(tr, f)
	controller, config := tr.CC()
	tf := transport.Flow{
		ID: packet.FlowID(i), Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1),
		SrcPort: uint16(firstPort + i%50000), DstPort: uint16(serverPort + i/50000), Version: tr.Version(),
		TOS:   tr.TOSOf(f.Size),
		Start: start(tr, f, random), Stop: tr.Stop(), Size: f.Size, Payload: tr.Payload(), Framing: p.Framing(),
		Random: random, Seed: b.seed, Path: b.seen.Path(f.Src, f.Dst, &b.seen.Traffic[f.Traffic]), CC: controller,
		CCConfig: config, Telemetry: b.telemetry, Host: &b.hosts[f.Dst],
	}
	// HPCC simulator: ports count for each pair of hosts
	if pair := [3]int{f.Src, f.Dst, f.Port}; f.Port > 0 && b.listed[pair] < 50000 {
		tf.SrcPort, tf.DstPort = uint16(firstPort+b.listed[pair]), uint16(f.Port)
		b.listed[pair]++
	}
	if src, dst, ok := f.Ports(); ok {
		tf.SrcPort, tf.DstPort = uint16(src), uint16(dst)
	}
	if tr.Loaded() {
		tf.Stop = unit.Never // it ends arrivals, not what has begun
	}
	scheme, parameters := tr.Transport()
	sender, receiver, err := scheme.Build(tf, parameters)
	if err != nil {
		return flow, false, fmt.Errorf("traffic %s: %w", tr.Name(), err)
	}
	stop := unit.Time(0)
	if endless = f.Size == 0; endless && tf.Stop != unit.Never {
		stop = tf.Stop
	}
	flow = sim.Flow{Group: f.Traffic, Src: f.Src, Dst: f.Dst, Start: tf.Start, Size: f.Size, Stop: stop,
		Sender: sender, Receiver: receiver, SrcPort: tf.SrcPort, DstPort: tf.DstPort, Class: tf.TOS >> 5}
	if after := f.After(); after != nil {
		flow.Sender, flow.After = nil, after
		flow.Begin = func(start unit.Time) transport.Endpoint {
			tf.Start, tf.Random = start, b.random(tr, f)
			sender, _, err := scheme.Build(tf, parameters)
			if err != nil { // it is as above but for the start
				return nil
			}
			return sender
		}
	}
	return flow, endless, nil
}
