package hpccsim

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"weir/core/scheme"
	"weir/core/topology"
	"weir/core/unit"
	"weir/core/workload"
	"weir/internal/document"
	"weir/study/interop/simfiles"
	"weir/study/spec"
)

// simulatorStart is when the HPCC simulator's flows begin: its generator adds it to all
// starts, and its link failures count from it.
const simulatorStart = 2 * unit.Second

// Import makes an experiment of a config.txt of the HPCC simulator, with the topology
// and the flows that it names: YAML with comments that say what each key has become. The
// files are looked for from the current folder, the config's, and the one above it, where
// the simulator is started; the experiment names them relative to folder, where it shall
// be. Programs and parameters that the registry does not have are left out: a comment
// says so, and left. What is wrong with the files is an InputErrors.
func Import(r *spec.Registry, config, folder string) (experiment []byte, left []string, err error) {
	c := document.NewReader(spec.FileKind)
	m := &hpccImport{d: c, registry: r, file: config, folder: folder,
		became: map[string]string{}, lost: map[string]string{}}
	out := m.experiment()
	if err := c.Err(); err != nil {
		return nil, nil, err
	}
	// What the keys' own bounds let through, a scheme's may not.
	src := &spec.Source{Name: "import", File: config + " as an experiment", Data: out,
		Open: func(name string) ([]byte, error) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(folder, name)
			}
			return document.ReadFile(name, document.LargestInput)
		}}
	if _, err := spec.Load(r, src, spec.Options{}); err != nil {
		return nil, nil, err
	}
	return out, m.left, nil
}

// hpccImport is one config.txt on its way to an experiment.
type hpccImport struct {
	d        *document.Reader
	registry *spec.Registry
	file     string
	folder   string
	config   simfiles.Config
	network  *topology.Network
	flows    []workload.Flow
	offset   unit.Time // subtracted from the simulator's times
	rtt      unit.Time // the largest base RTT
	nic      unit.Rate // the least rate of a host's link

	became map[string]string // by key: what it is in the experiment
	lost   map[string]string // by key: why it has no counterpart
	left   []string          // what this registry lacks
}

// namedValue is a parameter of a scheme on its way into the file.
type namedValue struct{ key, name, value string }

// at is where a key's value stands.
func (m *hpccImport) at(key string) document.Place {
	if s := m.config.Get(key); s != nil {
		return m.d.InFile(m.file, s.Line, s.Column)
	}
	return document.Place{File: m.file, Line: 1, Column: 1}
}

