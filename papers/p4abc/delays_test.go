package p4abc

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit"
)

// byDSCP puts packets of DSCP 46 into class 0 and all others into class 1.
type byDSCP struct{}

func (byDSCP) Name() string { return "by dscp" }

func (byDSCP) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.Class = 1; p.TOS>>2 == 46 {
		p.Meta.Class = 0
	}
	return dataplane.Accept
}

func fast(p *packet.Packet) { p.TOS = 46 << 2 }
func slow(p *packet.Packet) { p.TOS = 0 }

// twoClasses is a switch with two delay classes by DSCP.
func twoClasses(t testing.TB, lines []dataplane.Line, c Config) *bench {
	t.Helper()
	return newBenchOf(t, tm.NewDeadline([]unit.Time{0, 5 * unit.Millisecond}), 2, lines, c, byDSCP{})
}

// TestClassesDropAlike checks that activities, thresholds, averages and drops are the same for each packet with any
// classes of packets: a class gives no throughput. Only the order of accepted packets changes.
func TestClassesDropAlike(t *testing.T) {
	random := unit.NewRandom(11, "classes")
	type step struct {
		gap    unit.Time
		src    packet.Addr
		fast   bool
		served int
	}
	var script []step
	for range 5000 {
		script = append(script, step{unit.Time(random.IntN(400)) * unit.Microsecond, packet.Addr(1 + random.IntN(3)),
			random.IntN(3) == 0, random.IntN(2)})
	}
	run := func(classes func(s *step) func(*packet.Packet)) (accepted []bool, order []int64) {
		b := twoClasses(t, nil, defaults())
		for i := range script {
			s := &script[i]
			b.now += s.gap
			accepted = append(accepted, b.send(s.src, classes(s), func(p *packet.Packet) { p.Seq = int64(i) }))
			for range s.served {
				if p := b.take(); p != nil {
					order = append(order, p.Seq)
					b.pool.Put(p)
				}
			}
		}
		return accepted, order
	}
	all := func(f func(*packet.Packet)) func(*step) func(*packet.Packet) {
		return func(*step) func(*packet.Packet) { return f }
	}
	want, fifo := run(all(slow))
	dropped := 0
	for _, ok := range want {
		if !ok {
			dropped++
		}
	}
	if dropped < 500 {
		t.Fatalf("%d drops: this tests nothing", dropped)
	}
	for name, classes := range map[string]func(*step) func(*packet.Packet){
		"all fast": all(fast),
		"some fast": func(s *step) func(*packet.Packet) {
			if s.fast {
				return fast
			}
			return slow
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, order := run(classes)
			same := true
			for i := range order {
				same = same && order[i] == fifo[i]
			}
			if same != (name == "all fast") {
				t.Errorf("the order is that without classes: %v", same)
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("packet %d: accepted %v, all slow %v", i, got[i], want[i])
				}
			}
		})
	}
}

// TestFastCost checks that a byte of the first class counts fast_cost times. A user entirely in it has log2(fast_cost)
// more activity, one with half of its bytes in it the corresponding surplus for all of its packets, and the others
// none.
func TestFastCost(t *testing.T) {
	for name, integer := range map[string]bool{"exact": false, "integer": true} {
		t.Run(name, func(t *testing.T) { fastCost(t, integer) })
	}
}

func fastCost(t *testing.T, integer bool) {
	c := defaults()
	c.Integer = integer
	plain := twoClasses(t, nil, c)
	c.FastCost = 4
	b := twoClasses(t, nil, c)
	for i := range 4000 {
		b.now += unit.Millisecond
		plain.now = b.now
		for src, class := range []func(*packet.Packet){1: fast, 2: slow, 3: []func(*packet.Packet){fast, slow}[i%2]} {
			if class == nil {
				continue
			}
			b.send(packet.Addr(src), class)
			plain.send(packet.Addr(src), class)
			more := math.Log2([]float64{1: 4, 2: 1, 3: 2.5}[src])
			if got := activityOf(b) - activityOf(plain); i > 100 && !testkit.IsNear(got, more,
				testkit.Tolerance{Absolute: 0.02}) {
				t.Fatalf("user %d: %.3f more activity, want %.3f", src, got, more)
			}
		}
		for range 3 {
			for _, x := range []*bench{b, plain} {
				if p := x.take(); p != nil {
					x.pool.Put(p)
				}
			}
		}
	}
}

