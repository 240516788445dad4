package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/webserver"
	softswitch "weir/worlds/switch"
	"weir/worlds/switch/control"
	"weir/worlds/switch/preflight"
)

// supervisor owns the data plane's process, serves metrics and handles signals. Its loop (watch) waits
// for nothing but its events.
type supervisor struct {
	*child
	known   softswitch.Schemes
	signals chan os.Signal // that ask for an end
	hangups chan os.Signal
	state   state
	config  atomic.Pointer[softswitch.Config]
	refused atomic.Uint64
	partial partial
	log     *lineWriter
	out     *lineWriter

	// Of reloads there is one at a time: its file is read, then its request waits for a reply.
	busy    bool
	again   bool               // SIGHUP has come meanwhile
	reading chan reread        // what was read
	next    *softswitch.Config // what was requested; nil while the file is read
	overdue <-chan time.Time   // when it takes so long that the log says so
}

// reread is a file that was read again.
type reread struct {
	data   []byte
	config *softswitch.Config
	err    error
}

// saying is how long who reads the switch's output may take to read the last of it.
const saying = 500 * time.Millisecond

// Supervise is the supervisor that Start has made of its process; descriptor is what it has
// left. command is the command line of the data plane (Serve), without the program. It ends
// when SIGTERM or SIGINT asks it to, or when the data plane ends, and then has
// restored what was changed.
func Supervise(known softswitch.Schemes, descriptor int, command []string, version string, stdout,
	stderr io.Writer) (err error) {
	s := &supervisor{known: known, log: newLineWriter(stderr), out: newLineWriter(stdout),
		signals: make(chan os.Signal, 2), hangups: make(chan os.Signal, 1), reading: make(chan reread, 1)}
	signal.Notify(s.signals, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(s.hangups, syscall.SIGHUP)
	if err := s.inherit(descriptor); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, s.restore())
		said, cancel := context.WithTimeout(context.Background(), saying)
		defer cancel()
		s.out.flush(said)
		s.log.flush(said)
	}()
	c, err := softswitch.Decode(known, s.state.File, s.state.Data)
	if err != nil {
		return err
	}
	s.config.Store(c)
	if s.child, err = newChild(command, &s.state); err != nil {
		return err
	}
	if err := s.begun(s.signals); err != nil {
		return err
	}
	if s.state.Listener >= 0 {
		stop, err := s.serve(version)
		if err != nil {
			s.kill()
			return err
		}
		defer stop()
	}
	for _, w := range control.FilterWarnings("supervisor", control.ConfineSupervisor(s.command.Process.Pid)) {
		w.Print(s.log)
	}
	var names []string
	for _, p := range c.Ports {
		names = append(names, p.Name+" ("+p.Interface+")")
	}
	after := ""
	if s.state.Bypass != "" {
		after = "; bridge " + s.state.Bypass + " takes over when this ends"
	}
	fmt.Fprintf(s.log, "switching between %s%s\n", strings.Join(names, ", "), after)
	return s.watch()
}

// inherit reads what Start has left, and keeps that, and all else, from the data plane's process.
func (s *supervisor) inherit(descriptor int) error {
	memory := os.NewFile(uintptr(descriptor), "state")
	if memory == nil {
		return softswitch.SetupError("descriptor %d", descriptor)
	}
	text, err := io.ReadAll(io.NewSectionReader(memory, 0, 1<<24))
	if err == nil {
		err = json.Unmarshal(text, &s.state)
	}
	if err != nil {
		return softswitch.SetupError("this is started by weir switch, not by hand: %v", err)
	}
	memory.Close()
	return keepFrom(3)
}

// watch handles signals and replies until the data plane has ended, or has to be killed.
func (s *supervisor) watch() error {
	var deadline <-chan time.Time // from the request to stop
	var stopped *control.Reply
	look := time.NewTicker(watchPeriod)
	defer look.Stop()
	for {
		select {
		case now := <-look.C:
			s.reportPartial(now)
			if len(s.requests) == 0 { // for the next time; a data plane that takes no requests gets none
				s.send(control.Request{Do: control.DoPublish})
			}
		case <-s.hangups:
			s.again = true
			s.reload()
		case <-s.signals:
			if deadline != nil { // a second time
				s.kill()
				return errors.New("the switch was killed before its queues were empty")
			}
			deadline = time.After(s.stopping())
			close(s.halt)
		case x := <-s.reading:
			s.requestReload(x)
		case <-s.overdue:
			s.overdue = nil
			s.reportOverdue()
		case a := <-s.replies:
			if a.Is == control.IsStopped && deadline != nil {
				stopped = &a
			}
			s.handleReply(a)
		case err := <-s.ended:
			switch {
			case len(s.replies) > 0: // what it has said before comes first
				s.ended <- err
			case stopped != nil:
				s.summary(stopped.Left)
				return err
			default:
				return s.death(err)
			}
		case <-deadline:
			s.kill()
			return fmt.Errorf("the data plane did not stop within %v, and was killed", s.stopping())
		}
	}
}

