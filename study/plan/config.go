package plan

import (
	"fmt"
	"slices"

	"weir/core/cc"
	"weir/core/fabric/wiring"
	"weir/core/jobs/job"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/unit"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/worlds/sim"
)

// firstPort is the lowest source port of generated flows (HPCC simulator), serverPort that of
// destinations: one on which no dissector of tshark expects a protocol.
const (
	firstPort  = 10000
	serverPort = 40000
)

// mostTried is how many flows of each traffic a trial makes endpoints of.
const mostTried = 2000

// mostDrawn is how many flows of each traffic a trial draws: as many as a measure can watch one by one (measure.gauge).
// What is read of an experiment so takes as much memory as its file has flows, and not as a run has.
const mostDrawn = 10000

// Config makes the run of a point with a seed. Endpoints are made when their flows begin (sim.EndpointFactory); those
// of the first flow of each traffic are made here as well, as what is wrong with them is an error of the run.
func Config(p *experiment.Point, seed uint64) (*sim.Config, error) { return configure(p, seed, 1, 0) }

// configure makes the run of a point with a seed, and tries the endpoints of so many flows of each traffic. A limit
// above 0 is for trials: where a traffic's flows are drawn it makes that many, and some of each source (drawing).
func configure(p *experiment.Point, seed uint64, tries, limit int) (*sim.Config, error) {
	tree, prefixes := p.Tree()
	stalls := p.Stalls()
	repeat, anew := p.Iterations()
	c := &sim.Config{
		Wiring: wiring.Config{
			Seed: seed, Network: p.Network(), Switches: p.Switches(), Hosts: p.Book(), Tree: tree, Prefixes: prefixes,
			Events: p.Events(), Framing: p.Framing(), MaxFrame: p.LargestFrame(), Telemetry: p.Telemetry(),
			Restarts: anew,
		},
		Duration: p.Warmup() + p.Duration(), Warmup: p.Warmup(), UntilDone: true,
		Stalls: sim.Stalls{Every: stalls.Every, Length: stalls.Length},
		Repeat: repeat, Anew: anew,
	}
	routes := p.Routes()
	b := &builder{point: p, seen: p.Measured(), seed: seed, telemetry: c.Wiring.Telemetry,
		selector: routes.NewNICSelector(),
		hosts:    make([]cc.Host, routes.NICs().Len()), listed: map[[3]int]int{}}
	c.EndpointFactory, c.MessageEndpointFactory = b, b
	if n := p.Flows(); n > 0 {
		b.flows, b.index = make([]outcome.Flow, 0, n), make([]int32, 0, n)
	}
	tried, class := make([]int, p.Entries()), make([]*uint8, p.Entries())
	scale, err := eachFlow(p, seed, limit, func(f *experiment.Flow) error {
		if err := b.add(f); err != nil {
			return err
		}
		t := f.Traffic
		if tried[t] < tries {
			tried[t]++
			sender, err := b.try(len(b.flows) - 1)
			if err != nil {
				return err
			}
			if x, ok := sender.(transport.Classed); ok && class[t] == nil {
				own := x.Class()
				class[t] = &own
			}
		}
		flow := &b.flows[len(b.flows)-1]
		if class[t] != nil {
			flow.Class = *class[t]
		}
		c.UntilDone = c.UntilDone && flow.Size > 0
		return nil
	})
	if err != nil {
		return nil, err
	}
	b.seen.Scale = scale
	if err := b.jobs(c); err != nil {
		return nil, err
	}
	clear(b.hosts) // trials leave nothing there
	c.Flows, b.listed = b.flows, nil
	c.Triggers = p.Triggers()
	c.Selection, err = p.Measures().Observe(b.seen, &c.Load)
	return c, err
}

