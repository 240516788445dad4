package p4abc

import (
	"fmt"
	"math"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit"
)

// form is a form of A_avg in one arithmetic.
type form struct{ perPacket, integer bool }

func (f form) String() string {
	return fmt.Sprintf("average: packets %v, integers %v", f.perPacket, f.integer)
}

// forms are all of them.
var forms = []form{{false, false}, {false, true}, {true, false}, {true, true}}

// config returns the default configuration in a form.
func (f form) config() Config {
	c := defaults()
	c.PerPacket, c.Integer = f.perPacket, f.integer
	return c
}

// setActivity sets the current packet's activity.
func (a *Program) setActivity(x float64) {
	a.activity = x
	if a.integers != nil {
		a.activity, a.integers.activity = 0, NewFixed(x)
	}
}

// accepted is a packet that a port accepted.
type accepted struct {
	at       unit.Time
	activity float64
	size     int32
}

// mean is A_avg as the documentation defines it, by the list of all packets.
func (f form) mean(all []accepted, memory unit.Time) float64 {
	sum, weights := 0.0, 0.0
	for _, x := range all {
		w := math.Exp(-(all[len(all)-1].at - x.at).Seconds() / memory.Seconds())
		y := x.activity
		if !f.perPacket {
			w, y = w*float64(x.size), math.Exp2(x.activity)
		}
		sum, weights = sum+w*y, weights+w
	}
	if f.perPacket {
		return sum / weights
	}
	return math.Log2(sum / weights)
}

// TestAverageForms checks that each form of A_avg is its formula: the mean activity of packets, or log2 of the mean
// rate of bytes.
func TestAverageForms(t *testing.T) {
	for _, f := range forms {
		c := f.config()
		a, err := New(&dataplane.Site{Ports: 2, Book: packet.NewBook()}, c)
		if err != nil {
			t.Fatal(err)
		}
		tolerance := 1e-9
		if f.integer {
			tolerance = 0.1
		}
		if a.AverageActivity(1) != 0 {
			t.Errorf("%v: the average of no packet is %g", f, a.AverageActivity(1))
		}
		r, now, all := unit.NewRandom(1, "accepted"), unit.Time(0), []accepted(nil)
		for range 2000 {
			now += unit.Time(r.ExpFloat64() * 1e9)
			x := accepted{now, NewFixed(10 * r.Float64()).Float(), 64 + r.Int32N(1450)}
			all = append(all, x)
			a.setActivity(x.activity)
			a.addSample(now, x.size, 1)
			if got, want := a.AverageActivity(1), f.mean(all, c.Average); math.Abs(got-want) > tolerance {
				t.Fatalf("%v: A_avg after %d packets is %g, want %g", f, len(all), got, want)
			}
		}
		if a.AverageActivity(0) != 0 {
			t.Errorf("%v: a port without packets has the average %g", f, a.AverageActivity(0))
		}
	}
}

// TestLightUsers checks one heavy user next to users with calls, 100 kb/s each in frames of 167 bytes. With average:
// rate the heavy user's threshold is below Q_base by γ·log2(1/φ), φ its part of the bytes, and the calls' is above it.
// With average: packets the packets of nine calls bring the heavy user down to Q_min.
func TestLightUsers(t *testing.T) {
	const link, call, full, short = 50e6, 100e3, 1514, 167
	for _, f := range forms {
		for _, calls := range []int{1, 9, 39, 100} {
			a, err := New(&dataplane.Site{Ports: 2, Book: packet.NewBook()}, f.config())
			if err != nil {
				t.Fatal(err)
			}
			lights := call * float64(calls)
			heavy, light := Activity(link-lights, 10*unit.Kbps), Activity(call, 10*unit.Kbps)
			bytes := [2]float64{}
			for now := unit.Time(0); now < unit.Second; now += unit.TransmitTime(1514, 50*unit.Mbps) {
				for bytes[1]*(link-lights) < bytes[0]*lights {
					a.setActivity(light)
					a.addSample(now, short, 1)
					bytes[1] += short
				}
				a.setActivity(heavy)
				a.addSample(now, full, 1)
				bytes[0] += full
			}
			threshold := func(activity float64) float64 { return Threshold(activity, a.AverageActivity(1), 6, 20, 16) }
			want := 20 - 16*math.Log2(link/(link-lights))
			switch got := threshold(heavy); {
			case !f.perPacket && math.Abs(got-want) > 16*(IntegerRatesBound+0.01):
				t.Errorf("%v, %d calls: the heavy user's threshold is %g packets, want %g", f, calls, got, want)
			case f.perPacket && calls >= 9 && got != 6:
				t.Errorf("%v, %d calls: the heavy user's threshold is %g packets, not Q_min", f, calls, got)
			}
			if got := threshold(light); got < 20 {
				t.Errorf("%v, %d calls: their threshold is %g packets", f, calls, got)
			}
		}
	}
}

