package ncf

import (
	"slices"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// load is an open-loop sender of frames with 1000 bytes.
type load struct {
	src, dst packet.Addr
	every    unit.Time
	port     func(i int) uint16 // its flow's
	from     unit.Time
}

// offer has loads arrive until end and returns what each delivered in bytes, by source.
func (r *rig) offer(end unit.Time, loads ...load) (served map[packet.Addr]int64) {
	served = map[packet.Addr]int64{}
	if r.sent == nil {
		r.sent = func(at unit.Time, _ packet.PortID, p *packet.Packet) {
			if p.Payload > 0 && !p.IsNotification() && at <= end {
				served[p.Src] += int64(p.Size)
			}
		}
	}
	next, count := make([]unit.Time, len(loads)), make([]int, len(loads))
	for i, l := range loads {
		next[i] = l.from
	}
	for {
		k := 0
		for i := range next {
			if next[i] < next[k] {
				k = i
			}
		}
		l := &loads[k]
		if next[k] > end {
			return served
		}
		r.come(next[k], packet.PortID(l.src-1), r.data(l.src, l.dst, l.port(count[k]), int64(count[k])*1000, 1000))
		count[k]++
		next[k] += l.every
	}
}

func one(port uint16) func(int) uint16 { return func(int) uint16 { return port } }

func many(i int) uint16 { return uint16(1000 + i%60_000) }

// TestSharesOfThePort checks the scheduler's part of NCF §4.2, without responsive senders (TestNoStarvation has them).
// If both classes fill the port, each gets at least its 10 %; here half, because the rest is shared equally. A single
// class gets all.
func TestSharesOfThePort(t *testing.T) {
	given := []string{"memory", "100kB", "least", "15kB", "duration", "1ms", "threshold", "2%"}
	rate := float64(unit.Gbps) / 8
	for _, c := range []struct {
		name         string
		mice, fat    unit.Time // between packets; 0: none
		least, other float64
	}{
		{"both", 8 * us, 8 * us, 0.4, 0.4}, {"mice ten times as much", 2 * us, 20 * us, 0.1, 0.1},
		{"elephants ten times as much", 20 * us, 2 * us, 0.1, 0.1},
		{"mice alone", 8 * us, 0, 0.99, 0}, {"elephants alone", 0, 8 * us, 0, 0.99},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, setup{ports: 4, queues: 3, given: given, rates: map[int]unit.Rate{0: 10 * unit.Gbps,
				2: 10 * unit.Gbps}})
			var loads []load
			if c.mice > 0 {
				loads = append(loads, load{src: 3, dst: 2, every: c.mice, port: many})
			}
			if c.fat > 0 {
				loads = append(loads, load{src: 1, dst: 2, every: c.fat, port: one(9)})
			}
			served := r.offer(600*ms, loads...)
			whole := rate * 0.6
			mice, fat := float64(served[3])/whole, float64(served[1])/whole
			t.Logf("%s: mice %.3f, elephants %.3f of the port", c.name, mice, fat)
			if mice < c.least || fat < c.other || mice+fat < 0.98 {
				t.Errorf("%s: mice have %.3f, elephants %.3f of the port", c.name, mice, fat)
			}
		})
	}
}

// TestShareOfMemory checks NCF §4.4: an attack with many mice drops elephants' packets only for a short time, of n·d or
// once. Then elephants take their balance of the memory back, and always keep their share of the port if they send at
// it (TestAttack_MiceLeaveElephantsTheirHalf has responsive senders).
func TestShareOfMemory(t *testing.T) {
	for _, c := range []struct {
		spike    string
		renew    string
		from, to float64 // share of time in which mice have more than their balance
	}{{"0%", "windows", 0, 0.02}, {"25%", "windows", 0.2, 0.36}, {"100%", "windows", 0.9, 1},
		{"100%", "balance", 0, 0.02}} {
		t.Run(c.spike+" "+c.renew, func(t *testing.T) {
			r := newRig(t, setup{ports: 4, queues: 3, given: []string{"memory", "100kB", "least", "15kB", "duration", "2ms",
				"threshold", "2%", "spike", c.spike, "renew", c.renew, "mice_budget", "1000%"},
				rates: map[int]unit.Rate{0: 10 * unit.Gbps, 2: 10 * unit.Gbps}})
			beyond, total := 0, 0
			spy := &watcher{see: func(now unit.Time) {
				if now > 20*ms {
					total++
					if r.g.Memory(1).Used(Mice) > 50_000 { // a balance of 47.5 kB, and two frames
						beyond++
					}
				}
			}}
			served, handled := map[packet.Addr]int64{}, 0
			r.sent = func(at unit.Time, _ packet.PortID, p *packet.Packet) {
				if spy.see(at); p.Payload > 0 {
					served[p.Src] += int64(p.Size)
					if p.Src == 3 && at >= 192*ms {
						handled++
					}
				}
			}
			r.offer(200*ms, load{src: 1, dst: 2, every: 8 * us, port: one(9)}, load{src: 3, dst: 2, every: 3 * us, port: many,
				from: 10 * ms})
			share := float64(beyond) / float64(total)
			t.Logf("spike %s: mice beyond their balance for %.1f %% of the time; elephants get %.3f of the port", c.spike,
				100*share, float64(served[1])*8/0.2e9)
			if share < c.from || share > c.to {
				t.Errorf("spike %s: mice are beyond their balance for %.3f of the time", c.spike, share)
			}
			if got := float64(served[1]) * 8 / 0.2e9; got < 0.4 {
				t.Errorf("spike %s: elephants get %.3f of the port", c.spike, got)
			}
			if handled < 200 || handled > 1100 { // half of 1 Gb/s is 117 full frames in 2 ms
				t.Errorf("%d mice packets handled in 8 ms", handled)
			}
		})
	}
}

