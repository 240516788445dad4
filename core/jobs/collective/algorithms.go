package collective

import (
	"fmt"
	"math/bits"
	"slices"

	"weir/core/jobs/job"
	"weir/core/unit"
)

// Names of the operations.
const (
	AllReduce     = "all_reduce"
	AllGather     = "all_gather"
	ReduceScatter = "reduce_scatter"
	AllToAll      = "all_to_all"
	Broadcast     = "broadcast"
	Pipeline      = "pipeline"
	Reduce        = "reduce"
	Gather        = "gather"
	Scatter       = "scatter"
)

// operations are the names of all operations.
var operations = []string{AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, Pipeline, Reduce, Gather, Scatter}

// Names of the algorithms.
const (
	Ring            = "ring"
	DoubleTree      = "double_tree"
	HalvingDoubling = "halving_doubling"
	Hierarchical    = "hierarchical"
	Direct          = "direct"
	Tree            = "tree"
	Chain           = "chain"
	GPipe           = "gpipe"
	Alternating     = "1f1b"
)

// Algorithms returns the algorithms of an operation; the first is its default.
func Algorithms(operation string) []string {
	switch operation {
	case AllReduce:
		return []string{Ring, DoubleTree, HalvingDoubling, Hierarchical}
	case AllGather, ReduceScatter:
		return []string{Ring, HalvingDoubling}
	case AllToAll:
		return []string{Direct, Hierarchical}
	case Gather, Scatter:
		return []string{Direct}
	case Broadcast, Reduce:
		return []string{Chain, Tree}
	case Pipeline:
		return []string{GPipe, Alternating}
	}
	return nil
}

// step is one operation of a member: a transfer of blocks low … high−1, or computing. Both sides of a transfer have
// its tag, which is unique among the transfers between the two members.
type step struct {
	kind      job.OpKind
	peer      int
	low, high int
	tag       int
	reduces   bool // what is received is added to the member's own data
	time      unit.Time
}

// stepList is a list of the steps that another step depends on. It has a fixed array, because hundreds of millions of
// steps may need one. A member of a tree depends on its children, at most 31.
type stepList struct {
	indices [31]int32
	n       int32
}

// add appends step i. The list must have room.
func (s *stepList) add(i int) { s.indices[s.n], s.n = int32(i), s.n+1 }

// with returns the list with step i appended.
func (s stepList) with(i int) stepList {
	s.add(i)
	return s
}

// algorithm defines by formula the steps of an operation's members. Member m has steps 0 … stepCount(m)−1.
type algorithm interface {
	stepCount(m int) int
	stepAt(m, i int) step
	// dependencies returns the steps that step i depends on, all below i; empty for a first step.
	dependencies(m, i int) stepList
	// blockCount returns into how many blocks, which steps name, an operation's data are divided. tagCount returns how
	// many tags the steps of all members use, from 0.
	blockCount() int
	tagCount() int
	maxPosted() int // maximum number of steps posted at a time; 0: all
}

// modulo returns x modulo n, in 0 … n−1, for negative x too.
func modulo(x, n int) int { return (x%n + n) % n }

// rounds are steps in pairs, a send and a receive. Each send depends on the receive of the previous round. So does
// each receive, so that the data to which a member adds are complete.
type rounds struct{}

// dependencies returns the receive of the previous round, and no step for the first round.
func (rounds) dependencies(_, i int) (to stepList) {
	if i < 2 {
		return to
	}
	return to.with((i/2-1)*2 + 1)
}

// ringOpen is the number of steps of a ring that are posted at a time: 8 rounds, the number of NCCL's slots.
const ringOpen = 16

// ring is reduce-scatter and all-gather in a ring (Patarasu and Yuan, 2009, §4). In round k of the reduction member m
// sends block m−1−k, so that it ends with block m. In round k of the gathering it sends block m−k.
type ring struct {
	rounds
	n               int
	scatter, gather bool
	adjacent        int // adjacent blocks that are sent together
}

