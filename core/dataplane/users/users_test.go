package users

import (
	"fmt"
	"math"
	"net/netip"
	"testing"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// hosts returns a book of n hosts: 10.0.0.1 and fd00::1, 10.0.0.2 and fd00::2, and so on.
func hosts(n int) *packet.Book {
	b := packet.NewBook()
	for i := range n {
		b.Add(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), netip.MustParseAddr(fmt.Sprintf("fd00::%d", i+1)))
	}
	return b
}

func of(t *Table, src packet.Addr, version uint8) int32 {
	return t.UserOf(&packet.Packet{Src: src, Version: version})
}

// TestTable_FindsUserByLongestPrefix checks that a packet's user is found as in P4-ABC §5.2 and its program: by the
// longest prefix, otherwise by source over both families.
func TestTable_FindsUserByLongestPrefix(t *testing.T) {
	c := Config{Reference: 10 * unit.Kbps, Aggregates: []Aggregate{
		{Key: "10.0.0.0/30", Value: 20 * unit.Kbps},
		{Key: "10.0.0.2", Value: 40 * unit.Kbps},
		{Key: "fd00::5", Value: 80 * unit.Kbps}}}
	b := NewTable(hosts(6), &c)
	for _, x := range []struct {
		src     packet.Addr
		version uint8
		want    int32
		weight  float64
	}{{1, 4, 0, 2}, {3, 4, 0, 2}, {2, 4, 1, 4}, {5, 6, 2, 8}, {5, 4, 3, 1}, {4, 4, 4, 1}, {4, 6, 4, 1}, {1, 6, 5, 1},
		{1, 4, 0, 2}} {
		t.Run(fmt.Sprintf("host %d, IPv%d", x.src, x.version), func(t *testing.T) {
			if u := of(b, x.src, x.version); u != x.want || b.Weight(u) != x.weight {
				t.Errorf("user %d of weight %g, want %d of %g", u, b.Weight(u), x.want, x.weight)
			}
		})
	}
	if b.UserCount() != 6 || b.MaxUsers() != 3+7 || b.WeightOf(9) != 1 || b.WeightOf(1) != 4 {
		t.Errorf("%d users, at most %d; %g, %g", b.UserCount(), b.MaxUsers(), b.WeightOf(9), b.WeightOf(1))
	}
	if u := b.EvictAddress(4); u != 4 || b.UserCount() != 5 || of(b, 6, 4) != 4 || b.EvictAddress(1) != 5 ||
		b.EvictAddress(3) != -1 {
		t.Errorf("user %d is forgotten; %d are left", u, b.UserCount())
	}
	c.Shared = true
	if b = NewTable(hosts(6), &c); of(b, 6, 4) != 3 || of(b, 4, 6) != 3 || b.MaxUsers() != 4 {
		t.Error("others do not share a user")
	}
	// where prefixes cover all hosts, the reference rate of others does not scale the weights
	c = Config{Reference: 1 * unit.Kbps, Aggregates: []Aggregate{{Key: "0.0.0.0/0", Value: 5e6},
		{Key: "::/0", Value: 1e7}}}
	if b = NewTable(hosts(6), &c); b.Weight(of(b, 1, 6)) != 2 || b.Weight(of(b, 1, 4)) != 1 {
		t.Errorf("weights %g and %g", b.Weight(of(b, 1, 6)), b.Weight(of(b, 1, 4)))
	}
	for _, bad := range []string{"10.0.0.0/33", "users", ""} {
		if _, err := ParsePrefix(bad); err == nil {
			t.Errorf("%q is a prefix", bad)
		}
	}
	c.Aggregates = []Aggregate{{Key: "10.0.0.0/8", Value: 1}, {Key: "10.0.0.0/8", Value: 2}}
	if scheme.Validate(&c) == nil {
		t.Error("two aggregates of one prefix are taken")
	}
}

// TestRate_FollowsCSFQEquation3 checks CSFQ equation (3), by hand, for K = 100 ms. 1000 bytes 10 ms after the start are
// (1 − e^−0.1) · 8000/0.01 = 76,130.07; 10 ms later e^−0.1 of that is added to as much. Of two packets at one time the
// second adds 8000/0.1.
func TestRate_FollowsCSFQEquation3(t *testing.T) {
	var r Rate
	const k = 100 * unit.Millisecond
	for i, x := range []struct {
		at   unit.Time
		want float64
	}{{10, 76130.0657}, {20, 145015.3975}, {20, 225015.3975}, {1020, 8000*(1-math.Exp(-10)) + 225015.3975*math.Exp(-10)}} {
		if got := r.AddPacket(x.at*unit.Millisecond, 8000, k); math.Abs(got-x.want) > 1e-3 {
			t.Errorf("packet %d: %.4f, want %.4f", i, got, x.want)
		}
	}
	if got := r.DecayedValue(1120*unit.Millisecond, k); math.Abs(got-r.value/math.E) > 1e-6 {
		t.Errorf("K later: %g of %g", got, r.value)
	}
	// a constant rate is found for any sizes of packets, at 10 Mb/s and at 100 Gb/s: within e^−(T/K) and one packet
	for _, rate := range []float64{1e7, 1e11} {
		for _, bits := range []float64{512, 12112} {
			var r Rate
			gap := unit.Time(bits / rate * 1e12)
			for at := gap; at < 500*gap; at += gap {
				r.AddPacket(at, bits, 50*gap)
			}
			if math.Abs(r.value/(bits/gap.Seconds())-1) > 1e-4 {
				t.Errorf("%g bit/s in packets of %g: %g", rate, bits, r.value)
			}
		}
	}
}

func TestNoAllocation(t *testing.T) {
	b := NewTable(hosts(6), &Config{Reference: 1})
	p := packet.Packet{Src: 3, Version: 4}
	var r Rate
	b.UserOf(&p)
	if n := testing.AllocsPerRun(100, func() { r.AddPacket(r.last+1, float64(b.UserOf(&p)), 1) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func ExampleTable() {
	c := Config{Reference: 10 * unit.Kbps, Aggregates: []Aggregate{
		{Key: "10.0.0.0/30", Value: 20 * unit.Kbps}}}
	t := NewTable(hosts(6), &c)
	p := packet.Packet{Src: 2, Version: 4}
	fmt.Println(t.UserOf(&p), t.Weight(t.UserOf(&p)))
	// Output: 0 2
}
