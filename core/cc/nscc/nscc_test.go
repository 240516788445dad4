package nscc_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"weir/core/cc/nscc"
	"weir/core/scheme"
	"weir/core/unit"
)

// event is a line of a trace.
type event struct {
	nack    bool
	at, rtt unit.Time
	bytes   int64
	marked  bool
	flight  int64
	average unit.Time // −1: not said
	window  int64
}

// read gives the events of a trace of the simulator.
func read(t testing.TB, name string) (events []event) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		x := strings.Split(lines.Text(), ",")
		if len(x) != 8 || x[0] != "A" && x[0] != "N" {
			continue
		}
		number := func(i int) int64 {
			if x[i] == "" {
				return -1
			}
			v, err := strconv.ParseInt(x[i], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		events = append(events, event{nack: x[0] == "N", at: unit.Time(number(1)), bytes: number(2),
			rtt: unit.Time(number(3)), marked: x[4] == "1", flight: number(5), average: unit.Time(number(6)),
			window: number(7)})
	}
	return events
}

func take(l *nscc.Law, e event) {
	if e.nack {
		l.OnNack(e.at, nscc.Nack{Bytes: e.bytes, RTT: e.rtt, InFlight: e.flight})
		return
	}
	l.OnAck(e.at, nscc.Ack{Bytes: e.bytes, Marked: e.marked, RTT: e.rtt, InFlight: e.flight})
}

func site(rate unit.Rate, rtt unit.Time) nscc.Conditions {
	return nscc.Conditions{Frame: 4150, Payload: 4086, Rate: rate, RTT: rtt}
}

// TestLaw_MatchesSimulatorTraces checks that windows and average delays agree with each line of the simulator's traces,
// in whole bytes and picoseconds.
func TestLaw_MatchesSimulatorTraces(t *testing.T) {
	for _, c := range []struct {
		name  string
		rate  unit.Rate
		rtt   unit.Time
		lines int
	}{
		{"nscc_trace_2to1_100g_notrim.csv", 100 * unit.Gbps, 14_022_720, 391},
		{"nscc_trace_2to1_400g_trim.csv", 400 * unit.Gbps, 12_505_680, 533},
		{"nscc_trace_inc32_400g_qa.csv", 400 * unit.Gbps, 12_505_680, 710},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := nscc.New(nscc.Defaults(), site(c.rate, c.rtt))
			events := read(t, c.name)
			if len(events) != c.lines {
				t.Fatalf("%d events", len(events))
			}
			for i, e := range events {
				take(l, e)
				if l.Window() != e.window || e.average >= 0 && l.AverageDelay() != e.average {
					t.Fatalf("event %d at %v: window %d and average %d, the trace has %d and %d", i, e.at, l.Window(),
						int64(l.AverageDelay()), e.window, int64(e.average))
				}
			}
		})
	}
}

// TestLaw_AdjustsBeyond32Bits checks adjustments beyond 32 bits, which a few acknowledgements reach at 800 Gb/s. There
// the simulator's window falls behind, and Weir's follows the law: the difference of an adjustment is a whole turn of
// the counter over the window.
func TestLaw_AdjustsBeyond32Bits(t *testing.T) {
	const rate, rtt = 800 * unit.Gbps, unit.Time(12_250_000)
	l := nscc.New(nscc.Defaults(), site(rate, rtt))
	const frame, payload = 4150.0, 4086.0
	bdp := float64(int64(rtt.Seconds() * float64(rate) / 8))
	scale := bdp / 150_000
	// Four full acknowledgements of four packets, above the target and without a mark: fair increase.
	before := l.Window()
	now := unit.Time(0)
	for range 3 { // leaves the largest window
		l.OnTimeout(before / 4)
	}
	start := l.Window()
	exact := int64(0)
	var turned uint32
	for range 3 {
		now += unit.Microsecond
		l.OnAck(now, nscc.Ack{Bytes: 4 * frame, RTT: rtt + 10*unit.Microsecond, InFlight: 1_000_000})
		exact = int64(float64(exact) + 5*payload*scale*4*frame)
		turned = uint32(exact)
	}
	if exact <= 1<<32 {
		t.Fatalf("an increase of %d fits into 32 bits", exact)
	}
	ours, wrapped := l.Window()-start, int64(turned)/start
	if want := exact / start; ours != want || ours-wrapped != want-wrapped || ours <= wrapped {
		t.Errorf("the window grows by %d; the law says %d, and a counter of 32 bits %d", ours, want, wrapped)
	}
	t.Logf("window + %d; with 32 bits + %d", ours, wrapped)
}

