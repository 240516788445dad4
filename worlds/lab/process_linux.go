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

// process is one of the lab's: it reads a line of what it is to do, answers with a line when it is ready, runs until
// its input is closed or it is done, and says in a last line what came of it. It dies with this process.
type process struct {
	what    string // that it is, in errors
	mayExit bool   // it may end by itself
	command *exec.Cmd
	control io.WriteCloser
	lines   *bufio.Reader
	said    *tail
	stopped atomic.Bool // by us
	done    chan struct{}
	last    []byte // line, once done is closed
	err     error  // likewise
}

// How long a process may take to begin and to end.
const patience = 20 * time.Second

// tail keeps the last of what a process says.
type tail struct{ bytes.Buffer }

func (t *tail) Write(b []byte) (int, error) {
	if t.Len() > 1<<16 {
		t.Reset()
	}
	return t.Buffer.Write(b)
}

// start starts the process, tells it to, and reads its answer.
func (p *process) start(command *exec.Cmd, to, answer any) error {
	p.command, p.said, p.done = command, &tail{}, make(chan struct{})
	out, err := command.StdoutPipe()
	if err == nil {
		p.control, err = command.StdinPipe()
	}
	if err != nil {
		return p.error(err)
	}
	p.lines = bufio.NewReader(out)
	command.Stderr = p.said
	// A signal of the terminal is for us: we stop it in order.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.fork(); err != nil {
		return p.error(err)
	}
	if err := json.NewEncoder(p.control).Encode(to); err != nil {
		return p.fail(err)
	}
	if err := p.read(answer); err != nil {
		return p.fail(err)
	}
	go p.watch()
	return nil
}

func (p *process) error(err error) error { return fmt.Errorf("lab: %s: %w", p.what, err) }

// fork starts the process from a thread that lives as long: Pdeathsig comes when the thread
// ends that has forked, and threads end with goroutines that are locked to them.
func (p *process) fork() error {
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

// dropWarnings returns what a process wrote to its standard error but the warnings of its file, which this process
// has printed already.
func dropWarnings(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if !document.IsWarning(line) {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, ""))
}

// watch waits for the process's end.
func (p *process) watch() {
	line, err := p.lines.ReadBytes('\n')
	io.Copy(io.Discard, p.lines) // until it closes its output
	ended := p.command.Wait()
	switch said := dropWarnings(p.said.String()); {
	case (ended != nil || err != nil) && said != "":
		p.err = p.error(errors.New(said))
	case ended != nil:
		p.err = p.error(ended)
	case err != nil:
		p.err = p.error(errors.New("it has ended without a report"))
	case !p.mayExit && !p.stopped.Load():
		p.err = p.error(errors.New("it has ended by itself"))
	}
	p.last = line
	close(p.done)
}

// Done is closed when the process has ended, by Stop, Kill or by itself.
func (p *process) Done() <-chan struct{} { return p.done }

// Err says why the process has ended, with what it said: nil as long as it has not, and if it
// was stopped and ended in order.
func (p *process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// read reads one line of the process, which is killed if that takes too long.
func (p *process) read(to any) error {
	timer := time.AfterFunc(patience, func() { p.command.Process.Kill() })
	line, err := p.lines.ReadBytes('\n')
	if !timer.Stop() {
		return fmt.Errorf("it was not ready within %v", patience)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(line, to)
}

// fail ends a process that has not begun, and says what it said.
func (p *process) fail(err error) error {
	p.control.Close()
	// One that has closed its pipes ends by itself, and how it does says more.
	ends := errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE)
	if !ends {
		p.command.Process.Kill()
	}
	timer := time.AfterFunc(time.Second, func() { p.command.Process.Kill() })
	ended := p.command.Wait()
	ends = timer.Stop() && ends // else it went on without them until now
	close(p.done)
	said := dropWarnings(p.said.String())
	switch {
	case said != "":
		return p.error(errors.New(said))
	case ends && ended != nil:
		return p.error(ended)
	case ends:
		return p.error(errors.New("it has ended before it was ready"))
	}
	return p.error(err)
}

// stop ends the process, and reads what it says of its run. If it has ended by itself, the error is Err's.
func (p *process) stop(report any) error {
	p.stopped.Store(true)
	p.control.Close()
	timer := time.AfterFunc(patience, func() { p.command.Process.Kill() })
	defer timer.Stop()
	if <-p.done; p.err != nil {
		return p.err
	}
	if err := json.Unmarshal(p.last, report); err != nil {
		return p.error(err)
	}
	return nil
}

// Kill ends the process at once.
func (p *process) Kill() {
	p.stopped.Store(true)
	p.control.Close()
	p.command.Process.Kill()
	<-p.done
}
