package control

import (
	"sync/atomic"
	"unsafe"

	"weir/core/dataplane"
	"weir/core/unit"
)

// LatenessBounds lists the upper bounds of the histogram of lateness.
var LatenessBounds = [...]unit.Time{
	10 * unit.Microsecond, 20 * unit.Microsecond, 50 * unit.Microsecond, 100 * unit.Microsecond, 200 * unit.Microsecond,
	500 * unit.Microsecond,
	unit.Millisecond, 2 * unit.Millisecond, 5 * unit.Millisecond, 10 * unit.Millisecond, 20 * unit.Millisecond,
	50 * unit.Millisecond, 100 * unit.Millisecond,
}

// Limits of a switch: ports, samples of all programs, and bytes of a sample's name or label.
const (
	MaxPorts   = 16
	MaxSamples = 1024
	MaxText    = 80
)

// Counters is a snapshot of the data plane's counters since its start.
type Counters struct {
	At         unit.Time // since its start
	Reloads    uint64
	Ports      [MaxPorts]PortCounters
	Drops      [dataplane.Reasons]uint64 // of all frames, including frames without a route
	Unsent     uint64                    // frames refused by an interface
	Unwritable uint64                    // packets of programs that cannot be encoded as frames
	Runts      uint64                    // frames without a whole Ethernet header
	Waiting    uint64                    // frames in the switch
	Stall      unit.Time
	CPU        unit.Time
	Late       uint64 // departed frames
	LateSum    float64
	LateTo     [len(LatenessBounds)]uint64 // frames late by up to LatenessBounds

	Known, Forgotten uint64 // addresses of users
	Samples          uint64 // used entries of Sample
	Sample           [MaxSamples]Sample
}

// PortCounters are the counters of one port.
type PortCounters struct {
	In, InBytes, Out, OutBytes uint64
	Drops                      [dataplane.Reasons]uint64 // of frames for this egress port
	Queue, QueueBytes          uint64
	Ring                       uint64 // frames that the kernel received for the ring
	RingLost, TooLong, Partial uint64
}

// Sample is a value of a program's metric. Its label is text, or a port's name.
type Sample struct {
	Name  Text
	Label Text
	Port  uint8
	_     [5]uint8
	Value float64
}

// Text is a short string without a pointer, as shared memory needs.
type Text struct {
	Bytes  [MaxText]byte
	Length uint8
}

// Set copies b, truncated to MaxText bytes.
func (t *Text) Set(b []byte) { t.Length = uint8(copy(t.Bytes[:], b)) }

// String returns the text.
func (t *Text) String() string { return string(t.Bytes[:min(t.Length, MaxText)]) }

// SharedCounters is memory shared by data plane and supervisor. The data plane writes it; sequence is odd
// meanwhile.
type SharedCounters struct {
	sequence atomic.Uint64
	counters Counters
}

// SharedBytes is the size of SharedCounters in whole pages.
const SharedBytes = (unsafe.Sizeof(SharedCounters{}) + 4095) &^ 4095

// MapCounters returns the counters in shared memory of at least SharedBytes. It does not copy or change the memory.
func MapCounters(memory []byte) *SharedCounters { return (*SharedCounters)(unsafe.Pointer(&memory[0])) }

// Read copies the counters to c, with their sequence number. It returns false if they were written during the copy,
// which is then not usable; c is overwritten in any case.
func (s *SharedCounters) Read(c *Counters) (sequence uint64, ok bool) {
	before := s.sequence.Load()
	*c = s.counters
	return before, before%2 == 0 && s.sequence.Load() == before
}

// Sequence returns a number that grows when the counters are written, by 2 for each write.
func (s *SharedCounters) Sequence() uint64 { return s.sequence.Load() }

// Begin returns the counters for the data plane to write until End. Only one goroutine may write.
func (s *SharedCounters) Begin() *Counters {
	s.sequence.Add(1)
	return &s.counters
}

// End completes a write started by Begin.
func (s *SharedCounters) End() { s.sequence.Add(1) }
