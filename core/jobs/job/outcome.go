package job

import "weir/core/unit"

// Watch is who looks at a run, beside its outcome.
type Watch struct {
	Start   unit.Time // when the ranks of an Ideal network begin
	OnSpan  func(s Span)
	Stopped func(now unit.Time) bool // asked now and then; true ends the run
}

// Outcome is what a run of a job gives.
type Outcome struct {
	Ranks      []RankOutcome
	Operations []Operation // collective operations, by number
	Iterations []Iteration
	Stuck      []Stuck // of the first ranks that have not done all
	Unfinished int     // ranks
	Left       int64   // operations that never began or ended
	Cut        bool    // the run was ended before nothing more could happen
}

// RankOutcome is what became of a rank.
type RankOutcome struct {
	End       unit.Time // when an operation of it ended last
	Computing unit.Time // in which it computed
	Sent      unit.Bytes
	Messages  int64
	Done      bool
	Ended     int64     // iterations
	Within    unit.Time // of Computing, until the last of these ended
	Waited    unit.Time // at barriers, until the last Wait ended
}

// Exposed returns how long the rank did not compute before its end: it communicated, or waited for others. Time at
// barriers is excluded.
func (r *RankOutcome) Exposed() unit.Time { return r.End - r.Computing - r.Waited }

// Operation is a collective operation: from when it began at the first rank until it was over at the last; unit.Never
// if it was not.
type Operation struct{ Begin, End unit.Time }

// Iteration is when an iteration was over at the first and at the last rank, and which that was.
type Iteration struct {
	// Begin is when all ranks began it together; unit.Never: the program has no barriers.
	Begin       unit.Time
	First, Last unit.Time
	Slowest     int32
	over        int32 // ranks
}

// Stuck is an operation that could begin and did not, or that has begun and did not end, of a rank behind which others
// wait.
type Stuck struct {
	Rank   int
	At     Ref
	Op     Op
	Behind int64 // operations of the rank that wait, too
}

// mostStuck is how many of them an outcome names.
const mostStuck = 20

// Tally gathers the outcome of a run.
type Tally struct {
	program    Program
	watch      *Watch
	operations []Operation
	iterations []Iteration
	begins     []unit.Time // of iterations that begin with a Wait, by number
	over       []int32
	ended      int       // iterations that are over (Over)
	shift      unit.Time // how much later things are than they say (Skip)
}

// NewTally begins one.
func NewTally(p Program, w *Watch) *Tally { return &Tally{program: p, watch: w} }

// Join has a rank tell it what it does.
func (t *Tally) Join(r *Rank) { r.OnMark, r.OnSpan = t.mark, t.watch.OnSpan }

// mark notes the end of an operation with a mark.
func (t *Tally) mark(rank int, m Mark, part int32, at unit.Time) {
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

// Outcome is what became of these ranks. Iterations that are not over everywhere do not count.
func (t *Tally) Outcome(ranks []*Rank) (o Outcome) {
	o.Operations = t.operations
	parts := int32(0) // that tell of each operation
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
		o.Ranks = append(o.Ranks, RankOutcome{r.last + t.shift, r.computed, r.sent, r.messages, r.Done(),
			r.ended, r.within, r.waited})
		if r.Done() {
			continue
		}
		o.Unfinished++
		o.Left += r.frontier.Left()
		if len(o.Stuck) < mostStuck {
			if s, found := r.stuck(); found {
				o.Stuck = append(o.Stuck, s)
			}
		}
	}
	return o
}

// stuck finds the first operation that nothing of its own rank holds back.
func (r *Rank) stuck() (s Stuck, found bool) {
	s.Behind = r.frontier.Left() - 1
	r.frontier.open(func(at Ref, missing int) {
		if missing == 0 && !found {
			s.Rank, s.At, s.Op, found = r.Number, at, r.program.Op(r.Number, at), true
		}
	})
	return s, found
}
