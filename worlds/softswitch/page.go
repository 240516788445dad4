package softswitch

import (
	"sync/atomic"
	"unsafe"

	"weir/core/dataplane"
	"weir/core/unit"
	"weir/papers/p4abc"
)

// limits are the upper bounds of the classes of lateness that metrics show.
var limits = [...]unit.Time{
	10 * unit.Microsecond, 20 * unit.Microsecond, 50 * unit.Microsecond, 100 * unit.Microsecond, 200 * unit.Microsecond,
	500 * unit.Microsecond,
	unit.Millisecond, 2 * unit.Millisecond, 5 * unit.Millisecond, 10 * unit.Millisecond, 20 * unit.Millisecond,
	50 * unit.Millisecond, 100 * unit.Millisecond,
}

// mostActive is how many users metrics show, with the highest activity.
const mostActive = 10

// Counters are what the data plane has counted since its start, at one time.
type Counters struct {
	At      unit.Time // since its start
	Reloads uint64
	Ports   [mostPorts]PortCounters
	Drops   [dataplane.Reasons]uint64 // of all frames, also of those that had no way
	Unsent  uint64                    // frames that an interface did not take
	Unmade  uint64                    // packets of programs that no frame can say
	Runts   uint64                    // frames without a whole Ethernet header
	Waiting uint64                    // frames in the switch
	Stall   unit.Time
	CPU     unit.Time
	Late    uint64 // frames that left
	LateSum float64
	LateTo  [len(limits)]uint64 // how many were late by up to limits

	Known, Forgotten uint64 // addresses of users
	ABC              uint64 // 1: there is ABC
	Actives          uint64 // of Active
	Active           [mostActive]Activity
}

// PortCounters are those of one port.
type PortCounters struct {
	In, InBytes, Out, OutBytes uint64
	Drops                      [dataplane.Reasons]uint64 // of frames on their way out
	Queue, QueueBytes          uint64
	Ring                       uint64 // frames that the kernel had for the ring
	RingLost, TooLong, Partial uint64
	Average                    float64 // A_avg of ABC

}

// Activity is a user's, of ABC.
type Activity struct {
	Address  [16]byte
	Bits     uint8 // of the prefix
	Four     uint8 // 1: IPv4
	Others   uint8 // 1: all users without an aggregate
	_        [5]uint8
	Rate     float64 // bit/s
	Activity float64
}

// page is the memory that data plane and supervisor share. The data plane writes; sequence
// is odd meanwhile.
type page struct {
	sequence atomic.Uint64
	counters Counters
}

// pageBytes is what a page takes of memory.
const pageBytes = (unsafe.Sizeof(page{}) + 4095) &^ 4095

// pageIn is the page in shared memory.
func pageIn(memory []byte) *page { return (*page)(unsafe.Pointer(&memory[0])) }

// read copies the counters; false: they were written meanwhile.
func (p *page) read(c *Counters) (sequence uint64, ok bool) {
	before := p.sequence.Load()
	*c = p.counters
	return before, before%2 == 0 && p.sequence.Load() == before
}

// fillActive takes the most active users of a program over.
func (c *Counters) fillActive(now unit.Time, a *p4abc.Program, u *users, room []p4abc.User) {
	c.ABC, c.Actives = 1, uint64(a.MostActive(now, room))
	for i, x := range room[:c.Actives] {
		to := &c.Active[i]
		*to = Activity{Rate: x.Rate, Activity: x.Activity}
		switch {
		case x.Aggregate >= 0:
			p := a.Config().Aggregates[x.Aggregate].Prefix
			to.Address, to.Bits = p.Addr().As16(), uint8(p.Bits())
			if p.Addr().Is4() {
				to.Four = 1
			}
		case x.Aggregate == -2:
			to.Others = 1
		default:
			address := u.slots[x.Source-1].address
			if !address.IsValid() {
				continue
			}
			to.Address, to.Bits = address.As16(), uint8(address.BitLen())
			if address.Is4() {
				to.Four = 1
			}
		}
	}
}
