package hpccsim

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/document"
	"weir/study/interop/simfiles"
)

// namedValue is a parameter of a scheme: the key of the config.txt that it comes from ("": none), its name and value.
type namedValue struct{ key, name, value string }

// formatScheme returns the YAML of a scheme with its parameters. Parameters that the registry's scheme lacks are left
// out, noted, and their keys recorded as unmapped. It records the parameter of each other key that has no record yet.
func (m *hpccImport) formatScheme(s *scheme.Scheme, params []namedValue) string {
	var text []string
	for _, p := range params {
		known := false
		for _, x := range s.Parameters() {
			known = known || x.Name == p.name
		}
		if !known {
			m.noteLeftOut("%s has no parameter %s (%s)", s.Name, p.name, p.value)
			if p.key != "" {
				m.unmapped[p.key] = fmt.Sprintf("%s of this weir has no %s", s.Name, p.name)
			}
			continue
		}
		text = append(text, p.name+": "+p.value)
		if p.key != "" && m.mapped[p.key] == "" {
			m.mapped[p.key] = s.Name + "." + p.name
		}
	}
	if len(text) == 0 {
		return s.Name
	}
	return s.Name + ": {" + strings.Join(text, ", ") + "}"
}

// noteLeftOut adds a warning about something that the registry lacks.
func (m *hpccImport) noteLeftOut(format string, args ...any) {
	w := document.Warn(warnLeftOut, document.Position{}, "left out: "+format, args...)
	m.otherWarnings = append(m.otherWarnings, w)
}

// formatProgram returns the YAML of a switch program as a list of one; nil, with a note, if the registry lacks the
// program. It records what becomes of the parameters' keys.
func (m *hpccImport) formatProgram(name string, params ...namedValue) []string {
	for i := range m.registry.Programs {
		if s := &m.registry.Programs[i].Scheme; s.Name == name {
			return []string{m.formatScheme(s, params)}
		}
	}
	m.noteLeftOut("the program %s", name)
	for _, p := range params {
		if p.key != "" {
			m.unmapped[p.key] = "this weir has no program " + name
		}
	}
	return nil
}

// numberOr returns the number of a key, or fallback if the configuration lacks the key.
func (m *hpccImport) numberOr(key string, fallback float64) float64 {
	if s := m.config.Get(key); s != nil {
		return s.Number
	}
	return fallback
}

// ccMode is a congestion controller of the simulator, with what depends on it in an experiment.
type ccMode struct {
	number      float64 // CC_MODE
	name        string  // controller in Weir
	preset      string  // parameter preset; "": no preset
	framing     string  // value of framing, with a comment on the bytes
	cnps        bool    // a receiver answers each marked packet
	reschedules bool    // a new rate reschedules the waiting packet (ChangeRate)
	// telemetry returns the parameters of the program that writes the controller's telemetry; nil: it reads no telemetry.
	telemetry func(m *hpccImport) []namedValue
}

// plainFraming is the framing of modes without telemetry.
const plainFraming = "hpcc_plain # 48 bytes of headers"

// ccModes lists the modes that can be imported.
var ccModes = []ccMode{
	// rdma-hw.cc: ReceiveUdp sets the CNP flag in the ACK of each marked packet
	{number: 1, name: "dcqcn", preset: "vendor", framing: plainFraming, cnps: true},
	{number: 3, name: "hpcc", framing: "hpcc # 48 bytes of headers and 42 of telemetry", reschedules: true,
		telemetry: func(m *hpccImport) []namedValue {
			return m.addScaledParam(namedValue{"", "format", "hpcc"}, "INT_MULTI", "multi")
		}},
	{number: 7, name: "timely", preset: "hpcc", framing: "hpcc_timely # 48 bytes of headers and a time stamp of 8"},
	{number: 8, name: "dctcp", framing: plainFraming},
	{number: 10, name: "hpcc_pint", framing: "hpcc_pint # 48 bytes of headers and 2 of telemetry", reschedules: true,
		telemetry: func(m *hpccImport) []namedValue { // its flows request the loads themselves
			return m.addScaledParam(namedValue{"", "t", m.maxRTT.String()}, "PINT_LOG_BASE", "base")
		}},
}

