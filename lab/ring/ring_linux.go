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
	Rx, Tx    int    // slots; powers of two, at least 8
	// Tags puts the outer VLAN tag of frames, which the kernel takes out, back into them;
	// without it tagged frames are counted and passed over.
	Tags bool
	// Promiscuous takes in frames for all addresses for as long as the socket is open.
	Promiscuous bool
}

// Counts is what a socket has counted since it was opened.
type Counts struct {
	Received uint64 // frames that the kernel had for the ring
	Lost     uint64 // of these, frames for which the ring had no room
	TooLong  uint64 // frames longer than a slot, or than MaxFrame when they were to leave
	Partial  uint64 // frames that came without a checksum, for a card to fill in
	Tagged   uint64 // frames with a VLAN tag that were passed over
}

// Socket is a packet socket with its rings. It is not safe for concurrent use.
type Socket struct {
	fd     int
	memory []byte
	slot   int // bytes
	room   int // bytes of a frame in a slot that is to leave
	tags   bool
	rx, tx half
	counts Counts
}

// half is one of the rings.
type half struct {
	start int // in memory
	mask  uint32
	at    uint32 // slot that is next
}

// Places in a slot.
const (
	lengthAt   = 4
	snapLenAt  = 8
	macAt      = 12
	secondsAt  = 16
	nanosAt    = 20
	tagAt      = 24
	tagTypeAt  = 26
	headerSize = unix.SizeofTpacket2Hdr
	// outAt is where a frame that is to leave begins: behind the header, for the kernel
	// takes the address that follows it in a slot that has come in as not being there.
	outAt = (headerSize + unix.TPACKET_ALIGNMENT - 1) &^ (unix.TPACKET_ALIGNMENT - 1)
	// inMost is where a frame that has come in begins at the latest: header, address, and
	// alignment of what follows the Ethernet header.
	inMost = 96
)

// tagBytes is the length of a VLAN tag (IEEE 802.1Q §9.3), and addressBytes what stands
// before it.
const (
	tagBytes     = 4
	addressBytes = 12
	defaultTag   = 0x8100
)

// sizes are what the kernel is asked for: whole pages that hold whole slots.
func (c *Config) sizes() (in, out *unix.TpacketReq, err error) {
	if c.Rx < 8 || c.Tx < 8 || c.Rx&(c.Rx-1) != 0 || c.Tx&(c.Tx-1) != 0 || c.MaxFrame < 60 || c.MaxFrame > 1<<16 {
		return nil, nil, fmt.Errorf("%d and %d slots for frames of %d bytes", c.Rx, c.Tx, c.MaxFrame)
	}
	slot := 2048
	for slot < inMost+c.MaxFrame+tagBytes {
		slot *= 2
	}
	block := max(slot, 1<<16)
	request := func(slots int) *unix.TpacketReq {
		per := block / slot
		blocks := (slots + per - 1) / per
		return &unix.TpacketReq{Block_size: uint32(block), Block_nr: uint32(blocks), Frame_size: uint32(slot), Frame_nr: uint32(blocks * per)}
	}
	return request(c.Rx), request(c.Tx), nil
}

func (c *Config) fail(what string, err error) (*Socket, error) {
	return nil, fmt.Errorf("packet socket at %s: %s: %w", c.Interface, what, err)
}

// Open opens a socket. What comes in from then on is in its ring.
func Open(c Config) (s *Socket, err error) {
	in, out, err := c.sizes()
	if err != nil {
		return c.fail("rings", err)
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
	if err := unix.SetsockoptTpacketReq(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, in); err != nil {
		return c.fail("receive ring", err)
	}
	if err := unix.SetsockoptTpacketReq(fd, unix.SOL_PACKET, unix.PACKET_TX_RING, out); err != nil {
		return c.fail("transmit ring", err)
	}
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
		s.Close()
		return c.fail("bind", err)
	}
	return s, nil
}

// Attach makes a Socket of the descriptor of one that another process has opened with the
// same configuration, which must not use it any more. It needs no right.
func Attach(c Config, fd int) (*Socket, error) {
	in, out, err := c.sizes()
	if err != nil {
		return c.fail("rings", err)
	}
	block, slot := int(in.Block_size), int(in.Frame_size)
	s := &Socket{fd: fd, slot: slot, room: c.MaxFrame, tags: c.Tags}
	size := int(in.Block_nr+out.Block_nr) * block
	if s.memory, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return c.fail("rings", err)
	}
	s.rx = half{mask: in.Frame_nr - 1}
	s.tx = half{start: int(in.Block_nr) * block, mask: out.Frame_nr - 1}
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

