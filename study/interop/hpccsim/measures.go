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

// measures are what the simulator and its analysis give, and what weir export makes its files of.
func (m *hpccImport) measures(duration unit.Time) []string {
	m.became["FCT_OUTPUT_FILE"] = "weir export writes it from the results"
	m.became["PFC_OUTPUT_FILE"] = "measure: pfc_pause, with a log, from which weir export writes it"
	return append([]string{"goodput", "fct", "{slowdown: {bins: 20, percentiles: [50, 95, 99]}}",
		"{pfc_pause: {log: true}}"}, m.queues(duration)...)
}

// queues is the measure of the monitor of queues, nothing without one. The simulator looks each 100 ns.
func (m *hpccImport) queues(duration unit.Time) []string {
	if m.config.Get("QLEN_MON_FILE") == nil {
		m.became["QLEN_MON_START"], m.became["QLEN_MON_END"] = "nothing: no QLEN_MON_FILE", "nothing: no QLEN_MON_FILE"
		return nil
	}
	start, end := m.config.Get("QLEN_MON_START").Time-m.offset, m.config.Get("QLEN_MON_END").Time-m.offset
	if start = max(start, 0); end <= start || start >= duration {
		m.lost["QLEN_MON_FILE"] = "histograms of queues between QLEN_MON_START and QLEN_MON_END, where nothing runs"
		return nil
	}
	end = min(end, duration)
	ports := 0
	for i := range m.network.Links {
		for _, node := range m.network.Links[i].Ends {
			if m.network.Nodes[node].Switch {
				ports++
			}
		}
	}
	const most, mostOfOne = 1 << 24, 1 << 21 // samples: a part of what fits
	every := 100 * unit.Nanosecond
	for _, next := range []int64{2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000, 1000000, 10000000} {
		if n := float64((end - start) / every); n <= mostOfOne && n*float64(ports) <= most {
			break
		}
		every = unit.Time(next) * 100 * unit.Nanosecond
	}
	every = min(every, end-start)
	m.became["QLEN_MON_FILE"] = fmt.Sprintf("measure: queue, of all switch ports, each %v; weir export writes it", every)
	m.became["QLEN_MON_START"], m.became["QLEN_MON_END"] = "queue.from", "queue.until"
	part := fmt.Sprintf("every: %v", every)
	if start > 0 {
		part += fmt.Sprintf(", from: %v", start)
	}
	if end < duration {
		part += fmt.Sprintf(", until: %v", end)
	}
	return []string{"{queue: {switches: \"*\", " + part + ", unit: bytes, log: true, percentiles: [50, 95, 99]}}"}
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
	m.became["PACKET_PAYLOAD_SIZE"] = "mtu"
	for _, key := range []string{"DATA_RATE", "LINK_DELAY"} {
		m.became[key] = "nothing: the topology has each link's, and the simulator looks at these only"
	}
	m.became["L2_CHUNK_SIZE"] = "nothing: it counts with L2_BACK_TO_ZERO, and where L2_ACK_INTERVAL is more than a packet"
	if s := m.config.Get("PAUSE_TIME"); s.Time == 0 {
		m.lost[s.Key] = "pauses that end at once; here they last until they are ended"
	} else {
		m.became[s.Key] = "nothing: above 0 a pause lasts until it is ended, here and there"
	}
	if s := m.config.Get("ERROR_RATE_PER_LINK"); s.Number > 0 {
		m.lost[s.Key] = "the loss of all links of which the topology file says 0; set it there, in the fifth column"
	}
	m.traces()
	for i := range m.config {
		s := &m.config[i]
		key := s.Key
		if m.lost[key] != "" {
			delete(m.became, key)
			continue
		}
		if m.became[key] != "" {
			continue
		}
		switch {
		case s.Number == 0 && simfiles.KeyByName(key).Kind <= simfiles.Fraction:
			m.became[key] = "nothing: it is 0"
		default:
			m.became[key] = "nothing: CC_MODE " + strconv.FormatFloat(m.number("CC_MODE", 0), 'f', -1, 64) + " has no use for it"
		}
	}
}

// traces are the keys of the log of packets, which weir run keeps on request.
func (m *hpccImport) traces() {
	for _, key := range []string{"ENABLE_TRACE", "TRACE_FILE", "TRACE_OUTPUT_FILE"} {
		switch s := m.config.Get(key); {
		case !m.config.On("ENABLE_TRACE"):
			m.became[key] = "nothing: ENABLE_TRACE is 0"
		case s != nil && s.Line == 0:
			m.became[key] = "nothing: weir run --trace keeps packets"
		case key == "TRACE_FILE":
			m.lost[key] = "packets that are logged" + m.nodes + "; weir run --trace does that, for ports"
		default:
			m.lost[key] = "a log of packets; weir run --trace keeps one, in a form of its own"
		}
	}
}
