package run

import (
	"runtime"
	"sync"
	"time"

	"weir/core/unit"
	"weir/study/plan"
	"weir/worlds/sim"
)

// Progress is the progress of an execution.
type Progress struct {
	Runs, Done int
	Share      float64   // estimated share of the work
	PacketHops uint64    // of the runs executed so far in the simulator
	Time       unit.Time // simulated time of the earliest unfinished run; 0 for the lab
}

// Observer observes a run.
type Observer interface {
	ObserveWindow(v *sim.View) // called after each window, while the run waits; v is valid until it returns
	End(err error)             // called once; nil: the run has finished
}

// progressFunc receives the progress of one run: the simulator's report and the estimated share of the run.
type progressFunc func(s sim.Progress, share float64)

// minInterval is the minimum interval between reports.
const minInterval = 100 * time.Millisecond

// newReporter returns a function that reports a run's progress to the function report, at most once per minInterval by
// the given clock. If the run ends with its flows rather than after its duration, the share follows from the
// packet-hops and plan.EstimateHops's guess of their number.
func newReporter(r *plan.Run, c *sim.Config, clock func() time.Time, report progressFunc) func(p sim.Progress) {
	last, all := clock(), 0.0
	return func(p sim.Progress) {
		now := clock()
		if now.Sub(last) < minInterval {
			return
		}
		last = now
		share := p.Time.Seconds() / c.Duration.Seconds()
		if c.UntilDone {
			if all == 0 {
				all = max(plan.EstimateHops(r), 1)
			}
			share = max(share, min(float64(p.PacketHops)/all, maxGuessed))
		}
		report(p, share)
	}
}

// maxGuessed limits the share of an unfinished run that a guess may report.
const maxGuessed = 0.99

// progress sums up the progress of all runs.
type progress struct {
	mu     sync.Mutex
	report func(Progress)
	now    Progress
	shares []float64
	each   []sim.Progress
	over   []bool
}

// newProgress returns a progress without runs. The function report may be nil.
func newProgress(report func(Progress)) *progress { return &progress{report: report} }

// setTotals sets the number of all runs, and the number that have to be executed; the others count as done. New runs to
// execute follow the earlier ones, so todo never decreases.
func (p *progress) setTotals(runs, todo int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	more := todo - len(p.shares)
	p.now.Done += runs - p.now.Runs - more
	p.now.Runs = runs
	p.shares = append(p.shares, make([]float64, more)...)
	p.each = append(p.each, make([]sim.Progress, more)...)
	p.over = append(p.over, make([]bool, more)...)
}

// update updates the progress of run k, an index into the runs to execute, and reports the sum. A share above 1 counts
// as 1.
func (p *progress) update(k int, s sim.Progress, share float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shares[k] = min(share, 1)
	p.now.PacketHops += s.PacketHops - p.each[k].PacketHops
	p.each[k] = s
	p.reportSum()
}

// reportSum reports the sum of all runs. The caller holds the lock.
func (p *progress) reportSum() {
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

// finishRun marks run k as finished, also if it failed, and reports the sum.
func (p *progress) finishRun(k int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now.Done++
	p.shares[k], p.over[k] = 1, true
	p.reportSum()
}

// currentTime returns the time on the clock of reports.
func (o *Options) currentTime() time.Time {
	if o.clock == nil {
		return time.Now()
	}
	return o.clock()
}

// threadsPerRun returns the number of threads per run if the given number of runs execute at a time: Options.Threads,
// or else an equal share of the cores, at least 1.
func (o *Options) threadsPerRun(runs int) int {
	if o.Threads > 0 {
		return o.Threads
	}
	return max(runtime.GOMAXPROCS(0)/runs, 1)
}
