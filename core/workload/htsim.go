package workload

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"weir/core/unit"
)

// readHTSimFlows reads a connection matrix (.cm) of htsim: Nodes, Connections, then per flow "src->dst [id n] start t
// size bytes". htsim's programs do not agree on the unit of t, so the caller passes it as startUnit. Priorities are
// refused, and so are triggers, which ReadHTSimTriggers reads. Errors are of type *FormatError.
func readHTSimFlows(r io.Reader, file string, startUnit unit.Time) ([]Flow, error) {
	m, err := ReadHTSimTriggers(r, file, startUnit)
	if err == nil && len(m.Triggers) > 0 {
		return nil, &FormatError{file, m.Triggers[0].Line, 1, "triggers are not possible here", false}
	}
	return m.Flows, err
}

// Matrix is a connection matrix of htsim. Hosts are numbered from 0.
type Matrix struct {
	Flows    []Flow
	Triggers []Trigger
	// Nodes is the number of hosts that the file announces. NodesLine and NodesColumn are the position of the
	// announcement.
	Nodes, NodesLine, NodesColumn int
}

// ReadHTSimTriggers reads a connection matrix with flows that may wait for others. Such a flow has "trigger n" in place
// of its start. Other flows have "send_done_trigger n" or "recv_done_trigger n". "trigger id n oneshot", "multishot" or
// "barrier [count] k" declares the trigger. It is an error if a flow never begins. Errors are of type *FormatError. The
// argument startUnit is the unit of starts, and file the name in errors.
func ReadHTSimTriggers(r io.Reader, file string, startUnit unit.Time) (Matrix, error) {
	m := &matrixReader{file: file, timeUnit: startUnit, nodes: -1, announced: -1, announcedTriggers: -1,
		triggers: map[int64]*Trigger{},
		ids:      map[int64]int{}}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		m.line++
		m.text, _, _ = strings.Cut(lines.Text(), "#")
		if m.fields = strings.Fields(m.text); len(m.fields) == 0 {
			continue
		}
		m.end = fileEnd{m.line, len(m.text) + 1}
		if err := m.readLine(); err != nil {
			return Matrix{}, err
		}
	}
	if err := lines.Err(); err != nil {
		return Matrix{}, lineError(file, m.line+1, err)
	}
	switch {
	case m.nodes < 0:
		return Matrix{}, m.end.errorf(file, "the file ends; Nodes is missing")
	case m.announced < 0:
		return Matrix{}, m.end.errorf(file, "the file ends; Connections is missing")
	case m.announced != int64(len(m.flows)):
		return Matrix{}, m.end.errorf(file, "the file ends after %d of the %d connections that it announces", len(m.flows),
			m.announced)
	}
	if m.announcedTriggers >= 0 && m.announcedTriggers != int64(len(m.order)) {
		return Matrix{}, m.end.errorf(file, "the file ends after %d of the %d triggers that it announces", len(m.order),
			m.announcedTriggers)
	}
	triggers, err := m.joinTriggers()
	return Matrix{Flows: m.flows, Triggers: triggers, Nodes: int(m.nodes), NodesLine: m.nodesAt.Line,
		NodesColumn: m.nodesAt.Src}, err
}

// matrixReader is a connection matrix while it is read.
type matrixReader struct {
	file              string
	timeUnit          unit.Time
	line              int // current line, from 1
	text              string
	fields            []string
	end               fileEnd
	nodes, announced  int64        // −1: not read yet
	nodesAt           FilePosition // the line of nodes, and its column as Src
	flows             []Flow
	ids               map[int64]int // of flows, with their lines
	announcedTriggers int64         // announced number of triggers; −1: not announced
	triggers          map[int64]*Trigger
	order             []int64 // order of their declarations
	uses              []triggerUse
}

// errorf returns an error at a field of the current line.
func (m *matrixReader) errorf(field int, format string, args ...any) error {
	return m.errorAt(columnOf(m.text, field), format, args...)
}

// errorAt returns an error at a column of the current line.
func (m *matrixReader) errorAt(column int, format string, args ...any) error {
	return &FormatError{m.file, m.line, column, fmt.Sprintf(format, args...), false}
}

// parseNumber parses a field as a number in [low, high]. what names it in errors. Another text is an error, and so is a
// missing field.
func (m *matrixReader) parseNumber(field int, what string, low, high int64) (int64, error) {
	if field >= len(m.fields) {
		return 0, m.errorAt(len(m.text)+1, "the line ends; %s is missing", what)
	}
	v, err := strconv.ParseInt(m.fields[field], 10, 64)
	if err != nil || v < low || v > high {
		remedy := ""
		if _, err := strconv.ParseFloat(m.fields[field], 64); err == nil && strings.Contains(m.fields[field], ".") {
			remedy = "; write it without a decimal point, in a smaller time_unit if need be"
		}
		return 0, m.errorf(field, "%s is %q; a number from %d to %d is allowed%s", what, m.fields[field], low, high,
			remedy)
	}
	return v, nil
}

