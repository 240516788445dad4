package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/experiment"
	"weir/study/plan"
)

const portly = `duration: 1s
topology: {leaf_spine: {leaves: 2, spines: 1, hosts: 2, rate: 1Gbps, delay: 1us}}
switch: [forward]
traffic:
  - {name: short, pairs: [[h0, h2], [h1, h2], [h0, h3]], sets: {count: 2, interval: 1ms}, start: 0s, size: 1kB,
     ports: {from: 32001, to: 42001}, transport: tcp}
  - {name: long, from: h0, to: h2, start: 0s, size: 1kB, ports: {from: 32001, to: 42001}, transport: tcp}
  - {name: other, from: h0, to: h2, start: 0s, size: 1kB, transport: tcp}
`

// TestPorts_CountUpPerHost checks that ports count up at each sender and each receiver over all traffics that have
// them, in the file's order, as iperf's do when a script starts one flow after another. Flows without them keep theirs.
func TestPorts_CountUpPerHost(t *testing.T) {
	s := plantest.Load(t, plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc"), portly, experiment.Options{})
	c, err := plan.ListRuns(s)[0].Config()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"h0:32001 h2:42001", "h0:32002 h2:42002", "h1:32001 h2:42003", "h1:32002 h2:42004",
		"h0:32003 h3:42001", "h0:32004 h3:42002", "h0:32005 h2:42005"}
	n := c.Wiring.Network
	for i, w := range want {
		f := &c.Flows[i]
		got := fmt.Sprintf("%s:%d %s:%d", n.Nodes[f.Src].Name, f.SrcPort, n.Nodes[f.Dst].Name, f.DstPort)
		if got != w {
			t.Errorf("flow %d: %s, want %s", i, got, w)
		}
	}
	if f := &c.Flows[len(want)]; f.SrcPort == 32006 {
		t.Errorf("a flow without ports has %d", f.SrcPort)
	}
}

// TestPortsRefused checks that impossible pairs and ports are errors at their places.
func TestPortsRefused(t *testing.T) {
	registry := plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc")
	for name, x := range map[string]struct{ old, new, want string }{
		"beyond 65535": {"from: 32001, to: 42001}, transport: tcp}\n  - {name: long",
			"from: 65533, to: 42001}, transport: tcp}\n" +
				"  - {name: long", "port above 65535"},
		"drawn flows": {"from: h0, to: h2, start: 0s, size: 1kB, ports", "from: h0, to: random, start: 0s, size: 1kB, ports",
			"the flows are drawn at random"},
		"pairs and to": {"pairs: [[h0, h2],", "to: h3, pairs: [[h0, h2],", "to is given together with pairs"},
		"itself":       {"[h1, h2]", "[h1, h1]", "goes from \"h1\" to itself"},
		"no pair":      {"[h1, h2]", "[h1, h2, h3]", "the pair is not a list of a sender and a receiver"},
		"a switch":     {"[h1, h2]", "[h1, spine0]", "is a switch"},
		"no such host": {"[h1, h2]", "[h1, h9]", "h9"},
		"no first port": {"ports: {from: 32001, to: 42001}, transport: tcp}\n  - {name: long", "ports: {from: 32001}, " +
			"transport: tcp}\n  - {name: long", "ports lacks the first port of the receivers"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(portly, x.old, x.new, 1)
			if text == portly {
				t.Fatal("nothing is replaced")
			}
			if got := plantest.LoadInvalid(t, registry, text, experiment.Options{}); !strings.Contains(got.Error(), x.want) {
				t.Errorf("%v", got)
			}
		})
	}
}

// TestEventsOfBundles checks that an event names any link of a bundle, as ports are named, from either end. Without a
// number it is the first.
func TestEventsOfBundles(t *testing.T) {
	const text = `duration: 5ms
topology:
  hosts: [a, b]
  switches: [s]
  links: [{ends: [a, s], rate: 1Gbps, delay: 1us, bundle: 4}, {ends: [b, s], rate: 1Gbps, delay: 1us}]
switch: [ecmp]
traffic: [{name: t, from: a, to: b, size: 1kB, transport: tcp, start: 0s}]
events: [{at: 1ms, link: %s, down: true}]
measure: [fct]
`
	registry := plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc")
	for link, want := range map[string]int{"[a, s]": 0, "[a, s~1]": 0, "[a, s~2]": 1, "[s, a~4]": 3} {
		c := configured(t, fmt.Sprintf(text, link))
		if got := int(c.Wiring.Network.Links[c.Wiring.Events[0].Link].Nth); got != want {
			t.Errorf("%s is link %d of the bundle, want %d", link, got, want)
		}
	}
	for link, want := range map[string]string{
		"[a, s~5]": "no link joins a and s~5; allowed: a has links to s, s~2, s~3, s~4",
		"[a, s~x]": `unknown node "s~x"`} {
		if err := plantest.LoadInvalid(t, registry, fmt.Sprintf(text, link),
			experiment.Options{}); !strings.Contains(err.Error(),
			want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
