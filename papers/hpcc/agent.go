package hpcc

import (
	"errors"
	"slices"

	"weir/core/cc"
	"weir/core/cc/cubic"
	"weir/core/scheme"
	"weir/core/unit"
)

// agentFollower is the sender of preset Agent: Rx-HPCC as weir agent adds it to Linux' own TCP (worlds/agent), for the
// simulator and for hosts with Weir's stack. The differences from other presets follow from Linux:
//
//   - The receiver does not know the sender's NIC. It begins with Linux' initial window, and the slowest port of the
//     path replaces the NIC (draft-miao §5: W_init is that port's B·T).
//   - It sends W only in ordinary acknowledgements: it neither sends one for that, nor waits less for a second segment.
//     Until it has measured for a T it sends no W.
//   - T is the empty path's round trip plus agentMinT, a time for the bursts that Linux paces. The receiver computes
//     it, since it knows the path's slowest port, and sends it with W (Feedback.Flows). A T that is too long for W/T
//     and the sender's own round trip is shortened.
//   - W counts frames, as switches do. The sender is paced at its payload's part of W/T. At most W, rounded up, is in
//     flight, and at least four segments. A host that sends in bursts (cc.Flow.Bursts) has fewer in flight: the
//     segments of the smoothed round trip plus the empty path's, and four, for delayed acknowledgements and late hosts.
//   - Until it gets a W, the sender runs CUBIC. It resumes CUBIC, from its present window and until the next W, if it
//     gets no W for two round trips, within 5 ms and 100 ms. The receiver sends W while segments with records arrive:
//     one of the last 16, and within 100 ms. The link of the sender's host limits W.
//   - Flows are not counted.
type agentFollower struct {
	window
	flow            cc.Flow
	cubic           *cubic.Cubic // controls without a W
	followsReceiver bool         // follows the receiver's W
	windowAt        unit.Time
	payload         float64 // of a segment, in bytes; frame includes its headers
	frame           float64
	code            int32 // T as the receiver encodes it; 0: not yet

	emptyTrip    unit.Time // the empty path's round trip
	smoothedTrip unit.Time
}

// agentInitial is W before there are records: ten segments of 1,460 bytes (RFC 6928), for any segment size.
const agentInitial = 10 * 1460

// Validity of W (worlds/agent): two round trips within limits and, at the receiver, a number of segments without
// records.
const (
	minHold = 5 * unit.Millisecond
	maxHold = 100 * unit.Millisecond
	maxBare = 16
)

// agentSegments is the minimum number of segments in flight.
const agentSegments = 4

// agentMinRate is the minimum rate of a port in records.
const agentMinRate = unit.Mbps

// The bursts that Linux sends at a pacing rate (tcp_tso_autosize), and the number of them for which T has time beyond
// the empty path's round trip (bpf/law.h). A queue of one burst is then a tenth of B·T at most.
const (
	agentBursts    = 10
	agentBurstTime = unit.Millisecond
	agentMinBurst  = agentSegments * 1514
	agentMaxBurst  = 65536
)

// agentMinT returns the time for bursts in T on a path with this rate of its slowest port: ten bursts, each within
// agentMinBurst and agentMaxBurst bytes, and at most 1 ms as long as the limits allow. If the rate is unknown, 0, a
// burst takes 1 ms.
func agentMinT(slowest unit.Rate) unit.Time {
	burst := agentBurstTime
	if slowest > 0 {
		burst = min(burst, unit.Time(agentMaxBurst*8e12/float64(slowest)))
		burst = max(burst, unit.Time(agentMinBurst*8e12/float64(slowest)))
	}
	return agentBursts * burst
}

// encodeAgentT returns T as a code of one byte, (16 + m)·2^e us with m in the lower and e in the upper four bits,
// rounded up. The minimum is 17 us, since 0 stands for an unknown T. A T above the largest code, about 1.02 s, gets
// that code.
func encodeAgentT(t unit.Time) int32 {
	us, e := (t+unit.Microsecond-1)/unit.Microsecond, int32(0)
	for us > 31 && e < 15 {
		us, e = (us+1)/2, e+1
	}
	if us = min(us, 31); e == 0 {
		us = max(us, 17)
	}
	return e<<4 | int32(us-16)
}

// decodeAgentT returns the T of a code by encodeAgentT.
func decodeAgentT(code int32) unit.Time {
	return unit.Time(16+code&15) << (code >> 4 & 15) * unit.Microsecond
}

// agentT returns T as both ends compute it, from the empty path's round trip and its slowest port.
func agentT(trip unit.Time, slowest unit.Rate) unit.Time {
	return decodeAgentT(encodeAgentT(trip + agentMinT(slowest)))
}

