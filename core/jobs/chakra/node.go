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

// node is one of a trace.
type node struct {
	id       uint64
	name     string
	kind     uint64
	deps     []uint64
	micros   uint64
	numbers  map[string]int64
	texts    map[string]string
	involved []bool // dimensions; nil: all
	at       int    // in the file
}

// trace reads the nodes of a file.
func trace(data []byte, file string) (nodes []node, err error) {
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
		if first { // what the trace says of itself
			if err := fields(message, func(field) error { return nil }); err != nil {
				return nil, fail(at, "%v", err)
			}
			continue
		}
		x := node{at: at}
		if err := x.read(message); err != nil {
			return nil, fail(at, "node %d: %v", x.id, err)
		}
		nodes = append(nodes, x)
	}
	if len(data) == 0 {
		return nil, fail(0, "the file is empty; it begins with what the trace says of itself")
	}
	return nodes, nil
}

// read reads a node.
func (x *node) read(message []byte) error {
	return fields(message, func(f field) (err error) {
		switch f.number {
		case 1:
			x.id = f.value
		case 2:
			x.name = string(f.data)
		case 3:
			x.kind = f.value
		case 4, 5:
			x.deps, err = f.numbers(x.deps)
		case 7:
			x.micros = f.value
		case 10:
			return x.attribute(f.data)
		}
		return err
	})
}

// attribute reads a named value, in whatever type of number its writer has.
func (x *node) attribute(message []byte) error {
	name := ""
	return fields(message, func(f field) error {
		switch f.number {
		case 1:
			name = string(f.data)
		case 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27:
			if x.numbers == nil {
				x.numbers = map[string]int64{}
			}
			x.numbers[name] = signed(f)
		case 28:
			return fields(f.data, func(f field) error {
				list, err := f.numbers(nil)
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

// signed returns the number of an attribute; et_def.proto has a field for each type.
func signed(f field) int64 {
	switch f.number {
	case 15, 17: // sint32 and sint64
		return int64(f.value>>1) ^ -int64(f.value&1)
	case 23: // sfixed32
		return int64(int32(f.value))
	}
	return int64(f.value)
}

// number is an attribute; known reports whether the node has it.
func (x *node) number(name string) (v int64, known bool) {
	v, known = x.numbers[name]
	return v, known
}

// everywhere reports whether a collective operation is among all dimensions.
func (x *node) everywhere() bool { return !slices.Contains(x.involved, false) }
