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

// phase is how far a connection is, as its sender sees it.
type phase uint8

const (
	idle    phase = iota
	bound         // its socket is open
	opening       // SYN sent
	established
	ending // the application has written all, and closed
	ended
)

// connection is one flow of TCP.
type connection struct {
	out, in  int // sockets of sender and receiver; −1: none
	phase    phase
	stopped  bool
	eof      bool       // the receiver has read FIN
	written  unit.Bytes // into the send buffer
	received unit.Bytes // by the application
	finished unit.Time  // when the last byte was acknowledged; unit.Never until then
	closing  unit.Time  // return of the last write
	arrived  unit.Time
	unacked  unit.Bytes // at closing
	next     unit.Time  // when the application writes again

	now, first tally // now: as read last
}

// tally is what was counted of a connection.
type tally struct {
	sender, receiver transport.Counters
	timeouts         int64
}

// connections is the thread of all flows of TCP.
type connections struct {
	*run
	flows     []int
	conn      []connection // by flow; those of UDP are not used
	listeners []listener
	accepting map[accepted]int
	epoll     int
	starts    *starts
	agenda    agenda
	live      []int // flows with a socket
	periods   []period
	marked    bool // warm-up has ended
	begun     Lateness
	strays    uint64
	unmarked  uint64

	delay  *lab.RunDelay
	asked  unit.Time   // when it was last
	barred []unit.Time // by flow: for how long its receiver had no room, when that was last asked

	info   sockdiag.Info
	peer   sockdiag.Info    // of a flow's receiver
	diag   []*sockdiag.Conn // by node of a sampled flow's source; nil: not needed
	events [64]unix.EpollEvent
	data   []byte // what applications write
	void   []byte // where what they read is not put
	more   []int
}

// listener is the socket of a server.
type listener struct {
	fd   int
	node int
	at   netip.AddrPort
	// of its flows' senders
	ports []uint16
}

// accepted says which flow a connection belongs to.
type accepted struct {
	listener int
	from     netip.AddrPort
}

// What an event of epoll is of.
const (
	ofWake = iota
	ofListener
	ofSender
	ofReceiver
)

// How much applications write and read in one call at most.
const (
	writeSize = 128 << 10
	readSize  = 1 << 20
)

// Some time before an application stops, it begins to keep what waits in the send buffer
// short, for what is there when it stops is still sent.
const (
	stopSoon   = 500 * unit.Millisecond
	leastStock = 32 << 10
)

func newConnections(r *run, flows []int) *connections {
	c := &connections{
		run: r, flows: flows, conn: make([]connection, len(r.Flows)), accepting: make(map[accepted]int, len(flows)),
		epoll: -1, barred: make([]unit.Time, len(r.Flows)),
		starts: newStarts(flows, r.Flows), data: make([]byte, writeSize), void: make([]byte, readSize),
		periods: r.Config.periods(func(s *Sample) bool { return r.Flows[s.Flow].TCP != nil }),
	}
	for _, i := range flows {
		x := &c.conn[i]
		x.out, x.in, x.finished, x.closing, x.arrived = -1, -1, unit.Never, unit.Never, unit.Never
		for _, t := range [2]*tally{&x.now, &x.first} {
			t.sender.Finished, t.sender.Written, t.sender.DelayMin = unit.Never, unit.Never, unit.Never
			t.receiver.Finished, t.receiver.Written, t.receiver.DelayMin = unit.Never, unit.Never, unit.Never
		}
		if f := &r.Flows[i]; f.Stop > 0 && f.Size == 0 {
			c.agenda.add(max(f.Stop-stopSoon, 0), i, soonStop)
			c.agenda.add(f.Stop, i, stop)
		}
	}
	return c
}

// prepare opens what must be there before the first flow begins: the servers. It sees
// whether hosts have the congestion controls that are asked for.
func (c *connections) prepare() error {
	var err error
	if c.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if err := c.watch(c.run.begun[tcpThread].wake, ofWake, 0, unix.EPOLLIN); err != nil {
		return err
	}
	type server struct {
		node   int
		at     netip.AddrPort
		buffer int
	}
	type client struct {
		node    int
		control string
	}
	servers, clients := map[server]int{}, map[client]bool{}
	for _, i := range c.flows {
		f := &c.Flows[i]
		if who := (client{f.Src, f.TCP.CongestionControl}); who.control != "" && !clients[who] {
			clients[who] = true
			if err := c.in(f.Src, i, func() error { return c.try(f) }); err != nil {
				return err
			}
		}
		who := server{f.Dst, c.remote(f), f.TCP.ReceiveBuffer}
		l, there := servers[who]
		if !there {
			l = len(c.listeners)
			servers[who] = l
			if err := c.in(f.Dst, i, func() error { return c.listen(f, who.at) }); err != nil {
				return err
			}
		}
		c.accepting[accepted{l, c.local(f)}] = i
		c.listeners[l].ports = append(c.listeners[l].ports, c.local(f).Port())
	}
	if err := c.steer(); err != nil {
		return err
	}
	return c.openDiag()
}

