// Package none is no congestion control, to compare with: a fixed rate, the line rate
// if none is given, and a window if one is wanted.
package none

import (
	"fmt"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Scheme is what an experiment names: cc: none.
func Scheme() cc.Scheme {
	return cc.Scheme{
		Scheme: scheme.Scheme{Name: "none", Doc: "a fixed rate, whatever happens", Source: "ours",
			Params: append([]scheme.Param{
				{Name: "rate", Kind: scheme.Rate, Default: "0bps", Doc: "payload per second; 0bps: as the link takes it",
					Source: "ours"},
				{Name: "packets", Kind: scheme.Packets, Default: "0 packets", Doc: "most packets in flight; 0 packets: no bound",
					Source: "ours"},
			}, cc.RateParams()...)},
		OwnRecovery: true,
		Build: func(f cc.Flow, v scheme.Values) (cc.Controller, error) {
			f = f.WithPath(v)
			if r := v.Rate("rate"); r > 0 && f.LineRate > 0 && r > f.LineRate {
				return nil, fmt.Errorf("cc none: the rate, %v, is above the line rate, %v", r, f.LineRate)
			}
			c, err := cc.Bound(New(f, v.Rate("rate"), v.Int("packets")), f, v.Text("window"))
			if err != nil {
				return nil, fmt.Errorf("cc none: %w", err)
			}
			return c, nil
		},
	}
}

// None is the controller of one flow: it answers always the same.
type None struct{ decision cc.Decision }

// New makes the controller of a flow with a rate of payload, 0 for the flow's line
// rate, and so many packets in flight, 0 for any number. Without both rates the flow
// is not paced: its link is what holds it back.
func New(f cc.Flow, rate unit.Rate, packets int) *None {
	n := &None{cc.Decision{Window: f.FreeWindow(), Rate: rate, NextTimer: unit.Never}}
	if rate == 0 {
		n.decision.Rate = f.LineRate
	}
	if packets > 0 {
		n.decision.Window = unit.Bytes(min(packets, cc.Unlimited)) * unit.Bytes(f.MSS)
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
