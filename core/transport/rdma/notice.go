package rdma

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// notice passes a CNP, or a switch's word of a queue, on if it is about a packet that is out, and the first for
// this transmission of it.
func (s *Sender) notice(now unit.Time, p *packet.Packet) {
	n, x := s.out(p.Seq)
	if x == nil && !s.late(n) || x != nil && x.flags&noticed != 0 {
		return
	}
	told := cc.Notice{Kind: cc.CNPNotice}
	if s.asker.Requests() {
		ok := false
		if told, ok = s.asker.Told(p, x.at); !ok {
			return // of an earlier transmission, or not of a switch that has seen the packet
		}
	}
	if x != nil {
		x.flags |= noticed
	}
	s.noticed = max(s.noticed, n+1)
	s.notices++
	told.Seq = s.seq(n)
	s.control.OnNotice(now, told)
	s.decide()
}

// late reports whether a CNP about packet n, of which an acknowledgement has come already, tells something new: a NIC
// that takes longer to make CNPs than ACKs is late with all of them. They come in the order of their packets, so one of
// a packet before the last such one's is old, or of a retransmission that came twice.
func (s *Sender) late(n int64) bool {
	return s.config.NIC.CNP > 0 && !s.asker.Requests() && n >= s.noticed && n < s.top && s.una < s.packets
}
