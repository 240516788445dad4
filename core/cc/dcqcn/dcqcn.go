// Package dcqcn is the reaction point of DCQCN (Zhu et al., Congestion Control for
// Large-Scale RDMA Deployments, SIGCOMM'15, §3.1): a rate that falls with each
// congestion notification packet (CNP) and recovers by a timer and a byte counter.
// Marking (the congestion point) is a switch program's, and CNPs (the notification
// point) are made by the receiver; the transport hands them in as cc.CNPNotice.
//
// Preset paper is the paper's algorithm: a CNP cuts at once and updates alpha. Preset
// vendor is what Mellanox' adapters do, as the HPCC simulator has it (rdma-hw.cc, "Mellanox's
// version of DCQCN"): CNPs only set flags, which alpha's timer and a timer of decreases
// look at. Alpha is only used at a decrease and is brought up to date there, so its
// timer costs no events; the others run only while the rate is below the line's.
//
// A new rate holds at once: it moves the packet that waits for its turn, as it does with all
// controllers here. The simulator moves it with HPCC and PINT only; its DCQCN sends one more packet at
// the old rate after each change (new_rate: next of transport rdma, which weir import sets). Moving it is
// the more sensible side: at a low rate that packet waits for long after the flow may go faster.
package dcqcn

import (
	"fmt"
	"math"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Presets, and the word that leaves a parameter to them.
const (
	Paper  = "paper"
	Vendor = "vendor"
	preset = "preset"
)

// config are the parameters of a reaction point.
type Config struct {
	G                float64    // g, weight of a CNP in alpha
	AlphaTimer       unit.Time  // alpha's update timer: K in the paper
	DecreaseInterval unit.Time  // at most one decrease in it; 0: each CNP decreases
	Polled           bool       // decreases happen at the end of DecreaseInterval, not at the CNP
	IncreaseTimer    unit.Time  // rate increase timer
	ByteCounter      unit.Bytes // payload sent that counts as the timer does; 0: there is only the timer
	FastRecovery     int        // F, stages of fast recovery
	AI, HAI          unit.Rate  // additive and hyper increase of the target rate: R_AI, R_HAI
	MinRate          unit.Rate
	ClampTarget      bool // every decrease lowers the target rate; false: the first after an increase
}

// PaperConfig is §5's choice. R_HAI and ClampTarget are the authors' simulator's
// (ns3-rdma, config.txt), the least rate the HPCC simulator's (config.txt).
func PaperConfig() Config {
	return Config{G: 1. / 256, AlphaTimer: 55 * unit.Microsecond, IncreaseTimer: 55 * unit.Microsecond,
		ByteCounter:  10 * unit.MB,
		FastRecovery: 5, AI: 40 * unit.Mbps, HAI: 200 * unit.Mbps, MinRate: 100 * unit.Mbps, ClampTarget: true}
}

// VendorConfig is the HPCC simulator's for a line rate (run.py, --cc dcqcn): its AI of
// 5·bw/25 Mb/s and HAI of 50·bw/25 Mb/s, with bw in Gb/s, are 1/5000 and 1/500 of the line.
func VendorConfig(line unit.Rate) Config {
	return Config{G: 1. / 256, AlphaTimer: unit.Microsecond, DecreaseInterval: 4 * unit.Microsecond, Polled: true,
		IncreaseTimer: 300 * unit.Microsecond,
		FastRecovery:  1, AI: max(line/5000, 1), HAI: max(line/500, 1), MinRate: unit.Gbps}
}

// Options are what an experiment says: a preset, and what takes the place of its values.
type Options struct {
	Preset                                      string  // Paper, Vendor
	G                                           float64 // 0, as of all others: of the preset
	AlphaTimer, DecreaseInterval, IncreaseTimer unit.Time
	Reaction, Increase, ClampTarget             string
	ByteCounter                                 unit.Bytes
	FastRecovery                                int // −1: of the preset
	AI, HAI, MinRate                            unit.Rate
	cc.RateConfig
}

// Params binds the options.
func (o *Options) Params(p *scheme.Params) {
	p.Text(&o.Preset, "preset", Paper, "where what is not given comes from; vendor is Mellanox', as in the HPCC simulator",
		"DCQCN §5; HPCC simulator run.py").Words(Paper, Vendor)
	p.Share(&o.G, "g", "0%", "weight of a CNP in alpha; 0%: preset (both 1/256)",
		"DCQCN equation 1").Min("0%").Max("100%")
	p.Time(&o.AlphaTimer, "alpha_timer", "0s", "after so long without a CNP alpha decays; 0s: preset (55us, 1us)",
		"DCQCN equation 2").Max("1s")
	p.Text(&o.Reaction, "reaction", preset,
		"when a CNP cuts the rate: at once (paper) or at the end of decrease_interval (vendor)",
		"DCQCN §3.1; HPCC simulator rdma-hw.cc").Words(preset, "cnp", "interval")
	p.Time(&o.DecreaseInterval, "decrease_interval", "0s",
		"at most one decrease in it; 0s: preset (each CNP, for receivers space them; 4us)",
		"DCQCN §3.1; HPCC simulator: RATE_DECREASE_INTERVAL").Max("1s")
	p.Time(&o.IncreaseTimer, "increase_timer", "0s", "time between increases; 0s: preset (55us, 300us)",
		"DCQCN §5; HPCC simulator: RP_TIMER").Max("1s")
	p.Text(&o.Increase, "increase", preset, "what increases: the timer (vendor), or it and the byte counter (paper)",
		"DCQCN §3.1; HPCC simulator rdma-hw.cc").Words(preset, "timer", "both")
	p.Size(&o.ByteCounter, "byte_counter", "10MB", "payload sent between increases", "DCQCN §5").Min("1kB").
		When("increase: both (preset: paper)", func() bool { return o.config(unit.Gbps).ByteCounter > 0 })
	p.Int(&o.FastRecovery, "fast_recovery", "-1",
		"increases halfway to the target rate before it is raised, F; -1: preset (5, 1)",
		"DCQCN §3.1; HPCC simulator: FAST_RECOVERY_TIMES").Min("-1").Max("1000")
	p.Rate(&o.AI, "ai", "0bps", "additive increase; 0bps: preset (40Mbps, 1/5000 of the line rate)",
		"DCQCN §5; HPCC simulator: RATE_AI")
	p.Rate(&o.HAI, "hai", "0bps", "hyper increase; 0bps: preset (200Mbps, 1/500 of the line rate)",
		"ns3-rdma config.txt: RATE_HAI")
	p.Rate(&o.MinRate, "min_rate", "0bps", "least rate; 0bps: preset (100Mbps, 1Gbps)",
		"HPCC simulator config.txt, run.py")
	p.Text(&o.ClampTarget, "clamp_target_rate", preset,
		"every decrease lowers the target rate (paper), or only the first after an increase (vendor)",
		"DCQCN equation 1; ns3-rdma: CLAMP_TARGET_RATE").Words(preset, "true", "false")
	o.RateConfig.Params(p)

	p.Rule("decrease_interval", func() error {
		if c := o.config(unit.Gbps); c.Polled && c.DecreaseInterval == 0 {
			return fmt.Errorf("with reaction: interval it must be above 0s")
		}
		return nil
	})
}

// config is the preset with what is given in its place, for a line rate.
func (o *Options) config(line unit.Rate) Config {
	c := PaperConfig()
	if o.Preset == Vendor {
		c = VendorConfig(line)
	}
	given(&c.G, o.G)
	given(&c.AlphaTimer, o.AlphaTimer)
	given(&c.DecreaseInterval, o.DecreaseInterval)
	given(&c.IncreaseTimer, o.IncreaseTimer)
	given(&c.AI, o.AI)
	given(&c.HAI, o.HAI)
	given(&c.MinRate, o.MinRate)
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

func given[T float64 | unit.Time | unit.Rate](to *T, x T) {
	if x > 0 {
		*to = x
	}
}

var warnIncreases = scheme.WarningKind{ID: "dcqcn-increases",
	Condition: "a flow's share of a path's slowest link is so few packets in increase_timer and alpha_timer that ai " +
		"outweighs all cuts: the marks of the fixed point of CoNEXT'16 are more than one a packet"}

// marks returns the part of its packets that must be marked where a flow of a rate, in packets a second, neither gains
// nor loses, by the fixed point of Zhu et al.'s model (ECN or Delay, CoNEXT'16 §3): the cube root of
// R_AI/(τ'·R²)·(1/B + 1/(T·R))², with τ' for AlphaTimer, T for IncreaseTimer and B for ByteCounter. It is 1 where each
// packet is marked; above, no marks hold the rate. payload is of a packet, ai in packets a second.
func (c *Config) marks(rate, ai float64, payload int32) float64 {
	events := 1 / float64(c.IncreaseTimer.Seconds()*rate)
	if c.ByteCounter > 0 {
		events += float64(payload) / float64(c.ByteCounter)
	}
	return math.Cbrt(float64(ai/float64(c.AlphaTimer.Seconds()*float64(rate*rate))) * float64(events*events))
}

// increases warns of flows that marks do not hold at their share of a link.
func (o *Options) increases(s *cc.FlowContext) []scheme.Remark {
	worst, most := (*cc.FlowPath)(nil), 1.
	for i := range s.Paths {
		p := &s.Paths[i]
		if p.Idle || p.Supplied || p.Unmarked != "" || p.Narrow.Payload == 0 {
			continue
		}
		c := o.config(p.NICRate)
		packet := float64(s.MSS) * 8 * float64(p.Narrow.Rate) / float64(p.Narrow.Payload) // bits of its frame
		share := float64(p.Narrow.Rate) / float64(max(p.Flows, 1)) / packet
		if m := c.marks(share, float64(c.AI)/packet, s.MSS); m > most {
			worst, most = p, m
		}
	}
	if worst == nil {
		return nil
	}
	c, flows := o.config(worst.NICRate), max(worst.Flows, 1)
	fits := unit.Rate(float64(c.AI) / float64(most*float64(most*most)))
	digit := unit.Rate(1)
	for fits/digit >= 100 { // two digits, rounded down
		digit *= 10
	}
	fits -= fits % digit
	return []scheme.Remark{warnIncreases.Remark("ai", "%v every %v are too much for %d flows at %s, of %v: a flow's "+
		"share is so few packets that marks on all of them do not hold its rate, and queues grow until buffers end or "+
		"switches pause; ai: %v or less suits them",
		c.AI, c.IncreaseTimer, flows, worst.Narrow.Port, worst.Narrow.Rate, fits).
		At(worst.Narrow.Port, most)}
}

// Check warns of rates that senders do not have, and of increases that marks do not hold.
func (o *Options) Check(s *cc.FlowContext) (all []scheme.Remark) {
	all = o.increases(s)
	if o.MinRate == 0 {
		all = append(all, s.PresetTooFast(func(link unit.Rate) unit.Rate { return o.config(link).MinRate })...)
	}
	all = append(all, s.TooFast("min_rate", o.MinRate)...)
	all = append(all, s.Unstoppable("min_rate", func(link unit.Rate) unit.Rate { return o.config(link).MinRate })...)
	return append(all, s.TooFast("hai", o.HAI)...)
}

// Scheme is what an experiment names: cc: dcqcn.
func Scheme() cc.Scheme {
	return cc.Define(cc.Scheme{
		Scheme: scheme.Scheme{Name: "dcqcn", Doc: "a rate that CNPs cut, with QCN's recovery",
			Source: "DCQCN (Zhu et al., SIGCOMM 2015)", Warnings: []scheme.WarningKind{warnIncreases}},
		Signals:     cc.ByMarks,
		OwnRecovery: true,
		ECN:         cc.CNPMode,
	}, build)
}

func build(f cc.Flow, o Options) (cc.Controller, error) {
	f = o.Override(f)
	d, err := New(f, o.config(f.LineRate))
	if err != nil {
		return nil, err
	}
	c, err := o.Bound(d, f)
	if err != nil {
		return nil, fmt.Errorf("cc dcqcn: %w", err)
	}
	return c, nil
}

// pollOffset puts the check of a decrease behind alpha's update of the same instant
// (rdma-hw.cc: ScheduleDecreaseRateMlx).
const pollOffset = unit.Nanosecond

// DCQCN is the reaction point of one flow.
type DCQCN struct {
	config Config
	line   unit.Rate
	free   unit.Bytes

	rate, target unit.Rate // R_C, R_T
	alpha        float64
	alphaAt      unit.Time // when alpha is updated next
	marked       bool      // Polled: a CNP has come since alpha's last update
	started      bool      // a CNP has come
	firstPoll    unit.Time // Polled: decreases are checked then and every DecreaseInterval after

	timeStage, byteStage int        // increases by timer and byte counter since the last decrease: T, BC
	sent                 unit.Bytes // since the byte counter's last increase
	increaseAt           unit.Time  // Never while the rate is the line's
	decreaseAt           unit.Time  // Polled: Never if no CNP waits for a decrease
	decreased            unit.Time  // the last one
}

// New makes the reaction point of a flow, which starts at its line rate (§3.1), of a
// configuration that Options allow. The flow's LineRate must be known, and not be below MinRate.
func New(f cc.Flow, c Config) (*DCQCN, error) {
	switch {
	case f.LineRate <= 0:
		return nil, fmt.Errorf("cc dcqcn: the line rate is not known; line_rate gives it")
	case c.MinRate > f.LineRate:
		return nil, fmt.Errorf("cc dcqcn: min_rate is %v; 1bps … %v, the line rate, are possible", c.MinRate, f.LineRate)
	}
	return &DCQCN{config: c, line: f.LineRate, free: f.FreeWindow(), rate: f.LineRate, target: f.LineRate, alpha: 1,
		increaseAt: unit.Never, decreaseAt: unit.Never}, nil
}

// Alpha is the estimate of congestion at the time of the last CNP or decrease.
func (d *DCQCN) Alpha() float64 { return d.alpha }

// Target is the target rate, R_T.
func (d *DCQCN) Target() unit.Rate { return d.target }

// OnSend counts bytes: every ByteCounter of them increase the rate (§3.1).
func (d *DCQCN) OnSend(_ unit.Time, s cc.Sent) {
	if d.config.ByteCounter == 0 || d.increaseAt == unit.Never {
		return
	}
	for d.sent += s.Bytes; d.sent >= d.config.ByteCounter && d.increaseAt != unit.Never; d.byteStage++ {
		d.sent -= d.config.ByteCounter
		d.increase()
	}
}

// OnAck does nothing.
func (d *DCQCN) OnAck(unit.Time, *cc.Ack) {}

// OnNotice takes a CNP: it cuts the rate and then raises alpha (equation 1), or, if
// Polled, sets the flags of both.
func (d *DCQCN) OnNotice(now unit.Time, n cc.Notice) {
	if n.Kind != cc.CNPNotice {
		return
	}
	c := &d.config
	if !c.Polled {
		d.decay(now)
		if !d.started || now-d.decreased >= c.DecreaseInterval {
			d.decrease(now)
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
	d.decay(now)
	d.marked = true
	if d.decreaseAt != unit.Never {
		return
	}
	d.decreaseAt = d.firstPoll
	if now >= d.firstPoll {
		d.decreaseAt += ((now-d.firstPoll)/c.DecreaseInterval + 1) * c.DecreaseInterval
	}
}

// decay brings alpha up to date: its timer has run out at alphaAt and every
// AlphaTimer after, before now (equation 2).
func (d *DCQCN) decay(now unit.Time) {
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

// decrease cuts the rate and begins the recovery anew (equation 1: R_T = R_C, R_C =
// R_C·(1 − alpha/2)). Without ClampTarget the target rate stays when nothing has
// increased since the last decrease (rdma-hw.cc: CheckRateDecreaseMlx).
func (d *DCQCN) decrease(now unit.Time) {
	if d.config.ClampTarget || d.timeStage > 0 || d.byteStage > 0 {
		d.target = d.rate
	}
	d.rate = max(d.config.MinRate, unit.Rate(float64(d.rate)*(1-d.alpha/2)))
	d.timeStage, d.byteStage, d.sent = 0, 0, 0
	d.decreased = now
	d.increaseAt = now + d.config.IncreaseTimer
}

// increase is one event of timer or byte counter (figure 7): F of them halve the distance
// to the target rate (fast recovery, equation 3), then the target rate rises with them by
// R_AI (equation 4), and once both counters are beyond F by R_HAI. Stages count the
// events before this one, as in the authors' and the HPCC simulator, so that fast
// recovery has F of them (§3.1: "for F successive iterations").
func (d *DCQCN) increase() {
	least, most := d.timeStage, d.timeStage
	if d.config.ByteCounter > 0 {
		least, most = min(least, d.byteStage), max(most, d.byteStage)
	}
	step := d.config.AI
	switch f := d.config.FastRecovery; {
	case most < f:
		step = 0
	case least > f:
		step = d.config.HAI
	}
	d.target += min(step, d.line-d.target)
	d.rate += (d.target - d.rate + 1) / 2 // rounded up: it arrives
	if d.rate >= d.line {                 // nothing is left to recover
		d.increaseAt = unit.Never
	}
}

// OnLoss does nothing: the paper's network loses nothing.
func (d *DCQCN) OnLoss(unit.Time, cc.Loss) {}

// OnTimer increases and, if Polled, decreases, in the order of time; at one time the
// increase comes first, for its timer was set before (rdma-hw.cc).
func (d *DCQCN) OnTimer(now unit.Time) {
	for {
		switch {
		case d.increaseAt <= now && d.increaseAt <= d.decreaseAt:
			d.increaseAt += d.config.IncreaseTimer
			d.increase()
			d.timeStage++
		case d.decreaseAt <= now:
			at := d.decreaseAt
			d.decreaseAt = unit.Never
			d.decay(at)
			d.decrease(at)
		default:
			return
		}
	}
}

// Decision is the rate.
func (d *DCQCN) Decision() cc.Decision {
	return cc.Decision{Window: d.free, Rate: d.rate, NextTimer: min(d.increaseAt, d.decreaseAt)}
}
