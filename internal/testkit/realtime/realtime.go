// Package realtime runs tests that depend on the machine's timing. An attempt reports what was wrong
// and what disturbed it, as values; it never touches the outer test. The verdict is
//
//   - pass, as soon as one attempt is right;
//   - fail, as soon as two attempts are wrong in the same way and at least one of them was undisturbed;
//   - inconclusive otherwise, after [MaxAttempts]: the test is skipped with a reason that starts with
//     [Inconclusive], and the stage that runs it lists its name and cause at the end.
//
// Two attempts are wrong in the same way if the same check failed in both: the same line called Error, Errorf,
// Fatal, Fatalf, Fail or FailNow, with the same format if there is one. If that line is in a function that calls
// Helper, the lines that called the helper are the same, too.
package realtime

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	// MaxAttempts limits the attempts before the test is inconclusive.
	MaxAttempts = 4
	// Inconclusive starts the reason of a skipped test that reached no verdict.
	Inconclusive = "inconclusive: "
)

// Try is one attempt. It is a testing.TB for helpers, but its failures are values of this attempt. Log, Name,
// TempDir, Setenv and Context are those of the outer test, and Skip skips it. Fatal ends the attempt. All methods are
// safe for concurrent use, but only the goroutine of the attempt may call FailNow, Fatal, Fatalf and Skip.
type Try struct {
	testing.TB

	mu        sync.Mutex
	findings  []finding
	disturbed []string
	cleanups  []func()
	helpers   map[string]bool // functions that called Helper
	skip      string
	skipped   bool
}

// finding is one failed check.
type finding struct{ kind, text string }

// Test makes attempts until the verdict is clear. The package comment has the rules.
func Test(t *testing.T, attempt func(try *Try)) {
	t.Helper()
	v := decide(func() *Try {
		try := &Try{TB: t}
		try.runAttempt(attempt)
		return try
	}, func(number int, try *Try) { t.Logf("attempt %d: %s", number, try) })
	switch v.name {
	case "fail":
		t.Fatal(v.text)
	case "skip", "inconclusive":
		t.Skip(v.text)
	}
}

// verdict is the result of a test: pass, fail, skip or inconclusive, with the reason.
type verdict struct{ name, text string }

// decide makes attempts until the verdict is clear. It passes the wrong ones with their numbers to log.
func decide(attempt func() *Try, log func(number int, try *Try)) verdict {
	var all []*Try
	for range MaxAttempts {
		try := attempt()
		if try.skipped {
			return verdict{"skip", try.skip}
		}
		if len(try.findings) == 0 {
			return verdict{"pass", ""}
		}
		if earlier := try.findConfirmed(all); earlier != nil {
			return verdict{"fail", fmt.Sprintf("two attempts are wrong in the same way, and one was undisturbed:\n%s\n%s",
				earlier, try)}
		}
		all = append(all, try)
		log(len(all), try)
	}
	return verdict{"inconclusive", Inconclusive + all[len(all)-1].describeCause()}
}

// runAttempt makes the attempt in its own goroutine, which FailNow and Skip can end, and then runs its cleanups. It
// panics if one of them did.
func (try *Try) runAttempt(attempt func(try *Try)) {
	done := make(chan any)
	go func() {
		finished := false
		defer func() {
			var crash any
			if !finished {
				crash = recover() // nil if FailNow or Skip ended the goroutine
			}
			if c := try.cleanUp(); crash == nil {
				crash = c
			}
			done <- crash
		}()
		attempt(try)
		finished = true
	}()
	if crash := <-done; crash != nil {
		panic(crash)
	}
}

// cleanUp runs the attempt's cleanups, the last one first, each in its own goroutine, so that all run if one ends
// with Fatal. It returns the first panic.
func (try *Try) cleanUp() (crash any) {
	for f := try.lastCleanup(); f != nil; f = try.lastCleanup() {
		done := make(chan any)
		go func() {
			finished := false
			defer func() {
				if finished {
					done <- nil
				} else {
					done <- recover() // nil if FailNow ended the goroutine
				}
			}()
			f()
			finished = true
		}()
		if c := <-done; crash == nil {
			crash = c
		}
	}
	return crash
}

// lastCleanup removes the cleanup that was registered last and returns it, or nil if no cleanup is left.
func (try *Try) lastCleanup() func() {
	try.mu.Lock()
	defer try.mu.Unlock()
	last := len(try.cleanups) - 1
	if last < 0 {
		return nil
	}
	f := try.cleanups[last]
	try.cleanups = try.cleanups[:last]
	return f
}

// findConfirmed returns one of the earlier attempts all that was wrong in the same way, if it or this one was
// undisturbed. It returns nil without one.
func (try *Try) findConfirmed(all []*Try) *Try {
	for _, earlier := range all {
		if len(try.disturbed) > 0 && len(earlier.disturbed) > 0 {
			continue
		}
		for _, w := range try.findings {
			if slices.ContainsFunc(earlier.findings, func(e finding) bool { return e.kind == w.kind }) {
				return earlier
			}
		}
	}
	return nil
}

