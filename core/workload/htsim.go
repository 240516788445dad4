package workload

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"weir/core/unit"
)

// ReadHTSimFlows reads a connection matrix (.cm) of htsim: Nodes, Connections, then
// per flow "src->dst [id n] start t size bytes". htsim's programs do not agree on what
// t counts, so the caller says: each is so much time. Triggers and priorities are
// refused. Errors are of type *FormatError.
func ReadHTSimFlows(r io.Reader, file string, each unit.Time) ([]Flow, error) {
	lines := bufio.NewScanner(r)
	line, nodes, announced := 0, int64(-1), int64(-1)
	var end ending
	var flows []Flow
	for lines.Scan() {
		line++
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		end = ending{line, len(text) + 1}
		fail := func(i int, format string, args ...any) error {
			return &FormatError{file, line, columnOf(text, i), fmt.Sprintf(format, args...), false}
		}
		number := func(i int, what string, low, high int64) (int64, error) {
			if i >= len(fields) {
				return 0, &FormatError{file, line, len(text) + 1, "the line ends; " + what + " is missing", false}
			}
			v, err := strconv.ParseInt(fields[i], 10, 64)
			if err != nil || v < low || v > high {
				return 0, fail(i, "%s is %q; a number from %d to %d is allowed", what, fields[i], low, high)
			}
			return v, nil
		}
		var err error
		switch {
		case fields[0] == "Nodes" && nodes < 0:
			if nodes, err = number(1, "the number of nodes", 1, 1<<24); err != nil {
				return nil, err
			}
			continue
		case fields[0] == "Connections" && announced < 0:
			if announced, err = number(1, "the number of connections", 0, 1<<24); err != nil {
				return nil, err
			}
			continue
		case nodes < 0 || announced < 0:
			return nil, fail(0, "%q; the file begins with Nodes and Connections", fields[0])
		case int64(len(flows)) == announced:
			return nil, fail(0, "more than the %d connections that the file announces", announced)
		}
		src, dst, arrow := strings.Cut(fields[0], "->")
		if !arrow {
			return nil, fail(0, "%q is not src->dst", fields[0])
		}
		first := columnOf(text, 0)
		columns := [2]int{first, first + len(src) + len("->")}
		var ends [2]int
		for i, s := range []string{src, dst} {
			v, err := strconv.ParseInt(s, 10, 64)
			if err != nil || v < 0 || v >= nodes {
				return nil, &FormatError{file, line, columns[i], fmt.Sprintf("node %q; a number from 0 to %d is allowed", s,
					nodes-1), false}
			}
			ends[i] = int(v)
		}
		if ends[0] == ends[1] {
			return nil, &FormatError{file, line, columns[1], fmt.Sprintf("the flow goes from node %d to itself", ends[0]), false}
		}
		f := Flow{Src: ends[0], Dst: ends[1], Start: -1, At: Place{Line: line, Src: columns[0], Dst: columns[1]}}
		for i := 1; i < len(fields); i += 2 {
			for k := 1; k < i; k += 2 {
				if fields[k] == fields[i] {
					return nil, fail(i, "%q is here twice", fields[i])
				}
			}
			switch fields[i] {
			case "id":
				_, err = number(i+1, "the id", 0, 1<<40)
			case "start":
				var t int64
				t, err = number(i+1, "the start", 0, int64(unit.Never/max(each, 1)))
				f.Start, f.At.Start = unit.Time(t)*each, columnOf(text, i+1)
			case "size":
				var n int64
				n, err = number(i+1, "the size", 1, 1<<50)
				f.Size = unit.Bytes(n)
			default:
				err = fail(i, "%q is not known; id, start and size are", fields[i])
			}
			if err != nil {
				return nil, err
			}
		}
		for _, k := range []struct {
			missing bool
			key     string
		}{{f.Start < 0, "start"}, {f.Size == 0, "size"}} {
			if k.missing {
				return nil, end.errorf(file, "the line ends; the %s is missing: src->dst start t size bytes", k.key)
			}
		}
		flows = append(flows, f)
	}
	if err := lines.Err(); err != nil {
		return nil, unreadable(file, line+1, err)
	}
	switch {
	case nodes < 0:
		return nil, end.errorf(file, "the file ends; Nodes is missing")
	case announced < 0:
		return nil, end.errorf(file, "the file ends; Connections is missing")
	}
	if announced != int64(len(flows)) {
		return nil, end.errorf(file, "the file ends after %d of the %d connections that it announces", len(flows), announced)
	}
	return flows, nil
}
