package hpccsim

import (
	"fmt"
	"strconv"

	"weir/core/unit"
	"weir/study/interop/simfiles"
)

// framing is that of the mode; hpcc_plain if the configuration names none.
func (m *hpccImport) framing() string {
	if framing := m.mode().framing; framing != "" {
		return framing
	}
	return plain
}

// measures are what the simulator and its analysis give.
func (m *hpccImport) measures(duration unit.Time) []string {
	out := []string{"goodput", "fct", "{slowdown: {bins: 20, percentiles: [50, 95, 99]}}"}
	if m.config.Get("FCT_OUTPUT_FILE") != nil {
		m.became["FCT_OUTPUT_FILE"] = "weir export writes it from the results"
	}
	if m.config.Get("PFC_OUTPUT_FILE") != nil {
		m.lost["PFC_OUTPUT_FILE"] = "results have no log of PFC frames"
	}
	start, end := m.config.Get("QLEN_MON_START"), m.config.Get("QLEN_MON_END")
	if m.config.Get("QLEN_MON_FILE") == nil || start == nil || end == nil || end.Time <= start.Time {
		return out
	}
	ports := 0
	for i := range m.network.Links {
		for _, node := range m.network.Links[i].Ends {
			if m.network.Nodes[node].Switch {
				ports++
			}
		}
	}
	const most = 1 << 24 // samples, a quarter of what fits
	every := 100 * unit.Nanosecond
	for _, next := range []int64{2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000, 1000000, 10000000} {
		if float64(duration/every)*float64(ports) <= most {
			break
		}
		every = unit.Time(next) * 100 * unit.Nanosecond
	}
	m.became["QLEN_MON_FILE"] = fmt.Sprintf("measure: queue, of all switch ports, each %v", every)
	m.became["QLEN_MON_START"] = "nothing: queues are sampled in the measured part"
	m.became["QLEN_MON_END"] = "nothing: queues are sampled in the measured part"
	return append(out, fmt.Sprintf("{queue: {switches: \"*\", every: %v, unit: bytes, percentiles: [50, 95, 99]}}", every))
}

// ports are the destination ports in the flow file, ascending, by which flows are told
// apart; a −1 if there is one only.
func (m *hpccImport) ports() []int {
	seen := map[int]bool{}
	for _, f := range m.flows {
		seen[f.Port] = true
	}
	if len(seen) < 2 || len(seen) > 16 {
		return []int{-1}
	}
	var out []int
	for p := range 65536 {
		if seen[p] {
			out = append(out, p)
		}
	}
	return out
}

// rest says of all other keys why they have no counterpart.
func (m *hpccImport) rest() {
	m.became["TOPOLOGY_FILE"], m.became["FLOW_FILE"] = "topology", "traffic"
	why := map[string]string{
		"DATA_RATE": "the topology has it", "LINK_DELAY": "the topology has it",
		"PAUSE_TIME":        "a pause of pfc lasts until it is ended, as the simulator's do",
		"TRACE_OUTPUT_FILE": "what is traced is no part of an experiment",
		"ENABLE_TRACE":      "what is traced is no part of an experiment",
		"L2_CHUNK_SIZE":     "it counts with L2_BACK_TO_ZERO only",
	}
	for i := range m.config {
		s := &m.config[i]
		key := s.Key
		if s.Key == "PACKET_PAYLOAD_SIZE" {
			m.became[key] = "mtu"
		}
		if s.Key == "ERROR_RATE_PER_LINK" && s.Number > 0 {
			m.lost[key] = "the topology file has a rate for each link"
		}
		if m.became[key] != "" || m.lost[key] != "" {
			if m.lost[key] != "" {
				delete(m.became, key)
			}
			continue
		}
		switch {
		case why[key] != "":
			m.lost[key] = why[key]
		case s.Number == 0 && simfiles.KeyByName(key).Kind <= simfiles.Fraction:
			m.became[key] = "nothing: it is 0"
		default:
			m.became[key] = "nothing: CC_MODE " + strconv.FormatFloat(m.number("CC_MODE", 0), 'f', -1, 64) + " has no use for it"
		}
	}
}
