// Package swift is Swift (Kumar et al., Swift: Delay is Simple and Effective for Congestion Control in the
// Datacenter, SIGCOMM'20). It is AIMD on the distance between the measured delay and a target, which grows with the
// path's length and with the number of flows that share it.
//
// Swift has two windows, one for the fabric's delay and one for the hosts', and uses the smaller. A simulated host
// adds no delay except in its queue. The RTT, from the transport's sending to the ACK's arrival, counts as fabric
// delay. The endpoint delay is 0, so its window is always the largest one and is omitted. The RTT includes the time
// in which the receiver's NIC acknowledges (nic_ack_delay of rdma). Swift's receiver echoes the delay of its host,
// and the sender subtracts it; a target that is higher by that time has the same effect. The RTT also includes the
// wait in the sender's own port, which Swift's NIC timestamps exclude. If a flow keeps that queue empty by pacing or
// its window, the results are equal.
//
// The paper leaves parameters unpublished. The defaults are from the simulator csg-htsim, with guesses by its
// authors, or chosen for Weir.
package swift

import (
	"fmt"
	"math"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Config holds the parameters of algorithm 1 and of the target delay (Swift §3.5). Windows are in packets.
type Config struct {
	BaseTarget     unit.Time // base target delay
	HopDelay       unit.Time // ħ, target delay a hop
	Hops           int       // switches on the path; 0: the flow's
	Range          unit.Time // fs_range: max addition of flow scaling; 0: off
	FlowMin        float64   // fs_min_cwnd: window at which it adds all of it
	FlowMax        float64   // fs_max_cwnd: window from which it adds 0
	AI             float64   // additive increase a round trip
	Beta           float64   // β, multiplicative decrease
	MaxDecrease    float64   // max_mdf
	MinWindow      float64   // min_cwnd
	MaxWindow      float64   // max_cwnd
	InitialWindow  int       // 0: the flow's
	ResetThreshold int       // RETX_RESET_THRESHOLD: timeouts in a row that reset the window
}

// Params binds the options of swift to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	p.Time(&c.BaseTarget, "base_target", "20us", "base target delay, of a path without hops; raise it on paths with "+
		"long delays of hosts, lower it for shorter queues",
		"csg-htsim").Min("1ps").Max("1s")
	p.Time(&c.HopDelay, "hop_delay", "3053ns", "target delay that each hop adds; 0s: no topology scaling",
		"csg-htsim: base target / 6.55").Max("1s")
	p.Int(&c.Hops, "hops", "0", "number of switches on the path; 0: the number on the flow's path",
		"Swift §3.5").Min("0").Max("255").
		When("hop_delay above 0s", func() bool { return c.HopDelay > 0 })
	p.Time(&c.Range, "fs_range", "100us", "maximum target delay that flow scaling adds; 0s: no flow scaling",
		"csg-htsim: 5 base targets").Max("1s")
	p.Float(&c.FlowMin, "fs_min_cwnd", "0.1", "window at which flow scaling adds its maximum [packets]",
		"csg-htsim").Min("0.0001").Max("1000000").
		When("fs_range above 0s", func() bool { return c.Range > 0 })
	p.Float(&c.FlowMax, "fs_max_cwnd", "100", "window from which flow scaling adds no delay [packets]",
		"csg-htsim").Min("0.0001").Max("1000000").
		When("fs_range above 0s", func() bool { return c.Range > 0 })
	p.Float(&c.AI, "ai", "1", "additive increase [packets per round trip]; raise it to reach a fair share sooner, "+
		"lower it if many flows share a link, since each adds this to the queue", "csg-htsim").Min("0.0001").Max("1000")
	p.Share(&c.Beta, "beta", "80%", "multiplicative decrease, beta: factor of the delay's relative excess over the "+
		"target", "csg-htsim").Min("0%").Max("100%")
	p.Share(&c.MaxDecrease, "max_mdf", "50%", "maximum decrease at one time, as a share of the window; it limits what "+
		"one long delay costs",
		"csg-htsim").Min("0%").Max("99%")
	p.Float(&c.MinWindow, "min_cwnd", "0.01", "minimum window [packets]; below 1 it is a pacing rate; lower it for "+
		"incasts of more flows", "Weir").Min("0.0001").Max("1000")
	p.Float(&c.MaxWindow, "max_cwnd", "1000", "maximum window [packets]; raise it for paths whose bandwidth-delay "+
		"product is longer", "csg-htsim").Min("1").Max("1000000")
	p.Packets(&c.InitialWindow, "initial_window", "0 packets", "initial window; 0 packets: the initial window of the "+
		"transport", "Weir")
	p.Int(&c.ResetThreshold, "retx_reset_threshold", "5", "consecutive timeouts after which the window is set to its "+
		"minimum", "csg-htsim").Min("1").Max("1000")

	p.AddRule("fs_min_cwnd", func() error {
		if c.FlowMin >= c.FlowMax {
			return fmt.Errorf("%v is not below fs_max_cwnd, which is %v", c.FlowMin, c.FlowMax)
		}
		return nil
	})
	p.AddRule("min_cwnd", func() error {
		if c.MinWindow > c.MaxWindow {
			return fmt.Errorf("%v is above max_cwnd, which is %v", c.MinWindow, c.MaxWindow)
		}
		return nil
	})
}

