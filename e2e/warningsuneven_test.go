package e2e

import (
	"slices"
	"strings"
	"testing"
)

// slowPort is the port to the slow spine of uneven.
const slowPort = "leaf0->spine3"

// uneven is an experiment in which four hosts send over four spines. One of them has the rate #.
func uneven(programs, transport, cc string) string {
	return strings.NewReplacer("hosts: 2", "hosts: 4",
		"from: h0, to: h2", "from: [h0, h1, h2, h3], to: [h4, h5, h6, h7]",
		"traffic:", "events: [{at: 100us, link: [leaf0, spine3], rate: #}]\ntraffic:").Replace(
		leaves(programs, transport, cc))
}

// TestUnevenPaths checks the warning about a slow path, in both directions. It occurs if packets of a flow take the
// path one by one and it gets more than its capacity. It does not occur if flows keep their path, or if the
// transport waits for it.
func TestUnevenPaths(t *testing.T) {
	one := func(programs, transport, cc string) string {
		return strings.Replace(uneven(programs, transport, cc), "from: [h0, h1, h2, h3], to: [h4, h5, h6, h7]",
			"from: h0, to: h4", 1)
	}
	back := func(text string) string {
		return strings.Replace(text, "from: [h0, h1, h2, h3], to: [h4, h5, h6, h7]",
			"from: [h4, h5, h6, h7], to: [h0, h1, h2, h3]", 1)
	}
	const waits = "{rdma: {recovery: selective_repeat, reordering: adaptive}}"
	for _, x := range []struct {
		name, text, rate string
		want             bool
	}{
		{"drill", uneven("drill", "tcp", "cubic"), "10Gbps", true},
		{"back", back(uneven("spray", "tcp", "cubic")), "10Gbps", true},
		{"flows keep their path", uneven("ecmp", "tcp", "cubic"), "10Gbps", false},
		{"flowlets", uneven("letflow", "tcp", "cubic"), "10Gbps", false},
		{"equal paths", uneven("spray", "tcp", "cubic"), "100Gbps", false},
		{"a faster path", uneven("spray", "tcp", "cubic"), "101Gbps", false},
		{"one host fills it", one("spray", "tcp", "cubic"), "24Gbps", true},
		{"it has room for one host", one("spray", "tcp", "cubic"), "26Gbps", false},
		{"loads with records", uneven("spray, telemetry", "udp_controlled", "hpcc"), "20Gbps", false},
		{"no stages", uneven("spray, telemetry", "udp_controlled", "{hpcc: {max_stage: 0}}"), "60Gbps", true},
		{"no stages at the receiver", uneven("drill, telemetry", "udp_controlled", "{rx_hpcc: {max_stage: 0}}"), "60Gbps",
			true},
		{"no stages over flowlets", uneven("letflow, telemetry", "udp_controlled", "{hpcc: {max_stage: 0}}"), "10Gbps",
			false},
		{"five stages", uneven("spray, telemetry", "udp_controlled", "hpcc"), "15Gbps", true},
		{"loads", uneven("spray, {telemetry: {format: relative, t: 9us}}", "udp_controlled", "hpcc"), "10Gbps", true},
		{"loads at the receiver", uneven("spray, {telemetry: {format: relative, t: 9us}}", "udp_controlled", "rx_hpcc"),
			"10Gbps", true},
		{"loads, and RDMA waits", uneven("spray, {telemetry: {format: relative, t: 9us}}", waits, "hpcc"), "10Gbps", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			all, loads := issued(strings.NewReplacer("¦", "", "#", x.rate).Replace(x.text))
			if warned := slices.ContainsFunc(all, func(w string) bool {
				return strings.Contains(w, "-uneven-")
			}); !loads || warned != x.want {
				t.Errorf("loads %v, %q", loads, all)
			}
		})
	}
}

// TestAgentOnUnevenPaths checks that the preset agent causes a warning if a flow changes between paths of different
// rates, also with a T of less than two round trips. It causes none if the flow's own link is as slow.
func TestAgentOnUnevenPaths(t *testing.T) {
	text := strings.NewReplacer("¦", "", "100Gbps", "10Gbps", "delay: 1us", "delay: 100us", "buffer: 1MB", "buffer: 4MB").
		Replace(uneven("conga, telemetry", "udp_controlled", "{rx_hpcc: {preset: agent}}"))
	alone := strings.Replace(text, "from: [h0, h1, h2, h3], to: [h4, h5, h6, h7]", "from: h0, to: h4", 1)
	for _, x := range []struct {
		name, text, rate string
		want             bool
	}{
		{"uneven", text, "2500Mbps", true}, {"even", text, "10Gbps", false}, {"alone", alone, "2500Mbps", true},
		{"hosts as slow", strings.Replace(alone, "rate: 10Gbps,", "rate: 2500Mbps,", 1), "2500Mbps", false},
		{"hash", strings.Replace(text, "conga", "ecmp", 1), "2500Mbps", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			all, loads := issued(strings.ReplaceAll(x.text, "#", x.rate))
			if warned := slices.Contains(all, "hpcc-agent-moves "+slowPort); !loads || warned != x.want {
				t.Errorf("loads %v, %q", loads, all)
			}
		})
	}
}

// TestIncreasesDrop checks that the warning of increases names drops if the queue that they add up to is longer
// than the buffer, on average or at times. 1,000 flows at 100 Gb/s have 344 kB on average and 810 kB at most. With
// pauses no packet is dropped.
func TestIncreasesDrop(t *testing.T) {
	text := strings.Replace(fabric("forward, telemetry", "rdma", "hpcc"), "to: b", "to: b, flows: 1000", 1)
	for buffer, want := range map[string]bool{"300kB": true, "600kB": true, "1MB": false, "PFC": false} {
		text := text
		if buffer == "PFC" {
			text = strings.Replace(text, "forward, telemetry", "forward, {shared_buffer: {size: 300kB}}, "+
				"{pfc: {headroom: size, headroom_size: 20kB}}, telemetry", 1)
			buffer = "1MB"
		}
		text = strings.Replace(text, "buffer: 1MB", "buffer: "+buffer, 1)
		all := experimentWarnings(t, text)
		if len(all) != 1 || strings.Contains(all[0].Text, "buffer, of "+buffer+", drops packets") != want {
			t.Errorf("%s: %v", buffer, all)
		}
	}
}
