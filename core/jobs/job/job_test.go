package job

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/unit"
)

// built returns a job of one rank with n operations. A dependency "1>0" is after the end of operation 0, and "1~0"
// after its begin.
func built(n int, deps ...string) *Listed {
	b := NewBuilder("x")
	b.BeginRank()
	for i := range n {
		b.AddOp(Op{Kind: Calc, Time: unit.Time(i)}, fmt.Sprint("l", i), 10+i)
	}
	for _, d := range deps {
		var op, after int32
		sign := ">"
		if strings.Contains(d, "~") {
			sign = "~"
		}
		fmt.Sscanf(d, "%d"+sign+"%d", &op, &after)
		b.AddDependency(op, after, sign == "~")
	}
	return b.Build()
}

// TestFrontier_OpensOperationsInOrder checks that a frontier lets operations begin when their dependencies end, or
// begin, forwards and backwards.
func TestFrontier_OpensOperationsInOrder(t *testing.T) {
	f := NewFrontier(built(5, "1>0", "2~0", "0>4", "3>1", "3>2", "3>1"), 0)
	f.Begin()
	log := ""
	note := func() {
		for _, at := range f.AppendReady(nil) {
			log += fmt.Sprint(at.Op)
		}
		log += " "
	}
	note()
	for _, step := range []string{"b4", "e4", "b0", "e0", "b2", "e2", "b1", "e1", "b3", "e3"} {
		at := Ref{Op: int32(step[1] - '0')}
		if step[0] == 'b' {
			f.SetBegun(at)
		} else {
			f.SetEnded(at)
		}
		note()
	}
	if log != "4  0 2 1    3   " || f.CountLeft() != 0 {
		t.Errorf("%q, %d left", log, f.CountLeft())
	}
}

// windowed is a program of two lanes. The second has a window.
type windowed struct{ n, window int }

func (windowed) Ranks() int               { return 1 }
func (windowed) Lanes(int) int            { return 2 }
func (w windowed) Ops(int, int) int       { return w.n }
func (w windowed) Window(_, lane int) int { return lane * w.window }
func (windowed) Op(int, Ref) Op           { return Op{Kind: Calc, Time: 1} }
func (w windowed) After(_ int, at Ref, to []Dep) []Dep {
	switch {
	case at.Lane == 0 && at.Op > 0: // what it comes after may not be looked at yet
		return append(to, Dep{Lane: 1, Op: at.Op}, Dep{Op: at.Op - 1})
	case at.Lane == 1 && at.Op%3 == 2:
		return append(to, Dep{Op: Earlier})
	case at.Lane == 1 && at.Op > 0:
		return append(to, Dep{Lane: 1, Op: at.Op - 1})
	}
	return to
}

// TestFrontier_WindowKeepsProgramOrder checks that a lane keeps as many operations as its window, and that all run in
// an order that the program allows.
func TestFrontier_WindowKeepsProgramOrder(t *testing.T) {
	for _, window := range []int{1, 2, 3, 7, 100} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			p := windowed{50, window}
			f := NewFrontier(p, 0)
			f.Begin()
			ended := [2][]bool{make([]bool, p.n), make([]bool, p.n)}
			for open := f.AppendReady(nil); len(open) > 0; open = f.AppendReady(open[1:]) {
				at := open[0]
				for _, d := range p.After(0, at, nil) {
					for k := range at.Op {
						if (d.Op == Earlier && !ended[at.Lane][k]) || d.Op == k && !ended[d.Lane][k] {
							t.Fatalf("%v begins before %v", at, d)
						}
					}
				}
				f.SetBegun(at)
				f.SetEnded(at)
				ended[at.Lane][at.Op] = true
			}
			if f.CountLeft() != 0 || len(f.lanes[1].slots) != min(window, p.n) {
				t.Errorf("%d left, %d slots", f.CountLeft(), len(f.lanes[1].slots))
			}
		})
	}
}

// TestListed_CheckNamesCircles checks that circles are reported with their lines, from the first operation on.
func TestListed_CheckNamesCircles(t *testing.T) {
	for name, x := range map[string]struct {
		job  *Listed
		line int
		want string
	}{
		"two": {built(4, "1>0", "2>3", "3>2"), 12,
			"rank 0: l2 (line 12) after l3 (line 13) after l2 (line 12): these come after each other in a circle, so none " +
				"begins"},
		"itself": {built(2, "1>1"), 11, "rank 0: l1 (line 11) after l1 (line 11): these"},
		"begun":  {built(3, "0~1", "1>2", "2>0"), 10, "rank 0: l0 (line 10) after l1 (line 11) after l2 (line 12) after l0"},
		"behind": {built(4, "0>1", "1>2", "2>1", "3>0"), 11, "rank 0: l1 (line 11) after l2 (line 12) after l1"},
		"long": {built(12, "0>1", "1>2", "2>3", "3>4", "4>5", "5>6", "6>7", "7>8", "8>9", "9>10", "10>11", "11>0"), 10,
			"after l7 (line 17) after … (4 more) after l0 (line 10): these"},
	} {
		t.Run(name, func(t *testing.T) {
			f := x.job.Check()
			if len(f) != 1 || f[0].Line != x.line || !strings.Contains(f[0].Error(), x.want) {
				t.Errorf("%+v", f)
			}
		})
	}
	if f := built(3, "0>1", "1>2").Check(); f != nil {
		t.Error(f)
	}
}

