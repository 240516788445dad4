package sim

import (
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/unit"
	"weir/worlds/sim/parallel"
)

// drive is a run in progress: its time, its end and the reason, and the next events outside the fabric.
type drive struct {
	*Simulation
	now, end unit.Time
	limit    unit.Time                 // latest time to which it may run, for now
	stopping unit.Time                 // when the run will be cut; unit.Never until that is known
	stop     func(done unit.Time) bool // afterWindow, made once
	reason   outcome.EndReason
	stuck    []outcome.Stuck
	warm     bool // the measured part has begun

	events     []wiring.Event // future events
	stalls     *stalling
	nextSample unit.Time
	nextOnset  unit.Time
	nextLook   unit.Time // next check for a deadlock
	every      unit.Time // between checks

	ended     bool   // all flows have ended at their senders
	draining  bool   // packets of ended flows are in flight
	drained   bool   // those packets have arrived
	busy      int    // the host that hasPending last found
	nextAudit uint64 // packet-hops
	violation string // text of the violation, with Violated
	recurring *recurring
	again     bool // how far the fabric runs must be computed again
}

// Run runs the simulation to its end, and returns its result, or the cause of an early end in it. It must be called
// only once. It stops the fabric at the end of the warm-up and at every sample, so that measures are taken at an exact
// time. A host's failure ends it with outcome.Violated. It calls the functions of Config.
func (r *Simulation) Run() *outcome.Result {
	if len(r.threads) > 1 {
		r.group = parallel.New(len(r.threads), r.config.Yields, r.fabric.CountEvents)
		defer r.group.End()
	}
	d := r.newDrive()
	for d.now < d.end && d.runStep() {
	}
	if r.unfinished > 0 && (d.reason == outcome.TimeUp || d.reason == outcome.NoProgress) {
		if d.stuck = r.findDeadlock(); d.stuck != nil {
			d.reason = outcome.Deadlock
		} else if d.stuck = r.findStarved(d.now); d.stuck != nil {
			d.reason = outcome.Starved
		}
	}
	if !d.warm {
		d.beginMeasured() // it ended before the measured part began
	}
	if r.config.Trace != nil {
		r.flushTrace(unit.Never)
	}
	if d.reason != outcome.Violated {
		d.runAudit()
	}
	var strays []outcome.Stray
	if d.reason == outcome.TimeUp || d.reason == outcome.NoProgress || d.reason == outcome.AllDone {
		if strays = r.findMisdelivered(); strays != nil {
			d.reason = outcome.Misdelivered
		}
	}
	out := d.makeResult(d.reason, d.now)
	out.Stuck, out.Violation, out.Strays = d.stuck, d.violation, strays
	if out.Waits = nil; d.reason != outcome.AllDone {
		out.Waits = r.explainWaits(d.now, out.Unfinished)
		for i := range out.Jobs {
			out.JobWaits = append(out.JobWaits, r.messageWaits(i, d.now))
		}
	}
	d.recurring.shiftTimes(out)
	return out
}

// newDrive returns the run at its start, with its first checks, stalls and samples scheduled.
func (r *Simulation) newDrive() *drive {
	c := r.config
	every := max(unit.Millisecond, c.Duration/10_000)
	d := &drive{
		Simulation: r, end: c.Duration, limit: unit.Never, stopping: unit.Never, reason: outcome.TimeUp, warm: c.Warmup == 0,
		events: r.events, stalls: newStalling(c), nextSample: r.watches.NextSample(), nextOnset: r.observation.nextOnset(-1),
		every: every, nextLook: every,
	}
	d.stop = d.afterWindow
	d.recurring = d.newRecurring()
	return d
}

// runStep advances to the next time at which an event outside the fabric is due, and runs what is due then; false:
// the run ends, for d.reason.
func (d *drive) runStep() bool {
	if c := d.config; c.Stopped != nil && c.Stopped() { // the fabric asks only if it has events
		d.reason = outcome.Interrupted
		return false
	}
	d.executeEvents()
	if d.isDone() {
		// Cut one window after the last flow ended: no group has run further.
		d.stopping = min(d.end, d.lastFinish+d.fabric.Window())
		if d.reason = outcome.AllDone; d.drained { // the time at which the run notices it depends on the checks
			d.now = min(d.now, d.stopping)
		}
		d.end = max(d.stopping, d.now)
		if d.now >= d.end {
			return false
		}
	}
	until := d.nextStop()
	if d.now < until {
		d.fabric.Run(until, d.stop)
	}
	if d.reason == outcome.Interrupted {
		d.now = min(until, max(d.now, d.fabric.NextEvent()))
		return false
	}
	if d.again {
		d.again = false
		return true
	}
	if d.isDone() {
		return true // decide where to cut, also if there is no further event before until
	}
	d.now = until
	return d.runDue()
}