// String describes what was wrong and what disturbed the attempt.
func (try *Try) String() string {
	texts := make([]string, len(try.findings))
	for i, w := range try.findings {
		texts[i] = w.text
	}
	text := strings.Join(texts, "\n")
	if len(try.disturbed) > 0 {
		text += "\n(disturbed by " + strings.Join(try.disturbed, ", ") + ")"
	}
	return text
}

// describeCause describes on one line of at most maxCause characters why there is no verdict.
func (try *Try) describeCause() string {
	cause := "undisturbed, and wrong in another way than the others"
	if len(try.disturbed) > 0 {
		cause = "disturbed by: " + strings.Join(try.disturbed, ", ")
	}
	text := fmt.Sprintf("%d attempts, the last %s; it found: %s", MaxAttempts, cause, try.findings[0].text)
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) > maxCause {
		line = append(line[:maxCause-1], '…')
	}
	return string(line)
}

// maxCause limits the characters of the cause of an inconclusive test.
const maxCause = 300

// NoteDisturbed records what disturbed the attempt, such as lost frames or a late thread. Without arguments it has no
// effect.
func (try *Try) NoteDisturbed(causes ...string) {
	try.mu.Lock()
	defer try.mu.Unlock()
	try.disturbed = append(try.disturbed, causes...)
}

// addFinding records a failed check of the caller's caller. The format and the place of the check are its kind. The
// format is empty for a check without one.
func (try *Try) addFinding(format, text string) {
	pc := make([]uintptr, 32)
	frames := runtime.CallersFrames(pc[:runtime.Callers(3, pc)])
	try.mu.Lock()
	defer try.mu.Unlock()
	kind := format
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		kind += fmt.Sprintf("\n%s:%d", f.File, f.Line)
		more = more && try.helpers[f.Function]
	}
	try.findings = append(try.findings, finding{kind, strings.TrimSuffix(text, "\n")})
}

// Helper marks the calling function as a helper. The lines of its callers distinguish the helper's checks.
func (try *Try) Helper() {
	pc := make([]uintptr, 1)
	f, _ := runtime.CallersFrames(pc[:runtime.Callers(2, pc)]).Next()
	try.mu.Lock()
	defer try.mu.Unlock()
	if try.helpers == nil {
		try.helpers = map[string]bool{}
	}
	try.helpers[f.Function] = true
}

// Cleanup registers a function that runs at the end of the attempt.
func (try *Try) Cleanup(f func()) {
	try.mu.Lock()
	defer try.mu.Unlock()
	try.cleanups = append(try.cleanups, f)
}

// RunPart runs a part of the attempt. The cleanups that the part registers run at its end, so that parts can follow
// each other without sharing resources.
func (try *Try) RunPart(part func()) {
	try.mu.Lock()
	earlier := try.cleanups
	try.cleanups = nil
	try.mu.Unlock()
	defer func() {
		crash := try.cleanUp()
		try.mu.Lock()
		try.cleanups = earlier
		try.mu.Unlock()
		if crash != nil {
			panic(crash)
		}
	}()
	part()
}

// Error records a failed check of this attempt.
func (try *Try) Error(args ...any) { try.addFinding("", fmt.Sprintln(args...)) }

// Errorf records a failed check of this attempt.
func (try *Try) Errorf(format string, args ...any) {
	try.addFinding(format, fmt.Sprintf(format, args...))
}

// Fail records a failed check without a text.
func (try *Try) Fail() { try.addFinding("", "failed") }

// Failed reports whether a check of this attempt has failed.
func (try *Try) Failed() bool {
	try.mu.Lock()
	defer try.mu.Unlock()
	return len(try.findings) > 0
}

// Fatal records a failed check and ends the attempt.
func (try *Try) Fatal(args ...any) {
	try.addFinding("", fmt.Sprintln(args...))
	runtime.Goexit()
}

// Fatalf records a failed check and ends the attempt.
func (try *Try) Fatalf(format string, args ...any) {
	try.addFinding(format, fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// FailNow records a failed check and ends the attempt.
func (try *Try) FailNow() {
	try.addFinding("", "failed")
	runtime.Goexit()
}

// Skip ends the attempt and skips the outer test if this machine lacks a requirement.
func (try *Try) Skip(args ...any) {
	try.skip = strings.TrimSuffix(fmt.Sprintln(args...), "\n")
	try.SkipNow()
}

// Skipf ends the attempt and skips the outer test if this machine lacks a requirement.
func (try *Try) Skipf(format string, args ...any) {
	try.skip = fmt.Sprintf(format, args...)
	try.SkipNow()
}

// SkipNow ends the attempt and skips the outer test.
func (try *Try) SkipNow() {
	try.skipped = true
	runtime.Goexit()
}

// Skipped reports whether the attempt was skipped.
func (try *Try) Skipped() bool { return try.skipped }
