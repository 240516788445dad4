package lab

import (
	"sort"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/fabric"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
)

// scripted is a gate whose kernel follows a script.
type scripted struct {
	frames [][]byte
	stamps []unit.Time
	out    [][]byte // put and not flushed
	got    [][]byte
	room   int              // of out; 0: no limit
	fails  []error          // of the next flushes
	wall   func() unit.Time // a mistake: what has come in has the stamp of now
}

func (g *scripted) Stamp() unit.Time {
	if len(g.stamps) == 0 {
		return unit.Never
	}
	if g.wall != nil && g.stamps[0] <= g.wall() {
		return g.wall()
	}
	return g.stamps[0]
}

func (g *scripted) Take(b []byte) []byte {
	b = append(b, g.frames[0]...)
	g.frames, g.stamps = g.frames[1:], g.stamps[1:]
	return b
}

func (g *scripted) Put(frame []byte) bool {
	if g.room > 0 && len(g.out) >= g.room {
		return false
	}
	g.out = append(g.out, append([]byte(nil), frame...))
	return true
}

func (g *scripted) Flush() error {
	if len(g.fails) > 0 {
		err := g.fails[0]
		if g.fails = g.fails[1:]; err != nil {
			return err
		}
	}
	g.got = append(g.got, g.out...)
	g.out = nil
	return nil
}

func (g *scripted) Drop() int {
	n := len(g.out)
	g.out = nil
	return n
}

func (g *scripted) Counts() GateCounts { return GateCounts{} }

// arrivals writes down what arrives at nodes other than the first.
type arrivals struct {
	got   *dataplanetest.Transcript
	links []fabric.Link
}

func (a arrivals) Observe(e trace.Event, p *packet.Packet) {
	if l := a.links[e.Port]; e.Kind == trace.Arrive && l.To > 0 {
		a.got.Departures = append(a.got.Departures, dataplanetest.Depart(e.At, l.FromPort, p))
	}
}

// driver carries a script out on the lab's data plane, whose thread runs at the times
// that wake gives, one after the other, up to a second. wrong makes a mistake on purpose.
func driver(t *testing.T, wake func(now unit.Time) unit.Time, wrong bool) dataplanetest.Driver {
	return func(s dataplanetest.Setup, script []dataplanetest.Arrival) dataplanetest.Transcript {
		var out dataplanetest.Transcript
		book := s.Book()
		now := unit.Time(0)
		d := &plane{departures: departures{clock: func() unit.Time { return now }, book: book}, room: 1514}
		sw := s.Switch(&d.pool)
		nodes := []fabric.Node{sw}
		var links []fabric.Link
		var gates []*scripted
		var frames packet.Pool
		wire := s
		wire.Wire = true // nothing else comes out of a kernel
		d.hosts, d.switches = []*host{nil}, []*dataplane.Switch{sw}
		for i, p := range s.Ports {
			port := packet.PortID(i)
			g := &scripted{}
			if wrong {
				g.wall = func() unit.Time { return now }
			}
			for _, a := range script {
				if a.Port != port {
					continue
				}
				f := wire.Packet(&frames, book, a)
				g.frames = append(g.frames, f.Data)
				g.stamps = append(g.stamps, a.At-1) // the links to the switch take 1 ps
			}
			gates = append(gates, g)
			h := d.newHost(i+1, "", unit.LinkRate{Bits: 1 << 62}, g)
			d.hosts = append(d.hosts, h)
			nodes = append(nodes, h)
			links = append(links,
				fabric.Link{From: 0, FromPort: port, To: i + 1, Rate: p.Rate},
				fabric.Link{From: i + 1, To: 0, ToPort: port, Rate: unit.LinkRate{Bits: 1 << 62}})
		}
		if err := d.start(nodes, links, arrivals{&out, links}); err != nil {
			t.Fatal(err)
		}
		for now < unit.Second {
			now = min(wake(now), unit.Second)
			if err := d.step(now); err != nil {
				t.Fatal(err)
			}
		}
		out.Drops, out.Live = sw.Drops(), d.pool.Live()
		sort.SliceStable(out.Departures, func(i, j int) bool {
			a, b := out.Departures[i], out.Departures[j]
			return a.At < b.At || a.At == b.At && a.Port < b.Port
		})
		// What the kernels got is what arrived, but for link control frames.
		for i, g := range gates {
			var want, got []int64
			for _, x := range out.Departures {
				if int(x.Port) == i && x.Kind == packet.Data && x.HopLimit > 0 { // a packet without addresses makes no frame
					want = append(want, x.Seq)
				}
			}
			for _, f := range g.got {
				var p packet.Packet
				if err := p.Parse(book, f); err != nil {
					t.Errorf("port %d: %v", i, err)
				}
				got = append(got, p.Seq)
			}
			if !equalSeq(want, got) {
				t.Errorf("port %d: %v arrived, the kernel got %v", i, want, got)
			}
		}
		return out
	}
}

func equalSeq(want, got []int64) bool {
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if got[i] != want[i] && got[i] != 0 { // 0: its payload was cut off
			return false
		}
	}
	return true
}

// The lab's packet path passes the contract that every driver passes, whenever its thread
// gets to run: packets walk in event time.
// TestContractSeeds has more times at which the thread gets to run.
func TestContract(t *testing.T) { contract(t, 3) }

// contract runs the contract with two schedules of the thread and the given number of random ones.
func contract(t *testing.T, seeds int) {
	t.Helper()
	dataplanetest.Contract(t, driver(t, func(unit.Time) unit.Time { return unit.Second }, false))
	dataplanetest.Contract(t, driver(t, func(now unit.Time) unit.Time {
		if now < 200*unit.Microsecond {
			return now + 100*unit.Nanosecond
		}
		return unit.Second
	}, false))
	for seed := range uint64(seeds) {
		random := unit.NewRandom(seed, "wake")
		dataplanetest.Contract(t, driver(t, func(now unit.Time) unit.Time {
			return now + 1 + max(now/4, unit.Time(random.Int64N(int64(5*unit.Microsecond))))
		}, false))
	}
	// A plane that goes by its own clock instead of the stamps is caught.
	var caught failures
	dataplanetest.Contract(&caught, driver(t, func(now unit.Time) unit.Time { return now + now/4 + 300*unit.Nanosecond },
		true))
	if caught < 20 {
		t.Errorf("%d scripts notice that packets do not walk in event time", caught)
	}
}

// failures counts errors.
type failures int

func (f *failures) Helper()               {}
func (f *failures) Errorf(string, ...any) { *f++ }
