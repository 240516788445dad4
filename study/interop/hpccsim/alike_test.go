package hpccsim

import (
	"slices"
	"testing"
)

// TestTakeCommonNotes_KeepsOtherNotesPerRun checks that a note for every run is reported once, and other notes with
// their runs.
func TestTakeCommonNotes_KeepsOtherNotesPerRun(t *testing.T) {
	all := []exportedRun{{Omitted: []string{"no pfc.txt", "no qlen.txt"}}, {Omitted: []string{"no qlen.txt",
		"no pfc.txt"}},
		{Omitted: []string{"no pfc.txt"}}}
	if got := takeCommonNotes(all); !slices.Equal(got, []string{"no pfc.txt"}) {
		t.Errorf("%q", got)
	}
	for i, want := range [][]string{{"no qlen.txt"}, {"no qlen.txt"}, {}} {
		if !slices.Equal(all[i].Omitted, want) {
			t.Errorf("of run %d: %q", i, all[i].Omitted)
		}
	}
	one := []exportedRun{{Omitted: []string{"no pfc.txt"}}}
	if got := takeCommonNotes(one); got != nil || len(one[0].Omitted) != 1 {
		t.Errorf("of one run: %q, %q", got, one[0].Omitted)
	}
}
