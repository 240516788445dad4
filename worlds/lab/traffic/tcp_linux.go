package traffic

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/sockdiag"
	"weir/worlds/lab"
)

// phase is the state of a connection at its sender.
type phase uint8

const (
	idle    phase = iota
	bound         // its socket is open
	opening       // SYN sent
	established
	ending // the application has written everything and shut down
	ended
)

// connection is the state of a TCP flow.
type connection struct {
	senderFD, receiverFD int // sockets of sender and receiver; −1: not open
	phase                phase
	stopped              bool
	eof                  bool       // the receiver has read the FIN
	written              unit.Bytes // to the socket
	received             unit.Bytes // by the application
	finished             unit.Time  // when the last byte was acknowledged; unit.Never before
	closing              unit.Time  // when the last write returned
	arrived              unit.Time
	unacked              unit.Bytes // bytes not acknowledged at closing
	next                 unit.Time  // when the application writes next

	current, baseline tally // as last read, and at the end of the warm-up
}

// tally holds counters of a connection.
type tally struct {
	sender, receiver transport.Counters
	timeouts         int64
}

// connections is the thread of all TCP flows.
type connections struct {
	*run
	flows         []int
	conn          []connection // by flow; unused for UDP
	listeners     []listener
	flowByPeer    map[acceptKey]int
	epoll         int
	starts        *starts
	agenda        agenda
	liveFlows     []int // flows with a socket
	periods       []period
	marked        bool // the warm-up has ended
	startLateness Lateness
	strays        uint64
	unmarked      uint64

	delay         *lab.RunDelay
	delayReadAt   unit.Time   // when delay was last read
	windowLimited []unit.Time // by flow: time limited by the receiver's window, as last read

	info      sockdiag.Info
	peer      sockdiag.Info    // of a flow's receiver
	diag      []*sockdiag.Conn // by node of a sampled flow's source; nil: not needed
	events    [64]unix.EpollEvent
	data      []byte // for applications to write
	discarded []byte // for discarded reads
	more      []int
}

// listener is the listening socket of a server.
type listener struct {
	fd   int
	node int
	addr netip.AddrPort
	// ports of its flows' senders.
	ports []uint16
}

// acceptKey identifies the flow of an accepted connection.
type acceptKey struct {
	listener int
	from     netip.AddrPort
}

// Kinds of epoll events.
const (
	wakeEvent = iota
	listenerEvent
	senderEvent
	receiverEvent
)

// Largest size of a write and a read in bytes.
const (
	writeSize = 128 << 10
	readSize  = 1 << 20
)

// The send buffer is kept short for stopLead before an application stops, because data in it is still sent.
const (
	stopLead = 500 * unit.Millisecond
	minStock = 32 << 10
)

// newConnections returns the thread for the given flows, without opening sockets. It schedules their stops.
func newConnections(r *run, flows []int) *connections {
	c := &connections{
		run: r, flows: flows, conn: make([]connection, len(r.Flows)), flowByPeer: make(map[acceptKey]int, len(flows)),
		epoll: -1, windowLimited: make([]unit.Time, len(r.Flows)),
		starts: newStarts(flows, r.Flows), data: make([]byte, writeSize), discarded: make([]byte, readSize),
		periods: r.Config.samplePeriods(func(s *Sample) bool { return r.Flows[s.Flow].TCP != nil }),
	}
	for _, i := range flows {
		x := &c.conn[i]
		x.senderFD, x.receiverFD, x.finished, x.closing, x.arrived = -1, -1, unit.Never, unit.Never, unit.Never
		for _, t := range [2]*tally{&x.current, &x.baseline} {
			t.sender.Finished, t.sender.Written, t.sender.DelayMin = unit.Never, unit.Never, unit.Never
			t.receiver.Finished, t.receiver.Written, t.receiver.DelayMin = unit.Never, unit.Never, unit.Never
		}
		if f := &r.Flows[i]; f.Stop > 0 && f.Size == 0 {
			c.agenda.addTask(max(f.Stop-stopLead, 0), i, soonStopTask)
			c.agenda.addTask(f.Stop, i, stopTask)
		}
	}
	return c
}

// prepare opens the servers and sock_diag, and checks that hosts have the requested congestion controls, which may load
// modules. close must follow, also after an error.
func (c *connections) prepare() error {
	var err error
	if c.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if err := c.addToEpoll(c.run.begun[tcpThread].wake, wakeEvent, 0, unix.EPOLLIN); err != nil {
		return err
	}
	type server struct {
		node   int
		addr   netip.AddrPort
		buffer int
	}
	type client struct {
		node    int
		control string
	}
	servers, clients := map[server]int{}, map[client]bool{}
	for _, i := range c.flows {
		f := &c.Flows[i]
		if key := (client{f.Src, f.TCP.CongestionControl}); key.control != "" && !clients[key] {
			clients[key] = true
			if err := c.doForFlow(f.Src, i, func() error { return c.tryControl(f) }); err != nil {
				return err
			}
		}
		key := server{f.Dst, c.remoteAddr(f), f.TCP.ReceiveBuffer}
		l, exists := servers[key]
		if !exists {
			l = len(c.listeners)
			servers[key] = l
			if err := c.doForFlow(f.Dst, i, func() error { return c.openServer(f, key.addr) }); err != nil {
				return err
			}
		}
		c.flowByPeer[acceptKey{l, c.localAddr(f)}] = i
		c.listeners[l].ports = append(c.listeners[l].ports, c.localAddr(f).Port())
	}
	if err := c.steerConnections(); err != nil {
		return err
	}
	return c.openDiag()
}