// findMode returns the mode of CC_MODE; the zero mode if it is not supported.
func (m *hpccImport) findMode() ccMode {
	for _, x := range ccModes {
		if x.number == m.numberOr("CC_MODE", 0) {
			return x
		}
	}
	return ccMode{}
}

// addScaledParam returns the parameter first, followed by the parameter name with the key's number if the
// configuration has the key.
func (m *hpccImport) addScaledParam(first namedValue, key, name string) []namedValue {
	if s := m.config.Get(key); s != nil {
		return []namedValue{first, {s.Key, name, strconv.FormatFloat(s.Number, 'f', -1, 64)}}
	}
	return []namedValue{first}
}

// controllerKey maps a key of a config.txt to a parameter of a controller.
type controllerKey struct {
	controllers string // names separated by spaces
	key, name   string // key of the file; name of the parameter, "": no parameter
	// value returns the parameter's value. An empty value leaves the parameter out; why is then the reason if the key
	// has no counterpart.
	value func(m *hpccImport, s *simfiles.Setting) (value, why string)
}

// controllerKeys lists the mappings in the order of the parameters. A key may occur more than once.
var controllerKeys = []controllerKey{
	{"hpcc hpcc_pint", "U_TARGET", "eta", formatNumber},
	{"hpcc hpcc_pint", "MI_THRESH", "max_stage", formatNumber},
	// HPCC simulator: W_ai = RATE_AI · T
	{"hpcc hpcc_pint", "RATE_AI", "w_ai", func(m *hpccImport, s *simfiles.Setting) (string, string) {
		if !m.config.IsSet("GLOBAL_T") {
			m.unmapped["GLOBAL_T"] = "a W_ai of RATE_AI times each pair's own T; here it is the largest T's, and T is each " +
				"pair's"
		}
		return fmt.Sprintf("%.0f B", math.Round(float64(s.Rate)*m.maxRTT.Seconds()/8)), ""
	}},
	{"hpcc hpcc_pint", "GLOBAL_T", "t", formatMaxRTT},
	{"hpcc hpcc_pint", "MIN_RATE", "min_rate", formatRate},
	{"hpcc_pint", "PINT_PROB", "share", formatNumber},
	{"hpcc", "MULTI_RATE", "mode", formatHPCCMode},
	{"hpcc", "FAST_REACT", "mode", formatHPCCMode},
	{"hpcc", "SAMPLE_FEEDBACK", "sample_feedback", formatFlag},
	{"hpcc", "HAS_WIN", "window", func(m *hpccImport, s *simfiles.Setting) (string, string) {
		if s.Number == 0 {
			m.unmapped[s.Key] = "no window, by which the simulator divides queues: its loads are no numbers then; here it " +
				"is a rate without a window"
		}
		return formatWindow(m, s)
	}},
	{"hpcc", "VAR_WIN", "window", formatWindow},
	{"hpcc_pint", "HAS_WIN", "window", formatWindow},
	{"hpcc_pint", "VAR_WIN", "window", formatWindow},

	{"dcqcn", "EWMA_GAIN", "g", formatGain},
	{"dcqcn", "ALPHA_RESUME_INTERVAL", "alpha_timer", formatTime},
	{"dcqcn", "RATE_DECREASE_INTERVAL", "decrease_interval", formatTime},
	{"dcqcn", "RP_TIMER", "increase_timer", formatTime},
	{"dcqcn", "FAST_RECOVERY_TIMES", "fast_recovery", formatNumber},
	{"dcqcn", "RATE_AI", "ai", formatRate},
	{"dcqcn", "RATE_HAI", "hai", formatRate},
	{"dcqcn", "MIN_RATE", "min_rate", formatRate},
	{"dcqcn", "CLAMP_TARGET_RATE", "clamp_target_rate", formatFlag},

	{"timely", "RATE_AI", "delta", formatRate},
	{"timely", "RATE_HAI", "hai", func(m *hpccImport, s *simfiles.Setting) (string, string) {
		ai := m.config.Get("RATE_AI")
		if ai == nil || ai.Rate == 0 || s.Rate < ai.Rate || s.Rate%ai.Rate != 0 {
			return "", "the increase after five others; TIMELY's is a whole multiple of RATE_AI here, and 5 if it is not given"
		}
		return strconv.FormatInt(int64(s.Rate/ai.Rate), 10), ""
	}},
	{"timely", "MIN_RATE", "min_rate", formatRate},

	{"dcqcn timely", "HAS_WIN", "window", formatWindow},
	{"dcqcn timely", "VAR_WIN", "window", formatWindow},
	{"dcqcn timely", "GLOBAL_T", "base_rtt", formatMaxRTT},

	{"dctcp", "EWMA_GAIN", "g", formatNumber},
	// rdma-hw.cc: the rate starts at the line's, and grows by DCTCP_RATE_AI a round trip
	{"dctcp", "CC_MODE", "slow_start", func(*hpccImport, *simfiles.Setting) (string, string) { return "false", "" }},
	{"dctcp", "DCTCP_RATE_AI", "", func(m *hpccImport, s *simfiles.Setting) (string, string) {
		bytes := float64(s.Rate) * m.maxRTT.Seconds() / 8
		if payload := m.numberOr("PACKET_PAYLOAD_SIZE", 1000); bytes < 0.5*payload || bytes > 2*payload {
			return "", fmt.Sprintf("a window that grows by %.0f bytes in a round trip of %v; DCTCP's does by a packet "+
				"(RFC 8257 §3.3)", bytes, m.maxRTT)
		}
		m.mapped[s.Key] = fmt.Sprintf("nothing: it is %.0f bytes in a round trip of %v, and DCTCP grows by a packet in one",
			bytes, m.maxRTT)
		return "", ""
	}},
	{"dctcp", "VAR_WIN", "", func(m *hpccImport, s *simfiles.Setting) (string, string) {
		switch {
		case !m.config.IsSet("HAS_WIN"):
			m.mapped[s.Key] = "nothing: HAS_WIN is 0"
		case s.Number == 0:
			m.mapped[s.Key] = "rdma.bound: it stays, whatever DCTCP's own window"
		default:
			m.mapped[s.Key] = "dctcp, whose window is what its rate would be"
		}
		return "", ""
	}},
	{"dctcp", "MIN_RATE", "", func(m *hpccImport, s *simfiles.Setting) (string, string) {
		if minBytes := float64(s.Rate) * m.maxRTT.Seconds() / 8; minBytes > 2*m.numberOr("PACKET_PAYLOAD_SIZE", 1000) {
			return "", fmt.Sprintf("a window of %.0f bytes at least; DCTCP's least is two packets (RFC 8257)", minBytes)
		}
		m.mapped[s.Key] = "nothing: it is less than DCTCP's least window, two packets"
		return "", ""
	}},
}

