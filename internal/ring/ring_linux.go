package ring

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Config is the configuration of a socket and its rings.
type Config struct {
	Interface string // in the calling thread's network namespace
	MaxFrame  int    // bytes of the largest frame, without FCS and VLAN tag
	Rx        int    // slots of the ring; a power of two, at least 8
	Tx        int    // limit of frames that wait for Flush; 1 to 1024
	// Tags restores the outer VLAN tag of frames, which the kernel removes. Without it, tagged frames are counted and
	// skipped.
	Tags bool
	// Promiscuous accepts frames to all addresses while the socket is open.
	Promiscuous bool
}

// SocketCounters are the counters of a socket since it was opened.
type SocketCounters struct {
	Received uint64 // frames that the kernel had for the ring
	Lost     uint64 // of these, frames that found the ring full
	TooLong  uint64 // frames longer than a slot, or longer than MaxFrame on sending
	Partial  uint64 // frames without a checksum, for a NIC to fill in
	Tagged   uint64 // skipped frames with a VLAN tag
}

// Socket is a packet socket with its ring. It is not safe for concurrent use.
type Socket struct {
	fd     int
	memory []byte // mapped memory of the ring
	slot   int    // bytes
	mask   uint32
	next   uint32 // next slot
	tags   bool
	counts SocketCounters

	maxFrame int          // bytes of the longest frame to send
	parts    []unix.Iovec // frames to send, which stay in the caller's memory
	messages []message    // messages from first to last wait for Flush
	first    int
	last     int
}

// message is the kernel's struct mmsghdr.
type message struct {
	unix.Msghdr
	sent uint32 // bytes
}

// Offsets in a slot.
const (
	lengthAt  = 4
	snapLenAt = 8
	macAt     = 12
	secondsAt = 16
	nanosAt   = 20
	tagAt     = 24
	tagTypeAt = 26
	// maxStart is the largest offset of a received frame in its slot: header, address, and the alignment of the data
	// after the Ethernet header.
	maxStart = 96
)

// Limits of sending.
const (
	maxTx      = 1024 // messages of one system call (UIO_MAXIOV)
	sendBuffer = 4 << 20
)

// tagBytes is the length of a VLAN tag (IEEE 802.1Q §9.3), and addressBytes is its offset in a frame.
const (
	tagBytes     = 4
	addressBytes = 12
	defaultTag   = 0x8100
)

// newRequest returns the kernel's request for a ring: whole pages that hold whole slots. It returns an error for
// sizes out of range.
func (c *Config) newRequest() (*unix.TpacketReq, error) {
	if c.Rx < 8 || c.Tx < 1 || c.Rx&(c.Rx-1) != 0 || c.Tx > maxTx || c.MaxFrame < 60 || c.MaxFrame > 1<<16 {
		return nil, fmt.Errorf("%d and %d slots for frames of %d bytes", c.Rx, c.Tx, c.MaxFrame)
	}
	slot := 2048
	for slot < maxStart+c.MaxFrame+tagBytes {
		slot *= 2
	}
	block := max(slot, 1<<16)
	per := block / slot
	blocks := (c.Rx + per - 1) / per
	return &unix.TpacketReq{Block_size: uint32(block), Block_nr: uint32(blocks), Frame_size: uint32(slot),
		Frame_nr: uint32(blocks * per)}, nil
}

// socketError returns a nil socket and an error of the given step on the interface.
func (c *Config) socketError(step string, err error) (*Socket, error) {
	return nil, fmt.Errorf("packet socket at %s: %s: %w", c.Interface, step, err)
}

