package ring

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Config is the size of a socket's rings.
type Config struct {
	Interface string // in the calling thread's network namespace
	MaxFrame  int    // bytes of the largest frame, without FCS and VLAN tag
	Rx        int    // slots of the ring; a power of two, at least 8
	Tx        int    // frames that wait for Flush, at most; 1 to 1024
	// Tags puts the outer VLAN tag of frames, which the kernel takes out, back into them;
	// without it tagged frames are counted and passed over.
	Tags bool
	// Promiscuous takes in frames for all addresses for as long as the socket is open.
	Promiscuous bool
}

// SocketCounters are the counters of a socket since it was opened.
type SocketCounters struct {
	Received uint64 // frames that the kernel had for the ring
	Lost     uint64 // of these, frames for which the ring had no room
	TooLong  uint64 // frames longer than a slot, or than MaxFrame when they were to leave
	Partial  uint64 // frames that came without a checksum, for a card to fill in
	Tagged   uint64 // frames with a VLAN tag that were passed over
}

// Socket is a packet socket with its ring. It is not safe for concurrent use.
type Socket struct {
	fd     int
	memory []byte // the ring's
	slot   int    // bytes
	mask   uint32
	at     uint32 // slot that is next
	tags   bool
	counts SocketCounters

	room     int          // bytes of a frame that is to leave
	parts    []unix.Iovec // frames that are to leave, which stay where they are
	messages []message    // of which those from first to last are to be sent
	first    int
	last     int
}

// message is the kernel's struct mmsghdr.
type message struct {
	unix.Msghdr
	sent uint32 // bytes
}

// Places in a slot.
const (
	lengthAt  = 4
	snapLenAt = 8
	macAt     = 12
	secondsAt = 16
	nanosAt   = 20
	tagAt     = 24
	tagTypeAt = 26
	// inMost is where a frame that has come in begins at the latest: header, address, and
	// alignment of what follows the Ethernet header.
	inMost = 96
)

// Of frames that are to leave.
const (
	mostTx     = 1024 // in one system call (UIO_MAXIOV)
	sendBuffer = 4 << 20
)

// tagBytes is the length of a VLAN tag (IEEE 802.1Q §9.3), and addressBytes what stands
// before it.
const (
	tagBytes     = 4
	addressBytes = 12
	defaultTag   = 0x8100
)

// request is what the kernel is asked for: whole pages that hold whole slots.
func (c *Config) request() (*unix.TpacketReq, error) {
	if c.Rx < 8 || c.Tx < 1 || c.Rx&(c.Rx-1) != 0 || c.Tx > mostTx || c.MaxFrame < 60 || c.MaxFrame > 1<<16 {
		return nil, fmt.Errorf("%d and %d slots for frames of %d bytes", c.Rx, c.Tx, c.MaxFrame)
	}
	slot := 2048
	for slot < inMost+c.MaxFrame+tagBytes {
		slot *= 2
	}
	block := max(slot, 1<<16)
	per := block / slot
	blocks := (c.Rx + per - 1) / per
	return &unix.TpacketReq{Block_size: uint32(block), Block_nr: uint32(blocks), Frame_size: uint32(slot),
		Frame_nr: uint32(blocks * per)}, nil
}

func (c *Config) fail(what string, err error) (*Socket, error) {
	return nil, fmt.Errorf("packet socket at %s: %s: %w", c.Interface, what, err)
}

// Open opens a socket. What comes in from then on is in its ring.
func Open(c Config) (s *Socket, err error) {
	request, err := c.request()
	if err != nil {
		return c.fail("ring", err)
	}
	index, err := interfaceIndex(c.Interface)
	if err != nil {
		return c.fail("interface", err)
	}
	// Protocol 0 takes nothing in until bind says what is wanted.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err == unix.EAFNOSUPPORT {
		return c.fail("socket", fmt.Errorf("the kernel has no packet sockets (CONFIG_PACKET): %w", err))
	}
	if err != nil {
		return c.fail("socket", err)
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
			return c.fail(o.name, err)
		}
	}
	if err := unix.SetsockoptTpacketReq(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, request); err != nil {
		return c.fail("ring", err)
	}
	// What has left counts until it is received; without the right to more, Flush waits.
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendBuffer)
	if c.Promiscuous {
		m := &unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}
		if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, m); err != nil {
			return c.fail("promiscuous mode", err)
		}
	}
	if s, err = Attach(c, fd); err != nil {
		return nil, err
	}
	all := uint16(unix.ETH_P_ALL)
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all<<8 | all>>8, Ifindex: index}); err != nil {
		unix.Munmap(s.memory) // the descriptor is closed above
		return c.fail("bind", err)
	}
	return s, nil
}

