package sim

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"weir/core/fabric/timerheap"
	"weir/core/fabric/wiring"
	"weir/core/jobs/job"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/unit"
	"weir/worlds/sim/recurrence"
)

// Iterations of a job are mostly alike. If the network is idle between two of them, and all of its state, relative to
// the current time, equals the state after the iteration before, the next iteration repeats the last one exactly. So it
// need not be run. The run continues with the last iterations, as it would after the skipped ones. These complete its
// counters and times.
//
// Between iterations, skipped or not, irrelevant state is normalised: the places of messages and endpoints that are
// over are free, and stale timers are removed.

// recurring finds iterations that recur.
type recurring struct {
	drive   *drive
	program job.RecurringProgram
	over    int // finished iterations at the last check
	report  outcome.Repetition
	done    bool            // the search is over, and the network is only normalised
	failed  int             // comparisons that found a difference
	from    int             // finished iterations at which the next comparison is made
	before  [recent]*moment // after the last iterations, the latest first
	skipped *skipped

	// anchor is an earlier moment, by which longer cycles are found. It is kept for 1, 2, 4 … iterations, so that finally
	// it is in the cycle, and is kept for longer than that (Brent's cycle detection).
	anchor *moment
	stays  int
}

// recent is the number of the last moments with which a new one is compared. Under HULA iterations often alternate
// between two, since paths that the last one has used are worse for the next, or have cycles of 4 or 8.
const recent = 2

// moment is the state between two iterations.
type moment struct {
	over      int
	nextEvent unit.Time // time of the next event, by the run's clock
	state     *recurrence.Snapshot
	counts    counted
	passed    []job.RankTotals
}

// counted has the counters of a run at a moment.
type counted struct {
	ports        wiring.CounterSnapshot
	delays       []unit.Histogram
	tally        outcome.FrameTally
	times        unit.Histogram // of the job's messages
	carried      [][]outcome.RankCounters
	events, hops uint64
}

// skipped has the counters of the skipped iterations.
type skipped struct {
	n           uint64  // cycles
	first, last counted // before and after the cycle that they repeat
}

// newRecurring starts the search, or records in its report why no iteration can recur. It returns nil if the run has
// no job with alike iterations.
func (d *drive) newRecurring() *recurring {
	if d.jobs == nil {
		return nil
	}
	program, alike := d.jobs.list[0].config.Program.(job.RecurringProgram)
	x := &recurring{drive: d, program: program}
	switch {
	case !alike || x.iterationCount() < 2:
		return nil
	case len(d.jobs.list) > 1:
		x.giveUp("there are several jobs, with iterations that do not end together")
	case !d.config.SkipRepeated:
		x.giveUp("the experiment requires that each iteration is simulated")
	case !d.config.RestartDraws: // then the state need not be read
		x.giveUp("number of messages: their random numbers continue with it (draws: running)")
	default:
		if x.checkConfig(); x.iterationCount()-program.Ahead() < 3 {
			x.giveUp("there are too few iterations")
		}
		if !x.done {
			x.report.Why = "the network was never idle between two iterations"
		}
	}
	return x
}

// giveUp ends the search, and records why no iteration recurs unless a reason is recorded.
func (x *recurring) giveUp(format string, arguments ...any) {
	if x.done = true; x.report.Why == "" {
		x.report.Why = fmt.Sprintf(format, arguments...)
	}
}

// checkConfig gives up if a property of the configuration prevents skipping iterations.
func (x *recurring) checkConfig() {
	c := x.drive.config
	switch {
	case len(c.Watches) > 0:
		x.giveUp("a series is recorded, which samples the network during iterations")
	case c.Trace != nil:
		x.giveUp("packets are traced")
	case c.Jobs[0].Timeline != nil:
		x.giveUp("a timeline is recorded")
	case x.drive.observation != nil:
		x.giveUp("a measure observes single packets")
	case c.Stalls.Length > 0:
		x.giveUp("hosts stall at random")
	case c.Steers || c.Usage:
		x.giveUp("a measure observes the work of the switches' programs")
	case c.OnPFC != nil:
		x.giveUp("each pause is recorded")
	}
	if _, ok := c.MessageEndpointFactory.(persistentEndpointFactory); !ok {
		x.giveUp("the factory of message endpoints does not declare their persistent state")
	}
	for i := range c.Wiring.Switches {
		if c.Wiring.Switches[i].Clock.Drift != 0 {
			x.giveUp("clocks of switches drift")
		}
	}
}

