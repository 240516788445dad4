package packet

import (
	"fmt"
	"hash/crc32"
)

// RoCEv2 (InfiniBand's Annex A17, as Linux's rxe and tshark's dissector read it) is UDP to port 4791. InfiniBand's
// base transport header (BTH) follows, then an extended header that depends on the opcode, the payload, padded to four
// bytes, and the invariant CRC (ICRC). The number of a queue pair is the port at its end. BTH's DestQP is
// Packet.DstPort, and UDP's source port, by which switches spread flows, is Packet.SrcPort. So a switch that answers a
// packet knows the sender's queue pair, which InfiniBand's header does not contain.
//
// Weir uses some fields in its own way:
//
//   - a switch may cut the payload off if the first reserved bit behind FECN and BECN is set;
//   - the number of a transmission, mod 128, is in the 7 reserved bits behind BTH's AckReq,
//     of data, and of the NACK by which the network sends a header back;
//   - BECN in an acknowledgement echoes a mark, as it does in a CNP;
//   - a word, 8 reserved bits and the 24 of a PSN, follows AETH of an acknowledgement about another packet
//     than the last that it acknowledges (IRN §3.1: its NACKs have the PSN that made them), and of a probe;
//   - opcode 0xc0, from the manufacturers' range, is a probe (draft-miao §6.1), which
//     reads and writes no memory;
//   - the PSN of a CNP, which has no standard meaning, is the PSN of the marked packet.
const (
	// PortRoCE is UDP's destination port (IANA).
	PortRoCE = 4791

	// PSNMask has the bits of a packet sequence number and of all counters of packets in these headers.
	PSNMask = 1<<24 - 1
	// TransmissionMask has the bits of the number of a transmission.
	TransmissionMask = 1<<7 - 1

	ackRequest = 0x80 // in the byte of the transmission's number

	bthCuttable = 0x20 // Weir's Cuttable: the first reserved bit behind BTH's FECN and BECN

	bthHeader  = 12
	rethHeader = 16 // virtual address 8, R_Key 4, DMA length 4
	aethHeader = 4  // syndrome 1, MSN 3
	cnpHeader  = 16 // reserved
	psnWord    = 4
	icrcBytes  = 4

	// RDMAHeaders is the length that RoCEv2 adds to the payload of a packet inside a message, without padding. RDMAFirst
	// is the additional length for the first packet of a message. RDMAReply is the additional length for an
	// acknowledgement of all packets up to the one that triggered it.
	RDMAHeaders = UDPHeader + bthHeader + icrcBytes
	RDMAFirst   = rethHeader
	RDMAReply   = aethHeader
)

// Opcodes of reliable connections, and the CNP's.
const (
	opWriteFirst  uint8 = 0x06
	opWriteMiddle uint8 = 0x07
	opWriteLast   uint8 = 0x08
	opWriteOnly   uint8 = 0x0a
	opAcknowledge uint8 = 0x11
	opCNP         uint8 = 0x81
	opProbe       uint8 = 0xc0
)

// Syndromes of AETH: an ACK without a limit on credits, and a NAK for a PSN out of sequence.
const (
	syndromeACK uint8 = 0x1f
	syndromeNAK uint8 = 0x60
)

// Flags of RDMA's data, in place of TCP's.
const (
	LastOfMessage  = FIN // last packet of a message
	FirstOfMessage = SYN
	NoAckRequest   = PSH // BTH's AckReq is 0: the receiver may wait for more packets before it acknowledges
	Cuttable       = URG // a switch may cut the payload off, like Trimmable for ProtoOwn
)

// RDMAHeader returns the length that RoCEv2 adds to p's payload: UDP, BTH and the header of p's kind, padding, ICRC.
func (p *Packet) RDMAHeader() int32 {
	switch p.Kind {
	case Data:
		n := RDMAHeaders + -p.Payload&3
		if p.TCP.Flags&FirstOfMessage != 0 {
			n += rethHeader
		}
		return n
	case Notice:
		return RDMAHeaders + cnpHeader
	case Probe:
		return RDMAHeaders + psnWord
	case Ack:
		if (p.Seq+1-p.Ack)&PSNMask == 0 {
			return RDMAHeaders + aethHeader
		}
	case Nack:
		if p.IsNotification() || (p.Seq-p.Ack)&PSNMask == 0 {
			return RDMAHeaders + aethHeader
		}
	}
	return RDMAHeaders + aethHeader + psnWord
}

// emitRDMA appends a datagram without UDP's length and the checksums, which sealRDMA writes.
func (p *Packet) emitRDMA(b []byte) []byte {
	b = be.AppendUint16(be.AppendUint16(b, p.SrcPort), PortRoCE)
	return p.emitBTH(append(b, 0, 0, 0, 0))
}