// openDiag opens sock_diag in the namespaces of senders with samples other than received bytes.
func (c *connections) openDiag() error {
	c.diag = make([]*sockdiag.Conn, c.Book.Len())
	for _, p := range c.periods {
		for _, k := range p.samples {
			s := &c.Samples[k]
			node := c.Flows[s.Flow].Src
			if s.Quantity == ReceivedBytes || c.diag[node] != nil {
				continue
			}
			err := c.doForFlow(node, s.Flow, func() (err error) {
				c.diag[node], err = sockdiag.Open()
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// tryControl checks that the calling thread's namespace has a flow's congestion control.
func (c *connections) tryControl(f *Flow) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	return setControl(fd, f.TCP.CongestionControl)
}

// setControl sets a socket's congestion control. Errors for a missing or disallowed control advise how to add it.
func setControl(fd int, name string) error {
	err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
	switch {
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("congestion control %q: %w: this kernel does not have it; "+
			"/proc/sys/net/ipv4/tcp_available_congestion_control lists the available ones, modprobe tcp_%s may add it",
			name, err, name)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("congestion control %q: %w: it is not allowed; add it to "+
			"/proc/sys/net/ipv4/tcp_allowed_congestion_control", name,
			err)
	case err != nil:
		return fmt.Errorf("congestion control %q: %w", name, err)
	}
	return nil
}

// addToEpoll adds a file to epoll; kind and index identify it in events.
func (c *connections) addToEpoll(fd, kind, index int, events uint32) error {
	e := unix.EpollEvent{Events: events, Fd: int32(index), Pad: int32(kind)}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(c.epoll, unix.EPOLL_CTL_ADD, fd, &e))
}

// drive runs the flows until the end of the run, and completes their results (conclude). The calling goroutine must
// be locked to its thread.
func (c *connections) drive() error {
	c.delay, c.delayReadAt = lab.FollowRunDelay(), c.clock.now()
	defer c.delay.Close()
	for {
		now := c.clock.now()
		end := c.endTime()
		if err := c.takeSamples(min(now, end), end); err != nil {
			return err
		}
		if now >= end {
			c.conclude()
			return nil
		}
		if err := c.runDue(now); err != nil {
			return err
		}
		wait := timeUntil(min(end, c.starts.nextTime(), c.agenda.nextTime(), c.nextSample()), c.clock.now())
		n, err := c.waitEvents(&wait)
		if err != nil && err != unix.EINTR {
			return os.NewSyscallError("epoll_pwait2", err)
		}
		c.recordWait()
		for k := range n {
			if err := c.handleEvent(&c.events[k]); err != nil {
				return err
			}
		}
	}
}

// waitEvents waits for events, up to time t, with epoll_pwait2(2), which has nanosecond precision. It returns their
// number in c.events.
func (c *connections) waitEvents(t *unix.Timespec) (int, error) {
	n, _, e := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(c.epoll), uintptr(unsafe.Pointer(&c.events[0])),
		uintptr(len(c.events)),
		uintptr(unsafe.Pointer(t)), 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// runDue opens sockets and performs tasks that are due at now: connecting, writing and stopping. Tasks that become due
// meanwhile are included only after sockets were opened.
func (c *connections) runDue(now unit.Time) error {
	if c.starts.nextTime() <= now {
		flows := c.starts.takeReady(now, c.Flows)
		if err := c.openSockets(flows); err != nil {
			return err
		}
		for _, i := range flows {
			if c.conn[i].phase == bound {
				c.agenda.addTask(c.Flows[i].Start, i, beginTask)
			}
		}
		now = c.clock.now()
	}
	for c.agenda.nextTime() <= now {
		i, task := c.agenda.takeFirst()
		x := &c.conn[i]
		var err error
		switch task {
		case beginTask:
			err = c.connect(i)
		case soonStopTask:
			if x.senderFD >= 0 {
				unix.SetsockoptInt(x.senderFD, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, minStock)
			}
		case stopTask:
			if x.phase == established && c.Flows[i].TCP.Rate > 0 {
				err = c.writeDue(i)
			}
			if x.phase < ending {
				x.stopped = true
				if x.phase == established {
					c.shutDown(i)
				}
			}
		case writeTask:
			if x.phase == established {
				err = c.writeDue(i)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// handleEvent handles an event of epoll. It ignores events of sockets that are closed.
func (c *connections) handleEvent(e *unix.EpollEvent) error {
	i := int(e.Fd)
	switch e.Pad {
	case listenerEvent:
		return c.acceptAll(i)
	case senderEvent:
		if c.conn[i].senderFD >= 0 {
			return c.handleSender(i, e.Events)
		}
	case receiverEvent:
		if c.conn[i].receiverFD >= 0 {
			return c.handleReceiver(i)
		}
	default:
		return c.wakeUp()
	}
	return nil
}

// wakeUp starts flows after their predecessors have arrived.
func (c *connections) wakeUp() error {
	c.clearWake(tcpThread)
	c.more = c.takeReleased(tcpThread, c.more)
	if len(c.more) == 0 {
		return nil
	}
	if err := c.openSockets(c.more); err != nil {
		return err
	}
	for _, i := range c.more {
		if c.conn[i].phase == bound {
			c.agenda.addTask(c.result.Flows[i].Start, i, beginTask)
		}
	}
	return nil
}

// close closes all sockets of the thread, and discards the data of open connections.
func (c *connections) close() {
	for _, i := range c.flows {
		for _, fd := range [2]*int{&c.conn[i].senderFD, &c.conn[i].receiverFD} {
			if *fd >= 0 {
				abortSocket(*fd)
				*fd = -1
			}
		}
	}
	for _, l := range c.listeners {
		unix.Close(l.fd)
	}
	for _, d := range c.diag {
		if d != nil {
			d.Close()
		}
	}
	if c.epoll >= 0 {
		unix.Close(c.epoll)
	}
}
