package ncf

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testutil"
)

func TestDocNamesTests(t *testing.T) { testutil.CheckDocTests(t, 40) }

// §4.2: "one for elephant flows, one for mice, and one for control packets"; and with other
// numbers of queues (ours).
func TestQueues(t *testing.T) {
	for _, c := range []struct {
		queues                  int
		control, mice, elephant []uint8
	}{
		{1, []uint8{0}, []uint8{0}, []uint8{0}}, {2, []uint8{0}, []uint8{1}, []uint8{1}}, {3, []uint8{0}, []uint8{1},
			[]uint8{2}},
		{8, []uint8{0}, []uint8{1}, []uint8{2, 3, 4, 5, 6, 7}},
	} {
		seen := map[string]map[uint8]bool{"control": {}, "mice": {}, "elephant": {}}
		spy := &spy{}
		r := newRig(t, setup{ports: 3, queues: c.queues, after: []dataplane.Program{spy}, given: []string{"memory", "100kB",
			"least", "15kB"}})
		now := unit.Time(ms)
		for port := range uint16(40) { // two at a time, so that each has more than 5 %
			now = r.fatten(now+100*ms, 1, 2, 10+port, 20)
			spy.see = func(p *packet.Packet, queue uint8) { seen["elephant"][queue] = true }
			r.come(now, 0, r.data(1, 2, 10+port, 20_000, 1000))
			spy.see = func(p *packet.Packet, queue uint8) { seen["mice"][queue] = true }
			r.come(now, 2, r.data(3, 2, 100+port, 0, 1000))
			spy.see = func(p *packet.Packet, queue uint8) { seen["control"][queue] = true }
			r.come(now, 0, r.data(1, 2, 10+port, 0, 0, func(p *packet.Packet) { p.Kind = packet.Ack }))
			r.come(now, 0, r.data(1, 2, 10+port, 0, 0, func(p *packet.Packet) {
				p.Kind = packet.Nack
				p.SetNotification(&packet.Notification{Lost: 1})
			}))
			r.come(now, 0, r.data(1, 2, 10+port, 0, 0, func(p *packet.Packet) {
				p.Kind, p.Proto = packet.Probe,
					packet.ProtoRDMA
			}))
			spy.see = nil
		}
		r.drain()
		for name, want := range map[string][]uint8{"control": c.control, "mice": c.mice, "elephant": c.elephant} {
			var got []uint8
			for q := range uint8(8) {
				if seen[name][q] {
					got = append(got, q)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d queues: %s in %v, want %v", c.queues, name, got, want)
			}
		}
	}
}

// spy sees what enters queues.
type spy struct {
	see func(p *packet.Packet, queue uint8)
}

func (*spy) Name() string { return "spy" }
func (s *spy) Book(_ *dataplane.Env, p *packet.Packet) {
	if s.see != nil {
		s.see(p, p.Meta.Queue)
	}
}

// again has every packet come a second time.
type again struct{}

func (again) Name() string { return "again" }
func (again) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.In != packet.NoPort {
		env.Inject(env.Clone(p, false))
		return dataplane.Drop(dataplane.Policed)
	}
	return dataplane.Accept
}

// A packet counts once, however often it passes the ingress.
func TestCountedOnce(t *testing.T) {
	r := newRig(t, setup{ports: 2, queues: 3, after: []dataplane.Program{again{}}, given: []string{"memory", "100kB"}})
	p := r.data(1, 2, 9, 0, 1000)
	k := r.g.key(p)
	r.come(ms, 0, p)
	if c := r.g.at(1).sketch.Query(ms, k); c.Total[0] != 1066 || c.Flow[0] != 1066 || r.sw.Port(1).TxPackets() != 1 {
		t.Errorf("%d of %d bytes", c.Flow[0], c.Total[0])
	}
}

