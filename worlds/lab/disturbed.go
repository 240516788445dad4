package lab

import (
	"fmt"
	"slices"
	"strings"

	"weir/core/fabric/observe"
	"weir/core/unit"
	"weir/worlds/live"
)

// Waiting records how long the thread that sends and receives for kernel hosts waited for a processor used by
// other threads, such as the data plane's.
type Waiting struct {
	Waits   []live.SchedulingDelay // waits of at least live.MinWait, in the experiment's time
	Starved []live.SchedulingDelay // Waits after which a sender had no data or a receiver no space
	Sum     unit.Time              // of all waits, including shorter ones
}

// AddWait records a wait of the given length that ended at now, and whether a host starved. It ignores short waits,
// and waits after the first live.MaxWaits.
func (w *Waiting) AddWait(now, length unit.Time, starved bool) {
	if length < live.MinWait || len(w.Waits) == live.MaxWaits {
		return
	}
	w.Waits = append(w.Waits, live.SchedulingDelay{At: now - length, Length: length})
	if starved {
		w.Starved = append(w.Starved, live.SchedulingDelay{At: now - length, Length: length})
	}
}

// maxWait returns the length of the longest wait.
func maxWait(waits []live.SchedulingDelay) (l unit.Time) {
	for _, w := range waits {
		l = max(l, w.Length)
	}
	return l
}

// disturbedTime returns the total time between from and until in which waits can have changed the hosts' behaviour. A
// wait counts if it is longer than the smaller of rtt/4 and observe.MaxLateness. It counts with one more rtt, until
// the hosts know the outcome. Later losses and the recovery from them are the controller's behaviour and do not
// count.
func disturbedTime(waits []live.SchedulingDelay, rtt, from, until unit.Time) unit.Time {
	return changedTime(waits, min(rtt/4, observe.MaxLateness), rtt, from, until)
}

// changedTime returns the total time between from and until covered by waits longer than minLength, each extended by
// one rtt. Overlapping parts count once.
func changedTime(waits []live.SchedulingDelay, minLength, rtt, from, until unit.Time) (sum unit.Time) {
	waits = slices.SortedFunc(slices.Values(waits), func(a, b live.SchedulingDelay) int {
		return int(min(max(a.At-b.At, -1), 1))
	})
	end := from // end of the time counted so far
	for _, w := range waits {
		if w.Length <= minLength {
			continue
		}
		begins, ends := max(w.At, end), min(w.At+w.Length+rtt, until)
		if ends > begins {
			sum += ends - begins
			end = ends
		}
	}
	return sum
}

// maxDisturbed is the largest share of a run's measured part that may be disturbed (disturbedTime) in an
// undisturbed run. One hundredth lies beyond a 99th percentile, and changes a goodput by a tenth of the difference
// to the simulator that is allowed.
const maxDisturbed = 0.01

// Disturbed lists how the machine disturbed the run, empty if it did not. rtt is the shortest round-trip time of a
// path without queues. hosts is the report of Weir's own hosts, nil without them. Time taken by the hypervisor is
// no disturbance by itself; it shows as waits of frames.
func (r *Report) Disturbed(hosts *HostsReport, rtt unit.Time) (reasons []string) {
	lost := r.Gates.RingLost + r.VethLost + r.Counts.SendLost
	if hosts != nil {
		lost += hosts.Gates.RingLost + hosts.Counts.SendLost
	}
	if lost > 0 {
		reasons = append(reasons, fmt.Sprintf("rings lost %d frames", lost))
	}
	late := func(owner string, l *live.Lateness) {
		if l.P99 > observe.MaxLateness {
			reasons = append(reasons, fmt.Sprintf("1 %% of %sframes were sent %.1f ms late or more",
				owner, 1e3*l.P99.Seconds()))
		}
	}
	late("", &r.Lateness)
	stall := r.Stall
	if hosts != nil {
		late("hosts' ", &hosts.Lateness)
		stall = max(stall, hosts.Stall)
	}
	stall = max(stall, maxWait(r.Kernels.Starved))
	if share := r.DisturbedShare(hosts, rtt); share > maxDisturbed {
		s := fmt.Sprintf("stalls disturbed %.1f %% of the time, the longest for %.1f ms", 100*share, 1e3*stall.Seconds())
		var causes []string
		if r.Waited > 0 {
			causes = append(causes, fmt.Sprintf("other processes used the processor for %.0f ms", 1e3*r.Waited.Seconds()))
		}
		if sum := r.Kernels.Sum; len(r.Kernels.Starved) > 0 {
			causes = append(causes, fmt.Sprintf("hosts waited for a processor for %.0f ms, and starved %d times",
				1e3*sum.Seconds(), len(r.Kernels.Starved)))
		}
		if r.Steal > 0 {
			causes = append(causes, fmt.Sprintf("the hypervisor took %.1f %% of all cores", 100*r.Steal))
		}
		if len(causes) > 0 {
			s += " (" + strings.Join(causes, ", ") + ")"
		}
		reasons = append(reasons, s)
	}
	if r.Steps > 0 {
		reasons = append(reasons, fmt.Sprintf("the clock was set %d times", r.Steps))
	}
	return reasons
}

