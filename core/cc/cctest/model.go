// Package cctest holds the tests that every congestion controller must pass. A model of a sender drives a controller
// with any sequence of events and checks invariants after each of them. Scripts play event streams in text.
package cctest

import (
	"fmt"

	"weir/core/cc"
	"weir/core/unit"
)

// MSS is the payload of the model's packets.
const MSS = 1000

// NewFlow returns the flow for the model's controllers: an initial window of ten packets, no known path, and the random
// stream "cctest" of the seed. It then applies the changes in their order.
func NewFlow(seed uint64, changes ...func(f *cc.Flow)) cc.Flow {
	f := cc.Flow{MSS: MSS, MTU: MSS + 52, InitialWindow: 10, Random: unit.NewRandom(seed, "cctest")}
	for _, change := range changes {
		change(&f)
	}
	return f
}

// SetInitialWindow returns the change of a flow that sets its initial window in packets.
func SetInitialWindow(packets int) func(f *cc.Flow) {
	return func(f *cc.Flow) { f.InitialWindow = packets }
}

// SetPath returns the change of a flow that sets its path.
func SetPath(path cc.Path) func(f *cc.Flow) { return func(f *cc.Flow) { f.Path = path } }

// SetRandom returns the change of a flow that sets its random stream (unit.NewRandom).
func SetRandom(seed uint64, name string) func(f *cc.Flow) {
	return func(f *cc.Flow) { f.Random = unit.NewRandom(seed, name) }
}

// Model is a sender that stores only counts. Two bytes describe an event, so that a fuzzer can write the story.
type Model struct {
	Controller  cc.Controller
	OwnRecovery bool // the scheme has OwnRecovery
	// FreeAfterTimeout marks controllers with OwnRecovery and a window that does not follow RFC 5681 after a timeout
	// either: those with a rate, and Swift.
	FreeAfterTimeout bool
	// MinRate and LineRate are bounds of the rate of a rate-based controller; 0 for others.
	MinRate, LineRate unit.Rate
	// Nacks: the controller also receives NACKs, with or without supply and demand. Their losses are in LostTotal, and
	// OnLoss is not called.
	Nacks bool
	// Speed divides all times of the story, which suit wide areas. With 1000, round trips last 10 to 30 µs. 0 means 1.
	Speed unit.Time
	Now   unit.Time

	una, next    int64 // in bytes
	inFlight     int
	delivered    int64
	deliveredCE  int64
	lostTotal    int64
	state        cc.RecoveryState
	recoveryEnd  int64
	srtt, minRTT unit.Time
	lastSend     unit.Time
	undoWindow   int // window before the reduction that can be undone; 0: no such reduction
	started      bool
	maxThreshold int // ssthresh: slow start ends there at the latest; 0: not known
}

// windowPackets returns the controller's window in packets.
func (m *Model) windowPackets() int { return int(m.Controller.Decision().Window / MSS) }

// PlayStory plays a story, two bytes an event. It returns an error for the first violated invariant.
func (m *Model) PlayStory(story []byte) error {
	if err := m.checkDecision("at the start"); err != nil {
		return err
	}
	for i := 0; i+1 < len(story); i += 2 {
		what, err := m.playEvent(story[i], int(story[i+1]))
		if err == nil {
			err = m.checkDecision(what)
		}
		if err != nil {
			return fmt.Errorf("event %d, %s at %v: %w", i/2, what, m.Now, err)
		}
	}
	return nil
}

// checkDecision checks the invariants of every decision. what describes the last event.
func (m *Model) checkDecision(what string) error {
	d := m.Controller.Decision()
	switch {
	case d != m.Controller.Decision():
		return fmt.Errorf("asking for the decision changes it")
	case d.Window < MSS:
		return fmt.Errorf("a window of %v is below a packet", d.Window)
	case d.Window > unit.Bytes(cc.Unlimited)*MSS:
		return fmt.Errorf("a window of %v", d.Window)
	case d.Rate < 0:
		return fmt.Errorf("a rate of %v", d.Rate)
	case m.LineRate > 0 && (d.Rate < m.MinRate || d.Rate > m.LineRate):
		return fmt.Errorf("a rate of %v, bounds are %v and %v", d.Rate, m.MinRate, m.LineRate)
	case d.NextTimer <= m.Now:
		return fmt.Errorf("the next timer, %v, is not after now", d.NextTimer)
	}
	return nil
}

