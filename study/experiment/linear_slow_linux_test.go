//go:build slow

package experiment_test

import (
	"syscall"
	"testing"
)

// cpu is the processor time that f takes, in microseconds: the less of two.
func cpu(t *testing.T, f func()) (least int64) {
	t.Helper()
	now := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return u.Utime.Nano() / 1000
	}
	for range 2 {
		start := now()
		f()
		if took := now() - start; least == 0 || took < least {
			least = took
		}
	}
	return least
}

// TestCheckTimeIsLinear checks that a file that is eight times as long takes about eight times as long to be checked.
func TestCheckTimeIsLinear(t *testing.T) {
	eachWrongFile(t, func(t *testing.T, check func(n int) func()) {
		if small, large := cpu(t, check(1000)), cpu(t, check(8000)); large > 25*max(small, 40000) {
			t.Errorf("%d us for 1000, %d us for 8000", small, large)
		}
	})
}
