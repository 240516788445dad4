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

// fail notes that a key's value is wrong, or that it is missing, unless its line is wrong already.
func (m *hpccImport) fail(key, allowed, format string, args ...any) {
	if !slices.Contains(m.wrong, key) {
		m.d.Fail(m.at(key), allowed, format, args...)
	}
}

// foreign notes what is wrong with a file.
func (m *hpccImport) foreign(err error) {
	var all simfiles.FormatErrors
	switch e := err.(type) {
	case simfiles.FormatErrors:
		all = e
	case *simfiles.FormatError:
		all = append(all, e)
	}
	for _, e := range all {
		m.d.Fail(m.d.InFile(e.File, e.Line, e.Column), "", "%s", e.Msg)
		if e.Key != "" {
			m.wrong = append(m.wrong, e.Key)
		}
	}
	if len(all) > 0 {
		return
	}
	experiment.Foreign(m.d, &document.Node{Position: document.Position{File: m.file, Line: 1, Column: 1}, Text: m.file},
		err)
}

// open reads the file that a key names; name is what the experiment calls it, at what
// errors do.
func (m *hpccImport) open(key string, must bool) (name string, data []byte, at string) {
	s := m.config.Get(key)
	if s == nil {
		if must {
			m.fail(key, key+" and a file", "the configuration has no %s", key)
		}
		return "", nil, ""
	}
	var err error
	beside := filepath.Dir(m.file)
	for _, folder := range []string{"", beside, filepath.Join(beside, "..")} {
		at = filepath.FromSlash(s.Text)
		if !filepath.IsAbs(at) {
			at = filepath.Join(folder, at)
		}
		var again error
		if data, again = document.ReadFile(at, document.LargestInput); again == nil {
			break
		} else if err == nil || !os.IsNotExist(again) {
			err = again
		}
		data = nil
	}
	if data == nil {
		if !must {
			return "", nil, ""
		}
		m.fail(key, "a file from here, from the configuration's folder or the one above", "%q cannot be read: %v",
			s.Text, document.Reason(err))
		return "", nil, ""
	}
	m.d.Remember(at, data)
	if !m.d.IsText(at, data, false) {
		return "", nil, ""
	}
	name = at
	if base, err := filepath.Abs(m.folder); err == nil {
		if whole, err := filepath.Abs(at); err == nil {
			if rel, err := filepath.Rel(base, whole); err == nil {
				name = rel
			}
		}
	}
	return filepath.ToSlash(name), data, at
}

// traced checks the list of nodes to trace, if the file is there.
func (m *hpccImport) traced() {
	_, data, at := m.open("TRACE_FILE", false)
	if data == nil {
		return
	}
	nodes, err := simfiles.ReadNodes(bytes.NewReader(data), at)
	var format *simfiles.FormatError
	if err != nil && !(errors.As(err, &format) && format.Excess) {
		m.foreign(err)
		return
	}
	m.nodes = fmt.Sprintf(" at %d nodes", len(nodes))
}

// paths finds the largest base RTT, by classes of hosts that reach others alike, and the
// least rate of a host's link.
func (m *hpccImport) paths() {
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
			if m.nic == 0 || l.Rate.Bits < m.nic {
				m.nic = l.Rate.Bits
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
				m.rtt = max(m.rtt, unit.Time(simfiles.PairOf(legs(n, links), payload).RTT)*unit.Nanosecond)
			}
		}
	}
}

// pathBetween returns the links of a path between the nearest NICs of two hosts; ok is false without a path.
func pathBetween(routes *topology.Routes, from, to int) (links []int, ok bool) {
	near, _ := routes.Near(from, to)
	return routes.Path(near.From, near.To)
}

// legs are the links of a path as the simulator's formulas take them.
func legs(n *topology.Network, links []int) []simfiles.Leg {
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

// duration is the run's, without what is before the first flow can begin.
func (m *hpccImport) duration() unit.Time {
	s := m.config.Get("SIMULATOR_STOP_TIME")
	if s == nil {
		m.fail("SIMULATOR_STOP_TIME", "SIMULATOR_STOP_TIME and seconds",
			"the configuration has no SIMULATOR_STOP_TIME")
		return 1
	}
	if s.Time <= m.offset {
		m.fail(s.Key, fmt.Sprintf("more than %v, when flows begin", m.offset), "the simulation stops at %v", s.Time)
		return 1
	}
	m.became[s.Key] = "duration"
	if m.offset > 0 {
		m.became[s.Key] += fmt.Sprintf(", without the %v before flows begin (offset)", m.offset)
	}
	return s.Time - m.offset
}
