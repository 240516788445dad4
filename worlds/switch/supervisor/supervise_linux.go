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

// supervisor owns the data plane's process, serves metrics and handles signals. Its loop (handleEvents) blocks
// only for its events.
type supervisor struct {
	*child
	known   softswitch.Schemes
	signals chan os.Signal // request the end
	hangups chan os.Signal
	state   state
	config  atomic.Pointer[softswitch.Config]
	refused atomic.Uint64
	partial partialLog
	log     *lineWriter
	out     *lineWriter

	// Only one reload runs at a time: its file is read, then its request waits for a reply.
	reloading     bool
	reloadPending bool               // SIGHUP arrived during the reload
	reading       chan reloadedFile  // result of reading
	next          *softswitch.Config // requested configuration; nil while the file is read
	overdue       <-chan time.Time   // fires when the reload is reported as overdue
}

// reloadedFile is the result of reading the file again.
type reloadedFile struct {
	data   []byte
	config *softswitch.Config
	err    error
}

// flushTimeout limits the time for readers of the switch's output to read its end.
const flushTimeout = 500 * time.Millisecond

// Supervise runs the supervisor, which Start's process becomes. descriptor has the state that Start left. command
// is the command line of the data plane (Serve), without the program. It ends on SIGTERM or SIGINT, or with the
// data plane, after restoring all changes.
func Supervise(known softswitch.Schemes, descriptor int, command []string, version string, stdout,
	stderr io.Writer) (err error) {
	s := &supervisor{known: known, log: newLineWriter(stderr), out: newLineWriter(stdout),
		signals: make(chan os.Signal, 2), hangups: make(chan os.Signal, 1), reading: make(chan reloadedFile, 1)}
	signal.Notify(s.signals, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(s.hangups, syscall.SIGHUP)
	if err := s.readState(descriptor); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, s.restoreInterfaces())
		flushContext, cancel := context.WithTimeout(context.Background(), flushTimeout)
		defer cancel()
		s.out.flush(flushContext)
		s.log.flush(flushContext)
	}()
	c, err := softswitch.Decode(known, s.state.File, s.state.Data)
	if err != nil {
		return err
	}
	s.config.Store(c)
	if s.child, err = newChild(command, &s.state); err != nil {
		return err
	}
	if err := s.awaitBegun(s.signals); err != nil {
		return err
	}
	if s.state.Listener >= 0 {
		stop, err := s.serveMetrics(version)
		if err != nil {
			s.killProcess()
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
		after = "; bridge " + s.state.Bypass + " takes over at the end"
	}
	fmt.Fprintf(s.log, "switching between %s%s\n", strings.Join(names, ", "), after)
	return s.handleEvents()
}

// readState reads the state that Start left into s.state, and hides all descriptors from the data plane's process.
func (s *supervisor) readState(descriptor int) error {
	memory := os.NewFile(uintptr(descriptor), "state")
	if memory == nil {
		return softswitch.SetupError("descriptor %d", descriptor)
	}
	text, err := io.ReadAll(io.NewSectionReader(memory, 0, 1<<24))
	if err == nil {
		err = json.Unmarshal(text, &s.state)
	}
	if err != nil {
		return softswitch.SetupError("weir switch starts this process; do not start it by hand: %v", err)
	}
	memory.Close()
	return closeOnExecFrom(3)
}

// handleEvents handles signals and replies until the data plane has ended or was killed. The error is nil only if a
// signal stopped the data plane in order.
func (s *supervisor) handleEvents() error {
	var deadline <-chan time.Time // after the request to stop
	var stopped *control.Reply
	look := time.NewTicker(watchPeriod)
	defer look.Stop()
	for {
		select {
		case now := <-look.C:
			s.reportPartial(now)
			if len(s.requests) == 0 { // for the next check; an unresponsive data plane gets no further requests
				s.sendRequest(control.Request{Do: control.DoPublish})
			}
		case <-s.hangups:
			s.reloadPending = true
			s.startReload()
		case <-s.signals:
			if deadline != nil { // second signal
				s.killProcess()
				return errors.New("the switch was killed before its queues were empty")
			}
			deadline = time.After(s.stopLimit())
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
			case len(s.replies) > 0: // handle its earlier replies first
				s.ended <- err
			case stopped != nil:
				s.printSummary(stopped.Left)
				return err
			default:
				return s.deathError(err)
			}
		case <-deadline:
			s.killProcess()
			return fmt.Errorf("the data plane did not stop within %v, and was killed", s.stopLimit())
		}
	}
}

// stopLimit returns the time limit for the data plane to stop.
func (s *supervisor) stopLimit() time.Duration {
	if s.state.Bypass != "" {
		return bypassStopping
	}
	return stopTimeout
}

