// Package timely is TIMELY (Mittal et al., TIMELY: RTT-based Congestion Control for the Datacenter, SIGCOMM'15): a
// rate that follows the gradient of the round-trip time.
//
// Preset paper is algorithm 1, once a completion event, which acknowledges a segment of 16 to 64 KB. Preset patched
// is the repair by Zhu et al. (ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY, CoNEXT'16), since
// algorithm 1 can settle at any share of a link. Preset hpcc is the HPCC simulator's (rdma-hw.cc: UpdateRateTimely):
// once a round trip, hyperactive also below Tlow, and with a counter of all increases.
//
// The paper sends a segment as a burst and delays the next one; here the transport paces its packets. The RTT is the
// transport's, of the packet that completes the event. It excludes the segment's own serialisation time, which
// TIMELY §4.1 subtracts.
package timely

import (
	"fmt"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Presets, and the word that selects a preset's value.
const (
	Paper   = "paper"
	Patched = "patched"
	HPCC    = "hpcc"
	preset  = "preset"
)

// Events after which the rate is updated.
const (
	EachSegment = "segment" // after Config.Segment bytes are acknowledged; shorter messages count together
	EachACK     = "ack"
	EachRTT     = "rtt" // after the data sent since the last event is acknowledged
)

// Config holds the parameters.
type Config struct {
	Law       string    // Paper, Patched, HPCC: how an event changes the rate
	Update    string    // EachSegment, EachACK, EachRTT
	Alpha     float64   // weight of a new difference of RTTs
	Beta      float64   // multiplicative decrement
	TLow      unit.Time // below it the rate rises with any gradient
	THigh     unit.Time // above it the rate falls with any gradient
	MinRTT    unit.Time // divisor of the gradient
	Delta     unit.Rate // δ, additive increment
	HAI       int       // N, multiplier of δ in hyperactive increase
	HAIAfter  int       // events before hyperactive increase
	Segment   unit.Bytes
	MinRate   unit.Rate
	StartRate unit.Rate // 0: the line rate
	// MaxDecrease is the maximum share of the rate that one event takes. Algorithm 1 has no such limit: a gradient of 1/β,
	// from two flows that start at line rate within an RTT, takes all.
	MaxDecrease float64
}

// PresetConfig returns a preset's parameters for a line rate. Those of paper are as quoted by Zhu et al. (CoNEXT'16)
// and the HPCC simulator; MinRate is Weir's choice.
func PresetConfig(name string, line unit.Rate) Config {
	c := Config{Law: name, Update: EachSegment, Alpha: 0.875, Beta: 0.8, TLow: 50 * unit.Microsecond,
		THigh:  500 * unit.Microsecond,
		MinRTT: 20 * unit.Microsecond, Delta: 10 * unit.Mbps, HAI: 5, HAIAfter: 5, Segment: 64 * unit.KB,
		MinRate: 10 * unit.Mbps, MaxDecrease: 1}
	switch name {
	case Patched:
		c.Beta, c.Segment = 0.008, 16*unit.KB
	case HPCC: // run.py: AI of 10·bw/10 Mb/s, HAI of 50·bw/10 Mb/s, with bw in Gb/s
		c.Update, c.Delta, c.MinRate = EachRTT, max(line/1000, 1), unit.Gbps
	}
	return c
}

// Options are the parameters in an experiment: a preset, and values that replace the preset's.
type Options struct {
	Preset              string // Paper, Patched, HPCC
	Update              string
	Segment             unit.Bytes // 0, as with Beta, Delta and MinRate: the preset's value
	Alpha, Beta         float64
	MaxDecrease         float64
	TLow, THigh, MinRTT unit.Time
	Delta               unit.Rate
	HAI, HAIAfter       int
	MinRate, StartRate  unit.Rate
	cc.RateConfig
}

// Params binds the options of timely to the fields of o, which keep their values.
func (o *Options) Params(p *scheme.Params) {
	p.Text(&o.Preset, "preset", Paper,
		"variant of the algorithm, and source of the values that are not given; paper: TIMELY's algorithm 1; patched: "+
			"the patch of Zhu et al.; hpcc: the HPCC simulator",
		"TIMELY algorithm 1; CoNEXT'16; HPCC simulator rdma-hw.cc").Words(Paper, Patched, HPCC)
	p.Text(&o.Update, "update", preset, "when the rate is computed; segment: per completion event (paper, patched); "+
		"rtt: per round trip (hpcc)", "TIMELY §4; HPCC simulator rdma-hw.cc").Words(preset, EachSegment, EachACK, EachRTT)
	p.Size(&o.Segment, "segment", "0 B", "payload of a completion event; 0 B: the preset's value (paper 64kB, patched "+
		"16kB; hpcc has none)", "TIMELY §4: 16 to 64 KB; CoNEXT'16").Max("1GB").
		When("update: segment", func() bool { return o.buildConfig(unit.Gbps).Update == EachSegment })
	p.Share(&o.Alpha, "alpha", "87.5%", "weight of a new RTT difference in the average; lower it if RTTs vary by noise",
		"CoNEXT'16; HPCC simulator").Min("0%").Max("100%")
	p.Share(&o.Beta, "beta", "0%", "multiplicative decrement, beta; 0%: the preset's value (paper 80%, patched 0.8%, "+
		"hpcc 80%)", "TIMELY algorithm 1; CoNEXT'16").Min("0%").Max("100%")
	p.Share(&o.MaxDecrease, "max_decrease", "100%",
		"maximum decrease of the rate by one event; eRPC's port of the authors' code has 50%",
		"TIMELY algorithm 1: no limit").Min("0%").Max("100%")
	p.Time(&o.TLow, "t_low", "50us", "RTT below which the rate always rises; set it above the path's time without "+
		"queues and bursts", "TIMELY; CoNEXT'16").Min("1ps").Max("1s")
	p.Time(&o.THigh, "t_high", "500us", "RTT above which the rate always falls; it bounds the queue, and must be "+
		"above t_low",
		"TIMELY; CoNEXT'16").Min("1ps").Max("1s")
	p.Time(&o.MinRTT, "min_rtt", "20us", "minimum RTT, by which the gradient is normalised; set it to the path's time "+
		"without queues",
		"CoNEXT'16; HPCC simulator").Min("1ps").Max("1s")
	p.Rate(&o.Delta, "delta", "0bps", "additive increment; 0bps: the preset's value (paper and patched 10Mbps, hpcc "+
		"1/1000 of the line rate)", "TIMELY; HPCC simulator run.py")
	p.Int(&o.HAI, "hai", "5", "N, the number of increments at one time in hyperactive increase",
		"TIMELY algorithm 1").Min("1").Max("1000")
	p.Int(&o.HAIAfter, "hai_after", "5", "number of events until hyperactive increase begins",
		"TIMELY algorithm 1").Min("0").Max("1000000")
	p.Rate(&o.MinRate, "min_rate", "0bps", "minimum rate; 0bps: the preset's value (paper and patched 10Mbps, hpcc "+
		"1Gbps)", "Weir; HPCC simulator run.py")
	p.Rate(&o.StartRate, "start_rate", "0bps",
		"initial rate; 0bps: the line rate, which is the paper's C/(N+1) for a sender's first flow", "TIMELY; HPCC §5.1")
	o.RateConfig.Params(p)

	p.AddRule("t_high", func() error {
		if o.THigh < o.TLow {
			return fmt.Errorf("%v is below t_low, which is %v", o.THigh, o.TLow)
		}
		return nil
	})
	p.AddRule("start_rate", func() error {
		if least := o.buildConfig(0).MinRate; o.StartRate > 0 && o.StartRate < least {
			return fmt.Errorf("%v is below the least rate, which is %v", o.StartRate, least)
		}
		return nil
	})
}

// buildConfig returns the preset's configuration for a line rate, with the given values in place of the preset's.
func (o *Options) buildConfig(line unit.Rate) Config {
	c := PresetConfig(o.Preset, line)
	c.Alpha, c.TLow, c.THigh, c.MinRTT = o.Alpha, o.TLow, o.THigh, o.MinRTT
	c.HAI, c.HAIAfter, c.StartRate, c.MaxDecrease = o.HAI, o.HAIAfter, o.StartRate, o.MaxDecrease
	if o.Update != preset {
		c.Update = o.Update
	}
	if o.Segment > 0 {
		c.Segment = o.Segment
	}
	if o.Beta > 0 {
		c.Beta = o.Beta
	}
	if o.Delta > 0 {
		c.Delta = o.Delta
	}
	if o.MinRate > 0 {
		c.MinRate = o.MinRate
	}
	return c
}

// Kinds of warnings.
var (
	warnTHighLow = scheme.WarningKind{ID: "timely-t-high-low",
		Condition: "t_high is not above the longest path's round trip without queues"}
	warnTHighWait = scheme.WarningKind{ID: "timely-t-high-wait",
		Condition: "t_high is not below a path's round trip with a full queue at one of its ports"}
)

// findSlowestPath returns the path with the longest time of a packet and its acknowledgement behind the longest of
// the path's full queues, and that time. It returns 0 if a queue of some path has no limit.
func findSlowestPath(paths []cc.FlowPath) (path *cc.FlowPath, longest unit.Time) {
	for i := range paths {
		p := &paths[i]
		if p.Wait == 0 {
			return nil, 0
		}
		if t := p.BaseRTT + p.Wait; t > longest {
			path, longest = p, t
		}
	}
	return path, longest
}

// Check warns of thresholds outside the round trips of the paths, and of rates that exceed the senders' links.
func (o *Options) Check(s *cc.FlowContext) (all []scheme.Remark) {
	if p, ok := s.FindLongestPath(); ok && o.THigh <= p.BaseRTT {
		all = append(all, warnTHighLow.NewRemark("t_high",
			"the round trip of the longest path without queues is %v (%s), so the rate always falls there", p.BaseRTT, p.Name))
	}
	if p, longest := findSlowestPath(s.Paths); longest > 0 && o.THigh >= longest {
		all = append(all, warnTHighWait.NewRemark("t_high",
			"no packet is delayed that long: the longest round trip of a path (%s), with a full queue at one port, is %v; "+
				"packets are lost before, and the controller does not react to losses", p.Name,
			longest.RoundRough()).WithPort(p.NarrowLink.Port, 0))
	}
	if o.MinRate == 0 {
		all = append(all, s.RefusePresetAboveNIC(func(link unit.Rate) unit.Rate { return o.buildConfig(link).MinRate })...)
	}
	all = append(all, s.RefuseRateAboveNIC("min_rate", o.MinRate)...)
	all = append(all, s.WarnMinRateAbovePath("min_rate",
		func(link unit.Rate) unit.Rate { return o.buildConfig(link).MinRate })...)
	return append(all, s.RefuseRateAboveNIC("start_rate", o.StartRate)...)
}

// Scheme returns the scheme of cc: timely.
func Scheme() cc.Scheme {
	return cc.Define(cc.Scheme{
		Scheme: scheme.Scheme{Name: "timely", Doc: "rate that follows the gradient of the RTT",
			Source: "TIMELY (Mittal et al., SIGCOMM 2015)", Warnings: []scheme.WarningKind{warnTHighLow, warnTHighWait}},
		Signals: cc.ByDelay, KeepsOnSend: true,
		OwnRecovery: true,
	}, buildController)
}

// buildController returns the controller of a flow with these options, in its window if they have one. It fails for a
// window without a line rate, a base RTT or an MSS.
func buildController(f cc.Flow, o Options) (cc.Controller, error) {
	f = o.ApplyTo(f)
	t, err := New(f, o.buildConfig(f.LineRate))
	if err != nil {
		return nil, err
	}
	c, err := o.WrapController(t, f)
	if err != nil {
		return nil, fmt.Errorf("cc timely: %w", err)
	}
	return c, nil
}

// Timely is the controller of one flow.
type Timely struct {
	config     Config
	lineRate   float64
	freeWindow unit.Bytes

	rate        float64    // bit/s
	previousRTT unit.Time  // prev_rtt; 0: no sample yet
	rttDiff     float64    // rtt_diff [ps]
	rises       int        // events in a row with a negative gradient; HPCC: increases in a row
	completed   unit.Bytes // of the segment
	next        int64      // EachRTT: an event is due when more than this is acknowledged
}

// New returns the controller of a flow with a configuration that Options allow. It fails if f.LineRate is not known,
// or below MinRate or StartRate.
func New(f cc.Flow, c Config) (*Timely, error) {
	if c.StartRate == 0 {
		c.StartRate = f.LineRate
	}
	switch {
	case f.LineRate <= 0:
		return nil, fmt.Errorf("cc timely: the line rate is not known; line_rate gives it")
	case c.MinRate > f.LineRate:
		return nil, fmt.Errorf("cc timely: min_rate is %v; allowed: 1bps … %v, the line rate", c.MinRate, f.LineRate)
	case c.StartRate > f.LineRate:
		return nil, fmt.Errorf("cc timely: start_rate is %v; allowed: %v … %v", c.StartRate, c.MinRate, f.LineRate)
	}
	return &Timely{config: c, lineRate: float64(f.LineRate), freeWindow: f.FreeWindow(), rate: float64(c.StartRate)}, nil
}

// OnSend ignores sent packets.
func (t *Timely) OnSend(unit.Time, cc.Sent) {}

// OnAck updates the rate if it completes an event and has an RTT. Without an RTT the event waits for the next ACK.
func (t *Timely) OnAck(_ unit.Time, a *cc.Ack) {
	t.completed += a.Bytes
	if a.RTT.Sample <= 0 {
		return
	}
	switch t.config.Update {
	case EachSegment:
		if t.completed < t.config.Segment {
			return
		}
	case EachRTT:
		if a.FirstUnacked <= t.next {
			return
		}
	}
	t.completed = 0
	t.updateRate(a.RTT.Sample)
	t.next = a.Next
}

// updateRate processes a completion event (TIMELY algorithm 1). The first event only stores its RTT.
func (t *Timely) updateRate(rtt unit.Time) {
	c := &t.config
	if t.previousRTT == 0 {
		t.previousRTT = rtt
		return
	}
	t.rttDiff = float64((1-c.Alpha)*t.rttDiff) + float64(c.Alpha*float64(rtt-t.previousRTT))
	t.previousRTT = rtt
	gradient := t.rttDiff / float64(c.MinRTT) // normalized_gradient
	if c.Law == HPCC {
		t.updateLikeSimulator(rtt, gradient)
		return
	}
	if gradient < 0 {
		t.rises++
	} else {
		t.rises = 0
	}
	delta := float64(c.Delta)
	switch {
	case rtt < c.TLow:
		t.setRate(t.rate + delta)
	case rtt > c.THigh:
		t.setRate(t.rate * (1 - float64(c.Beta*(1-float64(c.THigh)/float64(rtt)))))
	case c.Law == Patched: // patched TIMELY, with Tlow as RTT_ref
		w := patchedWeight(gradient)
		excess := float64(rtt-c.TLow) / float64(c.TLow)
		t.setRate(float64(delta*(1-w)) + float64(t.rate*(1-float64(c.Beta*w*excess))))
	case gradient <= 0:
		if t.rises >= c.HAIAfter {
			delta = float64(delta * float64(c.HAI))
		}
		t.setRate(t.rate + delta)
	default:
		t.setRate(t.rate * (1 - float64(c.Beta*gradient)))
	}
}

// updateLikeSimulator is rdma-hw.cc's UpdateRateTimely. It updates the rate for an RTT and its normalized gradient.
func (t *Timely) updateLikeSimulator(rtt unit.Time, gradient float64) {
	c := &t.config
	if rtt < c.TLow || rtt <= c.THigh && gradient <= 0 {
		delta := float64(c.Delta)
		if t.rises >= c.HAIAfter {
			delta = float64(delta * float64(c.HAI))
		}
		t.rises++
		t.setRate(t.rate + delta)
		return
	}
	factor := 1 - float64(c.Beta*gradient)
	if rtt > c.THigh {
		factor = 1 - float64(c.Beta*(1-float64(c.THigh)/float64(rtt)))
	}
	t.rises = 0
	t.setRate(t.rate * factor)
}

// patchedWeight is w(g) of patched TIMELY: 0 up to a gradient of −1/4, 1 from 1/4 on.
func patchedWeight(gradient float64) float64 { return min(max(float64(2*gradient)+0.5, 0), 1) }

// setRate sets the rate within MinRate and the line rate. It falls by at most MaxDecrease of the rate. A gradient above
// 1/β would make it negative.
func (t *Timely) setRate(rate float64) {
	rate = max(rate, t.rate*(1-t.config.MaxDecrease))
	t.rate = min(max(rate, float64(t.config.MinRate)), t.lineRate)
}

// OnNotice ignores notices.
func (t *Timely) OnNotice(unit.Time, cc.Notice) {}

// OnLoss ignores losses, which the paper's network does not have.
func (t *Timely) OnLoss(unit.Time, cc.Loss) {}

// OnTimer is never called.
func (t *Timely) OnTimer(unit.Time) {}

// Decision returns the rate.
func (t *Timely) Decision() cc.Decision {
	return cc.Decision{Window: t.freeWindow, Rate: unit.Rate(t.rate), NextTimer: unit.Never}
}