// acks: mice puts acknowledgements beside mice; feedback of the network stays control.
func TestAcks(t *testing.T) {
	spy, queues := &spy{}, []uint8{}
	spy.see = func(_ *packet.Packet, queue uint8) { queues = append(queues, queue) }
	r := newRig(t, setup{ports: 2, queues: 3, after: []dataplane.Program{spy}, given: []string{"memory", "100kB",
		"acks", "mice"}})
	r.come(ms, 0, r.data(1, 2, 9, 0, 0, func(p *packet.Packet) { p.Kind = packet.Ack }))
	r.come(ms, 0, r.data(1, 2, 9, 0, 0, func(p *packet.Packet) { p.SetNotification(&packet.Notification{}) }))
	r.come(ms, 0, r.data(1, 2, 9, 0, 0, func(p *packet.Packet) { p.Kind = packet.Notice }))
	if !slices.Equal(queues, []uint8{1, 0, 0}) {
		t.Error(queues)
	}
}

// §4.4: spikes of mice reclaim memory from the elephants' queue, "and send [NACKs] to the sender via
// the control queue"; elephants keep their reservation.
func TestReclaim(t *testing.T) {
	for _, pool := range []string{PerPort, PerSwitch} {
		r := newRig(t, setup{ports: 3, queues: 3, given: []string{"memory", "100kB", "pool", pool, "least", "15kB",
			"top", "0"}})
		now := r.fatten(ms, 1, 2, 9, 30)
		to := packet.Addr(2)
		for i := range 100 { // of which 95 % of the memory find room, beside the frame on the wire
			r.come(now, 0, r.data(1, 2, 9, int64(30+i)*1000, 1000))
		}
		if used := r.g.Memory(1).Used(Elephants); used < 95_000-1066 || used > 95_000 {
			t.Errorf("elephants alone use %d of 100000 bytes", used)
		}
		if pool == PerSwitch {
			to = 3 // mice elsewhere, too
		}
		refused := r.g.Told().Nacks[packet.CauseTrimmed]
		for i := range 60 {
			r.come(now, 2, r.data(3, to, uint16(100+i), 0, 1000))
		}
		told := r.g.Told()
		mice, elephants := r.g.Memory(1).Used(Mice), r.g.Memory(1).Used(Elephants)
		if mice < 58*1066 || mice+elephants < 95_000-2*1066 || told.Nacks[packet.CauseTrimmed] != refused {
			t.Errorf("%s: mice have %d, elephants %d bytes; %+v", pool, mice, elephants, told)
		}
		r.drain()
		nacks, notices := r.nacks()
		reclaimed := uint64(0)
		for i, n := range notices {
			if n.Cause == packet.CauseReclaimed {
				if reclaimed++; nacks[i].Dst != 1 || n.Lost != 1000 {
					t.Fatalf("%+v %+v", nacks[i], n)
				}
			}
		}
		if reclaimed == 0 || reclaimed+told.Lost != told.Reclaimed || pool == PerPort && told.Lost > 0 ||
			told.Reclaimed != r.sw.Drops()[dataplane.Evicted] || r.pool.Live() != 0 {
			t.Errorf("%s: %d NACKs for %d packets: %+v %v %d", pool, reclaimed, told.Reclaimed, r.g.Told(), r.sw.Drops(),
				r.pool.Live())
		}
	}
}

