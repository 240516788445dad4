package sim

import (
	"errors"
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/fabric"
	"weir/core/fabric/observe"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/unit"
	"weir/worlds/sim/parallel"
)

// Simulation is one run, before or during its execution.
type Simulation struct {
	config   *Config
	threads  []*thread
	threadOf []int32 // by node
	wiring   *wiring.Wiring
	nics     *topology.NICs
	failover nicFailover // nil: no flow can have another NIC
	hosts    []*host     // by number of NIC, nil for switches
	switches []*dataplane.Switch
	fabric   *fabric.Fabric
	events   []wiring.Event     // events after time 0
	early    []int              // nodes to call at time 0 once the fabric is made (wakeHost)
	group    *parallel.Group    // of several threads, during the run
	linkOf   []wiring.Direction // of the fabric's links

	sender, receiver []int32              // by flow, the slot at its host; notStarted or closed
	outcome          []outcome.FlowResult // by flow; complete for those that are over, else with their start
	// closedCounters is by job and rank, of messages that are over; overBefore is of all at the start of the measured
	// part.
	closedCounters, overBefore [][]outcome.RankCounters
	before                     []before // of flows that began before the measured part
	// by flow, unfinished flows of Flow.After; nil: no flow comes after others
	missing          []int32
	waitsAt, waiting []int32    // waiting[waitsAt[i]:waitsAt[i+1]] come after flow i
	triggers         *triggers  // nil: no triggers
	unfinished       int        // flows with an end that has not come, and jobs
	finished         int        // flows with an end that has come
	nextSweep        int        // number of finished flows at which ends are released next
	listed           int        // flows of the configuration; the following ones are messages of jobs
	jobs             *jobs      // nil: no jobs
	carried          []bool     // by flow: these hosts have it (Edge); nil: they have all
	there            []uint64   // a bit for each flow: it has packets in the network
	paused           bool       // there was a PFC frame
	pauses           []PFCEvent // buffer for sorting them
	lastFinish       unit.Time
	lastArrival      unit.Time // of flows that are over and have receivers without answers

	atWarmup    wiring.CounterSnapshot
	watched     [][]int64 // by Config.Watches
	watches     observe.Schedule
	observation *observation // nil: no observation
}

// Run runs one configuration; with Config.Ideal it runs the jobs only. It returns an error if the configuration is
// impossible, if an endpoint cannot be made, or if a job cannot continue (job.Rank.Fault).
func Run(c *Config) (*outcome.Result, error) {
	if c.Ideal != nil {
		res, err := runIdeal(c)
		if err == nil {
			idealMessages(res)
		}
		return res, err
	}
	r, err := New(c)
	if err != nil {
		return nil, err
	}
	out := r.Run()
	if err := r.firstFailure(); err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	return out, nil
}

// firstFailure returns the first error of a host, in the order of NICs: of an endpoint that cannot be made, or of a
// rank.
func (r *Simulation) firstFailure() error {
	for _, h := range r.hosts {
		if h != nil && h.failed != nil {
			return h.failed
		}
	}
	return nil
}

