package hpcc

import (
	"errors"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// Receiver is Rx-HPCC for one flow at its receiver (draft-miao §6.2, lines 28 to 34). It computes the window and sends
// it to the sender once per T. It fills the draft's gaps as follows:
//
//   - Lines 28 to 34 never store L and never set R. Both happen at each packet with records, as in line 27 at the
//     sender.
//   - lastUpdateTime has no initial value. It is the time of the first records, which are only stored. A flow shorter
//     than T gets no window and needs none: it starts with W_init, one T at line rate.
//   - Line 29 waits for T since the last commit. That is one loop only if no packet queues: a window takes effect
//     when its feedback has passed the queues of the reverse path, and shows when its data has passed the queues of the
//     forward path. U needs a further T: it is an average over T (lines 8, 9), which starts with data under former
//     windows. So W is committed when data sent under the last window has arrived for a T. An earlier commit would
//     count the same queue twice, and with max_stage 0 the flow would oscillate for ever when feedback waits behind
//     data of the other direction. For this, data carries the number of the feedback that its sender has adopted
//     (cc.Data.Adopted). Late feedback and data have another number and are ignored: TestReceiver_StoresLoadsOfPackets,
//     TestReceiverLate, TestReceiverOvershoot, TestReceiverDrains, TestTwoWay.
//   - Linux' TCP cannot carry such a number. A receiver of preset Agent waits for T plus the queueing time on the
//     data's way, by the last records within T of the feedback (TestReceiverWaits). Later records show less, since a
//     reduced sender pauses until the queue has drained. The receiver does not know the reverse path's queues.
//   - Without packets there is no feedback. If W has changed since the last feedback and no packet has arrived for
//     2T, or twice T·MSS/W for a W below a packet, OnTimer sends line 34's W, so that a pausing sender does not resume
//     with an old one. It does not commit: Wc and the number are kept. It does so once between commits, since repeats
//     would delay a commit for ever (TestReceiverTimerDelaysOnce). Packets without records prevent it, so that U
//     measures data under Wc (TestTwoWayFewRecords). The next ordinary acknowledgement repeats lost feedback.
//   - Ordinary acknowledgements carry a window, too (Feedback): the last one sent, not line 34's. So the sender's
//     window moves only once per T (draft-miao §6.1, guideline 1), and the next acknowledgement replaces lost feedback.
//   - A W below one packet is sent unchanged; the sender then keeps one packet in flight, paced at R = W/T. Coalesce
//     limits delayed acknowledgements, so that a window never waits for a single one.
type Receiver struct {
	law
	lastUpdateTime unit.Time
	shownFrom      unit.Time // time of the first records of data under the last window; Never: not yet
	recorded       unit.Time // arrival of the latest records
	queueing       unit.Time // of the last window's first packet, with preset Agent or on several paths
	changed        bool      // W has changed since the last feedback
	sent           bool      // OnTimer has sent W since the last commit
	timerAt        unit.Time // when OnTimer checks whether packets have stopped
	feedback       cc.Feedback
	census         *cc.Census
	member         *cc.Member // of the flow, shared by its paths

	isAgent    bool      // preset Agent: only ordinary acknowledgements carry feedback
	now        unit.Time // arrival of the latest packet
	unrecorded int       // packets since the last one with records
}

// errNoT reports that a receiver has no T.
var errNoT = errors.New("hpcc: a receiver cannot measure the base round-trip time: t must be given, or " +
	"known of the path")

// NewReceiver returns the receiver's part of a flow. f is the sender's flow; c or f must give T, since a receiver
// cannot measure it. census counts the host's flows, if c uses that; it may be nil. It fails without T.
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
	r := &Receiver{law: l, census: census, member: &cc.Member{}, shownFrom: unit.Never}
	r.feedback = r.newFeedback()
	r.feedback.Number = 0
	return r, nil
}

