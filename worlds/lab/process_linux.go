package lab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"weir/internal/document"
)

// process is one of the lab's child processes. It reads a line with its task, answers with a line when it is
// ready, and runs until its input is closed or its work is done. Its last line is a report. It dies with this
// process.
type process struct {
	name    string // name in errors
	mayExit bool   // it may end without being stopped
	command *exec.Cmd
	control io.WriteCloser
	lines   *bufio.Reader
	stderr  *tail
	stopped atomic.Bool // stopped by this process
	done    chan struct{}
	last    []byte // last line, valid once done is closed
	err     error  // valid once done is closed
}

// processTimeout limits the time that a process may take to start and to end.
const processTimeout = 20 * time.Second

// tail keeps the last 64 kB or so of a process's standard error.
type tail struct{ bytes.Buffer }

// Write appends b. It drops earlier text beyond 64 kB.
func (t *tail) Write(b []byte) (int, error) {
	if t.Len() > 1<<16 {
		t.Reset()
	}
	return t.Buffer.Write(b)
}

// start starts the process with a task and decodes its answer, both as a line of JSON; it waits for the answer up to
// processTimeout. On an error the process has ended.
func (p *process) start(command *exec.Cmd, task, answer any) error {
	p.command, p.stderr, p.done = command, &tail{}, make(chan struct{})
	out, err := command.StdoutPipe()
	if err == nil {
		p.control, err = command.StdinPipe()
	}
	if err != nil {
		return p.wrapError(err)
	}
	p.lines = bufio.NewReader(out)
	command.Stderr = p.stderr
	// A terminal's signal must reach this process only; it stops the other one in order.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.startOnThread(); err != nil {
		return p.wrapError(err)
	}
	if err := json.NewEncoder(p.control).Encode(task); err != nil {
		return p.abortStart(err)
	}
	if err := p.readAnswer(answer); err != nil {
		return p.abortStart(err)
	}
	go p.awaitEnd()
	return nil
}

// wrapError adds the process's name to an error.
func (p *process) wrapError(err error) error { return fmt.Errorf("lab: %s: %w", p.name, err) }

// startOnThread starts the process from a thread that lives as long as it. Linux sends Pdeathsig when the thread
// that forked ends, and threads end with goroutines that are locked to them.
func (p *process) startOnThread() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.command.Start()
		if started <- err; err == nil {
			<-p.done
		}
	}()
	return <-started
}

// dropWarnings removes the warnings of the process's file from its standard error, since this process has printed
// them already.
func dropWarnings(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if !document.IsWarning(line) {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, ""))
}

// awaitEnd waits for the end of the process, stores its last line and error, and closes p.done.
func (p *process) awaitEnd() {
	line, err := p.lines.ReadBytes('\n')
	io.Copy(io.Discard, p.lines) // until it closes its output
	ended := p.command.Wait()
	switch output := dropWarnings(p.stderr.String()); {
	case (ended != nil || err != nil) && output != "":
		p.err = p.wrapError(errors.New(output))
	case ended != nil:
		p.err = p.wrapError(ended)
	case err != nil:
		p.err = p.wrapError(errors.New("it ended without a report"))
	case !p.mayExit && !p.stopped.Load():
		p.err = p.wrapError(errors.New("it ended unexpectedly"))
	}
	p.last = line
	close(p.done)
}

// Done is closed when the process has ended, by Stop, Kill or by itself.
func (p *process) Done() <-chan struct{} { return p.done }

// Err returns the error with which the process ended, with its standard error as text. It is nil while the process
// runs, and if it was stopped and ended in order.
func (p *process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// readAnswer decodes one line of the process into answer. It kills the process after processTimeout, which is an error.
func (p *process) readAnswer(answer any) error {
	timer := time.AfterFunc(processTimeout, func() { p.command.Process.Kill() })
	line, err := p.lines.ReadBytes('\n')
	if !timer.Stop() {
		return fmt.Errorf("it was not ready within %v", processTimeout)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(line, answer)
}

// abortStart ends a process that failed to start and returns its error. Text on its standard error takes
// precedence.
func (p *process) abortStart(err error) error {
	p.control.Close()
	// A process that has closed its pipes ends by itself; its exit status is more precise than err.
	ends := errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE)
	if !ends {
		p.command.Process.Kill()
	}
	timer := time.AfterFunc(time.Second, func() { p.command.Process.Kill() })
	ended := p.command.Wait()
	ends = timer.Stop() && ends // otherwise it ran on without pipes until it was killed
	close(p.done)
	output := dropWarnings(p.stderr.String())
	switch {
	case output != "":
		return p.wrapError(errors.New(output))
	case ends && ended != nil:
		return p.wrapError(ended)
	case ends:
		return p.wrapError(errors.New("it ended before it was ready"))
	}
	return p.wrapError(err)
}

// stopProcess ends the process by closing its input, waits for its end, and decodes its report. After processTimeout it
// kills the process. If the process ended earlier, the error is Err's.
func (p *process) stopProcess(report any) error {
	p.stopped.Store(true)
	p.control.Close()
	timer := time.AfterFunc(processTimeout, func() { p.command.Process.Kill() })
	defer timer.Stop()
	if <-p.done; p.err != nil {
		return p.err
	}
	if err := json.Unmarshal(p.last, report); err != nil {
		return p.wrapError(err)
	}
	return nil
}

// Kill ends the process immediately, without a report, and waits for its end.
func (p *process) Kill() {
	p.stopped.Store(true)
	p.control.Close()
	p.command.Process.Kill()
	<-p.done
}
