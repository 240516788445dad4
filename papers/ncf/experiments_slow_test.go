//go:build slow

package ncf_test

import (
	"testing"

	"weir/study/spec"
)

// What the quick variants must find. doc.go says what else they do, and what does not hold.
func TestExperiments(t *testing.T) {
	for name, claims := range map[string][]string{
		"incast": {"incast.drop-times-out", "incast.no-timeouts", "incast.no-timeouts-rdma", "incast.completes",
			"incast.direct", "incast.overhead", "incast.storm", "incast.storm-mice", "incast.completes-rdma",
			"incast.overhead-rdma", "incast.nacks-arrive", "incast.throughput-quickack", "incast.fair", "incast.top"},
		"incast-supply": {"incast-supply.throughput", "incast-supply.fair", "incast-supply.throughput-delayed",
			"incast-supply.fair-delayed", "incast-supply.timeouts"},
		"incast-fabric": {"fabric.drop-times-out", "fabric.no-timeouts", "fabric.completes", "fabric.completes-dctcp",
			"fabric.nacks-arrive", "fabric.overhead"},
		"mixed": {"mixed.mice", "mixed.mice-dctcp", "mixed.mice-fq", "mixed.mice-timeouts", "mixed.elephants",
			"mixed.no-starvation", "mixed.fair", "mixed.short-queues", "mixed.order", "mixed.top"},
		"queues": {"queues.three-suffice-elephants", "queues.no-starvation"},
		"knobs": {"knobs.coalesce", "knobs.coalesce-incast", "knobs.mice-told", "knobs.told", "knobs.short-windows",
			"knobs.epsilon", "knobs.early", "knobs.early-supply"},
	} {
		t.Run(name, func(t *testing.T) { mechanisms(t, name, spec.Options{Quick: true}, claims...) })
	}
}
