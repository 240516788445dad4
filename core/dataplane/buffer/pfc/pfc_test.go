package pfc_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/buffer/pfc"
	"weir/core/dataplane/buffer/sharedbuffer"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/forward"
	"weir/core/packet"
	"weir/core/unit"
)

const us = unit.Microsecond

func gbps(n int64) unit.LinkRate { return unit.LinkRate{Bits: unit.Rate(n) * unit.Gbps} }

// TestRoundTrip_CoversBytesInFlight calculates the headroom without loss by hand: 100 Gb/s carry 12,500 bytes in 1 µs.
// The simulator's is three times rate × delay (HPCC simulator switch-mmu.cc: 3 × 12,500 B).
func TestRoundTrip_CoversBytesInFlight(t *testing.T) {
	for _, c := range []struct {
		line dataplane.Line
		want unit.Bytes
	}{
		{dataplane.Line{Rate: gbps(100), Delay: us}, 2*12500 + 3*1090 + 8*64},
		{dataplane.Line{Rate: gbps(400), Delay: us}, 2*50000 + 3*1090 + 8*64},
		{dataplane.Line{Rate: gbps(1), Delay: 0}, 3*1090 + 8*64},
		{dataplane.Line{Rate: unit.LinkRate{Bits: 1}, Delay: 1}, 1 + 3*1090 + 8*64}, // rounded up
		{dataplane.Line{Rate: unit.LinkRate{Packets: 1000}, Delay: 1100 * us}, (3 + 3 + 8) * 1090},
	} {
		if got := pfc.RoundTrip(c.line, 1090); got != c.want {
			t.Errorf("%+v: %d bytes, want %d", c.line, got, c.want)
		}
	}
	// the site's, or the given frame
	for given, want := range map[string]unit.Bytes{"0 B": 3*9100 + 512, "1423 B": 3*1423 + 512} {
		t.Run(given, func(t *testing.T) {
			site := &dataplane.Site{Ports: 1, MaxFrame: 9100}
			_, err1 := dataplanetest.BuildProgram(sharedbuffer.Scheme(), site, "size", "100 kB", "reserved", "0 B")
			_, err2 := dataplanetest.BuildProgram(pfc.Scheme(), site, "frame", given)
			if b := sharedbuffer.BufferOf(site); err1 != nil || err2 != nil || b.Size()-b.Shared() != want {
				t.Errorf("frame %s: %v %v %v, want %v", given, err1, err2, b.Size()-b.Shared(), want)
			}
		})
	}
	for mode, want := range map[string]string{"round_trip": "29.781kB", "simulator": "37.5kB", "size": "1kB"} {
		t.Run(mode, func(t *testing.T) {
			s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: gbps(100), Delay: us}}}
			site := s.NewSite()
			_, err1 := dataplanetest.BuildProgram(sharedbuffer.Scheme(), site, "size", "100 kB", "reserved", "0 B")
			_, err2 := dataplanetest.BuildProgram(pfc.Scheme(), site, "headroom", mode, "headroom_size", "1 kB", "frame",
				"1423 B")
			if b := sharedbuffer.BufferOf(site); err1 != nil || err2 != nil || (b.Size()-b.Shared()).String() != want {
				t.Errorf("%s: %v %v %v, want %s", mode, err1, err2, b.Size()-b.Shared(), want)
			}
		})
	}
}

