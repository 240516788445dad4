package dataplane

import (
	"weir/dataplane/tm"
	"weir/packet"
	"weir/unit"
)

// Recirculation is the port by which a program sends packets to the ingress
// again: its rate and the packets that may wait for it.
type Recirculation struct {
	Rate  unit.LinkRate
	Queue int
}

const (
	toManager = iota
	toIngress
)

// Switch is one switch.
type Switch struct {
	env      Env
	pool     *packet.Pool
	ports    []*tm.Port
	buffered unit.Bytes
	digests  []Digest
}

func (s *Switch) clone(p *packet.Packet, headersOnly bool) *packet.Packet { return nil }
func (s *Switch) later(p *packet.Packet, where int)                       {}
func (s *Switch) recirculate(p *packet.Packet)                            {}
func (s *Switch) control(in PortID, kind packet.Kind, class uint8)        {}
func (s *Switch) evict(out PortID, q tm.QueueID) bool                     { return false }
