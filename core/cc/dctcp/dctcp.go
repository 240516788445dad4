// Package dctcp is Data Center TCP (RFC 8257). Its window falls in proportion to the share of marked packets.
package dctcp

import (
	"weir/core/cc"
	"weir/core/cc/reno"
	"weir/core/scheme"
	"weir/core/unit"
)

// Config holds the parameters of RFC 8257.
type Config struct {
	G            float64 // weight of a new share in DCTCP.Alpha
	InitialAlpha float64
	SlowStart    bool // false: the first window is one of congestion avoidance
}

// Params binds the options of dctcp to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	p.Share(&c.G, "g", "6.25%", "weight of a new sample in the average share of marks, g; smaller: the window follows "+
		"changes of the marking later, but varies less",
		"RFC 8257 §4.2").Min("0%").Max("100%")
	p.Share(&c.InitialAlpha, "initial_alpha", "100%", "initial average share of marks, alpha; 100%: the first mark "+
		"halves the window; lower it so that short flows do not slow down at their first mark",
		"RFC 8257 §4.2").Min("0%").Max("100%")
	p.Bool(&c.SlowStart, "slow_start", "true",
		"begin with slow start; false: begin in congestion avoidance with the initial window",
		"RFC 8257 §3; HPCC §5.1: no slow start, begins at line rate")
}

// warnUnmarked is issued where the controller reacts to losses only.
var warnUnmarked = scheme.WarningKind{ID: "dctcp-unmarked",
	Condition: "packets can be lost and no switch marks packets"}

// Check warns of paths with losses but without marks.
func (c *Config) Check(s *cc.FlowContext) []scheme.Remark {
	if p := s.FindPath(func(p *cc.FlowPath) bool { return p.WhyUnmarked != "" && p.WhyLossless == "" }); p != nil {
		return []scheme.Remark{warnUnmarked.NewRemark("", "%s, so it reacts to losses only, as reno does", p.WhyUnmarked).
			WithPort(p.NarrowLink.Port, 0)}
	}
	return nil
}

// Scheme returns the scheme of cc: dctcp.
func Scheme() cc.Scheme {
	return cc.Define(cc.Scheme{
		Scheme: scheme.Scheme{Name: "dctcp", Doc: "window that shrinks by the share of ECN marks", Source: "RFC 8257",
			Warnings: []scheme.WarningKind{warnUnmarked}},
		Signals: cc.ByLosses | cc.ByMarks, KeepsOnSend: true,
		ECN:    cc.DCTCPMode,
		Kernel: "dctcp",
	}, func(f cc.Flow, c Config) (*DCTCP, error) { return New(f, c), nil })
}

// DCTCP is the controller of one flow.
type DCTCP struct {
	window       cc.Window
	g            float64
	alpha        float64 // DCTCP.Alpha
	windowEnd    int64   // DCTCP.WindowEnd: sequence number
	hasWindowEnd bool
	oldDelivered int64 // delivered packets at the window's start
	oldMarked    int64
}

// New returns the controller of a flow, in slow start only with c.SlowStart.
func New(f cc.Flow, c Config) *DCTCP {
	d := &DCTCP{window: cc.NewWindow(f), g: c.G, alpha: c.InitialAlpha}
	if !c.SlowStart {
		d.window.Threshold = d.window.Packets
	}
	return d
}

// OnSend ignores sent packets.
func (d *DCTCP) OnSend(unit.Time, cc.Sent) {}

// OnAck counts marks and grows the window as Reno does (RFC 8257 §3.3). Once a window of data it updates the average,
// Alpha = Alpha·(1 − g) + g·M, with M the share of packets acknowledged with an echo (RFC 8257 §3.3 steps 5 to 8).
func (d *DCTCP) OnAck(_ unit.Time, a *cc.Ack) {
	reno.GrowWindow(&d.window, a)
	if !d.hasWindowEnd {
		d.hasWindowEnd = true
		d.windowEnd = a.Next
		return
	}
	if a.FirstUnacked < d.windowEnd { // as in Linux; RFC 8257 §3.3 step 5 goes on a byte later
		return
	}
	if delivered := a.Delivered - d.oldDelivered; delivered > 0 {
		d.alpha = min(1, float64(d.alpha*(1-d.g))+d.g*float64(a.ECN.Delivered-d.oldMarked)/float64(delivered))
	}
	d.oldDelivered, d.oldMarked, d.windowEnd = a.Delivered, a.ECN.Delivered, a.Next
}

// Alpha returns the average share of marks.
func (d *DCTCP) Alpha() float64 { return d.alpha }

// OnNotice ignores notices.
func (d *DCTCP) OnNotice(unit.Time, cc.Notice) {}

// OnLoss reduces the window by Alpha/2 after an echo or a warning (RFC 8257 §3.3 step 9), and by half after a loss (RFC
// 8257 §3.5). A timeout, a spurious loss and an idle time act as in cc.Window.HandleLoss.
func (d *DCTCP) OnLoss(_ unit.Time, l cc.Loss) {
	w := &d.window
	to := w.Packets / 2
	switch l.Kind {
	case cc.ECNEcho, cc.Warned:
		to = w.Packets - int(float64(w.Packets)*d.alpha/2)
	case cc.LossInReduction: // dctcp_react_to_loss
		l.Kind = cc.FastRecovery
	}
	w.HandleLoss(l, to)
}

// OnTimer is never called.
func (d *DCTCP) OnTimer(unit.Time) {}

// Decision returns the window.
func (d *DCTCP) Decision() cc.Decision { return d.window.Decision() }
