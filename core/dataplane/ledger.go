package dataplane

import (
	"weir/core/packet"
	"weir/core/unit"
)

// Ledger counts the packets of a switch since the start. The books balance: packets received and Made equal packets
// sent, Ended and Held.
type Ledger struct {
	Made  uint64 // by the switch or its programs: notices, copies, probes, PFC frames
	Ended uint64 // dropped with a reason, consumed by a program, or received PFC frames
	Held  uint64 // in queues, on the recirculation port, or waiting to be sent as PFC frames
}

// Ledger returns the sums of the counters. Packets with a pending request are held.
func (s *Switch) Ledger() Ledger {
	l := Ledger{Made: s.created, Ended: s.consumed + s.freed + s.receivedPFC,
		Held: uint64(len(s.recirc) - s.recircHead + len(s.pending))}
	for _, n := range s.drops {
		l.Ended += n
	}
	for _, p := range s.ports {
		l.Held += uint64(p.Packets()) + uint64(p.ControlCount())
	}
	return l
}

// RecirculatingPackets returns the number of packets on the recirculation port.
func (s *Switch) RecirculatingPackets() int { return len(s.recirc) - s.recircHead }

// PendingFlows calls see with each flow for which a program may still make a packet (PacketOriginator).
func (s *Switch) PendingFlows(see func(flow packet.FlowID)) {
	for _, p := range s.config.Programs {
		if r, ok := p.(PacketOriginator); ok {
			r.PendingFlows(see)
		}
	}
}

// Idle reports whether the switch cannot send anything to a host until a packet arrives: no packet waits, not even in
// a queue that PFC holds, and its programs' ticks only repeat themselves (Idler).
func (s *Switch) Idle() bool {
	if s.recircHead < len(s.recirc) {
		return false
	}
	for _, p := range s.ports {
		if p.WaitingQueues() != 0 {
			return false
		}
	}
	for i := range s.tickers {
		if !s.tickers[i].isIdle() {
			return false
		}
	}
	return true
}

// isIdle reports whether the program has no tick to come, or all its future ticks only repeat themselves (Idler).
func (t *ticker) isIdle() bool {
	if t.nextTick == unit.Never {
		return true
	}
	i, ok := t.Ticker.(Idler)
	return ok && i.Idle()
}
