package p4abc

import (
	"encoding/binary"
	"math"

	"weir/core/dataplane"
	"weir/core/packet"
)

// Role is the place of a switch in the ABC domain (figure 1).
type Role string

// Roles.
const (
	Alone Role = "alone" // one switch is the whole domain, as in the prototype (§5.1): packets carry nothing
	Edge  Role = "edge"  // ingress node: meters, marks, and has the AQM
	Core  Role = "core"  // forwarding node: the AQM, by the mark
	Exit  Role = "exit"  // egress node: the AQM, then removes the mark
)

// mark writes an activity into a packet, for the switches behind this one, and returns what they will read.
func mark(p *packet.Packet, activity float64) float64 {
	var m [4]byte
	binary.BigEndian.PutUint32(m[:], math.Float32bits(float32(activity)))
	before := p.ExtensionBytes()
	p.SetExtension(packet.ExtActivity, m[:])
	p.Size += p.ExtensionBytes() - before
	return float64(float32(activity))
}

// marked returns a packet's mark, NaN if there is none.
func marked(p *packet.Packet) float64 {
	if m, ok := p.Extension(packet.ExtActivity); ok && len(m) == 4 {
		return float64(math.Float32frombits(binary.BigEndian.Uint32(m)))
	}
	return math.NaN()
}

// unmark removes a packet's mark.
func unmark(p *packet.Packet) {
	before := p.ExtensionBytes()
	p.RemoveExtension(packet.ExtActivity)
	p.Size -= before - p.ExtensionBytes()
}

// outside reports whether the packet is outside the domain: it passes the AQM and does not enter A_avg.
func (a *Program) outside(m *dataplane.Metadata) bool {
	return m.Flags&packet.Internal != 0 || math.IsNaN(a.activity) || math.IsInf(a.activity, 0)
}
