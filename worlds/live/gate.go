package live

import (
	"weir/core/packet"
	"weir/core/unit"
)

// A Gate connects the data plane with one host's kernel: a socket with a ring, or a script. Frames are Ethernet
// frames without FCS.
type Gate interface {
	// Stamp returns the arrival time of the first waiting frame, in event time; unit.Never if no frame waits.
	Stamp() unit.Time
	// Take appends that frame to b and frees its slot.
	Take(b []byte) []byte
	// Put queues a frame for departure. It returns false if the ring is full. The frame's bytes must not change
	// until Flush has returned no error, or Drop was called.
	Put(frame []byte) bool
	// Flush sends the queued frames. EAGAIN and ENOBUFS mean that some still wait.
	Flush() error
	// Drop discards the unsent frames and returns their number.
	Drop() int
	// Counts returns the counters since the start.
	Counts() GateCounts
}

// GateCounts are the counters of a gate.
type GateCounts struct {
	Received uint64 // frames that the kernel received for the ring
	RingLost uint64 // frames of Received that found the ring full
	TooLong  uint64 // frames longer than a slot, or than the MTU at departure: dropped here
	Partial  uint64 // frames without a checksum (offload was on): dropped here
	Tagged   uint64 // frames with a VLAN tag: dropped here
}

// Add adds the counts of another gate.
func (c *GateCounts) Add(o GateCounts) {
	c.Received += o.Received
	c.RingLost += o.RingLost
	c.TooLong += o.TooLong
	c.Partial += o.Partial
	c.Tagged += o.Tagged
}

// OwnMAC returns the MAC address of one of Weir's own hosts. The kernel of its namespace has a different one, so
// that neither accepts the other's frames.
func OwnMAC(a packet.Addr) [6]byte {
	m := packet.MAC(a)
	m[1]++
	return m
}
