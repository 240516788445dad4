package tm_test

import (
	"fmt"
	"math"
	"net/netip"
	"os"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// caked returns the scheduler cake with the given options of a file, for a port with the given rate.
func caked(t testing.TB, rate unit.Rate, given ...string) tm.Scheduler {
	t.Helper()
	for _, x := range tm.Schemes() {
		if x.Name != "cake" {
			continue
		}
		c, err := x.Configure(given...)
		if err != nil {
			t.Fatal(err)
		}
		s, err := x.Build(1, unit.LinkRate{Bits: rate}, c)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	t.Fatal("no cake")
	return nil
}

// sharing returns a switch with ports for three senders and one output port with cake.
func sharing(t testing.TB, rate unit.Rate, limit tm.Limit, given ...string) dataplanetest.Setup {
	link := unit.LinkRate{Bits: rate}
	return dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: link}, {Rate: link}, {Rate: link},
		{Rate: link, Total: limit, Scheduler: caked(t, rate, given...)}}}
}

// TestCakeTranscript replays the transcript testdata/cake.txt. testdata/cake.py generates it from the documented
// behaviour and shares no code with Weir. It covers hosts, sparse flows, CoDel's marks and drops, overflow, BLUE, and
// the state after silence.
func TestCakeTranscript(t *testing.T) {
	text, err := os.ReadFile("testdata/cake.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, marked, dropped := dataplanetest.CheckReplay(t, sharing(t, 12*unit.Mbps, tm.Limit{Packets: 40}, "target", "2ms",
		"interval", "20ms"), string(text), func(*dataplane.Site) []dataplane.Program { return nil })
	if marked < 3 || dropped < 20 {
		t.Errorf("%d are marked and %d dropped: the transcript shows too little", marked, dropped)
	}
}

// backlogged gives each host the given number of flows, which always have packets. It returns each host's share of
// 100000 packets, and the ratio of the largest to the smallest count of packets among its flows.
func backlogged(t *testing.T, isolation string, sides [][2]packet.Addr, flows []int) (share, spread []float64) {
	t.Helper()
	p := tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{}), caked(t, unit.Gbps, "isolation", isolation),
		unit.LinkRate{Bits: unit.Gbps})
	served := make([]map[uint32]float64, len(sides))
	for i, n := range flows {
		served[i] = map[uint32]float64{}
		for f := range n {
			for range 3 {
				p.Push(0, &packet.Packet{Src: sides[i][0], Dst: sides[i][1], Size: 1500, Seq: int64(i),
					Hash: packet.FlowHash(sides[i][0], sides[i][1], uint16(1000+f), 80, packet.ProtoTCP)})
			}
		}
	}
	const packets = 100000
	for n := range packets { // as if no time went by: CoDel has nothing to do
		x, _, _ := p.DequeueNext(unit.Time(n))
		x.Enqueued = unit.Time(n)
		served[x.Seq][x.Hash]++
		p.Push(0, x)
	}
	for i := range sides {
		sum, least, most := 0.0, math.Inf(1), 0.0
		for _, x := range served[i] {
			sum, least, most = sum+x, min(least, x), max(most, x)
		}
		share, spread = append(share, sum/packets), append(spread, most/least)
	}
	return share, spread
}

// TestCakeHosts checks CAKE §III: with a quantum divided by the host's busy flows, hosts share equally for any number
// of flows. The flows of each host share equally, too. With isolation by flows, 16 flows get 16 times as much as one.
func TestCakeHosts(t *testing.T) {
	up := [][2]packet.Addr{{1, 9}, {2, 9}}
	down := [][2]packet.Addr{{9, 1}, {9, 2}}
	for _, x := range []struct {
		isolation string
		sides     [][2]packet.Addr
		flows     []int
		share     float64 // of the first
	}{
		{"flows", up, []int{16, 1}, 16. / 17},
		{"dual-srchost", up, []int{16, 1}, 0.5},
		{"dual-srchost", up, []int{300, 3}, 0.5},
		{"dual-srchost", down, []int{16, 1}, 16. / 17}, // one source
		{"dual-dsthost", down, []int{16, 1}, 0.5},
		{"dual-dsthost", up, []int{16, 1}, 16. / 17},
		// the side with more flows counts: all 17 share one destination, so each gets 1/17 of a quantum
		{"triple-isolate", up, []int{16, 1}, 16. / 17},
		{"triple-isolate", [][2]packet.Addr{{1, 8}, {2, 9}}, []int{16, 1}, 0.5},
		{"srchost", up, []int{16, 1}, 0.5}, {"dsthost", down, []int{16, 1}, 0.5}, {"hosts", up, []int{16, 1}, 0.5},
		{"flowblind", up, []int{16, 1}, 16. / 17},
	} {
		t.Run(fmt.Sprint(x.isolation, x.sides, x.flows), func(t *testing.T) {
			share, spread := backlogged(t, x.isolation, x.sides, x.flows)
			if math.Abs(share[0]-x.share) > 0.01 {
				t.Errorf("the first has %.3f, want %.3f", share[0], x.share)
			}
			if x.isolation != "srchost" && x.isolation != "dsthost" && x.isolation != "hosts" && spread[0] > 1.2 {
				t.Errorf("its flows are %.2f apart", spread[0])
			}
		})
	}
}

