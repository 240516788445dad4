package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"weir/core/cc"
	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/jobs/job"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/topology"
	"weir/core/trace"
	"weir/core/transport"
	"weir/core/workload"
	"weir/internal/command"
	"weir/internal/document"
	"weir/internal/testkit"
	"weir/study/bench"
	"weir/study/experiment"
	"weir/study/figure"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/results"
	"weir/study/run"
)

// nameList is a list of names in an error of an experiment with one edit.
type nameList struct {
	name, text, old, now string
	known                []string
}

// errorText returns the error of the experiment.
func (l *nameList) errorText(t *testing.T, r *experiment.Registry) string {
	t.Helper()
	text := edit(t, l.text, []string{l.old, l.now})
	open := func(name string) ([]byte, error) { return []byte(files[name]), nil }
	_, err := plan.Load(r, &experiment.Source{Name: "x", File: "x.yaml", Data: []byte(text), Open: open},
		experiment.Options{})
	if err == nil {
		t.Fatalf("%s is accepted", l.now)
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}

// listNames returns the names of schemes, or of other values that have one.
func listNames[T any](all []T, name func(*T) string) (names []string) {
	for i := range all {
		names = append(names, name(&all[i]))
	}
	return names
}

// byName returns a scheme by its name.
func byName[T any](all []T, name string, nameOf func(*T) string) *T {
	return &all[slices.Index(listNames(all, nameOf), name)]
}

// parameterNames returns the names of a scheme's parameters.
func parameterNames(s *scheme.Scheme) (names []string) {
	for _, p := range s.Parameters() {
		names = append(names, p.Name)
	}
	return names
}

// topologyKeys returns the keys of topology, among them the names of families, as the schema has them.
func topologyKeys(t *testing.T, r *experiment.Registry) (names []string) {
	var schema struct {
		Properties struct {
			Topology struct {
				AnyOf []struct{ Properties map[string]any }
			}
		}
	}
	if err := json.Unmarshal(r.WriteSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	for _, x := range schema.Properties.Topology.AnyOf {
		for name := range x.Properties {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// registryLists returns a list of each kind of name in a registry, by its field.
func registryLists(t *testing.T, r *experiment.Registry) []nameList {
	const web = `{name: web, from: "*", to: random, transport: tcp, sizes: websearch, load: 10%}`
	return []nameList{
		{"Programs", valid, "[forward]", "[foward]",
			listNames(r.Programs, func(s *dataplane.Scheme) string { return s.Name })},
		{"Schedulers", valid, "sweep:", "switches: {s1: {queues: 2, scheduler: strit}}\nsweep:",
			listNames(r.Schedulers, func(s *tm.Scheme) string { return s.Name })},
		{"Transports", valid, "transport: udp", "transport: utp",
			listNames(r.Transports, func(s *transport.Scheme) string { return s.Name })},
		{"Controllers", valid, "cc: cubic", "cc: cubik",
			listNames(r.Controllers, func(s *cc.Scheme) string { return s.Name })},
		{"Topologies", family, "leaf_spine", "leafspine", topologyKeys(t, r)},
		{"Measures", valid, "[goodput,", "[godput,", measure.KindNames(r.Measures)},
		{"Jobs", family, web, "{name: web, job: {allreduc: {}}, transport: tcp}",
			listNames(r.Jobs, func(s *job.Scheme) string { return s.Name })},
		{"Ideals", family, "switch: [ecmp]", "network: loggop",
			append(listNames(r.Ideals, func(m *job.Model) string { return m.Name }), "packets")},
		{"Workloads", family, "websearch", "web_search",
			listNames(r.Workloads, func(c *workload.CDF) string { return c.Name })}, // and a file
		{"Networks", fromFiles, "format: hpcc}", "format: hpc}",
			listNames(r.Networks, func(f *topology.FileFormat) string { return f.Name })},
		{"Flows", fromFiles, "format: htsim", "format: ht-sim",
			listNames(r.Flows, func(f *workload.FileFormat) string { return f.Name })},
	}
}

// otherLists returns lists of names that are not in the registry itself: parameters, keys, words, units, and names of
// the experiment.
func otherLists(r *experiment.Registry) []nameList {
	abc := byName(r.Programs, "abc", func(s *dataplane.Scheme) string { return s.Name })
	cubic := byName(r.Controllers, "cubic", func(s *cc.Scheme) string { return s.Name })
	queue := byName(r.Measures, "queue", func(k *measure.Definition) string { return k.Name })
	p4te := byName(r.Programs, "p4te", func(s *dataplane.Scheme) string { return s.Name })
	rate := byName(p4te.Parameters(), "rate", func(p **scheme.Param) string { return (*p).Name })
	plotted := func(plot string) string { return "plot: [" + plot + "]\nexpect:" }
	rates := []string{"Tbps", "Gbps", "Mbps", "kbps", "bps", "Mpps", "kpps", "pps"}
	return []nameList{
		{"parameters of a program", valid, "[forward]", "[forward, {abc: {gama: 16 packets}}]",
			parameterNames(&abc.Scheme)},
		{"parameters of a controller", valid, "cc: cubic", "cc: {cubic: {varant: linux}}", parameterNames(&cubic.Scheme)},
		{"words of a parameter", valid, "[forward]", "[{p4te: {rate: lastack}}]", (*rate).Words},
		{"keys of a measure", valid, "port: s1->s2", "prt: s1->s2",
			listNames(queue.Keys, func(k *document.Key) string { return k.Name })},
		{"framings", valid, "duration:", "framing: L2\nduration:",
			listNames(packet.Framings, func(f *packet.Framing) string { return f.Name })},
		{"fields of a hash", valid, "[forward]", "[forward, {ecmp: {fields: x}}]",
			[]string{"dst", "src", "proto", "sport", "dport"}},
		{"fields of an aggregate", valid, "[forward]", "[forward, {abc: {aggregates: {x y: 1kbps}}}]", []string{"address",
			"prefix", "from", "to", "dscp", "tcp", "udp", "icmp", "icmpv6", "proto", "sport", "dport"}},
		{"hosts", valid, "from: client0", "from: client7", []string{"client0", "client1", "server"}},
		{"transports of a traffic", valid, "transport: udp, rate: $r, ", "",
			listNames(r.Transports, func(s *transport.Scheme) string { return s.Name })},
		{"kinds of plots", valid, "expect:", plotted("{x: r, y: goodput, kind: lins}"), []string{"lines", "points", "bars",
			"box", "cdf", "ccdf", "heat", "series", "gantt"}},
		{"kinds of plots over a sweep", valid, "expect:", plotted("{x: r, y: goodput, kind: cdf}"),
			[]string{"lines", "points", "bars", "box", "heat"}},
		{"measures of a plot", valid, "expect:", plotted("{x: r, y: goodputs}"), []string{"goodput", "queue"}},
		{"a plot without x", valid, "expect:", plotted("{y: goodput}"), []string{"r", "time", "flow_size"}},
		{"a plot without y", valid, "expect:", plotted("{x: r}"), []string{"goodput", "queue"}},
		{"groups of a measure", valid, "goodput.heavy >", "goodput.heav >", []string{"heavy", "light"}},
		{"names of a claim", valid, "goodput.heavy >", "jan >", []string{"goodput", "queue", "r"}},
		{"units, of another quantity", valid, "rate: 10Mbps", "rate: 10MB", rates},
		{"units, missing", valid, "rate: 10Mbps", "rate: 10", rates},
		{"units, negative", valid, "rate: 10Mbps", "rate: -10Mbps", rates},
		{"units, no number", valid, "rate: 10Mbps", "rate: fast", rates},
	}
}

// TestListsOfNames checks that a list of names in an error has names of the registry, and counts the names that it
// leaves out. Golden files have no such lists, so that a new name does not change them. Each kind of list is tested
// here once; study/experiment and worlds/switch test lists of keys.
func TestListsOfNames(t *testing.T) {
	r := Registry()
	lists := registryLists(t, r)
	for _, l := range append(lists, otherLists(r)...) {
		t.Run(l.name, func(t *testing.T) { testkit.CheckList(t, l.errorText(t, r), l.known) })
	}
	tested := []string{"Imports", "Formats", "Library", "Times"} // by commands; Times has no names of its own
	for _, l := range lists {
		tested = append(tested, l.name)
	}
	for field := range reflect.TypeFor[experiment.Registry]().Fields() {
		if !slices.Contains(tested, field.Name) {
			t.Errorf("no list of the registry's %s is tested", field.Name)
		}
	}
}

// TestListsOfCommands checks the lists of names in errors of commands, as in TestListsOfNames.
func TestListsOfCommands(t *testing.T) {
	r := Registry()
	file := write(t, small)
	loads := []string{string(bench.Permutation), string(bench.WebSearch)}
	var hosts []string
	for n := range bench.Sizes {
		hosts = append(hosts, strconv.Itoa(n))
	}
	for _, x := range []struct {
		args  []string
		known []string
	}{
		{[]string{"import", "x", "--format", "z"}, listNames(r.Imports, func(f *experiment.Import) string { return f.Name })},
		{[]string{"export", file, "--format", "z"}, listNames(r.Formats,
			func(f *experiment.ExportFormat) string { return f.Name })},
		{[]string{"plot", file, "--format", "z"}, figure.Formats()},
		{[]string{"schema", "z"}, append(results.SchemaNames(), "experiment", "results")},
		{[]string{"trace", file, "--kind", "z"}, trace.KindNames()},
		{[]string{"run", file, "--trace", "s->b", "--trace-format", "z"}, run.TraceFormNames()},
		{[]string{"bench", "scale", "--turn", `{"load":"z","hosts":16,"threads":1}`}, loads},
		{[]string{"bench", "scale", "--hosts", "100"}, hosts},
	} {
		t.Run(x.args[0]+" "+x.args[len(x.args)-2], func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := Run(r, x.args, &out, &errs, false); code == command.Done {
				t.Error("the command ends without an error")
			}
			testkit.CheckList(t, errs.String(), x.known)
		})
	}
}

var quotedWord = regexp.MustCompile(`"(\w+)"`)

// TestListsOfWords checks that the words in the command line's errors are those that the commands accept.
func TestListsOfWords(t *testing.T) {
	for _, args := range [][]string{{"list", "?"}, {"completion", "?"}} {
		_, _, errs := weir(args...)
		words := quotedWord.FindAllStringSubmatch(errs, -1)
		if len(words) < 3 || !strings.Contains(errs, "must be one of") {
			t.Errorf("there is no list of words: %s", errs)
		}
		for _, word := range words {
			args[len(args)-1] = word[1]
			if code, _, errs := weir(args...); code != command.Done {
				t.Errorf("weir %s: exit code %d, %s", strings.Join(args, " "), code, errs)
			}
		}
	}
}

// dummyName is the name of a dummy. It resembles no other name, and a sorted list begins with it.
const dummyName = "aaaaaaaa_dummy"

// dummyExport is an export without options.
type dummyExport struct{}

func (*dummyExport) Write(*experiment.Registry, string, string, io.Writer) error { return nil }

// withDummies returns the registry with one more program, scheduler, transport, controller, topology, measure, key of
// each measure, job, network model, size distribution, file format and experiment.
func withDummies() *experiment.Registry {
	r := Registry()
	program, scheduler, transport, controller := r.Programs[0], r.Schedulers[0], r.Transports[0], r.Controllers[0]
	family, kind, scheme, model := r.Topologies[0], r.Measures[0], r.Jobs[0], r.Ideals[0]
	sizes, network, flows, imports, format := r.Workloads[0], r.Networks[0], r.Flows[0], r.Imports[0], r.Formats[0]
	for _, name := range []*string{&program.Name, &scheduler.Name, &transport.Name, &controller.Name, &family.Name,
		&kind.Name, &scheme.Name, &model.Name, &sizes.Name, &network.Name, &flows.Name, &imports.Name, &format.Name} {
		*name = dummyName
	}
	format.New = func() experiment.Export { return &dummyExport{} }
	for i := range r.Measures {
		keys := &r.Measures[i].Keys
		*keys = slices.Concat([]document.Key{{Name: dummyName, Doc: "a key"}}, *keys)
	}
	r.Programs = slices.Insert(r.Programs, 0, program)
	r.Schedulers = slices.Insert(r.Schedulers, 0, scheduler)
	r.Transports = slices.Insert(r.Transports, 0, transport)
	r.Controllers = slices.Insert(r.Controllers, 0, controller)
	r.Topologies = slices.Insert(r.Topologies, 0, family)
	r.Measures = slices.Insert(r.Measures, 0, kind)
	r.Jobs = slices.Insert(r.Jobs, 0, scheme)
	r.Ideals = slices.Insert(r.Ideals, 0, model)
	r.Workloads = slices.Insert(r.Workloads, 0, sizes)
	r.Networks = slices.Insert(r.Networks, 0, network)
	r.Flows = slices.Insert(r.Flows, 0, flows)
	r.Imports = slices.Insert(r.Imports, 0, imports)
	r.Formats = slices.Insert(r.Formats, 0, format)
	r.Library = slices.Insert(r.Library, 0, experiment.Library{Name: dummyName,
		Files: fstest.MapFS{"experiments/one.yaml": {Data: []byte(valid)}}})
	return r
}