// With several queues of elephants the longest one gives way, whichever it is.
func TestReclaimLongest(t *testing.T) {
	for _, first := range []bool{true, false} { // the long one comes first among the queues
		r := newRig(t, setup{ports: 4, queues: 8, given: []string{"memory", "100kB", "least", "15kB", "top", "0"}})
		long, short, number := r.data(1, 2, 9, 0, 1000), r.data(3, 2, 9, 0, 1000), func(p *packet.Packet) uint8 {
			return queue(Elephants, r.g.key(p), 8)
		}
		for number(long) == number(short) || number(long) < number(short) != first {
			short.SrcPort++
		}
		port := short.SrcPort
		r.pool.Put(long)
		r.pool.Put(short)
		now := r.fatten(r.fatten(ms, 1, 2, 9, 30), 3, 2, port, 30)
		r.overflow(now, 3, 2, port, 20)
		r.overflow(now, 1, 2, 9, 68)
		for i := range 20 {
			r.come(now, 3, r.data(4, 2, uint16(100+i), 0, 1000))
		}
		r.drain()
		nacks, notices := r.nacks()
		from := map[packet.Addr]int{}
		for i, n := range notices {
			if n.Cause == packet.CauseReclaimed {
				from[nacks[i].Dst]++
			}
		}
		if from[1] < 15 || from[3] > 0 {
			t.Errorf("first %v: packets taken by sender: %v", first, from)
		}
	}
}

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
			if p.Payload > 0 && !p.Notifies() && at <= end {
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
func many(i int) uint16                { return uint16(1000 + i%60_000) }

// §4.2: "elephant flows cannot starve mice flows and vice versa": both want all of the port, and
// each gets at least its 10 %; here half, for the rest is shared alike. Alone, either has it all.
func TestNoStarvation(t *testing.T) {
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
		r := newRig(t, setup{ports: 4, queues: 3, given: given, rates: map[int]unit.Rate{0: 10 * unit.Gbps,
			2: 10 * unit.Gbps}})
		var loads []load
		if c.mice > 0 {
			loads = append(loads, load{src: 3, dst: 2, every: c.mice, port: many})
		}
		if c.fat > 0 {
			loads = append(loads, load{src: 1, dst: 2, every: c.fat, port: one(9)})
		}
		served := r.offer(200*ms, loads...)
		whole := rate * 0.2
		mice, fat := float64(served[3])/whole, float64(served[1])/whole
		t.Logf("%s: mice %.3f, elephants %.3f of the port", c.name, mice, fat)
		if mice < c.least || fat < c.other || mice+fat < 0.98 {
			t.Errorf("%s: mice have %.3f, elephants %.3f of the port", c.name, mice, fat)
		}
	}
}

