package afq

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// weighed is a configuration with reference rates of 10.0.0.1, 10.0.0.2 and so on, in kb/s.
func weighed(round unit.Bytes, rates ...int) config {
	c := scheme.Defaults[config]()
	c.Round = round
	c.Aggregates = dataplanetest.ReferenceRates(rates...)
	return c
}

// ports are calendars with the given number of rounds.
func ports(n, rounds int, rate unit.Rate, limit int32) dataplanetest.Setup {
	return dataplanetest.NewSetup(n, dataplanetest.Port{Rate: unit.LinkRate{Bits: rate}, Queues: rounds,
		Total: tm.Limit{Packets: limit}}, func(p dataplanetest.Port) dataplanetest.Port {
		p.Scheduler = tm.NewCalendar(rounds)
		return p
	})
}

// rounder has the current round of the last port.
type rounder struct{ now uint64 }

func (r *rounder) Name() string { return "rounder" }
func (r *rounder) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	r.now, _ = env.Port(p.Meta.Out).CurrentRound()
	return dataplane.Accept
}

// TestProgram_MatchesTranscript compares the program with testdata/afq.txt, from an evaluation of the paper that shares
// no code with Weir's.
func TestProgram_MatchesTranscript(t *testing.T) {
	text, err := os.ReadFile("testdata/afq.txt")
	if err != nil {
		t.Fatal(err)
	}
	r := &rounder{}
	dataplanetest.CheckTranscript(t, ports(4, 6, 1500*unit.Kbps, 40), string(text),
		func(site *dataplane.Site) []dataplane.Program {
			x, err := newProgram(site, weighed(2000, 10, 20, 10))
			if err != nil {
				t.Fatal(err)
			}
			return []dataplane.Program{r, x}
		}, func() string { return fmt.Sprintf("round %d", r.now) })
}

// TestProgram_QueuesByRoundByHand calculates four rounds of 1000 bytes by hand. Packets of 600 bytes of one user end at
// 600, 1200, 1800, 2400, 3000, 3600 and 4200 bytes: in rounds 0, 1, 1, 2, 3, 3, and the seventh is beyond. Another
// user's is in round 0.
func TestProgram_QueuesByRoundByHand(t *testing.T) {
	s := ports(3, 4, unit.Gbps, 0)
	site := s.NewSite()
	x, err := newProgram(site, weighed(1000))
	if err != nil {
		t.Fatal(err)
	}
	w := &queues{}
	s.Programs = []dataplane.Program{dataplanetest.NewForwarding(site), x, w}
	var script []dataplanetest.Arrival
	for i := range 8 {
		script = append(script, dataplanetest.Arrival{At: unit.Microsecond, Port: packet.PortID(i / 7), Dst: 3,
			Seq: int64(i), Payload: 600 - 42})
	}
	got := dataplanetest.RunDirect(s, script)
	// the first departs at once, since the port is idle
	if fmt.Sprint(w.of) != "[0 1 1 2 3 3 0]" || got.Drops[dataplane.EarlyDrop] != 1 {
		t.Errorf("queues %v, %d beyond", w.of, got.Drops[dataplane.EarlyDrop])
	}
	if d := got.Departures; d[1].Seq != 7 {
		t.Errorf("packet %d leaves second", d[1].Seq)
	}
}

type queues struct{ of []uint8 }

func (w *queues) Name() string { return "queues" }
func (w *queues) Book(_ *dataplane.Env, p *packet.Packet) {
	w.of = append(w.of, p.Meta.Queue)
}

// TestProgram_SketchNeverUnderestimatesBids checks that a sketch never returns less than a user's bid. With more users
// than columns some share their rounds.
func TestProgram_SketchNeverUnderestimatesBids(t *testing.T) {
	site := &dataplane.Site{Ports: 1, Queues: 4, Random: func(e string) unit.Random { return unit.NewRandom(1, e) },
		Book: packet.NewBook()}
	c := weighed(8000)
	c.Columns = 256
	x, err := newProgram(site, c)
	if err != nil {
		t.Fatal(err)
	}
	p := &packet.Packet{}
	together := 0
	for u := range uint32(400) {
		x.bid = uint64(u+1) * 100
		before := x.readBid(x.bids[0], u)
		x.Book(nil, p)
		if before > 0 {
			together++
		}
		for v := range u + 1 {
			if got := x.readBid(x.bids[0], v); got < uint64(v+1)*100 {
				t.Fatalf("user %d: %d after %d users", v, got, u+1)
			}
		}
	}
	if together == 0 || together > 300 {
		t.Errorf("%d of 400 users share all rows with others in 256 columns", together)
	}
}

// TestProgram_EvictAddressForgetsUser checks that a source that moves to another host is no user any more.
func TestProgram_EvictAddressForgetsUser(t *testing.T) {
	s := ports(3, 4, unit.Gbps, 0)
	site := s.NewSite()
	x, err := newProgram(site, weighed(8000))
	if err != nil {
		t.Fatal(err)
	}
	s.Programs = []dataplane.Program{dataplanetest.NewForwarding(site), x}
	dataplanetest.RunDirect(s, []dataplanetest.Arrival{{At: unit.Second, Dst: 3, Payload: 100},
		{At: unit.Second, Port: 1, Dst: 3, Payload: 100}})
	x.EvictAddress(1)
	if n := x.table.UserCount(); n != 1 {
		t.Errorf("%d users are left of two", n)
	}
}

