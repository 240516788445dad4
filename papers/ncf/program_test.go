package ncf

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/testkit"
)

func TestDocNamesTests(t *testing.T) {
	testkit.CheckDocTests(t, 40, "../../core/packet", "../../core/transport/tcp", "../../internal/netns",
		"../../internal/pcapng", "../../worlds/switch",
		"../../worlds/sim", "../../e2e")
}

// TestProgram_SelectsQueuesByClass checks NCF §4.2, "one for elephant flows, one for mice, and one for control
// packets", and other numbers of queues (Weir's rule).
func TestProgram_SelectsQueuesByClass(t *testing.T) {
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

// again makes every packet arrive a second time.
type again struct{}

func (again) Name() string { return "again" }
func (again) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.In != packet.NoPort {
		env.InjectPacket(env.ClonePacket(p, false))
		return dataplane.Drop(dataplane.Policed)
	}
	return dataplane.Accept
}

// TestCountedOnce checks that a packet counts once, for any number of passes through the ingress.
func TestCountedOnce(t *testing.T) {
	r := newRig(t, setup{ports: 2, queues: 3, after: []dataplane.Program{again{}}, given: []string{"memory", "100kB"}})
	p := r.data(1, 2, 9, 0, 1000)
	k := r.g.key(p)
	r.come(ms, 0, p)
	if c := r.g.portAt(1).sketch.Estimate(ms, k); c.Total[0] != 1066 || c.Flow[0] != 1066 ||
		r.sw.Port(1).TxPackets() != 1 {
		t.Errorf("%d of %d bytes", c.Flow[0], c.Total[0])
	}
}

