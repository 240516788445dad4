package job

// Frontier follows one rank of a program. Its driver reports beginnings and ends of operations, and it returns the
// operations that may begin. For a lane with a window it stores only as many operations as the window has.
type Frontier struct {
	program Program
	rank    int
	lanes   []lane
	edges   []waiter // lists of waiters, and a list of free entries
	free    int32    // first free entry, −1: the list is empty
	ready   []Ref
	deps    []Dep
	left    int64 // operations that have not ended
}

// lane is the state of a lane.
type lane struct {
	slots             []slot // operation i has slot i mod their number
	ops, base, loaded int32  // all before base have ended; operations from loaded on are not loaded yet
	earlyWaiters      []earlyWaiter
	whole             bool
}

// slot is a loaded operation.
type slot struct {
	missing     int32 // number of unmet dependencies
	ends, begun int32 // first waiter for its end, for its beginning; −1: no waiter
	flags       uint8
}

// Flags of a slot.
const (
	hasBegun uint8 = 1 << iota
	hasEnded
	hasFence // it depends on all operations before it
)

// waiter is an operation that waits for another one.
type waiter struct {
	who  Ref
	next int32
}

// earlyWaiter is a waiter for an operation that is not loaded yet.
type earlyWaiter struct {
	op    int32
	begun bool
	who   Ref
}

// NewFrontier returns the state before the first operation of a rank. Begin must be called next.
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

// CountLeft returns the number of operations that have not ended.
func (f *Frontier) CountLeft() int64 { return f.left }

// AppendReady appends the operations that have become ready since its last call.
func (f *Frontier) AppendReady(to []Ref) []Ref {
	to = append(to, f.ready...)
	f.ready = f.ready[:0]
	return to
}

// Begin loads the first operations of each lane: its window, or the whole lane. Call it once.
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
		f.loadLane(int32(k))
	}
}

// loadLane loads the operations that have entered the window of lane k.
func (f *Frontier) loadLane(k int32) {
	l := &f.lanes[k]
	for l.loaded < l.ops && int(l.loaded-l.base) < len(l.slots) {
		i := l.loaded
		l.loaded++
		s := f.slotOf(Ref{k, i})
		*s = slot{ends: -1, begun: -1}
		kept := l.earlyWaiters[:0]
		for _, e := range l.earlyWaiters {
			if e.op != i {
				kept = append(kept, e)
				continue
			}
			if e.begun {
				s.begun = f.addWaiter(e.who, s.begun)
			} else {
				s.ends = f.addWaiter(e.who, s.ends)
			}
		}
		l.earlyWaiters = kept
		f.findDependencies(Ref{k, i})
	}
}

// slotOf returns the slot of a loaded operation, valid until it has left the window.
func (f *Frontier) slotOf(at Ref) *slot {
	l := &f.lanes[at.Lane]
	if l.whole {
		return &l.slots[at.Op]
	}
	return &l.slots[int(at.Op)%len(l.slots)]
}

// addWaiter adds a waiter to the front of a list, and returns the new list.
func (f *Frontier) addWaiter(who Ref, list int32) int32 {
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

// findDependencies registers an operation as a waiter for all operations that it depends on.
func (f *Frontier) findDependencies(at Ref) {
	f.deps = f.program.After(f.rank, at, f.deps[:0])
	s := f.slotOf(at)
	for _, d := range f.deps {
		if d.Op == Earlier {
			if f.lanes[at.Lane].base != at.Op {
				s.missing++
				s.flags |= hasFence
			}
			continue
		}
		l := &f.lanes[d.Lane]
		switch {
		case d.Op < l.base:
			continue
		case d.Op >= l.loaded:
			l.earlyWaiters = append(l.earlyWaiters, earlyWaiter{d.Op, d.Begun, at})
			s.missing++
			continue
		}
		t := f.slotOf(Ref{d.Lane, d.Op})
		switch {
		case t.flags&hasEnded != 0 || d.Begun && t.flags&hasBegun != 0:
		case d.Begun:
			t.begun = f.addWaiter(at, t.begun)
			s.missing++
		default:
			t.ends = f.addWaiter(at, t.ends)
			s.missing++
		}
	}
	if s.missing == 0 {
		f.ready = append(f.ready, at)
	}
}

// releaseWaiters resolves one dependency of each waiter of a list, in the order in which they were added.
func (f *Frontier) releaseWaiters(list int32) {
	back := int32(-1)
	for list >= 0 {
		list, back, f.edges[list].next = f.edges[list].next, list, back
	}
	for back >= 0 {
		w := f.edges[back]
		f.edges[back].next, f.free = f.free, back
		back = w.next
		f.resolveOne(w.who)
	}
}

// resolveOne resolves one dependency of an operation, which becomes ready with its last one.
func (f *Frontier) resolveOne(at Ref) {
	s := f.slotOf(at)
	if s.missing--; s.missing == 0 {
		f.ready = append(f.ready, at)
	}
}

// SetBegun records that an operation that was ready has begun, and releases its waiters.
func (f *Frontier) SetBegun(at Ref) {
	s := f.slotOf(at)
	s.flags |= hasBegun
	if list := s.begun; list >= 0 {
		s.begun = -1
		f.releaseWaiters(list)
	}
}

// SetEnded records that an operation that has begun has ended, and releases its waiters.
func (f *Frontier) SetEnded(at Ref) {
	s := f.slotOf(at)
	s.flags |= hasEnded
	f.left--
	if list := s.ends; list >= 0 {
		s.ends = -1
		f.releaseWaiters(list)
	}
	l := &f.lanes[at.Lane]
	if at.Op != l.base {
		return
	}
	for l.base < l.loaded && f.slotOf(Ref{at.Lane, l.base}).flags&hasEnded != 0 {
		l.base++
	}
	if !l.whole {
		f.loadLane(at.Lane)
	}
	if l.base < l.loaded {
		if t := f.slotOf(Ref{at.Lane, l.base}); t.flags&hasFence != 0 {
			t.flags &^= hasFence
			f.resolveOne(Ref{at.Lane, l.base})
		}
	}
}

// visitOpen visits the operations that are loaded and have not ended, with the number of dependencies that each still
// waits for. An operation with 0 may have begun.
func (f *Frontier) visitOpen(visit func(at Ref, missing int)) {
	for k := range f.lanes {
		l := &f.lanes[k]
		for i := l.base; i < l.loaded; i++ {
			if s := f.slotOf(Ref{int32(k), i}); s.flags&hasEnded == 0 {
				visit(Ref{int32(k), i}, int(s.missing))
			}
		}
	}
}
