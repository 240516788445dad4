package experiment_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// TestLoad_RejectsTooLargeProducts checks that products of a file's values are limited numbers, and the error has its
// place and the limit.
func TestLoad_RejectsTooLargeProducts(t *testing.T) {
	one := "traffic: [{name: x, from: h0, to: h1, transport: udp, rate: 1Mbps, start: 0s}]\n"
	star := "topology: {star: {hosts: 4, rate: 100Gbps, delay: 1us}}\n"
	each := "rate: 1Gbps, delay: 1us}}\n"
	many := "traffic: [{name: x, from: h0, to: random, transport: udp, rate: 1Mbps, start: 0s, flows: 100000, " +
		"sets: {count: 6, interval: 1ps}}]\n" // a machine that holds 1200000
	more := "{name: z, from: h1, to: h2, transport: udp, rate: 1Mbps, start: 0s, flows: 2}, "
	for _, x := range []struct{ name, text, want string }{
		{"64 keys of 2 values", star + one + sweep(64, 1),
			"x.yaml:22:9: the sweep has 131072 points with only the first 17 of its"},
		{"points", star + one + sweep(2, 400), "up to 100000 points"},
		{"runs", star + one + "repeat: 10000\n" + sweep(1, 400), "x.yaml:5:9: 401 points with 10000 seeds each are 4010000"},
		{"runs of the lab", star + one + "lab_repeat: 10000\n" + sweep(1, 400), "up to 1000000 runs"},
		{"leaves by hosts", "topology: {leaf_spine: {leaves: 10000, spines: 10000, hosts: 10000, " + each + one,
			"100020000 nodes and 200000000 links; allowed: at most 1048576 of each"},
		{"pods", "topology: {pods: {pods: 10000, tors: 10000, aggs: 10000, hosts: 10000, uplinks: 10000, " + each + one,
			"at most 1048576 of each"},
		{"fat tree", "topology: {fat_tree: {k: 128, oversubscription: 1000, " + each + one, "at most 1048576 of each"},
		{"sets by flows", star + strings.Replace(one, "start: 0s", "start: 0s, flows: 100000, sets: {count: 1000000, "+
			"interval: 1ps}", 1), "x.yaml:4:11: the experiment would have about 100000000000 flows; allowed: " +
			"up to 1200000 flows in a run (600MB of memory)"},
		{"sets by drawn flows", star + strings.Replace(one, "to: h1, transport: udp, rate: 1Mbps, start: 0s",
			"to: random, transport: udp, rate: 1Mbps, start: 0s, flows: 100000, sets: {count: 1000000, interval: 1ps}", 1),
			"the experiment would have about 100000000000 flows; allowed: up to 1200000 flows in a run"},
		{"many traffics", star + strings.NewReplacer("[{name: x", "[{name: y", "}]", "}").Replace(strings.TrimSuffix(many,
			"\n")) + ", " + more + strings.TrimPrefix(many, "traffic: ["), "about 1200002 flows; allowed: up to 1200000"},
		{"a short run", star + one + "measure: [{queue: {port: s->h1}}]\n", "without every, queue is measured every 10ms, " +
			"but the measured part of the run is only 1ms long; allowed: every: 10us or another time up to 1ms"},
	} {
		t.Run(x.name, func(t *testing.T) { refused(t, x.text, x.want, experiment.Options{Machine: 600e6}) })
	}
}

// sweep returns a sweep of the given number of keys with the given number of values and -1.
func sweep(keys, values int) string {
	var b strings.Builder
	b.WriteString("sweep:\n")
	for i := range keys {
		fmt.Fprintf(&b, "  k%d: [", i)
		for v := range values {
			fmt.Fprintf(&b, "%d, ", v)
		}
		b.WriteString("-1]\n")
	}
	return b.String()
}

// refused fails if an experiment that ends like the text is not refused with an error that has the words.
func refused(t *testing.T, text, words string, o experiment.Options) {
	t.Helper()
	_, err := plan.Load(room(), file("x.yaml", "duration: 1ms\nswitch: [forward]\n"+text), o)
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("%.1000v, want %q", err, words)
	}
}

// differing returns an experiment of 1001 points, each with its own star of the given number of hosts.
func differing(hosts int) string {
	return fmt.Sprintf("topology: {star: {hosts: %d, rate: 100Gbps, delay: $k0}}\n"+
		"traffic: [{name: x, from: h0, to: h1, transport: udp, rate: 1Mbps, start: 0s}]\n", hosts) +
		strings.NewReplacer(",", "ns,", "-1", "1us").Replace(sweep(1, 1000))
}

