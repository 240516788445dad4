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

// MostFlows bounds the flows of a file, and of an experiment: that is how far they can be numbered. Memory ends
// before.
const MostFlows = 1<<31 - 1

// Flow is one flow of a list.
type Flow struct {
	Src, Dst int // nodes of the topology
	Class    int // priority group
	Port     int // destination port: the HPCC simulator has 100 for normal flows, 200 for incast
	Size     unit.Bytes
	Start    unit.Time
	At       Place
}

// Place is where a file has a flow; all count from 1, columns in bytes. It is zero for
// a flow that comes from no file.
type Place struct {
	Line            int
	Src, Dst, Start int // columns
}

// FormatError is what is wrong with an input file, and where.
type FormatError struct {
	File         string
	Line, Column int // from 1
	Msg          string
	Excess       bool // all that the file announces was read, and more stands behind it
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
}

// ReadHPCCFlows reads a flow file of the HPCC simulator: the number of flows, then per flow "src
// dst class port bytes start", the start in seconds and ascending. Errors are of type
// *FormatError; with one of Excess the flows are there, too: the simulator does not look behind
// the last one. Whether the nodes are hosts of the topology is for the caller to check.
func ReadHPCCFlows(r io.Reader, file string) ([]Flow, error) {
	lines := bufio.NewScanner(r)
	line, announced := 0, -1
	var end ending
	var flows []Flow
	for lines.Scan() {
		line++
		fail := func(column int, format string, args ...any) error {
			return &FormatError{file, line, column, fmt.Sprintf(format, args...), false}
		}
		text := lines.Text()
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		end = ending{line, len(text) + 1}
		column := func(i int) int { return columnOf(text, i) }
		number := func(i int, what string, low, high int64) (int64, error) {
			v, err := strconv.ParseInt(fields[i], 10, 64)
			if err != nil || v < low || v > high {
				return 0, fail(column(i), "%s is %q; a number from %d to %d is allowed", what, fields[i], low, high)
			}
			return v, nil
		}
		if announced < 0 {
			if len(fields) != 1 {
				return nil, fail(1, "the first line is the number of flows alone")
			}
			n, err := number(0, "the number of flows", 0, MostFlows)
			if err != nil {
				return nil, err
			}
			announced = int(n)
			continue
		}
		switch {
		case len(flows) == announced:
			return flows, &FormatError{file, line, 1, fmt.Sprintf("more than the %d flows that the first line announces",
				announced), true}
		case len(fields) < 6:
			return nil, end.errorf(file, "the line ends after %d of six words: src dst class port bytes start", len(fields))
		case len(fields) > 6:
			return nil, fail(column(6), "%d words; a flow has six: src dst class port bytes start", len(fields))
		}
		if strings.Contains(fields[4], ".") {
			return nil, fail(column(4), "the size is %q; a whole number of bytes is allowed: a flow has src dst class port "+
				"bytes start, and of ns3-rdma src dst class packets start stop", fields[4])
		}
		var v [5]int64
		for i, f := range []struct {
			what      string
			low, high int64
		}{{"the source", 0, 1 << 24}, {"the destination", 0, 1 << 24}, {"the class", 0, 7}, {"the port", 0, 65535},
			{"the size", 1, 1 << 50}} {
			var err error
			if v[i], err = number(i, f.what, f.low, f.high); err != nil {
				return nil, err
			}
		}
		if v[0] == v[1] {
			return nil, fail(column(1), "the flow goes from node %d to itself", v[0])
		}
		start, err := seconds(fields[5])
		if err != nil {
			return nil, fail(column(5), "the start is %q: %v", fields[5], err)
		}
		if n := len(flows); n > 0 && start < flows[n-1].Start {
			return nil, fail(column(5), "the start is before that of the flow above; starts must ascend")
		}
		flows = append(flows, Flow{int(v[0]), int(v[1]), int(v[2]), int(v[3]), unit.Bytes(v[4]), start, Place{line, column(0),
			column(1), column(5)}})
	}
	if err := lines.Err(); err != nil {
		return nil, unreadable(file, line+1, err)
	}
	if announced < 0 {
		return nil, end.errorf(file, "the file ends; the number of flows is missing")
	}
	if announced != len(flows) {
		return nil, end.errorf(file, "the file ends after %d of the %d flows that the first line announces",
			len(flows), announced)
	}
	return flows, nil
}

// ending is the place behind the last line of a file that is not empty.
type ending struct{ line, column int }

func (e ending) errorf(file, format string, args ...any) *FormatError {
	return &FormatError{file, max(e.line, 1), max(e.column, 1), fmt.Sprintf(format, args...), false}
}

// unreadable is a line that could not be read.
func unreadable(file string, line int, err error) *FormatError {
	if errors.Is(err, bufio.ErrTooLong) {
		return &FormatError{file, line, 1, fmt.Sprintf("the line has more than %d bytes", bufio.MaxScanTokenSize), false}
	}
	return &FormatError{file, line, 1, err.Error(), false}
}

// seconds reads a decimal number of seconds, exactly, as picoseconds.
func seconds(s string) (unit.Time, error) {
	if strings.Trim(s, "0123456789.") != "" {
		return 0, fmt.Errorf("a decimal number of seconds is allowed")
	}
	t, err := unit.ParseTime(s + "s")
	if err != nil || t == unit.Never {
		return 0, fmt.Errorf("seconds in whole picoseconds, up to 106 days, are allowed")
	}
	return t, nil
}

// WriteHPCCFlows writes flows in that format. They must be as ReadHPCCFlows gives
// them.
func WriteHPCCFlows(w io.Writer, flows []Flow) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, len(flows))
	for _, f := range flows {
		fmt.Fprintf(b, "%d %d %d %d %d %d.%012d\n", f.Src, f.Dst, f.Class, f.Port, f.Size, f.Start/unit.Second,
			f.Start%unit.Second)
	}
	return b.Flush()
}