// TestQueueInFullFrames checks that with average: rate, Q is in bytes. Twenty-four frames of a call are below Q_min. As
// many full frames are accepted as with average: packets, also if the given largest frame is too large.
func TestQueueInFullFrames(t *testing.T) {
	for _, f := range forms {
		for _, x := range []struct {
			size, largest int32
			buffer        tm.Limit // that the program knows
			taken         [2]int32 // by form
		}{{1514, 0, tm.Limit{}, [2]int32{7, 7}}, {1514, 1534, tm.Limit{}, [2]int32{7, 7}},
			{1490, 1534, tm.Limit{}, [2]int32{7, 7}}, {200, 1514, tm.Limit{}, [2]int32{24, 7}},
			{9014, 9014, tm.Limit{}, [2]int32{7, 7}}, {200, 1514, tm.Limit{Bytes: 36_000}, [2]int32{24, 7}},
			{200, 1514, tm.Limit{Packets: 24}, [2]int32{21, 7}}, // 20 are 5/6
			{200, 1514, tm.Limit{Packets: 12}, [2]int32{11, 7}}, {200, 1514, tm.Limit{Packets: 6}, [2]int32{7, 7}},
			{1490, 1534, tm.Limit{Packets: 24}, [2]int32{7, 7}}} {
			c := f.config()
			c.QBase = c.QMin
			b, taken, want := newBench(t, c), int32(0), x.taken[0]
			if f.perPacket {
				want = x.taken[1]
			}
			site := &dataplane.Site{Ports: 2, Book: packet.NewBook(), MaxFrame: x.largest,
				Limits: []tm.Limit{x.buffer, x.buffer}}
			b.program.aqms = newAQMs(&c, site)
			if f.integer {
				b.program.integers = newIntegers(&c, b.program)
			}
			for b.now = unit.Second; b.send(1, func(p *packet.Packet) { p.Size = x.size }); {
				taken++
			}
			if taken != want { // the buffer has room for 24
				t.Errorf("%v, frames of %d bytes, buffer of %+v: %d wait, want %d", f, x.size, x.buffer, taken, want)
			}
		}
	}
}

// TestHighestRate checks that a user's activity counts as at most four times the port's rate. Its first packets,
// measured over no time, neither dominate the average for seconds nor get a single user dropped at Q_min.
func TestHighestRate(t *testing.T) {
	for _, f := range forms {
		if f.perPacket {
			continue
		}
		a := roomBench(t, f.config(), tm.Limit{})
		measure := func(activity float64) {
			if a.activity = activity; a.integers != nil {
				a.integers.activity = NewFixed(activity)
			}
		}
		measure(30)
		a.addSample(0, 1514, 1)
		if got, want := a.AverageActivity(1), math.Log2(4*50e6/10e3); !testkit.IsNear(got, want,
			testkit.Tolerance{Absolute: 0.01}) {
			t.Errorf("%v: A_avg is %g after a packet of activity 30, want %g", f, got, want)
		}
		if n := a.accepts(); n != 20 && (n != 19 || !f.integer) { // integers round
			t.Errorf("%v: a lone user has a threshold of %d frames, want Q_base", f, n)
		}
		measure(10)
		for i := range 5 { // a second and a half
			a.addSample(unit.Time(i)*300*unit.Millisecond, 1514, 1)
		}
		if got := a.AverageActivity(1); got > 12 {
			t.Errorf("%v: A_avg is %g after 1.2 s of activity 10", f, got)
		}
	}
}

// TestIntegerRatesAfterSilence checks that after a long silence the average in integers follows a later packet, however
// slow its user is.
func TestIntegerRatesAfterSilence(t *testing.T) {
	const memory = 300 * unit.Millisecond
	s := newSlots(memory)
	for _, silence := range []unit.Time{memory, 10 * memory, 30 * memory, 100 * memory} {
		var whole IntegerRates
		whole.Update(0, NewFixed(20), 1514, s)
		whole.Update(silence, NewFixed(0), 64, s)
		decayed := math.Exp(-silence.Seconds() / memory.Seconds())
		want := math.Log2((1514*math.Exp2(20)*decayed + 64) / (1514*decayed + 64))
		if got := whole.Value().Float(); math.Abs(got-want) > IntegerRatesBound+0.05 { // a slot's age changes both sums
			t.Errorf("after %v: %g, want %g", silence, got, want)
		}
	}
}

