package pcapflows

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"weir/core/unit"
)

// Frame is a captured frame.
type Frame struct {
	Block     int              // number of its block in a pcapng file, or of the header or packet in a pcap file, from 1
	Offset    int64            // of the block in the file
	Interface captureInterface // where it was captured
	Timed     bool             // a simple packet block has no time
	Seconds   int64            // since 1970, as the file's clock has it
	Part      unit.Time        // fraction of the second
	Data      []byte           // captured bytes, a slice of the file
	Length    int              // length of the whole frame in bytes
}

// captureInterface describes an interface of a capture.
type captureInterface struct {
	Name   string // "interface0" if the file has no name
	Link   uint32 // type of its link layer (LINKTYPE_…)
	Number int    // from 0, over all sections of a file

	snapLength     uint32
	ticksPerSecond uint64 // time stamp units per second
	offset         int64  // seconds from 1970 to time stamp 0
}

// BlockError reports a defect of a capture and its place.
type BlockError struct {
	Block  int   // number, from 1
	Offset int64 // of the block, in bytes
	Msg    string
}

func (e *BlockError) Error() string {
	return fmt.Sprintf("block %d at offset %d: %s", e.Block, e.Offset, e.Msg)
}

// ReadFrames calls f with the frames of a capture in the file's order. The frame is valid until f returns. An error of
// f ends the reading and is returned. It reads pcapng (draft-ietf-opsawg-pcapng) with any sections and interfaces in
// either byte order, and pcap (draft-ietf-opsawg-pcap) in micro- or nanoseconds. Defects of the file are returned as
// *BlockError.
func ReadFrames(file []byte, f func(*Frame) error) error {
	r := &blockReader{file: file, emit: f, number: 1}
	if len(file) < 4 {
		return r.fail("a file of %d bytes is no capture; pcapng and pcap are", len(file))
	}
	switch magic := binary.BigEndian.Uint32(file); {
	case magic == sectionBlock:
		return r.readPCAPNG()
	case magic == microseconds || magic == nanoseconds:
		r.order = binary.BigEndian
		return r.readPCAP()
	case bits.ReverseBytes32(magic) == microseconds || bits.ReverseBytes32(magic) == nanoseconds:
		r.order = binary.LittleEndian
		return r.readPCAP()
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

	// maxFrame is the longest possible frame in bytes (tcpdump and Wireshark: MAXIMUM_SNAPLEN).
	maxFrame = 262144
)

// blockReader reads a capture file.
type blockReader struct {
	file            []byte
	emit            func(*Frame) error
	order           binary.ByteOrder
	offset          int64 // offset of the current block
	number          int
	section         []captureInterface
	priorInterfaces int // interfaces of earlier sections
	frame           Frame
}

// fail returns a BlockError at the current block.
func (r *blockReader) fail(format string, args ...any) error {
	return &BlockError{r.number, r.offset, fmt.Sprintf(format, args...)}
}

// readPCAPNG reads all blocks of a pcapng file and passes their frames to r.emit. An error of r.emit ends it.
func (r *blockReader) readPCAPNG() error {
	for ; r.offset < int64(len(r.file)); r.number++ {
		b := r.file[r.offset:]
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
		if err := r.readBlock(kind, b[8:length-4]); err != nil {
			return err
		}
		r.offset += int64(length)
	}
	return nil
}

// readBlock handles a block; body is the part between its two lengths.
func (r *blockReader) readBlock(kind uint32, body []byte) error {
	switch kind {
	case sectionBlock:
		if len(body) < 16 {
			return r.fail("a section header of %d bytes", len(body)+12)
		}
		if major := r.order.Uint16(body[4:]); major != 1 {
			return r.fail("version %d of pcapng; allowed: 1", major)
		}
		r.priorInterfaces += len(r.section)
		r.section = r.section[:0]
	case interfaceBlock:
		return r.readInterface(body)
	case enhancedBlock, packetBlock:
		if len(body) < 20 {
			return r.fail("a packet's block of %d bytes", len(body)+12)
		}
		number := r.order.Uint32(body)
		if kind == packetBlock {
			number = uint32(r.order.Uint16(body))
		}
		i, err := r.interfaceAt(number)
		if err != nil {
			return err
		}
		stamp := uint64(r.order.Uint32(body[4:]))<<32 | uint64(r.order.Uint32(body[8:]))
		r.frame = Frame{Timed: true}
		if err := r.setTime(i, stamp); err != nil {
			return err
		}
		return r.emitPacket(i, body[20:], r.order.Uint32(body[12:]), r.order.Uint32(body[16:]))
	case simpleBlock:
		if len(body) < 4 {
			return r.fail("a simple packet's block of %d bytes", len(body)+12)
		}
		i, err := r.interfaceAt(0)
		if err != nil {
			return err
		}
		r.frame = Frame{}
		length := r.order.Uint32(body)
		kept := length
		if i.snapLength > 0 {
			kept = min(kept, i.snapLength)
		}
		return r.emitPacket(i, body[4:], kept, length)
	}
	return nil // other blocks have no frames
}

// interfaceAt returns an interface of the current section, or an error if it is not described.
func (r *blockReader) interfaceAt(number uint32) (*captureInterface, error) {
	if int64(number) >= int64(len(r.section)) {
		return nil, r.fail("a packet of interface %d, and the section has described %d interfaces", number, len(r.section))
	}
	return &r.section[number], nil
}

// readInterface reads the body of an interface description block and appends the interface to r.section.
func (r *blockReader) readInterface(body []byte) error {
	if len(body) < 8 {
		return r.fail("an interface's block of %d bytes", len(body)+12)
	}
	i := captureInterface{Link: uint32(r.order.Uint16(body)), snapLength: r.order.Uint32(body[4:]), ticksPerSecond: 1e6,
		Number: r.priorInterfaces + len(r.section)}
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
			if i.ticksPerSecond = ticksPerSecond(value[0]); i.ticksPerSecond == 0 {
				return r.fail("interface %d: if_tsresol 0x%02x; 10^-19 s and 2^-63 s are the finest possible", i.Number, value[0])
			}
		case code == optionOffset && n == 8:
			i.offset = int64(r.order.Uint64(value))
		}
	}
	r.section = append(r.section, i)
	return nil
}

