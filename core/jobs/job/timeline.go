package job

import (
	"slices"

	"weir/core/unit"
)

// Doing is what a rank does at a time.
type Doing uint8

// What ranks do. A rank communicates while a message of it is under way, or its processor or NIC takes one that came.
const (
	Waits        Doing = iota // for others
	Computes                  // and nothing of it is under way
	Communicates              // and does not compute
	Overlaps                  // it computes, and communicates
)

// Doings are the names of what ranks do, in the order of Doing.
func Doings() []string { return []string{"waiting", "computing", "communicating", "both"} }

// String is its name.
func (d Doing) String() string { return Doings()[d] }

// Stretch is a part of a rank's time in which it does one thing.
type Stretch struct {
	Rank      int32
	Iteration int32 // −1: the job has none
	Operation int32 // the collective operation that is communicated for; −1: none
	Does      Doing
	From, To  unit.Time
}

// Timeline keeps what ranks do when, out of the spans that a run tells it. Make one for each run.
type Timeline struct {
	// From and Until bound what is kept. An Until of 0 is no bound.
	From, Until unit.Time
	// Most is how many parts of ranks' time are kept, about: those that begin after the last of them has ended are left
	// out.
	Most int

	kept  []bool // by rank; nil: all
	ranks []timelineRank
	held  int
	cut   unit.Time // what is kept ends there; unit.Never: there was room for all
	left  int64     // spans that were left out for want of room
}

// timelineRank is what is kept of a rank: when it computed, and when it communicated, each in order of time.
type timelineRank struct {
	computes, communicates []Stretch
	ends                   []unit.Time // of iterations from the first one on
	first, iteration       int32       // first is that at From
	operation              []int32     // by lane
}

// NewTimeline keeps what ranks of a job do: of those that are named, or of all if none is.
func NewTimeline(p Program, only []int) *Timeline {
	t := &Timeline{Most: 1 << 30, ranks: make([]timelineRank, p.Ranks()), cut: unit.Never}
	for r := range t.ranks {
		t.ranks[r].operation = slices.Repeat([]int32{-1}, p.Lanes(r))
	}
	if only != nil {
		t.kept = make([]bool, p.Ranks())
		for _, r := range only {
			t.kept[r] = true
		}
	}
	return t
}

// Watch is what the run is to call (Watch.OnSpan); nil where there is no timeline.
func (t *Timeline) Watch() func(s Span) {
	if t == nil {
		return nil
	}
	return func(s Span) { t.add(&s) }
}

// add keeps a span, of which those of a rank come in the order of their ends.
func (t *Timeline) add(s *Span) {
	if t.kept != nil && !t.kept[s.Rank] {
		return
	}
	x := &t.ranks[s.Rank]
	lane := &x.operation[s.At.Lane]
	switch s.Op.Mark {
	case Iterates:
		t.iterates(x, s)
	case Opens:
		*lane = s.Op.Part
	case Closes:
		*lane = -1
	}
	from, to := max(s.From, t.From), s.To
	if t.Until > 0 {
		to = min(to, t.Until)
	}
	switch {
	case from >= to:
		return
	case from >= t.cut:
		t.left++
		return
	}
	list := &x.computes
	if s.Op.Kind != Calc {
		list = &x.communicates
	}
	y := Stretch{Rank: int32(s.Rank), Iteration: x.iteration, Operation: *lane, From: from, To: to}
	if s.Op.Kind == Calc {
		y.Operation = -1
	}
	before := len(*list)
	for n := before; n > 0; n-- { // it joins those that it meets
		last := &(*list)[n-1]
		if last.To < y.From || last.Iteration != y.Iteration || last.Operation != y.Operation && last.To == y.From {
			break
		}
		y.From, y.Operation = min(y.From, last.From), min(y.Operation, last.Operation)
		*list = (*list)[:n-1]
	}
	*list = append(*list, y)
	t.hold(len(*list)-before, s.To)
}