// formatNumber returns the setting as a number.
func formatNumber(_ *hpccImport, s *simfiles.Setting) (string, string) {
	return strconv.FormatFloat(s.Number, 'f', -1, 64), ""
}

// formatGain returns DCQCN's gain as a number; 0 has no counterpart.
func formatGain(m *hpccImport, s *simfiles.Setting) (string, string) {
	if s.Number == 0 {
		return "", "marks that never change alpha, which stays 1; here 0 stands for the preset's 1/256"
	}
	return formatNumber(m, s)
}

// formatFlag returns the setting as true or false.
func formatFlag(_ *hpccImport, s *simfiles.Setting) (string, string) {
	return strconv.FormatBool(s.Number != 0), ""
}

// formatRate returns the setting as a rate; 0 has no counterpart.
func formatRate(_ *hpccImport, s *simfiles.Setting) (string, string) {
	if s.Rate == 0 {
		return "", "no rate; here 0 stands for a default"
	}
	return s.Rate.String(), ""
}

// formatTime returns the setting as a time; 0 has no counterpart.
func formatTime(_ *hpccImport, s *simfiles.Setting) (string, string) {
	if s.Time == 0 {
		return "", "a timer that runs out all the time; here 0 stands for a default"
	}
	return s.Time.String(), ""
}

