package lab

import (
	"fmt"
	"strings"

	"weir/core/dataplane"
	"weir/core/outcome"
	"weir/core/unit"
)

// Counts are what the data plane counts of frames beside the fabric.
type Counts struct {
	In, Out    uint64    // frames that came from hosts, and that were given to them
	NonIP      uint64    // of In, those that are neither IPv4, IPv6 nor PFC (ARP, …): dropped
	Unwritable uint64    // packets of switches that no frame can say: dropped
	SendLost   uint64    // frames that a host's kernel did not take
	Belated    uint64    // of In, those that were seen after what came later had happened
	BelatedBy  unit.Time // and by how much at most
}

// GateCounts are what one gate counts.
type GateCounts struct {
	Received uint64 // frames that the kernel had for the ring
	RingLost uint64 // of these, frames for which the ring had no room
	TooLong  uint64 // frames longer than a slot, or than the MTU allows when they were to leave: dropped here
	Partial  uint64 // frames without a checksum (offload was on): dropped here
	Tagged   uint64 // frames with a VLAN tag: dropped here
}

func (c *GateCounts) add(o GateCounts) {
	c.Received += o.Received
	c.RingLost += o.RingLost
	c.TooLong += o.TooLong
	c.Partial += o.Partial
	c.Tagged += o.Tagged
}

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

// Lateness is how much later than its event time a frame left, by the wall clock.
type Lateness struct {
	Frames              uint64
	P50, P99, P999, Max unit.Time
	// Below counts frames by powers of two: Below[i] were less than 2^i ns late, and not
	// less than half of that.
	Below []uint64
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
	Counts   Counts
	Gates    GateCounts // of all gates
	VethLost uint64     // frames that the kernel dropped between a host's stack and the gates
	Lateness Lateness
	Stall    unit.Time // longest time for which something was to be done and nothing happened
	Waits    []Wait    // all such times that were not short, in event time
	Waited   unit.Time // for how long the thread could have run and others of this machine had the processor
	// Kernels is what hosts of the kernel waited for, as their traffic's generator says.
	Kernels Waiting
	Steps   int       // of the wall clock (CLOCK_REALTIME against CLOCK_MONOTONIC)
	Steal   float64   // share of all cores that the hypervisor kept back
	CPU     float64   // share of one core that the data plane used
	Wall    unit.Time // how long it ran
	// Scheduling is what its thread had; empty: nothing of that.
	Scheduling Scheduling
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

// lateness sums a histogram up.
func lateness(h *unit.Histogram, most unit.Time) Lateness {
	l := Lateness{Frames: h.Count(), Max: most}
	sum := uint64(0)
	for _, c := range h.Classes() {
		sum += c.Count
		for _, q := range []struct {
			to    *unit.Time
			share float64
		}{{&l.P50, 0.5}, {&l.P99, 0.99}, {&l.P999, 0.999}} {
			if *q.to == 0 && float64(sum) >= q.share*float64(l.Frames) {
				*q.to = c.Middle()
			}
		}
		power := 0
		for ns := c.Middle() / unit.Nanosecond; ns > 0; ns >>= 1 {
			power++
		}
		for len(l.Below) <= power {
			l.Below = append(l.Below, 0)
		}
		l.Below[power] += c.Count
	}
	return l
}

// report makes the report of a run that ends now.
func (d *plane) report(now unit.Time) *Report {
	for d.marked < len(d.marks) { // it was stopped before its end
		d.mark(min(now, d.marks[d.marked]))
	}
	c, first, last := d.config, &d.at[0], &d.at[1]
	from, until := c.Lead+c.Warmup, d.ended
	r := &Report{
		Lead: c.Lead, From: from, Measured: max(until-from, 0), Events: d.fabric.Events(),
		Hops: d.fabric.Hops(), Counts: d.counts,
		Lateness: lateness(&d.late, d.latest), Stall: d.stall, Waits: d.waits, Wall: now, Watched: d.watched,
		Tally:    d.tallied,
		Carriers: d.carriers, Rises: d.risen(),
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
	for _, h := range d.gated {
		r.Gates.add(h.gate.Counts())
	}
	return r
}
