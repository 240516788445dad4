package experiment_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/study/experiment"
	"weir/study/plan"
)

// TestMatrixNodes checks that a connection matrix is for a topology of as many hosts as its Nodes. Any other number is
// refused with its place and both numbers. Hosts of a file need not be its first nodes: then Nodes may also cover their
// numbers.
func TestMatrixNodes(t *testing.T) {
	const fatTree = "{fat_tree: {k: 4, rate: 100Gbps, delay: 1us}}"
	const listed = "{hosts: [a, b], switches: [s], links: [{ends: [a, s], rate: 1Gbps, delay: 1us}, {ends: [b, s], " +
		"rate: 1Gbps, delay: 1us}]}"
	for _, c := range []struct {
		topology string
		head     string
		want     string
	}{
		{fatTree, "Nodes 16\n", ""},
		{fatTree, "Nodes 17\n", "m.cm:1:7: Nodes is 17, but the topology has 16 hosts; allowed: a matrix with Nodes 16, or " +
			"a topology of 17 hosts"},
		{fatTree, "# a comment\n Nodes  15\n", "m.cm:2:9: Nodes is 15, but the topology has 16 hosts"},
		{fatTree, "Nodes 36\n", "m.cm:1:7: Nodes is 36, but the topology has 16 hosts"}, // with its switches
		{listed, "Nodes 2\n", ""},
		{listed, "Nodes 3\n", "m.cm:1:7: Nodes is 3, but the topology has 2 hosts"},
		{"{file: net, format: hpcc}", "Nodes 2\n", ""},
		{"{file: net, format: hpcc}", "Nodes 3\n", ""},
		{"{file: net, format: hpcc}", "Nodes 4\n", "m.cm:1:7: Nodes is 4, but the topology has 2 hosts"},
	} {
		t.Run(fmt.Sprintf("%.20s %q", c.topology, c.head), func(t *testing.T) {
			src := file("x.yaml", "duration: 1ms\nswitch: [ecmp]\ntraffic: [{name: x, file: m.cm, format: htsim, "+
				"time_unit: 1us, transport: tcp}]\ntopology: "+c.topology+"\n")
			flow := "0->1"
			if strings.Contains(c.topology, "net") {
				flow = "0->2"
			}
			files := map[string]string{"m.cm": c.head + "Connections 1\n" + flow + " start 0 size 1000\n",
				"net": "3 1 2\n1\n0 1 1Gbps 1us 0\n1 2 1Gbps 1us 0\n"}
			if c.head == "Nodes 2\n" && flow == "0->2" {
				files["m.cm"] = c.head + "Connections 0\n"
			}
			src.Open = func(name string) ([]byte, error) { return []byte(files[name]), nil }
			_, err := plan.Load(room(), src, experiment.Options{})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