// flowing returns an experiment of 10 points, each with the given number of flows of its own.
func flowing(flows int) string {
	return "topology: {star: {hosts: 4, rate: 100Gbps, delay: 1us}}\n" +
		fmt.Sprintf("traffic: [{name: x, from: h0, to: h1, transport: udp, rate: $k0, start: 0s, "+
			"sets: {count: %d, interval: 1ps}}]\n", flows) +
		strings.NewReplacer(",", "1Mbps,", "-1", "9Mbps").Replace(sweep(1, 9))
}

// TestLimitsOfPoints checks that the points of a sweep are refused as soon as they exceed a limit together.
func TestLimitsOfPoints(t *testing.T) {
	o := experiment.Options{Machine: 600e6}
	o.LimitPoints(1<<13, 300e6)
	refused(t, flowing(1000), "the first 9 of the sweep's 10 points have 9081 nodes, links and listed flows; allowed: "+
		"up to 8192 nodes, links and listed flows over all points", o)
	refused(t, flowing(4000), "the first of the sweep's 10 points has 4009 nodes, links and listed flows; all points "+
		"would have about 40090; allowed: up to 8192 nodes, links and listed flows over all points", o)
	o.LimitPoints(1<<17, 3e6)
	refused(t, differing(40), "points take 3 MB of memory; allowed: up to 3MB for all points", o)
}

// TestFlowsAreNotMade checks that a million flows are read within the memory of their list: no endpoint is made of
// them.
func TestFlowsAreNotMade(t *testing.T) {
	text := "duration: 1s\nswitch: [forward]\ntopology: {star: {hosts: 4, rate: 100Gbps, delay: 1us}}\n" +
		"traffic: [{name: x, from: h0, to: h1, transport: udp, rate: 1Mbps, start: 0s, " +
		"sets: {count: 1000000, interval: 1ps}}]\n"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := plan.Load(room(), file("x.yaml", text), experiment.Options{})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if objects := after.Mallocs - before.Mallocs; objects > 200000 {
		t.Errorf("%d objects for a million flows", objects)
	}
	if n := s.Points()[0].Flows(); n != 1000000 {
		t.Errorf("%d flows", n)
	}
}

// TestPointsAreNotMade checks that a sweep that would be far too much is refused at its first point, before others are
// made.
func TestPointsAreNotMade(t *testing.T) {
	text := "duration: 1s\nswitch: [forward]\ntopology: {star: {hosts: 4, rate: 100Gbps, delay: 1us}}\n" +
		"traffic: [{name: x, from: h0, to: h1, transport: udp, rate: $r, start: 0s, flows: 100000}]\nsweep: {r: ["
	for i := range 999 {
		text += fmt.Sprintf("%dkbps, ", i+1)
	}
	want := "the first of the sweep's 1000 points has 100009 nodes, links and listed flows; all points " +
		"would have about 100009000"
	took := allocated(func() {
		_, err := plan.Load(room(), file("x.yaml", text+"1Mbps]}\n"), experiment.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.1000v, want %q", err, want)
		}
	})
	if took > 120e6 { // one point takes some 50 MB while it is made
		t.Errorf("%d bytes", took)
	}
}

// TestPointsShare checks that points with the same network and flows share them, and that those that differ are
// counted.
func TestPointsShare(t *testing.T) {
	memory := func(delay, rate, flows, values string) int64 {
		return plantest.Load(t, room(),
			"duration: 1s\nswitch: [forward]\ntopology: {star: {hosts: 1000, rate: 100Gbps, delay: "+delay+"}}\n"+
				"traffic: [{name: x, from: h0, to: h1, transport: udp, rate: "+rate+", start: 0s, flows: "+flows+"}]\n"+
				"sweep: {k: ["+values+"]}\n", experiment.Options{}).Memory()
	}
	same := memory("1us", "$k", "1000", "1Mbps, 2Mbps, 3Mbps, 4Mbps, 5Mbps")
	for _, x := range []struct {
		name  string
		bytes int64
		least int64
	}{
		{"links", memory("$k", "1Mbps", "1000", "1us, 2us, 3us, 4us, 5us"), 4 * 1000 * 72},
		{"flows", memory("1us", "1Mbps", "$k", "1000, 1001, 1002, 1003, 1004"), 4 * 1000 * 96},
	} {
		t.Run(x.name, func(t *testing.T) {
			if more := x.bytes - same; more < x.least*9/10 || more > x.least*3/2 {
				t.Errorf("%d bytes, %d with others' networks and flows; about %d more are expected", x.bytes, same, x.least)
			}
		})
	}
}

// allocated is how many bytes are allocated while f runs.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
