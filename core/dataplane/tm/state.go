package tm

import "encoding/binary"

// SchedulerCost is the memory of a port's scheduler in addition to the packets and the order of a first-in, first-out
// queue, and its maximum of work per packet. Comparisons of schemes count it where the queue is the scheme.
type SchedulerCost struct {
	Bits          int64
	Reads, Writes int // of cells of its state
	Operations    int // loops, divisions, logarithms: what takes longer than a comparison
}

// stateful is a Scheduler with state.
type stateful interface {
	Scheduler
	// State is that of a port with so many queues.
	State(queues int) SchedulerCost
}

// State is that of the port's scheduler, and of its queues if they are fair.
func (p *Port) State() (s SchedulerCost) {
	if x, ok := p.scheduler.(stateful); ok {
		s = x.State(len(p.queues))
	}
	for i := range p.queues {
		if f := p.queues[i].flows; f != nil {
			s.Bits += f.bits()
		}
	}
	return s
}

// of is the width of a value of fixed size.
func of(x any) int64 { return 8 * int64(binary.Size(x)) }

// bits are those of all lists, of their order by length, and of the rounds; with CAKE also of its hosts and
// laws. Of packets, which every
// queue links, nothing counts.
func (f *flows) bits() int64 {
	own := int64(0)
	if k := f.cake; k != nil {
		own = int64(len(k.hosts))*(of(caked{})+of(cakeHost{})) + of(round{}) + of(k.random)
	}
	return own + int64(len(f.lists)-1)*(of(flow{})+of(int32(0))) + 2*of(round{}) + of(f.count) + of(f.period)
}

// State is what a packet costs beside the lists' bits: it enters its list, and the heap, and rounds move until a list
// has credit.
// With CAKE it may look at a set of flows and one of hosts on each side twice, when its flow is new.
func (f *fq) State(int) SchedulerCost {
	if f.cake != nil {
		return SchedulerCost{Reads: 6*ways + 4, Writes: 8, Operations: 6}
	}
	return SchedulerCost{Reads: 4, Writes: 4, Operations: 2}
}

// State is a deficit for each queue, and whose turn it is.
func (d *deficit) State(queues int) SchedulerCost {
	return SchedulerCost{Bits: int64(queues)*(of(int64(0))+of(int32(0))) + of(int32(0)), Reads: 1, Writes: 1,
		Operations: 1}
}

// State is a weight for each queue, and how far the turn of one is.
func (w *weighted) State(queues int) SchedulerCost {
	return SchedulerCost{Bits: int64(queues)*of(int32(0)) + 2*of(int32(0)), Reads: 1, Writes: 1, Operations: 1}
}

// State is two buckets for each queue, with mice what it is ahead of its guarantee, their shares, and two rounds.
func (g *guarantee) State(queues int) SchedulerCost {
	two := g.rest.State(queues)
	buckets := 4
	if g.mice != 0 {
		buckets = 5
	}
	return SchedulerCost{Bits: int64(queues*buckets)*of(float64(0)) + of(g.last) + 2*two.Bits,
		Reads:  (buckets-2)*queues + 1,
		Writes: (buckets-2)*queues + 1, Operations: queues + 1}
}

// State is an offset for each queue.
func (d *deadline) State(queues int) SchedulerCost {
	return SchedulerCost{Bits: int64(queues) * of(int64(0)), Reads: queues}
}
