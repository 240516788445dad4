package lab

import (
	"fmt"
	"slices"
	"strings"

	"weir/core/fabric/observe"
	"weir/core/unit"
)

// Wait is a time for which something was to be done in a process of the lab and nothing happened.
type Wait struct{ At, Length unit.Time }

// Waits of at least this length are kept, so many at most.
const (
	leastWait = 500 * unit.Microsecond
	mostWaits = 1 << 14
)

// waited is told that what was to be done at need is done at now.
func (d *departures) waited(need, now unit.Time) {
	if need >= now {
		return
	}
	length := now - need
	d.stall = max(d.stall, length)
	switch {
	case length < leastWait:
	case len(d.waits) < mostWaits:
		d.waits = append(d.waits, Wait{need, length})
	default: // too many to be told apart
		last := &d.waits[mostWaits-1]
		last.Length = now - last.At
	}
}

// Upset is for how long waits can have changed what hosts did from one time until another: those longer than a quarter
// of the round-trip time rtt, or than observe.MostLateness, each with one round trip after it, until what came of it is
// known. A loss that follows, and how long the sender takes to recover from it, are its controller's own.
func Upset(waits []Wait, rtt, from, until unit.Time) (sum unit.Time) {
	waits = slices.SortedFunc(slices.Values(waits), func(a, b Wait) int { return int(min(max(a.At-b.At, -1), 1)) })
	end := from // of what is counted
	for _, w := range waits {
		if 4*w.Length <= rtt && w.Length <= observe.MostLateness {
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

// MostUpset is the most of a run's measured part that may be upset (Upset) if it is to count as undisturbed: a
// hundredth is what lies beyond a 99th percentile, and moves a goodput by a tenth of what it may differ from the
// simulator's.
const MostUpset = 0.01

// Disturbed says by what the machine disturbed the run, of whose paths the shortest round-trip time without queues is
// rtt; empty if by nothing. hosts are those of Weir's own; nil: there are none. What the hypervisor takes is no
// disturbance by itself: it shows as time for which frames waited.
func (r *Report) Disturbed(hosts *HostsReport, rtt unit.Time) (why []string) {
	lost := r.Gates.RingLost + r.VethLost + r.Counts.SendLost
	if hosts != nil {
		lost += hosts.Gates.RingLost + hosts.Counts.SendLost
	}
	if lost > 0 {
		why = append(why, fmt.Sprintf("%d frames lost in rings", lost))
	}
	late := func(whose string, l *Lateness) {
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
	if share := r.UpsetShare(hosts, rtt); share > MostUpset {
		s := fmt.Sprintf("%.1f %% of the time upset by stalls, the longest %.1f ms", 100*share, 1e3*stall.Seconds())
		var whose []string
		if r.Waited > 0 {
			whose = append(whose, fmt.Sprintf("others here had the processor for %.0f ms", 1e3*r.Waited.Seconds()))
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
// other times than the run's own: one stall longer than a quarter of the round-trip time disturbs whenever it was, and
// so does one frame in a thousand that leaves late.
func (r *Report) DisturbedAtAll(hosts *HostsReport, rtt unit.Time) []string {
	why := r.Disturbed(hosts, rtt)
	stall, late := r.Stall, r.Lateness.P999
	if hosts != nil {
		stall, late = max(stall, hosts.Stall), max(late, hosts.Lateness.P999)
	}
	if len(why) == 0 && (4*stall > rtt || late > observe.MostLateness) {
		why = append(why, fmt.Sprintf("a stall of %.1f ms, and .1 %% of frames that left %.1f ms late or more",
			1e3*stall.Seconds(), 1e3*late.Seconds()))
	}
	return why
}

// UpsetShare is the share of the measured part that waits of the data plane, and of hosts of Weir's own, can have
// changed.
func (r *Report) UpsetShare(hosts *HostsReport, rtt unit.Time) float64 {
	if r.Measured <= 0 {
		return 0
	}
	waits := r.Waits
	if hosts != nil {
		waits = slices.Clone(waits)
		for _, w := range hosts.Waits {
			waits = append(waits, Wait{w.At + r.Lead, w.Length})
		}
	}
	return Upset(waits, rtt, r.From, r.From+r.Measured).Seconds() / r.Measured.Seconds()
}
