package fdpa

import (
	"fmt"
	"net/netip"
	"os"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// weighed is a configuration with reference rates of 10.0.0.1, 10.0.0.2 and so on, in kb/s.
func weighed(rates ...int) config {
	c := scheme.Defaults[config]()
	c.Aggregates = dataplanetest.ReferenceRates(rates...)
	return c
}

func ports(n, queues int, rate unit.Rate, each, total int32) dataplanetest.Setup {
	return dataplanetest.NewSetup(n, dataplanetest.Port{Rate: unit.LinkRate{Bits: rate}, Queues: queues,
		Each: tm.Limit{Packets: each}, Total: tm.Limit{Packets: total}})
}

// chosen is the queue of the packet in hand.
type chosen struct{ queue uint8 }

func (c *chosen) Name() string { return "chosen" }
func (c *chosen) Admit(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	c.queue = p.Meta.Queue
	return dataplane.Accept
}

// TestProgram_MatchesTranscript compares the program with testdata/fdpa.txt, from an evaluation that shares no code
// with Weir's.
func TestProgram_MatchesTranscript(t *testing.T) {
	text, err := os.ReadFile("testdata/fdpa.txt")
	if err != nil {
		t.Fatal(err)
	}
	c := &chosen{}
	dataplanetest.CheckTranscript(t, ports(4, 4, 1500*unit.Kbps, 0, 12), string(text),
		func(site *dataplane.Site) []dataplane.Program {
			x, err := newProgram(site, weighed(10, 20, 10))
			if err != nil {
				t.Fatal(err)
			}
			return []dataplane.Program{x, c}
		}, func() string { return fmt.Sprintf("queue %d", c.queue) })
}

// TestConfig_ChoosesPriorityByShare calculates priorities by hand: up to 1, 1.25 and 1.5625 fair shares, and the rest.
func TestConfig_ChoosesPriorityByShare(t *testing.T) {
	c := weighed()
	for _, x := range []struct {
		shares float64
		want   uint8
	}{{0, 0}, {1, 0}, {1.001, 1}, {1.25, 1}, {1.3, 2}, {1.5625, 2}, {1.6, 3}, {100, 3}} {
		t.Run(fmt.Sprint(x.shares), func(t *testing.T) {
			if got := c.choosePriority(x.shares, 4); got != x.want {
				t.Errorf("%d, want %d", got, x.want)
			}
		})
	}
}

// TestPort_CountsActiveUsers checks that a user counts while it has sent within the time, and that its weight is
// removed once after that.
func TestPort_CountsActiveUsers(t *testing.T) {
	b := packet.NewBook()
	b.Add(netip.MustParseAddr("10.0.0.1"), netip.Addr{})
	b.Add(netip.MustParseAddr("10.0.0.2"), netip.Addr{})
	c := weighed(10, 20)
	table := users.NewTable(b, &c.Config)
	k := port{lastSent: make([]unit.Time, table.MaxUsers())}
	const ms = unit.Millisecond
	for i, x := range []struct {
		at   unit.Time
		user int32
		want float64
	}{{0, 0, 1}, {10 * ms, 1, 3}, {900 * ms, 0, 3}, {1009 * ms, 0, 3}, {1160 * ms, 0, 1}, {1170 * ms, 1, 3}} {
		if k.countActive(x.at, x.user, table, unit.Second); k.weight != x.want {
			t.Errorf("step %d: weight %g, want %g", i, k.weight, x.want)
		}
	}
}

// TestProgram_EvictAddressForgetsUser checks that only a source that becomes another's restarts.
func TestProgram_EvictAddressForgetsUser(t *testing.T) {
	s := ports(3, 2, unit.Gbps, 0, 0)
	site := s.NewSite()
	x, err := newProgram(site, weighed())
	if err != nil {
		t.Fatal(err)
	}
	s.Programs = []dataplane.Program{dataplanetest.NewForwarding(site), x}
	dataplanetest.RunDirect(s, []dataplanetest.Arrival{{At: unit.Second, Dst: 3, Payload: 100},
		{At: unit.Second, Port: 1, Dst: 3, Payload: 100}})
	x.EvictAddress(1)
	if a, b := x.rates.Value(0), x.rates.Value(1); a != 0 || b == 0 {
		t.Errorf("rates %g and %g", a, b)
	}
	if k := x.ports[2]; k.lastSent[0] != 0 || k.lastSent[1] == 0 || k.weight != 1 {
		t.Errorf("last packets %v, weight %g, want that of one", k.lastSent, k.weight)
	}
}

func TestProgram_HoldsContract(t *testing.T) {
	dataplanetest.CheckProgram(t, Scheme(), func(p dataplanetest.Port) dataplanetest.Port {
		p.Queues = max(p.Queues, 2)
		return p
	}, []string{
		// the script chooses the queue, by its class or for what is trimmed: here the user's rate does, and all are slow
		"strict", "classes of delay", "pause holds", "a class without", "trimming", "the packet that came last"})
}

// TestProgram_SparesUserBelowShare checks that a user below its fair share loses no packet next to others that flood
// the link, at 10 Mb/s and, with constants shorter in proportion, at 100 Gb/s.
func TestProgram_SparesUserBelowShare(t *testing.T) {
	for _, rate := range []unit.Rate{10 * unit.Mbps, 100 * unit.Gbps} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			s := ports(4, 4, rate, 25, 0)
			site := s.NewSite()
			c := weighed()
			scale := float64(10*unit.Mbps) / float64(rate)
			c.K, c.Active = unit.Time(float64(c.K)*scale), unit.Time(float64(c.Active)*scale)
			x, err := newProgram(site, c)
			if err != nil {
				t.Fatal(err)
			}
			until := unit.Time(4e12 * scale)
			k := &dataplanetest.Counter{From: until / 2}
			s.Programs = []dataplane.Program{dataplanetest.NewForwarding(site), x, k}
			dataplanetest.RunDirect(s, dataplanetest.ConstantTraffic(rate, 1000, until, 4, 0.2, 0.7, 1.2))
			if k.Passed[0] != k.Came[0] || k.Came[0] == 0 {
				t.Errorf("it loses %d of %d", k.Came[0]-k.Passed[0], k.Came[0])
			}
			if k.Passed[2] == k.Came[2] {
				t.Error("nobody else loses anything")
			}
		})
	}
}

// TestNewProgram_RejectsUnsuitablePorts checks that impossible ports are refused.
func TestNewProgram_RejectsUnsuitablePorts(t *testing.T) {
	one, packets := ports(1, 1, unit.Gbps, 0, 0), ports(1, 2, unit.Gbps, 0, 0)
	packets.Ports[0].Rate = unit.LinkRate{Packets: 10}
	for _, s := range []dataplanetest.Setup{one, packets} {
		if _, err := newProgram(s.NewSite(), weighed()); err == nil {
			t.Errorf("%+v is taken", s.Ports)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	c := weighed()
	table := users.NewTable(nil, &c.Config)
	k := port{lastSent: make([]unit.Time, 8)}
	table.UserOf(&packet.Packet{})
	now := unit.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += unit.Millisecond
		k.countActive(now, 0, table, c.Active)
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func ExampleScheme() {
	s := Scheme()
	fmt.Println(s.Name, len(s.Parameters()))
	// Output: fdpa 7
}
