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

// namedValue is a parameter of a scheme on its way into the file.
type namedValue struct{ key, name, value string }

// scheme writes a scheme with its parameters, but for those that the registry's does not
// have.
func (m *hpccImport) scheme(s *scheme.Scheme, params []namedValue) string {
	var text []string
	for _, p := range params {
		known := false
		for _, x := range s.Parameters() {
			known = known || x.Name == p.name
		}
		if !known {
			m.leave("%s has no parameter %s (%s)", s.Name, p.name, p.value)
			if p.key != "" {
				m.lost[p.key] = fmt.Sprintf("%s of this weir has no %s", s.Name, p.name)
			}
			continue
		}
		text = append(text, p.name+": "+p.value)
		if p.key != "" && m.became[p.key] == "" {
			m.became[p.key] = s.Name + "." + p.name
		}
	}
	if len(text) == 0 {
		return s.Name
	}
	return s.Name + ": {" + strings.Join(text, ", ") + "}"
}

// leave notes what the registry lacks.
func (m *hpccImport) leave(format string, args ...any) {
	m.left = append(m.left, document.Warn(warnLeftOut, document.Position{}, "left out: "+format, args...))
}

// program writes a switch program, nothing if the registry does not have it.
func (m *hpccImport) program(name string, params ...namedValue) []string {
	for i := range m.registry.Programs {
		if s := &m.registry.Programs[i].Scheme; s.Name == name {
			return []string{m.scheme(s, params)}
		}
	}
	m.leave("the program %s", name)
	for _, p := range params {
		if p.key != "" {
			m.lost[p.key] = "this weir has no program " + name
		}
	}
	return nil
}

// number is a key's number; what it is without the key.
func (m *hpccImport) number(key string, without float64) float64 {
	if s := m.config.Get(key); s != nil {
		return s.Number
	}
	return without
}

// mode is a controller of the simulator, with what else of an experiment depends on it.
type mode struct {
	number  float64 // CC_MODE
	name    string  // what Weir calls it
	preset  string  // whose values it has; "": it has one set only
	framing string  // whose bytes its frames have, and which they are
	cnps    bool    // a receiver answers each marked packet
	moves   bool    // a new rate moves the packet that waits (ChangeRate)
	// telemetry are the parameters of the program that writes what the controller reads; nil: it
	// reads none.
	telemetry func(m *hpccImport) []namedValue
}

// plain is the framing of modes without telemetry.
const plain = "hpcc_plain # 48 bytes of headers"

// modes are all.
var modes = []mode{
	// rdma-hw.cc: ReceiveUdp sets the CNP flag in the ACK of each marked packet
	{number: 1, name: "dcqcn", preset: "vendor", framing: plain, cnps: true},
	{number: 3, name: "hpcc", framing: "hpcc # 48 bytes of headers and 42 of telemetry", moves: true,
		telemetry: func(m *hpccImport) []namedValue {
			return m.scaled(namedValue{"", "format", "hpcc"}, "INT_MULTI", "multi")
		}},
	{number: 7, name: "timely", preset: "hpcc", framing: "hpcc_timely # 48 bytes of headers and a time stamp of 8"},
	{number: 8, name: "dctcp", framing: plain},
	{number: 10, name: "hpcc_pint", framing: "hpcc_pint # 48 bytes of headers and 2 of telemetry", moves: true,
		telemetry: func(m *hpccImport) []namedValue { // its flows ask for loads by themselves
			return m.scaled(namedValue{"", "t", m.rtt.String()}, "PINT_LOG_BASE", "base")
		}},
}

// mode is that of the configuration; the zero mode if it names none.
func (m *hpccImport) mode() mode {
	for _, x := range modes {
		if x.number == m.number("CC_MODE", 0) {
			return x
		}
	}
	return mode{}
}

// scaled are a parameter and, if the configuration has the key, its number as another.
func (m *hpccImport) scaled(first namedValue, key, name string) []namedValue {
	if s := m.config.Get(key); s != nil {
		return []namedValue{first, {s.Key, name, strconv.FormatFloat(s.Number, 'f', -1, 64)}}
	}
	return []namedValue{first}
}

// controllerKey is what a key has become of a controller.
type controllerKey struct {
	of        string // controllers, separated by spaces
	key, name string // of the file; of the parameter
	// value writes the parameter's value; "" leaves it out, and then why, if any, says why
	// the key has no counterpart.
	value func(m *hpccImport, s *simfiles.Setting) (value, why string)
}

