package packet

import (
	"encoding/binary"

	"weir/core/unit"
)

// Extensions of Bolt's header (Bolt §3): of data, which switches may write to, of its acknowledgement,
// and of the message (SRC) that a switch sends to the sender. The latter two do not change en route.
// Kinds and form are ours: Bolt's own simulator has a transport header of its own.
const (
	ExtBolt       uint8 = 0x39
	ExtBoltAnswer uint8 = 0x1e
)

// Flags of Bolt's header.
const (
	BoltFirst    uint8 = 1 << iota // of the flow's first window: no acknowledgement has come yet
	BoltLast                       // of its last window: no packet follows on this one's acknowledgement
	BoltIncrease                   // INC: the sender asks for a packet more, and the switches agree
	BoltDecrease                   // DEC: it found a queue at some switch
	BoltTold                       // of which that switch has told the sender itself
	boltFlags    = 1<<iota - 1
)

// Bolt is the header.
type Bolt struct {
	Flags uint8
	// Sent is when the sender sent the data, in ns modulo 2³².
	Sent uint32
	// Queue, up to 4.29 GB, is what the data found before it at a port of Link, whole Mbit/s up to 16.7 Tb/s on
	// the wire, with BoltDecrease; 0: not said here.
	Queue unit.Bytes
	Link  unit.Rate
}

const boltBytes = 12 // flags, sent, queue, link

// BoltBytes is the length of the header on the wire, with the one of extensions that it stands in.
const BoltBytes = 2 + 2 + boltBytes

// SetBolt puts the header into p, as that of data or, as an answer, of what goes back. It returns false, and
// changes nothing, if there is no room for it.
func (p *Packet) SetBolt(h *Bolt, answer bool) bool {
	kind := ExtBolt
	if answer {
		kind = ExtBoltAnswer
	}
	link := min((max(h.Link, 0)+unit.Mbps-1)/unit.Mbps, 1<<24-1)
	var b [boltBytes]byte
	b[0] = h.Flags
	binary.BigEndian.PutUint32(b[1:], h.Sent)
	binary.BigEndian.PutUint32(b[5:], uint32(min(max(h.Queue, 0), 1<<32-1)))
	b[9], b[10], b[11] = byte(link>>16), byte(link>>8), byte(link)
	return p.SetExtension(kind, b[:])
}

// Bolt reads the header that p carries as data, or as an answer. It returns false if there is none, or it is
// damaged; h is then undefined.
func (p *Packet) Bolt(h *Bolt, answer bool) bool {
	kind := ExtBolt
	if answer {
		kind = ExtBoltAnswer
	}
	if p.extLen == 0 {
		return false
	}
	b, ok := p.Extension(kind)
	if !ok || len(b) != boltBytes || b[0]&^uint8(boltFlags) != 0 {
		return false
	}
	*h = Bolt{b[0], binary.BigEndian.Uint32(b[1:]), unit.Bytes(binary.BigEndian.Uint32(b[5:])),
		unit.Rate(b[9])<<16 | unit.Rate(b[10])<<8 | unit.Rate(b[11])}
	h.Link *= unit.Mbps
	return true
}

// AnswerBolt makes of the header of data that of its acknowledgement, and removes all other extensions.
func (p *Packet) AnswerBolt() {
	if p.extLen > 0 {
		p.KeepExtension(ExtBolt)
		p.RenameExtension(ExtBolt, ExtBoltAnswer)
	}
}

// BoltClock is a time as Bolt's header has it.
func BoltClock(t unit.Time) uint32 { return uint32(t / unit.Nanosecond) }
