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
		Condition: "a key of a config.txt has no counterpart in Weir"}
	warnAck = scheme.WarningKind{ID: "import-l2-ack",
		Condition: "L2_ACK_INTERVAL is missing; without it no flow ends in the simulator"}
	warnPriority = scheme.WarningKind{ID: "import-priority",
		Condition: "flows of a flow file have several classes, which share a queue in Weir"}
	warnLeftOut = scheme.WarningKind{ID: "import-left-out",
		Condition: "the registry lacks a program or parameter that a config.txt needs"}
)

// simulatorStart is when the HPCC simulator's flows begin. Its generator adds it to all starts, and link failures
// count from it.
const simulatorStart = 2 * unit.Second

// Import converts a config.txt of the HPCC simulator, with the topology and flows that it names, to an experiment: YAML
// with comments on each key. It looks for the files in the current folder, the folder of the configuration and its
// parent, where the simulator is started. The experiment names them relative to folder, where it is going to be stored.
//
// Programs and parameters that the registry lacks are left out, and some keys have no counterpart. Comments and
// warnings report them with the key's place and meaning. Errors in the files, and of the experiment when it is loaded,
// are returned as InputErrors, and then text and warnings are nil.
func Import(r *experiment.Registry, config, folder string) (text []byte, warnings []document.Warning, err error) {
	out, warnings, err := convertConfig(r, config, folder)
	if out != nil {
		err = joinErrors(err, tryLoad(r, config, folder, out))
	}
	if err != nil {
		return nil, nil, err
	}
	return out, warnings, nil
}

// tryLoad loads the experiment, because a scheme may reject values within the keys' own bounds, and returns the error.
// The experiment gets a name in the folder that its files are relative to.
func tryLoad(r *experiment.Registry, config, folder string, text []byte) error {
	src := &experiment.Source{Name: "import", File: filepath.Join(folder, filepath.Base(config)+" as an experiment"),
		Data: text}
	src.Open = func(name string) ([]byte, error) { return document.ReadFile(src.Path(name), document.MaxInput) }
	_, err := plan.Load(r, src, experiment.Options{})
	return err
}

// joinErrors adds errors of the loaded experiment's files to errors of the configuration. It omits errors of the
// experiment itself, which has defaults in place of the wrong values. If only one of the two is set, it returns that
// one.
func joinErrors(wrong, loaded error) error {
	var all, more document.InputErrors
	if !errors.As(wrong, &all) || !errors.As(loaded, &more) {
		return cmp.Or(wrong, loaded)
	}
	for _, e := range more {
		if !strings.HasSuffix(e.File, " as an experiment") && !e.Truncated {
			all = append(all, e)
		}
	}
	return all
}

// convertConfig returns the experiment before it is loaded; nil if too much is missing. It may return an experiment
// together with errors of single keys.
func convertConfig(r *experiment.Registry, config, folder string) (text []byte, warnings []document.Warning,
	err error) {
	c := document.NewReader(experiment.FileKind)
	m := &hpccImport{reader: c, registry: r, file: config, folder: folder,
		mapped: map[string]string{}, unmapped: map[string]string{}}
	text = m.convert()
	return text, append(m.keyWarnings(), m.otherWarnings...), c.Err()
}

// hpccImport is the state of the conversion of one config.txt.
type hpccImport struct {
	reader     *document.Reader
	registry   *experiment.Registry
	file       string
	folder     string
	config     simfiles.Config
	network    *topology.Network
	flows      []workload.Flow
	offset     unit.Time // subtracted from the simulator's times
	maxRTT     unit.Time // largest base RTT
	minNICRate unit.Rate // lowest rate of a host's link

	topologyFile, flowFile string // as the experiment names them
	moreLinks, moreFlows   bool   // the file has more than its first line announces
	tracedNodes            string // how many nodes are traced, such as " at 2 nodes"

	mapped        map[string]string  // by key: its counterpart in the experiment
	unmapped      map[string]string  // by key: why it has no counterpart
	otherWarnings []document.Warning // about parts without a key that the registry lacks
	wrongKeys     []string           // keys whose values cannot be read
}

