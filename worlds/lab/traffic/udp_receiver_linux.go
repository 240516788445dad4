package traffic

import (
	"fmt"
	"net/netip"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// receiver is one flow of UDP where it ends.
type receiver struct {
	counters *transport.Counters
	delays   *unit.Histogram // as it was given: it begins at the warm-up's end
	first    transport.Counters
	marked   bool
	arrived  bool
	due      unit.Time // when it is to be looked at
	periods  []period
}

// receiving is the thread that receives the datagrams of all flows. It takes what comes by
// the stamps of the kernel, so that it need not hurry.
type receiving struct {
	*run
	flows    []int
	receiver []receiver // by flow
	sockets  []inbox
	pause    unit.Time // between looks at the sockets
	unread   uint64
	strays   uint64
	packet   packet.Packet
	messages [batch]message
	iov      [batch]unix.Iovec
	headers  [batch][leastDatagram]byte
	control  [batch][64]byte
	names    [batch]unix.RawSockaddrInet6
}

// inbox is the socket of a server.
type inbox struct {
	fd    int
	node  int
	at    netip.AddrPort
	drops uint64 // before anything came
}

// While datagrams come, they are taken so often; what has a stamp older than settled is
// out of the kernel then.
const (
	pause   = unit.Millisecond
	settled = 2 * unit.Millisecond
)

func newReceiving(r *run, flows []int) *receiving {
	s := &receiving{run: r, flows: flows, receiver: make([]receiver, len(r.Flows)), pause: pause}
	for _, i := range flows {
		c := r.Flows[i].UDPReceiver.Counters()
		s.receiver[i] = receiver{counters: c, delays: c.Delays, due: r.Warmup,
			periods: r.Config.periods(func(s *Sample) bool { return s.Flow == i })}
		c.Delays = nil
		if len(r.waiting[i]) > 0 {
			s.pause = 0
		}
	}
	for k := range s.messages {
		m := &s.messages[k]
		m.Name = (*byte)(unsafe.Pointer(&s.names[k]))
		s.iov[k].Base = &s.headers[k][0]
		s.iov[k].SetLen(leastDatagram)
		m.Iov = &s.iov[k]
		m.SetIovlen(1)
		m.Control = &s.control[k][0]
	}
	return s
}

// prepare opens the sockets of all servers.
func (s *receiving) prepare() error {
	type server struct {
		node int
		at   netip.AddrPort
	}
	servers := map[server]bool{}
	for _, i := range s.flows {
		f := &s.Flows[i]
		who := server{f.Dst, s.remote(f)}
		if servers[who] {
			continue
		}
		servers[who] = true
		err := s.in(f.Dst, i, func() error {
			fd, err := socket(unix.SOCK_DGRAM, who.at, append([]option{{"SO_TIMESTAMPNS", unix.SOL_SOCKET, unix.SO_TIMESTAMPNS,
				1}}, shared[0])...)
			if err != nil {
				return err
			}
			setMemory(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, receiveMemory)
			s.sockets = append(s.sockets, inbox{fd, f.Dst, who.at, drops(fd)})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *receiving) drive() error {
	fds := []unix.PollFd{{Fd: int32(s.begun[receiveThread].wake), Events: unix.POLLIN}}
	for _, b := range s.sockets {
		fds = append(fds, unix.PollFd{Fd: int32(b.fd), Events: unix.POLLIN})
	}
	for {
		now := s.clock.now()
		ahead := s.clock.ahead()
		for k := range s.sockets {
			if err := s.drain(&s.sockets[k], ahead); err != nil {
				return err
			}
		}
		end := s.until()
		known := min(now-settled, end)
		next := unit.Never
		for _, i := range s.flows {
			s.settle(i, known)
			next = min(next, s.receiver[i].due)
		}
		if now-settled >= end {
			return s.conclude()
		}
		wait := timeout(min(next, end)+settled, s.clock.now())
		n, err := unix.Ppoll(fds, &wait, nil)
		if n > 0 && s.pause > 0 {
			wait = timeout(s.pause, 0)
			_, err = unix.Ppoll(fds[:1], &wait, nil)
		}
		if err != nil && err != unix.EINTR {
			return os.NewSyscallError("ppoll", err)
		}
		if n > 0 {
			s.woken(receiveThread)
		}
	}
}

// drain takes the datagrams of a socket, all but of a flood.
func (s *receiving) drain(b *inbox, ahead int64) error {
	for range 256 {
		for k := range s.messages {
			m := &s.messages[k]
			m.Namelen = uint32(unsafe.Sizeof(s.names[k]))
			m.SetControllen(len(s.control[k]))
		}
		n, _, e := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(b.fd), uintptr(unsafe.Pointer(&s.messages[0])), batch,
			unix.MSG_DONTWAIT|unix.MSG_TRUNC, 0, 0)
		switch {
		case e == unix.EAGAIN:
			return nil
		case e == unix.EINTR || unreachable(e):
			continue
		case e != 0:
			return fmt.Errorf("host %d: receive at %v: %w", b.node, b.at, e)
		}
		for k := range int(n) {
			s.take(b, k, ahead)
		}
		if n < batch {
			return nil
		}
	}
	return nil
}

// take gives message k to its flow's receiver.
func (s *receiving) take(b *inbox, k int, ahead int64) {
	flow, seq, sent := header(s.headers[k][:])
	length := int(s.messages[k].n)
	if length < leastDatagram { // a flow's last one
		for _, i := range s.flows {
			if f := &s.Flows[i]; f.Size > 0 && int(f.Size%unit.Bytes(f.Payload)) == length && s.from(b, k, i) {
				s.receive(i, int64(f.Size/unit.Bytes(f.Payload)), unit.Time(s.tails[i].Load()), length, s.stamp(k, ahead))
				return
			}
		}
	} else if flow < len(s.Flows) && s.from(b, k, flow) {
		s.receive(flow, seq, sent, length, s.stamp(k, ahead))
		return
	}
	s.strays++
}

// from reports whether message k is of a flow.
func (s *receiving) from(b *inbox, k, flow int) bool {
	f := &s.Flows[flow]
	return f.TCP == nil && f.Dst == b.node && s.remote(f) == b.at && s.port(k) == f.SrcPort
}

// receive gives a flow's receiver a datagram.
func (s *receiving) receive(flow int, seq int64, sent unit.Time, length int, at unit.Time) {
	f, x := &s.Flows[flow], &s.receiver[flow]
	end := s.until()
	if at >= x.due {
		s.settle(flow, min(at, end))
	}
	if at >= end {
		return
	}
	p := &s.packet
	*p = packet.Packet{Kind: packet.Data, Flow: packet.FlowID(flow), Src: packet.Addr(f.Src + 1),
		Dst:     packet.Addr(f.Dst + 1),
		SrcPort: f.SrcPort, DstPort: f.DstPort, Proto: packet.ProtoUDP, Version: f.Version, TOS: f.TOS,
		Seq: seq, Payload: int32(length), Sent: sent}
	f.UDPReceiver.Receive(at, p)
	if f.Size > 0 && !x.arrived && x.counters.ReceivedBytes >= f.Size {
		x.arrived = true
		s.run.arrived(flow, x.counters.Finished)
	}
}

// settle looks at a flow as far as that is due, when all that came before is counted.
func (s *receiving) settle(flow int, until unit.Time) {
	x := &s.receiver[flow]
	for x.due <= until {
		at := x.due
		if !x.marked && at == s.Warmup {
			s.mark(x)
		}
		x.due = unit.Never
		if !x.marked {
			x.due = s.Warmup
		}
		for k := range x.periods {
			p := &x.periods[k]
			if p.next == at {
				p.next += p.every
				for _, i := range p.samples {
					if s.Samples[i].What == ReceivedBytes {
						s.result.Sampled[i] = append(s.result.Sampled[i], int64(x.counters.ReceivedBytes))
					} else if at < s.until() || at == s.Warmup {
						s.result.Sampled[i] = append(s.result.Sampled[i], -1)
					}
				}
			}
			x.due = min(x.due, p.next)
		}
	}
}

// mark notes what was counted up to the warm-up's end. What is no difference of two counts
// begins anew.
func (s *receiving) mark(x *receiver) {
	x.marked = true
	x.first = *x.counters
	x.counters.DelayMin, x.counters.DelayMax, x.counters.Delays = unit.Never, 0, x.delays
}

// conclude takes the last counters.
func (s *receiving) conclude() error {
	for _, i := range s.flows {
		x, out := &s.receiver[i], &s.result.Flows[i]
		if !x.marked {
			s.mark(x)
		}
		out.Receiver, out.Received = x.counters.Since(&x.first), x.counters.ReceivedBytes
	}
	for _, b := range s.sockets {
		s.unread += drops(b.fd) - b.drops
	}
	s.lock.Lock()
	s.result.Lost.Unread += s.unread
	s.result.Lost.Strays += s.strays
	s.lock.Unlock()
	return nil
}

func (s *receiving) close() {
	for _, b := range s.sockets {
		unix.Close(b.fd)
	}
	for _, i := range s.flows {
		s.receiver[i].counters.Delays = s.receiver[i].delays
	}
}

// port is that from which message k came.
func (s *receiving) port(k int) uint16 {
	b := (*[2]byte)(unsafe.Pointer(&s.names[k].Port)) // at the same place in both families
	return uint16(b[0])<<8 | uint16(b[1])
}

// stamp is when the kernel received message k.
func (s *receiving) stamp(k int, ahead int64) unit.Time {
	b := s.control[k][:]
	if n := int(s.messages[k].Controllen); n >= unix.CmsgLen(int(unsafe.Sizeof(unix.Timespec{}))) {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
		if h.Level == unix.SOL_SOCKET && h.Type == unix.SO_TIMESTAMPNS {
			t := (*unix.Timespec)(unsafe.Pointer(&b[unix.CmsgLen(0)]))
			return s.clock.event(t.Nano(), ahead)
		}
	}
	return s.clock.now()
}
