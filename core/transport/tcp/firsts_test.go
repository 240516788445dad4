package tcp

import (
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// overtaken counts the packets that a controller's part at the receiver gets as overtaken.
type overtaken struct{ packets, overtaken int }

func (r *overtaken) OnData(_ unit.Time, d *cc.Data) (cc.Feedback, bool) {
	if r.packets++; d.Overtaken {
		r.overtaken++
	}
	return cc.Feedback{}, false
}
func (r *overtaken) OnTimer(unit.Time) (cc.Feedback, bool) { return cc.Feedback{}, false }
func (r *overtaken) NextTimer() unit.Time                  { return unit.Never }
func (r *overtaken) Feedback() cc.Feedback                 { return cc.Feedback{} }
func (r *overtaken) Coalesce(most int) int                 { return most }

// TestReceiver_CountsOvertakenSegments checks that segments that the path delays by less than a round trip count as
// overtaken (cc.Data). A segment that was lost and sent again does not, once or twice, separate or next to others.
func TestReceiver_CountsOvertakenSegments(t *testing.T) {
	for _, x := range []struct {
		name        string
		base        unit.Time
		lost, again int // every so many first segments, and which of those twice; 0: none
		late        int // every so many segments are late
		by          unit.Time
		fewest      float64 // of what is late, which counts if later data arrives before
	}{
		{"in order", 10 * ms, 0, 0, 0, 0, 0},
		{"losses", 10 * ms, 37, 0, 0, 0, 0},
		{"of retransmissions, too", 10 * ms, 37, 3, 0, 0, 0},
		{"late", 10 * ms, 0, 0, 41, 2 * ms, 0.9},
		{"late by almost a round trip", 10 * ms, 0, 0, 41, 9 * ms, 0.1},
		{"by more than one", 10 * ms, 0, 0, 41, 12 * ms, 0},
		{"on a path of an unknown time", 0, 0, 0, 41, 2 * ms, 0},
		{"late beside losses", 10 * ms, 37, 3, 41, 2 * ms, 0.7},
	} {
		t.Run(x.name, func(t *testing.T) {
			part := &overtaken{}
			s := controllers["reno"]
			s.Receiver = func(cc.Flow, scheme.Config, *cc.Host) (cc.Receiver, error) { return part, nil }
			controllers["overtaken"] = s
			defer delete(controllers, "overtaken")
			w := newPipe(t, "overtaken", 3_000_000, nil)
			w.r.flow.Path.BaseRTT = x.base
			seen, late, lost := map[int64]int{}, 0, 0
			w.onData = func(p *packet.Packet) (bool, unit.Time) {
				if p.Payload == 0 {
					return true, 0
				}
				k := int(p.Seq / 1448)
				seen[p.Seq]++
				if n := seen[p.Seq]; x.lost > 0 && k%x.lost == 5 && (n == 1 || n == 2 && x.again > 0 && k%x.again == 0) {
					lost++
					return false, 0
				}
				if x.late > 0 && k%x.late == 20 && seen[p.Seq] == 1 {
					late++
					return true, x.by
				}
				return true, 0
			}
			w.runUntil(60 * unit.Second)
			if w.s.counters.Finished == unit.Never || part.packets < 2000 {
				t.Fatalf("%d packets arrived", part.packets)
			}
			if x.lost > 0 && lost < 40 || x.late > 0 && late < 40 {
				t.Errorf("%d packets are lost, and %d late", lost, late)
			}
			if n := float64(part.overtaken); n > float64(late) || n < x.fewest*float64(late) || x.fewest == 0 && n > 0 {
				t.Errorf("%v packets of %d that are late count as overtaken; %d were sent again", n, late,
					w.s.counters.Retransmitted)
			}
		})
	}
}
