package simfiles

import (
	"bufio"
	"fmt"
	"io"
)

// addressOf returns the simulator's IPv4 address of a node: 11.x.y.1 with x·256+y the node's number, from 0 to maxNode.
func addressOf(node int) uint32 {
	return 0x0b000001 + uint32(node/256)*0x10000 + uint32(node%256)*0x100
}

// addrNode returns the node of an address; ok is false for an address that no node has.
func addrNode(addr uint32) (node int, ok bool) {
	node = int(addr >> 8 & 0xffff)
	return node, addressOf(node) == addr
}

// ReadNodes reads a trace file, the list of nodes with logged packets: their count, then their numbers. Errors are of
// type *FormatError. With an error of Excess it returns the nodes, too, because the simulator ignores what follows.
// The caller checks that the topology has the nodes.
func ReadNodes(r io.Reader, file string) ([]int, error) {
	l := newLineReader(r, file)
	announced := -1
	var nodes []int
	listed := map[int]bool{}
	for l.nextLine() {
		for i := range l.words {
			if announced < 0 {
				n, err := l.readNumber(i, "the number of nodes", 0, maxNode+1)
				if err != nil {
					return nil, err
				}
				announced = int(n)
				continue
			}
			if len(nodes) == announced {
				return nodes, &FormatError{l.file, l.line, l.wordColumn(i),
					fmt.Sprintf("%q stands behind the %d nodes that the file announces", l.words[i], announced), true, ""}
			}
			n, err := l.readNumber(i, "a node", 0, maxNode)
			if err != nil {
				return nil, err
			}
			if listed[int(n)] {
				return nil, l.errorf(i, "node %d is listed twice", n)
			}
			listed[int(n)] = true
			nodes = append(nodes, int(n))
		}
	}
	if err := l.scanError(); err != nil {
		return nil, err
	}
	switch {
	case announced < 0:
		return nil, l.errorAtEnd("the file ends; the number of nodes is missing")
	case len(nodes) < announced:
		return nil, l.errorAtEnd("the file ends after %d of the %d nodes that it announces", len(nodes), announced)
	}
	return nodes, nil
}

// writeNodes writes nodes in the format of ReadNodes.
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