type watcher struct{ see func(now unit.Time) }

// TestTopElephants checks NCF §4.4: during congestion the N heaviest are notified although they have no packet in the
// queue. Each arriving packet notifies at most one, each once in an interval, until the congestion ends.
func TestTopElephants(t *testing.T) {
	given := []string{"memory", "50kB", "least", "15kB", "duration", "10ms", "every", "1ms", "spike", "100%",
		"mice_budget", "1000%", "tell", "all"}
	for _, top := range []string{"0", "20"} {
		t.Run(top, func(t *testing.T) {
			r := newRig(t, setup{ports: 6, queues: 3, rates: map[int]unit.Rate{1: 100 * unit.Mbps},
				given: append(given, "top", top)})
			now := unit.Time(ms)
			for i := range packet.Addr(3) { // three elephants, whose packets leave
				now = r.fatten(now, 3+i, 2, 9, 18)
				now += 500 * us
				r.until(now)
			}
			r.until(now + 4*ms)
			now += 4 * ms
			if n := r.sw.Port(1).Packets(); n != 0 {
				t.Fatalf("%d packets wait", n)
			}
			congested, last := unit.Time(0), unit.Time(0)
			told := map[packet.Addr][]unit.Time{}
			r.sent = func(at unit.Time, port packet.PortID, p *packet.Packet) {
				var n packet.Notification
				if p.Notification(&n) && n.Cause == packet.CauseElephant {
					if n.Lost != 0 || about(p) != 17_000 || p.TCP.TSEcho != 77 {
						t.Fatalf("%+v %+v", p, n)
					}
					told[p.Dst] = append(told[p.Dst], at)
					last = at
				}
			}
			before := r.g.NackCounts().Nacks[packet.CauseElephant]
			for i := range 2000 { // mice jam the port
				if r.g.Memory(1).IsCongested() && congested == 0 {
					congested = now
				}
				n := r.g.NackCounts().Nacks[packet.CauseElephant]
				r.come(now, 0, r.data(1, 2, many(i), 0, 1000))
				if r.g.NackCounts().Nacks[packet.CauseElephant] > n+1 {
					t.Fatal("one packet has more than one elephant told")
				}
				now += 3 * us
			}
			r.until(now)
			if top == "0" {
				if r.g.NackCounts().Nacks[packet.CauseElephant] != before {
					t.Error("elephants are told although top is 0")
				}
				return
			}
			if len(told) != 3 || congested == 0 {
				t.Fatalf("congestion from %v on; told: %v", congested, told)
			}
			for a, times := range told {
				if times[0] > congested+100*us || len(times) < 4 || len(times) > 8 {
					t.Errorf("%d is told at %v; congestion began at %v", a, times, congested)
				}
				for i := 1; i < len(times); i++ {
					if times[i]-times[i-1] < ms-10*us {
						t.Errorf("%d is told after %v", a, times[i]-times[i-1])
					}
				}
			}
			// it is over: packets arrive without a notice
			r.drain()
			if r.g.Memory(1).IsCongested() {
				t.Error("it is empty, and congested")
			}
			n := r.g.NackCounts().Nacks[packet.CauseElephant]
			now += 10 * ms
			for i := range 50 {
				r.come(now, 0, r.data(1, 2, many(i), 0, 1000))
				now += 500 * us
			}
			if r.g.NackCounts().Nacks[packet.CauseElephant] != n {
				t.Errorf("elephants are told after congestion, which ended before %v", last)
			}
		})
	}
}