// controllerKeys are all, in the order of the parameters. A key can stand here twice.
var controllerKeys = []controllerKey{
	{"hpcc hpcc_pint", "U_TARGET", "eta", numberOf},
	{"hpcc hpcc_pint", "MI_THRESH", "max_stage", numberOf},
	// HPCC simulator: W_ai = RATE_AI · T
	{"hpcc hpcc_pint", "RATE_AI", "w_ai", func(m *hpccImport, s *simfiles.Setting) (string, string) {
		if !m.config.On("GLOBAL_T") {
			m.lost["GLOBAL_T"] = "a W_ai of RATE_AI times each pair's own T; here it is the largest T's, and T is each pair's"
		}
		return fmt.Sprintf("%.0f B", math.Round(float64(s.Rate)*m.rtt.Seconds()/8)), ""
	}},
	{"hpcc hpcc_pint", "GLOBAL_T", "t", largestRTT},
	{"hpcc hpcc_pint", "MIN_RATE", "min_rate", rateOf},
	{"hpcc_pint", "PINT_PROB", "share", numberOf},
	{"hpcc", "MULTI_RATE", "mode", hpccMode},
	{"hpcc", "FAST_REACT", "mode", hpccMode},
	{"hpcc", "SAMPLE_FEEDBACK", "sample_feedback", flagOf},
	{"hpcc", "HAS_WIN", "window", func(m *hpccImport, s *simfiles.Setting) (string, string) {
		if s.Number == 0 {
			m.lost[s.Key] = "no window, by which the simulator divides queues: its loads are no numbers then; here it is a " +
				"rate without a window"
		}
		return rateWindow(m, s)
	}},
	{"hpcc", "VAR_WIN", "window", rateWindow},
	{"hpcc_pint", "HAS_WIN", "window", rateWindow},
	{"hpcc_pint", "VAR_WIN", "window", rateWindow},

	{"dcqcn", "EWMA_GAIN", "g", gainOf},
	{"dcqcn", "ALPHA_RESUME_INTERVAL", "alpha_timer", timeOf},
	{"dcqcn", "RATE_DECREASE_INTERVAL", "decrease_interval", timeOf},
	{"dcqcn", "RP_TIMER", "increase_timer", timeOf},
	{"dcqcn", "FAST_RECOVERY_TIMES", "fast_recovery", numberOf},
	{"dcqcn", "RATE_AI", "ai", rateOf},
	{"dcqcn", "RATE_HAI", "hai", rateOf},
	{"dcqcn", "MIN_RATE", "min_rate", rateOf},
	{"dcqcn", "CLAMP_TARGET_RATE", "clamp_target_rate", flagOf},

	{"timely", "RATE_AI", "delta", rateOf},
	{"timely", "RATE_HAI", "hai", func(m *hpccImport, s *simfiles.Setting) (string, string) {
		ai := m.config.Get("RATE_AI")
		if ai == nil || ai.Rate == 0 || s.Rate < ai.Rate || s.Rate%ai.Rate != 0 {
			return "", "the increase after five others; TIMELY's is a whole multiple of RATE_AI here, and 5 if it is not given"
		}
		return strconv.FormatInt(int64(s.Rate/ai.Rate), 10), ""
	}},
	{"timely", "MIN_RATE", "min_rate", rateOf},

	{"dcqcn timely", "HAS_WIN", "window", rateWindow},
	{"dcqcn timely", "VAR_WIN", "window", rateWindow},
	{"dcqcn timely", "GLOBAL_T", "base_rtt", largestRTT},

	{"dctcp", "EWMA_GAIN", "g", numberOf},
	// rdma-hw.cc: the rate starts at the line's, and grows by DCTCP_RATE_AI a round trip
	{"dctcp", "CC_MODE", "slow_start", func(*hpccImport, *simfiles.Setting) (string, string) { return "false", "" }},
	{"dctcp", "DCTCP_RATE_AI", "", func(m *hpccImport, s *simfiles.Setting) (string, string) {
		bytes := float64(s.Rate) * m.rtt.Seconds() / 8
		if payload := m.number("PACKET_PAYLOAD_SIZE", 1000); bytes < 0.5*payload || bytes > 2*payload {
			return "", fmt.Sprintf("a window that grows by %.0f bytes in a round trip of %v; DCTCP's does by a packet "+
				"(RFC 8257 §3.3)", bytes, m.rtt)
		}
		m.became[s.Key] = fmt.Sprintf("nothing: it is %.0f bytes in a round trip of %v, and DCTCP grows by a packet in one",
			bytes, m.rtt)
		return "", ""
	}},
	{"dctcp", "VAR_WIN", "", func(m *hpccImport, s *simfiles.Setting) (string, string) {
		switch {
		case !m.config.On("HAS_WIN"):
			m.became[s.Key] = "nothing: HAS_WIN is 0"
		case s.Number == 0:
			m.became[s.Key] = "rdma.bound: it stays, whatever DCTCP's own window"
		default:
			m.became[s.Key] = "dctcp, whose window is what its rate would be"
		}
		return "", ""
	}},
	{"dctcp", "MIN_RATE", "", func(m *hpccImport, s *simfiles.Setting) (string, string) {
		if least := float64(s.Rate) * m.rtt.Seconds() / 8; least > 2*m.number("PACKET_PAYLOAD_SIZE", 1000) {
			return "", fmt.Sprintf("a window of %.0f bytes at least; DCTCP's least is two packets (RFC 8257)", least)
		}
		m.became[s.Key] = "nothing: it is less than DCTCP's least window, two packets"
		return "", ""
	}},
}