func (m *hpccImport) experiment() []byte {
	data, err := document.ReadFile(m.file, document.LargestInput)
	if err != nil {
		m.d.Fail(document.Place{File: m.file, Line: 1, Column: 1}, "a config.txt of the HPCC simulator",
			"it cannot be read: %v", document.Reason(err))
		return nil
	}
	m.d.Remember(m.file, data)
	if !m.d.IsText(m.file, data, true) {
		return nil
	}
	if m.config, err = simfiles.ReadConfig(bytes.NewReader(data), m.file); err != nil {
		m.foreign(err)
		return nil
	}
	topologyFile, data, at := m.open("TOPOLOGY_FILE", true)
	if !m.d.OK() {
		return nil
	}
	m.network, err = topology.ReadHPCC(bytes.NewReader(data), at)
	more := [2]string{}
	if spec.Excess(err) {
		more[0], err = ", rest: ignored", nil
	}
	if err == nil {
		err = m.network.Validate()
	}
	if err != nil {
		m.foreign(err)
		return nil
	}
	flowFile, data, at := m.open("FLOW_FILE", true)
	if !m.d.OK() {
		return nil
	}
	m.flows, err = workload.ReadHPCCFlows(bytes.NewReader(data), at)
	if spec.Excess(err) {
		more[1], err = "    rest: ignored # the file has more flows than its first line says; the simulator does not "+
			"look at them\n", nil
	}
	if err != nil {
		m.foreign(err)
		return nil
	}
	if len(m.flows) > 0 && m.flows[0].Start >= simulatorStart {
		m.offset = simulatorStart
	}
	m.traced()
	m.paths()
	controller := m.controller()
	duration := m.duration()
	switches := m.switches()
	transport := m.transport()
	events := m.failure()
	measures := m.measures(duration)
	if !m.d.OK() {
		return nil
	}
	m.rest()

	var b strings.Builder
	fmt.Fprintf(&b, "# Made by weir import of %s, a configuration of the HPCC simulator.\n",
		path.Base(filepath.ToSlash(m.file)))
	list := func(head string, of map[string]string) {
		fmt.Fprintf(&b, "#\n# %s\n", head)
		for i := range m.config {
			s := &m.config[i]
			if text, ok := of[s.Key]; ok {
				fmt.Fprintf(&b, "#   %-26s %s\n", s.Key, text)
			}
		}
	}
	list("What its keys have become:", m.became)
	if len(m.lost) > 0 {
		list("What has no counterpart here:", m.lost)
	}
	if len(m.left) > 0 {
		b.WriteString("#\n# What this weir lacks, and what is left out for that:\n")
		for _, l := range m.left {
			fmt.Fprintf(&b, "#   %s\n", l)
		}
	}
	fmt.Fprintf(&b, "\ntitle: %s\nduration: %v\n", document.Quote(path.Base(filepath.ToSlash(m.file))+
		" of the HPCC simulator",
		false), duration)
	payload := 1000.0
	if s := m.config.Get("PACKET_PAYLOAD_SIZE"); s != nil {
		payload = s.Number
		m.became["PACKET_PAYLOAD_SIZE"] = "mtu"
	}
	fmt.Fprintf(&b, "framing: %s\nmtu: %.0f B payload\ntopology: {file: %s, format: hpcc%s}\nswitch:\n", m.framing(),
		payload, document.Quote(topologyFile, false), more[0])
	for _, s := range switches {
		fmt.Fprintf(&b, "  - %s\n", s)
	}
	b.WriteString("traffic:\n")
	for _, port := range m.ports() {
		name := "flows"
		switch {
		case port == simfiles.NormalPort:
			name = "normal"
		case port == simfiles.IncastPort:
			name = "incast"
		case port >= 0:
			name = fmt.Sprintf("port%d", port)
		}
		fmt.Fprintf(&b, "  - name: %s\n    file: %s\n    format: hpcc\n    offset: %v\n    transport: %s\n    cc: %s\n", name,
			document.Quote(flowFile, false), m.offset, transport, controller)
		b.WriteString(more[1])
		if port >= 0 {
			fmt.Fprintf(&b, "    port: %d\n", port)
		}
	}
	if events != "" {
		fmt.Fprintf(&b, "events:\n  - %s\n", events)
	}
	b.WriteString("measure:\n")
	for _, x := range measures {
		fmt.Fprintf(&b, "  - %s\n", x)
	}
	return []byte(b.String())
}

func (m *hpccImport) foreign(err error) {
	if e, ok := err.(*simfiles.FormatError); ok {
		m.d.Fail(m.d.InFile(e.File, e.Line, e.Column), "", "%s", e.Msg)
		return
	}
	spec.Foreign(m.d, &document.Node{Place: document.Place{File: m.file, Line: 1, Column: 1}, Text: m.file}, err)
}

// open reads the file that a key names; name is what the experiment calls it, at what
// errors do.
func (m *hpccImport) open(key string, must bool) (name string, data []byte, at string) {
	s := m.config.Get(key)
	if s == nil {
		if must {
			m.d.Fail(document.Place{File: m.file, Line: 1, Column: 1}, key+" and a file", "the configuration has no %s", key)
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
	switch {
	case data == nil && !must:
		return "", nil, ""
	case data == nil:
		m.d.Fail(m.at(key), "a file from here, from the configuration's folder or the one above", "%q cannot be read: %v",
			s.Text, document.Reason(err))
		return "", nil, ""
	case len(data) >= int(document.LargestInput):
		m.d.Fail(m.at(key), "up to "+document.LargestInput.String(), "%q is too large", s.Text)
	}
	m.d.Remember(at, data)
	m.d.IsText(at, data, false)
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
	m.lost["TRACE_FILE"] = "what is traced is no part of an experiment"
	_, data, at := m.open("TRACE_FILE", false)
	if data == nil {
		return
	}
	nodes, err := simfiles.ReadNodes(bytes.NewReader(data), at)
	if err != nil && !spec.Excess(err) {
		m.foreign(err)
		return
	}
	m.lost["TRACE_FILE"] += fmt.Sprintf("; it lists %d nodes", len(nodes))
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
			if links, ok := routes.Path(a, b); ok && a != b {
				m.rtt = max(m.rtt, unit.Time(simfiles.PairOf(legs(n, links), payload).RTT)*unit.Nanosecond)
			}
		}
	}
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
		m.d.Fail(document.Place{File: m.file, Line: 1, Column: 1}, "SIMULATOR_STOP_TIME and seconds",
			"the configuration has no SIMULATOR_STOP_TIME")
		return 1
	}
	if s.Time <= m.offset {
		m.d.Fail(m.at(s.Key), fmt.Sprintf("more than %v, when flows begin", m.offset), "the simulation stops at %v", s.Time)
		return 1
	}
	m.became[s.Key] = "duration"
	if m.offset > 0 {
		m.became[s.Key] += fmt.Sprintf(", without the %v before flows begin (offset)", m.offset)
	}
	return s.Time - m.offset
}

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
			m.left = append(m.left, fmt.Sprintf("%s has no parameter %s (%s)", s.Name, p.name, p.value))
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

