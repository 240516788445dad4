package fabric

import (
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestStopIsAsked checks that for any length of links, a run is asked to stop after a bounded number of events, also
// when a link has become faster.
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
				if sent-before > maxFrames {
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

// source always has a frame, the same one: no frame arrives before the run is stopped.
type source struct {
	sent  *int
	frame *packet.Packet
}

func (s *source) Receive(unit.Time, packet.PortID, *packet.Packet) {}

func (s *source) Dequeue(now unit.Time, _ packet.PortID) (*packet.Packet, unit.Time) {
	*s.sent++
	return s.frame, now
}

func (s *source) Wants() *packet.NodeRequests {
	w := &packet.NodeRequests{Timer: unit.Never}
	if *s.sent == 0 {
		w.WakePort(0)
	}
	return w
}
func (s *source) Advance(unit.Time) {}

// TestStrideOfManyLinks checks that a network of many links with little load is asked a few times per window, for any
// number of links, and after links have become busy as often as their rates require. Division into parts changes
// neither.
func TestStrideOfManyLinks(t *testing.T) {
	const (
		leaves = 256
		delay  = 10 * unit.Millisecond
		quiet  = 100 * unit.Millisecond
	)
	run := func(parts int) (quietly, busily int, shortest unit.Time, f *Fabric) {
		pools := make([]*packet.Pool, parts)
		for k := range pools {
			pools[k] = &packet.Pool{}
		}
		c := Config{Nodes: []Node{&relay{pool: pools[0]}}, Pool: pools[0], PartOf: []int32{0}}
		for _, pool := range pools[1:] {
			c.MoreParts = append(c.MoreParts, Part{Pool: pool})
		}
		for n := range leaves {
			leaf := &relay{pool: pools[n%parts]}
			for k := range 10 { // one frame in 10 ms
				leaf.plan = append(leaf.plan, planned{unit.Time(k)*delay + unit.Time(n)*unit.Microsecond, 0, 125, 0})
			}
			for range 400 { // all leaves at once, for 400 us
				leaf.plan = append(leaf.plan, planned{quiet, 0, 12500, 0})
			}
			c.Nodes, c.PartOf = append(c.Nodes, leaf), append(c.PartOf, int32(n%parts))
			port := packet.PortID(n)
			c.Links = append(c.Links, Link{From: n + 1, To: 0, ToPort: port, Rate: inBits(100 * unit.Gbps), Delay: delay},
				Link{From: 0, FromPort: port, To: n + 1, Rate: inBits(100 * unit.Gbps), Delay: delay})
		}
		f = mustNew(t, c)
		shortest, before := unit.Never, unit.Time(0)
		f.Run(unit.Never, func(done unit.Time) bool {
			if done < quiet {
				quietly++
			} else {
				busily++
				shortest = min(shortest, done-before)
			}
			before = done
			return false
		})
		return quietly, busily, shortest, f
	}
	quietly, busily, shortest, f := run(1)
	if f.minStride >= f.maxStride || f.maxStride > delay/10 {
		t.Fatalf("strides of %v to %v", f.minStride, f.maxStride)
	}
	// Fewer than 20 strides to grow, then each event begins one at most.
	if limit := int(quiet/f.maxStride) + 20; quietly > limit {
		t.Errorf("asked %d times in %v, more than %d", quietly, quiet, limit)
	}
	if shortest >= 2*f.minStride {
		t.Errorf("strides of %v or more when all links are busy, want %v", shortest, f.minStride)
	}
	for parts := 2; parts <= 3; parts++ {
		if q, b, s, x := run(parts); q != quietly || b != busily || s != shortest || x.CountEvents() != f.CountEvents() {
			t.Errorf("in %d parts asked %d and %d times, in one %d and %d", parts, q, b, quietly, busily)
		}
	}
}
