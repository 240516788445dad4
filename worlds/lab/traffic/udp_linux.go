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

// A datagram begins with the number of its flow, its own, each in 32 bits, and when it was
// given to the kernel, in 64.
func putHeader(b []byte, flow int, seq int64, sent unit.Time) {
	binary.BigEndian.PutUint32(b, uint32(flow))
	binary.BigEndian.PutUint32(b[4:], uint32(seq))
	binary.BigEndian.PutUint64(b[8:], uint64(sent))
}

func header(b []byte) (flow int, seq int64, sent unit.Time) {
	return int(binary.BigEndian.Uint32(b)), int64(binary.BigEndian.Uint32(b[4:])),
		unit.Time(binary.BigEndian.Uint64(b[8:]))
}

// message is struct mmsghdr.
type message struct {
	unix.Msghdr
	n uint32 // bytes
}

// batch is how many datagrams are given to the kernel, or taken from it, in one call.
const batch = 64

// Memory of sockets. A receiving one is for what comes while the thread that reads it does
// not run.
const (
	sendMemory    = 4 << 20 // where the host's link has no rate
	receiveMemory = 16 << 20
)

// sendRoom returns the memory of a socket that sends frames of this size over a host's link of this rate. It has room
// for three, or for what the link carries in a millisecond, as TCP small queues have: a sender whose link is busy waits
// for it, as for a NIC of the simulator.
func sendRoom(frame int32, rate unit.LinkRate) int {
	if rate == (unit.LinkRate{}) {
		return sendMemory
	}
	const around, head = 384, 256 // of a buffer of the kernel: struct skb_shared_info with headers' room, struct sk_buff
	memory := head + 1<<bits.Len32(uint32(frame+around-1))
	link := unit.NewSerialiser(rate)
	return memory * int(max(3, unit.Millisecond/link.Next(frame, false)))
}

// setMemory sets the memory of a socket, above the system's limits if it may.
func setMemory(fd, force, usual, bytes int) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, bytes) != nil {
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, usual, bytes)
	}
}

// frameOf returns the bytes of a flow's full datagram on Ethernet, without FCS.
func frameOf(f *Flow) int32 {
	ip := int32(packet.IPv4Header)
	if f.Version == 6 {
		ip = packet.IPv6Header
	}
	return packet.EthernetHeader + ip + packet.UDPHeader + f.Payload
}

// sender is one flow of UDP where it begins.
type sender struct {
	endpoint transport.Endpoint
	fd       int // −1: none
	first    transport.Counters
	start    unit.Time
	pending  []datagram // that the endpoint has emitted and the socket has no room for
	held     bool       // the host's link has held it back, and it is still behind its schedule
}

// datagram is one that waits: its header, and the bytes after that.
type datagram struct {
	header [leastDatagram]byte
	first  int // bytes of the header that are sent
	rest   int
}

// sending is the thread that sends the datagrams of all flows.
type sending struct {
	*run
	flows    []int
	sender   []sender // by flow
	starts   *starts
	agenda   agenda
	blocked  []int // flows whose sockets have no room
	polled   []unix.PollFd
	marked   bool
	late     Lateness
	unsent   uint64
	more     []int
	packet   packet.Packet
	messages [batch]message
	iov      [batch][2]unix.Iovec
	headers  [batch][leastDatagram]byte
	rest     []byte // of payloads
}

func newSending(r *run, flows []int) *sending {
	s := &sending{run: r, flows: flows, sender: make([]sender, len(r.Flows)), starts: newStarts(flows, r.Flows),
		rest: make([]byte, 1<<16)}
	for _, i := range flows {
		f := &r.Flows[i]
		s.sender[i] = sender{endpoint: f.UDP, fd: -1, start: f.Start}
	}
	for k := range s.messages {
		m := &s.messages[k]
		s.iov[k][0].Base = &s.headers[k][0]
		s.iov[k][1].Base = &s.rest[0]
		m.Iov = &s.iov[k][0]
	}
	return s
}

func (s *sending) prepare() error { return nil }

