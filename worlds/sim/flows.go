package sim

import (
	"fmt"

	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// A flow exists from its start to its end. Its sender is made at its source when it starts, its receiver at its
// destination when its first packet arrives there. Both are released when the flow is over (sweepFlows). Before that a
// flow is an entry in Config.Flows and in its source's heap, and afterwards an outcome.FlowResult. So a run may have
// any number of flows, and uses memory for the active ones. An operation of a source on a flow must not access its
// destination, and vice versa, since different threads may run them.

// EndpointFactory makes the endpoints of flows.
type EndpointFactory interface {
	// Sender makes the sender of a flow that starts now, at its source. Until its first packet is sent it only has a
	// start: NextSend returns start, and NextTimer unit.Never.
	Sender(flow int, start unit.Time) (transport.Endpoint, error)
	// Receiver makes the receiver of a flow at its destination when its first packet has arrived. It has no event before
	// it has received that packet.
	Receiver(flow int) (transport.Endpoint, error)
}

// nicFailover is an EndpointFactory of flows that may use other NICs than they were given.
type nicFailover interface {
	// Reroute gives other NICs to a flow that begins while the link of one of its NICs is down, and returns the NICs of
	// its source and destination. up reports which NICs have a link that is up. Without other NICs it returns the flow's
	// own. It may be called for flows of several hosts at once, but not for several of one.
	Reroute(flow int, up func(nic int) bool) (src, dst int)
}

// isUp reports whether the link of a NIC is up. Links change only when no node is active, so that any node may call it.
func (r *Simulation) isUp(nic int) bool { return !r.hosts[nic].port.IsDown() }

// hasLinks reports whether both NICs of a flow have a link that is up.
func (r *Simulation) hasLinks(f *outcome.Flow) bool { return r.isUp(f.Src) && r.isUp(f.Dst) }

// sourceNIC returns the NIC from which a flow begins now. If one of its NICs has no link that is up, it changes the
// flow to other NICs of its hosts, if there are any. Flows with given endpoints keep theirs.
func (r *Simulation) sourceNIC(flow packet.FlowID) *host {
	f := &r.config.Flows[flow]
	if r.failover != nil && r.config.givenEndpoints(flow).Sender == nil && !r.hasLinks(f) {
		f.Src, f.Dst = r.failover.Reroute(int(flow), r.isUp)
	}
	return r.hosts[f.Src]
}

// MakeEndpoints makes the endpoints that Endpoints lacks, instead of when their flows start, for callers that inspect
// or wrap endpoints. It leaves out senders of flows that come after others. The error is the factory's.
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

// givenEndpoints returns the endpoints that the configuration has for a flow. Both may be nil.
func (c *Config) givenEndpoints(flow packet.FlowID) (e transport.EndpointPair) {
	if int(flow) < len(c.Endpoints) {
		e = c.Endpoints[flow]
	}
	return e
}

// Values in place of the slot of a flow's endpoint.
const (
	notStarted int32 = -1 - iota // it has not begun
	closed                       // it has been released
)

// Values in place of a slot in a host's heaps.
const (
	pending int32 = -1 - iota // a sender that is not made yet
	stale                     // a released endpoint with a timer that still expires
)

// addFlows checks the flows and schedules their starts at their sources, and adds the jobs. Flows that start at time 0
// begin: their senders are made. It returns an error for impossible flows or jobs, and for an endpoint that cannot be
// made.
func (r *Simulation) addFlows() error {
	c := r.config
	n := len(c.Flows)
	if len(c.Endpoints) > n {
		return fmt.Errorf("sim: there are endpoints of %d flows for %d flows", len(c.Endpoints), n)
	}
	r.listed = n
	r.sender, r.receiver, r.outcome = make([]int32, n), make([]int32, n), make([]outcome.FlowResult, n)
	for i := range c.Flows {
		f := &c.Flows[i]
		if r.hasFlow(i) && (f.Src == f.Dst || f.Src < 0 || f.Dst < 0 || f.Src >= len(r.hosts) || f.Dst >= len(r.hosts) ||
			r.hosts[f.Src] == nil || r.hosts[f.Dst] == nil) {
			return fmt.Errorf("sim: flow %d goes from node %d to node %d; both must be hosts, and different ones",
				i, f.Src, f.Dst)
		}
		if r.hasFlow(i) && r.sameHost(f.Src, f.Dst) {
			return fmt.Errorf("sim: flow %d goes from NIC %d to NIC %d of the same host", i, f.Src, f.Dst)
		}
		if e := c.givenEndpoints(packet.FlowID(i)); c.EndpointFactory == nil && (e.Receiver == nil || e.Sender == nil) {
			return fmt.Errorf("sim: flow %d has no endpoints and no factory for them", i)
		}
		r.sender[i], r.receiver[i] = notStarted, notStarted
		r.outcome[i] = outcome.FlowResult{Start: f.Start, FCT: unit.Never, Arrived: unit.Never, Written: unit.Never,
			Receiver: transport.Received{DelayMin: unit.Never}}
		if !r.hasFlow(i) {
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
		case !r.hasFlow(i):
		case len(f.After) > 0 || r.triggers != nil && r.triggers.waits[i]:
			r.outcome[i].Start = unit.Never
		case f.Start > 0:
			h.sends.Push(h.timerEntry(f.Start, packet.FlowID(i), pending))
		default:
			h = r.sourceNIC(packet.FlowID(i))
			if k := h.beginFlow(packet.FlowID(i), f.Start); k >= 0 {
				h.updateSlot(k, 0)
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

// addDependents records which flows wait for which, and checks that all can begin. The error is about a flow that
// could never begin, or about a predecessor that does not end at the flow's source.
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
				r.hasFlow(i) != r.hasFlow(j) {
				return fmt.Errorf("sim: flow %d from node %d starts after flow %d, which must have a size and end at that "+
					"node",
					i, f.Src, j)
			}
			for _, other := range f.After[:k] {
				if other == j {
					return fmt.Errorf("sim: flow %d starts after flow %d twice", i, j)
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
	// Every flow can begin if removing the flows without predecessors repeatedly removes all.
	held, begun := append(at[:0], r.missing...), make([]int32, 0, len(flows))
	for i := range flows {
		if held[i] == 0 {
			begun = append(begun, int32(i))
		}
	}
	for k := 0; k < len(begun); k++ {
		for _, i := range r.dependentsOf(packet.FlowID(begun[k])) {
			if held[i]--; held[i] == 0 {
				begun = append(begun, i)
			}
		}
	}
	if len(begun) < len(flows) {
		return fmt.Errorf("sim: %d flows wait for each other in a cycle", len(flows)-len(begun))
	}
	return nil
}

// sameHost reports whether two NICs are of the same host. Numbers that no NIC has are of no host.
func (r *Simulation) sameHost(a, b int) bool {
	n := r.nics.Len()
	return a == b || a >= 0 && b >= 0 && a < n && b < n && r.nics.HostOf(a) == r.nics.HostOf(b)
}

// dependentsOf returns the flows that come after a flow.
func (r *Simulation) dependentsOf(flow packet.FlowID) []int32 {
	if r.missing == nil || int(flow) >= len(r.missing) { // none, or a message of a job
		return nil
	}
	return r.waiting[r.waitsAt[flow]:r.waitsAt[flow+1]]
}

// beginFlow makes the sender of a flow from this host, which starts at start, and returns its slot. If that fails, it
// returns notStarted, and recordFailure records it. The caller calls updateSlot for the slot.
func (h *host) beginFlow(flow packet.FlowID, start unit.Time) int32 {
	f := &h.run.config.Flows[flow]
	e := h.run.config.givenEndpoints(flow).Sender
	if e == nil {
		var err error
		if e, err = h.run.makeSender(flow, start); err != nil {
			return h.recordFailure(flow, err)
		}
	}
	h.run.outcome[flow].Start = start
	i := h.addEndpoint(slot{endpoint: e, flow: flow, src: packet.Addr(f.Src + 1), dst: packet.Addr(f.Dst + 1),
		srcPort: f.SrcPort, dstPort: f.DstPort, finite: f.Size > 0, class: classOf(e, f.Class)})
	h.run.sender[flow] = i
	return i
}

// acceptFlow makes the receiver of a flow to this host, and returns its slot; notStarted if that fails, which
// recordFailure records.
func (h *host) acceptFlow(flow packet.FlowID) int32 {
	f := &h.run.config.Flows[flow]
	e := h.run.config.givenEndpoints(flow).Receiver
	if e == nil {
		var err error
		if e, err = h.run.makeReceiver(flow); err != nil {
			return h.recordFailure(flow, err)
		}
	}
	i := h.addEndpoint(slot{endpoint: e, flow: flow, src: packet.Addr(f.Dst + 1), dst: packet.Addr(f.Src + 1),
		srcPort: f.DstPort, dstPort: f.SrcPort, class: classOf(e, f.Class), awaited: len(h.run.dependentsOf(flow)) > 0 ||
			h.run.triggers.activates(flow, true) || h.run.isMessage(flow)})
	if h.thread.delays != nil {
		h.slot[i].counters.Delays = &h.thread.delays[f.Group]
	}
	h.run.receiver[flow] = i
	return i
}

// recordFailure records the first endpoint that could not be made, which ends the run at its next audit. It returns
// notStarted.
func (h *host) recordFailure(flow packet.FlowID, err error) int32 {
	if h.failed == nil {
		h.failed = fmt.Errorf("flow %d: %w", flow, err)
	}
	return notStarted
}

// startFlow makes the sender of a flow that is due at this host, unless it exists already, and returns its slot. If
// another NIC of the host has the flow, it starts the flow there, and returns notStarted.
func (h *host) startFlow(flow packet.FlowID, now unit.Time) int32 {
	i := h.run.sender[flow]
	if i != notStarted {
		return i
	}
	start := h.run.config.Flows[flow].Start
	if from := h.run.sourceNIC(flow); from != h {
		if k := from.beginFlow(flow, start); k >= 0 {
			from.updateSlot(k, now)
		}
		from.reschedule(now)
		return notStarted
	}
	return h.beginFlow(flow, start)
}

// startDependents starts the flows that wait only for the flow of slot i, a receiver, if all its data has arrived. It
// then also activates the flow's triggers and notifies the job of a message. That happens once.
func (h *host) startDependents(i int32, now unit.Time) {
	s := &h.slot[i]
	if s.counters.ReceivedBytes < h.run.config.Flows[s.flow].Size {
		return
	}
	s.awaited = false
	flow := s.flow
	for _, f := range h.run.dependentsOf(flow) {
		if h.run.missing[f]--; h.run.missing[f] == 0 {
			from := h.run.sourceNIC(packet.FlowID(f)) // a NIC of the same host
			if k := from.beginFlow(packet.FlowID(f), max(now, h.run.config.Flows[f].Start)); k >= 0 {
				from.updateSlot(k, now)
			}
			if from != h {
				from.reschedule(now)
			}
		}
	}
	if h.run.triggers.activates(flow, true) {
		h.activateTriggers(now, flow, true)
	}
	if h.run.isMessage(flow) {
		h.run.jobs.notifyArrived(flow, now)
	}
}

// senderSlot returns the slot of a flow's sender; nil without a sender. It makes the sender if the flow has begun by
// now and its host's link was busy since. All nodes must have reached the same time.
func (r *Simulation) senderSlot(flow int, now unit.Time) *slot {
	h, i := r.hosts[r.config.Flows[flow].Src], r.sender[flow]
	if i == notStarted && r.outcome[flow].Start <= now && (r.failover == nil || r.hasLinks(&r.config.Flows[flow])) {
		i = h.startFlow(packet.FlowID(flow), now)
	}
	if i < 0 {
		return nil
	}
	return &h.slot[i]
}

// receiverSlot returns the slot of a flow's receiver; nil without a receiver.
func (r *Simulation) receiverSlot(flow int) *slot {
	if i := r.receiver[flow]; i >= 0 {
		return &r.hosts[r.config.Flows[flow].Dst].slot[i]
	}
	return nil
}

// receivedBytes returns the bytes of a flow that have arrived since its start.
func (r *Simulation) receivedBytes(flow int) unit.Bytes {
	if s := r.receiverSlot(flow); s != nil {
		return s.counters.ReceivedBytes
	}
	return r.outcome[flow].Receiver.ReceivedBytes
}

// isComplete reports whether the receiver of a flow has all its data.
func (r *Simulation) isComplete(flow int) bool {
	if s := r.receiverSlot(flow); s != nil {
		return s.counters.Finished != unit.Never
	}
	return r.outcome[flow].Arrived != unit.Never
}

// recordCounters writes the counters of a flow's ends since its start into its outcome. An end that is released or not
// made changes no counter. It also moves r.lastArrival on. All nodes must have reached the same time.
func (r *Simulation) recordCounters(flow int) {
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
	if s := r.receiverSlot(flow); s != nil {
		out.Receiver = s.counters.Received
		if f.Size > 0 {
			out.Arrived = s.counters.Finished
		}
		r.lastArrival = max(r.lastArrival, s.counters.Last)
	}
}

// before has the counters of a flow at the start of the measured part.
type before struct {
	flow     int
	sent     transport.Sent
	received transport.Received
	timeouts int64
}

// noteBefore stores the counters of the flows that have begun, and of the messages, at the start of the measured part.
// It must be called once.
func (r *Simulation) noteBefore() {
	for i := range r.outcome[:r.listed] {
		if r.sender[i] == notStarted && r.receiver[i] == notStarted {
			continue
		}
		r.recordCounters(i)
		o := &r.outcome[i]
		r.before = append(r.before, before{i, o.Sender, o.Receiver, o.Timeouts})
	}
	r.overBefore = r.rankCounters()
}

// flowResults records all flows, reduces their outcomes and the messages' to the measured part, and adds them to out
// with the list of unfinished flows. It must be called once.
func (r *Simulation) flowResults(out *outcome.Result) {
	for i := range r.outcome[:r.listed] {
		r.recordCounters(i)
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
			out.Messages[i][k] = out.Messages[i][k].Minus(&first[k])
		}
	}
}

// restartFlows restarts the minimum and the maximum delay of flows and messages for the measured part.
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
