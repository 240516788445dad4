package traffic

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/sockdiag"
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

	info   sockdiag.Info
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
}

// accepted tells to whom a connection belongs.
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
		epoll:  -1,
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
		node int
		at   netip.AddrPort
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
		who := server{f.Dst, c.remote(f)}
		l, there := servers[who]
		if !there {
			l = len(c.listeners)
			servers[who] = l
			if err := c.in(f.Dst, i, func() error { return c.listen(f, who.at) }); err != nil {
				return err
			}
		}
		c.accepting[accepted{l, c.local(f)}] = i
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

// listen opens the server of a flow in the caller's namespace.
func (c *connections) listen(f *Flow, at netip.AddrPort) error {
	fd, err := socket(unix.SOCK_STREAM, at, append([]option{tos(f.Version, f.TOS)}, shared...)...)
	if err != nil {
		return err
	}
	c.listeners = append(c.listeners, listener{fd, f.Dst, at})
	if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
		return fmt.Errorf("listen at %v: %w", at, err)
	}
	return c.watch(fd, ofListener, len(c.listeners)-1, unix.EPOLLIN)
}

// watch lets epoll tell of a file.
func (c *connections) watch(fd, kind, index int, events uint32) error {
	e := unix.EpollEvent{Events: events, Fd: int32(index), Pad: int32(kind)}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(c.epoll, unix.EPOLL_CTL_ADD, fd, &e))
}

