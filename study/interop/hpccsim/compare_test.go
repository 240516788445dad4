package hpccsim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/document"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/interop/simfiles"
	"weir/study/run"
)

// listed returns ten flows of each of the given number of sizes. factor is how much longer a flow takes than
// standalone.
func listed(name string, sizes int, factor func(size, k int) float64) *Completions {
	c := &Completions{Name: name}
	for s := range sizes {
		for k := range 10 {
			size := int64(1000 * (s + 1))
			c.Flows = append(c.Flows, simfiles.FCT{Src: s, Dst: s + 1, SrcPort: uint16(10000 + k), DstPort: 100, Size: size,
				Start: int64(1000 * k), FCT: int64(float64(size) * factor(s, k)), Standalone: size})
		}
	}
	return c
}

var usual = Tolerances{0.05, -1, 0.2, 0}

// TestCompare_MatchesRatiosByHand checks percentiles of slowdowns by bins of equally many flows, their ratios, and
// whether these are within the tolerances: by hand, for ten flows of each size. The k-th takes 1 + k/10 times as long
// as standalone.
func TestCompare_MatchesRatiosByHand(t *testing.T) {
	base := func(_, k int) float64 { return 1 + float64(k)/10 }
	above := func(by float64, there bool) float64 {
		if there {
			return by
		}
		return 1
	}
	a := listed("one", 4, base)
	for _, x := range []struct {
		name   string
		factor func(size, k int) float64
		bins   int
		want   []bool
	}{
		{"same", base, 4, []bool{true, true, true, true}},
		{"longest up", func(s, k int) float64 { return base(s, k) * above(1.3, s == 3 && k == 9) }, 4,
			[]bool{true, true, true, false}},
		{"a third more", func(s, k int) float64 { return base(s, k) * above(1.3, s < 2) }, 2, []bool{false, true}},
		{"six percent", func(s, k int) float64 { return base(s, k) * 1.06 }, 1, []bool{false}},
		{"four percent", func(s, k int) float64 { return base(s, k) * 1.04 }, 1, []bool{true}},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := Compare(a, listed("two", 4, x.factor), x.bins, usual)
			if len(c.Bins) != len(x.want) {
				t.Fatalf("%d bins", len(c.Bins))
			}
			agree := true
			for i, want := range x.want {
				if agree = agree && want; c.Bins[i].Within != want {
					t.Errorf("bin %d: %+v %+v", i, c.Bins[i], c.Bins[i].Ratio)
				}
			}
			if c.Agrees != agree || c.Common.Flows != 40 || c.Common.OnlyA != 0 || c.Common.OnlyB != 0 {
				t.Errorf("%+v", c)
			}
		})
	}
	c := Compare(a, listed("two", 4, func(s, k int) float64 { return 2 * base(s, k) }), 4, usual)
	if b := c.Bins[0]; b.A != (Side{10, 1.5, 1.9, 1.9}) || b.B != (Side{10, 3, 3.8, 3.8}) ||
		*b.Ratio != (Ratio{2, 2, 2}) ||
		b.ToBytes != 1000 || c.Common.SumOfFCTs != 2 {
		t.Errorf("%+v, %+v", b, c.Common)
	}
}