// TestProgram_TriggerFollowsRate checks the threshold: 11 % of the free buffer (HPCC §5.1). In the simulator it is 1/8
// at 100 Gb/s and twice that for each doubling of the rate, so half at 400 Gb/s. It can also be a number.
func TestProgram_TriggerFollowsRate(t *testing.T) {
	for _, c := range []struct {
		given []string
		rate  int64
		want  unit.Bytes
	}{
		{nil, 100, 11000}, {nil, 400, 11000},
		{[]string{"trigger", "shift"}, 100, 12500}, {[]string{"trigger", "shift"}, 200, 25000}, {[]string{"trigger", "shift"},
			400, 50000},
		{[]string{"trigger", "shift"}, 25, 12500}, {[]string{"trigger", "shift", "nic_rate", "25Gbps"}, 100, 50000},
		{[]string{"trigger", "shift"}, 12800, 100000},
		{[]string{"trigger", "static", "xoff", "7 kB"}, 100, 7000},
	} {
		s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: gbps(c.rate)}}}
		site := s.NewSite()
		if _, err := dataplanetest.BuildProgram(sharedbuffer.Scheme(), site, "size", "104 kB", "reserved",
			"4 kB"); err != nil {
			t.Fatal(err)
		}
		if _, err := dataplanetest.BuildProgram(pfc.Scheme(), site, append([]string{"headroom", "size"},
			c.given...)...); err != nil {
			t.Fatal(err)
		}
		b := sharedbuffer.BufferOf(site)
		if got := b.Threshold(b.IngressQueue(0, 0)); got != c.want {
			t.Errorf("%v at %d Gb/s: %d, want %d", c.given, c.rate, got, c.want)
		}
	}
}

// play sends packets of 1000 bytes to port 0, one a microsecond, for port 1, which sends one in 10 µs. It returns the
// PFC frames that depart by port 0 and the drops.
func play(t *testing.T, n int, queues int, shared []string, given ...string) string {
	t.Helper()
	s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: gbps(10), Queues: queues},
		{Rate: unit.LinkRate{Bits: 800 * unit.Mbps}, Queues: queues}}}
	site := s.NewSite()
	s.Programs = []dataplane.Program{forward.New(site)}
	if shared != nil {
		p, err := dataplanetest.BuildProgram(sharedbuffer.Scheme(), site, shared...)
		if err != nil {
			t.Fatal(err)
		}
		s.Programs = append(s.Programs, p)
	}
	p, err := dataplanetest.BuildProgram(pfc.Scheme(), site, given...)
	if err != nil {
		t.Fatal(err)
	}
	s.Programs = append(s.Programs, p)
	var script []dataplanetest.Arrival
	for i := range n {
		script = append(script, dataplanetest.Arrival{At: unit.Time(i+1) * us, Dst: 2, Seq: int64(i), Payload: 1000 - 42})
	}
	out := dataplanetest.RunDirect(s, script)
	var b strings.Builder
	for _, line := range strings.SplitAfter(out.String(), "\n") {
		if strings.Contains(line, "port 0") || strings.HasPrefix(line, "dropped") || strings.Contains(line, "lost") {
			b.WriteString(line)
		}
	}
	if err := sharedbuffer.BufferOf(site).Check(0); err != nil {
		t.Error(err)
	}
	return b.String()
}

// TestProgram_StaticThresholdPausesByHand calculates a static threshold of 4,000 bytes by hand. Packet k arrives at k+1
// µs and packet 0 is sent at once. The fourth waiting packet arrives at 5 µs, and the Pause frame of 64 bytes is out
// 51.2 ns later. The neighbour here ignores it: a headroom of 2,000 bytes takes two more packets. Later packets are
// lost, except the one for which the departure at 11 µs makes room. Of 20 packets 8 get through. At 61 µs the last but
// one is sent: the queue is down to 1,000 bytes, the threshold less 3,000.
func TestProgram_StaticThresholdPausesByHand(t *testing.T) {
	given := []string{"trigger", "static", "xoff", "4 kB", "xon_offset", "3 kB", "headroom", "size",
		"headroom_size", "2 kB"}
	want := `5051.2ns port 0 pause class 0
61051.2ns port 0 resume class 0
dropped 12: headroom full
`
	if got := play(t, 20, 1, nil, given...); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	// the same with a shared buffer that has room for it all
	if got := play(t, 20, 1, []string{"size", "1MB", "reserved", "0 B"}, given...); got != want {
		t.Errorf("with a shared buffer: got\n%swant\n%s", got, want)
	}
	// the reserve of 4 kB does not count: at 10 µs 9 packets wait: the pause began with the eighth, and the ninth is in
	// the headroom; at 41 µs 5 wait
	want = "9051.2ns port 0 pause class 0\n41051.2ns port 0 resume class 0\n"
	if got := play(t, 10, 1, []string{"size", "1MB", "reserved", "4 kB"}, given...); got != want {
		t.Errorf("with a reserve: got\n%swant\n%s", got, want)
	}
}