// Open opens a socket in the calling thread's network namespace. Frames that arrive from then on are in its ring. It
// needs CAP_NET_RAW. The caller calls Close.
func Open(c Config) (s *Socket, err error) {
	request, err := c.newRequest()
	if err != nil {
		return c.socketError("ring", err)
	}
	index, err := interfaceIndex(c.Interface)
	if err != nil {
		return c.socketError("interface", err)
	}
	// With protocol 0, the socket receives no frame before bind sets the protocol.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err == unix.EAFNOSUPPORT {
		return c.socketError("socket", fmt.Errorf("the kernel has no packet sockets (CONFIG_PACKET): %w", err))
	}
	if err != nil {
		return c.socketError("socket", err)
	}
	defer func() {
		if err != nil && s == nil {
			unix.Close(fd)
		}
	}()
	for _, o := range []struct {
		name  string
		n     int
		value int
	}{
		{"TPACKET_V2", unix.PACKET_VERSION, unix.TPACKET_V2},
		{"PACKET_IGNORE_OUTGOING", unix.PACKET_IGNORE_OUTGOING, 1},
		{"PACKET_QDISC_BYPASS", unix.PACKET_QDISC_BYPASS, 1},
	} {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, o.n, o.value); err != nil {
			return c.socketError(o.name, err)
		}
	}
	if err := unix.SetsockoptTpacketReq(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, request); err != nil {
		return c.socketError("ring", err)
	}
	// Sent frames occupy the buffer until they are received. Without the right to a larger buffer, Flush has to wait.
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendBuffer)
	if c.Promiscuous {
		m := &unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}
		if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, m); err != nil {
			return c.socketError("promiscuous mode", err)
		}
	}
	if s, err = Attach(c, fd); err != nil {
		return nil, err
	}
	all := uint16(unix.ETH_P_ALL)
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all<<8 | all>>8, Ifindex: index}); err != nil {
		unix.Munmap(s.memory) // the descriptor is closed above
		return c.socketError("bind", err)
	}
	return s, nil
}

// Attach returns a Socket for the descriptor of a socket that another process has opened with the same configuration.
// The other process must not use it afterwards. Attach needs no privilege. After an error the descriptor stays open.
func Attach(c Config, fd int) (*Socket, error) {
	request, err := c.newRequest()
	if err != nil {
		return c.socketError("ring", err)
	}
	s := &Socket{fd: fd, slot: int(request.Frame_size), mask: request.Frame_nr - 1, maxFrame: c.MaxFrame, tags: c.Tags}
	size := int(request.Block_nr * request.Block_size)
	if s.memory, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return c.socketError("ring", err)
	}
	s.parts, s.messages = make([]unix.Iovec, c.Tx), make([]message, c.Tx)
	for i := range s.messages {
		s.messages[i].Iov = &s.parts[i]
		s.messages[i].SetIovlen(1)
	}
	return s, nil
}

// interfaceIndex returns the index of a network interface.
func interfaceIndex(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, r); err != nil {
		return 0, err
	}
	return int(r.Uint32()), nil
}

// Close closes the socket and unmaps its ring.
func (s *Socket) Close() error {
	if s.memory != nil {
		unix.Munmap(s.memory)
		s.memory = nil
	}
	return unix.Close(s.fd)
}

// FD returns the socket's file descriptor for polling: it is readable when a frame waits.
func (s *Socket) FD() int { return s.fd }

// slotAddress returns the address of a byte of the next slot.
func (s *Socket) slotAddress(offset int) unsafe.Pointer {
	return unsafe.Pointer(&s.memory[int(s.next&s.mask)*s.slot+offset])
}

// loadWord returns the 32-bit word at an offset of the next slot.
func (s *Socket) loadWord(offset int) uint32 { return *(*uint32)(s.slotAddress(offset)) }

// loadHalf returns the 16-bit word at an offset of the next slot.
func (s *Socket) loadHalf(offset int) uint16 { return *(*uint16)(s.slotAddress(offset)) }

// NextArrival returns the arrival time of the first waiting frame by CLOCK_REALTIME in ns, or false without one. It
// counts and skips frames that a switch cannot forward.
func (s *Socket) NextArrival() (ns int64, ok bool) {
	for {
		status := atomic.LoadUint32((*uint32)(s.slotAddress(0)))
		if status&unix.TP_STATUS_USER == 0 {
			return 0, false
		}
		switch {
		case status&unix.TP_STATUS_CSUMNOTREADY != 0:
			s.counts.Partial++
		case status&unix.TP_STATUS_VLAN_VALID != 0 && !s.tags:
			s.counts.Tagged++
		case s.loadWord(lengthAt) != s.loadWord(snapLenAt):
			s.counts.TooLong++
		default:
			return int64(s.loadWord(secondsAt))*1e9 + int64(s.loadWord(nanosAt)), true
		}
		s.releaseSlot()
	}
}

