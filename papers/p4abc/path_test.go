package p4abc

import (
	"net/netip"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// path is the ingress path of a switch's program: what Ingress, Admit and Book do for a packet, as the switch
// calls them, without the switch's own work.
type path struct {
	*dataplane.Switch
	program *Program
	now     unit.Time
	env     *dataplane.Env
	packets []*packet.Packet
	gaps    []unit.Time
	at      int
	dropped bool // the last
}

// look is a program that keeps the switch's environment.
type look struct{ env *dataplane.Env }

func (*look) Name() string { return "look" }

func (l *look) Ingress(env *dataplane.Env, _ *packet.Packet) dataplane.Verdict {
	l.env = env
	return dataplane.Accept
}

// pathUsers is how many users there are, in random order.
const pathUsers = 1000

// newPath has users who send frames of all sizes at random times, 50 Mb/s in all.
func newPath(t testing.TB, c Config) *path {
	t.Helper()
	pool, book, l, r := &packet.Pool{}, packet.NewBook(), &look{}, unit.NewRandom(1, "path")
	for i := range pathUsers {
		book.Add(netip.AddrFrom4([4]byte{10, 0, byte(i / 250), byte(i%250 + 1)}), netip.Addr{})
	}
	site := &dataplane.Site{Switch: "s1", Ports: 2, Book: book, Random: func(entity string) unit.Random {
		return unit.NewRandom(1, entity)
	}}
	program, err := New(site, c)
	if err != nil {
		t.Fatal(err)
	}
	port := func() *tm.Port {
		return tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{Packets: 24}), tm.NewFIFO(),
			unit.LinkRate{Bits: 50 * unit.Mbps})
	}
	s, err := dataplane.New(dataplane.Config{Name: "s1", Ports: []*tm.Port{port(), port()},
		Programs: []dataplane.Program{l}, Pool: pool, Book: book})
	if err != nil {
		t.Fatal(err)
	}
	s.Receive(0, 0, pool.Get())
	p := &path{Switch: s, program: program, env: l.env}
	for range 256 {
		x := pool.Get()
		x.Src, x.Dst, x.Size, x.HopLimit, x.Version = packet.Addr(1+r.IntN(pathUsers)), 1, 64+r.Int32N(1437), 64, 4
		x.Meta.Out = 1
		p.packets = append(p.packets, x)
		p.gaps = append(p.gaps, unit.Time(r.ExpFloat64()*float64(125*unit.Microsecond)))
	}
	for range 4 { // wait: all are accepted, and take the whole path
		x := pool.Get()
		x.Size = 1490
		s.Port(1).Push(0, x)
	}
	return p
}

// step sends one packet along the path.
func (p *path) step() {
	x := p.packets[p.at]
	p.now += p.gaps[p.at]
	p.Advance(p.now)
	if p.at++; p.at == len(p.packets) {
		p.at = 0
	}
	if p.program == nil {
		return
	}
	p.program.Ingress(p.env, x)
	if p.dropped = p.program.Admit(p.env, x) != dataplane.Accept; !p.dropped {
		p.program.Book(p.env, x)
	}
}

// BenchmarkPath measures the time of the ingress path by itself: finding the user, the meter, the activity, the AQM and
// A_avg. The time of "nothing", in which time passes and the next packet follows, is in all of them.
func BenchmarkPath(b *testing.B) {
	b.Run("nothing", func(b *testing.B) {
		p := newPath(b, defaults())
		for p.program = nil; b.Loop(); {
			p.step()
		}
	})
	for name, c := range paths() {
		b.Run(name, func(b *testing.B) {
			p := newPath(b, c)
			for range pathUsers {
				p.step()
			}
			b.ReportAllocs()
			for b.Loop() {
				p.step()
			}
		})
	}
}

// paths are the arithmetics.
func paths() map[string]Config {
	integer := defaults()
	integer.Integer = true
	return map[string]Config{"exact": defaults(), "integer": integer}
}

// TestPathAllocates checks that no packet allocates memory, in any arithmetic.
func TestPathAllocates(t *testing.T) {
	for name, c := range paths() {
		t.Run(name, func(t *testing.T) {
			p := newPath(t, c)
			for range pathUsers {
				p.step()
			}
			if n := testing.AllocsPerRun(1000, p.step); n != 0 {
				t.Errorf("%g allocations a packet", n)
			}
		})
	}
}
