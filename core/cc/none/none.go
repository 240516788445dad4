// Package none is a sender without congestion control, for comparison: a fixed rate, by default the line rate, and an
// optional window.
package none

import (
	"fmt"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Config holds the fixed rate and window of a flow.
type Config struct {
	Rate    unit.Rate // of payload; 0: the flow's line rate
	Packets int       // max packets in flight; 0: any number
	cc.RateConfig
}

// Params binds the options of scheme none to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	p.Rate(&c.Rate, "rate", "0bps", "rate of payload; 0bps: the rate at which the link accepts packets", "Weir")
	p.Packets(&c.Packets, "packets", "0 packets", "maximum packets in flight; 0 packets: no limit", "Weir")
	c.RateConfig.Params(p)
}

// Scheme returns the scheme of cc: none.
func Scheme() cc.Scheme {
	return cc.Define(cc.Scheme{
		Scheme:      scheme.Scheme{Name: "none", Doc: "fixed rate without congestion control", Source: "Weir"},
		OwnRecovery: true, KeepsOnSend: true,
	}, buildController)
}

// buildController returns the controller of a flow, within the bandwidth-delay window of c.Window if it has one. c's
// line rate and base RTT, if given, replace the flow's. It fails for a rate above the line rate, and for a window
// without a line rate, a base RTT or an MSS.
func buildController(f cc.Flow, c Config) (cc.Controller, error) {
	f = c.ApplyTo(f)
	if c.Rate > 0 && f.LineRate > 0 && c.Rate > f.LineRate {
		return nil, fmt.Errorf("cc none: the rate, %v, is above the line rate, %v", c.Rate, f.LineRate)
	}
	k, err := c.WrapController(New(f, c), f)
	if err != nil {
		return nil, fmt.Errorf("cc none: %w", err)
	}
	return k, nil
}

// None is the controller of one flow. Its decision never changes.
type None struct{ decision cc.Decision }

// New returns the controller of a flow. Without a rate and a line rate the flow is not paced, and only its link
// limits it.
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

// OnSend ignores sent packets.
func (*None) OnSend(unit.Time, cc.Sent) {}

// OnAck ignores acknowledgements.
func (*None) OnAck(unit.Time, *cc.Ack) {}

// OnNotice ignores notices.
func (*None) OnNotice(unit.Time, cc.Notice) {}

// OnLoss ignores losses.
func (*None) OnLoss(unit.Time, cc.Loss) {}

// OnTimer is never called.
func (*None) OnTimer(unit.Time) {}

// Decision returns the fixed rate and window.
func (n *None) Decision() cc.Decision { return n.decision }