// playEvent plays one event of a kind, with parameter n, and returns its description.
func (m *Model) playEvent(kind byte, n int) (string, error) {
	before := m.windowPackets()
	switch kind % 16 {
	case 0, 1, 2:
		m.sendPackets(n)
		return "sends", m.checkGrowth(before, 0, "nothing was acknowledged")
	case 3, 4, 5, 6, 7, 8:
		return m.ackPackets(before, n)
	case 9:
		return m.duplicateAck(before, n)
	case 10, 11:
		return m.reportCongestion(before, n)
	case 12:
		return m.endRecovery(n)
	case 13:
		return m.timeOut(before, n)
	case 14:
		return m.idleWindow(before, n)
	}
	switch {
	case m.Nacks && n >= 96 && n < 160:
		return "a NACK", m.sendNack(n - 96)
	case n >= 160:
		return m.sendNotice(before, n)
	}
	if err := m.advanceTime(unit.Time(n+1) * 100 * unit.Microsecond); err != nil {
		return "a timer", err
	}
	return "time", nil
}

// checkGrowth returns an error if the window has grown from before by more than maxGrowth packets. why explains the
// limit. It accepts any growth of a scheme with OwnRecovery.
func (m *Model) checkGrowth(before, maxGrowth int, why string) error {
	if w := m.windowPackets(); !m.OwnRecovery && w > before+maxGrowth {
		return fmt.Errorf("the window grows from %d to %d; %s", before, w, why)
	}
	return nil
}

// sendPackets sends 1 + n mod 32 packets, as far as the window allows.
func (m *Model) sendPackets(n int) {
	idle := unit.Time(0)
	if m.inFlight == 0 && m.started {
		idle = m.Now - m.lastSend
	}
	m.started = true
	for range 1 + n%32 {
		if m.inFlight >= m.windowPackets() {
			break
		}
		m.Controller.OnSend(m.Now, cc.Sent{Bytes: MSS, InFlight: m.inFlight, Idle: idle, AppLimited: n%5 == 0,
			Left: unit.Bytes(1+n%64) * MSS})
		idle = 0
		m.inFlight++
		m.next += MSS
		m.lastSend = m.Now
	}
}

// ackPackets acknowledges up to 1 + n mod 4 packets in order, and checks that the window grows as RFC 5681 allows.
// before is the window before.
func (m *Model) ackPackets(before, n int) (string, error) {
	k := min(m.inFlight, 1+n%4)
	if k == 0 {
		return "nothing", nil
	}
	d := m.Controller.Decision()
	limited := n < 192 && d.IsLimited(int64(m.inFlight)*MSS, MSS)
	a, err := m.newAck(k, n)
	if err != nil {
		return "a timer", err
	}
	a.Limited = limited
	slow := m.Controller.Decision().SlowStart
	m.Controller.OnAck(m.Now, a)
	if m.state == cc.Timeout && m.una >= m.recoveryEnd {
		m.state = cc.Open
		m.Controller.OnLoss(m.Now, m.newLoss(cc.Recovered))
	}
	switch {
	case a.Losses.State == cc.Recovery || a.Losses.State == cc.Reduced:
		return "an ACK in recovery", m.checkGrowth(before, 0, "it is in recovery")
	case !limited:
		return "an ACK of a flow that does not use its window", m.checkGrowth(before, 0, "the window does not limit it")
	}
	if !slow { // RFC 5681 §3.1 step 2, RFC 9438 §4.2: half of it at most in congestion avoidance
		return "an ACK in congestion avoidance", m.checkGrowth(before, k/2+1, "it is no slow start")
	}
	if w := m.windowPackets(); !m.OwnRecovery && m.maxThreshold > 0 && w > m.maxThreshold &&
		m.Controller.Decision().SlowStart {
		return "an ACK", fmt.Errorf("slow start at %d, the threshold is at most %d", w, m.maxThreshold)
	}
	// RFC 5681 §3.1: at most the acknowledged packets, and one more for a stored remainder.
	return "an ACK", m.checkGrowth(before, k+1, fmt.Sprintf("%d packets were acknowledged", k))
}

// duplicateAck acknowledges a packet by SACK without progress of the cumulative acknowledgement.
func (m *Model) duplicateAck(before, n int) (string, error) {
	a, err := m.newAck(0, n)
	if err != nil {
		return "a timer", err
	}
	a.Packets, a.Bytes = min(1, m.inFlight), unit.Bytes(min(1, m.inFlight)*MSS)
	m.delivered += int64(a.Packets)
	m.inFlight -= a.Packets
	a.Flight.After, a.Delivered, a.Advanced = m.inFlight, m.delivered, false
	if m.state == cc.Open {
		a.Losses.State = cc.Disorder
	}
	m.Controller.OnAck(m.Now, a)
	return "a duplicate ACK", m.checkGrowth(before, 0, "the cumulative acknowledgement did not move")
}