// activityOf returns the activity of the current packet.
func activityOf(b *bench) float64 {
	if b.program.integers != nil {
		return float64(b.program.integers.activity) / (1 << fractionBits)
	}
	return b.program.activity
}

// TestDelaysOfAggregates checks that an aggregate's class travels in the mark through the core, and leaves the domain
// without a trace. Activity is as exact as without, except a millionth.
func TestDelaysOfAggregates(t *testing.T) {
	for name, integer := range map[string]bool{"exact": false, "integer": true} {
		t.Run(name, func(t *testing.T) { delaysOfAggregates(t, integer) })
	}
}

func delaysOfAggregates(t *testing.T, integer bool) {
	c := defaults()
	c.Integer = integer
	c.Domain, c.Class = DomainMember, ByMark
	c.Aggregates = []Aggregate{{Key: "10.0.0.1", Value: 10 * unit.Kbps}, {Key: "10.0.0.2", Value: 10 * unit.Kbps}}
	c.Delays = []Delay{{Key: "10.0.0.2", Value: 1}}
	inside := defaults()
	inside.Integer = integer
	inside.Domain, inside.Class = DomainMember, ByMark
	e := twoClasses(t, sidesFrom["edge"], c)
	core := newBenchOf(t, tm.NewDeadline([]unit.Time{0, unit.Millisecond}), 2, sidesFrom["core"], inside)
	for i, x := range []struct {
		src  packet.Addr
		tos  func(*packet.Packet)
		want uint8
	}{{1, fast, 0}, {1, slow, 1}, {2, fast, 1}, {2, slow, 1}, {3, fast, 0}, {3, slow, 1}} {
		e.now = unit.Time(i+1) * unit.Millisecond
		core.now = e.now
		e.send(x.src, x.tos)
		p := e.take()
		p.TOS = 0 // the core does not need it
		core.Receive(core.now, 0, p)
		if p = core.take(); p.Meta.Class != x.want || p.Meta.Queue != x.want {
			t.Errorf("user %d: class %d and queue %d in the core, want %d", x.src, p.Meta.Class, p.Meta.Queue, x.want)
		}
		if activityOf(core) != activityOf(e) {
			t.Errorf("the core reads activity %g, the edge wrote %g", activityOf(core), activityOf(e))
		}
	}
}

// TestDelaysBothDirections checks that the class of an aggregate also applies to its user's received traffic.
func TestDelaysBothDirections(t *testing.T) {
	c := defaults()
	c.Aggregates = []Aggregate{{Key: "10.0.0.2", Value: 10 * unit.Kbps}}
	c.Delays = []Delay{{Key: "10.0.0.2", Value: 1}}
	b := twoClasses(t, nil, c)
	for name, flags := range map[string]uint8{"sent": 0, "received": packet.ToUser} {
		p := packet.Packet{Src: 2, Version: 4, Size: 1000, Meta: packet.Metadata{Flags: flags}}
		if b.program.assignClass(&p, b.program.findMeter(&p)); p.Meta.Class != 1 {
			t.Errorf("what is %s has class %d, want 1", name, p.Meta.Class)
		}
	}
}

// TestFastCostWithoutMark checks that frames from inside without a mark cost as much as others in delay class 0.
func TestFastCostWithoutMark(t *testing.T) {
	c := defaults()
	c.Domain, c.FastCost = DomainMember, 4
	for name, x := range map[string]struct {
		tos  func(*packet.Packet)
		cost float64
	}{"first class": {fast, 4}, "second class": {slow, 1}} {
		for _, c.Integer = range []bool{false, true} {
			t.Run(fmt.Sprint(name, c.Integer), func(t *testing.T) {
				b := twoClasses(t, sidesFrom["core"], c)
				b.now = unit.Second
				b.send(2, x.tos)
				m := &b.program.unmarked[0]
				bits := m.bits
				if c.Integer {
					bits = float64(m.integer.sum) / (1 << sumPlaces)
				}
				if bits != x.cost*11920 {
					t.Errorf("%g bits are counted of a frame of 11920, want %g times as many", bits, x.cost)
				}
			})
		}
	}
}

