package p4te

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
)

// TestReportUnreachable checks that with three leaves or pods, a spine with a failed link down loses the packets of
// other leaves while the link is down. With option tell it does not lose them once it has checked its links, in trees
// of two and three tiers. When the link is up again, so are the paths by it.
func TestReportUnreachable(t *testing.T) {
	const text = `
duration: 120ms
addresses: hierarchical
topology: {$tree}
switch: [{p4te: {detect: 1ms, tell: $tell, gap: 1ms, control_latency: 10us, table_write: 1us}}]
traffic:
  - {name: all, from: [$from], to: [$to], transport: {udp: {rate: 50Mbps}}, start: 0s, tos: 0x08}
events:
  - {at: 20ms, link: [$link], down: true}
  - {at: 70ms, link: [$link], down: false}
`
	const rest = "rate: 1Gbps, delay: 10us, buffer: 100 packets}"
	for _, x := range []struct{ name, tree, from, to, link string }{
		{"two tiers", "leaf_spine: {leaves: 3, spines: 2, hosts: 4, " + rest, "h0, h1, h2, h3", "h4, h5, h6, h7",
			"leaf1, spine0"},
		{"three tiers", "fat_tree: {k: 4, " + rest, "h0, h1, h2, h3", "h4, h5, h6, h7", "$edge"},
	} {
		for _, report := range []bool{false, true} {
			t.Run(fmt.Sprint(x.name, " ", report), func(t *testing.T) {
				link := x.link
				if link == "$edge" {
					link = lastLink(t, x.tree, x.from, x.to)
				}
				n := build(t, strings.NewReplacer("$tree", x.tree, "$tell", fmt.Sprint(report), "$from", x.from, "$to", x.to,
					"$link", link).Replace(text))
				n.Warmup, n.Duration = 30*ms, 70*ms
				if dead := n.dead(); (dead > 100) == report || dead < 100 && !report {
					t.Errorf("%d packets are lost after the failure", dead)
				}
				n = build(t, strings.NewReplacer("$tree", x.tree, "$tell", fmt.Sprint(report), "$from", x.from, "$to", x.to,
					"$link", link).Replace(text))
				n.Warmup = 80 * ms
				r := n.runNetwork()
				nodes := strings.Split(link, ", ")
				if sent := n.port(r, nodes[1], nodes[0]).TxPackets; sent < 100 {
					t.Errorf("%d packets by the link after it is back", sent)
				}
			})
		}
	}
}

// TestReportsLost checks that a neighbour's report is valid for three checks of the links. If every other message is
// lost, no packet takes the way that is reported as down.
func TestReportsLost(t *testing.T) {
	n := build(t, `
duration: 60ms
addresses: hierarchical
topology: {leaf_spine: {leaves: 3, spines: 2, hosts: 4, rate: 1Gbps, delay: 10us, buffer: 100 packets}}
switch: [{p4te: {detect: 1ms, tell: true, gap: 1ms, control_latency: 10us, table_write: 1us}}]
traffic:
  - {name: all, from: [h0, h1, h2, h3], to: [h4, h5, h6, h7], transport: {udp: {rate: 50Mbps}}, start: 0s, tos: 0x08}
events:
  - {at: 20ms, link: [leaf1, spine0], down: true}
`)
	n.Warmup = 30 * ms
	messages, lost := 0, 0
	n.hooks[n.node("leaf0")].ingress = func(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
		var events [2]Event
		if k, ok := parseFeedback(p, &events); !ok || k == 0 || events[0].Metric != unreachable {
			return dataplane.Accept
		}
		if messages++; messages%2 == 0 {
			return dataplane.Accept
		}
		lost++
		return dataplane.Drop(dataplane.InputLoss)
	}
	r := n.runNetwork()
	dead := uint64(0)
	for i := range r.Ports {
		dead += r.Ports[i].Lost
	}
	if dead > 0 || lost < 10 || r.Drops[dataplane.NoRoute] > 0 {
		t.Errorf("%d of %d messages are lost, and %d packets on the link that is down", lost, messages, dead)
	}
}

// dead counts the packets that are lost on links that are down or have no route.
func (n *network) dead() (lost uint64) {
	r := n.runNetwork()
	for i := range r.Ports {
		lost += r.Ports[i].Lost
	}
	for _, d := range r.Drops {
		lost += d
	}
	return lost
}

// lastLink returns the link from a spine of the first receiver's pod to its leaf.
func lastLink(t *testing.T, tree, from, to string) string {
	t.Helper()
	n := build(t, "duration: 1ms\naddresses: hierarchical\ntopology: {"+tree+
		"}\nswitch: [p4te]\ntraffic:\n  - {name: all, "+
		"from: ["+from+"], to: ["+to+"], transport: {udp: {rate: 50Mbps}}, start: 0s}\n")
	n.runNetwork()
	for _, l := range n.Wiring.Network.Links {
		a, b := n.Wiring.Network.Nodes[l.Ends[0]].Name, n.Wiring.Network.Nodes[l.Ends[1]].Name
		if (a == "h4" || b == "h4") && strings.HasPrefix(a+b, "h4") || strings.HasSuffix(a+b, "h4") {
			leaf := strings.Replace(a+b, "h4", "", 1)
			for _, up := range n.Wiring.Network.Links {
				c, d := n.Wiring.Network.Nodes[up.Ends[0]].Name, n.Wiring.Network.Nodes[up.Ends[1]].Name
				switch {
				case c == leaf && n.programs[up.Ends[1]] != nil:
					return leaf + ", " + d
				case d == leaf && n.programs[up.Ends[0]] != nil:
					return leaf + ", " + c
				}
			}
		}
	}
	t.Fatal("no such link")
	return ""
}