// ticksPerSecond decodes if_tsresol to time stamp units per second, 0 if the resolution is too fine.
func ticksPerSecond(resolution uint8) uint64 {
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

// maxSeconds limits times, so that their differences fit a number; it is about the year 70,000.
const maxSeconds = 1 << 41

// setTime sets the time of the current frame from a time stamp of interface i.
func (r *blockReader) setTime(i *captureInterface, stamp uint64) error {
	seconds, rest := stamp/i.ticksPerSecond, stamp%i.ticksPerSecond
	if seconds > maxSeconds || i.offset > maxSeconds || i.offset < -maxSeconds {
		return r.fail("a time stamp of %d s with an if_tsoffset of %d s", seconds, i.offset)
	}
	high, low := bits.Mul64(rest, uint64(unit.Second))
	part, _ := bits.Div64(high, low, i.ticksPerSecond)
	r.frame.Seconds, r.frame.Part = int64(seconds)+i.offset, unit.Time(part)
	return nil
}

// emitPacket passes the current frame to r.emit. The frame has length bytes; data starts with the first kept ones.
func (r *blockReader) emitPacket(i *captureInterface, data []byte, kept, length uint32) error {
	switch {
	case kept > maxFrame || length > 1<<30:
		return r.fail("a packet of %d bytes, of which %d are kept; up to %d can be", length, kept, maxFrame)
	case int64(kept) > int64(len(data)):
		return r.fail("a packet of which %d bytes are kept, and the block has %d", kept, len(data))
	case kept > length:
		return r.fail("a packet of %d bytes, of which %d are kept", length, kept)
	}
	x := &r.frame
	x.Block, x.Offset, x.Interface, x.Data, x.Length = r.number, r.offset, *i, data[:kept:kept], int(length)
	return r.emit(x)
}

// readPCAP reads a pcap file in the byte order r.order and passes its frames to r.emit. An error of r.emit ends it.
func (r *blockReader) readPCAP() error {
	if len(r.file) < pcapHeader {
		return r.fail("the file ends after %d of the %d bytes of a header of pcap", len(r.file), pcapHeader)
	}
	i := captureInterface{Name: "interface0", Link: r.order.Uint32(r.file[20:]) & 0xffff, ticksPerSecond: 1e6}
	if r.order.Uint32(r.file) == nanoseconds {
		i.ticksPerSecond = 1e9
	}
	if major := r.order.Uint16(r.file[4:]); major != 2 {
		return r.fail("version %d of pcap; allowed: 2", major)
	}
	for r.offset = pcapHeader; r.offset < int64(len(r.file)); {
		r.number++
		b := r.file[r.offset:]
		if len(b) < pcapPacket {
			return r.fail("the file ends after %d of the %d bytes of a packet's header", len(b), pcapPacket)
		}
		kept := r.order.Uint32(b[8:])
		if part := r.order.Uint32(b[4:]); uint64(part) >= i.ticksPerSecond {
			return r.fail("a time stamp with %d parts of a second, which has %d", part, i.ticksPerSecond)
		}
		r.frame = Frame{Timed: true, Seconds: int64(r.order.Uint32(b)),
			Part: unit.Time(r.order.Uint32(b[4:])) * (unit.Second / unit.Time(i.ticksPerSecond))}
		if err := r.emitPacket(&i, b[pcapPacket:], kept, r.order.Uint32(b[12:])); err != nil {
			return err
		}
		r.offset += pcapPacket + int64(kept)
	}
	return nil
}
