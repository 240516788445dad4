package cc_test

import (
	"fmt"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cctest"
	"weir/core/cc/none"
	"weir/core/unit"
)

// path returns a flow on a path with the given line rate and round trip.
func path(rate unit.Rate, rtt unit.Time) cc.Flow {
	return cctest.NewFlow(1, cctest.SetPath(cc.Path{LineRate: rate, BaseRTT: rtt}))
}

// TestBoundedWindow follows HPCC §5.1, +win: the window is B·T. The simulator's GetWin with VAR_WIN is
// m_win·rate/max_rate, at least a byte, and IsWinBound lets a packet go while less is in flight.
func TestBoundedWindow(t *testing.T) {
	for _, c := range []struct {
		rate, line unit.Rate
		rtt        unit.Time
		variable   bool
		packets    unit.Bytes
	}{
		{100 * unit.Gbps, 100 * unit.Gbps, 12240 * unit.Nanosecond, false, 153}, // maxBdp of fat.txt: 153000 B
		{100 * unit.Gbps, 100 * unit.Gbps, 12240 * unit.Nanosecond, true, 153},
		{1 * unit.Gbps, 100 * unit.Gbps, 12240 * unit.Nanosecond, false, 153},
		{50 * unit.Gbps, 100 * unit.Gbps, 12240 * unit.Nanosecond, true, 77},   // 76500 B: 76 packets are less
		{1 * unit.Gbps, 100 * unit.Gbps, 12240 * unit.Nanosecond, true, 2},     // 1530 B
		{100 * unit.Mbps, 100 * unit.Gbps, 12240 * unit.Nanosecond, true, 1},   // 153 B
		{1, 100 * unit.Gbps, 12240 * unit.Nanosecond, true, 1},                 // 0 B count as one
		{100 * unit.Gbps, 100 * unit.Gbps, 1, false, 1},                        // as above
		{unit.Tbps, unit.Tbps, 1000 * unit.Second, true, cc.Unlimited},         // beyond all windows
		{0, 100 * unit.Gbps, 12240 * unit.Nanosecond, true, 153},               // not paced: the line's rate
		{100 * unit.Gbps, 100 * unit.Gbps, 12241 * unit.Nanosecond, true, 154}, // 153012 B
	} {
		t.Run(fmt.Sprintf("%v of %v, %v, variable %v", c.rate, c.line, c.rtt, c.variable), func(t *testing.T) {
			f := path(c.line, c.rtt)
			inner := none.New(path(0, 0), none.Config{Rate: c.rate})
			b, err := cc.NewBoundedWindow(inner, f, c.variable)
			if err != nil {
				t.Fatal(err)
			}
			if d := b.Decision(); d.Window != c.packets*1000 || d.Rate != c.rate || d.NextTimer != unit.Never {
				t.Errorf("%v of %v, %v, variable %v: %+v, want %d packets", c.rate, c.line, c.rtt, c.variable, d, c.packets)
			}
		})
	}
	for _, f := range []cc.Flow{path(0, unit.Microsecond), path(unit.Gbps, 0), {Path: cc.Path{LineRate: 1, BaseRTT: 1}}} {
		t.Run(fmt.Sprintf("line %v, base RTT %v", f.LineRate, f.BaseRTT), func(t *testing.T) {
			bound := cc.RateConfig{Window: cc.BDPWindow}
			if _, err := bound.WrapController(none.New(f, none.Config{}), f); err == nil {
				t.Errorf("a bandwidth-delay product of %v and %v is known", f.LineRate, f.BaseRTT)
			}
			bound.Window = cc.NoWindow
			if _, err := bound.WrapController(none.New(f, none.Config{}), f); err != nil {
				t.Error(err)
			}
		})
	}
	b, err := cc.NewBoundedWindow(none.New(path(0, 0), none.Config{Packets: 3}), path(100*unit.Gbps, 12*unit.Microsecond),
		false)
	if err != nil || b.Decision().Window != 3000 {
		t.Errorf("a smaller window of the controller's own is not kept: %v, %v", b.Decision().Window, err)
	}
}

// TestVariableWindowIsMonotone checks that a smaller rate never has a larger variable window.
func TestVariableWindowIsMonotone(t *testing.T) {
	f := path(40*unit.Gbps, 25*unit.Microsecond)
	last := unit.Bytes(0)
	for rate := unit.Mbps; rate <= f.LineRate; rate += 7 * unit.Mbps {
		b, err := cc.NewBoundedWindow(none.New(path(0, 0), none.Config{Rate: rate}), f, true)
		if err != nil {
			t.Fatal(err)
		}
		w := b.Decision().Window
		if w < last || w > 125_000 {
			t.Fatalf("rate %v: window %v, and %v at a smaller one", rate, w, last)
		}
		last = w
	}
}

// TestPathConfig checks that parameters override the caller's values of the path.
func TestPathConfig(t *testing.T) {
	for _, c := range []struct {
		name   string
		config cc.PathConfig
		want   cc.Path
	}{
		{"nothing given", cc.PathConfig{}, cc.Path{LineRate: 5, BaseRTT: 6}},
		{"both given", cc.PathConfig{LineRate: 7, BaseRTT: 8}, cc.Path{LineRate: 7, BaseRTT: 8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if f := c.config.ApplyTo(path(5, 6)); f.Path != c.want {
				t.Errorf("%+v, want %+v", f.Path, c.want)
			}
		})
	}
}

func ExampleNewBoundedWindow() {
	f := cc.Flow{MSS: 1000, Path: cc.Path{LineRate: 100 * unit.Gbps, BaseRTT: 12 * unit.Microsecond}}
	half := none.New(f, none.Config{Rate: 50 * unit.Gbps})
	b, _ := cc.NewBoundedWindow(half, f, true)
	fmt.Println(b.Decision().Rate, b.Decision().Window)
	// Output: 50Gbps 75kB
}
