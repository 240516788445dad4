package sockdiag

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"

	"weir/core/unit"
)

// Socket is one TCP socket of a network namespace.
type Socket struct {
	// Addresses and ports. IPv4 addresses have their IPv4 form, also at an IPv6 socket.
	Local, Remote netip.AddrPort
	State         TCPState
	// Bytes received and not read by the application; at a listening socket, connections that wait for accept(2)
	Received unit.Bytes
	Unsent   unit.Bytes // written and not acknowledged; at a listening socket, the limit of waiting connections
	UID      uint32
	Inode    uint32
	Cookie   uint64 // value of SO_COOKIE

	CongestionControl Name // empty in TIME-WAIT
	Info              Info
	Memory            Memory
	BBR               BBR    // with CongestionControl bbr
	DCTCP             DCTCP  // with CongestionControl dctcp
	Vegas             Vegas  // with CongestionControl vegas and similar ones
	Storage           []byte // value of BPF programs for the socket in the map of Filter.Storage; nil if there is no value
}

// Name is the name of a congestion control: at most 15 bytes and a zero (TCP_CA_NAME_MAX).
type Name [16]byte

func (n Name) String() string {
	s, _, _ := strings.Cut(string(n[:]), "\x00")
	return s
}

// equals reports whether the name equals s, without allocation.
func (n *Name) equals(s string) bool {
	return len(s) < len(n) && string(n[:len(s)]) == s && n[len(s)] == 0
}

// Memory is the memory use of a socket in bytes (SK_MEMINFO_*). Packets count with the kernel's overhead.
type Memory struct {
	Known         bool
	Receive       unit.Bytes // packets received
	ReceiveBuffer unit.Bytes // limit of Receive
	Send          unit.Bytes // packets given to the device
	SendBuffer    unit.Bytes // limit of Queued
	Forward       unit.Bytes // reserved
	Queued        unit.Bytes // packets to send or waiting for their acknowledgement
	Options       unit.Bytes
	Backlog       unit.Bytes // packets that wait while the socket is locked
	Drops         uint32     // packets dropped for lack of memory
}

// BBR is the model of bbr (struct tcp_bbr_info).
type BBR struct {
	Known      bool
	Bandwidth  unit.Rate // the highest delivery rate of the last ten round trips
	MinRTT     unit.Time
	PacingGain uint32 // in 1/256
	WindowGain uint32 // in 1/256
}

// DCTCP is the state of dctcp (struct tcp_dctcp_info; RFC 8257).
type DCTCP struct {
	Known     bool
	Enabled   bool       // false: ECN was not negotiated, and it works like reno
	CE        bool       // the last received packet was marked
	Alpha     uint32     // moving average of the share of marked bytes, in 1/1024
	AckedECN  unit.Bytes // bytes acknowledged with ECE in this window, modulo 2³²
	AckedBoth unit.Bytes // bytes acknowledged in this window, modulo 2³²
}

// Vegas is the state of vegas and similar congestion controls (struct tcpvegas_info).
type Vegas struct {
	Known   bool
	Enabled bool
	Samples uint32
	RTT     unit.Time
	MinRTT  unit.Time
}

// Filter selects sockets. The zero value of each field selects all.
type Filter struct {
	States                []TCPState
	LocalPort, RemotePort uint16
	// Storage is the descriptor of a BPF socket-storage map to read with the sockets; 0 reads no map.
	// It requires CAP_BPF and CAP_NET_ADMIN.
	Storage int
}

// Numbers of linux/inet_diag.h and linux/netlink.h, and sizes of its structures.
const (
	byFamily       = 20 // SOCK_DIAG_BY_FAMILY
	protocolTCP    = 6
	inet, inet6    = 2, 10 // AF_INET, AF_INET6
	flagRequest    = 0x1
	flagInterrupt  = 0x10  // NLM_F_DUMP_INTR
	flagDump       = 0x300 // NLM_F_ROOT | NLM_F_MATCH
	messageError   = 2
	messageDone    = 3
	messageOverrun = 4

	headerBytes  = 16
	idBytes      = 48                        // struct inet_diag_sockid
	requestBytes = headerBytes + 8 + idBytes // of struct inet_diag_req_v2
	socketBytes  = 4 + idBytes + 20          // struct inet_diag_msg

	extInfo    = 2  // INET_DIAG_INFO
	extVegas   = 3  // INET_DIAG_VEGASINFO; asking for it gives BBR's and DCTCP's
	extControl = 4  // INET_DIAG_CONG
	extSkMem   = 7  // INET_DIAG_SKMEMINFO
	extDCTCP   = 9  // INET_DIAG_DCTCPINFO
	extBBR     = 16 // INET_DIAG_BBRINFO
	extStorage = 20 // INET_DIAG_SK_BPF_STORAGES

	requestStorage = 2       // INET_DIAG_REQ_SK_BPF_STORAGES
	requestMap     = 1       // SK_DIAG_BPF_STORAGE_REQ_MAP_FD
	storageOne     = 1       // SK_DIAG_BPF_STORAGE
	storageValue   = 3       // SK_DIAG_BPF_STORAGE_MAP_VALUE
	nested         = 1 << 15 // NLA_F_NESTED

	extensions = 1<<(extInfo-1) | 1<<(extVegas-1) | 1<<(extControl-1) | 1<<(extSkMem-1)
	typeMask   = 0x3fff // NLA_TYPE_MASK
)