// Take appends the frame that NextArrival has found to b, with its outer VLAN tag if Config.Tags, and returns its slot
// to the kernel. NextArrival must have found one since the last Take.
func (s *Socket) Take(b []byte) []byte {
	n := int(s.loadWord(snapLenAt))
	start := int(s.next&s.mask)*s.slot + int(s.loadHalf(macAt))
	if frame := s.memory[start : start+n]; s.tags && n >= addressBytes && s.loadWord(0)&unix.TP_STATUS_VLAN_VALID != 0 {
		kind := uint16(defaultTag)
		if s.loadWord(0)&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
			kind = s.loadHalf(tagTypeAt)
		}
		control := s.loadHalf(tagAt)
		b = append(b, frame[:addressBytes]...)
		b = append(b, byte(kind>>8), byte(kind), byte(control>>8), byte(control))
		b = append(b, frame[addressBytes:]...)
	} else {
		b = append(b, frame...)
	}
	s.releaseSlot()
	return b
}

// releaseSlot returns the next slot to the kernel and advances.
func (s *Socket) releaseSlot() {
	atomic.StoreUint32((*uint32)(s.slotAddress(0)), unix.TP_STATUS_KERNEL)
	s.next++
}

// Put queues a frame for the next Flush without a copy: its bytes must not change until Flush has returned no error
// or Drop was called. It returns false if the queue is full. It counts and drops a frame that is too long.
func (s *Socket) Put(frame []byte) bool {
	switch {
	case len(frame) > s.maxFrame && !s.fitsTagged(frame):
		s.counts.TooLong++
		return true // the frame never fits
	case s.last == len(s.messages):
		return false
	}
	part := &s.parts[s.last]
	part.Base = unsafe.SliceData(frame)
	part.SetLen(len(frame))
	s.last++
	return true
}

// fitsTagged reports whether a frame above the limit fits without its VLAN tag. The kernel allows this for 802.1Q
// tags only.
func (s *Socket) fitsTagged(frame []byte) bool {
	return s.tags && len(frame) <= s.maxFrame+tagBytes && frame[addressBytes] == defaultTag>>8 &&
		frame[addressBytes+1] == defaultTag&0xff
}

// Flush sends the queued frames. After an error, such as EAGAIN or ENOBUFS, the rest stays queued for the next call. It
// counts and drops frames above the interface's MTU.
func (s *Socket) Flush() error {
	for s.first < s.last {
		// A raw system call: it does not block and is short, so Go's scheduler need not be involved.
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&s.messages[s.first])),
			uintptr(s.last-s.first), unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			s.first += int(n)
		case unix.EMSGSIZE:
			s.counts.TooLong++
			s.first++
		case unix.EINTR:
		default:
			return errno
		}
	}
	s.first, s.last = 0, 0
	return nil
}

// Drop removes the queued frames and returns their number.
func (s *Socket) Drop() int {
	n := s.last - s.first
	s.first, s.last = 0, 0
	return n
}

// TakeError returns the socket's error since the last call, or nil: ENETDOWN if its interface was taken down.
func (s *Socket) TakeError() error {
	v, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && v != 0 {
		err = unix.Errno(v)
	}
	if err != nil {
		return os.NewSyscallError("packet socket", err)
	}
	return nil
}

// Counts returns the counters since Open; after an error they may be out of date. It makes a system call.
func (s *Socket) Counts() (SocketCounters, error) {
	st, err := unix.GetsockoptTpacketStats(s.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return s.counts, os.NewSyscallError("PACKET_STATISTICS", err)
	}
	s.counts.Received += uint64(st.Packets) // the kernel restarts at 0 after each call
	s.counts.Lost += uint64(st.Drops)
	return s.counts, nil
}
