package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/app"
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// loser is a program that drops the last packet of the flow of h0 once. Only this packet has half the payload.
type loser struct {
	dropped unit.Time // 0: not yet
}

func (*loser) Name() string { return "loser" }

func (l *loser) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if l.dropped == 0 && p.Kind == packet.Data && p.Src == 1 && p.Payload == 500 {
		l.dropped = env.Now()
		return dataplane.Drop(dataplane.InputLoss)
	}
	return dataplane.Accept
}

// repair runs a flow whose last packet is lost next to a burst that fills part of the buffers. It returns the time from
// the loss to the end of the flow, and the longest round trip of its path, unit.Never without a limit.
func repair(t *testing.T, links, switches, programs, traffic string) (took, longest unit.Time) {
	t.Helper()
	text := fmt.Sprintf("duration: 10s\ntopology: {star: {hosts: 5, rate: 10Gbps, delay: 1us%s}}\nswitch: %s\n%s\n"+
		"traffic:\n  - {name: x, from: h0, to: h4, payload: 1000 B, size: 20500 B, start: 0s, transport: {%s}}\n"+
		"  - {name: burst, from: h1, to: h4, transport: udp, rate: 10Gbps, payload: 1000 B, size: 60kB, start: 0s}\n"+
		"measure: [goodput]\n", links, strings.Replace(programs, "]", ", loser]", 1),
		strings.Replace(switches, "]}}", ", loser]}}", 1), traffic)
	r := app.Registry()
	var drops *loser
	r.Programs = append(r.Programs, dataplane.Define(scheme.Scheme{Name: "loser", Doc: "drops", Source: "Weir"},
		func(*dataplane.Site, scheme.None) (*loser, error) {
			drops = &loser{}
			return drops, nil
		}))
	s := plantest.Load(t, r, text, experiment.Options{})
	c, err := plan.ListRuns(s)[0].Config()
	if err != nil {
		t.Fatal(err)
	}
	out := plantest.Simulate(t, c)
	end := out.Flows[0].FCT
	if !strings.HasPrefix(traffic, "udp") {
		end = max(end, out.Flows[0].Arrived)
	}
	if drops.dropped == 0 {
		t.Fatalf("no packet was dropped:\n%s", text)
	}
	if end == unit.Never {
		return end, 0
	}
	p := s.Points()[0].Measured()
	path := p.Path(0, 4, &p.Traffic[0])
	return out.Flows[0].Start + end - drops.dropped, path.MaxRTT()
}

// TestLastPacketRepaired checks that a lost last packet is repaired within twice the longest round trip of the path
// or, without a limit, after the answer to a probe. TCP waits for Linux's shortest timeout of 200 ms, because a
// single packet is in flight, and window for its timeout of 1 ms. In shallow buffers the path's bound is below the
// shortest wait before a probe.
func TestLastPacketRepaired(t *testing.T) {
	const burst = 60 * unit.Microsecond
	shallow := buffers[0]
	shallow.name, shallow.links = "shallow", ", buffer: 30kB"
	packets := shallow
	packets.name, packets.links = "shallow in packets", ", buffer: 25 packets"
	for _, b := range append(slices.Clone(buffers), shallow, packets) {
		for _, x := range []string{"rdma: {recovery: go_back_n}}, cc: {none: {}",
			"rdma: {recovery: selective_repeat}}, cc: {dcqcn: {}",
			"rdma: {recovery: selective_repeat, reordering: adaptive}}, cc: {reno: {}",
			"rdma: {recovery: selective_repeat, ack_every: 64 packets}}, cc: {none: {}",
			"rdma: {recovery: selective_repeat, paths: 8}}, cc: {powertcp: {}", "udp_controlled: {}}, cc: {reno: {}", "ndp: {}",
			"uet: {}", "uet: {rto: estimated}", "tcp: {}}, cc: {reno: {}",
			"window: {window: 20 packets}"} {
			took, longest := repair(t, b.links, b.switches, b.programs, x)
			limit := 2 * longest
			switch {
			case strings.HasPrefix(x, "tcp"):
				limit = 200*unit.Millisecond + 2*burst
			case strings.HasPrefix(x, "window"):
				limit = unit.Millisecond + 2*burst
			case b.name == "ndp in other turns" && x == "ndp: {}": // no probe proves a loss, and there is no limit
				limit = 5*unit.Millisecond + 2*burst
			case longest == unit.Never:
				limit = 2 * (transport.MinProbeWait + 6*unit.Microsecond + burst)
			}
			if took > limit {
				t.Errorf("%s, %s: repaired after %v, more than %v", b.name, x, took, limit)
			}
		}
	}
}
