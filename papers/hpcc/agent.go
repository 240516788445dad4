package hpcc

import (
	"errors"
	"slices"

	"weir/core/cc"
	"weir/core/cc/cubic"
	"weir/core/scheme"
	"weir/core/unit"
)

// agentFollower is the sender of preset Agent: Rx-HPCC as weir agent has Linux' own TCP do it (worlds/agent), for the
// simulator and for hosts of Weir's own. What is different from the other presets is Linux's:
//
//   - The receiver knows nothing of the sender's NIC. It begins with Linux' initial window, and the slowest port of
//     the path takes the place of the NIC (§5: W_init is that port's B·T).
//   - It tells W in ordinary acknowledgements only: neither does it send one for that, nor does it wait less for a
//     second segment. Until it has measured for a T it tells nothing.
//   - T is the empty path's round trip and agentMinT, a time for the bursts that Linux paces. The receiver computes it,
//     since it knows the path's slowest port, and notifies the sender of it next to W (Feedback.Flows). A T that is too
//     long for W/T and the sender's own round trip is shortened.
//   - W counts frames, as switches do. The sender is paced at W/T: its payload is its part of that. At most W, rounded
//     up, is in flight, at least four segments. A host that sends in bursts (cc.Flow.Bursts) has fewer in flight: as
//     many as are sent in the smoothed round trip and the empty path's, and four, for delayed acknowledgements and late
//     hosts.
//   - Until it is told a W, the sender is CUBIC's. So it is again if it is told nothing for two round trips, 5 ms at
//     the least and 100 ms at most, from the window that it has, until the next W. The receiver tells W as long as
//     segments with records come: one of the last 16, and within 100 ms. The link of the sender's own host bounds W.
//   - Nobody counts flows.
type agentFollower struct {
	window
	flow    cc.Flow
	cubic   *cubic.Cubic // controls while no W does
	obeys   bool         // the window is W
	toldAt  unit.Time
	payload float64 // of a segment, and the frame with it
	frame   float64
	code    int32 // T as the receiver encodes it; 0: not yet

	emptyTrip    unit.Time // the empty path's round trip
	smoothedTrip unit.Time
}

// agentInitial is W before there are records: ten segments of 1,460 bytes (RFC 6928), whatever they carry.
const agentInitial = 10 * 1460

// For how long W holds (worlds/agent): for two round trips within bounds, and at the receiver for so many segments
// without records.
const (
	leastHold = 5 * unit.Millisecond
	mostHold  = 100 * unit.Millisecond
	mostBare  = 16
)

// agentSegments is the minimum of segments in flight.
const agentSegments = 4

// agentMinRate is the least rate of a port that records can have.
const agentMinRate = unit.Mbps

// What Linux sends in one piece at a pacing rate (tcp_tso_autosize), and how many such pieces T has room for beyond the
// empty path's round trip (bpf/law.h). A queue of one piece is then a tenth of B·T at most.
const (
	agentBursts    = 10
	agentBurstTime = unit.Millisecond
	agentMinBurst  = agentSegments * 1514
	agentMaxBurst  = 65536
)

// agentMinT returns the minimum of T for a path with this rate of its slowest port; 0: the rate is unknown.
func agentMinT(slowest unit.Rate) unit.Time {
	burst := agentBurstTime
	if slowest > 0 {
		burst = min(burst, unit.Time(agentMaxBurst*8e12/float64(slowest)))
		burst = max(burst, unit.Time(agentMinBurst*8e12/float64(slowest)))
	}
	return agentBursts * burst
}

// encodeAgentT rounds T up to what the option holds: (16 + m)·2^e us, where e is in the upper four bits. The
// minimum is 17 us, since 0 stands for an unknown T.
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

func decodeAgentT(code int32) unit.Time {
	return unit.Time(16+code&15) << (code >> 4 & 15) * unit.Microsecond
}

