package lab

import (
	"fmt"
	"slices"
	"strings"

	"weir/core/fabric/observe"
	"weir/core/unit"
	"weir/worlds/live"
)

// Waiting is how the thread that sends and receives for hosts of the kernel waited for a processor that others had, the
// data plane's thread among them.
type Waiting struct {
	Waits   []live.SchedulingDelay // that were not short, in the experiment's time
	Starved []live.SchedulingDelay // of them, those after which a sender had nothing to send, or a receiver no room
	Sum     unit.Time              // of all, short ones too
}

// Add records that the thread has waited for a length of time until now, and whether a host starved.
func (w *Waiting) Add(now, length unit.Time, starved bool) {
	if length < live.MinWait || len(w.Waits) == live.MaxWaits {
		return
	}
	w.Waits = append(w.Waits, live.SchedulingDelay{At: now - length, Length: length})
	if starved {
		w.Starved = append(w.Starved, live.SchedulingDelay{At: now - length, Length: length})
	}
}

// longest returns the length of the longest wait.
func longest(waits []live.SchedulingDelay) (l unit.Time) {
	for _, w := range waits {
		l = max(l, w.Length)
	}
	return l
}

// disturbedTime returns for how long waits can have changed what hosts did from one time until another: waits longer
// than a quarter of the round-trip time rtt, or than observe.MostLateness, each with one round trip after it, until the
// hosts know the outcome. A loss that follows, and how long the sender takes to recover from it, are its controller's
// own.
func disturbedTime(waits []live.SchedulingDelay, rtt, from, until unit.Time) unit.Time {
	return changedTime(waits, min(rtt/4, observe.MostLateness), rtt, from, until)
}

// changedTime returns for how long waits longer than least, each with one round trip after it, take part of a time.
func changedTime(waits []live.SchedulingDelay, least, rtt, from, until unit.Time) (sum unit.Time) {
	waits = slices.SortedFunc(slices.Values(waits), func(a, b live.SchedulingDelay) int {
		return int(min(max(a.At-b.At, -1), 1))
	})
	end := from // of what is counted
	for _, w := range waits {
		if w.Length <= least {
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

// maxDisturbed is the largest share of a run's measured part that may be disturbed (disturbedTime) if the run is to
// count as undisturbed: a hundredth is what lies beyond a 99th percentile, and moves a goodput by a tenth of the
// difference to the simulator's that is allowed.
const maxDisturbed = 0.01

// Disturbed returns by what the machine disturbed the run; empty if it did not. rtt is the shortest round-trip time of
// a path without queues. hosts are those of Weir's own; nil: there are none. What the hypervisor takes is no
// disturbance by itself: it shows as time for which frames waited.
func (r *Report) Disturbed(hosts *HostsReport, rtt unit.Time) (why []string) {
	lost := r.Gates.RingLost + r.VethLost + r.Counts.SendLost
	if hosts != nil {
		lost += hosts.Gates.RingLost + hosts.Counts.SendLost
	}
	if lost > 0 {
		why = append(why, fmt.Sprintf("%d frames lost in rings", lost))
	}
	late := func(whose string, l *live.Lateness) {
		if l.P99 > observe.MostLateness {
			why = append(why, fmt.Sprintf("1 %% of %sframes left %.1f ms late or more", whose, 1e3*l.P99.Seconds()))
		}
	}
	late("", &r.Lateness)
	stall := r.Stall
	if hosts != nil {
		late("hosts' ", &hosts.Lateness)
		stall = max(stall, hosts.Stall)
	}
	stall = max(stall, longest(r.Kernels.Starved))
	if share := r.DisturbedShare(hosts, rtt); share > maxDisturbed {
		s := fmt.Sprintf("%.1f %% of the time upset by stalls, the longest %.1f ms", 100*share, 1e3*stall.Seconds())
		var whose []string
		if r.Waited > 0 {
			whose = append(whose, fmt.Sprintf("others here had the processor for %.0f ms", 1e3*r.Waited.Seconds()))
		}
		if sum := r.Kernels.Sum; len(r.Kernels.Starved) > 0 {
			whose = append(whose, fmt.Sprintf("hosts waited for a processor for %.0f ms, and starved %d times",
				1e3*sum.Seconds(), len(r.Kernels.Starved)))
		}
		if r.Steal > 0 {
			whose = append(whose, fmt.Sprintf("the hypervisor took %.1f %% of all cores", 100*r.Steal))
		}
		if len(whose) > 0 {
			s += " (" + strings.Join(whose, ", ") + ")"
		}
		why = append(why, s)
	}
	if r.Steps > 0 {
		why = append(why, fmt.Sprintf("the clock was set %d times", r.Steps))
	}
	return why
}

// DisturbedAtAll is Disturbed for bounds that are tighter than those of an agreement, and for what was measured at
// other times than the run's own: one stall longer than a quarter of the round-trip time disturbs whenever it was, a
// wait of hosts after which none starved, too, and so does one frame in a thousand that leaves late.
func (r *Report) DisturbedAtAll(hosts *HostsReport, rtt unit.Time) []string {
	why := r.Disturbed(hosts, rtt)
	stall, late := max(r.Stall, longest(r.Kernels.Waits)), r.Lateness.P999
	if hosts != nil {
		stall, late = max(stall, hosts.Stall), max(late, hosts.Lateness.P999)
	}
	if len(why) == 0 && (4*stall > rtt || late > observe.MostLateness) {
		why = append(why, fmt.Sprintf("a stall of %.1f ms, and .1 %% of frames that left %.1f ms late or more",
			1e3*stall.Seconds(), 1e3*late.Seconds()))
	}
	return why
}

// DisturbedShare returns the share of the measured part that waits of the data plane, and of hosts, can have changed.
func (r *Report) DisturbedShare(hosts *HostsReport, rtt unit.Time) float64 {
	return r.share(hosts, func(waits []live.SchedulingDelay, from, until unit.Time) unit.Time {
		return disturbedTime(waits, rtt, from, until)
	})
}

// HeldShare returns the share of the measured part that waits can have changed in queues. What is held back for a while
// comes at once, and stands in a queue as long: so waits longer than a queue may differ count, though they are of no
// length to a sender, with a round trip after each.
func (r *Report) HeldShare(hosts *HostsReport, differ, rtt unit.Time) float64 {
	return r.share(hosts, func(waits []live.SchedulingDelay, from, until unit.Time) unit.Time {
		return changedTime(waits, differ, rtt, from, until)
	})
}

// share returns the share of the measured part that waits of the data plane and of hosts take.
func (r *Report) share(hosts *HostsReport, of func(waits []live.SchedulingDelay, from,
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
	return of(waits, r.From, r.From+r.Measured).Seconds() / r.Measured.Seconds()
}

// WaitedShare returns the share of the measured part in which hosts of the kernel can have done something else, since
// the thread that sends and receives for them waited for a processor, starved or not: while it has a socket, the kernel
// keeps ACKs that come, and answers them together.
func (r *Report) WaitedShare(rtt unit.Time) float64 {
	if r.Measured <= 0 {
		return 0
	}
	from := r.From - r.Lead
	return disturbedTime(r.Kernels.Waits, rtt, from, from+r.Measured).Seconds() / r.Measured.Seconds()
}
