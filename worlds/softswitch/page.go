package softswitch

import (
	"sync/atomic"
	"unsafe"

	"weir/core/dataplane"
	"weir/core/unit"
)

// limits are the upper bounds of the histogram of lateness.
var limits = [...]unit.Time{
	10 * unit.Microsecond, 20 * unit.Microsecond, 50 * unit.Microsecond, 100 * unit.Microsecond, 200 * unit.Microsecond,
	500 * unit.Microsecond,
	unit.Millisecond, 2 * unit.Millisecond, 5 * unit.Millisecond, 10 * unit.Millisecond, 20 * unit.Millisecond,
	50 * unit.Millisecond, 100 * unit.Millisecond,
}

// Bounds of what programs show: samples in all, characters of a name or label.
const (
	mostSamples = 1024
	longestText = 80
)

// Counters is a snapshot of what the data plane has counted since its start.
type Counters struct {
	At      unit.Time // since its start
	Reloads uint64
	Ports   [mostPorts]PortCounters
	Drops   [dataplane.Reasons]uint64 // of all frames, also of those without a route
	Unsent  uint64                    // frames that an interface did not take
	Unmade  uint64                    // packets of programs that no frame can carry
	Runts   uint64                    // frames without a whole Ethernet header
	Waiting uint64                    // frames in the switch
	Stall   unit.Time
	CPU     unit.Time
	Late    uint64 // frames that left
	LateSum float64
	LateTo  [len(limits)]uint64 // how many were late by up to limits

	Known, Forgotten uint64 // addresses of users
	Samples          uint64 // of Sample
	Sample           [mostSamples]Sample
}

// PortCounters are those of one port.
type PortCounters struct {
	In, InBytes, Out, OutBytes uint64
	Drops                      [dataplane.Reasons]uint64 // of frames on their way out
	Queue, QueueBytes          uint64
	Ring                       uint64 // frames that the kernel had for the ring
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
	Bytes  [longestText]byte
	Length uint8
}

// set copies b, cut to the room that there is.
func (t *Text) set(b []byte) { t.Length = uint8(copy(t.Bytes[:], b)) }

func (t *Text) String() string { return string(t.Bytes[:min(t.Length, longestText)]) }

// page is the memory that data plane and supervisor share. The data plane writes it; sequence is
// odd while it does.
type page struct {
	sequence atomic.Uint64
	counters Counters
}

// pageBytes is what a page takes of memory.
const pageBytes = (unsafe.Sizeof(page{}) + 4095) &^ 4095

// pageIn is the page in shared memory.
func pageIn(memory []byte) *page { return (*page)(unsafe.Pointer(&memory[0])) }

// read copies the counters. It returns false if they were written meanwhile.
func (p *page) read(c *Counters) (sequence uint64, ok bool) {
	before := p.sequence.Load()
	*c = p.counters
	return before, before%2 == 0 && p.sequence.Load() == before
}

// sampler copies samples of programs into the page, without garbage.
type sampler struct {
	room  [mostSamples]dataplane.Sample
	label [2 * longestText]byte
}

// take adds the samples of a program.
func (s *sampler) take(now unit.Time, r *running, c *Counters) {
	if r.metered == nil {
		return
	}
	room := s.room[:mostSamples-c.Samples]
	clear(room) // of the samples of the program before
	n := r.metered.Sample(now, room)
	for i := range room[:max(0, min(n, len(room)))] {
		x := &room[i]
		if x.Metric < 0 || x.Metric >= len(r.names) {
			continue
		}
		to := &c.Sample[c.Samples]
		*to = Sample{Port: uint8(min(x.Port, mostPorts)), Value: x.Value}
		to.Name.set(r.names[x.Metric])
		to.Label.set(x.Label(s.label[:0]))
		c.Samples++
	}
}
