package traffic

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/core/unit"
	"weir/internal/sockdiag"
)

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
	if n := f.TCP.SendBuffer; n > 0 { // above the sysctl's bound, too
		options = append(options, option{"SO_SNDBUFFORCE", unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, n})
	}
	fd, err := socket(unix.SOCK_STREAM, c.local(f), options...)
	if err != nil {
		return err
	}
	forget(fd)
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

// unreachable distinguishes errors of the path or the other end from those of this machine.
func unreachable(err error) bool {
	for _, e := range [...]error{unix.ECONNREFUSED, unix.ECONNRESET, unix.ETIMEDOUT, unix.EHOSTUNREACH, unix.EPIPE,
		unix.ECONNABORTED} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
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
		flags := unix.SOF_TIMESTAMPING_SOFTWARE | unix.SOF_TIMESTAMPING_OPT_ID | unix.SOF_TIMESTAMPING_OPT_ID_TCP |
			unix.SOF_TIMESTAMPING_OPT_TSONLY
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
			return nil // it continues when there is room
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