// newAgentReceiver returns the receiver of preset Agent. It fails without records of hops, or if neither c nor f has a
// round trip.
func newAgentReceiver(f cc.Flow, c Config) (*Receiver, error) {
	if f.Loads {
		return nil, errors.New("hpcc: preset agent needs records of hops; the network's format: relative has none")
	}
	f.NICRate = 0
	l, err := newLaw(f, c)
	if err != nil {
		return nil, err
	}
	if l.t == 0 {
		return nil, errNoT
	}
	l.trip = l.t
	l.setBaseRTT(agentT(l.trip, 0))
	l.w = agentInitial
	l.ref.wc = l.w
	return &Receiver{law: l, isAgent: true}, nil
}

// recordArrival records a packet's arrival, and whether it has records of hops, at a receiver of preset Agent.
func (r *Receiver) recordArrival(now unit.Time, d *cc.Data) {
	r.now = now
	if len(d.Hops) > 0 {
		r.recorded, r.unrecorded = now, 0
	} else {
		r.unrecorded++
	}
}

// isSilent reports whether a receiver of preset Agent sends no W: too many segments, or too much time, without records.
func (r *Receiver) isSilent() bool {
	return r.isAgent && (r.unrecorded >= maxBare || r.now-r.recorded >= maxHold)
}

// newAgentFollower returns the sender of preset Agent, which runs CUBIC at first. A T that neither f nor c has is
// unknown, 0.
func newAgentFollower(f cc.Flow, c Config) *agentFollower {
	x := &agentFollower{window: newWindow(f, c.resolved().T, c.MinRate), flow: f, payload: float64(max(f.MSS, 1)),
		cubic: cubic.New(f, cubic.Defaults())}
	x.emptyTrip = x.t
	x.setBaseRTT(agentT(x.emptyTrip, 0))
	x.frame = max(float64(f.Frame), x.payload)
	return x
}

// OnAck adopts the receiver's window, limited to what the host's link sends in T. Without one it runs CUBIC: at the
// start, and again, from its present window, if no W has arrived for two round trips (minHold, maxHold).
func (x *agentFollower) OnAck(now unit.Time, a *cc.Ack) {
	x.una, x.smoothedTrip = a.FirstUnacked, a.RTT.Smoothed
	switch w := a.Feedback.Window; {
	case w > 0:
		x.followsReceiver, x.windowAt = true, now
		x.withTelemetry()
		if code := a.Feedback.Flows; code > 0 {
			x.code = code
		}
		x.setWindow(float64(w))
	case !x.followsReceiver:
		x.cubic.OnAck(now, a)
	case now-x.windowAt > min(max(2*a.RTT.Smoothed, minHold), maxHold):
		f := x.flow
		f.InitialWindow = int(x.segments())
		x.followsReceiver, x.cubic = false, cubic.NewResumed(f, cubic.Defaults())
	default:
		x.withoutTelemetry(a)
	}
}

// setWindow sets the window to w bytes in the receiver's T, and T to it. A T that is too long for the rate w/T and this
// end's round trip is shortened at the same rate, so that a dishonest receiver cannot have more in flight than an
// honest one.
func (x *agentFollower) setWindow(w float64) {
	t := agentT(x.emptyTrip, 0)
	if x.code > 0 {
		t = decodeAgentT(x.code)
	}
	if x.rate > 0 {
		w = min(w, float64(x.rate)*float64(t)/8e12)
	}
	bound := agentT(x.emptyTrip, max(unit.Rate(w*8e12/float64(t)), agentMinRate))
	if t > bound {
		w, t = w*float64(bound)/float64(t), bound
	}
	if t != x.t {
		x.setBaseRTT(t)
	}
	x.w = x.clamp(w)
}

// OnSend forwards to CUBIC while it controls.
func (x *agentFollower) OnSend(now unit.Time, s cc.Sent) {
	if !x.followsReceiver {
		x.cubic.OnSend(now, s)
	}
}

// OnLoss forwards to CUBIC while it controls; otherwise it handles timeouts.
func (x *agentFollower) OnLoss(now unit.Time, l cc.Loss) {
	if x.followsReceiver {
		x.onLoss(l)
	} else {
		x.cubic.OnLoss(now, l)
	}
}

// segments returns the number of segments that may be in flight: W, and at least agentSegments. If the host sends in
// bursts, the maximum is the segments sent at W/T in the smoothed round trip plus the empty path's, and agentSegments:
// more would lengthen bursts. After a timeout it is the restarted window, and at least 1.
func (x *agentFollower) segments() int64 {
	if x.timedOut { // RFC 5681 §3.1
		return max(x.frames(min(x.w, x.restart)), 1)
	}
	part := 1.0
	if trips := x.smoothedTrip + x.emptyTrip; x.flow.Bursts && trips < x.t {
		part = float64(trips) / float64(x.t)
	}
	return max(min(x.frames(x.w*part)+agentSegments, x.frames(x.w)), agentSegments)
}

// frames returns the number of frames for w bytes, rounded up.
func (x *agentFollower) frames(w float64) int64 {
	n := int64(w / x.frame)
	if float64(float64(n)*x.frame) < w {
		n++
	}
	return n
}

