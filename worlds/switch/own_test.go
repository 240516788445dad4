package softswitch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/testkit/frametest"
	"weir/worlds/switch/control"
)

// counter is a user's own program: it counts the frames that enter each queue, shows the counts, and keeps them
// over a reload. The counts of a host whose number goes to another restart.
type counter struct {
	frames []uint64 // by port
	hosts  map[packet.Addr]uint64
}

func (*counter) Name() string { return "own counter" }

func (c *counter) Book(_ *dataplane.Env, p *packet.Packet) {
	c.frames[p.Meta.Out]++
	c.hosts[p.Src]++
}

func (c *counter) Metrics() []dataplane.Metric {
	return []dataplane.Metric{
		{Name: "own_frames_total", Help: "Frames that entered a queue.", Label: "port", ByPort: true, Counter: true},
		{Name: "own_hosts", Help: "Hosts that sent some."},
	}
}

func (c *counter) Sample(_ unit.Time, to []dataplane.Sample) (n int) {
	for i, x := range c.frames {
		to[n] = dataplane.Sample{Port: packet.PortID(i), Value: float64(x)}
		n++
	}
	to[n] = dataplane.Sample{Metric: 1, Value: float64(len(c.hosts))}
	return n + 1
}

func (c *counter) Adopt(_ unit.Time, other dataplane.Program) (kept string, lost []string) {
	old, ok := other.(*counter)
	if !ok {
		return "", nil
	}
	copy(c.frames, old.frames)
	for a, n := range old.hosts {
		c.hosts[a] = n
	}
	return "its counts", nil
}

func (c *counter) EvictAddress(a packet.Addr) { delete(c.hosts, a) }

// OwnScheme returns the scheme of a counter.
func OwnScheme(name string) dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: name, Doc: "counts", Source: "Weir"}, newCounter[scheme.None])
}

func newCounter[C any](site *dataplane.Site, _ C) (*counter, error) {
	return &counter{make([]uint64, site.Ports), map[packet.Addr]uint64{}}, nil
}

// talks is the configuration of a counter that needs other switches with its scheme.
type talks struct{ scheme.None }

func (*talks) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: "it talks to other switches"}
}

// withOwn returns the tests' schemes and a user's own: one that can run in a single switch, and one that cannot.
func withOwn() Schemes {
	s := schemes()
	gossip := dataplane.Define(scheme.Scheme{Name: "gossip", Doc: "talks", Source: "Weir"}, newCounter[talks])
	s.Programs = append(slices.Clone(s.Programs), OwnScheme("counter"), gossip)
	return s
}

const own = `
ports: {left: {interface: a}, right: {interface: b, rate: 10Mbps}}
switch: [forward, counter]
users: {new: 0s}
metrics: none
`

// TestOwnProgram checks that an external program runs in weir switch as weir's own do: it shows its metrics, keeps its
// state over a reload, and clears users with numbers that others get.
func TestOwnProgram(t *testing.T) {
	decode := func(text string) *Config {
		c, err := Decode(withOwn(), "switch.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := decode(own)
	b := newBench(t, c)
	for i := range 10 {
		b.send(0, unit.Time(i)*unit.Millisecond, frametest.NewDatagram(t, byte(1+i%2), 9, 0, 1000))
	}
	b.send(1, 0, frametest.NewDatagram(t, 9, 1, 0, 1000))
	b.stepUntil(t, 20*unit.Millisecond)
	shown := func() (text []string) {
		var n control.Counters
		var s sampler
		for i := range b.running {
			s.addSamples(b.time, &b.running[i], &n)
		}
		for _, x := range n.Sample[:n.Samples] {
			text = append(text, fmt.Sprintf("%s %d %g", x.Name.String(), x.Port, x.Value))
		}
		return text
	}
	want := []string{"own_frames_total 0 1", "own_frames_total 1 10", "own_hosts 0 3"}
	if got := shown(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	c = decode(strings.Replace(own, "10Mbps", "20Mbps", 1))
	list, notes, err := replacePrograms(b.time, b.Site(c.bridgePorts()), b.running, c.Programs)
	if err != nil || len(notes) > 0 {
		t.Fatalf("%q, %v", notes, err)
	}
	if b.running = list; !slices.Equal(shown(), want) {
		t.Errorf("after a reload %q, want %q", shown(), want)
	}
	left := b.running[1].Program.(*counter).hosts
	for a := range left {
		b.users.OnReassign(a)
		break
	}
	if len(left) != 2 {
		t.Errorf("%d hosts are left of 3, of whom one is forgotten", len(left))
	}
}

// TestOwnProgramRefused checks that a program that cannot run standalone is refused with its reason, and so is one with
// another program's metrics.
func TestOwnProgramRefused(t *testing.T) {
	s := withOwn()
	s.Programs = append(s.Programs, OwnScheme("second"), dataplane.Scheme{
		Scheme: scheme.Scheme{Name: "thief", Doc: "shows what the switch shows", Source: "Weir"},
		Build: func(*dataplane.Site, scheme.Config) (dataplane.Program, error) {
			return thief{}, nil
		},
	})
	for _, x := range []struct{ programs, want string }{
		{"gossip", "gossip is not available in a standalone switch: it talks to other switches; allowed: abc, " +
			"classify, counter, ecn, forward, loss, ncf, second, thief"},
		{"counter, second", "metric own_frames_total is there a second time"},
		{"thief", "metric weir_switch_up has the name of a metric of the switch"},
	} {
		t.Run(x.programs, func(t *testing.T) {
			text := strings.Replace(own, "counter", x.programs, 1)
			if _, err := Decode(s, "switch.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%v, not %q", err, x.want)
			}
		})
	}
}

// courier is the configuration of a program that forwards.
type courier struct{ scheme.None }

func (*courier) Traits() dataplane.Traits { return dataplane.Traits{Forwards: true} }

// TestOwnForwarder checks that a switch accepts any program that declares that it forwards, under any name, and refuses
// lists without one.
func TestOwnForwarder(t *testing.T) {
	s := withOwn()
	s.Programs = append(s.Programs, dataplane.Define(scheme.Scheme{Name: "courier", Doc: "forwards", Source: "Weir"},
		newCounter[courier]))
	for _, x := range []struct{ name, programs, want string }{
		{"one's own", "[courier]", ""},
		{"none", "[counter]", "no program forwards packets; allowed: [forward, …]"},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, err := Decode(s, "switch.yaml", []byte(strings.Replace(own, "[forward, counter]", x.programs, 1)))
			if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
				t.Errorf("%v, not %q", err, x.want)
			}
		})
	}
}

// thief has a metric that is the switch's.
type thief struct{}

func (thief) Name() string                             { return "thief" }
func (thief) Book(*dataplane.Env, *packet.Packet)      {}
func (thief) Sample(unit.Time, []dataplane.Sample) int { return 0 }
func (thief) Metrics() []dataplane.Metric {
	return []dataplane.Metric{{Name: "weir_switch_up", Help: "x"}}
}
