package fabric

import (
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// However long links are, a run is asked to stop after a bounded number of events, also when a link has become faster.
func TestStopIsAsked(t *testing.T) {
	const delay = 10 * unit.Second // 15 GB on the way, in one window
	for _, c := range []struct {
		name          string
		rate, becomes unit.Rate
	}{{"fast", 12 * unit.Gbps, 0}, {"made fast", unit.Kbps, 12 * unit.Gbps}} {
		t.Run(c.name, func(t *testing.T) {
			sent := 0
			frame := &packet.Packet{Size: shortestFrame}
			f := mustNew(t, Config{Pool: &packet.Pool{}, Nodes: []Node{&source{&sent, frame}, &ring{}},
				Links: []Link{{From: 0, To: 1, Rate: inBits(c.rate), Delay: delay}}})
			if f.Window() != delay {
				t.Fatalf("the window is %v", f.Window())
			}
			if c.becomes > 0 {
				f.SetRate(0, inBits(c.becomes), 0)
			}
			times, before := 0, sent
			f.Run(unit.Never, func(done unit.Time) bool {
				if sent-before > mostFrames {
					t.Errorf("%d frames before %v without a question", sent-before, done)
				}
				before = sent
				times++
				return times == 2
			})
			if times != 2 || sent < 1000 {
				t.Errorf("asked %d times, %d frames sent", times, sent)
			}
		})
	}
}

// source always has a frame, the same one: none arrives before the run is stopped.
type source struct {
	sent  *int
	frame *packet.Packet
}

func (s *source) Receive(unit.Time, packet.PortID, *packet.Packet) {}

func (s *source) Dequeue(now unit.Time, _ packet.PortID) (*packet.Packet, unit.Time) {
	*s.sent++
	return s.frame, now
}

func (s *source) Wants() *packet.Wants {
	w := &packet.Wants{Timer: unit.Never}
	if *s.sent == 0 {
		w.Wake(0)
	}
	return w
}
func (s *source) Advance(unit.Time) {}