// Attach makes a Socket of the descriptor of one that another process has opened with the
// same configuration, which must not use it any more. It needs no right.
func Attach(c Config, fd int) (*Socket, error) {
	request, err := c.request()
	if err != nil {
		return c.fail("ring", err)
	}
	s := &Socket{fd: fd, slot: int(request.Frame_size), mask: request.Frame_nr - 1, room: c.MaxFrame, tags: c.Tags}
	size := int(request.Block_nr * request.Block_size)
	if s.memory, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return c.fail("ring", err)
	}
	s.parts, s.messages = make([]unix.Iovec, c.Tx), make([]message, c.Tx)
	for i := range s.messages {
		s.messages[i].Iov = &s.parts[i]
		s.messages[i].SetIovlen(1)
	}
	return s, nil
}

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

// Close closes the socket.
func (s *Socket) Close() error {
	if s.memory != nil {
		unix.Munmap(s.memory)
		s.memory = nil
	}
	return unix.Close(s.fd)
}

// FD is the socket's file descriptor, to be polled: readable when a frame waits.
func (s *Socket) FD() int { return s.fd }

// place is the address of a byte of the slot that is next.
func (s *Socket) place(byte int) unsafe.Pointer {
	return unsafe.Pointer(&s.memory[int(s.at&s.mask)*s.slot+byte])
}

func (s *Socket) word(byte int) uint32 { return *(*uint32)(s.place(byte)) }

func (s *Socket) half(byte int) uint16 { return *(*uint16)(s.place(byte)) }

// Stamp is when the first frame that waits came in, by CLOCK_REALTIME in ns. Frames that
// no switch can take are counted and passed over.
func (s *Socket) Stamp() (ns int64, ok bool) {
	for {
		status := atomic.LoadUint32((*uint32)(s.place(0)))
		if status&unix.TP_STATUS_USER == 0 {
			return 0, false
		}
		switch {
		case status&unix.TP_STATUS_CSUMNOTREADY != 0:
			s.counts.Partial++
		case status&unix.TP_STATUS_VLAN_VALID != 0 && !s.tags:
			s.counts.Tagged++
		case s.word(lengthAt) != s.word(snapLenAt):
			s.counts.TooLong++
		default:
			return int64(s.word(secondsAt))*1e9 + int64(s.word(nanosAt)), true
		}
		s.release()
	}
}

// Take appends the first frame that waits, whose time Stamp has returned, to b and gives its
// slot back to the kernel.
func (s *Socket) Take(b []byte) []byte {
	n := int(s.word(snapLenAt))
	start := int(s.at&s.mask)*s.slot + int(s.half(macAt))
	if frame := s.memory[start : start+n]; s.tags && n >= addressBytes && s.word(0)&unix.TP_STATUS_VLAN_VALID != 0 {
		kind := uint16(defaultTag)
		if s.word(0)&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
			kind = s.half(tagTypeAt)
		}
		control := s.half(tagAt)
		b = append(b, frame[:addressBytes]...)
		b = append(b, byte(kind>>8), byte(kind), byte(control>>8), byte(control))
		b = append(b, frame[addressBytes:]...)
	} else {
		b = append(b, frame...)
	}
	s.release()
	return b
}

func (s *Socket) release() {
	atomic.StoreUint32((*uint32)(s.place(0)), unix.TP_STATUS_KERNEL)
	s.at++
}

// Put adds a frame to those that leave with the next Flush, from where it is: its bytes must stay
// as they are until Flush has returned no error, or Drop was called. It returns false if
// there is no room for it.
func (s *Socket) Put(frame []byte) bool {
	switch {
	case len(frame) > s.room && !s.tagged(frame):
		s.counts.TooLong++
		return true // it will never have room
	case s.last == len(s.messages):
		return false
	}
	part := &s.parts[s.last]
	part.Base = unsafe.SliceData(frame)
	part.SetLen(len(frame))
	s.last++
	return true
}

// tagged reports whether a frame above the room is so by its VLAN tag. The kernel allows for
// that of 802.1Q only.
func (s *Socket) tagged(frame []byte) bool {
	return s.tags && len(frame) <= s.room+tagBytes && frame[addressBytes] == defaultTag>>8 &&
		frame[addressBytes+1] == defaultTag&0xff
}

// Flush gives what was put to the kernel. With EAGAIN or ENOBUFS some of it stays until the
// next call. What the interface's MTU does not allow is counted and dropped.
func (s *Socket) Flush() error {
	for s.first < s.last {
		// Raw, since it does not block, and a batch is short: Go's scheduler need not know.
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

// Drop gives up what was put and has not left, and says how many frames that were.
func (s *Socket) Drop() int {
	n := s.last - s.first
	s.first, s.last = 0, 0
	return n
}

// Err is what went wrong with the socket since it was asked last: ENETDOWN if its
// interface was taken down.
func (s *Socket) Err() error {
	v, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && v != 0 {
		err = unix.Errno(v)
	}
	if err != nil {
		return os.NewSyscallError("packet socket", err)
	}
	return nil
}

// Counts returns what was counted so far. It is a system call.
func (s *Socket) Counts() (SocketCounters, error) {
	st, err := unix.GetsockoptTpacketStats(s.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return s.counts, os.NewSyscallError("PACKET_STATISTICS", err)
	}
	s.counts.Received += uint64(st.Packets) // the kernel begins at 0 after every look
	s.counts.Lost += uint64(st.Drops)
	return s.counts, nil
}