// keyPlace returns the place of a key's value; the start of the file if the key is missing.
func (m *hpccImport) keyPlace(key string) document.Position {
	if s := m.config.Get(key); s != nil && s.Line > 0 {
		return m.reader.PositionIn(m.file, s.Line, s.Column)
	}
	return document.Position{File: m.file, Line: 1, Column: 1}
}

// convert reads all files that the configuration names and returns the experiment; nil if the configuration, the
// network or the flows cannot be read. Errors go to the reader.
func (m *hpccImport) convert() []byte {
	if !m.readInputs() {
		if len(m.config) > 0 { // report errors of parts that need neither network nor flows
			m.formatController()
			m.formatTransport()
		}
		return nil
	}
	x := experimentParts{controller: m.formatController(), duration: m.convertDuration(), switches: m.listPrograms(),
		transport: m.formatTransport(),
		event:     m.formatFailure()}
	x.measures = m.listMeasures(x.duration)
	if !m.reader.OK() && (x.controller == "" || x.transport == "") {
		x.controller, x.transport = "none", "rdma" // still check the files by loading the experiment
	}
	m.explainOtherKeys()
	return m.writeExperiment(&x)
}

// readInputs reads the configuration, the network and the flows into m, and reports all their errors. It also measures
// the paths, and sets offset if the first flow begins at simulatorStart or later. It returns whether all three are
// usable.
func (m *hpccImport) readInputs() bool {
	data, err := document.ReadFile(m.file, document.MaxInput)
	if err != nil {
		m.reader.Fail(document.Position{File: m.file, Line: 1, Column: 1}, "a config.txt of the HPCC simulator",
			"it cannot be read: %v", document.UnwrapPathError(err))
		return false
	}
	m.reader.Remember(m.file, data)
	if !m.reader.CheckText(m.file, data, true) {
		return false
	}
	if m.config, err = simfiles.ReadConfig(bytes.NewReader(data), m.file); err != nil {
		m.addErrors(err)
		if len(m.config) == 0 {
			return false
		}
	}
	m.config = m.config.WithDefaults()
	network, flows := m.readNetwork(), m.readFlows()
	if len(m.flows) > 0 && m.flows[0].Start >= simulatorStart {
		m.offset = simulatorStart
	}
	m.checkTraceFile()
	if network {
		m.measurePaths()
	}
	return network && flows
}

// readNetwork reads the topology file, sets network, topologyFile and moreLinks, and reports whether it is usable.
// Errors go to the reader.
func (m *hpccImport) readNetwork() bool {
	name, data, at := m.readNamedFile("TOPOLOGY_FILE", true)
	if data == nil {
		return false
	}
	var err error
	m.topologyFile = name
	m.network, err = topology.ReadHPCC(bytes.NewReader(data), at)
	if experiment.IsExcess(err) {
		m.moreLinks, err = true, nil
	}
	if err == nil {
		err = m.network.Validate()
	}
	if err != nil {
		m.addErrors(err)
	}
	return err == nil
}

// readFlows reads the flow file, sets flows, flowFile and moreFlows, and reports whether it is usable. Errors go to the
// reader. It warns about flows of several classes.
func (m *hpccImport) readFlows() bool {
	name, data, at := m.readNamedFile("FLOW_FILE", true)
	if data == nil {
		return false
	}
	var err error
	m.flowFile = name
	m.flows, err = workload.ReadHPCCFlows(bytes.NewReader(data), at)
	if experiment.IsExcess(err) {
		m.moreFlows, err = true, nil
	}
	if err != nil {
		m.addErrors(err)
	}
	for _, f := range m.flows {
		if first := &m.flows[0]; f.Class != first.Class {
			m.otherWarnings = append(m.otherWarnings, document.Warn(warnPriority, m.reader.PositionIn(at, f.At.Line, f.At.Src),
				"flows of class %d and of "+
					"class %d share a queue here; in the simulator each class has its own", first.Class, f.Class))
			break
		}
	}
	return err == nil
}

