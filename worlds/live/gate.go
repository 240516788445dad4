package live

import (
	"weir/core/packet"
	"weir/core/unit"
)

// A Gate is the way between the data plane and one host's kernel: a socket with a ring, or
// a script's. Frames are Ethernet frames without FCS.
type Gate interface {
	// Stamp returns when the first of the waiting frames came in, in event time;
	// unit.Never if no frame waits.
	Stamp() unit.Time
	// Take appends that frame to b and gives its room back.
	Take(b []byte) []byte
	// Put adds a frame to those that are to leave; false: there is no room. Its bytes must stay as
	// they are until Flush has returned no error, or Drop was called.
	Put(frame []byte) bool
	// Flush lets them leave. EAGAIN and ENOBUFS mean that some have to wait.
	Flush() error
	// Drop gives up what has not left, and returns how many frames that were.
	Drop() int
	// Counts returns what the gate has counted since the start.
	Counts() GateCounts
}

// GateCounts are what one gate counts.
type GateCounts struct {
	Received uint64 // frames that the kernel had for the ring
	RingLost uint64 // of these, frames for which the ring had no room
	TooLong  uint64 // frames longer than a slot, or than the MTU allows when they were to leave: dropped here
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

// OwnMAC returns the address of a host of Weir's own. The kernel of its namespace has another one, so that neither
// receives the other's frames.
func OwnMAC(a packet.Addr) [6]byte {
	m := packet.MAC(a)
	m[1]++
	return m
}
