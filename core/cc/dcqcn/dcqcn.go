// Package dcqcn is the reaction point of DCQCN (Zhu et al., Congestion Control for Large-Scale RDMA Deployments,
// SIGCOMM'15, §3.1). Its rate falls with each congestion notification packet (CNP) and recovers by a timer and a byte
// counter. A switch program marks packets (the congestion point). The receiver makes CNPs (the notification point),
// which the transport passes in as cc.CNPNotice.
//
// Preset paper is the paper's algorithm: a CNP reduces the rate at once and updates alpha. Preset vendor is the
// algorithm of Mellanox' adapters as in the HPCC simulator (rdma-hw.cc, "Mellanox's version of DCQCN"). There CNPs
// only set flags, which alpha's timer and a timer of decreases check. Alpha is used only at a decrease and is brought
// up to date there, so its timer costs no events. The other timers run only while the rate is below the line rate.
//
// A new rate takes effect at once: it reschedules the packet that waits for pacing, as with all controllers here. The
// simulator does so with HPCC and PINT only; with DCQCN it sends one more packet at the old rate after each change
// (new_rate: next of transport rdma, which weir import sets). Rescheduling is the better choice: at a low rate that
// packet waits long after the flow may send faster.
package dcqcn

import (
	"fmt"
	"math"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Presets, and the word that selects a preset's value.
const (
	Paper  = "paper"
	Vendor = "vendor"
	preset = "preset"
)

// Config holds the parameters of a reaction point.
type Config struct {
	G                float64    // g, weight of a CNP in alpha
	AlphaTimer       unit.Time  // alpha's update timer: K in the paper
	DecreaseInterval unit.Time  // min time between decreases; 0: each CNP decreases
	Polled           bool       // decreases happen at the end of DecreaseInterval, not at the CNP
	IncreaseTimer    unit.Time  // rate increase timer
	ByteCounter      unit.Bytes // payload sent between increases; 0: only the timer increases
	FastRecovery     int        // F, stages of fast recovery
	AI, HAI          unit.Rate  // additive and hyper increase of the target rate: R_AI, R_HAI
	MinRate          unit.Rate
	ClampTarget      bool // every decrease lowers the target rate; false: only the first one after an increase
}

// PaperConfig returns the parameters of DCQCN §5. R_HAI and ClampTarget are from the authors' simulator (ns3-rdma,
// config.txt), the minimum rate is from the HPCC simulator (config.txt).
func PaperConfig() Config {
	return Config{G: 1. / 256, AlphaTimer: 55 * unit.Microsecond, IncreaseTimer: 55 * unit.Microsecond,
		ByteCounter:  10 * unit.MB,
		FastRecovery: 5, AI: 40 * unit.Mbps, HAI: 200 * unit.Mbps, MinRate: 100 * unit.Mbps, ClampTarget: true}
}

// VendorConfig returns the HPCC simulator's parameters for a line rate (run.py, --cc dcqcn). Its AI of 5·bw/25 Mb/s
// and HAI of 50·bw/25 Mb/s, with bw in Gb/s, are 1/5000 and 1/500 of the line rate.
func VendorConfig(line unit.Rate) Config {
	return Config{G: 1. / 256, AlphaTimer: unit.Microsecond, DecreaseInterval: 4 * unit.Microsecond, Polled: true,
		IncreaseTimer: 300 * unit.Microsecond,
		FastRecovery:  1, AI: max(line/5000, 1), HAI: max(line/500, 1), MinRate: unit.Gbps}
}

// Options are the parameters in an experiment: a preset, and values that replace the preset's.
type Options struct {
	Preset                                      string  // Paper, Vendor
	G                                           float64 // 0 selects the preset's value, as with all others
	AlphaTimer, DecreaseInterval, IncreaseTimer unit.Time
	Reaction, Increase, ClampTarget             string
	ByteCounter                                 unit.Bytes
	FastRecovery                                int // −1: the preset's value
	AI, HAI, MinRate                            unit.Rate
	cc.RateConfig
}

// Params binds the options of dcqcn to the fields of o, which keep their values.
func (o *Options) Params(p *scheme.Params) {
	p.Text(&o.Preset, "preset", Paper, "source of the values that are not given: paper, or vendor (Mellanox, as in "+
		"the HPCC simulator)", "DCQCN §5; HPCC simulator run.py").Words(Paper, Vendor)
	p.Share(&o.G, "g", "0%", "weight of a CNP in alpha; 0%: the preset's value (1/256 in both)",
		"DCQCN equation 1").Min("0%").Max("100%")
	p.Time(&o.AlphaTimer, "alpha_timer", "0s", "time without a CNP after which alpha decays; 0s: the preset's value "+
		"(paper 55us, vendor 1us)", "DCQCN equation 2").Max("1s")
	p.Text(&o.Reaction, "reaction", preset,
		"when a CNP cuts the rate; cnp: at once (paper); interval: at the end of decrease_interval (vendor)",
		"DCQCN §3.1; HPCC simulator rdma-hw.cc").Words(preset, "cnp", "interval")
	p.Time(&o.DecreaseInterval, "decrease_interval", "0s",
		"minimum time between two decreases; 0s: the preset's value (paper: no minimum, because receivers space CNPs; "+
			"vendor 4us)", "DCQCN §3.1; HPCC simulator: RATE_DECREASE_INTERVAL").Max("1s")
	p.Time(&o.IncreaseTimer, "increase_timer", "0s", "time between increases; 0s: the preset's value (paper 55us, "+
		"vendor 300us)", "DCQCN §5; HPCC simulator: RP_TIMER").Max("1s")
	p.Text(&o.Increase, "increase", preset, "what triggers an increase; timer: the timer alone (vendor); both: the "+
		"timer and the byte counter (paper)", "DCQCN §3.1; HPCC simulator rdma-hw.cc").Words(preset, "timer", "both")
	p.Size(&o.ByteCounter, "byte_counter", "10MB", "payload sent between increases; lower it so that fast flows "+
		"recover sooner", "DCQCN §5").Min("1kB").
		When("increase: both (preset: paper)", func() bool { return o.buildConfig(unit.Gbps).ByteCounter > 0 })
	p.Int(&o.FastRecovery, "fast_recovery", "-1",
		"F, the number of increases halfway to the target rate before the target rate rises; -1: the preset's value "+
			"(paper 5, vendor 1)", "DCQCN §3.1; HPCC simulator: FAST_RECOVERY_TIMES").Min("-1").Max("1000")
	p.Rate(&o.AI, "ai", "0bps", "additive increase of the target rate; 0bps: the preset's value (paper 40Mbps, vendor "+
		"1/5000 of the line rate)", "DCQCN §5; HPCC simulator: RATE_AI")
	p.Rate(&o.HAI, "hai", "0bps", "hyper increase of the target rate; 0bps: the preset's value (paper 200Mbps, vendor "+
		"1/500 of the line rate)", "ns3-rdma config.txt: RATE_HAI")
	p.Rate(&o.MinRate, "min_rate", "0bps", "minimum rate; 0bps: the preset's value (paper 100Mbps, vendor 1Gbps)",
		"HPCC simulator config.txt, run.py")
	p.Text(&o.ClampTarget, "clamp_target_rate", preset,
		"which decreases lower the target rate; true: every one (paper); false: only the first after an increase (vendor)",
		"DCQCN equation 1; ns3-rdma: CLAMP_TARGET_RATE").Words(preset, "true", "false")
	o.RateConfig.Params(p)

	p.AddRule("decrease_interval", func() error {
		if c := o.buildConfig(unit.Gbps); c.Polled && c.DecreaseInterval == 0 {
			return fmt.Errorf("with reaction: interval it must be above 0s")
		}
		return nil
	})
}

// buildConfig returns the preset's configuration for a line rate, with the given values in place of the preset's.
func (o *Options) buildConfig(line unit.Rate) Config {
	c := PaperConfig()
	if o.Preset == Vendor {
		c = VendorConfig(line)
	}
	setGiven(&c.G, o.G)
	setGiven(&c.AlphaTimer, o.AlphaTimer)
	setGiven(&c.DecreaseInterval, o.DecreaseInterval)
	setGiven(&c.IncreaseTimer, o.IncreaseTimer)
	setGiven(&c.AI, o.AI)
	setGiven(&c.HAI, o.HAI)
	setGiven(&c.MinRate, o.MinRate)
	if o.FastRecovery >= 0 {
		c.FastRecovery = o.FastRecovery
	}
	if o.Reaction != preset {
		c.Polled = o.Reaction == "interval"
	}
	if o.Increase == "timer" {
		c.ByteCounter = 0
	} else if o.Increase == "both" || c.ByteCounter > 0 {
		c.ByteCounter = o.ByteCounter
	}
	if o.ClampTarget != preset {
		c.ClampTarget = o.ClampTarget == "true"
	}
	return c
}

// setGiven sets *field to x if x is above 0.
func setGiven[T float64 | unit.Time | unit.Rate](field *T, x T) {
	if x > 0 {
		*field = x
	}
}

var warnIncreases = scheme.WarningKind{ID: "dcqcn-increases",
	Condition: "a flow's share of a path's slowest link has so few packets in increase_timer and alpha_timer that ai " +
		"exceeds all rate cuts: the fixed point of CoNEXT'16 needs more than one mark for each packet"}

// markedShare returns the share of marked packets at which a flow's rate, in packets a second, is constant. It is the
// fixed point of Zhu et al.'s model (ECN or Delay, CoNEXT'16 §3): the cube root of R_AI/(τ'·R²)·(1/B + 1/(T·R))²,
// with τ' for AlphaTimer, T for IncreaseTimer and B for ByteCounter. At 1 each packet is marked; above 1 marks cannot
// hold the rate. payload is in bytes of a packet, ai in packets a second.
func (c *Config) markedShare(rate, ai float64, payload int32) float64 {
	events := 1 / float64(c.IncreaseTimer.Seconds()*rate)
	if c.ByteCounter > 0 {
		events += float64(payload) / float64(c.ByteCounter)
	}
	return math.Cbrt(float64(ai/float64(c.AlphaTimer.Seconds()*float64(rate*rate))) * float64(events*events))
}

// checkIncreases warns of flows that marks cannot hold at their share of a link.
func (o *Options) checkIncreases(s *cc.FlowContext) []scheme.Remark {
	worst, maxShare := (*cc.FlowPath)(nil), 1.
	for i := range s.Paths {
		p := &s.Paths[i]
		if p.Idle || p.Supplied || p.WhyUnmarked != "" || p.NarrowLink.Payload == 0 {
			continue
		}
		c := o.buildConfig(p.NICRate)
		packet := float64(s.MSS) * 8 * float64(p.NarrowLink.Rate) / float64(p.NarrowLink.Payload) // bits of its frame
		share := float64(p.NarrowLink.Rate) / float64(max(p.Flows, 1)) / packet
		if m := c.markedShare(share, float64(c.AI)/packet, s.MSS); m > maxShare {
			worst, maxShare = p, m
		}
	}
	if worst == nil {
		return nil
	}
	c, flows := o.buildConfig(worst.NICRate), max(worst.Flows, 1)
	maxAI := unit.Rate(float64(c.AI) / float64(maxShare*float64(maxShare*maxShare)))
	digit := unit.Rate(1)
	for maxAI/digit >= 100 { // two digits, rounded down
		digit *= 10
	}
	maxAI -= maxAI % digit
	return []scheme.Remark{warnIncreases.NewRemark("ai", "%v every %v is too much for %d flows at %s with %v: a flow's "+
		"share has so few packets that marks on all of them do not limit its rate, and queues grow until buffers overflow "+
		"or switches pause; use ai: %v or less",
		c.AI, c.IncreaseTimer, flows, worst.NarrowLink.Port, worst.NarrowLink.Rate, maxAI).
		WithPort(worst.NarrowLink.Port, maxShare)}
}

// Check warns of rates that exceed the senders' links, and of increases that marks cannot hold.
func (o *Options) Check(s *cc.FlowContext) (all []scheme.Remark) {
	all = o.checkIncreases(s)
	if o.MinRate == 0 {
		all = append(all, s.RefusePresetAboveNIC(func(link unit.Rate) unit.Rate { return o.buildConfig(link).MinRate })...)
	}
	all = append(all, s.RefuseRateAboveNIC("min_rate", o.MinRate)...)
	all = append(all, s.WarnMinRateAbovePath("min_rate",
		func(link unit.Rate) unit.Rate { return o.buildConfig(link).MinRate })...)
	return append(all, s.RefuseRateAboveNIC("hai", o.HAI)...)
}

// Scheme returns the scheme of cc: dcqcn.
func Scheme() cc.Scheme {
	return cc.Define(cc.Scheme{
		Scheme: scheme.Scheme{Name: "dcqcn", Doc: "rate that CNPs reduce and that recovers as in QCN",
			Source: "DCQCN (Zhu et al., SIGCOMM 2015)", Warnings: []scheme.WarningKind{warnIncreases}},
		Signals:     cc.ByMarks,
		OwnRecovery: true,
		ECN:         cc.CNPMode,
	}, buildController)
}

// buildController returns the reaction point of a flow with these options, in its window if they have one. It fails for
// a window without a line rate, a base RTT or an MSS.
func buildController(f cc.Flow, o Options) (cc.Controller, error) {
	f = o.ApplyTo(f)
	d, err := New(f, o.buildConfig(f.LineRate))
	if err != nil {
		return nil, err
	}
	c, err := o.WrapController(d, f)
	if err != nil {
		return nil, fmt.Errorf("cc dcqcn: %w", err)
	}
	return c, nil
}

// pollOffset delays the check for a decrease so that alpha's update of the same instant comes first (rdma-hw.cc:
// ScheduleDecreaseRateMlx).
const pollOffset = unit.Nanosecond

// DCQCN is the reaction point of one flow.
type DCQCN struct {
	config     Config
	lineRate   unit.Rate
	freeWindow unit.Bytes

	rate, target unit.Rate // R_C, R_T
	alpha        float64
	alphaAt      unit.Time // time of alpha's next update
	marked       bool      // Polled: a CNP has arrived since alpha's last update
	started      bool      // a CNP has arrived
	firstPoll    unit.Time // Polled: first check for a decrease; others follow every DecreaseInterval

	timeStage, byteStage int        // increases by timer and byte counter since the last decrease: T, BC
	sent                 unit.Bytes // payload since the byte counter's last increase
	increaseAt           unit.Time  // Never while the rate is the line rate
	decreaseAt           unit.Time  // Polled: Never if no CNP waits for a decrease
	decreasedAt          unit.Time  // time of the last decrease
}

// New returns the reaction point of a flow with a configuration that Options allow. The flow starts at its line rate
// (DCQCN §3.1). New fails if f.LineRate is not known or below MinRate.
func New(f cc.Flow, c Config) (*DCQCN, error) {
	switch {
	case f.LineRate <= 0:
		return nil, fmt.Errorf("cc dcqcn: the line rate is not known; line_rate gives it")
	case c.MinRate > f.LineRate:
		return nil, fmt.Errorf("cc dcqcn: min_rate is %v; allowed: 1bps … %v, the line rate", c.MinRate, f.LineRate)
	}
	return &DCQCN{config: c, lineRate: f.LineRate, freeWindow: f.FreeWindow(), rate: f.LineRate, target: f.LineRate,
		alpha:      1,
		increaseAt: unit.Never, decreaseAt: unit.Never}, nil
}

// Alpha returns the estimate of congestion at the last CNP or decrease.
func (d *DCQCN) Alpha() float64 { return d.alpha }

// Target returns the target rate, R_T.
func (d *DCQCN) Target() unit.Rate { return d.target }

// OnSend counts the payload. Every ByteCounter bytes increase the rate (DCQCN §3.1).
func (d *DCQCN) OnSend(_ unit.Time, s cc.Sent) {
	if d.config.ByteCounter == 0 || d.increaseAt == unit.Never {
		return
	}
	for d.sent += s.Bytes; d.sent >= d.config.ByteCounter && d.increaseAt != unit.Never; d.byteStage++ {
		d.sent -= d.config.ByteCounter
		d.increaseRate()
	}
}

// OnAck ignores acknowledgements.
func (d *DCQCN) OnAck(unit.Time, *cc.Ack) {}

// OnNotice processes a CNP. It reduces the rate and then raises alpha (DCQCN equation 1) or, if Polled, sets the
// flags of both.
func (d *DCQCN) OnNotice(now unit.Time, n cc.Notice) {
	if n.Kind != cc.CNPNotice {
		return
	}
	c := &d.config
	if !c.Polled {
		d.updateAlpha(now)
		if !d.started || now-d.decreasedAt >= c.DecreaseInterval {
			d.decreaseRate(now)
		}
		d.alpha = float64((1-c.G)*d.alpha) + c.G
		d.alphaAt = now + c.AlphaTimer
		d.started = true
		return
	}
	if !d.started { // cnp_received_mlx: alpha begins at 1, and its flag is cleared
		d.started = true
		d.alphaAt = now + c.AlphaTimer
		d.firstPoll = now + c.DecreaseInterval + pollOffset
		d.decreaseAt = d.firstPoll
		return
	}
	d.updateAlpha(now)
	d.marked = true
	if d.decreaseAt != unit.Never {
		return
	}
	d.decreaseAt = d.firstPoll
	if now >= d.firstPoll {
		d.decreaseAt += ((now-d.firstPoll)/c.DecreaseInterval + 1) * c.DecreaseInterval
	}
}

// updateAlpha applies alpha's timer, which has expired at alphaAt and every AlphaTimer after that, before now (DCQCN
// equation 2).
func (d *DCQCN) updateAlpha(now unit.Time) {
	if !d.started || d.alphaAt >= now {
		return
	}
	c := &d.config
	d.alpha = float64(d.alpha * (1 - c.G))
	if d.marked {
		d.alpha += c.G
		d.marked = false
	}
	more := (now - 1 - d.alphaAt) / c.AlphaTimer
	if more > 0 {
		d.alpha *= math.Pow(1-c.G, float64(more))
	}
	d.alphaAt += (more + 1) * c.AlphaTimer
}

// decreaseRate reduces the rate and restarts the recovery (DCQCN equation 1: R_T = R_C, R_C = R_C·(1 − alpha/2)).
// Without ClampTarget the target rate stays if the rate has not increased since the last decrease (rdma-hw.cc:
// CheckRateDecreaseMlx).
func (d *DCQCN) decreaseRate(now unit.Time) {
	if d.config.ClampTarget || d.timeStage > 0 || d.byteStage > 0 {
		d.target = d.rate
	}
	d.rate = max(d.config.MinRate, unit.Rate(float64(d.rate)*(1-d.alpha/2)))
	d.timeStage, d.byteStage, d.sent = 0, 0, 0
	d.decreasedAt = now
	d.increaseAt = now + d.config.IncreaseTimer
}

// increaseRate processes one event of the timer or byte counter (DCQCN figure 7). The first F events halve the
// distance to the target rate (fast recovery, equation 3). Then each event also raises the target rate by R_AI
// (equation 4), or by R_HAI once both counters exceed F. Stages count the events before this one, as in the authors'
// and the HPCC simulator, so that fast recovery has F events (DCQCN §3.1: "for F successive iterations").
func (d *DCQCN) increaseRate() {
	minStage, maxStage := d.timeStage, d.timeStage
	if d.config.ByteCounter > 0 {
		minStage, maxStage = min(minStage, d.byteStage), max(maxStage, d.byteStage)
	}
	step := d.config.AI
	switch f := d.config.FastRecovery; {
	case maxStage < f:
		step = 0
	case minStage > f:
		step = d.config.HAI
	}
	d.target += min(step, d.lineRate-d.target)
	d.rate += (d.target - d.rate + 1) / 2 // rounded up, so that the rate reaches the target
	if d.rate >= d.lineRate {             // the rate has recovered
		d.increaseAt = unit.Never
	}
}

// OnLoss ignores losses, which the paper's network does not have.
func (d *DCQCN) OnLoss(unit.Time, cc.Loss) {}

// OnTimer applies increases and, if Polled, decreases in the order of time. At equal times the increase comes first,
// because its timer was set earlier (rdma-hw.cc).
func (d *DCQCN) OnTimer(now unit.Time) {
	for {
		switch {
		case d.increaseAt <= now && d.increaseAt <= d.decreaseAt:
			d.increaseAt += d.config.IncreaseTimer
			d.increaseRate()
			d.timeStage++
		case d.decreaseAt <= now:
			at := d.decreaseAt
			d.decreaseAt = unit.Never
			d.updateAlpha(at)
			d.decreaseRate(at)
		default:
			return
		}
	}
}

// Decision returns the rate.
func (d *DCQCN) Decision() cc.Decision {
	return cc.Decision{Window: d.freeWindow, Rate: d.rate, NextTimer: min(d.increaseAt, d.decreaseAt)}
}
