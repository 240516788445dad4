package live

import (
	"sort"
	"testing"

	"weir/core/dataplane/dataplanetest"
	"weir/core/fabric"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
	"weir/internal/testkit/gatetest"
)

// script is a gate whose kernel follows a script.
type script = gatetest.Script[GateCounts]

// hasty is a gate with a mistake: arriving frames have the current time as their timestamp.
type hasty struct {
	*script
	now func() unit.Time
}

func (g hasty) Stamp() unit.Time {
	if t := g.script.Stamp(); t > g.now() {
		return t
	}
	return g.now()
}

// arrivals records the packets that arrive at nodes other than the first.
type arrivals struct {
	got   *dataplanetest.Transcript
	links []fabric.Link
}

func (a arrivals) Observe(e trace.Event, p *packet.Packet) {
	if l := a.links[e.Port]; e.Kind == trace.Arrive && l.To > 0 {
		a.got.Departures = append(a.got.Departures, dataplanetest.NewDeparture(e.At, l.FromPort, p))
	}
}

// driver runs a script on the plane, whose thread runs at the times that wake returns, one after the other, up to a
// second. With wrong it makes a mistake on purpose.
func driver(t *testing.T, wake func(now unit.Time) unit.Time, wrong bool) dataplanetest.ScriptRunner {
	return func(s dataplanetest.Setup, arriving []dataplanetest.Arrival) dataplanetest.Transcript {
		var out dataplanetest.Transcript
		book := s.NewBook()
		now := unit.Time(0)
		d := &Plane{Departures: NewDepartures(func() unit.Time { return now }, book), maxFrame: 1514}
		sw := s.NewSwitch(&d.pool)
		nodes := []fabric.Node{sw}
		var links []fabric.Link
		var gates []*script
		var frames packet.Pool
		wire := s
		wire.Wire = true // nothing else comes out of a kernel
		d.hosts = []*hostPort{nil}
		for i, p := range s.Ports {
			port := packet.PortID(i)
			g := &script{}
			for _, a := range arriving {
				if a.Port != port {
					continue
				}
				f := wire.NewPacket(&frames, book, a)
				g.Add(a.At-1, f.Data) // the links to the switch take 1 ps
			}
			gates = append(gates, g)
			var gate Gate = g
			if wrong {
				gate = hasty{g, func() unit.Time { return now }}
			}
			h := d.newHostPort(i+1, "", unit.LinkRate{Bits: 1 << 62}, gate)
			d.hosts = append(d.hosts, h)
			nodes = append(nodes, h)
			links = append(links,
				fabric.Link{From: 0, FromPort: port, To: i + 1, Rate: p.Rate},
				fabric.Link{From: i + 1, To: 0, ToPort: port, Rate: unit.LinkRate{Bits: 1 << 62}})
		}
		if err := d.startFabric(nodes, links, arrivals{&out, links}); err != nil {
			t.Fatal(err)
		}
		for now < unit.Second {
			now = min(wake(now), unit.Second)
			if err := d.Step(now); err != nil {
				t.Fatal(err)
			}
		}
		out.Drops, out.Live = sw.DropCounts(), d.pool.LiveCount()
		sort.SliceStable(out.Departures, func(i, j int) bool {
			a, b := out.Departures[i], out.Departures[j]
			return a.At < b.At || a.At == b.At && a.Port < b.Port
		})
		// The kernels' frames equal the arrivals, except for link control frames.
		for i, g := range gates {
			var want, got []int64
			for _, x := range out.Departures {
				if int(x.Port) == i && x.Kind == packet.Data && x.HopLimit > 0 { // a packet without addresses makes no frame
					want = append(want, x.Seq)
				}
			}
			for _, f := range g.Sent {
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

// TestPlane_PassesDriverContract checks that the plane's packet path passes the contract of all drivers, for any
// schedule of its thread: packets walk in event time. TestContractSeeds has more schedules of the thread.
func TestPlane_PassesDriverContract(t *testing.T) { contract(t, 3) }

// contract runs the contract with two schedules of the thread and the given number of random ones.
func contract(t *testing.T, seeds int) {
	t.Helper()
	dataplanetest.CheckContract(t, driver(t, func(unit.Time) unit.Time { return unit.Second }, false))
	dataplanetest.CheckContract(t, driver(t, func(now unit.Time) unit.Time {
		if now < 200*unit.Microsecond {
			return now + 100*unit.Nanosecond
		}
		return unit.Second
	}, false))
	for seed := range uint64(seeds) {
		random := unit.NewRandom(seed, "wake")
		dataplanetest.CheckContract(t, driver(t, func(now unit.Time) unit.Time {
			return now + 1 + max(now/4, unit.Time(random.Int64N(int64(5*unit.Microsecond))))
		}, false))
	}
	// A plane that goes by its own clock instead of the stamps is caught.
	var caught failures
	dataplanetest.CheckContract(&caught, driver(t, func(now unit.Time) unit.Time {
		return now + now/4 +
			300*unit.Nanosecond
	},
		true))
	if caught < 20 {
		t.Errorf("%d scripts notice that packets do not walk in event time", caught)
	}
}

// failures counts errors.
type failures int

func (f *failures) Helper()               {}
func (f *failures) Errorf(string, ...any) { *f++ }