// TestProgram_AcksJoinMice checks that acks: mice queues acknowledgements with mice. Feedback of the network stays
// control.
func TestProgram_AcksJoinMice(t *testing.T) {
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

// TestProgram_MiceReclaimElephantMemory checks NCF §4.4: spikes of mice reclaim memory from the elephants' queue, "and
// send [NACKs] to the sender via the control queue". Elephants keep their reservation.
func TestProgram_MiceReclaimElephantMemory(t *testing.T) {
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
		refused := r.g.NackCounts().Nacks[packet.CauseTrimmed]
		for i := range 60 {
			r.come(now, 2, r.data(3, to, uint16(100+i), 0, 1000))
		}
		counts := r.g.NackCounts()
		mice, elephants := r.g.Memory(1).Used(Mice), r.g.Memory(1).Used(Elephants)
		if mice < 58*1066 || mice+elephants < 95_000-2*1066 || counts.Nacks[packet.CauseTrimmed] != refused {
			t.Errorf("%s: mice have %d, elephants %d bytes; %+v", pool, mice, elephants, counts)
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
		if reclaimed == 0 || reclaimed+counts.Lost != counts.Reclaimed || pool == PerPort && counts.Lost > 0 ||
			counts.Reclaimed != r.sw.DropCounts()[dataplane.Evicted] || r.pool.LiveCount() != 0 {
			t.Errorf("%s: %d NACKs for %d packets: %+v %v %d", pool, reclaimed, counts.Reclaimed, r.g.NackCounts(),
				r.sw.DropCounts(),
				r.pool.LiveCount())
		}
	}
}

// TestReclaimLongest checks that with several queues of elephants the longest gives way.
func TestReclaimLongest(t *testing.T) {
	for _, first := range []bool{true, false} { // the long one comes first among the queues
		r := newRig(t, setup{ports: 4, queues: 8, given: []string{"memory", "100kB", "least", "15kB", "top", "0"}})
		long, short, number := r.data(1, 2, 9, 0, 1000), r.data(3, 2, 9, 0, 1000), func(p *packet.Packet) uint8 {
			return selectQueue(Elephants, r.g.key(p), 8)
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

// TestProgram_BooksBalanceUnderRandomTraffic runs random traffic through a real switch. The books balance after each
// packet (rig.check) and every packet is sent or dropped. Each packet dropped for lack of memory is named once, and a
// wired copy gives the same result.
func TestProgram_BooksBalanceUnderRandomTraffic(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			fields, bytes := (&books{t: t}).sendRandom(seed, false), (&books{t: t}).sendRandom(seed, true)
			if fields != bytes {
				t.Error("fields and bytes give different frames")
			}
		})
	}
}

// books has the packets that depart from a switch, and the packets that its NACKs name.
type books struct {
	*rig
	t         *testing.T
	names     map[[3]int64]int // how often a NACK has named a packet: address, port, sequence number
	text      strings.Builder
	delivered uint64 // packets but NACKs
}

// departs notes a packet.
func (b *books) departs(at unit.Time, port packet.PortID, p *packet.Packet) {
	q := *p
	if p.Data != nil {
		if err := q.Parse(b.book, p.Data); err != nil {
			b.t.Fatal(err)
		}
	}
	var n packet.Notification
	if !q.Notification(&n) {
		b.delivered++
	} else if n.Lost > 0 {
		b.names[[3]int64{int64(q.Dst), int64(q.DstPort), about(&q)}]++
		for _, s := range n.More[:n.Spans] {
			b.names[[3]int64{int64(q.Dst), int64(q.DstPort), about(&q) + int64(s.Offset)}]++
		}
	}
	b.text.WriteString(at.String())
	b.text.WriteByte(byte('0' + port))
	b.text.WriteString(string(rune(q.Seq)) + string(rune(q.Size)) + string(rune(q.Kind)) + n.Cause.String() +
		n.Supply.String() + n.Demand.String())
}

// sendRandom sends random packets through a switch with random parameters, and returns the text of the packets that
// have departed.
func (b *books) sendRandom(seed uint64, wire bool) string {
	random := rand.New(rand.NewPCG(seed, 3))
	queues := []int{3, 3, 2, 1, 8, 3}[seed%6]
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	given := []string{"memory", "60kB", "pool", pick(PerPort, PerSwitch), "tilt", pick("0%", "50%", "100%"), "spike",
		pick("0%", "25%", "100%"), "least", pick("3kB", "15kB"), "duration", "100us",
		"coalesce", pick("0s", "20us"), "change", pick("at_once", "flowlet"), "top", pick("0", "3", "20"), "early",
		pick("0%", "30%"), "acks", pick("control", "mice"), "supply", pick("equal", "max_min"),
		"count", pick("bytes", "packets"), "sketch", pick(PerPort, PerSwitch), "nack", pick(NackAll, NackAll,
			NackElephants)}
	b.rig = newRig(b.t, setup{ports: 4, queues: queues, wire: wire, given: given, limit: tm.Limit{Bytes: 70_000},
		rates: map[int]unit.Rate{1: 300 * unit.Mbps}})
	b.names = map[[3]int64]int{}
	b.sent = b.departs
	const count = 3000
	now := unit.Time(0)
	for i := range count {
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
		b.come(now, packet.PortID(src-1), b.data(src, dst, flow, int64(i)*1500, int32(random.IntN(1400)),
			ip(uint8(4+2*random.IntN(2))), proto([]uint8{packet.ProtoTCP, packet.ProtoTCP, packet.ProtoRDMA}[random.IntN(3)]),
			func(p *packet.Packet) {
				if p.Payload < 200 {
					p.Payload, p.Kind = 0, packet.Ack
				}
			}))
	}
	b.drain()
	b.check()
	b.balance(count)
	return b.text.String()
}

// balance checks that every packet has departed, or was dropped or named, and that no packet is left.
func (b *books) balance(count uint64) {
	t, counts := b.t, b.g.NackCounts()
	lost, made := uint64(0), uint64(0)
	for _, n := range b.sw.DropCounts() {
		lost += n
	}
	for _, n := range counts.Nacks {
		made += n
	}
	if b.pool.LiveCount() != 0 || b.delivered+lost-counts.Lost != count {
		t.Fatalf("%d came, %d went, %d were dropped (%d of them NACKs), %d are left", count, b.delivered, lost, counts.Lost,
			b.pool.LiveCount())
	}
	for k, n := range b.names {
		if n != 1 {
			t.Fatalf("%v is named %d times", k, n)
		}
	}
	// lost NACKs name no packet
	if named := uint64(len(b.names)); named > counts.Named || counts.Lost == 0 && named < counts.Named {
		t.Fatalf("%d are named, of %+v", named, counts)
	}
	if made == 0 && b.g.config.Nack == NackAll {
		t.Error("nobody is told")
	}
	for c := range ClassCount {
		for i := range 4 {
			if n := b.g.Memory(packet.PortID(i)).Used(c); n != 0 {
				t.Errorf("%v uses %d when all is over", c, n)
			}
		}
	}
}

// TestProgram_HoldsDataplaneContract checks that the contract of switches and drivers holds with NCF in the switch,
// except for scripts that rely on the class that it gives.
func TestProgram_HoldsDataplaneContract(t *testing.T) {
	for _, script := range dataplanetest.Scripts() {
		if strings.HasPrefix(script.Name, "trimming moves") {
			continue // into a queue of its own: data is elsewhere with NCF
		}
		for _, wire := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, bytes %v", script.Name, wire), func(t *testing.T) {
				s := script.Setup()
				s.Wire = wire
				g, err := dataplanetest.BuildProgram(Scheme(), s.NewSite(), "memory", "1MB")
				if err != nil {
					t.Fatal(err)
				}
				s.Programs = slices.Insert(s.Programs, 1, g)
				if got := dataplanetest.RunDirect(s, slices.Clone(script.Arrives)).String(); got != script.Want {
					t.Errorf("got\n%swant\n%s", got, script.Want)
				}
			})
		}
	}
}