// program writes a switch program, nothing if the registry does not have it.
func (m *hpccImport) program(name string, params ...namedValue) []string {
	for i := range m.registry.Programs {
		if s := &m.registry.Programs[i].Scheme; s.Name == name {
			return []string{m.scheme(s, params)}
		}
	}
	m.left = append(m.left, "the program "+name)
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

// controllers are the simulator's, by CC_MODE, and what Weir calls them.
var controllers = map[float64]string{1: "dcqcn", 3: "hpcc", 7: "timely", 8: "dctcp", 10: "hpcc_pint"}

// mode is the name of the controller.
func (m *hpccImport) mode() string { return controllers[m.number("CC_MODE", 0)] }

// framing is hpcc with telemetry in each packet, and else the real headers: 50 bytes, of
// which the simulator has 48.
func (m *hpccImport) framing() string {
	if m.mode() == "hpcc" {
		return "hpcc # 48 bytes of headers and 42 of telemetry"
	}
	return "l2 # 50 bytes of headers, where the simulator has 48"
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
		return fmt.Sprintf("%.0f B", math.Round(float64(s.Rate)*m.rtt.Seconds()/8)), ""
	}},
	{"hpcc hpcc_pint", "GLOBAL_T", "t", largestRTT},
	{"hpcc hpcc_pint", "MIN_RATE", "min_rate", rateOf},
	{"hpcc_pint", "PINT_PROB", "share", numberOf},
	{"hpcc", "MULTI_RATE", "mode", hpccMode},
	{"hpcc", "FAST_REACT", "mode", hpccMode},
	{"hpcc", "SAMPLE_FEEDBACK", "", unless("hops without a queue count, too")},
	{"hpcc hpcc_pint", "HAS_WIN", "", asIs("the window is always there", "cc, whose window is always there")},
	{"hpcc hpcc_pint", "VAR_WIN", "", asIs("the window follows the rate", "cc, whose window follows the rate")},

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
			return "", "TIMELY's is a whole multiple of RATE_AI"
		}
		return strconv.FormatInt(int64(s.Rate/ai.Rate), 10), ""
	}},
	{"timely", "MIN_RATE", "min_rate", rateOf},

	{"dcqcn timely", "HAS_WIN", "window", rateWindow},
	{"dcqcn timely", "VAR_WIN", "window", rateWindow},
	{"dcqcn timely", "GLOBAL_T", "base_rtt", largestRTT},

	{"dctcp", "EWMA_GAIN", "g", numberOf},
	{"dctcp", "DCTCP_RATE_AI", "", never("DCTCP's window grows by a packet in a round trip (RFC 8257)")},
	{"dctcp", "HAS_WIN", "", never("DCTCP is a window here (RFC 8257), not a rate with one")},
	{"dctcp", "VAR_WIN", "", never("DCTCP is a window here (RFC 8257), not a rate with one")},
	{"dctcp", "MIN_RATE", "", never("DCTCP is a window here (RFC 8257), not a rate with one")},

	{"hpcc hpcc_pint dcqcn timely dctcp", "RATE_BOUND", "", asIs("controllers with a rate pace always",
		"transport: rdma, which paces by the controller's rate")},
}

func numberOf(_ *hpccImport, s *simfiles.Setting) (string, string) {
	return strconv.FormatFloat(s.Number, 'f', -1, 64), ""
}

func gainOf(m *hpccImport, s *simfiles.Setting) (string, string) {
	if s.Number == 0 {
		return "", "0 stands for a default here"
	}
	return numberOf(m, s)
}