// openDiag opens sock_diag in the namespaces of the senders that are sampled.
func (c *connections) openDiag() error {
	c.diag = make([]*sockdiag.Conn, c.Book.Len())
	for _, p := range c.periods {
		for _, k := range p.samples {
			s := &c.Samples[k]
			node := c.Flows[s.Flow].Src
			if s.What == ReceivedBytes || c.diag[node] != nil {
				continue
			}
			err := c.in(node, s.Flow, func() (err error) {
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

// try sees whether the caller's namespace has a flow's congestion control.
func (c *connections) try(f *Flow) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	return control(fd, f.TCP.CongestionControl)
}

// control sets a socket's congestion control.
func control(fd int, name string) error {
	err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
	switch {
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("congestion control %q: %w: this kernel does not have it; "+
			"/proc/sys/net/ipv4/tcp_available_congestion_control lists what there is, modprobe tcp_%s may add it",
			name, err, name)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("congestion control %q: %w: it is not in /proc/sys/net/ipv4/tcp_allowed_congestion_control", name,
			err)
	case err != nil:
		return fmt.Errorf("congestion control %q: %w", name, err)
	}
	return nil
}

// watch adds a file to epoll.
func (c *connections) watch(fd, kind, index int, events uint32) error {
	e := unix.EpollEvent{Events: events, Fd: int32(index), Pad: int32(kind)}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(c.epoll, unix.EPOLL_CTL_ADD, fd, &e))
}

func (c *connections) drive() error {
	c.delay, c.asked = lab.FollowRunDelay(), c.clock.now()
	defer c.delay.Close()
	for {
		now := c.clock.now()
		end := c.until()
		if err := c.takeSamples(min(now, end), end); err != nil {
			return err
		}
		if now >= end {
			return c.conclude(end)
		}
		if err := c.due(now); err != nil {
			return err
		}
		wait := timeout(min(end, c.starts.next(), c.agenda.next(), c.nextSample()), c.clock.now())
		n, err := c.wait(&wait)
		if err != nil && err != unix.EINTR {
			return os.NewSyscallError("epoll_pwait2", err)
		}
		c.waited()
		for k := range n {
			if err := c.handle(&c.events[k]); err != nil {
				return err
			}
		}
	}
}

// wait is epoll_pwait2(2), which is exact to the nanosecond.
func (c *connections) wait(t *unix.Timespec) (int, error) {
	n, _, e := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(c.epoll), uintptr(unsafe.Pointer(&c.events[0])),
		uintptr(len(c.events)),
		uintptr(unsafe.Pointer(t)), 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// due does what is to be done by now.
func (c *connections) due(now unit.Time) error {
	if c.starts.next() <= now {
		flows := c.starts.ready(now, c.Flows)
		if err := c.bind(flows); err != nil {
			return err
		}
		for _, i := range flows {
			if c.conn[i].phase == bound {
				c.agenda.add(c.Flows[i].Start, i, begin)
			}
		}
		now = c.clock.now()
	}
	for c.agenda.next() <= now {
		i, task := c.agenda.take()
		x := &c.conn[i]
		var err error
		switch task {
		case begin:
			err = c.begin(i)
		case soonStop:
			if x.out >= 0 {
				unix.SetsockoptInt(x.out, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, leastStock)
			}
		case stop:
			if x.phase == established && c.Flows[i].TCP.Rate > 0 {
				err = c.write(i)
			}
			if x.phase < ending {
				x.stopped = true
				if x.phase == established {
					c.shut(i)
				}
			}
		case write:
			if x.phase == established {
				err = c.write(i)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// handle takes an event.
func (c *connections) handle(e *unix.EpollEvent) error {
	i := int(e.Fd)
	switch e.Pad {
	case ofListener:
		return c.accept(i)
	case ofSender:
		if c.conn[i].out >= 0 {
			return c.sender(i, e.Events)
		}
	case ofReceiver:
		if c.conn[i].in >= 0 {
			return c.receiver(i)
		}
	default:
		return c.wakeUp()
	}
	return nil
}

// wakeUp starts flows that have waited for others.
func (c *connections) wakeUp() error {
	c.woken(tcpThread)
	c.more = c.released(tcpThread, c.more)
	if len(c.more) == 0 {
		return nil
	}
	if err := c.bind(c.more); err != nil {
		return err
	}
	for _, i := range c.more {
		if c.conn[i].phase == bound {
			c.agenda.add(c.result.Flows[i].Start, i, begin)
		}
	}
	return nil
}

// close closes all sockets.
func (c *connections) close() {
	for _, i := range c.flows {
		for _, fd := range [2]*int{&c.conn[i].out, &c.conn[i].in} {
			if *fd >= 0 {
				abort(*fd)
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
