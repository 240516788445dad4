package hpccsim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/interop/simfiles"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/results"
)

// Completions are the finished flows of one side of a comparison.
type Completions struct {
	Name       string
	Flows      []simfiles.FCT
	Unfinished int
}

// ReadCompletions reads the fct.txt of the given name. A file that cannot be read, and errors in it, are returned as
// InputErrors. Unfinished is 0, since the file lacks these flows.
func ReadCompletions(name string) (*Completions, error) {
	data, err := document.ReadFile(name, document.MaxInput)
	if err != nil {
		return nil, document.InputErrors{{File: name, Line: 1, Column: 1, Msg: fmt.Sprintf("it cannot be read: %v",
			document.UnwrapPathError(err)), Allowed: "a fct.txt of the HPCC simulator, results, or an experiment that was run"}}
	}
	flows, err := simfiles.ReadFCT(bytes.NewReader(data), name)
	if e, ok := err.(*simfiles.FormatError); ok {
		return nil, document.InputErrors{{File: e.File, Line: e.Line, Column: e.Column, Msg: e.Msg}}
	}
	return &Completions{Name: name, Flows: flows}, err
}

// RunCompletions returns the flows of the run with an id that begins with id; an empty id selects the only run. Times
// count from the beginning of the warm-up. It returns InputErrors if the run is not unique or has no table of flows.
func RunCompletions(o *results.Outcome, id string) (*Completions, error) {
	var found []*results.Run
	var names []string
	for _, r := range o.Runs {
		if strings.HasPrefix(r.ID, id) {
			found = append(found, r)
		}
		name := r.ID
		if at := measure.PointName(r.Point); at != "" {
			name += " (" + at + ")"
		}
		if len(names) < 8 {
			names = append(names, name)
		}
	}
	if len(o.Runs) > len(names) {
		names = append(names, "…")
	}
	if len(found) != 1 {
		msg := fmt.Sprintf("no run has an id that begins with %q", id)
		if len(found) > 1 {
			msg = fmt.Sprintf("%d runs; one is compared, by the beginning of its id (--run)", len(found))
		}
		return nil, document.InputErrors{{File: o.Dir, Line: 1, Column: 1, Msg: msg, Allowed: document.JoinChoices(names)}}
	}
	r := found[0]
	points := map[string]*experiment.Point{}
	for _, x := range plan.ListRuns(o.Spec) {
		points[measure.PointName(x.Point)] = x.SpecPoint
	}
	p := points[measure.PointName(r.Point)]
	if p == nil || r.Flows == nil {
		return nil, document.InputErrors{{File: filepath.Join(o.Dir, "runs", r.ID+".json"), Line: 1, Column: 1,
			Msg: "the run has no table of flows"}}
	}
	x, err := exportRun(p, r, 0)
	if err != nil {
		return nil, document.InputErrors{{File: filepath.Join(o.Dir, "runs", r.ID+".json"), Line: 1, Column: 1,
			Msg: err.Error()}}
	}
	return &Completions{Name: filepath.Base(o.Dir) + " " + r.ID, Flows: x.Flows, Unfinished: x.Unfinished}, nil
}

// Tolerances limit the deviation of each percentile's ratio from 1; a negative one is not judged. Unpaired is the
// largest allowed share of flows that only one side has: the bins do not show missing flows.
type Tolerances struct{ P50, P95, P99, Unpaired float64 }

// Side is the number of flows of one side in a bin, and percentiles of their slowdowns.
type Side struct {
	Flows int     `json:"flows"`
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
}

// Ratio holds B's percentiles divided by A's.
type Ratio struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Bin holds the flows up to a size that are larger than the flows of the bin before.
type Bin struct {
	ToBytes int64  `json:"to_bytes"`
	A       Side   `json:"a"`
	B       Side   `json:"b"`
	Ratio   *Ratio `json:"ratio"` // nil: one side has no flow
	Within  bool   `json:"within"`
}

// Common counts the flows that both sides have, paired by nodes, source port and size.
type Common struct {
	Flows      int `json:"flows"`
	OnlyA      int `json:"only_a"`
	OnlyB      int `json:"only_b"`
	Standalone int `json:"same_standalone"` // of Flows, those with the same standalone time
	// SumOfFCTs and LastEnd are B's value divided by A's over the paired flows; 0 without paired flows.
	SumOfFCTs float64 `json:"sum_of_fcts"`
	LastEnd   float64 `json:"last_end"` // since the first start
}

