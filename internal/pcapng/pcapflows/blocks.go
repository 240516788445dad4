package pcapflows

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"weir/core/unit"
)

// Frame is a frame that a capture has.
type Frame struct {
	Block   int              // in which it is, from 1: of pcapng a block, of pcap the file's header or a packet
	Offset  int64            // of the block in the file
	On      captureInterface // at which it was captured
	Timed   bool             // a simple packet block has no time
	Seconds int64            // since 1970, as the file's clock has it
	Part    unit.Time        // of the second
	Data    []byte           // what was kept of it: the file's own bytes
	Length  int              // of all of it
}

// captureInterface is where frames were captured.
type captureInterface struct {
	Name   string // "interface0" where the file has none
	Link   uint32 // type of its link layer (LINKTYPE_…)
	Number int    // from 0, over all sections of a file

	snap   uint32
	ticks  uint64 // of time stamps a second
	offset int64  // of their 0 from 1970, in seconds
}

// BlockError is what is wrong with a capture, and where.
type BlockError struct {
	Block  int   // from 1
	Offset int64 // of the block
	Msg    string
}

func (e *BlockError) Error() string {
	return fmt.Sprintf("block %d at offset %d: %s", e.Block, e.Offset, e.Msg)
}

// Frames hands f the frames of a capture in the file's order: of pcapng (draft-ietf-opsawg-pcapng), with any sections
// and interfaces, in either byte order, or of pcap (draft-ietf-opsawg-pcap), in micro- or nanoseconds. What is wrong
// with the file is a *BlockError.
func Frames(file []byte, f func(*Frame) error) error {
	r := &blocks{file: file, give: f, number: 1}
	if len(file) < 4 {
		return r.fail("a file of %d bytes is no capture; pcapng and pcap are", len(file))
	}
	switch magic := binary.BigEndian.Uint32(file); {
	case magic == sectionBlock:
		return r.pcapng()
	case magic == microseconds || magic == nanoseconds:
		r.order = binary.BigEndian
		return r.pcap()
	case bits.ReverseBytes32(magic) == microseconds || bits.ReverseBytes32(magic) == nanoseconds:
		r.order = binary.LittleEndian
		return r.pcap()
	case magic>>16 == 0x1f8b || magic == 0x28b52ffd || magic == 0xfd377a58:
		return r.fail("the file is compressed; decompress it first")
	default:
		return r.fail("the file begins with 0x%08x, as no capture does; pcapng (0x0a0d0d0a) and pcap (0xa1b2c3d4, "+
			"0xa1b23c4d) are read", magic)
	}
}

// Numbers of the two formats.
const (
	sectionBlock   uint32 = 0x0a0d0d0a
	interfaceBlock uint32 = 1
	packetBlock    uint32 = 2 // obsolete
	simpleBlock    uint32 = 3
	enhancedBlock  uint32 = 6
	orderMagic     uint32 = 0x1a2b3c4d

	optionName       = 2
	optionResolution = 9
	optionOffset     = 14

	microseconds uint32 = 0xa1b2c3d4
	nanoseconds  uint32 = 0xa1b23c4d
	pcapHeader          = 24
	pcapPacket          = 16

	// mostFrame is how long a frame can be (tcpdump and Wireshark: MAXIMUM_SNAPLEN).
	mostFrame = 262144
)

// blocks reads a file.
type blocks struct {
	file    []byte
	give    func(*Frame) error
	order   binary.ByteOrder
	at      int64 // offset of the block in hand
	number  int
	section []captureInterface
	known   int // interfaces of sections before
	frame   Frame
}

func (r *blocks) fail(format string, args ...any) error {
	return &BlockError{r.number, r.at, fmt.Sprintf(format, args...)}
}

