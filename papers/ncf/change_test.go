package ncf

import (
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestProgram_FlowletChangeKeepsOrder checks a flow that changes its class: by default it is reordered when its packets
// wait in both queues. As a flowlet it is not, or only after change_wait, once.
func TestProgram_FlowletChangeKeepsOrder(t *testing.T) {
	reordered := func(given ...string) (n, most int64, g *Program) {
		r := newRig(t, setup{ports: 4, queues: 3, given: append([]string{"memory", "400kB", "least", "40kB", "duration",
			"10ms", "top", "0", "spike", "0%"}, given...),
			rates: map[int]unit.Rate{0: 10 * unit.Gbps, 2: 10 * unit.Gbps}})
		highest := int64(-1)
		r.sent = func(_ unit.Time, _ packet.PortID, p *packet.Packet) {
			if p.Src == 1 && p.Payload > 0 {
				if p.Seq < highest {
					n++
					most = max(most, (highest-p.Seq)/1000)
				}
				highest = max(highest, p.Seq)
			}
		}
		// mice keep their queue long, the flow sends in spurts
		for i := range 9000 {
			now := unit.Time(i) * 10 * us
			r.come(now, 2, r.data(3, 2, many(i%100), 0, 1000))
			if i%2000 < 400 {
				r.come(now, 0, r.data(1, 2, 9, int64(i)*1000, 1000))
			}
		}
		r.drain()
		return n, most, r.g
	}
	atOnce, far, _ := reordered()
	flowlet, _, g := reordered("change", "flowlet", "change_wait", "1s")
	moved, forced := g.CountChanges()
	if moved < 1 || forced != 0 {
		t.Errorf("%d changes, %d of them forced", moved, forced)
	}
	bounded, farBounded, g := reordered("change", "flowlet", "change_wait", "1ms")
	_, forced = g.CountChanges()
	t.Logf("reordered packets: %d at once (up to %d late), %d as flowlets, %d with a wait of 1 ms (%d forced changes, "+
		"up to %d late)", atOnce, far, flowlet, bounded, forced, farBounded)
	if atOnce == 0 || flowlet != 0 || forced == 0 || bounded > int64(forced)*400_000/1066 {
		t.Errorf("reordered: %d at once, %d as flowlets, %d with a wait", atOnce, flowlet, bounded)
	}
}

// TestChangeIsBounded checks that the memory for changing flows is bounded; a flow without an entry moves at once.
func TestChangeIsBounded(t *testing.T) {
	c := newChanges(4, 1, ms)
	for k := range uint64(1000) {
		if c.selectClass(0, k, 0, Mice) != Mice {
			t.Fatal("a new flow is not what it is")
		}
		c.recordEntry(k, 0, 1, 100)
	}
	stay := 0
	for k := range uint64(1000) {
		if c.selectClass(0, k, 0, Elephants) == Mice {
			stay++
		}
	}
	if stay != 4 {
		t.Errorf("%d flows stay in their queue, 4 are remembered", stay)
	}
	c.recordExit(0, 1, 100*1000, false)
	for k := range uint64(1000) {
		if c.selectClass(0, k, 0, Elephants) != Elephants {
			t.Fatal("a flow stays although its packets have left")
		}
	}
	// packets that were evicted from the tail do not hold a flow
	c = newChanges(4, 1, ms)
	c.selectClass(0, 1, 0, Mice)
	c.recordEntry(1, 0, 1, 100)
	c.recordExit(0, 1, 100, true)
	if c.selectClass(0, 1, 0, Elephants) != Elephants {
		t.Error("an evicted packet holds its flow")
	}
	// and leave those before them where they are
	c = newChanges(4, 1, ms)
	c.selectClass(0, 1, 0, Mice)
	c.recordEntry(1, 0, 1, 100)
	c.recordEntry(2, 0, 1, 100)
	if c.recordExit(0, 1, 100, true); c.selectClass(0, 1, 0, Elephants) != Mice {
		t.Error("an eviction behind its packets lets a flow go")
	}
}