func numberOf(_ *hpccImport, s *simfiles.Setting) (string, string) {
	return strconv.FormatFloat(s.Number, 'f', -1, 64), ""
}

func gainOf(m *hpccImport, s *simfiles.Setting) (string, string) {
	if s.Number == 0 {
		return "", "marks that never change alpha, which stays 1; here 0 stands for the preset's 1/256"
	}
	return numberOf(m, s)
}

func flagOf(_ *hpccImport, s *simfiles.Setting) (string, string) {
	return strconv.FormatBool(s.Number != 0), ""
}

func rateOf(_ *hpccImport, s *simfiles.Setting) (string, string) {
	if s.Rate == 0 {
		return "", "no rate; here 0 stands for a default"
	}
	return s.Rate.String(), ""
}

func timeOf(_ *hpccImport, s *simfiles.Setting) (string, string) {
	if s.Time == 0 {
		return "", "a timer that runs out all the time; here 0 stands for a default"
	}
	return s.Time.String(), ""
}

// largestRTT is the one of all flows, with GLOBAL_T.
func largestRTT(m *hpccImport, s *simfiles.Setting) (string, string) {
	if s.Number == 0 {
		return "", ""
	}
	return m.rtt.String(), ""
}

// hpccMode is what MULTI_RATE and FAST_REACT say together.
func hpccMode(m *hpccImport, _ *simfiles.Setting) (string, string) {
	switch {
	case m.config.On("MULTI_RATE"):
		return "per_hop", ""
	case m.config.Get("FAST_REACT") != nil && !m.config.On("FAST_REACT"):
		return "per_rtt", ""
	}
	return "hpcc++", ""
}

// rateWindow is what HAS_WIN and VAR_WIN say together.
func rateWindow(m *hpccImport, _ *simfiles.Setting) (string, string) {
	switch {
	case !m.config.On("HAS_WIN"):
		return "none", ""
	case m.config.On("VAR_WIN"):
		return "variable", ""
	}
	return "bdp", ""
}

// controller writes the congestion controller.
func (m *hpccImport) controller() string {
	mode := m.mode()
	name := mode.name
	if name == "" {
		text := ""
		if s := m.config.Get("CC_MODE"); s != nil {
			text = strconv.FormatFloat(s.Number, 'f', -1, 64)
		}
		m.fail("CC_MODE", simfiles.Modes, "CC_MODE is %q", text)
		return ""
	}
	m.became["CC_MODE"] = "cc: " + name
	var params []namedValue
	if mode.preset != "" {
		params = append(params, namedValue{"", "preset", mode.preset})
	}
	given := map[string]bool{}
	for _, k := range controllerKeys {
		s := m.config.Get(k.key)
		if s == nil || !slices.Contains(strings.Fields(k.of), name) {
			continue
		}
		switch value, why := k.value(m, s); {
		case why != "":
			m.lost[k.key] = why
		case k.key == "CC_MODE":
			params = append(params, namedValue{"", k.name, value})
		case value != "" && given[k.name]:
			m.became[k.key] = name + "." + k.name
		case value != "":
			given[k.name] = true
			params = append(params, namedValue{k.key, k.name, value})
		}
	}
	for i := range m.registry.Controllers {
		if s := &m.registry.Controllers[i].Scheme; s.Name == name {
			return "{" + braced(m.scheme(s, params)) + "}"
		}
	}
	m.fail("CC_MODE", "", "this weir has no congestion controller %s", name)
	return ""
}