// iterationCount returns the number of iterations of the job, by the first rank's operations.
func (x *recurring) iterationCount() int { return x.program.Ops(0, 0) / x.program.Each(0, 0) }

// checkRecurrence is called when all events before now are done. If the network is idle after another iteration, it
// normalises the network, restarts random draws if the configuration requires it, and skips iterations if they recur.
// It also moves the run's next check (lookFrom).
func (x *recurring) checkRecurrence(now unit.Time) {
	r := x.drive.Simulation
	over := r.jobs.list[0].tally.CountOver()
	if len(r.jobs.list) > 1 || over == x.over || r.unfinished != 1 || r.livePackets() > 0 || !r.releaseFinished() {
		return
	}
	r.fabric.Normalize()
	if r.config.RestartDraws {
		r.wiring.Restart()
		r.jobs.number = 0
	}
	x.drive.lookFrom(r.fabric.NextEvent())
	x.over = over
	if over < x.from {
		x.before = [recent]*moment{}
	} else if !x.done && over+x.program.Ahead() < x.iterationCount() {
		x.compareState(now)
	}
}

// releaseFinished releases all state of messages that are over, also their places in the lists of flows. It returns
// false, after a sweep only, if a message or an endpoint is still active. All nodes must have reached the same time.
func (r *Simulation) releaseFinished() bool {
	r.sweepFlows()
	x := r.jobs
	if len(x.free) < len(x.message) {
		return false
	}
	for _, h := range r.hosts {
		if h != nil && (len(h.unused) < len(h.slot) || h.ready >= 0 || len(h.held) > 0 || len(h.kept) > 0) {
			return false
		}
	}
	for _, h := range r.hosts {
		if h != nil {
			h.forgetEndpoints()
		}
	}
	n := r.listed
	r.config.Flows, r.sender, r.receiver, r.outcome = r.config.Flows[:n], r.sender[:n], r.receiver[:n], r.outcome[:n]
	x.message, x.free = x.message[:0], x.free[:0]
	r.finished = 0
	r.sweepAfter(len(r.linkOf))
	return true
}

// forgetEndpoints removes released endpoints, which all of the host must be, and their timers. Flows that are to begin
// stay.
func (h *host) forgetEndpoints() {
	h.slot, h.unused, h.finished = h.slot[:0], h.unused[:0], h.finished[:0]
	left := h.sends
	h.sends, h.timers = timerheap.Heap{}, timerheap.Heap{}
	for left.FirstTime() != unit.Never {
		if e := left.Take(); int32(e.Key) == pending {
			h.sends.Push(e)
		}
	}
	h.setTimer()
}