// phaseCount returns 2 for reduce-scatter followed by all-gather, else 1.
func (r *ring) phaseCount() int {
	if r.scatter && r.gather {
		return 2
	}
	return 1
}
func (r *ring) stepCount(int) int { return 2 * r.phaseCount() * (r.n - 1) }
func (r *ring) blockCount() int   { return r.n * r.adjacent }
func (r *ring) tagCount() int     { return r.phaseCount() * (r.n - 1) }
func (r *ring) maxPosted() int    { return ringOpen }

// stepAt returns step i of member m. In round i/2 it sends to the next member if i is even, and receives from the
// previous one if i is odd.
func (r *ring) stepAt(m, i int) step {
	k := i / 2
	s := step{kind: job.Send, peer: (m + 1) % r.n, tag: k}
	first := m
	if i%2 == 1 {
		s.kind, s.peer = job.Recv, modulo(m-1, r.n)
		first--
	}
	if r.scatter && k < r.n-1 {
		s.reduces = true
		first--
	} else if r.scatter {
		k -= r.n - 1
	}
	block := modulo(first-k, r.n)
	s.low, s.high = block*r.adjacent, (block+1)*r.adjacent
	return s
}

// halving is recursive halving, which scatters the reduced blocks, and doubling, which gathers. The number of members
// is a power of two.
type halving struct {
	rounds
	n               int
	scatter, gather bool
}

// roundsPerPhase returns the number of rounds of one phase.
func (h *halving) roundsPerPhase() int { return bits.Len(uint(h.n)) - 1 }
func (h *halving) stepCount(int) int   { return 2 * h.tagCount() }
func (h *halving) blockCount() int     { return h.n }
func (h *halving) maxPosted() int      { return 0 }

// tagCount returns the number of rounds of all phases, since each has a tag.
func (h *halving) tagCount() int {
	if h.scatter && h.gather {
		return 2 * h.roundsPerPhase()
	}
	return h.roundsPerPhase()
}

// stepAt returns step i of member m. In round i/2 it sends to a partner if i is even, and receives from the same one if
// i is odd.
func (h *halving) stepAt(m, i int) step {
	k := i / 2
	s := step{kind: job.Send, tag: k}
	if i%2 == 1 {
		s.kind = job.Recv
	}
	if h.scatter && k < h.roundsPerPhase() { // each member keeps the half of its range that contains its own block
		width := h.n >> (k + 1)
		s.peer, s.reduces = m^width, true
		keep := m
		if s.kind == job.Send {
			keep = s.peer
		}
		s.low = keep / width * width
		s.high = s.low + width
		return s
	}
	if h.scatter {
		k -= h.roundsPerPhase()
	}
	width := 1 << k
	s.peer = m ^ width
	of := m
	if s.kind == job.Recv {
		of = s.peer
	}
	s.low = of / width * width
	s.high = s.low + width
	return s
}

// hierarchical is an all-reduce of members in groups of neighbours. A ring within each group scatters, a ring among
// the members at the same position of each group reduces, and a ring within each group gathers.
type hierarchical struct {
	rounds
	n, local int
}

// innerAndOuter returns the ring within a group and the ring among the groups.
func (h *hierarchical) innerAndOuter() (inner, outer ring) {
	groups := h.n / h.local
	return ring{n: h.local, scatter: true, adjacent: groups}, ring{n: groups, scatter: true, gather: true, adjacent: 1}
}
func (h *hierarchical) stepCount(int) int { return 4*(h.local-1) + 4*(h.n/h.local-1) }
func (h *hierarchical) blockCount() int   { return h.n }
func (h *hierarchical) tagCount() int     { return h.stepCount(0) / 2 }
func (h *hierarchical) maxPosted() int    { return ringOpen }

// stepAt returns step i of member m: a step of the ring in its group that scatters, of the ring among groups, or of the
// ring in its group that gathers.
func (h *hierarchical) stepAt(m, i int) step {
	inner, outer := h.innerAndOuter()
	place, group := m%h.local, m/h.local
	a, b := inner.stepCount(0), outer.stepCount(0)
	var s step
	switch {
	case i < a:
		s = inner.stepAt(place, i)
		s.peer += group * h.local
	case i < a+b:
		s = outer.stepAt(group, i-a)
		s.peer = s.peer*h.local + place
		s.low, s.high = s.low+place*outer.n, s.high+place*outer.n
	default:
		gather := ring{n: h.local, gather: true, adjacent: inner.adjacent}
		s = gather.stepAt(place, i-a-b)
		s.peer += group * h.local
	}
	s.tag = i / 2
	return s
}

