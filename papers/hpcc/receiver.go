package hpcc

import (
	"errors"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// Receiver is Rx-HPCC for one flow at its receiver (draft-miao §6.2, lines 28 to 34). It computes the
// window and sends it to the sender once per T. We fill the draft's gaps so:
//
//   - Lines 28 to 34 never store L and never set R. Both happen at each packet with records, as in line 27 at
//     the sender.
//   - lastUpdateTime has no initial value. It is the time of the first records, which are only stored. A flow
//     shorter than T gets no window and needs none: it starts with W_init, one T at line rate.
//   - Line 29 has T, which is a round trip without queues. A window takes that time and the queues' to show: its
//     first packet joins the queues T after the feedback, and waits there. So the time between commits is T and
//     what the last records within T of the feedback say is queued. Later records say less, since a sender that
//     was cut sends nothing until the queue has drained: by theirs, senders are cut again half way, for the same
//     queue, come back with a packet or two, and open too far, for ever (queues of 0 to 800 kB, at 91 % of the
//     link). With T alone, first windows of 16 flows are cut seven times before the first cut shows. Without
//     queues it is T, as in the draft (TestReceiverOvershoot, TestReceiverDrains). What is left is line 29's own: at
//     T, U still remembers the time before, so that a link which falls idle at once fills a little too far, once.
//   - No packets, no feedback. If a window has changed since the last feedback, OnTimer sends it two such times
//     after that, so that a sender that pauses does not resume with an old one.
//   - Ordinary acknowledgements carry a window too (Feedback): the last one sent, not line 34's. So the
//     sender's window moves once per T only (§6.1, guideline 1), and the next acknowledgement makes up for lost
//     feedback.
//   - A W below one packet is sent as it is; the sender then keeps one packet in flight, paced at R = W/T.
//     Coalesce limits delayed acknowledgements, so that a window never waits for a single one.
type Receiver struct {
	law
	lastUpdateTime unit.Time
	queueing       unit.Time // that the first packet of the last window meets
	changed        bool      // W, since the last feedback
	feedback       cc.Feedback
	census         *cc.Census
	member         cc.Member

	plain         bool // of preset Agent: nothing but what ordinary acknowledgements carry
	now, recorded unit.Time
	bare          int // packets since the last with records
}

var errNoT = errors.New("hpcc: a receiver cannot measure the base round-trip time: t must be given, or " +
	"known of the path")

// NewReceiver makes the receiver's part of a flow. f is the sender's flow; c or f must give T, since a
// receiver cannot measure it. census counts the host's flows, if c wants that; it may be nil.
func NewReceiver(f cc.Flow, c Config, census *cc.Census) (*Receiver, error) {
	if c.Preset == Agent {
		return newAgentReceiver(f, c)
	}
	l, err := newLaw(f, c)
	if err != nil {
		return nil, err
	}
	if l.t == 0 {
		return nil, errNoT
	}
	r := &Receiver{law: l, census: census}
	r.feedback = r.newFeedback()
	return r, nil
}

// OnData is NewINT, lines 28 to 34, for a packet with records or without. It returns feedback and whether
// to send it at once.
func (r *Receiver) OnData(now unit.Time, d *cc.Telemetry) (cc.Feedback, bool) {
	counted := 0
	if r.plain {
		r.came(now, d)
	}
	if r.census != nil && r.config.Census {
		r.census.Count(now, r.t, &r.member)
		counted = r.census.Flows(&r.member)
	}
	commit := now > r.lastUpdateTime+r.t+r.queueing // line 29
	switch r.newRecords(now, d, commit) {
	case unusable:
		return r.feedback, false
	case firstRecords:
		r.lastUpdateTime, r.queueing = now, queueing(d)
		return r.feedback, false
	}
	if commit || now <= r.lastUpdateTime+r.t {
		r.queueing = queueing(d)
	}
	r.updateIncrease(d, counted)
	if !commit { // line 34
		r.changed = true
		return r.feedback, false
	}
	return r.sendFeedback(now), !r.plain // lines 31, 32
}

// queueing is the time that a packet waits which joins the queues of the path as a packet's records tell them.
func queueing(p *cc.Telemetry) (t unit.Time) {
	for i := range p.Hops {
		if h := &p.Hops[i]; h.Rate > 0 {
			t += unit.Time(float64(h.Queue) * 8e12 / float64(h.Rate))
		}
	}
	return t
}

func (r *Receiver) sendFeedback(now unit.Time) cc.Feedback {
	r.lastUpdateTime, r.changed = now, false
	r.feedback = r.newFeedback()
	return r.feedback
}

func (r *Receiver) newFeedback() cc.Feedback {
	return cc.Feedback{Window: max(unit.Bytes(r.w), 1), Flows: r.flows}
}

// NextTimer is when to call OnTimer; unit.Never if there is nothing to send.
func (r *Receiver) NextTimer() unit.Time {
	if !r.changed || r.plain {
		return unit.Never
	}
	return r.lastUpdateTime + 2*(r.t+r.queueing)
}

// OnTimer commits, and returns a window for which no packet caused feedback.
func (r *Receiver) OnTimer(now unit.Time) (cc.Feedback, bool) {
	if now < r.NextTimer() {
		return r.feedback, false
	}
	r.updateWindow(now, true)
	return r.sendFeedback(now), true
}

// Feedback is the feedback that an ordinary acknowledgement carries.
func (r *Receiver) Feedback() cc.Feedback {
	if r.silent() {
		return cc.Feedback{}
	}
	return r.feedback
}

// Coalesce is the number of packets that an acknowledgement may wait for, limited to most: half of the
// window last sent, and at least one.
func (r *Receiver) Coalesce(most int) int {
	if r.plain {
		return most
	}
	return max(1, min(most, int(r.feedback.Window/unit.Bytes(r.flow.MSS)/2)))
}

// Close removes the flow from the count.
func (r *Receiver) Close() {
	if r.census != nil {
		r.census.Leave(&r.member)
	}
}

// Follower is the sender of a flow whose receiver controls it.
type Follower struct{ window }

// RxConfig configures Rx-HPCC: Config without Mode and Sojourn.
type RxConfig struct{ Config }

// Params binds the configuration.
func (c *RxConfig) Params(p *scheme.Params) { c.law(p, presets); c.census(p, "on") }

// Counts is nothing: the receiver's part counts by itself.
func (c *RxConfig) Counts(cc.Flow) unit.Time { return 0 }

// RxScheme is what an experiment names: cc: rx_hpcc. The transport runs a Receiver at
// the other end.
func RxScheme() cc.Scheme {
	return cc.DefineReceiver(cc.Scheme{
		Scheme: scheme.Scheme{Name: "rx_hpcc", Doc: "HPCC++ at the receiver, which tells the window",
			Source:   "draft-miao-iccrg-hpccplus-01 §6.2",
			Warnings: append([]scheme.WarningKind{warnAgentSilent}, windowWarnings...)},
		OwnRecovery: true, Telemetry: telemetry.HopRecords, Signals: cc.ByTelemetry,
		KeepsOnSend: true,
	}, func(f cc.Flow, c RxConfig) (cc.Controller, error) {
		if c.Preset == Agent {
			return newAgentFollower(f, c.Config), nil
		}
		return NewFollower(f, c.Config), nil
	},
		func(f cc.Flow, c RxConfig, host *cc.Host) (*Receiver, error) {
			if host == nil {
				return NewReceiver(f, c.Config, nil)
			}
			return NewReceiver(f, c.Config, &host.Census)
		})
}

// NewFollower makes the sender's controller.
func NewFollower(f cc.Flow, c Config) *Follower {
	return &Follower{newWindow(f, c.resolved().T, c.MinRate)}
}

// OnAck sets the receiver's window, clamped like every window here: a receiver that lies gets line rate at
// most.
func (f *Follower) OnAck(_ unit.Time, a *cc.Ack) {
	f.updateBaseRTT(a)
	if a.Feedback.Window <= 0 {
		f.withoutTelemetry(a)
		return
	}
	f.withTelemetry()
	f.w = f.clamp(float64(a.Feedback.Window))
}

// OnLoss is the timeout's.
func (f *Follower) OnLoss(_ unit.Time, l cc.Loss) { f.onLoss(l) }
