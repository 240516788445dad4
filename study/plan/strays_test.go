package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/jobs/job"
	"weir/core/outcome"
	"weir/core/transport"
	"weir/core/unit"
	"weir/worlds/sim"
)

// twoLinks has hosts a and b on a direct link, and b at a switch, too: b's second NIC is one that a cannot reach.
const twoLinks = `duration: 20ms
warmup: WARMUP
topology:
  hosts: [a, b]
  switches: [x]
  links:
    - {ends: [a, b], rate: 100Gbps, delay: 1us}
    - {ends: [x, b], rate: 100Gbps, delay: 1us}
` + trims + `traffic: [{name: j, TRAFFIC}]
measure: [drops]
`

// bent is a MessageEndpointFactory. It expects the packets of messages at another NIC than the one where they arrive.
type bent struct {
	sim.MessageEndpointFactory
	expected, arrive int // NICs
}

func (e bent) Message(j int, m *job.Message, to int32, f *outcome.Flow, up func(nic int) bool) error {
	err := e.MessageEndpointFactory.Message(j, m, to, f, up)
	if f.Dst == e.arrive {
		f.Dst = e.expected
	}
	return err
}

func (e bent) MessageEndpoints(f *outcome.Flow, id int, number uint64, start unit.Time) (s, r transport.Endpoint,
	err error) {
	right := *f
	if right.Dst == e.expected {
		right.Dst = e.arrive
	}
	return e.MessageEndpointFactory.MessageEndpoints(&right, id, number, start)
}

// misdirected runs a traffic. Its packets arrive at b's first NIC and are expected at its second.
func misdirected(t *testing.T, traffic, warmup string) *outcome.Result {
	t.Helper()
	text := strings.NewReplacer("TRAFFIC", traffic, "WARMUP", warmup).Replace(twoLinks)
	c := configuredBy(t, text)
	first, second := 1, c.Wiring.Network.NICs().NumberOf(1, 1)
	if err := c.MakeEndpoints(); err != nil {
		t.Fatal(err)
	}
	for i := range c.Flows {
		if c.Flows[i].Dst != first {
			t.Fatalf("flow %d goes to NIC %d", i, c.Flows[i].Dst)
		}
		c.Flows[i].Dst = second
	}
	c.MessageEndpointFactory = bent{c.MessageEndpointFactory, second, first}
	res, err := sim.Run(c)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestMisdelivered_NamesFlowAndNICs checks that a run in which packets of a flow arrive, but not at its receiver, ends
// as Misdelivered over every transport. It names the flow, the NIC where its packets arrived and its receiver's. Each
// packet counts as a drop once.
func TestMisdelivered_NamesFlowAndNICs(t *testing.T) {
	type expected struct {
		traffic string
		stray   outcome.Stray
	}
	flow := outcome.Stray{Src: 0, Dst: 3, NIC: 1}
	message := outcome.Stray{Flow: -1, From: 0, To: 1, Src: 0, Dst: 3, NIC: 1}
	var all []expected
	for _, keys := range append(transports, "transport: {udp: {rate: 1Gbps}}") {
		all = append(all, expected{keys + ", from: a, to: b, size: 100kB, start: 0s", flow},
			expected{keys + ", hosts: [a, b], job: {broadcast: {size: 100kB}}", message})
	}
	all = append(all, expected{"transport: udp, rate: 100Mbps, from: a, to: b, start: 0s", flow})
	for _, x := range all {
		t.Run(x.traffic, func(t *testing.T) {
			r := misdirected(t, x.traffic, "0s")
			if r.End != outcome.Misdelivered || len(r.Strays) != 1 {
				t.Fatalf("%s, strays %+v", r.End, r.Strays)
			}
			got := r.Strays[0]
			if x.stray.Packets = got.Packets; got != x.stray || got.Packets == 0 {
				t.Errorf("%+v, want %+v", got, x.stray)
			}
			if n := r.Drops[dataplane.NotExpected]; n != got.Packets {
				t.Errorf("%d drops for the reason not expected, and %d packets", n, got.Packets)
			}
		})
	}
}

// TestMisdeliveredBehindWarmup checks that drops before the measured part do not count, but the flow is named.
func TestMisdeliveredBehindWarmup(t *testing.T) {
	const steady = "transport: {udp: {rate: 100Mbps}}, from: a, to: b, start: 0s"
	r := misdirected(t, steady, "20ms") // as long as the measured part
	if n := r.Drops[dataplane.NotExpected]; r.End != outcome.Misdelivered || len(r.Strays) != 1 || n == 0 ||
		r.Strays[0].Packets < 2*n-1 || r.Strays[0].Packets > 2*n+1 {
		t.Errorf("%s, %+v; %d drops behind the warm-up", r.End, r.Strays, n)
	}
}

// TestStrays_AreAbsentInCorrectExperiments checks that where flows arrive correctly, no packet is dropped for this
// reason, and the run ends as before.
func TestStrays_AreAbsentInCorrectExperiments(t *testing.T) {
	for i, keys := range transports {
		t.Run(fmt.Sprint(i, " ", keys), func(t *testing.T) {
			c := configuredBy(t, strings.NewReplacer("TRAFFIC", keys+", from: a, to: b, size: 100kB, start: 0s", "WARMUP",
				"0s").Replace(twoLinks))
			if r := ran(t, c); r.End != outcome.AllDone || r.Drops[dataplane.NotExpected] > 0 || r.Strays != nil {
				t.Errorf("%s, %d packets not expected, %+v", r.End, r.Drops[dataplane.NotExpected], r.Strays)
			}
		})
	}
}
