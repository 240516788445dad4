package sim

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/fabric/wiring"
	"weir/core/jobs/collective"
	"weir/core/jobs/job"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/udp"
	"weir/core/unit"
)

// messageEnds are the endpoints of messages without acknowledgements.
type messageEnds struct{ seed uint64 }

func (messageEnds) Message(_ int, _ *job.Message, to int32, f *outcome.Flow, _ func(int) bool) error {
	f.SrcPort, f.DstPort = uint16(10000+to), 40000
	return nil
}

func (d messageEnds) MessageEndpoints(f *outcome.Flow, id int, _ uint64, start unit.Time) (sender,
	receiver transport.Endpoint,
	err error) {
	return udp.New(transport.Flow{ID: packet.FlowID(id), Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1),
		SrcPort: f.SrcPort, DstPort: f.DstPort, Version: 4, Size: f.Size, Payload: 1000, Start: start, Stop: unit.Never,
		Framing: packet.Framings[0], Random: unit.NewRandom(d.seed, "flow")}, udp.Config{Rate: unit.Gbps, Pattern: udp.CBR})
}

// around makes hosts around a switch, and jobs on them.
func around(t testing.TB, hosts int, jobs ...outcome.Job) *Config {
	t.Helper()
	n := &topology.Network{Nodes: []topology.Node{{Name: "s", Switch: true}}}
	for i := range hosts {
		n.Nodes = append(n.Nodes, topology.Node{Name: fmt.Sprint("h", i)})
		n.Links = append(n.Links, topology.Link{Ends: [2]int{0, i + 1}, Rate: unit.LinkRate{Bits: unit.Gbps},
			Delay: unit.Microsecond})
	}
	c := &Config{Wiring: wiring.Config{Seed: 1, Network: n, Hosts: n.Addresses(), Switches: make([]wiring.SwitchConfig,
		len(n.Nodes))},
		Duration: 10 * unit.Second, UntilDone: true, Load: outcome.Load{Jobs: jobs},
		MessageEndpointFactory: messageEnds{}}
	c.Wiring.Switches[0] = wiring.SwitchConfig{Routes: dataplane.HostRoutes(c.Wiring.Hosts, n.Routes().PathsFrom(0)),
		Programs: func(site *dataplane.Site) ([]dataplane.Program, error) {
			return []dataplane.Program{forward.New(site)}, nil
		}}
	return c
}

func allReduce(t testing.TB, hosts, iterations int) outcome.Job {
	t.Helper()
	p, err := collective.New(collective.Config{Operation: collective.AllReduce, Members: hosts,
		Size: unit.Bytes(1000 * hosts), Iterations: iterations})
	if err != nil {
		t.Fatal(err)
	}
	j := outcome.Job{Program: p}
	for i := range hosts {
		j.Hosts = append(j.Hosts, i+1)
	}
	return j
}

// TestMessagesEnd checks that messages exist from their start to their end. Their places are reused, so a run with
// ten times the number of messages uses no more.
func TestMessagesEnd(t *testing.T) {
	const hosts = 8
	grown := func(iterations int) (places int) {
		c := around(t, hosts, allReduce(t, hosts, iterations))
		r, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		out := r.Run()
		if out.End != outcome.AllDone || out.Jobs[0].Left != 0 || len(out.Jobs[0].Iterations) != iterations {
			t.Fatalf("%v: %+v", out.End, out.Jobs[0])
		}
		if got, want := r.jobs.number, uint64(iterations*hosts*2*(hosts-1)); got != want {
			t.Fatalf("%d messages, not %d", got, want)
		}
		return len(r.jobs.message)
	}
	few := grown(10)
	places := grown(100)
	if places > few || few > 300 {
		t.Errorf("%d places for 1,120 messages, %d for 11,200", few, places)
	}
}

// TestJobTimes checks that a step of the ring is a frame over two links. Iterations follow each other at once.
func TestJobTimes(t *testing.T) {
	const hosts, tx, delay = 4, 1042 * 8 * unit.Nanosecond, unit.Microsecond
	j := allReduce(t, hosts, 3)
	j.Start = 7 * unit.Microsecond
	out, err := Run(around(t, hosts, j))
	if err != nil {
		t.Fatal(err)
	}
	step := 2*tx + 2*delay
	for i, x := range out.Jobs[0].Iterations {
		if want := j.Start + unit.Time(6*(i+1))*step; x.First != want || x.Last != want {
			t.Errorf("iteration %d is over at %v and %v, not %v", i, x.First, x.Last, want)
		}
	}
	if out.Time < out.Jobs[0].Ranks[0].End || out.Job(0) != &out.Jobs[0] || out.Job(1) != nil {
		t.Errorf("the run ends at %v", out.Time)
	}
}

// aligned returns a broadcast whose first rank ends an iteration long before the last.
func aligned(t testing.TB, iterations int, period unit.Time) outcome.Job {
	t.Helper()
	const hosts = 4
	p, err := collective.New(collective.Config{Operation: collective.Broadcast, Members: hosts, Size: 50_000,
		Iterations: iterations, Compute: 30 * unit.Microsecond, Align: period})
	if err != nil {
		t.Fatal(err)
	}
	j := outcome.Job{Program: p}
	for i := range hosts {
		j.Hosts = append(j.Hosts, i+1)
	}
	return j
}

