package live

import (
	"encoding/binary"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// oneFlow is a monitor for which each packet is of one flow, between hosts of Weir's own.
type oneFlow struct{}

func (oneFlow) Identify(*packet.Packet) packet.FlowID            { return 3 }
func (oneFlow) Arrive(unit.Time, int, *packet.Packet) (own bool) { return true }
func (oneFlow) Act(unit.Time) (next unit.Time)                   { return unit.Never }

// TestOwnHostGetsPauses checks that a pause reaches a host of Weir's own that shares the gate with the kernel, and no
// other gate.
func TestOwnHostGetsPauses(t *testing.T) {
	for _, own := range []bool{false, true} {
		d := &Plane{Departures: NewDepartures(func() unit.Time { return 0 }, packet.NewBook()), monitor: oneFlow{}}
		d.Release = d.pool.Put
		g := &script{}
		h := d.newHostPort(2, "server", unit.LinkRate{Bits: unit.Gbps}, g)
		h.hasOwnHost = own
		p := d.pool.Get()
		p.Kind, p.Meta.Class, p.Seq, p.Size = packet.Pause, 3, 0, 64
		h.Receive(0, 0, p)
		h.Flush()
		if n := len(g.Sent); own != (n == 1) || own && binary.BigEndian.Uint16(g.Sent[0][12:]) != packet.EtherControl {
			t.Errorf("own %v: %d frames after a pause", own, n)
		}
	}
}
