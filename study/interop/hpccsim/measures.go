package hpccsim

import (
	"fmt"
	"strconv"

	"weir/core/unit"
	"weir/study/interop/simfiles"
)

// modeFraming returns the framing of the mode; plainFraming if the mode is not supported.
func (m *hpccImport) modeFraming() string {
	if framing := m.findMode().framing; framing != "" {
		return framing
	}
	return plainFraming
}

// listMeasures returns the measures that correspond to the simulator's output files and analysis, and to the files of
// weir export, each as a YAML entry. duration is the run's, which limits the queue monitor.
func (m *hpccImport) listMeasures(duration unit.Time) []string {
	m.mapped["FCT_OUTPUT_FILE"] = "weir export writes it from the results"
	m.mapped["PFC_OUTPUT_FILE"] = "measure: pfc_pause, with a log, from which weir export writes it"
	return append([]string{"goodput", "fct", "{slowdown: {bins: 20, percentiles: [50, 95, 99]}}",
		"{pfc_pause: {log: true}}"}, m.queueMeasure(duration)...)
}

// queueMeasure returns the measure of the queue monitor; nil without one, or if it lies outside of the run. The
// simulator samples every 100 ns; here the interval grows until the samples fit. It records what becomes of the keys.
func (m *hpccImport) queueMeasure(duration unit.Time) []string {
	if m.config.Get("QLEN_MON_FILE") == nil {
		m.mapped["QLEN_MON_START"], m.mapped["QLEN_MON_END"] = "nothing: no QLEN_MON_FILE", "nothing: no QLEN_MON_FILE"
		return nil
	}
	start, end := m.config.Get("QLEN_MON_START").Time-m.offset, m.config.Get("QLEN_MON_END").Time-m.offset
	if start = max(start, 0); end <= start || start >= duration {
		m.unmapped["QLEN_MON_FILE"] = "histograms of queues between QLEN_MON_START and QLEN_MON_END, where nothing runs"
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
	const maxSamples, maxPortSamples = 1 << 24, 1 << 21 // samples; a part of what fits into memory
	every := 100 * unit.Nanosecond
	for _, next := range []int64{2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000, 1000000, 10000000} {
		if n := float64((end - start) / every); n <= maxPortSamples && n*float64(ports) <= maxSamples {
			break
		}
		every = unit.Time(next) * 100 * unit.Nanosecond
	}
	every = min(every, end-start)
	m.mapped["QLEN_MON_FILE"] = fmt.Sprintf("measure: queue, of all switch ports, each %v; weir export writes it", every)
	m.mapped["QLEN_MON_START"], m.mapped["QLEN_MON_END"] = "queue.from", "queue.until"
	part := fmt.Sprintf("every: %v", every)
	if start > 0 {
		part += fmt.Sprintf(", from: %v", start)
	}
	if end < duration {
		part += fmt.Sprintf(", until: %v", end)
	}
	return []string{"{queue: {switches: \"*\", " + part + ", unit: bytes, log: true, percentiles: [50, 95, 99]}}"}
}

// trafficPorts returns the destination ports in the flow file, ascending, one for each traffic entry. It returns a
// single −1 if the file has one port or more than 16.
func (m *hpccImport) trafficPorts() []int {
	inUse := map[int]bool{}
	for _, f := range m.flows {
		inUse[f.Port] = true
	}
	if len(inUse) < 2 || len(inUse) > 16 {
		return []int{-1}
	}
	var out []int
	for p := range 65536 {
		if inUse[p] {
			out = append(out, p)
		}
	}
	return out
}

// explainOtherKeys records what becomes of all remaining keys, or why they have no counterpart. It comes last, since it
// regards keys without a record as unused.
func (m *hpccImport) explainOtherKeys() {
	m.mapped["TOPOLOGY_FILE"], m.mapped["FLOW_FILE"] = "topology", "traffic"
	m.mapped["PACKET_PAYLOAD_SIZE"] = "mtu"
	for _, key := range []string{"DATA_RATE", "LINK_DELAY"} {
		m.mapped[key] = "nothing: the topology has each link's, and the simulator looks at these only"
	}
	m.mapped["L2_CHUNK_SIZE"] = "nothing: it counts with L2_BACK_TO_ZERO, and where L2_ACK_INTERVAL is more than a packet"
	if s := m.config.Get("PAUSE_TIME"); s.Time == 0 {
		m.unmapped[s.Key] = "pauses that end at once; here they last until they are ended"
	} else {
		m.mapped[s.Key] = "nothing: above 0 a pause lasts until it is ended, here and there"
	}
	if s := m.config.Get("ERROR_RATE_PER_LINK"); s.Number > 0 {
		m.unmapped[s.Key] = "the loss of all links of which the topology file says 0; set it there, in the fifth column"
	}
	m.mapTraceKeys()
	for i := range m.config {
		s := &m.config[i]
		key := s.Key
		if m.unmapped[key] != "" {
			delete(m.mapped, key)
			continue
		}
		if m.mapped[key] != "" {
			continue
		}
		switch {
		case s.Number == 0 && simfiles.FindKey(key).Kind <= simfiles.Fraction:
			m.mapped[key] = "nothing: it is 0"
		default:
			m.mapped[key] = "nothing: CC_MODE " + strconv.FormatFloat(m.numberOr("CC_MODE", 0), 'f', -1, 64) +
				" has no use for it"
		}
	}
}

// mapTraceKeys records the keys of the packet log. weir run keeps one on request.
func (m *hpccImport) mapTraceKeys() {
	for _, key := range []string{"ENABLE_TRACE", "TRACE_FILE", "TRACE_OUTPUT_FILE"} {
		switch s := m.config.Get(key); {
		case !m.config.IsSet("ENABLE_TRACE"):
			m.mapped[key] = "nothing: ENABLE_TRACE is 0"
		case s != nil && s.Line == 0:
			m.mapped[key] = "nothing: weir run --trace keeps packets"
		case key == "TRACE_FILE":
			m.unmapped[key] = "packets that are logged" + m.tracedNodes + "; weir run --trace does that, for ports"
		default:
			m.unmapped[key] = "a log of packets; weir run --trace keeps one, in a form of its own"
		}
	}
}
