// Package await lets tests wait for events of processes that they start: a line of output,
// an exit, or any condition. A wait has no length of time. It ends with the event, with the exit of the
// process, or when the process has used more processor time than its work budget allows.
//
// The budget counts the processor time that a process used, summed over all threads of the process and its
// descendants. Time without a processor does not count, so a busy machine does not exhaust it. A process that
// hangs without using a processor is stopped after [HangLimit], and its stacks are reported.
package await

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// HangLimit is the duration of a wait after which the process counts as hung.
	HangLimit = 10 * time.Minute

	maxPoll   = 20 * time.Millisecond // between two checks of a fast condition
	pollShare = 10                    // a check takes at most 1/pollShare of the time, if maxPause allows
	maxPause  = 250 * time.Millisecond
	stackWait = 5 * time.Second // for a hung process to print its stacks
)

// AwaitCondition waits until happened returns true. The condition belongs to the test's own process, such as a
// goroutine or a server in it. For a condition that another process brings about use [Process.AwaitCondition], which
// notices when that process exits.
//
// It fails the test, with the stacks of all goroutines, after HangLimit. The text what names the condition there.
func AwaitCondition(t testing.TB, what string, happened func() bool) {
	t.Helper()
	if poll(nil, happened, func() bool { return false }) != eventHappened {
		stacks := make([]byte, 1<<20)
		t.Fatalf("%s: did not happen within %v\n%s", what, HangLimit, stacks[:runtime.Stack(stacks, true)])
	}
}

// pollResult is why poll returned.
type pollResult int

const (
	eventHappened pollResult = iota
	waitStopped              // the caller's condition ended the wait
	waitHung                 // HangLimit passed
)

// poll checks the condition happened whenever wake receives, and at intervals that grow from 0.5 to 20 ms. The
// intervals are longer for a slow check, such as a page's check, which would otherwise delay the event. It gives up
// when stopped returns true and the condition does not hold at that moment.
func poll(wake <-chan struct{}, happened, stopped func() bool) pollResult {
	start, interval := time.Now(), 500*time.Microsecond
	for {
		ended := stopped() // before the condition: the last event still counts
		began := time.Now()
		switch {
		case happened():
			return eventHappened
		case ended:
			return waitStopped
		case time.Since(start) > HangLimit:
			return waitHung
		}
		pause := min(max(interval, (pollShare-1)*time.Since(began)), maxPause)
		select {
		case <-wake:
		case <-time.After(pause):
			interval = min(interval*5/4, maxPoll)
		}
	}
}

// Process is a running program under test. Its methods fail the test with t.Fatal, so they must be called
// from the goroutine that runs the test.
type Process struct {
	t      testing.TB
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has been waited for
	wake   chan struct{} // receives after each line and the exit

	mu     sync.Mutex
	stdout strings.Builder
	stderr strings.Builder
	lines  []string // of both streams, in the order of arrival
	next   int      // the first line that AwaitLine has not returned

	usage  usage
	budget time.Duration // of work; 0: no limit
}

