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

// udpReceiver is the receiving end of a UDP flow.
type udpReceiver struct {
	counters *transport.Counters
	delays   *unit.Histogram // the endpoint's histogram; used from the warm-up's end
	first    transport.Counters
	marked   bool
	arrived  bool
	due      unit.Time // time of the next observation
	periods  []period
}

// udpReceivers is the thread that receives the datagrams of all flows. It uses the kernel's arrival stamps, so it
// may be late.
type udpReceivers struct {
	*run
	flows     []int
	receivers []udpReceiver // by flow
	sockets   []serverSocket
	pause     unit.Time // between reads of the sockets
	unread    uint64
	strays    uint64
	packet    packet.Packet
	messages  [batchSize]message
	iov       [batchSize]unix.Iovec
	headers   [batchSize][minDatagram]byte
	control   [batchSize][64]byte
	names     [batchSize]unix.RawSockaddrInet6
}

// serverSocket is the socket of a server.
type serverSocket struct {
	fd    int
	node  int
	addr  netip.AddrPort
	drops uint64 // counted before the start
}

// pollPause is the time between reads while datagrams arrive. After settleTime the kernel has delivered all
// datagrams with an earlier stamp.
const (
	pollPause  = unit.Millisecond
	settleTime = 2 * unit.Millisecond
)

// newUDPReceivers returns the thread for the given flows, without sockets. It takes the histograms of their endpoints
// until close. If other flows wait for one of them, it reads without pauses.
func newUDPReceivers(r *run, flows []int) *udpReceivers {
	s := &udpReceivers{run: r, flows: flows, receivers: make([]udpReceiver, len(r.Flows)), pause: pollPause}
	for _, i := range flows {
		c := r.Flows[i].UDPReceiver.Counters()
		s.receivers[i] = udpReceiver{counters: c, delays: c.Delays, due: r.Warmup,
			periods: r.Config.samplePeriods(func(s *Sample) bool { return s.Flow == i })}
		c.Delays = nil
		if len(r.waiting[i]) > 0 {
			s.pause = 0
		}
	}
	for k := range s.messages {
		m := &s.messages[k]
		m.Name = (*byte)(unsafe.Pointer(&s.names[k]))
		s.iov[k].Base = &s.headers[k][0]
		s.iov[k].SetLen(minDatagram)
		m.Iov = &s.iov[k]
		m.SetIovlen(1)
		m.Control = &s.control[k][0]
	}
	return s
}

