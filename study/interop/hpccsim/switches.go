package hpccsim

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"weir/core/unit"
)

// listPrograms returns the programs of all switches as YAML, in their order: routing, buffer, PFC, ECN, telemetry. The
// configuration must have its defaults, and the network must be read. It records what becomes of each key.
func (m *hpccImport) listPrograms() []string {
	out := []string{"ecmp"}
	size := m.config.Get("BUFFER_SIZE")
	out = append(out, m.formatProgram("shared_buffer", namedValue{size.Key, "size", fmt.Sprintf("%.0fMiB",
		size.Number)})...)
	pfc := []namedValue{{"", "headroom", "simulator"}, {"", "trigger", "shift"}, {"", "shift", "3"},
		{"", "nic_rate", m.minNICRate.String()}}
	// The simulator reads the key but does not use it (qbb-net-device.cc: m_dynamicth).
	m.mapped["USE_DYNAMIC_PFC_THRESHOLD"] = "pfc.trigger: the threshold follows the free buffer whatever the key " +
		"says, as there"
	out = append(out, m.formatProgram("pfc", pfc...)...)
	if m.config.IsSet("ENABLE_QCN") {
		if ecn := m.ecnParams(); len(ecn) > 0 {
			m.mapped["ENABLE_QCN"] = "the program ecn"
			text := m.formatProgram("ecn", ecn...)
			if out = append(out, text...); text == nil {
				m.unmapped["ENABLE_QCN"] = "this weir has no program ecn"
				delete(m.mapped, "ENABLE_QCN")
			}
		} else {
			m.unmapped["ENABLE_QCN"] = "marks; without KMIN_MAP, KMAX_MAP and PMAX_MAP, with which alone the simulator " +
				"starts, there are none"
		}
	} else {
		m.unmapped["ENABLE_QCN"] = "no marks, and so it is here; and hosts that do not wake for the next paced packet " +
			"until something else wakes them (qbb-net-device.cc), which here they do"
		for _, key := range []string{"KMIN_MAP", "KMAX_MAP", "PMAX_MAP"} {
			if m.config.Get(key) != nil {
				m.mapped[key] = "nothing: ENABLE_QCN is 0"
			}
		}
	}
	if telemetry := m.findMode().telemetry; telemetry != nil {
		out = append(out, m.formatProgram("telemetry", telemetry(m)...)...)
	}
	return out
}

// ecnParams returns the parameters of ECN marking; nil if a map is missing or, with an error, if it lacks the rate of a
// switch's link.
func (m *hpccImport) ecnParams() (out []namedValue) {
	for _, k := range []struct {
		key, name string
		value     func(v float64) string
	}{
		{"KMIN_MAP", "kmin_map", func(v float64) string { return unit.Bytes(math.Round(v * 1000)).String() }},
		{"KMAX_MAP", "kmax_map", func(v float64) string { return unit.Bytes(math.Round(v * 1000)).String() }},
		{"PMAX_MAP", "pmax_map", func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }},
	} {
		s := m.config.Get(k.key)
		if s == nil || len(s.Map) == 0 {
			return nil
		}
		var entries []string
		for _, e := range s.Map {
			entries = append(entries, fmt.Sprintf("%v: %s", e.Rate, k.value(e.Value)))
		}
		out = append(out, namedValue{k.key, k.name, "{" + strings.Join(entries, ", ") + "}"})
	}
	rates := map[unit.Rate]bool{}
	for i := range m.network.Links {
		l := &m.network.Links[i]
		for _, node := range l.Ends {
			if !m.network.Nodes[node].Switch || rates[l.Rate.Bits] {
				continue
			}
			rates[l.Rate.Bits] = true
			for _, key := range []string{"KMIN_MAP", "KMAX_MAP", "PMAX_MAP"} {
				found := false
				for _, e := range m.config.Get(key).Map {
					found = found || e.Rate == l.Rate.Bits
				}
				if !found {
					m.failKey(key, "a value for each rate of the topology's switches", "%s has none for links of %v", key, l.Rate)
					return nil
				}
			}
		}
	}
	return out
}

// formatFailure returns the event of the link that goes down; "" without one, and after an error if no link joins its
// two nodes. It records the key.
func (m *hpccImport) formatFailure() string {
	s := m.config.Get("LINK_DOWN")
	if s == nil {
		return ""
	}
	if s.Time == 0 && s.Ends == [2]int{} { // the simulator's own file: no failure
		m.mapped[s.Key] = "no event"
		return ""
	}
	for _, l := range m.network.Links {
		if l.Ends == s.Ends || l.Ends == [2]int{s.Ends[1], s.Ends[0]} {
			m.mapped[s.Key] = "events; the simulator's switches take other ways from then on, ours by their programs"
			nodes := m.network.Nodes
			return fmt.Sprintf("{at: %v, link: [%s, %s], down: true}", s.Time+simulatorStart-m.offset, nodes[s.Ends[0]].Name,
				nodes[s.Ends[1]].Name)
		}
	}
	m.failKey(s.Key, "two nodes that a link joins, or 0 0 0", "nodes %d and %d have no link", s.Ends[0], s.Ends[1])
	return ""
}
