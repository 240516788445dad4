package tm

import (
	"math"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestCobalt_BlueMovesProbability checks BLUE's probability. It rises by 1/256 when packets are dropped at overflow,
// and falls by 1/4096 when the queue is found empty, each at most once a target. It stays between 0 and 1 (tc-cake:
// sch_cake.c, cobalt_queue_full and _queue_empty).
func TestCobalt_BlueMovesProbability(t *testing.T) {
	var c cobaltTimes
	c.setTimes(5*unit.Millisecond, 100*unit.Millisecond, 0)
	s := cobalt{changed: longAgo, next: longAgo}
	chance := func() float64 { return float64(s.chance) / (1 << 32) }
	now := unit.Time(0)
	for n := range 300 {
		now += 6 * unit.Millisecond
		s.noteFull(&c, now)
		s.noteFull(&c, now+4*unit.Millisecond) // too soon
		if want := min(float64(n+1)/256, 1); math.Abs(chance()-want) > 1e-9 {
			t.Fatalf("after %d losses the probability is %g, want %g", n+1, chance(), want)
		}
	}
	if mark, drop := s.judgePacket(&c, now, 0, true, func() uint32 { return math.MaxUint32 - 1 }); mark || !drop {
		t.Error("a packet passes at probability 1")
	}
	for n := range 5000 {
		now += 6 * unit.Millisecond
		s.noteEmpty(&c, now)
		s.noteEmpty(&c, now+4*unit.Millisecond)
		if want := max(0, 1-float64(n+1)/4096); math.Abs(chance()-want) > 1e-9 {
			t.Fatalf("after %d times empty the probability is %g, want %g", n+1, chance(), want)
		}
	}
	if _, drop := s.judgePacket(&c, now, 0, true, func() uint32 { return 0 }); drop {
		t.Error("a packet is dropped at probability 0")
	}
}

// TestCobaltCoDel checks CoDel in COBALT. The first drop follows an interval above the target, and later ones follow
// the law interval/√count. Below the target the count falls back to 0 (tc-cake: sch_cake.c, cobalt_should_drop).
func TestCobaltCoDel(t *testing.T) {
	const ms = unit.Millisecond
	var c cobaltTimes
	c.setTimes(5*ms, 100*ms, 0)
	s := cobalt{changed: longAgo, next: longAgo}
	s.judgePacket(&c, 999*ms, 0, false, nil)
	var at []unit.Time
	for now := 1000 * ms; now < 1500*ms; now += ms {
		if _, drop := s.judgePacket(&c, now, 6*ms, false, nil); drop {
			at = append(at, now)
		}
	}
	next := float64(1100)
	for k, x := range at {
		if want := unit.Time(math.Ceil(next-1e-9)) * ms; x != want {
			t.Errorf("packet %d goes at %v, want %v", k, x, want)
		}
		next += 100 / math.Sqrt(float64(k+2))
	}
	if len(at) < 6 {
		t.Fatalf("%d packets go", len(at))
	}
	before := s.count
	for now := 1500 * ms; now < 2500*ms; now += ms {
		if _, drop := s.judgePacket(&c, now, 5*ms, false, nil); drop {
			t.Fatal("a packet goes at the target")
		}
	}
	if s.count != 0 || before == 0 {
		t.Errorf("count falls from %d to %d", before, s.count)
	}
}

// TestCakeRates checks that on slow links the target is one and a half frames, and the interval grows with it. A
// quantum is what the port sends in 1/4096 s, between 300 and 1514 bytes. A new rate applies from the next packet
// (tc-cake: sch_cake.c, cake_set_rate).
func TestCakeRates(t *testing.T) {
	const us = unit.Microsecond
	for _, x := range []struct {
		rate             unit.Rate
		target, interval unit.Time
		quantum          int64
	}{
		{100 * unit.Kbps, 181680 * us, 363360 * us, 300},
		{unit.Mbps, 18168 * us, 113168 * us, 300},
		{20 * unit.Mbps, 5000 * us, 100000 * us, 610},
		{unit.Gbps, 5000 * us, 100000 * us, 1514},
	} {
		t.Run(x.rate.String(), func(t *testing.T) {
			p := cakePort(t, Cake{Isolation: isolateFlows, Flows: 8}, 10*unit.Gbps)
			p.SetRate(unit.LinkRate{Bits: x.rate})
			p.Push(0, &packet.Packet{Size: 100})
			p.DequeueNext(1)
			k := p.queues[0].flows.cake
			if k.target != x.target || k.interval != x.interval || k.quantum != x.quantum {
				t.Errorf("%v, %v, %d, want %v, %v, %d", k.target, k.interval, k.quantum, x.target, x.interval, x.quantum)
			}
		})
	}
}

func cakePort(t *testing.T, c Cake, rate unit.Rate) *Port {
	t.Helper()
	c.Target, c.Interval = 5*unit.Millisecond, 100*unit.Millisecond
	r := unit.LinkRate{Bits: rate}
	return NewPort(NewBuffer(1, Limit{}, Limit{}), newCakeScheduler(c, r), r)
}

// TestCakeQuantum checks CAKE §III: a flow's part of the quantum is Q / max(1, busy flows of its host). Triple
// isolation takes the larger number of both hosts. The remainder of the division is not lost.
func TestCakeQuantum(t *testing.T) {
	for _, x := range []struct {
		isolation string
		busy      [2]int32
		turns     int
		want      int32
	}{
		{isolateFlows, [2]int32{7, 9}, 1, 1514}, {isolateBySrc, [2]int32{0, 9}, 1, 1514},
		{isolateBySrc, [2]int32{7, 9}, 7000, 1514000}, {isolateByDst, [2]int32{7, 9}, 9000, 1514000},
		{isolateBoth, [2]int32{7, 9}, 9000, 1514000}, {isolateBoth, [2]int32{16, 9}, 16, 1514},
		{isolateBySrc, [2]int32{1000, 0}, 100000, 151400},
	} {
		t.Run(x.isolation, func(t *testing.T) {
			k := cakePort(t, Cake{Isolation: x.isolation, Flows: 64}, unit.Gbps).queues[0].flows.cake
			k.queues[1].host = [2]int32{3, 5}
			k.hosts[3].busy[0], k.hosts[5].busy[1] = x.busy[0], x.busy[1]
			for range x.turns {
				k.earnQuantum(1)
			}
			if got := k.lists[1].credit; got > x.want || got < x.want-2-int32(x.turns>>16) {
				t.Errorf("%d bytes in %d turns, want %d", got, x.turns, x.want)
			}
		})
	}
}

// TestCakePlaces checks CAKE §III: the hash has sets of 8 queues. Eight flows of one set get a queue each, and the
// ninth shares the queue of its own place. With a plain hash they would all share one. The queue of an idle flow
// becomes free for others.
func TestCakePlaces(t *testing.T) {
	k := cakePort(t, Cake{Isolation: isolateFlows, Flows: 1024}, unit.Gbps).queues[0].flows.cake
	var same []uint32 // hashes of flows whose own place is 13
	for h := uint32(0); len(same) < 9; h++ {
		if mixHash(h, 0)%1024 == 13 {
			same = append(same, h)
		}
	}
	want := []int32{13, 14, 15, 8, 9, 10, 11, 12, 13}
	for i, h := range same {
		k.enqueuePacket(&packet.Packet{Hash: h, Size: 100})
		if got := k.findList(&packet.Packet{Hash: h}) - 1; got != want[i] {
			t.Errorf("flow %d is in queue %d, want %d", i, got, want[i])
		}
	}
	if got := k.findList(&packet.Packet{Hash: same[5]}) - 1; got != 10 {
		t.Errorf("flow 5 has moved to queue %d", got)
	}
	for range 9 {
		k.dequeuePacket(unit.Second)
	}
	for range 200 { // time in which all come to rest, as another flow sends
		k.enqueuePacket(&packet.Packet{Hash: 1, Size: 100, Enqueued: k.now + 200*unit.Millisecond})
		k.dequeuePacket(k.now)
	}
	if got := k.findList(&packet.Packet{Hash: same[8]}) - 1; got != 13 {
		t.Errorf("the flow is in queue %d, want its own", got)
	}
	for i := range k.queues {
		if q := &k.queues[i]; q.set != gone && q.tag != mixHash(1, 0) {
			t.Errorf("queue %d has not come to rest: %+v", i, q)
		}
	}
}

// TestCakeCollisions checks that 500 flows of 1024 queues have at least 485 queues with sets of 8. By a plain hash 1 −
// (1 − 1/1024)^499 = 39 % of them would share one (CAKE §III).
func TestCakeCollisions(t *testing.T) {
	k := cakePort(t, Cake{Isolation: isolateFlows, Flows: 1024}, unit.Gbps).queues[0].flows.cake
	in := map[int32]int{}
	for n := range uint32(500) {
		p := &packet.Packet{Hash: packet.FlowHash(1, 2, uint16(n), 80, packet.ProtoTCP), Size: 100}
		k.enqueuePacket(p)
		in[k.findList(p)]++
	}
	if len(in) < 485 {
		t.Errorf("500 flows have %d queues", len(in))
	}
}

// TestCakeCounts checks that hosts count their busy flows correctly while flows start, end and share queues. A queue
// with packets always has a turn.
func TestCakeCounts(t *testing.T) {
	p := cakePort(t, Cake{Isolation: isolateBoth, Flows: 16}, 10*unit.Mbps)
	random, now := unit.NewRandom(1, "cake"), unit.Time(0)
	for n := range 20000 {
		now += unit.Time(random.IntN(2000)) * unit.Microsecond * unit.Time(1+n/3000%3)
		if random.IntN(3) > 0 {
			src, dst, f := packet.Addr(random.IntN(5)+1), packet.Addr(random.IntN(5)+1), uint16(random.IntN(4))
			x := &packet.Packet{Src: src, Dst: dst, Size: int32(64 + random.IntN(1400)), Enqueued: now,
				Hash: packet.FlowHash(src, dst, f, 80, packet.ProtoTCP)}
			if p.Packets() > 50 {
				p.MakeRoom(0, x, PortPackets)
			}
			p.Push(0, x)
		} else {
			p.DequeueNext(now)
		}
		k := p.queues[0].sortFlows().cake
		var want [2][16]int32
		for i := 1; i < len(k.queues); i++ {
			if q := &k.queues[i]; q.set == busy {
				want[0][q.host[0]]++
				want[1][q.host[1]]++
			} else if (q.set == decaying || q.set == gone) && k.lists[i].head != 0 {
				t.Fatalf("step %d: queue %d has packets and no turn", n, i)
			}
		}
		for i := range k.hosts {
			if got := k.hosts[i].busy; got != [2]int32{want[0][i], want[1][i]} {
				t.Fatalf("step %d: host %d counts %v busy flows, want %d, %d", n, i, got, want[0][i], want[1][i])
			}
		}
	}
}
