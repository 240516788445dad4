package transport

import (
	"weir/core/cc"
	"weir/core/unit"
)

// Control connects a sender with its congestion controller. It stores the latest decision, moves the pending send when
// the rate changes, and has the state of recovery that the controller is notified of.
type Control struct {
	Controller cc.Controller
	Decision   cc.Decision
	Pacer      Pacer
	KeepsNext  bool // a new rate does not move the pending send

	State   cc.RecoveryState
	Recover int64 // the state ends when the sender's acknowledged numbers reach it
	Gate    NackGate
	Reduces bool // NACKs of switches are losses (NacksLoss)
}

// Decide reads the controller's decision. A new rate moves the pending send: the gap after the latest packet becomes
// the gap at the new rate (HPCC simulator, with HPCC and PINT), unless KeepsNext.
func (c *Control) Decide() {
	old := c.Decision.Rate
	c.Decision = c.Controller.Decision()
	if c.Decision.Rate != old && !c.KeepsNext {
		c.Pacer.SetRate(c.Decision.Rate)
	}
}

// Advance calls the controller when its timer has expired.
func (c *Control) Advance(now unit.Time) {
	if c.Decision.NextTimer <= now {
		c.Controller.OnTimer(now)
		c.Decide()
	}
}

// Notify passes a notice of the network to the controller.
func (c *Control) Notify(now unit.Time, n cc.Notice) {
	c.Controller.OnNotice(now, n)
	c.Decide()
}

// Enter changes the state of recovery, and passes l to the controller. upTo is what Recover becomes. All but the end of
// a recovery counts as a reduction for NACKs.
func (c *Control) Enter(now unit.Time, state cc.RecoveryState, upTo int64, l cc.Loss) {
	c.State, c.Recover = state, upTo
	if l.Kind != cc.Recovered {
		c.Gate.Note(now)
	}
	c.Controller.OnLoss(now, l)
	c.Decide()
}

// AllowsReduction reports whether a NACK of a packet that was sent at a time reduces (NackGate), and notes the
// reduction.
func (c *Control) AllowsReduction(now, sent, rtt unit.Time) bool {
	return c.Reduces && c.Gate.Reduce(now, sent, rtt)
}

// NackLoss returns what a loss that a NACK reports is to the controller.
func (c *Control) NackLoss() cc.LossKind {
	if c.State == cc.Reduced {
		return cc.LossInReduction
	}
	return cc.FastRecovery
}

// Status returns the window and rate with what is in flight, as a sender shows them.
func (c *Control) Status(inFlight unit.Bytes) Gauge {
	return Gauge{Window: c.Decision.Window, InFlight: inFlight, Rate: c.Decision.Rate}
}
