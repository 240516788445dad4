package hpccsim

import (
	"slices"
	"testing"
)

// What is to be said of every run is said once, and of some runs of these.
func TestAlike(t *testing.T) {
	all := []exported{{Left: []string{"no pfc.txt", "no qlen.txt"}}, {Left: []string{"no qlen.txt", "no pfc.txt"}},
		{Left: []string{"no pfc.txt"}}}
	if got := alike(all); !slices.Equal(got, []string{"no pfc.txt"}) {
		t.Errorf("%q", got)
	}
	for i, want := range [][]string{{"no qlen.txt"}, {"no qlen.txt"}, {}} {
		if !slices.Equal(all[i].Left, want) {
			t.Errorf("of run %d: %q", i, all[i].Left)
		}
	}
	one := []exported{{Left: []string{"no pfc.txt"}}}
	if got := alike(one); got != nil || len(one[0].Left) != 1 {
		t.Errorf("of one run: %q, %q", got, one[0].Left)
	}
}
