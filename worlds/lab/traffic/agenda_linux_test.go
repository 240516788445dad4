package traffic

import (
	"cmp"
	"net/netip"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/transport"
	"weir/core/transport/udp"
	"weir/core/unit"
	"weir/internal/sockdiag"
	"weir/internal/testkit"
)

// TestAgenda_OrdersTasksByTime checks that the agenda returns due tasks in the order of time.
func TestAgenda_OrdersTasksByTime(t *testing.T) {
	random := unit.NewRandom(1, "agenda")
	var a agenda
	if a.nextTime() != unit.Never {
		t.Error("an empty agenda has something to do")
	}
	for range 1000 {
		a.addTask(unit.Time(random.Int64N(100)), random.IntN(1000), task(random.IntN(int(sendTask)+1)))
	}
	type entry struct {
		at   unit.Time
		flow int
		task task
	}
	var last entry
	for range 1000 {
		e := entry{at: a.nextTime()}
		e.flow, e.task = a.takeFirst()
		if order := cmp.Or(cmp.Compare(e.at, last.at), cmp.Compare(e.flow, last.flow),
			cmp.Compare(e.task, last.task)); order < 0 {
			t.Fatalf("%+v after %+v", e, last)
		}
		last = e
	}
	if a.nextTime() != unit.Never {
		t.Error("the agenda has more than was entered")
	}
}

// TestStarts_AreReadyBeforeBegin checks that flows are prepared soon before they begin, and flows of one host
// together.
func TestStarts_AreReadyBeforeBegin(t *testing.T) {
	all := make([]Flow, 10)
	for i := range all {
		all[i].Src, all[i].Start = i%2, unit.Time(9-i)*10*unit.Millisecond
	}
	all[0].Predecessors = []int{1}
	s := newStarts([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, all)
	var got []int
	for now := -openLead; s.nextTime() != unit.Never; now += unit.Millisecond {
		if now < s.nextTime() {
			continue
		}
		ready := s.takeReady(now, all)
		for k, i := range ready {
			if start := all[i].Start; start < now || start > now+openLead+openBatch || k > 0 &&
				all[i].Src < all[ready[k-1]].Src {
				t.Errorf("flow %d, from host %d at %v, is made ready at %v with %v", i, all[i].Src, start, now, ready)
			}
		}
		got = append(got, ready...)
	}
	if len(got) != 9 {
		t.Errorf("%v", got)
	}
}

// TestSampleValue_ConvertsTCPInfo checks that samples have TCP_INFO's values in the simulator's units.
func TestSampleValue_ConvertsTCPInfo(t *testing.T) {
	info := &sockdiag.Info{Window: 10, SendMSS: 1448, PacingRate: 5 * unit.Mbps, Unacked: 9, Sacked: 3, Lost: 2,
		Retrans: 1,
		RTT:     20 * unit.Millisecond, DeliveryRate: unit.Mbps}
	for what, want := range map[Quantity]int64{Window: 14480, Rate: 5e6, InFlight: 5 * 1448, RTT: 20e9,
		DeliveryRate: 1e6} {
		if got := sampleValue(what, info); got != want {
			t.Errorf("%d: %d, not %d", what, got, want)
		}
	}
	if info.PacingRate = sockdiag.NoLimit; sampleValue(Rate, info) != 0 {
		t.Error("no limit is a rate")
	}
}

// TestParseHeader_IsInverseOfPutHeader checks that headers of datagrams are read back as written.
func TestParseHeader_IsInverseOfPutHeader(t *testing.T) {
	var b [minDatagram]byte
	putHeader(b[:], 1<<30, 1<<32-1, -5)
	if flow, seq, sent := parseHeader(b[:]); flow != 1<<30 || seq != 1<<32-1 || sent != -5 {
		t.Errorf("%d, %d, %v", flow, seq, sent)
	}
}

// TestLateness_QuantilesMatchDelays checks the quantiles of lateness.
func TestLateness_QuantilesMatchDelays(t *testing.T) {
	var l Lateness
	if l.quantile(1) != 0 {
		t.Error("none were late by nothing")
	}
	for i := range 100 {
		l.addDelay(unit.Time(i+1) * unit.Microsecond)
	}
	width := testkit.Tolerance{Relative: 0.02}
	testkit.CheckNear(t, "median [ps]", l.quantile(0.5), float64(50*unit.Microsecond), width)
	testkit.CheckNear(t, "p99 [ps]", l.quantile(0.99), float64(99*unit.Microsecond), width)
	if l.quantile(1) > l.Max || l.Max != 100*unit.Microsecond {
		t.Errorf("%v, at most %v", l.quantile(1), l.Max)
	}
}

// TestBadConfig checks that an impossible configuration is an error before anything is opened.
func TestBadConfig(t *testing.T) {
	for want, change := range map[string]func(c *Config){
		"flows 0 and 1 have the same addresses": func(c *Config) { c.Flows = append(c.Flows, c.Flows[0]) },
		"version 5":                             func(c *Config) { c.Flows[0].Version = 5 },
		"no IPv6 address":                       func(c *Config) { c.Flows[0].Version, c.Flows[0].Src = 6, 7 },
		"allowed: 1 to 65535":                   func(c *Config) { c.Flows[0].SrcPort = 0 },
		"size -1":                               func(c *Config) { c.Flows[0].Size = -1 },
		"either TCP or UDP":                     func(c *Config) { c.Flows[0].TCP = nil },
		"starts after flow 0":                   func(c *Config) { c.Flows[0].Predecessors = []int{0} },
		"sample 0":                              func(c *Config) { c.Samples = []Sample{{whatCount, 0, 1}} },
		"must not be longer":                    func(c *Config) { c.Warmup = 2 * c.Duration },
		"allowed: 16 bytes and more": func(c *Config) {
			f := transport.Flow{Src: 1, Dst: 2, SrcPort: 1, DstPort: 2, Version: 4, Payload: 1448}
			sender, receiver, err := udp.New(f, udp.Config{Rate: unit.Mbps, Pattern: udp.CBR})
			if err != nil {
				t.Fatal(err)
			}
			c.Flows[0].TCP, c.Flows[0].UDP, c.Flows[0].UDPReceiver, c.Flows[0].Payload = nil, sender, receiver, 15
		},
	} {
		book := packet.NewBook()
		for _, a := range []string{"127.0.0.1", "127.0.0.2"} {
			book.Add(netip.MustParseAddr(a), netip.IPv6Loopback())
		}
		c := Config{Flows: []Flow{{Src: 0, Dst: 1, SrcPort: 1, DstPort: 2, Version: 4, Size: 1000, Payload: 1448,
			TCP: &TCP{CongestionControl: "reno"}}}, Duration: unit.Second, Book: book,
			Do: func(int, func() error) error { t.Error("something is opened"); return nil }}
		change(&c)
		r, err := Run(t.Context(), c)
		if r != nil || err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "traffic: ") {
			t.Errorf("%q: %v", want, err)
		}
	}
}
