package hpcc

import (
	"testing"

	"weir/core/telemetry"
	"weir/core/unit"
	"weir/internal/testkit"
)

// TestSender_MeasuresEachPath checks that records that alternate between two paths are each measured against the same
// path's last ones. The flow's U is the larger of the two, as long as both were seen within T.
func TestSender_MeasuresEachPath(t *testing.T) {
	s := newSender(t, newFlow(), nil)
	bytes := [2]uint64{}
	send := func(i int, path uint32, load float64) { // tau is 10 µs a path: U is the last load
		bytes[path] += uint64(load * 125_000)
		ack(s, unit.Time(i)*5*us, int64(i)*1000, int64(i)*1000+500, hop(10+path, unit.Time(i)*5*us, bytes[path], 0))
	}
	for i := range 10 {
		send(i, uint32(i%2), []float64{0.5, 0.9}[i%2])
	}
	testkit.CheckNear(t, "U of two paths", s.State().U, 0.9, rounding)
	if n := len(s.paths.more); n != 1 {
		t.Fatalf("%d paths beside the first, want 1", n)
	}
	testkit.CheckNear(t, "U of the first", s.paths.one.known.u, 0.5, rounding)
	testkit.CheckNear(t, "U of the second", s.paths.more[0].known.u, 0.9, rounding)
	bytes[0] += 62_500 // the second path is 15 µs, more than T, old
	ack(s, 60*us, 12_000, 12_500, hop(10, 60*us, bytes[0]+2_500, 0))
	if u := s.State().U; u > 0.6 {
		t.Errorf("U is %g, with a path that was not seen within T", u)
	}
}

// TestPathsAreSeparate checks that a flow that always takes one path does the same, bit by bit, whether or not it has
// seen another one before.
func TestPathsAreSeparate(t *testing.T) {
	one, two := newSender(t, newFlow(), nil), newSender(t, newFlow(), nil)
	for i := range int64(50) {
		now := unit.Time(i) * 3 * us
		h := hop(1, now, uint64(i)*(30_000+uint64(i%7)*1000), unit.Bytes(i%5)*2000)
		ack(one, now, i*1000, i*1000+500, h)
		ack(two, now, i*1000, i*1000+500, h)
		if i == 20 { // the first record of another path, with a load of nothing, is only stored
			ack(two, now, i*1000, i*1000+500, hop(2, now, 0, 0))
		}
		a, b := one.State(), two.State()
		if i < 20 && a != b || i > 20 && one.paths.one.hops != two.paths.one.hops {
			t.Fatalf("ACK %d: %+v and %+v", i, a, b)
		}
	}
}

// TestPaths_ReplaceOldestAboveMaximum checks that of more paths than there is room for, the one that was not seen for
// the longest time is replaced.
func TestPaths_ReplaceOldestAboveMaximum(t *testing.T) {
	s := newSender(t, newFlow(), nil)
	for i := range int64(3 * telemetry.MaxPaths) {
		now := unit.Time(i) * us
		ack(s, now, i*1000, i*1000+500, hop(uint32(i+1), now, uint64(i)*1000, 0))
	}
	if n := 1 + len(s.paths.more); n != telemetry.MaxPaths {
		t.Errorf("%d paths, want %d", n, telemetry.MaxPaths)
	}
	for k := range telemetry.MaxPaths {
		if id := s.paths.pathAt(k).hops[0].Switch; id <= 2*telemetry.MaxPaths {
			t.Errorf("path %d is that of switch %d, which is old", k, id)
		}
	}
}

// TestPathsPerHopCommit checks that in mode per_hop each path commits once for each commit of the flow, at its next
// records. If only one path committed, the registers of the others would not change, and neither would the window.
func TestPathsPerHopCommit(t *testing.T) {
	s := newSender(t, newFlow(), func(c *Config) { c.Mode = PerHop })
	bytes := [2]uint64{}
	for i := range int64(80) {
		p := i % 2
		bytes[p] += 187_500 // a load of 1.5 on both
		now := unit.Time(i) * 5 * us
		ack(s, now, i*1000, i*1000+1500, hop(uint32(10+p), now, bytes[p], 0)) // every second ends a round trip
	}
	one, two := s.paths.one.known.hop[0].wc, s.paths.more[0].known.hop[0].wc
	if one > 2*two || two > 2*one || one > s.maxWindow/100 {
		t.Errorf("Wc of the paths' links are %g and %g of %g", one, two, s.maxWindow)
	}
}

// TestPathsPerHop checks that in mode per_hop the window is the minimum of the windows of the paths seen within T.
func TestPathsPerHop(t *testing.T) {
	s := newSender(t, newFlow(), func(c *Config) { c.Mode = PerHop })
	bytes := [2]uint64{}
	for i := range 40 {
		p := i % 2
		bytes[p] += uint64([]float64{0.3, 1.5}[p] * 125_000)
		ack(s, unit.Time(i)*5*us, int64(i)*1000, int64(i)*1000+500, hop(uint32(10+p), unit.Time(i)*5*us, bytes[p], 0))
	}
	light, heavy := s.paths.one.known.w, s.paths.more[0].known.w
	if s.w != min(light, heavy) || heavy >= light {
		t.Errorf("W is %g, the paths' are %g and %g", s.w, light, heavy)
	}
}
