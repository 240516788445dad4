package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"weir/core/unit"
	"weir/study/report"
)

// turns returns a row of goodputs in Mb/s. A value below 0 is a disturbed turn.
func turns(name string, goodputs ...float64) *SwitchRow {
	r := &SwitchRow{Name: name}
	for i, g := range goodputs {
		t := &SwitchTurn{Goodput: g * 1e6, Packets: g * 100, CPU: 0.95, Late: []float64{8e-6, 50e-6, 200e-6, 1e-3}}
		if g < 0 {
			t.Goodput, t.Disturbed, t.Repeats, t.Lost = -t.Goodput, []string{"others used 90 % of a core"}, 3, 7
		}
		for k := range 100 {
			t.echoes = append(t.echoes, 10*unit.Millisecond+unit.Time(i*100+k)*unit.Microsecond)
		}
		r.Turns = append(r.Turns, t)
	}
	return r
}

// figures returns the figures of a direct way, of two programs, and of a rate.
func figures(direct, forward, abc *SwitchRow) *SwitchFigures {
	f := &SwitchFigures{Name: "switch", Runs: 3, Time: 2, Cores: 2, CPU: "a processor", Kernel: "6.18",
		Unshaped: []*SwitchRow{direct, forward, abc}}
	for _, r := range f.Unshaped {
		r.minRatio, _ = minRatio(r.Name)
		r.summarize(direct)
	}
	for name, rate := range map[string]float64{"50Mbps": 50} {
		r := turns(name, rate*1448/1514, rate*1448/1514*1.001, -rate)
		r.Share, r.Delay = rate*1e6*1448/1514, 10e-3
		r.summarize(nil)
		f.Shaped = append(f.Shaped, r)
	}
	f.addBars()
	return f
}

func verdicts(f *SwitchFigures) string {
	var all []string
	for _, b := range f.Bars {
		all = append(all, b.Verdict)
	}
	return strings.Join(all, " ")
}

// TestSwitchFigures checks that ratios are of one round, and of rounds in which neither way was disturbed. Medians are
// over undisturbed turns. Without any there is no verdict.
func TestSwitchFigures(t *testing.T) {
	direct, forward := turns(direct, 4000, 8000, -1000), turns("forward", 1200, 2000, 900)
	f := figures(direct, forward, turns("abc", -500, -600, 100))
	if forward.Ratio != 0.3 || forward.Compared != 2 || forward.Goodput != 1200e6 || forward.MinGoodput != 900e6 ||
		forward.MaxGoodput != 2000e6 {
		t.Errorf("%+v", forward)
	}
	if direct.Goodput != 8000e6 || direct.Disturbed != 1 || direct.Repeats != 3 || direct.Lost != 7 ||
		direct.MinGoodput != 4000e6 {
		t.Errorf("%+v", direct)
	}
	// In every round in which ABC was undisturbed, the direct way was disturbed. Of the shaped turns that count, the last
	// echo of 200 is 199 us above, and the one of 99 % is 197 us.
	if got := verdicts(f); got != "met disturbed met met" {
		t.Errorf("verdicts %s", got)
	}
	if b := f.Bars[3]; b.Got < 196.9e-6 || b.Got > 197.1e-6 || b.Runs != 2 {
		t.Errorf("%+v", b)
	}
	if b := f.Bars[2]; b.Got < 0.000999 || b.Got > 0.001001 {
		t.Errorf("%+v", b)
	}
	forward.Turns[0].Goodput, forward.Turns[1].Goodput = 1000e6*0.999, 2000e6*0.999
	forward.summarize(direct)
	f.Shaped[0].Turns[0].Goodput *= 1.0031
	f.Shaped[0].summarize(nil)
	if f.addBars(); verdicts(f) != "missed disturbed missed met" {
		t.Errorf("verdicts %s", verdicts(f))
	}
}

// TestSwitchTable checks that the table fits a terminal, and names disturbed runs.
func TestSwitchTable(t *testing.T) {
	f := figures(turns(direct, 123456, 123456, -123456), turns("forward", 12345.6, 12345.6, 12345.6),
		turns("abc", -12345, -12345, -12345))
	out := f.String()
	for l := range strings.SplitSeq(out, "\n") {
		if utf8.RuneCountInString(l) > report.DefaultWidth {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(l), l)
		}
	}
	for _, want := range []string{"0.10", "met ", "disturbed", "abc, run 2: others used 90 % of a core",
		"2 cores of a processor, Linux 6.18"} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		})
	}
	var back SwitchFigures
	if err := json.Unmarshal(f.JSON(), &back); err != nil || back.Unshaped[1].Ratio != f.Unshaped[1].Ratio ||
		len(back.Bars) != 4 {
		t.Errorf("JSON: %v\n%s", err, f.JSON())
	}
}

// TestSwitchBars checks that each bar is of a program of the experiment, and a share.
func TestSwitchBars(t *testing.T) {
	src, err := Experiments.ReadFile("experiments/switch.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"forward": 0.25, "abc": 0.18, "ecn": 0, "ncf": 0} {
		t.Run(name, func(t *testing.T) {
			if got, err := minRatio(name); err != nil || got != want {
				t.Errorf("%g, %v; want %g", got, err, want)
			}
			if !strings.Contains(string(src), "\n    "+name+": {") {
				t.Error("the experiment has no such program")
			}
		})
	}
}

func TestPercentile_TakesNearestRank(t *testing.T) {
	var all []unit.Time
	for k := range 200 {
		all = append(all, unit.Time(k+1)*unit.Millisecond)
	}
	for p, want := range map[int]float64{50: 0.1, 99: 0.198, 100: 0.2} {
		t.Run(fmt.Sprint("p", p), func(t *testing.T) {
			if got := percentile(all, p); got != want {
				t.Errorf("p%d is %g, want %g", p, got, want)
			}
		})
	}
	if percentile(all[:1], 99) != 0.001 || percentile(nil, 50) != 0 {
		t.Error("of one value, and of none")
	}
}

// TestSwitchRefuses checks that impossible options are refused before anything is made.
func TestSwitchRefuses(t *testing.T) {
	for _, o := range []SwitchOptions{{Runs: 0, Time: time.Second}, {Runs: 101, Time: time.Second},
		{Runs: 1, Time: time.Millisecond}, {Runs: 1, Time: time.Hour}} {
		t.Run(fmt.Sprintf("%d runs of %v", o.Runs, o.Time), func(t *testing.T) {
			if err := o.check(); !errors.Is(err, ErrRounds) {
				t.Errorf("%+v: %v", o, err)
			}
		})
	}
	if _, err := Switch(t.Context(), nil, SwitchOptions{}); err == nil {
		t.Error("without runs and experiments it works")
	}
}
