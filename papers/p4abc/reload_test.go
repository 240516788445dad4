package p4abc

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit"
)

var _ dataplane.Adopter = (*Program)(nil)
var _ dataplane.AddressEvictor = (*Program)(nil)

// TestProgram_AdoptsMeasuredRates checks that a program with other parameters adopts its predecessor's measurements:
// the rates of aggregates and of single sources, also with another memory, and the averages. New parts restart, and
// losses are reported.
func TestProgram_AdoptsMeasuredRates(t *testing.T) {
	book := packet.NewBook()
	for i := range byte(4) {
		book.Add(netip.AddrFrom4([4]byte{10, 0, i, 1}), netip.Addr{})
	}
	site := &dataplane.Site{Ports: 2, Book: book}
	prefix := func(i byte) users.Set { return users.Set(fmt.Sprintf("10.0.%d.0/24", i)) }
	base := defaults()
	program := func(memory unit.Time, shared bool, prefixes ...byte) *Program {
		c := base
		c.Memory, c.SharesDefault = memory, shared
		for _, i := range prefixes {
			c.Aggregates = append(c.Aggregates, Aggregate{Key: prefix(i), Value: 10 * unit.Kbps})
		}
		a, err := New(site, c)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	old := program(3*unit.Second, false, 0, 1)
	now := unit.Time(0)
	for ; now < 10*unit.Second; now += unit.Millisecond {
		for src := packet.Addr(1); src <= 3; src++ {
			old.findMeter(&packet.Packet{Src: src, Version: 4}).Update(now, 1000*float64(src), old.config.Memory)
		}
		old.aqms[1].average.Update(now, 32, 1000, old.config.Average)
	}
	rate := func(a *Program, src packet.Addr) float64 {
		return a.findMeter(&packet.Packet{Src: src, Version: 4}).RateAt(now, a.config.Memory)
	}
	for _, memory := range []unit.Time{3 * unit.Second, unit.Second, 60 * unit.Second} {
		a := program(memory, false, 1, 0, 3)
		if kept, lost := a.Adopt(now, old); kept != "its meters" || len(lost) > 0 {
			t.Errorf("kept: %q, lost: %v", kept, lost)
		}
		for src := packet.Addr(1); src <= 3; src++ {
			if got, want := rate(a, src), rate(old, src); !testkit.IsNear(got/want, 1, testkit.Tolerance{Absolute: 1e-9}) {
				t.Errorf("memory %v, source %d: rate %g, want %g", memory, src, got, want)
			}
		}
		if rate(a, 4) != 0 || !testkit.IsNear(a.AverageActivity(1), 5, testkit.Tolerance{Absolute: 1e-9}) ||
			a.AverageActivity(0) != 0 {
			t.Errorf("a new aggregate has the rate %g; averages are %g and %g", rate(a, 4), a.AverageActivity(1),
				a.AverageActivity(0))
		}
	}
	a := program(3*unit.Second, true, 0)
	if _, lost := a.Adopt(now, old); len(lost) != 2 || !strings.Contains(lost[0], "10.0.1.0/24") ||
		!strings.Contains(lost[1], "sources without an aggregate") {
		t.Errorf("lost: %q", lost)
	}
	back := program(3*unit.Second, true, 0)
	a.meterAt(a.commonAggregate, sends).Update(now, 5e6, a.config.Memory)
	now += unit.Second
	if _, lost := back.Adopt(now, a); len(lost) > 0 || rate(back, 3) != rate(a, 3) || rate(a, 3) == 0 {
		t.Errorf("of all others: %q, rate %g, want %g", lost, rate(back, 3), rate(a, 3))
	}
	if _, lost := program(3*unit.Second, false, 0).Adopt(now, a); len(lost) != 1 {
		t.Errorf("lost: %q", lost)
	}
	if kept, _ := a.Adopt(now, again{}); kept != "" {
		t.Errorf("it keeps %s of another program", kept)
	}
}