// braced makes a name with or without parameters an entry of a map in braces.
func braced(s string) string {
	if strings.Contains(s, ":") {
		return s
	}
	return s + ": {}"
}

// transport writes the queue pair.
func (m *hpccImport) transport() string {
	// rdma-queue-pair.cc: IsWinBound
	params := []namedValue{{"", "recovery", "go_back_n"}, {"", "rto", "none"}, {"", "window_test", "below"}}
	if mode := m.mode(); !mode.moves && mode.name != "dctcp" { // which has no rate here
		params = append(params, namedValue{"", "new_rate", "next"})
	}
	m.acknowledgements()
	if s := m.config.Get("L2_ACK_INTERVAL"); s != nil {
		params = append(params, namedValue{s.Key, "ack_every", "1 packet"})
	}
	if m.mode().cnps {
		params = append(params, namedValue{"", "cnp_interval", unit.Nanosecond.String()})
	}
	if s := m.config.Get("ACK_HIGH_PRIO"); s.Number != 0 {
		params = append(params, namedValue{s.Key, "ack_priority", "true"}, namedValue{"", "class", "1"})
		m.became[s.Key] = "rdma.ack_priority: at hosts, as there"
	} else {
		m.became[s.Key] = "nothing: ACKs are of the data's class, and go first at hosts, as there"
	}
	if s := m.config.Get("RATE_BOUND"); s.Number == 0 {
		params = append(params, namedValue{s.Key, "pacing", "false"})
	} else {
		m.became[s.Key] = "transport: rdma, which paces by the controller's rate"
	}
	if s := m.config.Get("HAS_WIN"); m.mode().name == "dctcp" && s.Number != 0 {
		params = append(params, namedValue{s.Key, "bound", "bdp"})
	} else if m.mode().name == "dctcp" {
		m.became[s.Key] = "dctcp, whose own window is all"
	}
	m.lasting("L2_BACK_TO_ZERO", "a gap that sends the chunk of L2_CHUNK_SIZE bytes again from its start; here all from "+
		"the gap on goes again (go_back_n)", "rdma.recovery: go_back_n")
	if m.config.On("GLOBAL_T") {
		params = append(params, namedValue{"", "base_rtt", m.rtt.String()})
		if m.became["GLOBAL_T"] == "" {
			m.became["GLOBAL_T"] = "rdma.base_rtt"
		}
	}
	for i := range m.registry.Transports {
		if s := &m.registry.Transports[i].Scheme; s.Name == "rdma" {
			return "{" + braced(m.scheme(s, params)) + "}"
		}
	}
	m.d.Fail(document.Position{File: m.file, Line: 1, Column: 1}, "", "this weir has no transport rdma")
	return ""
}

// acknowledgements checks how often a receiver answers. ReceiveUdp (rdma-hw.cc) sets the milestone back at
// every packet, so that each behind the first L2_ACK_INTERVAL bytes is acknowledged.
func (m *hpccImport) acknowledgements() {
	s := m.config.Get("L2_ACK_INTERVAL")
	switch payload := m.number("PACKET_PAYLOAD_SIZE", 1000); {
	case s == nil:
		m.left = append(m.left, m.warning(warnAck, "L2_ACK_INTERVAL",
			"is not there, and the simulator's own value is 0, with which no flow ends; here each packet is acknowledged"))
	case s.Number == 0:
		m.fail(s.Key, "1 or more", "without acknowledgements no flow ends")
	case s.Number > payload:
		m.lost[s.Key] = fmt.Sprintf("an ACK for %.0f packets (rdma.ack_every); the simulator sends one for each packet "+
			"behind the first %.0f bytes, and so it is here, but from the first byte on", math.Ceil(s.Number/payload), s.Number)
	}
}

// lasting is a flag that has no counterpart if it is set, and why; else it became something.
func (m *hpccImport) lasting(key, why, became string) {
	if m.config.On(key) {
		m.lost[key] = why
	} else {
		m.became[key] = became
	}
}
