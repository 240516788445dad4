package sim

import (
	"math/bits"

	"weir/core/dataplane/tm"
	"weir/core/outcome"
	"weir/core/unit"
)

// queueOf is a queue of the port at which a direction of a link begins.
type queueOf struct {
	direction int // index into linkOf and Result.Ports
	queue     tm.QueueID
}

// held is a queue of a switch that PFC holds although packets wait in it, and the queues on which it depends.
type held struct {
	queueOf
	waitsFor []int // indices into the list of held queues
	free     bool  // it will move, or a queue on which it depends will
}

// findDeadlock finds queues that block each other: PFC holds each of them, and every packet that keeps the next switch
// from resuming waits in another one, so that no queue ever moves. It returns a cycle of them, or nil. All nodes must
// have reached the same time.
func (r *Simulation) findDeadlock() []outcome.Stuck {
	var all []held
	number := map[queueOf]int{}
	leaving := make([]int, len(r.switches)) // held queues by switch
	for i, d := range r.linkOf {
		if !d.OfSwitch || !r.linkOf[i^1].OfSwitch {
			continue // a host never stops its switch
		}
		p := r.portOf(d)
		for set := p.WaitingQueues() & p.PausedQueues(); set != 0; set &= set - 1 {
			at := queueOf{i, tm.QueueID(bits.TrailingZeros32(set))}
			number[at] = len(all)
			all = append(all, held{queueOf: at})
			leaving[d.Node]++
		}
	}
	// A queue can only be in a deadlock if a queue of the next switch is held.
	for changed := true; changed; {
		changed = false
		for k := range all {
			if h := &all[k]; !h.free && leaving[r.linkOf[h.direction^1].Node] == 0 {
				h.free, changed = true, true
				leaving[r.linkOf[h.direction].Node]--
			}
		}
	}
	for k := range all {
		if h := &all[k]; !h.free {
			h.free = !r.findBlockers(h, number)
		}
	}
	for changed := true; changed; {
		changed = false
		for k := range all {
			h := &all[k]
			for _, w := range h.waitsFor {
				if !h.free && all[w].free {
					h.free, changed = true, true
				}
			}
		}
	}
	for k := range all {
		if !all[k].free {
			return r.findCycle(all, k)
		}
	}
	return nil
}

// findBlockers finds the queues that must move before the next switch resumes queue h, and adds them to h.waitsFor.
// number has the index of each held queue in the list of them. It returns false if a packet there can move, or the
// queue is about to be released.
func (r *Simulation) findBlockers(h *held, number map[queueOf]int) bool {
	back := r.linkOf[h.direction^1] // the port there that the link leads to
	next := r.switches[back.Node]
	classes := r.portOf(r.linkOf[h.direction]).HeldClasses() & next.PausedClasses(back.Port)
	last := tm.QueueID(r.portOf(r.linkOf[h.direction]).Queues() - 1)
	listed := map[int]bool{}
	var found uint8 // classes of the packets there
	for i, d := range r.linkOf {
		if d.Node != back.Node {
			continue
		}
		p := next.Port(d.Port)
		for set := p.WaitingQueues(); set != 0; set &= set - 1 {
			q := tm.QueueID(bits.TrailingZeros32(set))
			k, stuck := number[queueOf{i, q}]
			for x := range p.Queue(q).All() {
				class := x.Meta.Class % tm.Classes
				if x.Meta.In != back.Port || classes&(1<<class) == 0 || min(class, last) != h.queue {
					continue
				}
				if !stuck {
					return false
				}
				found |= 1 << class
				if !listed[k] {
					listed[k] = true
					h.waitsFor = append(h.waitsFor, k)
				}
			}
		}
	}
	return found != 0
}

// findCycle follows the first dependency of queue k, an index into all, and of each further queue until a queue occurs
// again, and returns the cycle. Each queue on the way must have a dependency.
func (r *Simulation) findCycle(all []held, k int) []outcome.Stuck {
	at := map[int]int{}
	var path []outcome.Stuck
	for {
		if begin, again := at[k]; again {
			return path[begin:]
		}
		at[k] = len(path)
		h := &all[k]
		path = append(path, outcome.Stuck{Port: h.direction, Queue: h.queue,
			Since: r.portOf(r.linkOf[h.direction]).Queue(h.queue).HeadSince(), Paused: true})
		k = h.waitsFor[0]
	}
}

// starvation is the time that the head of a queue waits before the queue is called starved, unless half of the run is
// shorter.
const starvation = 10 * unit.Second

// findStarved returns the queues that were not served although packets wait: for half of the run, or for the time
// starvation if that is shorter. Others go first, or PFC holds them.
func (r *Simulation) findStarved(now unit.Time) (out []outcome.Stuck) {
	limit := min(starvation, r.config.Duration/2)
	for i, d := range r.linkOf {
		p := r.portOf(d)
		for set := p.WaitingQueues(); set != 0; set &= set - 1 {
			q := tm.QueueID(bits.TrailingZeros32(set))
			if since := p.Queue(q).HeadSince(); now-since >= limit {
				out = append(out, outcome.Stuck{Port: i, Queue: q, Since: since, Paused: p.PausedQueues()&(1<<q) != 0})
			}
		}
		if d.OfSwitch {
			continue
		}
		h, named := r.hosts[r.nics.NumberOf(d.Node, int(d.Port))], uint8(0) // packets not sent yet wait in no queue
		for _, s := range h.held {
			class := h.slot[s].class
			if since := p.HeldSince(class); since != unit.Never && now-since >= limit && named&(1<<class) == 0 &&
				p.WaitingQueues()&(1<<class) == 0 {
				named |= 1 << class
				out = append(out, outcome.Stuck{Port: i, Queue: class, Since: since, Paused: true})
			}
		}
	}
	return out
}
