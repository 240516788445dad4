package tcp

import (
	"fmt"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// TestUndo_RestoresSpuriousReduction checks RFC 3708 and RFC 2883: when DSACK shows that all retransmissions were
// duplicates, the reduction is undone. RFC 3522 (Eifel) undoes it by the time stamp of the first ACK.
func TestUndo_RestoresSpuriousReduction(t *testing.T) {
	for _, stamps := range []bool{true, false} {
		t.Run(fmt.Sprint("time stamps ", stamps), func(t *testing.T) {
			w := newPipe(t, "cubic", 0, nil)
			w.rate, w.limit = 200*unit.Mbps, 0
			w.runUntil(300 * ms)
			n, before := 0, 0
			w.onData = func(p *packet.Packet) (bool, unit.Time) {
				if n++; n == 1 {
					before = w.s.cwnd()
					return true, 4 * ms // late by more than three packets
				}
				return true, 0
			}
			w.onAck = func(p *packet.Packet) (bool, unit.Time) {
				if !stamps {
					p.TCP.Present = 0 // DSACK has to do it
				}
				return true, 0
			}
			entered := false
			w.after = func() { entered = entered || w.s.state == cc.Recovery }
			w.runUntil(w.now + 200*ms)
			if !entered {
				t.Fatal("no recovery")
			}
			if w.s.state != cc.Open || w.s.cwnd() < before {
				t.Errorf("time stamps %v: %v, window %d, before %d; not undone", stamps, w.s.state, w.s.cwnd(), before)
			}
		})
	}
}

// TestUndoState checks RFC 3708 (DSACK) and RFC 3522 (Eifel) if all retransmissions were spurious.
func TestUndoState(t *testing.T) {
	t.Run("all duplicates were reported", func(t *testing.T) {
		u := undo{marker: -1, resent: -1}
		u.arm(1000, 0)
		u.retransmitted()
		u.retransmitted()
		if u.duplicated(2000, 1); u.allSpurious() {
			t.Errorf("after one of two: %+v", u)
		}
		if u.duplicated(1000, 1); u.allSpurious() { // not beyond the marker: of an older recovery
			t.Errorf("an old one counts: %+v", u)
		}
		if u.duplicated(3000, 5); !u.allSpurious() {
			t.Errorf("after both: %+v", u)
		}
		if u.disarm(); u.armed() || u.allSpurious() {
			t.Errorf("disarmed: %+v", u)
		}
	})
	t.Run("without a retransmission there is nothing to report", func(t *testing.T) {
		u := undo{marker: -1, resent: -1}
		if u.arm(1000, 0); u.allSpurious() {
			t.Errorf("%+v", u)
		}
		if u.duplicated(2000, 1); u.allSpurious() {
			t.Errorf("%+v", u)
		}
	})
	for _, c := range []struct {
		name  string
		stamp uint32
		echo  uint32
		want  bool
	}{
		{"nothing was sent again", 0, 0, true},
		{"the echo is older than the first retransmission", 500, 499, true},
		{"it is the retransmission's", 500, 500, false},
		{"no echo", 500, 0, false},
		{"stamps wrap", 3, 1<<32 - 2, true},
	} {
		t.Run("Eifel: "+c.name, func(t *testing.T) {
			u := undo{stamp: c.stamp}
			if got := u.precedes(&packet.Segment{Present: packet.HasTimestamps, TSEcho: c.echo}); got != c.want {
				t.Errorf("%v", got)
			}
		})
	}
}
