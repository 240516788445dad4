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

// firstPort is the lowest source port of generated flows (HPCC simulator). serverPort is the destination port: no
// dissector of tshark expects a protocol on it.
const (
	firstPort  = 10000
	serverPort = 40000
)

// maxTried limits the flows of each traffic for which a trial makes endpoints.
const maxTried = 2000

// maxDrawn limits the flows that a trial draws for each traffic. A measure can watch that many individually
// (measure.gauge). So reading an experiment takes memory for the flows of its file, not for the flows of a run.
const maxDrawn = 10000

// Config returns the configuration of a run of the point with a seed. Endpoints are made when their flows begin
// (sim.EndpointFactory). Endpoints of each traffic's first flow are also made here, so that errors in them are errors
// of the run. Each run needs its own configuration.
func Config(p *experiment.Point, seed uint64) (*sim.Config, error) {
	return configureRun(p, seed, 1, 0)
}

// configureRun returns the configuration of a run of the point with a seed. It makes endpoints of the first tries
// flows of each traffic to find errors. A limit above 0 is for trials: it limits the flows that are drawn for a
// traffic, but each source has some (drawing).
func configureRun(p *experiment.Point, seed uint64, tries, limit int) (*sim.Config, error) {
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
		Stalls:       sim.Stalls{Every: stalls.Every, Length: stalls.Length},
		SkipRepeated: repeat, RestartDraws: anew,
	}
	routes := p.Routes()
	b := &builder{point: p, measured: p.Measured(), seed: seed, telemetry: c.Wiring.Telemetry,
		selector: routes.NewNICSelector(),
		hosts:    make([]cc.Host, routes.NICs().Len()), listedCount: map[[3]int]int{}}
	c.EndpointFactory, c.MessageEndpointFactory = b, b
	if n := p.Flows(); n > 0 {
		b.flows, b.flowIndex = make([]outcome.Flow, 0, n), make([]int32, 0, n)
	}
	tried, class := make([]int, p.Entries()), make([]*uint8, p.Entries())
	scale, err := visitFlows(p, seed, limit, func(f *experiment.Flow) error {
		if err := b.addFlow(f); err != nil {
			return err
		}
		t := f.Traffic
		if tried[t] < tries {
			tried[t]++
			sender, err := b.tryFlow(len(b.flows) - 1)
			if err != nil {
				return err
			}
			if x, ok := sender.(transport.Classed); ok && class[t] == nil {
				senderClass := x.Class()
				class[t] = &senderClass
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
	b.measured.Scale = scale
	if err := b.addJobs(c); err != nil {
		return nil, err
	}
	clear(b.hosts) // discard the state that trials have left
	c.Flows, b.listedCount = b.flows, nil
	c.Triggers = p.Triggers()
	c.Selection, err = p.Measures().Observe(b.measured, &c.Load)
	return c, err
}

// visitFlows calls visit for the flows of a run: those that the file lists, then drawn flows, up to a limit above 0 for
// each traffic. visit must not keep the flow. An error of visit ends the visits. If the limit cuts a traffic, scale has
// by traffic the number of a run's flows for each visited flow.
func visitFlows(p *experiment.Point, seed uint64, limit int, visit func(f *experiment.Flow) error) (scale []float64,
	err error) {
	var f experiment.Flow // reused, since there may be millions of flows
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
			if err := d.visitAll(); err != nil {
				return nil, err
			}
			if expected := g.ExpectedFlows(p, tr); d.isCut && expected > float64(d.count) {
				if scale == nil {
					scale = slices.Repeat([]float64{1}, p.Entries())
				}
				scale[id] = expected / float64(d.count)
			}
		}
	}
	return scale, nil
}

// builder makes the flows of one run, and their endpoints when they begin (sim.EndpointFactory). Several threads may
// run a simulation, so calls for different hosts write to different memory.
type builder struct {
	point       *experiment.Point
	measured    *measure.Point
	seed        uint64
	telemetry   *telemetry.Format
	flows       []outcome.Flow
	afterBuffer []int     // memory of outcome.Flow.After
	flowIndex   []int32   // each flow's index in its traffic; −1 − index if its start was drawn from its random numbers
	hosts       []cc.Host // by NIC: state that its receivers share
	selector    *topology.NICSelector
	listedCount map[[3]int]int // number of listed flows by hosts and port
	scripts     map[int]*transport.Script
	paths       map[[3]int]cc.Path         // paths of jobs' messages by hosts and traffic
	nicPrograms []job.Program              // by job: programs that choose the NIC of each message, else nil
	recycled    [][]transport.EndpointPair // by traffic: endpoints of finished messages
}

// flowRandom returns the random numbers of a flow, by its index in its traffic.
func (b *builder) flowRandom(tr *experiment.Traffic, index int32) unit.Random {
	return unit.NewRandom(b.seed, fmt.Sprintf("flow %s %d", tr.Name(), index))
}

// drawStart draws a start between low and high, both included, from a copy of a flow's random numbers.
func drawStart(low, high unit.Time, random unit.Random) unit.Time {
	return low + unit.Time(random.Int64N(int64(high-low)+1))
}

// addFlow appends the flow f with its NICs, ports and start, and stores its index and its script. It returns an error
// if there is no path between its NICs.
func (b *builder) addFlow(f *experiment.Flow) error {
	i, tr := len(b.flows), b.point.Entry(f.Traffic)
	how, port := tr.NIC()
	nics, err := b.selector.ChoosePair(how, port, f.Src, f.Dst, uint32(i))
	if err != nil {
		return b.nicError(f.Traffic, err)
	}
	flow := outcome.Flow{Group: f.Traffic, Src: nics.From, Dst: nics.To, Start: f.Start, Size: f.Size,
		After:   b.copyAfter(f),
		SrcPort: uint16(firstPort + i%50000), DstPort: uint16(serverPort + i/50000), Class: tr.TOSOf(f.Size) >> 5}
	index := int32(f.Index)
	if !f.Fixed {
		low, high := tr.Start()
		if flow.Start = low; high > low {
			flow.Start, index = drawStart(low, high, b.flowRandom(tr, index)), -1-index
		}
		flow.Start += f.SetStart
	}
	// as in the HPCC simulator, ports are counted for each pair of hosts
	if pair := [3]int{f.Src, f.Dst, f.Port}; f.Port > 0 && b.listedCount[pair] < 50000 {
		flow.SrcPort, flow.DstPort = uint16(firstPort+b.listedCount[pair]), uint16(f.Port)
		b.listedCount[pair]++
	}
	if src, dst, ok := f.Ports(); ok {
		flow.SrcPort, flow.DstPort = uint16(src), uint16(dst)
	}
	if stop := applicationStop(tr); f.Size == 0 && stop != unit.Never {
		flow.Stop = stop
	}
	if f.CountDatagrams() > 0 {
		if b.scripts == nil {
			b.scripts = map[int]*transport.Script{}
		}
		script := transport.Script(f.Script())
		b.scripts[i] = &script
	}
	b.flows, b.flowIndex = append(b.flows, flow), append(b.flowIndex, index)
	return nil
}

// copyAfter returns a copy of the indices of the flows after which f starts; nil without such flows. Many flows share
// one allocation.
func (b *builder) copyAfter(f *experiment.Flow) []int {
	list := f.After()
	if len(list) == 0 {
		return nil
	}
	if cap(b.afterBuffer)-len(b.afterBuffer) < len(list) {
		b.afterBuffer = make([]int, 0, max(4096, len(list)))
	}
	first := len(b.afterBuffer)
	b.afterBuffer = append(b.afterBuffer, list...)
	return b.afterBuffer[first:len(b.afterBuffer):len(b.afterBuffer)]
}

// applicationStop returns when the applications of a traffic's flows stop; unit.Never if they do not.
func applicationStop(tr *experiment.Traffic) unit.Time {
	if tr.HasLoad() {
		return unit.Never // stop ends arrivals, not flows that have begun
	}
	return tr.Stop()
}

// Reroute gives a flow other NICs of its hosts if one has no link (up returns false), and returns them (nicFailover of
// package sim). It applies only to NICs that are chosen by hash or in turn: a named NIC or a rail's is fixed.
func (b *builder) Reroute(flow int, up func(nic int) bool) (src, dst int) {
	f := &b.flows[flow]
	if how, port := b.point.Entry(f.Group).NIC(); port < 0 && how != topology.Rail {
		p := b.selector.Reroute(how, topology.NICPair{From: f.Src, To: f.Dst}, uint32(flow), up)
		f.Src, f.Dst = p.From, p.To
	}
	return f.Src, f.Dst
}

// Sender returns a new sender of a flow that starts at start.
func (b *builder) Sender(flow int, start unit.Time) (transport.Endpoint, error) {
	sender, _, err := b.makeEndpoints(flow, start, nil)
	return sender, err
}

// Receiver returns a new receiver of a flow.
func (b *builder) Receiver(flow int) (transport.Endpoint, error) {
	f := &b.flows[flow]
	_, receiver, err := b.makeEndpoints(flow, f.Start, &b.hosts[f.Dst])
	return receiver, err
}

// ForgetWaits removes the limits of packets' waiting times from a configuration that Config has made. Endpoints that
// are made later do not have them.
func ForgetWaits(c *sim.Config) { c.EndpointFactory.(*builder).measured.Waits = nil }

// tryFlow makes both endpoints of a flow to find errors, and returns the sender. They may change the state that the
// host's receivers share (hosts).
func (b *builder) tryFlow(flow int) (sender transport.Endpoint, err error) {
	f := &b.flows[flow]
	sender, _, err = b.makeEndpoints(flow, f.Start, &b.hosts[f.Dst])
	return sender, err
}

// makeEndpoints makes both endpoints of flow i. The receivers of a host share the state in host, which may be nil if
// only the sender is used. start is the flow's actual start.
func (b *builder) makeEndpoints(i int, start unit.Time, host *cc.Host) (sender, receiver transport.Endpoint,
	err error) {
	f, p := &b.flows[i], b.point
	tr := p.Entry(f.Group)
	index, drawn := b.flowIndex[i], false
	if index < 0 {
		index, drawn = -1-index, true
	}
	random := b.flowRandom(tr, index)
	if drawn {
		low, high := tr.Start()
		drawStart(low, high, random)
	}
	controller, config := tr.CC()
	scheme, parameters := tr.Transport()
	sender, receiver, err = scheme.Build(transport.Flow{
		ID: packet.FlowID(i), Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1),
		SrcPort: f.SrcPort, DstPort: f.DstPort, Version: tr.Version(), TOS: tr.TOSOf(f.Size),
		Start: start, Stop: applicationStop(tr), Size: f.Size, Payload: tr.Payload(), Framing: p.Framing(),
		Script: b.scripts[i], Random: random, Seed: b.seed,
		Path: b.measured.Path(f.Src, f.Dst, &b.measured.Traffic[f.Group]), CC: controller, CCConfig: config,
		Telemetry: b.telemetry, Host: host,
	}, parameters)
	if err != nil {
		err = fmt.Errorf("traffic %s: %w", tr.Name(), err)
	}
	return sender, receiver, err
}
