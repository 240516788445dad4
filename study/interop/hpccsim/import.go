package hpccsim

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"weir/core/scheme"
	"weir/core/topology"
	"weir/core/unit"
	"weir/core/workload"
	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/interop/simfiles"
	"weir/study/plan"
)

// Kinds of warnings about what an import cannot keep.
var (
	warnKey = scheme.WarningKind{ID: "import-key",
		Condition: "a key of a config.txt has no counterpart"}
	warnAck = scheme.WarningKind{ID: "import-l2-ack",
		Condition: "L2_ACK_INTERVAL is not given, and no flow ends in the simulator"}
	warnPriority = scheme.WarningKind{ID: "import-priority",
		Condition: "flows of a flow file are of several classes, which share a queue here"}
	warnLeftOut = scheme.WarningKind{ID: "import-left-out",
		Condition: "the registry lacks a program or parameter that a config.txt asks for"}
)

// simulatorStart is when the HPCC simulator's flows begin: its generator adds it to all
// starts, and its link failures count from it.
const simulatorStart = 2 * unit.Second

// Import makes an experiment of a config.txt of the HPCC simulator, with the topology
// and the flows that it names: YAML with comments that say what each key has become. The
// files are looked for from the current folder, the config's, and the one above it, where
// the simulator is started; the experiment names them relative to folder, where it shall
// be. Programs and parameters that the registry does not have are left out, and some keys have no
// counterpart: comments say so, and warnings, with the key's place and what it would mean. What is
// wrong with the files is an InputErrors.
func Import(r *experiment.Registry, config, folder string) (text []byte, warnings []document.Warning, err error) {
	out, warnings, err := written(r, config, folder)
	if out != nil {
		err = join(err, try(r, config, folder, out))
	}
	if err != nil {
		return nil, nil, err
	}
	return out, warnings, nil
}

// try loads an experiment: what the keys' own bounds let through, a scheme's may not. It is named as if it were in the
// folder that its files are relative to.
func try(r *experiment.Registry, config, folder string, text []byte) error {
	src := &experiment.Source{Name: "import", File: filepath.Join(folder, filepath.Base(config)+" as an experiment"),
		Data: text}
	src.Open = func(name string) ([]byte, error) { return document.ReadFile(src.Path(name), document.LargestInput) }
	_, err := plan.Load(r, src, experiment.Options{})
	return err
}

// join adds to what is wrong with the configuration, if anything is, what is wrong with the files that it names; the
// experiment itself was made with defaults in place of the wrong values.
func join(wrong, loaded error) error {
	var all, more document.InputErrors
	if !errors.As(wrong, &all) || !errors.As(loaded, &more) {
		return cmp.Or(wrong, loaded)
	}
	for _, e := range more {
		if !strings.HasSuffix(e.File, " as an experiment") && !e.Rest {
			all = append(all, e)
		}
	}
	return all
}

// written is the experiment before it is tried; nil if there is too little to make one of. It is there, too, where the
// error is about values of keys.
func written(r *experiment.Registry, config, folder string) (text []byte, warnings []document.Warning, err error) {
	c := document.NewReader(experiment.FileKind)
	m := &hpccImport{d: c, registry: r, file: config, folder: folder,
		became: map[string]string{}, lost: map[string]string{}}
	text = m.experiment()
	return text, append(m.warnings(), m.left...), c.Err()
}

// hpccImport is one config.txt on its way to an experiment.
type hpccImport struct {
	d        *document.Reader
	registry *experiment.Registry
	file     string
	folder   string
	config   simfiles.Config
	network  *topology.Network
	flows    []workload.Flow
	offset   unit.Time // subtracted from the simulator's times
	rtt      unit.Time // the largest base RTT
	nic      unit.Rate // the least rate of a host's link

	topologyFile, flowFile string // as the experiment names them
	moreLinks, moreFlows   bool   // the file has more than its first line says
	nodes                  string // how many are traced: " at 2 nodes"

	became map[string]string  // by key: what it is in the experiment
	lost   map[string]string  // by key: why it has no counterpart
	left   []document.Warning // about what has no key: what this registry lacks
	wrong  []string           // keys whose values cannot be read
}

