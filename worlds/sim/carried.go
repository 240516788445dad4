package sim

import (
	"weir/core/transport"
	"weir/core/unit"
)

// Messages of jobs have no results of their own, as there may be hundreds of millions. What their ends have counted is
// added up by rank when they are given back.

// Carried is what the messages of a rank of a job have counted together, as a flow's ends do: sums, and the least and
// the largest delay.
type Carried struct {
	Sent     transport.Sent     // of messages that the rank sends
	Received transport.Received // of these
	Timeouts int64
	Got      unit.Bytes // payload of messages to the rank
}

// noneCarried is that of ranks of which nothing is known yet.
func noneCarried(ranks int) []Carried {
	out := make([]Carried, ranks)
	for i := range out {
		out[i].Received.DelayMin = unit.Never
	}
	return out
}

// Add adds what another rank has counted, or the ends of a message.
func (c *Carried) Add(x *Carried) {
	s, r := &x.Sent, &x.Received
	c.Sent.SentPackets += s.SentPackets
	c.Sent.SentBytes += s.SentBytes
	c.Sent.Retransmitted += s.Retransmitted
	c.Sent.NacksTaken += s.NacksTaken
	c.Sent.NacksRefused += s.NacksRefused
	c.Received.ReceivedPackets += r.ReceivedPackets
	c.Received.ReceivedBytes += r.ReceivedBytes
	for i, n := range r.Spurious {
		c.Received.Spurious[i] += n
	}
	c.Received.DelaySum += r.DelaySum
	if r.DelayMin > 0 {
		c.Received.DelayMin = min(c.Received.DelayMin, r.DelayMin)
	}
	c.Received.DelayMax = max(c.Received.DelayMax, r.DelayMax)
	c.Timeouts += x.Timeouts
	c.Got += x.Got
}

// since is what was counted after first, a copy of before.
func (c *Carried) since(first *Carried) Carried {
	return Carried{Sent: c.Sent.Since(&first.Sent), Received: c.Received.Since(&first.Received),
		Timeouts: c.Timeouts - first.Timeouts, Got: c.Got - first.Got}
}

// carry adds what the ends of a message have counted, as they have noted it, to its ranks.
func (r *Simulation) carry(to [][]Carried, flow int) {
	m, o := &r.jobs.message[flow-r.listed], &r.outcome[flow]
	to[m.job][m.From].Add(&Carried{Sent: o.Sender, Received: o.Receiver, Timeouts: o.Timeouts})
	to[m.job][m.to].Got += o.Receiver.ReceivedBytes
}

// carriedNow is what the messages of each job have counted since the run began: those that are over, and those that are
// not. All nodes must have reached the same time.
func (r *Simulation) carriedNow() (out [][]Carried) {
	for _, x := range r.over {
		out = append(out, append([]Carried(nil), x...))
	}
	for i := r.listed; i < len(r.outcome); i++ {
		if r.sender[i] >= 0 || r.receiver[i] >= 0 {
			r.note(i)
			r.carry(out, i)
		}
	}
	return out
}

// carriedBytes is what has arrived of the messages of a job.
func (r *Simulation) carriedBytes(job int) (sum unit.Bytes) {
	for i := range r.over[job] {
		sum += r.over[job][i].Got
	}
	for i := r.listed; i < len(r.outcome); i++ {
		if s := r.got(i); s != nil && int(r.jobs.message[i-r.listed].job) == job {
			sum += s.counters.ReceivedBytes
		}
	}
	return sum
}

// Carried is what the messages of each rank of the job of a traffic have counted in the measured part; nil: it has no
// job.
func (r *Result) Carried(group int) []Carried {
	for i := range r.Messages {
		if r.JobGroups[i] == group {
			return r.Messages[i]
		}
	}
	return nil
}

// idealMessages notes what is known of messages that no packets carried: what each rank has sent. Of a job that is not
// done it is not known what of that has arrived.
func (r *Result) idealMessages() {
	for i := range r.Jobs {
		all := noneCarried(len(r.Jobs[i].Ranks))
		for k := range all {
			all[k].Received.ReceivedBytes = r.Jobs[i].Ranks[k].Sent
		}
		r.Messages = append(r.Messages, all)
	}
}

// again adds n times what was counted between two copies, first and last.
func (c *Carried) again(n int64, first, last *Carried) {
	d := last.since(first)
	s, r := &d.Sent, &d.Received
	for _, x := range []*int64{&s.SentPackets, &s.Retransmitted, &s.NacksTaken, &s.NacksRefused, &r.ReceivedPackets,
		&d.Timeouts} {
		*x *= n
	}
	for i := range r.Spurious {
		r.Spurious[i] *= n
	}
	for _, x := range []*unit.Bytes{&s.SentBytes, &r.ReceivedBytes, &d.Got} {
		*x *= unit.Bytes(n)
	}
	r.DelaySum *= unit.Time(n)
	c.Add(&d)
}
