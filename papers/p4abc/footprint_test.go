package p4abc

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// watched looks at the state before and after each step of a packet.
type watched struct {
	*Program
	t    *testing.T
	most map[string]int // by register
}

func (w *watched) state() map[string][]string {
	s := map[string][]string{}
	put := func(name string, x any) { s[name] = append(s[name], fmt.Sprint(x)) }
	for _, m := range w.meters {
		put("S of meters", fmt.Sprint(m.bits, m.integer.sum))
		put("t_last of meters", fmt.Sprint(m.last, m.integer.last))
		put("t_start of meters", fmt.Sprint(m.start, m.integer.start))
		if m.flows != nil {
			for _, x := range m.flows.bits {
				put("flows of aggregates", x)
			}
			put("sums of flows", m.flows.all)
			put("origins of flows", m.flows.since)
		}
	}
	for i, q := range w.aqms {
		a := q.average
		if w.integers != nil && !w.config.PerPacket {
			x := &w.integers.ports[i].rates
			put("S of A_avg", x.sum)
			put("unit of S of A_avg", x.unit)
			put("N of A_avg", x.bytes)
			put("t_last of A_avg", x.last)
		} else if w.integers != nil {
			x := &w.integers.ports[i].average
			put("base of A_avg", x.base)
			put("sum above base of A_avg", x.above)
			put("N of A_avg", x.count)
			put("t_last of A_avg", x.last)
		} else {
			put("S of A_avg", a.sum)
			put("N of A_avg", a.count)
			put("t_last of A_avg", a.last)
		}
		put("queue length", q.register)
		put("room", q.room.level)
		put("last arrival", q.room.lastArrival)
		put("end of departing frames", q.room.sentTime)
		put("end of idle time that counts", q.room.dropMemoryEnd)
	}
	return s
}

func (w *watched) step(what func()) {
	before := w.state()
	what()
	for name, cells := range w.state() {
		n := 0
		for i, x := range cells {
			if i < len(before[name]) && x != before[name][i] {
				n++
			}
		}
		w.most[name] = max(w.most[name], n)
	}
}

func (w *watched) Ingress(env *dataplane.Env, p *packet.Packet) (v dataplane.Verdict) {
	w.step(func() { v = w.Program.Ingress(env, p) })
	return v
}

func (w *watched) Admit(env *dataplane.Env, p *packet.Packet) (v dataplane.Verdict) {
	w.step(func() { v = w.Program.Admit(env, p) })
	return v
}

func (w *watched) Book(env *dataplane.Env, p *packet.Packet) {
	w.step(func() { w.Program.Book(env, p) })
}

func (w *watched) Egress(env *dataplane.Env, p *packet.Packet) (v dataplane.Verdict) {
	w.step(func() { v = w.Program.Egress(env, p) })
	return v
}

type forwarding struct{}

func (forwarding) Name() string { return "forwarding" }
func (forwarding) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	p.Meta.Out = packet.PortID(p.Dst - 1)
	return dataplane.Accept
}

// TestFootprintWrites checks that packets change only the state that the footprint declares as written.
func TestFootprintWrites(t *testing.T) {
	for _, given := range [][]string{nil, {"average", "packets"}, {"average", "packets", "queue", "register"},
		{"others", "shared"}, {"user", "receiver"}, {"flows", "8"}, {"arithmetic", "integer"},
		{"arithmetic", "integer", "average", "packets"}, {"arithmetic", "integer", "spread", "50%"}, {"spread", "100%"}} {
		port := dataplanetest.Port{Rate: unit.LinkRate{Bits: 100 * unit.Mbps}, Queues: 1}
		s := dataplanetest.Setup{Ports: []dataplanetest.Port{port, port, port, port}}
		p, err := dataplanetest.BuildProgram(Scheme(), s.NewSite(), given...)
		if err != nil {
			t.Fatal(err)
		}
		w := &watched{p.(*Program), t, map[string]int{}}
		s.Programs = []dataplane.Program{forwarding{}, w}
		var script []dataplanetest.Arrival
		for i := range 400 {
			script = append(script, dataplanetest.Arrival{At: unit.Time(i) * 50 * unit.Microsecond, Port: packet.PortID(i % 3),
				Dst: packet.Addr(4 - i%2), Payload: 1000})
		}
		dataplanetest.RunDirect(s, script)
		f := w.Footprint()
		if err := f.Check(); err != nil {
			t.Error(err)
		}
		writes := map[string]int{}
		for _, x := range f.Stages {
			for _, r := range x.Registers {
				writes[r.Name] = max(writes[r.Name], r.Writes)
			}
		}
		changed := 0
		for name, n := range w.most {
			if n > 0 {
				changed++
			}
			if name == "queue length" && !w.config.Register {
				continue // which nobody reads then
			}
			if n > writes[name] {
				t.Errorf("%v: a packet changes %d cells of %q; the footprint says %d", given, n, name, writes[name])
			}
		}
		if changed < 4 {
			t.Errorf("%v: packets change %v", given, w.most)
		}
	}
}