// at is where a key's value stands.
func (m *hpccImport) at(key string) document.Position {
	if s := m.config.Get(key); s != nil && s.Line > 0 {
		return m.d.InFile(m.file, s.Line, s.Column)
	}
	return document.Position{File: m.file, Line: 1, Column: 1}
}

// experiment reads all that the configuration names, and writes it as an experiment; nil if the configuration, the
// network or the flows cannot be read.
func (m *hpccImport) experiment() []byte {
	if !m.read() {
		if len(m.config) > 0 { // what needs neither network nor flows
			m.controller()
			m.transport()
		}
		return nil
	}
	x := parts{controller: m.controller(), duration: m.duration(), switches: m.switches(), transport: m.transport(),
		event: m.failure()}
	x.measures = m.measures(x.duration)
	if !m.d.OK() && (x.controller == "" || x.transport == "") {
		x.controller, x.transport = "none", "rdma" // the files that it names are tried all the same
	}
	m.rest()
	return m.text(&x)
}

// read reads the configuration, the network and the flows. All that is wrong with them is noted; it reports whether all
// three can be used.
func (m *hpccImport) read() bool {
	data, err := document.ReadFile(m.file, document.LargestInput)
	if err != nil {
		m.d.Fail(document.Position{File: m.file, Line: 1, Column: 1}, "a config.txt of the HPCC simulator",
			"it cannot be read: %v", document.Reason(err))
		return false
	}
	m.d.Remember(m.file, data)
	if !m.d.IsText(m.file, data, true) {
		return false
	}
	if m.config, err = simfiles.ReadConfig(bytes.NewReader(data), m.file); err != nil {
		m.foreign(err)
		if len(m.config) == 0 {
			return false
		}
	}
	m.config = m.config.Complete()
	network, flows := m.readNetwork(), m.readFlows()
	if len(m.flows) > 0 && m.flows[0].Start >= simulatorStart {
		m.offset = simulatorStart
	}
	m.traced()
	if network {
		m.paths()
	}
	return network && flows
}

func (m *hpccImport) readNetwork() bool {
	name, data, at := m.open("TOPOLOGY_FILE", true)
	if data == nil {
		return false
	}
	var err error
	m.topologyFile = name
	m.network, err = topology.ReadHPCC(bytes.NewReader(data), at)
	if experiment.Excess(err) {
		m.moreLinks, err = true, nil
	}
	if err == nil {
		err = m.network.Validate()
	}
	if err != nil {
		m.foreign(err)
	}
	return err == nil
}

func (m *hpccImport) readFlows() bool {
	name, data, at := m.open("FLOW_FILE", true)
	if data == nil {
		return false
	}
	var err error
	m.flowFile = name
	m.flows, err = workload.ReadHPCCFlows(bytes.NewReader(data), at)
	if experiment.Excess(err) {
		m.moreFlows, err = true, nil
	}
	if err != nil {
		m.foreign(err)
	}
	for _, f := range m.flows {
		if first := &m.flows[0]; f.Class != first.Class {
			m.left = append(m.left, document.Warn(warnPriority, m.d.InFile(at, f.At.Line, f.At.Src), "flows of class %d and of "+
				"class %d share a queue here; in the simulator each class has its own", first.Class, f.Class))
			break
		}
	}
	return err == nil
}

// parts are what an experiment is written of, beside its files.
type parts struct {
	controller, transport, event string
	switches, measures           []string
	duration                     unit.Time
}