// agentT returns T as both ends have it.
func agentT(trip unit.Time, slowest unit.Rate) unit.Time {
	return decodeAgentT(encodeAgentT(trip + agentMinT(slowest)))
}

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
	return &Receiver{law: l, plain: true}, nil
}

// came notes whether a packet has records, at a receiver of preset Agent.
func (r *Receiver) came(now unit.Time, d *cc.Data) {
	r.now = now
	if len(d.Hops) > 0 {
		r.recorded, r.bare = now, 0
	} else {
		r.bare++
	}
}

// silent reports whether a receiver of preset Agent tells nothing, as it has not measured or has no records any more.
func (r *Receiver) silent() bool {
	return r.plain && (r.bare >= mostBare || r.now-r.recorded >= mostHold)
}

func newAgentFollower(f cc.Flow, c Config) *agentFollower {
	x := &agentFollower{window: newWindow(f, c.resolved().T, c.MinRate), flow: f, payload: float64(max(f.MSS, 1)),
		cubic: cubic.New(f, cubic.Defaults())}
	x.emptyTrip = x.t
	x.setBaseRTT(agentT(x.emptyTrip, 0))
	x.frame = max(float64(f.Frame), x.payload)
	return x
}

// OnAck takes the receiver's window, bounded by what the host's link carries in T.
func (x *agentFollower) OnAck(now unit.Time, a *cc.Ack) {
	x.una, x.smoothedTrip = a.Una, a.RTT.Smoothed
	switch w := a.Feedback.Window; {
	case w > 0:
		x.obeys, x.toldAt = true, now
		x.withTelemetry()
		if code := a.Feedback.Flows; code > 0 {
			x.code = code
		}
		x.set(float64(w))
	case !x.obeys:
		x.cubic.OnAck(now, a)
	case now-x.toldAt > min(max(2*a.RTT.Smoothed, leastHold), mostHold):
		f := x.flow
		f.InitialWindow = int(x.segments())
		x.obeys, x.cubic = false, cubic.Resumed(f, cubic.Defaults())
	default:
		x.withoutTelemetry(a)
	}
}