// appendRequest appends a request to b: struct nlmsghdr and struct inet_diag_req_v2. With flagDump it requests all
// sockets in the states of the bit set states, else the one socket with these addresses.
func appendRequest(b []byte, seq uint32, flags uint16, family uint8, states uint32, local,
	remote netip.AddrPort) []byte {
	b = ne.AppendUint32(b, requestBytes)
	b = ne.AppendUint16(b, byFamily)
	b = ne.AppendUint16(b, flagRequest|flags)
	b = ne.AppendUint32(b, seq)
	b = ne.AppendUint32(b, 0)
	b = append(b, family, protocolTCP, extensions, 0)
	b = ne.AppendUint32(b, states)
	b = binary.BigEndian.AppendUint16(b, local.Port())
	b = binary.BigEndian.AppendUint16(b, remote.Port())
	for _, a := range [2]netip.Addr{local.Addr(), remote.Addr()} {
		var raw [16]byte
		switch {
		case a.Is4():
			v4 := a.As4()
			copy(raw[:], v4[:])
		case a.Is6():
			raw = a.As16()
		}
		b = append(b, raw[:]...)
	}
	b = ne.AppendUint32(b, 0)          // any interface
	return ne.AppendUint64(b, 1<<64-1) // any cookie (INET_DIAG_NOCOOKIE)
}

// appendStorageRequest appends a request for the values of the BPF map with the descriptor fd and updates the
// message length.
func appendStorageRequest(b []byte, fd int) []byte {
	b = ne.AppendUint16(b, 4+8)
	b = ne.AppendUint16(b, requestStorage|nested)
	b = ne.AppendUint16(b, 8)
	b = ne.AppendUint16(b, requestMap)
	b = ne.AppendUint32(b, uint32(fd))
	ne.PutUint32(b, uint32(len(b)))
	return b
}

// errInterrupted means that the kernel's list changed during the dump (NLM_F_DUMP_INTR).
var errInterrupted = errors.New("sock_diag: the kernel's list changed while it was read")

// parseSockets parses the messages of one datagram and appends the sockets of request seq to sockets. It skips replies
// to other requests. The result done means that the reply is complete. The argument single marks a request for one
// socket; its reply is a single message. The error is the kernel's, errInterrupted, or about a damaged message.
func parseSockets(b []byte, seq uint32, single bool, sockets []Socket) (_ []Socket, done bool, err error) {
	interrupted := false
	for len(b) >= headerBytes {
		n := int(ne.Uint32(b))
		if n < headerBytes || n > len(b) {
			return sockets, false, fmt.Errorf("netlink: message of %d bytes in %d", n, len(b))
		}
		kind, flags, number, data := ne.Uint16(b[4:]), ne.Uint16(b[6:]), ne.Uint32(b[8:]), b[headerBytes:n]
		b = b[min(len(b), (n+3)&^3):]
		if number != seq {
			continue // reply to an abandoned request
		}
		interrupted = interrupted || flags&flagInterrupt != 0
		switch kind {
		case messageOverrun:
			return sockets, true, errors.New("netlink: data were lost")
		case messageError, messageDone:
			if len(data) < 4 && (kind == messageError || len(data) > 0) {
				return sockets, true, fmt.Errorf("netlink: acknowledgement of %d bytes", len(data))
			}
			done = true
			if len(data) >= 4 {
				if code := int32(ne.Uint32(data)); code != 0 {
					return sockets, true, syscall.Errno(-code)
				}
			}
		case byFamily:
			if len(sockets) < cap(sockets) {
				sockets = sockets[:len(sockets)+1]
			} else {
				sockets = append(sockets, Socket{})
			}
			if err := sockets[len(sockets)-1].parseMessage(data); err != nil {
				return sockets[:len(sockets)-1], false, err
			}
			done = done || single
		}
	}
	if interrupted {
		return sockets, done, errInterrupted
	}
	return sockets, done, nil
}

