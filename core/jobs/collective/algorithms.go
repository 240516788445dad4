package collective

import (
	"fmt"
	"math/bits"
	"slices"

	"weir/core/jobs/job"
	"weir/core/unit"
)

// What the operations are called.
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

// operations are all of them.
var operations = []string{AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, Pipeline, Reduce, Gather, Scatter}

// What algorithms are called.
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

// Algorithms are those of an operation; the first is its default.
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

// step is one operation of a member: a transfer of blocks low … high−1, or computing. Both sides of a transfer have its
// tag, which no other transfer between the two has.
type step struct {
	kind      job.OpKind
	peer      int
	low, high int
	tag       int
	reduces   bool // what is received is added to what is there
	time      unit.Time
}

// steps are those that a step comes after: few, in a place of their own, as there may be hundreds of millions. A member
// of a tree comes after its children, which are 31 at the most.
type steps struct {
	at [31]int32
	n  int32
}

func (s *steps) add(i int) { s.at[s.n], s.n = int32(i), s.n+1 }

func (s steps) and(i int) steps {
	s.add(i)
	return s
}

// algorithm is what the members of an operation do, by formula. Member m has steps 0 … steps(m)−1.
type algorithm interface {
	steps(m int) int
	step(m, i int) step
	// after appends steps below i that step i comes after; none: it is a first one.
	after(m, i int) steps
	blocks() int
	tags() int
	open() int // steps that are posted at a time; 0: all
}

// mod is x modulo n, from 0 on.
func mod(x, n int) int { return (x%n + n) % n }

// rounds are steps in pairs, a send and a receive: each send comes after the receive of the round before, and each
// receive, too, so that what a member adds to is complete.
type rounds struct{}

func (rounds) after(_, i int) (to steps) {
	if i < 2 {
		return to
	}
	return to.and((i/2-1)*2 + 1)
}

// ringOpen is how many steps of a ring are posted at a time: 8 rounds, as many as NCCL has slots.
const ringOpen = 16

// ring is reduce-scatter and all-gather in a ring (Patarasu and Yuan, 2009, §4). In round k member m sends block m−1−k
// of what it reduces, so that in the end it has block m, and then block m−k of what it gathers.
type ring struct {
	rounds
	n               int
	scatter, gather bool
	each            int // blocks that go together
}

func (r *ring) phases() int {
	if r.scatter && r.gather {
		return 2
	}
	return 1
}
func (r *ring) steps(int) int { return 2 * r.phases() * (r.n - 1) }
func (r *ring) blocks() int   { return r.n * r.each }
func (r *ring) tags() int     { return r.phases() * (r.n - 1) }
func (r *ring) open() int     { return ringOpen }

func (r *ring) step(m, i int) step {
	k := i / 2
	s := step{kind: job.Send, peer: (m + 1) % r.n, tag: k}
	first := m
	if i%2 == 1 {
		s.kind, s.peer = job.Recv, mod(m-1, r.n)
		first--
	}
	if r.scatter && k < r.n-1 {
		s.reduces = true
		first--
	} else if r.scatter {
		k -= r.n - 1
	}
	block := mod(first-k, r.n)
	s.low, s.high = block*r.each, (block+1)*r.each
	return s
}

// halving is recursive halving, which scatters what is reduced, and doubling, which gathers. The number of members is a
// power of two.
type halving struct {
	rounds
	n               int
	scatter, gather bool
}

func (h *halving) half() int     { return bits.Len(uint(h.n)) - 1 } // rounds of one phase
func (h *halving) steps(int) int { return 2 * h.tags() }
func (h *halving) blocks() int   { return h.n }
func (h *halving) open() int     { return 0 }
func (h *halving) tags() int {
	if h.scatter && h.gather {
		return 2 * h.half()
	}
	return h.half()
}

