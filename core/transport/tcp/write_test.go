package tcp

import (
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestSender_CoalescesSmallWrites checks writes of 1400 bytes into segments of 1388: the rest goes at once while no
// small segment is in flight. Otherwise it waits for the next write (Nagle's algorithm in Minshall's form). So a round
// trip has one runt; without a size of writes there is none.
func TestSender_CoalescesSmallWrites(t *testing.T) {
	for _, c := range []struct {
		name  string
		write unit.Bytes
		delay unit.Time
		runts [2]int // least, most
	}{
		{"segments", 0, 5 * ms, [2]int{0, 1}},
		{"short path: one a write", 1460, 5 * ms, [2]int{49, 50}},
		{"long path: one a round trip", 1460, unit.Second, [2]int{4, 6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newPipe(t, "reno", 50*1460, func(x *Config) {
				x.Rate, x.Write = 64*unit.Kbps, c.write
			})
			w.delay = c.delay
			runts := 0
			w.onData = func(p *packet.Packet) (bool, unit.Time) {
				if p.Payload > 0 && p.Payload < 1448 {
					runts++
				}
				return true, 0
			}
			w.runUntil(60 * unit.Second)
			if got := w.r.counters.ReceivedBytes; got != 50*1460 {
				t.Errorf("%d bytes came", got)
			}
			if runts < c.runts[0] || runts > c.runts[1] {
				t.Errorf("%d runts, want %d to %d", runts, c.runts[0], c.runts[1])
			}
		})
	}
}

// TestECNFallback checks RFC 3168 §6.1.1.1: a resent SYN requests no ECN. So a connection that lost its first SYN has
// no ECN, and a sender of DCTCP sends packets that no switch marks. A connection that lost its SYN-ACK still has ECN.
func TestECNFallback(t *testing.T) {
	for _, c := range []struct {
		name     string
		lost     int // of the sender's packets
		fallback bool
		ecn      bool
	}{
		{"first SYN arrives", -1, true, true},
		{"first SYN is lost", 0, true, false},
		{"first SYN is lost, without fallback", 0, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newPipe(t, "dctcp", 100000, func(x *Config) { x.ECNFallback = c.fallback })
			capable := false
			lose := lose(c.lost)
			w.onData = func(p *packet.Packet) (bool, unit.Time) {
				capable = capable || p.Payload > 0 && p.TOS&packet.ECN != packet.NotECT
				return lose(p)
			}
			w.mark = 3
			w.runUntil(20 * unit.Second)
			if got := w.r.counters.ReceivedBytes; got != 100000 {
				t.Errorf("%d bytes came", got)
			}
			if capable != c.ecn || w.s.ecn != c.ecn || w.r.ecn != c.ecn {
				t.Errorf("data is ECT: %v; negotiated: %v, %v", capable, w.s.ecn, w.r.ecn)
			}
		})
	}
}

// TestBeginsConnected checks that an application that starts once it is connected writes for as long as one that starts
// at once, for any time of the handshake. Its time counts from the connection.
func TestBeginsConnected(t *testing.T) {
	for _, connected := range []bool{false, true} {
		w := newPipe(t, "reno", 10*1448, func(x *Config) {
			x.Rate, x.Connected = 1448*8, connected // a segment a second
		})
		w.onData = lose(0) // the SYN: a second late
		w.runUntil(30 * unit.Second)
		c := w.s.Counters()
		if began := c.Began; connected != (began > unit.Second) {
			t.Errorf("connected %v: it begins at %v", connected, began)
		}
		if took := c.Written - c.Began; took < 9*unit.Second || took > 9*unit.Second+ms {
			t.Errorf("connected %v: it writes for %v", connected, took)
		}
	}
}