// isDone reports whether all flows have ended, and the end of the run is not decided yet; false without UntilDone. A
// sender without answers has ended when it has sent all its data; the packets then in flight are waited for. At the
// first such end it sets d.ended, and d.draining if there are such packets.
func (d *drive) isDone() bool {
	if !d.config.UntilDone || d.unfinished > 0 || d.stopping != unit.Never {
		return false
	}
	if !d.ended {
		d.ended, d.draining = true, d.onTheWay()
	}
	return !d.draining
}

// onTheWay reports whether packets are in flight of flows that have ended at the sender only. Hosts without a network
// (Edge) assume so until the time outside after the last end.
func (d *drive) onTheWay() (found bool) {
	var open []bool // by flow
	for i := range d.config.Flows {
		if d.config.Flows[i].Size > 0 && d.hasFlow(i) && !d.isComplete(i) {
			if open == nil {
				open = make([]bool, len(d.config.Flows))
			}
			open[i] = true
		}
	}
	if open == nil {
		return false
	}
	if d.wiring == nil { // packets outside are unknown
		return d.now < d.lastFinish+outside
	}
	d.eachPacket(func(p *packet.Packet) {
		found = found || p.Kind == packet.Data && int(p.Flow) < len(open) && open[p.Flow]
	})
	return found
}

// executeEvents executes the events of links that are due and removes them from the schedule. It begins the stalls of
// hosts that are due, and schedules the next one.
func (d *drive) executeEvents() {
	for len(d.events) > 0 && d.events[0].At <= d.now {
		d.wiring.ApplyEvent(d.fabric, &d.events[0], d.now)
		d.events = d.events[1:]
	}
	for d.stalls.nextStall <= d.now {
		d.standStill(d.now, d.stalls.nextStall+d.config.Stalls.Length)
		d.stalls.scheduleNext()
	}
}

// nextStop returns the time up to which the fabric runs without a stop. It also starts the onsets that are due now.
func (d *drive) nextStop() unit.Time {
	until := min(d.end, d.limit)
	if !d.warm {
		until = min(until, d.config.Warmup)
	}
	if d.nextOnset <= d.now {
		d.observation.startOnsets(d.now)
		d.nextOnset = d.observation.nextOnset(d.now)
	}
	until = min(until, d.nextSample, d.nextLook, d.nextOnset, d.stalls.nextStall)
	if len(d.events) > 0 {
		until = min(until, d.events[0].At)
	}
	return until
}

// afterWindow is called by the fabric when all events before done are done. It gathers the records of threads, calls
// Progress and View, writes the trace, releases ended flows, and skips iterations that recur. It reports whether the
// fabric is to return early.
func (d *drive) afterWindow(done unit.Time) bool {
	c := d.config
	d.gatherThreads()
	if c.Progress != nil {
		c.Progress(Progress{done + d.recurring.skippedTime(), d.fabric.CountHops()})
	}
	if c.View != nil {
		c.View(&View{Time: done + d.recurring.skippedTime(), run: d.Simulation, left: d.recurring.skippedCounters()})
	}
	if c.Trace != nil {
		d.flushTrace(done)
	}
	if d.observation != nil {
		d.observation.settleOnsets(done)
	}
	if d.draining && !d.onTheWay() {
		d.draining, d.drained = false, true
		d.lastFinish = max(d.lastFinish, d.lastArrival)
		for i := range c.Flows {
			if s := d.receiverSlot(i); s != nil {
				d.lastFinish = max(d.lastFinish, s.counters.Last)
			}
		}
	}
	if d.recurring != nil {
		d.recurring.checkRecurrence(done)
	}
	if d.sweepDue() {
		d.sweepFlows()
	}
	switch {
	case c.Stopped != nil && c.Stopped():
		d.reason = outcome.Interrupted
		return true
	case d.isDone():
		return true
	}
	return d.again
}

// runDue takes the samples and runs the checks that are due now, when all earlier events are done. It returns false if
// the run ends.
func (d *drive) runDue() bool {
	if !d.warm && d.now == d.config.Warmup {
		d.beginMeasured()
	}
	if d.now == d.nextSample {
		d.takeSamples(d.now, d.now == d.end && d.now != d.config.Warmup)
		d.nextSample = d.watches.NextSample()
	}
	if d.now == d.nextLook {
		if d.nextLook += d.every; d.paused {
			if d.stuck = d.findDeadlock(); d.stuck != nil {
				d.reason = outcome.Deadlock
				return false
			}
		}
		if d.auditDue() && !d.runAudit() {
			return false
		}
		if d.unfinished > 0 && !d.hasPending() {
			d.reason = outcome.NoProgress
			return false
		}
	}
	return true
}

// beginMeasured begins the measured part: it stores the counters at now, and restarts the other measures.
func (d *drive) beginMeasured() {
	d.atWarmup = d.takeSnapshot(d.now)
	d.noteBefore()
	d.restartMeasures(d.now)
	d.warm = true
}
