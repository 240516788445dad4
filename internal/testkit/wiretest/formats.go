package wiretest

import (
	"errors"
	"fmt"
)

// isAllOnes reports whether a field has no value: in P4 INT v2.1 and in RFC 9197 §4.4.1 all bits are then set.
func isAllOnes(v uint64, bits int) bool { return v == 1<<bits-1 }

// readCounter reads Weir's word of 64 bits (docs/schemes/telemetry.md): bytes sent 44, then a rate of m·10^e
// bit/s with 4 bits of e and 16 of m.
func (h *Hop) readCounter(w uint64) {
	if w == 1<<64-1 {
		return
	}
	h.Sent, h.Rate = int64(w>>20), int64(w&0xffff)
	for e := w >> 16 & 15; e > 0; e-- {
		h.Rate *= 10
	}
}

// readHPCC reads the header of HPCC (SIGCOMM 2019, §4.1, figure 7): nHop 4, pathID 12, then five hops of 64 bits. In
// the paper a hop has a speed of 4 bits and a queue of 16; in the authors' simulator (int-header.h) and in Weir they
// have 3 and 17. Time is in ns, sent bytes in 128 B × Options.Multi, the queue in 80 B × Options.Multi. It adds the
// written hops to r, with Sent and Queue in bytes. Another length than 42 bytes, a speed without a rate in
// Options.Rates, and a hop that is written beyond nHop are errors.
func (r *reader) readHPCC(b []byte) error {
	if len(b) != 42 {
		return fmt.Errorf("HPCC: %d bytes, 42 are right", len(b))
	}
	r.Format = "hpcc"
	head := be.Uint16(b)
	n := int(head >> 12)
	r.Path, r.Missed, r.Left = head&0xfff, max(n-5, 0), max(5-n, 0)
	for i := range 5 {
		w := be.Uint64(b[2+8*i:])
		if i >= n {
			if w != 0 {
				return fmt.Errorf("HPCC: %d hops, and hop %d is written", n, i+1)
			}
			continue
		}
		h, code := unknownHop(), int(w>>61)
		if code >= len(r.o.Rates) || r.o.Rates[code] == 0 {
			return fmt.Errorf("HPCC: hop %d has speed %d, which is not in use", i+1, code)
		}
		h.Rate, h.Left = r.o.Rates[code], int64(w>>37&(1<<24-1))
		h.Sent, h.Queue = int64(w>>17&(1<<20-1))*128*r.o.Multi, int64(w&(1<<17-1))*80*r.o.Multi
		r.Hops = append(r.Hops, h)
	}
	return nil
}

// readTrace reads a pre-allocated trace (RFC 9197 §4.4.1): namespace 16, node length 5, flags 4, remaining length 7,
// trace type 24, reserved 8. Two bytes precede it, the second with the IOAM type 0 (RFC 9486 §3). Records are at the
// end, the newest first.
func (r *reader) readTrace(b []byte) error {
	if len(b) < 10 || b[0] != 0 || b[1] != 0 || b[9] != 0 {
		return errors.New("IOAM: no pre-allocated trace, or reserved bits are set")
	}
	r.Format, r.Namespace = "ioam", be.Uint16(b[2:])
	head, kind, room := be.Uint16(b[4:]), be.Uint32(b[6:])>>8, b[10:]
	node, left := int(head>>11), int(head&127)
	if flags := head >> 7 & 15; flags&^8 != 0 {
		return fmt.Errorf("IOAM: flags %#x, of which only O is ours", flags)
	}
	r.Full = head>>10&1 == 1
	words := 0
	for bit := range 22 {
		if kind>>(23-bit)&1 == 1 {
			if words++; bit >= 8 && bit <= 10 {
				words++
			}
		}
	}
	if node != words || node == 0 || kind&3 != 0 {
		return fmt.Errorf("IOAM: a node length of %d for trace type %#06x, which asks for %d", node, kind, words)
	}
	if len(room)%4 != 0 || 4*left > len(room) || (len(room)/4-left)%node != 0 {
		return fmt.Errorf("IOAM: %d words left of %d bytes with %d words a node", left, len(room), node)
	}
	if kind>>11&1 == 1 || kind>>10&1 == 1 {
		r.Format = "ioam-gafni"
	}
	for _, x := range room[:4*left] {
		if x != 0 {
			return errors.New("IOAM: the room that is left has been written to")
		}
	}
	r.Left = left / node
	for at := len(room) - 4*node; at >= 4*left; at -= 4 * node {
		r.Hops = append(r.Hops, r.readNode(room[at:], kind))
	}
	return nil
}

