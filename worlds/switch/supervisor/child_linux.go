package supervisor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"weir/worlds/switch/control"
)

// child is the data plane's process, as seen by its supervisor. No method waits for the process longer than its
// comment states: separate goroutines write requests and read replies.
type child struct {
	command  *exec.Cmd
	shared   *control.SharedCounters
	stderr   *tail
	requests chan control.Request // requests waiting to be written
	halt     chan struct{}        // closed: stop before any waiting request
	replies  chan control.Reply
	ended    chan error    // receives one value when the process has ended
	ignored  chan struct{} // closed: replies are not read any more
}

// tail keeps the end of a process's output.
type tail struct{ bytes.Buffer }

// Write appends b. It drops earlier text beyond 64 kB.
func (t *tail) Write(b []byte) (int, error) {
	if t.Len() > 1<<16 {
		t.Reset()
	}
	return t.Buffer.Write(b)
}

// Time limits for the data plane to begin, to stop, to answer metrics, and to answer a reload before that is
// reported (reading its file may take as long), and for the kernel to end it. Stopping, killing and the final
// output (flushTimeout) together take less than the 10 s allowed for an end.
const (
	beginTimeout  = 20 * time.Second
	stopTimeout   = 7 * time.Second
	answerTimeout = 500 * time.Millisecond
	reloadTimeout = 5 * time.Second
	killTimeout   = time.Second
)

// maxRequests limits the requests waiting for an unresponsive data plane. It exceeds the number of simultaneous
// scrapes plus a reload.
const maxRequests = 16

// newChild starts the data plane with the given command line and passes it its sockets and its file, all from x. It
// closes the sockets and links of x in this process. The caller waits for the data plane with awaitBegun.
func newChild(command []string, x *state) (c *child, err error) {
	fd, err := unix.MemfdCreate("weir switch counters", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	shared := os.NewFile(uintptr(fd), "counters")
	defer shared.Close()
	if err := shared.Truncate(int64(control.SharedBytes)); err != nil {
		return nil, err
	}
	memory, err := unix.Mmap(fd, 0, int(control.SharedBytes), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	c = &child{shared: control.MapCounters(memory), stderr: &tail{}, requests: make(chan control.Request, maxRequests),
		halt:    make(chan struct{}),
		replies: make(chan control.Reply, 16), ended: make(chan error, 1), ignored: make(chan struct{})}
	c.command = &exec.Cmd{Path: executable, Args: append([]string{os.Args[0]}, command...), Stderr: c.stderr,
		WaitDelay: killTimeout}
	// A terminal's signal must reach this process only; it stops the other one in order.
	c.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	begin := control.Request{Do: control.DoBegin, File: x.File, Data: x.Data, Page: 3, Bypass: x.Bypass != ""}
	c.command.ExtraFiles = []*os.File{shared}
	for _, s := range x.Sockets {
		f := os.NewFile(uintptr(s.FD), s.Port)
		defer f.Close() // only the data plane keeps it
		s.FD = begin.Page + len(c.command.ExtraFiles)
		c.command.ExtraFiles, begin.Sockets = append(c.command.ExtraFiles, f), append(begin.Sockets, s)
	}
	for _, fd := range x.Links { // held by the data plane without using them
		f := os.NewFile(uintptr(fd), "bypass")
		defer f.Close()
		c.command.ExtraFiles = append(c.command.ExtraFiles, f)
	}
	in, requests, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	c.command.Stdin = in
	if err := c.startProcess(); err != nil {
		return nil, fmt.Errorf("data plane: %w", err)
	}
	go c.writeRequests(requests)
	c.sendRequest(begin)
	return c, nil
}

// startProcess starts the process without capabilities, and a goroutine that passes its replies to c.replies and its
// end to c.ended.
func (c *child) startProcess() error {
	out, err := c.command.StdoutPipe()
	if err != nil {
		return err
	}
	started := make(chan error)
	go func() {
		// The new process inherits this thread's capabilities and dies with it. So the thread drops them and waits.
		runtime.LockOSThread()
		if err := setCapabilities(0, 0); err != nil {
			started <- err
			return
		}
		err := c.command.Start()
		if started <- err; err != nil {
			return
		}
		control.ReadReplies(out, func(a control.Reply) {
			select {
			case c.replies <- a:
			case <-c.ignored:
			}
		})
		c.ended <- c.command.Wait()
	}()
	return <-started
}

// writeRequests writes requests to the data plane until c.halt is closed, when it writes the request to stop. It
// blocks while they are not read.
func (c *child) writeRequests(pipe *os.File) {
	defer pipe.Close() // which also stops the data plane
	for out := json.NewEncoder(pipe); ; {
		var o control.Request
		select {
		case <-c.halt:
			out.Encode(control.Request{Do: control.DoStop}) // on a failure it has ended, which is reported elsewhere
			return
		default:
			select {
			case <-c.halt:
				continue
			case o = <-c.requests:
			}
		}
		if out.Encode(o) != nil {
			return
		}
	}
}

// sendRequest queues a request for the data plane. It returns false if the queue is full.
func (c *child) sendRequest(o control.Request) bool {
	select {
	case c.requests <- o:
		return true
	default:
		return false
	}
}

// awaitBegun waits up to beginTimeout until the data plane has its sockets, or a signal requests the end. After an
// error the data plane has ended, or was killed.
func (c *child) awaitBegun(signals <-chan os.Signal) (err error) {
	select {
	case what := <-signals:
		err = fmt.Errorf("ended by a signal (%v) before the data plane began", what)
	case a := <-c.replies:
		if a.Is == control.IsBegun {
			return nil
		}
		err = fmt.Errorf("the data plane begins with %q, which is unexpected", a.Is)
	case err := <-c.ended:
		return c.deathError(err)
	case <-time.After(beginTimeout):
		err = errors.New("the data plane does not begin")
	}
	c.killProcess()
	return err
}

// deathError returns the error of a data plane that ended by itself, with its error output or else with err. It is
// never nil.
func (c *child) deathError(err error) error {
	if output := strings.TrimSpace(c.stderr.String()); output != "" {
		return fmt.Errorf("the data plane has ended: %s", output)
	}
	if err == nil {
		return errors.New("the data plane has ended without an error and without notice")
	}
	return fmt.Errorf("the data plane has ended: %w", err)
}

// killProcess ends the data plane immediately, and its replies are dropped. It waits at most killTimeout if the
// kernel blocks the process. It must be called at most once.
func (c *child) killProcess() {
	close(c.ignored)
	c.command.Process.Kill()
	select {
	case <-c.ended:
	case <-time.After(killTimeout):
	}
}

// fetchCounters requests the current counters from the data plane and waits for them. ok is false after answerTimeout,
// or at once if too many requests wait; n is then not usable.
func (c *child) fetchCounters() (n control.Counters, ok bool) {
	before := c.shared.Sequence()
	if !c.sendRequest(control.Request{Do: control.DoPublish}) {
		return n, false
	}
	for end := time.Now().Add(answerTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if now, whole := c.shared.Read(&n); whole && now > before {
			return n, true
		}
	}
	return n, false
}
