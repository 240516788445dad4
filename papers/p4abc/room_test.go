package p4abc

import (
	"math"
	"slices"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit"
)

// roomBench returns a program. Its port 1 sends 50 Mb/s and has a buffer.
func roomBench(t *testing.T, c Config, buffer tm.Limit) *Program {
	t.Helper()
	line := dataplane.Line{Rate: unit.LinkRate{Bits: 50 * unit.Mbps}}
	a, err := New(&dataplane.Site{Ports: 2, Book: packet.NewBook(), Lines: []dataplane.Line{line, line},
		Limits: []tm.Limit{buffer, buffer}}, c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// accepts returns the number of full frames that may wait at port 1 when an average user's packet arrives.
func (a *Program) accepts() (n int64) {
	a.addSample(1, int32(paperFrame), 1)
	for !a.exceedsThreshold(a.aqms[1].room.reduceQueue((n+1)*int64(paperFrame)), 1) {
		n++
	}
	return n
}

// TestRoom_DoublesThresholdsWhilePortEmpty checks that thresholds are as given until the port is empty after a drop.
// They double by 137 ms of that, up to half of the buffer or, without one, to the port's traffic in 100 ms, and halve
// in 17.6 s. An empty port counts for M_AM after a drop. Time spent sending does not, and neither does a time beyond
// M_AA: traffic has ended.
func TestRoom_DoublesThresholdsWhilePortEmpty(t *testing.T) {
	const ms = unit.Millisecond
	var often []unit.Time // 1.1 s in which the port is empty
	for i := range 11 {
		often = append(often, unit.Time(i+1)*100*ms)
	}
	for _, f := range forms {
		for _, x := range []struct {
			name   string
			buffer tm.Limit
			drop   bool
			steps  []unit.Time // arrivals, at an empty port
			size   int32       // of the frame that departs before the last arrival
			want   int64
		}{
			{"no time", tm.Limit{Packets: 400}, true, []unit.Time{0}, 0, 20},
			{"no drop", tm.Limit{Packets: 400}, false, []unit.Time{140 * ms}, 0, 20},
			{"one doubling", tm.Limit{Packets: 400}, true, []unit.Time{140 * ms}, 0, 40},
			{"one doubling in parts", tm.Limit{Packets: 400}, true, []unit.Time{70 * ms, 140 * ms}, 0, 40},
			{"two doublings", tm.Limit{Packets: 400}, true, []unit.Time{280 * ms}, 0, 80},
			{"half of the buffer", tm.Limit{Packets: 400}, true, often, 0, 200},
			{"M_AA", tm.Limit{Packets: 400}, true, []unit.Time{300 * ms}, 0, 87},
			{"the end of traffic", tm.Limit{Packets: 400}, true, []unit.Time{301 * ms}, 0, 20},
			{"traffic that comes and goes", tm.Limit{Packets: 400}, true,
				[]unit.Time{unit.Second, 2 * unit.Second, 2900 * ms}, 0, 20},
			{"half of the buffer in bytes", tm.Limit{Packets: 400, Bytes: 80 * paperFrame}, true,
				often, 0, 40},
			{"no limit", tm.Limit{}, true, often, 0, 380}, // of 412, in steps of an eighth
			{"the paper's buffer", tm.Limit{Packets: 24}, true, often, 0, 20},
			{"long after a drop", tm.Limit{Packets: 400}, true, append(slices.Clone(often), 8*unit.Second), 0, 147},
			{"two seconds of a frame", tm.Limit{Packets: 400}, true, []unit.Time{2 * unit.Second}, 12_500_000, 20},
		} {
			want := x.want
			if f.perPacket {
				want = 20
			}
			a := roomBench(t, f.config(), x.buffer)
			a.setActivity(0)
			room := &a.aqms[1].room
			if room.recordArrival(0, true); x.drop {
				room.recordDrop(0)
			}
			room.recordDeparture(0, x.size)
			for _, now := range x.steps {
				room.recordArrival(now, true)
			}
			if f.perPacket && room.reduceQueue(1<<30) != 1<<30 {
				t.Errorf("%v, %s: a queue is reduced", f, x.name)
			}
			if f.perPacket {
				continue
			}
			if got := a.accepts(); got < want*20/21 || got > want {
				t.Errorf("%v, %s: %d full frames may wait, want %d", f, x.name, got, want)
			}
		}
	}
}

// TestRoomShrinks checks that while the port is busy the thresholds shrink to the given ones. The time of departures is
// not idle time.
func TestRoomShrinks(t *testing.T) {
	a := roomBench(t, defaults(), tm.Limit{Packets: 4000})
	a.setActivity(0)
	room := &a.aqms[1].room
	room.recordDrop(0)
	room.recordArrival(280*unit.Millisecond, true)
	room.recordArrival(560*unit.Millisecond, true) // four doublings
	if got := a.accepts(); got < 300 || got > 330 {
		t.Fatalf("%d full frames may wait, want 320", got)
	}
	now := 560 * unit.Millisecond
	for end := now + 18*unit.Second; now < end; now += unit.Millisecond {
		room.recordArrival(now, false)
	}
	if got := a.accepts(); got < 150 || got > 165 {
		t.Errorf("after 18 s %d full frames may wait, want 160", got)
	}
	for end := now + 60*unit.Second; now < end; {
		now += unit.TransmitTime(paperFrame, 50*unit.Mbps) // back to back: the port is empty, and not idle
		room.recordDrop(now)
		room.recordArrival(now, true)
		room.recordDeparture(now, int32(paperFrame))
	}
	if got := a.accepts(); got != 20 {
		t.Errorf("after 78 s %d full frames may wait, want 20", got)
	}
}

// TestRoomAdopts checks that a reload keeps the room, as far as the new buffer has it. The paper's form and a short
// buffer have no room, and do not see when a port is empty.
func TestRoomAdopts(t *testing.T) {
	for _, x := range []struct {
		old    form
		before int32 // the old buffer
		f      form
		buffer int32
		want   int64
	}{{form{}, 400, form{}, 400, 80}, {form{}, 400, form{integer: true}, 400, 80}, {form{}, 400, form{}, 100, 50},
		{form{}, 400, form{perPacket: true}, 400, 0}, {form{perPacket: true}, 400, form{}, 400, 20},
		{form{perPacket: true, integer: true}, 400, form{integer: true}, 400, 20}, {form{}, 24, form{}, 400, 20}} {
		old := roomBench(t, x.old.config(), tm.Limit{Packets: x.before})
		old.aqms[1].room.recordDrop(0)
		old.aqms[1].room.recordArrival(290*unit.Millisecond, true)
		a := roomBench(t, x.f.config(), tm.Limit{Packets: x.buffer})
		a.Adopt(unit.Second, old)
		a.aqms[1].room.recordArrival(unit.Second+20*unit.Millisecond, true)
		a.setActivity(0)
		if x.want == 0 {
			if got := a.aqms[1].room.reduceQueue(1000); got != 1000 {
				t.Errorf("%v: a queue of 1000 is %d", x.f, got)
			}
		} else if got := a.accepts(); got < x.want*20/21 || got > x.want {
			t.Errorf("%v of %d → %v of %d: %d full frames may wait, want %d", x.old, x.before, x.f, x.buffer, got, x.want)
		}
	}
}

// TestRateOfEvent checks that an event that changes a port's rate changes the time that frames take, and the largest
// rate of a user.
func TestRateOfEvent(t *testing.T) {
	for _, f := range forms {
		if f.perPacket {
			continue
		}
		b := newBenchAt(t, []dataplane.Line{{Rate: unit.LinkRate{Bits: 50 * unit.Mbps}},
			{Rate: unit.LinkRate{Bits: 50 * unit.Mbps}}}, f.config())
		q := &b.program.aqms[1]
		q.room.max = 1 << roomPlaces // as with a larger buffer
		for _, rate := range []unit.Rate{50 * unit.Mbps, 5 * unit.Mbps, unit.Gbps} {
			b.now += unit.Second
			b.Port(1).SetRate(unit.LinkRate{Bits: rate})
			b.send(1)
			b.pool.Put(b.take())
			if got, want := q.room.sentTime-b.now, unit.TransmitTime(1490, rate); !testkit.IsNear(float64(got), float64(want),
				testkit.Tolerance{Absolute: 0.001}) {
				t.Errorf("%v: a frame at %v ends after %v, want %v", f, rate, got, want)
			}
			if got, want := q.maxRate, math.Log2(4*float64(rate)/10e3); !testkit.IsNear(got, want,
				testkit.Tolerance{Absolute: 1e-9}) {
				t.Errorf("%v: the largest activity at %v is %g, want %g", f, rate, got, want)
			}
		}
	}
}
