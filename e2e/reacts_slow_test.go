//go:build slow

package e2e

import (
	"math/rand/v2"
	"testing"
)

// TestAllReactions checks all combinations.
func TestAllReactions(t *testing.T) {
	for _, r := range reactions() {
		t.Run(r.String(), r.check)
	}
}

// TestAllCrossings checks all pairs of choices that load, and 400 random combinations.
func TestAllCrossings(t *testing.T) {
	total := 1
	for _, n := range choices {
		total *= n
	}
	c, run, refused := newCovering(), 0, 0
	check := func(s selection) {
		x := s.crossing()
		_, loads := tryLoad(t, x.spec())
		loads = loads && x.drains()
		if c.note(s, loads); !loads {
			refused++
			return
		}
		run++
		t.Run(x.String(), x.check)
	}
	for s, ok := c.next(); ok; s, ok = c.next() {
		check(s)
	}
	pairs := len(c.covered)
	random := rand.New(rand.NewPCG(4, 4))
	for range 400 {
		var s selection
		for i, n := range choices {
			s[i] = random.IntN(n)
		}
		check(s)
	}
	t.Logf("%d of %d combinations, with %d of %d pairs of choices; loading refuses %d more", run, total, pairs,
		len(c.tries), refused)
}
