//go:build slow

package transporttest

import (
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

func TestLarge_HoldsForAllTransports(t *testing.T) {
	for _, k := range Transports() {
		t.Run(k.Name, func(t *testing.T) { Large(t, k) })
	}
}

// TestLargeMutant checks that a receiver with sequence numbers of 16 bits breaks the promise.
func TestLargeMutant(t *testing.T) {
	k := Transports()[2]
	k.Wrap = ofReceiver(func(a *altered) {
		a.receive = func(now unit.Time, p *packet.Packet) bool { return p.Seq < 1<<16 && a.Endpoint.Receive(now, p) }
	})
	var c counter
	if Large(&c, k); len(c.errors) != 1 {
		t.Errorf("a flow that stops after 65,536 packets: %q", c.errors)
	}
}