// Defaults returns csg-htsim's parameters (swift.cpp), except for MinWindow.
func Defaults() Config { return scheme.Defaults[Config]() }

// Kinds of warnings.
var (
	warnTarget = scheme.WarningKind{ID: "swift-target",
		Condition: "the target of a large window is not above the round trip of a path without queues"}
	warnMaxWindow = scheme.WarningKind{ID: "swift-max-cwnd",
		Condition: "max_cwnd is below 95 % of a round trip of a path at its slowest link"}
)

// Check warns of a target that the path exceeds without queues, and of a window that does not fill the path.
func (c *Config) Check(s *cc.FlowContext) (all []scheme.Remark) {
	var worst *cc.FlowPath // by how far its round trip exceeds the target
	var target, excess unit.Time
	for i := range s.Paths {
		p := &s.Paths[i]
		hops := c.Hops
		if hops == 0 {
			hops = p.Hops
		}
		t := c.BaseTarget + unit.Time(hops)*c.HopDelay
		if above := p.BaseRTT - t; above >= 0 && (worst == nil || above > excess) {
			worst, target, excess = p, t, above
		}
	}
	if worst != nil {
		all = append(all, warnTarget.NewRemark("base_target",
			"the target of a large window, %v, is not above %v, the round trip of a path of %d switches without queues (%s), "+
				"so windows always shrink there", target, worst.BaseRTT.RoundRough(), worst.Hops, worst.Name))
	}
	return append(all, s.WarnSmallWindow(warnMaxWindow, "max_cwnd", fmt.Sprintf("%v packets are", c.MaxWindow),
		c.MaxWindow*float64(s.MSS), 0.95)...)
}

// Scheme returns the scheme of cc: swift.
func Scheme() cc.Scheme {
	return cc.Define(cc.Scheme{
		Scheme: scheme.Scheme{Name: "swift", Doc: "window with additive increase and multiplicative decrease towards a " +
			"target delay",
			Source: "Swift (Kumar et al., SIGCOMM 2020)", Warnings: []scheme.WarningKind{warnTarget, warnMaxWindow}},
		Signals: cc.ByDelay | cc.ByLosses, KeepsOnSend: true,
		OwnRecovery: true,
	}, New)
}

// Swift is the controller of one flow.
type Swift struct {
	config      Config
	mss         float64
	fixedTarget float64 // target delay without flow scaling [ps]
	alpha, beta float64 // of flow scaling [ps]

	window       float64   // cwnd [packets]
	rtt          unit.Time // the last sample
	decreasedAt  unit.Time // t_last_decrease
	hasDecreased bool      // it has decreased at least once
	timeouts     int       // retransmit_cnt
}

// New returns the controller of a flow. With a HopDelay it needs the number of hops, from c or from the flow's path,
// where 0 means one link. It fails if the number is not known.
func New(f cc.Flow, c Config) (*Swift, error) {
	if c.Hops == 0 {
		c.Hops = f.Hops
	}
	if c.HopDelay > 0 && c.Hops < 1 && f.BaseRTT == 0 {
		return nil, fmt.Errorf("cc swift: the number of hops is not known; hops gives it, and hop_delay: 0s does without it")
	}
	if c.InitialWindow == 0 {
		c.InitialWindow = f.InitialWindow
	}
	s := &Swift{config: c, mss: float64(f.MSS), window: min(max(float64(c.InitialWindow), c.MinWindow), c.MaxWindow)}
	s.fixedTarget = float64(c.BaseTarget) + float64(float64(c.Hops)*float64(c.HopDelay))
	s.alpha = float64(c.Range) / (1/math.Sqrt(c.FlowMin) - 1/math.Sqrt(c.FlowMax))
	s.beta = -s.alpha / math.Sqrt(c.FlowMax)
	return s, nil
}

