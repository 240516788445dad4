package job

import (
	"slices"

	"weir/core/unit"
)

// RecurringProgram is a Program with iterations that are alike. An operation of one iteration equals the one of the
// previous iteration, except for the number of its mark and its tag, and has the same dependencies.
type RecurringProgram interface {
	Program
	// Each returns the number of operations of a lane in an iteration.
	Each(rank, lane int) int
	// Ahead returns the number of further iterations that a rank may have loaded.
	Ahead() int
}

// VisitState calls word for each word of the rank's state, relative to now and to its position in the program. At two
// moments with the same words the rank will behave alike, as long as its program continues alike.
func (r *Rank) VisitState(now unit.Time, word func(name string, value int64)) {
	f := r.frontier
	word("computing", int64(r.computes))
	if r.computes > 0 {
		word("computing since", int64(r.since-now))
	}
	if n := r.sendsBegun.len() + r.match.posted.n + len(r.match.wildcards) + r.match.arrived.n; n > 0 {
		word("messages under way, of which each has a tag of its own", int64(now))
	}
	events := slices.Clone(r.events)
	slices.SortFunc(events, func(a, b event) int {
		if a.isBefore(&b) {
			return -1
		}
		return 1
	})
	word("events", int64(len(events)))
	for i := range events {
		r.eventState(&events[i], now, word)
	}
	for kind := range r.streams {
		for i := range r.streams[kind] {
			s := &r.streams[kind][i]
			word("stream is free", int64(max(s.free-now, 0)))
			word("wait for a stream", int64(len(s.waiting)))
			for k := range s.waiting {
				r.eventState(&s.waiting[k], now, word)
			}
		}
	}
	f.visitState(word)
}

// eventState calls word for each word of an event, relative to now and to the rank's position.
func (r *Rank) eventState(e *event, now unit.Time, word func(name string, value int64)) {
	word("event in", int64(e.at-now))
	word("event since", int64(e.since-now))
	word("kind of event", int64(e.kind))
	if e.kind == arrives || e.received {
		word("message of", int64(e.msg.From))
		word("message with tag", int64(e.msg.Tag))
	}
	word("lane of event", int64(e.ref.Lane))
	op := int64(e.ref.Op)
	if e.kind != frees && e.kind != arrives {
		op -= int64(r.frontier.lanes[e.ref.Lane].base)
	}
	word("operation of event", op)
}

// visitState calls word for each word of the frontier's state, relative to the position of each lane.
func (f *Frontier) visitState(word func(name string, value int64)) {
	list := func(at int32) {
		for ; at >= 0; at = f.edges[at].next {
			who := f.edges[at].who
			word("waiter", int64(who.Lane)<<32|int64(uint32(who.Op-f.lanes[who.Lane].base)))
		}
		word("waiters end", -1)
	}
	for k := range f.lanes {
		l := &f.lanes[k]
		whole := int64(0)
		if l.whole {
			whole = 1 + int64(l.base)
		}
		word("whole lane", whole)
		word("operations ahead", int64(l.loaded-l.base))
		for i := l.base; i < l.loaded; i++ {
			s := f.slotOf(Ref{int32(k), i})
			word("operation has", int64(s.flags))
			word("operation misses", int64(s.missing))
			list(s.ends)
			list(s.begun)
		}
		word("early waiters", int64(len(l.earlyWaiters)))
		for i := range l.earlyWaiters {
			e := &l.earlyWaiters[i]
			word("early waiter for", int64(e.op-l.base))
			word("early waiter", int64(e.who.Lane)<<32|int64(uint32(e.who.Op-f.lanes[e.who.Lane].base)))
		}
	}
	word("ready", int64(len(f.ready)))
}

// RankTotals has the totals of a rank so far, for SkipIterations.
type RankTotals struct {
	computed unit.Time
	sent     unit.Bytes
	messages int64
	last     unit.Time
	ended    int64
	within   unit.Time
	waited   unit.Time
}

// TotalsSoFar returns the rank's totals so far.
func (r *Rank) TotalsSoFar() RankTotals {
	return RankTotals{r.computed, r.sent, r.messages, r.last, r.ended, r.within, r.waited}
}

