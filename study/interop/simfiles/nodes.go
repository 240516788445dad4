package simfiles

import (
	"bufio"
	"fmt"
	"io"
)

// addressOf is the IPv4 address that the simulator gives a node: 11.x.y.1, x.y its number.
func addressOf(node int) uint32 {
	return 0x0b000001 + uint32(node/256)*0x10000 + uint32(node%256)*0x100
}

// nodeOf is the node of an address; false if no node has it.
func nodeOf(addr uint32) (node int, ok bool) {
	node = int(addr >> 8 & 0xffff)
	return node, addressOf(node) == addr
}

// ReadNodes reads a trace file, the list of nodes whose packets are logged: how many, and
// then their numbers. Errors are of type *FormatError; with one of Excess the nodes are
// there, too: the simulator does not look behind the last one. Whether the topology has
// them is the caller's to check.
func ReadNodes(r io.Reader, file string) ([]int, error) {
	l := newLines(r, file)
	announced := -1
	var nodes []int
	seen := map[int]bool{}
	for l.next() {
		for i := range l.words {
			if announced < 0 {
				n, err := l.number(i, "the number of nodes", 0, largestNode+1)
				if err != nil {
					return nil, err
				}
				announced = int(n)
				continue
			}
			if len(nodes) == announced {
				return nodes, &FormatError{l.file, l.line, l.column(i),
					fmt.Sprintf("%q stands behind the %d nodes that the file announces", l.words[i], announced), true, ""}
			}
			n, err := l.number(i, "a node", 0, largestNode)
			if err != nil {
				return nil, err
			}
			if seen[int(n)] {
				return nil, l.errorf(i, "node %d is listed twice", n)
			}
			seen[int(n)] = true
			nodes = append(nodes, int(n))
		}
	}
	if err := l.err(); err != nil {
		return nil, err
	}
	switch {
	case announced < 0:
		return nil, l.ends("the file ends; the number of nodes is missing")
	case len(nodes) < announced:
		return nil, l.ends("the file ends after %d of the %d nodes that it announces", len(nodes), announced)
	}
	return nodes, nil
}

// writeNodes writes nodes in that format.
func writeNodes(w io.Writer, nodes []int) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, len(nodes))
	for i, n := range nodes {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprint(b, n)
	}
	b.WriteByte('\n')
	return b.Flush()
}