// emitBTH appends everything behind UDP's header; payload, padding and ICRC are zeros.
func (p *Packet) emitBTH(b []byte) []byte {
	op, psn, ours, first := opAcknowledge, p.Seq, uint8(0), uint8(0)
	switch p.Kind {
	case Data:
		if p.TCP.Flags&Cuttable != 0 {
			first = bthCuttable
		}
		op = [...]uint8{opWriteMiddle, opWriteLast, opWriteFirst, opWriteOnly}[p.TCP.Flags&(FirstOfMessage|LastOfMessage)]
		if ours = uint8(p.Ack) & TransmissionMask; p.TCP.Flags&NoAckRequest == 0 {
			ours |= ackRequest
		}
	case Notice:
		op, first = opCNP, 0x40
	case Probe:
		op = opProbe
	case Ack:
		psn = p.Ack - 1
	case Nack:
		if p.IsNotification() {
			ours = uint8(p.Ack) & TransmissionMask
		} else {
			psn = p.Ack
		}
	}
	if p.TCP.Flags&ECE != 0 && op == opAcknowledge {
		first = 0x40 // BECN
	}
	pad := uint8(-p.Payload & 3)
	b = append(b, op, pad<<4, 0xff, 0xff) // the default partition, P_Key 0xffff
	b = be.AppendUint32(b, uint32(first)<<24|uint32(p.DstPort))
	b = be.AppendUint32(b, uint32(ours)<<24|uint32(psn)&PSNMask)
	switch op {
	case opWriteFirst, opWriteOnly: // of a region that begins at address 0
		b = be.AppendUint64(b, 0)
		b = be.AppendUint32(be.AppendUint32(b, uint32(p.DstPort)), p.Message)
	case opCNP:
		b = append(b, make([]byte, cnpHeader)...)
	case opProbe:
		b = be.AppendUint32(b, uint32(p.Ack)&PSNMask)
	case opAcknowledge:
		b = p.emitAETH(b)
	}
	return append(b, make([]byte, int(p.Payload)+int(pad)+icrcBytes)...)
}

// emitAETH appends the headers of an acknowledgement behind BTH.
func (p *Packet) emitAETH(b []byte) []byte {
	syndrome := syndromeACK
	if p.Kind == Nack {
		syndrome = syndromeNAK
	}
	if p.Kind == Nack && p.IsNotification() {
		return be.AppendUint32(b, uint32(syndrome)<<24)
	}
	b = be.AppendUint32(b, uint32(syndrome)<<24|p.Message&PSNMask)
	if p.RDMAHeader() > RDMAHeaders+aethHeader {
		b = be.AppendUint32(b, uint32(p.Seq)&PSNMask)
	}
	return b
}

// ParseRDMA sets p's ports and RoCEv2 fields from a datagram of length bytes; b is its beginning. It returns false and
// leaves p unchanged unless Emit could have written the datagram.
func (p *Packet) ParseRDMA(b []byte, length int) bool {
	if len(b) < UDPHeader || be.Uint16(b[2:]) != PortRoCE || !p.parseRDMA(b[UDPHeader:], length-UDPHeader) {
		return false
	}
	p.SrcPort = be.Uint16(b)
	return true
}

// parseRDMA parses the bytes behind the header of UDP to port 4791, as ParseRDMA does. length is their full number; b
// may be the beginning only. The extensions of p must be parsed already, as a notice among them marks the network's
// NACK. It returns false and leaves p unchanged unless Emit could have written them.
func (p *Packet) parseRDMA(b []byte, length int) bool {
	n := length - bthHeader - icrcBytes
	if n < 0 || len(b) < bthHeader+min(n, rethHeader) || b[1]&0x0f != 0 || b[5] != 0 {
		return false
	}
	op, psn, ours := b[0], int64(be.Uint32(b[8:])&PSNMask), int64(b[8]&TransmissionMask)
	pad := int(b[1] >> 4 & 3)
	rest := b[bthHeader:]
	kind, seq, ack, flags, message, payload := Data, psn, int64(0), uint8(0), uint32(0), 0
	switch op {
	case opWriteFirst, opWriteMiddle, opWriteLast, opWriteOnly:
		if op == opWriteFirst || op == opWriteOnly {
			if n -= rethHeader; n < 0 {
				return false
			}
			flags, message = FirstOfMessage, be.Uint32(rest[12:])
		}
		if op == opWriteLast || op == opWriteOnly {
			flags |= LastOfMessage
		}
		if payload = n - pad; payload < 0 || n&3 != 0 {
			return false
		}
		if ack, pad = ours, 0; b[8]&ackRequest == 0 {
			flags |= NoAckRequest
		}
		if b[4]&bthCuttable != 0 {
			flags |= Cuttable
		}
	case opCNP:
		if kind = Notice; n != cnpHeader {
			return false
		}
	case opProbe:
		if kind = Probe; n != psnWord {
			return false
		}
		ack = int64(be.Uint32(rest) & PSNMask)
	case opAcknowledge:
		if n != aethHeader && n != aethHeader+psnWord || rest[0] != syndromeACK && rest[0] != syndromeNAK {
			return false
		}
		if kind, ack = Ack, (psn+1)&PSNMask; rest[0] == syndromeNAK {
			kind, ack = Nack, psn
		}
		if message = be.Uint32(rest) & PSNMask; b[4]&0x40 != 0 {
			flags = ECE
		}
		switch {
		case kind == Nack && p.IsNotification():
			if ack, flags = ours, 0; n != aethHeader {
				return false
			}
		case n > aethHeader:
			seq = int64(be.Uint32(rest[aethHeader:]) & PSNMask)
		}
	default:
		return false
	}
	if pad != 0 {
		return false
	}
	p.Proto, p.DstPort = ProtoRDMA, be.Uint16(b[6:])
	p.Kind, p.Seq, p.Ack, p.Payload = kind, seq, ack, int32(payload)
	p.TCP.Flags, p.Message = flags, message
	return true
}

