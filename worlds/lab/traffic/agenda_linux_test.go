package traffic

import (
	"cmp"
	"testing"

	"weir/core/unit"
	"weir/internal/sockdiag"
)

// The agenda gives what is due in the order of time.
func TestAgenda(t *testing.T) {
	random := unit.NewRandom(1, "agenda")
	var a agenda
	if a.next() != unit.Never {
		t.Error("an empty agenda has something to do")
	}
	for range 1000 {
		a.add(unit.Time(random.Int64N(100)), random.IntN(1000), task(random.IntN(int(send)+1)))
	}
	type entry struct {
		at   unit.Time
		flow int
		task task
	}
	var last entry
	for range 1000 {
		e := entry{at: a.next()}
		e.flow, e.task = a.take()
		if order := cmp.Or(cmp.Compare(e.at, last.at), cmp.Compare(e.flow, last.flow),
			cmp.Compare(e.task, last.task)); order < 0 {
			t.Fatalf("%+v after %+v", e, last)
		}
		last = e
	}
	if a.next() != unit.Never {
		t.Error("the agenda has more than was entered")
	}
}

// Flows are made ready soon before they begin, those of one host together.
func TestStarts(t *testing.T) {
	all := make([]Flow, 10)
	for i := range all {
		all[i].Src, all[i].Start = i%2, unit.Time(9-i)*10*unit.Millisecond
	}
	all[0].After = []int{1}
	s := newStarts([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, all)
	var got []int
	for now := -readyBefore; s.next() != unit.Never; now += unit.Millisecond {
		if now < s.next() {
			continue
		}
		ready := s.ready(now, all)
		for k, i := range ready {
			if start := all[i].Start; start < now || start > now+readyBefore+readyWith || k > 0 &&
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

// What samples show is TCP_INFO's in the simulator's units.
func TestQuantity(t *testing.T) {
	info := &sockdiag.Info{Window: 10, SendMSS: 1448, PacingRate: 5 * unit.Mbps, Unacked: 9, Sacked: 3, Lost: 2,
		Retrans: 1,
		RTT:     20 * unit.Millisecond, DeliveryRate: unit.Mbps}
	for what, want := range map[What]int64{Window: 14480, Rate: 5e6, InFlight: 5 * 1448, RTT: 20e9, DeliveryRate: 1e6} {
		if got := quantity(what, info); got != want {
			t.Errorf("%d: %d, not %d", what, got, want)
		}
	}
	if info.PacingRate = sockdiag.NoLimit; quantity(Rate, info) != 0 {
		t.Error("no limit is a rate")
	}
}

// Headers of datagrams say what was put into them.
func TestHeader(t *testing.T) {
	var b [LeastDatagram]byte
	putHeader(b[:], 1<<30, 1<<32-1, -5)
	if flow, seq, sent := header(b[:]); flow != 1<<30 || seq != 1<<32-1 || sent != -5 {
		t.Errorf("%d, %d, %v", flow, seq, sent)
	}
}

// By how much most were late.
func TestLateness(t *testing.T) {
	var l Lateness
	if l.At(1) != 0 {
		t.Error("none were late by nothing")
	}
	for i := range 100 {
		l.add(unit.Time(i+1) * unit.Microsecond)
	}
	near := func(a, b unit.Time) bool { return a > b-b/50 && a < b+b/50 }
	if !near(l.At(0.5), 50*unit.Microsecond) || !near(l.At(0.99), 99*unit.Microsecond) || l.At(1) > l.Max ||
		l.Max != 100*unit.Microsecond {
		t.Errorf("%v, %v, %v", l.At(0.5), l.At(0.99), l.Max)
	}
}
