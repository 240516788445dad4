package parallel

import "time"

// pace decides whether a run goes on with all its threads or with one (New). It tries both in turns and stays
// with what takes less time for an event: where others use the cores a window takes as long as the thread that has
// lost its own, and where windows are small the barrier takes more than it brings. It looks again from time to time,
// the more rarely the longer it has decided the same.
type pace struct {
	at     mode
	chosen mode
	trial  int // stretches until it decides; 0: it has
	length time.Duration
	stay   time.Duration
	since  time.Time // the beginning of this stretch
	before uint64    // events until then
	seen   uint64    // events when the clock was read last
	spent  [2]time.Duration
	events [2]uint64
}

// mode is with how many threads a run goes on.
type mode int

const (
	single mode = iota
	together
)

const (
	stretches   = 4 // of a trial: alone, together, alone, together
	stretch     = 10 * time.Millisecond
	leastStay   = 200 * time.Millisecond
	mostStay    = 3200 * time.Millisecond
	enough      = 1.05 // all threads must be so many times as fast: they take more from others
	clockEvents = 2000 // events between looks at the clock
)

func newPace(now time.Time) *pace {
	p := &pace{chosen: together, stay: leastStay / 2}
	p.try(now)
	return p
}

// try begins a trial.
func (p *pace) try(now time.Time) {
	p.spent, p.events = [2]time.Duration{}, [2]uint64{}
	p.trial, p.since, p.length = stretches, now, stretch
	p.at = single
}

// passed notes how many events the run has carried out. It is called between windows.
func (p *pace) passed(events uint64) {
	if events-p.seen >= clockEvents {
		p.seen = events
		p.endStretch(time.Now(), events)
	}
}

// endStretch ends the stretch if its time is over, and begins the next one.
func (p *pace) endStretch(now time.Time, events uint64) {
	took := now.Sub(p.since)
	if took < p.length {
		return
	}
	p.spent[p.at] += took
	p.events[p.at] += events - p.before
	p.since, p.before = now, events
	if p.trial == 0 {
		p.try(now)
		return
	}
	if p.trial--; p.trial > 0 {
		p.at = 1 - p.at
		return
	}
	p.decide()
}

// decide ends a trial.
func (p *pace) decide() {
	p.at = single
	if p.cost(together)*enough < p.cost(single) {
		p.at = together
	}
	if p.at == p.chosen {
		p.stay = min(2*p.stay, mostStay)
	} else {
		p.stay = leastStay
	}
	p.chosen, p.length = p.at, p.stay
}

// cost is the time that an event takes.
func (p *pace) cost(m mode) float64 { return float64(p.spent[m]) / float64(max(p.events[m], 1)) }