// doubleTree is an all-reduce over two binary trees, each with half of the data (Sanders, Speck and Träff, 2009). At
// most one member is a leaf of both trees.
type doubleTree struct{ n int }

// placeInFirst returns the position of member m of tree t in the first tree. memberAt is its inverse.
func (d *doubleTree) placeInFirst(t, m int) int {
	switch {
	case t == 0:
		return m
	case d.n%2 == 0:
		return d.n - 1 - m
	}
	return modulo(m-1, d.n)
}

// memberAt returns the member of tree t that has position p of the first tree.
func (d *doubleTree) memberAt(t, p int) int {
	switch {
	case t == 0:
		return p
	case d.n%2 == 0:
		return d.n - 1 - p
	}
	return (p + 1) % d.n
}

// neighboursOf returns the neighbours of position p in the first tree: the parent, −1 for the root 0, and the children
// in ascending order. The positions from 1 on are an in-order tree: the number of trailing zero bits of p is the
// number of levels below it.
func (d *doubleTree) neighboursOf(p int) (parent int, children []int) {
	if p == 0 {
		if d.n == 1 {
			return -1, nil
		}
		return -1, []int{1 << (bits.Len(uint(d.n-1)) - 1)}
	}
	low := p & -p
	if parent = (p ^ low) | low<<1; parent >= d.n {
		parent = p ^ low
	}
	if half := low / 2; half > 0 {
		children = append(children, p-half)
		for ; half > 0; half /= 2 {
			if p+half < d.n {
				children = append(children, p+half)
				break
			}
		}
	}
	return parent, children
}

// partOf returns the neighbours of member m in tree t, and its number of steps: from its children, to and from its
// parent, to its children.
func (d *doubleTree) partOf(t, m int) (parent int, children []int, steps int) {
	parent, children = d.neighboursOf(d.placeInFirst(t, m))
	if steps = 2 * len(children); parent >= 0 {
		parent = d.memberAt(t, parent)
		steps += 2
	}
	for i := range children {
		children[i] = d.memberAt(t, children[i])
	}
	return parent, children, steps
}

// stepCount returns the number of member m's steps in both trees.
func (d *doubleTree) stepCount(m int) int {
	_, _, a := d.partOf(0, m)
	_, _, b := d.partOf(1, m)
	return a + b
}
func (d *doubleTree) blockCount() int { return 2 }
func (d *doubleTree) tagCount() int   { return 4 }
func (d *doubleTree) maxPosted() int  { return 0 }

// stepAt returns step i of member m: the steps of tree 0, then of tree 1, in the order of partOf. Tree t carries
// block t.
func (d *doubleTree) stepAt(m, i int) step {
	t := 0
	parent, children, n := d.partOf(0, m)
	if i >= n {
		i -= n
		t = 1
		parent, children, _ = d.partOf(1, m)
	}
	s := step{low: t, high: t + 1, tag: t}
	if i < len(children) {
		s.kind, s.peer, s.reduces = job.Recv, children[i], true
		return s
	}
	i -= len(children)
	if parent >= 0 && i < 2 {
		s.kind, s.peer = job.Send, parent
		if i == 1 {
			s.kind, s.tag = job.Recv, t+2
		}
		return s
	}
	if parent >= 0 {
		i -= 2
	}
	s.kind, s.peer, s.tag = job.Send, children[i], t+2
	return s
}

// dependencies returns the receive from the parent for a send to a child. A send to the parent, or of the root to a
// child, depends on the receives from all children. Receives depend on no step.
func (d *doubleTree) dependencies(m, i int) (to stepList) {
	first := 0
	parent, children, n := d.partOf(0, m)
	if i >= n {
		first = n
		parent, children, _ = d.partOf(1, m)
	}
	k := i - first
	switch {
	case k < len(children) || parent >= 0 && k == len(children)+1:
		return to
	case parent >= 0 && k > len(children)+1:
		return to.with(first + len(children) + 1)
	}
	for c := range children {
		to.add(first + c)
	}
	return to
}