// DisturbedStrictly is Disturbed with tighter limits, for measurements outside the measured part. Any stall longer
// than a quarter of rtt counts, at any time, and so does a wait of hosts without starvation. One late frame in a
// thousand counts, too.
func (r *Report) DisturbedStrictly(hosts *HostsReport, rtt unit.Time) []string {
	reasons := r.Disturbed(hosts, rtt)
	stall, late := max(r.Stall, maxWait(r.Kernels.Waits)), r.Lateness.P999
	if hosts != nil {
		stall, late = max(stall, hosts.Stall), max(late, hosts.Lateness.P999)
	}
	if len(reasons) == 0 && (4*stall > rtt || late > observe.MaxLateness) {
		reasons = append(reasons, fmt.Sprintf("a stall of %.1f ms, and .1 %% of frames were sent %.1f ms late or more",
			1e3*stall.Seconds(), 1e3*late.Seconds()))
	}
	return reasons
}

// DisturbedShare returns the share, 0 to 1, of the measured part in which waits of the data plane and of hosts can
// have changed the hosts' behaviour (disturbedTime). hosts may be nil. It is 0 without a measured part.
func (r *Report) DisturbedShare(hosts *HostsReport, rtt unit.Time) float64 {
	return r.waitShare(hosts, func(waits []live.SchedulingDelay, from, until unit.Time) unit.Time {
		return disturbedTime(waits, rtt, from, until)
	})
}

// HeldShare returns the share of the measured part in which waits can have changed queues. Frames held back arrive at
// once and fill a queue for as long. So waits longer than minLength count, each extended by one rtt, even if they are
// too short to affect a sender.
func (r *Report) HeldShare(hosts *HostsReport, minLength, rtt unit.Time) float64 {
	return r.waitShare(hosts, func(waits []live.SchedulingDelay, from, until unit.Time) unit.Time {
		return changedTime(waits, minLength, rtt, from, until)
	})
}

// waitShare returns the share of the measured part that measure finds in the waits of the data plane and of hosts, in
// event time. hosts may be nil.
func (r *Report) waitShare(hosts *HostsReport,
	measure func(waits []live.SchedulingDelay, from,
		until unit.Time) unit.Time) float64 {
	if r.Measured <= 0 {
		return 0
	}
	waits := slices.Clone(r.Waits)
	others := r.Kernels.Starved
	if hosts != nil {
		others = slices.Concat(others, hosts.Waits)
	}
	for _, w := range others {
		waits = append(waits, live.SchedulingDelay{At: w.At + r.Lead, Length: w.Length})
	}
	return measure(waits, r.From, r.From+r.Measured).Seconds() / r.Measured.Seconds()
}

// WaitedShare returns the share of the measured part in which kernel hosts can have behaved differently, because
// their thread waited for a processor, starved or not. While the thread holds a socket, the kernel keeps arriving
// ACKs and handles them together.
func (r *Report) WaitedShare(rtt unit.Time) float64 {
	if r.Measured <= 0 {
		return 0
	}
	from := r.From - r.Lead
	return disturbedTime(r.Kernels.Waits, rtt, from, from+r.Measured).Seconds() / r.Measured.Seconds()
}
