package preflight

import (
	"testing"

	"weir/internal/document"
	"weir/internal/testkit/warntest"
	softswitch "weir/worlds/switch"
)

// when returns the warnings of one of two cases.
func when(fires, quiet []document.Warning) func(*testing.T, bool) []document.Warning {
	return func(_ *testing.T, now bool) []document.Warning {
		if now {
			return fires
		}
		return quiet
	}
}

// facts returns the warnings about an interface with an MTU of 1500 bytes and the given change.
func facts(change func(f *interfaceFacts)) []document.Warning {
	f := interfaceFacts{mtu: 1500, firstMTU: 1500}
	change(&f)
	return interfaceWarnings("eth0", softswitch.Port{Name: "b", Interface: "eth1"}, &f)
}

var (
	usual = facts(func(*interfaceFacts) {})
	eth0  = softswitch.Port{Name: "a", Interface: "eth0"}
)

// warned are the kinds of warnings about a switch's interfaces.
var warned = []warntest.Row{
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
	{ID: "switch-checksums-sent", Issue: when(
		(&PeerOffloads{Kind: "veth", Interface: "x", OmitsChecksums: true}).listWarnings(eth0),
		(&PeerOffloads{Kind: "veth", Interface: "x"}).listWarnings(eth0)), Port: "a"},
	{ID: "switch-checksums-hidden", Issue: when(
		(&PeerOffloads{Kind: "veth", hidden: "it is elsewhere"}).listWarnings(eth0),
		(&PeerOffloads{Kind: "veth", Interface: "x"}).listWarnings(eth0)), Port: "a"},
	{ID: "switch-checksums-tun", Issue: when((&PeerOffloads{Kind: "tun"}).listWarnings(eth0),
		(&PeerOffloads{Kind: "vxlan"}).listWarnings(eth0)), Port: "a"},
	{ID: "switch-needs-root", Issue: when(rootWarnings(false, 1000), rootWarnings(false, 0))},
}

// TestWarnings_FireAndStayQuiet checks that each kind of warning fires in one case and is quiet in another.
func TestWarnings_FireAndStayQuiet(t *testing.T) { warntest.Run(t, warned, nil) }
