package job

import (
	"slices"

	"weir/core/unit"
)

// Alike is a Program whose iterations are alike: an operation of one is that of the one before, but for the number of
// its mark and its tag, and comes after the same.
type Alike interface {
	Program
	// Each is how many operations of a lane an iteration has.
	Each(rank, lane int) int
	// Ahead is into how many iterations a rank looks at a time, at most.
	Ahead() int
}

// State calls word for each word of what the rank is doing, relative to now and to where it is in its program: two
// moments at which all words are the same are alike for it, as far as its program is.
func (r *Rank) State(now unit.Time, word func(name string, value int64)) {
	f := r.frontier
	word("computing", int64(r.computes))
	if r.computes > 0 {
		word("computing since", int64(r.since-now))
	}
	if n := r.flying.len() + r.match.posted.n + len(r.match.any) + r.match.came.n; n > 0 {
		word("messages under way, of which each has a tag of its own", int64(now))
	}
	events := slices.Clone(r.events)
	slices.SortFunc(events, func(a, b event) int {
		if a.before(&b) {
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
	f.state(word)
}

// eventState is what an event is, relative to now and to the rank's place.
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

// state is what the frontier knows, relative to where each lane is.
func (f *Frontier) state(word func(name string, value int64)) {
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
			s := f.slot(Ref{int32(k), i})
			word("operation has", int64(s.has))
			word("operation misses", int64(s.missing))
			list(s.ends)
			list(s.begun)
		}
		word("early waiters", int64(len(l.early)))
		for i := range l.early {
			e := &l.early[i]
			word("early waiter for", int64(e.op-l.base))
			word("early waiter", int64(e.who.Lane)<<32|int64(uint32(e.who.Op-f.lanes[e.who.Lane].base)))
		}
	}
	word("ready", int64(len(f.ready)))
}

// Passed is what a rank has done so far, for Skip.
type Passed struct {
	computed unit.Time
	sent     unit.Bytes
	messages int64
	last     unit.Time
	ended    int64
	within   unit.Time
	waited   unit.Time
}

// Passed says it.
func (r *Rank) Passed() Passed {
	return Passed{r.computed, r.sent, r.messages, r.last, r.ended, r.within, r.waited}
}

// Room is by how many iterations of its program the rank can be further at most: all that it looks at is in the program
// then, too.
func (r *Rank) Room(p Alike) int {
	n := int(^uint32(0) >> 1)
	for k := range r.frontier.lanes {
		if each := p.Each(r.Number, k); each > 0 {
			l := &r.frontier.lanes[k]
			n = min(n, int(l.ops-l.loaded)/each)
		}
	}
	return n
}

// Skip has the rank be n iterations of its program further than it is, without having carried them out, at the same
// time as before. They are whole cycles of so many iterations, each as the one was between two moments that were alike:
// was is the first moment, now the second. There must be Room for them.
func (r *Rank) Skip(p Alike, n, cycle int, was, now Passed) {
	f := r.frontier
	by := make([]int32, len(f.lanes))
	for k := range by {
		each := p.Each(r.Number, k)
		by[k] = int32(n * each)
		f.left -= int64(n) * int64(each)
	}
	f.skip(by)
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

// skip moves each lane on by so many operations.
func (f *Frontier) skip(by []int32) {
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
		for i := range l.early {
			e := &l.early[i]
			e.op += by[k]
			e.who.Op += by[e.who.Lane]
		}
	}
}

// Over is how many iterations are over at all ranks, one after another from the first on.
func (t *Tally) Over() int {
	for t.ended < len(t.iterations) && int(t.iterations[t.ended].over) == t.program.Ranks() {
		t.ended++
	}
	return t.ended
}

// Even reports whether each iteration that is over has had as many collective operations, and none has begun since.
func (t *Tally) Even() bool {
	return t.Over() > 0 && len(t.operations)%t.Over() == 0 && len(t.iterations) == t.Over()
}

// Skip has n iterations be over behind the last that is, in whole cycles of so many, each a period later than the one
// before it. The last iterations that are over were one cycle. What comes from now on is so much later than it says.
// The tally must be Even.
func (t *Tally) Skip(n, cycle int, period unit.Time) {
	over := t.Over()
	each := len(t.operations) / over
	begun := len(t.begins) - over                         // 0, or 1: the next iteration has begun, too
	source := func(i int) (iteration int, by unit.Time) { // of the i-th that is skipped, from 0
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
