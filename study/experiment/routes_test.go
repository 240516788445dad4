package experiment_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
)

// TestPointsShareNetworks checks that points of a sweep share networks, addresses and routes: all of them if the
// network is the same, addresses and routes if only properties of links differ.
func TestPointsShareNetworks(t *testing.T) {
	s := plantest.Load(t, room(), `title: t
duration: 1ms
topology: {fat_tree: {k: $k, rate: $rate, delay: 1us}}
switch: [ecmp]
traffic: [{name: x, transport: tcp, from: h0, to: h1, size: $size, start: 0s}]
sweep: {rate: [1Gbps, 2Gbps], k: [2, 4], size: [1kB, 2kB]}
`, experiment.Options{})
	for i, p := range s.Points() {
		for j, q := range s.Points() {
			rate, k := i/4 == j/4, i/2%2 == j/2%2
			if (p.Network() == q.Network()) != (rate && k) || (p.Routes() == q.Routes()) != k || (p.Book() == q.Book()) != k {
				t.Errorf("points %s and %s: same network %v, routes %v, addresses %v", measure.PointName(p.Coordinates()),
					measure.PointName(q.Coordinates()),
					p.Network() == q.Network(), p.Routes() == q.Routes(), p.Book() == q.Book())
			}
		}
	}
}

// TestBufferOfOnePoint checks that a buffer that one point gives its switches does not apply to another point with the
// same topology.
func TestBufferOfOnePoint(t *testing.T) {
	s := plantest.Load(t, room(), small+smallTraffic+`switch: [forward]
sweep:
  rate: [1Mbps]
  buffer: {first: {switch: [ecmp]}, few: {switches: {s: {buffer: 5 packets}}},
    many: {switches: {"*": {buffer: 70 packets}}}, last: {switch: [forward]}}
`, experiment.Options{})
	for i, want := range []string{"0 0 24", "5 5 5", "70 70 70", "0 0 24"} {
		t.Run(measure.PointName(s.Points()[i].Coordinates()), func(t *testing.T) {
			var got []string
			for _, l := range s.Points()[i].Network().Links {
				got = append(got, fmt.Sprint(l.Buffer.Packets))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: buffers of %v packets, want %s", measure.PointName(s.Points()[i].Coordinates()), got, want)
			}
		})
	}
	if s.Points()[0].Network() != s.Points()[3].Network() {
		t.Error("points with the same network do not share it")
	}
}

// TestEveryPointIsBuilt checks that errors that only a constructor detects are found at every point, also where the
// network is the previous point's.
func TestEveryPointIsBuilt(t *testing.T) {
	const text = small + `traffic: [{name: x, transport: udp, rate: 1Mbps, from: a, to: b, payload: $payload, start: 0s}]
sweep:
  scheme:
    good: {switch: [forward, {classify: {dscp: {46: 0}}}]}
    other: {switch: [forward, {classify: {dscp: {46: %s}}}]}
  payload: [100 B, 200 B]
`
	if s := plantest.Load(t, room(), fmt.Sprintf(text, "0"), experiment.Options{}); len(s.Points()) != 4 {
		t.Errorf("%d points", len(s.Points()))
	}
	if e := wrong(t, fmt.Sprintf(text, "1"), experiment.Options{}); !strings.Contains(e.Error(),
		"the experiment cannot be built: switch s: classify: DSCP 46 has class 1") {
		t.Error(e)
	}
}

// TestTooManyRoutes checks that a network with tables beyond memory is an error: a chain of 16385 switches with a host
// each.
func TestTooManyRoutes(t *testing.T) {
	const n = 16385
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d %d\n", 2*n, n, 2*n-1)
	for i := range n {
		fmt.Fprintln(&b, n+i)
	}
	for i := range n {
		fmt.Fprintf(&b, "%d %d 1Gbps 1us 0\n", i, n+i)
		if i > 0 {
			fmt.Fprintf(&b, "%d %d 1Gbps 1us 0\n", n+i-1, n+i)
		}
	}
	src := file("chain.yaml", `title: chain
duration: 1ms
topology: {file: chain.txt, format: hpcc}
switch: [forward]
traffic: [{name: x, transport: tcp, from: h0, to: h1, size: 1kB}]
`)
	src.Open = func(string) ([]byte, error) { return []byte(b.String()), nil }
	_, err := plan.Load(room(), src, experiment.Options{})
	want := "chain.yaml:3:11: 16385 switches, 16385 of them with hosts, have more routes than fit into memory; allowed: " +
		"up to 268435456 for the number of switches with hosts × the number of switches"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v", err)
	}
}