// readLine parses the current line: an announcement, a trigger or a flow. It fails on more flows than announced.
func (m *matrixReader) readLine() (err error) {
	switch key := m.fields[0]; {
	case key == "Nodes" && m.nodes < 0:
		if m.nodes, err = m.parseNumber(1, "the number of nodes", 1, 1<<24); err == nil {
			m.nodesAt = FilePosition{Line: m.line, Src: columnOf(m.text, 1)}
		}
		return err
	case key == "Connections" && m.announced < 0:
		m.announced, err = m.parseNumber(1, "the number of connections", 0, MaxFlows)
		return err
	case m.nodes < 0 || m.announced < 0:
		return m.errorf(0, "%q; the file begins with Nodes and Connections", key)
	case key == "Triggers" && m.announcedTriggers < 0:
		m.announcedTriggers, err = m.parseNumber(1, "the number of triggers", 0, MaxFlows)
		return err
	case key == "trigger":
		return m.parseTrigger()
	case int64(len(m.flows)) == m.announced:
		return m.errorf(0, "more than the %d connections that the file announces", m.announced)
	}
	f, err := m.parseHosts()
	if err != nil {
		return err
	}
	if err := m.parseOptions(&f); err != nil {
		return err
	}
	m.flows = append(m.flows, f)
	return nil
}

// parseHosts parses src->dst, the first field. The flow has no start and no size yet.
func (m *matrixReader) parseHosts() (f Flow, err error) {
	src, dst, arrow := strings.Cut(m.fields[0], "->")
	if !arrow {
		remedy := remedies[m.fields[0]]
		if remedy != "" {
			remedy = "; " + remedy
		}
		return f, m.errorf(0, "%q is not src->dst%s", m.fields[0], remedy)
	}
	first := columnOf(m.text, 0)
	columns := [2]int{first, first + len(src) + len("->")}
	var ends [2]int
	for i, s := range []string{src, dst} {
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil || v < 0 || v >= m.nodes {
			return f, m.errorAt(columns[i], "node %q; a number from 0 to %d is allowed", s, m.nodes-1)
		}
		ends[i] = int(v)
	}
	if ends[0] == ends[1] {
		return f, m.errorAt(columns[1], "the flow goes from node %d to itself", ends[0])
	}
	return Flow{Src: ends[0], Dst: ends[1], Start: -1, At: FilePosition{Line: m.line, Src: columns[0], Dst: columns[1]}},
		nil
}

// remedies are the replacements for words that htsim's own reader knows and this one refuses.
var remedies = map[string]string{
	"prio": "remove it and its value: flows have the class that their transport has",
	"msg":  "remove it, and give each line an id of its own: each message is a connection",
	"Failures": "remove the line, and those that begin with failure: a link fails by events, such as {at: 0s, link: " +
		"[tor0, agg0], down: true}",
}

// parseOptions parses the pairs of key and number behind the hosts. It sets start and size of f, and records its id and
// its triggers. A flow that waits for a trigger has start 0.
func (m *matrixReader) parseOptions(f *Flow) (err error) {
	waits := false
	for i := 1; i < len(m.fields); i += 2 {
		for k := 1; k < i; k += 2 {
			if m.fields[k] == m.fields[i] {
				return m.errorf(i, "%q is given twice", m.fields[i])
			}
		}
		var v int64
		switch m.fields[i] {
		case "id":
			if v, err = m.parseNumber(i+1, "the id", 0, 1<<40); err != nil {
				break
			}
			if line, taken := m.ids[v]; taken {
				return m.errorf(i+1, "the id %d is taken by the connection of line %d", v, line)
			}
			m.ids[v] = m.line
		case "start":
			v, err = m.parseNumber(i+1, "the start", 0, int64(unit.Never/max(m.timeUnit, 1)))
			f.Start, f.At.Start = unit.Time(v)*m.timeUnit, columnOf(m.text, i+1)
		case "size":
			if i+1 < len(m.fields) && m.fields[i+1] == "0" {
				return m.errorf(i+1, "the size is \"0\", an endless flow of htsim; remove the line, and give the experiment "+
					"a traffic without size")
			}
			v, err = m.parseNumber(i+1, "the size", 1, 1<<50)
			f.Size = unit.Bytes(v)
		case "trigger", "send_done_trigger", "recv_done_trigger":
			if err = m.addUse(i); err == nil && m.fields[i] == "trigger" {
				waits = true
			}
		default:
			err = m.errorf(i, "%q is not known; %s", m.fields[i], cmp.Or(remedies[m.fields[i]],
				"id, start, size, trigger, send_done_trigger and recv_done_trigger are"))
		}
		if err != nil {
			return err
		}
	}
	missing := ""
	switch {
	case waits && f.Start >= 0:
		return m.errorf(0, "the flow has a start and a trigger; it begins once")
	case waits:
		f.Start = 0
		if f.Size > 0 {
			return nil
		}
		missing = "size"
	case f.Start < 0:
		missing = "start"
	case f.Size == 0:
		missing = "size"
	default:
		return nil
	}
	return m.end.errorf(m.file, "the line ends; the %s is missing: src->dst start t size bytes", missing)
}