// TestProgram_EarlyNotifiesWithoutLoss checks early: an elephant in a class with that share of the memory is notified
// at its packet's arrival, without a loss (Weir's rule, after the TNSM follow-up's abstract).
func TestProgram_EarlyNotifiesWithoutLoss(t *testing.T) {
	r := newRig(t, setup{ports: 2, queues: 3, given: []string{"memory", "100kB", "least", "15kB", "early", "20%",
		"every", "10us"}})
	now := r.fatten(ms, 1, 2, 9, 20)
	for i := range 60 {
		before := r.g.NackCounts().Nacks[packet.CauseElephant]
		used := r.g.Memory(1).Used(Elephants)
		r.come(now, 0, r.data(1, 2, 9, int64(20+i)*1000, 1000))
		if after := r.g.NackCounts().Nacks[packet.CauseElephant]; after > before && used < 20_000 {
			t.Errorf("told at %d bytes", used)
		}
		now += us
	}
	r.drain()
	_, notices := r.nacks()
	if drops := r.sw.DropCounts(); len(notices) < 3 || len(notices) > 6 || drops != [dataplane.Reasons]uint64{} {
		t.Errorf("%d NACKs, drops %v", len(notices), drops)
	}
}

// TestEarlyAndTop checks that during congestion, too, a packet causes one notice: early, or to the next of the
// heaviest.
func TestEarlyAndTop(t *testing.T) {
	r := newRig(t, setup{ports: 3, queues: 3, given: []string{"memory", "100kB", "least", "15kB", "early", "20%",
		"every", "1us"}})
	now := r.fatten(ms, 3, 2, 8, 20)
	now = r.fatten(now, 1, 2, 9, 20)
	most := uint64(0)
	for i := range 200 {
		before := r.g.NackCounts().Nacks[packet.CauseElephant]
		r.come(now, 0, r.data(1, 2, 9, int64(20+i)*1000, 1000))
		most = max(most, r.g.NackCounts().Nacks[packet.CauseElephant]-before)
		now += 2 * us
	}
	if most != 1 || !r.g.Memory(1).IsCongested() {
		t.Errorf("%d elephants are told for a packet", most)
	}
}

// TestControlCeiling checks NCF §4.2's "maximum of 5 %" and NCF §4.3's fast NACKs. A burst of control frames of 10 % of
// the port meets saturating mice and elephants, and an idle port, under no ceiling, one upon contention, and a hard
// one. The ceiling costs delay exactly when there is more than it, the hard one also when the port is otherwise idle.
func TestControlCeiling(t *testing.T) {
	type result struct{ busy, idle, light unit.Time }
	results := map[string]result{}
	for _, name := range []string{"none", "contention", "hard", "shared"} {
		measure := func(busy bool, every unit.Time) unit.Time {
			r := newRig(t, setup{ports: 3, queues: 3, given: []string{"memory", "300kB", "least", "15kB"},
				rates: map[int]unit.Rate{0: 10 * unit.Gbps, 2: 10 * unit.Gbps},
				scheduler: func() tm.Scheduler {
					c := tm.NCF{Control: 0.05, Hard: name == "hard", Mice: 0.1, Elephants: 0.1}
					if name == "none" {
						c.Control = 1
					}
					s, err := tm.NewNCF(3, c, unit.Gbps, 1514, 3028)
					if name == "shared" { // no priority at all
						s, err = tm.NewDRR(3, 1514), nil
					}
					if err != nil {
						t.Fatal(err)
					}
					return s
				}})
			var delays []unit.Time
			came := map[int64]unit.Time{}
			r.sent = func(at unit.Time, _ packet.PortID, p *packet.Packet) {
				if p.Kind == packet.Ack {
					delays = append(delays, at-came[p.Seq])
				}
			}
			next := unit.Time(10 * ms)
			for now := unit.Time(0); now < 30*ms; now += 4 * us {
				if busy {
					r.come(now, 0, r.data(1, 2, 9, int64(now), 1000))
					r.come(now, 2, r.data(3, 2, many(int(now/us)), 0, 1000))
				}
				for ; next <= now && next < 12*ms; next += every { // 2 ms
					came[int64(next)] = next
					r.come(max(now, next), 0, r.data(1, 2, 9, int64(next), 0, func(p *packet.Packet) { p.Kind = packet.Ack }))
				}
			}
			r.drain()
			slices.Sort(delays)
			return delays[len(delays)*99/100]
		}
		// a frame of 66 bytes is 528 ns: one in 5 µs is 10 % of the port, one in 20 µs 2.6 %
		results[name] = result{measure(true, 5*us), measure(false, 5*us), measure(true, 20*us)}
		t.Logf("ceiling %-10s p99 of control frames' delay: 10 %% of a busy port %v, of an idle one %v; 2.6 %% of a "+
			"busy one %v", name, results[name].busy, results[name].idle, results[name].light)
	}
	frame := 20 * us // one that is on the wire, and what else came within a step
	for name, x := range results {
		if x.light > frame && name != "shared" {
			t.Errorf("%s: below the ceiling, a NACK waits %v", name, x.light)
		}
		if (x.busy > 200*us) != (name == "contention" || name == "hard") && name != "shared" {
			t.Errorf("%s: above the ceiling, a NACK waits %v beside others", name, x.busy)
		}
		if (x.idle > 200*us) != (name == "hard") {
			t.Errorf("%s: above the ceiling, a NACK waits %v for nothing", name, x.idle)
		}
	}
}
