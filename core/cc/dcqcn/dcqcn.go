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

// Config are the parameters of a reaction point.
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

// Scheme is what an experiment names: cc: dcqcn.
func Scheme() cc.Scheme {
	return cc.Scheme{
		Scheme: scheme.Scheme{Name: "dcqcn", Doc: "a rate that CNPs cut, with QCN's recovery",
			Source: "Zhu et al., SIGCOMM'15", Params: append([]scheme.Param{
				{Name: "preset", Kind: scheme.Text, Words: []string{Paper, Vendor}, Default: Paper,
					Doc:    "where what is not given comes from; vendor is Mellanox', as in the HPCC simulator",
					Source: "SIGCOMM'15 §5; HPCC simulator run.py"},
				{Name: "g", Kind: scheme.Share, Default: "0%", Min: "0%", Max: "100%",
					Doc: "weight of a CNP in alpha; 0%: preset (both 1/256)", Source: "SIGCOMM'15 equation 1"},
				{Name: "alpha_timer", Kind: scheme.Duration, Default: "0s", Max: "1s",
					Doc: "after so long without a CNP alpha decays; 0s: preset (55us, 1us)", Source: "SIGCOMM'15 equation 2"},
				{Name: "reaction", Kind: scheme.Text, Words: []string{preset, "cnp", "interval"}, Default: preset,
					Doc:    "when a CNP cuts the rate: at once (paper) or at the end of decrease_interval (vendor)",
					Source: "SIGCOMM'15 §3.1; HPCC simulator rdma-hw.cc"},
				{Name: "decrease_interval", Kind: scheme.Duration, Default: "0s", Max: "1s",
					Doc:    "at most one decrease in it; 0s: preset (each CNP, for receivers space them; 4us)",
					Source: "SIGCOMM'15 §3.1; RATE_DECREASE_INTERVAL"},
				{Name: "increase_timer", Kind: scheme.Duration, Default: "0s", Max: "1s",
					Doc: "time between increases; 0s: preset (55us, 300us)", Source: "SIGCOMM'15 §5; RP_TIMER"},
				{Name: "increase", Kind: scheme.Text, Words: []string{preset, "timer", "both"}, Default: preset,
					Doc:    "what increases: the timer (vendor), or it and the byte counter (paper)",
					Source: "SIGCOMM'15 §3.1; HPCC simulator rdma-hw.cc"},
				{Name: "byte_counter", Kind: scheme.Size, Default: "10MB", Min: "1kB", Doc: "payload sent between increases",
					Source: "SIGCOMM'15 §5"},
				{Name: "fast_recovery", Kind: scheme.Int, Default: "-1", Min: "-1", Max: "1000",
					Doc:    "increases halfway to the target rate before it is raised, F; -1: preset (5, 1)",
					Source: "SIGCOMM'15 §3.1; FAST_RECOVERY_TIMES"},
				{Name: "ai", Kind: scheme.Rate, Default: "0bps",
					Doc: "additive increase; 0bps: preset (40Mbps, 1/5000 of the line rate)", Source: "SIGCOMM'15 §5; RATE_AI"},
				{Name: "hai", Kind: scheme.Rate, Default: "0bps",
					Doc: "hyper increase; 0bps: preset (200Mbps, 1/500 of the line rate)", Source: "ns3-rdma config.txt; RATE_HAI"},
				{Name: "min_rate", Kind: scheme.Rate, Default: "0bps", Doc: "least rate; 0bps: preset (100Mbps, 1Gbps)",
					Source: "HPCC simulator config.txt, run.py"},
				{Name: "clamp_target_rate", Kind: scheme.Text, Words: []string{preset, "true", "false"}, Default: preset,
					Doc:    "every decrease lowers the target rate (paper), or only the first after an increase (vendor)",
					Source: "SIGCOMM'15 equation 1; CLAMP_TARGET_RATE"},
			}, cc.RateParams()...)},
		OwnRecovery: true,
		ECN:         cc.CNPMode,
		Build: func(f cc.Flow, v scheme.Values) (cc.Controller, error) {
			f = f.WithPath(v)
			d, err := New(f, config(f, v))
			if err != nil {
				return nil, err
			}
			c, err := cc.Bound(d, f, v.Text("window"))
			if err != nil {
				return nil, fmt.Errorf("cc dcqcn: %w", err)
			}
			return c, nil
		},
	}
}

// config is the preset with what is given in its place.
func config(f cc.Flow, v scheme.Values) Config {
	c := PaperConfig()
	if v.Text("preset") == Vendor {
		c = VendorConfig(f.LineRate)
	}
	given(&c.G, v.Float("g"))
	given(&c.AlphaTimer, v.Time("alpha_timer"))
	given(&c.DecreaseInterval, v.Time("decrease_interval"))
	given(&c.IncreaseTimer, v.Time("increase_timer"))
	given(&c.AI, v.Rate("ai"))
	given(&c.HAI, v.Rate("hai"))
	given(&c.MinRate, v.Rate("min_rate"))
	if n := v.Int("fast_recovery"); n >= 0 {
		c.FastRecovery = n
	}
	if word := v.Text("reaction"); word != preset {
		c.Polled = word == "interval"
	}
	if word := v.Text("increase"); word == "timer" {
		c.ByteCounter = 0
	} else if word == "both" || c.ByteCounter > 0 {
		c.ByteCounter = v.Bytes("byte_counter")
	}
	if word := v.Text("clamp_target_rate"); word != preset {
		c.ClampTarget = word == "true"
	}
	return c
}

func given[T float64 | unit.Time | unit.Rate](to *T, x T) {
	if x > 0 {
		*to = x
	}
}

const longest = unit.Second // of all timers

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

// New makes the reaction point of a flow, which starts at its line rate (§3.1). The
// flow's LineRate must be known, and not be below MinRate.
func New(f cc.Flow, c Config) (*DCQCN, error) {
	switch {
	case f.LineRate <= 0:
		return nil, fmt.Errorf("cc dcqcn: the line rate is not known; line_rate gives it")
	case c.MinRate < 1 || c.MinRate > f.LineRate:
		return nil, fmt.Errorf("cc dcqcn: min_rate is %v; 1bps … %v, the line rate, are possible", c.MinRate, f.LineRate)
	case c.G <= 0 || c.G > 1:
		return nil, fmt.Errorf("cc dcqcn: g is %v; above 0 … 1 are possible", c.G)
	case c.AlphaTimer < 1 || c.AlphaTimer > longest || c.IncreaseTimer < 1 || c.IncreaseTimer > longest:
		return nil, fmt.Errorf("cc dcqcn: alpha_timer is %v, increase_timer %v; above 0s … %v are possible", c.AlphaTimer,
			c.IncreaseTimer, longest)
	case c.DecreaseInterval < 0 || c.DecreaseInterval > longest || c.Polled && c.DecreaseInterval < 1:
		return nil, fmt.Errorf("cc dcqcn: decrease_interval is %v; 0s … %v are possible, and with reaction interval it "+
			"must be above 0s", c.DecreaseInterval, longest)
	case c.AI < 1 || c.HAI < 1 || c.ByteCounter < 0 || c.FastRecovery < 0:
		return nil, fmt.Errorf("cc dcqcn: ai is %v, hai %v, byte_counter %v, fast_recovery %d; the first two must be above "+
			"0, the others not below", c.AI, c.HAI, c.ByteCounter, c.FastRecovery)
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
		d.alpha = (1-c.G)*d.alpha + c.G
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
	d.alpha *= 1 - c.G
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
