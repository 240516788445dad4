package ncf

import (
	"slices"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// pair is two elephants on a port of 1 Gb/s for 60 ms. One always sends 700 Mb/s. The other begins with 600, and
// reduces to 0.85 of its rate at a notice, but not below 450.
type pair struct {
	passed, lost [2]int // bytes that left from 20 ms on, packets that were named by NACKs as gone
	told         [2]int // notices of which nothing is lost
}

func sendPair(t *testing.T, given ...string) (s pair, g *Program) {
	t.Helper()
	r := newRig(t, setup{ports: 5, queues: 3, given: append([]string{"memory", "100kB", "least", "15kB",
		"duration", "1ms"},
		given...)})
	rate := [2]float64{700e6, 600e6}
	next, seq := [2]unit.Time{ms, ms}, [2]int64{}
	r.sent = func(at unit.Time, port packet.PortID, p *packet.Packet) {
		var n packet.Notification
		i := int(p.Dst) - 3
		switch {
		case p.Notification(&n) && n.Cause == packet.CauseElephant:
			if s.told[i]++; i == 1 {
				rate[1] = max(0.85*rate[1], 450e6)
			}
		case p.IsNotification():
			s.lost[i]++
		case at > 20*ms:
			s.passed[int(p.Src)-3] += int(p.Size)
		}
	}
	for now := unit.Time(ms); now < 60*ms; {
		i := 0
		if next[1] < next[0] {
			i = 1
		}
		now = next[i]
		p := r.data(packet.Addr(3+i), 2, 9, seq[i], 1000)
		next[i] += unit.Time(float64(p.Size) * 8e12 / rate[i])
		seq[i] += 1000
		r.come(now, packet.PortID(2+i), p)
	}
	return s, r.g
}

// TestUnresponsiveElephants checks that an elephant that ignores its notices gets its half of the port, and a
// responsive one loses no packet, though both offer too much. Without the rule both lose in proportion to their
// traffic, so the responsive one gets less.
func TestUnresponsiveElephants(t *testing.T) {
	first, g := sendPair(t)
	alike, h := sendPair(t, "deaf", "alike")
	t.Logf("first: %+v, %d trimmed; alike: %+v, %d trimmed", first, g.nacks.TrimmedUnresponsive, alike,
		h.nacks.TrimmedUnresponsive)
	half := 40e-3 * 1e9 / 8 / 2
	if x := float64(first.passed[0]) / half; x < 0.97 || x > 1.12 {
		t.Errorf("the unresponsive elephant has %.2f of its half", x)
	}
	most := 0.
	for i := range g.ports[1].top.origins { // of 700 Mb/s, what is beyond half of the port
		most = max(most, g.ports[1].top.origins[i].response.excess)
	}
	if most < 1-510./700 || most > 1-490./700 {
		t.Errorf("it has %.3f trimmed", most)
	}
	if first.lost[1] > first.lost[0]/20 || g.nacks.TrimmedUnresponsive == 0 || h.nacks.TrimmedUnresponsive != 0 {
		t.Errorf("the one that heeds loses %d packets, the other %d", first.lost[1], first.lost[0])
	}
	if alike.lost[1] < alike.lost[0]/5 || first.passed[1] <= alike.passed[1] {
		t.Errorf("without the rule: %+v, with it %+v", alike, first)
	}
}

// TestNotifiedAboveShare checks that an elephant within its offer is not notified. With tell: all it is.
func TestNotifiedAboveShare(t *testing.T) {
	above, _ := sendPair(t)
	all, _ := sendPair(t, "tell", "all")
	if above.told[1] >= all.told[1] || above.told[0] < 20 || all.told[1] < 20 {
		t.Errorf("told are %v, with tell: all %v", above.told, all.told)
	}
}

// TestHeaviestFlows_JudgeResponseByCounts checks by hand which flows their counts show to be unresponsive to NACKs:
// windows of 1 ms, so 125 kB in one are 1 Gb/s.
func TestHeaviestFlows_JudgeResponseByCounts(t *testing.T) {
	const share = 500e6
	for _, x := range []struct {
		name   string
		bytes  []uint64 // by window; told in every one that is not 0 of tells
		tells  []bool
		deaf   bool
		excess float64
	}{
		{"goes on", []uint64{100_000, 100_000, 100_000, 100_000}, []bool{false, true, false, true}, true, 1 - 500./800},
		{"grows", []uint64{80_000, 90_000, 100_000, 110_000}, []bool{false, true, false, true}, true, 1 - 500./800},
		{"heeds", []uint64{100_000, 100_000, 93_000, 110_000}, []bool{false, true, false, true}, false, 0},
		{"just heeds not", []uint64{100_000, 100_000, 94_000, 100_000}, []bool{false, true, false, true}, true, 1 - 500./752},
		{"has its part", []uint64{62_000, 62_000, 62_000, 62_000}, []bool{false, true, false, true}, false, 0},
		{"told once", []uint64{100_000, 100_000, 100_000, 100_000}, []bool{false, false, false, true}, false, 0},
		{"no whole window between", []uint64{100_000, 100_000, 100_000}, []bool{false, true, true}, false, 0},
		{"told long ago", []uint64{100_000, 100_000, 100_000, 100_000, 100_000, 100_000, 100_000},
			[]bool{false, true, false, false, false, false, true}, false, 0},
		{"heeds later", []uint64{100_000, 100_000, 100_000, 100_000, 60_000, 60_000},
			[]bool{false, true, false, true, false, true}, false, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			top := NewTop(4, 4)
			var o *Origin
			for w := range x.bytes {
				c := FlowEstimate{Windows: 4}
				for j := range min(w+1, 4) {
					c.Flow[j] = uint32(x.bytes[w-j])
				}
				o = top.OfferCounts(uint32(w), 7, &c)
				if x.tells[w] {
					top.judgeResponse(o, uint32(w), share, ms)
				}
			}
			if h := o.response; h.unresponsive != x.deaf || h.excess < x.excess-1e-9 || h.excess > x.excess+1e-9 {
				t.Errorf("%+v, want %v, %g", h, x.deaf, x.excess)
			}
		})
	}
}

