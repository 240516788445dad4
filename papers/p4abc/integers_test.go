package p4abc

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit"
)

// TestFixed_RoundTripsThroughFloatBits checks that an activity is the same in a mark as in a register, and that every
// finite mark is a number or the range's end.
func TestFixed_RoundTripsThroughFloatBits(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	for i := range 100_000 {
		x := Fixed(r.IntN(1<<23) - 1<<22)
		if i < 100 {
			x = Fixed(i - 50)
		}
		if got := math.Float32frombits(x.floatBits()); float64(got) != x.Float() {
			t.Fatalf("%g becomes the mark %g", x.Float(), got)
		}
		if back := fixedFromFloatBits(x.floatBits()); back != x {
			t.Fatalf("%g comes back as %g", x.Float(), back.Float())
		}
	}
	for _, x := range []float32{0, float32(math.Copysign(0, -1)), 1e-30, -1e-30, math.SmallestNonzeroFloat32,
		math.MaxFloat32,
		-math.MaxFloat32, 1e9, -1e9, 16.7654321} {
		got, want := fixedFromFloatBits(math.Float32bits(x)).Float(), float64(x)
		if math.Abs(want) > 1e13 {
			want = math.Copysign(float64(math.MaxInt64)/(1<<fractionBits), want)
		}
		if math.Abs(got-want) > 1.0/(1<<fractionBits) {
			t.Errorf("the mark %g is read as %g", x, got)
		}
	}
}

// TestMixedDomain checks that switches of both arithmetics read each other's marks: an edge of either and a core of
// either.
func TestMixedDomain(t *testing.T) {
	for _, edge := range []bool{false, true} {
		for _, core := range []bool{false, true} {
			e, c, activity := at(t, "edge"), at(t, "core"), func(b *bench) float64 {
				if b.program.integers != nil {
					return b.program.integers.activity.Float()
				}
				return b.program.activity
			}
			for b, whole := range map[*bench]bool{e: edge, c: core} {
				k := b.program.config
				k.Integer = whole
				place := "core"
				if b == e {
					place = "edge"
				}
				*b = *newBenchAt(t, sidesFrom[place], k)
			}
			for i := range 200 {
				e.now = unit.Time(i+1) * unit.Millisecond
				e.send(1)
				c.Receive(e.now, 0, e.take())
				if got, want := activity(c), activity(e); math.Abs(got-want) > 1.0/(1<<fractionBits) {
					t.Fatalf("edge in integers: %v, core: %v: %g is read as %g", edge, core, want, got)
				}
				c.pool.Put(c.take())
			}
			if got, want := c.program.AverageActivity(1), e.program.AverageActivity(1); math.Abs(got-want) > 0.1 {
				t.Errorf("edge in integers: %v, core: %v: A_avg %g and %g", edge, core, want, got)
			}
			// no mark, or one that no edge wrote: one aggregate of the port
			before := activity(c)
			if c.send(2); activity(c) == before {
				t.Error("a frame without a mark has the activity of the one before")
			}
			before = activity(c)
			if c.send(2, withMark(1e30)); activity(c) < before || activity(c) > before+2 {
				t.Errorf("a forged mark is read as %g, frames without have %g", activity(c), before)
			}
		}
	}
}

// TestAdoptArithmetic checks that a reload may change the arithmetic: rates and averages go on.
func TestAdoptArithmetic(t *testing.T) {
	for _, from := range []bool{false, true} {
		for _, to := range []bool{false, true} {
			for _, memory := range []unit.Time{3 * unit.Second, 20 * unit.Second} {
				c := defaults()
				c.Integer = from
				was := newPath(t, c)
				for range 50_000 {
					was.step()
				}
				c.Integer, c.Memory = to, memory
				is := newPath(t, c)
				if kept, lost := is.program.Adopt(was.now, was.program); kept != "its meters" || lost != nil {
					t.Errorf("kept %q, lost %v", kept, lost)
				}
				for _, x := range was.packets {
					a, b := was.program, is.program
					got, want := b.rateAt(was.now, b.findMeter(x)), a.rateAt(was.now, a.findMeter(x))
					if math.Abs(math.Log2(got/want)) > 2*IntegerBound || !from && !to && !testkit.IsNear(got/want, 1,
						testkit.Tolerance{Absolute: 1e-9}) {
						t.Fatalf("integers %v to %v, memory %v: rate %g, was %g", from, to, memory, got, want)
					}
				}
				if got, want := is.program.AverageActivity(1), was.program.AverageActivity(1); math.Abs(got-want) > 0.001 {
					t.Errorf("integers %v to %v: A_avg %g, was %g", from, to, got, want)
				}
				var users [3]User
				if n := is.program.ListActiveUsers(was.now, users[:]); n != 3 || users[0].Activity < users[2].Activity {
					t.Errorf("the most active users are %v", users[:n])
				}
			}
		}
	}
}

