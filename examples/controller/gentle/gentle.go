// Package gentle is an example of a controller: TCP's additive increase, and a decrease that leaves the share keep of
// the window, where Reno leaves half.
package gentle

import (
	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Config has the parameters of an experiment.
type Config struct{ Keep float64 }

// Params binds the options of gentle to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	p.Share(&c.Keep, "keep", "80%", "share of the window after a loss or a mark", "Weir").Min("10%").Max("99%")
}

// Scheme returns the scheme for experiments: cc: {gentle: {keep: 90%}}.
func Scheme() cc.Scheme {
	return cc.Define(cc.Scheme{Scheme: scheme.Scheme{Name: "gentle", Doc: "Reno with a smaller decrease", Source: "Weir"}},
		func(f cc.Flow, c Config) (*Gentle, error) { return &Gentle{window: cc.NewWindow(f), c: c}, nil })
}

// Gentle is the controller of one flow.
type Gentle struct {
	window cc.Window
	c      Config
}

// OnAck grows the window by a packet a round trip, and doubles it in slow start. The window stays in recovery and while
// it does not limit the sender.
func (g *Gentle) OnAck(_ unit.Time, a *cc.Ack) {
	if !a.Advanced || !a.Limited || a.Losses.State == cc.Reduced || a.Losses.State == cc.Recovery {
		return
	}
	acked := a.Packets
	if g.window.InSlowStart() {
		acked = g.window.SlowStart(acked)
	}
	if acked > 0 {
		g.window.AddAcked(float64(g.window.Packets), acked)
	}
}

// OnLoss reduces the window to the share keep.
func (g *Gentle) OnLoss(_ unit.Time, l cc.Loss) {
	g.window.HandleLoss(l, int(g.c.Keep*float64(g.window.Packets)))
}

// OnSend has no effect.
func (g *Gentle) OnSend(unit.Time, cc.Sent) {}

// OnNotice has no effect: the controller does not use notices of switches.
func (g *Gentle) OnNotice(unit.Time, cc.Notice) {}

// OnTimer is never called: Decision sets no timer.
func (g *Gentle) OnTimer(unit.Time) {}

// Decision returns the window.
func (g *Gentle) Decision() cc.Decision { return g.window.Decision() }