// TestDeclaredUsersShare checks that a user that the file declares is one host of CAKE and one user of user_fq. With 16
// flows from two hosts, by IPv4 and IPv6, it gets as much as another host with one flow, up and down.
func TestDeclaredUsersShare(t *testing.T) {
	b := packet.NewBook()
	for i := range byte(9) {
		b.Add(netip.AddrFrom4([4]byte{10, 0, 0, i + 1}), netip.MustParseAddr(fmt.Sprintf("fd00::%d", i+1)))
	}
	b = b.WithUsers([]packet.User{{Name: "home", Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32"),
		netip.MustParsePrefix("fd00::1/128"), netip.MustParsePrefix("10.0.0.2/32"), netip.MustParsePrefix("fd00::2/128")}},
		{Name: "other", Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.3/32")}}})
	for _, x := range []struct {
		name string
		make func() tm.Scheduler
		down bool
	}{
		{"cake up", func() tm.Scheduler { return caked(t, unit.Gbps, "isolation", "dual-srchost") }, false},
		{"cake down", func() tm.Scheduler { return caked(t, unit.Gbps, "isolation", "dual-dsthost") }, true},
		{"cake hosts", func() tm.Scheduler { return caked(t, unit.Gbps, "isolation", "hosts") }, false},
		{"user_fq up", func() tm.Scheduler { return tm.NewByUser(weighed(1514)) }, false},
		{"user_fq down", func() tm.Scheduler { return tm.NewByUser(weighed(1514)) }, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := x.make()
			s.(tm.Addressed).SetAddresses(b)
			p := tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{}), s, unit.LinkRate{Bits: unit.Gbps})
			push := func(user packet.Addr, version uint8, port uint16, from int64) {
				q := packet.Packet{Src: user, Dst: 9, Version: version, Size: 1500, Seq: from,
					Hash: packet.FlowHash(user, 9, port, 80, packet.ProtoTCP)}
				if x.down {
					q.Src, q.Dst = q.Dst, q.Src
				}
				for range 3 {
					copied := q
					p.Push(0, &copied)
				}
			}
			for port := range uint16(16) {
				push(1+packet.Addr(port%2), uint8(4+port/2%2*2), port, 0)
			}
			push(3, 4, 99, 1)
			served := [2]float64{}
			for n := range 20000 {
				q, _, _ := p.DequeueNext(unit.Time(n))
				q.Enqueued = unit.Time(n)
				served[q.Seq]++
				p.Push(0, q)
			}
			if share := served[0] / 20000; math.Abs(share-0.5) > 0.01 {
				t.Errorf("the user with 16 flows has %.3f", share)
			}
		})
	}
}

// FuzzCake_CountsDropsAndKeepsOrder checks for any arrivals that every packet departs or is dropped exactly once.
// Packets of a flow keep their order, except where flows are too many for their set and share queues. A port that is
// fast enough for its load drops no packet.
func FuzzCake_CountsDropsAndKeepsOrder(f *testing.F) {
	f.Add([]byte{0, 200, 100, 3, 9, 250, 40}, uint8(0))
	f.Add([]byte("hosts with flows that stay above their target, and others that do not"), uint8(4))
	f.Add([]byte("\x0f\x1f\x2f\x3f\x4f\x5f\x6f\x7f\x8f\x9f\xaf\xbf\xcf\x0f\x0f\x0f\x0f\x0f\x0f\xf0\xf0\x0f"), uint8(6))
	modes := []string{"flows", "hosts", "srchost", "dsthost", "dual-srchost", "dual-dsthost", "triple-isolate",
		"flowblind"}
	f.Fuzz(func(t *testing.T, b []byte, mode uint8) {
		for _, x := range []struct {
			rate  unit.Rate
			flows string
		}{{10 * unit.Mbps, "1024"}, {10 * unit.Mbps, "16"}, {100 * unit.Gbps, "1024"}, {100 * unit.Gbps, "8"}} {
			s := sharing(t, x.rate, tm.Limit{Packets: 40}, "target", "1ms", "interval", "3ms", "flows", x.flows,
				"isolation", modes[mode%8])
			var script []dataplanetest.Arrival
			at := unit.Time(0)
			for i, y := range b[:min(len(b), 200)] {
				for k := range int(y%16) + 1 {
					at += unit.Time(y>>4)*40*unit.Microsecond + unit.Microsecond
					script = append(script, dataplanetest.Arrival{At: at, Port: packet.PortID(y>>2) % 3, Dst: 4,
						Seq: int64(len(script)), Payload: int32(22 + (i*97+k*331)%1400), TOS: uint8(i) & 3,
						Flow: uint16(i*7+k) % 11})
				}
			}
			got := dataplanetest.RunForwarded(s, script)
			gone := uint64(0)
			for _, n := range got.Drops {
				gone += n
			}
			if len(got.Departures)+int(gone) != len(script) || got.Live != 0 {
				t.Fatalf("%d arrive, %d leave, %d are dropped, %d are left", len(script), len(got.Departures), gone, got.Live)
			}
			if x.rate > unit.Gbps && gone > 0 {
				t.Fatalf("%d packets are dropped of a load that is low", gone)
			}
			last := map[[2]int]int64{}
			for _, d := range got.Departures {
				of := [2]int{int(script[d.Seq].Port), int(script[d.Seq].Flow)}
				if before, seen := last[of]; seen && before > d.Seq && x.flows == "1024" {
					t.Fatalf("packet %d of flow %v leaves behind packet %d", d.Seq, of, before)
				}
				last[of] = d.Seq
			}
		}
	})
}

func TestCakeNoAllocation(t *testing.T) {
	p := tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{Packets: 200}), caked(t, unit.Gbps),
		unit.LinkRate{Bits: unit.Gbps})
	list := make([]packet.Packet, 100)
	for i := range list {
		list[i] = packet.Packet{Src: packet.Addr(i%10 + 1), Hash: uint32(i) * 77777, Size: 1000}
		p.Push(0, &list[i])
	}
	now := unit.Time(0)
	if n := testing.AllocsPerRun(5000, func() {
		now += unit.Millisecond
		x, _, _ := p.DequeueNext(now)
		x.Enqueued = now
		p.Push(0, x)
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}
