package iperf

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/udp"
	"weir/core/unit"
	"weir/worlds/lab/traffic"
)

// A server's report on UDP, in the form of iperf 3.12, shortened.
const ofServer = `{
	"start":	{"connected":	[{"socket":	5, "local_port":	5001}], "version":	"iperf 3.12", "cookie":	"x"},
	"intervals":	[{
			"streams":	[{"socket":	5, "start":	0, "end":	0.1, "seconds":	0.1,
				"bytes":	1000, "jitter_ms":	0.01, "lost_packets":	1, "packets":	11, "omitted":	false, "sender":	false}],
			"sum":	{"bytes":	1000}
		}, {
			"streams":	[{"socket":	5, "start":	0.1, "end":	0.2, "bytes":	2e+03, "lost_packets":	0, "packets":	20}]
		}, {
			"streams":	[{"start":	0.2, "end":	0.2, "bytes":	0}]
		}, {
			"streams":	[{"start":	0.2, "end":	0.3, "bytes":	4000, "retransmits":	3, "lost_packets":	10, "packets":	50}]
		}],
	"end":	{}
}`

func TestParseReport_ReadsIntervals(t *testing.T) {
	s, err := parseReport([]byte(ofServer))
	if err != nil {
		t.Fatal(err)
	}
	const ms = unit.Millisecond
	if s.version != "iperf 3.12" || s.lastEnd() != 300*ms || len(s.intervals) != 3 {
		t.Errorf("%+v", s)
	}
	for _, x := range []struct {
		from, to unit.Time
		want     interval
	}{
		{-unit.Second, unit.Second, interval{bytes: 7000, retransmits: 3, packets: 81, lost: 11}},
		{100 * ms, 200 * ms, interval{bytes: 2000, packets: 20}},
		{50 * ms, 275 * ms, interval{bytes: 500 + 2000 + 3000, retransmits: 2.25, packets: 5.5 + 20 + 37.5, lost: 0.5 + 7.5}},
		{300 * ms, unit.Second, interval{}},
		{200 * ms, 100 * ms, interval{}},
	} {
		t.Run(fmt.Sprintf("%v to %v", x.from, x.to), func(t *testing.T) {
			got := s.sumBetween(x.from, x.to)
			for _, p := range [][2]float64{{got.bytes, x.want.bytes}, {got.retransmits, x.want.retransmits},
				{got.packets, x.want.packets}, {got.lost, x.want.lost}} {
				if math.Abs(p[0]-p[1]) > 1e-9 {
					t.Errorf("%v to %v: %+v, want %+v", x.from, x.to, got, x.want)
					break
				}
			}
		})
	}
	for report, want := range map[string]string{
		``:    "its report",
		`{}`:  "no interval",
		`[1]`: "its report",
		`{"start": {}, "error": "unable to connect to server: Connection refused"}`:           "reports: unable to connect",
		`{"intervals": [{"streams": []}]}`:                                                    "0 flows in interval 0",
		`{"intervals": [{"streams": [{"end": 1}, {"end": 1}]}]}`:                              "2 flows",
		`{"intervals": [{"streams": [{"end": 1, "bytes": -1}]}]}`:                             "an invalid count of -1",
		`{"intervals": [{"streams": [{"end": 1, "packets": 1e300}]}]}`:                        "an invalid count of 1e+300",
		`{"intervals": [{"streams": [{"end": 1}]}, {"streams": [{"start": 0.5, "end": 2}]}]}`: "interval 1 is from 0.5",
		`{"intervals": [{"streams": [{"start": 3, "end": 2}]}]}`:                              "from 3 to 2 s",
		`{"intervals": [{"streams": [{"start": 1, "end": 1e18}]}]}`:                           "interval 0",
		`{"intervals": [{"streams": [{"end": "x"}]}]}`:                                        "its report",
		`{"intervals": [{"streams": [{"start": 0, "end": 0}]}]}`:                              "no interval",
	} {
		t.Run(cmp.Or(report, "empty"), func(t *testing.T) {
			if _, err := parseReport([]byte(report)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", report, err, want)
			}
		})
	}
}

