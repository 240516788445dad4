package rdma

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// passNotice passes a CNP, or a switch's notice of a queue, to the controller if it is about a packet in flight and the
// first for this transmission of it.
func (s *Sender) passNotice(now unit.Time, p *packet.Packet) {
	n := s.findPacket(p.Seq, s.una)
	x := s.outstandingPacket(n)
	// A NIC that takes longer to make CNPs than ACKs is late with all of them: then a CNP about a packet that has been
	// acknowledged reports something new. They arrive in the order of their packets, so that one about a packet before the
	// last such one's is old, or about a retransmission that arrived twice.
	late := s.config.NIC.CNP > 0 && !s.requester.CarriesRequests() && n >= s.noticed && n < s.top && s.una < s.packets
	if x == nil && !late || x != nil && x.flags&noticed != 0 {
		return
	}
	notice := cc.Notice{Kind: cc.CNPNotice}
	if s.requester.CarriesRequests() {
		ok := false
		if notice, ok = s.requester.ReadNotice(p, x.sentAt); !ok {
			return // of an earlier transmission, or not of a switch that has seen the packet
		}
	}
	if x != nil {
		x.flags |= noticed
	}
	s.noticed = max(s.noticed, n+1)
	s.notices++
	notice.Seq = s.packetSeq(n)
	s.control.NotifyController(now, notice)
}