// eachFlow visits the flows of a run: those that the file lists, then those that are drawn, up to a limit above 0 of
// each traffic. Where the limit cuts a traffic, scale is by traffic the number of flows of a run for each visited one.
func eachFlow(p *experiment.Point, seed uint64, limit int, visit func(f *experiment.Flow) error) (scale []float64,
	err error) {
	var f experiment.Flow // one, as there may be millions
	for i := range p.Flows() {
		f = p.Flow(i)
		if err := visit(&f); err != nil {
			return nil, err
		}
	}
	for id := range p.Entries() {
		tr := p.Entry(id)
		if g, ok := tr.Generator(); ok {
			d := &drawing{Generator: g, point: p, traffic: tr, id: id, seed: seed, limit: limit, visit: visit}
			if err := d.each(); err != nil {
				return nil, err
			}
			if expected := g.Expected(p, tr); d.isCut && expected > float64(d.count) {
				if scale == nil {
					scale = slices.Repeat([]float64{1}, p.Entries())
				}
				scale[id] = expected / float64(d.count)
			}
		}
	}
	return scale, nil
}

// builder makes the flows of one run, and their endpoints when they begin (sim.EndpointFactory). What calls for
// different hosts write to is different, as several threads may carry out a run.
type builder struct {
	point     *experiment.Point
	seen      *measure.Point
	seed      uint64
	telemetry *telemetry.Format
	flows     []outcome.Flow
	room      []int     // for outcome.Flow.After
	index     []int32   // of each flow in its traffic; −1 − that where its start was drawn from its stream
	hosts     []cc.Host // what receivers at a NIC share
	selector  *topology.NICSelector
	listed    map[[3]int]int // flows of a list, by hosts and port
	scripts   map[int]*transport.Script
	paths     map[[3]int]cc.Path         // of messages of jobs, by hosts and traffic
	steers    []job.Program              // by job, those that say which NIC a message takes
	spare     [][]transport.EndpointPair // by traffic, of messages that are over
}

// random is a flow's own stream.
func (b *builder) random(tr *experiment.Traffic, index int32) unit.Random {
	return unit.NewRandom(b.seed, fmt.Sprintf("flow %s %d", tr.Name(), index))
}

// drawStart draws a start that the file gives as a range from a flow's stream.
func drawStart(low, high unit.Time, random unit.Random) unit.Time {
	return low + unit.Time(random.Int64N(int64(high-low)+1))
}

// add makes the next flow. The error is about NICs between which there is no path.
func (b *builder) add(f *experiment.Flow) error {
	i, tr := len(b.flows), b.point.Entry(f.Traffic)
	how, port := tr.NIC()
	nics, err := b.selector.Choose(how, port, f.Src, f.Dst, uint32(i))
	if err != nil {
		return b.noNIC(f.Traffic, err)
	}
	flow := outcome.Flow{Group: f.Traffic, Src: nics.From, Dst: nics.To, Start: f.Start, Size: f.Size, After: b.after(f),
		SrcPort: uint16(firstPort + i%50000), DstPort: uint16(serverPort + i/50000), Class: tr.TOSOf(f.Size) >> 5}
	index := int32(f.Index)
	if !f.Fixed {
		low, high := tr.Start()
		if flow.Start = low; high > low {
			flow.Start, index = drawStart(low, high, b.random(tr, index)), -1-index
		}
		flow.Start += f.Later
	}
	// HPCC simulator: ports count for each pair of hosts
	if pair := [3]int{f.Src, f.Dst, f.Port}; f.Port > 0 && b.listed[pair] < 50000 {
		flow.SrcPort, flow.DstPort = uint16(firstPort+b.listed[pair]), uint16(f.Port)
		b.listed[pair]++
	}
	if src, dst, ok := f.Ports(); ok {
		flow.SrcPort, flow.DstPort = uint16(src), uint16(dst)
	}
	if stop := stopOf(tr); f.Size == 0 && stop != unit.Never {
		flow.Stop = stop
	}
	if f.Datagrams() > 0 {
		if b.scripts == nil {
			b.scripts = map[int]*transport.Script{}
		}
		script := transport.Script(f.Script())
		b.scripts[i] = &script
	}
	b.flows, b.index = append(b.flows, flow), append(b.index, index)
	return nil
}