// Comparison compares two lists of flows in bins of size.
type Comparison struct {
	A           string `json:"a"`
	B           string `json:"b"`
	UnfinishedA int    `json:"unfinished_a"`
	UnfinishedB int    `json:"unfinished_b"`
	Common      Common `json:"common"`
	Bins        []Bin  `json:"bins"`
	Within      int    `json:"bins_within"`
	Agrees      bool   `json:"agree"` // all bins are within the tolerances, and few flows are unpaired; false without bins

	tolerances Tolerances
}

// Compare compares the slowdowns of two lists of flows. bins is 1 or more. Bins have about equally many flows of both
// sides together; flows of one size are in one bin, so there may be fewer than bins. Slowdowns and percentiles are
// computed like the analysis that comes with the simulator (simfiles.ComputeSlowdowns), without flows that have no
// standalone time.
func Compare(a, b *Completions, bins int, t Tolerances) *Comparison {
	c := &Comparison{A: a.Name, B: b.Name, UnfinishedA: a.Unfinished, UnfinishedB: b.Unfinished, Bins: []Bin{},
		Common: pairFlows(a.Flows, b.Flows), tolerances: t}
	var sizes []int64
	for _, flows := range [][]simfiles.FCT{a.Flows, b.Flows} {
		for i := range flows {
			sizes = append(sizes, flows[i].Size)
		}
	}
	slices.Sort(sizes)
	from := int64(-1)
	for k := range bins {
		last := (k+1)*len(sizes)/bins - 1
		if last < 0 || sizes[last] <= from {
			continue
		}
		to := sizes[last]
		x := Bin{ToBytes: to, A: summarizeSizes(a.Flows, from, to), B: summarizeSizes(b.Flows, from, to)}
		if x.A.Flows > 0 && x.B.Flows > 0 {
			x.Ratio = &Ratio{x.B.P50 / x.A.P50, x.B.P95 / x.A.P95, x.B.P99 / x.A.P99}
			x.Within = isWithin(x.Ratio.P50, t.P50) && isWithin(x.Ratio.P95, t.P95) && isWithin(x.Ratio.P99, t.P99)
		}
		if x.Within {
			c.Within++
		}
		c.Bins, from = append(c.Bins, x), to
	}
	c.Agrees = len(c.Bins) > 0 && c.Within == len(c.Bins) && c.isPaired()
	return c
}

// isPaired reports whether the share of unpaired flows is within the tolerance.
func (c *Comparison) isPaired() bool {
	n := &c.Common
	unpaired := n.OnlyA + n.OnlyB
	return float64(unpaired) <= c.tolerances.Unpaired*float64(n.Flows+unpaired)
}

// isWithin reports whether the ratio deviates from 1 by at most the tolerance, with a margin for rounding. A negative
// tolerance allows any ratio.
func isWithin(ratio, tolerance float64) bool {
	return tolerance < 0 || math.Abs(ratio-1) <= tolerance+1e-12
}

// summarizeSizes returns the count and slowdown percentiles of the flows larger than from and up to to bytes. It
// ignores flows without a standalone time. Without flows the percentiles are 0.
func summarizeSizes(flows []simfiles.FCT, from, to int64) (s Side) {
	var slowdowns []float64
	for i := range flows {
		if f := &flows[i]; f.Size > from && f.Size <= to && f.Standalone > 0 {
			slowdowns = append(slowdowns, max(1, float64(f.FCT)/float64(f.Standalone)))
		}
	}
	slices.Sort(slowdowns)
	if s.Flows = len(slowdowns); s.Flows > 0 {
		s.P50, s.P95, s.P99 = slowdowns[len(slowdowns)/2], slowdowns[len(slowdowns)*95/100], slowdowns[len(slowdowns)*99/100]
	}
	return s
}

