package chakra

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"weir/core/workload"
)

// Types of nodes (et_def.proto).
const (
	metadata = 1 + iota
	memoryLoad
	memoryStore
	compute
	send
	receive
	collectiveNode
)

// node is one node of a trace.
type node struct {
	id       uint64
	name     string
	kind     uint64
	deps     []uint64
	micros   uint64
	numbers  map[string]int64
	texts    map[string]string
	involved []bool // dimensions; nil: all
	offset   int    // offset in the file
}

// readTrace parses the nodes of a file, after its first message, the trace's own metadata. Errors are of type
// *workload.FormatError.
func readTrace(data []byte, file string) (nodes []node, err error) {
	fail := func(at int, format string, args ...any) error {
		return &workload.FormatError{File: file, Line: 1, Column: at + 1, Msg: fmt.Sprintf("byte %d: ", at) +
			fmt.Sprintf(format, args...)}
	}
	if json.Valid(data) {
		return nil, fail(0, "the trace is in JSON; write it as protobuf, in Chakra's ExecutionTrace form (.et)")
	}
	for b, first := data, true; len(b) > 0; first = false {
		at := len(data) - len(b)
		n, rest, err := uvarint(b)
		if err == nil && n > uint64(len(rest)) {
			err = fmt.Errorf("a message of %d B, and the file has %d more", n, len(rest))
		}
		if err != nil {
			return nil, fail(at, "%v", err)
		}
		message := rest[:n]
		b = rest[n:]
		at += len(data) - len(rest) - at
		if first { // the trace's own metadata
			if err := visitFields(message, func(field) error { return nil }); err != nil {
				return nil, fail(at, "%v", err)
			}
			continue
		}
		x := node{offset: at}
		if err := x.readNode(message); err != nil {
			return nil, fail(at, "node %d: %v", x.id, err)
		}
		nodes = append(nodes, x)
	}
	if len(data) == 0 {
		return nil, fail(0, "the file is empty; it begins with the trace's metadata")
	}
	return nodes, nil
}

// readNode parses a node's message into x. Unknown fields have no effect.
func (x *node) readNode(message []byte) error {
	return visitFields(message, func(f field) (err error) {
		switch f.number {
		case 1:
			x.id = f.value
		case 2:
			x.name = string(f.data)
		case 3:
			x.kind = f.value
		case 4, 5:
			x.deps, err = f.appendNumbers(x.deps)
		case 7:
			x.micros = f.value
		case 10:
			return x.readAttribute(f.data)
		}
		return err
	})
}

// readAttribute parses a named value into x: any type of number, a text, or the list involved_dim.
func (x *node) readAttribute(message []byte) error {
	name := ""
	return visitFields(message, func(f field) error {
		switch f.number {
		case 1:
			name = string(f.data)
		case 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27:
			if x.numbers == nil {
				x.numbers = map[string]int64{}
			}
			x.numbers[name] = signedValue(f)
		case 28:
			return visitFields(f.data, func(f field) error {
				list, err := f.appendNumbers(nil)
				if name == "involved_dim" {
					for _, v := range list {
						x.involved = append(x.involved, v != 0)
					}
				}
				return err
			})
		case 29:
			if x.texts == nil {
				x.texts = map[string]string{}
			}
			x.texts[name] = string(f.data)
		}
		if name == "involved_dim" && f.number != 1 && f.number != 2 && f.number != 28 {
			return errors.New("involved_dim is no list of bool (bool_list)")
		}
		return nil
	})
}

// signedValue returns the number of an attribute; et_def.proto has a field for each type.
func signedValue(f field) int64 {
	switch f.number {
	case 15, 17: // sint32 and sint64
		return int64(f.value>>1) ^ -int64(f.value&1)
	case 23: // sfixed32
		return int64(int32(f.value))
	}
	return int64(f.value)
}

// number returns an attribute; known reports whether the node has it.
func (x *node) number(name string) (v int64, known bool) {
	v, known = x.numbers[name]
	return v, known
}

// hasAllDimensions reports whether a collective operation uses all dimensions.
func (x *node) hasAllDimensions() bool { return !slices.Contains(x.involved, false) }
