package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"weir/core/unit"
)

// MaxFlows limits the flows of a file and of an experiment: their numbers have 31 bits. Memory is the lower limit in
// practice.
const MaxFlows = 1<<31 - 1

// Flow is one flow of a list.
type Flow struct {
	Src, Dst int // nodes of the topology
	Class    int // priority group
	Port     int // destination port: the HPCC simulator has 100 for normal flows, 200 for incast
	Size     unit.Bytes
	Start    unit.Time
	At       FilePosition
}

// FilePosition is the position of a flow in a file. Lines and columns count from 1, columns in bytes. It is zero for a
// flow without a file.
type FilePosition struct {
	Line            int
	Src, Dst, Start int // columns
}

// FormatError is an error in an input file, with its position.
type FormatError struct {
	File         string
	Line, Column int // from 1
	Msg          string
	Excess       bool // everything that the file announces was read, and more follows
}

// Error returns the file with the position, and the message.
func (e *FormatError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
}

// ReadHPCCFlows reads a flow file of the HPCC simulator: the number of flows, then per flow "src dst class port bytes
// start", the start in seconds and ascending. Errors are of type *FormatError; errors of several flows are joined. If
// the error has Excess set, the flows are returned too, because the simulator ignores the rest of the file. The caller
// must check that the nodes are hosts of the topology.
func ReadHPCCFlows(r io.Reader, file string) ([]Flow, error) {
	lines := bufio.NewScanner(r)
	line, announced, read := 0, -1, 0
	var end fileEnd
	var flows []Flow
	var wrong []error
	for lines.Scan() && len(wrong) < maxErrors {
		line++
		l := flowLine{file: file, text: lines.Text(), line: line}
		if l.words = strings.Fields(l.text); len(l.words) == 0 {
			continue
		}
		end = fileEnd{line, len(l.text) + 1}
		switch {
		case announced < 0 && len(l.words) != 1:
			return nil, l.errorf(1, "the first line is the number of flows alone")
		case announced < 0:
			n, err := l.parseNumber(0, "the number of flows", 0, MaxFlows)
			if err != nil {
				return nil, err
			}
			announced = int(n)
			continue
		case read == announced && len(wrong) == 0:
			return flows, &FormatError{file, line, 1, fmt.Sprintf("more than the %d flows that the first line announces",
				announced), true}
		case read == announced:
			return nil, joinErrors(wrong)
		}
		read++
		f, err := l.parseFlow(end)
		if n := len(flows); err == nil && n > 0 && f.Start < flows[n-1].Start {
			err = l.errorf(f.At.Start, "the start is before that of the flow above; starts must ascend")
		}
		switch {
		case err == nil:
			flows = append(flows, f)
		case len(l.words) != flowWords: // the following lines may not be flows at all
			return nil, joinErrors(append(wrong, err))
		default:
			wrong = append(wrong, err)
		}
	}
	if err := lines.Err(); err != nil {
		wrong = append(wrong, lineError(file, line+1, err))
	} else if announced < 0 {
		wrong = append(wrong, end.errorf(file, "the file ends; the number of flows is missing"))
	} else if announced != read && len(wrong) < maxErrors {
		wrong = append(wrong, end.errorf(file, "the file ends after %d of the %d flows that the first line announces", read,
			announced))
	}
	if len(wrong) > 0 {
		return nil, joinErrors(wrong)
	}
	return flows, nil
}

// flowWords is the number of words of a flow.
const flowWords = 6

// maxErrors limits how many errors of a file are reported at once.
const maxErrors = 20

// joinErrors returns a single error unchanged, and joins several. The list must not be empty.
func joinErrors(all []error) error {
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}

// flowLine is a line of a flow file of the HPCC simulator.
type flowLine struct {
	file, text string
	line       int
	words      []string
}

// errorf returns an error at a column of the line.
func (l *flowLine) errorf(column int, format string, args ...any) error {
	return &FormatError{l.file, l.line, column, fmt.Sprintf(format, args...), false}
}