// TestProgram_BookRaisesCellsToBid checks that Book raises cells to the bid, and lowers none that another user has
// raised. By hand: a user with cells of 1000 and 10 has bid 10 and, with 50 more, 60.
func TestProgram_BookRaisesCellsToBid(t *testing.T) {
	site := &dataplane.Site{Ports: 1, Queues: 4, Random: func(e string) unit.Random { return unit.NewRandom(1, e) },
		Book: packet.NewBook()}
	c := weighed(8000)
	c.Rows = 2
	x, err := newProgram(site, c)
	if err != nil {
		t.Fatal(err)
	}
	x.readBid(x.bids[0], 7)
	first, second := &x.bids[0][x.places[0]], &x.bids[0][x.places[1]]
	*first, *second = 1000, 10
	x.bid = x.readBid(x.bids[0], 7) + 50
	if x.Book(nil, &packet.Packet{}); *first != 1000 || *second != 60 {
		t.Errorf("cells of %d and %d, want 1000 and 60", *first, *second)
	}
}

// TestProgram_SmallFrameBidsOne checks that even a small frame of a large weight uses a part of a round: 64 bytes over
// a weight of 1000 are not 0.
func TestProgram_SmallFrameBidsOne(t *testing.T) {
	s := ports(2, 4, unit.Gbps, 0)
	site := s.NewSite()
	c := weighed(8000, 1000, 1)
	x, err := newProgram(site, c)
	if err != nil {
		t.Fatal(err)
	}
	s.Programs = []dataplane.Program{dataplanetest.NewForwarding(site), x}
	dataplanetest.RunDirect(s, []dataplanetest.Arrival{{At: unit.Second, Dst: 2, Payload: 22}})
	if got := x.readBid(x.bids[1], 0); got != 1 {
		t.Errorf("it has bid %d", got)
	}
}

func TestProgram_HoldsContract(t *testing.T) {
	dataplanetest.CheckProgram(t, Scheme(), func(p dataplanetest.Port) dataplanetest.Port {
		p.Queues, p.Scheduler = 16, tm.NewCalendar(16)
		return p
	}, []string{
		// the script chooses the queue, by its class or for trimmed packets: here it is the round's, and all are in the first
		"strict", "classes of delay", "pause holds", "a class without", "trimming moves", "the packet that came last",
		// the script is about another scheduler than the calendar that afq needs
		"a hard ceiling", "fair queues",
	}, "round", "8 kB")
}

// TestProgram_SharesByWeight checks that users get equal shares, or shares by their weights, and a user below its share
// loses no packet, at 10 Mb/s and 100 Gb/s.
func TestProgram_SharesByWeight(t *testing.T) {
	for _, rate := range []unit.Rate{10 * unit.Mbps, 100 * unit.Gbps} {
		for _, x := range dataplanetest.Sharings() {
			t.Run(fmt.Sprint(rate, " ", x.Name), func(t *testing.T) {
				s := ports(4, 16, rate, 0)
				p, err := newProgram(s.NewSite(), weighed(4000, x.References...))
				if err != nil {
					t.Fatal(err)
				}
				x.CheckShares(t, s, unit.Time(4e19/float64(rate)), p, 0.02, 0)
			})
		}
	}
}

// TestConfig_RejectsOrRemarksUnsuitableSites checks that impossible sites are refused, and rounds shorter than a round
// trip give a warning.
func TestConfig_RejectsOrRemarksUnsuitableSites(t *testing.T) {
	s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: unit.LinkRate{Bits: unit.Gbps}}}}
	site := s.NewSite()
	site.At = []*tm.Port{tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{}), tm.NewFIFO(), unit.LinkRate{Bits: unit.Gbps})}
	if _, err := newProgram(site, weighed(8000)); err == nil || !strings.Contains(err.Error(), "calendar") {
		t.Errorf("a port that is no calendar: %v", err)
	}
	site.At, site.Queues, site.MaxFrame = nil, 4, 9000
	if _, err := newProgram(site, weighed(1000)); err == nil {
		t.Error("four rounds of 1000 bytes are to hold 9000")
	}
	c := weighed(8000)
	where := dataplane.SwitchContext{Queues: 16, MaxRTT: 30 * unit.Millisecond, Ports: []dataplane.Peer{{
		Rate: unit.LinkRate{Bits: 50 * unit.Mbps}}}}
	if len(c.Check(&where)) != 1 {
		t.Error("16 rounds of 8 kB hold 128 kB, a round trip 187.5, and nothing is said")
	}
	if c.Round = 12000; len(c.Check(&where)) != 0 {
		t.Error("192 kB are not enough")
	}
	if where.Ports[0].Buffer.Packets = 24; len(c.Check(&where)) != 1 {
		t.Error("a user may have 192 kB in a buffer of 24 packets, and nothing is said")
	}
	// of a fast port before it and a slow one the slow one counts, and its buffer before its round trip
	where.Ports[0].To, c.Round = "server", 8000
	where.Ports = append([]dataplane.Peer{{To: "client", Rate: unit.LinkRate{Bits: 100 * unit.Mbps}}}, where.Ports...)
	if got := c.Check(&where); len(got) != 1 || !strings.Contains(got[0].Text, "the buffer of the port to server") {
		t.Errorf("of a fast port and a slow one with a short buffer: %v", got)
	}
}

func TestNoAllocation(t *testing.T) {
	site := &dataplane.Site{Ports: 1, Queues: 4, Random: func(e string) unit.Random { return unit.NewRandom(1, e) },
		Book: packet.NewBook()}
	x, err := newProgram(site, weighed(8000))
	if err != nil {
		t.Fatal(err)
	}
	p := &packet.Packet{}
	if n := testing.AllocsPerRun(1000, func() { x.bid = 1 + x.readBid(x.bids[0], 7); x.Book(nil, p) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func ExampleScheme() {
	s := Scheme()
	fmt.Println(s.Name, s.Parameters()[3].Name)
	// Output: afq round
}
