package p4abc

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"slices"
	"testing"

	"weir/core/unit"
)

// both is an exact and an integer meter of one user.
type both struct {
	exact  Meter
	whole  IntegerMeter
	slots  *slots
	memory unit.Time
	worst  float64
}

func newBoth(start, memory unit.Time) *both {
	s := newSlots(memory)
	return &both{NewMeter(start), NewIntegerMeter(start, s), s, memory, 0}
}

// packet gives both a packet and returns by how much the integer activity is above the exact one.
func (b *both) packet(now unit.Time, size int) float64 {
	const reference = 10 * unit.Kbps
	b.exact.Update(now, float64(size)*8, b.memory)
	b.whole.Update(now, size, b.slots)
	d := b.whole.Activity(now, b.slots.logReference(reference), b.slots).Float() -
		Activity(b.exact.RateAt(now, b.memory), reference)
	b.worst = max(b.worst, math.Abs(d))
	return d
}

// arrivals are kinds of traffic: each returns the gap to the next packet, and the packet's size, given the
// mean gap.
var arrivals = map[string]func(r unit.Random, i int, gap float64) (float64, int){
	"constant":  func(_ unit.Random, _ int, gap float64) (float64, int) { return gap, 1490 },
	"Poisson":   func(r unit.Random, _ int, gap float64) (float64, int) { return r.ExpFloat64() * gap, 64 + r.IntN(1437) },
	"in trains": func(_ unit.Random, i int, gap float64) (float64, int) { return float64(i%64/63) * 64 * gap, 1490 },
	"on and off": func(r unit.Random, i int, gap float64) (float64, int) {
		if i%1000 == 999 {
			return r.ExpFloat64() * 1e4 * gap, 1490
		}
		return gap / 10, 1490
	},
	"heavy tail": func(r unit.Random, _ int, gap float64) (float64, int) {
		return gap / 3 * math.Pow(1-r.Float64(), -1/1.5), 40 + r.IntN(9000)
	},
	"a burst, then little": func(_ unit.Random, i int, gap float64) (float64, int) {
		if i < 3000 {
			return gap / 100, 9000
		}
		return gap * 10, 64
	},
}

// TestIntegerMeter checks that activity is within IntegerBound of the exact one for any traffic, from 1 packet a second
// to 10 million, 10 kb/s to 100 Gb/s and beyond, memories of 10 ms to 10 s, from the first packet on.
func TestIntegerMeter(t *testing.T) {
	worst := 0.0
	for name, next := range arrivals {
		for _, memory := range []unit.Time{10 * unit.Millisecond, 77 * unit.Millisecond, 300 * unit.Millisecond,
			3 * unit.Second,
			10 * unit.Second} {
			for _, rate := range []float64{1, 30, 1e3, 1e5, 1e7} {
				t.Run(fmt.Sprintf("%s, %v, %g packets/s", name, memory, rate), func(t *testing.T) {
					r := unit.NewRandom(1, name)
					b, now := newBoth(0, memory), unit.Time(0)
					for i := range 6000 {
						gap, size := next(r, i, 1e12/rate)
						now += unit.Time(gap)
						if d := b.packet(now, size); math.Abs(d) > IntegerBound {
							t.Fatalf("packet %d at %v: off by %g", i, now, d)
						}
					}
					worst = max(worst, b.worst)
				})
			}
		}
	}
	t.Logf("the largest difference is %.4f", worst)
}

// TestIntegerBound checks that the bound holds and is nearly reached: a packet at the end of a slot is a slot old a
// moment later, one at its start is new until its end, in the shortest memory with 32 slots.
func TestIntegerBound(t *testing.T) {
	const slot = unit.Time(1) << 36
	high, low := newBoth(0, 32*slot), newBoth(0, 32*slot)
	if high.slots.shift != 36 {
		t.Fatalf("slots of 2^%d ps", high.slots.shift)
	}
	high.packet(400*slot, 1_000_000)
	low.packet(401*slot-1, 1_000_000)
	if d := high.packet(401*slot-1, 1); d > IntegerBound || d < 0.04 {
		t.Errorf("off by %g, want 0.045 at most", d)
	}
	if d := low.packet(401*slot, 1); d < -IntegerBound || d > -0.04 {
		t.Errorf("off by %g, want −0.045 at most", d)
	}
	if IntegerBound > 0.1 {
		t.Error("the bound is above the 0.1 that is allowed")
	}
}

