package schemelint

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/core/cc"
	"weir/core/cc/cubic"
	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/tcp"
	"weir/core/transport/udp"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/measure"
)

// program is a switch program with one mistake.
type program struct {
	admit func(p *packet.Packet) dataplane.Verdict
}

func (program) Name() string { return "mine" }
func (x program) Admit(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	return x.admit(p)
}

// ticking is a program that requests the current time as its next tick until its test has ended.
type ticking struct{ program }

func newTicking(admit func(*packet.Packet) dataplane.Verdict) ticking {
	stopTicks.Store(false)
	return ticking{program{admit: admit}}
}

func (ticking) Tick(*dataplane.Env) unit.Time {
	if stopTicks.Load() {
		return unit.Never
	}
	return 0
}

// taken holds memory, and goroutines change running.
var (
	taken     []byte
	running   atomic.Int64
	stopTicks atomic.Bool
	own       = rand.New(rand.NewPCG(1, 2)) // a stream that no run starts again
)

func registry(p dataplane.Program) *experiment.Registry {
	return &experiment.Registry{Measures: measure.Definitions(), Topologies: topology.Schemes(),
		Transports: []transport.Scheme{tcp.Scheme(), udp.Scheme()}, Controllers: []cc.Scheme{cubic.Scheme()},
		Programs: []dataplane.Scheme{forward.Scheme(), {
			Scheme: scheme.Scheme{Name: "mine", Doc: "with a mistake", Source: "tests"},
			Build:  func(*dataplane.Site, scheme.Config) (dataplane.Program, error) { return p, nil }}}}
}

func find(t *testing.T, r *experiment.Registry, traffic string) []Mistake {
	t.Helper()
	own, watched := Watch(r)
	s := plantest.LoadSource(t, own, plantest.NewSource("mine.yaml", `duration: 3s
topology: {dumbbell: {hosts: 1, rate: 100Mbps, bottleneck: 10Mbps, delay: 1ms, buffer: 20 packets}}
switch: [forward, mine]
traffic: [{name: x, from: left0, to: right0, `+traffic+`}]
measure: [goodput]
`), experiment.Options{})
	found, why := watched.Find(s)
	if why != "" {
		t.Error(why)
	}
	return found
}

// TestFind_FindsMistakesOfPrograms checks that each mistake is found in a program made for it, and no mistake in a
// correct one.
func TestFind_FindsMistakesOfPrograms(t *testing.T) {
	stallTimeout = 2 * time.Second
	defer func() { stallTimeout = 30 * time.Second; stopTicks.Store(true) }()
	accept := func(*packet.Packet) dataplane.Verdict { return dataplane.Accept }
	n := 0
	for _, x := range []struct {
		name    string
		program dataplane.Program
		want    string // "": nothing
		fatal   bool
	}{
		{"none", program{admit: accept}, "", false},
		{"drops a tenth", program{admit: func(p *packet.Packet) dataplane.Verdict {
			if p.Seq/1448%10 == 3 {
				return dataplane.Drop(dataplane.EarlyDrop)
			}
			return dataplane.Accept
		}}, "", false},
		{"drops everything", program{admit: func(*packet.Packet) dataplane.Verdict {
			return dataplane.Drop(dataplane.EarlyDrop)
		}}, "nothing arrives: of ", false},
		{"draws from a stream of its own", program{admit: func(*packet.Packet) dataplane.Verdict {
			if own.IntN(20) == 0 {
				return dataplane.Drop(dataplane.EarlyDrop)
			}
			return dataplane.Accept
		}}, "two runs of one seed differ", true},
		{"keeps state from run to run", program{admit: func(*packet.Packet) dataplane.Verdict {
			if n++; n > 500 && n%10 == 0 {
				return dataplane.Drop(dataplane.EarlyDrop)
			}
			return dataplane.Accept
		}}, "two runs of one seed differ", true},
		{"panics", program{admit: func(p *packet.Packet) dataplane.Verdict {
			var table []int
			return dataplane.Verdict(table[p.Seq])
		}}, "panics: runtime error: index out of range", true},
		{"marks what cannot be marked", program{admit: func(p *packet.Packet) dataplane.Verdict {
			p.TOS |= packet.CE
			return dataplane.Accept
		}}, "a program marks packets that are not ECN-capable (the first at ", false},
		{"marks what can be marked", program{admit: func(p *packet.Packet) dataplane.Verdict {
			if p.TOS&packet.ECN == packet.ECT0 {
				p.TOS |= packet.CE
			}
			return dataplane.Accept
		}}, "", false},
		{"starts goroutines", program{admit: func(p *packet.Packet) dataplane.Verdict {
			go func() { running.Add(1) }()
			return dataplane.Accept
		}}, "goroutines are started by weir/study/schemelint.TestFind_FindsMistakesOfPrograms.", false},
		{"takes memory", program{admit: func(p *packet.Packet) dataplane.Verdict {
			taken = make([]byte, p.Size)
			return dataplane.Accept
		}}, "weir/study/schemelint.program.Admit (schemelint_test.go:", false},
		{"takes memory once", program{admit: func(p *packet.Packet) dataplane.Verdict {
			if len(taken) < 100_000 {
				taken = make([]byte, 100_000)
			}
			return dataplane.Accept
		}}, "", false},
		{"ticks without end", newTicking(accept), "the simulated time stands still", true},
	} {
		t.Run(x.name, func(t *testing.T) {
			for _, traffic := range []string{"transport: tcp", "transport: udp, rate: 8Mbps"} {
				n = 0
				found := find(t, registry(x.program), traffic)
				switch {
				case x.want == "" && len(found) > 0:
					t.Errorf("%s: it has no mistake: %+v", traffic, found)
				case x.want != "" && (len(found) != 1 || !strings.Contains(found[0].Text, x.want) || found[0].Fatal != x.fatal):
					t.Errorf("%s: %+v, not %q", traffic, found, x.want)
				}
				if x.name == "ticks without end" {
					break // it is still under way
				}
			}
		})
	}
}

