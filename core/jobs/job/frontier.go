package job

// Frontier follows one rank of a program: told what begins and ends, it says what may begin. Of a lane with a window
// it keeps so many operations, whatever their number.
type Frontier struct {
	program Program
	rank    int
	lanes   []lane
	edges   []waiter // lists of who waits, and of those that are free
	free    int32    // first of these, −1: none
	ready   []Ref
	deps    []Dep
	left    int64 // operations that have not ended
}

// lane is where a lane is.
type lane struct {
	slots             []slot // operation i has slot i mod their number
	ops, base, loaded int32  // all before base have ended; those from loaded on are not looked at yet
	early             []early
	whole             bool
}

// slot is an operation that was looked at.
type slot struct {
	missing     int32 // what it still comes after
	ends, begun int32 // first waiter for its end, for its beginning; −1: none
	has         uint8
}

// What a slot has.
const (
	hasBegun uint8 = 1 << iota
	hasEnded
	hasFence // it waits for all before it
)

// waiter waits for an operation.
type waiter struct {
	who  Ref
	next int32
}

// early is a waiter for an operation that is not looked at yet.
type early struct {
	op    int32
	begun bool
	who   Ref
}

// NewFrontier is at the beginning of a rank's program, before Begin.
func NewFrontier(p Program, rank int) *Frontier {
	f := &Frontier{program: p, rank: rank, free: -1}
	f.lanes = make([]lane, p.Lanes(rank))
	for k := range f.lanes {
		n, w := p.Ops(rank, k), p.Window(rank, k)
		f.left += int64(n)
		whole := w == 0 || w >= n
		if whole {
			w = n
		}
		f.lanes[k] = lane{slots: make([]slot, w), ops: int32(n), whole: whole}
	}
	return f
}

// Left is how many operations have not ended.
func (f *Frontier) Left() int64 { return f.left }

// Ready appends the operations that may begin since the last time.
func (f *Frontier) Ready(to []Ref) []Ref {
	to = append(to, f.ready...)
	f.ready = f.ready[:0]
	return to
}

// Begin looks at the first operations.
func (f *Frontier) Begin() {
	for k := range f.lanes {
		if l := &f.lanes[k]; l.whole {
			l.loaded = l.ops
			for i := range l.slots {
				l.slots[i] = slot{ends: -1, begun: -1}
			}
		}
	}
	for k := range f.lanes {
		l := &f.lanes[k]
		if l.whole {
			for i := range l.ops {
				f.findDependencies(Ref{int32(k), i})
			}
			continue
		}
		f.load(int32(k))
	}
}

// load looks at what has come into the window of a lane.
func (f *Frontier) load(k int32) {
	l := &f.lanes[k]
	for l.loaded < l.ops && int(l.loaded-l.base) < len(l.slots) {
		i := l.loaded
		l.loaded++
		s := f.slot(Ref{k, i})
		*s = slot{ends: -1, begun: -1}
		kept := l.early[:0]
		for _, e := range l.early {
			if e.op != i {
				kept = append(kept, e)
				continue
			}
			if e.begun {
				s.begun = f.wait(e.who, s.begun)
			} else {
				s.ends = f.wait(e.who, s.ends)
			}
		}
		l.early = kept
		f.findDependencies(Ref{k, i})
	}
}

func (f *Frontier) slot(at Ref) *slot {
	l := &f.lanes[at.Lane]
	if l.whole {
		return &l.slots[at.Op]
	}
	return &l.slots[int(at.Op)%len(l.slots)]
}

// wait puts one who waits before a list, and returns the list.
func (f *Frontier) wait(who Ref, list int32) int32 {
	i := f.free
	if i < 0 {
		f.edges = append(f.edges, waiter{})
		i = int32(len(f.edges) - 1)
	} else {
		f.free = f.edges[i].next
	}
	f.edges[i] = waiter{who, list}
	return i
}

// findDependencies finds the operations that an operation waits for.
func (f *Frontier) findDependencies(at Ref) {
	f.deps = f.program.After(f.rank, at, f.deps[:0])
	s := f.slot(at)
	for _, d := range f.deps {
		if d.Op == Earlier {
			if f.lanes[at.Lane].base != at.Op {
				s.missing++
				s.has |= hasFence
			}
			continue
		}
		l := &f.lanes[d.Lane]
		switch {
		case d.Op < l.base:
			continue
		case d.Op >= l.loaded:
			l.early = append(l.early, early{d.Op, d.Begun, at})
			s.missing++
			continue
		}
		t := f.slot(Ref{d.Lane, d.Op})
		switch {
		case t.has&hasEnded != 0 || d.Begun && t.has&hasBegun != 0:
		case d.Begun:
			t.begun = f.wait(at, t.begun)
			s.missing++
		default:
			t.ends = f.wait(at, t.ends)
			s.missing++
		}
	}
	if s.missing == 0 {
		f.ready = append(f.ready, at)
	}
}

// release lets those of a list go on, the one that was put there first before the others.
func (f *Frontier) release(list int32) {
	back := int32(-1)
	for list >= 0 {
		list, back, f.edges[list].next = f.edges[list].next, list, back
	}
	for back >= 0 {
		w := f.edges[back]
		f.edges[back].next, f.free = f.free, back
		back = w.next
		f.less(w.who)
	}
}

// less takes one of what an operation waits for.
func (f *Frontier) less(at Ref) {
	s := f.slot(at)
	if s.missing--; s.missing == 0 {
		f.ready = append(f.ready, at)
	}
}

// Began says that an operation that was ready has begun.
func (f *Frontier) Began(at Ref) {
	s := f.slot(at)
	s.has |= hasBegun
	if list := s.begun; list >= 0 {
		s.begun = -1
		f.release(list)
	}
}

// Ended says that an operation that has begun has ended.
func (f *Frontier) Ended(at Ref) {
	s := f.slot(at)
	s.has |= hasEnded
	f.left--
	if list := s.ends; list >= 0 {
		s.ends = -1
		f.release(list)
	}
	l := &f.lanes[at.Lane]
	if at.Op != l.base {
		return
	}
	for l.base < l.loaded && f.slot(Ref{at.Lane, l.base}).has&hasEnded != 0 {
		l.base++
	}
	if !l.whole {
		f.load(at.Lane)
	}
	if l.base < l.loaded {
		if t := f.slot(Ref{at.Lane, l.base}); t.has&hasFence != 0 {
			t.has &^= hasFence
			f.less(Ref{at.Lane, l.base})
		}
	}
}

// open visits the operations that were looked at and have not ended, and how much each still waits for; 0: it may have
// begun.
func (f *Frontier) open(visit func(at Ref, missing int)) {
	for k := range f.lanes {
		l := &f.lanes[k]
		for i := l.base; i < l.loaded; i++ {
			if s := f.slot(Ref{int32(k), i}); s.has&hasEnded == 0 {
				visit(Ref{int32(k), i}, int(s.missing))
			}
		}
	}
}
