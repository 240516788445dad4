package sim

import (
	"errors"
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/fabric"
	"weir/core/fabric/observe"
	"weir/core/fabric/wiring"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// Simulation is one run, made and not yet carried out, or under way.
type Simulation struct {
	config   *Config
	pool     packet.Pool
	wiring   *wiring.Wiring
	hosts    []*host // by node, nil for switches
	switches []*dataplane.Switch
	fabric   *fabric.Fabric
	linkOf   []direction // of the fabric's links

	sender, receiver []int32 // slot at its host, by flow
	senders          []transport.Endpoint
	starts           []unit.Time // of flows; unit.Never until they begin
	missing          []int32     // flows that a flow waits for, with Flow.After
	unfinished       int         // flows with an end that has not come
	paused           bool        // there was a PFC frame
	lastFinish       unit.Time

	atWarmup    snapshot
	watched     [][]int64 // by Config.Watches
	watches     observe.Schedule
	delays      []unit.Histogram // by Flow.Group
	tally       Tally
	observation *observation // nil: nothing is noted
}

// direction is one direction of a topology link.
type direction = wiring.Direction

// snapshot is a copy of all counters.
type snapshot struct {
	wiring.Counts
	sender, receiver []transport.Counters
	timeouts         []int64 // by flow
}

// Run runs one configuration. It returns an error if the configuration is impossible.
func Run(c *Config) (*Result, error) {
	r, err := New(c)
	if err != nil {
		return nil, err
	}
	return r.Run(), nil
}

// New builds the network of a configuration. It returns an error if the configuration is impossible.
func New(c *Config) (*Simulation, error) {
	n := c.Network
	switch {
	case c.Duration <= 0:
		return nil, errors.New("sim: the duration must be above 0")
	case c.Warmup < 0 || c.Warmup >= c.Duration:
		return nil, fmt.Errorf("sim: the warm-up (%v) must end before the run does (%v)", c.Warmup, c.Duration)
	}
	if err := c.Wiring.Check(); err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	if err := c.Selection.Check(n, len(c.Flows)); err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	r := &Simulation{
		config: c, hosts: make([]*host, len(n.Nodes)),
		sender: make([]int32, len(c.Flows)), receiver: make([]int32, len(c.Flows)),
		senders: make([]transport.Endpoint, len(c.Flows)), starts: make([]unit.Time, len(c.Flows)),
	}
	r.wiring = wiring.New(&c.Wiring, &r.pool, r.traceObserver())
	r.linkOf, r.switches = r.wiring.Directions, r.wiring.Switches
	if err := r.checkOnsets(); err != nil {
		return nil, err
	}
	nodes := make([]fabric.Node, len(n.Nodes))
	for i, node := range n.Nodes {
		if node.Switch {
			sw, err := r.wiring.NewSwitch(i, r.gauges(i), func(now unit.Time, in dataplane.PortID, class uint8,
				kind packet.Kind) {
				r.pfc(now, i, in, class, kind)
			})
			if err != nil {
				return nil, err
			}
			nodes[i] = sw
			continue
		}
		leaving := r.wiring.Leaving(i)
		if len(leaving) > 1 {
			return nil, fmt.Errorf("sim: host %s has %d links; a host has one NIC", node.Name, len(leaving))
		}
		var rate unit.LinkRate
		for _, l := range leaving {
			rate = r.wiring.Links[l].Rate
		}
		r.hosts[i] = newHost(r, i, rate)
		r.wiring.Attach(i, r.hosts[i].port)
		nodes[i] = r.hosts[i]
	}
	if err := r.addFlows(); err != nil {
		return nil, err
	}
	r.addWatches()
	r.observe()
	if c.Warmup == 0 {
		r.atWarmup = r.snapshot(0) // the fabric sends what is due at time 0 when it is made
	}
	f, err := fabric.New(fabric.Config{Nodes: nodes, Links: r.wiring.Links, Pool: &r.pool, Window: c.Window,
		Wire: r.wire(), Observer: r.linkObserver()})
	if err != nil {
		return nil, err
	}
	r.fabric = f
	return r, nil
}

// pfc notes a PFC frame that came in.
func (r *Simulation) pfc(now unit.Time, node int, port packet.PortID, class uint8, kind packet.Kind) {
	r.paused = true
	if r.config.OnPFC != nil {
		r.config.OnPFC(PFCEvent{now, node, port, class, kind == packet.Pause})
	}
}

func (r *Simulation) addFlows() error {
	c := r.config
	for i := range c.Flows {
		f := &c.Flows[i]
		if f.Src == f.Dst || f.Src < 0 || f.Dst < 0 || f.Src >= len(r.hosts) || f.Dst >= len(r.hosts) ||
			r.hosts[f.Src] == nil || r.hosts[f.Dst] == nil {
			return fmt.Errorf("sim: flow %d goes from node %d to node %d; both must be hosts, and not the same", i, f.Src, f.Dst)
		}
		src, dst := packet.Addr(f.Src+1), packet.Addr(f.Dst+1)
		id := packet.FlowID(i)
		r.senders[i], r.starts[i] = f.Sender, f.Start
		if len(f.After) > 0 {
			u := &pendingSender{}
			u.counters.Finished, u.counters.DelayMin = unit.Never, unit.Never
			r.senders[i], r.starts[i] = u, unit.Never
		}
		r.sender[i] = r.hosts[f.Src].add(slot{endpoint: r.senders[i], flow: id, src: src, dst: dst,
			srcPort: f.SrcPort, dstPort: f.DstPort, finite: f.Size > 0, class: class(r.senders[i], f.Class)})
		r.receiver[i] = r.hosts[f.Dst].add(slot{endpoint: f.Receiver, flow: id, src: dst, dst: src,
			srcPort: f.DstPort, dstPort: f.SrcPort, class: class(f.Receiver, f.Class)})
		if f.Size > 0 {
			r.unfinished++
		}
	}
	if err := r.addDependents(); err != nil {
		return err
	}
	for _, h := range r.hosts {
		if h != nil {
			h.start()
		}
	}
	return nil
}

// addDependents notes at receivers which flows wait for theirs. The error is about a flow
// that could never begin.
func (r *Simulation) addDependents() error {
	flows := r.config.Flows
	for i := range flows {
		f := &flows[i]
		if len(f.After) == 0 {
			continue
		}
		if r.missing == nil {
			r.missing = make([]int32, len(flows))
		}
		if r.missing[i] = int32(len(f.After)); f.Begin == nil {
			return fmt.Errorf("sim: flow %d comes after others, and nothing makes its sender", i)
		}
		for k, j := range f.After {
			if j < 0 || j >= len(flows) || flows[j].Dst != f.Src || flows[j].Size < 1 {
				return fmt.Errorf("sim: flow %d from node %d comes after flow %d, which must have a size and end there",
					i, f.Src, j)
			}
			for _, other := range f.After[:k] {
				if other == j {
					return fmt.Errorf("sim: flow %d comes after flow %d twice", i, j)
				}
			}
			h := r.hosts[f.Src]
			s := &h.slot[r.receiver[j]]
			if s.dependents == 0 {
				h.dependents = append(h.dependents, dependents{size: flows[j].Size})
				s.dependents = int32(len(h.dependents))
			}
			l := &h.dependents[s.dependents-1]
			l.flows = append(l.flows, i)
		}
	}
	if r.missing == nil {
		return nil
	}
	// Every flow can begin if taking those away that nothing holds back takes all away.
	held, begun := append([]int32(nil), r.missing...), make([]int, 0, len(flows))
	for i := range flows {
		if held[i] == 0 {
			begun = append(begun, i)
		}
	}
	for k := 0; k < len(begun); k++ {
		j := begun[k]
		h := r.hosts[flows[j].Dst]
		if at := h.slot[r.receiver[j]].dependents; at > 0 {
			for _, i := range h.dependents[at-1].flows {
				if held[i]--; held[i] == 0 {
					begun = append(begun, i)
				}
			}
		}
	}
	if len(begun) < len(flows) {
		return fmt.Errorf("sim: %d flows come after each other in a circle", len(flows)-len(begun))
	}
	return nil
}

// begin starts flow i, all of whose After have arrived. A sender that Begin does not
// make leaves the flow unfinished.
func (r *Simulation) begin(i int, now unit.Time) {
	f := &r.config.Flows[i]
	start := max(now, f.Start)
	e := f.Begin(start)
	if e == nil {
		return
	}
	r.senders[i], r.starts[i] = e, start
	h := r.hosts[f.Src]
	s := &h.slot[r.sender[i]]
	s.endpoint, s.counters, s.class = e, e.Counters(), class(e, f.Class)
	s.rescheduling, _ = e.(transport.Rescheduling)
	h.update(r.sender[i], now)
}

// addWatches sorts the watches by how often they look.
func (r *Simulation) addWatches() {
	c := r.config
	r.watched = make([][]int64, len(c.Watches))
	for i := range c.Watches {
		w := &c.Watches[i]
		r.watches.Add(i, w.Every, w.Begins(c.Warmup), w.Ends())
	}
	if c.Delays {
		groups := 0
		for i := range c.Flows {
			groups = max(groups, c.Flows[i].Group+1)
		}
		r.delays = make([]unit.Histogram, groups)
		for i := range c.Flows {
			c.Flows[i].Receiver.Counters().Delays = &r.delays[c.Flows[i].Group]
		}
	}
}

// sample looks at what is due at now. At the end of a run only what counts is
// looked at: what comes then belongs to no interval.
func (r *Simulation) sample(now unit.Time, atEnd bool) {
	for _, k := range r.watches.Due(now) {
		if w := &r.config.Watches[k]; !atEnd || w.What.Counts() {
			r.watched[k] = append(r.watched[k], r.look(w, now))
		}
	}
}

// look reads one quantity.
func (r *Simulation) look(w *Watch, now unit.Time) int64 {
	if w.What == BufferBytes {
		return int64(r.switches[w.Index].Buffered())
	}
	if !w.What.OfFlow() {
		return w.What.OfPort(r.wiring.Port(w.Index))
	}
	f := &r.config.Flows[w.Index]
	if w.What == ReceivedBytes {
		return int64(f.Receiver.Counters().ReceivedBytes)
	}
	sender, gauged := r.senders[w.Index].(transport.Gauged)
	if !gauged || now < r.starts[w.Index] || r.senders[w.Index].Counters().Finished <= now || f.Stop > 0 && f.Stop <= now {
		return -1
	}
	switch g := sender.Gauge(); w.What {
	case Window:
		return int64(g.Window)
	case Rate:
		return int64(g.Rate)
	case InFlight:
		return int64(g.InFlight)
	case RTT:
		return orNone(int64(g.RTT))
	default:
		return orNone(int64(g.Delivery))
	}
}

// orNone is −1 for what is not known.
func orNone(v int64) int64 {
	if v == 0 {
		return -1
	}
	return v
}

// class is the priority class of what e sends: its own, or that of its flow.
func class(e transport.Endpoint, of uint8) uint8 {
	if c, ok := e.(transport.Classed); ok {
		of = c.Class()
	}
	return min(of, classes-1)
}

// endpoint finds the slot that a packet is for: the flow's receiver or sender,
// whichever is at this host; −1 if neither is.
func (r *Simulation) endpoint(h *host, p *packet.Packet) int32 {
	if int(p.Flow) >= len(r.sender) {
		return -1
	}
	switch f := &r.config.Flows[p.Flow]; h {
	case r.hosts[f.Dst]:
		return r.receiver[p.Flow]
	case r.hosts[f.Src]:
		return r.sender[p.Flow]
	}
	return -1
}

func (r *Simulation) finished(at unit.Time) {
	r.unfinished--
	r.lastFinish = max(r.lastFinish, at)
}

// restart makes what is not a difference of two counters that of the measured part:
// minimum and maximum delay, histograms, what frames consist of.
func (r *Simulation) restart(now unit.Time) {
	for _, h := range r.hosts {
		if h == nil {
			continue
		}
		for i := range h.slot {
			c := h.slot[i].counters
			c.DelayMin, c.DelayMax = unit.Never, 0
		}
	}
	for i := range r.delays {
		r.delays[i].Reset()
	}
	r.tally = Tally{}
	if r.observation != nil {
		r.observation.restart(now)
	}
}

func (r *Simulation) portOf(d direction) *tm.Port {
	return r.wiring.Port(2*d.Link + d.End)
}

func (r *Simulation) snapshot(now unit.Time) snapshot {
	flows := len(r.config.Flows)
	s := snapshot{
		Counts: r.wiring.Counts(now, r.fabric),
		sender: make([]transport.Counters, 0, flows), receiver: make([]transport.Counters, 0, flows),
		timeouts: make([]int64, 0, flows),
	}
	for i := range r.config.Flows {
		f := &r.config.Flows[i]
		s.sender = append(s.sender, *r.senders[i].Counters())
		var timeouts int64
		if t, ok := r.senders[i].(transport.Retransmitter); ok {
			timeouts = t.Timeouts()
		}
		s.timeouts = append(s.timeouts, timeouts)
		s.receiver = append(s.receiver, *f.Receiver.Counters())
	}
	return s
}

func (r *Simulation) result(reason EndReason, end unit.Time) *Result {
	c := r.config
	last, first := r.snapshot(end), r.atWarmup
	out := &Result{
		End: reason, Time: end, Measured: max(end-c.Warmup, 0),
		Events: r.fabric.Events(), PacketHops: r.fabric.Hops(), Watched: r.watched, Delays: r.delays, Tally: r.tally,
		Flows: make([]FlowResult, 0, len(c.Flows)),
	}
	out.Ports, out.Drops = r.wiring.Results(&first.Counts, &last.Counts, c.Warmup, end)
	for i := range c.Flows {
		f := FlowResult{
			Sender:   last.sender[i].Since(&first.sender[i]),
			Receiver: last.receiver[i].Since(&first.receiver[i]),
			Start:    r.starts[i],
			Timeouts: last.timeouts[i] - first.timeouts[i],
			FCT:      unit.Never,
			Arrived:  unit.Never,
			Written:  unit.Never,
		}
		if w := last.sender[i].Written; w > 0 && w != unit.Never {
			f.Written = w - max(f.Start, last.sender[i].Began)
		}
		if c.Flows[i].Size > 0 {
			f.Arrived = last.receiver[i].Finished
			if done := last.sender[i].Finished; done != unit.Never {
				f.FCT = done - f.Start
			} else {
				out.Unfinished = append(out.Unfinished, i)
			}
		}
		out.Flows = append(out.Flows, f)
	}
	if r.observation != nil {
		r.observation.result(out, &last, &first)
	}
	if c.Taken {
		out.Taken = r.taken()
	}
	if c.Steers {
		out.Steering = r.steering(out.Time)
	}
	return out
}

// taken asks the switches.
func (r *Simulation) taken() []*dataplane.Taken {
	all := make([]*dataplane.Taken, len(r.switches))
	for i, sw := range r.switches {
		if sw == nil {
			continue
		}
		if t, ok := sw.Taken(); ok {
			all[i] = &t
		}
	}
	return all
}

// steering asks the control planes of switches.
func (r *Simulation) steering(now unit.Time) []*dataplane.Steering {
	all := make([]*dataplane.Steering, len(r.switches))
	for i, sw := range r.switches {
		if sw == nil {
			continue
		}
		if s, ok := sw.Steering(now); ok {
			all[i] = &s
		}
	}
	return all
}
