package transport

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// Control connects a sender with its congestion controller. It stores the latest decision, moves the pending send when
// the rate changes, and stores the state of recovery that it reports to the controller.
type Control struct {
	Controller cc.Controller
	Decision   cc.Decision
	Pacer      Pacer
	RecoverTo  int64 // the state ends when the sender's acknowledged numbers reach it
	Gate       NackGate
	State      cc.RecoveryState

	KeepsNext   bool // a new rate does not move the pending send
	ExtendsGaps bool // the sender calls Pacer.ExtendGap; without it Pacer.RecordSend
	Reduces     bool // NACKs of switches count as losses (NacksLoss)
	ShutsGate   bool // a warning shuts the gate even if the controller does not reduce (HandleWarning)
}

// ReadDecision reads the controller's decision. A sender calls it after each call into the controller; the other
// methods call it themselves. A new rate moves the pending send, unless KeepsNext: the gap after the latest packet
// becomes the gap at the new rate (HPCC simulator, with HPCC and PINT).
func (c *Control) ReadDecision() {
	old := c.Decision.Rate
	c.Decision = c.Controller.Decision()
	switch rate := c.Decision.Rate; {
	case rate == old || c.KeepsNext:
	case c.ExtendsGaps:
		c.Pacer.StretchGap(old, rate)
	default:
		c.Pacer.SetRate(rate)
	}
}

// RunTimer calls the controller if its timer has expired at now, and reads its new decision.
func (c *Control) RunTimer(now unit.Time) {
	if c.Decision.NextTimer <= now {
		c.Controller.OnTimer(now)
		c.ReadDecision()
	}
}

// NotifyController passes a notice of the network to the controller.
func (c *Control) NotifyController(now unit.Time, n cc.Notice) {
	c.Controller.OnNotice(now, n)
	c.ReadDecision()
}

// EnterState sets the state of recovery and RecoverTo, and passes l to the controller. Every loss but the end of a
// recovery counts as a reduction for NACKs.
func (c *Control) EnterState(now unit.Time, state cc.RecoveryState, upTo int64, l cc.Loss) {
	c.State, c.RecoverTo = state, upTo
	if l.Kind != cc.Recovered {
		c.Gate.RecordReduction(now)
	}
	c.ReportLoss(now, l)
}

// ReportLoss passes l to the controller. The state of recovery does not change.
func (c *Control) ReportLoss(now unit.Time, l cc.Loss) {
	c.Controller.OnLoss(now, l)
	c.ReadDecision()
}

// AllowsReduction reports whether a NACK of a packet that was sent at the time sent reduces (NackGate). Without Reduces
// it is false. It records the reduction in that case.
func (c *Control) AllowsReduction(now, sent, rtt unit.Time) bool {
	return c.Reduces && c.Gate.AllowReduction(now, sent, rtt)
}

// NackLoss returns the kind of loss by which the controller learns of a NACK that reports a loss: LossInReduction in
// the state Reduced, else FastRecovery.
func (c *Control) NackLoss() cc.LossKind {
	if c.State == cc.Reduced {
		return cc.LossInReduction
	}
	return cc.FastRecovery
}

// AcceptedNack is a NACK of the network that a sender has accepted: it is about a packet in flight.
type AcceptedNack struct {
	Notice cc.Notice // for the controller (NackNotice)
	Sent   unit.Time // when the packet was sent
	RTT    unit.Time // round-trip time of the flow; 0: unknown
	UpTo   int64     // number that ends the state if the NACK reduces (Control.RecoverTo)
	Loss   cc.Loss   // the sender's counts, with the losses that the NACK reports; Control sets Kind
}

// NackNotice returns the controller's notice of NACK n, which is about the packet with sequence number seq and reports
// that lost bytes of payload are lost.
func NackNotice(n *packet.Notification, seq int64, lost unit.Bytes) cc.Notice {
	return cc.Notice{Kind: cc.NackNotice, Seq: seq, Lost: lost, Supply: n.Supply, Demand: n.Demand}
}

// HandleWarning handles a NACK that reports no loss: the flow is an elephant. It notifies the controller. In the state
// Open it also reduces, once a round trip. A controller may reduce neither its window nor its rate then, such as DCTCP
// without a history of marks. The gate stays open in that case, so that losses still reduce, unless ShutsGate.
func (c *Control) HandleWarning(now unit.Time, n AcceptedNack) {
	c.NotifyController(now, n.Notice)
	if c.State != cc.Open || !c.AllowsReduction(now, n.Sent, n.RTT) {
		return
	}
	before := c.Decision
	n.Loss.Kind = cc.Warned
	c.EnterState(now, cc.Reduced, n.UpTo, n.Loss)
	if c.Decision.Window >= before.Window && c.Decision.Rate >= before.Rate && !c.ShutsGate {
		c.Gate.Reopen()
	}
}

// HandleNackLosses handles a NACK that reports losses: it notifies the controller, and enters the state Recovery, at
// most once a round trip.
func (c *Control) HandleNackLosses(now unit.Time, n AcceptedNack) {
	c.NotifyController(now, n.Notice)
	if c.AllowsReduction(now, n.Sent, n.RTT) {
		n.Loss.Kind = c.NackLoss()
		c.EnterState(now, cc.Recovery, n.UpTo, n.Loss)
	}
}

// Gauge returns the window and rate of the latest decision, and inFlight, as a sender's Gauge.
func (c *Control) Gauge(inFlight unit.Bytes) Gauge {
	return Gauge{Window: c.Decision.Window, InFlight: inFlight, Rate: c.Decision.Rate}
}
