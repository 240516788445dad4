package trace

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"weir/core/unit"
)

// Blocks of a pcapng file (draft-ietf-opsawg-pcapng) with exact times: its interfaces have if_tsresol 12, picoseconds,
// so that a time stamp of 64 bits is a unit.Time. The file is little-endian, and its link type is Ethernet.
const (
	blockSection   uint32 = 0x0a0d0d0a
	blockInterface uint32 = 1
	blockFrame     uint32 = 6 // enhanced packet block

	byteOrder uint32 = 0x1a2b3c4d

	optionEnd        uint16 = 0
	optionComment    uint16 = 1 // of all blocks
	optionFlags      uint16 = 2 // of a frame: lowest bits 01 inbound, 10 outbound
	optionName       uint16 = 2 // of an interface
	optionResolution uint16 = 9
	optionUser       uint16 = 4 // of a section: application

	picoseconds uint8  = 12
	ethernet    uint16 = 1
)

var le = binary.LittleEndian

// padLength returns the number of bytes from n to the next multiple of 4.
func padLength(n int) int { return -n & 3 }

// appendOption appends an option of a block, padded to a multiple of 4 bytes.
func appendOption(b []byte, code uint16, value string) []byte {
	b = le.AppendUint16(le.AppendUint16(b, code), uint16(len(value)))
	b = append(b, value...)
	return append(b, "\x00\x00\x00"[:padLength(len(value))]...)
}

// appendBlock completes the block that began at start: it writes the length behind the type, where the caller has left
// four bytes, and at the end.
func appendBlock(b []byte, start int) []byte {
	length := uint32(len(b) - start + 4)
	le.PutUint32(b[start+4:], length)
	return le.AppendUint32(b, length)
}

// maxText is the maximum number of bytes of a comment or a name; the rest is cut off.
const maxText = 1 << 12

// cutOff returns the first maxText bytes of s.
func cutOff(s string) string { return s[:min(len(s), maxText)] }

// AppendSection appends the header of a file: the name of the application and a comment. Longer texts are cut off after
// maxText bytes.
func AppendSection(b []byte, application, comment string) []byte {
	start := len(b)
	b = le.AppendUint32(le.AppendUint32(b, blockSection), 0)
	b = le.AppendUint32(b, byteOrder)
	b = le.AppendUint16(le.AppendUint16(b, 1), 0) // version 1.0
	b = le.AppendUint64(b, 1<<64-1)               // length of the section: unknown
	b = appendOption(appendOption(b, optionUser, cutOff(application)), optionComment, cutOff(comment))
	return appendBlock(appendOption(b, optionEnd, ""), start)
}

// AppendInterface appends the description of an interface. Interfaces are numbered from 0. A longer name is cut off
// after maxText bytes.
func AppendInterface(b []byte, name string) []byte {
	start := len(b)
	b = le.AppendUint32(le.AppendUint32(b, blockInterface), 0)
	b = le.AppendUint32(le.AppendUint32(b, uint32(ethernet)), 0) // any length
	b = appendOption(appendOption(b, optionName, cutOff(name)), optionResolution, string(picoseconds))
	return appendBlock(appendOption(b, optionEnd, ""), start)
}

// FrameBlockLength returns the length in bytes of the block of a frame, from the lengths of the frame and its comment.
func FrameBlockLength(frame, comment int) int {
	n := 28 + frame + padLength(frame) + 8 + 4 + 4
	if comment > 0 {
		n += 4 + comment + padLength(comment)
	}
	return n
}

// AppendFrame appends a frame that arrived (inbound) or departed at an interface, by its number, at a time from 0. An
// empty comment is omitted; one has at most 65,535 bytes. AppendFrame does not allocate if b has room for
// FrameBlockLength.
func AppendFrame(b []byte, interfaceID int, frameTime unit.Time, inbound bool, frame, comment []byte) []byte {
	start := len(b)
	b = le.AppendUint32(le.AppendUint32(b, blockFrame), 0)
	b = le.AppendUint32(le.AppendUint32(b, uint32(interfaceID)), uint32(frameTime>>32))
	b = le.AppendUint32(le.AppendUint32(b, uint32(frameTime)), uint32(len(frame)))
	b = append(le.AppendUint32(b, uint32(len(frame))), frame...)
	b = append(b, "\x00\x00\x00"[:padLength(len(frame))]...)
	direction := uint32(2)
	if inbound {
		direction = 1
	}
	b = le.AppendUint32(le.AppendUint16(le.AppendUint16(b, optionFlags), 4), direction)
	if len(comment) > 0 {
		b = le.AppendUint16(le.AppendUint16(b, optionComment), uint16(len(comment)))
		b = append(append(b, comment...), "\x00\x00\x00"[:padLength(len(comment))]...)
	}
	return appendBlock(le.AppendUint32(b, 0), start) // opt_endofopt
}

// Frame is one frame of a file.
type Frame struct {
	At      unit.Time
	On      string // name of its interface
	Inbound bool
	Data    []byte
	Comment string
}

// FrameReader reads the frames of a file written by AppendSection, AppendInterface and AppendFrame, or of an
// equivalent file in the same byte order.
type FrameReader struct {
	Comment string // of the section

	r      *bufio.Reader
	names  []string
	offset int64 // offset of the block
	next   int64
	block  []byte
}

// maxBlock is the maximum length of a block in bytes.
const maxBlock = 1 << 20