func (c *connections) drive() error {
	for {
		now := c.clock.now()
		end := c.until()
		if err := c.look(min(now, end), end); err != nil {
			return err
		}
		if now >= end {
			return c.conclude(end)
		}
		if err := c.due(now); err != nil {
			return err
		}
		wait := timeout(min(end, c.starts.next(), c.agenda.next(), c.nextLook()), c.clock.now())
		n, err := c.wait(&wait)
		if err != nil && err != unix.EINTR {
			return os.NewSyscallError("epoll_pwait2", err)
		}
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

// bind opens the sockets of flows, those of a host one after the other.
func (c *connections) bind(flows []int) error {
	for len(flows) > 0 {
		n, node := 1, c.Flows[flows[0]].Src
		for n < len(flows) && c.Flows[flows[n]].Src == node {
			n++
		}
		at := flows[0]
		err := c.in(node, at, func() error {
			for _, at = range flows[:n] {
				if f := &c.Flows[at]; f.Stop > 0 && f.Size == 0 && f.Stop <= c.result.Flows[at].Start {
					continue // it has nothing to say
				}
				if err := c.dial(at); err != nil {
					return fmt.Errorf("flow %d: %w", at, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		flows = flows[n:]
	}
	return nil
}

// dial opens the socket of a flow in the caller's namespace.
func (c *connections) dial(i int) error {
	f, x := &c.Flows[i], &c.conn[i]
	options := append([]option{tos(f.Version, f.TOS), {"TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1}}, shared...)
	if f.TCP.MSS > 0 {
		options = append(options, option{"TCP_MAXSEG", unix.IPPROTO_TCP, unix.TCP_MAXSEG, int(f.TCP.MSS)})
	}
	fd, err := socket(unix.SOCK_STREAM, c.local(f), options...)
	if err != nil {
		return err
	}
	x.out, x.phase = fd, bound
	c.live = append(c.live, i)
	if f.TCP.CongestionControl != "" {
		if err := control(fd, f.TCP.CongestionControl); err != nil {
			return err
		}
	}
	if f.TCP.Pacing { // any limit turns it on; this one is none
		if err := unix.SetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, 1<<40); err != nil {
			return fmt.Errorf("setsockopt SO_MAX_PACING_RATE: %w", err)
		}
	}
	if f.Stop > 0 && f.Size == 0 && f.Stop-stopSoon <= c.result.Flows[i].Start {
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, leastStock)
	}
	return nil
}

// begin opens a flow's connection.
func (c *connections) begin(i int) error {
	f, x := &c.Flows[i], &c.conn[i]
	c.begun.add(c.clock.now() - c.result.Flows[i].Start)
	x.phase = opening
	switch err := unix.Connect(x.out, sockaddr(c.remote(f))); {
	case err == nil || err == unix.EINPROGRESS || err == unix.EINTR:
	case unreachable(err):
		c.drop(i, fmt.Errorf("connect to %v: %w", c.remote(f), err))
		return nil
	default:
		return fmt.Errorf("flow %d, host %d: connect from %v to %v: %w", i, f.Src, c.local(f), c.remote(f), explain(err))
	}
	return c.watch(x.out, ofSender, i, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP|unix.EPOLLET)
}

// unreachable tells errors of the way or of the other end from those of this machine.
func unreachable(err error) bool {
	for _, e := range [...]error{unix.ECONNREFUSED, unix.ECONNRESET, unix.ETIMEDOUT, unix.EHOSTUNREACH, unix.EPIPE,
		unix.ECONNABORTED} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
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

// wakeUp lets flows begin that others have waited for.
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

// accept takes the connections that wait at a server.
func (c *connections) accept(index int) error {
	l := &c.listeners[index]
	for {
		fd, from, err := unix.Accept4(l.fd, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		switch {
		case err == unix.EAGAIN:
			return nil
		case err == unix.EINTR || err == unix.ECONNABORTED:
			continue
		case err != nil:
			return fmt.Errorf("host %d: accept at %v: %w", l.node, l.at, explain(err))
		}
		i, known := c.accepting[accepted{index, addrPort(from)}]
		if !known || c.conn[i].in >= 0 || c.conn[i].eof {
			c.strays++
			abort(fd)
			continue
		}
		o := tos(c.Flows[i].Version, c.Flows[i].TOS)
		unix.SetsockoptInt(fd, o.level, o.opt, o.value)
		for _, o := range c.Flows[i].TCP.ReceiverOptions {
			if err := o.Set(fd); err != nil {
				unix.Close(fd)
				return fmt.Errorf("host %d: flow %d: %w", l.node, i, err)
			}
		}
		c.conn[i].in = fd
		if err := c.watch(fd, ofReceiver, i, unix.EPOLLIN); err != nil {
			return err
		}
	}
}

// sender takes an event of a sender's socket.
func (c *connections) sender(i int, events uint32) error {
	x := &c.conn[i]
	if events&unix.EPOLLERR != 0 {
		stamped := c.stamps(i)
		if err := pending(x.out); err != nil {
			c.drop(i, err)
			return nil
		}
		if stamped && x.phase == opening { // cannot be
			return nil
		}
	}
	if x.phase == opening && events&unix.EPOLLOUT != 0 {
		if err := c.opened(i); err != nil {
			return err
		}
	}
	if x.phase == established && events&unix.EPOLLOUT != 0 {
		if err := c.write(i); err != nil {
			return err
		}
	}
	if x.phase >= established && x.phase < ended && events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP) != 0 {
		c.answered(i)
	}
	return nil
}

// opened begins with what the application has to write.
func (c *connections) opened(i int) error {
	x := &c.conn[i]
	x.phase = established
	if c.Flows[i].Size > 0 {
		// The stamp of what is sent last is asked for when it is written.
		flags := unix.SOF_TIMESTAMPING_SOFTWARE | unix.SOF_TIMESTAMPING_OPT_ID | unix.SOF_TIMESTAMPING_OPT_ID_TCP | unix.SOF_TIMESTAMPING_OPT_TSONLY
		if err := unix.SetsockoptInt(x.out, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flags); err != nil {
			return fmt.Errorf("flow %d: setsockopt SO_TIMESTAMPING: %w: the lab needs Linux 6.2 or later", i, err)
		}
	}
	if x.stopped {
		c.shut(i)
	}
	return nil
}

// goal is how much the application has written by now, if the send buffer takes it, and
// when it writes next.
func (c *connections) goal(i int, now unit.Time) (goal unit.Bytes, next unit.Time) {
	f := &c.Flows[i]
	goal, next = math.MaxInt64, unit.Never
	if f.Stop > 0 && f.Size == 0 {
		now = min(now, f.Stop)
	}
	if f.TCP.Rate > 0 {
		piece, start := unit.Bytes(f.Payload), c.result.Flows[i].Start
		writes := f.TCP.Rate.BytesIn(now-start) / piece
		next = start + unit.TransmitTime((writes+1)*piece, f.TCP.Rate)
		if next <= now { // rounding
			writes++
			next = start + unit.TransmitTime((writes+1)*piece, f.TCP.Rate)
		}
		goal = (writes + 1) * piece
	}
	if f.Size > 0 && goal >= f.Size {
		return f.Size, unit.Never
	}
	return goal, next
}

// write writes what is due and the send buffer takes.
func (c *connections) write(i int) error {
	f, x := &c.Flows[i], &c.conn[i]
	goal, next := c.goal(i, c.clock.now())
	for x.written < goal {
		n := int(min(goal-x.written, writeSize))
		var err error
		if f.Size > 0 && x.written+unit.Bytes(n) == f.Size {
			n, err = unix.SendmsgN(x.out, c.data[:n], stampLast, nil, unix.MSG_NOSIGNAL)
		} else {
			n, err = unix.Write(x.out, c.data[:n])
		}
		switch {
		case err == unix.EAGAIN:
			return nil // it goes on when there is room
		case err == unix.EINTR:
			continue
		case err != nil && unreachable(err):
			c.drop(i, err)
			return nil
		case err != nil:
			return fmt.Errorf("flow %d, host %d: send: %w", i, f.Src, explain(err))
		}
		x.written += unit.Bytes(n)
	}
	if f.Size > 0 && x.written == f.Size {
		c.shut(i)
		return nil
	}
	if next != unit.Never && next > x.next {
		x.next = next
		c.agenda.add(next, i, write)
	}
	return nil
}

// stampLast is a control message that asks for a stamp when what is sent is acknowledged.
var stampLast = func() []byte {
	b := make([]byte, unix.CmsgSpace(4))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = unix.SOL_SOCKET, unix.SO_TIMESTAMPING
	h.SetLen(unix.CmsgLen(4))
	*(*uint32)(unsafe.Pointer(&b[unix.CmsgLen(0)])) = unix.SOF_TIMESTAMPING_TX_ACK
	return b
}()

// shut ends what the application has to say.
func (c *connections) shut(i int) {
	f, x := &c.Flows[i], &c.conn[i]
	if f.Size > 0 {
		x.closing = c.clock.now()
		if n, err := unix.IoctlGetInt(x.out, unix.SIOCOUTQ); err == nil {
			x.unacked = unit.Bytes(n)
		}
	}
	x.phase = ending
	unix.Shutdown(x.out, unix.SHUT_WR)
}

// stamps reads the stamps that the kernel has for a sender: true if there were any.
func (c *connections) stamps(i int) (any bool) {
	x := &c.conn[i]
	var control [256]byte
	for {
		_, n, _, _, err := unix.Recvmsg(x.out, nil, control[:], unix.MSG_ERRQUEUE)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return any
		}
		any = true
		messages, err := unix.ParseSocketControlMessage(control[:n])
		if err != nil {
			continue
		}
		var at *unix.ScmTimestamping
		var what *unix.SockExtendedErr
		for k := range messages {
			switch m := &messages[k]; {
			case m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPING &&
				len(m.Data) >= int(unsafe.Sizeof(*at)):
				at = (*unix.ScmTimestamping)(unsafe.Pointer(&m.Data[0]))
			case (m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_RECVERR ||
				m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_RECVERR) &&
				len(m.Data) >= int(unsafe.Sizeof(*what)):
				what = (*unix.SockExtendedErr)(unsafe.Pointer(&m.Data[0]))
			}
		}
		if at == nil || what == nil || what.Origin != unix.SO_EE_ORIGIN_TIMESTAMPING || what.Info != unix.SCM_TSTAMP_ACK ||
			what.Data != uint32(c.Flows[i].Size-1) || x.finished != unit.Never {
			continue
		}
		c.finish(i, c.clock.event(at.Ts[0].Nano(), c.clock.ahead()))
	}
}

// finish notes that a flow's last byte was acknowledged. If this thread is late, the
// application had it before all the same.
func (c *connections) finish(i int, at unit.Time) {
	x := &c.conn[i]
	x.finished = at
	for x.arrived == unit.Never && x.in >= 0 {
		if n, err := c.read(x.in); err == unix.EINTR {
			continue
		} else if err != nil || n == 0 {
			break
		} else {
			c.took(i, n)
		}
	}
	if x.arrived == unit.Never { // nobody has read it yet
		x.arrived = at
		c.run.arrived(i, at)
	}
	x.arrived = min(x.arrived, at)
	c.done(at)
}

// took notes that the application has received some more.
func (c *connections) took(i, n int) {
	x := &c.conn[i]
	x.received += unit.Bytes(n)
	if size := c.Flows[i].Size; size > 0 && x.received >= size && x.arrived == unit.Never {
		x.arrived = c.clock.now()
		c.run.arrived(i, x.arrived)
	}
}

// answered takes what the receiver says to the sender, which can only be that it has
// closed its end.
func (c *connections) answered(i int) {
	f, x := &c.Flows[i], &c.conn[i]
	n, err := c.read(x.out)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
	case err != nil:
		c.drop(i, err)
	case n == 0 && x.phase == ending:
		if f.Size > 0 && x.finished == unit.Never { // all is acknowledged, or there would be no FIN
			if c.stamps(i); x.finished == unit.Never {
				c.unmarked++
				c.finish(i, c.clock.now())
			}
		}
		c.leave(i)
	case n == 0:
		c.drop(i, fmt.Errorf("the receiver has closed the connection: %w", unix.ECONNRESET))
	}
}

// leave closes the sender's socket, whose connection is over.
func (c *connections) leave(i int) {
	x := &c.conn[i]
	c.count(i)
	unix.Close(x.out)
	x.out, x.phase = -1, ended
	c.settle(i)
}

// drop ends a connection that has failed.
func (c *connections) drop(i int, why error) {
	f, x := &c.Flows[i], &c.conn[i]
	c.count(i)
	abort(x.out)
	x.out, x.phase = -1, ended
	if f.Size > 0 && x.finished != unit.Never {
		return // only its end has failed
	}
	c.result.Flows[i].Failed = why
	c.giveUp(i, c.clock.now())
}

// settle closes the receiver's socket once the sender's is closed and FIN is acknowledged.
func (c *connections) settle(i int) {
	x := &c.conn[i]
	if x.in < 0 || !x.eof || x.out >= 0 {
		return
	}
	if c.info.Get(x.in) == nil && c.info.State != sockdiag.Closed {
		return
	}
	unix.Close(x.in)
	x.in = -1
}

// read reads and forgets what a socket has received.
func (c *connections) read(fd int) (int, error) {
	n, _, e := unix.Syscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&c.void[0])), uintptr(len(c.void)),
		unix.MSG_TRUNC, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// receiver takes an event of a receiver's socket.
func (c *connections) receiver(i int) error {
	x := &c.conn[i]
	if x.eof {
		c.settle(i)
		return nil
	}
	n, err := c.read(x.in)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
	case err != nil: // the sender has gone, which is its own matter
		c.count(i)
		abort(x.in)
		x.in, x.eof = -1, true
	case n == 0:
		x.eof = true
		c.count(i)
		unix.Shutdown(x.in, unix.SHUT_WR)
		// From here on only the end of the connection is told.
		e := unix.EpollEvent{Events: unix.EPOLLET, Fd: int32(i), Pad: ofReceiver}
		if err := unix.EpollCtl(c.epoll, unix.EPOLL_CTL_MOD, x.in, &e); err != nil {
			return os.NewSyscallError("epoll_ctl", err)
		}
	default:
		c.took(i, n)
	}
	return nil
}

// count reads what the kernel has counted of a connection.
func (c *connections) count(i int) {
	x := &c.conn[i]
	t := &x.now
	if x.out >= 0 && c.info.Get(x.out) == nil {
		s := &t.sender
		s.SentPackets = int64(c.info.DataSegmentsOut)
		s.SentBytes = c.info.BytesSent - c.info.BytesRetrans
		s.Retransmitted = int64(c.info.TotalRetrans)
		s.ReceivedPackets = int64(c.info.SegmentsIn)
		t.timeouts = int64(c.info.Timeouts)
		t.receiver.Duplicates = int64(c.info.DSACKs)
	}
	if x.in >= 0 && c.info.Get(x.in) == nil {
		r := &t.receiver
		r.ReceivedPackets = int64(c.info.DataSegmentsIn)
		r.ReceivedBytes = c.info.BytesReceived
		if s := c.info.State; s == sockdiag.CloseWait || s == sockdiag.LastAck || s == sockdiag.Closed && x.eof {
			r.ReceivedBytes-- // FIN counts as a byte
		}
	}
}

// look takes counters at the warm-up's end, and samples, as far as they are due.
func (c *connections) look(now, end unit.Time) error {
	for {
		at := c.nextLook()
		if at > now {
			return nil
		}
		if !c.marked && at == c.Warmup {
			c.mark()
		}
		for k := range c.periods {
			p := &c.periods[k]
			if p.next != at {
				continue
			}
			p.next += p.every
			c.sample(p, at, at == end && at != c.Warmup)
		}
	}
}

// nextLook is when counters or samples are due.
func (c *connections) nextLook() unit.Time {
	next := unit.Never
	if !c.marked {
		next = c.Warmup
	}
	for k := range c.periods {
		next = min(next, c.periods[k].next)
	}
	return next
}

// mark notes what was counted up to the warm-up's end.
func (c *connections) mark() {
	c.marked = true
	left := c.live[:0]
	for _, i := range c.live {
		x := &c.conn[i]
		c.count(i)
		x.first = x.now
		if x.out >= 0 || x.in >= 0 {
			left = append(left, i)
		}
	}
	c.live = left
}

// sample looks at the flows of a period.
func (c *connections) sample(p *period, at unit.Time, atEnd bool) {
	last, info := -1, (*sockdiag.Info)(nil)
	for _, k := range p.samples {
		s := &c.Samples[k]
		x := &c.conn[s.Flow]
		if s.What == ReceivedBytes {
			c.result.Sampled[k] = append(c.result.Sampled[k], int64(x.received))
			continue
		}
		if atEnd {
			continue
		}
		f := &c.Flows[s.Flow]
		value := int64(-1)
		if x.out >= 0 && x.phase >= opening && x.finished > at && (f.Stop == 0 || f.Size > 0 || f.Stop > at) {
			if last != s.Flow {
				last, info = s.Flow, c.ask(s.Flow)
			}
			if info != nil {
				if x.phase == opening { // without knowing the way, the kernel has small segments, and SYN counts as one
					info.SendMSS, info.Unacked = unit.Bytes(f.Payload), 0
				}
				value = quantity(s.What, info)
			}
		}
		c.result.Sampled[k] = append(c.result.Sampled[k], value)
	}
}

// ask asks the kernel what it knows of a sender: by sock_diag, or by the sender's socket
// where that does not find it any more.
func (c *connections) ask(i int) *sockdiag.Info {
	f := &c.Flows[i]
	if d := c.diag[f.Src]; d != nil {
		if s, err := d.Socket(c.local(f), c.remote(f)); err == nil && s.Info.Size > 0 {
			return &s.Info
		}
	}
	if c.info.Get(c.conn[i].out) != nil {
		return nil
	}
	return &c.info
}

// quantity is what a sample looks at.
func quantity(what What, t *sockdiag.Info) int64 {
	switch what {
	case Window:
		return int64(t.Window) * int64(t.SendMSS)
	case Rate:
		if t.PacingRate == sockdiag.NoLimit {
			return 0
		}
		return int64(t.PacingRate)
	case InFlight:
		return t.InFlight() * int64(t.SendMSS)
	case RTT:
		return int64(t.RTT)
	default:
		return int64(t.DeliveryRate)
	}
}

// conclude takes the last counters and closes everything.
func (c *connections) conclude(end unit.Time) error {
	if !c.marked {
		c.mark() // it ended before anything was measured
	}
	for _, i := range c.live {
		c.count(i)
	}
	for _, i := range c.flows {
		x, out := &c.conn[i], &c.result.Flows[i]
		out.Sender, out.Receiver = x.now.sender.Since(&x.first.sender), x.now.receiver.Since(&x.first.receiver)
		out.Received = x.now.receiver.ReceivedBytes
		out.Timeouts = x.now.timeouts - x.first.timeouts
		out.Sender.Finished, out.Sender.Written, out.Sender.Unacked = x.finished, x.closing, x.unacked
		out.Receiver.Finished, out.Arrived = x.arrived, x.arrived
		if x.finished != unit.Never {
			out.FCT = x.finished - out.Start
		}
		if x.closing != unit.Never {
			out.Written = x.closing - out.Start
		}
	}
	c.result.Begun = c.begun
	c.lock.Lock()
	c.result.Lost.Strays += c.strays
	c.result.Lost.Unmarked += c.unmarked
	c.lock.Unlock()
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