// formatMaxRTT returns the largest RTT of all flows if the setting, GLOBAL_T, is set; "" otherwise.
func formatMaxRTT(m *hpccImport, s *simfiles.Setting) (string, string) {
	if s.Number == 0 {
		return "", ""
	}
	return m.maxRTT.String(), ""
}

// formatHPCCMode returns HPCC's mode from MULTI_RATE and FAST_REACT, whichever of them the setting is.
func formatHPCCMode(m *hpccImport, _ *simfiles.Setting) (string, string) {
	switch {
	case m.config.IsSet("MULTI_RATE"):
		return "per_hop", ""
	case m.config.Get("FAST_REACT") != nil && !m.config.IsSet("FAST_REACT"):
		return "per_rtt", ""
	}
	return "hpcc++", ""
}

// formatWindow returns the window parameter from HAS_WIN and VAR_WIN, whichever of them the setting is.
func formatWindow(m *hpccImport, _ *simfiles.Setting) (string, string) {
	switch {
	case !m.config.IsSet("HAS_WIN"):
		return "none", ""
	case m.config.IsSet("VAR_WIN"):
		return "variable", ""
	}
	return "bdp", ""
}

// formatController returns the YAML of the congestion controller; "" after an error, which it reports. Without measured
// paths (measurePaths), values that depend on the RTT are 0. It records what becomes of each key.
func (m *hpccImport) formatController() string {
	mode := m.findMode()
	name := mode.name
	if name == "" {
		text := ""
		if s := m.config.Get("CC_MODE"); s != nil {
			text = strconv.FormatFloat(s.Number, 'f', -1, 64)
		}
		m.failKey("CC_MODE", simfiles.ModeNames, "CC_MODE is %q", text)
		return ""
	}
	m.mapped["CC_MODE"] = "cc: " + name
	var params []namedValue
	if mode.preset != "" {
		params = append(params, namedValue{"", "preset", mode.preset})
	}
	given := map[string]bool{}
	for _, k := range controllerKeys {
		s := m.config.Get(k.key)
		if s == nil || !slices.Contains(strings.Fields(k.controllers), name) {
			continue
		}
		switch value, why := k.value(m, s); {
		case why != "":
			m.unmapped[k.key] = why
		case k.key == "CC_MODE":
			params = append(params, namedValue{"", k.name, value})
		case value != "" && given[k.name]:
			m.mapped[k.key] = name + "." + k.name
		case value != "":
			given[k.name] = true
			params = append(params, namedValue{k.key, k.name, value})
		}
	}
	for i := range m.registry.Controllers {
		if s := &m.registry.Controllers[i].Scheme; s.Name == name {
			return "{" + addBraces(m.formatScheme(s, params)) + "}"
		}
	}
	m.failKey("CC_MODE", "", "this weir has no congestion controller %s", name)
	return ""
}

// addBraces makes a name with or without parameters an entry of a YAML map in braces.
func addBraces(s string) string {
	if strings.Contains(s, ":") {
		return s
	}
	return s + ": {}"
}