// TestJobAligned checks that with a period all ranks begin an iteration at one time: the first multiple that is at
// least the shortest delay of a link after the last rank has ended the previous iteration. Each takes as long as a
// single one, and windows make no difference.
func TestJobAligned(t *testing.T) {
	const delay = unit.Microsecond
	single, err := Run(around(t, 4, aligned(t, 1, 0)))
	if err != nil {
		t.Fatal(err)
	}
	one := &single.Jobs[0]
	took := one.Iterations[0].Last
	for _, period := range []unit.Time{50 * unit.Nanosecond, 7 * unit.Microsecond, took, took + delay, 3 * took} {
		for _, window := range []unit.Time{0, 300 * unit.Nanosecond, unit.Second} {
			c := around(t, 4, aligned(t, 5, period))
			c.Window = window
			out, err := Run(c)
			if err != nil || out.End != outcome.AllDone {
				t.Fatal(out, err)
			}
			o, earliest := &out.Jobs[0], unit.Time(0)
			for i, x := range o.Iterations {
				if x.Last-x.Begin != took || x.Begin%period != 0 || x.Begin < earliest || x.Begin >= earliest+period {
					t.Errorf("period %v, window %v: iteration %d is from %v to %v, and alone it takes %v", period, window, i,
						x.Begin, x.Last, took)
				}
				earliest = x.Last + delay
			}
			for k := range o.Ranks {
				if got, want := &o.Ranks[k], &one.Ranks[k]; got.Exposed() != 5*want.Exposed() ||
					got.Computing != 5*want.Computing {
					t.Errorf("period %v, window %v: rank %d: %+v, alone %+v", period, window, k, got, want)
				}
			}
		}
	}
}

// TestJobCutAtBarrier checks that a run that ends while ranks are at the barrier names them.
func TestJobCutAtBarrier(t *testing.T) {
	c := around(t, 4, aligned(t, 5, 10*unit.Millisecond))
	c.Duration = 15 * unit.Millisecond
	out, err := Run(c)
	if err != nil || out.End != outcome.TimeUp {
		t.Fatal(out, err)
	}
	o := &out.Jobs[0]
	text := job.DescribeDeadlock(c.Jobs[0].Program, o)
	if len(o.Iterations) != 2 || strings.Count(text, "waits until all ranks begin iteration 3") != 4 {
		t.Errorf("%d iterations: %s", len(o.Iterations), text)
	}
}

// TestToItself checks that a message to the rank's own host takes a nanosecond, and no network.
func TestToItself(t *testing.T) {
	b := job.NewBuilder("x")
	b.BeginRank()
	b.AddOp(job.Op{Kind: job.Send, Size: 5}, "", 0)
	b.AddOp(job.Op{Kind: job.Recv, Size: 5}, "", 0)
	out, err := Run(around(t, 2, outcome.Job{Program: b.Build(), Hosts: []int{1}}))
	if err != nil || out.End != outcome.AllDone || out.Jobs[0].Ranks[0].End != unit.Nanosecond || out.PacketHops != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestMessageEndpointFactory checks that a job that waits forever ends the run, and one that is cut reports it.
func TestMessageEndpointFactory(t *testing.T) {
	b := job.NewBuilder("x")
	b.BeginRank()
	b.AddOp(job.Op{Kind: job.Recv, Size: 5}, "", 0)
	out, err := Run(around(t, 2, outcome.Job{Program: b.Build(), Hosts: []int{1}}))
	if err != nil || out.End != outcome.NoProgress || out.Jobs[0].Left != 1 || out.Jobs[0].WasCut {
		t.Errorf("%+v, %v", out, err)
	}
	c := around(t, 4, allReduce(t, 4, 1000))
	c.Duration = unit.Millisecond
	if out, err = Run(c); err != nil || out.End != outcome.TimeUp || out.Jobs[0].Left == 0 || !out.Jobs[0].WasCut {
		t.Errorf("%+v, %v", out.End, err)
	}
}

// TestJobsRefused checks the settings that a run with jobs refuses.
func TestJobsRefused(t *testing.T) {
	for want, change := range map[string]func(c *Config){
		"4 ranks but 3 hosts":       func(c *Config) { c.Jobs[0].Hosts = c.Jobs[0].Hosts[:3] },
		"is at node 0, which is no": func(c *Config) { c.Jobs[0].Hosts[1] = 0 },
		"wire form":                 func(c *Config) { c.Wire = true },
	} {
		t.Run(want, func(t *testing.T) {
			c := around(t, 4, allReduce(t, 4, 1))
			change(c)
			if _, err := Run(c); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := NewEdge(around(t, 4, allReduce(t, 4, 1)), nil, nil); err == nil {
		t.Error("hosts without a network have jobs")
	}
}
