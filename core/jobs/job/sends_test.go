package job

import (
	"fmt"
	"strings"
	"testing"
)

// rotating has each of its ranks send to those behind it in turn, in each of its lanes: operation i to the one i+1
// behind, a receive of the same index between any two.
type rotating struct{ ranks, lanes, ops, each int }

func (p rotating) Ranks() int                         { return p.ranks }
func (p rotating) Lanes(int) int                      { return p.lanes }
func (p rotating) Ops(int, int) int                   { return p.ops }
func (p rotating) Window(int, int) int                { return 0 }
func (p rotating) After(_ int, _ Ref, to []Dep) []Dep { return to }
func (p rotating) Op(rank int, at Ref) Op {
	if at.Op%2 == 1 {
		return Op{Kind: Recv, Peer: AnyRank}
	}
	return Op{Kind: Send, Peer: int32((rank + int(at.Op)/2 + 1) % p.ranks)}
}

// alternating is rotating with iterations of a number of operations.
type alternating struct{ rotating }

func (p alternating) Each(int, int) int { return p.each }
func (p alternating) Ahead() int        { return 1 }

// listed makes a job in which rank r sends to the ranks in words[r]: "12" are rank 1 and rank 2.
func listed(words ...string) *Listed {
	b := NewBuilder("x")
	for _, w := range words {
		b.BeginRank()
		for _, c := range w {
			b.AddOp(Op{Kind: Recv, Peer: AnyRank}, "", 0)
			b.AddOp(Op{Kind: Send, Peer: c - '0'}, "", 0)
		}
	}
	return b.Build()
}

// TestVisitSends_VisitsPairsOnceInOrder checks that each pair of ranks is visited once, by its first send, in the order
// of ranks and operations. A visit can leave the rest of a rank out, and operations that were not examined are
// reported.
func TestVisitSends_VisitsPairsOnceInOrder(t *testing.T) {
	for _, x := range []struct {
		name  string
		p     Program
		limit int
		first bool   // only the first of each rank is wanted
		want  string // from, lane, operation, to
		all   bool
	}{
		{"a list", listed("121", "", "10"), 1, false, "0 0.1 1, 0 0.3 2, 2 0.1 1, 2 0.3 0", true},
		{"to itself", listed("01", "1"), 1, false, "0 0.3 1", true},
		{"the first of each", listed("121", "0", "10"), 1, true, "0 0.1 1, 1 0.1 0, 2 0.1 1", true},
		{"no messages", listed("", ""), 1, false, "", true},
		{"a long list", listed(strings.Repeat("1", 200)+"2", "", ""), 1, false, "0 0.1 1, 0 0.401 2", true},
		{"two lanes", rotating{3, 2, 4, 0}, 1000, false, "0 0.0 1, 0 0.2 2, 1 0.0 2, 1 0.2 0, 2 0.0 0, 2 0.2 1", true},
		{"an iteration", alternating{rotating{3, 1, 4000, 2}}, 1000, false, "0 0.0 1, 1 0.0 2, 2 0.0 0", true},
		{"beyond the limit", rotating{2, 1, 1000, 0}, 1000, false, "0 0.0 1, 1 0.0 0", false},
		{"at the limit", rotating{2, 1, 500, 0}, 1000, false, "0 0.0 1, 1 0.0 0", true},
		{"an iteration beyond the limit", alternating{rotating{2, 1, 4000, 2000}}, 1000, false, "0 0.0 1, 1 0.0 0", false},
		{"left before the limit", rotating{2, 1, 1000, 0}, 1000, true, "0 0.0 1, 1 0.0 0", true},
	} {
		t.Run(x.name, func(t *testing.T) {
			var got []string
			all := VisitSends(x.p, x.limit, func(from int, at Ref, to int) bool {
				got = append(got, fmt.Sprintf("%d %d.%d %d", from, at.Lane, at.Op, to))
				return !x.first
			})
			if text := strings.Join(got, ", "); text != x.want || all != x.all {
				t.Errorf("%s (all %v), want %s (%v)", text, all, x.want, x.all)
			}
		})
	}
}
