package loggops

import (
	"fmt"
	"math"

	"weir/core/jobs/job"
	"weir/core/scheme"
	"weir/core/unit"
)

// Model has the parameters of LogGOPS. By default it computes the same times as LogGOPSim (spcl/LogGOPSim 76451de,
// src/LogGOPSim/LogGOPSim.cpp) for a job of a GOAL file. NICs of other jobs send and receive at the same time
// (job.Traits.LogGOPSimOrder).
type Model struct {
	Latency unit.Time // L
	// Free selects the form of ATLAHS (spcl/atlahs 8837294, sim/LogGOPSim/LogGOPSim.cpp). A message occupies the wire for
	// its bytes before it arrives, and its receiver's NIC for g only. So several senders to one receiver do not share the
	// rate of its NIC.
	Free bool
	job.Costs
}

// Form returns the name of the model's form that runs the programs (job.Ideal), and the program that it follows. Only
// jobs of GOAL files have LogGOPSim's order and times.
func (m Model) Form(programs []job.Program) string {
	if m.Free {
		return "loggops, receive: free (spcl/atlahs 8837294)"
	}
	const both = "each NIC sends and receives at once"
	ordered := 0
	for _, p := range programs {
		if job.TraitsOf(p).LogGOPSimOrder {
			ordered++
		}
	}
	switch ordered {
	case len(programs):
		return "loggops, receive: nic (spcl/LogGOPSim 76451de)"
	case 0:
		return "loggops, receive: nic; " + both
	}
	return "loggops, receive: nic (GOAL files: spcl/LogGOPSim 76451de; other jobs: " + both + ")"
}

// maxTime is the maximum time of a run. No sum of two times in it overflows.
const maxTime = unit.Never / 4

// Run runs a job (job.Ideal). Ranks that wait forever are in the outcome. It is an error if the run would take longer
// than maxTime, or a send and its receive differ in size.
func (m Model) Run(p job.Program, watch job.Watch) (out job.Outcome, events uint64, err error) {
	m.Streams, m.BindReceiver = true, !m.Free
	if s, is := p.(job.Streamed); is {
		p = s.Streamed()
	}
	n := p.Ranks()
	x := &run{
		model: &m, ranks: make([]*job.Rank, n), places: make([]int32, n), running: -1, barrier: job.Barrier{Ranks: n},
	}
	x.ordered = !m.Free && job.TraitsOf(p).LogGOPSimOrder
	tally := job.NewTally(p, &watch)
	for i := range x.ranks {
		r := job.NewRank(p, i, &m.Costs, x)
		tally.Register(r)
		if x.ordered {
			r.CountTurns(&x.turns)
		}
		x.ranks[i] = r
		x.places[i] = -1
	}
	for i, r := range x.ranks {
		r.BeginProgram(watch.Start)
		x.updatePlace(int32(i))
	}
	cut := false
	for len(x.queue) > 0 {
		i := x.queue[0]
		r := x.ranks[i]
		now := r.NextTime()
		if now-watch.Start > maxTime {
			return out, events, fmt.Errorf("rank %d would go on after %v, which is too long", i, maxTime)
		}
		if watch.Stopped != nil && watch.Stopped(now) {
			cut = true
			break
		}
		x.removeAt(0) // keys of the queue must not change while the rank is in it
		x.running = i
		if x.ordered {
			r.HandleFirst()
		} else {
			r.Advance(now)
		}
		x.running = -1
		if err := r.Fault(); err != nil {
			return out, events, err
		}
		x.updatePlace(i)
		events++
	}
	out = tally.Outcome(x.ranks)
	out.WasCut = cut
	return out, events, nil
}

// config is the configuration of the model.
type config struct{ Model }

// Params binds the options of loggops to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	const from = "LogGOPSim"
	p.BoolWords(&c.Free, [2]string{"nic", "free"}, "receive", "nic",
		"what a message occupies at its receiver; nic: processor and NIC for its bytes, as in spcl/LogGOPSim 76451de, "+
			"while NICs of other jobs send and receive at once; free: the NIC for g only, as in spcl/atlahs 8837294", from)
	p.Time(&c.Latency, "L", "2500ns", "latency from the sender's NIC to the receiver's NIC", from).Min("0s").Max("1000s")
	p.Time(&c.Overhead, "o", "1500ns", "overhead of the processor for each send and each receive", from).Min("0s").
		Max("1000s")
	p.Time(&c.Gap, "g", "1us", "gap of the NIC for each message", from).Min("0s").Max("1000s")
	p.Time(&c.ByteGap, "G", "6ns", "gap per byte after the first; 20ps correspond to 400 Gb/s", from).Min("0s").Max("1s")
	p.Time(&c.PerByte, "O", "0s", "overhead per byte after the first", from).Min("0s").Max("1s")
	p.Size(&c.Eager, "S", "65535 B", "message size above which a send is complete only when the message has been "+
		"received", from).Min("0 B")
}