func flagOf(_ *hpccImport, s *simfiles.Setting) (string, string) {
	return strconv.FormatBool(s.Number != 0), ""
}

func rateOf(_ *hpccImport, s *simfiles.Setting) (string, string) {
	if s.Rate == 0 {
		return "", "0 stands for a default here"
	}
	return s.Rate.String(), ""
}

func timeOf(_ *hpccImport, s *simfiles.Setting) (string, string) {
	if s.Time == 0 {
		return "", "0 stands for a default here"
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

// never is a key without a counterpart; unless one that has none but for 0, and asIs one
// whose 0 has none, and which is there anyway.
func never(why string) func(*hpccImport, *simfiles.Setting) (string, string) {
	return func(*hpccImport, *simfiles.Setting) (string, string) { return "", why }
}

func unless(why string) func(*hpccImport, *simfiles.Setting) (string, string) {
	return func(_ *hpccImport, s *simfiles.Setting) (string, string) {
		if s.Number == 0 {
			return "", ""
		}
		return "", why
	}
}

func asIs(why, became string) func(*hpccImport, *simfiles.Setting) (string, string) {
	return func(m *hpccImport, s *simfiles.Setting) (string, string) {
		if s.Number == 0 {
			return "", why
		}
		m.became[s.Key] = became
		return "", ""
	}
}

// presets are the simulator's, by controller.
var presets = map[string]string{"dcqcn": "vendor", "timely": "hpcc"}

// controller writes the congestion controller.
func (m *hpccImport) controller() string {
	name := m.mode()
	if name == "" {
		text := ""
		if s := m.config.Get("CC_MODE"); s != nil {
			text = strconv.FormatFloat(s.Number, 'f', -1, 64)
		}
		m.d.Fail(m.at("CC_MODE"), "1 (DCQCN), 3 (HPCC), 7 (TIMELY), 8 (DCTCP), 10 (HPCC-PINT)", "CC_MODE is %q", text)
		return ""
	}
	m.became["CC_MODE"] = "cc: " + name
	var params []namedValue
	if p := presets[name]; p != "" {
		params = append(params, namedValue{"", "preset", p})
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
	m.d.Fail(m.at("CC_MODE"), "", "this weir has no congestion controller %s", name)
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
	params := []namedValue{{"", "recovery", "go_back_n"}}
	if s := m.config.Get("L2_ACK_INTERVAL"); s != nil {
		packets := max(1, math.Ceil(s.Number/m.number("PACKET_PAYLOAD_SIZE", 1000)))
		params = append(params, namedValue{s.Key, "ack_every", plural(int(min(packets, 1e6)))})
		if s.Number == 0 {
			m.d.Fail(m.at(s.Key), "1 or more", "without acknowledgements no flow ends")
		}
	}
	if m.mode() == "dcqcn" { // rdma-hw.cc: ReceiveUdp sets the CNP flag in the ACK of each marked packet
		params = append(params, namedValue{"", "cnp_interval", unit.Nanosecond.String()})
	}
	if s := m.config.Get("ACK_HIGH_PRIO"); s != nil {
		params = append(params, namedValue{s.Key, "ack_priority", strconv.FormatBool(s.Number != 0)})
		if s.Number != 0 {
			params = append(params, namedValue{"", "class", "1"})
			m.became[s.Key] = "rdma.ack_priority: at hosts; in switches, ack_tos and classes by it would do it"
		}
	}
	if m.config.On("GLOBAL_T") {
		params = append(params, namedValue{"", "base_rtt", m.rtt.String()})
		if m.became["GLOBAL_T"] == "" {
			m.became["GLOBAL_T"] = "rdma.base_rtt"
		}
	}
	for i := range m.registry.Transports {
		if s := &m.registry.Transports[i].Scheme; s.Name == "rdma" {
			text := braced(m.scheme(s, params))
			if m.config.On("L2_BACK_TO_ZERO") {
				m.lost["L2_BACK_TO_ZERO"] = "losses are sent again from where they were (go_back_n), not from the chunk's start"
			} else if m.config.Get("L2_BACK_TO_ZERO") != nil {
				m.became["L2_BACK_TO_ZERO"] = "rdma.recovery: go_back_n"
			}
			return "{" + text + "}"
		}
	}
	m.d.Fail(document.Place{File: m.file, Line: 1, Column: 1}, "", "this weir has no transport rdma")
	return ""
}

func plural(packets int) string {
	if packets == 1 {
		return "1 packet"
	}
	return strconv.Itoa(packets) + " packets"
}

// switches writes what runs in all switches, in its order: buffer, PFC, ECN, telemetry.
func (m *hpccImport) switches() []string {
	out := []string{"ecmp"}
	size := namedValue{"BUFFER_SIZE", "size", "32MiB"}
	if s := m.config.Get("BUFFER_SIZE"); s != nil {
		size.value = fmt.Sprintf("%.0fMiB", s.Number)
	} else {
		size.key = ""
	}
	out = append(out, m.program("shared_buffer", size)...)
	pfc := []namedValue{{"", "headroom", "simulator"}}
	if m.config.On("USE_DYNAMIC_PFC_THRESHOLD") {
		pfc = append(pfc, namedValue{"USE_DYNAMIC_PFC_THRESHOLD", "trigger", "shift"}, namedValue{"", "shift", "3"},
			namedValue{"", "nic_rate", m.nic.String()})
	} else if m.config.Get("USE_DYNAMIC_PFC_THRESHOLD") != nil {
		m.lost["USE_DYNAMIC_PFC_THRESHOLD"] = "the simulator's static threshold is not known; pfc has its default"
	}
	out = append(out, m.program("pfc", pfc...)...)
	if m.config.On("ENABLE_QCN") {
		if ecn := m.ecn(); len(ecn) > 0 {
			m.became["ENABLE_QCN"] = "the program ecn"
			text := m.program("ecn", ecn...)
			if out = append(out, text...); text == nil {
				m.lost["ENABLE_QCN"] = "this weir has no program ecn"
				delete(m.became, "ENABLE_QCN")
			}
		} else {
			m.lost["ENABLE_QCN"] = "without KMIN_MAP, KMAX_MAP and PMAX_MAP nothing is marked"
		}
	} else if m.config.Get("ENABLE_QCN") != nil {
		m.became["ENABLE_QCN"] = "no program ecn"
		for _, key := range []string{"KMIN_MAP", "KMAX_MAP", "PMAX_MAP"} {
			if m.config.Get(key) != nil {
				m.became[key] = "nothing: ENABLE_QCN is 0"
			}
		}
	}
	switch m.mode() {
	case "hpcc":
		telemetry := []namedValue{{"", "format", "hpcc"}}
		if s := m.config.Get("INT_MULTI"); s != nil {
			telemetry = append(telemetry, namedValue{s.Key, "multi", strconv.FormatFloat(s.Number, 'f', -1, 64)})
		}
		out = append(out, m.program("telemetry", telemetry...)...)
	case "hpcc_pint":
		telemetry := []namedValue{{"", "t", m.rtt.String()}} // its flows ask for loads by themselves
		if s := m.config.Get("PINT_LOG_BASE"); s != nil {
			telemetry = append(telemetry, namedValue{s.Key, "base", strconv.FormatFloat(s.Number, 'f', -1, 64)})
		}
		out = append(out, m.program("telemetry", telemetry...)...)
	}
	return out
}

// ecn are the parameters of the marking, nothing if the maps are not there.
func (m *hpccImport) ecn() (out []namedValue) {
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
					m.d.Fail(m.at(key), "a value for each rate of the topology's switches", "%s has none for links of %v", key, l.Rate)
					return nil
				}
			}
		}
	}
	return out
}

// failure writes the link that goes down, "" if none does.
func (m *hpccImport) failure() string {
	s := m.config.Get("LINK_DOWN")
	if s == nil {
		return ""
	}
	if s.Time == 0 && s.Ends == [2]int{} { // the simulator's own file: none
		m.became[s.Key] = "no event"
		return ""
	}
	for _, l := range m.network.Links {
		if l.Ends == s.Ends || l.Ends == [2]int{s.Ends[1], s.Ends[0]} {
			m.became[s.Key] = "events; the simulator's switches take other ways from then on, ours by their programs"
			nodes := m.network.Nodes
			return fmt.Sprintf("{at: %v, link: [%s, %s], down: true}", s.Time+simulatorStart-m.offset, nodes[s.Ends[0]].Name,
				nodes[s.Ends[1]].Name)
		}
	}
	m.d.Fail(m.at(s.Key), "two nodes that a link joins, or 0 0 0", "nodes %d and %d have no link", s.Ends[0], s.Ends[1])
	return ""
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
