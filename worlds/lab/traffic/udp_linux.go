package traffic

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// putHeader writes the first minDatagram bytes of a datagram: numbers of its flow and of itself, 32 bits each, and
// its send time, 64 bits.
func putHeader(b []byte, flow int, seq int64, sent unit.Time) {
	binary.BigEndian.PutUint32(b, uint32(flow))
	binary.BigEndian.PutUint32(b[4:], uint32(seq))
	binary.BigEndian.PutUint64(b[8:], uint64(sent))
}

// parseHeader reads the values that putHeader wrote. b has at least minDatagram bytes.
func parseHeader(b []byte) (flow int, seq int64, sent unit.Time) {
	return int(binary.BigEndian.Uint32(b)), int64(binary.BigEndian.Uint32(b[4:])),
		unit.Time(binary.BigEndian.Uint64(b[8:]))
}

// message is struct mmsghdr.
type message struct {
	unix.Msghdr
	n uint32 // length in bytes
}

// batchSize is the maximum number of datagrams in one system call.
const batchSize = 64

// Socket memory in bytes. A receiving socket holds the datagrams that arrive while its thread does not run.
const (
	sendMemory    = 4 << 20 // for links without a rate
	receiveMemory = 16 << 20
)

// sendBufferSize returns the memory of a socket that sends frames of the given size over a host's link. It has
// space for three frames, or for what the link sends in a millisecond, like TCP small queues. A sender with a busy
// link waits for it, as for a NIC of the simulator.
func sendBufferSize(frame int32, rate unit.LinkRate) int {
	if rate == (unit.LinkRate{}) {
		return sendMemory
	}
	// Overhead of a kernel buffer: struct skb_shared_info with space for headers, and struct sk_buff.
	const around, head = 384, 256
	memory := head + 1<<bits.Len32(uint32(frame+around-1))
	link := unit.NewSerialiser(rate)
	return memory * int(max(3, unit.Millisecond/link.NextTime(frame, false)))
}

// setMemory sets the memory of a socket, beyond the system's limits with forceOption if permitted, else up to them
// with option. It ignores errors.
func setMemory(fd, forceOption, option, bytes int) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, forceOption, bytes) != nil {
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, bytes)
	}
}

// frameBytes returns the length of a flow's full datagram on Ethernet, without FCS.
func frameBytes(f *Flow) int32 {
	ip := int32(packet.IPv4Header)
	if f.Version == 6 {
		ip = packet.IPv6Header
	}
	return packet.EthernetHeader + ip + packet.UDPHeader + f.Payload
}

// udpSender is the sending end of a UDP flow.
type udpSender struct {
	endpoint    transport.Endpoint
	fd          int // −1: not open
	first       transport.Counters
	start       unit.Time
	pending     []datagram // emitted by the endpoint, waiting for space in the socket
	linkLimited bool       // delayed by the host's link and still behind schedule
}

// datagram is a waiting datagram: its header and the length of the rest.
type datagram struct {
	header [minDatagram]byte
	first  int // bytes of the header to send
	rest   int
}

// udpSenders is the thread that sends the datagrams of all flows.
type udpSenders struct {
	*run
	flows    []int
	senders  []udpSender // by flow
	starts   *starts
	agenda   agenda
	blocked  []int // flows with a full socket
	polled   []unix.PollFd
	marked   bool
	late     Lateness
	unsent   uint64
	more     []int
	packet   packet.Packet
	messages [batchSize]message
	iov      [batchSize][2]unix.Iovec
	headers  [batchSize][minDatagram]byte
	rest     []byte // of payloads
}

// newUDPSenders returns the thread for the given flows.
func newUDPSenders(r *run, flows []int) *udpSenders {
	s := &udpSenders{run: r, flows: flows, senders: make([]udpSender, len(r.Flows)), starts: newStarts(flows, r.Flows),
		rest: make([]byte, 1<<16)}
	for _, i := range flows {
		f := &r.Flows[i]
		s.senders[i] = udpSender{endpoint: f.UDP, fd: -1, start: f.Start}
	}
	for k := range s.messages {
		m := &s.messages[k]
		s.iov[k][0].Base = &s.headers[k][0]
		s.iov[k][1].Base = &s.rest[0]
		m.Iov = &s.iov[k][0]
	}
	return s
}

// prepare does no work, since sockets open shortly before their flows start.
func (s *udpSenders) prepare() error { return nil }

