package hpccsim

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"weir/core/topology"
	"weir/core/unit"
	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/interop/simfiles"
)

// failKey reports an error at a key's value, or at the start of the file if the key is missing. It reports no second
// error for a key that could not be read.
func (m *hpccImport) failKey(key, allowed, format string, args ...any) {
	if !slices.Contains(m.wrongKeys, key) {
		m.reader.Fail(m.keyPlace(key), allowed, format, args...)
	}
}

// addErrors reports the errors of a file, of any type, and marks their keys as wrong.
func (m *hpccImport) addErrors(err error) {
	var all simfiles.FormatErrors
	switch e := err.(type) {
	case simfiles.FormatErrors:
		all = e
	case *simfiles.FormatError:
		all = append(all, e)
	}
	for _, e := range all {
		m.reader.Fail(m.reader.PositionIn(e.File, e.Line, e.Column), "", "%s", e.Msg)
		if e.Key != "" {
			m.wrongKeys = append(m.wrongKeys, e.Key)
		}
	}
	if len(all) > 0 {
		return
	}
	start := document.Position{File: m.file, Line: 1, Column: 1}
	experiment.ReportForeignError(m.reader, &document.Node{Position: start, Text: m.file}, err)
}

// readNamedFile reads the file that a key names. It returns the name to use in the experiment and the path to use in
// errors (errorPath). It searches the folders that Import lists. If the file is missing or not text, data is nil; a
// missing file is an error only if required is set.
func (m *hpccImport) readNamedFile(key string, required bool) (name string, data []byte, errorPath string) {
	s := m.config.Get(key)
	if s == nil {
		if required {
			m.failKey(key, key+" and a file", "the configuration has no %s", key)
		}
		return "", nil, ""
	}
	var err error
	configFolder := filepath.Dir(m.file)
	for _, folder := range []string{"", configFolder, filepath.Join(configFolder, "..")} {
		errorPath = filepath.FromSlash(s.Text)
		if !filepath.IsAbs(errorPath) {
			errorPath = filepath.Join(folder, errorPath)
		}
		var readErr error
		if data, readErr = document.ReadFile(errorPath, document.MaxInput); readErr == nil {
			break
		} else if err == nil || !os.IsNotExist(readErr) {
			err = readErr
		}
		data = nil
	}
	if data == nil {
		if !required {
			return "", nil, ""
		}
		m.failKey(key, "a file from here, from the configuration's folder or the one above", "%q cannot be read: %v",
			s.Text, document.UnwrapPathError(err))
		return "", nil, ""
	}
	m.reader.Remember(errorPath, data)
	if !m.reader.CheckText(errorPath, data, false) {
		return "", nil, ""
	}
	name = errorPath
	if base, err := filepath.Abs(m.folder); err == nil {
		if whole, err := filepath.Abs(errorPath); err == nil {
			if rel, err := filepath.Rel(base, whole); err == nil {
				name = rel
			}
		}
	}
	return filepath.ToSlash(name), data, errorPath
}

// checkTraceFile checks the list of nodes to trace if the file exists, and sets tracedNodes. Excess text in it is no
// error.
func (m *hpccImport) checkTraceFile() {
	_, data, at := m.readNamedFile("TRACE_FILE", false)
	if data == nil {
		return
	}
	nodes, err := simfiles.ReadNodes(bytes.NewReader(data), at)
	var format *simfiles.FormatError
	if err != nil && !(errors.As(err, &format) && format.Excess) {
		m.addErrors(err)
		return
	}
	m.tracedNodes = fmt.Sprintf(" at %d nodes", len(nodes))
}

// measurePaths sets the largest base RTT and the lowest rate of a host's link. It compares two hosts of each class
// with the same neighbour, rate and delay.
func (m *hpccImport) measurePaths() {
	n := m.network
	payload := int64(1000)
	if s := m.config.Get("PACKET_PAYLOAD_SIZE"); s != nil {
		payload = int64(s.Number)
	}
	type class struct {
		near  int
		rate  unit.LinkRate
		delay unit.Time
	}
	var hosts []int // at most two of each class
	count := map[class]int{}
	for i := range n.Links {
		l := &n.Links[i]
		for e, node := range l.Ends {
			if n.Nodes[node].Switch {
				continue
			}
			if m.minNICRate == 0 || l.Rate.Bits < m.minNICRate {
				m.minNICRate = l.Rate.Bits
			}
			k := class{l.Ends[1-e], l.Rate, l.Delay}
			if count[k]++; count[k] <= 2 {
				hosts = append(hosts, node)
			}
		}
	}
	routes := n.Routes()
	for _, a := range hosts {
		for _, b := range hosts {
			if links, ok := pathBetween(routes, a, b); ok && a != b {
				m.maxRTT = max(m.maxRTT, unit.Time(simfiles.NewPair(pathLegs(n, links), payload).RTT)*unit.Nanosecond)
			}
		}
	}
}

// pathBetween returns the links of a path between the nearest NICs of two hosts; ok is false without a path. from and
// to are nodes.
func pathBetween(routes *topology.Routes, from, to int) (links []int, ok bool) {
	near, _ := routes.NearestPair(from, to)
	return routes.FindPath(near.From, near.To)
}

// pathLegs converts the links of a path to the simulator's formulas. A rate in packets counts 12000 bits per packet.
func pathLegs(n *topology.Network, links []int) []simfiles.Leg {
	out := make([]simfiles.Leg, 0, len(links))
	for _, i := range links {
		l := &n.Links[i]
		rate := l.Rate.Bits
		if rate == 0 {
			rate = unit.Rate(l.Rate.Packets) * 12000
		}
		out = append(out, simfiles.Leg{Rate: rate, Delay: l.Delay})
	}
	return out
}

// convertDuration returns the duration of the run without the time before the first flow can begin, and records the
// key. It returns 1 (a picosecond) after an error, which it reports.
func (m *hpccImport) convertDuration() unit.Time {
	s := m.config.Get("SIMULATOR_STOP_TIME")
	if s == nil {
		m.failKey("SIMULATOR_STOP_TIME", "SIMULATOR_STOP_TIME and seconds",
			"the configuration has no SIMULATOR_STOP_TIME")
		return 1
	}
	if s.Time <= m.offset {
		m.failKey(s.Key, fmt.Sprintf("more than %v, when flows begin", m.offset), "the simulation stops at %v", s.Time)
		return 1
	}
	m.mapped[s.Key] = "duration"
	if m.offset > 0 {
		m.mapped[s.Key] += fmt.Sprintf(", without the %v before flows begin (offset)", m.offset)
	}
	return s.Time - m.offset
}
