package run

import (
	"weir/core/outcome"
	"weir/core/unit"
	"weir/study/experiment"
	"weir/worlds/lab"
	labtraffic "weir/worlds/lab/traffic"
	"weir/worlds/sim"
)

// labOutcome is the result of a run's flows in the lab: of those of kernels, and of those of Weir's own hosts.
type labOutcome struct {
	kernel *labtraffic.Result // nil: there are none
	flows  []int              // the numbers of its flows among all
	own    *outcome.Result    // by flow; nil: there are none
	hosts  *lab.HostsReport
}

// endTime returns the time at which the last flow ended.
func (s *labOutcome) endTime() (t unit.Time) {
	if s.kernel != nil {
		t = s.kernel.Time
	}
	if s.own != nil {
		t = max(t, s.own.Time)
	}
	return t
}

// countStrays returns the number of packets that arrived at hosts and belong to no flow.
func (s *labOutcome) countStrays() (n uint64) {
	if s.kernel != nil {
		n = s.kernel.Lost.Strays
	}
	if s.hosts != nil {
		n += s.hosts.Strays
	}
	return n
}

// endReason returns why the run ended: AllDone only if both kinds of hosts are done.
func (s *labOutcome) endReason() outcome.EndReason {
	end := outcome.AllDone
	if s.kernel != nil {
		switch s.kernel.End {
		case labtraffic.AllDone:
		case labtraffic.NoProgress:
			return outcome.NoProgress
		default:
			end = outcome.TimeUp
		}
	}
	if s.own != nil && s.own.End != outcome.AllDone {
		end = outcome.TimeUp
	}
	return end
}

// watched fills in what was looked at every so often.
func (s *labOutcome) watched(p *experiment.Point, c *sim.Config, r *lab.Report, res *outcome.Result) {
	kernels, own := 0, 0
	for i, w := range c.Watches {
		switch {
		case !w.What.OfFlow():
			res.Watched[i] = r.Watched[i]
		case p.Entry(c.Flows[w.Index].Group).Own():
			res.Watched[i] = s.own.Watched[own]
			own++
		default:
			res.Watched[i] = s.kernel.Sampled[kernels]
			if kernels++; w.What == outcome.RTT || w.What == outcome.DeliveryRate {
				for k, v := range res.Watched[i] {
					if v == 0 { // there was none yet
						res.Watched[i][k] = -1
					}
				}
			}
		}
	}
}

// kernelFlows fills in the flows of kernels.
func (s *labOutcome) kernelFlows(r *lab.Report, res *outcome.Result) {
	for k, i := range s.flows {
		x := &s.kernel.Flows[k]
		res.Flows[i] = outcome.FlowResult{Start: x.Start, Sender: x.Sender.Sent, Receiver: x.Receiver.Received, FCT: x.FCT,
			Arrived: x.Arrived, Written: x.Written, Timeouts: x.Timeouts}
		// Data packets and their delays are those that the network delivered, by event time: what
		// waits in a socket is no part of them.
		if i < len(r.Flows) && r.Flows[i].Packets > 0 {
			to := &res.Flows[i].Receiver
			to.ReceivedPackets = r.Flows[i].Packets
			s.delays(i, r, res)
		}
	}
}

// ownFlows fills in the flows of Weir's own hosts, which know all but how long packets took.
func (s *labOutcome) ownFlows(p *experiment.Point, c *sim.Config, r *lab.Report, res *outcome.Result) {
	for i := range c.Flows {
		if !p.Entry(c.Flows[i].Group).Own() {
			continue
		}
		res.Flows[i] = s.own.Flows[i]
		if i < len(s.own.Peaks) {
			res.Peaks[i] = s.own.Peaks[i]
		}
		if i < len(r.Flows) {
			s.delays(i, r, res)
		}
	}
}

// onsets fills in when senders of Weir's own hosts reduced. When a queue grew only the data plane knows.
func (s *labOutcome) onsets(c *sim.Config, r *lab.Report, res *outcome.Result) {
	ports := 0
	for i := range c.Onsets {
		o := &c.Onsets[i]
		if o.Port < 0 {
			res.Onsets = append(res.Onsets, s.own.Onsets[i])
			continue
		}
		at := r.Rises[ports]
		if at > res.Time {
			at = unit.Never
		}
		res.Onsets = append(res.Onsets, sim.JudgeOnset(o, at, s.own.Changes[ports]))
		ports++
	}
}

// delays are of the packets of flow i that the network delivered.
func (s *labOutcome) delays(i int, r *lab.Report, res *outcome.Result) {
	n, to := &r.Flows[i], &res.Flows[i].Receiver
	to.DelaySum, to.DelayMin, to.DelayMax, to.Jitter = n.DelaySum, n.DelayMin, n.DelayMax, n.Jitter
	res.Reordering[i] = n.Reordering
}

// received is the payload that the receiver of flow i has had, from the start of the run.
func (s *labOutcome) received(flow int) unit.Bytes {
	for k, i := range s.flows {
		if i == flow {
			return s.kernel.Flows[k].Received
		}
	}
	for k, i := range s.own.Unfinished {
		if i == flow {
			return s.own.Delivered[k]
		}
	}
	return 0
}
