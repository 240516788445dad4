package transport

import (
	"fmt"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// warnShortTimer is the kind of warnings of ShortTimer.
var warnShortTimer = scheme.WarningKind{ID: "timeout-below-path",
	Condition: "a timeout of the file, or the one of uet, is below the longest round trip with full buffers of a path on " +
		"which queues can form"}

// Timer describes what a transport does when no answer arrives.
type Timer struct {
	Param string    // parameter that sets Own
	Own   unit.Time // data is sent again after this time at the earliest; unit.Never: no timer
	Adds  unit.Time // by which ends delay answers on top of the path's round trip
	// Probes: the file gives no timeout. Without an answer the transport probes, and sends data again when that proves
	// the loss, or after LossLimit (LossTimer).
	Probes bool
	// Unproven: packets may overtake each other, so that no probe proves a loss. Without a LossLimit Own is the timeout.
	Unproven bool
}

// TimerConfig is the configuration of a transport with a Timer.
type TimerConfig interface {
	// Timer returns the timer of flows on a path.
	Timer(p *cc.Path) Timer
}

// slowestPath returns the path on which a packet and its acknowledgement can take longest, and that time; unit.Never
// if some path has no limit.
func slowestPath(paths []cc.SitePath) (path *cc.SitePath, longest unit.Time) {
	longest = -1
	for i := range paths {
		if t := paths[i].MaxRTT(); t > longest {
			path, longest = &paths[i], t
		}
	}
	return path, longest
}

// ShortTimer warns of a timeout that is shorter than a round trip of some path with full buffers: what only waits is
// sent again then. A path on which no queue forms gives no warning, nor does one with switches that trim: its limit is
// rough.
func ShortTimer(c scheme.Config, s *cc.Site) []scheme.Remark {
	x, timed := c.(TimerConfig)
	if !timed {
		return nil
	}
	for i := range s.Paths {
		p := &s.Paths[i]
		t := x.Timer(&p.Path)
		longest := p.MaxRTT()
		if p.Trims || p.Unqueued || t.Probes || t.Own <= 0 || longest == unit.Never || t.Own >= longest+t.Adds {
			continue
		}
		if slowest, most := slowestPath(s.Paths); most < unit.Never && !slowest.Trims {
			p, t, longest = slowest, x.Timer(&slowest.Path), most
		}
		return []scheme.Remark{warnShortTimer.Remark(t.Param, "the timeout of %v is shorter than %v, the round trip of the "+
			"longest path with full buffers: %v without queues and %v in what its ports hold; what waits for longer is "+
			"sent again", rounded(t.Own), rounded(longest+t.Adds), rounded(p.BaseRTT+t.Adds), rounded(p.Queueing)).
			At(p.Narrow.Port, float64(longest+t.Adds)/float64(t.Own))}
	}
	return nil
}

// TimerReport describes what a transport does when no answer arrives. unit.Never: it does not do that, or there is no
// such limit.
type TimerReport struct {
	Text            string    // in words, with the reason
	ProbeAfter      unit.Time // the shortest time after which it probes
	ResendAfter     unit.Time // the shortest time after which it sends data again without proof of a loss
	BaseRTT, MaxRTT unit.Time // of the longest path, without queues and with full buffers
}

// ReportTimer describes what a transport of this configuration does when no answer arrives on the longest of its
// paths, and why. It returns false if the transport has no Timer.
func ReportTimer(c scheme.Config, paths []cc.SitePath) (r TimerReport, ok bool) {
	x, timed := c.(TimerConfig)
	if !timed || len(paths) == 0 {
		return r, false
	}
	p, longest := slowestPath(paths)
	t := x.Timer(&p.Path)
	r = TimerReport{ProbeAfter: unit.Never, ResendAfter: t.Own, BaseRTT: p.BaseRTT + t.Adds, MaxRTT: longest}
	limit := "a port of the path has no limit, so that packets can wait for any time"
	if longest < unit.Never {
		r.MaxRTT += t.Adds
		limit = fmt.Sprintf("the longest path takes %v without queues and %v with full buffers", rounded(r.BaseRTT),
			rounded(r.MaxRTT))
	}
	const silence = "without an answer, or more if round trips are longer"
	const overtake = "packets may overtake each other, so that no probe proves a loss"
	limited := LossLimit(&p.Path, t.Adds)
	if t.Probes && (limited < unit.Never || !t.Unproven) {
		r.ResendAfter = limited
	}
	if t.Probes && !t.Unproven {
		r.ProbeAfter = min(MinProbeWait, limited)
	}
	switch {
	case t.Probes && t.Unproven && limited < unit.Never:
		r.Text = fmt.Sprintf("data is sent again after %v without an answer: %s; %s", rounded(limited), limit, overtake)
	case t.Probes && t.Unproven:
		r.Text = fmt.Sprintf("data is sent again after %v %s; %s; %s", t.Own, silence, limit, overtake)
	case t.Probes && limited == unit.Never:
		r.Text = fmt.Sprintf("a probe after %v %s; data is sent again when the probe's answer proves the loss; %s",
			MinProbeWait, silence, limit)
	case t.Probes:
		r.Text = fmt.Sprintf("a probe after %v %s; data is sent again when the probe's answer proves the loss, or after "+
			"%v: %s", rounded(r.ProbeAfter), silence, rounded(limited), limit)
	case t.Own == unit.Never:
		r.Text = "no timer sends anything again; " + limit
	default:
		r.Text = fmt.Sprintf("%s %v: data is sent again after this time %s; %s", t.Param, t.Own, silence, limit)
	}
	return r, true
}

// rounded returns a time with three digits, rounded up.
func rounded(t unit.Time) unit.Time {
	step := unit.Time(1)
	for t/step >= 1000 {
		step *= 10
	}
	return (t + step - 1) / step * step
}
