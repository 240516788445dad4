package job_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/jobs/collective"
	"weir/core/jobs/job"
	"weir/core/jobs/loggops"
	"weir/core/unit"
)

// network returns an ideal network of 8 Gb/s and 1 us. Messages take no processor time, and a send ends when its
// message has been received.
func network() loggops.Model {
	return loggops.Model{Latency: unit.Microsecond, Costs: job.Costs{ByteGap: unit.Nanosecond, Eager: -1}}
}

func carriedOut(t *testing.T, c collective.Config, change func(*job.Timeline), only ...int) (*job.Timeline,
	job.Outcome) {
	t.Helper()
	p, err := collective.New(c)
	if err != nil {
		t.Fatal(err)
	}
	line := job.NewTimeline(p, only)
	if change != nil {
		change(line)
	}
	o, _, err := network().Run(p, job.Watch{OnSpan: line.Watch()})
	if err != nil || o.Left > 0 {
		t.Fatal(err, o)
	}
	return line, o
}

func shown(all []job.Stretch) string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%d i%d o%d %v %v-%v\n", s.Rank, s.Iteration, s.Operation, s.Does, s.From, s.To)
	}
	return b.String()
}

// TestTimeline_RowsMatchHandCalculation checks the rows of two ranks that exchange what they have computed. The slow
// one never waits. The fast one's send waits until the slow one has posted its receive. Then the fast one waits for the
// slow one's message, until its NIC receives the bytes.
func TestTimeline_RowsMatchHandCalculation(t *testing.T) {
	line, o := carriedOut(t, collective.Config{Operation: collective.ReduceScatter, Members: 2, Size: 2002,
		Iterations: 2, Compute: 10 * unit.Microsecond, Slow: map[int]float64{1: 1.5}}, nil)
	// a block of 1001 B takes 1 us of latency and 1 us on the wire
	want := `0 i0 o-1 computing 0s-10us
0 i0 o0 communicating 10us-15us
0 i0 o0 waiting 15us-16us
0 i0 o0 communicating 16us-17us
0 i1 o-1 computing 17us-27us
0 i1 o1 communicating 27us-32us
0 i1 o1 waiting 32us-33us
0 i1 o1 communicating 33us-34us
1 i0 o-1 computing 0s-15us
1 i0 o0 communicating 15us-17us
1 i1 o-1 computing 17us-32us
1 i1 o1 communicating 32us-34us
`
	if got := shown(line.Rows(&o, 0)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestTimelineTiles checks that a rank's stretches fill its time without a gap, and that its computing is the same as
// in the outcome. Jobs have buckets that are computed while others are sent, stragglers, and reducing.
func TestTimelineTiles(t *testing.T) {
	for _, c := range []collective.Config{
		{Operation: collective.AllReduce, Members: 6, Size: 60000, Iterations: 3, Buckets: 4, Channels: 2, Chunks: 2,
			Compute: 40 * unit.Microsecond, Slow: map[int]float64{2: 1.3}, Reduce: 100 * unit.Gbps},
		{Operation: collective.AllToAll, Members: 5, Size: 50000, Iterations: 2, Compute: 3 * unit.Microsecond},
		{Operation: collective.Pipeline, Members: 4, Size: 1000, Batches: 3, Iterations: 2,
			Forward: 5 * unit.Microsecond, Backward: 7 * unit.Microsecond},
	} {
		line, o := carriedOut(t, c, nil)
		computing := make([]unit.Time, c.Members)
		at := make([]unit.Time, c.Members)
		both := false
		for _, s := range line.Rows(&o, 0) {
			if s.From != at[s.Rank] || s.To <= s.From {
				t.Fatalf("%s: a stretch of rank %d goes from %v to %v, the last one until %v", c.Operation, s.Rank, s.From,
					s.To, at[s.Rank])
			}
			if at[s.Rank] = s.To; s.Does == job.Computes || s.Does == job.Overlaps {
				computing[s.Rank] += s.To - s.From
			}
			both = both || s.Does == job.Overlaps
			if (s.Operation >= 0) != (s.Does == job.Communicates || s.Does == job.Overlaps) && s.Does != job.Waits {
				t.Errorf("%s: %+v", c.Operation, s)
			}
			if int(s.Iteration) >= c.Iterations || s.Iteration < 0 {
				t.Errorf("%s: iteration %d", c.Operation, s.Iteration)
			}
		}
		for r := range o.Ranks {
			if computing[r] != o.Ranks[r].Computing || at[r] != o.Ranks[r].End {
				t.Errorf("%s: rank %d computes for %v until %v; %v until %v", c.Operation, r, computing[r], at[r],
					o.Ranks[r].Computing, o.Ranks[r].End)
			}
		}
		if both != (c.Buckets > 1 || c.Operation == collective.Pipeline) {
			t.Errorf("%s: computing beside sending: %v", c.Operation, both)
		}
	}
}

// TestTimelineBound checks that a bounded timeline is right before the time of its cut, and counts what it leaves out.
// Only the requested ranks and times are kept.
func TestTimelineBound(t *testing.T) {
	c := collective.Config{Operation: collective.AllReduce, Members: 4, Size: 4000, Iterations: 5,
		Compute: 2 * unit.Microsecond, Slow: map[int]float64{1: 1.7}}
	whole, o := carriedOut(t, c, nil)
	if _, left := whole.Cut(); left != 0 {
		t.Fatalf("%d are left out without a bound", left)
	}
	line, _ := carriedOut(t, c, func(x *job.Timeline) { x.MaxParts = 30 })
	cut, left := line.Cut()
	if left == 0 || cut >= o.Ranks[0].End || cut <= 0 {
		t.Fatalf("cut at %v, %d left out", cut, left)
	}
	clipped := func(from, until unit.Time, only int) (out []job.Stretch) {
		for _, s := range whole.Rows(&o, 0) {
			if s.From, s.To = max(s.From, from), min(s.To, until); s.From < s.To && (only < 0 || int(s.Rank) == only) {
				out = append(out, s)
			}
		}
		return out
	}
	same := func(got, want []job.Stretch) {
		t.Helper()
		for i := range got { // of waiting at an end it is not known what for
			if i >= len(want) || got[i] != want[i] && (got[i].Does != job.Waits || want[i].Does != job.Waits) {
				t.Fatalf("got\n%s, want\n%s", shown(got), shown(want))
			}
		}
		if len(got) != len(want) {
			t.Fatalf("got\n%s, want\n%s", shown(got), shown(want))
		}
	}
	same(line.Rows(&o, 0), clipped(0, cut, -1))
	from, until := 12*unit.Microsecond, 31*unit.Microsecond
	part, _ := carriedOut(t, c, func(x *job.Timeline) { x.From, x.Until = from, until }, 2)
	same(part.Rows(&o, 0), clipped(from, until, 2))
}
