package lab

import (
	"fmt"
	"strings"

	"weir/core/dataplane"
	"weir/core/outcome"
	"weir/core/unit"
	"weir/worlds/live"
)

// FlowCounts counts the data packets of one flow that reached its receiver in the measured part: TCP segments with
// payload and datagrams, including retransmissions.
type FlowCounts struct {
	Packets int64
	Bytes   unit.Bytes // payload
	// One-way delays, from the first bit at the sender's NIC to the last bit at the receiver.
	DelaySum, DelayMin, DelayMax unit.Time // DelayMin is unit.Never without packets
	Jitter                       float64   // RFC 3550 §6.4.1, in ps
	Reordering                   outcome.Reordering
}

// Report has the counts of a run of the data plane and the disturbances by the machine.
type Report struct {
	Epoch    int64     // CLOCK_MONOTONIC of event time 0, in ns
	Lead     unit.Time // event time of time 0 of the experiment
	From     unit.Time // event time at which the measured part began
	Measured unit.Time // length of the measured part; shorter if the run was stopped
	Ports    []outcome.PortResult
	Drops    [dataplane.Reasons]uint64 // all switches and links, measured part
	Events   uint64                    // events of the fabric
	Hops     uint64                    // packets that arrived over a link

	Flows   []FlowCounts       // by Config.Flows
	Watched [][]int64          // by Config.Watches: sample k is of time Warmup + k·Every; nil for watches of flows
	Delays  []unit.Histogram   // with Config.Delays: one-way delays of data packets, measured part, by Flow.Group
	Tally   outcome.FrameTally // with Config.Tally: frames sent on all links, measured part
	Notices outcome.Notices    // with Config.Notices
	// Usage has the resources used by switches (Config.Usage). Steering has the control planes' counts from the
	// experiment's time 0 to the end of the measured part (Config.Steers). Both are by node; nil for hosts and for
	// switches without such counts.
	Usage    []*dataplane.Usage
	Steering []*dataplane.Steering
	Captured *CaptureSummary // with Config.Capture
	Rises    []unit.Time     // start times of Config.Onsets at ports, in the experiment's time
	Carriers []CarrierChange // carrier changes of cables, also outside the measured part

	// The following fields cover the whole run.
	Counts   live.FrameCounters
	Gates    live.GateCounts // of all gates
	VethLost uint64          // frames dropped by the kernel between a host's stack and the gates
	Lateness live.Lateness
	Stall    unit.Time              // longest time by which due work was delayed
	Waits    []live.SchedulingDelay // all such delays that were not short, in event time
	Waited   unit.Time              // time in which the thread was runnable while other threads of this machine ran
	// Kernels has the waits of kernel hosts, reported by their traffic generator.
	Kernels Waiting
	Steps   int       // steps of the wall clock (CLOCK_REALTIME against CLOCK_MONOTONIC)
	Steal   float64   // share of all cores taken by the hypervisor
	CPU     float64   // share of one core used by the data plane
	Wall    unit.Time // duration of the run
	// Scheduling is what the thread was granted; empty: no special scheduling.
	Scheduling live.Scheduling
}

// Errors lists frames lost or dropped where the experiment has no loss, and failed captures; nil without any. A run
// with errors is no measurement.
func (r *Report) Errors() (all []string) {
	all = formatCounts(
		errorCount{r.Gates.RingLost, "frames did not fit into a ring"},
		errorCount{r.VethLost, "frames were dropped by the kernel on their way"},
		errorCount{r.Gates.TooLong, "frames were longer than a slot of the ring"},
		errorCount{r.Gates.Partial, "frames arrived without a checksum"},
		errorCount{r.Gates.Tagged, "frames arrived with a VLAN tag"},
		errorCount{r.Counts.SendLost, "frames were not accepted by a host's kernel"},
		errorCount{r.Counts.Unwritable, "packets of switches cannot be written as frames"})
	if r.Captured != nil && r.Captured.Error != "" {
		all = append(all, "the capture could not be written: "+r.Captured.Error)
	}
	return all
}

// errorCount is a number of errors with their description.
type errorCount struct {
	n    uint64
	what string
}

// formatCounts returns a text for each count above 0.
func formatCounts(counts ...errorCount) (all []string) {
	for _, c := range counts {
		if c.n > 0 {
			all = append(all, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return all
}

// String summarizes the machine's behaviour in one line: lateness, stalls, CPU time, and errors if there are any.
func (r *Report) String() string {
	l := &r.Lateness
	us := func(t unit.Time) float64 { return 1e6 * t.Seconds() }
	s := fmt.Sprintf("%d frames, late by %.0f us (median), %.0f (99 %%), %.0f (99.9 %%), %.0f (max); longest stall "+
		"%.0f us; steal %.1f %%, own CPU %.1f %%",
		l.Frames, us(l.P50), us(l.P99), us(l.P999), us(l.Max), us(r.Stall), 100*r.Steal, 100*r.CPU)
	if x := r.Captured; x != nil && x.Cut != unit.Never {
		s += fmt.Sprintf("; the capture is full at %v and lacks later frames", x.Cut)
	}
	if e := r.Errors(); len(e) > 0 {
		s += "; " + strings.Join(e, ", ")
	}
	return s
}

// buildReport returns the report of a run that ends at event time now, without the fields that only Serve knows. It
// ends the measured part if the run was stopped early. It must be called once.
func (d *plane) buildReport(now unit.Time) *Report {
	for d.marksPassed < len(d.marks) { // the run was stopped early
		d.markPart(min(now, d.marks[d.marksPassed]))
	}
	c, first, last := d.config, &d.countsAtMarks[0], &d.countsAtMarks[1]
	from, until := c.Lead+c.Warmup, d.ended
	r := &Report{
		Lead: c.Lead, From: from, Measured: max(until-from, 0), Events: d.Fabric().CountEvents(),
		Hops: d.Fabric().CountHops(), Counts: d.Counts,
		Lateness: d.Lateness(), Stall: d.Stall, Waits: d.Waits, Wall: now, Watched: d.samples,
		Tally:    d.tallied,
		Carriers: d.carriers, Rises: d.onsetTimes(), Gates: d.GateCounts(),
	}
	r.Ports, r.Drops = d.wiring.PortResults(first, last, c.Warmup, max(until-c.Lead, c.Warmup))
	if d.flows != nil {
		d.flows.addToReport(r)
	}
	if c.Usage {
		r.Usage = d.wiring.Usage()
	}
	r.Steering = d.steering[1]
	for i, s := range r.Steering {
		if s != nil && d.steering[0] != nil { // it counted before the experiment started
			*s = s.SubtractUntil(*d.steering[0][i], c.Lead, until)
		}
	}
	if c.Notices {
		r.Notices.Made = last.Made - first.Made
		r.Notices.Dropped = last.NoticeDrops - first.NoticeDrops + d.noticesLostAt[1] - d.noticesLostAt[0]
	}
	return r
}
