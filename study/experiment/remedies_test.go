package experiment_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/study/experiment"
	"weir/study/plan"
)

// TestLoad_SuggestsReplacements checks that what an experiment or its file has and Weir does not support is refused
// with a replacement. The replacement is read.
func TestLoad_SuggestsReplacements(t *testing.T) {
	const text = `duration: 10ms
topology: %s
switch: [forward]
traffic: [{name: x, transport: tcp, %s}]
`
	const links = "{hosts: [a, b], switches: [s], links: [{ends: [a, s], rate: 1Gbps, delay: 1ms}, {ends: [s, b], %s}]}"
	const toB, plain = "from: a, to: b", "rate: 10Mbps, delay: 1ms"
	const network, flows = "3 1 2\n1\n0 1 1Gbps 1us 0\n1 2 1Gbps 1us 0\n", "1\n0 2 3 100 1000 0.0\n"
	const net, list = "{file: net, format: hpcc}", "file: list, format: hpcc"
	for _, c := range []struct {
		name, topology, ends, net, list string
		want                            string // "": it is read
	}{
		{"a rate by direction", fmt.Sprintf(links, "rate: {down: 100Mbps, up: 10Mbps}, delay: 1ms"), toB, "", "",
			"x.yaml:2:112: the value is a map; allowed: one rate for both directions; for one direction use an event such as " +
				"{at: 0s, link: [a, b], from: a, rate: 10Mbps}"},
		{"a list of rates", fmt.Sprintf(links, "rate: [100Mbps, 10Mbps], delay: 1ms"), toB, "", "",
			"x.yaml:2:112: the value is a list; allowed: one rate for both directions; for one direction"},
		{"that event", fmt.Sprintf(links, plain), toB + "}]\nevents: [{at: 0s, link: [s, b], from: b, rate: 1Mbps", "", "",
			""},
		{"a delay by direction", fmt.Sprintf(links, "rate: 10Mbps, delay: {down: 1ms, up: 2ms}"), toB, "", "",
			"x.yaml:2:127: the value is a map; allowed: one delay for both directions, such as 1ms"},
		{"losses in bursts", fmt.Sprintf(links, plain+", loss: {p: 1%, r: 25%}"), toB, "", "",
			"x.yaml:2:138: the value is a map; allowed: one share of independent losses for both directions, such as 0.1%"},
		{"those losses", fmt.Sprintf(links, plain+", loss: 0.1%"), toB, "", "", ""},
		{"text behind the last link", net, "from: h0, to: h2", network + "end\n", "",
			"net:5:1: \"end\" follows the last entry that the first line announces; allowed: rest: ignored, next to file"},
		{"that text is ignored", "{rest: ignored, file: net, format: hpcc}", "from: h0, to: h2", network + "end\n", "", ""},
		{"text behind the last flow", net, list, network, flows + "end\n",
			"list:3:1: more than the 1 flows that the first line announces; allowed: rest: ignored, next to file"},
		{"those flows end", net, list + ", rest: ignored", network, flows + "end\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := file("x.yaml", fmt.Sprintf(text, c.topology, c.ends))
			src.Open = func(name string) ([]byte, error) {
				return []byte(map[string]string{"net": c.net, "list": c.list}[name]), nil
			}
			_, err := plan.Load(room(), src, experiment.Options{})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %q", err, c.want)
			}
		})
	}
}
