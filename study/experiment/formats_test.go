package experiment_test

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"weir/core/topology"
	"weir/core/unit"
	"weir/core/workload"
	"weir/study/experiment"
	"weir/study/plan"
)

// star reads a format of another binary: the names of hosts, one a line, around one switch.
func star(r io.Reader, file string) (*topology.Network, error) {
	n := &topology.Network{}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if lines.Text() == "" {
			return nil, &topology.FormatError{File: file, Line: len(n.Nodes) + 1, Column: 1, Msg: "the host has no name"}
		}
		n.Nodes = append(n.Nodes, topology.Node{Name: lines.Text()})
	}
	for i := range n.Nodes {
		n.Links = append(n.Links, topology.Link{Ends: [2]int{i, len(n.Nodes)}, Rate: unit.LinkRate{Bits: unit.Gbps}})
	}
	n.Nodes = append(n.Nodes, topology.Node{Name: "s", Switch: true})
	return n, nil
}

// pairs reads a format of flows of another binary: a source and a destination a line. A line "end" is an excess.
func pairs(r io.Reader, file string, each unit.Time) (flows []workload.Flow, err error) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		f := workload.Flow{Size: unit.KB, Start: unit.Time(len(flows)) * each, At: workload.FilePosition{Line: len(flows) + 1,
			Src: 1, Dst: 3, Start: 1}}
		if lines.Text() == "end" {
			return flows, &workload.FormatError{File: file, Line: f.At.Line, Column: 1, Msg: "more flows", Excess: true}
		}
		if _, err := fmt.Sscan(lines.Text(), &f.Src, &f.Dst); err != nil {
			return nil, &workload.FormatError{File: file, Line: f.At.Line, Column: 1, Msg: err.Error()}
		}
		flows = append(flows, f)
	}
	return flows, nil
}

// ofFiles names files of both formats.
const ofFiles = `duration: 10ms
topology: {file: hosts, format: star}
switch: [forward]
traffic:
  - {name: x, file: flows, format: pairs, time_unit: 1us, transport: udp, rate: 1Mbps}
`

// loadOwn loads an experiment in a registry that has both formats.
func loadOwn(text string, files map[string]string) (*experiment.Spec, error) {
	r := room()
	r.Networks = append(r.Networks, topology.FileFormat{Name: "star", Doc: "hosts around a switch", Read: star})
	r.Flows = append(r.Flows, workload.FileFormat{Name: "pairs", Doc: "hosts by twos", Program: "nobody",
		UnclearUnit: "lines do not say when they start", Announces: true, Read: pairs})
	src := file("own.yaml", text)
	src.Open = func(name string) ([]byte, error) { return []byte(files[name]), nil }
	return plan.Load(r, src, experiment.Options{})
}

// TestOwnFormats checks that another binary can add formats of networks and of flows. They are read, in the schema, and
// listed in errors. Keys that they do not support are refused.
func TestOwnFormats(t *testing.T) {
	files := map[string]string{"hosts": "a\nb\nc\n", "flows": "0 1\n2 1\n"}
	s, err := loadOwn(ofFiles, files)
	if err != nil {
		t.Fatal(err)
	}
	p := s.Points()[0]
	if n := p.Network(); len(n.Links) != 3 || n.Nodes[2].Name != "c" || p.Flows() != 2 || p.Flow(1).Src != 2 ||
		p.Flow(1).Size != unit.KB {
		t.Errorf("%+v, %+v", n, p)
	}
	r := room()
	r.Networks, r.Flows = []topology.FileFormat{{Name: "star"}}, []workload.FileFormat{{Name: "pairs"}}
	for _, name := range []string{`"star"`, `"pairs"`} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(string(r.WriteSchema()), name) {
				t.Error("the schema does not have it")
			}
		})
	}
	for _, c := range []struct{ name, old, new, flows, want string }{
		{"of a network, unknown", "format: star", "format: ring", "", `own.yaml:2:33: unknown format "ring"; allowed: ` +
			"hpcc, htsim, star"},
		{"of flows, unknown", "format: pairs", "format: pear", "", "allowed: hpcc, htsim, pairs"},
		{"of a network, missing", ", format: star", "", "",
			"own.yaml:2:11: the format of the topology file is missing; add " +
				"format: hpcc, or htsim, or star"},
		{"of flows, missing", " format: pairs,", "", "", "own.yaml:5:5: the format of the flow file is missing; add " +
			"format: hpcc, or htsim, or pairs"},
		{"without a unit", " time_unit: 1us,", "", "",
			"own.yaml:5:5: lines do not say when they start; give it with the key time_unit"},
		{"ports", "udp, rate", "udp, port: 100, rate", "",
			"port is given, but files of nobody have no ports; allowed: no port"},
		{"an error in a file", "", "", "0 1\n0 x\n", "flows:2:1: "},
		{"no such host", "", "", "0 7\n", "flows:1:3: node 7 does not exist"},
		{"an excess", "", "", "0 1\nend\n", "flows:2:1: more flows"},
		{"an excess that is ignored", "udp, rate", "udp, rest: ignored, rate", "0 1\nend\n", ""},
		{"nothing is announced", "star}", "star, rest: ignored}", "",
			"rest is given, but files in format: star do not announce their number of entries"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"hosts": files["hosts"], "flows": files["flows"]}
			if c.flows != "" {
				files["flows"] = c.flows
			}
			_, err := loadOwn(strings.Replace(ofFiles, c.old, c.new, 1), files)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestFileKeysWithoutFile checks that keys about reading a file are refused without a file.
func TestFileKeysWithoutFile(t *testing.T) {
	const text = small + `traffic: [{name: x, from: a, to: c, transport: udp, rate: 1Mbps, KEY}]
`
	for _, c := range []struct{ key, value string }{{"format", "hpcc"}, {"rest", "ignored"}, {"offset", "1s"},
		{"time_unit", "1us"}, {"port", "100"}} {
		t.Run(c.key, func(t *testing.T) {
			_, err := plan.Load(room(), file("x.yaml", strings.Replace(text, "KEY", c.key+": "+c.value, 1)),
				experiment.Options{})
			want := fmt.Sprintf(`%q is given without file; allowed: file: … or no %s`, c.key, c.key)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}