// TestProgram_RenewsPauseQuanta checks that with quanta the pause is renewed while it lasts: 1000 quanta are 51.2 µs at
// 10 Gb/s.
func TestProgram_RenewsPauseQuanta(t *testing.T) {
	want := `5051.2ns port 0 pause class 0
30651.2ns port 0 pause class 0
56251.2ns port 0 pause class 0
61051.2ns port 0 resume class 0
dropped 12: headroom full
`
	for _, shared := range [][]string{nil, {"size", "1MB", "reserved", "0 B"}} {
		if got := play(t, 20, 1, shared, "trigger", "static", "xoff", "4 kB", "xon_offset", "3 kB", "headroom", "size",
			"headroom_size", "2 kB",
			"pauses", "quanta", "quanta", "1000"); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}

// TestProgram_NeverPausesExemptClass checks that an exempt class is not paused. It is dropped as without PFC.
func TestProgram_NeverPausesExemptClass(t *testing.T) {
	for _, classes := range []string{"0: false", "1: true"} {
		t.Run(classes, func(t *testing.T) {
			got := play(t, 20, 2, []string{"size", "5 kB", "reserved", "0 B", "alpha", "0"}, "classes", classes, "headroom",
				"size", "headroom_size", "100 B")
			if strings.Contains(got, "pause") || !strings.Contains(got, "buffer full") {
				t.Errorf("classes %s:\n%s", classes, got)
			}
		})
	}
}

func TestScheme_RejectsBadParameters(t *testing.T) {
	for want, c := range map[string][][]string{
		"put shared_buffer before it":     {nil, {}},
		"needs xoff":                      {nil, {"trigger", "static"}},
		"is not a class":                  {{}, {"classes", "1: true"}},
		"does not hold":                   {{"size", "30 kB"}, {"headroom", "size", "headroom_size", "20 kB"}},
		"\"x\" is not a class":            {{}, {"classes", "x: true"}},
		"\"8\" is not a class":            {{}, {"classes", "8: true"}},
		"a port has queues for 0 … 0":     {{}, {"classes", "3: false"}},
		"pfc: its threshold is a part of": {nil, {"trigger", "shift"}},
	} {
		t.Run(want, func(t *testing.T) {
			s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: gbps(10)}, {Rate: gbps(10)}}}
			site := s.NewSite()
			if c[0] != nil {
				if _, err := dataplanetest.BuildProgram(sharedbuffer.Scheme(), site, c[0]...); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := dataplanetest.BuildProgram(pfc.Scheme(), site, c[1]...); err == nil || !strings.Contains(err.Error(),
				want) {
				t.Errorf("%v: %v, want %q", c, err, want)
			}
		})
	}
}

func TestNoAllocation(t *testing.T) {
	s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: gbps(10)}, {Rate: gbps(1)}}}
	site := s.NewSite()
	shared, err := dataplanetest.BuildProgram(sharedbuffer.Scheme(), site)
	if err != nil {
		t.Fatal(err)
	}
	flow, err := dataplanetest.BuildProgram(pfc.Scheme(), site, "trigger", "static", "xoff", "1 B")
	if err != nil {
		t.Fatal(err)
	}
	s.Programs = []dataplane.Program{forward.New(site), shared, flow}
	var pool packet.Pool
	sw := s.NewSwitch(&pool)
	now := unit.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += us
		for range 8 {
			p := pool.Get()
			p.Dst, p.Size, p.HopLimit, p.Version = 2, 1000, 9, 4
			sw.Receive(now, 0, p)
		}
		for i := range packet.PortID(2) {
			for {
				p, again := sw.Dequeue(now, i)
				if p == nil {
					break
				}
				pool.Put(p)
				if again == unit.Never {
					break
				}
			}
		}
		for {
			if _, ok := sw.Wants().NextWoken(); !ok {
				break
			}
		}
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func ExampleRoundTrip() {
	fmt.Println(pfc.RoundTrip(dataplane.Line{Rate: unit.LinkRate{Bits: 100 * unit.Gbps}, Delay: unit.Microsecond}, 1538))
	// Output: 30.126kB
}