// at is the address of a byte of a slot.
func (s *Socket) at(h *half, slot uint32, byte int) unsafe.Pointer {
	return unsafe.Pointer(&s.memory[h.start+int(slot&h.mask)*s.slot+byte])
}

func (s *Socket) word(h *half, slot uint32, byte int) uint32 {
	return *(*uint32)(s.at(h, slot, byte))
}

func (s *Socket) status(h *half, slot uint32) *uint32 { return (*uint32)(s.at(h, slot, 0)) }

// Stamp is when the first frame that waits came in, by CLOCK_REALTIME in ns. Frames that
// no switch can take are counted and passed over.
func (s *Socket) Stamp() (ns int64, ok bool) {
	for {
		status := atomic.LoadUint32(s.status(&s.rx, s.rx.at))
		if status&unix.TP_STATUS_USER == 0 {
			return 0, false
		}
		switch {
		case status&unix.TP_STATUS_CSUMNOTREADY != 0:
			s.counts.Partial++
		case status&unix.TP_STATUS_VLAN_VALID != 0 && !s.tags:
			s.counts.Tagged++
		case s.word(&s.rx, s.rx.at, lengthAt) != s.word(&s.rx, s.rx.at, snapLenAt):
			s.counts.TooLong++
		default:
			return int64(s.word(&s.rx, s.rx.at, secondsAt))*1e9 + int64(s.word(&s.rx, s.rx.at, nanosAt)), true
		}
		s.release()
	}
}

// Take appends the first frame that waits, of which Stamp has told, to b and gives its
// slot back to the kernel.
func (s *Socket) Take(b []byte) []byte {
	n := int(s.word(&s.rx, s.rx.at, snapLenAt))
	start := s.rx.start + int(s.rx.at&s.rx.mask)*s.slot + int(*(*uint16)(s.at(&s.rx, s.rx.at, macAt)))
	if frame := s.memory[start : start+n]; s.tags && n >= addressBytes && s.word(&s.rx, s.rx.at, 0)&unix.TP_STATUS_VLAN_VALID != 0 {
		kind := uint16(defaultTag)
		if s.word(&s.rx, s.rx.at, 0)&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
			kind = *(*uint16)(s.at(&s.rx, s.rx.at, tagTypeAt))
		}
		control := *(*uint16)(s.at(&s.rx, s.rx.at, tagAt))
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
	atomic.StoreUint32(s.status(&s.rx, s.rx.at), unix.TP_STATUS_KERNEL)
	s.rx.at++
}

// Put copies a frame into the ring of those that are to leave. It returns false if there
// is no room for it.
func (s *Socket) Put(frame []byte) bool {
	status := s.status(&s.tx, s.tx.at)
	switch v := atomic.LoadUint32(status); {
	case len(frame) > s.room && !s.tagged(frame):
		s.counts.TooLong++
		return true // it will never have room
	case v&(unix.TP_STATUS_SEND_REQUEST|unix.TP_STATUS_SENDING) != 0:
		return false
	}
	copy(unsafe.Slice((*byte)(s.at(&s.tx, s.tx.at, outAt)), s.room+tagBytes), frame)
	*(*uint32)(s.at(&s.tx, s.tx.at, lengthAt)) = uint32(len(frame))
	atomic.StoreUint32(status, unix.TP_STATUS_SEND_REQUEST)
	s.tx.at++
	return true
}

// tagged tells whether a frame above the room is so by its VLAN tag. The kernel allows for
// that of 802.1Q only.
func (s *Socket) tagged(frame []byte) bool {
	return s.tags && len(frame) <= s.room+tagBytes && frame[addressBytes] == defaultTag>>8 && frame[addressBytes+1] == defaultTag&0xff
}

// Flush gives what was put to the kernel. With EAGAIN or ENOBUFS some of it stays in the
// ring until the next call.
func (s *Socket) Flush() error {
	for {
		_, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(s.fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
		default:
			return errno
		}
	}
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
func (s *Socket) Counts() (Counts, error) {
	st, err := unix.GetsockoptTpacketStats(s.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return s.counts, os.NewSyscallError("PACKET_STATISTICS", err)
	}
	s.counts.Received += uint64(st.Packets) // the kernel begins at 0 after every look
	s.counts.Lost += uint64(st.Drops)
	return s.counts, nil
}
