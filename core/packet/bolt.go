package packet

import (
	"encoding/binary"

	"weir/core/unit"
)

// Extensions of Bolt's header (Bolt §3): on data, which switches may write to, on its acknowledgement, and on the
// message (SRC) that a switch sends to the sender. The latter two do not change en route. Kinds and form are Weir's
// own, because Bolt's simulator has a different transport header.
const (
	ExtBolt       uint8 = 0x39
	ExtBoltAnswer uint8 = 0x1e
)

// Flags of Bolt's header.
const (
	BoltFirst    uint8 = 1 << iota // of the flow's first window: the sender has no acknowledgement yet
	BoltLast                       // of its last window: the acknowledgement of this packet triggers no packet
	BoltIncrease                   // INC: the sender requests one more packet, and the switches agree
	BoltDecrease                   // DEC: the packet found a queue at a switch
	BoltNotified                   // with BoltDecrease: that switch has notified the sender directly
	boltFlags    = 1<<iota - 1
)

// Bolt is Bolt's header.
type Bolt struct {
	Flags uint8
	// Sent is the time when the sender sent the data, in ns modulo 2³².
	Sent uint32
	// Queue is the queue that the data found at a port of rate Link, up to 4.29 GB, with BoltDecrease. On the wire Link
	// is in whole Mbit/s up to 16.7 Tb/s. 0: unknown.
	Queue unit.Bytes
	Link  unit.Rate
}

const boltBytes = 12 // flags, sent, queue, link

// BoltBytes is the length of the header on the wire, including the header of extensions around it.
const BoltBytes = 2 + 2 + boltBytes

// SetBolt adds the header to p, as data's header or, if answer is set, as an answer's. It returns false, without a
// change, if p has no room. Link is rounded up to whole Mbit/s. p.Size stays.
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

// Bolt reads the header that p carries as data or, if answer is set, as an answer. It returns false if the header is
// missing or damaged; h is then undefined.
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

// AnswerBolt turns the header of data into the header of its acknowledgement, and removes all other extensions. Without
// such a header p has no extensions afterwards.
func (p *Packet) AnswerBolt() {
	if p.extLen > 0 {
		p.KeepExtension(ExtBolt)
		p.RenameExtension(ExtBolt, ExtBoltAnswer)
	}
}

// BoltClock converts a time to the form of Bolt's header: ns modulo 2³².
func BoltClock(t unit.Time) uint32 { return uint32(t / unit.Nanosecond) }