// TestFootprintGrows checks that stages of growing thresholds count only for a switch with a port where they can grow:
// with average: rate, a rate, and a buffer of more than twice Q_base. For any such port the operations are the same.
// With average: packets, or where no port grows, a footprint lacks them.
func TestFootprintGrows(t *testing.T) {
	for _, whole := range []bool{false, true} {
		stages := func(perPacket bool, rates []unit.Rate, buffers []int32) string {
			site := &dataplane.Site{Ports: len(rates), Book: packet.NewBook()}
			site.Book.Add(netip.AddrFrom4([4]byte{10, 0, 0, 1}), netip.Addr{})
			for i := range rates {
				site.Lines = append(site.Lines, dataplane.Line{Rate: unit.LinkRate{Bits: rates[i]}})
				site.Limits = append(site.Limits, tm.Limit{Packets: buffers[i]})
			}
			c := defaults()
			c.PerPacket, c.Integer = perPacket, whole
			a, err := New(site, c)
			if err != nil {
				t.Fatal(err)
			}
			f := a.Footprint()
			if err := f.Check(); err != nil {
				t.Error(err)
			}
			return fmt.Sprint(f.Stages)
		}
		const rate, grown, short = 100 * unit.Mbps, 100, 24
		want := stages(false, []unit.Rate{rate, rate}, []int32{grown, short})
		if got := stages(false, []unit.Rate{rate, rate}, []int32{short, grown}); got != want {
			t.Errorf("integers %v: with the ports exchanged\n%s\nwant\n%s", whole, got, want)
		}
		for _, x := range []struct {
			perPacket bool
			rates     []unit.Rate
			buffers   []int32
			grows     bool
		}{
			{false, []unit.Rate{rate, rate}, []int32{short, grown}, true},
			{false, []unit.Rate{0, rate}, []int32{0, grown}, true},
			{false, []unit.Rate{rate, rate}, []int32{short, short}, false},
			{false, []unit.Rate{0, 0}, []int32{grown, grown}, false},
			{true, []unit.Rate{rate, rate}, []int32{grown, grown}, false},
		} {
			got := stages(x.perPacket, x.rates, x.buffers)
			if strings.Contains(got, "room") != x.grows || strings.Contains(got, "departing") != x.grows ||
				strings.Contains(got, "packets as bytes") == x.perPacket {
				t.Errorf("integers %v, %+v: %s", whole, x, got)
			}
		}
	}
}

// TestFootprintStays checks that meters made for sources that sent are counted once: a footprint does not change with
// traffic.
func TestFootprintStays(t *testing.T) {
	port := dataplanetest.Port{Rate: unit.LinkRate{Bits: 100 * unit.Mbps}, Queues: 1}
	s := dataplanetest.Setup{Ports: []dataplanetest.Port{port, port, port}}
	p, err := dataplanetest.BuildProgram(Scheme(), s.NewSite(), "aggregates", "10.0.0.1/32: 1Mbps")
	if err != nil {
		t.Fatal(err)
	}
	a := p.(*Program)
	before := fmt.Sprint(a.Footprint())
	s.Programs = []dataplane.Program{forwarding{}, a}
	dataplanetest.RunDirect(s, []dataplanetest.Arrival{{Port: 0, Dst: 2, Payload: 100}, {Port: 1, Dst: 3, Payload: 100},
		{Port: 2, Dst: 1, Payload: 100}})
	if after := fmt.Sprint(a.Footprint()); after != before || len(a.meters) != 3*directions {
		t.Errorf("%d meters\n%s\nbefore\n%s", len(a.meters), after, before)
	}
}

// TestStateOfAggregates checks that the state of an edge grows with its users, three variables each. A core has none of
// them, and its state for ports does not grow: from 1 to 10,000 users, in both arithmetics.
func TestStateOfAggregates(t *testing.T) {
	for _, whole := range []bool{false, true} {
		registers := func(users int, lines []dataplane.Line) int64 {
			book := packet.NewBook()
			for i := range users {
				book.Add(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), netip.Addr{})
			}
			c := defaults()
			c.Domain, c.Integer = DomainMember, whole
			a, err := New(&dataplane.Site{Ports: 2, Book: book, Lines: lines}, c)
			if err != nil {
				t.Fatal(err)
			}
			f := a.Footprint()
			return f.Sums().Registers
		}
		least := registers(1, sidesFrom["core"])
		for _, users := range []int{1, 10, 100, 1000, 10_000} {
			edge, core := registers(users, sidesFrom["edge"]), registers(users, sidesFrom["core"])
			if core != least || edge != core+int64(users)*3*64 {
				t.Errorf("%d users, integers %v: %d bits at the edge, %d in the core", users, whole, edge, core)
			}
		}
	}
}
