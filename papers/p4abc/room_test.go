package p4abc

import (
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// roomBench is a program whose port 1 sends 50 Mb/s and has a buffer.
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
	a.accept(1, int32(paperFrame), 1)
	for !a.exceeded(a.aqms[1].room.reduce((n+1)*int64(paperFrame)), 1) {
		n++
	}
	return n
}

// Thresholds are as given until the port is empty after a drop. They double by 137 ms of that, up to half of the
// buffer, and halve in 17.6 s. An empty port counts for M_AM after a drop, and what it was sending does not.
func TestRoom(t *testing.T) {
	const ms = unit.Millisecond
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
			{"half of the buffer", tm.Limit{Packets: 400}, true, []unit.Time{2 * unit.Second}, 0, 200},
			{"half of the buffer in bytes", tm.Limit{Packets: 400, Bytes: 80 * paperFrame}, true,
				[]unit.Time{2 * unit.Second}, 0, 40},
			{"no limit", tm.Limit{}, true, []unit.Time{2900 * ms}, 0, 20 << maxDoublings},
			{"the paper's buffer", tm.Limit{Packets: 24}, true, []unit.Time{2 * unit.Second}, 0, 20},
			{"long after a drop", tm.Limit{Packets: 400}, true, []unit.Time{3 * unit.Second, 8 * unit.Second}, 0, 160},
			{"two seconds of a frame", tm.Limit{Packets: 400}, true, []unit.Time{2 * unit.Second}, 12_500_000, 20},
		} {
			want := x.want
			if f.perPacket {
				want = 20
			}
			a := roomBench(t, f.config(), x.buffer)
			a.setActivity(0)
			room := &a.aqms[1].room
			if room.arrive(0, true); x.drop {
				room.drop(0)
			}
			room.depart(0, x.size)
			for _, now := range x.steps {
				room.arrive(now, true)
			}
			if f.perPacket && room.reduce(1<<30) != 1<<30 {
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

// While the port is busy the thresholds shrink to those that are given. What departs is not idle time.
func TestRoomShrinks(t *testing.T) {
	a := roomBench(t, defaults(), tm.Limit{Packets: 4000})
	a.setActivity(0)
	room := &a.aqms[1].room
	room.drop(0)
	room.arrive(560*unit.Millisecond, true) // four doublings
	if got := a.accepts(); got < 300 || got > 330 {
		t.Fatalf("%d full frames may wait, want 320", got)
	}
	now := 560 * unit.Millisecond
	for end := now + 18*unit.Second; now < end; now += unit.Millisecond {
		room.arrive(now, false)
	}
	if got := a.accepts(); got < 150 || got > 165 {
		t.Errorf("after 18 s %d full frames may wait, want 160", got)
	}
	for end := now + 60*unit.Second; now < end; {
		now += unit.TransmitTime(paperFrame, 50*unit.Mbps) // back to back: the port is empty, and not idle
		room.drop(now)
		room.arrive(now, true)
		room.depart(now, int32(paperFrame))
	}
	if got := a.accepts(); got != 20 {
		t.Errorf("after 78 s %d full frames may wait, want 20", got)
	}
}

// A reload keeps the room, as far as the new buffer has it. The paper's form has no room.
func TestRoomAdopts(t *testing.T) {
	old := roomBench(t, defaults(), tm.Limit{Packets: 400})
	old.aqms[1].room.drop(0)
	old.aqms[1].room.arrive(280*unit.Millisecond, true)
	for _, x := range []struct {
		f      form
		buffer int32
		want   int64
	}{{form{}, 400, 80}, {form{integer: true}, 400, 80}, {form{}, 100, 50}, {form{perPacket: true}, 400, 0}} {
		a := roomBench(t, x.f.config(), tm.Limit{Packets: x.buffer})
		a.Adopt(unit.Second, old)
		a.setActivity(0)
		if x.want == 0 {
			if got := a.aqms[1].room.reduce(1000); got != 1000 {
				t.Errorf("%v: a queue of 1000 is %d", x.f, got)
			}
		} else if got := a.accepts(); got < x.want*20/21 || got > x.want {
			t.Errorf("%v, buffer of %d: %d full frames may wait, want %d", x.f, x.buffer, got, x.want)
		}
	}
}
