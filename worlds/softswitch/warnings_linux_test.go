package softswitch

import (
	"errors"
	"strings"
	"testing"

	"weir/internal/document"
	"weir/internal/testkit/warntest"
	"weir/papers/p4te"
)

// file is a switch's file whose port a has so much of a rate.
func file(rate, users, metrics string) string {
	return "ports: {a: {interface: a" + rate + "}, b: {interface: b, rate: 50Mbps}}\nswitch: [forward]\nusers: " + users +
		"\nmetrics: " + metrics + "\n"
}

// standalone is a switch's file with P4TE on its own, whose port a has a rate.
func standalone(rate, parameters string) string {
	return "ports: {a: {interface: a, rate: " + rate + "}, b: {interface: b, rate: 20Mbps}}\nusers: {exempt_rate: " +
		"0bps}\n" +
		"metrics: none\nswitch: [forward, {p4te: {paths: false, rate: enforced, " + parameters + "}}]\n"
}

// when returns the warnings of one of two cases.
func when(fires, quiet []document.Warning) func(*testing.T, bool) []document.Warning {
	return func(_ *testing.T, now bool) []document.Warning {
		if now {
			return fires
		}
		return quiet
	}
}

// facts returns the warnings about an interface with an MTU of 1500 bytes, but for what a change makes of it.
func facts(change func(f *interfaceFacts)) []document.Warning {
	c := &Config{Ports: []Port{{Name: "a", Interface: "eth0"}, {Name: "b", Interface: "eth1"}}}
	f := interfaceFacts{mtu: 1500, firstMTU: 1500}
	change(&f)
	return c.interfaceWarnings(c.Ports[1], &f)
}

var (
	usual = facts(func(*interfaceFacts) {})
	eth0  = Port{Name: "a", Interface: "eth0"}
)

// warned are the kinds of warnings about a switch on real interfaces.
var warned = []warntest.Row{
	{ID: "switch-exempt", Text: file(", rate: ¦10Mbps", "{exempt_rate: #}", "none"), Fires: "262kbps", Quiet: "238kbps",
		Port: "a"},
	{ID: "switch-slow-frame", Text: file(", rate: ¦#", "{exempt_rate: 0bps}", "none"), Fires: "11.5kbps",
		Quiet: "12.7kbps",
		Port:  "a"},
	{ID: "switch-no-rate", Text: file("#", "{exempt_rate: 0bps}", "none"), Fires: "", Quiet: ", rate: 10Mbps", Port: "a"},
	{ID: "switch-metrics-open", Text: file(", rate: 10Mbps", "{exempt_rate: 0bps}", "#:9465"), Fires: "0.0.0.0",
		Quiet: "127.0.0.1"},
	{ID: "switch-receivers", Text: strings.Replace(file(", rate: 10Mbps", "¦{exempt_rate: 0bps#}", "none"), "[forward]",
		"[forward, abc]", 1), Fires: "", Quiet: ", behind: a"},
	{ID: "switch-mtu", Issue: when(facts(func(f *interfaceFacts) { f.mtu = 1501 }), usual), Port: "b"},
	{ID: "switch-address", Issue: when(facts(func(f *interfaceFacts) { f.addresses = []string{"10.9.9.1/24"} }), usual),
		Port: "b"},
	{ID: "switch-address-bypass", Issue: when(facts(func(f *interfaceFacts) {
		f.addresses, f.bypass = []string{"10.9.9.1/24"}, true
	}), facts(func(f *interfaceFacts) { f.bypass = true })), Port: "b"},
	{ID: "switch-default-route", Issue: when(facts(func(f *interfaceFacts) { f.defaultRoute = true }), usual), Port: "b"},
	{ID: "switch-bridge-down", Issue: when(bridgeWarnings("br0", false, ""), bridgeWarnings("br0", true, ""))},
	{ID: "switch-bridge-address", Issue: when(bridgeWarnings("br0", true, "10.9.9.1/24"), bridgeWarnings("br0", true,
		""))},
	{ID: "switch-checksums-sent", Issue: when((&other{Kind: "veth", Interface: "x", Sends: true}).warnings(eth0),
		(&other{Kind: "veth", Interface: "x"}).warnings(eth0)), Port: "a"},
	{ID: "switch-checksums-hidden", Issue: when((&other{Kind: "veth", hidden: "it is elsewhere"}).warnings(eth0),
		(&other{Kind: "veth", Interface: "x"}).warnings(eth0)), Port: "a"},
	{ID: "switch-checksums-tun", Issue: when((&other{Kind: "tun"}).warnings(eth0), (&other{Kind: "vxlan"}).warnings(eth0)),
		Port: "a"},
	{ID: "switch-checksums", Issue: when(partialWarnings(eth0, 1, "ethtool"), partialWarnings(eth0, 0, "ethtool")),
		Port: "a"},
	{ID: "switch-no-seccomp", Issue: when(unfiltered("supervisor", errors.New("function not implemented")),
		unfiltered("supervisor", nil))},
	{ID: "p4te-safe-late", Text: standalone("#", "classes: {0: low_delay}"), Fires: "32Mbps", Quiet: "29Mbps", Port: "a"},
	{ID: "p4te-classes", Text: standalone("20Mbps", "#"), Fires: "gap: 40ms", Quiet: "classes: {0: low_delay}"},
	{ID: "switch-needs-root", Issue: when(rootWarnings(false, 1000), rootWarnings(false, 0))},
}

// TestWarnings: each kind of warning fires in one case and is quiet in another.
func TestWarnings(t *testing.T) {
	warntest.Run(t, warned, func(t *testing.T, text string) []document.Warning {
		known := schemes()
		known.Programs = append(known.Programs, p4te.Scheme())
		c, err := Decode(known, "switch.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all := append(c.openMetrics(), c.questions(func(int) int { return 1500 })...)
		return append(all, c.unshapedPorts()...)
	})
}