// pairFlows pairs the flows of both sides by nodes, source port and size, in their order. A flow is in at most one
// pair.
func pairFlows(a, b []simfiles.FCT) (c Common) {
	type key struct {
		src, dst int
		port     uint16
		size     int64
	}
	keyOf := func(f *simfiles.FCT) key { return key{f.Src, f.Dst, f.SrcPort, f.Size} }
	unpaired := map[key][]int{}
	for i := range b {
		unpaired[keyOf(&b[i])] = append(unpaired[keyOf(&b[i])], i)
	}
	var sum, first, last [2]float64
	for i := range a {
		same := unpaired[keyOf(&a[i])]
		if len(same) == 0 {
			c.OnlyA++
			continue
		}
		unpaired[keyOf(&a[i])] = same[1:]
		for side, f := range []*simfiles.FCT{&a[i], &b[same[0]]} {
			if c.Flows == 0 {
				first[side] = float64(f.Start)
			}
			sum[side] += float64(f.FCT)
			first[side] = min(first[side], float64(f.Start))
			last[side] = max(last[side], float64(f.Start)+float64(f.FCT))
		}
		if c.Flows++; a[i].Standalone == b[same[0]].Standalone {
			c.Standalone++
		}
	}
	c.OnlyB = len(b) - c.Flows
	if took := last[0] - first[0]; took > 0 && sum[0] > 0 {
		c.SumOfFCTs, c.LastEnd = sum[1]/sum[0], (last[1]-first[1])/took
	}
	return c
}

// JSON returns the comparison as indented JSON with a final line break.
func (c *Comparison) JSON() []byte {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		panic(err) // finite numbers and strings
	}
	return append(data, '\n')
}

// WriteTable writes the comparison as a table of 80 columns. A ratio outside of its tolerance is marked with "!". It
// ignores errors of w.
func (c *Comparison) WriteTable(w io.Writer) {
	fmt.Fprintf(w, "A  %s\nB  %s\n\n", c.A, c.B)
	for _, x := range []struct {
		name string
		n    int
	}{{"A", c.UnfinishedA}, {"B", c.UnfinishedB}} {
		if x.n > 0 {
			fmt.Fprintf(w, "%d flows of %s are not finished, and not compared\n", x.n, x.name)
		}
	}
	n := &c.Common
	fmt.Fprintf(w, "%d flows in common, %d only in A, %d only in B\n", n.Flows, n.OnlyA, n.OnlyB)
	if n.SumOfFCTs > 0 {
		fmt.Fprintf(w, "of those in common B/A: sum of FCTs %.3f, last end %.3f\n", n.SumOfFCTs, n.LastEnd)
	}
	if n.Standalone < n.Flows {
		fmt.Fprintf(w, "%d of them do not take as long alone: the networks or the packets differ\n", n.Flows-n.Standalone)
	}
	fmt.Fprintf(w, "\n%12s %6s %6s %8s %8s %8s %8s %8s %8s\n", "up to bytes", "A", "B", "p50 A", "B/A", "p95 A", "B/A",
		"p99 A", "B/A")
	t := &c.tolerances
	for i := range c.Bins {
		b := &c.Bins[i]
		line := fmt.Sprintf("%12d %6d %6d", b.ToBytes, b.A.Flows, b.B.Flows)
		if b.Ratio == nil {
			fmt.Fprintln(w, line+"  only one side has flows")
			continue
		}
		for _, p := range []struct{ of, ratio, by float64 }{{b.A.P50, b.Ratio.P50, t.P50}, {b.A.P95, b.Ratio.P95, t.P95},
			{b.A.P99, b.Ratio.P99, t.P99}} {
			mark := " "
			if !isWithin(p.ratio, p.by) {
				mark = "!"
			}
			line += fmt.Sprintf(" %8.3f %7.3f%s", p.of, p.ratio, mark)
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	verdict := "A and B differ"
	if c.Agrees {
		verdict = "A and B agree"
	}
	fmt.Fprintf(w, "\n%s: %d of %d bins within %s\n", verdict, c.Within, len(c.Bins), t)
	if !c.isPaired() {
		fmt.Fprintf(w, "%d of %d flows are on one side only; %.4g %% may be\n", n.OnlyA+n.OnlyB, n.Flows+n.OnlyA+n.OnlyB,
			100*t.Unpaired)
	}
}

// String lists the judged percentiles with their tolerances; "any" without one.
func (t *Tolerances) String() string {
	var out []string
	for _, x := range []struct {
		name string
		by   float64
	}{{"p50", t.P50}, {"p95", t.P95}, {"p99", t.P99}} {
		if x.by >= 0 {
			out = append(out, fmt.Sprintf("%s ±%.4g %%", x.name, 100*x.by))
		}
	}
	if out == nil {
		return "any"
	}
	return strings.Join(out, ", ")
}