// set sets the window to w bytes in the receiver's T. A T that is too long for the rate w/T and this end's round trip
// is shortened at the same rate, so that a receiver cannot have more in flight than an honest one.
func (x *agentFollower) set(w float64) {
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

// OnSend is CUBIC's.
func (x *agentFollower) OnSend(now unit.Time, s cc.Sent) {
	if !x.obeys {
		x.cubic.OnSend(now, s)
	}
}

// OnLoss is CUBIC's, or the timeout's.
func (x *agentFollower) OnLoss(now unit.Time, l cc.Loss) {
	if x.obeys {
		x.onLoss(l)
	} else {
		x.cubic.OnLoss(now, l)
	}
}

// segments returns the count of segments that may be in flight: W. If the host sends in bursts, at most as many as are
// sent at W/T in the smoothed round trip and the empty path's, and agentSegments: with more the bursts are longer.
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

// frames returns how many frames w bytes fill, rounded up.
func (x *agentFollower) frames(w float64) int64 {
	n := int64(w / x.frame)
	if float64(float64(n)*x.frame) < w {
		n++
	}
	return n
}

// Decision is W in segments and W/T, of which the payload's part counts; or CUBIC's.
func (x *agentFollower) Decision() cc.Decision {
	if !x.obeys {
		return x.cubic.Decision()
	}
	d := cc.Decision{Window: unit.Bytes(x.segments()) * unit.Bytes(x.payload), NextTimer: unit.Never}
	if x.perTime > 0 {
		d.Rate = max(unit.Rate(x.w*8e12/float64(x.t)*x.payload/x.frame), 1)
	}
	return d
}

// Check refuses preset Agent without the records that it needs, warns of it without telemetry, and warns as Config
// does.
func (c *RxConfig) Check(s *cc.FlowContext) (all []scheme.Remark) {
	if c.Preset == Agent && s.Telemetry.Relative() {
		all = append(all, scheme.Remark{Param: "preset", Refused: true, Text: "agent takes the rate of the path's slowest " +
			"port from records, which telemetry in format: relative does not carry; another format or another preset does"})
	}
	if p := s.Find(func(p *cc.FlowPath) bool { return p.Unrecorded != "" }); c.Preset == Agent && p != nil {
		all = append(all, warnAgentSilent.Remark("preset", "without telemetry, agent is CUBIC's: %s (%s)", p.Unrecorded,
			p.Name).At(p.Narrow.Port, 0))
	}
	if c.Preset == Agent {
		all = append(all, c.opposed(s, 5)...)
		all = append(all, c.moves(s)...)
	}
	return slices.Concat(all, c.windows(s), c.loads(s, s.Telemetry.Relative(), minLoadTimeRx),
		unevenLoads(s, s.Telemetry.Relative()), c.unevenIncreases(s))
}

// moves warns of preset Agent where a flow changes its path more often than the sender's T, and where its paths have
// different rates: W is bounded by B·T of the slowest port of the path that was new last (law.newRecords).
func (c *RxConfig) moves(s *cc.FlowContext) (all []scheme.Remark) {
	if !s.Sprayed && !s.Flowlets {
		return nil
	}
	if x := &s.SlowWhole; x.Part > 0 {
		all = append(all, warnAgentMoves.Remark("preset", "packets of a flow take paths of different rates, and agent "+
			"bounds its window by the slowest port of the path that was new last: with %v of %s, %.0f %% of another's rate, a "+
			"flow stays at no more than that on all; ecmp keeps a flow on its path", x.Rate, x.Port, 100*x.Part).
			At(x.Port, 1/x.Part))
	}
	p := s.Find(func(p *cc.FlowPath) bool {
		return p.Narrow.Rate > 0 && p.BaseRTT > 0 && agentT(p.BaseRTT, p.Narrow.Rate) > mostTrips*p.BaseRTT
	})
	if p == nil {
		return all
	}
	t := agentT(p.BaseRTT, p.Narrow.Rate)
	return append(all, warnAgentMoves.Remark("preset",
		"T of agent, with room for ten bursts of Linux, is %v, %.0f "+
			"round trips of %s, and packets of a flow take several paths: its window is that of paths that it has left, so "+
			"that queues fill and links idle; ecmp keeps a flow on its path", t, float64(t)/float64(p.BaseRTT), p.Name).
		At(p.Narrow.Port, float64(t)/float64(p.BaseRTT)))
}

// agent returns the settings of weir agent for the preset Agent, and remarks on another preset and on parameters that
// it lacks (cc.Traits).
func (c *RxConfig) agent() (cc.Agent, []scheme.Remark) {
	refuse := func(param, format string, args ...any) []scheme.Remark {
		return []scheme.Remark{scheme.Refuse(param, format, args...)}
	}
	if c.Preset != Agent {
		return cc.Agent{}, refuse("preset", "Linux' own TCP does what preset: agent says, and nothing else; stack: weir "+
			"has the other presets")
	}
	var all []scheme.Remark
	r := c.resolved()
	if c.MinRate > 0 {
		all = append(all, refuse("min_rate", "Linux' own TCP has no least rate: four segments are in flight at least")...)
	}
	if r.Eta < 0.01 {
		all = append(all, refuse("eta", "1%% to 100%% are possible of Linux' own TCP")...)
	}
	if r.N > 1<<16 || r.MaxStage > 1<<20 || r.T > unit.Second {
		all = append(all, refuse("n, max_stage, t", "65536 flows, 1048576 increases and 1s at most are possible of Linux' "+
			"own TCP")...)
	}
	return cc.Agent{Eta: r.Eta, MaxStage: r.MaxStage, Flows: r.N, T: r.T}, all
}
