// Package aimd is a congestion controller with two free parameters: TCP's AIMD adds a packet per round trip, and
// halves.
package aimd

import (
	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Config has a field for each parameter.
type Config struct {
	Add  float64
	Keep float64
}

// Params binds each field to its parameter: name, default, text, source.
func (c *Config) Params(p *scheme.Params) {
	p.Float(&c.Add, "add", "1", "growth of the window per round trip [packets]", "Weir").Min("0.01").Max("100")
	p.Share(&c.Keep, "keep", "70%", "share of the window after a loss or a mark", "Weir").Min("10%").Max("99%")
}

// Scheme returns the scheme for experiments: cc: {aimd: {keep: 85%}}.
func Scheme() cc.Scheme {
	return cc.Define(cc.Scheme{
		Scheme: scheme.Scheme{Name: "aimd", Doc: "additive increase, multiplicative decrease at a loss", Source: "Weir"},
	}, func(f cc.Flow, c Config) (*AIMD, error) { return &AIMD{window: cc.NewWindow(f), c: c}, nil })
}

// AIMD is the controller of one flow.
type AIMD struct {
	window cc.Window // the arithmetic that Reno, CUBIC and DCTCP share
	c      Config
}

// OnAck grows the window, except in recovery and while the window does not limit the sender.
func (x *AIMD) OnAck(_ unit.Time, a *cc.Ack) {
	if !a.Advanced || !a.Limited || a.Losses.State == cc.Reduced || a.Losses.State == cc.Recovery {
		return
	}
	acked := a.Packets
	if x.window.InSlowStart() {
		acked = x.window.SlowStart(acked)
	}
	if acked > 0 {
		x.window.AddAcked(float64(x.window.Packets)/x.c.Add, acked)
	}
}

// OnLoss reduces the window, for losses and for marks.
func (x *AIMD) OnLoss(_ unit.Time, l cc.Loss) {
	x.window.HandleLoss(l, int(x.c.Keep*float64(x.window.Packets)))
}

// OnSend has no effect: the window alone controls.
func (x *AIMD) OnSend(unit.Time, cc.Sent) {}

// OnNotice has no effect: notices of switches are left to the transport.
func (x *AIMD) OnNotice(unit.Time, cc.Notice) {}

// OnTimer is never called: Decision sets no timer.
func (x *AIMD) OnTimer(unit.Time) {}

// Decision returns the window. A controller with a rate would return it here.
func (x *AIMD) Decision() cc.Decision { return x.window.Decision() }
