package transport

import (
	"fmt"
	"testing"

	"weir/core/cc"
	"weir/core/unit"
)

// scripted is a controller with a decision that a test sets. It logs the calls.
type scripted struct {
	decision cc.Decision
	log      []string
}

func (c *scripted) OnSend(unit.Time, cc.Sent) { c.log = append(c.log, "send") }
func (c *scripted) OnAck(unit.Time, *cc.Ack)  { c.log = append(c.log, "ack") }
func (c *scripted) OnNotice(_ unit.Time, n cc.Notice) {
	c.log = append(c.log, fmt.Sprint("notice ", n.Kind))
}
func (c *scripted) OnLoss(now unit.Time, l cc.Loss) {
	c.log = append(c.log, fmt.Sprint("loss ", l.Kind))
}
func (c *scripted) OnTimer(unit.Time)     { c.log = append(c.log, "timer") }
func (c *scripted) Decision() cc.Decision { return c.decision }

// TestControl_NewRateMovesPendingSend checks that a new rate moves the waiting packet (HPCC simulator). A packet of
// 1000 B at 8 Gb/s has a gap of 1 us.
func TestControl_NewRateMovesPendingSend(t *testing.T) {
	const us = unit.Microsecond
	for _, x := range []struct {
		keeps bool
		rate  unit.Rate
		want  unit.Time
	}{
		{false, 4 * unit.Gbps, 12 * us}, {false, 16 * unit.Gbps, 10*us + us/2}, {false, 0, 10 * us},
		{false, 8 * unit.Gbps, 11 * us}, {true, 4 * unit.Gbps, 11 * us},
	} {
		k := &scripted{decision: cc.Decision{Rate: 8 * unit.Gbps, NextTimer: unit.Never}}
		c := Control{Controller: k, KeepsNext: x.keeps}
		c.ReadDecision()
		c.Pacer.RecordSend(10*us, 1000)
		c.Pacer.SetRate(c.Decision.Rate)
		if c.Pacer.NextSend() != 11*us {
			t.Fatalf("the next packet goes at %v", c.Pacer.NextSend())
		}
		k.decision.Rate = x.rate
		if c.ReadDecision(); c.Pacer.NextSend() != x.want || c.Decision.Rate != x.rate {
			t.Errorf("%+v: the next packet goes at %v", x, c.Pacer.NextSend())
		}
	}
}

// TestPacer_Limits checks that a rate with a gap beyond all times waits forever. Without a payload there is no gap.
func TestPacer_Limits(t *testing.T) {
	var p Pacer
	p.RecordSend(unit.Second, 0)
	if p.SetRate(1); p.NextSend() != unit.Second {
		t.Errorf("no payload: %v", p.NextSend())
	}
	p.RecordSend(unit.Second, 1<<50)
	if p.SetRate(1); p.NextSend() != unit.Never-1 {
		t.Errorf("1 PiB at 1 b/s: %v", p.NextSend())
	}
}

func TestControl_TimerRunsWhenDue(t *testing.T) {
	k := &scripted{decision: cc.Decision{NextTimer: 50}}
	c := Control{Controller: k}
	c.ReadDecision()
	if c.RunTimer(49); len(k.log) != 0 {
		t.Errorf("before it is due: %v", k.log)
	}
	k.decision.NextTimer = unit.Never
	if c.RunTimer(50); len(k.log) != 1 || c.Decision.NextTimer != unit.Never {
		t.Errorf("when it is due: %v, next %v", k.log, c.Decision.NextTimer)
	}
	if c.RunTimer(unit.Second); len(k.log) != 1 {
		t.Errorf("after it was stopped: %v", k.log)
	}
}

