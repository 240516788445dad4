package softswitch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervisor owns the data plane's process, serves metrics and handles signals.
type supervisor struct {
	known   Schemes
	signals chan os.Signal
	state   state
	next    *Config // of the reload under way
	config  atomic.Pointer[Config]
	refused atomic.Uint64
	page    *page
	command *exec.Cmd
	control *os.File // orders go there, one goroutine at a time
	turn    chan struct{}
	stderr  *tail
	log     io.Writer
}

// tail keeps the end of a process's output.
type tail struct{ bytes.Buffer }

func (t *tail) Write(b []byte) (int, error) {
	if t.Len() > 1<<16 {
		t.Reset()
	}
	return t.Buffer.Write(b)
}

// How long the data plane may take to begin, to stop, and to answer what metrics ask.
const (
	beginning = 20 * time.Second
	stopping  = 10 * time.Second
	answering = 500 * time.Millisecond
)

// Supervise is the supervisor that Start has made of its process; descriptor is what it has
// left. command is the command line of the data plane (Serve), without the program. It ends
// when SIGTERM or SIGINT asks it to, or when the data plane ends, and then has
// restored what was changed.
func Supervise(known Schemes, descriptor int, command []string, version string, stdout,
	stderr io.Writer) (err error) {
	s := &supervisor{known: known, log: stderr, turn: make(chan struct{}, 1), stderr: &tail{},
		signals: make(chan os.Signal, 4)}
	signal.Notify(s.signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	s.turn <- struct{}{}
	if err := s.inherit(descriptor); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.restore()) }()
	c, err := Decode(known, s.state.File, s.state.Data)
	if err != nil {
		return err
	}
	s.config.Store(c)
	answers, ended, err := s.start(command)
	if err != nil {
		return err
	}
	if s.state.Listener >= 0 {
		stop, err := s.serve(version)
		if err != nil {
			s.kill(ended)
			return err
		}
		defer stop()
	}
	var names []string
	for _, p := range c.Ports {
		names = append(names, p.Name+" ("+p.Interface+")")
	}
	fmt.Fprintf(s.log, "switching between %s\n", strings.Join(names, ", "))
	return s.watch(answers, ended, stdout)
}

// inherit reads what Start has left, and keeps it from the data plane's process.
func (s *supervisor) inherit(descriptor int) error {
	memory := os.NewFile(uintptr(descriptor), "state")
	if memory == nil {
		return setup("descriptor %d", descriptor)
	}
	text, err := io.ReadAll(io.NewSectionReader(memory, 0, 1<<24))
	if err == nil {
		err = json.Unmarshal(text, &s.state)
	}
	if err != nil {
		return setup("this is started by weir switch, not by hand: %v", err)
	}
	memory.Close()
	unix.CloseOnExec(s.state.Record)
	if s.state.Listener >= 0 {
		unix.CloseOnExec(s.state.Listener)
	}
	for _, x := range s.state.Sockets {
		unix.CloseOnExec(x.FD)
	}
	return nil
}

// watch handles signals and answers until the data plane has ended, or has to be killed.
func (s *supervisor) watch(answers chan answer, ended chan error, stdout io.Writer) error {
	var deadline <-chan time.Time
	for {
		select {
		case what := <-s.signals:
			switch {
			case what == syscall.SIGHUP:
				if deadline == nil {
					s.next = s.reload()
				}
			case deadline != nil: // a second time
				s.kill(ended)
				return errors.New("the switch was killed before its queues were empty")
			default:
				deadline = time.After(stopping)
				s.order(order{Do: doStop})
			}
		case a := <-answers:
			if a.Is == isStopped {
				err := <-ended
				s.summary(stdout, a.Left)
				return err
			}
			s.report(a)
		case err := <-ended:
			if len(answers) > 0 { // what it has said before comes first
				ended <- err
				continue
			}
			if said := strings.TrimSpace(s.stderr.String()); said != "" {
				return fmt.Errorf("the data plane has ended: %s", said)
			}
			return fmt.Errorf("the data plane has ended: %w", err)
		case <-deadline:
			s.kill(ended)
			return fmt.Errorf("the data plane did not stop within %v, and was killed", stopping)
		}
	}
}

// report logs an answer of the data plane.
func (s *supervisor) report(a answer) {
	switch a.Is {
	case isNote:
		fmt.Fprintln(s.log, a.Text)
	case isRefused:
		s.refused.Add(1)
		fmt.Fprintf(s.log, "%s: refused, and nothing has changed: %s\n", s.state.File, a.Text)
	case isReloaded:
		if s.next != nil {
			s.config.Store(s.next)
		}
		fmt.Fprintf(s.log, "%s: read anew%s\n", s.state.File, list(a.Notes))
	}
}

func list(notes []string) string {
	if len(notes) == 0 {
		return ", and nothing in it has changed"
	}
	return ": " + strings.Join(notes, "; ")
}

