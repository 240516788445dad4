package job

import "weir/core/unit"

// Watch has the observers of a run, in addition to its outcome.
type Watch struct {
	Start   unit.Time // time at which the ranks of an Ideal network begin
	OnSpan  func(s Span)
	Stopped func(now unit.Time) bool // called from time to time; true ends the run
}

// Outcome is the result of a job's run.
type Outcome struct {
	Ranks      []RankOutcome
	Operations []Operation // collective operations, by number
	Iterations []Iteration
	Stuck      []Stuck // of the first ranks that have operations left
	Unfinished int     // number of ranks with operations left
	Left       int64   // operations that never began or ended
	WasCut     bool    // the run was ended while events were left
}

// RankOutcome is the result of a rank.
type RankOutcome struct {
	End       unit.Time // end of its last operation
	Computing unit.Time // time in which it computed
	Sent      unit.Bytes
	Messages  int64
	Done      bool
	Ended     int64     // number of iterations that ended
	Within    unit.Time // part of Computing until the last iteration ended
	Waited    unit.Time // time at barriers, until the last Wait ended
}

// Exposed returns the time before the rank's end in which it did not compute: it communicated or waited for others.
// Time at barriers is excluded.
func (r *RankOutcome) Exposed() unit.Time { return r.End - r.Computing - r.Waited }

// Operation is a collective operation: from its beginning at the first rank to its end at the last; unit.Never if it
// did not end.
type Operation struct{ Begin, End unit.Time }

// Iteration has the times at which an iteration ended at the first and at the last rank.
type Iteration struct {
	// Begin is the time at which all ranks began it together; unit.Never: the program has no barriers.
	Begin       unit.Time
	First, Last unit.Time
	Slowest     int32
	over        int32 // number of ranks at which it is over
}

// Stuck is an operation that did not end although all its dependencies were met, at a rank with waiting operations.
type Stuck struct {
	Rank   int
	At     Ref
	Op     Op
	Behind int64 // number of the rank's other operations that wait
}

// maxStuck is the maximum number of stuck operations in an outcome.
const maxStuck = 20

// Tally collects the outcome of a run.
type Tally struct {
	program    Program
	watch      *Watch
	operations []Operation
	iterations []Iteration
	begins     []unit.Time // of iterations that begin with a Wait, by number
	over       []int32
	ended      int       // number of iterations that are over (CountOver)
	shift      unit.Time // offset added to reported times (SkipIterations)
}

// NewTally returns an empty tally.
func NewTally(p Program, w *Watch) *Tally { return &Tally{program: p, watch: w} }

// Register registers the tally as the observer of a rank.
func (t *Tally) Register(r *Rank) { r.OnMark, r.OnSpan = t.noteMark, t.watch.OnSpan }

// noteMark records the end at the time at of an operation with mark m, which is about operation or iteration number
// part.
func (t *Tally) noteMark(rank int, m Mark, part int32, at unit.Time) {
	at += t.shift
	switch m {
	case Begins:
		if len(t.begins) <= int(part) { // all ranks begin it at this time
			t.begins = append(t.begins, at)
		}
		return
	case Iterates:
		for len(t.iterations) <= int(part) {
			t.iterations = append(t.iterations, Iteration{Begin: unit.Never, First: unit.Never, Last: -1})
		}
		x := &t.iterations[part]
		x.First = min(x.First, at)
		if at > x.Last || at == x.Last && int32(rank) < x.Slowest {
			x.Last, x.Slowest = at, int32(rank)
		}
		x.over++
		return
	}
	for len(t.operations) <= int(part) {
		t.operations = append(t.operations, Operation{Begin: unit.Never, End: unit.Never})
		t.over = append(t.over, 0)
	}
	x := &t.operations[part]
	switch m {
	case Opens:
		x.Begin = min(x.Begin, at)
	case Closes:
		if t.over[part] == 0 {
			x.End = 0
		}
		t.over[part]++
		x.End = max(x.End, at)
	}
}

// Outcome returns the outcome of the ranks. Iterations that are not over at all ranks do not count.
func (t *Tally) Outcome(ranks []*Rank) (o Outcome) {
	o.Operations = t.operations
	parts := int32(0) // number of lanes that report each operation
	for r := range t.program.Ranks() {
		parts += int32(t.program.Lanes(r) - 1)
	}
	for i := range o.Operations {
		if t.over[i] < parts {
			o.Operations[i].End = unit.Never
		}
	}
	for i, x := range t.iterations {
		if int(x.over) < t.program.Ranks() {
			break
		}
		if i < len(t.begins) {
			x.Begin = t.begins[i]
		}
		o.Iterations = append(o.Iterations, x)
	}
	for _, r := range ranks {
		o.Ranks = append(o.Ranks, RankOutcome{r.last + t.shift, r.computed, r.sent, r.messages, r.IsDone(),
			r.ended, r.within, r.waited})
		if r.IsDone() {
			continue
		}
		o.Unfinished++
		o.Left += r.frontier.CountLeft()
		if len(o.Stuck) < maxStuck {
			if s, found := r.findStuck(); found {
				o.Stuck = append(o.Stuck, s)
			}
		}
	}
	return o
}

// findStuck returns the first loaded operation that has not ended and has no unmet dependency, and the number of the
// rank's others.
func (r *Rank) findStuck() (s Stuck, found bool) {
	s.Behind = r.frontier.CountLeft() - 1
	r.frontier.visitOpen(func(at Ref, missing int) {
		if missing == 0 && !found {
			s.Rank, s.At, s.Op, found = r.Number, at, r.program.Op(r.Number, at), true
		}
	})
	return s, found
}
