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
	stop     func(done unit.Time) bool // method value of asked, made once
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
	busy      int    // the host that pending last found
	nextAudit uint64 // packet-hops
	violation string // text of the violation, with Violated
	recurring *recurring
	again     bool // how far the fabric runs must be computed again
}

// Run runs the simulation to its end. It must be called only once. It stops the fabric at the end of the warm-up and at
// every sample, so that measures are taken at an exact time.
func (r *Simulation) Run() *outcome.Result {
	if len(r.threads) > 1 {
		r.group = parallel.New(len(r.threads), r.config.Yields, r.fabric.Events)
		defer r.group.End()
	}
	d := r.newDrive()
	for d.now < d.end && d.step() {
	}
	if r.unfinished > 0 && (d.reason == outcome.TimeUp || d.reason == outcome.NoProgress) {
		if d.stuck = r.deadlock(); d.stuck != nil {
			d.reason = outcome.Deadlock
		} else if d.stuck = r.starved(d.now); d.stuck != nil {
			d.reason = outcome.Starved
		}
	}
	if !d.warm {
		d.measure() // it ended before the measured part began
	}
	if r.config.Trace != nil {
		r.flush(unit.Never)
	}
	if d.reason != outcome.Violated {
		d.audit()
	}
	var strays []outcome.Stray
	if d.reason == outcome.TimeUp || d.reason == outcome.NoProgress || d.reason == outcome.AllDone {
		if strays = r.misdelivered(); strays != nil {
			d.reason = outcome.Misdelivered
		}
	}
	out := d.result(d.reason, d.now)
	out.Stuck, out.Violation, out.Strays = d.stuck, d.violation, strays
	if out.Waits = nil; d.reason != outcome.AllDone {
		out.Waits = r.waits(d.now, out.Unfinished)
		for i := range out.Jobs {
			out.JobWaits = append(out.JobWaits, r.messageWaits(i, d.now))
		}
	}
	d.recurring.late(out)
	return out
}

// newDrive returns the run at its start.
func (r *Simulation) newDrive() *drive {
	c := r.config
	every := max(unit.Millisecond, c.Duration/10_000)
	d := &drive{
		Simulation: r, end: c.Duration, limit: unit.Never, stopping: unit.Never, reason: outcome.TimeUp, warm: c.Warmup == 0,
		events: r.events, stalls: newStalling(c), nextSample: r.watches.Next(), nextOnset: r.observation.nextOnset(-1),
		every: every, nextLook: every,
	}
	d.stop = d.asked
	d.recurring = d.newRecurring()
	return d
}

// step advances to the next time at which an event outside the fabric is due; false: the run ends.
func (d *drive) step() bool {
	if c := d.config; c.Stopped != nil && c.Stopped() { // the fabric asks only if it has events
		d.reason = outcome.Interrupted
		return false
	}
	d.happen()
	if d.done() {
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
	until := d.until()
	if d.now < until {
		d.fabric.Run(until, d.stop)
	}
	if d.reason == outcome.Interrupted {
		d.now = min(until, max(d.now, d.fabric.Next()))
		return false
	}
	if d.again {
		d.again = false
		return true
	}
	if d.done() {
		return true // decide where to cut, also if there is no further event before until
	}
	d.now = until
	return d.runDue()
}

// done reports whether all flows have ended, and the end of the run is not decided yet. A sender without answers has
// ended when it has sent all its data; the packets then in flight are waited for.
func (d *drive) done() bool {
	if !d.config.UntilDone || d.unfinished > 0 || d.stopping != unit.Never {
		return false
	}
	if !d.ended {
		d.ended, d.draining = true, d.onTheWay()
	}
	return !d.draining
}

// onTheWay reports whether packets are in flight of flows that have ended at the sender only.
func (d *drive) onTheWay() (found bool) {
	var open []bool // by flow
	for i := range d.config.Flows {
		if d.config.Flows[i].Size > 0 && d.carries(i) && !d.complete(i) {
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
	d.each(func(p *packet.Packet) {
		found = found || p.Kind == packet.Data && int(p.Flow) < len(open) && open[p.Flow]
	})
	return found
}

// happen executes the events of links and hosts that are due.
func (d *drive) happen() {
	for len(d.events) > 0 && d.events[0].At <= d.now {
		d.wiring.Happen(d.fabric, &d.events[0], d.now)
		d.events = d.events[1:]
	}
	for d.stalls.at <= d.now {
		d.standStill(d.now, d.stalls.at+d.config.Stalls.Length)
		d.stalls.next()
	}
}

// until returns the time up to which the fabric runs without a stop.
func (d *drive) until() unit.Time {
	until := min(d.end, d.limit)
	if !d.warm {
		until = min(until, d.config.Warmup)
	}
	if d.nextOnset <= d.now {
		d.observation.startOnsets(d.now)
		d.nextOnset = d.observation.nextOnset(d.now)
	}
	until = min(until, d.nextSample, d.nextLook, d.nextOnset, d.stalls.at)
	if len(d.events) > 0 {
		until = min(until, d.events[0].At)
	}
	return until
}

// asked is called by the fabric when all events before done are done. It reports whether the fabric is to return early.
func (d *drive) asked(done unit.Time) bool {
	c := d.config
	d.gather()
	if c.Progress != nil {
		c.Progress(Progress{done + d.recurring.shift(), d.fabric.Hops()})
	}
	if c.View != nil {
		c.View(&View{Time: done + d.recurring.shift(), run: d.Simulation, left: d.recurring.left()})
	}
	if c.Trace != nil {
		d.flush(done)
	}
	if d.observation != nil {
		d.observation.settle(done)
	}
	if d.draining && !d.onTheWay() {
		d.draining, d.drained = false, true
		d.lastFinish = max(d.lastFinish, d.lastArrival)
		for i := range c.Flows {
			if s := d.got(i); s != nil {
				d.lastFinish = max(d.lastFinish, s.counters.Last)
			}
		}
	}
	if d.recurring != nil {
		d.recurring.checkRecurrence(done)
	}
	if d.sweepDue() {
		d.sweep()
	}
	switch {
	case c.Stopped != nil && c.Stopped():
		d.reason = outcome.Interrupted
		return true
	case d.done():
		return true
	}
	return d.again
}

// runDue takes the samples and runs the checks that are due now, when all earlier events are done. It returns false if
// the run ends.
func (d *drive) runDue() bool {
	if !d.warm && d.now == d.config.Warmup {
		d.measure()
	}
	if d.now == d.nextSample {
		d.sample(d.now, d.now == d.end && d.now != d.config.Warmup)
		d.nextSample = d.watches.Next()
	}
	if d.now == d.nextLook {
		if d.nextLook += d.every; d.paused {
			if d.stuck = d.deadlock(); d.stuck != nil {
				d.reason = outcome.Deadlock
				return false
			}
		}
		if d.auditDue() && !d.audit() {
			return false
		}
		if d.unfinished > 0 && !d.pending() {
			d.reason = outcome.NoProgress
			return false
		}
	}
	return true
}

// measure begins the measured part.
func (d *drive) measure() {
	d.atWarmup = d.snapshot(d.now)
	d.noteBefore()
	d.restart(d.now)
	d.warm = true
}