// formatTransport returns the YAML of the transport rdma; "" after an error, which it reports. The configuration must
// have its defaults. It records what becomes of each key.
func (m *hpccImport) formatTransport() string {
	// rdma-queue-pair.cc: IsWinBound
	params := []namedValue{{"", "recovery", "go_back_n"}, {"", "rto", "none"}, {"", "window_test", "below"}}
	if mode := m.findMode(); !mode.reschedules && mode.name != "dctcp" { // DCTCP has no rate here
		params = append(params, namedValue{"", "new_rate", "next"})
	}
	m.checkAckInterval()
	if s := m.config.Get("L2_ACK_INTERVAL"); s != nil {
		params = append(params, namedValue{s.Key, "ack_every", "1 packet"})
	}
	if m.findMode().cnps {
		params = append(params, namedValue{"", "cnp_interval", unit.Nanosecond.String()})
	}
	if s := m.config.Get("ACK_HIGH_PRIO"); s.Number != 0 {
		params = append(params, namedValue{s.Key, "ack_priority", "true"}, namedValue{"", "class", "1"})
		m.mapped[s.Key] = "rdma.ack_priority: at hosts, as there"
	} else {
		m.mapped[s.Key] = "nothing: ACKs are of the data's class, and go first at hosts, as there"
	}
	if s := m.config.Get("RATE_BOUND"); s.Number == 0 {
		params = append(params, namedValue{s.Key, "pacing", "false"})
	} else {
		m.mapped[s.Key] = "transport: rdma, which paces by the controller's rate"
	}
	if s := m.config.Get("HAS_WIN"); m.findMode().name == "dctcp" && s.Number != 0 {
		params = append(params, namedValue{s.Key, "bound", "bdp"})
	} else if m.findMode().name == "dctcp" {
		m.mapped[s.Key] = "dctcp, whose own window is all"
	}
	m.mapFlag("L2_BACK_TO_ZERO", "a gap that sends the chunk of L2_CHUNK_SIZE bytes again from its start; here all from "+
		"the gap on goes again (go_back_n)", "rdma.recovery: go_back_n")
	if m.config.IsSet("GLOBAL_T") {
		params = append(params, namedValue{"", "base_rtt", m.maxRTT.String()})
		if m.mapped["GLOBAL_T"] == "" {
			m.mapped["GLOBAL_T"] = "rdma.base_rtt"
		}
	}
	for i := range m.registry.Transports {
		if s := &m.registry.Transports[i].Scheme; s.Name == "rdma" {
			return "{" + addBraces(m.formatScheme(s, params)) + "}"
		}
	}
	m.reader.Fail(document.Position{File: m.file, Line: 1, Column: 1}, "", "this weir has no transport rdma")
	return ""
}

// checkAckInterval checks L2_ACK_INTERVAL, in bytes: it warns if the key is missing, and reports an error for 0.
// ReceiveUdp (rdma-hw.cc) resets the milestone at every packet, so that each packet after the first L2_ACK_INTERVAL
// bytes is acknowledged.
func (m *hpccImport) checkAckInterval() {
	s := m.config.Get("L2_ACK_INTERVAL")
	switch payload := m.numberOr("PACKET_PAYLOAD_SIZE", 1000); {
	case s == nil:
		m.otherWarnings = append(m.otherWarnings, m.newKeyWarning(warnAck, "L2_ACK_INTERVAL",
			"is not there, and the simulator's own value is 0, with which no flow ends; here each packet is acknowledged"))
	case s.Number == 0:
		m.failKey(s.Key, "1 or more", "without acknowledgements no flow ends")
	case s.Number > payload:
		m.unmapped[s.Key] = fmt.Sprintf("an ACK for %.0f packets (rdma.ack_every); the simulator sends one for each packet "+
			"behind the first %.0f bytes, and so it is here, but from the first byte on", math.Ceil(s.Number/payload), s.Number)
	}
}

// mapFlag records a flag: the reason why it has no counterpart if it is set, otherwise its counterpart.
func (m *hpccImport) mapFlag(key, reason, counterpart string) {
	if m.config.IsSet(key) {
		m.unmapped[key] = reason
	} else {
		m.mapped[key] = counterpart
	}
}