// OnData is NewINT, lines 28 to 34, applied to a packet with or without records. It returns the latest feedback, and
// whether to send it at once: only after a commit, and never with preset Agent. It counts the flow in the census, if
// that is in use.
func (r *Receiver) OnData(now unit.Time, d *cc.Data) (cc.Feedback, bool) {
	counted := 0
	r.now = now
	if r.isAgent {
		r.recordArrival(now, d)
	}
	if r.census != nil && r.config.Census {
		r.census.CountFlow(now, r.t, r.member)
		counted = r.census.CountFor(r.member)
	}
	r.order.countPacket(d.Overtaken)
	commit := r.isCommitDue(now, d) // line 29
	switch r.newRecords(now, &d.Telemetry, commit) {
	case unusable:
		return r.feedback, false
	case firstRecords:
		if r.lastUpdateTime, r.recorded = now, now; r.isAgent {
			r.queueing = queueingTime(&d.Telemetry)
		}
		if r.shownFrom < unit.Never || d.Adopted == r.feedback.Number {
			r.shownFrom = now
		}
		return r.feedback, false
	}
	r.recorded = now
	switch {
	case !commit && now > r.lastUpdateTime+r.t:
	case r.isAgent:
		r.queueing = queueingTime(&d.Telemetry)
	case r.order.isMany() && len(d.Hops) == 0: // U is 1 and what is queued, over B·T
		r.queueing = unit.Time(max(r.ref.u-1, 0) * float64(r.t))
	default:
		r.queueing = 0
	}
	r.updateIncrease(&d.Telemetry, counted)
	if !commit { // line 34
		if !r.changed && !r.sent {
			r.changed, r.timerAt = true, now+r.pauseTime()
		}
		return r.feedback, false
	}
	r.lastUpdateTime, r.shownFrom, r.changed, r.sent = now, unit.Never, false, false
	r.feedback = r.newFeedback()
	return r.feedback, !r.isAgent // lines 31, 32
}

// isCommitDue is line 29: data sent under the window of the last commit has arrived for a T, and on several paths for
// the queueing time of the slowest one. If data carries no numbers (preset Agent), T and the queueing time on the
// data's way must have passed since the commit. It notes the first packet under that window.
func (r *Receiver) isCommitDue(now unit.Time, d *cc.Data) bool {
	if r.isAgent {
		return now > r.lastUpdateTime+r.t+r.queueing
	}
	if r.shownFrom == unit.Never && d.Adopted == r.feedback.Number {
		r.shownFrom = now
	}
	return r.shownFrom < unit.Never && now > max(r.shownFrom, r.lastUpdateTime)+r.t+r.queueing
}

// queueingTime returns the waiting time in the queues of a packet's records.
func queueingTime(p *cc.Telemetry) (t unit.Time) {
	for i := range p.Hops {
		if h := &p.Hops[i]; h.Rate > 0 {
			t += unit.Time(float64(h.Queue) * 8e12 / float64(h.Rate))
		}
	}
	return t
}

// newFeedback returns W as feedback with the next number. It does not store it. With preset Agent it has the code of T
// instead of a number and of N.
func (r *Receiver) newFeedback() cc.Feedback {
	f := cc.Feedback{Window: max(unit.Bytes(r.w), 1), Flows: int32(r.flows)}
	if r.isAgent {
		f.Flows = encodeAgentT(r.t)
	} else {
		f.Number = cc.NextNumber(r.feedback.Number)
	}
	return f
}

// NextTimer returns the time for OnTimer; unit.Never if there is no window to send.
func (r *Receiver) NextTimer() unit.Time {
	if !r.changed || r.isAgent {
		return unit.Never
	}
	return r.timerAt
}

// pauseTime returns the time without packets after which the sender counts as pausing: 2T, or twice the time between
// packets for a window below a packet.
func (r *Receiver) pauseTime() unit.Time {
	if w, packet := r.feedback.Window, unit.Bytes(r.flow.MSS); w < packet {
		return unit.Time(2 * float64(r.t) * (float64(packet) / float64(max(w, 1))))
	}
	return 2 * r.t
}

