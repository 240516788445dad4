package fabric

import (
	"weir/core/packet"
	"weir/core/unit"
)

// wire is the receiving half of a link: the frames on their way, in order of
// arrival.
type wire struct {
	ring  []flight // length is a power of two
	head  uint32
	count uint32
	last  unit.Time // latest arrival so far
	sent  uint64    // LinkCounters.Sent: its line is written to at every frame anyway
	to    *member
	link  int32
	in    packet.PortID
	ends  bool // the node is an End
}

type flight struct {
	at unit.Time
	p  *packet.Packet
}

// first is the frame that arrives first. There must be one.
func (w *wire) first() *flight { return &w.ring[w.head&uint32(len(w.ring)-1)] }

// take removes the frame that arrives first, which must be there.
func (w *wire) take() *packet.Packet {
	p := w.first().p
	w.head++
	w.count--
	return p
}

// touch reads what the node will read of p.
func (w *wire) touch(p *packet.Packet) int32 {
	if w.ends {
		return p.TouchEnd()
	}
	return p.Touch()
}

func (w *wire) grow() {
	ring := make([]flight, max(8, 2*len(w.ring)))
	for k := range w.count {
		ring[k] = w.ring[(w.head+k)&uint32(len(w.ring)-1)]
	}
	w.ring, w.head = ring, 0
}