// FuzzClassInMark checks that a class passes through a mark with any activity, which loses less than a millionth.
func FuzzClassInMark(f *testing.F) {
	f.Add(float32(3.25), uint8(1))
	f.Add(float32(-17), uint8(7))
	f.Add(float32(0), uint8(5))
	f.Fuzz(func(t *testing.T, a float32, class uint8) {
		if !(math.Abs(float64(a)) < 100) {
			return
		}
		x, got := splitClass(withClass(math.Float32bits(a), class))
		y := math.Float32frombits(x)
		if got != min(class, classCount-1) || math.Abs(float64(y-a)) > math.Abs(float64(a))*1e-6+1e-30 {
			t.Errorf("%g with class %d: %g with class %d", a, class, y, got)
		}
		if again, _ := splitClass(withClass(x, class)); again != x {
			t.Errorf("%g changes again", y)
		}
	})
}

// TestDelaysRefused checks that the requirements of classes are verified before a run.
func TestDelaysRefused(t *testing.T) {
	for _, x := range []struct {
		name   string
		queues int
		given  []string
		says   string
	}{
		{"no aggregate", 2, []string{"delays", "{10.0.0.1: 1}"}, "is neither one of the aggregates"},
		{"one queue", 1, []string{"aggregates", "{10.0.0.1: 1kbps}", "delays", "{10.0.0.1: 1}"}, "queues: 2"},
		{"few queues", 2, []string{"aggregates", "{10.0.0.1: 1kbps}", "delays", "{10.0.0.1: 2}"}, "queues: 3"},
		{"cost", 1, []string{"fast_cost", "2"}, "fast_cost needs ports with 2 queues"},
		{"not told", 2, []string{"domain", "part", "aggregates", "{10.0.0.1: 1kbps}", "delays", "{10.0.0.1: 1}"},
			"class: mark"},
		{"cheap", 2, []string{"fast_cost", "0"}, "fast_cost"},
		{"three", 2, []string{"fast_cost", "3"}, "3 is no power of 2"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, err := Scheme().Configure(x.given...)
			if err == nil {
				book := packet.NewBook()
				_, err = Scheme().Build(&dataplane.Site{Ports: 2, Queues: x.queues, Book: book,
					Lines: []dataplane.Line{{Switch: true}, {}}}, c)
			}
			if err == nil || !strings.Contains(err.Error(), x.says) {
				t.Errorf("%v; want %q", err, x.says)
			}
		})
	}
}

// TestClassesKeepNoState checks that classes need no state, and flows none in the core: a switch's footprint is the
// same without them, except the places of flows where users are metered.
func TestClassesKeepNoState(t *testing.T) {
	sums := func(lines []dataplane.Line, change func(c *Config)) dataplane.Sums {
		c := defaults()
		c.Domain = DomainMember
		change(&c)
		f := twoClasses(t, lines, c).program.Footprint()
		return f.Sums()
	}
	plain := func(*Config) {}
	classed := func(c *Config) { c.Class, c.FastCost = ByMark, 2 }
	flows := func(c *Config) { c.Flows = 16 }
	for place, lines := range map[string][]dataplane.Line{"edge": sidesFrom["edge"], "core": sidesFrom["core"]} {
		t.Run(place, func(t *testing.T) {
			without := sums(lines, plain)
			if got := sums(lines, classed); got != without {
				t.Errorf("with classes %+v, without %+v", got, without)
			}
			if got := sums(lines, flows); (got.Registers > without.Registers) != (place == "edge") {
				t.Errorf("with flows %d bits of registers, without %d", got.Registers, without.Registers)
			}
		})
	}
}