// bind opens the sockets of flows, those of a host one after the other.
func (s *sending) bind(flows []int) error {
	for len(flows) > 0 {
		n, node := 1, s.Flows[flows[0]].Src
		for n < len(flows) && s.Flows[flows[n]].Src == node {
			n++
		}
		err := s.in(node, flows[0], func() error {
			for _, i := range flows[:n] {
				if s.sender[i].endpoint == nil || s.sender[i].endpoint.NextSend() == unit.Never {
					continue // it has nothing to say
				}
				if err := s.dial(i); err != nil {
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

// dial opens the socket of a flow in the caller's namespace.
func (s *sending) dial(i int) error {
	f := &s.Flows[i]
	whole := option{"IP_MTU_DISCOVER", unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO}
	if f.Version == 6 {
		whole = option{"IPV6_MTU_DISCOVER", unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO}
	}
	fd, err := socket(unix.SOCK_DGRAM, s.local(f), append([]option{tos(f.Version, f.TOS), whole}, shared...)...)
	if err != nil {
		return err
	}
	const kernelDoubles = 2 // socket(7)
	setMemory(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, sendRoom(frameOf(f), f.Link)/kernelDoubles)
	if err := unix.Connect(fd, sockaddr(s.remote(f))); err != nil {
		unix.Close(fd)
		return fmt.Errorf("connect to %v: %w", s.remote(f), err)
	}
	s.sender[i].fd = fd
	s.agenda.add(s.sender[i].endpoint.NextSend(), i, send)
	return nil
}

func (s *sending) drive() error {
	wake := unix.PollFd{Fd: int32(s.begun[sendThread].wake), Events: unix.POLLIN}
	for {
		now, end := s.clock.now(), s.until()
		if err := s.step(min(now, end)); err != nil {
			return err
		}
		if now >= end {
			return s.conclude()
		}
		wait := timeout(min(end, s.agenda.next(), s.starts.next()), s.clock.now())
		s.polled = append(s.polled[:0], wake)
		for _, i := range s.blocked {
			s.polled = append(s.polled, unix.PollFd{Fd: int32(s.sender[i].fd), Events: unix.POLLOUT})
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
		if err := s.resume(); err != nil {
			return err
		}
	}
}

// resume sends what waits of blocked flows whose sockets have room again, and returns those that have sent it all to
// the agenda.
func (s *sending) resume() error {
	now := s.clock.now()
	if now >= s.until() {
		return nil
	}
	blocked := s.blocked
	s.blocked = s.blocked[:0]
	for k, i := range blocked {
		if s.polled[1+k].Revents == 0 {
			s.blocked = append(s.blocked, i)
			continue
		}
		x := &s.sender[i]
		for k := range x.pending {
			d := &x.pending[k]
			s.headers[k] = d.header
			s.message(k, d.first, d.rest)
		}
		n := len(x.pending)
		x.pending = x.pending[:0]
		if err := s.transmit(i, n, now); err != nil {
			return err
		}
	}
	return nil
}

// wakeUp starts flows that have waited for others.
func (s *sending) wakeUp() error {
	s.woken(sendThread)
	s.more = s.released(sendThread, s.more)
	for _, i := range s.more {
		x := &s.sender[i]
		x.start = s.result.Flows[i].Start
		if f := &s.Flows[i]; f.Begin != nil {
			x.endpoint = f.Begin(x.start)
		}
	}
	return s.bind(s.more)
}

// step sends what is due.
func (s *sending) step(now unit.Time) error {
	if s.starts.next() <= now {
		if err := s.bind(s.starts.ready(now, s.Flows)); err != nil {
			return err
		}
		now = min(s.clock.now(), s.until())
	}
	for {
		next := s.agenda.next()
		if !s.marked && min(next, now) >= s.Warmup {
			s.mark()
		}
		if next > now || next >= s.until() {
			return nil
		}
		i, _ := s.agenda.take()
		if err := s.send(i, now); err != nil {
			return err
		}
		now = min(s.clock.now(), s.until())
	}
}

// send sends the datagrams of a flow that are due and come before those of others.
func (s *sending) send(i int, now unit.Time) error {
	f, x := &s.Flows[i], &s.sender[i]
	p := &s.packet
	last := min(now, s.agenda.next(), s.until()-1)
	if !s.marked {
		last = min(last, s.Warmup-1)
	}
	n, limit := 0, batch
	if x.held {
		limit = 2 // more would be counted as sent before the link takes them
	}
	for ; n < limit; n++ {
		at := x.endpoint.NextSend()
		if at > last && n > 0 || at == unit.Never {
			break
		}
		*p = packet.Packet{Flow: packet.FlowID(i), Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1), Sent: now}
		x.endpoint.Emit(now, p)
		if !x.held {
			s.late.add(now - at)
		}
		putHeader(s.headers[n][:], i, p.Seq, now)
		first := min(int(p.Payload), leastDatagram)
		if first < leastDatagram {
			s.tails[i].Store(int64(now))
		}
		s.message(n, first, int(p.Payload)-first)
	}
	return s.transmit(i, n, now)
}

// message makes message k one of so many bytes of header k and then of others.
func (s *sending) message(k, header, rest int) {
	s.iov[k][0].SetLen(header)
	s.iov[k][1].SetLen(rest)
	s.messages[k].SetIovlen(2)
}

// proceed enters when a flow sends next, all that it has emitted being sent, or closes its socket.
func (s *sending) proceed(i int, now unit.Time) error {
	f, x := &s.Flows[i], &s.sender[i]
	if next := x.endpoint.NextSend(); next != unit.Never {
		if x.held = x.held && next <= now; x.held {
			next = now // its own time has passed
		}
		s.agenda.add(next, i, send)
		return nil
	}
	unix.Close(x.fd)
	x.fd = -1
	if f.Size > 0 && x.endpoint.Counters().Finished != unit.Never {
		s.done(x.endpoint.Counters().Finished)
	}
	return nil
}

// transmit gives the first n messages to the kernel. If the flow's socket has no room the others wait, and the flow is
// blocked.
func (s *sending) transmit(i, n int, now unit.Time) error {
	tries := 0
	for k := 0; k < n; {
		sent, _, e := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(s.sender[i].fd), uintptr(unsafe.Pointer(&s.messages[k])),
			uintptr(n-k), 0, 0, 0)
		switch {
		case e == 0:
			k += int(sent)
		case e == unix.EINTR:
		case e == unix.EAGAIN:
			s.block(i, k, n)
			return nil
		case e == unix.ENOBUFS:
			s.unsent++
			k++
		case unreachable(e) && tries < 4: // what has become of those before: it does not matter
			tries++
		case unreachable(e):
			k++
		default:
			f := &s.Flows[i]
			return fmt.Errorf("flow %d, host %d: send from %v to %v: %w", i, f.Src, s.local(f), s.remote(f), explain(e))
		}
	}
	return s.proceed(i, now)
}

// block keeps messages from k to n until the flow's socket has room.
func (s *sending) block(i, k, n int) {
	x := &s.sender[i]
	for ; k < n; k++ {
		x.pending = append(x.pending, datagram{s.headers[k], int(s.iov[k][0].Len), int(s.iov[k][1].Len)})
	}
	x.held = true
	s.blocked = append(s.blocked, i)
}

// mark notes what was counted up to the warm-up's end.
func (s *sending) mark() {
	s.marked = true
	for _, i := range s.flows {
		if x := &s.sender[i]; x.endpoint != nil {
			x.first = *x.endpoint.Counters()
		}
	}
}

// conclude takes the last counters.
func (s *sending) conclude() error {
	if !s.marked {
		s.mark()
	}
	for _, i := range s.flows {
		x, out := &s.sender[i], &s.result.Flows[i]
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
	s.result.Late = s.late
	s.lock.Lock()
	s.result.Lost.Unsent += s.unsent
	s.lock.Unlock()
	return nil
}

func (s *sending) close() {
	for _, i := range s.flows {
		if fd := &s.sender[i].fd; *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
}
