package wiretest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// Options are properties of the format that frames do not contain.
type Options struct {
	Multi int64   // multiplier of the units of HPCC's header; 0: 1
	Rates []int64 // in bit/s, by the codes of HPCC's header, of draft-gafni's speed and of IFA's; 0: not in use
	IFA   bool    // protocol 251 is IFA's; the draft leaves the number open
}

// Frame is the content of an Ethernet frame without FCS, and its telemetry.
type Frame struct {
	Version          int   // of IP
	Proto            uint8 // of the transport: 6 or 17
	TOS, HopLimit    uint8 // TOS as if there were no telemetry
	Src, Dst         netip.Addr
	SrcPort, DstPort uint16 // as if there were no telemetry
	Header           []byte // transport header
	Payload          []byte // after the header, without telemetry; RoCEv2's begins with BTH and ends with ICRC
	RoCE             bool   // Payload is RoCEv2 with a correct ICRC
	Summed           bool   // the transport's checksum is present and correct; UDP over IPv4 may have none

	Format    string // hpcc, int-md, ioam, ioam-gafni, ifa, ifa-ext; "": no telemetry
	Answer    bool   // on the return path: nodes must not write to it
	Telemetry int    // bytes of telemetry in the frame, with padding
	Hops      []Hop  // oldest first
	Left      int    // records that still fit; for INT, the remaining hop count
	Missed    int    // hops without space, if the format counts them
	Full      bool   // INT's E or IOAM's O: a hop found no space
	TooLong   bool   // INT's M: a hop would have exceeded the MTU
	Path      uint16 // HPCC's pathID
	Namespace uint16 // IOAM's, INT's domain
	Options   []byte // types of all options, including padding
}

// Hop is a record. A missing value is −1.
type Hop struct {
	Node, In, Out  int64 // identities of the switch and its ports
	HopLimit       int64
	Arrived, Left  int64 // ns by the node's clock, in the width of the field
	Residence      int64 // ns
	QueueID, Queue int64 // Queue in bytes
	Cells          int64 // IFA's
	Sent           int64 // bytes by the port, in the width of the field
	Rate, Speed    int64 // bit/s, and IFA's code of it
	Fraction       int64 // IOAM's, in the node's unit
	Local          int64 // namespace of a record, IFA's LNS
	ECN, Errors    int64 // IFA's and draft-gafni's
}

// unknownHop returns a record without values.
func unknownHop() Hop {
	return Hop{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}
}

var be = binary.BigEndian

// Numbers on the wire.
const (
	tcp, udp   = 6, 17
	roce       = 4791   // IANA
	shim253    = 253    // RFC 3692: options over IPv4, Weir's
	ifa251     = 251    // IFA's, Weir's choice
	intPort    = 0xd417 // INT_TBD, Weir's choice
	intDSCP    = 0x17   // the INT specification's example over TCP
	ethernet   = 14
	maxPadding = 60 // bytes up to which a frame is padded (IEEE 802.3 §4A.4.2.5)
)

// reader reads one frame.
type reader struct {
	Frame
	o    Options
	ip   []byte // IP header without options
	rest []byte // unread part of the packet
	tos  uint8  // in the frame
}

// Decode reads a frame, and checks all lengths and checksums of IP, of the transport and of the telemetry.
func Decode(frame []byte, o Options) (*Frame, error) {
	if o.Multi == 0 {
		o.Multi = 1
	}
	r := &reader{o: o}
	if err := r.readNetwork(frame); err != nil {
		return nil, err
	}
	proto, err := r.readOptions(r.Proto)
	if err != nil {
		return nil, err
	}
	if err := r.readSegment(proto); err != nil {
		return nil, err
	}
	return &r.Frame, nil
}

// readNetwork reads the headers of Ethernet and IP (RFC 791 §3.1, RFC 8200 §3).
func (r *reader) readNetwork(frame []byte) error {
	if len(frame) < ethernet+20 {
		return errors.New("too short for Ethernet and IP")
	}
	ip := frame[ethernet:]
	length := 0
	switch kind := be.Uint16(frame[12:]); {
	case kind == 0x0800 && ip[0] == 0x45:
		r.Version, r.tos, r.HopLimit, r.Proto, length = 4, ip[1], ip[8], ip[9], int(be.Uint16(ip[2:]))
		r.Src, r.Dst = netip.AddrFrom4([4]byte(ip[12:])), netip.AddrFrom4([4]byte(ip[16:]))
		if sum(ip[:20]) != 0xffff {
			return errors.New("IPv4: the header's checksum is wrong")
		}
		if be.Uint16(ip[6:])&0x3fff != 0 {
			return errors.New("IPv4: a fragment")
		}
		r.ip = ip[:20]
	case kind == 0x86dd && len(ip) >= 40 && ip[0]>>4 == 6:
		word := be.Uint32(ip)
		r.Version, r.tos, r.HopLimit, r.Proto = 6, uint8(word>>20), ip[7], ip[6]
		length = 40 + int(be.Uint16(ip[4:]))
		r.Src, r.Dst = netip.AddrFrom16([16]byte(ip[8:])), netip.AddrFrom16([16]byte(ip[24:]))
		r.ip = ip[:40]
	default:
		return fmt.Errorf("a frame of Ethernet type %#04x, with %#02x in IP's first byte", kind, ip[0])
	}
	switch {
	case length < len(r.ip) || length > len(ip):
		return fmt.Errorf("IP: a length of %d bytes, %d are there", length, len(ip))
	case length < len(ip) && len(frame) > maxPadding:
		return fmt.Errorf("IP: a length of %d bytes in a frame with %d of IP, which nothing pads", length, len(ip))
	}
	r.TOS, r.rest = r.tos, ip[len(r.ip):length]
	return nil
}