// compareState stores the current state, compares it with those after earlier iterations, and skips iterations if they
// recur. Otherwise it records the reason in the report. It normalises the switches. The network must be idle.
func (x *recurring) compareState(now unit.Time) {
	r := x.drive.Simulation
	before, anchor := x.before, x.anchor
	x.before, x.anchor = [recent]*moment{}, nil
	switch next := r.fabric.NextEvent(); {
	case next == unit.Never:
		return
	case !x.drive.warm:
		x.report.Why = "the warm-up lasts too long"
		return
	case len(x.drive.events) > 0: // an event of a link would belong to one iteration
		x.report.Why = "an event is pending"
		return
	}
	j := &r.jobs.list[0]
	m := &moment{over: x.over, nextEvent: r.fabric.NextEvent()}
	m.counts = r.readCounters(m.nextEvent)
	for _, k := range j.ranks {
		m.passed = append(m.passed, k.TotalsSoFar())
	}
	for i, was := range before {
		if was != nil && was.over != x.over-1-i {
			before[i] = nil
		}
	}
	for _, sw := range r.switches {
		if sw != nil {
			sw.Normalize(m.nextEvent)
		}
	}
	copy(x.before[1:], before[:])
	x.before[0] = m
	x.anchor = anchor
	was, differs := x.findSame(m, append(before[:], anchor))
	if x.anchor == nil || m.over-x.anchor.over >= x.stays {
		x.anchor, x.stays = m, max(2*x.stays, 1)
	}
	if before[0] == nil && x.report.Words == 0 {
		differs = "the network was idle only once between two consecutive iterations"
	}
	if x.report.Words = m.state.Words(); was == nil && before[0] == nil {
		x.report.Why = cmp.Or(differs, x.report.Why)
		return
	}
	if x.report.Why = differs; differs != "" {
		x.recordDifference()
		return
	}
	if !j.tally.IsEven() {
		x.report.Why = "an iteration begins before the previous one ends"
		return
	}
	cycle := m.over - was.over
	if n := x.skippable(now, m.nextEvent-was.nextEvent, cycle); n > 0 {
		x.skipIterations(n, cycle, was, m)
		return
	}
	x.report.Why = "too few iterations remain when the first one recurs"
}

// findSame reads the state of a moment into m. It returns the first of the earlier moments with the same state, or
// the difference from the first of them. With a same state, differs names a value in steps that prevents skipping, if
// there is one.
func (x *recurring) findSame(m *moment, before []*moment) (same *moment, differs string) {
	r := x.drive.Simulation
	for i, was := range before {
		if was == nil || slices.Contains(before[:i], was) {
			continue
		}
		var word string
		m.state, word = recurrence.TakeSnapshot(r.stateRoots(m.nextEvent), m.nextEvent, was.state)
		if word == "" {
			return was, r.unevenGrain(m.nextEvent-was.nextEvent, was, m)
		}
		differs = cmp.Or(differs, word)
	}
	if m.state == nil {
		m.state, _ = recurrence.TakeSnapshot(r.stateRoots(m.nextEvent), m.nextEvent, nil)
	}
	return nil, differs
}

// usual is the number of comparisons that may fail before they become rarer.
const usual = 16

// recordDifference makes comparisons rarer the more often the state has differed, since reading it takes about as long
// as a packet for each port.
func (x *recurring) recordDifference() {
	if x.failed++; x.failed > usual {
		x.from = x.over + x.failed
	}
}

// skippable returns the number of iterations that can be skipped in whole cycles, so that all ranks keep the operations
// that they look ahead at, and the run its end; 0 or below: no iteration. period is the time of a cycle of cycle
// iterations.
func (x *recurring) skippable(now, period unit.Time, cycle int) int {
	n := x.iterationCount() - x.over - x.program.Ahead()
	for _, k := range x.drive.jobs.list[0].ranks {
		n = min(n, k.MaxSkip(x.program))
	}
	cycles := n / cycle
	if left := (x.drive.end - now) / period; unit.Time(cycles) >= left { // the run ends earlier
		cycles = int(left) - 1
	}
	return cycles * cycle
}

// skipIterations skips n iterations, in whole cycles of the given number of iterations from was to now. It updates the
// ranks, the job's tally, the report and the end of the run, and ends the search.
func (x *recurring) skipIterations(n, cycle int, was, now *moment) {
	r := x.drive.Simulation
	j := &r.jobs.list[0]
	period := now.nextEvent - was.nextEvent
	for k, rank := range j.ranks {
		rank.SkipIterations(x.program, n, cycle, was.passed[k], now.passed[k])
	}
	j.tally.SkipIterations(n, cycle, period)
	x.report = outcome.Repetition{Iterations: n, First: x.over, Cycle: cycle, Period: period, Words: now.state.Words()}
	x.skipped = &skipped{uint64(n / cycle), was.counts, now.counts}
	x.over += n
	x.drive.end -= x.skippedTime()
	x.drive.again = true
	x.done, x.before, x.anchor = true, [recent]*moment{}, nil
}