// experimentParts are the converted parts of an experiment apart from its files.
type experimentParts struct {
	controller, transport, event string
	switches, measures           []string
	duration                     unit.Time
}

// writeExperiment returns the experiment as YAML, with comments on each key.
func (m *hpccImport) writeExperiment(x *experimentParts) []byte {
	payload := 1000.0
	if s := m.config.Get("PACKET_PAYLOAD_SIZE"); s != nil {
		payload = s.Number
	}
	var b strings.Builder
	m.writeRemarks(&b)
	fmt.Fprintf(&b, "\ntitle: %s\nduration: %v\n", document.Quote(path.Base(filepath.ToSlash(m.file))+
		" of the HPCC simulator", false), x.duration)
	rest := ""
	if m.moreLinks {
		rest = ", rest: ignored"
	}
	fmt.Fprintf(&b, "framing: %s\nmtu: %.0f B payload\ntopology: {file: %s, format: hpcc%s}\nswitch:\n", m.modeFraming(),
		payload, document.Quote(m.topologyFile, false), rest)
	for _, s := range x.switches {
		fmt.Fprintf(&b, "  - %s\n", s)
	}
	b.WriteString("traffic:\n")
	for _, port := range m.trafficPorts() {
		m.writeTraffic(&b, port, x)
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

// writeRemarks writes the comments at the beginning of the experiment: what becomes of every key.
func (m *hpccImport) writeRemarks(b *strings.Builder) {
	fmt.Fprintf(b, "# Made by weir import of %s, a configuration of the HPCC simulator.\n",
		path.Base(filepath.ToSlash(m.file)))
	list := func(head string, texts map[string]string, given bool) {
		head = "#\n# " + head + "\n"
		for i := range m.config {
			s := &m.config[i]
			text, ok := texts[s.Key]
			if !ok || given != (s.Line > 0) {
				continue
			}
			name := s.Key
			if !given {
				name += " " + s.FormatValue()
			}
			fmt.Fprintf(b, "%s#   %-26s %s\n", head, name, text)
			head = ""
		}
	}
	list("What its keys have become:", m.mapped, true)
	list("What those that it does not have are in the simulator, and have become:", m.mapped, false)
	list("What has no counterpart here, and what it would mean:", m.unmapped, true)
	list("What of those that it does not have has none:", m.unmapped, false)
	if len(m.otherWarnings) > 0 {
		b.WriteString("#\n# What else is not as there:\n")
		for _, l := range m.otherWarnings {
			text := l.Text
			if l.At.Line > 0 {
				text = l.At.String() + ": " + text
			}
			fmt.Fprintf(b, "#   %s\n", text)
		}
	}
}

// keyWarnings returns a warning for each key without a counterpart, with its place and meaning.
func (m *hpccImport) keyWarnings() (out []document.Warning) {
	for i := range m.config {
		if s := &m.config[i]; m.unmapped[s.Key] != "" {
			out = append(out, m.newKeyWarning(warnKey, s.Key, s.FormatValue()+" has no counterpart: "+m.unmapped[s.Key]))
		}
	}
	return out
}

// newKeyWarning returns a warning about a key, at its place; text follows the key's name.
func (m *hpccImport) newKeyWarning(kind scheme.WarningKind, key, text string) document.Warning {
	return document.Warn(kind, m.keyPlace(key), "%s %s", key, text)
}

// writeTraffic writes the traffic entry of the flows to a destination port; of all flows if port is negative.
func (m *hpccImport) writeTraffic(b *strings.Builder, port int, x *experimentParts) {
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