// readNode reads a record of a trace (RFC 9197 §4.4.2); bits 12 and 13 are draft-gafni's.
func (r *reader) readNode(b []byte, kind uint32) Hop {
	h := unknownHop()
	var seconds int64 = -1
	for bit := range 22 {
		if kind>>(23-bit)&1 == 0 {
			continue
		}
		n := 4
		if bit >= 8 && bit <= 10 {
			n = 8
		}
		short := be.Uint32(b)
		known := !isAllOnes(uint64(short), 32)
		switch {
		case bit == 0:
			h.HopLimit, h.Node = int64(short>>24), int64(short&0xffffff)
		case bit == 1:
			h.In, h.Out = int64(short>>16), int64(short&0xffff)
		case bit == 2:
			seconds = int64(short)
		case bit == 3 && known:
			h.Fraction = int64(short)
		case bit == 4 && known:
			h.Residence = int64(short & 0x7fffffff)
		case bit == 6 && known:
			h.Queue = int64(short)
		case bit == 10:
			h.readCounter(be.Uint64(b))
		case bit == 12 && known:
			h.Sent = int64(short)
		case bit == 13 && known && int(short>>26) < len(r.o.Rates):
			h.Rate, h.Errors = r.o.Rates[short>>26], int64(short&(1<<26-1))
		}
		b = b[n:]
	}
	if seconds >= 0 && h.Fraction >= 0 {
		h.Left = seconds*1e9 + h.Fraction // PTP, RFC 9197 §5.1
	}
	return h
}

// readMD reads INT-MD over TCP or UDP (P4 INT v2.1): a shim of type 4, NPT 2, length 8 in words and the 16 bits that
// it replaces, a header of 12 bytes, and a record of each hop, the newest first. It returns the bytes after it.
func (r *reader) readMD(proto uint8, b []byte) ([]byte, error) {
	if len(b) < 16 {
		return nil, errors.New("INT: cut short")
	}
	kind, npt, n := b[0]>>4, b[0]>>2&3, 4+4*int(b[1])
	switch {
	case kind != 1 && kind != 2 || b[0]&3 != 0:
		return nil, fmt.Errorf("INT: a shim of type %d", kind)
	case proto == udp && npt != 1, proto == tcp && npt != 0:
		return nil, fmt.Errorf("INT: NPT %d over protocol %d", npt, proto)
	case n < 16 || n > len(b):
		return nil, fmt.Errorf("INT: %d bytes, %d are there", n, len(b))
	}
	r.Format, r.Answer, r.Telemetry = "int-md", kind == 2, n
	if proto == udp {
		r.DstPort = be.Uint16(b[2:])
	} else {
		r.TOS = b[3]&0xfc | r.tos&3
	}
	h := b[4:16]
	words, bitmap, domain := int(h[2]&31), be.Uint16(h[4:]), be.Uint16(h[6:])
	if h[0]>>4 != 2 || h[0]&9 != 0 || h[1] != 0 || h[2]>>5 != 0 || be.Uint16(h[10:]) != 0 {
		return nil, fmt.Errorf("INT: version %d, flags %#x, or reserved bits are set", h[0]>>4, h[0]&15)
	}
	r.Full, r.TooLong, r.Left = h[0]&4 != 0, h[0]&2 != 0, int(h[3])
	need := 0
	for bit := range 16 { // the checksum complement, bit 15, is a word too
		if bitmap>>(15-bit)&1 == 1 {
			if need++; bit >= 4 && bit <= 6 {
				need++
			}
		}
	}
	if domain != 0x5752 || be.Uint16(h[8:]) != 0x8000 { // Weir's domain has one instruction
		return nil, fmt.Errorf("INT: domain %#04x with instructions %#04x", domain, be.Uint16(h[8:]))
	}
	r.Namespace = domain
	if need += 2; words != need || (n-16)%(4*words) != 0 {
		return nil, fmt.Errorf("INT: hops of %d words, the instructions ask for %d, in %d bytes", words, need, n-16)
	}
	for at := n - 4*words; at >= 16; at -= 4 * words {
		r.Hops = append(r.Hops, readMDHop(b[at:at+4*words], bitmap))
	}
	return b[n:], nil
}

