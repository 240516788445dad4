package sim

import (
	"cmp"
	"slices"

	"weir/core/fabric"
	"weir/core/fabric/observe"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
)

// A run may use several threads (Config.Threads). Each has some of the nodes, a part of the fabric, and all shared
// state that these nodes write. Between two windows the run collects the records of the threads.

// thread is the state of one thread.
type thread struct {
	pool        packet.Pool
	ended       int // flows, since the last gather
	lastFinish  unit.Time
	paused      bool       // there was a PFC frame
	pauses      []PFCEvent // since the last gather, with Config.OnPFC
	delays      []unit.Histogram
	tally       outcome.FrameTally
	notices     outcome.Notices
	noticesLost uint64             // by links
	log         [][]outcome.Change // by onset
	_           [64]byte           // threads write to different lines
}

// divideNodes assigns the nodes to threads: groups with hosts in equal parts by the load of their flows, in the order
// of the hosts' numbers, so that neighbours are together; then other groups to the thread of most of their
// neighbours. It returns the thread by node, and the number of threads: not more than groups with hosts. With
// Config.Threads below 2 all nodes are in thread 0.
func divideNodes(c *Config, links []fabric.Link) (threadOf []int32, threads int) {
	n := c.Wiring.Network
	threadOf = make([]int32, len(n.Nodes))
	if c.Threads < 2 {
		return threadOf, 1
	}
	group, nics := fabric.GroupNodes(len(n.Nodes), links, c.Window), n.NICs()
	load := make([]float64, slices.Max(group)+1)
	var withHosts []int32 // groups, in the order threadOf their first hosts
	for i := range n.Nodes {
		if g := group[i]; !n.Nodes[i].Switch {
			if load[g] == 0 {
				withHosts = append(withHosts, g)
			}
			load[g]++
		}
	}
	for i := range c.Flows {
		f := &c.Flows[i]
		if min(f.Src, f.Dst) < 0 || max(f.Src, f.Dst) >= nics.Len() {
			continue // addFlows returns the error
		}
		packets := float64(f.Size)/1000 + 2
		if f.Size == 0 {
			packets = 1000
		}
		load[group[nics.HostOf(f.Src)]] += packets
		load[group[nics.HostOf(f.Dst)]] += packets
	}
	if threads = min(c.Threads, len(withHosts)); threads < 2 {
		return threadOf, 1
	}
	at := make([]int32, len(load)) // the thread threadOf each group; −1: not known yet
	for g := range at {
		at[g] = -1
	}
	all, before := 0.0, 0.0
	for _, g := range withHosts {
		all += load[g]
	}
	for _, g := range withHosts {
		at[g] = min(int32((before+load[g]/2)/all*float64(threads)), int32(threads)-1)
		before += load[g]
	}
	assignSwitches(n, group, at, threads)
	for i, g := range group {
		threadOf[i] = at[g]
	}
	return threadOf, threads
}

// assignSwitches assigns the groups of switches to the threads of their neighbours, tier by tier. In a tie the thread
// with fewer ports so far gets the group. group is by node. threadOf is by group, −1 if unknown, and is completed;
// groups without neighbours get thread 0.
func assignSwitches(n *topology.Network, group, threadOf []int32, threads int) {
	near := make([][]int32, len(threadOf))
	for i := range n.Links {
		a, b := group[n.Links[i].Ends[0]], group[n.Links[i].Ends[1]]
		near[a], near[b] = append(near[a], b), append(near[b], a)
	}
	ports := make([]int, threads)
	votes := make([]int, threads)
	for again := true; again; {
		again = false
		was := slices.Clone(threadOf)
		for g := range threadOf {
			if was[g] >= 0 {
				continue
			}
			clear(votes)
			voted := false
			for _, j := range near[g] {
				if was[j] >= 0 {
					votes[was[j]]++
					voted = true
				}
			}
			if !voted {
				continue
			}
			best := 0
			for k := range votes {
				if votes[k] > votes[best] || votes[k] == votes[best] && ports[k] < ports[best] {
					best = k
				}
			}
			threadOf[g], again = int32(best), true
			ports[best] += len(near[g])
		}
	}
	for g := range threadOf {
		threadOf[g] = max(threadOf[g], 0) // groups without neighbours
	}
}