// text is the experiment as YAML.
func (m *hpccImport) text(x *parts) []byte {
	payload := 1000.0
	if s := m.config.Get("PACKET_PAYLOAD_SIZE"); s != nil {
		payload = s.Number
	}
	var b strings.Builder
	m.remarks(&b)
	fmt.Fprintf(&b, "\ntitle: %s\nduration: %v\n", document.Quote(path.Base(filepath.ToSlash(m.file))+
		" of the HPCC simulator", false), x.duration)
	rest := ""
	if m.moreLinks {
		rest = ", rest: ignored"
	}
	fmt.Fprintf(&b, "framing: %s\nmtu: %.0f B payload\ntopology: {file: %s, format: hpcc%s}\nswitch:\n", m.framing(),
		payload, document.Quote(m.topologyFile, false), rest)
	for _, s := range x.switches {
		fmt.Fprintf(&b, "  - %s\n", s)
	}
	b.WriteString("traffic:\n")
	for _, port := range m.ports() {
		m.traffic(&b, port, x)
	}
	if x.event != "" {
		fmt.Fprintf(&b, "events:\n  - %s\n", x.event)
	}
	b.WriteString("measure:\n")
	for _, s := range x.measures {
		fmt.Fprintf(&b, "  - %s\n", s)
	}
	return []byte(b.String())
}

// remarks are the comments that begin the experiment: what has become of every key.
func (m *hpccImport) remarks(b *strings.Builder) {
	fmt.Fprintf(b, "# Made by weir import of %s, a configuration of the HPCC simulator.\n",
		path.Base(filepath.ToSlash(m.file)))
	list := func(head string, of map[string]string, given bool) {
		head = "#\n# " + head + "\n"
		for i := range m.config {
			s := &m.config[i]
			text, ok := of[s.Key]
			if !ok || given != (s.Line > 0) {
				continue
			}
			name := s.Key
			if !given {
				name += " " + s.Value()
			}
			fmt.Fprintf(b, "%s#   %-26s %s\n", head, name, text)
			head = ""
		}
	}
	list("What its keys have become:", m.became, true)
	list("What those that it does not have are in the simulator, and have become:", m.became, false)
	list("What has no counterpart here, and what it would mean:", m.lost, true)
	list("What of those that it does not have has none:", m.lost, false)
	if len(m.left) > 0 {
		b.WriteString("#\n# What else is not as there:\n")
		for _, l := range m.left {
			text := l.Text
			if l.At.Line > 0 {
				text = l.At.String() + ": " + text
			}
			fmt.Fprintf(b, "#   %s\n", text)
		}
	}
}

// warnings name each key without a counterpart, with its place and what it would mean.
func (m *hpccImport) warnings() (out []document.Warning) {
	for i := range m.config {
		if s := &m.config[i]; m.lost[s.Key] != "" {
			out = append(out, m.warning(warnKey, s.Key, s.Value()+" has no counterpart: "+m.lost[s.Key]))
		}
	}
	return out
}

// warning is one about a key.
func (m *hpccImport) warning(kind scheme.WarningKind, key, what string) document.Warning {
	return document.Warn(kind, m.at(key), "%s %s", key, what)
}

// traffic is the flows to a port of the file; all of them, if it is negative.
func (m *hpccImport) traffic(b *strings.Builder, port int, x *parts) {
	name := "flows"
	switch {
	case port == simfiles.NormalPort:
		name = "normal"
	case port == simfiles.IncastPort:
		name = "incast"
	case port >= 0:
		name = fmt.Sprintf("port%d", port)
	}
	fmt.Fprintf(b, "  - name: %s\n    file: %s\n    format: hpcc\n    offset: %v\n    transport: %s\n    cc: %s\n", name,
		document.Quote(m.flowFile, false), m.offset, x.transport, x.controller)
	if m.moreFlows {
		b.WriteString("    rest: ignored # the file has more flows than its first line says; the simulator does not " +
			"look at them\n")
	}
	if port >= 0 {
		fmt.Fprintf(b, "    port: %d\n", port)
	}
}