// pcapng reads blocks.
func (r *blocks) pcapng() error {
	for ; r.at < int64(len(r.file)); r.number++ {
		b := r.file[r.at:]
		if len(b) < 12 {
			return r.fail("the file ends after %d bytes of a block", len(b))
		}
		kind := binary.BigEndian.Uint32(b)
		if kind == sectionBlock {
			switch magic := binary.BigEndian.Uint32(b[8:]); magic {
			case orderMagic:
				r.order = binary.BigEndian
			case bits.ReverseBytes32(orderMagic):
				r.order = binary.LittleEndian
			default:
				return r.fail("a section whose byte order magic is 0x%08x; 0x%08x is", magic, orderMagic)
			}
		}
		kind = r.order.Uint32(b)
		length := r.order.Uint32(b[4:])
		if length < 12 || length%4 != 0 {
			return r.fail("a block of %d bytes; at least 12, and a multiple of 4", length)
		}
		if int64(length) > int64(len(b)) {
			return r.fail("a block of %d bytes, and the file ends after %d of them", length, len(b))
		}
		if end := r.order.Uint32(b[length-4:]); end != length {
			return r.fail("a block has %d bytes at its begin and %d at its end", length, end)
		}
		if err := r.block(kind, b[8:length-4]); err != nil {
			return err
		}
		r.at += int64(length)
	}
	return nil
}

// block reads one, of which body is what stands between its lengths.
func (r *blocks) block(kind uint32, body []byte) error {
	switch kind {
	case sectionBlock:
		if len(body) < 16 {
			return r.fail("a section header of %d bytes", len(body)+12)
		}
		if major := r.order.Uint16(body[4:]); major != 1 {
			return r.fail("version %d of pcapng; 1 is possible", major)
		}
		r.known += len(r.section)
		r.section = r.section[:0]
	case interfaceBlock:
		return r.describe(body)
	case enhancedBlock, packetBlock:
		if len(body) < 20 {
			return r.fail("a packet's block of %d bytes", len(body)+12)
		}
		on := r.order.Uint32(body)
		if kind == packetBlock {
			on = uint32(r.order.Uint16(body))
		}
		i, err := r.on(on)
		if err != nil {
			return err
		}
		stamp := uint64(r.order.Uint32(body[4:]))<<32 | uint64(r.order.Uint32(body[8:]))
		r.frame = Frame{Timed: true}
		if err := r.stamp(i, stamp); err != nil {
			return err
		}
		return r.packet(i, body[20:], r.order.Uint32(body[12:]), r.order.Uint32(body[16:]))
	case simpleBlock:
		if len(body) < 4 {
			return r.fail("a simple packet's block of %d bytes", len(body)+12)
		}
		i, err := r.on(0)
		if err != nil {
			return err
		}
		r.frame = Frame{}
		length := r.order.Uint32(body)
		kept := length
		if i.snap > 0 {
			kept = min(kept, i.snap)
		}
		return r.packet(i, body[4:], kept, length)
	}
	return nil // others say nothing of frames
}

// on is an interface of the section.
func (r *blocks) on(number uint32) (*captureInterface, error) {
	if int64(number) >= int64(len(r.section)) {
		return nil, r.fail("a packet of interface %d, and the section has described %d interfaces", number, len(r.section))
	}
	return &r.section[number], nil
}

// describe reads an interface description block.
func (r *blocks) describe(body []byte) error {
	if len(body) < 8 {
		return r.fail("an interface's block of %d bytes", len(body)+12)
	}
	i := captureInterface{Link: uint32(r.order.Uint16(body)), snap: r.order.Uint32(body[4:]), ticks: 1e6,
		Number: r.known + len(r.section)}
	i.Name = fmt.Sprint("interface", i.Number)
	for b := body[8:]; len(b) > 0; {
		if len(b) < 4 {
			return r.fail("%d bytes of an option", len(b))
		}
		code, n := r.order.Uint16(b), int(r.order.Uint16(b[2:]))
		if code == 0 {
			break
		}
		if b = b[4:]; n+(-n&3) > len(b) {
			return r.fail("option %d has %d bytes, and the block %d", code, n, len(b))
		}
		value := b[:n]
		b = b[n+(-n&3):]
		switch {
		case code == optionName && n > 0:
			i.Name = string(value)
		case code == optionResolution && n == 1:
			if i.ticks = ticks(value[0]); i.ticks == 0 {
				return r.fail("interface %d: if_tsresol 0x%02x; 10^-19 s and 2^-63 s are the finest possible", i.Number, value[0])
			}
		case code == optionOffset && n == 8:
			i.offset = int64(r.order.Uint64(value))
		}
	}
	r.section = append(r.section, i)
	return nil
}