// OnTimer returns line 34's window as feedback, and true, if no packet has arrived for pauseTime. Otherwise it returns
// false, and may set a new NextTimer. It does not commit: the next packet under the window of the last commit may. It
// delays that by a T, so it happens once between two commits.
func (r *Receiver) OnTimer(now unit.Time) (cc.Feedback, bool) {
	if now < r.NextTimer() {
		return r.feedback, false
	}
	if r.timerAt = r.now + r.pauseTime(); now < r.timerAt {
		return r.feedback, false
	}
	r.lastUpdateTime, r.changed, r.sent = now, false, true
	r.feedback.Window, r.feedback.Flows = max(unit.Bytes(r.w), 1), int32(r.flows)
	return r.feedback, true
}

// Feedback returns the feedback for an ordinary acknowledgement: the one last sent or, with preset Agent, the zero
// value without recent records.
func (r *Receiver) Feedback() cc.Feedback {
	if r.isSilent() {
		return cc.Feedback{}
	}
	return r.feedback
}

// Coalesce returns the number of packets for which an acknowledgement may wait, limited to limit: half of the last
// window sent, and at least one. With preset Agent it is limit.
func (r *Receiver) Coalesce(limit int) int {
	if r.isAgent {
		return limit
	}
	return max(1, min(limit, int(r.feedback.Window/unit.Bytes(r.flow.MSS)/2)))
}

// JoinFirst makes the flow count once with first, the receiver of the flow's first path (cc.Multipath). Receivers of
// other schemes are ignored.
func (r *Receiver) JoinFirst(first cc.Receiver) {
	if f, ok := first.(*Receiver); ok {
		r.member = f.member
	}
}

// Close removes the flow from the count.
func (r *Receiver) Close() {
	if r.census != nil {
		r.census.RemoveFlow(r.member)
	}
}

// Follower is the sender of a flow with a Receiver: it applies the receiver's windows.
type Follower struct{ window }

// RxConfig configures Rx-HPCC: Config without Mode and Sojourn.
type RxConfig struct{ Config }

// Params binds the options of rx_hpcc to the fields of c, which keep their values.
func (c *RxConfig) Params(p *scheme.Params) { c.bindLaw(p, presets); c.bindCensus(p, "on") }

// Traits returns the fields that the law reads. The receiver's part counts flows itself. With preset Agent its feedback
// waits for ordinary acknowledgements.
func (c *RxConfig) Traits() cc.Traits {
	return cc.Traits{Reads: c.requiredFields(), Patient: c.Preset == Agent, Agent: c.agent}
}

// RxScheme returns the scheme for experiments: cc: rx_hpcc. The transport runs a Receiver at the other end.
func RxScheme() cc.Scheme {
	return cc.DefineReceiver(cc.Scheme{
		Scheme: scheme.Scheme{Name: "rx_hpcc", Doc: "HPCC++ at the receiver, which reports the window to the sender",
			Source:   "draft-miao-iccrg-hpccplus-01 §6.2",
			Warnings: append([]scheme.WarningKind{warnAgentSilent, warnAgentMoves}, windowWarnings...)},
		OwnRecovery: true, PerPath: true, Telemetry: telemetry.HopRecords, Signals: cc.ByTelemetry,
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

// NewFollower returns the sender's controller.
func NewFollower(f cc.Flow, c Config) *Follower {
	return &Follower{newWindow(f, c.resolved().T, c.MinRate)}
}

// OnAck sets the receiver's window, within the limits of the window: a dishonest receiver gets line rate at most.
// Without a window in the acknowledgement, W is kept, except after a timeout.
func (f *Follower) OnAck(_ unit.Time, a *cc.Ack) {
	f.updateBaseRTT(a)
	if a.Feedback.Window <= 0 {
		f.withoutTelemetry(a)
		return
	}
	f.withTelemetry()
	f.w = f.clamp(float64(a.Feedback.Window))
}

// OnLoss handles timeouts; other losses change no window.
func (f *Follower) OnLoss(_ unit.Time, l cc.Loss) { f.onLoss(l) }
