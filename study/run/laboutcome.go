package run

import (
	"weir/core/outcome"
	"weir/core/unit"
	"weir/study/experiment"
	"weir/worlds/lab"
	labtraffic "weir/worlds/lab/traffic"
	"weir/worlds/sim"
)

// labOutcome is the outcome of a run's flows in the lab, on Linux hosts and on Weir hosts.
type labOutcome struct {
	kernel *labtraffic.Result // nil: no Linux hosts
	flows  []int              // indices of its flows among all
	own    *outcome.Result    // by flow; nil: no Weir hosts
	hosts  *lab.HostsReport
}

// endTime returns the time at which the last hosts ended, Linux or Weir hosts, since time 0 of the experiment.
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

// endReason returns why the run ended: AllDone only if both kinds of hosts are done. Linux hosts without progress end
// the run with NoProgress, independent of the reports of Weir hosts.
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

// setSamples sets the samples of the watches, in the order of the watches: ports from the data plane, flows from their
// hosts. It shares their slices. For Linux hosts it replaces 0, a round trip or delivery rate without a value, by -1.
func (s *labOutcome) setSamples(p *experiment.Point, c *sim.Config, r *lab.Report, res *outcome.Result) {
	kernels, own := 0, 0
	for i, w := range c.Watches {
		switch {
		case !w.What.OfFlow():
			res.Watched[i] = r.Watched[i]
		case p.Entry(c.Flows[w.Index].Group).UsesWeirStack():
			res.Watched[i] = s.own.Watched[own]
			own++
		default:
			res.Watched[i] = s.kernel.Sampled[kernels]
			if kernels++; w.What == outcome.RTT || w.What == outcome.DeliveryRate {
				for k, v := range res.Watched[i] {
					if v == 0 { // no value yet
						res.Watched[i][k] = -1
					}
				}
			}
		}
	}
}

// setKernelFlows sets the results of the flows on Linux hosts. Their packets and delays are the data plane's, if it
// counted any.
func (s *labOutcome) setKernelFlows(r *lab.Report, res *outcome.Result) {
	for k, i := range s.flows {
		x := &s.kernel.Flows[k]
		res.Flows[i] = outcome.FlowResult{Start: x.Start, Sender: x.Sender.Sent, Receiver: x.Receiver.Received, FCT: x.FCT,
			Arrived: x.Arrived, Written: x.Written, Timeouts: x.Timeouts}
		// Count data packets and their delays where the network delivered them, by event time: the time in a socket does
		// not count.
		if i < len(r.Flows) && r.Flows[i].Packets > 0 {
			to := &res.Flows[i].Receiver
			to.ReceivedPackets = r.Flows[i].Packets
			s.setDelays(i, r, res)
		}
	}
}

// setOwnFlows sets the results of the flows on Weir hosts, which measure all but the packets' delays.
func (s *labOutcome) setOwnFlows(p *experiment.Point, c *sim.Config, r *lab.Report, res *outcome.Result) {
	for i := range c.Flows {
		if !p.Entry(c.Flows[i].Group).UsesWeirStack() {
			continue
		}
		res.Flows[i] = s.own.Flows[i]
		if i < len(s.own.Peaks) {
			res.Peaks[i] = s.own.Peaks[i]
		}
		if i < len(r.Flows) {
			s.setDelays(i, r, res)
		}
	}
}

// setOnsets sets the times at which senders of Weir hosts reduced their rate. The data plane measures when the queues
// grew. Growth after the end of the run counts as unit.Never.
func (s *labOutcome) setOnsets(c *sim.Config, r *lab.Report, res *outcome.Result) {
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

// setDelays sets the delays and the reordering of flow i from the packets that the network delivered.
func (s *labOutcome) setDelays(i int, r *lab.Report, res *outcome.Result) {
	n, to := &r.Flows[i], &res.Flows[i].Receiver
	to.DelaySum, to.DelayMin, to.DelayMax, to.Jitter = n.DelaySum, n.DelayMin, n.DelayMax, n.Jitter
	res.Reordering[i] = n.Reordering
}

// receivedBytes returns the payload bytes that the receiver of an unfinished flow has received since the start of the
// run. It is 0 for a finished flow of Weir hosts.
func (s *labOutcome) receivedBytes(flow int) unit.Bytes {
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