// reportCongestion reports a loss of some packets, a warning or an ECN echo.
func (m *Model) reportCongestion(before, n int) (string, error) {
	kind := cc.FastRecovery
	if n%3 == 0 {
		kind = cc.ECNEcho
	}
	if n%3 == 0 && n%2 == 0 {
		kind = cc.Warned
	}
	if m.state != cc.Open || m.inFlight < 2 {
		return "nothing", nil
	}
	lost := 0
	if m.state = cc.Reduced; kind == cc.FastRecovery {
		m.state = cc.Recovery
		lost = 1 + n%min(m.inFlight, 8)
		m.inFlight -= lost
		m.lostTotal += int64(lost)
		m.undoWindow = before
	} else {
		m.undoWindow = 0
	}
	m.recoveryEnd = m.next
	l := m.newLoss(kind)
	l.Lost = lost
	m.Controller.OnLoss(m.Now, l)
	if !m.OwnRecovery && kind == cc.FastRecovery {
		m.maxThreshold = max(int(float64(before)*0.7)+1, 2)
		if m.windowPackets() > m.maxThreshold { // RFC 5681 equation 4, RFC 9438 §4.6
			return kind.String(), fmt.Errorf("the window was %d and is %d", before, m.windowPackets())
		}
	}
	if w := m.windowPackets(); !m.OwnRecovery && (w > before || kind == cc.FastRecovery && before > 4 && w >= before) {
		return kind.String(), fmt.Errorf("the window was %d and is %d", before, w)
	}
	return kind.String(), nil
}

// endRecovery ends a recovery, or reports that it was spurious, depending on n, and checks that the window is restored
// then.
func (m *Model) endRecovery(n int) (string, error) {
	if m.state != cc.Recovery && m.state != cc.Reduced || n%5 > 1 {
		return "nothing", nil
	}
	if n%4 == 0 && m.undoWindow > 0 && m.state == cc.Recovery {
		m.state = cc.Open
		m.maxThreshold = 0
		m.Controller.OnLoss(m.Now, m.newLoss(cc.Spurious))
		if w := m.windowPackets(); !m.OwnRecovery && w < m.undoWindow {
			return "a spurious loss", fmt.Errorf("the window was %d before it and is %d now", m.undoWindow, w)
		}
		m.undoWindow = 0
	}
	m.state, m.undoWindow = cc.Open, 0
	m.una = m.next - int64(m.inFlight)*MSS
	m.Controller.OnLoss(m.Now, m.newLoss(cc.Recovered))
	return "the end of recovery", nil
}

// timeOut causes a retransmission timeout of all packets in flight, for one in four values of n, and checks the window
// after it.
func (m *Model) timeOut(before, n int) (string, error) {
	if m.inFlight == 0 || n%4 != 0 {
		return "nothing", nil
	}
	again := m.state == cc.Timeout
	if !again {
		m.maxThreshold = max(before*7/10+1, 2)
		if m.state == cc.Recovery || m.state == cc.Reduced {
			again, m.maxThreshold = true, 0
		}
	}
	m.lostTotal += int64(m.inFlight)
	m.inFlight = 0
	m.state, m.undoWindow, m.recoveryEnd = cc.Timeout, 0, m.next
	l := m.newLoss(cc.RetransmissionTimeout)
	l.Again = again
	m.Controller.OnLoss(m.Now, l)
	if w := m.windowPackets(); !m.FreeAfterTimeout && w != 1 {
		return "a timeout", fmt.Errorf("the window is %d; RFC 5681 §3.1 has it at 1", w)
	}
	return "a timeout", nil
}

// idleWindow lets a long time pass, after which it may report an idle window.
func (m *Model) idleWindow(before, n int) (string, error) {
	if err := m.advanceTime(unit.Time(n+1) * 10 * unit.Millisecond); err != nil {
		return "a timer", err
	}
	if n%8 == 0 && m.state == cc.Open && !m.OwnRecovery && m.inFlight == 0 {
		l := m.newLoss(cc.Idled)
		l.Window = max(before/2, 1)
		m.Controller.OnLoss(m.Now, l)
		m.maxThreshold = 0
		if w := m.windowPackets(); w > l.Window {
			return "idleness", fmt.Errorf("the window was %d and is %d", before, w)
		}
	}
	return "time", nil
}

