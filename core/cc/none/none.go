// Package none is no congestion control, to compare with: a fixed rate, the line rate
// if none is given, and a window if one is wanted.
package none

import (
	"fmt"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Config is what the flow does, whatever happens.
type Config struct {
	Rate    unit.Rate // of payload; 0: the flow's line rate
	Packets int       // most packets in flight; 0: any number
	cc.RateConfig
}

// Params binds the configuration.
func (c *Config) Params(p *scheme.Params) {
	p.Rate(&c.Rate, "rate", "0bps", "payload per second; 0bps: as the link takes it", "ours")
	p.Packets(&c.Packets, "packets", "0 packets", "most packets in flight; 0 packets: no bound", "ours")
	c.RateConfig.Params(p)
}

// Scheme is what an experiment names: cc: none.
func Scheme() cc.Scheme {
	return cc.Define(cc.Scheme{
		Scheme:      scheme.Scheme{Name: "none", Doc: "a fixed rate, whatever happens", Source: "ours"},
		OwnRecovery: true, KeepsOnSend: true,
	}, build)
}

func build(f cc.Flow, c Config) (cc.Controller, error) {
	f = c.Override(f)
	if c.Rate > 0 && f.LineRate > 0 && c.Rate > f.LineRate {
		return nil, fmt.Errorf("cc none: the rate, %v, is above the line rate, %v", c.Rate, f.LineRate)
	}
	k, err := c.Bound(New(f, c), f)
	if err != nil {
		return nil, fmt.Errorf("cc none: %w", err)
	}
	return k, nil
}

// None is the controller of one flow: it answers always the same.
type None struct{ decision cc.Decision }

// New makes the controller of a flow. Without a rate and a line rate the flow is not
// paced: its link is what holds it back.
func New(f cc.Flow, c Config) *None {
	n := &None{cc.Decision{Window: f.FreeWindow(), Rate: c.Rate, NextTimer: unit.Never}}
	if c.Rate == 0 {
		n.decision.Rate = f.LineRate
	}
	if c.Packets > 0 {
		n.decision.Window = unit.Bytes(min(c.Packets, cc.Unlimited)) * unit.Bytes(f.MSS)
	}
	return n
}

// OnSend does nothing.
func (*None) OnSend(unit.Time, cc.Sent) {}

// OnAck does nothing.
func (*None) OnAck(unit.Time, *cc.Ack) {}

// OnNotice does nothing.
func (*None) OnNotice(unit.Time, cc.Notice) {}

// OnLoss does nothing.
func (*None) OnLoss(unit.Time, cc.Loss) {}

// OnTimer is never called.
func (*None) OnTimer(unit.Time) {}

// Decision is the fixed rate and window.
func (n *None) Decision() cc.Decision { return n.decision }