// after are the flows that a flow comes after. Those of many flows are in one piece of memory.
func (b *builder) after(f *experiment.Flow) []int {
	list := f.After()
	if len(list) == 0 {
		return nil
	}
	if cap(b.room)-len(b.room) < len(list) {
		b.room = make([]int, 0, max(4096, len(list)))
	}
	at := len(b.room)
	b.room = append(b.room, list...)
	return b.room[at:len(b.room):len(b.room)]
}

// stopOf is when the applications of a traffic's flows stop; unit.Never if they do not.
func stopOf(tr *experiment.Traffic) unit.Time {
	if tr.Loaded() {
		return unit.Never // it ends arrivals, not what has begun
	}
	return tr.Stop()
}

// Reroute gives a flow other NICs of its hosts if one has no link (sim.NICFailover): by hash or in turn, as those that
// have a named one, or a rail's, are bound to that.
func (b *builder) Reroute(flow int, up func(nic int) bool) (src, dst int) {
	f := &b.flows[flow]
	if how, port := b.point.Entry(f.Group).NIC(); port < 0 && how != topology.Rail {
		p := b.selector.Reroute(how, topology.Pair{From: f.Src, To: f.Dst}, uint32(flow), up)
		f.Src, f.Dst = p.From, p.To
	}
	return f.Src, f.Dst
}

// Sender makes that of a flow.
func (b *builder) Sender(flow int, start unit.Time) (transport.Endpoint, error) {
	sender, _, err := b.ends(flow, start, nil)
	return sender, err
}

// Receiver makes that of a flow.
func (b *builder) Receiver(flow int) (transport.Endpoint, error) {
	f := &b.flows[flow]
	_, receiver, err := b.ends(flow, f.Start, &b.hosts[f.Dst])
	return receiver, err
}

// ForgetWaits makes the flows of a configuration that Config has made know no limit of how long packets wait.
func ForgetWaits(c *sim.Config) { c.EndpointFactory.(*builder).seen.Waits = nil }

// try makes the ends of a flow for the errors that there may be.
func (b *builder) try(flow int) (sender transport.Endpoint, err error) {
	f := &b.flows[flow]
	sender, _, err = b.ends(flow, f.Start, &b.hosts[f.Dst])
	return sender, err
}

// ends makes both endpoints of a flow. The receivers of a host share what is in host.
func (b *builder) ends(i int, start unit.Time, host *cc.Host) (sender, receiver transport.Endpoint, err error) {
	f, p := &b.flows[i], b.point
	tr := p.Entry(f.Group)
	index, drawn := b.index[i], false
	if index < 0 {
		index, drawn = -1-index, true
	}
	random := b.random(tr, index)
	if drawn {
		low, high := tr.Start()
		drawStart(low, high, random)
	}
	controller, config := tr.CC()
	scheme, parameters := tr.Transport()
	sender, receiver, err = scheme.Build(transport.Flow{
		ID: packet.FlowID(i), Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1),
		SrcPort: f.SrcPort, DstPort: f.DstPort, Version: tr.Version(), TOS: tr.TOSOf(f.Size),
		Start: start, Stop: stopOf(tr), Size: f.Size, Payload: tr.Payload(), Framing: p.Framing(),
		Script: b.scripts[i], Random: random, Seed: b.seed,
		Path: b.seen.Path(f.Src, f.Dst, &b.seen.Traffic[f.Group]), CC: controller, CCConfig: config,
		Telemetry: b.telemetry, Host: host,
	}, parameters)
	if err != nil {
		err = fmt.Errorf("traffic %s: %w", tr.Name(), err)
	}
	return sender, receiver, err
}