// sendNotice sends a congestion notification packet, or a switch's notice of a queue of 0 to 100 packets at 10 to 160
// Gb/s. Neither may raise the window or the rate. A window that falls below a packet may become a rate.
func (m *Model) sendNotice(before, n int) (string, error) {
	d := m.Controller.Decision()
	notice, what := cc.Notice{Kind: cc.CNPNotice, Seq: m.una}, "a CNP"
	if n%2 > 0 {
		notice.Kind, what = cc.QueueNotice, "a switch's word"
		notice.Queue, notice.Link = unit.Bytes(n%101)*MSS, unit.Rate(1+n%16)*10*unit.Gbps
		notice.Sent = max(m.Now-unit.Time(1+n%7)*unit.Millisecond/max(m.Speed, 1), 0)
	}
	m.Controller.OnNotice(m.Now, notice)
	after := m.Controller.Decision()
	if after.Window > d.Window || after.Rate > d.Rate && (d.Rate > 0 || after.Window > MSS) {
		return what, fmt.Errorf("window and rate grow from %v, %v to %v, %v", d.Window, d.Rate, after.Window, after.Rate)
	}
	return what, m.checkGrowth(before, 0, "nothing was acknowledged")
}

// sendNack sends one of 64 NACKs. The first 8 have no supply, the others up to 100 Gb/s. Most report a lost packet.
func (m *Model) sendNack(n int) error {
	notice := cc.Notice{Kind: cc.NackNotice, Seq: m.una}
	if n%4 > 0 && m.inFlight > 0 {
		m.inFlight--
		m.lostTotal++
		notice.Lost = MSS
	}
	if n%8 > 1 {
		notice.Demand = unit.Rate(1+n) * unit.Gbps
	}
	if n >= 8 {
		notice.Supply = unit.Rate(1) << (n % 37) * unit.Kbps
		if n == 63 {
			notice.Supply = 1
		}
	}
	before := m.Controller.Decision()
	m.Controller.OnNotice(m.Now, notice)
	m.undoWindow = 0
	if d := m.Controller.Decision(); d.Window > before.Window || before.Rate > 0 && (d.Rate == 0 || d.Rate > before.Rate) {
		return fmt.Errorf("window and rate grow from %v, %v to %v, %v", before.Window, before.Rate, d.Window, d.Rate)
	}
	return nil
}

// advanceTime lets time d, divided by Speed, pass and runs the timers that are due. It returns an error if a timer
// stays due.
func (m *Model) advanceTime(d unit.Time) error {
	end := m.Now + d/max(m.Speed, 1)
	for m.Controller.Decision().NextTimer <= end {
		m.Now = m.Controller.Decision().NextTimer
		m.Controller.OnTimer(m.Now)
		if next := m.Controller.Decision().NextTimer; next <= m.Now {
			return fmt.Errorf("the timer of %v leaves one of %v", m.Now, next)
		}
	}
	m.Now = end
	return nil
}

// newLoss returns a Loss of a kind with the model's counts.
func (m *Model) newLoss(kind cc.LossKind) cc.Loss {
	return cc.Loss{Kind: kind, InFlight: m.inFlight, Next: m.next, LostTotal: m.lostTotal}
}

// newAck returns an acknowledgement of k packets after a time that depends on n.
func (m *Model) newAck(k, n int) (*cc.Ack, error) {
	if err := m.advanceTime(unit.Time(1+n%7) * 100 * unit.Microsecond); err != nil {
		return nil, err
	}
	prior := m.inFlight
	m.inFlight -= k
	m.una = m.next - int64(m.inFlight)*MSS
	m.delivered += int64(k)
	rtt := unit.Time(10+n%20) * unit.Millisecond / max(m.Speed, 1)
	m.srtt = (7*m.srtt + rtt) / 8
	if m.minRTT == 0 || rtt < m.minRTT {
		m.minRTT = rtt
	}
	ece := n%11 == 0
	if ece {
		m.deliveredCE += int64(k)
	}
	a := &cc.Ack{Packets: k, Bytes: unit.Bytes(k * MSS), Advanced: k > 0, FirstUnacked: m.una, Next: m.next,
		Delivered: m.delivered, RTT: cc.RTT{Sample: rtt, Smoothed: m.srtt, Min: m.minRTT},
		Flight: cc.Flight{Before: prior, After: m.inFlight, NextSend: m.Now},
		Losses: cc.Losses{Total: m.lostTotal, State: m.state}, ECN: cc.ECN{Echo: ece, Delivered: m.deliveredCE}}
	if k > 0 && n%13 != 0 {
		a.Delivery = cc.Delivery{Packets: 1 + n%16, Interval: rtt, PriorDelivered: max(m.delivered-int64(n%32), 0),
			AppLimited: n%9 == 0}
	}
	a.Telemetry.Answer = uint8(n % 32)
	if n%10 == 0 {
		a.Telemetry.Drain = uint32(n) * 200
	}
	return a, nil
}
