package sim

import (
	"cmp"
	"slices"

	"weir/core/outcome"
	"weir/core/packet"
)

// A stray packet arrives at a NIC that has neither end of its flow. It is dropped for the reason dataplane.NotExpected.
// It occurs only if flows were given wrong NICs or packets wrong routes.

// stray counts the stray packets of a flow, or of a message by its number, at a NIC.
type stray struct {
	message uint64
	packets uint64
}

// maxStrays limits the flows for which a NIC counts stray packets separately.
const maxStrays = 64

// onStray counts a packet that no endpoint of this NIC expects. It counts by flow, up to maxStrays flows, if the packet
// is from the flow's source. It does not free the packet.
func (h *host) onStray(p *packet.Packet) {
	h.unexpected++
	r, flow := h.run, int(p.Flow)
	if flow >= len(r.sender) || p.Src != packet.Addr(r.config.Flows[flow].Src+1) {
		return // another NIC sent it
	}
	s := h.strays[p.Flow]
	if s == nil {
		if len(h.strays) == maxStrays {
			return
		}
		if h.strays == nil {
			h.strays = map[packet.FlowID]*stray{}
		}
		s = &stray{}
		h.strays[p.Flow] = s
	}
	if r.isMessage(p.Flow) {
		if number := r.jobs.message[flow-r.listed].number; number != s.message { // another message has the place
			*s = stray{message: number}
		}
	}
	s.packets++
}

// findMisdelivered returns the flows and messages with stray packets and without any packet at their receivers, ordered
// by flow, then by NIC. All nodes must have reached the same time.
func (r *Simulation) findMisdelivered() (out []outcome.Stray) {
	for nic, h := range r.hosts {
		if h == nil {
			continue
		}
		for id, n := range h.strays { //weir:unordered they are sorted below
			if r.receiver[id] >= 0 || r.outcome[id].Receiver.ReceivedPackets > 0 {
				continue
			}
			f := &r.config.Flows[id]
			s := outcome.Stray{Group: f.Group, Flow: int(id), Src: f.Src, Dst: f.Dst, NIC: nic, Packets: n.packets}
			if r.isMessage(id) {
				m := &r.jobs.message[int(id)-r.listed]
				if m.number != n.message {
					continue // that message is over
				}
				s.Flow, s.From, s.To = -1, int(m.From), int(m.to)
			}
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b outcome.Stray) int {
		return cmp.Or(cmp.Compare(uint(a.Flow), uint(b.Flow)), cmp.Compare(a.Group, b.Group), cmp.Compare(a.From, b.From),
			cmp.Compare(a.To, b.To), cmp.Compare(a.NIC, b.NIC), cmp.Compare(a.Packets, b.Packets))
	})
	return out
}
