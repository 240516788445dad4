package collective

import (
	"weir/core/jobs/job"
	"weir/core/unit"
)

// up is a reduction along a chain, from the last member to the first, which is a pipeline where there are chunks.
type up struct{ chain }

func (u *up) step(m, i int) step {
	if m < u.n-1 && i == 0 {
		return step{kind: job.Recv, peer: m + 1, high: 1, reduces: true}
	}
	return step{kind: job.Send, peer: m - 1, high: 1}
}

// reduceTree is a reduction over the tree of a broadcast, the other way round: a member receives from those that it
// would send to, in any order, and then sends to the one that it would hear from.
type reduceTree struct{ binomial }

func (r *reduceTree) step(m, i int) step {
	sends, first := r.first(m)
	if n := r.steps(m); sends > 0 && i == n-1 {
		return step{kind: job.Send, peer: m - 1<<(first-1), high: 1}
	}
	return step{kind: job.Recv, peer: m + 1<<(first+i), high: 1, reduces: true}
}
func (r *reduceTree) after(m, i int) (to steps) {
	if sends, _ := r.first(m); sends == 0 || i < r.steps(m)-1 {
		return to
	}
	for k := range i {
		to.add(k)
	}
	return to
}

// star is a gather or a scatter: each member has a block for the first, or from it.
type star struct {
	n      int
	gather bool
}

func (s *star) blocks() int               { return s.n }
func (s *star) tags() int                 { return 1 }
func (s *star) open() int                 { return 0 }
func (s *star) after(_, _ int) (to steps) { return to }
func (s *star) steps(m int) int {
	if m == 0 {
		return s.n - 1
	}
	return 1
}
func (s *star) step(m, i int) step {
	x := step{kind: job.Send, peer: 0, low: m, high: m + 1}
	if m == 0 {
		x.peer, x.low, x.high = i+1, i+1, i+2
	}
	if (m == 0) == s.gather {
		x.kind = job.Recv
	}
	return x
}

// alternating is a pipeline in which a stage computes a batch forward and one backward in turn (1F1B with a flush,
// PipeDream): stage m of n has n−m batches under way at most, where one that computes all forward first (GPipe) has all
// of them.
type alternating struct{ pipeline }

// order is the k-th batch that a stage computes, and which way.
func (a *alternating) order(m, k int) (way, batch int) {
	warm := min(a.n-1-m, a.batches)
	if k < warm {
		return 0, k
	}
	if j := k - warm; j < 2*(a.batches-warm) {
		if j%2 == 0 {
			return 0, warm + j/2
		}
		return 1, j / 2
	}
	return 1, k - a.batches
}

// at is what step i is: the k-th batch that the stage computes, and which part (0 receive, 1 compute, 2 send). A stage
// hears and tells as much on both ways.
func (a *alternating) at(m, i int) (k, way, batch, part int) {
	each := a.each(m, 0)
	k, part = i/each, i%each
	way, batch = a.order(m, k)
	if hears, _ := a.ends(m, way); !hears {
		part++
	}
	return k, way, batch, part
}

func (a *alternating) step(m, i int) step {
	_, way, batch, part := a.at(m, i)
	return a.does(m, way, batch, part)
}

func (a *alternating) after(m, i int) (to steps) {
	k, way, _, part := a.at(m, i)
	hears, _ := a.ends(m, way)
	switch {
	case part == 0:
		return to
	case part == 2:
		return to.and(i - 1)
	case hears:
		to.add(i - 1)
	}
	if k > 0 { // what it computed before
		at := (k - 1) * a.each(m, 0)
		before, _ := a.order(m, k-1)
		if hears, _ := a.ends(m, before); hears {
			at++
		}
		to.add(at)
	}
	return to
}

// does is a part of what a stage does with a batch: it receives, computes or sends.
func (p *pipeline) does(m, way, batch, part int) step {
	s := step{tag: 2*batch + way, high: 1, kind: [3]job.OpKind{job.Recv, job.Calc, job.Send}[part]}
	if s.kind == job.Calc {
		s.time = [2]unit.Time{p.forward, p.backward}[way]
		return s
	}
	s.peer = m + 1
	if (part == 0) == (way == 0) {
		s.peer = m - 1
	}
	return s
}