// readMDHop reads a record (P4 INT v2.1).
func readMDHop(b []byte, bitmap uint16) Hop {
	h := unknownHop()
	for bit := range 15 {
		if bitmap>>(15-bit)&1 == 0 {
			continue
		}
		n := 4
		if bit >= 4 && bit <= 6 {
			n = 8
		}
		short := be.Uint32(b)
		known := !isAllOnes(uint64(short), 32)
		switch {
		case bit == 0:
			h.Node = int64(short)
		case bit == 1:
			h.In, h.Out = int64(short>>16), int64(short&0xffff)
		case bit == 2 && known:
			h.Residence = int64(short)
		case bit == 3 && known:
			h.QueueID, h.Queue = int64(short>>24), int64(short&0xffffff)
		case bit == 4:
			h.Arrived = int64(be.Uint64(b))
		case bit == 5:
			h.Left = int64(be.Uint64(b))
		}
		b = b[n:]
	}
	h.readCounter(be.Uint64(b))
	return h
}

// readIFA reads IFA 2.0 (draft-kumar-ippm-ifa §4): a header of version 4, GNS 4, protocol 8, flags 8, max length 8.
// After the transport's header, it has a metadata header of request 8, action 8, hop limit 8, current length 8, and
// then records, the newest first. It returns the bytes after them.
func (r *reader) readIFA(header, b []byte) ([]byte, error) {
	if header[0]>>4 != 2 || len(b) < 4 || b[0] != 0 || b[1] != 0 {
		return nil, fmt.Errorf("IFA: version %d, or requests and actions of which none is ours", header[0]>>4)
	}
	one := 32
	if r.Format = "ifa"; header[0]&15 == 15 {
		r.Format, one = "ifa-ext", 40 // Weir's namespace has the counter after each record
	}
	n := 4 + 4*int(b[3])
	r.Answer = header[2]&0x80 != 0
	if header[2]&^0x80 != 4 { // inband
		return nil, fmt.Errorf("IFA: flags %#02x", header[2])
	}
	if header[0]&15 != 0 && header[0]&15 != 15 || 4*int(header[3])%one != 0 {
		return nil, fmt.Errorf("IFA: namespace %d with a maximum of %d words", header[0]&15, header[3])
	}
	if n > len(b) || (n-4)%one != 0 || b[3] > header[3] {
		return nil, fmt.Errorf("IFA: %d bytes of metadata, at most %d are allowed, %d are there", n-4, 4*int(header[3]),
			len(b))
	}
	for at := n - one; at >= 4; at -= one {
		if be.Uint16(b[at+24:]) != 0 || be.Uint32(b[at+28:]) != 0 {
			return nil, errors.New("IFA: reserved bits are set")
		}
		r.Hops = append(r.Hops, r.readMetadata(b[at:at+one]))
	}
	r.Left = (4*int(header[3]) - (n - 4)) / one
	r.Missed = 254 - int(b[2]) - len(r.Hops) // every node decrements the hop limit
	r.Telemetry = 4 + n
	return b[n:], nil
}

// readMetadata reads a record (draft-kumar-ippm-ifa §4.3): LNS 4, device 20, TTL 8; speed 4, congestion 2, queue 6,
// seconds 20; egress 16, ingress 16; ns 32; residence 32; queue in bytes 32; reserved 16, queue in cells 16; reserved
// 32.
func (r *reader) readMetadata(b []byte) Hop {
	h := unknownHop()
	first, second, ports := be.Uint32(b), be.Uint32(b[4:]), be.Uint32(b[8:])
	h.Local, h.Node, h.HopLimit = int64(first>>28), int64(first>>8&0xfffff), int64(first&0xff)
	if h.Speed = int64(second >> 28); int(h.Speed) < len(r.o.Rates) && r.o.Rates[h.Speed] > 0 {
		h.Rate = r.o.Rates[h.Speed]
	}
	h.ECN = int64(second >> 26 & 3)
	h.QueueID, h.Out, h.In = int64(second>>20&63), int64(ports>>16), int64(ports&0xffff)
	h.Arrived = int64(second&0xfffff)*1e9 + int64(be.Uint32(b[12:]))
	h.Residence, h.Queue, h.Cells = int64(be.Uint32(b[16:])), int64(be.Uint32(b[20:])), int64(be.Uint16(b[26:]))
	h.Left = h.Arrived + h.Residence
	if len(b) > 32 {
		h.readCounter(be.Uint64(b[32:]))
	}
	return h
}