// §4.4: an attack with many mice drops elephants' packets only for a short time in n·d: then
// elephants take their balance of the memory back, and have all the time their share of the port.
func TestAttack(t *testing.T) {
	for _, c := range []struct {
		spike    string
		from, to float64 // share of time in which mice have more than their balance
	}{{"0%", 0, 0.02}, {"25%", 0.2, 0.36}, {"100%", 0.9, 1}} {
		r := newRig(t, setup{ports: 4, queues: 3, given: []string{"memory", "100kB", "least", "15kB", "duration", "2ms",
			"threshold", "2%", "spike", c.spike},
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
		served := map[packet.Addr]int64{}
		r.sent = func(at unit.Time, _ packet.PortID, p *packet.Packet) {
			if spy.see(at); p.Payload > 0 {
				served[p.Src] += int64(p.Size)
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
		if n := r.g.MiceHandled(200*ms, 1); n < 200 || n > 1100 { // half of 1 Gb/s is 117 frames in 2 ms
			t.Errorf("%d mice packets handled in 8 ms", n)
		}
	}
}

type watcher struct{ see func(now unit.Time) }

// §4.4: during congestion the N heaviest are told although they have no packet in the queue: one
// for each packet that comes at most, each once in an interval, until it is over.
func TestTopElephants(t *testing.T) {
	given := []string{"memory", "50kB", "least", "15kB", "duration", "10ms", "every", "1ms", "spike", "0%"}
	for _, top := range []string{"0", "20"} {
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
		congested := unit.Time(0)
		var last unit.Time
		told := map[packet.Addr][]unit.Time{}
		r.sent = func(at unit.Time, port packet.PortID, p *packet.Packet) {
			var n packet.Notification
			if p.Notification(&n) && n.Cause == packet.CauseElephant {
				if n.Lost != 0 || p.Seq != 17_000 || p.TCP.TSVal != 77 {
					t.Fatalf("%+v %+v", p, n)
				}
				told[p.Dst] = append(told[p.Dst], at)
				last = at
			}
		}
		before := r.g.Told().Nacks[packet.CauseElephant]
		for i := range 2000 { // mice jam the port
			if r.g.Memory(1).Congested() && congested == 0 {
				congested = now
			}
			n := r.g.Told().Nacks[packet.CauseElephant]
			r.come(now, 0, r.data(1, 2, many(i), 0, 1000))
			if r.g.Told().Nacks[packet.CauseElephant] > n+1 {
				t.Fatal("one packet has more than one elephant told")
			}
			now += 3 * us
		}
		r.until(now)
		if top == "0" {
			if r.g.Told().Nacks[packet.CauseElephant] != before {
				t.Error("elephants are told although top is 0")
			}
			continue
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
		// it is over: packets come, nobody is told
		r.drain()
		if r.g.Memory(1).Congested() {
			t.Error("it is empty, and congested")
		}
		n := r.g.Told().Nacks[packet.CauseElephant]
		now += 10 * ms
		for i := range 50 {
			r.come(now, 0, r.data(1, 2, many(i), 0, 1000))
			now += 500 * us
		}
		if r.g.Told().Nacks[packet.CauseElephant] != n {
			t.Errorf("elephants are told after congestion, which ended before %v", last)
		}
	}
}

// early: an elephant whose class uses so much of the memory is told when its packet comes, and
// nothing is lost (ours, after the TNSM follow-up's abstract).
func TestEarly(t *testing.T) {
	r := newRig(t, setup{ports: 2, queues: 3, given: []string{"memory", "100kB", "least", "15kB", "early", "20%",
		"every", "10us"}})
	now := r.fatten(ms, 1, 2, 9, 20)
	for i := range 60 {
		before := r.g.Told().Nacks[packet.CauseElephant]
		used := r.g.Memory(1).Used(Elephants)
		r.come(now, 0, r.data(1, 2, 9, int64(20+i)*1000, 1000))
		if after := r.g.Told().Nacks[packet.CauseElephant]; after > before && used < 20_000 {
			t.Errorf("told at %d bytes", used)
		}
		now += us
	}
	r.drain()
	_, notices := r.nacks()
	if drops := r.sw.Drops(); len(notices) < 3 || len(notices) > 6 || drops != [dataplane.Reasons]uint64{} {
		t.Errorf("%d NACKs, drops %v", len(notices), drops)
	}
}

// During congestion, too, a packet has one elephant told: early, or the next of the heaviest.
func TestEarlyAndTop(t *testing.T) {
	r := newRig(t, setup{ports: 3, queues: 3, given: []string{"memory", "100kB", "least", "15kB", "early", "20%",
		"every", "1us"}})
	now := r.fatten(ms, 3, 2, 8, 20)
	now = r.fatten(now, 1, 2, 9, 20)
	most := uint64(0)
	for i := range 200 {
		before := r.g.Told().Nacks[packet.CauseElephant]
		r.come(now, 0, r.data(1, 2, 9, int64(20+i)*1000, 1000))
		most = max(most, r.g.Told().Nacks[packet.CauseElephant]-before)
		now += 2 * us
	}
	if most != 1 || !r.g.Memory(1).Congested() {
		t.Errorf("%d elephants are told for a packet", most)
	}
}

// §4.2's "maximum of 5 %" and §4.3's fast NACKs: a burst of control frames of 10 % of the port beside
// saturating mice and elephants, and on an idle port, under no ceiling, one upon contention, a
// hard one. The ceiling costs delay exactly when there is more than it, the hard one also when
// the port has nothing else to do.
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

// A flow that changes its class: by default it is reordered when its packets wait in both
// queues; as a flowlet it is not, or after change_wait only, once.
func TestChange(t *testing.T) {
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
	moved, forced := g.Changed()
	if moved < 1 || forced != 0 {
		t.Errorf("%d changes, %d of them forced", moved, forced)
	}
	bounded, farBounded, g := reordered("change", "flowlet", "change_wait", "1ms")
	_, forced = g.Changed()
	t.Logf("reordered packets: %d at once (up to %d late), %d as flowlets, %d with a wait of 1 ms (%d forced changes, "+
		"up to %d late)", atOnce, far, flowlet, bounded, forced, farBounded)
	if atOnce == 0 || flowlet != 0 || forced == 0 || bounded > int64(forced)*400_000/1066 {
		t.Errorf("reordered: %d at once, %d as flowlets, %d with a wait", atOnce, flowlet, bounded)
	}
}

// What is remembered of flows that change is bounded; who is not remembered moves at once.
func TestChangeIsBounded(t *testing.T) {
	c := newChanges(4, 1, ms)
	for k := range uint64(1000) {
		if c.class(0, k, 0, Mice) != Mice {
			t.Fatal("a new flow is not what it is")
		}
		c.book(k, 0, 1, 100)
	}
	stay := 0
	for k := range uint64(1000) {
		if c.class(0, k, 0, Elephants) == Mice {
			stay++
		}
	}
	if stay != 4 {
		t.Errorf("%d flows stay in their queue, 4 are remembered", stay)
	}
	c.unbook(0, 1, 100*1000, false)
	for k := range uint64(1000) {
		if c.class(0, k, 0, Elephants) != Elephants {
			t.Fatal("a flow stays although its packets have left")
		}
	}
	// packets that were evicted from the tail do not hold a flow
	c = newChanges(4, 1, ms)
	c.class(0, 1, 0, Mice)
	c.book(1, 0, 1, 100)
	c.unbook(0, 1, 100, true)
	if c.class(0, 1, 0, Elephants) != Elephants {
		t.Error("an evicted packet holds its flow")
	}
	// and leave those before them where they are
	c = newChanges(4, 1, ms)
	c.class(0, 1, 0, Mice)
	c.book(1, 0, 1, 100)
	c.book(2, 0, 1, 100)
	if c.unbook(0, 1, 100, true); c.class(0, 1, 0, Elephants) != Mice {
		t.Error("an eviction behind its packets lets a flow go")
	}
}

// Random traffic through a real switch: the books balance after each packet (rig.check), every packet
// is sent or dropped, each that is dropped for want of memory is named once, and a wired copy gives the same.
func TestBooks(t *testing.T) {
	for seed := range uint64(12) {
		var texts [2]string
		for form, wire := range []bool{false, true} {
			random := rand.New(rand.NewPCG(seed, 3))
			queues := []int{3, 3, 2, 1, 8, 3}[seed%6]
			pick := func(words ...string) string { return words[random.IntN(len(words))] }
			given := []string{"memory", "60kB", "pool", pick(PerPort, PerSwitch), "tilt", pick("0%", "50%", "100%"), "spike",
				pick("0%", "25%", "100%"), "least", pick("3kB", "15kB"), "duration", "100us",
				"coalesce", pick("0s", "20us"), "change", pick("at_once", "flowlet"), "top", pick("0", "3", "20"), "early",
				pick("0%", "30%"), "acks", pick("control", "mice"), "supply", pick("equal", "max_min"),
				"count", pick("bytes", "packets"), "sketch", pick(PerPort, PerSwitch), "nack", pick(NackAll, NackAll,
					NackElephants)}
			r := newRig(t, setup{ports: 4, queues: queues, wire: wire, given: given, limit: tm.Limit{Bytes: 70_000},
				rates: map[int]unit.Rate{1: 300 * unit.Mbps}})
			names := map[[3]int64]int{}
			var text strings.Builder
			delivered := uint64(0)
			r.sent = func(at unit.Time, port packet.PortID, p *packet.Packet) {
				q := *p
				if p.Data != nil {
					if err := q.Parse(r.book, p.Data); err != nil {
						t.Fatal(err)
					}
				}
				var n packet.Notification
				if !q.Notification(&n) {
					delivered++
				} else if n.Lost > 0 {
					names[[3]int64{int64(q.Dst), int64(q.DstPort), q.Seq}]++
					for _, s := range n.More[:n.Spans] {
						names[[3]int64{int64(q.Dst), int64(q.DstPort), q.Seq + int64(s.Offset)}]++
					}
				}
				text.WriteString(at.String())
				text.WriteByte(byte('0' + port))
				text.WriteString(string(rune(q.Seq)) + string(rune(q.Size)) + string(rune(q.Kind)) + n.Cause.String() +
					n.Supply.String() + n.Demand.String())
			}
			now, count := unit.Time(0), uint64(0)
			for i := range 3000 {
				now += unit.Time(random.IntN(int(9 * us)))
				src := packet.Addr(1 + random.IntN(4))
				dst := packet.Addr(1 + random.IntN(4))
				if random.IntN(4) > 0 {
					dst = 2
				}
				flow := uint16(10 + random.IntN(3))
				if random.IntN(2) == 0 {
					flow = uint16(1000 + random.IntN(5000))
				}
				count++
				r.come(now, packet.PortID(src-1), r.data(src, dst, flow, int64(i)*1500, int32(random.IntN(1400)),
					ip(uint8(4+2*random.IntN(2))), proto([]uint8{packet.ProtoTCP, packet.ProtoTCP, packet.ProtoRDMA}[random.IntN(3)]),
					func(p *packet.Packet) {
						if p.Payload < 200 {
							p.Payload, p.Kind = 0, packet.Ack
						}
					}))
			}
			r.drain()
			r.check()
			drops, told := r.sw.Drops(), r.g.Told()
			lost := uint64(0)
			for _, n := range drops {
				lost += n
			}
			made := uint64(0)
			for _, n := range told.Nacks {
				made += n
			}
			if r.pool.Live() != 0 || delivered+lost-told.Lost != count {
				t.Fatalf("seed %d: %d came, %d went, %d were dropped (%d of them NACKs), %d are left", seed, count, delivered, lost,
					told.Lost, r.pool.Live())
			}
			for k, n := range names {
				if n != 1 {
					t.Fatalf("seed %d: %v is named %d times", seed, k, n)
				}
			}
			// lost NACKs name nobody
			if named := uint64(len(names)); named > told.Named || told.Lost == 0 && named < told.Named {
				t.Fatalf("seed %d: %d are named, of %+v", seed, named, told)
			}
			if made == 0 && r.g.config.Nack == NackAll {
				t.Errorf("seed %d: nobody is told", seed)
			}
			for c := range Classes {
				for i := range 4 {
					if n := r.g.Memory(packet.PortID(i)).Used(c); n != 0 {
						t.Errorf("seed %d: %v uses %d when all is over", seed, c, n)
					}
				}
			}
			texts[form] = text.String()
		}
		if texts[0] != texts[1] {
			t.Errorf("seed %d: fields and bytes give different frames", seed)
		}
	}
}

// The contract of switches and drivers holds with NCF in the switch, but for scripts that
// count on the class that it gives.
func TestContract(t *testing.T) {
	for _, script := range dataplanetest.Scripts() {
		if strings.HasPrefix(script.Name, "trimming moves") {
			continue // into a queue of its own: data is elsewhere with NCF
		}
		for _, wire := range []bool{false, true} {
			s := script.Setup()
			s.Wire = wire
			g, err := dataplanetest.Make(Scheme(), s.Site(), "memory", "1MB")
			if err != nil {
				t.Fatal(err)
			}
			s.Programs = slices.Insert(s.Programs, 1, g)
			if got := dataplanetest.Direct(s, slices.Clone(script.Arrives)).String(); got != script.Want {
				t.Errorf("%s (bytes: %v): got\n%swant\n%s", script.Name, wire, got, script.Want)
			}
		}
	}
}

// The paper's numbers are the defaults (§4.1, §4.2, §4.4).
func TestDefaults(t *testing.T) {
	want := map[string]string{"threshold": "5%", "limit": "95%", "control": "5%", "mice": "10%", "reserve": "10%",
		"top": "20", "elephants": "average", "signed": "false", "coalesce": "0s", "nack": "all"}
	for _, p := range Scheme().Params {
		if w, ok := want[p.Name]; ok && p.Default != w {
			t.Errorf("%s: %s, the paper has %s", p.Name, p.Default, w)
		}
		delete(want, p.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

// Nonsense is an error that names what is wrong, never a switch.
func TestBadInput(t *testing.T) {
	site := func(queues int) *dataplane.Site {
		s := &dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: unit.LinkRate{Bits: unit.Gbps}, Queues: queues}}}
		return s.Site()
	}
	for _, c := range []struct {
		want   string
		queues int
		given  []string
	}{
		{"threshold 0%; above 0, at most 100% is possible", 3, []string{"threshold", "0%"}},
		{"threshold 101%; above 0", 3, []string{"threshold", "101%"}},
		{"sketch of 0 windows", 3, []string{"windows", "0"}},
		{"windows of 0", 3, []string{"duration", "0s"}},
		{"epsilon 0", 3, []string{"epsilon", "0%"}},
		{"delta 1", 3, []string{"delta", "100%"}},
		{"counters of 33 bits", 3, []string{"counter_bits", "33"}},
		{"reservations are 110%", 3, []string{"mice", "50%", "reserve", "55%"}},
		{"a memory of 12000 bytes has 1200 for mice", 3, []string{"memory", "12kB"}},
		{"memory of 9 packets has 0.9 for mice", 3, []string{"memory", "9 packets", "control", "20%"}},
		{"no size", 3, []string{"memory", "0 B"}},
		{"9 queues", 9, nil},
		{"the top 2000", 3, []string{"top", "2000"}},
		{"target 0", 3, []string{"target", "0%"}},
		{"early", 3, []string{"early", "101%"}},
		{"congestion begins", 3, []string{"congested", "40%"}},
		{"all must have one", 3, []string{"memory", "0 B", "pool", "switch"}},
		{"each \"host\"", 3, []string{"sketch", "host"}},
		{"each \"host\"", 3, []string{"pool", "host"}},
		{"NACKs to \"me\"", 3, []string{"nack", "me"}},
		{"elephants by \"size\"", 3, []string{"elephants", "size"}},
	} {
		_, err := dataplanetest.Make(Scheme(), site(c.queues), append([]string{"memory", "100kB"}, c.given...)...)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "ncf: ") {
			t.Errorf("%v: %v; want %q", c.given, err, c.want)
		}
	}
	for _, queues := range []int{1, 2, 3, 8} {
		if _, err := dataplanetest.Make(Scheme(), site(queues), "memory", "100kB"); err != nil {
			t.Error(err)
		}
	}
	if _, err := New(site(3), Config{Scope: PerPort, Pool: PerPort, Nack: NackAll, Coalesce: -1}); err == nil ||
		!strings.Contains(err.Error(), "none may be below 0") {
		t.Error(err)
	}
	if _, err := New(site(3), Config{Scope: PerPort, Pool: PerPort, Nack: NackAll, Target: math.NaN(),
		Detector: Detector{Threshold: 0.05}}); err == nil {
		t.Error("a target that is no number is taken")
	}
}

// Memory that nobody gives is what the port's buffer holds, in bytes or in packets.
func TestMemoryOfThePort(t *testing.T) {
	r := newRig(t, setup{ports: 2, queues: 3, limit: tm.Limit{Bytes: 50_000}})
	if m := r.g.Memory(1); m.Size() != 50_000 || m.packets {
		t.Errorf("%d", m.Size())
	}
	r = newRig(t, setup{ports: 2, queues: 3, limit: tm.Limit{Packets: 24}, given: []string{"least", "15kB"}})
	if m := r.g.Memory(1); m.Size() != 24 || !m.packets {
		t.Errorf("%d", m.Size())
	}
	now := r.fatten(ms, 1, 2, 9, 20)
	r.overflow(now, 1, 2, 9, 40)
	for i := range 10 {
		r.come(now, 0, r.data(1, 2, uint16(100+i), 0, 300))
	}
	if m := r.g.Memory(1); m.Used(Mice) != 10 || m.Used(Elephants) < 10 || m.Used(Mice)+m.Used(Elephants) != 22 {
		t.Errorf("%d of 24 packets are mice's, %d elephants'", m.Used(Mice), m.Used(Elephants))
	}
	r = newRig(t, setup{ports: 2, queues: 3, limit: tm.Limit{Bytes: 50_000}, given: []string{"pool", PerSwitch}})
	if m := r.g.Memory(1); m.Size() != 100_000 || m != r.g.Memory(0) {
		t.Errorf("%d", m.Size())
	}
}

// The hot path allocates nothing: counting, classes, books, evictions, NACKs.
func TestNoAllocation(t *testing.T) {
	for _, given := range [][]string{{}, {"change", "flowlet", "sketch", "switch"}, {"coalesce", "5us"},
		{"early", "10%", "every", "1us"}} {
		r := newRig(t, setup{ports: 3, queues: 3, given: append([]string{"memory", "30kB", "least", "3kB", "duration",
			"100us"}, given...)})
		r.sent = func(unit.Time, packet.PortID, *packet.Packet) {}
		now, i := unit.Time(0), 0
		step := func() {
			for range 100 {
				port, src := uint16(9), packet.Addr(1)
				if i%3 == 0 {
					port, src = many(i), 3
				}
				p := r.pool.Get()
				p.Src, p.Dst, p.SrcPort, p.DstPort, p.Kind, p.Proto, p.Version, p.HopLimit, p.Seq, p.Payload = src, 2, port, 80,
					packet.Data, packet.ProtoTCP, 4, 64, int64(i), 1000
				p.Size, p.Hash = 1054, packet.FlowHash(src, 2, port, 80, packet.ProtoTCP)
				r.until(now)
				r.sw.Receive(now, packet.PortID(src-1), p)
				r.woken(now)
				now += 5 * us
				i++
			}
		}
		for range 10 {
			step()
		}
		told := r.g.Told()
		if n := testing.AllocsPerRun(20, step); n != 0 {
			t.Errorf("%v: %g allocations in 100 packets", given, n)
		}
		if after := r.g.Told(); after.Nacks[packet.CauseTrimmed] == told.Nacks[packet.CauseTrimmed] || after.Reclaimed == 0 {
			t.Errorf("%v: nothing happens: %+v", given, after)
		}
	}
}

// BenchmarkProgram is a packet's way through a switch with three ports, 1000 flows: with forwarding only, and
// with NCF when there is room, and when two of three packets find none.
func BenchmarkProgram(b *testing.B) {
	for _, c := range []struct {
		name string
		bare bool
		gap  unit.Time
	}{{"forward", true, 10 * us}, {"ncf", false, 10 * us}, {"forward-overload", true, 3 * us},
		{"ncf-overload", false, 3 * us}} {
		b.Run(c.name, func(b *testing.B) {
			s := setup{ports: 3, queues: 3, bare: c.bare, given: []string{"memory", "100kB"}}
			if c.bare {
				s.limit = tm.Limit{Bytes: 100_000}
			}
			r := newRig(b, s)
			r.sent = func(unit.Time, packet.PortID, *packet.Packet) {}
			now, i := unit.Time(0), 0
			for b.Loop() {
				port := uint16(i * 7 % 1000)
				p := r.pool.Get()
				p.Src, p.Dst, p.SrcPort, p.DstPort, p.Kind, p.Proto, p.Version, p.HopLimit, p.Seq, p.Payload = 1, 2, port, 80,
					packet.Data, packet.ProtoTCP, 4, 64, int64(i), 1000
				p.Size, p.Hash = 1054, packet.FlowHash(1, 2, port, 80, packet.ProtoTCP)
				r.until(now)
				r.sw.Receive(now, 0, p)
				r.woken(now)
				now += c.gap
				i++
			}
		})
	}
}
