package collective

import "weir/core/jobs/job"

// direct is an all-to-all: every member sends to every other one, first to its neighbour, and to so many at a time.
type direct struct {
	n      int
	atOnce int // 0: all
}

func (d *direct) steps(int) int { return 2 * (d.n - 1) }
func (d *direct) blocks() int   { return d.n * d.n }
func (d *direct) tags() int     { return 1 }
func (d *direct) open() int     { return 2 * min(d.atOnce, d.n-1) }

func (d *direct) after(_, i int) (to steps) {
	if k := i/2 - d.atOnce; d.atOnce > 0 && k >= 0 {
		to = to.and(2 * k).and(2*k + 1)
	}
	return to
}

func (d *direct) step(m, i int) step {
	k := i/2 + 1
	s := step{kind: job.Send, peer: (m + k) % d.n}
	s.low = m*d.n + s.peer
	if i%2 == 1 {
		s.kind, s.peer = job.Recv, mod(m-k, d.n)
		s.low = s.peer*d.n + m
	}
	s.high = s.low + 1
	return s
}

// relayed is an all-to-all of members in groups of neighbours, in which a member passes on what others of its group
// have for those with its own place in other groups: what leaves a group stays on a rail (PXN). In turn t a member of
// group g gives its neighbours what it has for their places in group g+t, takes what they have for its own place there,
// and sends all of that on in one message. In turn 0, of its own group, nothing goes on.
//
// Block ((g·G + s)·L + j)·L + i is what place i of group g has for place j of group s, of G groups of L.
type relayed struct {
	n, local int
	atOnce   int // turns at a time; 0: all
}

func (r *relayed) groups() int   { return r.n / r.local }
func (r *relayed) steps(int) int { return 2*(r.local-1) + 2*r.local*(r.groups()-1) }
func (r *relayed) blocks() int   { return r.n * r.n }
func (r *relayed) tags() int     { return r.groups() }
func (r *relayed) open() int     { return 2 * r.local * min(r.atOnce, r.groups()) }

// turn is the turn of a step and its place in it: sends to neighbours, receives from them, and one of each to and from
// another group.
func (r *relayed) turn(i int) (t, x int) {
	if own := 2 * (r.local - 1); i >= own {
		return 1 + (i-own)/(2*r.local), (i - own) % (2 * r.local)
	}
	return 0, i
}

func (r *relayed) after(_, i int) (to steps) {
	t, x := r.turn(i)
	switch last := 2*r.local - 2; { // last is the place of what goes on, after all receives, which come after each other
	case x == last, x >= r.local && x < last:
		return to.and(i - 1)
	case x < r.local-1 && r.atOnce > 0 && t >= r.atOnce:
		first := i - x - 2*r.local*(r.atOnce-1) // step of the turn behind the one that is waited for
		return to.and(first - 2).and(first - 1)
	}
	return to
}

func (r *relayed) step(m, i int) step {
	g, place, all := m/r.local, m%r.local, r.groups()
	t, x := r.turn(i)
	block := func(from, to, j, i int) int { return ((from*all+to)*r.local+j)*r.local + i }
	s := step{kind: job.Send, tag: t}
	width := 1
	switch to := (g + t) % all; {
	case x < r.local-1:
		j := (place + 1 + x) % r.local
		s.peer, s.low = g*r.local+j, block(g, to, j, place)
	case x < 2*r.local-2:
		i := mod(place-1-(x-r.local+1), r.local)
		s.kind, s.peer, s.low = job.Recv, g*r.local+i, block(g, to, place, i)
	case x == 2*r.local-2:
		s.peer, s.low, width = to*r.local+place, block(g, to, place, 0), r.local
	default:
		from := mod(g-t, all)
		s.kind, s.peer, s.low, width = job.Recv, from*r.local+place, block(from, g, place, 0), r.local
	}
	s.high = s.low + width
	return s
}