// parseNumber reads word i as an integer in [low, high]. what names it in errors.
func (l *flowLine) parseNumber(i int, what string, low, high int64) (int64, error) {
	v, err := strconv.ParseInt(l.words[i], 10, 64)
	if err != nil || v < low || v > high {
		return 0, l.errorf(columnOf(l.text, i), "%s is %q; a number from %d to %d is allowed", what, l.words[i], low, high)
	}
	return v, nil
}

// parseFlow parses the line as a flow. end is the position behind the line, for errors. It fails if the line has not
// six words, a value is out of range, or source and destination are equal.
func (l *flowLine) parseFlow(end fileEnd) (f Flow, err error) {
	switch n := len(l.words); {
	case n < flowWords:
		return f, end.errorf(l.file, "the line ends after %d of six words: src dst class port bytes start", n)
	case n > flowWords:
		return f, l.errorf(columnOf(l.text, flowWords), "%d words; a flow has six: src dst class port bytes start", n)
	case strings.Contains(l.words[4], "."):
		return f, l.errorf(columnOf(l.text, 4), "the size is %q; a whole number of bytes is allowed: a flow has src dst "+
			"class port bytes start, and of ns3-rdma src dst class packets start stop", l.words[4])
	}
	var v [5]int64
	for i, x := range []struct {
		what      string
		low, high int64
	}{{"the source", 0, 1 << 24}, {"the destination", 0, 1 << 24}, {"the class", 0, 7}, {"the port", 0, 65535},
		{"the size", 1, 1 << 50}} {
		if v[i], err = l.parseNumber(i, x.what, x.low, x.high); err != nil {
			return f, err
		}
	}
	column := func(i int) int { return columnOf(l.text, i) }
	if v[0] == v[1] {
		return f, l.errorf(column(1), "the flow goes from node %d to itself", v[0])
	}
	start, err := parseSeconds(l.words[5])
	if err != nil {
		return f, l.errorf(column(5), "the start is %q: %v", l.words[5], err)
	}
	return Flow{int(v[0]), int(v[1]), int(v[2]), int(v[3]), unit.Bytes(v[4]), start, FilePosition{l.line, column(0),
		column(1),
		column(5)}}, nil
}

// fileEnd is the position behind the last non-empty line of a file.
type fileEnd struct{ line, column int }

// errorf returns an error at the position.
func (e fileEnd) errorf(file, format string, args ...any) *FormatError {
	return &FormatError{file, max(e.line, 1), max(e.column, 1), fmt.Sprintf(format, args...), false}
}

// lineError returns an error for a line that could not be read.
func lineError(file string, line int, err error) *FormatError {
	if errors.Is(err, bufio.ErrTooLong) {
		return &FormatError{file, line, 1, fmt.Sprintf("the line has more than %d bytes", bufio.MaxScanTokenSize), false}
	}
	return &FormatError{file, line, 1, err.Error(), false}
}

// parseSeconds parses a decimal number of seconds exactly, as picoseconds. Finer times, times out of range and signs
// are errors.
func parseSeconds(s string) (unit.Time, error) {
	if strings.Trim(s, "0123456789.") != "" {
		return 0, fmt.Errorf("a decimal number of seconds is allowed")
	}
	t, err := unit.ParseTime(s + "s")
	if err != nil || t == unit.Never {
		return 0, fmt.Errorf("seconds in whole picoseconds, up to 106 days, are allowed")
	}
	return t, nil
}

// WriteHPCCFlows writes flows in the format of ReadHPCCFlows. The flows must be as ReadHPCCFlows returns them.
func WriteHPCCFlows(w io.Writer, flows []Flow) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, len(flows))
	for _, f := range flows {
		fmt.Fprintf(b, "%d %d %d %d %d %d.%012d\n", f.Src, f.Dst, f.Class, f.Port, f.Size, f.Start/unit.Second,
			f.Start%unit.Second)
	}
	return b.Flush()
}
