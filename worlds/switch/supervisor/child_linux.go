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

// child is the data plane's process as its supervisor has it. Whatever that process does or leaves
// undone, no function here waits for it longer than its comment states: goroutines of their own write requests and
// read replies.
type child struct {
	command  *exec.Cmd
	shared   *control.SharedCounters
	stderr   *tail
	requests chan control.Request // that wait to be written
	halt     chan struct{}        // closed: stop, before any request that waits
	replies  chan control.Reply
	ended    chan error    // gets one value, when the process has ended
	ignored  chan struct{} // closed: replies are not read any more
}

// tail keeps the end of a process's output.
type tail struct{ bytes.Buffer }

func (t *tail) Write(b []byte) (int, error) {
	if t.Len() > 1<<16 {
		t.Reset()
	}
	return t.Buffer.Write(b)
}

// How long the data plane may take to begin, to stop, to answer what metrics ask and to answer a
// reload before that is reported (reading its file may take as long), and how long the kernel may
// take to end it. Stopping, killing and the last words (saying, ending) are together less than the
// 10 s that an end may take.
const (
	beginning = 20 * time.Second
	stopping  = 7 * time.Second
	answering = 500 * time.Millisecond
	reloading = 5 * time.Second
	killing   = time.Second
)

// maxRequests limits how many requests wait for a data plane that takes none: more than scrapes at a
// time and a reload.
const maxRequests = 16

// newChild starts the data plane, whose command line is that one, and hands it its sockets and its file.
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
	c = &child{shared: control.SharedIn(memory), stderr: &tail{}, requests: make(chan control.Request, maxRequests),
		halt:    make(chan struct{}),
		replies: make(chan control.Reply, 16), ended: make(chan error, 1), ignored: make(chan struct{})}
	c.command = &exec.Cmd{Path: executable, Args: append([]string{os.Args[0]}, command...), Stderr: c.stderr,
		WaitDelay: killing}
	// A signal of the terminal is for us: we stop it in order.
	c.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	begin := control.Request{Do: control.DoBegin, File: x.File, Data: x.Data, Page: 3, Bypass: x.Bypass != ""}
	c.command.ExtraFiles = []*os.File{shared}
	for _, s := range x.Sockets {
		f := os.NewFile(uintptr(s.FD), s.Port)
		defer f.Close() // it is the data plane's alone
		s.FD = begin.Page + len(c.command.ExtraFiles)
		c.command.ExtraFiles, begin.Sockets = append(c.command.ExtraFiles, f), append(begin.Sockets, s)
	}
	for _, fd := range x.Links { // that the data plane has without knowing it
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
	if err := c.run(); err != nil {
		return nil, fmt.Errorf("data plane: %w", err)
	}
	go c.write(requests)
	c.send(begin)
	return c, nil
}

// run starts the process, and a goroutine that reads its replies.
func (c *child) run() error {
	out, err := c.command.StdoutPipe()
	if err != nil {
		return err
	}
	started := make(chan error)
	go func() {
		// The new process has this thread's capabilities, and dies with it: so the thread has
		// none, and waits.
		runtime.LockOSThread()
		if err := capabilities(0, 0); err != nil {
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

// write hands requests to the data plane, and waits where it does not read them.
func (c *child) write(pipe *os.File) {
	defer pipe.Close() // which stops it, too
	for out := json.NewEncoder(pipe); ; {
		var o control.Request
		select {
		case <-c.halt:
			out.Encode(control.Request{Do: control.DoStop}) // a failure means that it has ended, which is reported elsewhere
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

// send leaves a request for the data plane; false if too many wait there already.
func (c *child) send(o control.Request) bool {
	select {
	case c.requests <- o:
		return true
	default:
		return false
	}
}

// begun waits until the data plane has its sockets, or a signal wants an end.
func (c *child) begun(signals <-chan os.Signal) (err error) {
	select {
	case what := <-signals:
		err = fmt.Errorf("ended by a signal (%v) before the data plane had begun", what)
	case a := <-c.replies:
		if a.Is == control.IsBegun {
			return nil
		}
		err = fmt.Errorf("the data plane begins with %q", a.Is)
	case err := <-c.ended:
		return c.death(err)
	case <-time.After(beginning):
		err = errors.New("the data plane does not begin")
	}
	c.kill()
	return err
}

// death is the error of a data plane that has ended by itself, with the error that it printed.
func (c *child) death(err error) error {
	if said := strings.TrimSpace(c.stderr.String()); said != "" {
		return fmt.Errorf("the data plane has ended: %s", said)
	}
	if err == nil {
		return errors.New("the data plane has ended without an error, and has not said that it stops")
	}
	return fmt.Errorf("the data plane has ended: %w", err)
}

// kill ends the data plane at once. One that the kernel holds fast ends when that lets it.
func (c *child) kill() {
	close(c.ignored)
	c.command.Process.Kill()
	select {
	case <-c.ended:
	case <-time.After(killing):
	}
}

// counters asks the data plane for what it has counted.
func (c *child) counters() (n control.Counters, ok bool) {
	before := c.shared.Sequence()
	if !c.send(control.Request{Do: control.DoPublish}) {
		return n, false
	}
	for end := time.Now().Add(answering); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if now, whole := c.shared.Read(&n); whole && now > before {
			return n, true
		}
	}
	return n, false
}
