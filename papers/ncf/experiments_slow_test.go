//go:build slow

package ncf_test

import (
	"testing"

	"weir/study/claim"
	"weir/study/spec"
)

// What the quick variants find: every claim but those named here holds. doc.go says why these do not.
func TestExperiments(t *testing.T) {
	for name, fails := range map[string][]string{
		"incast": {"incast.completes", "incast.completes-dctcp", "incast.completes-ndp", "incast.faster-than-ecn",
			"incast.faster-than-ndp", "incast.faster-than-cnp",
			"incast.short-buffers", "incast.short-delays", "incast.short-delays-ecn", "incast.throughput",
			"incast.throughput-quickack", "incast.fair"},
		"incast-fabric": {"fabric.no-timeouts-rdma", "fabric.completes", "fabric.completes-dctcp", "fabric.completes-ndp",
			"fabric.faster-than-ecn", "fabric.throughput"},
		"mixed": {"mixed.mice-ndp", "mixed.short-queues-ecn", "mixed.order"},
		"queues": {"queues.three-help", "queues.two", "queues.three-suffice", "queues.order-growing", "queues.order-changing",
			"queues.changing"},
		"knobs": {"knobs.tilt", "knobs.tilt-no-spike", "knobs.spike", "knobs.not-critical"},
	} {
		t.Run(name, func(t *testing.T) {
			otherwise := map[string]claim.Verdict{}
			for _, id := range fails {
				otherwise[id] = claim.Fails
			}
			verdicts(t, "ncf/"+name, spec.Options{Quick: true}, otherwise)
		})
	}
}