// controller is CUBIC with one mistake.
type controller struct {
	cc.Controller
	more unit.Bytes
	ack  func(c *controller, a *cc.Ack)
}

func (c *controller) OnAck(now unit.Time, a *cc.Ack) {
	c.Controller.OnAck(now, a)
	c.ack(c, a)
}

func (c *controller) Decision() cc.Decision {
	d := c.Controller.Decision()
	d.Window += c.more
	return d
}

// TestFind_FindsMistakesOfControllers checks the use of ECN fields, goroutines and memory by controllers.
func TestFind_FindsMistakesOfControllers(t *testing.T) {
	reads := func(c *controller, a *cc.Ack) { c.more = unit.Bytes(a.ECN.Delivered) }
	for _, x := range []struct {
		name, transport string
		ecn             cc.ECNMode
		ack             func(c *controller, a *cc.Ack)
		want            string // "": nothing
	}{
		{"none", "tcp", cc.AsConfigured, func(*controller, *cc.Ack) {}, ""},
		{"reads marks", "tcp", cc.AsConfigured, reads, "mine.yaml:4:66: cc mine: it reads marks (Ack.ECN), and packets"},
		{"reads marks that there are", "{tcp: {ecn: true}}", cc.AsConfigured, reads, ""},
		{"asks for marks", "tcp", cc.DCTCPMode, reads, ""},
		{"starts goroutines", "tcp", cc.AsConfigured, func(*controller, *cc.Ack) { go func() { running.Add(1) }() },
			"goroutines are started by weir/study/schemelint.TestFind_FindsMistakesOfControllers."},
		{"takes memory", "tcp", cc.AsConfigured, func(*controller, *cc.Ack) { taken = make([]byte, 100) },
			"weir/study/schemelint.(*controller).OnAck (schemelint_test.go:"},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := registry(program{admit: func(*packet.Packet) dataplane.Verdict { return dataplane.Accept }})
			mine := cubic.Scheme()
			build := mine.Build
			mine.Name, mine.ECN = "mine", x.ecn
			mine.Build = func(f cc.Flow, c scheme.Config) (cc.Controller, error) {
				own, err := build(f, c)
				return &controller{Controller: own, ack: x.ack}, err
			}
			r.Controllers = append(r.Controllers, mine)
			found := find(t, r, "transport: "+x.transport+", cc: mine")
			if x.want == "" && len(found) > 0 || x.want != "" && (len(found) != 1 || found[0].Fatal ||
				!strings.Contains(found[0].Text, x.want)) {
				t.Errorf("%+v, not %q", found, x.want)
			}
		})
	}
}

// TestFind_SkipsLargeRuns checks that a run that would take much memory is skipped, and that this is reported.
func TestFind_SkipsLargeRuns(t *testing.T) {
	maxMemory = 1e6
	defer func() { maxMemory = 500e6 }()
	own, watched := Watch(registry(program{admit: func(*packet.Packet) dataplane.Verdict { return dataplane.Accept }}))
	s := plantest.LoadSource(t, own, plantest.NewSource("large.yaml", `duration: 3s
topology: {dumbbell: {hosts: 20, rate: 100Mbps, bottleneck: 10Mbps, delay: 1ms}}
switch: [forward]
traffic: [{name: x, from: "left*", to: "right*", transport: udp, rate: 1kbps, flows: 1}]
measure: [goodput]
`), experiment.Options{})
	if found, why := watched.Find(s); len(found) > 0 || !strings.Contains(why, "of memory") {
		t.Errorf("%v, %q", found, why)
	}
}
