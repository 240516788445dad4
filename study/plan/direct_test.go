package plan_test

import (
	"math"
	"testing"

	"weir/core/outcome"
	"weir/core/unit"
)

// bundled has two hosts with three parallel links, and a switch that joins them, too.
const bundled = `duration: 20ms
topology:
  hosts: [a, b]
  switches: [x]
  links:
    - {ends: [a, b], rate: 100Gbps, delay: 1us, bundle: 3}
    - {ends: [x, b], rate: 100Gbps, delay: 1us}
    - {ends: [x, a], rate: 100Gbps, delay: 1us}
` + trims + `measure: [drops]
`

// TestBundleOfDirectLinks checks that over each transport all flows between hosts with direct links end, without a
// timeout and without a retransmission. Each link of the bundle carries some of them.
func TestBundleOfDirectLinks(t *testing.T) {
	for _, keys := range transports {
		t.Run(keys, func(t *testing.T) {
			r := ran(t, configuredBy(t, bundled+"traffic: [{name: j, from: a, to: b, "+keys+
				", size: 100kB, flows: 60, start: 0s}]\n"))
			if r.End != outcome.AllDone || len(r.Unfinished) > 0 {
				t.Fatalf("%s, %d flows are unfinished", r.End, len(r.Unfinished))
			}
			for i := range r.Flows {
				if f := &r.Flows[i]; f.Timeouts > 0 || f.Sender.Retransmitted > 0 || f.Receiver.ReceivedBytes != 100_000 {
					t.Errorf("flow %d: %d timeouts, %d packets sent again, %v received", i, f.Timeouts, f.Sender.Retransmitted,
						f.Receiver.ReceivedBytes)
				}
			}
			for _, p := range r.Ports {
				if direct := p.Link < 3; direct != (p.TxPackets > 0) {
					t.Errorf("link %d, end %d: %d packets", p.Link, p.End, p.TxPackets)
				}
			}
		})
	}
}

// TestDatagramsOverADirectLink checks that all datagrams over a direct link arrive, except those in flight at the end.
func TestDatagramsOverADirectLink(t *testing.T) {
	r := ran(t, configuredBy(t, bundled+"traffic: [{name: j, from: a, to: b, transport: {udp: {rate: 100Mbps}}, "+
		"flows: 100, start: 0s}]\n"))
	for i := range r.Flows {
		if f := &r.Flows[i]; f.Receiver.ReceivedPackets < f.Sender.SentPackets-1 || f.Sender.SentPackets < 100 {
			t.Errorf("flow %d: %d packets of %d arrived", i, f.Receiver.ReceivedPackets, f.Sender.SentPackets)
		}
	}
}

// TestRingOfDirectLinks checks that an all-reduce over a ring of direct links next to a switch takes 2(n−1) steps. Each
// sends size/n over a link, in frames of 1,538 B on the wire for 1,440 B of payload, and adds the link's delay.
func TestRingOfDirectLinks(t *testing.T) {
	r := ran(t, configuredBy(t, `duration: 100ms
framing: wire
topology:
  hosts: [g0, g1, g2, g3]
  switches: [x]
  links:
    - {ends: [g0, g1], rate: 100Gbps, delay: 1us}
    - {ends: [g1, g2], rate: 100Gbps, delay: 1us}
    - {ends: [g2, g3], rate: 100Gbps, delay: 1us}
    - {ends: [g3, g0], rate: 100Gbps, delay: 1us}
    - {ends: [x, g0], rate: 100Gbps, delay: 1us}
switch: [ecmp]
traffic:
  - {name: j, job: {all_reduce: {size: 8MB}}, hosts: [g0, g1, g2, g3], transport: rdma, cc: none}
measure: [job]
`))
	const share, payload, frame, delay = 2_000_000, 1440, 1538, 1e-6
	step := float64(share)/payload*frame*8/100e9 + delay
	if got := r.Time.Seconds(); r.End != outcome.AllDone || math.Abs(got-6*step) > 0.01*6*step {
		t.Errorf("%s after %v, want about %v", r.End, r.Time, unit.Time(6*step*1e12))
	}
}
