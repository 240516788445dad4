package traffic

import (
	"fmt"
	"net/netip"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/internal/sockdiag"
)

// listen opens the server of a flow in the caller's namespace.
func (c *connections) listen(f *Flow, at netip.AddrPort) error {
	options := append([]option{tos(f.Version, f.TOS)}, shared...)
	if n := f.TCP.ReceiveBuffer; n > 0 { // a connection has its first window, and the scale, of the socket that listens
		options = append(options, option{"SO_RCVBUFFORCE", unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, n})
	}
	fd, err := socket(unix.SOCK_STREAM, at, options...)
	if err != nil {
		return err
	}
	c.listeners = append(c.listeners, listener{fd: fd, node: f.Dst, at: at})
	if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
		return fmt.Errorf("listen at %v: %w", at, err)
	}
	return c.watch(fd, ofListener, len(c.listeners)-1, unix.EPOLLIN)
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
		forget(fd)
		c.conn[i].in = fd
		if err := c.watch(fd, ofReceiver, i, unix.EPOLLIN); err != nil {
			return err
		}
	}
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
	case err != nil: // the sender has left, which is reported on its side
		c.count(i)
		abort(x.in)
		x.in, x.eof = -1, true
	case n == 0:
		x.eof = true
		c.count(i)
		unix.Shutdown(x.in, unix.SHUT_WR)
		// From here on only the end of the connection is reported.
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
		t.receiver.Spurious[packet.FirstCopy] = int64(c.info.DSACKs) // their cause is unknown
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
