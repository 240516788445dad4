package plan_test

import (
	"testing"

	"weir/core/cc/swift"
	"weir/core/dataplane/buffer/trimming"
	"weir/core/transport/ndp"
	"weir/core/transport/udp"
	"weir/core/transport/uet"
	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// everyTransport is a registry with all of Weir's transports.
func everyTransport() *experiment.Registry {
	r := plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc")
	r.Transports = append(r.Transports, ndp.Scheme(), udp.ControlledScheme(), uet.Scheme())
	r.Controllers = append(r.Controllers, swift.Scheme())
	r.Programs = append(r.Programs, trimming.Scheme())
	return r
}

// transports are all that deliver what they are given, as a traffic's keys.
var transports = []string{"transport: tcp", "transport: rdma, cc: none", "transport: rdma, cc: swift",
	"transport: udp_controlled, cc: dctcp", "transport: {window: {window: 24 packets}}", "transport: ndp",
	"transport: uet", "transport: {uet: {control: both}}"}

// trims are switches that all of them can use.
const trims = "switches: {'*': {queues: 2, programs: [ecmp, {trimming: {rtt: 20us}}]}}\n"

// configuredBy is the configuration of an experiment's first run, with every transport.
func configuredBy(t *testing.T, text string) *sim.Config {
	t.Helper()
	s, err := plan.Load(everyTransport(), plantest.NewSource("test.yaml", text), experiment.Options{})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	c, err := plan.Config(plan.ListRuns(s)[0].SpecPoint, 1)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return c
}