// FuzzParseReport_PartsStayWithinTotal checks that the parts of any report are at most the total, and that no value
// is below 0.
func FuzzParseReport_PartsStayWithinTotal(f *testing.F) {
	f.Add([]byte(ofServer), int64(50*unit.Millisecond), int64(275*unit.Millisecond))
	f.Add([]byte(`{"error": "x"}`), int64(0), int64(1))
	f.Add([]byte(`{"intervals": [{"streams": [{"end": 1e-13, "bytes": 1e15}]}]}`), int64(0), int64(1))
	f.Fuzz(func(t *testing.T, b []byte, from, to int64) {
		s, err := parseReport(b)
		if err != nil {
			return
		}
		all, part := s.sumBetween(-unit.Never, unit.Never), s.sumBetween(unit.Time(from), unit.Time(to))
		if !(part.bytes >= 0 && part.bytes <= all.bytes*1.000001 && part.lost >= 0 && part.packets <= all.packets*1.000001) ||
			s.lastEnd() <= 0 {
			t.Errorf("%+v of %+v", part, all)
		}
	})
}

func book() *packet.Book {
	n := &topology.Network{Nodes: []topology.Node{{Name: "a"}, {Name: "b"}}}
	return n.Addresses()
}

// sender returns an endpoint of transport/udp.
func sender(t testing.TB, c udp.Config) transport.Endpoint {
	t.Helper()
	s, _, err := udp.New(transport.Flow{Payload: 1448, Version: 4}, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func config(flows ...traffic.Flow) *traffic.Config {
	return &traffic.Config{Flows: flows, Warmup: unit.Second, Duration: 5500 * unit.Millisecond, Book: book(),
		Do: func(_ int, what func() error) error { return what() }}
}

// newTCPFlow returns an endless TCP flow from the first node to the second, with a change; nil: without one.
func newTCPFlow(change func(f *traffic.Flow)) traffic.Flow {
	f := traffic.Flow{Src: 0, Dst: 1, SrcPort: 10000, DstPort: 5001, Version: 4, Payload: 1448, TCP: &traffic.TCP{}}
	if change != nil {
		change(&f)
	}
	return f
}

func TestPlanFlows_WritesArguments(t *testing.T) {
	b := book()
	four, six := b.V4(2).String(), b.V6(2).String()
	cbr := sender(t, udp.Config{Rate: 10 * unit.Mbps, Pattern: udp.CBR, GapJitter: 0.1})
	burst := sender(t, udp.Config{Rate: 10 * unit.Mbps, Pattern: udp.Burst, Interval: unit.Millisecond})
	flows := []traffic.Flow{
		newTCPFlow(nil),
		newTCPFlow(func(f *traffic.Flow) { f.SrcPort, f.TCP.CongestionControl, f.TOS = 10001, "cubic", 8 }),
		newTCPFlow(func(f *traffic.Flow) {
			f.Version, f.Start, f.Stop, f.TCP = 6, unit.Second, 4*unit.Second, &traffic.TCP{Rate: 5 * unit.Mbps,
				Pacing: true, MSS: 1000}
		}),
		newTCPFlow(func(f *traffic.Flow) { f.DstPort, f.TCP, f.UDP = 5002, nil, cbr }),
		newTCPFlow(func(f *traffic.Flow) { f.DstPort, f.TCP, f.UDP = 5004, nil, burst }),
	}
	p, err := planFlows(config(flows...))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"-c " + four + " -4 -p 5001 --cport 10000 -i 0.1 -J -t 7",
		"-c " + four + " -4 -p 5002 --cport 10001 -i 0.1 -J -t 7 -S 8 -C cubic",
		"-c " + six + " -6 -p 5001 --cport 10000 -i 0.1 -J -t 3 -b 5000000 -l 1448 -M 1000 --fq-rate 17179869176",
		"-c " + four + " -4 -p 5003 --cport 10000 -i 0.1 -J -t 7 -u -b 10000000 -l 1448 --pacing-timer 1158",
		"-c " + four + " -4 -p 5004 --cport 10000 -i 0.1 -J -t 7 -u -b 10000000 -l 1448 --pacing-timer 1000",
	} {
		if got := strings.Join(p[i].client, " "); got != want {
			t.Errorf("flow %d:\n%s, want\n%s", i, got, want)
		}
	}
	if got := strings.Join(p[1].server, " "); got != "-s -1 -4 -p 5002 -i 0.1 -J" {
		t.Error(got)
	}
}

// TestPlanFlows_RejectsUnsupportedFlows checks that flows that iperf3 does not support are refused by name.
func TestPlanFlows_RejectsUnsupportedFlows(t *testing.T) {
	poisson := sender(t, udp.Config{Rate: unit.Mbps, Pattern: udp.Poisson})
	for _, x := range []struct {
		c    *traffic.Config
		want string
	}{
		{config(newTCPFlow(func(f *traffic.Flow) { f.Size = 1 })), "flow 0: it has a size"},
		{config(newTCPFlow(nil), newTCPFlow(func(f *traffic.Flow) { f.Predecessors = []int{0} })), "flow 1: it starts after"},
		{config(newTCPFlow(func(f *traffic.Flow) { f.Stop = 1500 * unit.Millisecond })), "whole seconds"},
		{config(newTCPFlow(func(f *traffic.Flow) { f.Start = 6 * unit.Second })), "it starts at 6s"},
		{config(newTCPFlow(func(f *traffic.Flow) { f.Version = 5 })), "IPv5"},
		{config(newTCPFlow(func(f *traffic.Flow) { f.Dst = 7 })), "node 0 or 7"},
		{config(newTCPFlow(func(f *traffic.Flow) { f.SrcPort = 0 })), "ports 0 and 5001"},
		{config(newTCPFlow(func(f *traffic.Flow) { f.Payload = 8 })), "payload of 8"},
		{config(newTCPFlow(func(f *traffic.Flow) { f.TCP = nil })), "either TCP or UDP"},
		{config(newTCPFlow(func(f *traffic.Flow) { f.TCP.MSS = -1 })), "an MSS of -1"},
		{config(newTCPFlow(func(f *traffic.Flow) { f.TCP, f.UDP = nil, poisson })), "pattern poisson"},
		{config(newTCPFlow(func(f *traffic.Flow) { f.TCP, f.UDP = nil, struct{ transport.Endpoint }{poisson} })),
			"constant rate"},
		{config(newTCPFlow(func(f *traffic.Flow) { f.DstPort = 65535 }),
			newTCPFlow(func(f *traffic.Flow) { f.DstPort = 65535 })),
			"no free port from 65535"},
		{config(make([]traffic.Flow, 65)...), "65 flows"},
		{&traffic.Config{}, "a warm-up"},
		{func() *traffic.Config { c := config(newTCPFlow(nil)); c.UntilDone = true; return c }(),
			"ends when all flows are done"},
		{func() *traffic.Config { c := config(newTCPFlow(nil)); c.Samples = make([]traffic.Sample, 1); return c }(),
			"samples"},
	} {
		t.Run(x.want, func(t *testing.T) {
			if _, err := planFlows(x.c); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%v, want %q", err, x.want)
			}
		})
	}
}

func TestResult_ComputesShareAndGoodput(t *testing.T) {
	if (Loss{}).Share() != 0 || (Loss{1, 4}).Share() != 0.25 {
		t.Error("shares")
	}
	r := Result{part: 4 * unit.Second}
	r.Flows = make([]traffic.FlowResult, 1)
	r.Flows[0].Receiver.ReceivedBytes = 1000
	if g := r.goodput(0); g != 2000 {
		t.Error(g)
	}
	if g := (&Result{}).goodput(0); g != 0 {
		t.Error(g)
	}
}
