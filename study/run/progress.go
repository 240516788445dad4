package run

import (
	"runtime"
	"sync"
	"time"

	"weir/core/unit"
	"weir/study/plan"
	"weir/worlds/sim"
)

// Progress is how far an execution is.
type Progress struct {
	Runs, Done int
	Share      float64   // of all that had to be carried out, about
	PacketHops uint64    // of the runs that were carried out or are under way, in the simulator
	Time       unit.Time // in the run that has begun first and is not done; 0: the lab has it
}

// Observer looks on at a run.
type Observer interface {
	Look(v *sim.View) // after every execution window, while the run waits; v is good until it returns
	End(err error)    // once; nil: the run is finished
}

// howFar tells of one run: what the simulator says of it, and its share of the run, about.
type howFar func(s sim.Progress, share float64)

// often is how much time passes between two reports.
const often = 100 * time.Millisecond

// reporter reports how far a run is, at most once in the time of often by the given clock. A run lasts for its
// duration, or until its flows are done: how far that is, packet-hops show, whose number plan.Estimate guesses.
func reporter(r *plan.Run, c *sim.Config, clock func() time.Time, to howFar) func(p sim.Progress) {
	last, all := clock(), 0.0
	return func(p sim.Progress) {
		now := clock()
		if now.Sub(last) < often {
			return
		}
		last = now
		share := p.Time.Seconds() / c.Duration.Seconds()
		if c.UntilDone {
			if all == 0 {
				all = max(plan.Estimate(r), 1)
			}
			share = max(share, min(float64(p.PacketHops)/all, mostGuessed))
		}
		to(p, share)
	}
}

// mostGuessed is the share of a run that a guess says is done at most.
const mostGuessed = 0.99

// progress adds up what the workers report.
type progress struct {
	mu     sync.Mutex
	report func(Progress)
	now    Progress
	shares []float64
	each   []sim.Progress
	over   []bool
}

func newProgress(report func(Progress)) *progress { return &progress{report: report} }

// grow has so many runs in all, of which so many have to be carried out: the ones before and others behind them.
func (p *progress) grow(runs, todo int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	more := todo - len(p.shares)
	p.now.Done += runs - p.now.Runs - more
	p.now.Runs = runs
	p.shares = append(p.shares, make([]float64, more)...)
	p.each = append(p.each, make([]sim.Progress, more)...)
	p.over = append(p.over, make([]bool, more)...)
}

// at notes how far run k is.
func (p *progress) at(k int, s sim.Progress, share float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shares[k] = min(share, 1)
	p.now.PacketHops += s.PacketHops - p.each[k].PacketHops
	p.each[k] = s
	p.tell()
}

// tell reports what there is.
func (p *progress) tell() {
	sum := 0.0
	p.now.Time = 0
	for k, s := range p.shares {
		if sum += s; p.now.Time == 0 && !p.over[k] {
			p.now.Time = p.each[k].Time
		}
	}
	p.now.Share = sum / float64(len(p.shares))
	if p.report != nil {
		p.report(p.now)
	}
}

// done notes that run k is.
func (p *progress) done(k int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now.Done++
	p.shares[k], p.over[k] = 1, true
	p.tell()
}

// now returns the time on the clock of reports.
func (o *Options) now() time.Time {
	if o.clock == nil {
		return time.Now()
	}
	return o.clock()
}

// threads returns the number of threads per run if the given number of runs execute at a time.
func (o *Options) threads(runs int) int {
	if o.Threads > 0 {
		return o.Threads
	}
	return max(runtime.GOMAXPROCS(0)/runs, 1)
}
