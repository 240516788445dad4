package job

import (
	"slices"

	"weir/core/unit"
)

// Activity is the activity of a rank.
type Activity uint8

// Activities of ranks. A rank communicates while one of its messages is in flight, or its processor or NIC receives
// one.
const (
	Waits        Activity = iota // for other ranks
	Computes                     // without messages in flight
	Communicates                 // without computing
	Overlaps                     // computes and communicates
)

// ActivityNames returns the names of activities, in the order of Activity.
func ActivityNames() []string { return []string{"waiting", "computing", "communicating", "both"} }

// String returns the activity's name.
func (d Activity) String() string { return ActivityNames()[d] }

// Stretch is a part of a rank's time with one activity.
type Stretch struct {
	Rank      int32
	Iteration int32 // −1: the job has no iterations
	Operation int32 // collective operation of the communication; −1: not of one
	Does      Activity
	From, To  unit.Time
}

// Timeline records the activities of ranks from the spans of a run. Each run needs its own.
type Timeline struct {
	// From and Until limit the recorded time. An Until of 0 is no limit.
	From, Until unit.Time
	// MaxParts limits the number of recorded parts of ranks' time, approximately. Parts that begin after the end of the
	// last recorded one are left out.
	MaxParts int

	kept  []bool // by rank; nil: all
	ranks []timelineRank
	held  int
	cut   unit.Time // end of the recorded time; unit.Never: not cut
	left  int64     // number of spans left out beyond MaxParts
}

// timelineRank has the recorded parts of a rank: when it computed, and when it communicated, each in order of time.
type timelineRank struct {
	computes, communicates []Stretch
	ends                   []unit.Time // of iterations, from the first one on
	first, iteration       int32       // first is the iteration at From
	operation              []int32     // by lane
}

// NewTimeline returns a timeline of the selected ranks, or of all ranks of the job if selected is nil.
func NewTimeline(p Program, selected []int) *Timeline {
	t := &Timeline{MaxParts: 1 << 30, ranks: make([]timelineRank, p.Ranks()), cut: unit.Never}
	for r := range t.ranks {
		t.ranks[r].operation = slices.Repeat([]int32{-1}, p.Lanes(r))
	}
	if selected != nil {
		t.kept = make([]bool, p.Ranks())
		for _, r := range selected {
			t.kept[r] = true
		}
	}
	return t
}

// Watch returns the function for Watch.OnSpan; nil for a nil timeline.
func (t *Timeline) Watch() func(s Span) {
	if t == nil {
		return nil
	}
	return func(s Span) { t.addSpan(&s) }
}

// addSpan records a span as a stretch of its rank, merged with those that it touches, within the time and parts that t
// records. The spans of a rank must arrive in the order of their ends.
func (t *Timeline) addSpan(s *Span) {
	if t.kept != nil && !t.kept[s.Rank] {
		return
	}
	x := &t.ranks[s.Rank]
	lane := &x.operation[s.At.Lane]
	switch s.Op.Mark {
	case Iterates:
		t.endIteration(x, s)
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
	for n := before; n > 0; n-- { // merges the stretches that it touches
		last := &(*list)[n-1]
		if last.To < y.From || last.Iteration != y.Iteration || last.Operation != y.Operation && last.To == y.From {
			break
		}
		y.From, y.Operation = min(y.From, last.From), min(y.Operation, last.Operation)
		*list = (*list)[:n-1]
	}
	*list = append(*list, y)
	t.countHeld(len(*list)-before, s.To)
}

// endIteration records the end of an iteration of a rank, by its last span. Ends outside the recorded time only count.
func (t *Timeline) endIteration(x *timelineRank, s *Span) {
	x.iteration = s.Op.Part + 1
	switch {
	case s.To <= t.From:
		x.first = x.iteration
	case t.Until > 0 && s.To >= t.Until, s.To >= t.cut:
	default:
		x.ends = append(x.ends, s.To)
		t.countHeld(1, s.To)
	}
}

// countHeld counts n recorded parts and sets the cut at a time, the end of the last one, if MaxParts is reached.
func (t *Timeline) countHeld(n int, at unit.Time) {
	if t.held += n; t.held >= t.MaxParts && t.cut == unit.Never {
		t.cut = at
	}
}

// Cut returns the time at which recording ended because of MaxParts, and the number of operations left out. unit.Never:
// it was not cut.
func (t *Timeline) Cut() (at unit.Time, left int64) {
	if t.left == 0 {
		return unit.Never, 0
	}
	return t.cut, t.left
}

// Rows returns the activities of each rank from begin, the start of the job, to the end of its last operation:
// adjacent stretches, in the order of ranks and of time. In a job without iterations all have iteration −1.
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
		out = t.ranks[r].appendRow(out, int32(r), max(begin, t.From), end)
		if !iterates {
			for i := first; i < len(out); i++ {
				out[i].Iteration = -1
			}
		}
	}
	return out
}

// appendRow appends the activities of a rank from begin to end to out as adjacent stretches, and returns it.
func (x *timelineRank) appendRow(out []Stretch, rank int32, begin, end unit.Time) []Stretch {
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
			does Activity
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
			y.Operation = x.awaitedOperation(k, y.Iteration)
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

// awaitedOperation returns the operation that a rank waits for, before its k-th communication: the iteration's next
// operation, or else its last.
func (x *timelineRank) awaitedOperation(k int, iteration int32) int32 {
	for _, i := range []int{k, k - 1} {
		if i >= 0 && i < len(x.communicates) && x.communicates[i].Iteration == iteration {
			return x.communicates[i].Operation
		}
	}
	return -1
}
