package parallel

import "time"

// pace decides whether a run continues with all its threads or with one (New). It tries both in turns and keeps the
// mode with less time for an event: where others use the cores a window takes as long as the thread without a core, and
// where windows are small the barrier costs more than it saves. It tries again from time to time, the more rarely the
// longer the decision was the same.
type pace struct {
	current    mode
	chosen     mode
	trial      int // stretches until the decision; 0: no trial
	length     time.Duration
	stay       time.Duration
	since      time.Time // the beginning of this stretch
	before     uint64    // events until then
	lastEvents uint64    // events when the clock was read last
	spent      [2]time.Duration
	events     [2]uint64
}

// mode is the number of threads: one or all.
type mode int

const (
	single mode = iota
	together
)

const (
	stretches   = 4 // of a trial: single, together, single, together
	stretch     = 10 * time.Millisecond
	minStay     = 200 * time.Millisecond
	maxStay     = 3200 * time.Millisecond
	enough      = 1.05 // all threads must be faster by this factor: they take more from others
	clockEvents = 2000 // events between looks at the clock
)

// newPace returns the pace at the start of the first trial.
func newPace(now time.Time) *pace {
	p := &pace{chosen: together, stay: minStay / 2}
	p.beginTrial(now)
	return p
}

// beginTrial begins a trial at now, with a stretch of one thread.
func (p *pace) beginTrial(now time.Time) {
	p.spent, p.events = [2]time.Duration{}, [2]uint64{}
	p.trial, p.since, p.length = stretches, now, stretch
	p.current = single
}

// recordEvents ends the stretch if it is over. events is the number of events so far. It reads the clock only every
// clockEvents events. It is called between windows.
func (p *pace) recordEvents(events uint64) {
	if events-p.lastEvents >= clockEvents {
		p.lastEvents = events
		p.endStretch(time.Now(), events)
	}
}

// endStretch ends the stretch if its time is over at now, and begins the next one: of a trial, or after the last one in
// the selected mode. events is as in recordEvents.
func (p *pace) endStretch(now time.Time, events uint64) {
	took := now.Sub(p.since)
	if took < p.length {
		return
	}
	p.spent[p.current] += took
	p.events[p.current] += events - p.before
	p.since, p.before = now, events
	if p.trial == 0 {
		p.beginTrial(now)
		return
	}
	if p.trial--; p.trial > 0 {
		p.current = 1 - p.current
		return
	}
	p.endTrial()
}

// endTrial ends a trial: it selects the mode, and the time until the next trial. That doubles, up to maxStay, while
// the mode stays the same.
func (p *pace) endTrial() {
	p.current = single
	if p.eventCost(together)*enough < p.eventCost(single) {
		p.current = together
	}
	if p.current == p.chosen {
		p.stay = min(2*p.stay, maxStay)
	} else {
		p.stay = minStay
	}
	p.chosen, p.length = p.current, p.stay
}

// eventCost returns the mean time of an event in a mode, in nanoseconds, during the trial.
func (p *pace) eventCost(m mode) float64 { return float64(p.spent[m]) / float64(max(p.events[m], 1)) }
