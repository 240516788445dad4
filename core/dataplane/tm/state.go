package tm

import "encoding/binary"

// SchedulerCost is the memory of a port's scheduler, in addition to the packets and the order of a FIFO queue, and its
// maximum of work per packet. Comparisons of schemes count it if the queue is the scheme.
type SchedulerCost struct {
	Bits          int64
	Reads, Writes int // of cells of the state
	Operations    int // loops, divisions, logarithms: steps longer than a comparison
}

// stateful is a Scheduler with state.
type stateful interface {
	Scheduler
	// State returns the state of a port with so many queues.
	State(queues int) SchedulerCost
}

// State returns the memory and the work of the port's scheduler, with the lists of fair queues. It is zero for a
// scheduler without state.
func (p *Port) State() (s SchedulerCost) {
	if x, ok := p.scheduler.(stateful); ok {
		s = x.State(len(p.queues))
	}
	for i := range p.queues {
		if f := p.queues[i].flows; f != nil {
			s.Bits += f.stateBits()
		}
	}
	return s
}

// bitsOf returns the bits of a value of fixed size.
func bitsOf(x any) int64 { return 8 * int64(binary.Size(x)) }

// stateBits returns the bits of all lists, of their order by length, and of the rounds; with CAKE also of its hosts
// and laws. Packets do not count, because every queue links them.
func (f *flows) stateBits() int64 {
	cakeBits := int64(0)
	if k := f.cake; k != nil {
		cakeBits = int64(len(k.hosts))*(bitsOf(caked{})+bitsOf(cakeHost{})) + bitsOf(round{}) + bitsOf(k.random)
	}
	return cakeBits + int64(len(f.lists)-1)*(bitsOf(flow{})+bitsOf(int32(0))) + 2*bitsOf(round{}) + bitsOf(f.count) +
		bitsOf(f.period)
}

// State returns the work for a packet, without the lists' bits: it joins its list, and the heap, and rounds move
// until a list has credit. With CAKE a packet of a new flow may search a set of flows and one of hosts on each side
// twice.
func (f *fq) State(int) SchedulerCost {
	if f.cake != nil {
		return SchedulerCost{Reads: 6*ways + 4, Writes: 8, Operations: 6}
	}
	return SchedulerCost{Reads: 4, Writes: 4, Operations: 2}
}

// State returns a deficit for each queue, and the turn.
func (d *deficit) State(queues int) SchedulerCost {
	return SchedulerCost{Bits: int64(queues)*(bitsOf(int64(0))+bitsOf(int32(0))) + bitsOf(int32(0)), Reads: 1, Writes: 1,
		Operations: 1}
}

// State returns a weight for each queue, and the position in the turn.
func (w *weighted) State(queues int) SchedulerCost {
	return SchedulerCost{Bits: int64(queues)*bitsOf(int32(0)) + 2*bitsOf(int32(0)), Reads: 1, Writes: 1, Operations: 1}
}

// State returns two buckets for each queue and its shares, with mice the lead over its guarantee, and two rounds.
func (g *guarantee) State(queues int) SchedulerCost {
	rounds := g.rest.State(queues)
	buckets := 4
	if g.mice != 0 {
		buckets = 5
	}
	return SchedulerCost{Bits: int64(queues*buckets)*bitsOf(float64(0)) + bitsOf(g.last) + 2*rounds.Bits,
		Reads:  (buckets-2)*queues + 1,
		Writes: (buckets-2)*queues + 1, Operations: queues + 1}
}

// State returns an offset for each queue.
func (d *deadline) State(queues int) SchedulerCost {
	return SchedulerCost{Bits: int64(queues) * bitsOf(int64(0)), Reads: queues}
}