// iterates notes the end of an iteration of a rank.
func (t *Timeline) iterates(x *timelineRank, s *Span) {
	x.iteration = s.Op.Part + 1
	switch {
	case s.To <= t.From:
		x.first = x.iteration
	case t.Until > 0 && s.To >= t.Until, s.To >= t.cut:
	default:
		x.ends = append(x.ends, s.To)
		t.hold(1, s.To)
	}
}

// hold counts what is kept, of which the last ends at a time.
func (t *Timeline) hold(n int, at unit.Time) {
	if t.held += n; t.held >= t.Most && t.cut == unit.Never {
		t.cut = at
	}
}

// Cut is where what is kept ends for want of room, and how much of it that has left out: operations of ranks.
// unit.Never: there was room for all.
func (t *Timeline) Cut() (at unit.Time, left int64) {
	if t.left == 0 {
		return unit.Never, 0
	}
	return t.cut, t.left
}

// Rows are what each rank has done from a time, at which the job began, until the last operation of the rank ended: a
// stretch next to the other, in the order of ranks and of time. Of a job without iterations none has one.
func (t *Timeline) Rows(o *Outcome, begin unit.Time) (out []Stretch) {
	iterates := len(o.Iterations) > 0
	for r := range t.ranks {
		iterates = iterates || t.ranks[r].iteration > 0
	}
	for r := range t.ranks {
		if t.kept != nil && !t.kept[r] {
			continue
		}
		end := t.cut
		if t.left == 0 {
			end = unit.Never
		}
		if t.Until > 0 {
			end = min(end, t.Until)
		}
		if r < len(o.Ranks) {
			end = min(end, o.Ranks[r].End)
		}
		first := len(out)
		out = t.ranks[r].row(out, int32(r), max(begin, t.From), end)
		if !iterates {
			for i := first; i < len(out); i++ {
				out[i].Iteration = -1
			}
		}
	}
	return out
}

// row appends what a rank does from begin to end.
func (x *timelineRank) row(out []Stretch, rank int32, begin, end unit.Time) []Stretch {
	first := len(out)
	i, k, over := 0, 0, 0
	for now := begin; now < end; {
		for i < len(x.computes) && x.computes[i].To <= now {
			i++
		}
		for k < len(x.communicates) && x.communicates[k].To <= now {
			k++
		}
		for over < len(x.ends) && x.ends[over] <= now {
			over++
		}
		y := Stretch{Rank: rank, Iteration: x.first + int32(over), Operation: -1, From: now, To: end}
		if over < len(x.ends) {
			y.To = min(y.To, x.ends[over])
		}
		for _, l := range []struct {
			list []Stretch
			does Doing
		}{{x.computes[i:], Computes}, {x.communicates[k:], Communicates}} {
			switch {
			case len(l.list) == 0:
			case l.list[0].From > now:
				y.To = min(y.To, l.list[0].From)
			default:
				y.To, y.Does = min(y.To, l.list[0].To), y.Does|l.does
			}
		}
		switch {
		case y.Does&Communicates != 0:
			y.Operation = x.communicates[k].Operation
		case y.Does == Waits:
			y.Operation = x.awaited(k, y.Iteration)
		}
		n := len(out) - 1
		if n >= first && out[n].Does == y.Does && out[n].Iteration == y.Iteration && out[n].Operation == y.Operation {
			out[n].To = y.To
		} else {
			out = append(out, y)
		}
		now = y.To
	}
	return out
}

// awaited is the operation that a rank waits in, before what it communicates k-th: the iteration's next one, or else
// its last.
func (x *timelineRank) awaited(k int, iteration int32) int32 {
	for _, i := range []int{k, k - 1} {
		if i >= 0 && i < len(x.communicates) && x.communicates[i].Iteration == iteration {
			return x.communicates[i].Operation
		}
	}
	return -1
}