// Window returns the congestion window in packets. Below 1 it acts as a rate.
func (s *Swift) Window() float64 { return s.window }

// TargetDelay returns the target delay in picoseconds for the current window: t = base target + hops·ħ + max(0,
// min(α/√cwnd + β, fs_range)), with α = fs_range/(1/√fs_min_cwnd − 1/√fs_max_cwnd) and β = −α/√fs_max_cwnd (Swift
// §3.5).
func (s *Swift) TargetDelay() float64 {
	return s.fixedTarget + max(0, min(s.alpha/math.Sqrt(s.window)+s.beta, float64(s.config.Range)))
}

// OnSend ignores sent packets.
func (s *Swift) OnSend(unit.Time, cc.Sent) {}

// OnAck applies algorithm 1's receipt of an ACK. Below the target delay the window grows by ai packets a round trip,
// else it falls by β times the excess' share of the delay.
func (s *Swift) OnAck(now unit.Time, a *cc.Ack) {
	s.timeouts = 0
	if a.RTT.Sample <= 0 {
		return
	}
	s.rtt = a.RTT.Sample
	before := s.window
	delay, target := float64(a.RTT.Sample), s.TargetDelay()
	switch {
	case delay < target && s.window >= 1:
		s.window += float64(s.config.AI / s.window * float64(a.Packets))
	case delay < target:
		s.window += float64(s.config.AI * float64(a.Packets))
	case s.canDecrease(now):
		s.window *= max(1-s.config.Beta*(delay-target)/delay, 1-s.config.MaxDecrease)
	}
	s.clampWindow(now, before)
}

// canDecrease reports whether a round trip has passed since the last decrease.
func (s *Swift) canDecrease(now unit.Time) bool { return !s.hasDecreased || now-s.decreasedAt >= s.rtt }

// clampWindow is the end of algorithm 1. It limits the window and records the time of a decrease, which means that
// the window is smaller than before. Some ports of the algorithm use "not larger". Then each ACK that leaves the
// window unchanged would delay the next decrease by a round trip, and a congested flow with a steady stream of ACKs
// would never decrease again.
func (s *Swift) clampWindow(now unit.Time, before float64) {
	s.window = min(max(s.window, s.config.MinWindow), s.config.MaxWindow)
	if s.window < before {
		s.decreasedAt, s.hasDecreased = now, true
	}
}

// OnNotice ignores notices.
func (s *Swift) OnNotice(unit.Time, cc.Notice) {}

// OnLoss applies algorithm 1's fast recovery and retransmission timeout: a decrease by max_mdf, once a round trip.
// After ResetThreshold timeouts in a row the window is the minimum window.
func (s *Swift) OnLoss(now unit.Time, l cc.Loss) {
	before := s.window
	switch l.Kind {
	case cc.FastRecovery:
		s.timeouts = 0
	case cc.RetransmissionTimeout:
		if s.timeouts++; s.timeouts >= s.config.ResetThreshold {
			s.window = s.config.MinWindow
			s.clampWindow(now, before)
			return
		}
	default:
		return
	}
	if s.canDecrease(now) {
		s.window *= 1 - s.config.MaxDecrease
	}
	s.clampWindow(now, before)
}

// OnTimer is never called.
func (s *Swift) OnTimer(unit.Time) {}

// Decision returns the window. Below one packet it is one packet with a pacing delay of rtt/cwnd a packet, expressed
// as a rate.
func (s *Swift) Decision() cc.Decision {
	d := cc.Decision{Window: unit.Bytes(max(s.window, 1) * s.mss), NextTimer: unit.Never}
	if s.window < 1 && s.rtt > 0 {
		d.Rate = max(unit.Rate(s.window*s.mss*8/s.rtt.Seconds()), 1)
	}
	return d
}