// lookFrom sets the next check of the run to a fixed time after next, when the next event happens. Windows of the
// fabric end at checks, so they are the same, relative to that time, in each iteration.
func (d *drive) lookFrom(next unit.Time) {
	if next < unit.Never-d.every {
		d.nextLook, d.again = next+d.every, true
	}
}

// skippedTime returns the time of the skipped iterations, which the run's clock does not include. x may be nil.
func (x *recurring) skippedTime() unit.Time {
	if x == nil || x.report.Iterations == 0 {
		return 0
	}
	return unit.Time(x.report.Iterations/x.report.Cycle) * x.report.Period
}

// SurveyState examines the types of the network's current state, and reports what prevents it from ever recurring.
// Packets and endpoints are left out, since iterations do not share them. It can test programs for switches: run one,
// and expect no faults.
func (r *Simulation) SurveyState() recurrence.Survey {
	return recurrence.NewSurvey(r.stateRoots(0), reflect.TypeFor[packet.Packet](), reflect.TypeFor[slot]())
}

// stateRoots returns the roots of the state of the network and of the first job at now.
func (r *Simulation) stateRoots(now unit.Time) []recurrence.Root {
	all := r.networkRoots()
	if r.jobs == nil {
		return all
	}
	j := &r.jobs.list[0]
	all = append([]recurrence.Root{{Name: "number of messages", Value: &r.jobs.number}}, all...)
	if lasting, ok := r.config.MessageEndpointFactory.(persistentEndpointFactory); ok {
		all = append(all, recurrence.Root{Name: "traffic", Value: lasting.State()})
	}
	all = append(all, recurrence.Root{Name: "barrier of the job", Words: func(word func(name string, value int64)) {
		word("ranks that wait", int64(j.barrier.CountWaiting()))
	}})
	for i, k := range j.ranks {
		all = append(all, recurrence.Root{Name: fmt.Sprintf("rank %d", i),
			Words: func(word func(name string, value int64)) { k.VisitState(now, word) }})
	}
	return all
}

// networkRoots returns the roots at hosts, switches and links.
func (r *Simulation) networkRoots() (all []recurrence.Root) {
	c := r.config
	for i, h := range r.hosts {
		if h != nil {
			all = append(all, recurrence.Root{Name: r.nicName(i), Value: h})
		}
	}
	for i, sw := range r.switches {
		if sw != nil {
			all = append(all, recurrence.Root{Name: c.Wiring.Network.Nodes[i].Name, Value: sw})
		}
	}
	return append(all, recurrence.Root{Name: "network", Value: r.fabric})
}

// nicName returns the name of a NIC by its number: a host's only NIC has the host's name.
func (r *Simulation) nicName(nic int) string {
	node := r.nics.HostOf(nic)
	name := r.config.Wiring.Network.Nodes[node].Name
	if r.nics.CountOf(node) > 1 {
		name += fmt.Sprintf(" NIC %d", r.nics.PortOf(nic))
	}
	return name
}

// unevenGrain names a value read in steps that has not moved by whole steps in a period; "": all have.
func (r *Simulation) unevenGrain(period unit.Time, was, now *moment) string {
	c := r.config
	for i := range c.Jobs {
		lasting, ok := c.MessageEndpointFactory.(persistentEndpointFactory)
		if !ok {
			break
		}
		if t := lasting.Tick(c.Jobs[i].Group); t > 0 && period%t != 0 {
			return fmt.Sprintf("time stamps of the transport, or its controller's clock: the period of %v is not a "+
				"multiple of their tick of %v", period, t)
		}
	}
	for i := range c.Wiring.Switches {
		if t := c.Wiring.Switches[i].Clock.Resolution; t > 0 && period%t != 0 {
			return fmt.Sprintf("clock of %s: the period of %v is not a multiple of its resolution of %v",
				c.Wiring.Network.Nodes[i].Name, period, t)
		}
	}
	if c.Wiring.Telemetry == nil {
		return ""
	}
	stamp, bytes := c.Wiring.Telemetry.FieldUnits()
	if stamp > 0 && period%stamp != 0 {
		return fmt.Sprintf("time stamps of telemetry: the period of %v is not a multiple of their tick of %v",
			period, stamp)
	}
	if bytes > 1 {
		if i := now.counts.ports.FindUneven(&was.counts.ports, bytes); i >= 0 {
			d := r.linkOf[i]
			return fmt.Sprintf("bytes sent by %s, which only grow: telemetry has them in units of %d B, and an iteration "+
				"is not a multiple of these", c.Wiring.Network.PortName(d.Link, d.End), bytes)
		}
		for _, d := range r.linkOf {
			if d.OfSwitch && r.portOf(d).HasShares() {
				return fmt.Sprintf("bytes of classes sent by %s, which only grow: telemetry has them in units of %d B",
					c.Wiring.Network.PortName(d.Link, d.End), bytes)
			}
		}
	}
	return ""
}