// Start starts a command and reads its standard output and standard error line by line. The command's
// Stdout and Stderr must be nil. The process and its descendants are killed when the test ends.
func Start(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{t: t, cmd: cmd, exited: make(chan struct{}), wake: make(chan struct{}, 1)}
	var readers sync.WaitGroup
	streams := []struct {
		open func() (io.ReadCloser, error)
		into *strings.Builder
	}{{cmd.StdoutPipe, &p.stdout}, {cmd.StderrPipe, &p.stderr}}
	for _, stream := range streams {
		r, err := stream.open()
		if err != nil {
			t.Fatal(err)
		}
		readers.Go(func() { p.readLines(r, stream.into) })
	}
	setGroup(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.usage.pid = cmd.Process.Pid
	go func() {
		readers.Wait()
		cmd.Wait()
		close(p.exited)
		p.wakeUp()
	}()
	t.Cleanup(func() {
		killGroup(cmd)
		<-p.exited
	})
	return p
}

// readLines stores the lines of one stream in into and in p.lines until the stream ends.
func (p *Process) readLines(r io.Reader, into *strings.Builder) {
	b := bufio.NewReader(r)
	for {
		line, err := b.ReadString('\n')
		p.mu.Lock()
		into.WriteString(line)
		if line != "" {
			p.lines = append(p.lines, strings.TrimSuffix(line, "\n"))
		}
		p.mu.Unlock()
		p.wakeUp()
		if err != nil {
			return
		}
	}
}

// wakeUp makes a wait check its condition. One check serves several calls.
func (p *Process) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// LimitWork limits the processor time that the process may use from this call until a later wait ends. It replaces
// limits of wall-clock time: a program that must end within a second of a signal gets LimitWork(time.Second) before the
// signal. It returns p.
func (p *Process) LimitWork(work time.Duration) *Process {
	p.budget = p.Work() + work
	return p
}

// Work returns the processor time that the process and its descendants have used since they started. Where the
// system does not count it (only Linux does), it is 0.
func (p *Process) Work() time.Duration { return p.usage.total() }

// AwaitLine waits for a line of standard output or standard error that contains part, and returns it. Lines are
// consumed: the next call looks only at the lines after it.
func (p *Process) AwaitLine(part string) string {
	p.t.Helper()
	found := ""
	p.awaitEvent("a line with "+part, false, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for ; p.next < len(p.lines); p.next++ {
			if strings.Contains(p.lines[p.next], part) {
				found = p.lines[p.next]
				p.next++
				return true
			}
		}
		return false
	})
	return found
}

// AwaitCondition waits until happened returns true, a condition that the process brings about. It fails the test if the
// process exits first. The text what names the condition there.
func (p *Process) AwaitCondition(what string, happened func() bool) {
	p.t.Helper()
	p.awaitEvent(what, false, happened)
}

// AwaitExit waits for the process to exit and returns its exit code, or -1 if a signal ended it.
func (p *Process) AwaitExit() int {
	p.t.Helper()
	p.awaitEvent("its exit", true, func() bool {
		select {
		case <-p.exited:
			return true
		default:
			return false
		}
	})
	return p.cmd.ProcessState.ExitCode()
}

// IsRunning reports whether the process has not exited yet.
func (p *Process) IsRunning() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Signal sends a signal to the process unless it has exited.
func (p *Process) Signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// Kill ends the process and its descendants at once and waits for its exit.
func (p *Process) Kill() {
	killGroup(p.cmd)
	<-p.exited
}

// PID returns the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stdout returns what the process has printed to standard output.
func (p *Process) Stdout() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stdout.String()
}

// Stderr returns what the process has printed to standard error.
func (p *Process) Stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// Output returns the lines of both streams in the order in which they arrived.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// awaitEvent waits until happened returns true, which ends the limit of LimitWork. The exit of the process fails the
// test unless the condition then holds. With forExit the exit is the awaited event. The text what names the event in
// the message.
func (p *Process) awaitEvent(what string, forExit bool, happened func() bool) {
	p.t.Helper()
	exhausted := false
	why := poll(p.wake, happened, func() bool {
		if p.budget > 0 && p.Work() > p.budget {
			exhausted = true
		}
		return exhausted || !forExit && !p.IsRunning()
	})
	switch {
	case why == eventHappened:
		p.budget = 0
		return
	case why == waitHung || exhausted:
		reason := "hung for " + HangLimit.String()
		if exhausted {
			reason = "the work budget is exhausted"
		}
		p.dumpStacks()
		p.t.Fatalf("waiting for %s: %s\n%s", what, reason, p.Output())
	default:
		p.t.Fatalf("waiting for %s: the process exited with %v\n%s", what, p.cmd.ProcessState, p.Output())
	}
}

// dumpStacks makes a Go program print its goroutines, and ends it.
func (p *Process) dumpStacks() {
	quitGroup(p.cmd)
	select {
	case <-p.exited:
	case <-time.After(stackWait):
		p.Kill()
	}
}