// FuzzLaw_KeepsWindowBounds checks that for any order of events the window is neither below a packet nor above the
// maximum window.
func FuzzLaw_KeepsWindowBounds(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, kind uint8) {
		r := rand.New(rand.NewPCG(seed, uint64(kind)))
		rate := []unit.Rate{unit.Gbps, 100 * unit.Gbps, 400 * unit.Gbps, 1600 * unit.Gbps}[kind%4]
		s := site(rate, 12*unit.Microsecond)
		s.Credit = kind&4 != 0
		l := nscc.New(nscc.Defaults(), s)
		now, most := unit.Time(0), l.MaxWindow()
		for range 300 {
			now += unit.Time(r.Int64N(int64(5 * unit.Microsecond)))
			e := event{nack: r.IntN(5) == 0, at: now, rtt: unit.Time(r.Int64N(int64(100 * unit.Microsecond))),
				bytes: r.Int64N(60_000), marked: r.IntN(2) == 0, flight: r.Int64N(2_000_000)}
			take(l, e)
			switch r.IntN(20) {
			case 0:
				l.OnTimeout(e.bytes)
			case 1:
				l.ApplyPenalty(e.bytes, uint8(r.IntN(256)))
			}
			if w := l.Window(); w < 4150 || w > most {
				t.Fatalf("window %d, between 4150 and %d", w, most)
			}
		}
	})
}

// TestLaw_HandlesMarkAndDelayCases checks the four cases: a mark without delay changes no window. With a long delay the
// window falls once a round trip, and keeps at least its share.
func TestLaw_HandlesMarkAndDelayCases(t *testing.T) {
	const rtt = 12 * unit.Microsecond
	c := nscc.Defaults()
	c.QuickAdapt = false
	fresh := func() *nscc.Law { return nscc.New(c, site(100*unit.Gbps, rtt)) }
	marked := nscc.Ack{Bytes: 4150, Marked: true, RTT: rtt + unit.Microsecond}
	l := fresh()
	l.OnAck(rtt/2, marked)
	if l.Window() != l.MaxWindow() {
		t.Errorf("a mark without delay: %d of %d", l.Window(), l.MaxWindow())
	}
	marked.RTT = 100 * rtt
	falls, last := 0, l.Window()
	for i := range 40 {
		l.OnAck(rtt+unit.Time(i)*rtt/10, marked)
		if w := l.Window(); w < last {
			if falls++; w < last/2 {
				t.Errorf("from %d to %d", last, w)
			}
			last = w
		}
	}
	if falls < 3 || falls > 5 {
		t.Errorf("%d decreases in four round trips", falls)
	}
	// the receiver's penalty: no effect with 255, the full one with 0
	l = fresh()
	l.ApplyPenalty(10_000, 255)
	if l.Window() != l.MaxWindow() {
		t.Error("no penalty takes something")
	}
	if l.ApplyPenalty(10_000, 0); l.Window() != l.MaxWindow()-10_000 {
		t.Errorf("%d", l.Window())
	}
	// trims at the last hop are the receiver's business where it gives credit
	s := site(100*unit.Gbps, rtt)
	s.Credit = true
	l = nscc.New(c, s)
	if l.OnNack(rtt, nscc.Nack{Bytes: 4150, LastHop: true}); l.Window() != l.MaxWindow() {
		t.Error("a trim at the last hop takes something beside credit")
	}
	if l.OnNack(rtt, nscc.Nack{Bytes: 4150}); l.Window() != l.MaxWindow()-4150 {
		t.Error("a trim elsewhere takes nothing")
	}
}

// TestBadConstants checks that a constant out of its range is refused with the allowed range.
func TestBadConstants(t *testing.T) {
	for name, change := range map[string]func(c *nscc.Config){
		"least_kept":   func(c *nscc.Config) { c.MinKept = 0 },
		"quick_gate":   func(c *nscc.Config) { c.QuickGate = 31 },
		"max_window":   func(c *nscc.Config) { c.MaxWindow = 0 },
		"gamma":        func(c *nscc.Config) { c.Gamma = 2 },
		"fast":         func(c *nscc.Config) { c.FastIncrease = -1 },
		"target":       func(c *nscc.Config) { c.Target = -1 },
		"delay_weight": func(c *nscc.Config) { c.Weight = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			c := nscc.Defaults()
			change(&c)
			if err := scheme.Validate(&c); err == nil || !strings.Contains(err.Error(), name) ||
				!strings.Contains(err.Error(), "allowed") {
				t.Errorf("%v", err)
			}
		})
	}
}

// Example starts a sender in a network of 100 Gb/s. Its first window is one and a half times the path's capacity.
func Example() {
	l := nscc.New(nscc.Defaults(), nscc.Conditions{Frame: 4150, Payload: 4086, Rate: 100 * unit.Gbps,
		RTT: 12 * unit.Microsecond})
	fmt.Println(l.Window())
	l.OnNack(unit.Microsecond, nscc.Nack{Bytes: 4150, RTT: 13 * unit.Microsecond, InFlight: 200_000})
	fmt.Println(l.Window())
	// Output:
	// 225000
	// 220850
}