// openSockets opens the sockets of flows, with one host's flows in a row, and schedules their
// first datagrams. It skips flows that have no datagram to send.
func (s *udpSenders) openSockets(flows []int) error {
	for len(flows) > 0 {
		n, node := 1, s.Flows[flows[0]].Src
		for n < len(flows) && s.Flows[flows[n]].Src == node {
			n++
		}
		err := s.doForFlow(node, flows[0], func() error {
			for _, i := range flows[:n] {
				if s.senders[i].endpoint == nil || s.senders[i].endpoint.NextSend() == unit.Never {
					continue // no datagram to send
				}
				if err := s.openFlow(i); err != nil {
					return fmt.Errorf("flow %d: %w", i, err)
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

// openFlow opens the socket of a flow in the calling thread's namespace and schedules its first datagram.
func (s *udpSenders) openFlow(i int) error {
	f := &s.Flows[i]
	whole := socketOption{"IP_MTU_DISCOVER", unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO}
	if f.Version == 6 {
		whole = socketOption{"IPV6_MTU_DISCOVER", unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO}
	}
	options := append([]socketOption{tosOption(f.Version, f.TOS), whole}, sharedPortOptions...)
	fd, err := openSocket(unix.SOCK_DGRAM, s.localAddr(f), options...)
	if err != nil {
		return err
	}
	const kernelDoubles = 2 // socket(7)
	setMemory(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, sendBufferSize(frameBytes(f), f.Link)/kernelDoubles)
	if err := unix.Connect(fd, toSockaddr(s.remoteAddr(f))); err != nil {
		unix.Close(fd)
		return fmt.Errorf("connect to %v: %w", s.remoteAddr(f), err)
	}
	s.senders[i].fd = fd
	s.agenda.addTask(s.senders[i].endpoint.NextSend(), i, sendTask)
	return nil
}

// drive sends the flows' datagrams until the end of the run, and saves the counters (conclude).
func (s *udpSenders) drive() error {
	wake := unix.PollFd{Fd: int32(s.begun[sendThread].wake), Events: unix.POLLIN}
	for {
		now, end := s.clock.now(), s.endTime()
		if err := s.sendDue(min(now, end)); err != nil {
			return err
		}
		if now >= end {
			return s.conclude()
		}
		wait := timeUntil(min(end, s.agenda.nextTime(), s.starts.nextTime()), s.clock.now())
		s.polled = append(s.polled[:0], wake)
		for _, i := range s.blocked {
			s.polled = append(s.polled, unix.PollFd{Fd: int32(s.senders[i].fd), Events: unix.POLLOUT})
		}
		n, err := unix.Ppoll(s.polled, &wait, nil)
		if err != nil && err != unix.EINTR {
			return os.NewSyscallError("ppoll", err)
		}
		if n <= 0 {
			continue
		}
		if s.polled[0].Revents != 0 {
			if err := s.wakeUp(); err != nil {
				return err
			}
		}
		if err := s.resumeBlocked(); err != nil {
			return err
		}
	}
}

// resumeBlocked sends pending datagrams of blocked flows with space in their sockets, by the last poll. Flows that
// have sent all return to the agenda.
func (s *udpSenders) resumeBlocked() error {
	now := s.clock.now()
	if now >= s.endTime() {
		return nil
	}
	blocked := s.blocked
	s.blocked = s.blocked[:0]
	for k, i := range blocked {
		if s.polled[1+k].Revents == 0 {
			s.blocked = append(s.blocked, i)
			continue
		}
		x := &s.senders[i]
		for k := range x.pending {
			d := &x.pending[k]
			s.headers[k] = d.header
			s.setMessage(k, d.first, d.rest)
		}
		n := len(x.pending)
		x.pending = x.pending[:0]
		if err := s.transmitMessages(i, n, now); err != nil {
			return err
		}
	}
	return nil
}

// wakeUp starts flows after their predecessors have arrived: it creates their endpoints (Flow.Begin) and opens their
// sockets.
func (s *udpSenders) wakeUp() error {
	s.clearWake(sendThread)
	s.more = s.takeReleased(sendThread, s.more)
	for _, i := range s.more {
		x := &s.senders[i]
		x.start = s.result.Flows[i].Start
		if f := &s.Flows[i]; f.Begin != nil {
			x.endpoint = f.Begin(x.start)
		}
	}
	return s.openSockets(s.more)
}

// sendDue opens sockets and sends the datagrams that are due at now, also those that become due meanwhile, but no
// datagram from the end of the run on. It saves the counters at the warm-up's end.
func (s *udpSenders) sendDue(now unit.Time) error {
	if s.starts.nextTime() <= now {
		if err := s.openSockets(s.starts.takeReady(now, s.Flows)); err != nil {
			return err
		}
		now = min(s.clock.now(), s.endTime())
	}
	for {
		next := s.agenda.nextTime()
		if !s.marked && min(next, now) >= s.Warmup {
			s.mark()
		}
		if next > now || next >= s.endTime() {
			return nil
		}
		i, _ := s.agenda.takeFirst()
		if err := s.sendFlow(i, now); err != nil {
			return err
		}
		now = min(s.clock.now(), s.endTime())
	}
}

// sendFlow sends the datagrams of a flow that are due before datagrams of other flows, up to batchSize, and at least
// one if any is left. It records their lateness unless the host's link delays the flow.
func (s *udpSenders) sendFlow(i int, now unit.Time) error {
	f, x := &s.Flows[i], &s.senders[i]
	p := &s.packet
	last := min(now, s.agenda.nextTime(), s.endTime()-1)
	if !s.marked {
		last = min(last, s.Warmup-1)
	}
	n, limit := 0, batchSize
	if x.linkLimited {
		limit = 2 // further ones would count as sent before the link takes them
	}
	for ; n < limit; n++ {
		at := x.endpoint.NextSend()
		if at > last && n > 0 || at == unit.Never {
			break
		}
		*p = packet.Packet{Flow: packet.FlowID(i), Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1), Sent: now}
		x.endpoint.Emit(now, p)
		if !x.linkLimited {
			s.late.addDelay(now - at)
		}
		putHeader(s.headers[n][:], i, p.Seq, now)
		first := min(int(p.Payload), minDatagram)
		if first < minDatagram {
			s.tails[i].Store(int64(now))
		}
		s.setMessage(n, first, int(p.Payload)-first)
	}
	return s.transmitMessages(i, n, now)
}

// setMessage sets message k to the first bytes of header k and rest further ones.
func (s *udpSenders) setMessage(k, header, rest int) {
	s.iov[k][0].SetLen(header)
	s.iov[k][1].SetLen(rest)
	s.messages[k].SetIovlen(2)
}

// scheduleNext schedules a flow's next datagram after all emitted ones are sent. Without a next one it closes the
// socket, and marks a flow with a size as done.
func (s *udpSenders) scheduleNext(i int, now unit.Time) error {
	f, x := &s.Flows[i], &s.senders[i]
	if next := x.endpoint.NextSend(); next != unit.Never {
		if x.linkLimited = x.linkLimited && next <= now; x.linkLimited {
			next = now // its own time has passed
		}
		s.agenda.addTask(next, i, sendTask)
		return nil
	}
	unix.Close(x.fd)
	x.fd = -1
	if f.Size > 0 && x.endpoint.Counters().Finished != unit.Never {
		s.markDone(x.endpoint.Counters().Finished)
	}
	return nil
}

// transmitMessages passes the first n messages to the kernel, and schedules the flow's next one. If the socket is
// full, the others wait and the flow is blocked. Datagrams that the kernel has no memory for count as unsent. Errors
// of the path are no error.
func (s *udpSenders) transmitMessages(i, n int, now unit.Time) error {
	tries := 0
	for k := 0; k < n; {
		sent, _, e := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(s.senders[i].fd), uintptr(unsafe.Pointer(&s.messages[k])),
			uintptr(n-k), 0, 0, 0)
		switch {
		case e == 0:
			k += int(sent)
		case e == unix.EINTR:
		case e == unix.EAGAIN:
			s.blockFlow(i, k, n)
			return nil
		case e == unix.ENOBUFS:
			s.unsent++
			k++
		case isPathError(e) && tries < 4: // error of an earlier datagram; ignored
			tries++
		case isPathError(e):
			k++
		default:
			f := &s.Flows[i]
			return fmt.Errorf("flow %d, host %d: send from %v to %v: %w", i, f.Src, s.localAddr(f), s.remoteAddr(f),
				explainError(e))
		}
	}
	return s.scheduleNext(i, now)
}

// blockFlow keeps messages k to n−1 until the flow's socket has space.
func (s *udpSenders) blockFlow(i, k, n int) {
	x := &s.senders[i]
	for ; k < n; k++ {
		x.pending = append(x.pending, datagram{s.headers[k], int(s.iov[k][0].Len), int(s.iov[k][1].Len)})
	}
	x.linkLimited = true
	s.blocked = append(s.blocked, i)
}

// mark saves the senders' counters at the warm-up's end as baselines, and sets s.marked.
func (s *udpSenders) mark() {
	s.marked = true
	for _, i := range s.flows {
		if x := &s.senders[i]; x.endpoint != nil {
			x.first = *x.endpoint.Counters()
		}
	}
}

// conclude saves the differences of counters since the warm-up's end, FCTs and losses in the result.
func (s *udpSenders) conclude() error {
	if !s.marked {
		s.mark()
	}
	for _, i := range s.flows {
		x, out := &s.senders[i], &s.result.Flows[i]
		if x.endpoint == nil {
			out.Sender.Finished = unit.Never
			continue
		}
		c := x.endpoint.Counters()
		out.Sender = c.Since(&x.first)
		if s.Flows[i].Size > 0 && c.Finished != unit.Never {
			out.FCT = c.Finished - x.start
		}
	}
	s.result.SendLateness = s.late
	s.lock.Lock()
	s.result.Lost.Unsent += s.unsent
	s.lock.Unlock()
	return nil
}

// close closes all sockets.
func (s *udpSenders) close() {
	for _, i := range s.flows {
		if fd := &s.senders[i].fd; *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
}