// New builds the network of a configuration, with all flows and jobs, for one call of Simulation.Run. It begins the
// flows that start at time 0. It returns an error if the configuration is impossible. The caller must not change c
// until the run ends; flows may change their NICs in c.Flows.
func New(c *Config) (*Simulation, error) {
	n := c.Wiring.Network
	c = withoutThreads(c)
	switch {
	case c.Duration <= 0:
		return nil, errors.New("sim: the duration must be above 0")
	case c.Warmup < 0 || c.Warmup >= c.Duration:
		return nil, fmt.Errorf("sim: a warm-up of %v and a duration of %v; the warm-up must end before the run",
			c.Warmup, c.Duration)
	}
	if err := c.Wiring.Check(); err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	if err := c.Selection.Check(n, len(c.Flows), len(c.Jobs)); err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	c, all, err := newTriggers(c)
	if err != nil {
		return nil, err
	}
	r := &Simulation{config: c, nics: n.NICs(), triggers: all}
	r.hosts = make([]*host, r.nics.Len())
	if r.nics.HasSeveral() {
		r.failover, _ = c.EndpointFactory.(nicFailover)
	}
	r.wiring = wiring.New(&c.Wiring)
	var threads int
	r.threadOf, threads = divideNodes(c, r.wiring.Links)
	for range threads {
		r.threads = append(r.threads, &thread{log: make([][]outcome.Change, len(c.Onsets))})
	}
	r.linkOf, r.switches = r.wiring.Directions, r.wiring.Switches
	nodes := make([]fabric.Node, len(n.Nodes))
	for i, node := range n.Nodes {
		if node.Switch {
			sw, err := r.wiring.NewSwitch(i, r.switchPart(int(r.threadOf[i])), r.gaugesOf(i), func(now unit.Time,
				in packet.PortID, class uint8, kind packet.Kind) {
				r.recordPFC(now, i, in, class, kind)
			})
			if err != nil {
				return nil, err
			}
			nodes[i] = sw
			continue
		}
		nodes[i] = r.newNode(i)
	}
	if err := r.checkMetrics(); err != nil {
		return nil, err
	}
	r.events = r.wiring.ApplyFirstEvents()
	if err := r.addFlows(); err != nil {
		return nil, err
	}
	r.addWatches()
	r.startObservation()
	if c.Warmup == 0 {
		r.atWarmup = r.takeSnapshot(0) // the fabric sends what is due at time 0 when it is made
	}
	first := r.linkPart(0)
	fc := fabric.Config{Nodes: nodes, Hosts: hostNodes(nodes), Links: r.wiring.Links, Pool: first.Pool,
		Observer: first.Observer, Window: c.Window, Wire: r.wireFunc(), PartOf: r.threadOf, RunParts: r.runWindow}
	for k := 1; k < threads; k++ {
		fc.MoreParts = append(fc.MoreParts, r.linkPart(k))
	}
	f, err := fabric.New(fc)
	if err != nil {
		return nil, err
	}
	r.fabric = f
	for _, node := range r.early {
		f.WakeNode(node, 0)
	}
	r.gatherThreads()
	return r, nil
}

// recordPFC records a PFC frame that has arrived at a port, or the end of a pause (packet.Resume), in the node's
// thread. Only that thread may call it. OnPFC is called later (reportPauses).
func (r *Simulation) recordPFC(now unit.Time, node int, port packet.PortID, class uint8, kind packet.Kind) {
	t := r.threadOfNode(node)
	t.paused = true
	if r.config.OnPFC != nil {
		t.pauses = append(t.pauses, PFCEvent{now, node, port, class, kind == packet.Pause})
	}
}

// addWatches schedules the watches, and makes the histograms of delays by group with Config.Delays.
func (r *Simulation) addWatches() {
	c := r.config
	r.watched = make([][]int64, len(c.Watches))
	for i := range c.Watches {
		w := &c.Watches[i]
		r.watches.Add(i, w.Every, w.FirstSample(c.Warmup), w.EndOfSamples())
	}
	if c.Delays {
		groups := 0
		for i := range c.Flows {
			groups = max(groups, c.Flows[i].Group+1)
		}
		for i := range c.Jobs {
			groups = max(groups, c.Jobs[i].Group+1)
		}
		for _, t := range r.threads {
			t.delays = make([]unit.Histogram, groups)
		}
	}
}

// takeSamples reads the watches that are due at now, and appends their values to r.watched. At the end of a run it
// reads only counters: other values belong to no interval.
func (r *Simulation) takeSamples(now unit.Time, atEnd bool) {
	for _, k := range r.watches.Due(now) {
		if w := &r.config.Watches[k]; !atEnd || w.What.IsCounter() {
			r.watched[k] = append(r.watched[k], r.readWatch(w, now))
		}
	}
}

// readWatch returns the value of one watched quantity at now, in the unit of the quantity. It is −1 if the flow has no
// value, because it has not begun, has ended, or its sender does not report it. It may make the flow's sender
// (senderSlot).
func (r *Simulation) readWatch(w *outcome.Watch, now unit.Time) int64 {
	if w.What == outcome.BufferBytes {
		return int64(r.switches[w.Index].BufferedBytes())
	}
	if w.What == outcome.ProgramMetric {
		return r.switches[w.Index].MetricBits(w.Name, now)
	}
	if w.What.OfPort() {
		return observe.ReadPort(w.What, r.wiring.Port(w.Index))
	}
	if w.What == outcome.MessageBytes {
		return int64(r.carriedBytes(w.Index))
	}
	f := &r.config.Flows[w.Index]
	if w.What == outcome.ReceivedBytes {
		return int64(r.receivedBytes(w.Index))
	}
	s := r.senderSlot(w.Index, now)
	if s == nil {
		return -1
	}
	sender, gauged := s.endpoint.(transport.Gauged)
	if !gauged || now < r.outcome[w.Index].Start || s.counters.Finished <= now || f.Stop > 0 && f.Stop <= now {
		return -1
	}
	switch g := sender.Gauge(); w.What {
	case outcome.Window:
		return int64(g.Window)
	case outcome.Rate:
		return int64(g.Rate)
	case outcome.InFlight:
		return int64(g.InFlight)
	case outcome.RTT:
		return orNone(int64(g.RTT))
	default:
		return orNone(int64(g.Delivery))
	}
}