// parseAddress reads an address of a family from 16 bytes. It returns false for an unknown family.
func parseAddress(family uint8, b []byte) (netip.Addr, bool) {
	switch family {
	case inet:
		return netip.AddrFrom4([4]byte(b)), true
	case inet6:
		return netip.AddrFrom16([16]byte(b)).Unmap(), true
	}
	return netip.Addr{}, false
}

// parseMessage parses a struct inet_diag_msg and its attributes into s.
func (s *Socket) parseMessage(b []byte) error {
	if len(b) < socketBytes {
		return fmt.Errorf("sock_diag: %d bytes about a socket", len(b))
	}
	local, ok := parseAddress(b[0], b[8:24])
	if !ok {
		return fmt.Errorf("sock_diag: a socket of family %d", b[0])
	}
	remote, _ := parseAddress(b[0], b[24:40])
	*s = Socket{
		Local:  netip.AddrPortFrom(local, binary.BigEndian.Uint16(b[4:])),
		Remote: netip.AddrPortFrom(remote, binary.BigEndian.Uint16(b[6:])),
		State:  TCPState(b[1]),
		Cookie: uint64(ne.Uint32(b[44:])) | uint64(ne.Uint32(b[48:]))<<32,
		// The unused field expires is at 52.
		Received: unit.Bytes(ne.Uint32(b[56:])), Unsent: unit.Bytes(ne.Uint32(b[60:])), UID: ne.Uint32(b[64:]),
		Inode: ne.Uint32(b[68:]),
	}
	for b = b[socketBytes:]; len(b) >= 4; {
		n := int(ne.Uint16(b))
		if n < 4 || n > len(b) {
			return fmt.Errorf("sock_diag: attribute of %d bytes in %d", n, len(b))
		}
		s.parseAttribute(ne.Uint16(b[2:])&typeMask, b[4:n])
		b = b[min(len(b), (n+3)&^3):]
	}
	return nil
}

// findNested returns the value of the first attribute of a kind in b, nil if it is missing or b is damaged.
func findNested(b []byte, kind uint16) []byte {
	for len(b) >= 4 {
		n := int(ne.Uint16(b))
		if n < 4 || n > len(b) {
			return nil
		}
		if ne.Uint16(b[2:])&typeMask == kind {
			return b[4:n]
		}
		b = b[min(len(b), (n+3)&^3):]
	}
	return nil
}

// parseAttribute stores the attribute of a kind with the value v in s; it ignores others and values that are too
// short.
func (s *Socket) parseAttribute(kind uint16, v []byte) {
	u32 := func(i int) uint32 { return ne.Uint32(v[4*i:]) }
	size := func(i int) unit.Bytes { return unit.Bytes(u32(i)) }
	us := func(i int) unit.Time { return unit.Time(u32(i)) * unit.Microsecond }
	switch {
	case kind == extInfo && len(v) > 0:
		s.Info.parseInfo(v)
	case kind == extControl && len(v) < len(s.CongestionControl):
		s.CongestionControl = Name{}
		copy(s.CongestionControl[:], v)
	case kind == extControl && len(v) == len(s.CongestionControl):
		copy(s.CongestionControl[:len(s.CongestionControl)-1], v)
	case kind == extStorage:
		s.Storage = append([]byte(nil), findNested(findNested(v, storageOne), storageValue)...)
	case kind == extSkMem && len(v) >= 32:
		m := &s.Memory
		*m = Memory{
			Known: true, Receive: size(0), ReceiveBuffer: size(1), Send: size(2), SendBuffer: size(3),
			Forward: size(4), Queued: size(5), Options: size(6), Backlog: size(7),
		}
		if len(v) >= 36 { // since Linux 4.7
			m.Drops = u32(8)
		}
	case kind == extBBR && len(v) >= 20:
		s.BBR = BBR{Known: true, Bandwidth: toBitRate(uint64(u32(0)) | uint64(u32(1))<<32), MinRTT: us(2), PacingGain: u32(3),
			WindowGain: u32(4)}
	case kind == extDCTCP && len(v) >= 16:
		s.DCTCP = DCTCP{Known: true, Enabled: ne.Uint16(v) != 0, CE: ne.Uint16(v[2:]) != 0, Alpha: u32(1), AckedECN: size(2),
			AckedBoth: size(3)}
	case kind == extVegas && len(v) >= 16:
		s.Vegas = Vegas{Known: true, Enabled: u32(0) != 0, Samples: u32(1), RTT: us(2), MinRTT: us(3)}
	}
}