// handleReply logs a reply of the data plane, and ends the reload that the reply is about. After a successful one the
// new configuration is stored.
func (s *supervisor) handleReply(a control.Reply) {
	switch a.Is {
	case control.IsNote:
		fmt.Fprintln(s.log, a.Text)
	case control.IsRefused:
		s.refuseReload(errors.New(a.Text))
	case control.IsUnreadable:
		if s.next == nil {
			fmt.Fprintln(s.log, "a response of the data plane cannot be read")
			return
		}
		fmt.Fprintf(s.log, "%s: the data plane's response cannot be read, so it is unknown whether it uses the file\n",
			s.state.File)
		s.endReload()
	case control.IsReloaded:
		if s.next != nil {
			s.config.Store(s.next)
		}
		fmt.Fprintf(s.log, "%s: read again%s\n", s.state.File, formatNotes(a.Notes))
		s.endReload()
	}
}

// formatNotes formats the notes of a reload for the log.
func formatNotes(notes []string) string {
	if len(notes) == 0 {
		return ", no changes"
	}
	return ": " + strings.Join(notes, "; ")
}

// reportOverdue logs the reason for a slow reload. Reloads requested meanwhile wait, too: the file's server may
// not answer, and the log explains why a further signal has no effect.
func (s *supervisor) reportOverdue() {
	what := "the file was not read"
	if s.next != nil {
		what = "the data plane did not accept the file"
	}
	fmt.Fprintf(s.log, "%s: %s within %v; further SIGHUPs wait for that\n", s.state.File, what, reloadTimeout)
}

// startReload starts to read the file again if that was requested and no other reload runs. It reads and checks in a
// goroutine, since the file's server may not answer. The result arrives at s.reading.
func (s *supervisor) startReload() {
	if s.reloading || !s.reloadPending {
		return
	}
	s.reloading, s.reloadPending, s.overdue = true, false, time.After(reloadTimeout)
	running := s.config.Load()
	go func() {
		var x reloadedFile
		if x.data, x.err = softswitch.ReadFile(s.state.File); x.err == nil {
			x.config, x.err = softswitch.Decode(s.known, s.state.File, x.data)
		}
		if x.err == nil {
			x.err = running.CheckReload(x.config)
		}
		s.reading <- x
	}()
}

// requestReload passes a correct file to the data plane and logs its warnings. It refuses a wrong one. The reload then
// waits for the data plane's reply.
func (s *supervisor) requestReload(x reloadedFile) {
	if x.err == nil && !s.sendRequest(control.Request{Do: control.DoReload, File: s.state.File, Data: x.data}) {
		x.err = errors.New("the data plane does not accept requests")
	}
	if x.err != nil {
		s.refuseReload(x.err)
		return
	}
	for _, w := range x.config.Warnings(func(port int) int { return s.state.Sockets[port].MaxFrame }) {
		w.Print(s.log)
	}
	s.next, s.overdue = x.config, time.After(reloadTimeout)
}

// refuseReload counts and logs a reload without effect, and ends it.
func (s *supervisor) refuseReload(err error) {
	s.refused.Add(1)
	fmt.Fprintf(s.log, "%s: refused, the old configuration remains: %v\n", s.state.File, err)
	s.endReload()
}

// endReload ends a reload and starts a waiting one.
func (s *supervisor) endReload() {
	s.reloading, s.next, s.overdue = false, nil, nil
	s.startReload()
}

// serveMetrics starts to serve metrics, in a goroutine, at the listener that Start opened, and closes that descriptor;
// stop ends it.
func (s *supervisor) serveMetrics(version string) (stop func(), err error) {
	f := os.NewFile(uintptr(s.state.Listener), "metrics")
	l, err := net.FileListener(f)
	f.Close()
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	c := &collector{version: version, config: s.config.Load, read: s.fetchCounters, refused: s.refused.Load}
	h, err := c.newHandler()
	if err != nil {
		return nil, err
	}
	server := webserver.New(h)
	server.WriteTimeout = 10 * time.Second
	go server.Serve(webserver.LimitConnections(l, webserver.MaxConnections))
	return func() { server.Close() }, nil
}

// restoreInterfaces enables all disabled offloads, empties the record, which only root can remove, and closes it. The
// record keeps its content if an offload cannot be enabled.
func (s *supervisor) restoreInterfaces() error {
	_, err := preflight.RestoreOffloads(s.state.Changed)
	if err == nil {
		err = unix.Ftruncate(s.state.Record, 0)
	}
	unix.Close(s.state.Record)
	return err
}

// printSummary prints the switch's counters; remaining is the number of frames in queues.
func (s *supervisor) printSummary(remaining int) {
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
		fmt.Fprintf(s.out, "port %s: %d frames received, %d sent, %d dropped before, %d lost in the ring, %d too long, "+
			"%d without checksum\n",
			p.Name, n.In, n.Out, dropped, n.RingLost, n.TooLong, n.Partial)
	}
	fmt.Fprintf(s.out, "%.0f s, %d frames not accepted by interfaces, %d left in queues\n", c.At.Seconds(),
		c.Unsent, remaining)
}