// prepare opens the sockets of all servers, one for each address, in their namespaces. The caller closes them, also
// after an error.
func (s *udpReceivers) prepare() error {
	type server struct {
		node int
		addr netip.AddrPort
	}
	servers := map[server]bool{}
	for _, i := range s.flows {
		f := &s.Flows[i]
		key := server{f.Dst, s.remoteAddr(f)}
		if servers[key] {
			continue
		}
		servers[key] = true
		err := s.doForFlow(f.Dst, i, func() error {
			fd, err := openSocket(unix.SOCK_DGRAM, key.addr, append([]socketOption{{"SO_TIMESTAMPNS", unix.SOL_SOCKET,
				unix.SO_TIMESTAMPNS, 1}}, sharedPortOptions[0])...)
			if err != nil {
				return err
			}
			setMemory(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, receiveMemory)
			s.sockets = append(s.sockets, serverSocket{fd, f.Dst, key.addr, countDrops(fd)})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// drive receives datagrams until the end of the run has passed by settleTime, and saves the counters (conclude).
func (s *udpReceivers) drive() error {
	fds := []unix.PollFd{{Fd: int32(s.begun[receiveThread].wake), Events: unix.POLLIN}}
	for _, b := range s.sockets {
		fds = append(fds, unix.PollFd{Fd: int32(b.fd), Events: unix.POLLIN})
	}
	for {
		now := s.clock.now()
		atBase := s.clock.realtimeAtBase()
		for k := range s.sockets {
			if err := s.drainSocket(&s.sockets[k], atBase); err != nil {
				return err
			}
		}
		end := s.endTime()
		completeUntil := min(now-settleTime, end)
		next := unit.Never
		for _, i := range s.flows {
			s.observeFlow(i, completeUntil)
			next = min(next, s.receivers[i].due)
		}
		if now-settleTime >= end {
			return s.conclude()
		}
		wait := timeUntil(min(next, end)+settleTime, s.clock.now())
		n, err := unix.Ppoll(fds, &wait, nil)
		if n > 0 && s.pause > 0 {
			wait = timeUntil(s.pause, 0)
			_, err = unix.Ppoll(fds[:1], &wait, nil)
		}
		if err != nil && err != unix.EINTR {
			return os.NewSyscallError("ppoll", err)
		}
		if n > 0 {
			s.clearWake(receiveThread)
		}
	}
}

// drainSocket reads the waiting datagrams of a socket, at most 256 batches. atBase is the result of
// realtimeAtBase.
func (s *udpReceivers) drainSocket(b *serverSocket, atBase int64) error {
	for range 256 {
		for k := range s.messages {
			m := &s.messages[k]
			m.Namelen = uint32(unsafe.Sizeof(s.names[k]))
			m.SetControllen(len(s.control[k]))
		}
		n, _, e := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(b.fd), uintptr(unsafe.Pointer(&s.messages[0])), batchSize,
			unix.MSG_DONTWAIT|unix.MSG_TRUNC, 0, 0)
		switch {
		case e == unix.EAGAIN:
			return nil
		case e == unix.EINTR || isPathError(e):
			continue
		case e != 0:
			return fmt.Errorf("host %d: receive at %v: %w", b.node, b.addr, e)
		}
		for k := range int(n) {
			s.takeMessage(b, k, atBase)
		}
		if n < batchSize {
			return nil
		}
	}
	return nil
}

// takeMessage passes message k of socket b to its flow's receiver, or counts it as a stray. A datagram that is too
// short for a header is a flow's last one, found by its length and port.
func (s *udpReceivers) takeMessage(b *serverSocket, k int, atBase int64) {
	flow, seq, sent := parseHeader(s.headers[k][:])
	length := int(s.messages[k].n)
	if length < minDatagram { // the last one of a flow
		for _, i := range s.flows {
			if f := &s.Flows[i]; f.Size > 0 && int(f.Size%unit.Bytes(f.Payload)) == length && s.isFromFlow(b, k, i) {
				s.receiveDatagram(i, int64(f.Size/unit.Bytes(f.Payload)), unit.Time(s.tails[i].Load()), length,
					s.receiveTime(k, atBase))
				return
			}
		}
	} else if flow < len(s.Flows) && s.isFromFlow(b, k, flow) {
		s.receiveDatagram(flow, seq, sent, length, s.receiveTime(k, atBase))
		return
	}
	s.strays++
}

// isFromFlow reports whether message k of socket b belongs to a UDP flow, by its destination and its source port.
func (s *udpReceivers) isFromFlow(b *serverSocket, k, flow int) bool {
	f := &s.Flows[flow]
	return f.TCP == nil && f.Dst == b.node && s.remoteAddr(f) == b.addr && s.sourcePort(k) == f.SrcPort
}

// receiveDatagram passes a datagram of length bytes that arrived at time arrival to a flow's receiver, after the
// observations that are due before. Datagrams after the end of the run do not count. It releases the flow's successors
// when all its data has arrived.
func (s *udpReceivers) receiveDatagram(flow int, seq int64, sent unit.Time, length int, arrival unit.Time) {
	f, x := &s.Flows[flow], &s.receivers[flow]
	end := s.endTime()
	if arrival >= x.due {
		s.observeFlow(flow, min(arrival, end))
	}
	if arrival >= end {
		return
	}
	p := &s.packet
	*p = packet.Packet{Kind: packet.Data, Flow: packet.FlowID(flow), Src: packet.Addr(f.Src + 1),
		Dst:     packet.Addr(f.Dst + 1),
		SrcPort: f.SrcPort, DstPort: f.DstPort, Proto: packet.ProtoUDP, Version: f.Version, TOS: f.TOS,
		Seq: seq, Payload: int32(length), Sent: sent}
	f.UDPReceiver.Receive(arrival, p)
	if f.Size > 0 && !x.arrived && x.counters.ReceivedBytes >= f.Size {
		x.arrived = true
		s.run.markArrived(flow, x.counters.Finished)
	}
}

// observeFlow makes the observations of a flow due until a time, when all earlier datagrams are counted: the counters
// at the warm-up's end, and samples.
func (s *udpReceivers) observeFlow(flow int, until unit.Time) {
	x := &s.receivers[flow]
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
					if s.Samples[i].Quantity == ReceivedBytes {
						s.result.Sampled[i] = append(s.result.Sampled[i], int64(x.counters.ReceivedBytes))
					} else if at < s.endTime() || at == s.Warmup {
						s.result.Sampled[i] = append(s.result.Sampled[i], -1)
					}
				}
			}
			x.due = min(x.due, p.next)
		}
	}
}

// mark saves the counters at the warm-up's end and resets those without a difference.
func (s *udpReceivers) mark(x *udpReceiver) {
	x.marked = true
	x.first = *x.counters
	x.counters.DelayMin, x.counters.DelayMax, x.counters.Delays = unit.Never, 0, x.delays
}

// conclude saves the differences of counters since the warm-up's end and the losses in the result.
func (s *udpReceivers) conclude() error {
	for _, i := range s.flows {
		x, out := &s.receivers[i], &s.result.Flows[i]
		if !x.marked {
			s.mark(x)
		}
		out.Receiver, out.Received = x.counters.Since(&x.first), x.counters.ReceivedBytes
	}
	for _, b := range s.sockets {
		s.unread += countDrops(b.fd) - b.drops
	}
	s.lock.Lock()
	s.result.Lost.Unread += s.unread
	s.result.Lost.Strays += s.strays
	s.lock.Unlock()
	return nil
}

// close closes all sockets and returns the histograms to their endpoints.
func (s *udpReceivers) close() {
	for _, b := range s.sockets {
		unix.Close(b.fd)
	}
	for _, i := range s.flows {
		s.receivers[i].counters.Delays = s.receivers[i].delays
	}
}

// sourcePort returns the source port of message k.
func (s *udpReceivers) sourcePort(k int) uint16 {
	b := (*[2]byte)(unsafe.Pointer(&s.names[k].Port)) // at the same offset in both families
	return uint16(b[0])<<8 | uint16(b[1])
}

// receiveTime returns the experiment's time at which the kernel received message k, by the clock if it has no stamp.
// atBase is the result of realtimeAtBase.
func (s *udpReceivers) receiveTime(k int, atBase int64) unit.Time {
	b := s.control[k][:]
	if n := int(s.messages[k].Controllen); n >= unix.CmsgLen(int(unsafe.Sizeof(unix.Timespec{}))) {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
		if h.Level == unix.SOL_SOCKET && h.Type == unix.SO_TIMESTAMPNS {
			t := (*unix.Timespec)(unsafe.Pointer(&b[unix.CmsgLen(0)]))
			return s.clock.toRunTime(t.Nano(), atBase)
		}
	}
	return s.clock.now()
}