// readCounters returns the counters at now. No thread may be running.
func (r *Simulation) readCounters(now unit.Time) counted {
	delays, tally, _ := r.mergeThreads()
	c := counted{ports: r.takeSnapshot(now), delays: delays, tally: tally, events: r.fabric.CountEvents(),
		hops: r.fabric.CountHops()}
	if r.jobs != nil {
		c.times.Merge(&r.jobs.list[0].times)
		c.carried = r.rankCounters()
	}
	return c
}

// shiftTimes adds the time of the skipped iterations to the times in a result that are by the run's clock. x may be
// nil.
func (x *recurring) shiftTimes(out *outcome.Result) {
	for i := range out.Stuck {
		out.Stuck[i].Since += x.skippedTime()
	}
	for i := range out.Waits {
		if w := &out.Waits[i]; w.Until != unit.Never {
			w.Until += x.skippedTime()
		}
	}
	for _, waits := range out.JobWaits {
		for i := range waits {
			if w := &waits[i]; w.Until != unit.Never {
				w.Until += x.skippedTime()
			}
		}
	}
}

// skippedCounters returns the counters of the skipped iterations; nil: no iteration was skipped. x may be nil.
func (x *recurring) skippedCounters() *skipped {
	if x == nil {
		return nil
	}
	return x.skipped
}

// addPort adds the counters of the skipped iterations to the counters p of port i.
func (s *skipped) addPort(i int, p *PortView) {
	first, last := s.first.ports.Port(i), s.last.ports.Port(i)
	p.SentBytes += s.n * (last.TxBytes - first.TxBytes)
	p.Drops += s.n * (last.Lost - first.Lost)
	for k := range last.Drops {
		p.Drops += s.n * (last.Drops[k] - first.Drops[k])
	}
}

// completeCounters adds the counters of the skipped iterations to c, and to the closed counters and message times of
// the first job. It has no effect if no iteration was skipped, or x is nil. It must be called once.
func (x *recurring) completeCounters(c *counted) {
	if x == nil || x.skipped == nil {
		return
	}
	s := x.skipped
	c.ports.AddRepeated(s.n, &s.first.ports, &s.last.ports)
	for i := range c.delays {
		c.delays[i].AddRepeated(s.n, &s.first.delays[i], &s.last.delays[i])
	}
	for k := range x.drive.closedCounters[0] {
		x.drive.closedCounters[0][k].AddRepeated(int64(s.n), &s.first.carried[0][k], &s.last.carried[0][k])
	}
	x.drive.jobs.list[0].times.AddRepeated(s.n, &s.first.times, &s.last.times)
	c.tally = addRepeated(c.tally, s.n, &s.first.tally, &s.last.tally)
	c.events += s.n * (s.last.events - s.first.events)
	c.hops += s.n * (s.last.hops - s.first.hops)
}

// addRepeated returns tally t plus n times the difference of two others.
func addRepeated(t outcome.FrameTally, n uint64, first, last *outcome.FrameTally) outcome.FrameTally {
	for k := range t.Kinds {
		t.Kinds[k] += n * (last.Kinds[k] - first.Kinds[k])
	}
	t.Payload += n * (last.Payload - first.Payload)
	t.Extensions += n * (last.Extensions - first.Extensions)
	return t
}