// TestProgram_TrimsOnlyUnresponsiveElephants checks that only packets of an elephant that is unresponsive and was
// notified within n windows are trimmed, and only while memory is lacking and elephants exceed their balance.
func TestProgram_TrimsOnlyUnresponsiveElephants(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(x *port, h *response)
		want   bool
	}{
		{"deaf", func(*port, *response) {}, true},
		{"hears", func(_ *port, h *response) { h.unresponsive = false }, false},
		{"told n windows ago", func(x *port, h *response) { h.window -= uint32(x.top.windows) }, true},
		{"told before that", func(x *port, h *response) { h.window -= uint32(x.top.windows) + 1 }, false},
		{"no congestion", func(x *port, _ *response) { x.memory.congested = false }, false},
		{"in balance", func(x *port, _ *response) { x.memory.used[Elephants] = 0 }, false},
		{"half of it is its part", func(_ *port, h *response) { h.excess = 0.5 }, false}, // of the first packet
	} {
		t.Run(x.name, func(t *testing.T) {
			_, g := sendPair(t)
			at := &g.ports[1]
			p := &packet.Packet{Kind: packet.Data, Src: 3, Dst: 2, SrcPort: 9, DstPort: 80, Proto: packet.ProtoTCP,
				Version: 4, Payload: 1000, Size: 1066}
			p.Meta.Out = 1
			i := slices.Index(at.top.keys, g.key(p))
			if i < 0 {
				t.Fatal("it is not in the table")
			}
			h := &at.top.origins[i].response
			*h = response{window: at.sketch.Window(), isSet: true, unresponsive: true, excess: 1}
			at.memory.congested, at.memory.used[Elephants] = true, at.memory.size
			x.change(at, h)
			if got := g.trimUnresponsive(p); got != x.want {
				t.Errorf("trimmed: %v", got)
			}
		})
	}
}
