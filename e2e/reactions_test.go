package e2e

import "testing"

// sampled is the distance between the combinations that TestControllers_ReactToCongestedLink runs.
const sampled = 89

// TestControllers_ReactToCongestedLink checks that every controller reacts to a congested link over every
// transport, with every format of telemetry and under every load balancer, unless loading refuses the combination.
// It runs one in 89 combinations, and each choice occurs with several others. The slow suite runs all.
func TestControllers_ReactToCongestedLink(t *testing.T) {
	all := reactions()
	choices := map[string]map[string]bool{}
	for i := 0; i < len(all); i += sampled {
		r := all[i]
		t.Run(r.String(), r.check)
		for choice, others := range map[string]string{r.controller: r.transport, "over " + r.transport: r.controller,
			"with " + r.format: r.controller, "under " + r.balancer: r.controller} {
			if choices[choice] == nil {
				choices[choice] = map[string]bool{}
			}
			choices[choice][others] = true
		}
	}
	for _, r := range all {
		for _, choice := range []string{r.controller, "over " + r.transport, "with " + r.format, "under " + r.balancer} {
			if len(choices[choice]) < 2 {
				t.Fatalf("%s is sampled with %v only", choice, choices[choice])
			}
		}
	}
}