// TestIntegerStart checks the first moments of a measurement: T is the time since its start, however short, anywhere in
// a slot.
func TestIntegerStart(t *testing.T) {
	for _, start := range []unit.Time{0, 1, 12345678901, 3 * unit.Second} {
		for after := unit.Time(1); after < 100*unit.Second; after += after/5 + 1 {
			b := newBoth(start, 3*unit.Second)
			if d := b.packet(start+after, 1490); math.Abs(d) > IntegerBound {
				t.Errorf("begun at %v, first packet after %v: off by %g", start, after, d)
			}
		}
		b := newBoth(start, 3*unit.Second)
		if d := b.packet(start, 1490); d != 0 || b.whole.Activity(start, 0, b.slots) != 0 {
			t.Errorf("a packet at the very start: activity %v", b.whole.Activity(start, 0, b.slots))
		}
	}
}

// TestIntegerClock checks hours and months of silence, up to the end of time's range: S falls to 0 and no counter
// wraps.
func TestIntegerClock(t *testing.T) {
	for _, memory := range []unit.Time{unit.Microsecond, 10 * unit.Millisecond, 3 * unit.Second, 3600 * unit.Second} {
		for _, idle := range []unit.Time{3600 * unit.Second, 36000 * unit.Second, unit.Time(1) << 62} {
			b := newBoth(0, memory)
			for i := range 100 {
				b.packet(unit.Time(i+1)*(memory/20+1), 1490)
			}
			if d := b.packet(idle+memory*5+100, 64); math.Abs(d) > IntegerBound {
				t.Errorf("memory %v, after %v: off by %g", memory, idle, d)
			}
		}
		// any number of slots, around where places of their number end
		for i := range 50 {
			for _, n := range []int64{-1, 0, 1} {
				b := newBoth(0, memory)
				b.packet(memory, 150_000)
				at := memory + unit.Time(max(1<<i+n, 0))<<b.slots.shift
				if at < memory {
					continue
				}
				if d := b.packet(at, 64); math.Abs(d) > IntegerBound {
					t.Errorf("memory %v, after 2^%d%+d slots: off by %g", memory, i, n, d)
				}
			}
		}
	}
}

// TestIntegerOverflow checks that S stays at its register's maximum, and falls again.
func TestIntegerOverflow(t *testing.T) {
	s := newSlots(3600 * unit.Second)
	m := NewIntegerMeter(0, s)
	for i := range 100 {
		before := m.sum
		m.Update(unit.Time(i+1)*unit.Microsecond, 1<<47, s)
		if m.sum < before {
			t.Fatalf("packet %d: S falls from %d to %d", i, before, m.sum)
		}
	}
	if m.sum != math.MaxUint64 {
		t.Errorf("S is %d, this tests nothing", m.sum)
	}
	m.Update(3600*unit.Second, 64, s)
	if x := float64(m.sum) / math.MaxUint64; math.Abs(x-math.Exp(-1)) > 0.02 {
		t.Errorf("a memory later %g of S is left, want 1/e", x)
	}
}

// TestIntegerAverage checks that A_avg in integers follows the exact one within the slots' effect on the samples' ages,
// M/32, and 0.15 % of the changes in a slot.
func TestIntegerAverage(t *testing.T) {
	for _, memory := range []unit.Time{10 * unit.Millisecond, 300 * unit.Millisecond, 10 * unit.Second} {
		for _, rate := range []float64{1, 100, 1e4, 1e6} {
			t.Run(fmt.Sprintf("%v, %g samples/s", memory, rate), func(t *testing.T) {
				r, s := unit.NewRandom(1, "samples"), newSlots(memory)
				var exact Average
				var whole IntegerAverage
				if whole.Value() != 0 {
					t.Error("an average of nothing is not 0")
				}
				now, level := unit.Time(0), 10.0
				for i := range 20_000 {
					now += unit.Time(r.ExpFloat64() * 1e12 / rate)
					if i%500 == 0 {
						level = -3 + 20*r.Float64()
					}
					x := NewFixed(level + r.NormFloat64()/4)
					before := exact.Value()
					exact.Update(now, x.Float(), 1, memory)
					whole.Update(now, x, s)
					// at a step of 20 weights that are wrong by 1/32 mean 1/4 of 1/32 of 20 at most
					if d := whole.Value().Float() - exact.Value(); math.Abs(d) > 0.2 {
						t.Fatalf("sample %d at %v: %g, want %g (before %g)", i, now, whole.Value().Float(), exact.Value(), before)
					}
				}
			})
		}
	}
}

