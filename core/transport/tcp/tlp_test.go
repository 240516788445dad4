package tcp

import (
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestTLP_RepairsTailLoss checks RFC 8985 §7 with lost last packets: a TLP after about two RTTs repairs that long
// before the RTO. A TLP that only found a late ACK causes no reduction (RFC 8985 §7.4).
func TestTLP_RepairsTailLoss(t *testing.T) {
	// packets 0 and 1 are SYN and ACK; ten segments of 1448 bytes follow
	w := newPipe(t, "reno", 14480, nil)
	w.onData = lose(10, 11)
	w.runUntil(5 * unit.Second)
	if fct := w.s.counters.Finished; fct > 100*ms || w.s.rto.timeouts > 0 {
		t.Errorf("two packets lost at the end: finished at %v, %d timeouts", fct, w.s.rto.timeouts)
	}
	if w.s.tlp.end >= 0 {
		t.Error("the TLP's episode has not ended")
	}
	// only the last ACK is lost
	w = newPipe(t, "reno", 14480, nil)
	w.onAck = func(p *packet.Packet) (bool, unit.Time) { return p.Ack < 14481 || w.now > 50*ms, 0 }
	w.runUntil(5 * unit.Second)
	if w.s.counters.Finished > 400*ms || w.s.rto.timeouts > 0 || w.s.control.Decision.SlowStart == false {
		t.Errorf("a lost ACK: finished at %v, %d timeouts, slow start %v", w.s.counters.Finished, w.s.rto.timeouts,
			w.s.control.Decision.SlowStart)
	}
}

// TestTLPState checks RFC 8985 §7.2 (the timeout) and §7.4.2 (the probe's result by the ACK).
func TestTLPState(t *testing.T) {
	var estimate rttEstimator
	for _, c := range []struct {
		name     string
		srtt     unit.Time
		segments int
		want     unit.Time
	}{
		{"before the first sample: 1 s", 0, 4, unit.Second},
		{"2·SRTT", 30 * ms, 2, 60*ms + probeSlack},
		{"FlightSize is one segment: and the longest delay of an ACK", 30 * ms, 1, 60*ms + 200*ms},
	} {
		t.Run("§7.2 "+c.name, func(t *testing.T) {
			p := tlp{end: -1}
			estimate.srtt = 8 * c.srtt
			if got := p.timeout(&estimate, c.segments, 200*ms); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	for _, c := range []struct {
		name     string
		resent   bool
		ack      int64
		flags    uint16
		over     bool
		repaired bool
	}{
		{"an ACK below TLP.end_seq says nothing", true, 9_999, advanced | dataAcked, false, false},
		{"new data: the episode ends", false, 10_000, advanced | dataAcked, true, false},
		{"case 1: a DSACK, both have arrived", true, 10_000, dsackedTLP, true, false},
		{"case 2: beyond TLP.end_seq and no DSACK, it repaired a loss", true, 11_000, advanced | dataAcked, true, true},
		{"case 3: a pure duplicate of TLP.end_seq", true, 10_000, 0, true, false},
		{"an ACK of TLP.end_seq that advances leaves it open", true, 10_000, advanced | dataAcked, false, false},
	} {
		t.Run("§7.4.2 "+c.name, func(t *testing.T) {
			p := tlp{end: -1}
			p.sent(10_000, c.resent)
			repaired := p.handleAck(c.ack, c.flags)
			if repaired != c.repaired || p.outstanding() == c.over {
				t.Errorf("repaired %v, outstanding %v", repaired, p.outstanding())
			}
		})
	}
}