// MaxSkip returns the maximum number of iterations by which the rank can be moved on, so that all loaded operations
// stay in the program.
func (r *Rank) MaxSkip(p RecurringProgram) int {
	n := int(^uint32(0) >> 1)
	for k := range r.frontier.lanes {
		if each := p.Each(r.Number, k); each > 0 {
			l := &r.frontier.lanes[k]
			n = min(n, int(l.ops-l.loaded)/each)
		}
	}
	return n
}

// SkipIterations moves the rank on by n iterations of its program at the same time, without running them. They are
// whole cycles of iterations, each like the cycle between two alike moments: was has the totals at the first moment,
// now at the second. n may not exceed MaxSkip.
func (r *Rank) SkipIterations(p RecurringProgram, n, cycle int, was, now RankTotals) {
	f := r.frontier
	by := make([]int32, len(f.lanes))
	for k := range by {
		each := p.Each(r.Number, k)
		by[k] = int32(n * each)
		f.left -= int64(n) * int64(each)
	}
	f.skipOps(by)
	moved := func(e *event) {
		if e.kind != frees && e.kind != arrives {
			e.ref.Op += by[e.ref.Lane]
		}
	}
	for i := range r.events {
		moved(&r.events[i])
	}
	for kind := range r.streams {
		for i := range r.streams[kind] {
			for k := range r.streams[kind][i].waiting {
				moved(&r.streams[kind][i].waiting[k])
			}
		}
	}
	n /= cycle
	r.computed += unit.Time(n) * (now.computed - was.computed)
	r.sent += unit.Bytes(n) * (now.sent - was.sent)
	r.messages += int64(n) * (now.messages - was.messages)
	r.ended += int64(n) * (now.ended - was.ended)
	r.within += unit.Time(n) * (now.within - was.within)
	r.waited += unit.Time(n) * (now.waited - was.waited)
}

// skipOps moves each lane on by the number of operations in by.
func (f *Frontier) skipOps(by []int32) {
	for i := range f.edges {
		if who := &f.edges[i].who; int(who.Lane) < len(by) {
			who.Op += by[who.Lane]
		}
	}
	for k := range f.lanes {
		l := &f.lanes[k]
		slots := make([]slot, len(l.slots))
		for i := l.base; i < l.loaded; i++ {
			slots[int(i+by[k])%len(slots)] = l.slots[int(i)%len(l.slots)]
		}
		l.slots = slots
		l.base, l.loaded = l.base+by[k], l.loaded+by[k]
		for i := range l.earlyWaiters {
			e := &l.earlyWaiters[i]
			e.op += by[k]
			e.who.Op += by[e.who.Lane]
		}
	}
}

// CountOver returns the number of iterations that are over at all ranks, counted from the first on without gaps.
func (t *Tally) CountOver() int {
	for t.ended < len(t.iterations) && int(t.iterations[t.ended].over) == t.program.Ranks() {
		t.ended++
	}
	return t.ended
}

// IsEven reports whether all iterations that are over had the same number of collective operations, and no operation
// has begun since.
func (t *Tally) IsEven() bool {
	return t.CountOver() > 0 && len(t.operations)%t.CountOver() == 0 && len(t.iterations) == t.CountOver()
}

// SkipIterations adds n iterations after the last one that is over, in whole cycles, each a period later than the one
// before it. The last iterations that are over were one cycle. All later reports are shifted by the skipped time. The
// tally must be even (IsEven).
func (t *Tally) SkipIterations(n, cycle int, period unit.Time) {
	over := t.CountOver()
	each := len(t.operations) / over
	begun := len(t.begins) - over                         // 0, or 1: the next iteration has begun, too
	source := func(i int) (iteration int, by unit.Time) { // returns the source of the i-th skipped iteration, from 0
		return over - cycle + i%cycle, unit.Time(i/cycle+1) * period
	}
	for i := range n {
		from, by := source(i)
		x := t.iterations[from]
		x.First, x.Last = x.First+by, x.Last+by
		t.iterations = append(t.iterations, x)
		for k := from * each; k < (from+1)*each; k++ {
			t.operations = append(t.operations, Operation{t.operations[k].Begin + by, t.operations[k].End + by})
			t.over = append(t.over, t.over[k])
		}
	}
	if len(t.begins) >= over {
		t.begins = t.begins[:over]
		for i := range n + begun {
			from, by := source(i)
			t.begins = append(t.begins, t.begins[from]+by)
		}
	}
	t.shift += unit.Time(n/cycle) * period
}