// TestScheme_DefaultsMatchPaper checks that the paper's numbers are the defaults (NCF §4.1, NCF §4.2, NCF §4.4).
func TestScheme_DefaultsMatchPaper(t *testing.T) {
	want := map[string]string{"threshold": "5%", "limit": "95%", "control": "5%", "mice": "10%", "reserve": "10%",
		"top": "20", "elephants": "average", "signed": "false", "coalesce": "0s", "nack": "all"}
	for _, p := range Scheme().Parameters() {
		if w, ok := want[p.Name]; ok && p.Default != w {
			t.Errorf("%s: %s, the paper has %s", p.Name, p.Default, w)
		}
		delete(want, p.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

// TestBadInput checks that invalid input is an error that names the cause, and never a switch.
func TestBadInput(t *testing.T) {
	site := func(queues int) *dataplane.Site {
		s := &dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: unit.LinkRate{Bits: unit.Gbps}, Queues: queues}}}
		return s.NewSite()
	}
	for _, c := range []struct {
		want   string
		queues int
		given  []string
	}{
		{"threshold is 0%; allowed: above 0%", 3, []string{"threshold", "0%"}},
		{"threshold is 101%; allowed: at most 100%", 3, []string{"threshold", "101%"}},
		{"windows is 0", 3, []string{"windows", "0"}},
		{"duration: 10ns", 3, []string{"duration", "10ns"}},
		{"epsilon is 0%; allowed: above 0%", 3, []string{"epsilon", "0%"}},
		{"delta is 100%; allowed: below 100%", 3, []string{"delta", "100%"}},
		{"epsilon: with delta 1% the sketch has 271828183 counters in each of 5 rows; allowed: at most 16777216 in 16", 3,
			[]string{"epsilon", "0.000001%"}},
		{"epsilon: with delta 0.000001% the sketch has 272 counters in each of 19 rows", 3, []string{"delta", "0.000001%"}},
		{"for 4 windows; allowed: at most 1 GiB", 3, []string{"epsilon", "0.00002%"}},
		{"counter_bits is 33", 3, []string{"counter_bits", "33"}},
		{"reserve: with control and mice 110% of the memory are reserved; allowed: at most 100%", 3,
			[]string{"mice", "50%", "reserve", "55%"}},
		{"limit: 15% is below what mice and elephants have reserved, 20%", 3, []string{"limit", "15%"}},
		{"limit is 0%; allowed: above 0%", 3, []string{"limit", "0%"}},
		{"limit is 150%", 3, []string{"limit", "150%"}},
		{"mice is 110%", 3, []string{"mice", "110%"}},
		{"spike is 200%", 3, []string{"spike", "200%"}},
		{"calm: 50% is above congested, which is 40%", 3, []string{"congested", "40%"}},
		{"calm is 0%; allowed: above 0%", 3, []string{"calm", "0%"}},
		{"a memory of 12000 bytes has 1200 for mice", 3, []string{"memory", "12kB"}},
		{"memory of 9 packets has 0.9 for mice", 3, []string{"memory", "9 packets", "control", "20%"}},
		{"no size", 3, []string{"memory", "0 B"}},
		{"9 queues", 9, nil},
		{"top is 2000", 3, []string{"top", "2000"}},
		{"target is 0%; allowed: above 0%", 3, []string{"target", "0%"}},
		{"early", 3, []string{"early", "101%"}},
		{"every", 3, []string{"every", "1ns"}},
		{"all must have one", 3, []string{"memory", "0 B", "pool", "switch"}},
		{"sketch is host", 3, []string{"sketch", "host"}},
		{"pool is host", 3, []string{"pool", "host"}},
		{"nack is me", 3, []string{"nack", "me"}},
		{"elephants is size", 3, []string{"elephants", "size"}},
	} {
		t.Run(c.want, func(t *testing.T) {
			_, err := dataplanetest.BuildProgram(Scheme(), site(c.queues), append([]string{"memory", "100kB"}, c.given...)...)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "ncf: ") {
				t.Errorf("%v: %v", c.given, err)
			}
		})
	}
	for _, queues := range []int{1, 2, 3, 8} {
		t.Run(fmt.Sprint(queues, " queues"), func(t *testing.T) {
			if _, err := dataplanetest.BuildProgram(Scheme(), site(queues), "memory", "100kB"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOptions_ValidateRejectsOutOfRange checks that values set by code have the same ranges, before a switch is made.
func TestOptions_ValidateRejectsOutOfRange(t *testing.T) {
	for name, change := range map[string]func(o *Options){
		"coalesce":     func(o *Options) { o.Coalesce = -1 },
		"target":       func(o *Options) { o.TargetShare = math.NaN() },
		"early":        func(o *Options) { o.EarlyShare = 1.1 },
		"top":          func(o *Options) { o.Top = -1 },
		"windows":      func(o *Options) { o.Sketch.Windows = MaxWindows + 1 },
		"duration":     func(o *Options) { o.Sketch.Duration = 1 },
		"counter_bits": func(o *Options) { o.Sketch.Bits = 7 },
		"epsilon":      func(o *Options) { o.Epsilon = 1 },
		"delta":        func(o *Options) { o.Delta = math.NaN() },
		"threshold":    func(o *Options) { o.Detector.Threshold = -0.05 },
		"elephants":    func(o *Options) { o.Detector.Form = FormCount },
		"limit":        func(o *Options) { o.Memory.Limit = math.NaN() },
		"mice":         func(o *Options) { o.Memory.Reserved[Mice] = -0.1 },
		"reserve":      func(o *Options) { o.Memory.Reserved = [ClassCount]float64{0.4, 0.4, 0.4} },
		"tilt":         func(o *Options) { o.Memory.Tilt = -1 },
		"spike":        func(o *Options) { o.Memory.Spike = 2 },
		"congested":    func(o *Options) { o.Memory.Congested = 1.5 },
		"calm":         func(o *Options) { o.Memory.Calm = 0.96 },
	} {
		t.Run(name, func(t *testing.T) {
			o := scheme.Defaults[Options]()
			if err := scheme.Validate(&o); err != nil {
				t.Fatal(err)
			}
			change(&o)
			var wrong *scheme.Error
			if err := scheme.Validate(&o); !errors.As(err, &wrong) || wrong.Param != name {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestMemoryOfThePort checks that the default memory is the capacity of the port's buffer, in bytes or in packets.
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

// TestNoAllocation checks that the hot path allocates no memory: counting, classes, books, evictions, NACKs.
func TestNoAllocation(t *testing.T) {
	for _, given := range [][]string{{}, {"change", "flowlet", "sketch", "switch"}, {"coalesce", "5us"},
		{"early", "10%", "every", "1us", "nack_budget", "0"}} {
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
				p.TCP.Flags, p.TCP.Present = packet.ACK, packet.HasTimestamps
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
		counts := r.g.NackCounts()
		if n := testing.AllocsPerRun(20, step); n != 0 {
			t.Errorf("%v: %g allocations in 100 packets", given, n)
		}
		if after := r.g.NackCounts(); after.Nacks[packet.CauseTrimmed] == counts.Nacks[packet.CauseTrimmed] ||
			after.Reclaimed == 0 {
			t.Errorf("%v: nothing happens: %+v", given, after)
		}
	}
}

// BenchmarkProgram measures a packet's way through a switch with three ports, 1000 flows: with forwarding only, and
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
				p.TCP.Flags, p.TCP.Present = packet.ACK, packet.HasTimestamps
				r.until(now)
				r.sw.Receive(now, 0, p)
				r.woken(now)
				now += c.gap
				i++
			}
		})
	}
}
