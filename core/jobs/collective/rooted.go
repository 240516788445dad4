package collective

import (
	"weir/core/jobs/job"
	"weir/core/unit"
)

// reduceChain is a reduction along a chain, from the last member to the first, which is pipelined if there are chunks.
type reduceChain struct{ chain }

// stepAt returns step i of member m: the receive from the member after it, if there is one, and then the send to the
// member before it.
func (u *reduceChain) stepAt(m, i int) step {
	if m < u.n-1 && i == 0 {
		return step{kind: job.Recv, peer: m + 1, high: 1, reduces: true}
	}
	return step{kind: job.Send, peer: m - 1, high: 1}
}

// reduceTree is a reduction over the tree of a broadcast in the reverse direction. A member receives from the members
// to which the broadcast would send, in any order. Then it sends to the member from which it would receive.
type reduceTree struct{ binomial }

// stepAt returns step i of member m: its receives by round, and then its send unless it is the root.
func (r *reduceTree) stepAt(m, i int) step {
	sends, first := r.firstRound(m)
	if n := r.stepCount(m); sends > 0 && i == n-1 {
		return step{kind: job.Send, peer: m - 1<<(first-1), high: 1}
	}
	return step{kind: job.Recv, peer: m + 1<<(first+i), high: 1, reduces: true}
}

// dependencies returns all receives of member m for its send. Receives depend on no step.
func (r *reduceTree) dependencies(m, i int) (to stepList) {
	if sends, _ := r.firstRound(m); sends == 0 || i < r.stepCount(m)-1 {
		return to
	}
	for k := range i {
		to.add(k)
	}
	return to
}

// rootedExchange is a gather or a scatter: each member sends a block to the first one, or receives one from it.
type rootedExchange struct {
	n      int
	gather bool
}

func (s *rootedExchange) blockCount() int                     { return s.n }
func (s *rootedExchange) tagCount() int                       { return 1 }
func (s *rootedExchange) maxPosted() int                      { return 0 }
func (s *rootedExchange) dependencies(_, _ int) (to stepList) { return to }

// stepCount returns the number of blocks that member m exchanges with others: one with each for the first, and
// otherwise one.
func (s *rootedExchange) stepCount(m int) int {
	if m == 0 {
		return s.n - 1
	}
	return 1
}

// stepAt returns step i of member m: the transfer of the block of member i+1 for the first member, and of its own block
// for another one.
func (s *rootedExchange) stepAt(m, i int) step {
	x := step{kind: job.Send, peer: 0, low: m, high: m + 1}
	if m == 0 {
		x.peer, x.low, x.high = i+1, i+1, i+2
	}
	if (m == 0) == s.gather {
		x.kind = job.Recv
	}
	return x
}

// alternating is a pipeline in which a stage computes one batch forward and one backward in turn (1F1B with a flush,
// PipeDream). Stage m of n has at most n−m batches in flight, while a stage that computes all forward first (GPipe)
// has all of them in flight.
type alternating struct{ pipeline }

// computationAt returns the direction and the batch of a stage's k-th computation.
func (a *alternating) computationAt(m, k int) (way, batch int) {
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

// locateStep returns the meaning of step i: the stage's k-th computation with its direction and batch, and the part (0
// receive, 1 compute, 2 send). A stage has the same number of steps in both directions.
func (a *alternating) locateStep(m, i int) (k, way, batch, part int) {
	each := a.stepsPerBatch(m, 0)
	k, part = i/each, i%each
	way, batch = a.computationAt(m, k)
	if hears, _ := a.hasTransfers(m, way); !hears {
		part++
	}
	return k, way, batch, part
}

func (a *alternating) stepAt(m, i int) step {
	_, way, batch, part := a.locateStep(m, i)
	return a.makeStep(m, way, batch, part)
}

// dependencies returns the computing of a batch for its send. Computing depends on the batch's receive, if any, and on
// the stage's previous computing in any direction. Receives depend on no step.
func (a *alternating) dependencies(m, i int) (to stepList) {
	k, way, _, part := a.locateStep(m, i)
	hears, _ := a.hasTransfers(m, way)
	switch {
	case part == 0:
		return to
	case part == 2:
		return to.with(i - 1)
	case hears:
		to.add(i - 1)
	}
	if k > 0 { // the previous computation
		at := (k - 1) * a.stepsPerBatch(m, 0)
		before, _ := a.computationAt(m, k-1)
		if hears, _ := a.hasTransfers(m, before); hears {
			at++
		}
		to.add(at)
	}
	return to
}

// makeStep returns one part of a stage's work on a batch: it receives, computes or sends.
func (p *pipeline) makeStep(m, way, batch, part int) step {
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
