package collective

import "weir/core/jobs/job"

// direct is an all-to-all: every member sends to every other one, starting with its neighbour, to atOnce members at a
// time.
type direct struct {
	n      int
	atOnce int // 0: all
}

func (d *direct) stepCount(int) int { return 2 * (d.n - 1) }
func (d *direct) blockCount() int   { return d.n * d.n }
func (d *direct) tagCount() int     { return 1 }
func (d *direct) maxPosted() int    { return 2 * min(d.atOnce, d.n-1) }

// dependencies returns the send and the receive of atOnce pairs earlier, and no step if all members are sent to at
// once.
func (d *direct) dependencies(_, i int) (to stepList) {
	if k := i/2 - d.atOnce; d.atOnce > 0 && k >= 0 {
		to = to.with(2 * k).with(2*k + 1)
	}
	return to
}

// stepAt returns step i of member m. With k = i/2 + 1 it is the send to the k-th member after m if i is even. If i is
// odd, it is the receive from the k-th member before m.
func (d *direct) stepAt(m, i int) step {
	k := i/2 + 1
	s := step{kind: job.Send, peer: (m + k) % d.n}
	s.low = m*d.n + s.peer
	if i%2 == 1 {
		s.kind, s.peer = job.Recv, modulo(m-k, d.n)
		s.low = s.peer*d.n + m
	}
	s.high = s.low + 1
	return s
}

// relayed is an all-to-all of members in groups of neighbours. A member relays the data of its group for the members
// at its own position in other groups, so that traffic between groups stays on a rail (PXN). In turn t a member of
// group g sends its neighbours its data for their positions in group g+t. It receives their data for its own position
// there, and forwards all of it in one message. Turn 0 is within the group and forwards no data.
//
// Block ((g·G + s)·L + j)·L + i is the data of position i of group g for position j of group s, with G groups of L
// members.
type relayed struct {
	n, local int
	atOnce   int // turns at a time; 0: all
}

func (r *relayed) groupCount() int   { return r.n / r.local }
func (r *relayed) stepCount(int) int { return 2*(r.local-1) + 2*r.local*(r.groupCount()-1) }
func (r *relayed) blockCount() int   { return r.n * r.n }
func (r *relayed) tagCount() int     { return r.groupCount() }
func (r *relayed) maxPosted() int    { return 2 * r.local * min(r.atOnce, r.groupCount()) }

// turnOf returns the turn of a step and the step's place in it. The places are sends to neighbours, receives from them,
// and one send and one receive with another group.
func (r *relayed) turnOf(i int) (t, x int) {
	if own := 2 * (r.local - 1); i >= own {
		return 1 + (i-own)/(2*r.local), (i - own) % (2 * r.local)
	}
	return 0, i
}

// dependencies returns the step before step i for receives within the group, except a turn's first, and for the
// forwarded send that follows them. With atOnce, a turn's sends within the group depend on the exchange with another
// group atOnce turns earlier.
func (r *relayed) dependencies(_, i int) (to stepList) {
	t, x := r.turnOf(i)
	switch last := 2*r.local - 2; { // last is the forwarded send, after all receives, which depend on each other
	case x == last, x >= r.local && x < last:
		return to.with(i - 1)
	case x < r.local-1 && r.atOnce > 0 && t >= r.atOnce:
		first := i - x - 2*r.local*(r.atOnce-1) // first step of the turn after the one that is waited for
		return to.with(first - 2).with(first - 1)
	}
	return to
}

// stepAt returns step i of member m (turnOf): a send or receive of one block within its group, or of local blocks with
// the member at its position in another group.
func (r *relayed) stepAt(m, i int) step {
	g, place, all := m/r.local, m%r.local, r.groupCount()
	t, x := r.turnOf(i)
	block := func(from, to, j, i int) int { return ((from*all+to)*r.local+j)*r.local + i }
	s := step{kind: job.Send, tag: t}
	width := 1
	switch to := (g + t) % all; {
	case x < r.local-1:
		j := (place + 1 + x) % r.local
		s.peer, s.low = g*r.local+j, block(g, to, j, place)
	case x < 2*r.local-2:
		i := modulo(place-1-(x-r.local+1), r.local)
		s.kind, s.peer, s.low = job.Recv, g*r.local+i, block(g, to, place, i)
	case x == 2*r.local-2:
		s.peer, s.low, width = to*r.local+place, block(g, to, place, 0), r.local
	default:
		from := modulo(g-t, all)
		s.kind, s.peer, s.low, width = job.Recv, from*r.local+place, block(from, g, place, 0), r.local
	}
	s.high = s.low + width
	return s
}