func (h *halving) step(m, i int) step {
	k := i / 2
	s := step{kind: job.Send, tag: k}
	if i%2 == 1 {
		s.kind = job.Recv
	}
	if h.scatter && k < h.half() { // of the range that it has, each keeps the half that has its own block
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
		k -= h.half()
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

// hierarchical is an all-reduce of members in groups of neighbours: a ring scatters within each group, a ring among the
// members with the same place reduces, and a ring within each group gathers.
type hierarchical struct {
	rounds
	n, local int
}

func (h *hierarchical) rings() (inner, outer ring) {
	groups := h.n / h.local
	return ring{n: h.local, scatter: true, each: groups}, ring{n: groups, scatter: true, gather: true, each: 1}
}
func (h *hierarchical) steps(int) int { return 4*(h.local-1) + 4*(h.n/h.local-1) }
func (h *hierarchical) blocks() int   { return h.n }
func (h *hierarchical) tags() int     { return h.steps(0) / 2 }
func (h *hierarchical) open() int     { return ringOpen }

func (h *hierarchical) step(m, i int) step {
	inner, outer := h.rings()
	place, group := m%h.local, m/h.local
	a, b := inner.steps(0), outer.steps(0)
	var s step
	switch {
	case i < a:
		s = inner.step(place, i)
		s.peer += group * h.local
	case i < a+b:
		s = outer.step(group, i-a)
		s.peer = s.peer*h.local + place
		s.low, s.high = s.low+place*outer.n, s.high+place*outer.n
	default:
		gather := ring{n: h.local, gather: true, each: inner.each}
		s = gather.step(place, i-a-b)
		s.peer += group * h.local
	}
	s.tag = i / 2
	return s
}

// doubleTree is an all-reduce over two binary trees, each with half of the data (Sanders, Speck and Träff, 2009): what
// is a leaf in one is not in the other, but for one member at most.
type doubleTree struct{ n int }

// place is where member m is in the first tree to have its place in tree t, and member is back.
func (d *doubleTree) place(t, m int) int {
	switch {
	case t == 0:
		return m
	case d.n%2 == 0:
		return d.n - 1 - m
	}
	return mod(m-1, d.n)
}

func (d *doubleTree) member(t, p int) int {
	switch {
	case t == 0:
		return p
	case d.n%2 == 0:
		return d.n - 1 - p
	}
	return (p + 1) % d.n
}

// near are the places around place p of the first tree, in order of numbers: parent −1 for the root, which is 0.
// The others are an in-order tree: p has as many levels below it as its number has zeros at the end.
func (d *doubleTree) near(p int) (parent int, children []int) {
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

// parts are the steps of member m in tree t: from its children, to and from its parent, to its children.
func (d *doubleTree) parts(t, m int) (parent int, children []int, steps int) {
	parent, children = d.near(d.place(t, m))
	if steps = 2 * len(children); parent >= 0 {
		parent = d.member(t, parent)
		steps += 2
	}
	for i := range children {
		children[i] = d.member(t, children[i])
	}
	return parent, children, steps
}

func (d *doubleTree) steps(m int) int {
	_, _, a := d.parts(0, m)
	_, _, b := d.parts(1, m)
	return a + b
}
func (d *doubleTree) blocks() int { return 2 }
func (d *doubleTree) tags() int   { return 4 }
func (d *doubleTree) open() int   { return 0 }

func (d *doubleTree) step(m, i int) step {
	t := 0
	parent, children, n := d.parts(0, m)
	if i >= n {
		i -= n
		t = 1
		parent, children, _ = d.parts(1, m)
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

func (d *doubleTree) after(m, i int) (to steps) {
	first := 0
	parent, children, n := d.parts(0, m)
	if i >= n {
		first = n
		parent, children, _ = d.parts(1, m)
	}
	k := i - first
	switch {
	case k < len(children) || parent >= 0 && k == len(children)+1:
		return to
	case parent >= 0 && k > len(children)+1:
		return to.and(first + len(children) + 1)
	}
	for c := range children {
		to.add(first + c)
	}
	return to
}

// chain is a broadcast from one member to the next, which is a pipeline where there are chunks.
type chain struct{ n int }

func (c *chain) blocks() int { return 1 }
func (c *chain) tags() int   { return 1 }
func (c *chain) open() int   { return 0 }
func (c *chain) steps(m int) int {
	if m == 0 || m == c.n-1 {
		return 1
	}
	return 2
}
func (c *chain) step(m, i int) step {
	if m > 0 && i == 0 {
		return step{kind: job.Recv, peer: m - 1, high: 1}
	}
	return step{kind: job.Send, peer: m + 1, high: 1}
}
func (c *chain) after(_, i int) (to steps) {
	if i > 0 {
		to.add(0)
	}
	return to
}

// binomial is a broadcast over a tree: in round r members below 2^r send to those 2^r further on.
type binomial struct{ n int }

func (b *binomial) blocks() int { return 1 }
func (b *binomial) tags() int   { return 1 }
func (b *binomial) open() int   { return 0 }

// received is 1 if member m hears from another one, and first is the round in which it sends first.
func (b *binomial) first(m int) (received, first int) { return min(m, 1), bits.Len(uint(m)) }

func (b *binomial) steps(m int) int {
	received, first := b.first(m)
	n := received
	for r := first; m+1<<r < b.n; r++ {
		n++
	}
	return n
}
func (b *binomial) step(m, i int) step {
	received, first := b.first(m)
	if i < received {
		return step{kind: job.Recv, peer: m - 1<<(first-1), high: 1}
	}
	return step{kind: job.Send, peer: m + 1<<(first+i-received), high: 1}
}
func (b *binomial) after(_, i int) (to steps) {
	if i > 0 {
		to.add(i - 1)
	}
	return to
}

// pipeline is what the stages of a model do, each a member, with so many micro-batches: forward, each after the other,
// and then back, where backward takes time.
type pipeline struct {
	n, batches        int
	forward, backward unit.Time
}

func (p *pipeline) blocks() int { return 1 }
func (p *pipeline) open() int   { return 0 }
func (p *pipeline) tags() int   { return 2 * p.batches }

// Each batch has three steps a way, where none is left out: receive, compute, send.
func (p *pipeline) ways() int {
	if p.backward > 0 {
		return 2
	}
	return 1
}
func (p *pipeline) ends(m, way int) (hears, tells bool) {
	if way == 0 {
		return m > 0, m < p.n-1
	}
	return m < p.n-1, m > 0
}
func (p *pipeline) each(m, way int) int {
	n := 1
	hears, tells := p.ends(m, way)
	if hears {
		n++
	}
	if tells {
		n++
	}
	return n
}
func (p *pipeline) steps(m int) (n int) {
	for way := range p.ways() {
		n += p.batches * p.each(m, way)
	}
	return n
}

// at is which batch, way and part (0 receive, 1 compute, 2 send) step i is; first is the first step of the way.
func (p *pipeline) at(m, i int) (way, batch, part, first int) {
	if n := p.batches * p.each(m, 0); i >= n {
		way, first = 1, n
	}
	each := p.each(m, way)
	batch, part = (i-first)/each, (i-first)%each
	if hears, _ := p.ends(m, way); !hears {
		part++
	}
	return way, batch, part, first
}

func (p *pipeline) step(m, i int) step {
	way, batch, part, _ := p.at(m, i)
	return p.does(m, way, batch, part)
}

func (p *pipeline) after(m, i int) (to steps) {
	way, batch, part, first := p.at(m, i)
	each := p.each(m, way)
	hears, _ := p.ends(m, way)
	switch part {
	case 0:
		return to
	case 2:
		return to.and(i - 1)
	}
	if hears {
		to.add(i - 1)
	}
	switch {
	case batch > 0: // the computing of the batch before
		to.add(i - each)
	case way == 1: // and of the last one forward
		own := p.each(m, 0)
		last := first - own
		if m > 0 {
			last++
		}
		to.add(last)
	}
	return to
}

// newAlgorithm makes that of an operation among n members.
func newAlgorithm(c *Config) (algorithm, error) {
	n := c.Members
	scatter, gather := c.Operation != AllGather, c.Operation != ReduceScatter
	if !slices.Contains(Algorithms(c.Operation), c.Algorithm) {
		return nil, fmt.Errorf("%s has no algorithm %q", c.Operation, c.Algorithm)
	}
	switch {
	case c.Algorithm == Hierarchical && (c.Local < 2 || n%c.Local != 0 || c.Local == n):
		return nil, &wrong{"local", "a divisor of the number of members, neither 1 nor that itself",
			fmt.Sprintf("%d members cannot be in groups of %d", n, c.Local)}
	case c.Operation == Pipeline && c.Algorithm == Alternating && c.Backward == 0:
		return nil, &wrong{"backward", "a time above 0s, or schedule: gpipe",
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
		return &up{chain{n}}, nil
	case c.Operation == Reduce:
		return &reduceTree{binomial{n}}, nil
	case c.Operation == Gather, c.Operation == Scatter:
		return &star{n, c.Operation == Gather}, nil
	case c.Algorithm == DoubleTree:
		return &doubleTree{n}, nil
	case c.Algorithm == HalvingDoubling && n&(n-1) != 0:
		return nil, &wrong{"hosts", "a power of two, or another algorithm",
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
	return &ring{n: n, scatter: scatter, gather: gather, each: 1}, nil
}
