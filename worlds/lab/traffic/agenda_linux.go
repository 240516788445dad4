package traffic

import (
	"sort"

	"weir/core/fabric/timerheap"
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

// agenda is what is to be done, the earliest first; at one time by flow, then by task.
type agenda struct{ heap timerheap.Heap }

// next is when something is to be done; unit.Never if nothing is.
func (a *agenda) next() unit.Time { return a.heap.First() }

// add enters a task at a time, which is not before time 0.
func (a *agenda) add(at unit.Time, flow int, t task) {
	a.heap.Push(timerheap.Entry{At: at, Key: uint64(flow)<<8 | uint64(t)})
}

// take returns what is first, which must be there, and removes it.
func (a *agenda) take() (flow int, t task) {
	a.heap.First()
	key := a.heap.Take().Key
	return int(key >> 8), task(key & 0xff)
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