// stopping is how long the data plane may take to stop.
func (s *supervisor) stopping() time.Duration {
	if s.state.Bypass != "" {
		return bypassStopping
	}
	return stopping
}

// handleReply logs a reply of the data plane.
func (s *supervisor) handleReply(a control.Reply) {
	switch a.Is {
	case control.IsNote:
		fmt.Fprintln(s.log, a.Text)
	case control.IsRefused:
		s.refuse(errors.New(a.Text))
	case control.IsUnreadable:
		if s.next == nil {
			fmt.Fprintln(s.log, "an answer of the data plane cannot be read")
			return
		}
		fmt.Fprintf(s.log, "%s: the data plane's answer cannot be read: whether it has taken the file is not known\n",
			s.state.File)
		s.reloaded()
	case control.IsReloaded:
		if s.next != nil {
			s.config.Store(s.next)
		}
		fmt.Fprintf(s.log, "%s: read anew%s\n", s.state.File, list(a.Notes))
		s.reloaded()
	}
}

func list(notes []string) string {
	if len(notes) == 0 {
		return ", and nothing in it has changed"
	}
	return ": " + strings.Join(notes, "; ")
}

// reportOverdue logs what a reload waits for. Reloads that are requested meanwhile wait, too: the file's server may not
// answer, and the log explains why one more signal has no effect.
func (s *supervisor) reportOverdue() {
	what := "it has not been read"
	if s.next != nil {
		what = "the data plane has not taken it"
	}
	fmt.Fprintf(s.log, "%s: %s within %v; SIGHUPs that come meanwhile wait for that\n", s.state.File, what, reloading)
}

// reload begins to read the file again if that was requested, and no other reload is in progress. A goroutine reads
// it: the file's server may not answer.
func (s *supervisor) reload() {
	if s.busy || !s.again {
		return
	}
	s.busy, s.again, s.overdue = true, false, time.After(reloading)
	running := s.config.Load()
	go func() {
		var x reread
		if x.data, x.err = softswitch.ReadFile(s.state.File); x.err == nil {
			x.config, x.err = softswitch.Decode(s.known, s.state.File, x.data)
		}
		if x.err == nil {
			x.err = running.Keeps(x.config)
		}
		s.reading <- x
	}()
}

// requestReload hands a file that was read to the data plane if it is right.
func (s *supervisor) requestReload(x reread) {
	if x.err == nil && !s.send(control.Request{Do: control.DoReload, File: s.state.File, Data: x.data}) {
		x.err = errors.New("the data plane takes no orders")
	}
	if x.err != nil {
		s.refuse(x.err)
		return
	}
	for _, w := range x.config.Warnings(func(port int) int { return s.state.Sockets[port].MaxFrame }) {
		w.Print(s.log)
	}
	s.next, s.overdue = x.config, time.After(reloading)
}

// refuse reports a reload without effect.
func (s *supervisor) refuse(err error) {
	s.refused.Add(1)
	fmt.Fprintf(s.log, "%s: refused, and nothing has changed: %v\n", s.state.File, err)
	s.reloaded()
}

// reloaded ends a reload, and begins the next.
func (s *supervisor) reloaded() {
	s.busy, s.next, s.overdue = false, nil, nil
	s.reload()
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
	server := webserver.New(h)
	server.WriteTimeout = 10 * time.Second
	go server.Serve(webserver.Limit(l, webserver.MaxConnections))
	return func() { server.Close() }, nil
}

// restore undoes what was changed and empties the record, which is root's to remove.
func (s *supervisor) restore() error {
	_, err := preflight.RestoreOffloads(s.state.Changed)
	if err == nil {
		err = unix.Ftruncate(s.state.Record, 0)
	}
	unix.Close(s.state.Record)
	return err
}

// summary prints what the switch has done.
func (s *supervisor) summary(left int) {
	var c control.Counters
	for range 100 {
		if _, ok := s.shared.Read(&c); ok {
			break
		}
	}
	for i, p := range s.config.Load().Ports {
		n := &c.Ports[i]
		dropped := uint64(0)
		for _, x := range n.Drops {
			dropped += x
		}
		fmt.Fprintf(s.out, "port %s: %d frames came in, %d left, %d dropped before, %d lost in the ring, %d too long, %d "+
			"without checksum\n",
			p.Name, n.In, n.Out, dropped, n.RingLost, n.TooLong, n.Partial)
	}
	fmt.Fprintf(s.out, "%.0f s, %d frames were not taken by interfaces, %d were left in queues\n", c.At.Seconds(),
		c.Unsent, left)
}
