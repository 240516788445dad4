package p4abc

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit"
)

var _ dataplane.Metered = (*Program)(nil)

// TestProgram_ListsMostActiveUsersFirst checks that the most active users are first, aggregates or single sources. A
// number that goes to another address has no traffic.
func TestProgram_ListsMostActiveUsersFirst(t *testing.T) {
	book := packet.NewBook()
	for i := range byte(6) {
		book.Add(netip.AddrFrom4([4]byte{10, 0, i, 1}), netip.Addr{})
	}
	a, err := New(&dataplane.Site{Ports: 2, Book: book},
		Config{Domain: WholeDomain, UserRule: ToSender, Memory: 3 * unit.Second,
			Reference: 10 * unit.Kbps, Average: unit.Second,
			QBase: unit.Depth{Packets: 20}, Gamma: unit.Depth{Packets: 16},
			Aggregates: []Aggregate{{Key: "10.0.2.0/24", Value: 10 * unit.Kbps}, {Key: "10.0.9.0/24", Value: unit.Kbps}}})
	if err != nil {
		t.Fatal(err)
	}
	const now = unit.Second
	for src, bits := range map[packet.Addr]float64{1: 100e3, 2: 400e3, 3: 300e3, 4: 200e3} {
		a.findMeter(&packet.Packet{Src: src, Version: 4}).Update(now, bits, a.config.Memory)
	}
	var users [3]User
	n := a.ListActiveUsers(now, users[:])
	if n != 3 || users[0].Source != 2 || users[1].Aggregate != 0 || users[2].Source != 4 ||
		users[0].Activity <= users[1].Activity || users[1].Activity <= users[2].Activity {
		t.Errorf("%d: %+v", n, users)
	}
	a.EvictAddress(2)
	if n := a.ListActiveUsers(now, users[:]); n != 3 || users[0].Aggregate != 0 || users[2].Source != 1 {
		t.Errorf("after forgetting: %d: %+v", n, users)
	}
	var room [10]User
	if n := a.ListActiveUsers(now, room[:]); n != 3 || a.ListActiveUsers(now, nil) != 0 {
		t.Errorf("%d of ten", n)
	}
}

