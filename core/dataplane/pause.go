package dataplane

import (
	"math/bits"

	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// receivePFC applies a PFC frame that arrived at port in. It counts and frees the frame, calls OnPFC and wakes the
// port.
func (s *Switch) receivePFC(in packet.PortID, p *packet.Packet) {
	port, class, kind := s.ports[in], p.Meta.Class%tm.Classes, p.Kind
	if kind == packet.Pause {
		port.ApplyPause(s.env.now, class, p.Seq)
		if at := port.NextExpiry(); at < s.expiry {
			s.expiry = at
			s.nextTick = min(s.nextTick, at)
			s.setTimer()
		}
	} else {
		port.ApplyResume(s.env.now, class)
	}
	s.receivedPFC++
	s.pool.Put(p)
	if s.config.OnPFC != nil {
		s.config.OnPFC(s.env.now, in, class, kind)
	}
	s.wakePort(in)
}

// expirePauses ends the pauses that have run out. It calls OnPFC for each class that resumes, and wakes its port.
func (s *Switch) expirePauses() {
	s.expiry = unit.Never
	for i, port := range s.ports {
		if before := port.HeldClasses(); before != 0 {
			port.ExpirePauses(s.env.now)
			for over := before &^ port.HeldClasses(); over != 0 && s.config.OnPFC != nil; over &= over - 1 {
				s.config.OnPFC(s.env.now, packet.PortID(i), uint8(bits.TrailingZeros8(over)), packet.Resume)
			}
			s.wakePort(packet.PortID(i))
			s.expiry = min(s.expiry, port.NextExpiry())
		}
	}
}

// PausedClasses returns the classes that the switch has asked the neighbour at a port to stop, as a bit set.
func (s *Switch) PausedClasses(port packet.PortID) uint8 { return s.pausing[port] }

// sendControl sends a PFC frame out of a port and records the pause. quanta is the length of a pause; 0: until the
// resume. A port or class that does not exist has no effect.
func (s *Switch) sendControl(port packet.PortID, kind packet.Kind, class uint8, quanta int64) {
	if int(port) >= len(s.ports) || class >= tm.Classes {
		return
	}
	if s.pausing[port] |= 1 << class; kind == packet.Resume {
		s.pausing[port] &^= 1 << class
	}
	s.created++
	f := s.pool.Get()
	f.Kind = kind
	f.Size = 64
	f.Seq = quanta
	f.Meta.Class = class
	f.Hash = uint32(class)
	s.ports[port].QueueControl(f)
	s.wakePort(port)
}
