package sim

import (
	"fmt"

	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// A flow exists from its start to its end. Its sender is made at its source when it starts, its receiver at its
// destination when its first packet arrives there; both are given back when the flow is over (sweep). Until then all
// that there is of a flow is its line in Config.Flows and an entry in its source's heap, and afterwards its
// FlowResult: so a run has as many flows as it likes, and memory for those that are under way. What a source does
// with a flow touches nothing of its destination, and the other way round, as other threads may run them.

// EndpointFactory makes the endpoints of flows.
type EndpointFactory interface {
	// Sender makes that of a flow which starts now, at the flow's source. Until its first packet is sent it only has
	// a start: NextSend answers start, and NextTimer never.
	Sender(flow int, start unit.Time) (transport.Endpoint, error)
	// Receiver makes that of a flow whose first packet has come, at its destination. It wants nothing before it has got
	// that.
	Receiver(flow int) (transport.Endpoint, error)
}

// nicFailover are Ends of flows that may have another NIC than they were given.
type nicFailover interface {
	// Reroute gives a flow that begins while the link of one of its NICs is down other ones, and returns them: the NICs
	// that it leaves by and comes in at. up says which NICs have a link that is up. It returns those that the flow had if
	// there are no others. It may be called for flows of several hosts at once, but not for several of one.
	Reroute(flow int, up func(nic int) bool) (src, dst int)
}

// up reports whether the link of a NIC is up. Links change when no node does anything, so that any may ask for any.
func (r *Simulation) up(nic int) bool { return !r.hosts[nic].port.Down() }

// linked reports whether both NICs of a flow have a link that is up.
func (r *Simulation) linked(f *outcome.Flow) bool { return r.up(f.Src) && r.up(f.Dst) }

// source is the NIC from which a flow begins now: where one of its NICs has no link, others of its hosts do.
func (r *Simulation) source(flow packet.FlowID) *host {
	f := &r.config.Flows[flow]
	if r.failover != nil && r.config.endpoints(flow).Sender == nil && !r.linked(f) {
		f.Src, f.Dst = r.failover.Reroute(int(flow), r.up)
	}
	return r.hosts[f.Src]
}

// MakeEndpoints makes the endpoints of all flows that do not come after others, in place of when these start: for those
// who look into endpoints, or put others around them.
func (c *Config) MakeEndpoints() (err error) {
	c.padEndpoints()
	for i := range c.Flows {
		f, e := &c.Flows[i], &c.Endpoints[i]
		if e.Sender == nil && f.After == nil {
			if e.Sender, err = c.EndpointFactory.Sender(i, f.Start); err != nil {
				return err
			}
		}
		if e.Receiver == nil {
			if e.Receiver, err = c.EndpointFactory.Receiver(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// Add adds a flow with its endpoints.
func (c *Config) Add(f outcome.Flow, sender, receiver transport.Endpoint) {
	c.padEndpoints()
	c.Flows = append(c.Flows, f)
	c.Endpoints = append(c.Endpoints, transport.EndpointPair{Sender: sender, Receiver: receiver})
}

// padEndpoints makes Endpoints as long as Flows.
func (c *Config) padEndpoints() {
	for len(c.Endpoints) < len(c.Flows) {
		c.Endpoints = append(c.Endpoints, transport.EndpointPair{})
	}
	c.Endpoints = c.Endpoints[:len(c.Flows)]
}

// endpoints returns the endpoints of a flow that the configuration brings along. Both may be nil.
func (c *Config) endpoints(flow packet.FlowID) (e transport.EndpointPair) {
	if int(flow) < len(c.Endpoints) {
		e = c.Endpoints[flow]
	}
	return e
}

// Where an endpoint of a flow is, if in no slot.
const (
	notStarted int32 = -1 - iota // it has not begun
	closed                       // it has been given back
)

// In place of a slot in a host's heaps.
const (
	pending int32 = -1 - iota // a sender that is not there yet
	stale                     // an endpoint that is not there any more, whose timer comes all the same
)

// addFlows puts the flows where they start.
func (r *Simulation) addFlows() error {
	c := r.config
	n := len(c.Flows)
	if len(c.Endpoints) > n {
		return fmt.Errorf("sim: %d flows have endpoints, and there are %d", len(c.Endpoints), n)
	}
	r.listed = n
	r.sender, r.receiver, r.outcome = make([]int32, n), make([]int32, n), make([]outcome.FlowResult, n)
	for i := range c.Flows {
		f := &c.Flows[i]
		if r.carries(i) && (f.Src == f.Dst || f.Src < 0 || f.Dst < 0 || f.Src >= len(r.hosts) || f.Dst >= len(r.hosts) ||
			r.hosts[f.Src] == nil || r.hosts[f.Dst] == nil) {
			return fmt.Errorf("sim: flow %d goes from node %d to node %d; both must be hosts, and not the same", i, f.Src, f.Dst)
		}
		if r.carries(i) && r.sameHost(f.Src, f.Dst) {
			return fmt.Errorf("sim: flow %d goes from NIC %d to NIC %d of the same host", i, f.Src, f.Dst)
		}
		if e := c.endpoints(packet.FlowID(i)); c.EndpointFactory == nil && (e.Receiver == nil || e.Sender == nil) {
			return fmt.Errorf("sim: flow %d has no ends, and nothing makes them", i)
		}
		r.sender[i], r.receiver[i] = notStarted, notStarted
		r.outcome[i] = outcome.FlowResult{Start: f.Start, FCT: unit.Never, Arrived: unit.Never, Written: unit.Never,
			Receiver: transport.Received{DelayMin: unit.Never}}
		if !r.carries(i) {
			r.sender[i], r.receiver[i] = closed, closed
			continue
		}
		if f.Size > 0 {
			r.unfinished++
		}
	}
	if err := r.addDependents(); err != nil {
		return err
	}
	r.sweepAfter(len(r.linkOf))
	for i := range c.Flows {
		f := &c.Flows[i]
		h := r.hosts[f.Src]
		switch {
		case !r.carries(i):
		case len(f.After) > 0 || r.triggers != nil && r.triggers.waits[i]:
			r.outcome[i].Start = unit.Never
		case f.Start > 0:
			h.sends.Push(h.timerEntry(f.Start, packet.FlowID(i), pending))
		default:
			h = r.source(packet.FlowID(i))
			if k := h.begin(packet.FlowID(i), f.Start); k >= 0 {
				h.update(k, 0)
			}
		}
	}
	for i := range c.Jobs {
		r.closedCounters = append(r.closedCounters, newRankCounters(c.Jobs[i].Program.Ranks()))
	}
	if err := r.addJobs(); err != nil {
		return err
	}
	for _, h := range r.hosts {
		if h == nil {
			continue
		}
		if h.failed != nil {
			return fmt.Errorf("sim: %w", h.failed)
		}
		h.reschedule(0)
	}
	return nil
}

// addDependents notes which flows wait for which, and checks that all can begin. The error is about a flow
// that could never do so.
func (r *Simulation) addDependents() error {
	flows := r.config.Flows
	for i := range flows {
		f := &flows[i]
		if len(f.After) == 0 {
			continue
		}
		if r.missing == nil {
			r.missing, r.waitsAt = make([]int32, len(flows)), make([]int32, len(flows)+1)
		}
		r.missing[i] = int32(len(f.After))
		for k, j := range f.After {
			if j < 0 || j >= len(flows) || !r.sameHost(flows[j].Dst, f.Src) || flows[j].Size < 1 ||
				r.carries(i) != r.carries(j) {
				return fmt.Errorf("sim: flow %d from node %d comes after flow %d, which must have a size and end there",
					i, f.Src, j)
			}
			for _, other := range f.After[:k] {
				if other == j {
					return fmt.Errorf("sim: flow %d comes after flow %d twice", i, j)
				}
			}
			r.waitsAt[j+1]++
		}
	}
	if r.missing == nil {
		return nil
	}
	for j := range flows {
		r.waitsAt[j+1] += r.waitsAt[j]
	}
	r.waiting = make([]int32, r.waitsAt[len(flows)])
	at := append([]int32(nil), r.waitsAt...)
	for i := range flows {
		for _, j := range flows[i].After {
			r.waiting[at[j]] = int32(i)
			at[j]++
		}
	}
	// Every flow can begin if taking those away that nothing holds back takes all away.
	held, begun := append(at[:0], r.missing...), make([]int32, 0, len(flows))
	for i := range flows {
		if held[i] == 0 {
			begun = append(begun, int32(i))
		}
	}
	for k := 0; k < len(begun); k++ {
		for _, i := range r.dependents(packet.FlowID(begun[k])) {
			if held[i]--; held[i] == 0 {
				begun = append(begun, i)
			}
		}
	}
	if len(begun) < len(flows) {
		return fmt.Errorf("sim: %d flows come after each other in a circle", len(flows)-len(begun))
	}
	return nil
}

// sameHost reports whether two NICs are of the same host.
func (r *Simulation) sameHost(a, b int) bool {
	n := r.nics.Len()
	return a == b || a >= 0 && b >= 0 && a < n && b < n && r.nics.Node(a) == r.nics.Node(b)
}

// dependents are the flows that come after one.
func (r *Simulation) dependents(flow packet.FlowID) []int32 {
	if r.missing == nil || int(flow) >= len(r.missing) { // or a message of a job
		return nil
	}
	return r.waiting[r.waitsAt[flow]:r.waitsAt[flow+1]]
}

// begin makes the sender of a flow from this host, and returns its slot.
func (h *host) begin(flow packet.FlowID, start unit.Time) int32 {
	f := &h.run.config.Flows[flow]
	e := h.run.config.endpoints(flow).Sender
	if e == nil {
		var err error
		if e, err = h.run.makeSender(flow, start); err != nil {
			return h.fail(flow, err)
		}
	}
	h.run.outcome[flow].Start = start
	i := h.add(slot{endpoint: e, flow: flow, src: packet.Addr(f.Src + 1), dst: packet.Addr(f.Dst + 1),
		srcPort: f.SrcPort, dstPort: f.DstPort, finite: f.Size > 0, class: class(e, f.Class)})
	h.run.sender[flow] = i
	return i
}

// accept makes the receiver of a flow to this host, and returns its slot.
func (h *host) accept(flow packet.FlowID) int32 {
	f := &h.run.config.Flows[flow]
	e := h.run.config.endpoints(flow).Receiver
	if e == nil {
		var err error
		if e, err = h.run.makeReceiver(flow); err != nil {
			return h.fail(flow, err)
		}
	}
	i := h.add(slot{endpoint: e, flow: flow, src: packet.Addr(f.Dst + 1), dst: packet.Addr(f.Src + 1),
		srcPort: f.DstPort, dstPort: f.SrcPort, class: class(e, f.Class), awaited: len(h.run.dependents(flow)) > 0 ||
			h.run.triggers.activates(flow, true) || h.run.isMessage(flow)})
	if h.thread.delays != nil {
		h.slot[i].counters.Delays = &h.thread.delays[f.Group]
	}
	h.run.receiver[flow] = i
	return i
}

// fail notes that an endpoint could not be made, which ends the run at its next audit.
func (h *host) fail(flow packet.FlowID, err error) int32 {
	if h.failed == nil {
		h.failed = fmt.Errorf("flow %d: %w", flow, err)
	}
	return notStarted
}

// start makes the sender of the flow whose time has come, unless it has been looked at before, and returns its slot;
// none if another NIC has it.
func (h *host) start(flow packet.FlowID, now unit.Time) int32 {
	i := h.run.sender[flow]
	if i != notStarted {
		return i
	}
	start := h.run.config.Flows[flow].Start
	if from := h.run.source(flow); from != h {
		if k := from.begin(flow, start); k >= 0 {
			from.update(k, now)
		}
		from.reschedule(now)
		return notStarted
	}
	return h.begin(flow, start)
}

// startDependents starts the flows that wait for that of slot i, once it has arrived, and for
// no other.
func (h *host) startDependents(i int32, now unit.Time) {
	s := &h.slot[i]
	if s.counters.ReceivedBytes < h.run.config.Flows[s.flow].Size {
		return
	}
	s.awaited = false
	flow := s.flow
	for _, f := range h.run.dependents(flow) {
		if h.run.missing[f]--; h.run.missing[f] == 0 {
			from := h.run.source(packet.FlowID(f)) // a NIC of the same host
			if k := from.begin(packet.FlowID(f), max(now, h.run.config.Flows[f].Start)); k >= 0 {
				from.update(k, now)
			}
			if from != h {
				from.reschedule(now)
			}
		}
	}
	if h.run.triggers.activates(flow, true) {
		h.activate(now, flow, true)
	}
	if h.run.isMessage(flow) {
		h.run.jobs.arrived(flow, now)
	}
}

// sent gives the slot of a flow's sender, which it makes if the flow has begun by now and its host's link was busy
// since; nil if there is none. All nodes must have reached the same time.
func (r *Simulation) sent(flow int, now unit.Time) *slot {
	h, i := r.hosts[r.config.Flows[flow].Src], r.sender[flow]
	if i == notStarted && r.outcome[flow].Start <= now && (r.failover == nil || r.linked(&r.config.Flows[flow])) {
		i = h.start(packet.FlowID(flow), now)
	}
	if i < 0 {
		return nil
	}
	return &h.slot[i]
}

// got gives the slot of a flow's receiver; nil if there is none.
func (r *Simulation) got(flow int) *slot {
	if i := r.receiver[flow]; i >= 0 {
		return &r.hosts[r.config.Flows[flow].Dst].slot[i]
	}
	return nil
}

// received is what has arrived of a flow since its start.
func (r *Simulation) received(flow int) unit.Bytes {
	if s := r.got(flow); s != nil {
		return s.counters.ReceivedBytes
	}
	return r.outcome[flow].Receiver.ReceivedBytes
}

// complete reports whether the receiver of a flow has all of it.
func (r *Simulation) complete(flow int) bool {
	if s := r.got(flow); s != nil {
		return s.counters.Finished != unit.Never
	}
	return r.outcome[flow].Arrived != unit.Never
}

// note writes what the ends of a flow have counted since its start into its outcome.
func (r *Simulation) note(flow int) {
	out, f := &r.outcome[flow], &r.config.Flows[flow]
	if i := r.sender[flow]; i >= 0 {
		s := &r.hosts[f.Src].slot[i]
		out.Sender = s.counters.Sent
		if t, ok := s.endpoint.(transport.Retransmitter); ok {
			out.Timeouts = t.Timeouts()
		}
		if w := s.counters.Written; w > 0 && w != unit.Never {
			out.Written = w - max(out.Start, s.counters.Began)
		}
		if done := s.counters.Finished; f.Size > 0 && done != unit.Never {
			out.FCT = done - out.Start
		}
	}
	if s := r.got(flow); s != nil {
		out.Receiver = s.counters.Received
		if f.Size > 0 {
			out.Arrived = s.counters.Finished
		}
		r.lastArrival = max(r.lastArrival, s.counters.Last)
	}
}

// before is what a flow had counted when the measured part began.
type before struct {
	flow     int
	sent     transport.Sent
	received transport.Received
	timeouts int64
}

// noteBefore keeps what flows that have begun have counted so far.
func (r *Simulation) noteBefore() {
	for i := range r.outcome[:r.listed] {
		if r.sender[i] == notStarted && r.receiver[i] == notStarted {
			continue
		}
		r.note(i)
		o := &r.outcome[i]
		r.before = append(r.before, before{i, o.Sender, o.Receiver, o.Timeouts})
	}
	r.overBefore = r.rankCounters()
}

// flowResults ends all flows: their outcomes are those of the measured part then.
func (r *Simulation) flowResults(out *outcome.Result) {
	for i := range r.outcome[:r.listed] {
		r.note(i)
		if r.config.Flows[i].Size > 0 && r.outcome[i].FCT == unit.Never {
			out.Unfinished = append(out.Unfinished, i)
			out.Delivered = append(out.Delivered, r.outcome[i].Receiver.ReceivedBytes)
		}
	}
	for k := range r.before {
		b := &r.before[k]
		o := &r.outcome[b.flow]
		o.Sender, o.Receiver = o.Sender.Since(&b.sent), o.Receiver.Since(&b.received)
		o.Timeouts -= b.timeouts
	}
	out.Flows = r.outcome[:r.listed:r.listed]
	out.Messages = r.rankCounters()
	for i, first := range r.overBefore {
		for k := range first {
			out.Messages[i][k] = out.Messages[i][k].Since(&first[k])
		}
	}
}

// restartFlows makes the least and the largest delay of flows those of the measured part.
func (r *Simulation) restartFlows() {
	for i := range r.outcome {
		o := &r.outcome[i].Receiver
		o.DelayMin, o.DelayMax = unit.Never, 0
	}
	for _, ranks := range r.closedCounters {
		for i := range ranks {
			o := &ranks[i].Received
			o.DelayMin, o.DelayMax = unit.Never, 0
		}
	}
	for _, h := range r.hosts {
		if h == nil {
			continue
		}
		for i := range h.slot {
			if c := h.slot[i].counters; c != nil {
				c.DelayMin, c.DelayMax = unit.Never, 0
			}
		}
	}
}
