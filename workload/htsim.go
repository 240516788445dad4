package workload

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"weir/unit"
)

// ReadHTSimFlows reads a connection matrix (.cm) of htsim: Nodes, Connections, then
// per flow "src->dst [id n] start t size bytes". htsim's programs do not agree on what
// t counts, so the caller says: each is so much time. Triggers and priorities are
// refused. Errors are of type *FormatError.
func ReadHTSimFlows(r io.Reader, file string, each unit.Time) ([]Flow, error) {
	lines := bufio.NewScanner(r)
	line, nodes, announced := 0, int64(-1), int64(-1)
	var flows []Flow
	for lines.Scan() {
		line++
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		fail := func(i int, format string, args ...any) error {
			return &FormatError{file, line, columnOf(text, i), fmt.Sprintf(format, args...)}
		}
		number := func(i int, what string, low, high int64) (int64, error) {
			if i >= len(fields) {
				return 0, &FormatError{file, line, len(text) + 1, "the line ends; " + what + " is missing"}
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
		var ends [2]int
		for i, s := range []string{src, dst} {
			v, err := strconv.ParseInt(s, 10, 64)
			if err != nil || v < 0 || v >= nodes {
				return nil, fail(0, "node %q; a number from 0 to %d is allowed", s, nodes-1)
			}
			ends[i] = int(v)
		}
		if ends[0] == ends[1] {
			return nil, fail(0, "the flow goes from node %d to itself", ends[0])
		}
		f := Flow{Src: ends[0], Dst: ends[1], Start: -1}
		for i := 1; i < len(fields); i += 2 {
			switch fields[i] {
			case "id":
				_, err = number(i+1, "the id", 0, 1<<40)
			case "start":
				var t int64
				t, err = number(i+1, "the start", 0, int64(unit.Never/max(each, 1)))
				f.Start = unit.Time(t) * each
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
		if f.Size == 0 || f.Start < 0 {
			return nil, fail(0, "the flow lacks its start or its size")
		}
		flows = append(flows, f)
	}
	if err := lines.Err(); err != nil {
		return nil, &FormatError{file, line + 1, 1, err.Error()}
	}
	if nodes < 0 || announced < 0 {
		return nil, &FormatError{file, line + 1, 1, "the file ends; Nodes or Connections is missing"}
	}
	if announced != int64(len(flows)) {
		return nil, &FormatError{file, line + 1, 1, fmt.Sprintf("the file ends after %d of the %d connections that it announces", len(flows), announced)}
	}
	return flows, nil
}
