package transport

import (
	"fmt"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// warnShortTimer is the kind of warnings of ShortTimer.
var warnShortTimer = scheme.WarningKind{ID: "timeout-below-path",
	Condition: "a timeout of the file or of uet is below the longest round trip of a path with full buffers " +
		"at the ports at which data can queue, or it is fixed and data can queue at a port without a limit"}

// Timer describes what a transport does when no answer arrives.
type Timer struct {
	Param      string    // parameter that sets Timeout
	Timeout    unit.Time // data is resent after this time at the earliest; unit.Never: no timer
	ReplyDelay unit.Time // time by which ends delay answers, on top of the path's round trip
	// Probes: the file gives no timeout. Without an answer the transport probes, and resends data when that proves the
	// loss, or after LossLimit (LossTimer).
	Probes bool
	// Unproven: packets may overtake each other, so that no probe proves a loss. Without a LossLimit Timeout is the
	// timeout.
	Unproven bool
	Fixed    bool // the timeout does not grow with measured round trips
}

// slowestPath returns the path on which a packet and its acknowledgement can take longest, and that time; unit.Never if
// some path has no limit. Without paths it returns nil and −1.
func slowestPath(paths []cc.FlowPath) (path *cc.FlowPath, longest unit.Time) {
	longest = -1
	for i := range paths {
		if t := paths[i].MaxRTT(); t > longest {
			path, longest = &paths[i], t
		}
	}
	return path, longest
}

// ShortTimer warns of a timeout that is shorter than a round trip of its path with full buffers at the ports at which
// data can queue: packets that only wait are resent then. The warning names the path on which the timeout is too short
// by the largest factor. Paths with switches that trim give no warning: their limit is a rough one. If no path has such
// a timeout, it warns of a fixed timeout on a path with a port without a limit. A nil timer gives no warning.
func ShortTimer(timer func(p *cc.Path) Timer, s *cc.FlowContext) []scheme.Remark {
	if timer == nil {
		return nil
	}
	var p *cc.FlowPath
	var t Timer
	excess := 1.0
	for i := range s.Paths {
		path := &s.Paths[i]
		timeout, longest := timer(&path.Path), path.DataMaxRTT()
		if path.Trims || timeout.Probes || timeout.Timeout <= 0 || longest == unit.Never {
			continue
		}
		if by := float64(longest+timeout.ReplyDelay) / float64(timeout.Timeout); by > excess {
			p, t, excess = path, timeout, by
		}
	}
	if p == nil {
		return unlimitedTimer(timer, s)
	}
	return []scheme.Remark{warnShortTimer.NewRemark(t.Param, "the timeout of %v is shorter than %v, the round trip of %s "+
		"with full buffers (%v without queues and %v in the buffers of its ports); packets that wait longer are sent again",
		roundUpTime(t.Timeout), roundUpTime(p.DataMaxRTT()+t.ReplyDelay), p.Name, roundUpTime(p.BaseRTT+t.ReplyDelay),
		roundUpTime(p.DataQueueing)).
		WithPort(p.NarrowLink.Port, excess)}
}

// unlimitedTimer warns of a fixed timeout on a path where data can queue at a port without a limit. A timeout that
// grows with measured round trips follows such a queue.
func unlimitedTimer(timer func(p *cc.Path) Timer, s *cc.FlowContext) []scheme.Remark {
	for i := range s.Paths {
		p := &s.Paths[i]
		t := timer(&p.Path)
		if t.Fixed && t.Timeout > 0 && t.Timeout < unit.Never && p.Unlimited != "" && !p.Trims {
			return []scheme.Remark{warnShortTimer.NewRemark(t.Param, "the timeout is %v, but port %s has no limit, and the "+
				"round trip of %s without queues is %v; packets that wait longer are sent "+
				"again", roundUpTime(t.Timeout), p.Unlimited, p.Name,
				roundUpTime(p.BaseRTT+t.ReplyDelay)).WithPort(p.Unlimited, 0)}
		}
	}
	return nil
}

// TimerReport describes what a transport does when no answer arrives. A time of unit.Never means that it does not do
// so, or that the path has no limit.
type TimerReport struct {
	Text            string    // in words, with the reason
	ProbeAfter      unit.Time // the shortest time after which it probes
	ResendAfter     unit.Time // the shortest time after which it sends data again without proof of a loss
	BaseRTT, MaxRTT unit.Time // of the longest path, without queues and with full buffers
}

// findWaits returns the times without an answer after which a transport with this timer probes and resends data on path
// p; unit.Never: it does not.
func (t *Timer) findWaits(p *cc.Path) (probe, resend unit.Time) {
	if !t.Probes {
		return unit.Never, t.Timeout
	}
	limit := LossLimit(p, t.ReplyDelay)
	switch {
	case t.Unproven && limit == unit.Never:
		return unit.Never, t.Timeout
	case t.Unproven || limit <= MinProbeWait: // data is resent before a probe goes
		return unit.Never, limit
	}
	return MinProbeWait, limit
}

// formatSpan describes the times of several paths by the shortest and the longest.
func formatSpan(shortest, longest unit.Time) string {
	if roundUpTime(shortest) == roundUpTime(longest) {
		return roundUpTime(shortest).String()
	}
	return fmt.Sprintf("%v to %v (by path)", roundUpTime(shortest), roundUpTime(longest))
}

// ReportTimer describes what a transport with this Traits.Timer does when no answer arrives on these paths, and why. It
// returns false if the timer is nil, or there are no paths.
func ReportTimer(timer func(p *cc.Path) Timer, paths []cc.FlowPath) (r TimerReport, ok bool) {
	if timer == nil || len(paths) == 0 {
		return r, false
	}
	p, longest := slowestPath(paths)
	t := timer(&p.Path)
	r = TimerReport{ProbeAfter: unit.Never, ResendAfter: unit.Never, BaseRTT: p.BaseRTT + t.ReplyDelay, MaxRTT: longest}
	limit := "a port of the path has no limit, so that packets can wait for any time"
	if longest < unit.Never {
		r.MaxRTT += t.ReplyDelay
		limit = fmt.Sprintf("the longest path takes %v without queues and %v with full buffers", roundUpTime(r.BaseRTT),
			roundUpTime(r.MaxRTT))
	}
	latest, unlimited := unit.Time(0), false // of data that is resent without proof
	for i := range paths {
		timeout := timer(&paths[i].Path)
		probe, resend := timeout.findWaits(&paths[i].Path)
		r.ProbeAfter, r.ResendAfter = min(r.ProbeAfter, probe), min(r.ResendAfter, resend)
		if unlimited = unlimited || resend == unit.Never; resend < unit.Never {
			latest = max(latest, resend)
		}
	}
	const grows = "without an answer, or more if round trips are longer"
	const overtake = "packets may overtake each other, so that no probe proves a loss"
	after := ""
	if r.ResendAfter < unit.Never {
		after = formatSpan(r.ResendAfter, latest)
	}
	proves := fmt.Sprintf("a probe after %v %s; data is sent again when the probe's answer proves the loss", MinProbeWait,
		grows)
	switch {
	case t.Probes && t.Unproven && longest == unit.Never:
		r.Text = fmt.Sprintf("data is sent again after %s %s; %s; %s", after, grows, limit, overtake)
	case t.Probes && t.Unproven:
		r.Text = fmt.Sprintf("data is sent again after %s without an answer: %s; %s", after, limit, overtake)
	case t.Probes && r.ProbeAfter == unit.Never:
		r.Text = fmt.Sprintf("data is sent again after %s without an answer: %s", after, limit)
	case t.Probes && after == "":
		r.Text = proves + "; " + limit
	case t.Probes && unlimited:
		r.Text = fmt.Sprintf("%s, or after %s where all ports of the path have limits; %s", proves, after, limit)
	case t.Probes:
		r.Text = fmt.Sprintf("%s, or after %s: %s", proves, after, limit)
	case r.ResendAfter == unit.Never:
		r.Text = "no timer sends anything again; " + limit
	case t.Fixed:
		r.Text = fmt.Sprintf("%s %s: data is sent again after this time without an answer; %s", t.Param, after, limit)
	default:
		r.Text = fmt.Sprintf("%s %s: data is sent again after this time %s; %s", t.Param, after, grows, limit)
	}
	return r, true
}

// roundUpTime returns a time with three significant digits, rounded up.
func roundUpTime(t unit.Time) unit.Time {
	step := unit.Time(1)
	for t/step >= 1000 {
		step *= 10
	}
	return (t + step - 1) / step * step
}