// sealRDMA writes UDP's length and checksum, and the ICRC, of a datagram behind this IP header. Over IPv4 the checksum
// is 0, as in RoCE's NICs.
func sealRDMA(ip, udp []byte) {
	be.PutUint16(udp[4:], uint16(len(udp)))
	crc := invariantCRC(ip, udp)
	for i := range icrcBytes { // the least significant byte first
		udp[len(udp)-icrcBytes+i] = uint8(crc >> (8 * i))
	}
	be.PutUint16(udp[6:], 0)
	if ip[0]>>4 == 6 {
		h := IPv6(ip)
		SealUDP(udp, h.Src(), h.Dst())
	}
}

// invariantCRC returns the invariant CRC of a RoCEv2 datagram without its last four bytes, behind an IP header without
// options (Linux, rxe_icrc.c). It is CRC-32 over eight bytes of ones in place of InfiniBand's local header, over the
// headers, and over the rest. Fields that routers may change count as ones: TOS or traffic class and flow label, TTL
// or hop limit, both checksums, and the byte of BTH with FECN and BECN.
//
// Bytes that switches insert are removed before the check, and changed fields restored: IP's length and protocol, and
// for INT UDP's length and destination port (INTPort; the original is in the shim). IOAM and extensions are between IP
// and UDP, INT behind UDP's header, and IFA on both sides of it.
func invariantCRC(ip, udp []byte) uint32 {
	var room [8 + IPv6Header + UDPHeader + bthHeader]byte
	b := room[:8]
	be.PutUint64(b, 1<<64-1)
	if ip[0]>>4 == 6 {
		b = append(b, ip[:IPv6Header]...)
		h := b[8:]
		h[0] |= 0x0f
		h[1], h[2], h[3] = 0xff, 0xff, 0xff
		be.PutUint16(h[4:], uint16(len(udp)))
		h[6], h[7] = ProtoUDP, 0xff
	} else {
		b = append(b, ip[:IPv4Header]...)
		h := b[8:]
		h[1], h[8], h[9], h[10], h[11] = 0xff, 0xff, ProtoUDP, 0xff, 0xff
		be.PutUint16(h[2:], uint16(IPv4Header+len(udp)))
	}
	u := len(b)
	b = append(b, udp[:UDPHeader+bthHeader]...)
	b[u+6], b[u+7], b[u+UDPHeader+4] = 0xff, 0xff, 0xff
	return crc32.Update(crc32.ChecksumIEEE(b), crc32.IEEETable, udp[UDPHeader+bthHeader:len(udp)-icrcBytes])
}

// cutRDMA shortens the payload of a datagram of data from had bytes to payload bytes, and adapts the padding. The
// result is a copy of the end, with space for the ICRC; lengths and checksums are sealRDMA's.
func cutRDMA(udp []byte, had, payload int32) []byte {
	n := int32(len(udp)) - icrcBytes - had - -had&3
	udp = append(udp[:n+payload:n+payload], make([]byte, -payload&3+icrcBytes)...)
	udp[UDPHeader+1] = udp[UDPHeader+1]&^0x30 | uint8(-payload&3)<<4
	return udp
}

// checkEmittableRDMA returns an error if p has values that a RoCEv2 frame cannot carry.
func (p *Packet) checkEmittableRDMA() error {
	switch {
	case p.Kind != Data && p.Payload > 0:
		return fmt.Errorf("packet of flow %d: payload of %d bytes; of RDMA, data has payload only", p.Flow, p.Payload)
	case p.Kind > Probe || p.Kind == Pause || p.Kind == Resume:
		return fmt.Errorf("packet of flow %d: RDMA has no kind %d", p.Flow, p.Kind)
	}
	return nil
}