// TestProgram_SamplesMostActiveUsers checks that each port has its average, and each of the most active users its
// activity and rate, under its address, its prefix or the word others. Users without room are omitted, the least active
// first.
func TestProgram_SamplesMostActiveUsers(t *testing.T) {
	book := packet.NewBook()
	book.Add(netip.MustParseAddr("10.0.0.1"), netip.Addr{})
	book.Add(netip.Addr{}, netip.MustParseAddr("2001:db8::1"))
	book.Add(netip.MustParseAddr("10.0.2.1"), netip.Addr{})
	c := Config{Domain: WholeDomain, UserRule: ToSender, Memory: 3 * unit.Second, Reference: 10 * unit.Kbps,
		Average: unit.Second, QBase: unit.Depth{Packets: 20}, Gamma: unit.Depth{Packets: 16},
		Aggregates: []Aggregate{{Key: "10.0.2.0/24", Value: 10 * unit.Kbps}}}
	sample := func(t *testing.T, shared bool, room int) (text []string) {
		c.SharesDefault = shared
		a, err := New(&dataplane.Site{Ports: 2, Book: book}, c)
		if err != nil {
			t.Fatal(err)
		}
		for src, bits := range map[packet.Addr]float64{1: 100e3, 2: 400e3, 3: 300e3} {
			version := uint8(4)
			if src == 2 {
				version = 6
			}
			a.findMeter(&packet.Packet{Src: src, Version: version}).Update(unit.Second, bits, c.Memory)
		}
		a.aqms[1].average.Update(unit.Second, 32, 1, c.Average)
		samples, metrics := make([]dataplane.Sample, room), a.Metrics()
		if err := dataplane.CheckMetrics(metrics); err != nil {
			t.Fatal(err)
		}
		for _, s := range samples[:a.Sample(unit.Second, samples)] {
			m := metrics[s.Metric]
			label := string(s.AppendLabel(nil))
			if m.ByPort {
				label = fmt.Sprint(s.Port)
			}
			text = append(text, fmt.Sprintf("%s{%s=%s} %.4g", m.Name, m.Label, label, s.Value))
		}
		if n := testing.AllocsPerRun(10, func() { a.Sample(unit.Second, samples) }); n != 0 {
			t.Errorf("%g allocations", n)
		}
		return text
	}
	ports := []string{"weir_abc_average_activity{port=0} 0", "weir_abc_average_activity{port=1} 5"}
	users := func(s ...string) []string { return append(slices.Clip(ports), s...) }
	first := []string{"weir_abc_user_activity{user=2001:db8::1} 5.556",
		"weir_abc_user_rate_bits_per_second{user=2001:db8::1} 4.704e+05",
		"weir_abc_user_accepted_bytes_total{user=2001:db8::1} 0",
		"weir_abc_user_dropped_frames_total{user=2001:db8::1} 0"}
	for _, x := range []struct {
		name   string
		shared bool
		room   int
		want   []string
	}{
		{"all", false, 100, users(first[0], first[1], first[2], first[3],
			"weir_abc_user_activity{user=10.0.2.0/24} 5.141",
			"weir_abc_user_rate_bits_per_second{user=10.0.2.0/24} 3.528e+05",
			"weir_abc_user_accepted_bytes_total{user=10.0.2.0/24} 0",
			"weir_abc_user_dropped_frames_total{user=10.0.2.0/24} 0",
			"weir_abc_user_activity{user=10.0.0.1} 3.556",
			"weir_abc_user_rate_bits_per_second{user=10.0.0.1} 1.176e+05",
			"weir_abc_user_accepted_bytes_total{user=10.0.0.1} 0",
			"weir_abc_user_dropped_frames_total{user=10.0.0.1} 0")},
		{"shared", true, 100, users(
			"weir_abc_user_activity{user=others} 5.878",
			"weir_abc_user_rate_bits_per_second{user=others} 5.88e+05",
			"weir_abc_user_accepted_bytes_total{user=others} 0",
			"weir_abc_user_dropped_frames_total{user=others} 0",
			"weir_abc_user_activity{user=10.0.2.0/24} 5.141",
			"weir_abc_user_rate_bits_per_second{user=10.0.2.0/24} 3.528e+05",
			"weir_abc_user_accepted_bytes_total{user=10.0.2.0/24} 0",
			"weir_abc_user_dropped_frames_total{user=10.0.2.0/24} 0")},
		{"room for one user and a half", false, 9, users(first...)},
		{"room for a port", false, 1, ports[:1]},
		{"no room", false, 0, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got := sample(t, x.shared, x.room); !slices.Equal(got, x.want) {
				t.Errorf("%q\nwant %q", got, x.want)
			}
		})
	}
}

// TestSampleInIntegers checks that integers show A_avg of ports, activities and rates as exact arithmetic does, within
// their precision.
func TestSampleInIntegers(t *testing.T) {
	sample := func(integer bool) (names []string, values []float64) {
		c := defaults()
		c.Integer = integer
		b := newBench(t, c)
		for i := range 3000 {
			b.now += unit.Millisecond
			b.send(packet.Addr(1 + i%2*i%3))
			b.pool.Put(b.take())
		}
		samples := make([]dataplane.Sample, 100)
		for _, s := range samples[:b.program.Sample(b.now, samples)] {
			names = append(names, fmt.Sprint(b.program.Metrics()[s.Metric].Name, " ", s.Port, " ", string(s.AppendLabel(nil))))
			values = append(values, s.Value)
		}
		return names, values
	}
	names, want := sample(false)
	same, got := sample(true)
	if len(names) < 8 || want[1] < 5 || !slices.Equal(names, same) {
		t.Fatalf("%q %v\n%q %v", names, want, same, got)
	}
	for i, x := range want {
		if !testkit.IsNear(got[i], x, testkit.Tolerance{Absolute: max(IntegerBound*3, 0.05*x)}) {
			t.Errorf("%s: %g in integers, %g", names[i], got[i], x)
		}
	}
}

// TestUnmarkedInMetrics checks that frames without a mark are a user of the inside port where they arrived, in metrics
// as in drops.
func TestUnmarkedInMetrics(t *testing.T) {
	for arithmetic, integer := range map[string]bool{"exact": false, "integer": true} {
		t.Run(arithmetic, func(t *testing.T) {
			c := defaults()
			c.Domain, c.Integer = DomainMember, integer
			b := newBenchAt(t, sidesFrom["core"], c)
			b.now = unit.Second
			b.send(1, withMark(3))
			for range 30 {
				b.send(2)
			}
			got, samples := map[string]float64{}, make([]dataplane.Sample, 100)
			for _, s := range samples[:b.program.Sample(b.now, samples)] {
				got[b.program.Metrics()[s.Metric].Name+" "+string(s.AppendLabel(nil))] += s.Value
			}
			bytes, dropped := got["weir_abc_user_accepted_bytes_total unmarked at s1"],
				got["weir_abc_user_dropped_frames_total unmarked at s1"]
			if dropped == 0 || bytes == 0 || bytes/1498+dropped != 30 || // with the mark that they get
				got["weir_abc_user_activity unmarked at s1"] < 3 ||
				got["weir_abc_user_rate_bits_per_second unmarked at s1"] < 1e5 || len(got) != 5 {
				t.Errorf("%v", got)
			}
		})
	}
}

