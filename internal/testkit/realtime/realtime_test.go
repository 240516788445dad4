package realtime

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// attemptScript has the findings of one attempt.
type attemptScript struct {
	wrong     string // a format; "": right
	disturbed string
}

func TestVerdict_FailsOnRepeatedError(t *testing.T) {
	right, late := attemptScript{}, "a thread was late"
	slow, lost := attemptScript{wrong: "took %d ms"}, attemptScript{wrong: "lost %d frames"}
	disturbedSlow, disturbedLost := attemptScript{"took %d ms", late}, attemptScript{"lost %d frames", late}
	for _, x := range []struct {
		name     string
		script   []attemptScript
		want     string // of verdict
		attempts int
	}{
		{"right at once", []attemptScript{right}, "pass", 1},
		{"right after a wrong one", []attemptScript{slow, right}, "pass", 2},
		{"right after three disturbed ones", []attemptScript{disturbedSlow, disturbedSlow, disturbedSlow, right}, "pass", 4},
		{"wrong twice, undisturbed", []attemptScript{slow, slow}, "fail", 2},
		{"wrong twice, the first disturbed", []attemptScript{disturbedSlow, slow}, "fail", 2},
		{"wrong twice, the second disturbed", []attemptScript{slow, disturbedSlow}, "fail", 2},
		{"wrong in two ways, then one again", []attemptScript{slow, lost, slow}, "fail", 3},
		{"always disturbed", []attemptScript{disturbedSlow, disturbedSlow, disturbedSlow, disturbedSlow}, "inconclusive", 4},
		{"always another way", []attemptScript{slow, disturbedLost, {"a %d", late}, {wrong: "b %d"}}, "inconclusive", 4},
	} {
		t.Run(x.name, func(t *testing.T) {
			attempts := 0
			verdict, text := outcome(t, func(try *Try) {
				s := x.script[attempts]
				attempts++
				if s.disturbed != "" {
					try.NoteDisturbed(s.disturbed)
				}
				if s.wrong != "" {
					try.Errorf(s.wrong, attempts) // other figures, the same check
				}
			})
			if verdict != x.want || attempts != x.attempts {
				t.Errorf("%s after %d attempts, want %s after %d: %s", verdict, attempts, x.want, x.attempts, text)
			}
			if verdict == "inconclusive" && !strings.HasPrefix(text, Inconclusive) {
				t.Errorf("the reason is %q", text)
			}
		})
	}
}

// outcome runs attempts as Test does, and returns the verdict as a value.
func outcome(t *testing.T, attempt func(*Try)) (verdict, text string) {
	v := decide(func() *Try {
		try := &Try{TB: t}
		try.runAttempt(attempt)
		return try
	}, func(int, *Try) {})
	return v.name, v.text
}

func TestFatal_EndsOnlyTheAttempt(t *testing.T) {
	var order []string
	attempts := 0
	Test(t, func(try *Try) {
		attempts++
		try.Cleanup(func() { order = append(order, "first") })
		try.Cleanup(func() { order = append(order, "second") })
		if attempts == 1 {
			try.Fatal("wrong")
		}
		order = append(order, "end")
	})
	if got := fmt.Sprint(order); got != "[second first end second first]" || t.Failed() {
		t.Errorf("%s, failed: %v", got, t.Failed())
	}
}

// TestRunPart_CleansUpAtItsEnd checks that a part's cleanups run at its end, even if it is fatal for the attempt.
// Cleanups that were registered before it run at the end of the attempt.
func TestRunPart_CleansUpAtItsEnd(t *testing.T) {
	var order []string
	note := func(what string) func() { return func() { order = append(order, what) } }
	attempts := 0
	verdict, text := outcome(t, func(try *Try) {
		attempts++
		try.Cleanup(note("attempt"))
		try.RunPart(func() { try.Cleanup(note("first")) })
		try.RunPart(func() {
			try.Cleanup(note("second"))
			if attempts == 1 {
				try.Fatal("wrong")
			}
		})
		order = append(order, "end")
	})
	if got := fmt.Sprint(order); verdict != "pass" || got != "[first second attempt first second end attempt]" {
		t.Errorf("%s: %s: %s", verdict, text, got)
	}
}

func TestSkipReachesTheOuterTest(t *testing.T) {
	verdict, text := outcome(t, func(try *Try) { try.Skipf("needs %s", "root") })
	if verdict != "skip" || text != "needs root" {
		t.Errorf("%s: %s", verdict, text)
	}
}

