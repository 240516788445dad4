package fabric

import (
	"weir/core/fabric/timerheap"
	"weir/core/packet"
	"weir/core/unit"
)

// wire is the receiving half of a link: the frames in flight, in order of arrival.
type wire struct {
	ring  []flight // length is a power of two
	head  uint32
	count uint32
	to    *member
	link  int32
	in    packet.PortID
	ends  bool // the node is a host of Config.Hosts
	_     [16]byte
}

type flight struct {
	at unit.Time
	p  *packet.Packet
}

// first returns the frame that arrives first. The wire must not be empty.
func (w *wire) first() *flight { return &w.ring[w.head&uint32(len(w.ring)-1)] }

// take removes and returns the frame that arrives first. The wire must not be empty.
func (w *wire) take() *packet.Packet {
	p := w.first().p
	w.head++
	w.count--
	return p
}

// touchPacket reads the fields that the node will read of p. The result has no meaning; its use keeps the reads.
func (w *wire) touchPacket(p *packet.Packet) int32 {
	if w.ends {
		return p.TouchEnd()
	}
	return p.TouchHeader()
}

// putFrame appends a frame that arrives at a time. The time must be after the arrivals of all frames on the wire.
func (w *wire) putFrame(arrivalTime unit.Time, p *packet.Packet) {
	if w.count == uint32(len(w.ring)) {
		w.growRing()
	}
	w.ring[(w.head+w.count)&uint32(len(w.ring)-1)] = flight{arrivalTime, p}
	w.count++
	if w.count == 1 {
		w.scheduleFirst(arrivalTime)
	}
}

// scheduleFirst schedules the arrival of the first frame on an empty wire. It also updates the group's next time.
func (w *wire) scheduleFirst(arrivalTime unit.Time) {
	g := w.to.group
	if g.single == nil {
		g.heap.Push(timerheap.Entry{At: arrivalTime, Key: uint64(arrival) | uint64(w.link)})
	}
	if arrivalTime < *g.nextAt {
		*g.nextAt = arrivalTime
	}
}

// growRing doubles the ring, to at least 8 places.
func (w *wire) growRing() {
	ring := make([]flight, max(8, 2*len(w.ring)))
	for k := range w.count {
		ring[k] = w.ring[(w.head+k)&uint32(len(w.ring)-1)]
	}
	w.ring, w.head = ring, 0
}
