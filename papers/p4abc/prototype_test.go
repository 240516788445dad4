package p4abc_test

import (
	"strings"
	"testing"

	"weir/study/experiment"
)

// TestPrototypeIsOne checks that it is one configuration: links, switch and TCP are the same in all four files.
func TestPrototypeIsOne(t *testing.T) {
	for _, same := range []string{
		"    - {ends: [client0, s1], rate: 100Mbps, delay: 5ms, jitter: 240us}\n",
		"    - {ends: [s1, server], rate: 4170pps, delay: 5ms, buffer: 24 packets}\n",
		"ring: 64 packets", "capacity: 10.8kpps",
		"        - abc: {memory: 3s, reference: 10kbps, average_memory: 300ms, average: packets, queue: register,\n" +
			"                q_min: 6 packets, q_base: 20 packets, gamma: 16 packets}\n",
		"{cubic: {hystart: linux-4.4}}", "transport: {tcp: {compressed_ack: 0s, receive_buffer: 6MiB, bursts: false}}",
	} {
		for _, name := range []string{"fig4", "fig5", "fig6", "single"} {
			t.Run(name+" "+same, func(t *testing.T) {
				src, err := registry().OpenExperiment("p4abc/prototype-" + name)
				if err != nil {
					t.Fatal(err)
				}
				tcp := strings.Contains(same, "cubic") || strings.Contains(same, "tcp")
				if strings.Contains(string(src.Data), same) == (name == "fig4" && tcp) {
					t.Errorf("%s differs in %q", name, same)
				}
			})
		}
	}
}

// TestPrototypeClaims checks that the open claims fail as documented: client 0 of figure 6 gets less at R0 = 50 than at
// 30 Mb/s, and bursts prevent a proportional figure 4. All other claims hold, here with fewer points and shorter runs
// than in TestPrototypeClaimsFull.
func TestPrototypeClaims(t *testing.T) {
	for name, set := range map[string][]string{"fig4": {"duration=4s"}, "fig5": {"duration=4s"},
		"fig6": {"duration=5s", "capacity=10.8kpps"}, "single": {"repeat=1", "duration=8s"},
		"causes": {"duration=4s", "cause=[register, input, loss, prototype]"}} {
		t.Run(name, func(t *testing.T) { prototypeClaims(t, name, experiment.Options{Quick: true, Set: set}) })
	}
}

// prototypeClaims runs a prototype experiment. All of its claims hold, except for two sentences of the paper that no
// configuration was found for (docs/papers/p4abc.md#contradictions).
func prototypeClaims(t *testing.T, name string, o experiment.Options) {
	t.Helper()
	holdExcept(t, carryOut(t, "p4abc/prototype-"+name, o), "prototype-fig6.abc.monotone", "prototype-fig4.without.bursts")
}

// TestUnresponsive_StarvationFollowsReferences checks that users of constant rate at unequal reference rates starve in
// the cases that the page derives (docs/papers/p4abc.md#constant-rates-at-unequal-reference-rates).
func TestUnresponsive_StarvationFollowsReferences(t *testing.T) {
	hold(t, carryOut(t, "p4abc/cbr-references", experiment.Options{Set: []string{"repeat=1", "duration=3s", "warmup=10s",
		"gamma=[16 packets, 40 packets]"}}))
}
