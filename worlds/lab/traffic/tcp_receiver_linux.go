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

// openServer opens the server of a flow in the calling thread's namespace, and adds it to the listeners and to epoll.
func (c *connections) openServer(f *Flow, address netip.AddrPort) error {
	options := append([]socketOption{tosOption(f.Version, f.TOS)}, sharedPortOptions...)
	if n := f.TCP.ReceiveBuffer; n > 0 { // a connection inherits first window and scale from the listening socket
		options = append(options, socketOption{"SO_RCVBUFFORCE", unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, n})
	}
	fd, err := openSocket(unix.SOCK_STREAM, address, options...)
	if err != nil {
		return err
	}
	c.listeners = append(c.listeners, listener{fd: fd, node: f.Dst, addr: address})
	if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
		return fmt.Errorf("listen at %v: %w", address, err)
	}
	return c.addToEpoll(fd, listenerEvent, len(c.listeners)-1, unix.EPOLLIN)
}

// acceptAll accepts the connections that wait at server index, for their flows. A connection of no flow, or a second
// one, is closed and counts as a stray.
func (c *connections) acceptAll(index int) error {
	l := &c.listeners[index]
	for {
		fd, from, err := unix.Accept4(l.fd, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		switch {
		case err == unix.EAGAIN:
			return nil
		case err == unix.EINTR || err == unix.ECONNABORTED:
			continue
		case err != nil:
			return fmt.Errorf("host %d: accept at %v: %w", l.node, l.addr, explainError(err))
		}
		i, known := c.flowByPeer[acceptKey{index, toAddrPort(from)}]
		if !known || c.conn[i].receiverFD >= 0 || c.conn[i].eof {
			c.strays++
			abortSocket(fd)
			continue
		}
		o := tosOption(c.Flows[i].Version, c.Flows[i].TOS)
		unix.SetsockoptInt(fd, o.level, o.opt, o.value)
		for _, o := range c.Flows[i].TCP.ReceiverOptions {
			if err := o.Set(fd); err != nil {
				unix.Close(fd)
				return fmt.Errorf("host %d: flow %d: %w", l.node, i, err)
			}
		}
		setAbortOnClose(fd)
		c.conn[i].receiverFD = fd
		if err := c.addToEpoll(fd, receiverEvent, i, unix.EPOLLIN); err != nil {
			return err
		}
	}
}

// discard reads and discards received data of a socket, up to readSize. It returns the number of bytes; 0 means FIN.
func (c *connections) discard(fd int) (int, error) {
	n, _, e := unix.Syscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&c.discarded[0])),
		uintptr(len(c.discarded)), unix.MSG_TRUNC, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// handleReceiver handles an event of a receiver's socket, which must be open: data, which it reads and discards, the
// FIN, which it answers with its own, or the end.
func (c *connections) handleReceiver(i int) error {
	x := &c.conn[i]
	if x.eof {
		c.closeReceiver(i)
		return nil
	}
	n, err := c.discard(x.receiverFD)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
	case err != nil: // the sender closed, which is reported at its side
		c.readCounters(i)
		abortSocket(x.receiverFD)
		x.receiverFD, x.eof = -1, true
	case n == 0:
		x.eof = true
		c.readCounters(i)
		unix.Shutdown(x.receiverFD, unix.SHUT_WR)
		// From now on only the end of the connection causes events.
		e := unix.EpollEvent{Events: unix.EPOLLET, Fd: int32(i), Pad: receiverEvent}
		if err := unix.EpollCtl(c.epoll, unix.EPOLL_CTL_MOD, x.receiverFD, &e); err != nil {
			return os.NewSyscallError("epoll_ctl", err)
		}
	default:
		c.recordRead(i, n)
	}
	return nil
}

// readCounters reads the kernel's counters of a connection at both ends into its current tally. An end without a socket
// keeps its last counters. It overwrites c.info.
func (c *connections) readCounters(i int) {
	x := &c.conn[i]
	t := &x.current
	if x.senderFD >= 0 && c.info.ReadSocket(x.senderFD) == nil {
		s := &t.sender
		s.SentPackets = int64(c.info.DataSegmentsOut)
		s.SentBytes = c.info.BytesSent - c.info.BytesRetrans
		s.Retransmitted = int64(c.info.TotalRetrans)
		s.ReceivedPackets = int64(c.info.SegmentsIn)
		t.timeouts = int64(c.info.Timeouts)
		t.receiver.Spurious[packet.FirstCopy] = int64(c.info.DSACKs) // their cause is unknown
	}
	if x.receiverFD >= 0 && c.info.ReadSocket(x.receiverFD) == nil {
		r := &t.receiver
		r.ReceivedPackets = int64(c.info.DataSegmentsIn)
		r.ReceivedBytes = c.info.BytesReceived
		if s := c.info.State; s == sockdiag.CloseWait || s == sockdiag.LastAck || s == sockdiag.Closed && x.eof {
			r.ReceivedBytes-- // FIN counts as a byte
		}
	}
}
