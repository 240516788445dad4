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

// openSockets opens the sockets of flows; flows of one host must follow each other. It skips flows that stop
// before their starts.
func (c *connections) openSockets(flows []int) error {
	for len(flows) > 0 {
		n, node := 1, c.Flows[flows[0]].Src
		for n < len(flows) && c.Flows[flows[n]].Src == node {
			n++
		}
		at := flows[0]
		err := c.doForFlow(node, at, func() error {
			for _, at = range flows[:n] {
				if f := &c.Flows[at]; f.Stop > 0 && f.Size == 0 && f.Stop <= c.result.Flows[at].Start {
					continue // the flow stops before its start
				}
				if err := c.openFlow(at); err != nil {
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

// openFlow opens the socket of a flow in the calling thread's namespace, with all options, but does not connect it.
func (c *connections) openFlow(i int) error {
	f, x := &c.Flows[i], &c.conn[i]
	options := append([]socketOption{tosOption(f.Version, f.TOS),
		{"TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1}}, sharedPortOptions...)
	if f.TCP.MSS > 0 {
		options = append(options, socketOption{"TCP_MAXSEG", unix.IPPROTO_TCP, unix.TCP_MAXSEG, int(f.TCP.MSS)})
	}
	if n := f.TCP.SendBuffer; n > 0 { // may exceed the sysctl's limit
		options = append(options, socketOption{"SO_SNDBUFFORCE", unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, n})
	}
	fd, err := openSocket(unix.SOCK_STREAM, c.localAddr(f), options...)
	if err != nil {
		return err
	}
	setAbortOnClose(fd)
	x.senderFD, x.phase = fd, bound
	c.liveFlows = append(c.liveFlows, i)
	if f.TCP.CongestionControl != "" {
		if err := setControl(fd, f.TCP.CongestionControl); err != nil {
			return err
		}
	}
	if f.TCP.Pacing { // any limit enables pacing; this one has no effect
		if err := unix.SetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, 1<<40); err != nil {
			return fmt.Errorf("setsockopt SO_MAX_PACING_RATE: %w", err)
		}
	}
	if f.Stop > 0 && f.Size == 0 && f.Stop-stopLead <= c.result.Flows[i].Start {
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, minStock)
	}
	return nil
}

// connect starts a flow's connection and records the lateness of its start. An error of the path fails the flow only;
// another one is returned.
func (c *connections) connect(i int) error {
	f, x := &c.Flows[i], &c.conn[i]
	c.startLateness.addDelay(c.clock.now() - c.result.Flows[i].Start)
	x.phase = opening
	switch err := unix.Connect(x.senderFD, toSockaddr(c.remoteAddr(f))); {
	case err == nil || err == unix.EINPROGRESS || err == unix.EINTR:
	case isPathError(err):
		c.failFlow(i, fmt.Errorf("connect to %v: %w", c.remoteAddr(f), err))
		return nil
	default:
		return fmt.Errorf("flow %d, host %d: connect from %v to %v: %w", i, f.Src, c.localAddr(f), c.remoteAddr(f),
			explainError(err))
	}
	return c.addToEpoll(x.senderFD, senderEvent, i, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP|unix.EPOLLET)
}

// isPathError reports whether an error is of the path or the other end, and not of this machine.
func isPathError(err error) bool {
	for _, e := range [...]error{unix.ECONNREFUSED, unix.ECONNRESET, unix.ETIMEDOUT, unix.EHOSTUNREACH, unix.EPIPE,
		unix.ECONNABORTED} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// handleSender handles events of a sender's socket, which must be open. The error is about this machine; other
// failures end the flow.
func (c *connections) handleSender(i int, events uint32) error {
	x := &c.conn[i]
	if events&unix.EPOLLERR != 0 {
		stamped := c.readStamps(i)
		if err := pendingError(x.senderFD); err != nil {
			c.failFlow(i, err)
			return nil
		}
		if stamped && x.phase == opening { // impossible
			return nil
		}
	}
	if x.phase == opening && events&unix.EPOLLOUT != 0 {
		if err := c.startWriting(i); err != nil {
			return err
		}
	}
	if x.phase == established && events&unix.EPOLLOUT != 0 {
		if err := c.writeDue(i); err != nil {
			return err
		}
	}
	if x.phase >= established && x.phase < ended && events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP) != 0 {
		c.handleAnswer(i)
	}
	return nil
}

// startWriting prepares an open connection for the application's writes. A flow that has stopped meanwhile is shut
// down.
func (c *connections) startWriting(i int) error {
	x := &c.conn[i]
	x.phase = established
	if c.Flows[i].Size > 0 {
		// The stamp of the last byte is requested with its write.
		flags := unix.SOF_TIMESTAMPING_SOFTWARE | unix.SOF_TIMESTAMPING_OPT_ID | unix.SOF_TIMESTAMPING_OPT_ID_TCP |
			unix.SOF_TIMESTAMPING_OPT_TSONLY
		if err := unix.SetsockoptInt(x.senderFD, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flags); err != nil {
			return fmt.Errorf("flow %d: setsockopt SO_TIMESTAMPING: %w: the lab requires Linux 6.2 or later", i, err)
		}
	}
	if x.stopped {
		c.shutDown(i)
	}
	return nil
}

// writeGoal returns the number of bytes that the application wants to have written by now, and the time of its next
// write; unit.Never without one. Without a rate or a size the number has no limit.
func (c *connections) writeGoal(i int, now unit.Time) (goal unit.Bytes, next unit.Time) {
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

// writeDue writes the bytes that are due, as far as the send buffer has space. After all bytes of a flow with a size it
// ends the writes; with a rate it schedules the next write. An error of the path fails the flow only; another one is
// returned.
func (c *connections) writeDue(i int) error {
	f, x := &c.Flows[i], &c.conn[i]
	goal, next := c.writeGoal(i, c.clock.now())
	for x.written < goal {
		n := int(min(goal-x.written, writeSize))
		var err error
		if f.Size > 0 && x.written+unit.Bytes(n) == f.Size {
			n, err = unix.SendmsgN(x.senderFD, c.data[:n], stampLast, nil, unix.MSG_NOSIGNAL)
		} else {
			n, err = unix.Write(x.senderFD, c.data[:n])
		}
		switch {
		case err == unix.EAGAIN:
			return nil // continues when there is space
		case err == unix.EINTR:
			continue
		case err != nil && isPathError(err):
			c.failFlow(i, err)
			return nil
		case err != nil:
			return fmt.Errorf("flow %d, host %d: send: %w", i, f.Src, explainError(err))
		}
		x.written += unit.Bytes(n)
	}
	if f.Size > 0 && x.written == f.Size {
		c.shutDown(i)
		return nil
	}
	if next != unit.Never && next > x.next {
		x.next = next
		c.agenda.addTask(next, i, writeTask)
	}
	return nil
}

// stampLast is a control message that requests a stamp when the written data is acknowledged.
var stampLast = func() []byte {
	b := make([]byte, unix.CmsgSpace(4))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = unix.SOL_SOCKET, unix.SO_TIMESTAMPING
	h.SetLen(unix.CmsgLen(4))
	*(*uint32)(unsafe.Pointer(&b[unix.CmsgLen(0)])) = unix.SOF_TIMESTAMPING_TX_ACK
	return b
}()

// shutDown ends the application's writes, and records the time and the unacknowledged bytes of a flow with a size.
func (c *connections) shutDown(i int) {
	f, x := &c.Flows[i], &c.conn[i]
	if f.Size > 0 {
		x.closing = c.clock.now()
		if n, err := unix.IoctlGetInt(x.senderFD, unix.SIOCOUTQ); err == nil {
			x.unacked = unit.Bytes(n)
		}
	}
	x.phase = ending
	unix.Shutdown(x.senderFD, unix.SHUT_WR)
}

// readStamps reads the kernel's stamps for a sender and reports whether there were any. A stamp of the last byte's
// acknowledgement finishes the flow.
func (c *connections) readStamps(i int) (found bool) {
	x := &c.conn[i]
	var control [256]byte
	for {
		_, n, _, _, err := unix.Recvmsg(x.senderFD, nil, control[:], unix.MSG_ERRQUEUE)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return found
		}
		found = true
		messages, err := unix.ParseSocketControlMessage(control[:n])
		if err != nil {
			continue
		}
		var stamp *unix.ScmTimestamping
		var what *unix.SockExtendedErr
		for k := range messages {
			switch m := &messages[k]; {
			case m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPING &&
				len(m.Data) >= int(unsafe.Sizeof(*stamp)):
				stamp = (*unix.ScmTimestamping)(unsafe.Pointer(&m.Data[0]))
			case (m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_RECVERR ||
				m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_RECVERR) &&
				len(m.Data) >= int(unsafe.Sizeof(*what)):
				what = (*unix.SockExtendedErr)(unsafe.Pointer(&m.Data[0]))
			}
		}
		if stamp == nil || what == nil || what.Origin != unix.SO_EE_ORIGIN_TIMESTAMPING ||
			what.Info != unix.SCM_TSTAMP_ACK ||
			what.Data != uint32(c.Flows[i].Size-1) || x.finished != unit.Never {
			continue
		}
		c.recordFinish(i, c.clock.toRunTime(stamp.Ts[0].Nano(), c.clock.realtimeAtBase()))
	}
}

// recordFinish records the acknowledgement of a flow's last byte at time end, which may end the run. The receiving
// application had the byte by then, even if this thread reads it later: recordFinish reads on, and records the arrival.
func (c *connections) recordFinish(i int, end unit.Time) {
	x := &c.conn[i]
	x.finished = end
	for x.arrived == unit.Never && x.receiverFD >= 0 {
		if n, err := c.discard(x.receiverFD); err == unix.EINTR {
			continue
		} else if err != nil || n == 0 {
			break
		} else {
			c.recordRead(i, n)
		}
	}
	if x.arrived == unit.Never { // not read yet
		x.arrived = end
		c.run.markArrived(i, end)
	}
	x.arrived = min(x.arrived, end)
	c.markDone(end)
}

// recordRead records n bytes read by the receiving application, and the arrival of a flow with a size that is
// complete.
func (c *connections) recordRead(i, n int) {
	x := &c.conn[i]
	x.received += unit.Bytes(n)
	if size := c.Flows[i].Size; size > 0 && x.received >= size && x.arrived == unit.Never {
		x.arrived = c.clock.now()
		c.run.markArrived(i, x.arrived)
	}
}

// handleAnswer handles input at the sender, which can only be the receiver's FIN. It closes a connection that is over.
// A FIN before the end of the writes fails the flow.
func (c *connections) handleAnswer(i int) {
	f, x := &c.Flows[i], &c.conn[i]
	n, err := c.discard(x.senderFD)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
	case err != nil:
		c.failFlow(i, err)
	case n == 0 && x.phase == ending:
		if f.Size > 0 && x.finished == unit.Never { // the FIN implies that all data is acknowledged
			if c.readStamps(i); x.finished == unit.Never {
				c.unmarked++
				c.recordFinish(i, c.clock.now())
			}
		}
		c.closeSender(i)
	case n == 0:
		c.failFlow(i, fmt.Errorf("the receiver has closed the connection: %w", unix.ECONNRESET))
	}
}

// closeSender reads the counters and closes the sender's socket at the end of the connection, and then the receiver's
// if that is possible.
func (c *connections) closeSender(i int) {
	x := &c.conn[i]
	c.readCounters(i)
	unix.Close(x.senderFD)
	x.senderFD, x.phase = -1, ended
	c.closeReceiver(i)
}

// failFlow ends a connection that has failed because of cause. The flow and its successors are abandoned, unless its
// data was acknowledged.
func (c *connections) failFlow(i int, cause error) {
	f, x := &c.Flows[i], &c.conn[i]
	c.readCounters(i)
	abortSocket(x.senderFD)
	x.senderFD, x.phase = -1, ended
	if f.Size > 0 && x.finished != unit.Never {
		return // only the closing failed
	}
	c.result.Flows[i].Failed = cause
	c.giveUp(i, c.clock.now())
}

// closeReceiver closes the receiver's socket once the sender's is closed and the FIN is acknowledged.
func (c *connections) closeReceiver(i int) {
	x := &c.conn[i]
	if x.receiverFD < 0 || !x.eof || x.senderFD >= 0 {
		return
	}
	if c.info.ReadSocket(x.receiverFD) == nil && c.info.State != sockdiag.Closed {
		return
	}
	unix.Close(x.receiverFD)
	x.receiverFD = -1
}