// Scheme returns the model's scheme.
func Scheme() job.Model {
	return job.DefineModel(scheme.Scheme{Name: "loggops", Doc: "ideal network in which messages cost latency, " +
		"overhead and gaps, and compete only at their hosts; GOAL files as in spcl/LogGOPSim 76451de",
		Source: "LogGOPSim"},
		func(c config) job.Ideal { return c.Model })
}

// run is the state of a run.
type run struct {
	model   *Model
	ranks   []*job.Rank
	barrier job.Barrier
	queue   []int32 // heap of ranks with events, by time and number, or by turn
	places  []int32 // by rank, its index in queue; −1: not in it
	ordered bool    // whether the program has LogGOPSim's order
	turns   int64   // number so far
	running int32   // rank that runs, outside of the queue; −1: no rank runs
}

// Send schedules the arrival of a message at its receiver (job.Network). The send is over at once if the message is
// eager: at most S bytes.
func (x *run) Send(now, free unit.Time, to int32, m job.Message) (over bool) {
	at := now + x.model.Overhead + x.model.Latency // its first byte arrives (LogGOPSim.cpp:320)
	if x.model.Free {
		at = free + x.model.Latency + x.model.WireTime(m.Size) // its last byte arrives (atlahs, LogGOPSim.cpp:387)
	}
	x.ranks[to].ScheduleArrival(at, m)
	x.updatePlace(to)
	return m.Size <= x.model.Eager
}

// Received ends the sends of messages that are too large to be eager.
func (x *run) Received(at unit.Time, _ int32, m job.Message) {
	if m.Size > x.model.Eager {
		x.ranks[m.From].ScheduleSendEnd(at, m.Send)
		x.updatePlace(m.From)
	}
}

// Align adds a rank to the barrier, which releases all ranks when the last arrives (job.Network).
func (x *run) Align(now unit.Time, r *job.Rank, at job.Ref, period unit.Time) {
	if x.barrier.Arrive(now, r, at, period) {
		for i := range x.ranks {
			x.updatePlace(int32(i))
		}
	}
}

// isBefore reports whether rank a runs before rank b: by turn, or by the time of the next event and then by number.
func (x *run) isBefore(a, b int32) bool {
	if x.ordered {
		return x.ranks[a].RunsBefore(x.ranks[b])
	}
	s, t := x.ranks[a].NextTime(), x.ranks[b].NextTime()
	return s < t || s == t && a < b
}

// updatePlace updates a rank's position in the queue after its events have changed.
func (x *run) updatePlace(rank int32) {
	if rank == x.running {
		return
	}
	i := x.places[rank]
	if x.ranks[rank].NextTime() == unit.Never {
		if i >= 0 {
			x.removeAt(i)
		}
		return
	}
	if i < 0 {
		i = int32(len(x.queue))
		x.queue = append(x.queue, rank)
		x.places[rank] = i
	}
	if !x.siftUp(i) {
		x.siftDown(i)
	}
}

// removeAt removes the rank at index i of the queue, and restores the heap.
func (x *run) removeAt(i int32) {
	last := int32(len(x.queue) - 1)
	x.places[x.queue[i]] = -1
	if i != last {
		x.queue[i] = x.queue[last]
		x.places[x.queue[i]] = i
	}
	x.queue = x.queue[:last]
	if i != last && !x.siftUp(i) {
		x.siftDown(i)
	}
}

// swapRanks swaps two entries of the queue and updates their places.
func (x *run) swapRanks(i, k int32) {
	q := x.queue
	q[i], q[k] = q[k], q[i]
	x.places[q[i]], x.places[q[k]] = i, k
}

// siftUp moves the entry at index i toward the root of the heap. It reports whether the entry has moved.
func (x *run) siftUp(i int32) (moved bool) {
	for i > 0 && x.isBefore(x.queue[i], x.queue[(i-1)/2]) {
		x.swapRanks(i, (i-1)/2)
		i, moved = (i-1)/2, true
	}
	return moved
}

// siftDown moves the entry at index i away from the root of the heap.
func (x *run) siftDown(i int32) {
	for {
		k := 2*i + 1
		if int(k) >= len(x.queue) {
			return
		}
		if int(k)+1 < len(x.queue) && x.isBefore(x.queue[k+1], x.queue[k]) {
			k++
		}
		if !x.isBefore(x.queue[k], x.queue[i]) {
			return
		}
		x.swapRanks(i, k)
		i = k
	}
}

// DescribeStops describes the operations of a job that never run, on any network that accepts every message at once; ""
// if all run.
func DescribeStops(l *job.Listed) string {
	o, _, err := Model{Costs: job.Costs{Eager: math.MaxInt64}}.Run(l, job.Watch{})
	if err != nil {
		return err.Error()
	}
	return job.DescribeDeadlock(l, &o)
}