// pair returns a job of ranks with one operation each line: "0 send 1 5" is rank 0's, to rank 1, with tag 5.
func pair(ranks int, lines ...string) *Listed {
	b := NewBuilder("x")
	for r := range ranks {
		b.BeginRank()
		for i, line := range lines {
			var rank int
			var kind string
			var peer int32
			var tag int64
			size := unit.Bytes(8)
			fmt.Sscan(line, &rank, &kind, &peer, &tag, (*int64)(&size))
			if rank != r {
				continue
			}
			op := Op{Kind: Send, Peer: peer, Tag: uint32(tag), Size: size}
			if kind == "recv" {
				op.Kind = Recv
			}
			b.AddOp(op, "", i+1)
		}
	}
	return b.Build()
}

// TestListed_CheckNamesMissingPartners checks that messages without a partner are reported with rank, line, tag, and
// what the other side has. So are messages with different sizes on both sides. The number of faults is limited.
func TestListed_CheckNamesMissingPartners(t *testing.T) {
	for name, x := range map[string]struct {
		lines []string
		want  []string
	}{
		"all": {[]string{"0 send 1 5", "1 recv 0 5", "1 send 0 5", "0 recv 1 5", "2 send 2 1", "2 recv 2 1"}, nil},
		"tags": {[]string{"0 send 1 5", "1 recv 0 6"}, []string{
			"rank 0: operation 0 (line 1) sends 8 B to rank 1 with tag 5, and the other side receives with tag 6",
			"rank 1: operation 0 (line 2) awaits 8 B from rank 0 with tag 6, and the other side sends with tag 5"}},
		"none": {[]string{"2 send 1 5"}, []string{
			"rank 2: operation 0 (line 1) sends 8 B to rank 1 with tag 5, and rank 1 receives nothing from rank 2"}},
		"none sent": {[]string{"1 recv 2 5"}, []string{
			"rank 1: operation 0 (line 1) awaits 8 B from rank 2 with tag 5, and rank 2 sends nothing to rank 1"}},
		"fewer": {[]string{"0 send 1 5", "0 send 1 5", "1 recv 0 5"}, []string{
			"rank 0: operation 1 (line 2) sends 8 B to rank 1 with tag 5, and the other side receives only 1 with this"}},
		"any": {[]string{"0 send 1 5", "2 send 1 6", "1 recv -1 6", "1 recv 0 -1", "1 send 1 1", "1 recv -1 4294967295"},
			nil},
		"sizes": {[]string{"0 send 1 5 10", "1 recv 0 5 999"}, []string{"rank 1: operation 0 (line 2) awaits 999 B from " +
			"rank 0 with tag 5, and operation 0 (line 1) there sends 10 B; give both the same size"}},
		"sizes, several": {[]string{"0 send 1 5 10", "0 send 1 5 20", "1 recv 0 5 10", "1 recv 0 5 30", "0 send 1 6 1",
			"1 recv 0 6 1"}, []string{"rank 1: operation 1 (line 4) awaits 30 B from rank 0 with tag 5, and operation 1 " +
			"(line 2)"}},
		"sizes, in another order": {[]string{"0 send 1 5 10", "0 send 1 5 20", "1 recv 0 5 20", "1 recv 0 5 10"}, nil},
		"sizes, without a partner": {[]string{"0 send 1 5 10", "0 send 1 5 10", "1 recv 0 5 20"}, []string{
			"rank 0: operation 1 (line 2) sends 10 B"}},
		"sizes, any": {[]string{"0 send 1 5 10", "1 recv -1 5 20", "2 send 1 5 20", "1 recv 0 5 20"}, nil},
		"any, no": {[]string{"0 send 1 5", "1 recv -1 6", "1 recv -1 6"},
			[]string{"rank 1: 1 of its receives from any rank"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := pair(3, x.lines...).Check()
			if len(got) != len(x.want) {
				t.Fatalf("%v", got)
			}
			for i := range got {
				if !strings.HasPrefix(got[i].Msg, x.want[i]) {
					t.Errorf("%s, want %s", got[i].Msg, x.want[i])
				}
			}
		})
	}
	many := make([]string, 100)
	for i := range many {
		many[i] = fmt.Sprint("0 send 1 ", i)
	}
	got := pair(2, many...).Check()
	if len(got) != maxFaults+1 || got[maxFaults].Msg != "80 more messages have no partner" {
		t.Errorf("%d faults: %v", len(got), got[len(got)-1])
	}
	for i := range 50 {
		many[i], many[50+i] = fmt.Sprint("0 send 1 ", i, " 1"), fmt.Sprint("1 recv 0 ", i, " 2")
	}
	got = pair(2, many...).Check()
	if len(got) != maxFaults+1 || got[maxFaults].Msg != "the sizes of more messages differ" {
		t.Errorf("%d faults: %v", len(got), got[len(got)-1])
	}
}

func ExampleListed_Check() {
	b := NewBuilder("x.goal")
	b.BeginRank()
	b.AddOp(Op{Kind: Send, Peer: 1, Tag: 5, Size: 100}, "s", 3)
	b.BeginRank()
	b.AddOp(Op{Kind: Recv, Peer: 0, Tag: 6, Size: 100}, "r", 6)
	for _, f := range b.Build().Check() {
		fmt.Println(f.Msg)
	}
	// Output:
	// rank 0: s (line 3) sends 100 B to rank 1 with tag 5, and the other side receives with tag 6
	// rank 1: r (line 6) awaits 100 B from rank 0 with tag 6, and the other side sends with tag 5
}