// TestIntegerProgram checks that an integer program decides as the exact one does: of a thousand users' packets, one
// queue of any length.
func TestIntegerProgram(t *testing.T) {
	c := paper()
	c.Register = true
	exact := newPath(t, c)
	c.Integer = true
	whole := newPath(t, c)
	other, dropped, r := 0, 0, rand.New(rand.NewPCG(6, 1))
	for range 100_000 {
		x, queue := exact.packets[exact.at], r.Int64N(24)
		exact.program.aqms[1].register, whole.program.aqms[1].register = queue, queue
		exact.step()
		whole.step()
		a, b := exact.program, whole.program
		if d := b.integers.activity.Float() - a.activity; math.Abs(d) > IntegerBound {
			t.Fatalf("packet of user %d at %v: off by %g", x.Src, exact.now, d)
		}
		if exact.dropped {
			dropped++
		}
		if exact.dropped != whole.dropped {
			other++
		}
	}
	if dropped < 5000 || dropped > 80_000 || other > dropped/20 {
		t.Errorf("%d packets of 100,000 are dropped, %d decided otherwise in integers", dropped, other)
	}
}

// TestSpread_DrawsEvenlyOverShare checks that the fair meter's rates are spread evenly over the share that it is given.
func TestSpread_DrawsEvenlyOverShare(t *testing.T) {
	for _, share := range []float64{1, 0.5, 0.1} {
		for name, draw := range map[string]func(s *spread) float64{
			"exact":   func(s *spread) float64 { return s.draw() },
			"integer": func(s *spread) float64 { return s.drawInteger().Float() },
		} {
			s := newSpread(share, unit.NewRandom(1, "spread"))
			const n = 100_000
			rates := make([]float64, n)
			for i := range rates {
				rates[i] = math.Exp2(draw(s))
			}
			slices.Sort(rates)
			for i, x := range rates { // Kolmogorov and Smirnov: 1.95/√n at 0.1 %
				if want := 1 - share + share*float64(i)/n; math.Abs(x-want)/share > 1.95/math.Sqrt(n)+0.001/share {
					t.Fatalf("%s, share %g: the rate with %d of %d below it is %g, want %g", name, share, i, n, x, want)
				}
			}
		}
	}
}

// TestSpreadIsOff checks that without a spread all packets of a rate have its activity, without a draw.
func TestSpreadIsOff(t *testing.T) {
	if p := newPath(t, defaults()); p.program.spread != nil {
		t.Error("the meter of §3.2 draws")
	}
	for _, whole := range []bool{false, true} {
		c := defaults()
		c.Spread, c.Integer = 1, whole
		p, plain := newPath(t, c), newPath(t, defaults())
		sum, least := 0.0, 0.0
		for range 20_000 {
			p.step()
			plain.step()
			a := p.program.activity
			if whole {
				a = p.program.integers.activity.Float()
			}
			sum, least = sum+plain.program.activity-a, min(least, plain.program.activity-a)
		}
		// the mean of −log2 of an even number is 1/ln 2
		if mean := sum / 20_000; math.Abs(mean-math.Log2E) > 0.05 || least < -IntegerBound {
			t.Errorf("integers %v: a mean of %g below R_m's activity, want %g; %g above it", whole, mean, math.Log2E, -least)
		}
	}
}

// TestAdoptWhole checks that a reload keeps a user's received traffic apart from its sent traffic, and A_avg with the
// weight of its past: one further sample does not dominate it.
func TestAdoptWhole(t *testing.T) {
	for _, whole := range []bool{false, true} {
		c := defaults()
		c.Integer = whole
		was, is := newPath(t, c), newPath(t, c)
		for i, x := range was.packets {
			if i%2 == 0 {
				x.Meta.Flags |= packet.ToUser // which its user receives
			}
		}
		for range 50_000 {
			was.step()
		}
		is.program.Adopt(was.now, was.program)
		active := [directions]int{}
		for k := range pathUsers * directions {
			rate := func(a *Program) float64 {
				if own := a.ownAggregate[k/directions]; own >= 0 {
					return a.rateAt(was.now, a.meterAt(own, k%directions))
				}
				return 0
			}
			got, want := rate(is.program), rate(was.program)
			if got != want && !(math.Abs(math.Log2(got/want)) <= IntegerBound) {
				t.Fatalf("integers %v, meter %d: rate %g, was %g", whole, k, got, want)
			}
			if want > 0 {
				active[k%directions]++
			}
		}
		if active[sends] < 50 || active[receives] < 50 {
			t.Fatalf("%v meters have a rate: this tests nothing", active)
		}
		before := is.program.AverageActivity(1)
		is.program.activity = before + 5
		if whole {
			is.program.integers.activity = NewFixed(before + 5)
		}
		is.program.Book(was.env, was.packets[0])
		if got := is.program.AverageActivity(1); got < before || got > before+0.1 {
			t.Errorf("integers %v: one sample takes A_avg from %g to %g", whole, before, got)
		}
	}
}
