package schemelint

import (
	"strings"
	"sync"
	"testing"
)

// TestMostFrequentCreator checks that a goroutine of the process that happens to be new is not named as the one that
// starts goroutines.
func TestMostFrequentCreator(t *testing.T) {
	const (
		test      = "created by testing.(*T).Run in goroutine 1\n\t/go/src/testing/testing.go:2101 +0x4\n\n"
		rehearsal = "created by weir/study/schemelint.runRehearsal in goroutine 2\n\t/a path/costs.go:7 +0x4\n\n"
		own       = "created by weir/own.program.Admit in goroutine 3\n\t/a path/own.go:42 +0x4\n\n"
	)
	before := createdBy.FindAllString(test, -1)
	for _, x := range []struct{ stacks, want string }{
		{"", ""},
		{test + rehearsal, ""},
		{test + own, " by weir/own.program.Admit (own.go:42)"},
		{strings.Replace(test, "1", "9", 1) + own + own, " by weir/own.program.Admit (own.go:42)"},
		{own + own + strings.Replace(test, "1", "9", 1), " by weir/own.program.Admit (own.go:42)"},
	} {
		if got := findMainCreator(x.stacks, before); got != x.want {
			t.Errorf("%q: %q, want %q", x.stacks, got, x.want)
		}
	}
}

// TestGoroutineStacks_HasEveryStack checks that no stack is missing when there are thousands.
func TestGoroutineStacks_HasEveryStack(t *testing.T) {
	const started = 5000
	var done sync.WaitGroup
	end := make(chan struct{})
	done.Add(started)
	for range started {
		go func() {
			<-end
			done.Done()
		}()
	}
	// Each stack has this line, also if its goroutine has not run yet.
	found := strings.Count(goroutineStacks(), "created by weir/study/schemelint.TestGoroutineStacks_HasEveryStack in")
	close(end)
	done.Wait()
	if found != started {
		t.Errorf("the stacks of %d goroutines, want %d", found, started)
	}
}