// runWindow runs a window in all threads (fabric.Config.RunParts).
func (r *Simulation) runWindow(run func(part int)) {
	if r.group != nil {
		r.group.Window(run)
		return
	}
	for k := range r.threads {
		run(k)
	}
}

// threadOfNode returns the thread of a node.
func (r *Simulation) threadOfNode(node int) *thread { return r.threads[r.threadOf[node]] }

// switchPart returns a thread's part of the fabric for switches.
func (r *Simulation) switchPart(k int) fabric.Part {
	p := fabric.Part{Pool: &r.threads[k].pool}
	if r.config.Trace != nil {
		p.Observer = r.config.Trace.PartObserver(k)
	}
	return p
}

// linkPart returns a thread's part of the fabric for links; its observer's link i is the port 2·link + end.
func (r *Simulation) linkPart(k int) fabric.Part {
	t, p := r.threads[k], r.switchPart(k)
	p.Observer = observe.NewLinks(&r.config.Selection, p.Observer, &t.tally, &t.noticesLost, r.wiring.Port)
	return p
}

// gatherThreads adds the records of the threads since the last call to r, calls OnPFC for their pauses, and moves free
// packets between their pools. No thread may be running.
func (r *Simulation) gatherThreads() {
	for _, t := range r.threads {
		r.unfinished -= t.ended
		r.finished += t.ended
		t.ended = 0
		r.lastFinish = max(r.lastFinish, t.lastFinish)
		r.paused = r.paused || t.paused
	}
	if r.paused && r.config.OnPFC != nil {
		r.reportPauses()
	}
	if len(r.threads) > 1 {
		r.levelPools()
	}
}

// reportPauses calls OnPFC, which must be set, with the events since the last call, by time and node.
func (r *Simulation) reportPauses() {
	all := r.pauses[:0]
	for _, t := range r.threads {
		all = append(all, t.pauses...)
		t.pauses = t.pauses[:0]
	}
	slices.SortStableFunc(all, func(a, b PFCEvent) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Node, b.Node))
	})
	for _, e := range all {
		r.config.OnPFC(e)
	}
	r.pauses = all
}

// fullPool is the number of free packets that a pool keeps in any case.
const fullPool = 4096

// levelPools moves free packets from the fullest pool to the emptiest, if that has less than a quarter. Packets are
// freed where they arrive: where more arrive than are made they would pile up, and elsewhere more would be made all the
// time.
func (r *Simulation) levelPools() {
	full, low := r.threads[0], r.threads[0]
	for _, t := range r.threads {
		if t.pool.FreeCount() > full.pool.FreeCount() {
			full = t
		}
		if t.pool.FreeCount() < low.pool.FreeCount() {
			low = t
		}
	}
	if more, less := full.pool.FreeCount(), low.pool.FreeCount(); more > fullPool && less < more/4 {
		full.pool.MoveTo((more-less)/2, &low.pool)
	}
}

// mergeThreads returns records of all threads together: delays by group (nil without Config.Delays), tally and notices.
// The threads keep theirs. No thread may be running.
func (r *Simulation) mergeThreads() (delays []unit.Histogram, tally outcome.FrameTally, notices outcome.Notices) {
	if r.config.Delays {
		delays = make([]unit.Histogram, len(r.threads[0].delays))
	}
	for _, t := range r.threads {
		for i := range delays {
			delays[i].Merge(&t.delays[i])
		}
		tally.Add(&t.tally)
		notices.Add(&t.notices)
		notices.Dropped += t.noticesLost
	}
	return delays, tally, notices
}
