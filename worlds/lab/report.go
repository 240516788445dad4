package lab

import (
	"fmt"
	"strings"

	"weir/core/dataplane"
	"weir/core/outcome"
	"weir/core/unit"
	"weir/worlds/live"
)

// FlowCounts are of the data packets of one flow that came to its receiver, in the measured
// part: TCP segments with payload, datagrams, also those that were sent again.
type FlowCounts struct {
	Packets int64
	Bytes   unit.Bytes // payload
	// One-way delays, from the first bit at the sender's NIC to the last bit at the receiver.
	DelaySum, DelayMin, DelayMax unit.Time // DelayMin is unit.Never if there are none
	Jitter                       float64   // RFC 3550 §6.4.1, in ps
	Reordering                   outcome.Reordering
}

// Report is what a run of the data plane has counted, and what it says about the machine.
type Report struct {
	Epoch    int64     // CLOCK_MONOTONIC of event time 0, in ns
	Lead     unit.Time // event time of time 0 of the experiment
	From     unit.Time // event time at which the measured part began
	Measured unit.Time // length of the measured part; less than was asked for if the run was stopped
	Ports    []outcome.PortResult
	Drops    [dataplane.Reasons]uint64 // all switches and links, measured part
	Events   uint64                    // of the fabric
	Hops     uint64                    // packets that arrived over a link

	Flows   []FlowCounts     // by Config.Flows
	Watched [][]int64        // by Config.Watches: sample k is of the time Warmup + k·Every; null of what flows have
	Delays  []unit.Histogram // with Config.Delays: one-way delays of data packets, measured part, by Flow.Group
	Tally   outcome.Tally    // with Config.Tally: of all frames that were sent on any link, measured part
	Notices outcome.Notices  // with Config.Notices
	// With Config.Usage and Config.Steers, by node: what switches take, and what their control planes have done from the
	// experiment's time 0 until the measured part ended; nil: a host, or nothing tells.
	Usage    []*dataplane.Usage
	Steering []*dataplane.Steering
	Captured *Captured   // with Config.Capture
	Rises    []unit.Time // by the onsets at ports of Config.Onsets: when they began, in the experiment's time
	Carriers []Carrier   // that cables have lost or have got back, also before and after the measured part

	// What follows is of the whole run.
	Counts   live.FrameCounters
	Gates    live.GateCounts // of all gates
	VethLost uint64          // frames that the kernel dropped between a host's stack and the gates
	Lateness live.Lateness
	Stall    unit.Time              // longest time for which something was to be done and nothing happened
	Waits    []live.SchedulingDelay // all such times that were not short, in event time
	Waited   unit.Time              // for how long the thread could have run and others of this machine had the processor
	// Kernels is what hosts of the kernel waited for, as their traffic's generator says.
	Kernels Waiting
	Steps   int       // of the wall clock (CLOCK_REALTIME against CLOCK_MONOTONIC)
	Steal   float64   // share of all cores that the hypervisor kept back
	CPU     float64   // share of one core that the data plane used
	Wall    unit.Time // how long it ran
	// Scheduling is what its thread had; empty: nothing of that.
	Scheduling live.Scheduling
}

// Errors lists what must not happen in a run: frames that were lost or dropped where the
// experiment has no loss. Such a run is no measurement.
func (r *Report) Errors() (all []string) {
	all = counted(
		count{r.Gates.RingLost, "frames found no room in a ring"},
		count{r.VethLost, "frames were dropped by the kernel on their way"},
		count{r.Gates.TooLong, "frames were longer than a ring's slot"},
		count{r.Gates.Partial, "frames came without their checksum"},
		count{r.Gates.Tagged, "frames came with a VLAN tag"},
		count{r.Counts.SendLost, "frames were not taken by a host's kernel"},
		count{r.Counts.Unwritable, "packets of switches cannot be written as frames"})
	if r.Captured != nil && r.Captured.Error != "" {
		all = append(all, "the capture could not be written: "+r.Captured.Error)
	}
	return all
}

// count is how often what must not happen has happened.
type count struct {
	n    uint64
	what string
}

// counted says what has happened.
func counted(counts ...count) (all []string) {
	for _, c := range counts {
		if c.n > 0 {
			all = append(all, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return all
}

// String is the report's part about the machine, in a line.
func (r *Report) String() string {
	l := &r.Lateness
	us := func(t unit.Time) float64 { return 1e6 * t.Seconds() }
	s := fmt.Sprintf("%d frames, late by %.0f us (median), %.0f (99 %%), %.0f (99.9 %%), %.0f (most); longest stall "+
		"%.0f us; steal %.1f %%, own CPU %.1f %%",
		l.Frames, us(l.P50), us(l.P99), us(l.P999), us(l.Max), us(r.Stall), 100*r.Steal, 100*r.CPU)
	if x := r.Captured; x != nil && x.Cut != unit.Never {
		s += fmt.Sprintf("; the capture has no room for what came after %v", x.Cut)
	}
	if e := r.Errors(); len(e) > 0 {
		s += "; " + strings.Join(e, ", ")
	}
	return s
}

// report makes the report of a run that ends now.
func (d *plane) report(now unit.Time) *Report {
	for d.marked < len(d.marks) { // it was stopped before its end
		d.mark(min(now, d.marks[d.marked]))
	}
	c, first, last := d.config, &d.at[0], &d.at[1]
	from, until := c.Lead+c.Warmup, d.ended
	r := &Report{
		Lead: c.Lead, From: from, Measured: max(until-from, 0), Events: d.Fabric().Events(),
		Hops: d.Fabric().Hops(), Counts: d.Counts,
		Lateness: d.Lateness(), Stall: d.Stall, Waits: d.Waits, Wall: now, Watched: d.samples,
		Tally:    d.tallied,
		Carriers: d.carriers, Rises: d.onsets(), Gates: d.GateCounts(),
	}
	r.Ports, r.Drops = d.wiring.Results(first, last, c.Warmup, max(until-c.Lead, c.Warmup))
	if d.flows != nil {
		d.flows.report(r)
	}
	if c.Usage {
		r.Usage = d.wiring.Usage()
	}
	r.Steering = d.steering[1]
	for i, s := range r.Steering {
		if s != nil && d.steering[0] != nil { // it was running before the experiment did
			*s = s.Since(*d.steering[0][i], c.Lead, until)
		}
	}
	if c.Notices {
		r.Notices.Made = last.Made - first.Made
		r.Notices.Dropped = last.NoticeDrops - first.NoticeDrops + d.noticesLostAt[1] - d.noticesLostAt[0]
	}
	return r
}
