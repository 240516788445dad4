package hpcc

import (
	"errors"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// Receiver is Rx-HPCC for one flow at its receiver (draft-miao §6.2, lines 28 to 34): it
// computes the window and tells it the sender once per T. What the draft leaves open
// is closed so:
//
//   - It never stores L and never sets R: both happen at each packet with records, as
//     line 27 does at the sender.
//   - lastUpdateTime has no first value: it is the time of the first records, which are
//     stored only. A flow shorter than T is not told a window and needs none: it starts
//     with W_init, a T at line rate.
//   - Nothing is told when packets stop: a window that has changed since the last
//     feedback is told by OnTimer, 2T after it, so that a sender that pauses does not
//     go on with an old one.
//   - Ordinary acknowledgements carry a window too (Told): the last one that was
//     told, not line 34's, so that the sender's window moves once per T only (§6.1,
//     guideline 1) and lost feedback is made good by the next acknowledgement.
//   - W below one packet: it is told as it is; the sender then keeps one packet in flight,
//     paced at R = W/T. Coalesce bounds delayed acknowledgements, so that a window is
//     never all waiting for one.
type Receiver struct {
	law
	lastUpdateTime unit.Time
	changed        bool // W, since the last feedback
	feedback       cc.Feedback
	census         *cc.Census
	member         cc.Member
}

var errNoT = errors.New("hpcc: a receiver cannot measure the base round-trip time: t must be given, or " +
	"known of the path")

// NewReceiver makes the receiver's part of a flow. f is the sender's; T must be given, by c
// or f, since a receiver cannot measure it. census counts the host's flows; it may be nil.
func NewReceiver(f cc.Flow, c Config, census *cc.Census) (*Receiver, error) {
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

// OnData is NewINT, lines 28 to 34: a packet has come, with records or without. It
// returns feedback to be sent at once, if it is time.
func (r *Receiver) OnData(now unit.Time, d *cc.Telemetry) (cc.Feedback, bool) {
	if r.census != nil {
		r.census.Count(now, r.t, &r.member)
	}
	commit := now > r.lastUpdateTime+r.t // line 29
	switch r.newRecords(now, d, commit) {
	case unusable:
		return r.feedback, false
	case firstRecords:
		r.lastUpdateTime = now
		return r.feedback, false
	}
	r.updateIncrease(d)
	if !commit { // line 34
		r.changed = true
		return r.feedback, false
	}
	return r.sendFeedback(now), true // lines 31, 32
}

// updateIncrease sets W_ai by the flows counted, while the last hop, the one to this host, is
// the bottleneck. It holds from the next window on.
func (r *Receiver) updateIncrease(p *cc.Telemetry) {
	n := 0
	if r.census != nil && p.Missed == 0 && r.bottleneck == r.track.n-1 {
		n = r.census.Flows()
	}
	if n != r.flows {
		r.setIncrease(n)
	}
}

func (r *Receiver) sendFeedback(now unit.Time) cc.Feedback {
	r.lastUpdateTime, r.changed = now, false
	r.feedback = r.newFeedback()
	return r.feedback
}

func (r *Receiver) newFeedback() cc.Feedback {
	return cc.Feedback{Window: max(unit.Bytes(r.w), 1), Flows: r.flows}
}

// NextTimer is when OnTimer wants to be called; unit.Never if there is nothing to tell.
func (r *Receiver) NextTimer() unit.Time {
	if !r.changed {
		return unit.Never
	}
	return r.lastUpdateTime + 2*r.t
}

// OnTimer commits and returns the window that no packet came to tell.
func (r *Receiver) OnTimer(now unit.Time) (cc.Feedback, bool) {
	if now < r.NextTimer() {
		return r.feedback, false
	}
	r.updateWindow(true)
	return r.sendFeedback(now), true
}

// Feedback is what an ordinary acknowledgement carries.
func (r *Receiver) Feedback() cc.Feedback { return r.feedback }

// Coalesce is how many packets an acknowledgement may wait for, of at most most: half of
// the window that was told, and one at least.
func (r *Receiver) Coalesce(most int) int {
	return max(1, min(most, int(r.feedback.Window/unit.Bytes(r.flow.MSS)/2)))
}

// Close takes the flow out of the count.
func (r *Receiver) Close() {
	if r.census != nil {
		r.census.Leave(&r.member)
	}
}

// Follower is the sender of a flow that its receiver controls.
type Follower struct{ window }

// RxConfig configures Rx-HPCC: Config but for Mode and Sojourn.
type RxConfig struct{ Config }

// Params binds the configuration.
func (c *RxConfig) Params(p *scheme.Params) { c.law(p) }

// RxScheme is what an experiment names: cc: rx_hpcc. The transport runs a Receiver at
// the other end.
func RxScheme() cc.Scheme {
	return cc.DefineReceiver(cc.Scheme{
		Scheme: scheme.Scheme{Name: "rx_hpcc", Doc: "HPCC++ at the receiver, which tells the window",
			Source: "draft-miao-iccrg-hpccplus-01 §6.2"},
		OwnRecovery: true, Telemetry: telemetry.HopRecords,
	}, func(f cc.Flow, c RxConfig) (*Follower, error) { return NewFollower(f, c.Config), nil },
		func(f cc.Flow, c RxConfig, host *cc.Host) (*Receiver, error) {
			if host == nil {
				return NewReceiver(f, c.Config, nil)
			}
			return NewReceiver(f, c.Config, &host.Census)
		})
}

// NewFollower makes the sender's controller.
func NewFollower(f cc.Flow, c Config) *Follower {
	return &Follower{newWindow(f, c.T, c.MinRate)}
}

// OnAck takes the window that the receiver tells, within the bounds of every window here:
// a receiver that lies gets line rate at most.
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