// chain is a broadcast from one member to the next, which is pipelined if there are chunks.
type chain struct{ n int }

func (c *chain) blockCount() int { return 1 }
func (c *chain) tagCount() int   { return 1 }
func (c *chain) maxPosted() int  { return 0 }

// stepCount returns 1 at both ends of the chain, and otherwise 2, a receive and a send.
func (c *chain) stepCount(m int) int {
	if m == 0 || m == c.n-1 {
		return 1
	}
	return 2
}

// stepAt returns step i of member m: the receive from the member before it, if there is one, and then the send to the
// next.
func (c *chain) stepAt(m, i int) step {
	if m > 0 && i == 0 {
		return step{kind: job.Recv, peer: m - 1, high: 1}
	}
	return step{kind: job.Send, peer: m + 1, high: 1}
}

// dependencies returns the receive for a send that follows one.
func (c *chain) dependencies(_, i int) (to stepList) {
	if i > 0 {
		to.add(0)
	}
	return to
}

// binomial is a broadcast over a tree: in round r members below 2^r send to the member 2^r further on.
type binomial struct{ n int }

func (b *binomial) blockCount() int { return 1 }
func (b *binomial) tagCount() int   { return 1 }
func (b *binomial) maxPosted() int  { return 0 }

// firstRound returns whether member m receives from another one (1 or 0), and the first round in which it sends.
func (b *binomial) firstRound(m int) (received, first int) { return min(m, 1), bits.Len(uint(m)) }

// stepCount returns the number of member m's sends, plus its receive unless it is the root.
func (b *binomial) stepCount(m int) int {
	received, first := b.firstRound(m)
	n := received
	for r := first; m+1<<r < b.n; r++ {
		n++
	}
	return n
}

// stepAt returns step i of member m: its receive, unless it is the root, and then its sends by round.
func (b *binomial) stepAt(m, i int) step {
	received, first := b.firstRound(m)
	if i < received {
		return step{kind: job.Recv, peer: m - 1<<(first-1), high: 1}
	}
	return step{kind: job.Send, peer: m + 1<<(first+i-received), high: 1}
}

// dependencies returns the step before step i: sends follow each other.
func (b *binomial) dependencies(_, i int) (to stepList) {
	if i > 0 {
		to.add(i - 1)
	}
	return to
}

// pipeline is the work of the stages of a model, each a member, on micro-batches: first all batches forward, then all
// backward, where backward takes time.
type pipeline struct {
	n, batches        int
	forward, backward unit.Time
}

func (p *pipeline) blockCount() int { return 1 }
func (p *pipeline) maxPosted() int  { return 0 }
func (p *pipeline) tagCount() int   { return 2 * p.batches }

// directionCount returns the number of directions: 2 with a backward pass, else 1. A batch has up to three steps in
// each direction: receive, compute, send.
func (p *pipeline) directionCount() int {
	if p.backward > 0 {
		return 2
	}
	return 1
}

// hasTransfers reports whether stage m receives from another one in a direction, and whether it sends to another one.
// way is 0 for forward, 1 for backward.
func (p *pipeline) hasTransfers(m, way int) (receives, sends bool) {
	if way == 0 {
		return m > 0, m < p.n-1
	}
	return m < p.n-1, m > 0
}

// stepsPerBatch returns the number of steps of a batch in a direction.
func (p *pipeline) stepsPerBatch(m, way int) int {
	n := 1
	hears, tells := p.hasTransfers(m, way)
	if hears {
		n++
	}
	if tells {
		n++
	}
	return n
}

// stepCount returns the number of steps of stage m, for all batches in all directions.
func (p *pipeline) stepCount(m int) (n int) {
	for way := range p.directionCount() {
		n += p.batches * p.stepsPerBatch(m, way)
	}
	return n
}

