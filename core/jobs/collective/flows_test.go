package collective

import (
	"fmt"
	"testing"

	"weir/core/unit"
)

// TestFlowsRing checks Patarasu and Yuan, 2009, §4: a ring has 2(n−1) steps of size/n. A host sends its own share
// first, and then shares from the transfers on which its own transfers depend.
func TestFlowsRing(t *testing.T) {
	for n := 2; n <= 17; n++ {
		t.Run(fmt.Sprint(n, " nodes"), func(t *testing.T) {
			for _, size := range []unit.Bytes{unit.Bytes(n), 1000, 1001, 65536} {
				checkRing(t, n, size)
			}
		})
	}
}

// transfer is one of the transfers of an all-reduce.
type transfer struct {
	Src, Dst int
	Size     unit.Bytes
	After    []int
}

// list returns the transfers of an all-reduce.
func list(algorithm string, n int, size unit.Bytes) (all []transfer, err error) {
	t, err := NewTransfers(algorithm, n, size)
	for k := range t.Count() {
		x := transfer{After: t.After(k)}
		x.Src, x.Dst, x.Size = t.Transfer(k)
		all = append(all, x)
	}
	return all, err
}

// checkRing fails unless every host of a ring receives every share of every host.
func checkRing(t *testing.T, n int, size unit.Bytes) {
	steps, err := list(Ring, n, size)
	if err != nil || len(steps) != 2*n*(n-1) {
		t.Fatalf("%d steps, %v", len(steps), err)
	}
	// has[h][share] is the set of hosts with values in host h's sum of the share.
	has := make([][]map[int]bool, n)
	sizes := make([]unit.Bytes, n)
	for h := range n {
		for range n {
			has[h] = append(has[h], map[int]bool{h: true})
		}
	}
	for k, s := range steps {
		step, share := k/n, ((s.Src-k/n)%n+n)%n
		if sizes[share] == 0 {
			sizes[share] = s.Size
		}
		switch {
		case s.Dst != (s.Src+1)%n || s.Size != sizes[share]:
			t.Fatalf("step %d is %+v", k, s)
		case step == 0 && s.After != nil:
			t.Fatalf("the first step comes after %v", s.After)
		case step > 0 && (len(s.After) != 1 || steps[s.After[0]].Dst != s.Src || s.After[0]/n != step-1):
			t.Fatalf("step %d comes after %v", k, s.After)
		}
		for from := range has[s.Src][share] {
			has[s.Dst][share][from] = true
		}
	}
	var total unit.Bytes
	for h := range n {
		total += sizes[h]
		for share := range n {
			if len(has[h][share]) != n {
				t.Fatalf("host %d has share %d of %d hosts", h, share, len(has[h][share]))
			}
		}
		if d := sizes[0] - sizes[h]; d < 0 || d > 1 {
			t.Fatalf("shares of %v", sizes)
		}
	}
	if total != size {
		t.Fatalf("shares of %v in all, not %v", total, size)
	}
}

// TestFlowsTree checks that the transfers of a tree bring all bytes of every host to every host.
func TestFlowsTree(t *testing.T) {
	for n := 2; n <= 17; n++ {
		t.Run(fmt.Sprint(n, " nodes"), func(t *testing.T) { checkTree(t, n) })
	}
}

func checkTree(t *testing.T, n int) {
	steps, err := list(Tree, n, 1000)
	if err != nil || len(steps) != 2*(n-1) {
		t.Fatalf("%d steps, %v", len(steps), err)
	}
	has := make([]map[int]bool, n)
	for h := range n {
		has[h] = map[int]bool{h: true}
	}
	for k, s := range steps {
		for _, a := range s.After {
			if a >= k || steps[a].Dst != s.Src {
				t.Fatalf("step %d, %+v, comes after step %d, %+v", k, s, a, steps[min(a, len(steps)-1)])
			}
		}
		want := 0 // leaves begin at once, others when what they send on has come
		for _, other := range steps[:k] {
			if other.Dst == s.Src && (k < n-1 || s.Src == 0 || other.Src == (s.Src-1)/2) {
				want++
			}
		}
		if len(s.After) != want {
			t.Errorf("step %d, %+v, comes after %d others, not %d", k, s, len(s.After), want)
		}
		for from := range has[s.Src] {
			has[s.Dst][from] = true
		}
	}
	for h := range n {
		if len(has[h]) != n {
			t.Errorf("host %d has the values of %d", h, len(has[h]))
		}
	}
}

func TestFlowsRefused(t *testing.T) {
	for _, c := range []struct {
		algorithm string
		n         int
		size      unit.Bytes
	}{{Ring, 1, 100}, {Tree, 1, 100}, {Ring, 8, 7}, {Tree, 8, 0}, {"star", 8, 100}} {
		t.Run(fmt.Sprintf("%s of %d", c.algorithm, c.n), func(t *testing.T) {
			if all, err := NewTransfers(c.algorithm, c.n, c.size); err == nil {
				t.Errorf("%+v: %d transfers", c, all.Count())
			}
		})
	}
}

func ExampleNewTransfers() {
	t, _ := NewTransfers(Tree, 3, 1000)
	for k := range t.Count() {
		src, dst, size := t.Transfer(k)
		fmt.Println(k, src, "→", dst, size, "after", t.After(k))
	}
	// Output:
	// 0 2 → 0 1kB after []
	// 1 1 → 0 1kB after []
	// 2 0 → 1 1kB after [1 0]
	// 3 0 → 2 1kB after [1 0]
}