// TestWaysByLine checks that failures on the same line of Error count as the same failure, and on two lines as two.
func TestWaysByLine(t *testing.T) {
	n := 0
	verdict, _ := outcome(t, func(try *Try) {
		n++
		if n%2 == 1 {
			try.Error("one of", n)
		} else {
			try.Error("another of", n)
		}
	})
	if verdict != "fail" || n != 3 {
		t.Errorf("%s after %d", verdict, n)
	}
}

// TestWaysByLineAndFormat checks that failures on two lines count as two, even with the same format.
func TestWaysByLineAndFormat(t *testing.T) {
	n := 0
	verdict, text := outcome(t, func(try *Try) {
		n++
		switch n % 4 {
		case 0:
			try.Errorf("%v", n)
		case 1:
			try.Errorf("%v", n)
		case 2:
			try.Fatalf("%v", n)
		case 3:
			try.Errorf("other %v", n)
		}
	})
	if verdict != "inconclusive" || !strings.HasSuffix(text, "undisturbed, and wrong in another way than the others; "+
		"it found: 4") {
		t.Errorf("%s: %s", verdict, text)
	}
}

// TestWaysByHelper checks that the failures of a helper are distinguished by the lines that call it, and by its own
// line.
func TestWaysByHelper(t *testing.T) {
	inner := func(try *Try, second bool) {
		try.Helper()
		if second {
			try.Error("wrong")
			return
		}
		try.Error("wrong")
	}
	outer := func(try *Try, second bool) {
		try.Helper()
		inner(try, second)
	}
	for _, x := range []struct {
		ways string // of the attempts
		want string
	}{{"aa", "fail"}, {"abca", "fail"}, {"abcd", "inconclusive"}} {
		n := 0
		verdict, _ := outcome(t, func(try *Try) {
			way := x.ways[n]
			n++
			switch way {
			case 'a':
				outer(try, false)
			case 'b':
				outer(try, false)
			case 'c', 'd':
				outer(try, way == 'd')
			}
		})
		if verdict != x.want || n != len(x.ways) {
			t.Errorf("%s: %s after %d attempts", x.ways, verdict, n)
		}
	}
}

// TestCauseOfDisturbance checks that a test without a verdict names the last attempt's disturbances as the cause.
func TestCauseOfDisturbance(t *testing.T) {
	_, text := outcome(t, func(try *Try) {
		try.NoteDisturbed("a late thread", "a lost frame")
		try.Error("wrong")
	})
	if want := "4 attempts, the last disturbed by: a late thread, a lost frame; it found: wrong"; text !=
		Inconclusive+want {
		t.Errorf("%q", text)
	}
}

// TestManyGoroutines checks that any goroutine may register cleanups and record findings, and that no call is lost.
func TestManyGoroutines(t *testing.T) {
	const count = 100
	cleaned := 0
	var found *Try
	_, _ = outcome(t, func(try *Try) {
		found = try
		var all sync.WaitGroup
		for range count {
			all.Go(func() {
				try.Helper()
				try.Cleanup(func() { cleaned++ })
				try.NoteDisturbed("x")
				try.Error("wrong")
			})
		}
		all.Wait()
	})
	if cleaned != MaxAttempts*count || len(found.findings) != count || len(found.disturbed) != count {
		t.Errorf("%d cleanups; the last attempt has %d findings and %d disturbances", cleaned, len(found.findings),
			len(found.disturbed))
	}
}

func TestPanicsReachTheTest(t *testing.T) {
	defer func() {
		if got := recover(); got != "broken" {
			t.Errorf("recovered %v", got)
		}
	}()
	Test(t, func(*Try) { panic("broken") })
}

// TestFatalInACleanup checks that a cleanup that fails is a finding of the attempt, and that the other cleanups
// still run.
func TestFatalInACleanup(t *testing.T) {
	cleaned := 0
	verdict, text := outcome(t, func(try *Try) {
		try.Cleanup(func() { cleaned++ })
		try.Cleanup(func() { try.Fatal("the process does not end") })
	})
	if verdict != "fail" || cleaned != 2 || !strings.Contains(text, "does not end") {
		t.Errorf("%s, %d cleanups: %s", verdict, cleaned, text)
	}
}

// TestCauseIsOneLine checks that the cause of an inconclusive test is one line, even with long findings.
func TestCauseIsOneLine(t *testing.T) {
	try := &Try{findings: []finding{{"", "differs:\n\t/tmp/report.html\n"}}, disturbed: []string{"lost frames"}}
	want := "4 attempts, the last disturbed by: lost frames; it found: differs: /tmp/report.html"
	if got := try.describeCause(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	try.findings[0].text = strings.Repeat("ä\n", maxCause)
	if got := try.describeCause(); len([]rune(got)) != maxCause || strings.Contains(got, "\n") {
		t.Errorf("%d characters: %q", len([]rune(got)), got)
	}
}