// TestIntegerAverageOfOne checks that a sample that is always the same is the average, from the first on, without
// drift: a difference of less than 64 units, 0.001, adds less than a unit in a slot.
func TestIntegerAverageOfOne(t *testing.T) {
	s := newSlots(300 * unit.Millisecond)
	for _, x := range []float64{-7, 0.01, 12.3456, 23} {
		var a IntegerAverage
		for i := range 100_000 {
			a.Update(unit.Time(i)*200*unit.Microsecond, NewFixed(x), s)
			if d := a.Value() - NewFixed(x); i == 0 && math.Abs(d.Float()) > 0.002*math.Abs(x) || i > 2000 &&
				(d > 64 || d < -64) {
				t.Fatalf("sample %d: average %g of %g", i, a.Value().Float(), x)
			}
		}
	}
}

// TestIntegerThreshold checks that equation (2) decides alike, except where the queue is at the threshold.
func TestIntegerThreshold(t *testing.T) {
	for _, c := range []struct{ qMin, qBase, gamma float64 }{{6, 20, 16}, {9000, 30000, 24000}, {1, 10, 0.5}, {0, 0, 1}} {
		w := integers{perPacket: true, ports: []integerAQM{{qMin: NewFixed(c.qMin), qBase: NewFixed(c.qBase),
			gamma: productBy(c.gamma), maxRate: maxHonest << fractionBits}}}
		for above := -3.0; above < 3; above += 0.01 {
			x := NewFixed(above)
			want := Threshold(x.Float(), 0, c.qMin, c.qBase, c.gamma)
			for _, q := range []float64{0, math.Floor(want - 1), math.Ceil(want + 1), 1e6} {
				w.activity = x
				if q >= 0 && w.exceedsThreshold(int64(q), 0) != (q > want) {
					t.Errorf("%+v: queue %g, activity %g above average, threshold %g", c, q, x.Float(), want)
				}
			}
		}
	}
}

// TestIntegerOperations checks that for a packet the integer variant only adds, shifts, compares and looks up. Its
// functions neither multiply nor divide, have no floating-point numbers, and call no function that does.
func TestIntegerOperations(t *testing.T) {
	configured := []string{"NewFixed", "Float", "newCurve", "signedDigits", "productBy", "newPortion", "newSlots",
		"logReference", "newIntegers", "rateAt", "continueMeter", "exportAverage", "adoptAverage", "newSpread", "draw",
		"bindClasses", "checkQueues", "addDelays", "newRoom", "maxRoom", "newRoomPortions", "byteTime", "maxRateInteger"}
	calls := []string{"len", "max", "min", "Fixed", "uint64", "int64", "uint32", "int", "Len64", "Add64", "findMeter",
		"parseMark", "Uint32", "TrailingZeros32", "uint8", "Time", "maxMarkFrom"}
	files, functions := token.NewFileSet(), map[string]*ast.FuncDecl{}
	for _, name := range []string{"fixed.go", "integer.go", "integers.go", "spread.go", "classes.go", "room.go"} {
		f, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && !slices.Contains(configured, fn.Name.Name) {
				functions[name+": "+fn.Name.Name] = fn
				calls = append(calls, fn.Name.Name)
			}
		}
	}
	if len(functions) < 10 {
		t.Fatalf("only %d functions: this tests nothing", len(functions))
	}
	for name, fn := range functions {
		ast.Inspect(fn, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.BinaryExpr:
				if x.Op == token.MUL || x.Op == token.QUO || x.Op == token.REM {
					t.Errorf("%s calculates %v", name, x.Op)
				}
			case *ast.AssignStmt:
				if x.Tok == token.MUL_ASSIGN || x.Tok == token.QUO_ASSIGN || x.Tok == token.REM_ASSIGN {
					t.Errorf("%s calculates %v", name, x.Tok)
				}
			case *ast.Ident:
				if x.Name == "float64" {
					t.Errorf("%s has a %s", name, x.Name)
				}
			case *ast.CallExpr:
				called := ""
				switch f := x.Fun.(type) {
				case *ast.Ident:
					called = f.Name
				case *ast.SelectorExpr:
					called = f.Sel.Name
				}
				if !slices.Contains(calls, called) {
					t.Errorf("%s calls %s", name, called)
				}
			}
			return true
		})
	}
}