// orNone returns v, or −1 for 0, which means an unknown value.
func orNone(v int64) int64 {
	if v == 0 {
		return -1
	}
	return v
}

// classOf returns the priority class of the packets of e: its own, or flowClass. It is at most the last class of
// ports.
func classOf(e transport.Endpoint, flowClass uint8) uint8 {
	if c, ok := e.(transport.Classed); ok {
		flowClass = c.Class()
	}
	return min(flowClass, tm.Classes-1)
}

// slotFor returns the slot of the endpoint for a packet at host h: the flow's receiver or sender. It makes the receiver
// for the first packet. Without an endpoint it returns closed if the end was released, else notStarted.
func (r *Simulation) slotFor(h *host, p *packet.Packet) int32 {
	if int(p.Flow) >= len(r.sender) {
		return notStarted
	}
	switch f := &r.config.Flows[p.Flow]; h {
	case r.hosts[f.Dst]:
		if i := r.receiver[p.Flow]; i != notStarted {
			return i
		}
		return h.acceptFlow(p.Flow)
	case r.hosts[f.Src]:
		return r.sender[p.Flow]
	}
	return notStarted
}

// recordFinish counts a flow or a job that has ended at a time, until the next gatherThreads.
func (t *thread) recordFinish(end unit.Time) {
	t.ended++
	t.lastFinish = max(t.lastFinish, end)
}

// restartMeasures restarts measures that are not a difference of two counters for the measured part: minimum and
// maximum delay, histograms, the composition of frames.
func (r *Simulation) restartMeasures(now unit.Time) {
	r.restartFlows()
	for _, t := range r.threads {
		for i := range t.delays {
			t.delays[i].Reset()
		}
		t.tally, t.noticesLost = outcome.FrameTally{}, 0
	}
	if r.observation != nil {
		r.observation.restartPeaks(now)
	}
}

// portOf returns the port at which a direction of a link begins.
func (r *Simulation) portOf(d wiring.Direction) *tm.Port {
	return r.wiring.Port(2*d.Link + d.End)
}

// takeSnapshot returns the counters of links, switches and NICs. It is empty without a network (Edge).
func (r *Simulation) takeSnapshot(now unit.Time) (s wiring.CounterSnapshot) {
	if r.wiring == nil {
		return s
	}
	s = r.wiring.ReadCounters(now, r.fabric)
	for _, h := range r.hosts {
		if h != nil {
			s.Drops[dataplane.NotExpected] += h.unexpected
		}
	}
	return s
}

// makeResult returns the result of a run that ends at time end of its clock, including the skipped iterations. It
// reduces the outcomes of flows to the measured part, so it must be called once.
func (d *drive) makeResult(reason outcome.EndReason, end unit.Time) *outcome.Result {
	r, c := d.Simulation, d.config
	_, _, notices := r.mergeThreads()
	all, first := r.readCounters(end), r.atWarmup
	d.recurring.completeCounters(&all)
	last := all.ports
	end += d.recurring.skippedTime()
	out := &outcome.Result{
		End: reason, Time: end, Measured: max(end-c.Warmup, 0),
		Events: all.events, PacketHops: all.hops, Watched: r.watched, Delays: all.delays, Tally: all.tally,
	}
	if r.jobs != nil {
		r.jobs.addResults(out, reason)
	}
	if d.recurring != nil {
		out.Repeated = &d.recurring.report
	}
	out.Ports, out.Drops = r.wiring.PortResults(&first, &last, c.Warmup, end)
	r.flowResults(out)
	if r.observation != nil {
		r.observation.addResult(out, notices, &last, &first)
	}
	if c.Usage {
		out.Usage = r.wiring.Usage()
	}
	if c.Steers {
		out.Steering = r.wiring.Steering(out.Time)
	}
	return out
}
