package sim

import (
	"fmt"
	"slices"
	"strings"

	"weir/core/dataplane"
	"weir/core/fabric/observe"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// observation records measures beyond counters, if the configuration asks for any: Selection.Onsets, Peaks, Notices,
// Ordering.
type observation struct {
	run    *Simulation
	onsets []onset
	apart  bool                   // hosts without their network: they cannot detect an onset at a port
	flows  []observed             // by flow
	order  []observe.OrderTracker // by flow, with Config.Ordering
}

// observed is the observation of a flow's sender.
type observed struct {
	onset        int32 // 1 + index; 0: no onset
	flowIndex    int32 // index in Onset.Flows
	peak         unit.Bytes
	window, rate int64 // latest values
	// topWindow and topRate are the values at the onset or, if the onset is settled beyond it, the maxima since.
	topWindow, topRate int64
}

// onset is an onset to detect. Nodes run ahead of each other within a window, so the changes of a sender wait in its
// thread's log until the time of the onset is known.
type onset struct {
	config    *outcome.Onset
	startTime unit.Time
	reduced   []unit.Time
}

// startObservation starts the observation that the configuration asks for, and connects it to the hosts, which must
// exist. Without one, r.observation stays nil.
func (r *Simulation) startObservation() {
	c := r.config
	if len(c.Onsets) == 0 && !c.Peaks && !c.Notices && !c.Ordering {
		return
	}
	o := &observation{run: r, flows: make([]observed, r.listed)}
	for i := range c.Onsets {
		x := &c.Onsets[i]
		n := onset{config: x, startTime: unit.Never, reduced: make([]unit.Time, len(x.Flows))}
		if x.Port < 0 {
			n.startTime = x.After
		}
		for k, f := range x.Flows {
			n.reduced[k] = unit.Never
			o.flows[f].onset, o.flows[f].flowIndex = int32(i+1), int32(k)
		}
		o.onsets = append(o.onsets, n)
	}
	if c.Ordering {
		o.order = make([]observe.OrderTracker, r.listed)
	}
	r.observation = o
	for _, h := range r.hosts {
		if h != nil {
			h.observation = o
		}
	}
}

// gaugesOf returns the programs that watch the queues of a switch for onsets.
func (r *Simulation) gaugesOf(node int) (out []dataplane.Program) {
	for i, o := range r.config.Onsets {
		if o.Port >= 0 && r.linkOf[o.Port].Node == node {
			out = append(out, &gauge{r, i, r.linkOf[o.Port].Port})
		}
	}
	return out
}

// recordCall records the sender's state after every call into the endpoint of slot i, while the flow runs. It logs
// changes of window and rate for the flow's onset, until a reduction is found.
func (o *observation) recordCall(h *host, i int32, now unit.Time) {
	s := &h.slot[i]
	if int(s.flow) >= len(o.flows) { // a message of a job
		return
	}
	f := &o.run.config.Flows[s.flow]
	w := &o.flows[s.flow]
	if f.Src != int(h.number) || w.onset == 0 && !o.run.config.Peaks {
		return
	}
	if now < o.run.outcome[s.flow].Start || s.counters.Finished <= now || f.Stop > 0 && f.Stop <= now {
		return
	}
	sender, ok := s.endpoint.(transport.Gauged)
	if !ok {
		return
	}
	g := sender.Gauge()
	w.peak = max(w.peak, g.InFlight)
	if w.onset == 0 {
		return
	}
	window, rate := int64(g.Window), int64(g.Rate)
	if g.Derived {
		rate = 0
	}
	n := &o.onsets[w.onset-1]
	if n.config.InFlight {
		window, rate = max(int64(g.InFlight), 1), 0 // 0 would mean no limit
	}
	if window == w.window && rate == w.rate || n.reduced[w.flowIndex] != unit.Never {
		return
	}
	w.window, w.rate = window, rate
	if now < n.config.After {
		w.topWindow, w.topRate = window, rate
		return
	}
	log := &h.thread.log[w.onset-1]
	*log = append(*log, outcome.Change{At: now, Flow: int32(s.flow), Window: window, Rate: rate})
}

// settleOnsets judges the changes of senders before done, when all earlier events have happened, and removes them from
// the threads' logs. No thread may be running.
func (o *observation) settleOnsets(done unit.Time) {
	for i := range o.onsets {
		if o.isUnknown(i) {
			continue
		}
		for _, t := range o.run.threads { // the changes of a flow are all in the log of its sender's thread
			t.log[i] = o.judgeChanges(&o.onsets[i], t.log[i], done)
		}
	}
}

// judgeChanges handles the changes of a log before done, and returns the rest in the log's memory. It records the
// first reduction of each flow after the onset.
func (o *observation) judgeChanges(n *onset, log []outcome.Change, done unit.Time) (left []outcome.Change) {
	left = log[:0]
	for _, c := range log {
		w := &o.flows[c.Flow]
		switch {
		case c.At >= done:
			left = append(left, c)
		case c.At <= n.startTime:
			w.topWindow, w.topRate = c.Window, c.Rate
		case n.reduced[w.flowIndex] != unit.Never:
		case n.hasFallen(c.Window, w.topWindow) || n.hasFallen(c.Rate, w.topRate):
			n.reduced[w.flowIndex] = c.At
		default:
			w.topWindow, w.topRate = max(w.topWindow, c.Window), max(w.topRate, c.Rate)
		}
	}
	return left
}

// isUnknown reports whether these hosts cannot detect an onset, because it is at a port outside (Edge).
func (o *observation) isUnknown(onset int) bool { return o.apart && o.onsets[onset].config.Port >= 0 }

// changesOf returns the changes for an onset that these hosts cannot detect, and the values at its earliest time.
func (o *observation) changesOf(onset int) (all []outcome.Change) {
	c := o.onsets[onset].config
	for _, f := range c.Flows {
		if w := &o.flows[f]; w.topWindow != 0 || w.topRate != 0 {
			all = append(all, outcome.Change{At: c.After, Flow: int32(f), Window: w.topWindow, Rate: w.topRate})
		}
	}
	for _, t := range o.run.threads {
		all = append(all, t.log[onset]...)
	}
	return all
}

// JudgeOnset returns the result of an onset at a port that the network outside an Edge has detected at time start;
// unit.Never if it did not begin. changes are the hosts' (Result.Changes), in the order of time for each flow. They may
// include other flows, and stay as they are.
func JudgeOnset(x *outcome.Onset, start unit.Time, changes []outcome.Change) outcome.OnsetResult {
	o := observation{}
	n := onset{config: x, startTime: start, reduced: make([]unit.Time, len(x.Flows))}
	for k, f := range x.Flows {
		n.reduced[k] = unit.Never
		for len(o.flows) <= f {
			o.flows = append(o.flows, observed{})
		}
		o.flows[f].flowIndex = int32(k)
	}
	mine := slices.DeleteFunc(slices.Clone(changes), func(c outcome.Change) bool {
		return int(c.Flow) >= len(o.flows)
	})
	o.judgeChanges(&n, mine, unit.Never)
	return outcome.OnsetResult{At: start, Reduced: n.reduced}
}

// hasFallen reports whether a value is a reduction from the largest. 0 means no limit, or no value yet.
func (n *onset) hasFallen(value, largest int64) bool {
	return value > 0 && float64(value) < (1-n.config.By)*float64(largest)
}

// nextOnset returns the next time after now at which a port is checked first, since it may be full already;
// unit.Never without one. o may be nil.
func (o *observation) nextOnset(now unit.Time) unit.Time {
	next := unit.Never
	if o != nil && !o.apart {
		for i := range o.onsets {
			if c := o.onsets[i].config; c.Port >= 0 && c.After > now {
				next = min(next, c.After)
			}
		}
	}
	return next
}

// startOnsets starts the onsets with queues that are long enough at now already.
func (o *observation) startOnsets(now unit.Time) {
	for i := range o.onsets {
		n := &o.onsets[i]
		if c := n.config; c.Port >= 0 && c.After == now && n.startTime == unit.Never {
			p := o.run.portOf(o.run.linkOf[c.Port])
			n.startIfGrown(now, p.Packets(), p.Bytes())
		}
	}
}

// startIfGrown starts the onset at now if its port's queue of this length exceeds one of the onset's limits above 0.
func (n *onset) startIfGrown(now unit.Time, packets int32, bytes unit.Bytes) {
	if a := n.config.Above; a.Packets > 0 && packets > a.Packets || a.Bytes > 0 && bytes > a.Bytes {
		n.startTime = now
	}
}

// gauge is one of a switch's last programs: it watches the queue of an onset's port.
type gauge struct {
	run   *Simulation
	onset int
	port  packet.PortID
}

// Name returns the name in errors.
func (g *gauge) Name() string { return "onset" }

// Book checks the port after each packet that has entered a queue.
func (g *gauge) Book(env *dataplane.Env, p *packet.Packet) {
	if n := &g.run.observation.onsets[g.onset]; p.Meta.Out == g.port && n.startTime == unit.Never &&
		env.Now() >= n.config.After {
		p := env.Port(g.port)
		n.startIfGrown(env.Now(), p.Packets(), p.Bytes())
	}
}

// recordArrival records a packet for the endpoint of slot i, before the endpoint gets it: a notice at a sender, in the
// measured part, or the order of data at a receiver.
func (o *observation) recordArrival(h *host, i int32, now unit.Time, p *packet.Packet) {
	f := h.slot[i].flow
	sender := o.run.config.Flows[f].Src == int(h.number)
	if o.run.config.Notices && sender && observe.IsNotice(p) && now >= o.run.config.Warmup {
		h.thread.notices.CountArrival(now - p.Sent)
	}
	if o.order != nil && int(f) < len(o.order) && !sender && p.Kind == packet.Data && p.Payload > 0 {
		o.order[f].AddArrival(p.Sent, now >= o.run.config.Warmup)
	}
}

// restartPeaks begins the measured part at now. The peak of a sender begins with the bytes that it has in flight.
func (o *observation) restartPeaks(now unit.Time) {
	for i := range o.flows {
		w := &o.flows[i]
		w.peak = 0
		k, f := o.run.sender[i], &o.run.config.Flows[i]
		if k < 0 {
			continue
		}
		s := &o.run.hosts[f.Src].slot[k]
		sender, ok := s.endpoint.(transport.Gauged)
		if ok && o.run.outcome[i].Start < now && s.counters.Finished > now && (f.Stop == 0 || f.Stop > now) {
			w.peak = sender.Gauge().InFlight
		}
	}
}

// addResult judges the remaining changes and adds the observation to a run's result; out.Time must be set. notices are
// the arrived ones, last and first the counters at the end and the beginning of the measured part.
func (o *observation) addResult(out *outcome.Result, notices outcome.Notices, last, first *wiring.CounterSnapshot) {
	c := o.run.config
	o.settleOnsets(unit.Never)
	for i := range o.onsets {
		n := &o.onsets[i]
		if o.isUnknown(i) {
			out.Changes = append(out.Changes, o.changesOf(i))
		}
		x := outcome.OnsetResult{At: n.startTime, Reduced: n.reduced}
		if n.startTime > out.Time {
			x.At = unit.Never // the run ended before
		}
		out.Onsets = append(out.Onsets, x)
	}
	for i := range o.flows {
		if c.Peaks {
			out.Peaks = append(out.Peaks, o.flows[i].peak)
		}
		if c.Ordering {
			out.Reordering = append(out.Reordering, o.order[i].Reordering)
		}
	}
	if c.Notices {
		out.Notices = notices
		out.Notices.Made = last.Made - first.Made
		out.Notices.Dropped += last.NoticeDrops - first.NoticeDrops
	}
}

// checkMetrics returns an error for a watched metric that no program of its switch has.
func (r *Simulation) checkMetrics() error {
	for i := range r.config.Watches {
		w := &r.config.Watches[i]
		if w.What != outcome.ProgramMetric {
			continue
		}
		if names := r.switches[w.Index].MetricNames(); !slices.Contains(names, w.Name) {
			have := "they have no metrics"
			if len(names) > 0 {
				have = "available: " + strings.Join(names, ", ")
			}
			return fmt.Errorf("no program of switch %s has the metric %s; %s", r.config.Wiring.Network.Nodes[w.Index].Name,
				w.Name,
				have)
		}
	}
	return nil
}
