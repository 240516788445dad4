package kernel

import (
	"fmt"
	"testing"
)

func TestStolenShare_ReadsProcStat(t *testing.T) {
	for stat, want := range map[string]float64{
		"cpu  1 2 3 4 5 6 7 72 9 9\ncpu0 1\n": 0.72, "cpu  0 0 0 0 0 0 0 0 0 0\n": 0, "": 0, "cpu 1 2 3": 0,
		"cpu a b c d e f g h": 0, "intr 1 2 3 4 5 6 7 8 9": 0,
	} {
		t.Run(fmt.Sprintf("%q", stat), func(t *testing.T) {
			if got := stolenShare([]byte(stat)); got != want {
				t.Errorf("%q: %v, want %v", stat, got, want)
			}
		})
	}
}