// start starts the data plane and waits until it has its sockets. ended gets one value, when the
// process has ended.
func (s *supervisor) start(command []string) (answers chan answer, ended chan error, err error) {
	fd, err := unix.MemfdCreate("weir switch counters", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, nil, os.NewSyscallError("memfd_create", err)
	}
	shared := os.NewFile(uintptr(fd), "counters")
	defer shared.Close()
	if err := shared.Truncate(int64(pageBytes)); err != nil {
		return nil, nil, err
	}
	memory, err := unix.Mmap(fd, 0, int(pageBytes), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	s.page = pageIn(memory)
	s.command = &exec.Cmd{Path: executable, Args: append([]string{os.Args[0]}, command...), Stderr: s.stderr}
	// A signal of the terminal is for us: we stop it in order.
	s.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	begin := order{Do: doBegin, File: s.state.File, Data: s.state.Data, Page: 3}
	s.command.ExtraFiles = []*os.File{shared}
	for _, x := range s.state.Sockets {
		f := os.NewFile(uintptr(x.FD), x.Port)
		defer f.Close() // it is the data plane's alone
		x.FD = begin.Page + len(s.command.ExtraFiles)
		s.command.ExtraFiles, begin.Sockets = append(s.command.ExtraFiles, f), append(begin.Sockets, x)
	}
	out, err := s.command.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	in, mine, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	s.command.Stdin, s.control = in, mine
	defer in.Close()
	answers, ended = make(chan answer, 16), make(chan error, 1)
	started := make(chan error)
	go func() {
		// The new process has this thread's capabilities, and dies with it: so the thread has
		// none, and waits.
		runtime.LockOSThread()
		if err := capabilities(0, 0); err != nil {
			started <- err
			return
		}
		err := s.command.Start()
		if started <- err; err != nil {
			return
		}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var a answer
			if json.Unmarshal(lines.Bytes(), &a) == nil {
				answers <- a
			}
		}
		ended <- s.command.Wait()
	}()
	if err := <-started; err != nil {
		return nil, nil, fmt.Errorf("data plane: %w", err)
	}
	s.order(begin)
	select {
	case a := <-answers:
		if a.Is == isBegun {
			return answers, ended, nil
		}
	case <-ended:
		return nil, nil, fmt.Errorf("%s", strings.TrimSpace(s.stderr.String()))
	case <-time.After(beginning):
	}
	s.kill(ended)
	return nil, nil, errors.New("the data plane does not begin")
}

// order sends an order to the data plane.
func (s *supervisor) order(o order) {
	<-s.turn
	defer func() { s.turn <- struct{}{} }()
	json.NewEncoder(s.control).Encode(o) // a failure means that it has ended, which is reported elsewhere
}

// kill ends the data plane at once.
func (s *supervisor) kill(ended chan error) {
	s.command.Process.Kill()
	<-ended
}

// reload reads the file anew and, if it is right, hands it to the data plane.
func (s *supervisor) reload() *Config {
	refuse := func(err error) *Config {
		s.refused.Add(1)
		fmt.Fprintf(s.log, "%s: refused, and nothing has changed: %v\n", s.state.File, err)
		return nil
	}
	data, err := readFile(s.state.File)
	if err != nil {
		return refuse(err)
	}
	c, err := Decode(s.known, s.state.File, data)
	if err == nil {
		err = s.config.Load().Keeps(c)
	}
	if err != nil {
		return refuse(err)
	}
	s.order(order{Do: doReload, File: s.state.File, Data: data})
	return c
}

// counters asks the data plane for what it has counted.
func (s *supervisor) counters() (c Counters, ok bool) {
	before := s.page.sequence.Load()
	s.order(order{Do: doPublish})
	for end := time.Now().Add(answering); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if now, whole := s.page.read(&c); whole && now > before {
			return c, true
		}
	}
	return c, false
}

// serve begins to serve metrics.
func (s *supervisor) serve(version string) (stop func(), err error) {
	f := os.NewFile(uintptr(s.state.Listener), "metrics")
	l, err := net.FileListener(f)
	f.Close()
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	h, err := (&collector{version: version, config: s.config.Load, read: s.counters, refused: s.refused.Load}).handler()
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second,
		WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	go server.Serve(l)
	return func() { server.Close() }, nil
}

// restore undoes what was changed and empties the record, which is root's to remove.
func (s *supervisor) restore() error {
	_, err := restore(s.state.Changed)
	if err == nil {
		err = unix.Ftruncate(s.state.Record, 0)
	}
	unix.Close(s.state.Record)
	return err
}

// summary prints what the switch has done.
func (s *supervisor) summary(out io.Writer, left int) {
	var c Counters
	for range 100 {
		if _, ok := s.page.read(&c); ok {
			break
		}
	}
	for i, p := range s.config.Load().Ports {
		n := &c.Ports[i]
		dropped := uint64(0)
		for _, x := range n.Drops {
			dropped += x
		}
		fmt.Fprintf(out, "port %s: %d frames came in, %d left, %d dropped before, %d lost in the ring, %d too long, %d "+
			"without checksum\n",
			p.Name, n.In, n.Out, dropped, n.RingLost, n.TooLong, n.Partial)
	}
	fmt.Fprintf(out, "%.0f s, %d frames were not taken by interfaces, %d were left in queues\n", c.At.Seconds(),
		c.Unsent, left)
}
