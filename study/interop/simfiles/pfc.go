package simfiles

import (
	"bufio"
	"fmt"
	"io"
)

// PFC is a pause or resume frame that arrived at a port.
type PFC struct {
	Time   int64 // ns
	Node   int
	Switch bool // the node is a switch
	Port   int  // its interface, from 1: 0 is the loopback
	Pause  bool // else: resume
}

// pfcFormat names the columns of a line of pfc.txt.
const pfcFormat = "time node node_type if_index type"

// ReadPFC reads a pfc.txt with the line "time node node_type if_index type" for each frame: the time in ns, node_type
// 1 for a switch, type 1 for a pause and 0 for a resume. Errors are of type *FormatError.
func ReadPFC(r io.Reader, file string) ([]PFC, error) {
	l := newLineReader(r, file)
	var out []PFC
	for l.nextLine() {
		if err := l.checkWordCount(pfcFormat); err != nil {
			return nil, err
		}
		var v [5]int64
		for i, x := range []struct {
			what string
			high int64
		}{{"the time", maxNs}, {"the node", maxNode}, {"the node's type", 1}, {"the interface", 65535},
			{"the type", 1}} {
			var err error
			if v[i], err = l.readNumber(i, x.what, 0, x.high); err != nil {
				return nil, err
			}
		}
		out = append(out, PFC{v[0], int(v[1]), v[2] == 1, int(v[3]), v[4] == 1})
	}
	return out, l.scanError()
}

// WritePFC writes frames in the format of ReadPFC.
func WritePFC(w io.Writer, frames []PFC) error {
	b := bufio.NewWriter(w)
	bit := map[bool]int{true: 1}
	for _, f := range frames {
		fmt.Fprintf(b, "%d %d %d %d %d\n", f.Time, f.Node, bit[f.Switch], f.Port, bit[f.Pause])
	}
	return b.Flush()
}