// TestProgram_CountsBytesAndDropsPerUser checks that a user's accepted bytes and dropped frames count its packets, for
// any cause of drops, and never fall. An aggregate shows them although it is not among the most active, and one without
// traffic has zeros.
func TestProgram_CountsBytesAndDropsPerUser(t *testing.T) {
	book := packet.NewBook()
	for i := range byte(20) {
		book.Add(netip.AddrFrom4([4]byte{10, 0, i, 1}), netip.Addr{})
	}
	for arithmetic, integer := range map[string]bool{"exact": false, "integer": true} {
		t.Run(arithmetic, func(t *testing.T) { testCounts(t, book, integer) })
	}
}

func testCounts(t *testing.T, book *packet.Book, integer bool) {
	a, err := New(&dataplane.Site{Ports: 2, Book: book},
		Config{Domain: WholeDomain, UserRule: ToSender, Memory: 3 * unit.Second,
			Reference: 10 * unit.Kbps, Average: unit.Second, QBase: unit.Depth{Packets: 20}, Gamma: unit.Depth{Packets: 16},
			Integer:    integer,
			Aggregates: []Aggregate{{Key: "10.0.0.0/24", Value: unit.Gbps}, {Key: "10.0.77.0/24", Value: unit.Kbps}}})
	if err != nil {
		t.Fatal(err)
	}
	const now = unit.Second
	enter := func(src packet.Addr, flags uint8) *packet.Packet {
		p := &packet.Packet{Src: src, Version: 4, Size: 1000}
		p.Meta.In, p.Meta.Out, p.Meta.Flags = 0, 1, flags
		a.current = nil
		switch {
		case flags&packet.Internal != 0:
		case integer:
			a.integers.activity = a.measureArrivalInteger(now, p)
		default:
			a.activity = a.measureArrival(now, p)
		}
		return p
	}
	take := func(p *packet.Packet) {
		if a.current != nil {
			a.current.counts.bytes += uint64(p.Size)
		}
		a.current = nil
	}
	for src := range packet.Addr(20) {
		take(enter(src+1, 0))
	}
	a.OnDrop(nil, enter(1, 0), dataplane.ActivityExceeded)
	a.OnDrop(nil, enter(1, 0), dataplane.QueuePacketLimit)
	a.OnDrop(nil, enter(1, packet.Internal), dataplane.QueuePacketLimit)
	p := enter(1, 0)
	a.OnDrop(nil, &packet.Packet{Src: 2}, dataplane.Evicted) // another one, for whose place this one is
	take(p)
	a.OnDrop(nil, p, dataplane.LinkLost) // later, when it is not in hand
	got := map[string]float64{}
	samples := make([]dataplane.Sample, 200)
	for _, s := range samples[:a.Sample(now, samples)] {
		if m := a.Metrics()[s.Metric]; m.Counter {
			key := string(s.AppendLabel([]byte(m.Name + " ")))
			if _, twice := got[key]; twice {
				t.Errorf("%s is there twice", key)
			}
			got[key] = s.Value
		}
	}
	for key, want := range map[string]float64{"accepted_bytes_total 10.0.0.0/24": 2000,
		"dropped_frames_total 10.0.0.0/24": 2, "accepted_bytes_total 10.0.77.0/24": 0} {
		if v, ok := got["weir_abc_user_"+key]; !ok || v != want {
			t.Errorf("%s: %v, %v; want %v", key, v, ok, want)
		}
	}
	if len(got) != 2*(maxActive+2) {
		t.Errorf("%d counters", len(got))
	}
	a.EvictAddress(15) // its number goes to another address, which begins at nothing
	if m := a.findMeter(&packet.Packet{Src: 15, Version: 4}); m.counts != (counts{}) {
		t.Errorf("whoever has the number next begins with %+v", m.counts)
	}
}