// Decision returns W in whole segments and the payload's part of W/T; or CUBIC's decision.
func (x *agentFollower) Decision() cc.Decision {
	if !x.followsReceiver {
		return x.cubic.Decision()
	}
	d := cc.Decision{Window: unit.Bytes(x.segments()) * unit.Bytes(x.payload), NextTimer: unit.Never}
	if x.perTime > 0 {
		d.Rate = max(unit.Rate(x.w*8e12/float64(x.t)*x.payload/x.frame), 1)
	}
	return d
}

// Check refuses preset Agent without the records that it needs, warns of it without telemetry, and warns as Config's
// Check does.
func (c *RxConfig) Check(s *cc.FlowContext) (all []scheme.Remark) {
	if c.Preset == Agent && s.Telemetry.IsRelative() {
		all = append(all, scheme.Remark{Param: "preset", Refused: true, Text: "agent takes the rate of the path's slowest " +
			"port from records, which telemetry in format: relative does not carry; another format or another preset does"})
	}
	if p := s.FindPath(func(p *cc.FlowPath) bool { return p.WhyUnrecorded != "" }); c.Preset == Agent && p != nil {
		all = append(all, warnAgentSilent.NewRemark("preset", "without telemetry, agent behaves as CUBIC: %s (%s)",
			p.WhyUnrecorded,
			p.Name).WithPort(p.NarrowLink.Port, 0))
	}
	if c.Preset == Agent {
		all = append(all, c.checkOpposed(s, 5)...)
		all = append(all, c.checkMoves(s)...)
	}
	return slices.Concat(all, c.checkWindows(s), c.checkLoads(s, s.Telemetry.IsRelative(), minLoadTimeRx),
		checkUnevenLoads(s, s.Telemetry.IsRelative()), c.checkUnevenIncreases(s))
}

// checkMoves warns of preset Agent if a flow changes its path more often than the sender's T, and if its paths have
// different rates: W is limited by B·T of the slowest port of the latest new path (law.newRecords).
func (c *RxConfig) checkMoves(s *cc.FlowContext) (all []scheme.Remark) {
	if !s.Sprayed && !s.Flowlets {
		return nil
	}
	if x := &s.SlowestFlowPath; x.Part > 0 {
		all = append(all, warnAgentMoves.NewRemark("preset", "packets of a flow take paths of different rates, and agent "+
			"limits its window by the slowest port of the path that was added last: with %v of %s, %.0f %% of the rate of "+
			"another, a flow gets no more than that on all paths; ecmp keeps a flow on its path", x.Rate, x.Port, 100*x.Part).
			WithPort(x.Port, 1/x.Part))
	}
	p := s.FindPath(func(p *cc.FlowPath) bool {
		return p.NarrowLink.Rate > 0 && p.BaseRTT > 0 && agentT(p.BaseRTT, p.NarrowLink.Rate) > maxTrips*p.BaseRTT
	})
	if p == nil {
		return all
	}
	t := agentT(p.BaseRTT, p.NarrowLink.Rate)
	return append(all, warnAgentMoves.NewRemark("preset",
		"T of agent, which includes ten bursts of Linux, is %v, %.0f round trips of %s, and packets of a flow take several "+
			"paths: its window follows paths that it no longer uses, so queues fill and links are idle; ecmp keeps a flow on "+
			"its path", t, float64(t)/float64(p.BaseRTT), p.Name).
		WithPort(p.NarrowLink.Port, float64(t)/float64(p.BaseRTT)))
}

// agent returns the settings of weir agent for the preset Agent, and refuses another preset and parameters that weir
// agent does not support (cc.Traits).
func (c *RxConfig) agent() (cc.AgentParams, []scheme.Remark) {
	refuse := func(param, format string, args ...any) []scheme.Remark {
		return []scheme.Remark{scheme.NewRefusal(param, format, args...)}
	}
	if c.Preset != Agent {
		return cc.AgentParams{}, refuse("preset",
			"the TCP of Linux supports preset: agent only; stack: weir supports the other presets")
	}
	var all []scheme.Remark
	r := c.resolved()
	if c.MinRate > 0 {
		all = append(all, refuse("min_rate",
			"the TCP of Linux has no minimum rate; it keeps at least four segments in flight")...)
	}
	if r.Eta < 0.01 {
		all = append(all, refuse("eta", "the TCP of Linux supports 1%% to 100%%")...)
	}
	if r.N > 1<<16 || r.MaxStage > 1<<20 || r.T > unit.Second {
		all = append(all, refuse("n, max_stage, t",
			"the TCP of Linux supports at most n: 65536, max_stage: 1048576 and t: 1s")...)
	}
	return cc.AgentParams{Eta: r.Eta, MaxStage: r.MaxStage, Flows: r.N, T: r.T}, all
}
