package transport

import "weir/core/unit"

// PullPacer spaces the packets with which a receiving host asks its senders for more (PULLs: NDP §3.2, and RCCC of UEC
// htsim). The host's flows share it. After a PULL there is a gap: the time that the host's link takes for the data that
// the PULL asks for. It stores times only; the transport selects the next flow. The zero PullPacer lets the first PULL
// go at once.
type PullPacer struct {
	next    unit.Time
	changed bool
}

// NextPull returns the earliest time of the next PULL.
func (p *PullPacer) NextPull() unit.Time { return p.next }

// Resume is called when a flow wants a PULL and no other flow waits for one. The next PULL goes now, or after the gap
// of the latest one. Resume reports whether that gap was over: the link was idle.
func (p *PullPacer) Resume(now unit.Time) (idle bool) {
	if p.next < now {
		p.next = now
		return true
	}
	return false
}

// RecordPull records a PULL that is sent now, and the gap after it. The NIC may have delayed the PULL. A delay of less
// than the gap does not move later PULLs.
func (p *PullPacer) RecordPull(now, gap unit.Time) {
	p.next = max(p.next+gap, now)
	p.changed = true
}

// NotifyChange records that another flow has the next turn, or its time has changed, so that the host reads again when
// that flow sends (Rescheduling). RecordPull calls it itself.
func (p *PullPacer) NotifyChange() { p.changed = true }

// TakeChange reports whether the next turn has changed since the latest call, and clears the change.
func (p *PullPacer) TakeChange() bool {
	changed := p.changed
	p.changed = false
	return changed
}
