package dataplane

import (
	"weir/core/packet"
	"weir/core/unit"
)

// Ledger is what a switch has done with its packets since the start. Nothing is lost and nothing comes from
// nowhere: what came in and what was Made is what went out, Ended or Held.
type Ledger struct {
	Made  uint64 // by the switch or its programs: notices, copies, probes, PFC frames
	Ended uint64 // dropped with a reason, consumed by a program, or a PFC frame that came in
	Held  uint64 // in queues, on the recirculation port, or waiting to be sent as PFC frames
}

// Ledger adds up the counters.
func (s *Switch) Ledger() Ledger {
	l := Ledger{Made: s.born, Ended: s.consumed + s.freed + s.absorbed,
		Held: uint64(len(s.recirc) - s.recircAt + len(s.pending))}
	for _, n := range s.drops {
		l.Ended += n
	}
	for _, p := range s.ports {
		l.Held += uint64(p.Packets()) + uint64(p.Controls())
	}
	return l
}

// Recirculating is how many packets are on the recirculation port.
func (s *Switch) Recirculating() int { return len(s.recirc) - s.recircAt }

// PendingFlows calls see with each flow for which a program may still make a packet (PacketOriginator).
func (s *Switch) PendingFlows(see func(flow packet.FlowID)) {
	for _, p := range s.config.Programs {
		if r, ok := p.(PacketOriginator); ok {
			r.PendingFlows(see)
		}
	}
}

// Idle reports whether nothing in the switch can reach a host unless a packet comes in: no packet waits, not
// even in a queue that PFC holds, and its programs' ticks only repeat themselves (Idler).
func (s *Switch) Idle() bool {
	if s.recircAt < len(s.recirc) {
		return false
	}
	for _, p := range s.ports {
		if p.Waiting() != 0 {
			return false
		}
	}
	for i := range s.tickers {
		if !s.tickers[i].idle() {
			return false
		}
	}
	return true
}

// idle reports whether the ticks to come only repeat themselves.
func (t *ticker) idle() bool {
	if t.at == unit.Never {
		return true
	}
	i, ok := t.Ticker.(Idler)
	return ok && i.Idle()
}
