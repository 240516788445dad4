package softswitch

import (
	"testing"

	"weir/core/dataplane"
	"weir/core/unit"
	"weir/internal/testkit/frametest"
)

// TestUsers_AcknowledgementsPassOverload checks an access link with users behind a port. A user's acknowledgements do
// not have their download's activity: while another user overloads the uplink, they pass.
func TestUsers_AcknowledgementsPassOverload(t *testing.T) {
	const access = `
ports:
  customers: {interface: a, rate: 50Mbps, buffer: 24 packets}
  uplink: {interface: b, rate: 20Mbps, buffer: 24 packets}
users: {behind: customers, new: 0s}
switch: [forward, {abc: {memory: 300ms, average_memory: 30ms}}]
metrics: none
`
	b := newBench(t, decode(t, access))
	const seconds = 2
	acks := 0                          // of a download of 36 Mb/s
	for i := range seconds * 100_000 { // each 10 us
		at := unit.Time(i) * 10 * unit.Microsecond
		if i%33 == 0 {
			b.send(1, at, frametest.NewDatagram(t, 9, 1, 0, 1514))
		}
		if i%66 == 0 {
			b.send(0, at, frametest.NewDatagram(t, 1, 9, 0, 66))
			acks++
		}
		if i%40 == 0 { // 30 Mb/s into 20
			b.send(0, at, frametest.NewDatagram(t, 2, 9, 0, 1514))
		}
	}
	b.stepUntil(t, (seconds+1)*unit.Second)
	passed := 0
	for _, f := range b.gates[1].out {
		if f[29] == 1 { // from 10.0.0.1
			passed++
		}
	}
	if d := b.PortDrops(1); d[dataplane.ActivityExceeded] < 1000 {
		t.Errorf("drops of the uplink %v: this tests nothing", d)
	}
	if passed < acks*99/100 {
		t.Errorf("%d of %d acknowledgements pass", passed, acks)
	}
}