// TestCompareOdd checks that flows of one size are in one bin, and that sizes that one side lacks are never within.
// Unpaired flows are counted, and so are unfinished ones.
func TestCompareOdd(t *testing.T) {
	same := func(_, _ int) float64 { return 1 }
	if c := Compare(listed("a", 1, same), listed("b", 1, same), 20, usual); len(c.Bins) != 1 || !c.Agrees {
		t.Errorf("flows of one size are in %d bins", len(c.Bins))
	}
	a, b := listed("a", 1, same), listed("b", 3, same)
	b.Unfinished = 7
	b.Flows[0].Standalone++
	c := Compare(a, b, 3, usual)
	if len(c.Bins) != 3 || c.Agrees || c.Common.OnlyB != 20 || c.Common.Standalone != 9 || c.Bins[1].Ratio != nil {
		t.Errorf("%+v", c)
	}
	var out strings.Builder
	c.WriteTable(&out)
	testkit.Golden(t, "compare.txt", out.String())
	for line := range strings.Lines(out.String()) {
		if len([]rune(line)) > 81 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
	if c := Compare(&Completions{}, &Completions{}, 3, usual); c.Agrees || len(c.Bins) != 0 ||
		!strings.Contains(string(c.JSON()), `"bins": []`) {
		t.Errorf("nothing agrees with nothing: %+v", c)
	}
	zero := &Completions{Flows: []simfiles.FCT{{Size: 5, FCT: 1}}} // alone it takes no time, which nothing is measured by
	if c := Compare(zero, zero, 1, usual); c.Agrees || c.Bins[0].A.Flows != 0 {
		t.Errorf("%+v", c)
	}
	if s := (&Tolerances{-1, -1, -1, 0}).String(); s != "any" {
		t.Error(s)
	}
}

// TestCompareUnpaired checks that a flow that one side lacks is a difference, although each bin agrees: one of ten of a
// size is left out. A share of them may be allowed.
func TestCompareUnpaired(t *testing.T) {
	same := func(_, _ int) float64 { return 1 }
	whole, part := listed("whole", 2, same), listed("part", 2, same)
	part.Flows = part.Flows[1:]
	moved := listed("moved", 2, same) // 19 flows in common, one only in each
	moved.Flows[0].SrcPort = 9
	for _, x := range []struct {
		name     string
		a, b     *Completions
		unpaired float64
		want     bool
	}{
		{"whole", whole, whole, 0, true},
		{"B lacks one", whole, part, 0, false},
		{"A lacks one", part, whole, 0, false},
		{"another port", whole, moved, 0, false},
		{"a twentieth is allowed", whole, part, 0.05, true},
		{"less is allowed", whole, part, 0.049, false},
		{"two of 21", whole, moved, 0.05, false},
		{"all", whole, moved, 1, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			tolerances := usual
			tolerances.Unpaired = x.unpaired
			c := Compare(x.a, x.b, 2, tolerances)
			if c.Within != 2 || c.Agrees != x.want {
				t.Errorf("%+v", c)
			}
			var out strings.Builder
			c.WriteTable(&out)
			if strings.Contains(out.String(), "are on one side only") == x.want {
				t.Error(out.String())
			}
		})
	}
}

// TestCompletions_RunMatchesItsExport compares a run of results with its export, and with the wrong file.
func TestCompletions_RunMatchesItsExport(t *testing.T) {
	s := plantest.Load(t, room(), `duration: 1ms
framing: hpcc
mtu: 1000 B payload
repeat: 2
topology: {leaf_spine: {leaves: 1, spines: 1, hosts: 3, rate: 100Gbps, delay: 1us}}
switch: [ecmp]
traffic:
  - {name: one, from: h0, to: h1, size: 1000 B, start: 2us, transport: window, window: 10 packets}
  - {name: late, from: h0, to: h2, size: 10MB, start: 990us, transport: window, window: 1 packet}
`, experiment.Options{})
	o, err := run.Execute(t.Context(), s, run.Options{Dir: t.TempDir()})
	if err != nil || len(o.Failed) > 0 {
		t.Fatal(err, o.Failed)
	}
	out, err := exportRuns(o, filepath.Join(t.TempDir(), "out"), 0)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(out[0].Folder, "fct.txt")
	a, err := ReadCompletions(file)
	if err != nil {
		t.Fatal(err)
	}
	b, err := RunCompletions(o, o.Runs[0].ID[:8])
	if err != nil || b.Unfinished != 1 {
		t.Fatal(err, b)
	}
	if c := Compare(a, b, 5, usual); !c.Agrees || c.Common.Flows != 1 || c.Common.SumOfFCTs != 1 {
		t.Errorf("%+v", c)
	}
	wrong := filepath.Join(t.TempDir(), "fct.txt")
	if err := os.WriteFile(wrong, []byte("0b000001 0b000101 10000 100 1 2 3 4\n0b000001 x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for want, err := range map[string]error{
		"2 runs; one is compared":             second(RunCompletions(o, "")),
		`no run has an id that begins with`:   second(RunCompletions(o, "zz")),
		"fct.txt:2:11: the line ends after 2": second(ReadCompletions(wrong)),
		"none.txt:1:1: it cannot be read":     second(ReadCompletions("none.txt")),
	} {
		if _, ok := err.(document.InputErrors); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func second(_ *Completions, err error) error { return err }
