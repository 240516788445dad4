package telemetry

import (
	"encoding/binary"

	"weir/core/packet"
	"weir/core/unit"
)

// INT-MD of the P4 INT specification v2.1 is placed behind UDP's or TCP's header (packet.BehindTransport):
//
//	 4 bytes  shim: type 4, NPT 2, R 2, length 8 in words without the shim; port or DSCP 16
//	12 bytes  header: version 4, D, E, M, reserved 12, hop ML 5, remaining hop count 8;
//	          instruction bitmap 16, domain-specific ID 16; DS instruction 16, DS flags 16
//	then a record of each hop, the newest first
//
// Weir's packets request the node's ID (bit 0), level 1 ports (bit 1, 16 + 16), queue ID and occupancy (bit 3, 8 + 24,
// in bytes), and the egress time stamp (bit 5, 64 bits of nanoseconds). Where sojourn is on, they also request the hop
// latency (bit 2, 32 bits of nanoseconds). The domain INTDomain has one instruction, bit 0: 8 bytes, the counter. A
// record has 28 bytes, or 32 with the latency.
//
// A value that does not fit its field is replaced by the field's largest value. A node that finds the remaining hop
// count at 0 sets E and adds no record. One that finds no room in the packet, or in the MTU, sets M. Weir's packets do
// not request the checksum complement, but a node adds it on request, as all ones: it updates the checksum itself.
const (
	INTDomain uint16 = 0x5752 // Weir's domain-specific ID

	intHeader       = 4 + 12
	intE, intM      = 0x04, 0x02 // flags in the header's first byte
	intInstructions = 1<<15 | 1<<14 | 1<<12 | 1<<10
	intLatency      = 1 << 13
	intCounter      = 1 << 15 // DS instruction
	maxINTQueue     = 1<<24 - 1
	maxINTWords     = 31
	intComplement   = 1
)

// wordsOfINT returns the number of words that a bit of the instruction bitmap, 0 to 15, requests.
func wordsOfINT(bit int) int {
	if bit >= 4 && bit <= 6 {
		return 2
	}
	return 1
}

// intWords returns the number of words of a record, for packets that request telemetry.
func (f *Format) intWords() int {
	if f.Sojourn {
		return 6 + 2
	}
	return 5 + 2
}

// openINT appends the shim and the header of a packet that requests telemetry.
func (f *Format) openINT(b []byte) []byte {
	be := binary.BigEndian
	bitmap, words := uint16(intInstructions), uint8(f.intWords())
	if f.Sojourn {
		bitmap |= intLatency
	}
	b = append(b, 1<<4, 3, 0, 0, 2<<4, 0, words, uint8(f.Hops))
	b = be.AppendUint16(be.AppendUint16(b, bitmap), INTDomain)
	return be.AppendUint16(be.AppendUint16(b, intCounter), 0)
}

// pushINT adds the record that p's instructions request, if it has at most room bytes. It returns false if it adds no
// record; without hops left it then sets E, and without room M.
func pushINT(p *packet.Packet, h *Hop, room int32) bool {
	b := p.Stack()
	if len(b) < intHeader {
		return false
	}
	if b[7] == 0 {
		b[4] |= intE
		return false
	}
	var space [4*maxINTWords + 8]byte
	words := int(b[6] & 31)
	record := appendINT(space[:0], b, p, h)
	if words == 0 || len(record) > 4*words { // instructions that do not fit the record length
		return false
	}
	for len(record) < 4*words { // unknown domains, and the checksum complement
		record = append(record, 0xff)
	}
	if int(b[1])+words > 255 || int32(4*words) > room {
		b[4] |= intM
		return false
	}
	all := p.GrowStack(intHeader, 4*words)
	if all == nil {
		b[4] |= intM
		return false
	}
	copy(all[intHeader:], record)
	all[1] += uint8(words)
	all[7]--
	return true
}

// appendINT appends the values that the instructions in the header b request to record. Values that the node does not
// have are all ones.
func appendINT(record, b []byte, p *packet.Packet, h *Hop) []byte {
	be := binary.BigEndian
	bitmap := be.Uint16(b[8:])
	for bit := range 15 {
		if bitmap>>(15-bit)&1 == 0 {
			continue
		}
		switch bit {
		case 0:
			record = be.AppendUint32(record, h.Switch)
		case 1:
			record = be.AppendUint16(be.AppendUint16(record, uint16(p.Meta.In)), h.Port)
		case 2:
			record = be.AppendUint32(record, saturate32(floorNanoseconds(h.Sojourn)))
		case 3:
			record = be.AppendUint32(record, uint32(p.Meta.Queue)<<24|uint32(min(max(h.Queue, 0), maxINTQueue)))
		case 4:
			record = be.AppendUint64(record, uint64(floorNanoseconds(h.Time-h.Sojourn)))
		case 5:
			record = be.AppendUint64(record, uint64(floorNanoseconds(h.Time)))
		case 6:
			record = be.AppendUint64(record, 1<<64-1)
		default:
			record = be.AppendUint32(record, unavailable)
		}
	}
	if be.Uint16(b[10:]) == INTDomain && be.Uint16(b[12:])&intCounter != 0 {
		record = be.AppendUint64(record, encodeCounter(h.TxBytes, h.Rate))
	}
	return record
}

// readINT reads a stack into r. It returns false for a damaged one; r is then empty.
func readINT(b []byte, r *Records) bool {
	r.Reset()
	if len(b) < intHeader || b[4]>>4 != 2 || intHeader-12+4*int(b[1]) != len(b) || b[6]&31 == 0 {
		return false
	}
	one := 4 * int(b[6]&31)
	for n := (len(b) - intHeader) / one; n > 0; n-- { // the source's own data may follow the records
		var h Hop
		if !decodeINT(b, b[intHeader+(n-1)*one:][:one], &h) {
			r.Reset()
			return false
		}
		r.Append(&h)
	}
	if b[4]&(intE|intM) != 0 {
		r.missed = max(r.missed, 1) // the number is not recorded
	}
	return true
}

// decodeINT decodes the record x of a stack with the header b into h, which must be zero. It returns false if x is
// shorter than the instructions require. A hop without a known queue gets rate 0.
func decodeINT(b, x []byte, h *Hop) bool {
	be := binary.BigEndian
	bitmap, ours := be.Uint16(b[8:]), be.Uint16(b[10:]) == INTDomain && be.Uint16(b[12:])&intCounter != 0
	h.Flags = NoSojourn
	if bitmap>>15 == 0 {
		h.Flags |= NoSwitch
	}
	known := true
	for bit := range 15 {
		if bitmap>>(15-bit)&1 == 0 {
			continue
		}
		n := 4 * wordsOfINT(bit)
		if len(x) < n {
			return false
		}
		switch v := be.Uint32(x); bit {
		case 0:
			h.Switch = v
		case 1:
			h.Port = uint16(v)
		case 2:
			if v != unavailable {
				h.Sojourn, h.Flags = unit.Time(v)*unit.Nanosecond, h.Flags&^NoSojourn
			}
		case 3:
			h.Queue, known = unit.Bytes(v&maxINTQueue), known && v != unavailable
		case 5:
			h.Time = unit.Time(be.Uint64(x)) * unit.Nanosecond
		}
		x = x[n:]
	}
	if ours {
		if len(x) < 8 {
			return false
		}
		if h.TxBytes, h.Rate = decodeCounter(be.Uint64(x)); !known {
			h.Rate = 0
		}
	}
	return true
}
