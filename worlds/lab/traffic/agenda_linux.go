package traffic

import (
	"sort"

	"weir/core/fabric/timerheap"
	"weir/core/unit"
)

// task is an action for a flow at a given time.
type task uint8

const (
	beginTask task = iota
	soonStopTask
	stopTask
	writeTask
	sendTask
)

// agenda orders tasks by time, then by flow, then by task.
type agenda struct{ heap timerheap.Heap }

// nextTime returns the time of the first task, unit.Never without tasks.
func (a *agenda) nextTime() unit.Time { return a.heap.FirstTime() }

// addTask adds an action for a flow at time due, which is at least 0.
func (a *agenda) addTask(due unit.Time, flow int, action task) {
	a.heap.Push(timerheap.Entry{At: due, Key: uint64(flow)<<8 | uint64(action)})
}

// takeFirst removes and returns the first task, which must exist.
func (a *agenda) takeFirst() (flow int, t task) {
	a.heap.FirstTime()
	key := a.heap.Take().Key
	return int(key >> 8), task(key & 0xff)
}

// A flow's socket opens openLead before its start, so that few sockets are open at a time. Flows that start within
// openBatch after that open together, to enter namespaces rarely.
const (
	openLead  = 20 * unit.Millisecond
	openBatch = 20 * unit.Millisecond
)

// starts holds the flows that have not started, in order of their starts.
type starts struct {
	flows []int
	times []unit.Time // by flow
}

// newStarts returns the starts of flows; all are the run's flows. Flows with predecessors are left out, and released
// separately.
func newStarts(flows []int, all []Flow) *starts {
	s := &starts{times: make([]unit.Time, len(all))}
	for _, i := range flows {
		s.times[i] = all[i].Start
		if len(all[i].Predecessors) == 0 {
			s.flows = append(s.flows, i)
		}
	}
	sort.SliceStable(s.flows, func(a, b int) bool { return s.times[s.flows[a]] < s.times[s.flows[b]] })
	return s
}

// nextTime returns the time to open the next sockets, openLead before a start; unit.Never without flows.
func (s *starts) nextTime() unit.Time {
	if len(s.flows) == 0 {
		return unit.Never
	}
	return s.times[s.flows[0]] - openLead
}

// takeReady removes and returns the flows with sockets to open now, grouped by source node: those that start at most
// openLead plus openBatch after now. all are the run's flows.
func (s *starts) takeReady(now unit.Time, all []Flow) []int {
	n := 0
	for n < len(s.flows) && s.times[s.flows[n]] <= now+openLead+openBatch {
		n++
	}
	out := s.flows[:n:n]
	s.flows = s.flows[n:]
	sort.SliceStable(out, func(a, b int) bool { return all[out[a]].Src < all[out[b]].Src })
	return out
}