// TestIntegerRates checks that the integer average of rates is within IntegerRatesBound of the exact one for any
// traffic, from one packet a second to a million, in memories of 10 ms to 10 s, for users from 10 kb/s to 10 Gb/s at a
// reference of 10 kb/s.
func TestIntegerRates(t *testing.T) {
	worst := 0.0
	for name, next := range arrivals {
		for _, memory := range []unit.Time{10 * unit.Millisecond, 300 * unit.Millisecond, 10 * unit.Second} {
			for _, rate := range []float64{1, 1e3, 1e6} {
				r, s, now, level := unit.NewRandom(1, name), newSlots(memory), unit.Time(0), 10.0
				var exact Average
				var whole IntegerRates
				for i := range 4000 {
					gap, size := next(r, i, 1e12/rate)
					now += unit.Time(gap)
					if i%200 == 0 {
						level = 20 * r.Float64()
					}
					x := NewFixed(level + r.NormFloat64()/4)
					exact.Update(now, math.Exp2(x.Float()), float64(size), memory)
					whole.Update(now, x, size, s)
					d := math.Abs(whole.Value().Float() - math.Log2(exact.Value()))
					if worst = max(worst, d); d > IntegerRatesBound {
						t.Fatalf("%s, %v, %g packets/s, packet %d: off by %g", name, memory, rate, i, d)
					}
				}
			}
		}
	}
	if worst < IntegerRatesBound/2 {
		t.Errorf("the largest difference is %.4f: the bound of %g is loose", worst, IntegerRatesBound)
	}
}

// TestIntegerRatesRange checks that the bytes stay at their largest value, and that a silence of any length leaves the
// last packet's activity.
func TestIntegerRatesRange(t *testing.T) {
	s := newSlots(300 * unit.Millisecond)
	a := newIntegerRates(NewFixed(5), math.MaxUint64-1, 0)
	if a.Update(1, NewFixed(5), 1514, s); a.bytes != math.MaxUint64 {
		t.Errorf("%d bytes", a.bytes)
	}
	if d := a.Value().Float() - 5; math.Abs(d) > IntegerRatesBound {
		t.Errorf("the average of 5 is off by %g", d)
	}
	for _, silence := range []unit.Time{unit.Second, 3 * unit.Second, 10 * unit.Second, 100 * unit.Second, 1 << 62} {
		for _, x := range []float64{-15, 0, 5, maxHonest} {
			a := newIntegerRates(NewFixed(5), 1<<(20+sumPlaces), 0) // of 2^20 bytes
			a.Update(silence, NewFixed(x), 64, s)
			weight := math.Exp2(20) * math.Exp(-silence.Seconds()/0.3)
			past := math.Exp2(5) * weight
			want := math.Log2((past + 64*math.Exp2(x)) / (weight + 64))
			if d := a.Value().Float() - want; math.Abs(d) > 0.2 { // a slot too many of that silence, and its decay
				t.Errorf("activity %g after %v: %g, want %g", x, silence, a.Value().Float(), want)
			}
		}
	}
}

// TestAdoptForms checks that a reload between any forms and arithmetics keeps A_avg and the weight of its past: the
// next sample moves the new average as far as it would have moved the old one. Between packets and bytes a packet is a
// full frame, here about twice the mean.
func TestAdoptForms(t *testing.T) {
	const packets = 2400 // of 782 bytes on average, in M_AA
	for _, from := range forms {
		for _, to := range forms {
			was, is := newPath(t, from.config()), newPath(t, to.config())
			for range 20_000 {
				was.step()
			}
			is.program.Adopt(was.now, was.program)
			before := was.program.AverageActivity(1)
			if got := is.program.AverageActivity(1); math.Abs(got-before) > 0.003 {
				t.Errorf("%v to %v: A_avg %g, was %g", from, to, got, before)
			}
			start := is.program.AverageActivity(1)
			is.program.setActivity(before + 8)
			is.program.addSample(was.now, 782, 1)
			got, want, limit := is.program.AverageActivity(1)-start, math.Log2(1+255.0/packets), 1.3
			if to.perPacket {
				want = 8.0 / packets
			}
			if from.perPacket != to.perPacket {
				limit = 2.5
			}
			if got > want*limit || got < want/limit {
				t.Errorf("%v to %v: a sample moves A_avg by %g, want %g", from, to, got, want)
			}
		}
	}
}
