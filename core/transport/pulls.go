package transport

import "weir/core/unit"

// PullPacer spaces the packets with which a receiving host asks its senders for more (PULLs: NDP §3.2, and RCCC of UEC
// htsim). The host's flows share it: after a PULL there is a gap, as long as the host's link takes for what that PULL
// asks for. It has the times only; the transport selects the next flow. The zero PullPacer lets the first PULL go at
// once.
type PullPacer struct {
	next    unit.Time
	changed bool
}

// Next returns the earliest time of the next PULL.
func (p *PullPacer) Next() unit.Time { return p.next }

// Resume is called when a flow wants a PULL and no other flow waits for one: the next PULL goes now, or after the gap
// of the latest one. It reports whether the link was idle, so that no gap is left.
func (p *PullPacer) Resume(now unit.Time) (idle bool) {
	if p.next < now {
		p.next = now
		return true
	}
	return false
}

// Record notes that a PULL is sent now, and the gap after it. The NIC may have delayed the PULL. A delay of less than
// the gap does not move later PULLs.
func (p *PullPacer) Record(now, gap unit.Time) {
	p.next = max(p.next+gap, now)
	p.changed = true
}

// NotifyChange notes that the flow with the next turn has changed, so that the host reads when that flow sends
// (Rescheduling). Record does so itself.
func (p *PullPacer) NotifyChange() { p.changed = true }

// TakeChange reports whether the flow with the next turn has changed since the latest call.
func (p *PullPacer) TakeChange() bool {
	changed := p.changed
	p.changed = false
	return changed
}
