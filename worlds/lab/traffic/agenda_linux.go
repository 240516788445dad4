package traffic

import (
	"sort"

	"weir/core/unit"
)

// task is what is to be done for a flow at a time.
type task uint8

const (
	begin task = iota
	soonStop
	stop
	write
	send
)

// entry of an agenda.
type entry struct {
	at   unit.Time
	flow int32
	task task
}

func (e entry) before(o entry) bool {
	return e.at < o.at || e.at == o.at && (e.flow < o.flow || e.flow == o.flow && e.task < o.task)
}

// agenda is a binary heap of what is to be done, the earliest first.
type agenda []entry

func (a agenda) next() unit.Time {
	if len(a) == 0 {
		return unit.Never
	}
	return a[0].at
}

func (a *agenda) push(e entry) {
	*a = append(*a, e)
	s := *a
	i := len(s) - 1
	for i > 0 && e.before(s[(i-1)/2]) {
		s[i] = s[(i-1)/2]
		i = (i - 1) / 2
	}
	s[i] = e
}

func (a *agenda) pop() entry {
	s := *a
	top, last := s[0], s[len(s)-1]
	s = s[:len(s)-1]
	*a = s
	i := 0
	for c := 1; c < len(s); c = 2*i + 1 {
		if c+1 < len(s) && s[c+1].before(s[c]) {
			c++
		}
		if !s[c].before(last) {
			break
		}
		s[i] = s[c]
		i = c
	}
	if len(s) > 0 {
		s[i] = last
	}
	return top
}

// How long before its start a flow's socket is opened, so that few are open at a time,
// and how much later starts are looked at then, so that few visits to namespaces are made.
const (
	readyBefore = 20 * unit.Millisecond
	readyWith   = 20 * unit.Millisecond
)

// starts are flows in the order of their starts.
type starts struct {
	flows []int
	at    []unit.Time // by flow
}

func newStarts(flows []int, all []Flow) *starts {
	s := &starts{at: make([]unit.Time, len(all))}
	for _, i := range flows {
		s.at[i] = all[i].Start
		if len(all[i].After) == 0 {
			s.flows = append(s.flows, i)
		}
	}
	sort.SliceStable(s.flows, func(a, b int) bool { return s.at[s.flows[a]] < s.at[s.flows[b]] })
	return s
}

// next is when sockets are to be opened.
func (s *starts) next() unit.Time {
	if len(s.flows) == 0 {
		return unit.Never
	}
	return s.at[s.flows[0]] - readyBefore
}

// ready takes away the flows whose sockets are to be opened now, those of a node together.
func (s *starts) ready(now unit.Time, all []Flow) []int {
	n := 0
	for n < len(s.flows) && s.at[s.flows[n]] <= now+readyBefore+readyWith {
		n++
	}
	out := s.flows[:n:n]
	s.flows = s.flows[n:]
	sort.SliceStable(out, func(a, b int) bool { return all[out[a]].Src < all[out[b]].Src })
	return out
}