// NewFrameReader reads the header of a file and returns a reader of its frames. It is an error if the file is not of
// this format.
func NewFrameReader(r io.Reader) (*FrameReader, error) {
	f := &FrameReader{r: bufio.NewReaderSize(r, 1<<16)}
	kind, body, err := f.readBlock()
	switch {
	case err == io.EOF:
		return nil, errors.New("offset 0: the file is empty")
	case err != nil:
		return nil, err
	case kind != blockSection || len(body) < 16:
		return nil, f.offsetError("no section header block of pcapng")
	case le.Uint32(body) != byteOrder:
		return nil, f.offsetError("the byte order is not little-endian")
	case le.Uint16(body[4:]) != 1:
		return nil, f.offsetError("version %d of pcapng; allowed: 1", le.Uint16(body[4:]))
	}
	return f, f.eachOption(body[16:], func(code uint16, value []byte) {
		if code == optionComment {
			f.Comment = string(value)
		}
	})
}

// offsetError returns an error with the offset of the current block.
func (f *FrameReader) offsetError(format string, args ...any) error {
	return fmt.Errorf("offset %d: %s", f.offset, fmt.Sprintf(format, args...))
}

// readBlock reads a block. The error is io.EOF at the end of the file. The body is valid until the next call. kind is
// the block's type, and body its content without lengths.
func (f *FrameReader) readBlock() (kind uint32, body []byte, err error) {
	f.offset = f.next
	var head [8]byte
	if n, err := io.ReadFull(f.r, head[:]); err == io.EOF {
		return 0, nil, io.EOF
	} else if err == io.ErrUnexpectedEOF {
		return 0, nil, f.offsetError("the file ends after %d bytes of a block", n)
	} else if err != nil {
		return 0, nil, err
	}
	length := le.Uint32(head[4:])
	if length < 12 || length%4 != 0 || length > maxBlock {
		return 0, nil, f.offsetError("a block of %d bytes", length)
	}
	if f.block = f.block[:0]; cap(f.block) < int(length)-8 {
		f.block = make([]byte, 0, length)
	}
	f.block = f.block[:length-8]
	if _, err := io.ReadFull(f.r, f.block); err != nil {
		return 0, nil, f.offsetError("the file ends within a block")
	}
	if end := le.Uint32(f.block[length-12:]); end != length {
		return 0, nil, f.offsetError("a block has %d bytes at its begin, %d at its end", length, end)
	}
	f.next += int64(length)
	return le.Uint32(head[:]), f.block[:length-12], nil
}

// eachOption calls visit for each option in b, the end of a block. The value is valid until the next block is read. It
// fails if an option does not fit into b.
func (f *FrameReader) eachOption(b []byte, visit func(code uint16, value []byte)) error {
	for len(b) > 0 {
		if len(b) < 4 {
			return f.offsetError("%d bytes of an option", len(b))
		}
		code, n := le.Uint16(b), int(le.Uint16(b[2:]))
		if code == optionEnd {
			return nil
		}
		if b = b[4:]; n+padLength(n) > len(b) {
			return f.offsetError("option %d: %d bytes, %d are there", code, n, len(b))
		}
		visit(code, b[:n])
		b = b[n+padLength(n):]
	}
	return nil
}

// NextFrame reads the next frame; its Data is valid until the next call. The error is io.EOF at the end of the file.
// Other errors name the offset. Blocks of other types are skipped.
func (f *FrameReader) NextFrame() (Frame, error) {
	for {
		kind, body, err := f.readBlock()
		if err != nil {
			return Frame{}, err
		}
		switch kind {
		case blockSection:
			return Frame{}, f.offsetError("a second section")
		case blockInterface:
			if len(body) < 8 || le.Uint16(body) != ethernet {
				return Frame{}, f.offsetError("an interface that is not Ethernet")
			}
			name, resolution := "", uint8(6)
			err := f.eachOption(body[8:], func(code uint16, value []byte) {
				switch {
				case code == optionName:
					name = string(value)
				case code == optionResolution && len(value) == 1:
					resolution = value[0]
				}
			})
			if err != nil {
				return Frame{}, err
			}
			if resolution != picoseconds {
				return Frame{}, f.offsetError("interface %q: if_tsresol is %d, not 12 (picoseconds)", name, resolution)
			}
			f.names = append(f.names, name)
		case blockFrame:
			if len(body) < 20 {
				return Frame{}, f.offsetError("a frame's block of %d bytes", len(body))
			}
			on, n := le.Uint32(body), le.Uint32(body[12:])
			at := uint64(le.Uint32(body[4:]))<<32 | uint64(le.Uint32(body[8:]))
			rest := body[20:]
			switch {
			case int64(on) >= int64(len(f.names)):
				return Frame{}, f.offsetError("interface %d; there are %d", on, len(f.names))
			case n > uint32(len(rest)) || int(n)+padLength(int(n)) > len(rest):
				return Frame{}, f.offsetError("a frame of %d bytes; the block has %d", n, len(rest))
			case le.Uint32(body[16:]) != n:
				return Frame{}, f.offsetError("%d of %d bytes of a frame", n, le.Uint32(body[16:]))
			case at >= uint64(unit.Never):
				return Frame{}, f.offsetError("time %d ps", at)
			}
			x := Frame{At: unit.Time(at), On: f.names[on], Data: rest[:n]}
			return x, f.eachOption(rest[int(n)+padLength(int(n)):], func(code uint16, value []byte) {
				switch {
				case code == optionComment:
					x.Comment = string(value)
				case code == optionFlags && len(value) == 4:
					x.Inbound = le.Uint32(value)&3 == 1
				}
			})
		}
	}
}
