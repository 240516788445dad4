package transport

import (
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/unit"
)

// pathTimer is a timer that depends on the path.
type pathTimer func(p *cc.Path) Timer

func own(timeout unit.Time, fixed bool) pathTimer {
	return func(*cc.Path) Timer { return Timer{Param: "rto_min", Timeout: timeout, Fixed: fixed} }
}

// sixTrips is a fixed timeout of six round trips.
func sixTrips(p *cc.Path) Timer {
	return Timer{Param: "rto_base", Timeout: 6*p.BaseRTT + 7, Fixed: true}
}

func probing(*cc.Path) Timer { return Timer{Probes: true, Timeout: unit.Never} }

// waiting is a path with a round trip without queues and what full buffers add, in microseconds.
func waiting(name string, trip, queueing unit.Time) (p cc.FlowPath) {
	p.Name, p.BaseRTT = name, trip*unit.Microsecond
	if p.MaxQueueing = unit.Never; queueing > 0 {
		p.MaxQueueing = queueing * unit.Microsecond
	}
	p.DataQueueing = p.MaxQueueing
	return p
}

// TestShortTimer checks that of several paths the warning names the one on which the timeout is too short by the
// largest factor, with the timeout and the round trip of that path.
func TestShortTimer(t *testing.T) {
	near, far, endless := waiting("near", 10, 800), waiting("far", 20000, 800), waiting("endless", 10, 0)
	endless.Unlimited = "s->b"
	for _, x := range []struct {
		timer pathTimer
		paths []cc.FlowPath
		want  string // the warning has it; "": there is none
	}{
		{sixTrips, []cc.FlowPath{near, far}, "the timeout of 60.1us is shorter than 810us, the round trip of near"},
		{sixTrips, []cc.FlowPath{far, near}, "the timeout of 60.1us is shorter than 810us, the round trip of near"},
		{sixTrips, []cc.FlowPath{far}, ""},
		{own(500*unit.Microsecond, true), []cc.FlowPath{near, far}, "500us is shorter than 20.8ms, the round trip of far"},
		{own(30*unit.Millisecond, true), []cc.FlowPath{near, far}, ""},
		{own(unit.Millisecond, true), []cc.FlowPath{endless}, "the timeout is 1ms, but port s->b has no limit, and the " +
			"round trip of endless without queues is 10us"},
		{own(unit.Millisecond, false), []cc.FlowPath{endless}, ""},
		{own(unit.Never, true), []cc.FlowPath{endless}, ""},
	} {
		all := ShortTimer(x.timer, &cc.FlowContext{Paths: x.paths})
		if (len(all) > 0) != (x.want != "") || len(all) > 0 && !strings.Contains(all[0].Text, x.want) {
			t.Errorf("%v, want %q", all, x.want)
		}
	}
}

// TestReportTimer checks that the report has the shortest times of all paths. Its text does not claim that a fixed
// timeout grows, or that a probe goes where data is sent again before.
func TestReportTimer(t *testing.T) {
	near, far, endless := waiting("near", 10, 800), waiting("far", 20000, 800), waiting("endless", 10, 0)
	short := waiting("short", 10, 70)
	for _, x := range []struct {
		timer         pathTimer
		paths         []cc.FlowPath
		probe, resend unit.Time
		want          string // the text begins with it
	}{
		{sixTrips, []cc.FlowPath{near, far}, unit.Never, 60*unit.Microsecond + 7,
			"rto_base 60.1us to 121ms (by path): data is sent again after this time without an answer; "},
		{sixTrips, []cc.FlowPath{near}, unit.Never, 60*unit.Microsecond + 7,
			"rto_base 60.1us: data is sent again after this time without an answer; "},
		{own(unit.Millisecond, false), []cc.FlowPath{near}, unit.Never, unit.Millisecond,
			"rto_min 1ms: data is sent again after this time without an answer, or more if round trips are longer; "},
		{probing, []cc.FlowPath{short}, unit.Never, 100 * unit.Microsecond,
			"data is sent again after 100us without an answer: the longest path takes 10us without queues and 80us with"},
		{probing, []cc.FlowPath{short, near}, MinProbeWait, 100 * unit.Microsecond,
			"a probe after 320us without an answer, or more if round trips are longer; data is sent again when the probe's " +
				"answer proves the loss, or after 100us to 1.02ms (by path): the longest path takes"},
		{probing, []cc.FlowPath{endless}, MinProbeWait, unit.Never, "a probe after 320us without an answer, or more if " +
			"round trips are longer; data is sent again when the probe's answer proves the loss; a port of the path has"},
		{probing, []cc.FlowPath{endless, short}, MinProbeWait, 100 * unit.Microsecond, "a probe after 320us without an " +
			"answer, or more if round trips are longer; data is sent again when the probe's answer proves the loss, or " +
			"after 100us where all ports of the path have limits; a port of the path has"},
		{own(unit.Never, false), []cc.FlowPath{near}, unit.Never, unit.Never, "no timer sends anything again; "},
	} {
		r, ok := ReportTimer(x.timer, x.paths)
		if !ok || r.ProbeAfter != x.probe || r.ResendAfter != x.resend || !strings.HasPrefix(r.Text, x.want) {
			t.Errorf("%v %v, want %v %v:\n%s\n%s", r.ProbeAfter, r.ResendAfter, x.probe, x.resend, r.Text, x.want)
		}
	}
}
