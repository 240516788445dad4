package run_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/dataplane/feedback/inband"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/transport/udp"
	"weir/internal/testkit/plantest"
	"weir/papers/hpcc"
	"weir/papers/p4abc"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
	"weir/worlds/lab"
)

// full is a flow of full packets over three switches.
const full = `duration: 5ms
mtu: MTU
topology:
  hosts: [a, b]
  switches: [s, u, v]
  links:
    - {ends: [a, s], rate: 100Mbps, delay: 10us}
    - {ends: [s, u], rate: 100Mbps, delay: 10us}
    - {ends: [u, v], rate: 100Mbps, delay: 10us}
    - {ends: [v, b], rate: 100Mbps, delay: 10us}
switch: [forward, {telemetry: {format: FORMAT, t: 200us, congested_queue: 1 B}}]
traffic:
  - {name: x, from: a, to: b, transport: {TRANSPORT: {telemetry: ASK}}, cc: CC, ip: VERSION, start: 0s}
measure: [goodput]
`

// longest is the longest frame that links carry.
type longest struct{ frame, packets int64 }

func (l *longest) Observe(e trace.Event, p *packet.Packet) {
	if e.Kind == trace.Transmit {
		l.frame, l.packets = max(l.frame, int64(p.Size)), l.packets+1
	}
}

// TestTelemetryLeavesRoom checks that no frame with its telemetry is longer than an MTU in bytes and Ethernet's
// header, in the simulator and in the lab. The longest frame is exactly that long, except for the padding of a
// transport. A payload in the file is not changed.
func TestTelemetryLeavesRoom(t *testing.T) {
	r := plantest.NewRegistry(p4abc.Scheme(), ".")
	r.Programs = append(r.Programs, inband.Scheme())
	r.Transports = append(r.Transports, udp.ControlledScheme())
	r.Controllers = append(r.Controllers, hpcc.Scheme(), hpcc.RxScheme(), hpcc.PINTScheme())
	for _, x := range []struct{ format, transport, version, ask, cc string }{
		{"hpcc", "rdma", "4", "packet", "hpcc"}, {"int-md", "rdma", "6", "packet", "hpcc"},
		{"int-md", "tcp", "4", "packet", "hpcc"}, {"ioam", "tcp", "6", "packet", "rx_hpcc"},
		{"ifa-ext", "rdma", "4", "packets", "hpcc"}, {"ioam-gafni", "udp_controlled", "6", "rtt", "hpcc"},
		{"relative", "tcp", "4", "packet", "hpcc"}, {"int-md", "rdma", "4", "congestion", "hpcc"},
		{"hpcc", "tcp", "4", "packet", "hpcc_pint"}, {"int-md", "tcp", "4", "probe", "hpcc"},
	} {
		t.Run(fmt.Sprint(x), func(t *testing.T) {
			words := strings.NewReplacer("FORMAT", x.format, "TRANSPORT: {", x.transport+": {STACK", "ASK", x.ask, "CC",
				x.cc, "VERSION", x.version, "MTU", "1500 B")
			stack := ""
			if x.transport == "tcp" {
				stack = "stack: weir, "
			}
			text := strings.Replace(words.Replace(full), "STACK", stack, 1)
			size := int64(0)
			for _, record := range plantest.RunTracedSpec(t, r, text, func([]string) []trace.Sink { return nil }, "*") {
				size = max(size, record.Size)
			}
			if size > 1514 || size < 1514-16 {
				t.Errorf("in the simulator frames have %d bytes, 1514 are possible", size)
			}
			one := plan.ListRuns(plantest.Load(t, r, text, experiment.Options{}))[0]
			c, err := run.LabConfig(one)
			if err != nil {
				t.Fatal(err)
			}
			h, err := run.HostsConfig(one)
			if err != nil {
				t.Fatal(err)
			}
			var seen longest
			c.Observer = &seen
			if _, _, _, err := lab.Rehearse(c, h); err != nil || seen.packets < 100 {
				t.Fatal(seen.packets, err)
			}
			if seen.frame != size {
				t.Errorf("in the lab frames have %d bytes, in the simulator %d", seen.frame, size)
			}
			fixed := strings.Replace(text, "1500 B", "1000 B payload", 1)
			if got := plantest.Load(t, r, fixed, experiment.Options{}).Points()[0].Entry(0).Payload(); got != 1000 {
				t.Errorf("a payload of %d B", got)
			}
		})
	}
}
