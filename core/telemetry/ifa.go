package telemetry

import (
	"encoding/binary"

	"weir/core/packet"
	"weir/core/unit"
)

// IFA 2.0 (draft-kumar-ippm-ifa) is placed around the transport's header (packet.AroundTransport):
//
//	4 bytes  header, before it: version 4, GNS 4, next header 8, flags 8, max length 8 in words
//	4 bytes  metadata header, behind it: request 8, action 8, hop limit 8, current length 8 in words
//	then a record of each hop, the newest first:
//	  LNS 4, device 20, TTL 8
//	  speed 4, ECN 2, queue 6, seconds of arrival 20
//	  egress port 16, ingress port 16
//	  nanoseconds of arrival 32
//	  residence time 32, in nanoseconds
//	  bytes in the queue 32
//	  reserved 16, cells in the queue 16
//	  reserved 32
//
// A record has 32 bytes and no count of sent bytes. In format ifa-ext each record is followed by the counter, 40 bytes
// in all, and belongs to Weir's local namespace: GNS 15, LNS 1. Speeds have the codes of Format.rates; the first seven
// are from the draft's authors. A cell has 256 bytes. The time of the dequeue is arrival plus residence, rounded down;
// seconds wrap after 12 days. For a packet that was longer than 4.29 s in a switch, the arrival is set to 4.29 s
// before its departure.
//
// Every node decrements the hop limit, and adds a record while max length and the MTU allow it. So an answer shows how
// many hops had no room.
const (
	ifaHeader    = 4 + 4
	ifaRecord    = 32
	ifaExtended  = ifaRecord + 8
	ifaLimit     = 254 // hop limit of packets that ask; 255 would not be counted down
	ifaLocal     = 15
	ifaNamespace = 1
	ifaInband    = 0x04 // flag: live traffic
	ifaCell      = 256
	ifaSeconds   = 20 // bits
	ifaUnknown   = 15 // speed
)

// ifaBytes returns the length of a record in bytes.
func (f *Format) ifaBytes() int {
	if f.extended {
		return ifaExtended
	}
	return ifaRecord
}

// openIFA appends both headers of a packet that requests telemetry, without records.
func (f *Format) openIFA(b []byte) []byte {
	space := uint8(0)
	if f.extended {
		space = ifaLocal
	}
	return append(b, 2<<4|space, 0, ifaInband, uint8(f.Hops*f.ifaBytes()/4), 0, 0, ifaLimit, 0)
}

// pushIFA adds a record of at most room bytes to p's stack, and decrements its hop limit. It returns false if it adds
// no record; the hop limit may be decremented nevertheless.
func (f *Format) pushIFA(p *packet.Packet, h *Hop, room int32) bool {
	b := p.Stack()
	if len(b) < ifaHeader || b[0]>>4 != 2 || (b[0]&15 == ifaLocal) != f.extended || b[6] == 0 {
		return false
	}
	if b[6] != 255 {
		b[6]--
	}
	one := f.ifaBytes()
	if int(b[7])+one/4 > int(b[3]) || int32(one) > room {
		return false
	}
	all := p.GrowStack(ifaHeader, one)
	if all == nil {
		return false
	}
	all[7] += uint8(one / 4)
	f.writeIFA(all[ifaHeader:][:0:one], p, h)
	return true
}

// writeIFA appends the record of h to record, which has room for it; values of the packet are read from p.
func (f *Format) writeIFA(record []byte, p *packet.Packet, h *Hop) {
	be, local := binary.BigEndian, uint32(0)
	if f.extended {
		local = ifaNamespace
	}
	left := floorNanoseconds(h.Time)
	stay := min(max(left-floorNanoseconds(h.Time-h.Sojourn), 0), 1<<32-2)
	came := left - stay
	sec := came / 1e9
	if came -= sec * 1e9; came < 0 {
		sec, came = sec-1, came+1e9
	}
	speed := uint32(min(f.speedCode(h.Rate, ifaUnknown), ifaUnknown))
	record = be.AppendUint32(record, local<<28|h.Switch&(1<<20-1)<<8|uint32(p.HopLimit))
	record = be.AppendUint32(record, speed<<28|uint32(p.TOS&packet.ECN)<<26|uint32(p.Meta.Queue&63)<<20|
		uint32(sec)&(1<<ifaSeconds-1))
	record = be.AppendUint16(be.AppendUint16(record, h.Port), uint16(p.Meta.In))
	record = be.AppendUint32(be.AppendUint32(record, uint32(came)), uint32(stay))
	record = be.AppendUint32(record, saturate32(int64(h.Queue)))
	record = be.AppendUint32(record, uint32(min((max(h.Queue, 0)+ifaCell-1)/ifaCell, 1<<16-1)))
	record = be.AppendUint32(record, 0)
	if f.extended {
		be.AppendUint64(record, encodeCounter(h.TxBytes, h.Rate))
	}
}

// readIFA reads a stack into r. It returns false for a damaged one, or one of another namespace; r is then empty.
func (f *Format) readIFA(b []byte, r *Records) bool {
	r.Reset()
	one := f.ifaBytes()
	if len(b) < ifaHeader || b[0]>>4 != 2 || (b[0]&15 == ifaLocal) != f.extended || len(b) != ifaHeader+4*int(b[7]) ||
		(len(b)-ifaHeader)%one != 0 {
		return false
	}
	n := (len(b) - ifaHeader) / one
	for i := n; i > 0; i-- {
		var h Hop
		f.decodeIFA(b[ifaHeader+(i-1)*one:][:one], &h)
		r.Append(&h)
	}
	r.missed = uint8(min(int(r.missed)+max(ifaLimit-int(b[6])-n, 0), 255))
	return true
}

// decodeIFA decodes the record x, of ifaBytes, into h. A rate of 0 means an unknown speed, or with the extension
// another namespace.
func (f *Format) decodeIFA(x []byte, h *Hop) {
	be := binary.BigEndian
	h.Switch, h.Port = be.Uint32(x)>>8&(1<<20-1), be.Uint16(x[8:])
	stay := unit.Time(be.Uint32(x[16:])) * unit.Nanosecond
	h.Time = unit.Time(be.Uint32(x[4:])&(1<<ifaSeconds-1))*unit.Second + unit.Time(be.Uint32(x[12:]))*unit.Nanosecond +
		stay
	h.Sojourn, h.Queue = stay, unit.Bytes(be.Uint32(x[20:]))
	if h.Rate = f.rates[x[4]>>4]; x[4]>>4 == ifaUnknown {
		h.Rate = 0
	}
	if f.extended {
		if h.TxBytes, h.Rate = decodeCounter(be.Uint64(x[ifaRecord:])); x[0]>>4 != ifaNamespace {
			h.Rate = 0
		}
	}
}
