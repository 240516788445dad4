package sim

import (
	"weir/core/outcome"
	"weir/core/unit"
)

// The counters of a message are added to those of its ranks when its ends are released.

// newRankCounters returns the counters of ranks without a message.
func newRankCounters(ranks int) []outcome.RankCounters {
	out := make([]outcome.RankCounters, ranks)
	for i := range out {
		out[i].Received.DelayMin = unit.Never
	}
	return out
}

// addRankCounters adds the recorded counters of a message's ends, by its flow, to its ranks in counters, by job and
// rank.
func (r *Simulation) addRankCounters(counters [][]outcome.RankCounters, flow int) {
	m, o := &r.jobs.message[flow-r.listed], &r.outcome[flow]
	counters[m.job][m.From].Add(&outcome.RankCounters{Sent: o.Sender, Received: o.Receiver, Timeouts: o.Timeouts})
	counters[m.job][m.to].Got += o.Receiver.ReceivedBytes
}

// rankCounters returns new counters of the messages of each job since the run began, finished and in progress, by job
// and rank. It records the counters of messages in progress in their outcomes. All nodes must have reached the same
// time.
func (r *Simulation) rankCounters() (out [][]outcome.RankCounters) {
	for _, x := range r.closedCounters {
		out = append(out, append([]outcome.RankCounters(nil), x...))
	}
	for i := r.listed; i < len(r.outcome); i++ {
		if r.sender[i] >= 0 || r.receiver[i] >= 0 {
			r.recordCounters(i)
			r.addRankCounters(out, i)
		}
	}
	return out
}

// carriedBytes returns the bytes of a job's messages that have arrived since the run began.
func (r *Simulation) carriedBytes(job int) (sum unit.Bytes) {
	for i := range r.closedCounters[job] {
		sum += r.closedCounters[job][i].Got
	}
	for i := r.listed; i < len(r.outcome); i++ {
		if s := r.receiverSlot(i); s != nil && int(r.jobs.message[i-r.listed].job) == job {
			sum += s.counters.ReceivedBytes
		}
	}
	return sum
}

// idealMessages records the counters of messages without packets: ReceivedBytes is the number of bytes that each rank
// has sent, and all other counters are 0. For an unfinished job the bytes that have arrived are unknown.
func idealMessages(r *outcome.Result) {
	for i := range r.Jobs {
		all := newRankCounters(len(r.Jobs[i].Ranks))
		for k := range all {
			all[k].Received.ReceivedBytes = r.Jobs[i].Ranks[k].Sent
		}
		r.Messages = append(r.Messages, all)
	}
}