// TestControl_ReductionsByNacks checks that there is one reduction a round trip. Any loss that the controller reduces
// for counts; the end of a recovery does not. With nacks other than loss a NACK never reduces.
func TestControl_ReductionsByNacks(t *testing.T) {
	const rtt = 100
	k := &scripted{decision: cc.Decision{NextTimer: unit.Never}}
	c := Control{Controller: k, Reduces: true}
	c.EnterState(1000, cc.Reduced, 7, cc.Loss{Kind: cc.ECNEcho})
	if c.State != cc.Reduced || c.RecoverTo != 7 || c.NackLoss() != cc.LossInReduction {
		t.Errorf("%v up to %d; a NACK is %v", c.State, c.RecoverTo, c.NackLoss())
	}
	if c.AllowsReduction(1099, 1050, rtt) {
		t.Error("a NACK reduces within a round trip of another reduction")
	}
	c.EnterState(1099, cc.Open, 8, cc.Loss{Kind: cc.Recovered})
	if c.NackLoss() != cc.FastRecovery || !c.AllowsReduction(1100, 1050, rtt) || c.AllowsReduction(1199, 1150, rtt) {
		t.Error("one NACK reduces a round trip after that, and no other one does in the next round trip")
	}
	if c.Reduces = false; c.AllowsReduction(5000, 5000, rtt) {
		t.Error("a NACK reduces though NACKs are not losses")
	}
	c.NotifyController(6000, cc.Notice{Kind: cc.NackNotice})
	want := fmt.Sprintf("[loss %v loss %v notice %v]", cc.ECNEcho, cc.Recovered, cc.NackNotice)
	if fmt.Sprint(k.log) != want {
		t.Errorf("calls %v, want %s", k.log, want)
	}
}

// reducing is a controller that halves its window by each loss, if it reduces.
type reducing struct {
	scripted
	reduces bool
}

func (c *reducing) OnLoss(now unit.Time, l cc.Loss) {
	if c.scripted.OnLoss(now, l); c.reduces {
		c.decision.Window /= 2
	}
}

// TestControl_WarningLeavesGateOpen checks that a warning that the controller does not respond to leaves the gate open
// for losses, unless ShutsGate.
func TestControl_WarningLeavesGateOpen(t *testing.T) {
	const rtt = 100
	for _, x := range []struct {
		reduces, shuts bool
		want           string
	}{
		{false, false, fmt.Sprintf("loss %v", cc.LossInReduction)}, {true, false, ""}, {false, true, ""}, {true, true, ""},
	} {
		k := &reducing{scripted{decision: cc.Decision{Window: 1000, NextTimer: unit.Never}}, x.reduces}
		c := Control{Controller: k, Reduces: true, ShutsGate: x.shuts}
		c.ReadDecision()
		n := AcceptedNack{Notice: cc.Notice{Kind: cc.NackNotice}, Sent: 1000, RTT: rtt, UpTo: 7}
		c.HandleWarning(1000, n)
		if c.State != cc.Reduced || c.RecoverTo != 7 {
			t.Fatalf("%+v: %v up to %d after a warning", x, c.State, c.RecoverTo)
		}
		k.log = nil
		n.Sent = 1050
		c.HandleNackLosses(1050, n)
		want := fmt.Sprintf("[notice %v]", cc.NackNotice)
		if x.want != "" {
			want = fmt.Sprintf("[notice %v %s]", cc.NackNotice, x.want)
		}
		if fmt.Sprint(k.log) != want {
			t.Errorf("%+v: calls %v, want %s", x, k.log, want)
		}
		if c.HandleWarning(5000, n); (c.State == cc.Recovery) != (x.want != "") {
			t.Errorf("%+v: %v after a loss and a warning", x, c.State)
		}
	}
}

// TestPacer_ExtendedGapFollowsRate checks that with ExtendGap the gap after the latest packet follows the rate in
// proportion, unless a rate is missing.
func TestPacer_ExtendedGapFollowsRate(t *testing.T) {
	p := Pacer{}
	p.ExtendGap(100, 40)
	p.ExtendGap(120, 40) // before NextSend: its gap begins then
	if p.LastSend != 120 || p.NextSend() != 180 {
		t.Fatalf("sent at %v, the next packet goes at %v, want 120 and 180", p.LastSend, p.NextSend())
	}
	for _, x := range []struct {
		old, rate unit.Rate
		want      unit.Time
	}{{0, 4, 180}, {4, 0, 180}, {4, 8, 150}, {8, 4, 180}, {4, 1, 360}} {
		if p.StretchGap(x.old, x.rate); p.NextSend() != x.want {
			t.Errorf("from %d to %d b/s: the next packet goes at %v, want %v", x.old, x.rate, p.NextSend(), x.want)
		}
	}
	p.LastSend = p.NextSend() + 1
	if p.StretchGap(1, 8); p.NextSend() != 360 {
		t.Errorf("a gap that is over moves to %v", p.NextSend())
	}
}