// readOptions reads IPv6's hop-by-hop header (RFC 8200 §4.3), or the header of this layout after IPv4's, and returns
// the protocol after it; proto itself if the packet has no such header. It adds the options to r.
func (r *reader) readOptions(proto uint8) (uint8, error) {
	if r.Version == 6 && proto != 0 || r.Version == 4 && proto != shim253 {
		return proto, nil
	}
	b := r.rest
	if len(b) < 8 || len(b) < 8*(int(b[1])+1) {
		return 0, errors.New("hop-by-hop header: cut short")
	}
	n := 8 * (int(b[1]) + 1)
	for at := 2; at < n; {
		r.Options = append(r.Options, b[at])
		if b[at] == 0 { // Pad1
			at++
			continue
		}
		if at+2 > n || at+2+int(b[at+1]) > n {
			return 0, fmt.Errorf("hop-by-hop header: option %#02x leaves it", b[at])
		}
		data := b[at+2 : at+2+int(b[at+1])]
		if err := r.readOption(b[at], at, data); err != nil {
			return 0, err
		}
		at += 2 + len(data)
	}
	if r.Format != "" {
		r.Telemetry = n
	}
	r.rest = b[n:]
	return b[0], nil
}

// readOption reads an option of the given kind at an offset of its header.
func (r *reader) readOption(kind uint8, at int, data []byte) error {
	switch kind {
	case 1: // PadN, of zeros
		for _, x := range data {
			if x != 0 {
				return errors.New("PadN: it is not zero")
			}
		}
	case 0x31, 0x11: // RFC 9486 §3: the second does not change en route
		if at%4 != 0 {
			return fmt.Errorf("IOAM: the option begins at %d, not at a multiple of 4 (RFC 9486 §3)", at)
		}
		r.Answer = kind == 0x11
		return r.readTrace(data)
	case 0x3f, 0x1f:
		r.Answer = kind == 0x1f
		return r.readHPCC(data)
	}
	return nil
}

// readSegment reads the bytes after the extensions: IFA's header, the transport's, metadata, the payload.
func (r *reader) readSegment(proto uint8) error {
	var ifa []byte
	if proto == ifa251 && r.o.IFA {
		if len(r.rest) < 4 {
			return errors.New("IFA: cut short")
		}
		ifa, r.rest = r.rest[:4], r.rest[4:]
		proto = ifa[1]
	}
	r.Proto = proto
	b, n := r.rest, 0
	switch {
	case proto == udp && len(b) >= 8:
		n = 8
	case proto == tcp && len(b) >= 20 && int(b[12]>>4)*4 >= 20 && len(b) >= int(b[12]>>4)*4:
		n = int(b[12]>>4) * 4
	default:
		return fmt.Errorf("transport: protocol %d with %d bytes", proto, len(b))
	}
	header, rest := b[:n], b[n:]
	r.Header = header
	r.SrcPort, r.DstPort = be.Uint16(header), be.Uint16(header[2:])
	if ifa != nil {
		if r.Format != "" {
			return errors.New("IFA beside other telemetry")
		}
		var err error
		if rest, err = r.readIFA(ifa, rest); err != nil {
			return err
		}
	}
	summed := append(append([]byte(nil), header...), rest...) // bytes that the transport's length includes
	if proto == udp && int(be.Uint16(header[4:])) != len(summed) {
		return fmt.Errorf("UDP: a length of %d, %d bytes are there", be.Uint16(header[4:]), len(summed))
	}
	if err := r.checkSum(proto, summed); err != nil {
		return err
	}
	if r.Format == "" && (proto == udp && r.DstPort == intPort || proto == tcp && r.tos>>2 == intDSCP) {
		var err error
		if rest, err = r.readMD(proto, rest); err != nil {
			return err
		}
	}
	r.Payload = rest
	if r.RoCE = proto == udp && r.DstPort == roce; r.RoCE {
		return r.checkICRC()
	}
	return nil
}