// ticks is how many units of if_tsresol a second has; 0: too many.
func ticks(resolution uint8) uint64 {
	if n := resolution & 0x7f; resolution&0x80 != 0 {
		if n > 63 {
			return 0
		}
		return 1 << n
	} else if n > 19 {
		return 0
	}
	t := uint64(1)
	for range resolution {
		t *= 10
	}
	return t
}

// mostSeconds bounds times, so that differences of them have a number: the year 70,000 or so.
const mostSeconds = 1 << 41

// stamp sets the time of the frame in hand.
func (r *blocks) stamp(i *captureInterface, stamp uint64) error {
	seconds, rest := stamp/i.ticks, stamp%i.ticks
	if seconds > mostSeconds || i.offset > mostSeconds || i.offset < -mostSeconds {
		return r.fail("a time stamp of %d s with an if_tsoffset of %d s", seconds, i.offset)
	}
	high, low := bits.Mul64(rest, uint64(unit.Second))
	part, _ := bits.Div64(high, low, i.ticks)
	r.frame.Seconds, r.frame.Part = int64(seconds)+i.offset, unit.Time(part)
	return nil
}

// packet hands on the frame in hand, of whose length bytes so many are kept, which data begins with.
func (r *blocks) packet(i *captureInterface, data []byte, kept, length uint32) error {
	switch {
	case kept > mostFrame || length > 1<<30:
		return r.fail("a packet of %d bytes, of which %d are kept; up to %d can be", length, kept, mostFrame)
	case int64(kept) > int64(len(data)):
		return r.fail("a packet of which %d bytes are kept, and the block has %d", kept, len(data))
	case kept > length:
		return r.fail("a packet of %d bytes, of which %d are kept", length, kept)
	}
	x := &r.frame
	x.Block, x.Offset, x.On, x.Data, x.Length = r.number, r.at, *i, data[:kept:kept], int(length)
	return r.give(x)
}

// pcap reads a file of the older format.
func (r *blocks) pcap() error {
	if len(r.file) < pcapHeader {
		return r.fail("the file ends after %d of the %d bytes of a header of pcap", len(r.file), pcapHeader)
	}
	i := captureInterface{Name: "interface0", Link: r.order.Uint32(r.file[20:]) & 0xffff, ticks: 1e6}
	if r.order.Uint32(r.file) == nanoseconds {
		i.ticks = 1e9
	}
	if major := r.order.Uint16(r.file[4:]); major != 2 {
		return r.fail("version %d of pcap; 2 is possible", major)
	}
	for r.at = pcapHeader; r.at < int64(len(r.file)); {
		r.number++
		b := r.file[r.at:]
		if len(b) < pcapPacket {
			return r.fail("the file ends after %d of the %d bytes of a packet's header", len(b), pcapPacket)
		}
		kept := r.order.Uint32(b[8:])
		if part := r.order.Uint32(b[4:]); uint64(part) >= i.ticks {
			return r.fail("a time stamp with %d parts of a second, which has %d", part, i.ticks)
		}
		r.frame = Frame{Timed: true, Seconds: int64(r.order.Uint32(b)),
			Part: unit.Time(r.order.Uint32(b[4:])) * (unit.Second / unit.Time(i.ticks))}
		if err := r.packet(&i, b[pcapPacket:], kept, r.order.Uint32(b[12:])); err != nil {
			return err
		}
		r.at += pcapPacket + int64(kept)
	}
	return nil
}
