package uet

import (
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// pacer gives the credit of one host's link by PULLs, in turn to flows that ask for more. If there is no such flow, it
// gives credit to flows that have asked, ahead of their need. Each PULL takes the time of its credit on the link.
type pacer struct {
	active, idle transport.Queue[*member]
	transport.PullPacer
	fraction float64   // fraction of a picosecond of the gap after the latest PULL
	slow     *slowdown // nil: it gives the whole rate of the link
}

// member is a flow's place with a pacer.
type member struct {
	flow           packet.FlowID
	given, target  int64   // total units given, and asked for
	maxAhead       int64   // maximum units that are given ahead
	perQuantum     float64 // time of a unit, in picoseconds
	turns          int64
	active, inIdle bool
	over           bool // the flow is complete
}

// removeMember removes flow m, which is complete, from the turns, and reports a change of the next turn.
func (x *pacer) removeMember(m *member) {
	m.over = true
	x.NotifyChange()
	x.nextMember() // removes the members that are over
}

// nextMember returns the flow that has the next turn; nil if there is no such flow.
func (x *pacer) nextMember() *member {
	for x.active.Len() > 0 && (*x.active.Head()).over {
		x.active.Pop()
	}
	for x.idle.Len() > 0 && (*x.idle.Head()).over {
		x.idle.Pop()
	}
	switch {
	case x.active.Len() > 0:
		return *x.active.Head()
	case x.idle.Len() > 0:
		return *x.idle.Head()
	}
	return nil
}

// requestCredit puts flow m, which wants more credit, among the active ones.
func (x *pacer) requestCredit(now unit.Time, m *member) {
	if m.active || m.over {
		return
	}
	if x.nextMember() == nil && x.Resume(now) {
		x.fraction = 0
	}
	m.active = true
	if x.active.Push(m); x.active.Len() == 1 {
		x.NotifyChange()
	}
}

// sendCredit gives credit to the flow that has the turn, and returns its total units. There must be such a flow. A PULL
// gives at most maxUnits. A PULL without credit takes the time of idleUnits.
func (x *pacer) sendCredit(now unit.Time, maxUnits, idleUnits int64) int64 {
	m := x.nextMember()
	var units int64
	if x.active.Len() > 0 {
		x.active.Pop()
		units = max(min(maxUnits, m.target-m.given), 0)
		m.given += units
		if m.target > m.given {
			x.active.Push(m)
		} else {
			m.active = false
			if !m.inIdle {
				m.inIdle = true
				x.idle.Push(m)
			}
		}
	} else {
		x.idle.Pop()
		units = maxUnits
		m.given += units
		if m.inIdle = m.target <= m.given && m.given-m.target < m.maxAhead; m.inIdle {
			x.idle.Push(m)
		}
	}
	paid := units
	if units == 0 {
		paid = idleUnits
	}
	took := float64(m.perQuantum * float64(paid))
	if x.slow != nil {
		x.slow.passPeriods(now)
		took /= x.slow.rate
	}
	took += x.fraction
	whole := unit.Time(took)
	x.fraction = took - float64(whole)
	x.RecordPull(now, whole)
	return m.given
}
