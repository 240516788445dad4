package chakra

import (
	"encoding/binary"
	"errors"
	"math"
)

// Wire types of protocol buffers.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// field is one field of a message.
type field struct {
	number int
	wire   int
	value  uint64 // value of a field without bytes
	data   []byte
	offset int // offset in the message
}

// Errors in a message of protocol buffers.
var (
	errShort  = errors.New("the message ends within a field")
	errNumber = errors.New("a number has more than 64 bits")
	errWire   = errors.New("a field has a wire type that there is none of: 0, 1, 2 and 5 are")
	errField  = errors.New("a field has the number 0, or one that is too large")
)

// uvarint reads a number of variable length from the beginning of b, and returns the rest of b.
func uvarint(b []byte) (v uint64, rest []byte, err error) {
	v, n := binary.Uvarint(b)
	switch {
	case n == 0:
		return 0, nil, errShort
	case n < 0:
		return 0, nil, errNumber
	}
	return v, b[n:], nil
}

// visitFields calls visit for each field of a message, in order. A field's data is a part of message. It returns the
// first error, of visit or of the message.
func visitFields(message []byte, visit func(f field) error) error {
	for b := message; len(b) > 0; {
		f := field{offset: len(message) - len(b)}
		key, rest, err := uvarint(b)
		if err != nil {
			return err
		}
		if key>>3 == 0 || key>>3 > math.MaxInt32 {
			return errField
		}
		f.number, f.wire = int(key>>3), int(key&7)
		b = rest
		switch f.wire {
		case wireVarint:
			if f.value, b, err = uvarint(b); err != nil {
				return err
			}
		case wire64:
			if len(b) < 8 {
				return errShort
			}
			f.value, b = binary.LittleEndian.Uint64(b), b[8:]
		case wire32:
			if len(b) < 4 {
				return errShort
			}
			f.value, b = uint64(binary.LittleEndian.Uint32(b)), b[4:]
		case wireBytes:
			n, rest, err := uvarint(b)
			if err != nil {
				return err
			}
			if n > uint64(len(rest)) {
				return errShort
			}
			f.data, b = rest[:n], rest[n:]
		default:
			return errWire
		}
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

// appendNumbers appends the numbers of a repeated field to numbers, packed or one by one.
func (f *field) appendNumbers(numbers []uint64) ([]uint64, error) {
	if f.wire != wireBytes {
		return append(numbers, f.value), nil
	}
	for b := f.data; len(b) > 0; {
		v, rest, err := uvarint(b)
		if err != nil {
			return nil, err
		}
		numbers, b = append(numbers, v), rest
	}
	return numbers, nil
}
