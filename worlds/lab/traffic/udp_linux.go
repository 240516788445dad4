package traffic

import (
	"encoding/binary"
	"fmt"
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
	sendMemory    = 1 << 29 // what waits for the host's link has no bound, as in the simulator
	receiveMemory = 16 << 20
)

// setMemory sets the memory of a socket, above the system's limits if it may.
func setMemory(fd, force, usual, bytes int) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, bytes) != nil {
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, usual, bytes)
	}
}

// sender is one flow of UDP where it begins.
type sender struct {
	endpoint transport.Endpoint
	fd       int // −1: none
	first    transport.Counters
	start    unit.Time
}

// sending is the thread that sends the datagrams of all flows.
type sending struct {
	*run
	flows    []int
	sender   []sender // by flow
	starts   *starts
	agenda   agenda
	marked   bool
	late     Lateness
	unsent   uint64
	more     []int
	packet   packet.Packet
	due      [batch]unit.Time
	messages [batch]message
	iov      [batch][2]unix.Iovec
	headers  [batch][LeastDatagram]byte
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
	setMemory(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, sendMemory)
	if err := unix.Connect(fd, sockaddr(s.remote(f))); err != nil {
		unix.Close(fd)
		return fmt.Errorf("connect to %v: %w", s.remote(f), err)
	}
	s.sender[i].fd = fd
	s.agenda.add(s.sender[i].endpoint.NextSend(), i, send)
	return nil
}

func (s *sending) drive() error {
	fds := []unix.PollFd{{Fd: int32(s.begun[sendThread].wake), Events: unix.POLLIN}}
	for {
		now, end := s.clock.now(), s.until()
		if err := s.step(min(now, end)); err != nil {
			return err
		}
		if now >= end {
			return s.conclude()
		}
		wait := timeout(min(end, s.agenda.next(), s.starts.next()), s.clock.now())
		n, err := unix.Ppoll(fds, &wait, nil)
		if err != nil && err != unix.EINTR {
			return os.NewSyscallError("ppoll", err)
		}
		if n > 0 {
			if err := s.wakeUp(); err != nil {
				return err
			}
		}
	}
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
	n := 0
	for ; n < batch; n++ {
		at := x.endpoint.NextSend()
		if at > last && n > 0 || at == unit.Never {
			break
		}
		*p = packet.Packet{Flow: packet.FlowID(i), Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1), Sent: now}
		x.endpoint.Emit(now, p)
		s.due[n] = at
		putHeader(s.headers[n][:], i, p.Seq, now)
		first := min(int(p.Payload), LeastDatagram)
		if first < LeastDatagram {
			s.tails[i].Store(int64(now))
		}
		s.iov[n][0].SetLen(first)
		s.iov[n][1].SetLen(int(p.Payload) - first)
		s.messages[n].SetIovlen(2)
	}
	if err := s.transmit(i, n, now); err != nil {
		return err
	}
	if next := x.endpoint.NextSend(); next != unit.Never {
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

// transmit gives the first n messages to the kernel.
func (s *sending) transmit(i, n int, now unit.Time) error {
	for _, at := range s.due[:n] {
		s.late.add(now - at)
	}
	tries := 0
	for k := 0; k < n; {
		sent, _, e := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(s.sender[i].fd), uintptr(unsafe.Pointer(&s.messages[k])),
			uintptr(n-k), 0, 0, 0)
		switch {
		case e == 0:
			k += int(sent)
		case e == unix.EINTR:
		case e == unix.EAGAIN || e == unix.ENOBUFS:
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
	return nil
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