// locateStep returns the direction, batch and part (0 receive, 1 compute, 2 send) of step i, and the first step of the
// direction.
func (p *pipeline) locateStep(m, i int) (way, batch, part, first int) {
	if n := p.batches * p.stepsPerBatch(m, 0); i >= n {
		way, first = 1, n
	}
	each := p.stepsPerBatch(m, way)
	batch, part = (i-first)/each, (i-first)%each
	if hears, _ := p.hasTransfers(m, way); !hears {
		part++
	}
	return way, batch, part, first
}

func (p *pipeline) stepAt(m, i int) step {
	way, batch, part, _ := p.locateStep(m, i)
	return p.makeStep(m, way, batch, part)
}

// dependencies returns the computing of a batch for its send. Computing depends on the batch's receive, if any, and on
// the computing before it; the first one backward on the last one forward. Receives depend on no step.
func (p *pipeline) dependencies(m, i int) (to stepList) {
	way, batch, part, first := p.locateStep(m, i)
	each := p.stepsPerBatch(m, way)
	hears, _ := p.hasTransfers(m, way)
	switch part {
	case 0:
		return to
	case 2:
		return to.with(i - 1)
	}
	if hears {
		to.add(i - 1)
	}
	switch {
	case batch > 0: // the computing of the previous batch
		to.add(i - each)
	case way == 1: // the computing of the last batch forward
		own := p.stepsPerBatch(m, 0)
		last := first - own
		if m > 0 {
			last++
		}
		to.add(last)
	}
	return to
}

// newAlgorithm returns the algorithm of a configuration. It is an error if the operation has no such algorithm, or the
// algorithm does not fit the number of members.
func newAlgorithm(c *Config) (algorithm, error) {
	n := c.Members
	scatter, gather := c.Operation != AllGather, c.Operation != ReduceScatter
	if !slices.Contains(Algorithms(c.Operation), c.Algorithm) {
		return nil, fmt.Errorf("%s has no algorithm %q", c.Operation, c.Algorithm)
	}
	switch {
	case c.Algorithm == Hierarchical && (c.Local < 2 || n%c.Local != 0 || c.Local == n):
		return nil, &configError{"local", "a divisor of the number of members, neither 1 nor that itself",
			fmt.Sprintf("%d members cannot be in groups of %d", n, c.Local)}
	case c.Operation == Pipeline && c.Algorithm == Alternating && c.Backward == 0:
		return nil, &configError{"backward", "a time above 0s, or schedule: gpipe",
			"without a way back there is nothing to do in turn"}
	case c.Operation == Pipeline && c.Algorithm == Alternating:
		return &alternating{pipeline{n, c.Batches, c.Forward, c.Backward}}, nil
	case c.Operation == Pipeline:
		return &pipeline{n, c.Batches, c.Forward, c.Backward}, nil
	case c.Operation == Broadcast && c.Algorithm == Chain:
		return &chain{n}, nil
	case c.Operation == Broadcast:
		return &binomial{n}, nil
	case c.Operation == Reduce && c.Algorithm == Chain:
		return &reduceChain{chain{n}}, nil
	case c.Operation == Reduce:
		return &reduceTree{binomial{n}}, nil
	case c.Operation == Gather, c.Operation == Scatter:
		return &rootedExchange{n, c.Operation == Gather}, nil
	case c.Algorithm == DoubleTree:
		return &doubleTree{n}, nil
	case c.Algorithm == HalvingDoubling && n&(n-1) != 0:
		return nil, &configError{"hosts", "a power of two, or another algorithm",
			fmt.Sprintf("halving and doubling is among 2, 4, 8, … members, not %d", n)}
	case c.Algorithm == HalvingDoubling:
		return &halving{n: n, scatter: scatter, gather: gather}, nil
	case c.Operation == AllToAll && c.Algorithm == Hierarchical:
		return &relayed{n, c.Local, c.AtOnce}, nil
	case c.Operation == AllToAll:
		return &direct{n, c.AtOnce}, nil
	case c.Algorithm == Hierarchical:
		return &hierarchical{n: n, local: c.Local}, nil
	}
	return &ring{n: n, scatter: scatter, gather: gather, adjacent: 1}, nil
}
